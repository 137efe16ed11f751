//! Tables larger than memory: what is counted in one pass is what a whole table shows, and dealing loses no cell.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paretau_core::Seed;
use paretau_data::{
    Census, ColumnData, Encoder, EncoderPolicy, ReadOptions, RoleSpec, RowBlocks, Table, TableColumn, Text, assign,
    read, write_table,
};

const N: usize = 3000;

/// Numbers, dates, gaps, texts of few and of many levels, two spellings, copies, a constant, a counter.
fn table() -> Table {
    let mut rng = Seed(5).rng();
    let mut numbers =
        |gaps: f64| -> Vec<f64> { (0..N).map(|_| if rng.bernoulli(gaps) { f64::NAN } else { rng.normal() }).collect() };
    let (a, b) = (numbers(0.0), numbers(0.1));
    let town = |i: usize| match i % 7 {
        0 => None,
        1 => Some("Ulm"),
        2 => Some("ulm "),
        3 | 4 => Some("Bonn"),
        _ => Some("Köln"),
    };
    let names: Vec<String> = (0..N).map(|i| format!("clinic {}", i * 31 % 400)).collect();
    let text = |cells: Vec<Option<&str>>| Text::from_cells(cells);
    Table::new(vec![
        TableColumn::number("t", (0..N).map(|i| f64::from(u8::from(i > N / 2))).collect()),
        TableColumn::number("y", numbers(0.01)),
        TableColumn::number("a", a.clone()),
        TableColumn::number("b", b),
        TableColumn::number("copy", a),
        TableColumn::number("same", vec![2.5; N]),
        TableColumn::number("few", (0..N).map(|i| (i * i % 3) as f64).collect()),
        TableColumn::date("day", (0..N).map(|i| (i % 40) as f64).collect()),
        TableColumn::text("town", text((0..N).map(town).collect())),
        TableColumn::text("clinic", text(names.iter().map(|name| Some(name.as_str())).collect())),
        TableColumn::number("row", (1..=N).map(|i| i as f64).collect()),
    ])
    .unwrap()
}

fn roles() -> RoleSpec {
    RoleSpec { group: Some("clinic".to_owned()), ..RoleSpec::new("t", "y") }
}

fn census(path: &Path, roles: &RoleSpec) -> Census {
    Census::take(path, &ReadOptions::default(), roles, false, &mut |_| Ok(())).unwrap()
}

/// The table as one file and as a folder of three, of one format.
fn files(folder: &Path, ending: &str) -> [std::path::PathBuf; 2] {
    let (one, many) = (folder.join(format!("one.{ending}")), folder.join(format!("many-{ending}")));
    write_table(&one, &table()).unwrap();
    std::fs::create_dir(&many).unwrap();
    for (k, rows) in [0..900, 900..901, 901..N].into_iter().enumerate() {
        let part = table().select(&rows.collect::<Vec<_>>());
        write_table(&many.join(format!("part-{k}.{ending}")), &part).unwrap();
    }
    [one, many]
}

#[test]
fn an_encoder_of_counts_is_the_one_that_has_seen_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv", "parquet"] {
        for path in files(folder.path(), ending) {
            for roles in [roles(), RoleSpec::new("t", "y")] {
                let census = census(&path, &roles);
                assert_eq!(census.n_rows(), N);
                let whole = assign(read(&path, &ReadOptions::default()).unwrap(), &roles).unwrap();
                assert_eq!(census.arms(), whole.arms);
                // The ordinary encoder learns from rows with an outcome only, so gaps in it are filled here.
                let all = RoleSpec { outcome: "few".to_owned(), ..roles.clone() };
                let whole = assign(read(&path, &ReadOptions::default()).unwrap(), &all).unwrap();
                let counted = Census::take(&path, &ReadOptions::default(), &all, false, &mut |_| Ok(())).unwrap();
                for policy in [
                    EncoderPolicy::default(),
                    EncoderPolicy { missing: true, categories: true, ..EncoderPolicy::default() },
                    EncoderPolicy { max_levels: 2, ..EncoderPolicy::default() },
                ] {
                    let rows: Vec<usize> = (0..whole.t.len()).collect();
                    let expected = Encoder::fit(&whole.features, &policy, &rows).unwrap();
                    assert_eq!(counted.encoder(&policy).unwrap(), expected, "{} {policy:?}", path.display());
                }
            }
        }
    }
}

