//! Tables of many columns take time in proportion to their number: names are found by hash, never by a search.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use paretau_data::{Encoder, EncoderPolicy, ReadOptions, RoleSpec, assign, read};

/// The whole way of a text with so many feature columns: read, roles, encoder, and read again as prediction does.
fn way(columns: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.csv");
    let mut text = "t,y".to_owned();
    (0..columns).for_each(|j| write!(text, ",x{j}").unwrap());
    for i in 0..4 {
        write!(text, "\n{},{i}", i % 2).unwrap();
        (0..columns).for_each(|j| write!(text, ",{}", (i * 7919 + j * 31 + i * j) % 1009).unwrap());
    }
    std::fs::write(&path, text).unwrap();
    let begin = Instant::now();
    let table = read(&path, &ReadOptions::default()).unwrap();
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    let roles = RoleSpec { treatment: "t".into(), outcome: "y".into(), features: Some(names), ..RoleSpec::default() };
    let assigned = assign(table, &roles).unwrap();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::default(), &[0, 1, 2, 3]).unwrap();
    let (x, _) = encoder.transform(&assigned.features).unwrap();
    let options = ReadOptions { fields: encoder.fields(), only_fields: true, ..ReadOptions::default() };
    let again = read(&path, &options).unwrap();
    assert_eq!(encoder.transform(&again).unwrap().0, x);
    begin.elapsed()
}

#[test]
fn a_hundred_thousand_columns_go_the_whole_way_and_come_back_alike() {
    // Printed for people (`--nocapture`): ten times the columns should take about ten times as long, not a hundred.
    println!("10 000 columns: {:?}, 100 000 columns: {:?}", way(10_000), way(100_000));
}
