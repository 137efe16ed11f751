//! Several files as one table: order, columns of folders, kinds that must agree, and what is refused.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use paretau_data::{BatchReader, Field, Kind, ReadOptions, Table, TableColumn, Text, read, write_table};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn cells(table: &Table, name: &str) -> Vec<Option<String>> {
    let column = table.column(name).unwrap();
    (0..table.n_rows()).map(|i| column.cell(i)).collect()
}

fn some(cells: &[&str]) -> Vec<Option<String>> {
    cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect()
}

fn refusal(path: &Path) -> String {
    read(path, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn rows_are_in_the_order_of_the_paths_and_folders_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "year=2024/region=south%20west/b.csv", "x,who\n3,ada\n");
    write(at, "year=2023/region=north/a.csv", "who,x\nbob,1\nada,2\n");
    write(at, "year=2024/region=__HIVE_DEFAULT_PARTITION__/c.csv", "x,who\n4,\n");
    write(at, "_notes.csv", "not,data\n");
    write(at, ".hidden/d.csv", "not,data\n");
    let table = read(at, &ReadOptions::default()).unwrap();
    assert_eq!(cells(&table, "x"), some(&["1", "2", "4", "3"]));
    assert_eq!(cells(&table, "who"), some(&["bob", "ada", "", "ada"]));
    assert_eq!(cells(&table, "region"), some(&["north", "north", "", "south west"]));
    assert_eq!(table.column("year").unwrap().kind(), Kind::Number);
    assert_eq!(table.error(None, Some(3), "odd").to_string().matches("b.csv").count(), 1);
    let glob = at.join("year=2024/*/*.csv");
    assert_eq!(read(&glob, &ReadOptions::default()).unwrap().n_rows(), 2);
    // In batches, with the kinds that a model knows.
    let options = ReadOptions {
        fields: vec![Field::new("x", Kind::Number), Field::new("year", Kind::Text)],
        only_fields: true,
        ..ReadOptions::default()
    };
    let batches: Vec<Table> = BatchReader::open(at, &options, 1).unwrap().map(Result::unwrap).collect();
    let x: Vec<Option<String>> = batches.iter().flat_map(|batch| cells(batch, "x")).collect();
    let year: Vec<Option<String>> = batches.iter().flat_map(|batch| cells(batch, "year")).collect();
    assert_eq!((x, year), (some(&["1", "2", "4", "3"]), some(&["2023", "2023", "2024", "2024"])));
    assert!(batches.iter().all(|batch| batch.column("region").is_none()));
}

#[test]
fn parquet_files_are_one_table_whatever_their_levels_and_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = |cells: &[Option<&str>]| TableColumn::text("town", Text::from_cells(cells.iter().copied()));
    let part = |x: &[f64], town: &[Option<&str>]| Table::new(vec![TableColumn::number("x", x.to_vec()), text(town)]);
    write_table(&at.join("0.parquet"), &part(&[1.0, 2.0], &[Some("Ulm"), None]).unwrap()).unwrap();
    write_table(&at.join("1.parquet"), &part(&[f64::NAN], &[None]).unwrap()).unwrap();
    write_table(&at.join("2.parquet"), &part(&[3.0, 4.0], &[Some("Bonn"), Some("Ulm")]).unwrap()).unwrap();
    let table = read(at, &ReadOptions::default()).unwrap();
    assert_eq!(cells(&table, "x"), some(&["1", "2", "", "3", "4"]));
    assert_eq!(cells(&table, "town"), some(&["Ulm", "", "", "Bonn", "Ulm"]));
    let small = ReadOptions { max_memory: 50, ..ReadOptions::default() };
    assert!(read(at, &small).unwrap_err().to_string().contains("--max-memory"));
}

#[test]
fn what_does_not_agree_is_refused_by_file_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("kinds"), "a.csv", "x,y\n1,2\n");
    write(&at("kinds"), "b.csv", "x,y\nmany words,2\n");
    let message = refusal(&at("kinds"));
    assert!(
        message.contains("b.csv") && message.contains("`x`") && message.contains("holds text, but numbers"),
        "{message}"
    );
    write(&at("names"), "a.csv", "x,y\n1,2\n");
    write(&at("names"), "b.csv", "x\n1\n");
    let message = refusal(&at("names"));
    assert!(message.contains("b.csv") && message.contains("`y`") && message.contains("not in this file"), "{message}");
    write(&at("marks"), "a.csv", "x;y\n1,5;2\n2,5;3\n");
    write(&at("marks"), "b.csv", "x;y\n1.5;2\n2.25;3\n");
    let message = refusal(&at("marks"));
    assert!(message.contains("b.csv") && message.contains("--decimal"), "{message}");
    write(&at("both"), "x=1/a.csv", "x,y\n1,2\n");
    assert!(refusal(&at("both")).contains("names of its folders"));
    write(&at("deep"), "a.csv", "y\n1\n");
    write(&at("deep"), "x=1/b.csv", "y\n1\n");
    assert!(refusal(&at("deep")).contains("lay all files out alike"));
    write(&at("mixed"), "a.csv", "y\n1\n");
    write(&at("mixed"), "b.tsv", "y\n1\n");
    assert!(refusal(&at("mixed")).contains("another format"));
    write(&at("empty"), "notes.md", "no data");
    assert!(refusal(&at("empty")).contains("without data files"));
    assert!(refusal(&at("empty/*.csv")).contains("matches no data file"));
}