#[test]
fn every_row_is_dealt_once_with_its_cells_and_groups_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen: Vec<Vec<Table>> = vec![];
    for path in files(folder.path(), "csv").into_iter().chain(files(folder.path(), "parquet")) {
        let census = census(&path, &roles());
        let mut blocks = RowBlocks::deal(&census, 4, Seed(3), folder.path(), &mut |_| Ok(())).unwrap();
        assert_eq!(blocks.rows().iter().sum::<usize>(), N);
        let tables: Vec<Table> = (0..4).map(|k| blocks.read(k).unwrap()).collect();
        let mut places: BTreeSet<usize> = BTreeSet::new();
        let mut block_of: BTreeMap<String, usize> = BTreeMap::new();
        let whole = table();
        for (k, block) in tables.iter().enumerate() {
            assert_eq!(block.n_rows(), blocks.rows()[k]);
            assert!(block.n_rows() > N / 8, "{:?}", blocks.rows());
            assert!(block.column("row").is_none(), "a counter is no feature");
            for i in 0..block.n_rows() {
                let row = block.source.row(i);
                assert!(places.insert(row));
                for name in ["t", "y", "a", "b", "few", "day"] {
                    let cell = |table: &Table, i: usize| table.column(name).unwrap().cell(i);
                    assert_eq!(cell(block, i), cell(&whole, row), "{name} of row {row}");
                }
                // Spellings of one level are one, as the whole column has them.
                let town = |table: &Table, i: usize| table.column("town").unwrap().cell(i);
                assert_eq!(town(block, i), town(&whole, row).map(|t| t.replace("ulm ", "Ulm")));
                let clinic = block.column("clinic").unwrap().cell(i).unwrap();
                assert_eq!(*block_of.entry(clinic).or_insert(k), k, "a group is in two blocks");
            }
        }
        assert_eq!(places.len(), N);
        seen.push(tables);
    }
    // Neither the format nor the number of files has a say; text files have no blanks around cells.
    let cells = |table: &Table| -> Vec<Vec<Option<String>>> {
        table.columns().iter().map(|column| (0..column.len()).map(|i| column.cell(i)).collect()).collect()
    };
    for other in &seen[1..] {
        for (block, same) in seen[0].iter().zip(other) {
            assert!(cells(block) == cells(same));
            assert!(block.source.picked == same.source.picked);
        }
    }
}

#[test]
fn blocks_are_alike_however_the_file_is_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sorted.parquet");
    write_table(&path, &table()).unwrap();
    let roles = RoleSpec { ignore: vec!["clinic".to_owned()], ..RoleSpec::new("t", "y") };
    let census = census(&path, &roles);
    let mut blocks = RowBlocks::deal(&census, 3, Seed(8), folder.path(), &mut |_| Ok(())).unwrap();
    for k in 0..3 {
        let block = blocks.read(k).unwrap();
        let ColumnData::Number(t) = &block.column("t").unwrap().data else { panic!() };
        let treated = t.iter().sum::<f64>() / t.len() as f64;
        assert!((treated - 0.5).abs() < 0.06, "{treated} of block {k} are treated");
    }
    assert!(blocks.written() > 0);
    // The file of the blocks has no name.
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["sorted.parquet"]);
}

#[test]
fn a_cell_that_does_not_fit_what_the_first_rows_show_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.csv");
    let mut text = "t,y,a,long\n".to_owned();
    for i in 0..120_000 {
        let a = if i == 119_998 { "north".to_owned() } else { i.to_string() };
        text += &format!("{},{}.5,{a},{:070}\n", i % 2, i % 9, i);
    }
    std::fs::write(&path, text).unwrap();
    let take = |options: &ReadOptions| {
        Census::take(&path, options, &RoleSpec::new("t", "y"), false, &mut |_| Ok(())).map(|census| census.n_rows())
    };
    let error = take(&ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("column `a`") && error.contains("119999") && error.contains("north"), "{error}");
    let options = ReadOptions { categorical: vec!["a".to_owned()], ..ReadOptions::default() };
    assert_eq!(take(&options).unwrap(), 120_000);
}
