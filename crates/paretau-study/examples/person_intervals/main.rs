//! How often intervals of single rows hold the truth, over fresh draws of known processes, and how wide they are:
//! `cargo run -p paretau-study --example person_intervals -- [--replicates 20] [--rows 500] [--refits 40]
//! [--only NAME,…] [--estimators NAME[:KEY=VALUE],…] [--level 0.95] [--out DIR]`.
//!
//! Writes `table.md`; `experiments/person_intervals` holds the committed one.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

#[path = "../coverage/designs.rs"]
#[allow(dead_code)] // the coverage study needs more of it
mod designs;

use std::path::PathBuf;

use designs::{PROCESSES, Process, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::nuisance::inference::normal_quantile;
use paretau::{FitOptions, Params, Seed};
use rayon::prelude::*;

/// Fresh rows on which coverage is counted, per draw.
const FRESH: usize = 500;

struct Options {
    replicates: u64,
    rows: usize,
    refits: usize,
    level: f64,
    only: Vec<String>,
    estimators: Vec<String>,
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut options = Options {
        replicates: 20,
        rows: 500,
        refits: 40,
        level: 0.95,
        only: list("trial,moderate,nie-wager-1,nie-wager-2,yes-no,null"),
        estimators: list("lr-2,t-learner:base=ridge,x-learner,causal-forest:n_estimators=200"),
        out: PathBuf::from("person_intervals"),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--replicates" => options.replicates = value.parse()?,
            "--rows" => options.rows = value.parse()?,
            "--refits" => options.refits = value.parse()?,
            "--level" => options.level = value.parse()?,
            "--only" => options.only = list(&value),
            "--estimators" => options.estimators = list(&value),
            "--out" => options.out = PathBuf::from(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&options.out)?;
    let mut table = HEADER.to_owned();
    print!("{table}");
    for process in PROCESSES.iter().filter(|p| options.only.iter().any(|o| o == p.name)) {
        for estimator in &options.estimators {
            let draws: Vec<Draw> = (0..options.replicates)
                .into_par_iter()
                .map(|k| draw(process, estimator, &options, Seed(3000 + k)))
                .collect::<paretau::Result<_>>()?;
            let row = line(process, estimator, &draws, options.level);
            print!("{row}");
            table += &row;
            // After every line, so that an interrupted run leaves what it measured.
            std::fs::write(options.out.join("table.md"), &table)?;
        }
    }
    Ok(())
}

/// Features, and what is true of fresh rows: conditional and individual effects.
struct Rows {
    table: Table,
    tau: Vec<f64>,
    own: Vec<f64>,
}

fn rows(process: &Process, n: usize, seed: Seed) -> paretau::Result<Rows> {
    let mut rng = seed.named(process.name).rng();
    let (mut x, mut t, mut y, mut tau, mut own) = (vec![vec![]; process.d], vec![], vec![], vec![], vec![]);
    for _ in 0..n {
        let row = (process.draw)(&mut rng, process.d);
        let arm = rng.bernoulli(row.e);
        // Noise of the two potential outcomes is drawn apart.
        let (y0, y1) = (outcome(&mut rng, process.noise, row.mu0), outcome(&mut rng, process.noise, row.mu0 + row.tau));
        t.push(f64::from(u8::from(arm)));
        y.push(if arm { y1 } else { y0 });
        tau.push(row.tau);
        own.push(y1 - y0);
        x.iter_mut().zip(row.x).for_each(|(column, v)| column.push(v));
    }
    let features = x.into_iter().enumerate().map(|(j, v)| TableColumn::number(format!("x{}", j + 1), v));
    let columns = [TableColumn::number("t", t), TableColumn::number("y", y)].into_iter().chain(features);
    Ok(Rows { table: Table::new(columns.collect())?, tau, own })
}

/// What one draw gives.
struct Draw {
    /// Share of fresh rows whose conditional effect is covered.
    covered: f64,
    /// Root mean squared error of the predictions, for the oracle.
    rmse: f64,
    half_width: f64,
    individual_covered: f64,
    individual_half_width: f64,
}

fn draw(process: &Process, estimator: &str, options: &Options, seed: Seed) -> paretau::Result<Draw> {
    let (name, setting) = estimator.split_once(':').unwrap_or((estimator, ""));
    let mut params = Params::none();
    if let Some((key, value)) = setting.split_once('=') {
        params = params.with(key, value);
    }
    let train = rows(process, options.rows, seed)?;
    let fit = FitOptions { seed, params, intervals: Some(options.refits), ..FitOptions::new(name) };
    let model = paretau::fit(train.table, &RoleSpec::new("t", "y"), &fit)?;
    let fresh = rows(process, FRESH, seed.named("fresh"))?;
    let (effects, _) = model.contrast(&fresh.table)?;
    let (lo, hi) = model.interval(&effects.tau, effects.se.as_deref(), options.level)?;
    let (own_lo, own_hi) = model.individual_interval(&fresh.table, options.level)?;
    let n = FRESH as f64;
    let covered = |lo: &[f64], hi: &[f64], truth: &[f64]| {
        (0..FRESH).filter(|&i| lo[i] <= truth[i] && truth[i] <= hi[i]).count() as f64 / n
    };
    let half = |lo: &[f64], hi: &[f64]| (0..FRESH).map(|i| (hi[i] - lo[i]) / 2.0).sum::<f64>() / n;
    Ok(Draw {
        covered: covered(&lo, &hi, &fresh.tau),
        rmse: ((0..FRESH).map(|i| (effects.tau[i] - fresh.tau[i]).powi(2)).sum::<f64>() / n).sqrt(),
        half_width: half(&lo, &hi),
        individual_covered: covered(&own_lo, &own_hi, &fresh.own),
        individual_half_width: half(&own_lo, &own_hi),
    })
}

const HEADER: &str = "\
| process | estimator | draws | conditional effect covered | half width | half width / oracle | individual effect covered | half width |
|---|---|---|---|---|---|---|---|
";

/// The oracle knows the root mean squared error of the predictions: its intervals are that times the normal quantile.
fn line(process: &Process, estimator: &str, draws: &[Draw], level: f64) -> String {
    let mean = |of: fn(&Draw) -> f64| draws.iter().map(of).sum::<f64>() / draws.len().max(1) as f64;
    let oracle = normal_quantile(f64::midpoint(1.0, level)) * mean(|d| d.rmse * d.rmse).sqrt();
    format!(
        "| {} | {estimator} | {} | {:.1} | {:.2} | {:.2} | {:.1} | {:.2} |\n",
        process.name,
        draws.len(),
        100.0 * mean(|d| d.covered),
        mean(|d| d.half_width),
        mean(|d| d.half_width) / oracle.max(1e-12),
        100.0 * mean(|d| d.individual_covered),
        mean(|d| d.individual_half_width),
    )
}
