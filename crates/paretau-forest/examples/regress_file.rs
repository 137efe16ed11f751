//! A regression forest on files, for `bench/bench_forests.py`: fits on one, is scored on the other, prints JSON.
//!
//! `regress_file TRAIN TEST COLUMNS TREES TRIED NODE`: the files hold rows of `COLUMNS` features and then the outcome, as
//! little-endian doubles; `TRIED` columns are tried at a node, nodes of at most `NODE` rows are leaves.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::time::Instant;

use paretau_core::{Column, Dense, Features, FitContext, FittedRegressor, RegressionTask, Result, Seed, Target};
use paretau_forest::{ForestConfig, ForestRegressor};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    assert!(args.len() == 6, "usage: regress_file TRAIN TEST COLUMNS TREES TRIED NODE");
    let number = |k: usize| -> usize { args[k].parse().expect("a whole number") };
    let p = number(2);
    let (x, y) = read(&args[0], p);
    let (x_test, y_test) = read(&args[1], p);
    let config = ForestConfig {
        n_estimators: number(3),
        max_features: Some(number(4)),
        min_node_size: number(5),
        ..ForestConfig::default()
    };
    let columns = Column::numbered(p);
    let task = RegressionTask { x: &x, columns: &columns, y: &y, weight: None, groups: None, target: Target::Mean };
    let start = Instant::now();
    let forest = ForestRegressor::new(config)?.fit_forest(&task, &FitContext::silent(Seed(0)))?;
    let fit = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let predicted = forest.predict(&x_test)?;
    let predict = start.elapsed().as_secs_f64();
    let mean = y_test.iter().sum::<f64>() / y_test.len() as f64;
    let total: f64 = y_test.iter().map(|y| (y - mean).powi(2)).sum();
    let left: f64 = y_test.iter().zip(&predicted).map(|(y, m)| (y - m).powi(2)).sum();
    println!("{{\"fit\": {fit}, \"predict\": {predict}, \"r2\": {}}}", 1.0 - left / total);
    Ok(())
}

fn read(path: &str, p: usize) -> (Features, Vec<f64>) {
    let bytes = std::fs::read(path).expect("a file that can be read");
    let all: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let y = all.chunks_exact(p + 1).map(|row| row[p]).collect::<Vec<f64>>();
    let x = all.chunks_exact(p + 1).flat_map(|row| row[..p].to_vec()).collect();
    (Features::Dense(Dense::new(y.len(), p, x).unwrap()), y)
}
