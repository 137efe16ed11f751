//! How often intervals of single rows hold the truth, over fresh draws of known processes, and how wide they are:
//! `cargo run -p paretau-study --example person_intervals -- [--replicates 200] [--rows 500] [--refits 20]
//! [--only NAME,…] [--estimators NAME[:KEY=VALUE…],…] [--level 0.95] [--seed 3000] [--out DIR]`.
//!
//! `--refits 0` measures what a fit gives without being asked for intervals; there are none of individual effects then.
//!
//! An estimator with `:arms=3` is fitted to rows of which a third, drawn by lot, has another treatment of half the effect; coverage
//! is then that of both effects.
//!
//! Writes `records.jsonl`, one line per draw, and `table.md`; `experiments/person_intervals` holds the committed ones. Draws that
//! the folder holds already are not drawn again, so that a run may be stopped and taken up, and several processes may draw into one
//! folder; another build, or other rows, refits or levels, begin in a folder of their own.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

#[path = "../coverage/designs.rs"]
#[allow(dead_code)] // the coverage study needs more of it
mod designs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use designs::{Noise, PROCESSES, Process, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::nuisance::inference::normal_quantile;
use paretau::{FitOptions, Params, Seed};
use paretau_study::DrawRecords;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Fresh rows on which coverage is counted, per draw.
const FRESH: usize = 500;
/// Draws after which records are kept.
const AT_A_TIME: usize = 10;

struct Options {
    replicates: u64,
    rows: usize,
    refits: usize,
    level: f64,
    seed: u64,
    only: Vec<String>,
    estimators: Vec<String>,
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut options = Options {
        replicates: 200,
        rows: 500,
        refits: 20,
        level: 0.95,
        seed: 3000,
        only: vec![],
        estimators: list("lr-2,t-learner,x-learner,causal-forest:n_estimators=100,causal-forest-dml:n_estimators=100"),
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
            "--seed" => options.seed = value.parse()?,
            "--only" => options.only = list(&value),
            "--estimators" => options.estimators = list(&value),
            "--out" => options.out = PathBuf::from(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&options.out)?;
    let mut study = Study::open(&options.out)?;
    let chosen = |p: &&Process| options.only.is_empty() || options.only.iter().any(|o| o == p.name);
    for process in PROCESSES.iter().filter(chosen) {
        for estimator in &options.estimators {
            let is_missing = |seed: &u64| !study.draws.contains_key(&key(process.name, estimator, *seed));
            let missing: Vec<u64> = (options.seed..options.seed + options.replicates).filter(is_missing).collect();
            for seeds in missing.chunks(AT_A_TIME) {
                let found: Vec<Draw> = seeds
                    .par_iter()
                    .map(|&seed| draw(process, estimator, &options, seed))
                    .collect::<paretau::Result<_>>()?;
                study.add(found, &options)?;
            }
            if !missing.is_empty() {
                print!("{}", line(&study.of(process.name, estimator), &options));
            }
        }
    }
    // The table follows the records even where nothing was missing.
    study.add(vec![], &options)?;
    Ok(())
}

/// Where a record stands: by process, in the order of the list, estimator and seed.
type Key = (usize, String, u64);

fn key(process: &str, estimator: &str, seed: u64) -> Key {
    (PROCESSES.iter().position(|p| p.name == process).unwrap_or(usize::MAX), estimator.to_owned(), seed)
}

/// What has been drawn so far, by this process and others.
struct Study {
    records: DrawRecords<Draw>,
    table: PathBuf,
    draws: BTreeMap<Key, Draw>,
}

impl Study {
    fn open(out: &std::path::Path) -> Result<Self, Box<dyn std::error::Error>> {
        let records = DrawRecords::open(&out.join("records.jsonl"))?;
        let draws = by_key(records.all());
        Ok(Self { records, table: out.join("table.md"), draws })
    }

    /// Keeps further draws, and makes the table from all there are.
    fn add(&mut self, found: Vec<Draw>, options: &Options) -> Result<(), Box<dyn std::error::Error>> {
        self.records.add(&found, &self.table, |all| {
            let all = by_key(all);
            let mut measured: Vec<(usize, &str)> = all.keys().map(|(at, of, _)| (*at, of.as_str())).collect();
            measured.dedup();
            measured.into_iter().fold(HEADER.to_owned(), |table, (at, estimator)| {
                table + &line(&of(&all, PROCESSES.get(at).map_or("", |p| p.name), estimator), options)
            })
        })?;
        self.draws = by_key(self.records.all());
        Ok(())
    }

