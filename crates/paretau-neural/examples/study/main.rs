//! Runs presets over the data sets below `PARETAU_DATA` and prints root-PEHE over the sd of the true effect as Markdown.
//!
//! `cargo run --release --example study -- SETS PRESETS [key=value …]`, e.g. `ihdp:1-10,synthetic-15 dpsw-norm,drcfr members=5`.
//! The folder holds plain text: `ihdp/`, `acic2016/`, `newslike/` with its `.x` unpacked, `lbidd/` with `covariates.csv`.
//! A fifth of the rows is kept for scoring, a fifth for validation; the truth is used for scoring only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod sets;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use paretau_core::{FitContext, Params, Seed, Split, Toolbox};
use paretau_neural::ENTRIES;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (names, presets) = (sets::expand(&args[0]), args[1].split(',').collect::<Vec<_>>());
    let mut params = Params::none();
    let mut seeds = vec![0_u64];
    for pair in &args[2..] {
        let (key, value) = pair.split_once('=').expect("key=value");
        if key == "seeds" {
            seeds = (0..value.parse().unwrap()).collect();
        } else {
            params = params.with(key, value);
        }
    }
    let mut table: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    println!("| set | preset | seed | pehe | pehe_rel | ate error | seconds | choice |");
    println!("|---|---|---|---|---|---|---|---|");
    for name in &names {
        let set = sets::read(name);
        let spread = sd(&set.tau);
        for preset in &presets {
            let entry = ENTRIES.iter().find(|e| e.info().name == *preset).expect("a known preset");
            for &seed in &seeds {
                let split = Split::random(set.design.t(), 0.0, 0.2, Seed(seed).named("study")).unwrap();
                let train = set.design.select(&split.train).unwrap();
                let ctx = FitContext { valid_share: 0.25, ..FitContext::silent(Seed(seed)) };
                let estimator = entry.build(&params, &Toolbox { bases: &[&paretau_neural::MlpBase] }).unwrap();
                let start = Instant::now();
                let model = match estimator.fit(&train, &ctx) {
                    Ok(model) => model,
                    Err(e) => {
                        println!("| {name} | {preset} | {seed} | failed: {e} |");
                        continue;
                    }
                };
                let seconds = start.elapsed().as_secs_f64();
                let effects = model.effects(&set.design.x().select(&split.test)).unwrap();
                let gaps: Vec<f64> = split.test.iter().zip(&effects.tau).map(|(&i, tau)| tau - set.tau[i]).collect();
                let pehe = (gaps.iter().map(|g| g * g).sum::<f64>() / gaps.len() as f64).sqrt();
                let ate = (gaps.iter().sum::<f64>() / gaps.len() as f64).abs();
                let mut choice = String::new();
                for (key, value) in &model.diagnostics().numbers {
                    let _ = write!(choice, "{key} {value:.4} ");
                }
                println!(
                    "| {name} | {preset} | {seed} | {pehe:.4} | {:.4} | {ate:.4} | {seconds:.1} | {choice} |",
                    pehe / spread
                );
                for kind in [name.split(':').next().unwrap_or(name), "all sets"] {
                    table.entry(((*preset).to_owned(), kind.to_owned())).or_default().push(pehe / spread);
                    table.entry(((*preset).to_owned(), format!("{kind} (pehe)"))).or_default().push(pehe);
                }
            }
        }
    }
    println!("\n| preset | kind | geometric mean of pehe_rel | mean |\n|---|---|---|---|");
    for ((preset, kind), values) in &table {
        let n = values.len() as f64;
        let geometric = (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp();
        println!("| {preset} | {kind} | {geometric:.4} | {:.4} |", values.iter().sum::<f64>() / n);
    }
}

fn sd(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}
