//! How often tests of heterogeneity cry wolf where everyone has the same effect:
//! `cargo run --release -p paretau-study --example null_tests -- [--replicates 200] [--rows 500]
//! [--estimators NAME[:KEY=VALUE],…] [--out DIR]`.
//!
//! Writes `null_tests.md`; `experiments/coverage` holds the committed one. Each draw is fitted, then scored on fresh rows and, where
//! the estimator has out-of-bag predictions, on its own rows.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

#[path = "../coverage/designs.rs"]
#[allow(dead_code)] // the coverage study needs more of it
mod designs;

use std::path::PathBuf;

use designs::{PROCESSES, Process, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::{EvaluateOptions, Evaluation, FitOptions, Params, Seed};
use rayon::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut replicates, mut rows, mut out) = (200_u64, 500, PathBuf::from("null_tests"));
    let mut estimators = "t-learner:base=ridge,x-learner,causal-forest:n_estimators=200".to_owned();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--replicates" => replicates = value.parse()?,
            "--rows" => rows = value.parse()?,
            "--estimators" => estimators = value,
            "--out" => out = PathBuf::from(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&out)?;
    let process = PROCESSES.iter().find(|p| p.name == "null").ok_or("there is no process `null`")?;
    let mut table = HEADER.to_owned();
    print!("{table}");
    for estimator in estimators.split(',') {
        let draws: Vec<Draw> = (0..replicates)
            .into_par_iter()
            .map(|k| draw(process, estimator, rows, Seed(5000 + k)))
            .collect::<paretau::Result<_>>()?;
        for (kind, of) in [("fresh rows", 0), ("own rows, out of bag", 1)] {
            let tests: Vec<&Tests> = draws.iter().filter_map(|d| d[of].as_ref()).collect();
            if !tests.is_empty() {
                let row = line(estimator, kind, &tests);
                print!("{row}");
                table += &row;
            }
        }
        std::fs::write(out.join("null_tests.md"), &table)?;
    }
    Ok(())
}

/// Standardised scores of one evaluation: the calibration slope, AUTOC, and whether the one-line test rejects.
struct Tests {
    slope: Option<f64>,
    autoc: Option<f64>,
    differ: bool,
}

impl Tests {
    fn of(found: &Evaluation) -> Self {
        let z = |name: &str| {
            let score = found.scores.iter().find(|s| s.name == name)?.score;
            Some(score.value / score.se.filter(|se| *se > 0.0)?)
        };
        Self { slope: z("calibration"), autoc: z("autoc"), differ: found.heterogeneity.differ }
    }
}

/// On fresh rows, and on the rows of the fit.
type Draw = [Option<Tests>; 2];

fn rows(process: &Process, n: usize, seed: Seed) -> paretau::Result<Table> {
    let mut rng = seed.named(process.name).rng();
    let (mut x, mut t, mut y) = (vec![vec![]; process.d], vec![], vec![]);
    for _ in 0..n {
        let row = (process.draw)(&mut rng, process.d);
        let arm = f64::from(u8::from(rng.bernoulli(row.e)));
        y.push(outcome(&mut rng, process.noise, row.mu0 + arm * row.tau));
        t.push(arm);
        x.iter_mut().zip(row.x).for_each(|(column, v)| column.push(v));
    }
    let features = x.into_iter().enumerate().map(|(j, v)| TableColumn::number(format!("x{}", j + 1), v));
    Table::new([TableColumn::number("t", t), TableColumn::number("y", y)].into_iter().chain(features).collect())
}

fn draw(process: &Process, estimator: &str, n: usize, seed: Seed) -> paretau::Result<Draw> {
    let (name, setting) = estimator.split_once(':').unwrap_or((estimator, ""));
    let params = setting.split_once('=').map_or_else(Params::none, |(key, value)| Params::none().with(key, value));
    let roles = RoleSpec::new("t", "y");
    let train = rows(process, n, seed)?;
    let model = paretau::fit(train.clone(), &roles, &FitOptions { seed, params, ..FitOptions::new(name) })?;
    let options = EvaluateOptions { seed, ..EvaluateOptions::default() };
    let fresh = paretau::evaluate(&model, rows(process, n, seed.named("fresh"))?, &roles, &options)?;
    // Refused where there are no predictions that were made without the rows.
    let own = paretau::evaluate(&model, train, &roles, &options).ok();
    Ok([Some(Tests::of(&fresh)), own.as_ref().map(Tests::of)])
}

const HEADER: &str = "\
| estimator | scored on | draws | one-line test rejects | slope: mean z | AUTOC: mean z | AUTOC above 0 at 5 % | AUTOC interval leaves 0 out |
|---|---|---|---|---|---|---|---|
";

fn line(estimator: &str, kind: &str, tests: &[&Tests]) -> String {
    let n = tests.len() as f64;
    let percent = |of: &dyn Fn(&Tests) -> bool| 100.0 * tests.iter().filter(|t| of(t)).count() as f64 / n;
    let mean = |of: fn(&Tests) -> Option<f64>| {
        let all: Vec<f64> = tests.iter().filter_map(|t| of(t)).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    format!(
        "| {estimator} | {kind} | {} | {:.1} | {:.2} | {:.2} | {:.1} | {:.1} |\n",
        tests.len(),
        percent(&|t| t.differ),
        mean(|t| t.slope),
        mean(|t| t.autoc),
        percent(&|t| t.autoc.is_some_and(|z| z > 1.645)),
        percent(&|t| t.autoc.is_some_and(|z| z.abs() > 1.96)),
    )
}
