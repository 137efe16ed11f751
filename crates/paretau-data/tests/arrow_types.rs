//! Arrow's many types, as other programs write them, through Parquet, Arrow files and Arrow streams.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array,
    LargeStringArray, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray, UInt8Array,
};
use paretau_data::{BatchReader, ColumnData, Field, Kind, ReadOptions, Table, read};

fn batch() -> RecordBatch {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None, Some(vec![])]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("big", Arc::new(Int64Array::from(vec![9_007_199_254_740_993, 2, 3]))),
        ("small", Arc::new(UInt8Array::from(vec![Some(255), None, Some(0)]))),
        ("half", Arc::new(Float32Array::from(vec![0.5, 1.5, f32::NAN]))),
        (
            "money",
            Arc::new(Decimal128Array::from(vec![Some(12345), None, Some(-5)]).with_precision_and_scale(10, 2).unwrap()),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(0), Some(19_000), None]))),
        ("when", Arc::new(TimestampMicrosecondArray::from(vec![0, 43_200_000_000, 86_400_000_000]))),
        ("text", Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]))),
        ("large", Arc::new(LargeStringArray::from(vec!["x", "y", "x"]))),
        ("level", Arc::new([Some("u"), None, Some("u")].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("digits", Arc::new(StringArray::from(vec!["1.5", "2", ""]))),
        ("list", Arc::new(list)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn write_all(folder: &Path, batch: &RecordBatch) -> [PathBuf; 3] {
    let paths = ["t.parquet", "t.arrow", "stream.arrow"].map(|name| folder.join(name));
    let mut parquet =
        parquet::arrow::ArrowWriter::try_new(File::create(&paths[0]).unwrap(), batch.schema(), None).unwrap();
    parquet.write(batch).unwrap();
    parquet.write(batch).unwrap();
    parquet.close().unwrap();
    let mut file = arrow_ipc::writer::FileWriter::try_new(File::create(&paths[1]).unwrap(), &batch.schema()).unwrap();
    file.write(batch).unwrap();
    file.write(batch).unwrap();
    file.finish().unwrap();
    let mut stream =
        arrow_ipc::writer::StreamWriter::try_new(File::create(&paths[2]).unwrap(), &batch.schema()).unwrap();
    stream.write(batch).unwrap();
    stream.write(batch).unwrap();
    stream.finish().unwrap();
    paths
}

fn cells(table: &Table, name: &str) -> Vec<String> {
    let column = table.column(name).unwrap();
    (0..3).map(|i| column.cell(i).unwrap_or_else(|| "-".into())).collect()
}

#[test]
fn every_type_becomes_numbers_dates_or_text() {
    let folder = tempfile::tempdir().unwrap();
    for path in write_all(folder.path(), &batch()) {
        let options = ReadOptions::default()
            .with_field(Field::new("big", Kind::Text))
            .with_field(Field::new("digits", Kind::Number));
        let table = read(&path, &options).unwrap();
        assert_eq!((table.n_rows(), table.columns().len()), (6, 11), "{}", path.display());
        for (name, kind, want) in [
            ("bool", Kind::Number, ["1", "-", "0"]),
            ("big", Kind::Text, ["9007199254740993", "2", "3"]),
            ("small", Kind::Number, ["255", "-", "0"]),
            ("half", Kind::Number, ["0.5", "1.5", "-"]),
            ("money", Kind::Number, ["123.45", "-", "-0.05"]),
            ("day", Kind::Date, ["1970-01-01", "2022-01-08", "-"]),
            ("when", Kind::Date, ["1970-01-01", "1970-01-01T12:00:00", "1970-01-02"]),
            ("text", Kind::Text, ["a", "-", "b"]),
            ("large", Kind::Text, ["x", "y", "x"]),
            ("level", Kind::Text, ["u", "-", "u"]),
            ("digits", Kind::Number, ["1.5", "2", "-"]),
        ] {
            assert_eq!(table.column(name).unwrap().kind(), kind, "{name} in {}", path.display());
            assert_eq!(cells(&table, name), want, "{name} in {}", path.display());
        }
        assert!(table.unread["list"].contains("List") && table.notes[0].contains("list"));
        assert!(table.require("list").unwrap_err().to_string().contains("List"));
        let batches: Vec<Table> = BatchReader::open(&path, &options, 4).unwrap().map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(Table::n_rows).sum::<usize>(), 6);
        assert!(batches.iter().all(|b| b.n_rows() <= 4));
    }
}

#[test]
fn infinite_and_unfit_cells_are_placed() {
    let folder = tempfile::tempdir().unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("v", Arc::new(Float64Array::from(vec![1.0, f64::INFINITY]))),
        ("s", Arc::new(StringArray::from(vec!["1", "one"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for path in write_all(folder.path(), &batch) {
        let message = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("column `v`, row 2") && message.contains("inf"), "{message}");
        let fields = vec![Field::new("s", Kind::Number)];
        let message = read(&path, &ReadOptions { fields, only_fields: true, ..ReadOptions::default() }).unwrap_err();
        assert!(
            message.to_string().contains("column `s`, row 2") && message.to_string().contains("`one`"),
            "{message}"
        );
        let fields = vec![Field::new("w", Kind::Number)];
        let message = read(&path, &ReadOptions { fields, only_fields: true, ..ReadOptions::default() }).unwrap_err();
        assert!(message.to_string().contains("column `w`"), "{message}");
    }
}

#[test]
fn an_empty_selection_of_rows_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for path in write_all(folder.path(), &batch().slice(0, 0)) {
        assert!(read(&path, &ReadOptions::default()).unwrap_err().to_string().contains("no rows"));
    }
    let paths = write_all(folder.path(), &batch());
    let bytes = std::fs::read(&paths[0]).unwrap();
    for cut in [bytes.len() - 1, bytes.len() / 2, 20] {
        std::fs::write(&paths[0], &bytes[..cut]).unwrap();
        let message = read(&paths[0], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("t.parquet") && message.contains("damaged"), "{message}");
    }
    let table = read(&paths[1], &ReadOptions::default()).unwrap();
    assert!(matches!(table.column("big").unwrap().data, ColumnData::Number(_)));
}
