//! Parquet and Arrow IPC files. Text is written as dictionaries of strings, dates as timestamps or days.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMillisecondArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};
use paretau_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::atomic::AtomicFile;
use crate::read::Format;
use crate::table::{ColumnData, Field, Kind, Table};

/// Rows of a Parquet row group; the writer holds one of them in memory.
const ROW_GROUP: usize = 1 << 18;
/// Rows of a batch of an Arrow file.
const IPC_ROWS: usize = 1 << 16;

/// A Parquet or Arrow file under way.
pub(super) struct ArrowSink {
    path: PathBuf,
    schema: SchemaRef,
    writer: Writer,
}

enum Writer {
    Parquet(ArrowWriter<BufWriter<AtomicFile>>),
    Ipc(FileWriter<BufWriter<AtomicFile>>),
}

impl ArrowSink {
    pub(super) fn create(path: &Path, fields: &[Field], format: Format) -> Result<Self> {
        let schema = schema(fields);
        let file = BufWriter::with_capacity(1 << 17, AtomicFile::create(path)?);
        let writer = if format == Format::Parquet {
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_max_row_group_row_count(Some(ROW_GROUP))
                .build();
            Writer::Parquet(ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|e| failed(path, e))?)
        } else {
            Writer::Ipc(FileWriter::try_new(file, &schema).map_err(|e| failed(path, e))?)
        };
        Ok(Self { path: path.to_owned(), schema, writer })
    }

    pub(super) fn write(&mut self, batch: &Table) -> Result<()> {
        let batch = record_batch(batch, &self.schema).map_err(|e| failed(&self.path, e))?;
        match &mut self.writer {
            Writer::Parquet(writer) => writer.write(&batch).map_err(|e| failed(&self.path, e)),
            // A reader holds a batch of the file as it was written, so that long ones are cut.
            Writer::Ipc(writer) => (0..batch.num_rows())
                .step_by(IPC_ROWS)
                .try_for_each(|start| writer.write(&batch.slice(start, IPC_ROWS.min(batch.num_rows() - start))))
                .map_err(|e| failed(&self.path, e)),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        let file = match self.writer {
            Writer::Parquet(writer) => writer.into_inner().map_err(|e| failed(&path, e))?,
            Writer::Ipc(mut writer) => {
                writer.finish().map_err(|e| failed(&path, e))?;
                writer.into_inner().map_err(|e| failed(&path, e))?
            }
        };
        file.into_inner().map_err(|e| Error::Io { path, source: e.into_error() })?.commit()
    }
}

/// The Arrow schema of columns.
pub(crate) fn schema(fields: &[Field]) -> SchemaRef {
    let arrow_type = |kind: Kind| match kind {
        Kind::Number => DataType::Float64,
        Kind::Date => DataType::Timestamp(TimeUnit::Millisecond, None),
        Kind::Text => DataType::Utf8,
    };
    Arc::new(Schema::new(fields.iter().map(|f| ArrowField::new(&f.name, arrow_type(f.kind), true)).collect::<Vec<_>>()))
}

/// A table as a record batch of its schema.
pub(crate) fn record_batch(table: &Table, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let columns = table
        .columns()
        .iter()
        .map(|column| -> ArrayRef {
            match &column.data {
                ColumnData::Number(values) if column.is_date => {
                    let millis = |v: &f64| (!v.is_nan()).then(|| (v * 86_400e3).round() as i64);
                    Arc::new(values.iter().map(millis).collect::<TimestampMillisecondArray>())
                }
                ColumnData::Number(values) => {
                    Arc::new(values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect::<Float64Array>())
                }
                ColumnData::Text(text) => {
                    let mut out = StringBuilder::new();
                    (0..text.codes.len()).for_each(|i| out.append_option(text.get(i)));
                    Arc::new(out.finish())
                }
            }
        })
        .collect();
    RecordBatch::try_new(schema.clone(), columns)
}

fn failed(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Io { path: path.to_owned(), source: std::io::Error::other(error) }
}
