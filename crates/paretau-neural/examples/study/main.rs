//! Runs presets over the data sets below `PARETAU_DATA` and writes one CSV line a fit; `experiments/neural/table.py` makes the
//! tables.
//!
//! `cargo run --release --example study -- SETS PRESETS out=FILE [seeds=2] [label=NAME] [key=value …]`, e.g.
//! `ihdp:1-10,synthetic-15-0.1 dpsw-norm,drcfr out=records.csv members=5`. Fits that the file holds already are not repeated.
//! The folder holds plain text as `experiments/neural/prepare.py` leaves it. A fifth of the rows is kept for scoring, a fifth
//! for validation; the truth is used for scoring only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod sets;

use std::fs;
use std::io::Write as _;
use std::time::Instant;

use paretau_core::{Diagnostics, FitContext, Params, Seed, Split, Toolbox};
use paretau_neural::ENTRIES;

const HEADER: &str =
    "set,method,seed,pehe,pehe_rel,ate_error,seconds,gamma,dropout,l2,tail_fits_left_share,ess_share_0,ess_share_1";

/// What the command line asks for.
struct Request {
    sets: Vec<String>,
    presets: Vec<String>,
    label: Option<String>,
    out: String,
    seeds: u64,
    params: Params,
}

fn request() -> Request {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let presets = args[1].split(',').map(str::to_owned).collect();
    let mut request = Request {
        sets: sets::expand(&args[0]),
        presets,
        label: None,
        out: String::new(),
        seeds: 1,
        params: Params::none(),
    };
    for pair in &args[2..] {
        let (key, value) = pair.split_once('=').expect("key=value");
        match key {
            "out" => value.clone_into(&mut request.out),
            "label" => request.label = Some(value.to_owned()),
            "seeds" => request.seeds = value.parse().unwrap(),
            _ => request.params = request.params.with(key, value),
        }
    }
    assert!(!request.out.is_empty(), "out=FILE names the file of records");
    request
}

fn main() {
    let request = request();
    let done = fs::read_to_string(&request.out).unwrap_or_default();
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&request.out).unwrap();
    if done.is_empty() {
        writeln!(file, "{HEADER}").unwrap();
    }
    for name in &request.sets {
        let mut set = None;
        for preset in &request.presets {
            let label = request.label.as_ref().unwrap_or(preset);
            for seed in 0..request.seeds {
                let key = format!("{name},{label},{seed},");
                if done.lines().any(|line| line.starts_with(&key)) {
                    continue;
                }
                let set = set.get_or_insert_with(|| sets::read(name));
                let line = format!("{key}{}", fit(set, preset, &request.params, seed));
                println!("{line}");
                writeln!(file, "{line}").unwrap();
            }
        }
    }
}

/// Fits one preset with one seed and scores it.
fn fit(set: &sets::Set, preset: &str, params: &Params, seed: u64) -> String {
    let entry = ENTRIES.iter().find(|e| e.info().name == preset).expect("a known preset");
    let split = Split::random(set.design.t(), 0.0, 0.2, Seed(seed).named("study")).unwrap();
    let train = set.design.select(&split.train).unwrap();
    let ctx = FitContext { valid_share: 0.25, ..FitContext::silent(Seed(seed)) };
    let estimator = entry.build(params, &Toolbox { bases: &[&paretau_neural::MlpBase] }).unwrap();
    let start = Instant::now();
    let model = estimator.fit(&train, &ctx).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let effects = model.effects(&set.design.x().select(&split.test)).unwrap();
    let gaps: Vec<f64> = split.test.iter().zip(&effects.tau).map(|(&i, tau)| tau - set.tau[i]).collect();
    let pehe = (gaps.iter().map(|g| g * g).sum::<f64>() / gaps.len() as f64).sqrt();
    let ate = (gaps.iter().sum::<f64>() / gaps.len() as f64).abs();
    let told = model.diagnostics();
    if std::env::var_os("STUDY_NOTES").is_some() {
        eprintln!("{:?}", told.numbers);
    }
    let choice: Vec<String> = ["gamma", "dropout", "l2", "tail_fits_left_share", "ess_share_0", "ess_share_1"]
        .iter()
        .map(|key| number(told, key))
        .collect();
    format!("{pehe:.5},{:.5},{ate:.5},{seconds:.1},{}", pehe / sd(&set.tau), choice.join(","))
}

/// A number of the diagnostics, empty where there is none.
fn number(told: &Diagnostics, key: &str) -> String {
    told.numbers.get(key).map_or_else(String::new, |v| format!("{v:.5}"))
}

fn sd(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}
