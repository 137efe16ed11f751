//! How often tests of heterogeneity cry wolf where everyone has the same effect:
//! `cargo run --release -p paretau-study --example null_tests -- [--replicates 200] [--rows 400] [--seed 5000]
//! [--estimators NAME[:KEY=VALUE…],…] [--out DIR]`.
//!
//! Writes `null_records.jsonl`, one line per draw, and `null_tests.md`; `experiments/coverage` holds the committed ones. Each draw
//! is fitted, then scored on fresh rows and, where the estimator has out-of-bag predictions, on its own rows. Draws that the folder
//! holds already are not drawn again, and several processes may draw into one folder; another build, or other rows, begin in a folder of their own.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

#[path = "../coverage/designs.rs"]
#[allow(dead_code)] // the coverage study needs more of it
mod designs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use designs::{PROCESSES, Process, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::{EvaluateOptions, Evaluation, FitOptions, Params, Seed};
use paretau_report::{EffectNode, Interval};
use paretau_study::DrawRecords;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Draws after which records are kept.
const AT_A_TIME: usize = 10;
/// The one-sided 95 % and two-sided 95 % quantiles of the normal distribution.
const QUANTILES: (f64, f64) = (1.644_854, 1.959_964);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut replicates, mut rows, mut first, mut out) = (200_u64, 400, 5000_u64, PathBuf::from("null_tests"));
    let mut estimators = "t-learner:base=ridge,causal-forest:n_estimators=100".to_owned();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--replicates" => replicates = value.parse()?,
            "--rows" => rows = value.parse()?,
            "--seed" => first = value.parse()?,
            "--estimators" => estimators = value,
            "--out" => out = PathBuf::from(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&out)?;
    let process = PROCESSES.iter().find(|p| p.name == "null").ok_or("there is no process `null`")?;
    let table_file = out.join("null_tests.md");
    let mut draws: DrawRecords<Draw> = DrawRecords::open(&out.join("null_records.jsonl"))?;
    for estimator in estimators.split(',') {
        for seeds in (first..first + replicates).collect::<Vec<_>>().chunks(AT_A_TIME) {
            // Other processes may have drawn some meanwhile.
            let is_there = |seed: u64| draws.all().iter().any(|draw| draw.estimator == estimator && draw.seed == seed);
            let missing: Vec<u64> = seeds.iter().copied().filter(|seed| !is_there(*seed)).collect();
            if missing.is_empty() {
                continue;
            }
            let found: Vec<Draw> =
                missing.par_iter().map(|&seed| draw(process, estimator, rows, seed)).collect::<paretau::Result<_>>()?;
            draws.add(&found, &table_file, table)?;
        }
    }
    // The table follows the records even where nothing was missing.
    draws.add(&[], &table_file, table)?;
    print!("{}", table(draws.all()));
    Ok(())
}

/// The table of all draws; one of those that two processes drew.
fn table(draws: &[Draw]) -> String {
    let draws: BTreeMap<(&str, u64), &Draw> =
        draws.iter().map(|draw| ((draw.estimator.as_str(), draw.seed), draw)).collect();
    let mut estimators: Vec<&str> = draws.keys().map(|(estimator, _)| *estimator).collect();
    estimators.dedup();
    let (mut table, mut findings) = (HEADER.to_owned(), FINDINGS.to_owned());
    for estimator in estimators {
        let own: Vec<&Draw> = draws.values().copied().filter(|draw| draw.estimator == estimator).collect();
        let fresh: Vec<&Tests> = own.iter().map(|draw| &draw.fresh).collect();
        let out_of_bag: Vec<&Tests> = own.iter().filter_map(|draw| draw.own.as_ref()).collect();
        for (kind, tests) in [("fresh rows", fresh), ("own rows, out of bag", out_of_bag)] {
            if !tests.is_empty() {
                table += &line(estimator, kind, &tests);
            }
        }
        let share = |of: fn(&Draw) -> bool| 100.0 * own.iter().filter(|d| of(d)).count() as f64 / own.len() as f64;
        let (tree, subgroups) = (share(|d| d.tree_zero_out), share(|d| d.subgroups_zero_out));
        findings += &format!("| {estimator} | {} | {tree:.1} | {subgroups:.1} |\n", own.len());
    }
    table + "\n" + &findings
}

/// Scores of one evaluation, and whether the one-line test rejects.
#[derive(Serialize, Deserialize)]
struct Tests {
    /// Value and standard error of the calibration slope and of AUTOC. Where the program gives a lower limit in place of an error,
    /// the error is what the limit was made from.
    slope: Option<(f64, f64)>,
    autoc: Option<(f64, f64)>,
    /// Whether AUTOC has an interval of two sides, or a lower limit.
    two_sided: bool,
    differ: bool,
}

