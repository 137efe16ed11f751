//! What is written comes back, whole or in batches, and what is not finished leaves no trace.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use paretau_core::Seed;
use paretau_data::simulate::{NewsConfig, news};
use paretau_data::{
    BatchReader, ColumnData, Field, Kind, Position, ReadOptions, Table, TableColumn, TableWriter, Text, read,
    read_watched, write_atomically, write_table,
};
use proptest::prelude::*;

fn mixed(n: usize) -> Table {
    let mut rng = Seed(1).rng();
    let numbers: Vec<f64> =
        (0..n).map(|i| if i % 7 == 3 { f64::NAN } else { rng.normal() * 10_f64.powi(i as i32 % 30 - 15) }).collect();
    let dates: Vec<f64> = (0..n).map(|i| if i % 5 == 2 { f64::NAN } else { (i * 13) as f64 + 0.25 }).collect();
    let cells: Vec<String> =
        (0..n).map(|i| ["plain", "with, comma", "a \"quote\"", "two\nlines", "ä€"][i % 5].into()).collect();
    let text = Text::from_cells(cells.iter().enumerate().map(|(i, c)| (i % 11 != 4).then_some(c.as_str())));
    Table::new(vec![
        TableColumn::number("number", numbers),
        TableColumn::date("day", dates),
        TableColumn::text("text", text),
        TableColumn::number("whole", (0..n).map(|i| i as f64).collect()),
    ])
    .unwrap()
}

fn same(a: &Table, b: &Table) {
    assert_eq!(a.fields(), b.fields());
    assert_eq!(a.n_rows(), b.n_rows());
    for (x, y) in a.columns().iter().zip(b.columns()) {
        for i in 0..a.n_rows() {
            assert_eq!(x.cell(i), y.cell(i), "{} row {i}", x.name);
            if let (ColumnData::Number(p), ColumnData::Number(q)) = (&x.data, &y.data) {
                let near = if x.is_date { (p[i] - q[i]).abs() < 1e-8 } else { p[i] == q[i] };
                assert!(near || (p[i].is_nan() && q[i].is_nan()), "{} row {i}: {} {}", x.name, p[i], q[i]);
            }
        }
    }
}

#[test]
fn every_written_format_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let table = mixed(500);
    for name in ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.parquet", "a.arrow", "a.feather"] {
        let path = folder.path().join(name);
        write_table(&path, &table).unwrap();
        same(&table, &read(&path, &ReadOptions::default()).unwrap());
        // Over an existing file, in several batches.
        let mut writer = TableWriter::create(&path, &table.fields()).unwrap();
        for start in (0..500).step_by(60) {
            let rows: Vec<usize> = (start..(start + 60).min(500)).collect();
            writer.write_batch(&table.select(&rows)).unwrap();
        }
        writer.finish().unwrap();
        same(&table, &read(&path, &ReadOptions::default()).unwrap());
        // Read in batches of another size, with the kinds declared.
        let options = ReadOptions { fields: table.fields(), only_fields: true, ..ReadOptions::default() };
        let batches: Vec<Table> = BatchReader::open(&path, &options, 70).unwrap().collect::<Result<_, _>>().unwrap();
        let mut at = 0;
        for batch in &batches {
            let rows: Vec<usize> = (at..at + batch.n_rows()).collect();
            same(&table.select(&rows), batch);
            assert_eq!(batch.source.rows_before, at);
            at += batch.n_rows();
        }
        assert_eq!(at, 500, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7, "no temporary file stays");
}

#[test]
fn a_column_subset_is_read_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let table = mixed(50);
    for name in ["a.csv", "a.parquet", "a.arrow"] {
        let path = folder.path().join(name);
        write_table(&path, &table).unwrap();
        let fields = vec![Field::new("whole", Kind::Text), Field::new("number", Kind::Number)];
        let options = ReadOptions { fields, only_fields: true, ..ReadOptions::default() };
        let part = read(&path, &options).unwrap();
        assert_eq!(part.columns().len(), 2, "{name}");
        assert_eq!(part.column("whole").unwrap().cell(7).as_deref(), Some("7"));
        assert_eq!(part.column("whole").unwrap().kind(), Kind::Text);
    }
}

#[test]
fn optional_columns_are_read_where_they_are_and_others_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let table = mixed(50);
    for name in ["a.csv", "a.csv.gz", "a.parquet", "a.arrow"] {
        let path = folder.path().join(name);
        write_table(&path, &table).unwrap();
        let options = ReadOptions {
            fields: vec![Field::new("number", Kind::Number)],
            optional: vec![Field::new("whole", Kind::Text), Field::new("absent", Kind::Text)],
            only_fields: true,
            ..ReadOptions::default()
        };
        let mut reader = BatchReader::open(&path, &options, 20).unwrap();
        assert_eq!(reader.left_out(), ["day", "text"], "{name}");
        let batch = reader.next().unwrap().unwrap();
        let fields = [Field::new("number", Kind::Number), Field::new("whole", Kind::Text)];
        assert_eq!(batch.fields(), fields, "{name}");
        assert!(reader.by_ref().all(|batch| batch.is_ok()));
        // At the end, all of the file has been read; rows where the format counts them.
        match reader.position() {
            Position::Rows { done, total } => assert_eq!((done, total), (50, Some(50)), "{name}"),
            Position::Bytes { done, total } => {
                assert_eq!(total, std::fs::metadata(&path).unwrap().len(), "{name}");
                assert!(done > 0 && done <= total && (done == total || name == "a.arrow"), "{name}: {done} of {total}");
            }
        }
    }
}