    fn of(&self, process: &str, estimator: &str) -> Vec<Draw> {
        of(&self.draws, process, estimator)
    }
}

/// One draw of each key, should two processes have made the same.
fn by_key(all: &[Draw]) -> BTreeMap<Key, Draw> {
    all.iter().map(|draw| (key(&draw.process, &draw.estimator, draw.seed), draw.clone())).collect()
}

fn of(draws: &BTreeMap<Key, Draw>, process: &str, estimator: &str) -> Vec<Draw> {
    let own = draws.range(key(process, estimator, 0)..=key(process, estimator, u64::MAX));
    own.map(|(_, draw)| draw.clone()).collect()
}

/// Features, and what is true of fresh rows: conditional and individual effects.
struct Rows {
    table: Table,
    tau: Vec<f64>,
    own: Vec<f64>,
    /// Half widths of the oracle's intervals of individual effects: the shortest that hold the level when the expected outcomes
    /// and the noise are known.
    oracle: Vec<f64>,
}

fn rows(process: &Process, (n, arms): (usize, usize), (seed, level): (Seed, f64)) -> paretau::Result<Rows> {
    let reach = oracle_reach(process.noise, level);
    let mut rng = seed.named(process.name).rng();
    let (mut x, mut t, mut y) = (vec![vec![]; process.d], vec![], vec![]);
    let (mut tau, mut own, mut oracle) = (vec![], vec![], vec![]);
    for _ in 0..n {
        let row = (process.draw)(&mut rng, process.d);
        let arm = rng.bernoulli(row.e);
        // Noise of the two potential outcomes is drawn apart.
        let (y0, y1) = (outcome(&mut rng, process.noise, row.mu0), outcome(&mut rng, process.noise, row.mu0 + row.tau));
        // Drawn only where it is wanted, so that rows of two arms are the same without it.
        if arms > 2 && rng.bernoulli(1.0 / 3.0) {
            t.push(2.0);
            y.push(outcome(&mut rng, process.noise, row.mu0 + row.tau / 2.0));
        } else {
            t.push(f64::from(u8::from(arm)));
            y.push(if arm { y1 } else { y0 });
        }
        tau.push(row.tau);
        own.push(y1 - y0);
        oracle.push(reach.unwrap_or_else(|| yes_no_reach(row.mu0, row.mu0 + row.tau, level)));
        x.iter_mut().zip(row.x).for_each(|(column, v)| column.push(v));
    }
    let features = x.into_iter().enumerate().map(|(j, v)| TableColumn::number(format!("x{}", j + 1), v));
    let columns = [TableColumn::number("t", t), TableColumn::number("y", y)].into_iter().chain(features);
    Ok(Rows { table: Table::new(columns.collect())?, tau, own, oracle })
}

/// How far an individual effect may lie from the conditional one at a level, where that is the same for all rows.
fn oracle_reach(noise: Noise, level: f64) -> Option<f64> {
    match noise {
        Noise::YesNo => None,
        Noise::Normal => Some(normal_quantile(f64::midpoint(1.0, level)) * std::f64::consts::SQRT_2),
        Noise::Heavy => {
            let mut rng = Seed(11).named("oracle").rng();
            let gap = |_| (outcome(&mut rng, noise, 0.0) - outcome(&mut rng, noise, 0.0)).abs();
            let mut gaps: Vec<f64> = (0..20_000).map(gap).collect();
            gaps.sort_by(f64::total_cmp);
            Some(gaps[(level * 20_000.0) as usize])
        }
    }
}

/// The same for a yes/no outcome: half the width of the narrowest range of -1, 0 and 1 that holds the level.
fn yes_no_reach(p0: f64, p1: f64, level: f64) -> f64 {
    let (down, up) = (p0 * (1.0 - p1), p1 * (1.0 - p0));
    if down + up <= 1.0 - level {
        0.0
    } else if down.min(up) <= 1.0 - level {
        0.5
    } else {
        1.0
    }
}

/// What one draw gives.
#[derive(Clone, Serialize, Deserialize)]
struct Draw {
    process: String,
    estimator: String,
    seed: u64,
    /// Share of fresh rows whose conditional effect is covered.
    covered: f64,
    /// The same among the tenth of the rows whose effect is furthest from the mean.
    covered_outer: f64,
    /// Root mean squared error of the predictions, for the oracle.
    rmse: f64,
    half_width: f64,
    /// Share of the arms for which intervals of all fresh rows, made wider by Bonferroni's rule, hold the truth at once; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_covered: Option<f64>,
    /// Absent where an arm has too few rows for intervals of individual effects.
    individual: Option<IndividualDraw>,
}

#[derive(Clone, Serialize, Deserialize)]
struct IndividualDraw {
    covered: f64,
    half_width: f64,
    oracle_half_width: f64,
}

fn draw(process: &Process, estimator: &str, options: &Options, seed: u64) -> paretau::Result<Draw> {
    let mut settings = estimator.split(':');
    let name = settings.next().unwrap_or_default();
    let (mut params, mut arms) = (Params::none(), 2);
    for (key, value) in settings.filter_map(|s| s.split_once('=')) {
        match key {
            "arms" => arms = value.parse().map_err(|_| paretau::Error::unfit("arms: a number is needed"))?,
            _ => params = params.with(key, value),
        }
    }
    let train = rows(process, (options.rows, arms), (Seed(seed), options.level))?;
    let fit = FitOptions {
        seed: Seed(seed),
        params,
        intervals: (options.refits > 0).then_some(options.refits),
        ..FitOptions::new(name)
    };
    let model = paretau::fit(train.table, &RoleSpec::new("t", "y"), &fit)?;
    let fresh = rows(process, (FRESH, 2), (Seed(seed).named("fresh"), options.level))?;
    let mean = |of: &dyn Fn(usize) -> f64| (0..FRESH).map(of).sum::<f64>() / FRESH as f64;
    let centre = mean(&|i| fresh.tau[i]);
    let mut outer: Vec<usize> = (0..FRESH).collect();
    outer.sort_by(|&a, &b| (fresh.tau[b] - centre).abs().total_cmp(&(fresh.tau[a] - centre).abs()).then(a.cmp(&b)));
    outer.truncate(FRESH / 10);
    let contrasts = model.contrasts(&fresh.table)?;
    // Sums over the treated arms: shares covered, among all and among the outer rows, squared error, half width.
    let (mut sums, mut all_covered) = ([0.0; 4], 0.0);
    for (effects, share) in contrasts.iter().zip([1.0, 0.5]) {
        let (lo, hi) = model.interval(&effects.tau, effects.se.as_deref(), options.level)?;
        let truth = |i: usize| share * fresh.tau[i];
        // So wide that all fresh rows should be covered at once (Bonferroni).
        let strict = 1.0 - (1.0 - options.level) / FRESH as f64;
        let (low, high) = model.interval(&effects.tau, effects.se.as_deref(), strict)?;
        all_covered += f64::from(u8::from((0..FRESH).all(|i| low[i] <= truth(i) && truth(i) <= high[i])));
        let is_within = |i: usize| lo[i] <= truth(i) && truth(i) <= hi[i];
        let found = [
            mean(&|i| f64::from(u8::from(is_within(i)))),
            outer.iter().filter(|&&i| is_within(i)).count() as f64 / outer.len() as f64,
            mean(&|i| (effects.tau[i] - truth(i)).powi(2)),
            mean(&|i| (hi[i] - lo[i]) / 2.0),
        ];
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found / contrasts.len() as f64);
    }
    let [covered, covered_outer, squared, half_width] = sums;
    let individual = model.individual_interval(&fresh.table, options.level).ok().map(|(lo, hi)| IndividualDraw {
        covered: short(mean(&|i| f64::from(u8::from(lo[i] <= fresh.own[i] && fresh.own[i] <= hi[i])))),
        half_width: short(mean(&|i| (hi[i] - lo[i]) / 2.0)),
        oracle_half_width: short(mean(&|i| fresh.oracle[i])),
    });
    Ok(Draw {
        process: process.name.to_owned(),
        estimator: estimator.to_owned(),
        seed,
        covered: short(covered),
        covered_outer: short(covered_outer),
        rmse: short(squared.sqrt()),
        half_width: short(half_width),
        all_covered: Some(all_covered / contrasts.len() as f64),
        individual,
    })
}

/// Six digits: more than a rate over draws can use.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

const HEADER: &str = "\
| process | estimator | draws | conditional effect covered | outer tenth | half width | half width / oracle | all rows at once | individual effect covered | half width | half width / oracle | refused |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// The oracle of the conditional effect knows the root mean squared error of the predictions: its intervals are that times the
/// normal quantile.
fn line(draws: &[Draw], options: &Options) -> String {
    let Some(first) = draws.first() else { return String::new() };
    let mean = |of: fn(&Draw) -> f64| draws.iter().map(of).sum::<f64>() / draws.len() as f64;
    let oracle = normal_quantile(f64::midpoint(1.0, options.level)) * mean(|d| d.rmse * d.rmse).sqrt();
    let own: Vec<&IndividualDraw> = draws.iter().filter_map(|d| d.individual.as_ref()).collect();
    let of_own = |of: fn(&IndividualDraw) -> f64| own.iter().map(|d| of(d)).sum::<f64>() / own.len() as f64;
    let individual = if own.is_empty() {
        "– | – | –".to_owned()
    } else {
        let half = of_own(|d| d.half_width);
        let ratio = half / of_own(|d| d.oracle_half_width).max(1e-12);
        format!("{:.1} | {half:.2} | {ratio:.2}", 100.0 * of_own(|d| d.covered))
    };
    let refused = if options.refits == 0 {
        "–".to_owned()
    } else {
        format!("{:.0}", 100.0 * (draws.len() - own.len()) as f64 / draws.len() as f64)
    };
    let all: Vec<f64> = draws.iter().filter_map(|d| d.all_covered).collect();
    let at_once = if all.len() < draws.len() {
        "–".to_owned()
    } else {
        format!("{:.1}", 100.0 * all.iter().sum::<f64>() / all.len() as f64)
    };
    format!(
        "| {} | {} | {} | {:.1} | {:.1} | {:.2} | {:.2} | {at_once} | {individual} | {refused} |\n",
        first.process,
        first.estimator,
        draws.len(),
        100.0 * mean(|d| d.covered),
        100.0 * mean(|d| d.covered_outer),
        mean(|d| d.half_width),
        mean(|d| d.half_width) / oracle.max(1e-12),
    )
}
