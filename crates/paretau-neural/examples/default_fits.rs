//! What a default fit costs and how good it is: estimators side by side on fresh draws of simulated processes.
//!
//! `cargo run --release --example default_fits -- ESTIMATORS FAMILIES DRAWS [ROWS] [FIRST] [NAME=VALUE …]`, names separated by commas,
//! e.g. `tarnet,dpsw-norm synthetic,overlap,grf:design=aw3 4`, parameters of a family behind colons. Parameters of the estimators
//! stand last, e.g. `embedding=plain`. One JSON line per fit: seconds of processor time, steps taken by the nets that were
//! kept, the loss on held-out rows over the outcome's variance, and beside it root-PEHE over the effects' standard deviation, which
//! nothing is chosen by, and how much more each encoder reads its own features (synthetic process only). `RAYON_NUM_THREADS` sets the threads.
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

/// Values in the form `name=value`: numbers where they are some.
fn with_values<'a>(params: Params, values: impl Iterator<Item = &'a str>) -> Params {
    values.fold(params, |params, value| {
        let (name, value) = value.split_once('=').unwrap();
        match (value.parse::<usize>(), value.parse::<f64>()) {
            (Ok(whole), _) => params.with(name, whole),
            (_, Ok(number)) => params.with(name, number),
            _ => params.with(name, value),
        }
    })
}

/// The name of a family's process and its parameters.
fn process(family: &str, n: usize) -> (&str, Params) {
    let mut parts = family.split(':');
    let name = parts.next().unwrap();
    let all = Params::none().with("n", n);
    let all = match name {
        "overlap" => all.with("d", 30).with("strength", 2.0),
        "acic" => all.with("d", 40),
        _ => all,
    };
    (name, with_values(all, parts))
}

fn main() {
    rayon::scope(|_| measure());
}

fn measure() {
    let (values, args): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.contains('=') && !arg.contains(':'));
    let number = |k: usize, default: usize| args.get(k).map_or(default, |a| a.parse().unwrap());
    let (draws, n, first) = (number(2, 1), number(3, 1500), number(4, FIRST));
    for seed in (first..first + draws).map(|s| s as u64) {
        for family in args[1].split(',') {
            let (process, params) = process(family, n + TEST);
            let data = (simulator(process).unwrap().run)(&params, Seed(seed)).unwrap();
            let all = data.design().unwrap();
            let train = all.select(&(0..n).collect::<Vec<_>>()).unwrap();
            let test: Vec<usize> = (n..n + TEST).collect();
            let held = all.select(&test).unwrap();
            let truth: Vec<f64> = test.iter().map(|&i| data.mu1[i] - data.mu0[i]).collect();
            for name in args[0].split(',') {
                let entry = ENTRIES.iter().find(|e| e.info().name == name).unwrap();
                let tools = Toolbox { bases: &[&paretau_neural::MlpBase] };
                let params = with_values(Params::none(), values.iter().map(String::as_str));
                let estimator = entry.build(&params, &tools).unwrap();
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
                let bins = model.diagnostics().numbers.get("bins").copied().unwrap_or(0.0);
                let share = model.diagnostics().numbers.get("weighted_share").copied().unwrap_or(f64::NAN);
                // How much more each encoder reads its own third of the features than the others, as in the paper's figure 3.
                let roles = &model.diagnostics().roles;
                let third = roles.len() / 3;
                let own = |encoder: usize, j: usize| j / third.max(1) == encoder;
                let reads = |encoder: usize, inside: bool| {
                    let picked = roles.iter().enumerate().filter(move |(j, _)| own(encoder, *j) == inside);
                    mean(picked.map(move |(_, role)| [role.instrument, role.confounder, role.adjuster][encoder]))
                };
                let thirds = family.starts_with("synthetic") && third > 0;
                let encoders = [0, 1, 2].map(|g| if thirds { reads(g, true) / reads(g, false) - 1.0 } else { 0.0 });
                println!(
                    "{{\"family\":\"{family}\",\"rows\":{n},\"draw\":{seed},\"estimator\":\"{name}\",\"seconds\":{seconds:.2},\"steps\":{steps:.0},\"bins\":{bins:.1},\"loss\":{loss:.6},\"entropy\":{entropy:.6},\"share\":{share:.4},\"pehe\":{pehe:.6},\"pehe_rel\":{:.6},\"encoders\":[{:.3},{:.3},{:.3}]}}",
                    pehe / variance(&truth).sqrt().max(1e-12),
                    encoders[0],
                    encoders[1],
                    encoders[2],
                );
            }
        }
    }
}