#[test]
fn a_watcher_hears_of_progress_and_can_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = mixed(40_000);
    for name in ["a.csv", "a.parquet", "a.arrow"] {
        let path = folder.path().join(name);
        write_table(&path, &table).unwrap();
        let mut heard = 0;
        let whole = read_watched(&path, &ReadOptions::default(), &mut |_| {
            heard += 1;
            Ok(())
        });
        assert_eq!(whole.unwrap().n_rows(), 40_000);
        assert!(heard >= 1, "{name}");
        let stopped = read_watched(&path, &ReadOptions::default(), &mut |_| Err(paretau_core::Error::Interrupted));
        assert!(matches!(stopped, Err(paretau_core::Error::Interrupted)), "{name}");
    }
}

#[test]
fn sparse_tables_are_written_out() {
    let folder = tempfile::tempdir().unwrap();
    let s = news(&NewsConfig { n: 600, d: 40, topics: 5, ..NewsConfig::default() }, Seed(1)).unwrap();
    let path = folder.path().join("news.csv.gz");
    write_table(&path, &s.table().unwrap()).unwrap();
    let back = read(&path, &ReadOptions::default()).unwrap();
    same(&s.table().unwrap().densified().unwrap(), &back);
}

#[test]
fn unfinished_files_leave_nothing_and_spare_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let table = mixed(20);
    for name in ["old.csv", "old.parquet", "old.arrow"] {
        let path = folder.path().join(name);
        write_atomically(&path, b"precious").unwrap();
        let mut writer = TableWriter::create(&path, &table.fields()).unwrap();
        writer.write_batch(&table).unwrap();
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    let mut writer = TableWriter::create(&folder.path().join("x.csv"), &table.fields()).unwrap();
    let other = Table::new(vec![TableColumn::number("z", vec![1.0])]).unwrap();
    assert!(writer.write_batch(&other).unwrap_err().to_string().contains('z'));
    assert!(TableWriter::create(Path::new("/no/such/folder/x.csv"), &[]).is_err());
    assert!(TableWriter::create(folder.path(), &[]).is_err());
    assert!(TableWriter::create(&folder.path().join("x.npz"), &[]).is_err());
}

#[test]
fn kinds_do_not_depend_on_where_the_odd_cell_stands() {
    let folder = tempfile::tempdir().unwrap();
    for place in [0, 1, 500, 999] {
        let mut cells: Vec<String> = (0..1000).map(|i| format!("{i:04}")).collect();
        cells[place] = "x1".into();
        let path = folder.path().join("codes.csv");
        std::fs::write(&path, format!("code,n\n{},1\n", cells.join(",1\n"))).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        let column = table.column("code").unwrap();
        assert_eq!(column.kind(), Kind::Text);
        // Leading zeros survive, wherever the text cell stood.
        assert!((0..1000).all(|i| column.cell(i).as_deref() == Some(cells[i].as_str())));
    }
    for (text, kind, first) in [
        ("x\ntrue\nFALSE\n", Kind::Number, "1"),
        ("x\ntrue\n5\n", Kind::Text, "true"),
        ("x\n2020-01-02\n\n2020-01-03\n", Kind::Date, "2020-01-02"),
        ("x\n2020-01-02\nsoon\n", Kind::Text, "2020-01-02"),
        ("x\nNA\nNA\n", Kind::Number, ""),
        ("x\r\n\"1\"\r\n\"2\"\r\n", Kind::Number, "1"),
        ("\u{feff}x\n1\n", Kind::Number, "1"),
        ("x\n 1 \n2\t\n", Kind::Number, "1"),
        ("x\ninf\nblue\n", Kind::Text, "inf"),
    ] {
        let path = folder.path().join("kinds.csv");
        std::fs::write(&path, text).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        let column = table.column("x").unwrap();
        assert_eq!(column.kind(), kind, "{text:?}");
        assert_eq!(column.cell(0).unwrap_or_default(), first, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_table_survives_csv(
        cells in prop::collection::vec((any::<f64>(), "[ -~äß\n]{0,12}"), 1..40)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<f64> = cells.iter().map(|(v, _)| if v.is_finite() { *v } else { f64::NAN }).collect();
        let texts: Vec<String> = cells.iter().map(|(_, c)| format!("t{}", c.trim())).collect();
        let table = Table::new(vec![
            TableColumn::number("n", numbers),
            TableColumn::text("t", Text::from_cells(texts.iter().map(|t| Some(t.trim())))),
        ]).unwrap();
        let path = folder.path().join("p.csv");
        write_table(&path, &table).unwrap();
        same(&table, &read(&path, &ReadOptions::default()).unwrap());
    }
}
