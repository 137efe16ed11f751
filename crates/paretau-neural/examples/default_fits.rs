//! What a default fit costs and how good it is: estimators side by side on fresh draws of simulated processes.
//!
//! `cargo run --release --example default_fits -- ESTIMATORS FAMILIES DRAWS [ROWS] [FIRST]`, names separated by commas, e.g.
//! `tarnet,dpsw-norm synthetic,overlap,grf 4`. One JSON line per fit: seconds of processor time, steps taken by the nets that were
//! kept, the loss on held-out rows over the outcome's variance, and beside it root-PEHE over the effects' standard deviation, which
//! nothing is chosen by. `RAYON_NUM_THREADS` sets the threads.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use paretau_core::{FitContext, Params, Seed, Toolbox, Want};
use paretau_data::simulate::simulator;
use paretau_neural::ENTRIES;

/// Rows that no fit sees.
const TEST: usize = 2000;
/// Seeds begin here: far from those of other studies.
const FIRST: usize = 770_001;

/// Processor seconds of the process so far, as Linux counts them in hundredths.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    values.sum::<f64>() / n
}

fn variance(values: &[f64]) -> f64 {
    let centre = mean(values.iter().copied());
    mean(values.iter().map(|v| (v - centre).powi(2)))
}

fn params(family: &str, n: usize) -> Params {
    let all = Params::none().with("n", n);
    match family {
        "overlap" => all.with("d", 30).with("strength", 2.0),
        "acic" => all.with("d", 40),
        _ => all,
    }
}

fn main() {
    rayon::scope(|_| measure());
}

fn measure() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: usize| args.get(k).map_or(default, |a| a.parse().unwrap());
    let (draws, n, first) = (number(2, 1), number(3, 1500), number(4, FIRST));
    for seed in (first..first + draws).map(|s| s as u64) {
        for family in args[1].split(',') {
            let process = simulator(family).unwrap();
            let data = (process.run)(&params(family, n + TEST), Seed(seed)).unwrap();
            let all = data.design().unwrap();
            let train = all.select(&(0..n).collect::<Vec<_>>()).unwrap();
            let test: Vec<usize> = (n..n + TEST).collect();
            let held = all.select(&test).unwrap();
            let truth: Vec<f64> = test.iter().map(|&i| data.mu1[i] - data.mu0[i]).collect();
            for name in args[0].split(',') {
                let entry = ENTRIES.iter().find(|e| e.info().name == name).unwrap();
                let tools = Toolbox { bases: &[&paretau_neural::MlpBase] };
                let estimator = entry.build(&Params::none(), &tools).unwrap();
                let ctx = FitContext { valid_share: 0.2, ..FitContext::silent(Seed(seed)) };
                let before = processor();
                let model = estimator.fit(&train, &ctx).unwrap();
                let seconds = processor() - before;
                let effects = model.predict(held.x(), Want::Everything).unwrap().remove(0);
                let gap = |k: usize| held.y()[k] - if held.t()[k] == 1 { effects.mu1[k] } else { effects.mu0[k] };
                let loss = mean((0..TEST).map(|k| gap(k).powi(2))) / variance(held.y());
                let pehe = mean((0..TEST).map(|k| (effects.tau[k] - truth[k]).powi(2))).sqrt();
                let entropy = effects.e.map_or(f64::NAN, |e| {
                    mean((0..TEST).map(|k| -(if held.t()[k] == 1 { e[k] } else { 1.0 - e[k] }).ln()))
                });
                let steps = model.diagnostics().numbers.get("steps").copied().unwrap_or(f64::NAN);
                let share = model.diagnostics().numbers.get("weighted_share").copied().unwrap_or(f64::NAN);
                println!(
                    "{{\"family\":\"{family}\",\"rows\":{n},\"draw\":{seed},\"estimator\":\"{name}\",\"seconds\":{seconds:.2},\"steps\":{steps:.0},\"loss\":{loss:.6},\"entropy\":{entropy:.6},\"share\":{share:.4},\"pehe\":{pehe:.6},\"pehe_rel\":{:.6}}}",
                    pehe / variance(&truth).sqrt().max(1e-12)
                );
            }
        }
    }
}
