//! Delimited text, compressed when the name ends in `.gz`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use paretau_core::{Error, Result};

use super::atomic::AtomicFile;
use crate::calendar::format_iso;
use crate::table::{ColumnData, Field, Table};

/// A delimited text under way.
pub(super) struct CsvSink {
    path: PathBuf,
    writer: csv::Writer<Out>,
}

enum Out {
    Plain(BufWriter<AtomicFile>),
    Zipped(GzEncoder<BufWriter<AtomicFile>>),
    Stdout(io::Stdout),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(w) => w.write(bytes),
            Self::Zipped(w) => w.write(bytes),
            Self::Stdout(w) => w.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(w) => w.flush(),
            Self::Zipped(w) => w.flush(),
            Self::Stdout(w) => w.flush(),
        }
    }
}

impl CsvSink {
    pub(super) fn create(path: &Path, fields: &[Field], delimiter: u8) -> Result<Self> {
        let out = if path.as_os_str() == "-" {
            Out::Stdout(io::stdout())
        } else {
            let file = BufWriter::with_capacity(1 << 17, AtomicFile::create(path)?);
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
                Out::Zipped(GzEncoder::new(file, Compression::default()))
            } else {
                Out::Plain(file)
            }
        };
        let mut sink = Self {
            path: path.to_owned(),
            writer: csv::WriterBuilder::new().delimiter(delimiter).buffer_capacity(1 << 16).from_writer(out),
        };
        let header = sink.writer.write_record(fields.iter().map(|f| &f.name));
        header.map_err(|e| sink.failed(e))?;
        Ok(sink)
    }

    pub(super) fn write(&mut self, batch: &Table) -> Result<()> {
        let mut text = String::new();
        for i in 0..batch.n_rows() {
            for column in batch.columns() {
                text.clear();
                let cell = match &column.data {
                    ColumnData::Text(levels) => levels.get(i).unwrap_or_default(),
                    ColumnData::Number(values) if values[i].is_nan() => "",
                    ColumnData::Number(values) if column.is_date => {
                        text.push_str(&format_iso(values[i]));
                        &text
                    }
                    ColumnData::Number(values) => {
                        push_number(&mut text, values[i]);
                        &text
                    }
                };
                let written = self.writer.write_field(cell);
                written.map_err(|e| self.failed(e))?;
            }
            let ended = self.writer.write_record(None::<&[u8]>);
            ended.map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        let io = |source| Error::Io { path: path.clone(), source };
        match self.writer.into_inner().map_err(|e| io(e.into_error()))? {
            Out::Plain(file) => file.into_inner().map_err(|e| io(e.into_error()))?.commit(),
            Out::Zipped(zip) => zip.finish().map_err(io)?.into_inner().map_err(|e| io(e.into_error()))?.commit(),
            Out::Stdout(mut out) => out.flush().map_err(io),
        }
    }

    fn failed(&self, error: csv::Error) -> Error {
        let source = match error.into_kind() {
            csv::ErrorKind::Io(e) => e,
            other => io::Error::other(format!("{other:?}")),
        };
        Error::Io { path: self.path.clone(), source }
    }
}

/// Appends the shortest text that parses back to the same number.
fn push_number(text: &mut String, value: f64) {
    use std::fmt::Write as _;
    let size = value.abs();
    // Writing to a string cannot fail.
    let _ =
        if size != 0.0 && !(1e-5..1e17).contains(&size) { write!(text, "{value:e}") } else { write!(text, "{value}") };
}
