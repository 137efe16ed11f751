//! Times what answers stand on, for `bench/bench_trust.py`: doubly robust scores from stacked, cross-fitted nuisances, and an
//! exact policy tree of depth 2.
//!
//! `trust_times scores|policy FILE COLUMNS`: FILE holds rows of little-endian doubles, features first; then treatment and outcome
//! for `scores`, the gain of treating for `policy`. Prints one JSON line.
#![allow(clippy::print_stdout)] // a command talks to people

use std::time::Instant;

use paretau::data::{RoleSpec, Table, TableColumn, assign};
use paretau::eval::{PolicyOptions, PolicyTask, policy_tree};
use paretau::{Dense, Features, FitContext, Seed, Silent, yardstick};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, file, columns] = words.as_slice() else {
        return Err("usage: trust_times scores|policy FILE COLUMNS".into());
    };
    let d: usize = columns.parse()?;
    let numbers: Vec<f64> =
        std::fs::read(file)?.chunks_exact(8).filter_map(|b| Some(f64::from_le_bytes(b.try_into().ok()?))).collect();
    let width = d + if what == "scores" { 2 } else { 1 };
    let column = |j: usize| -> Vec<f64> { numbers.chunks_exact(width).map(|row| row[j]).collect() };
    let n = numbers.len() / width;
    let line = if what == "scores" {
        let named = (0..d).map(|j| TableColumn::number(format!("x{j}"), column(j)));
        let rest = [TableColumn::number("t", column(d)), TableColumn::number("y", column(d + 1))];
        let assigned = assign(Table::new(named.chain(rest).collect())?, &RoleSpec::new("t", "y"))?;
        let start = Instant::now();
        let found = yardstick(&assigned, &FitContext::new(Seed(0), &Silent))?;
        let seconds = start.elapsed().as_secs_f64();
        let mean = found.scores.iter().sum::<f64>() / n as f64;
        let variance = found.scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        json!({ "seconds": seconds, "ate": mean, "se": (variance / n as f64).sqrt() })
    } else {
        let features = numbers.chunks_exact(width).flat_map(|row| row[..d].iter().copied()).collect();
        let x = Features::Dense(Dense::new(n, d, features)?);
        let gains = vec![column(d)];
        let task = PolicyTask { x: &x, gains: &gains, weight: None };
        let rows: Vec<usize> = (0..n).collect();
        let start = Instant::now();
        let tree = policy_tree(&task, &rows, &PolicyOptions { depth: 2, min_leaf: n / 100, budget: None })?;
        let seconds = start.elapsed().as_secs_f64();
        let treated = tree.arms(&x, &rows);
        let gain = treated.iter().zip(&gains[0]).filter(|(arm, _)| **arm > 0).map(|(_, gain)| gain).sum::<f64>();
        json!({ "seconds": seconds, "gain": gain / n as f64 })
    };
    println!("{line}");
    Ok(())
}
