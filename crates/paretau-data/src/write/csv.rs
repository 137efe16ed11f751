//! Delimited text, compressed when the name ends in `.gz`.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use paretau_core::{Error, Result};
use rayon::prelude::*;

use super::atomic::AtomicFile;
use crate::calendar::format_iso;
use crate::table::{ColumnData, Field, Table};

/// Cells that one thread spells out at a time.
const RUN_CELLS: usize = 1 << 15;

/// A delimited text under way.
pub(super) struct CsvSink {
    path: PathBuf,
    delimiter: u8,
    out: Out,
}

enum Out {
    Plain(BufWriter<AtomicFile>),
    Zipped(Box<GzEncoder<BufWriter<AtomicFile>>>),
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
                Out::Zipped(Box::new(GzEncoder::new(file, Compression::default())))
            } else {
                Out::Plain(file)
            }
        };
        let mut sink = Self { path: path.to_owned(), delimiter, out };
        let header = spell(delimiter, |text| text.write_record(fields.iter().map(|f| &f.name)));
        sink.append(header)?;
        Ok(sink)
    }

    /// Appends batches, runs of whose rows are spelled out side by side.
    pub(super) fn write(&mut self, batches: &[Table]) -> Result<()> {
        let runs: Vec<(&Table, Range<usize>)> = batches
            .iter()
            .flat_map(|batch| {
                let step = (RUN_CELLS / batch.columns().len().max(1)).max(1);
                let starts = (0..batch.n_rows()).step_by(step);
                starts.map(move |start| (batch, start..(start + step).min(batch.n_rows())))
            })
            .collect();
        // So many at a time that their texts never take much memory.
        for some in runs.chunks(4 * rayon::current_num_threads()) {
            let texts: Vec<csv::Result<Vec<u8>>> = some
                .par_iter()
                .map(|(batch, rows)| spell(self.delimiter, |text| write_rows(text, batch, rows.clone())))
                .collect();
            texts.into_iter().try_for_each(|text| self.append(text))?;
        }
        Ok(())
    }

    fn append(&mut self, text: csv::Result<Vec<u8>>) -> Result<()> {
        let text = text.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(e) => e,
            other => io::Error::other(format!("{other:?}")),
        });
        let written = text.and_then(|text| self.out.write_all(&text));
        written.map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        let io = |source| Error::Io { path: path.clone(), source };
        match self.out {
            Out::Plain(file) => file.into_inner().map_err(|e| io(e.into_error()))?.commit(),
            Out::Zipped(zip) => zip.finish().map_err(io)?.into_inner().map_err(|e| io(e.into_error()))?.commit(),
            Out::Stdout(mut out) => out.flush().map_err(io),
        }
    }
}

/// The text that `write` makes.
fn spell(delimiter: u8, write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>) -> csv::Result<Vec<u8>> {
    let mut text = csv::WriterBuilder::new().delimiter(delimiter).buffer_capacity(1 << 16).from_writer(vec![]);
    write(&mut text)?;
    text.into_inner().map_err(|e| e.into_error().into())
}

fn write_rows(out: &mut csv::Writer<Vec<u8>>, batch: &Table, rows: Range<usize>) -> csv::Result<()> {
    let mut text = String::new();
    for i in rows {
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
            out.write_field(cell)?;
        }
        out.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// Appends the shortest text that parses back to the same number.
fn push_number(text: &mut String, value: f64) {
    use std::fmt::Write as _;
    let size = value.abs();
    // Writing to a string cannot fail.
    let _ =
        if size != 0.0 && !(1e-5..1e17).contains(&size) { write!(text, "{value:e}") } else { write!(text, "{value}") };
}