impl Tests {
    fn of(found: &Evaluation) -> Self {
        let read = |name: &str| {
            let score = found.scores.iter().find(|s| s.name == name)?.score;
            let limited = found.at_least.get(name).map(|limit| (score.value - limit) / QUANTILES.0);
            Some((score.value, score.se.or(limited).filter(|se| *se > 0.0)?))
        };
        Self {
            slope: read("calibration"),
            autoc: read("autoc"),
            two_sided: !found.at_least.contains_key("autoc"),
            differ: found.heterogeneity.differ,
        }
    }

    /// Whether what the program says about AUTOC leaves 0 out.
    fn zero_out(&self) -> bool {
        self.autoc.is_some_and(
            |(value, se)| {
                if self.two_sided { (value / se).abs() > QUANTILES.1 } else { value / se > QUANTILES.0 }
            },
        )
    }
}

/// What one draw gives.
#[derive(Serialize, Deserialize)]
struct Draw {
    estimator: String,
    seed: u64,
    /// On fresh rows.
    fresh: Tests,
    /// On the rows of the fit.
    own: Option<Tests>,
    /// Whether an interval of the small tree, or of the table of subgroups, leaves 0 out. The process has no effect at all.
    tree_zero_out: bool,
    subgroups_zero_out: bool,
}

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

fn draw(process: &Process, estimator: &str, n: usize, seed: u64) -> paretau::Result<Draw> {
    let mut settings = estimator.split(':');
    let name = settings.next().unwrap_or_default();
    let params =
        settings.filter_map(|s| s.split_once('=')).fold(Params::none(), |params, (key, value)| params.with(key, value));
    let roles = RoleSpec::new("t", "y");
    let train = rows(process, n, Seed(seed))?;
    let model = paretau::fit(train.clone(), &roles, &FitOptions { seed: Seed(seed), params, ..FitOptions::new(name) })?;
    let options = EvaluateOptions { seed: Seed(seed), ..EvaluateOptions::default() };
    let fresh = paretau::evaluate(&model, rows(process, n, Seed(seed).named("fresh"))?, &roles, &options)?;
    // Refused where there are no predictions that were made without the rows.
    let own = paretau::evaluate(&model, train, &roles, &options).ok();
    let findings = model.findings();
    let tree = findings.and_then(|found| found.tree.as_ref()).map_or(vec![], |tree| below(&tree.root));
    Ok(Draw {
        estimator: estimator.to_owned(),
        seed,
        fresh: Tests::of(&fresh),
        own: own.as_ref().map(Tests::of),
        tree_zero_out: tree.into_iter().any(zero_out),
        subgroups_zero_out: findings.is_some_and(|found| found.subgroups.iter().any(|group| zero_out(group.seen))),
    })
}

/// What is seen in the nodes below one.
fn below(node: &EffectNode) -> Vec<Option<Interval>> {
    let children = node.split.iter().flat_map(|split| [&split.left, &split.right]);
    children.flat_map(|child| std::iter::once(child.seen).chain(below(child))).collect()
}

fn zero_out(seen: Option<Interval>) -> bool {
    seen.is_some_and(|e| e.lo > 0.0 || e.hi < 0.0)
}

const HEADER: &str = "\
| estimator | scored on | draws | one-line test rejects | slope: mean z | AUTOC: mean z | AUTOC above 0 at 5 % | AUTOC has | and leaves 0 out | two-sided it would |
|---|---|---|---|---|---|---|---|---|---|
";
const FINDINGS: &str = "\
| estimator | draws | tree zero out | subgroups zero out |
|---|---|---|---|
";

fn line(estimator: &str, kind: &str, tests: &[&Tests]) -> String {
    let n = tests.len() as f64;
    let percent = |of: &dyn Fn(&Tests) -> bool| 100.0 * tests.iter().filter(|t| of(t)).count() as f64 / n;
    let mean = |of: fn(&Tests) -> Option<(f64, f64)>| {
        let all: Vec<f64> = tests.iter().filter_map(|t| of(t)).map(|(value, se)| value / se).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    let beyond = |z: f64, limit: f64| z > limit;
    let offered = if tests.iter().all(|t| t.two_sided) { "an interval" } else { "a lower limit" };
    format!(
        "| {estimator} | {kind} | {} | {:.1} | {:.2} | {:.2} | {:.1} | {offered} | {:.1} | {:.1} |\n",
        tests.len(),
        percent(&|t| t.differ),
        mean(|t| t.slope),
        mean(|t| t.autoc),
        percent(&|t| t.autoc.is_some_and(|(value, se)| beyond(value / se, QUANTILES.0))),
        percent(&Tests::zero_out),
        percent(&|t| t.autoc.is_some_and(|(value, se)| beyond((value / se).abs(), QUANTILES.1))),
    )
}
