//! Boosting on files, for `bench/bench_boosting.py`: fits on one, is scored on the other, prints JSON.
//!
//! `boost_file TRAIN TEST COLUMNS TARGET [KEY=VALUE ...]`: the files hold rows of `COLUMNS` features and then the outcome, as
//! little-endian doubles; `TARGET` is `mean` or `probability`; the rest are parameters. The error is the mean squared error
//! or the log-loss of the second file's rows.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::time::Instant;

use paretau_core::{
    BaseEntry, Column, Dense, Features, FitContext, Params, RegressionTask, Result, Seed, State, Target, Tensor,
};
use paretau_forest::{BOOSTING, FOREST};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    assert!(args.len() >= 4, "usage: boost_file TRAIN TEST COLUMNS TARGET [KEY=VALUE ...]");
    let p: usize = args[2].parse().expect("a number of columns");
    let target = if args[3] == "probability" { Target::Probability } else { Target::Mean };
    let (x, y) = read(&args[0], p);
    let (x_test, y_test) = read(&args[1], p);
    let given = args[4..].iter().filter_map(|pair| pair.split_once('='));
    let is_forest = args[4..].iter().any(|word| word == "forest");
    let params = given.fold(Params::none(), |params, (key, value)| params.with(key, value));
    let learner = if is_forest { FOREST.build(&params)? } else { BOOSTING.build(&params)? };
    let columns = Column::numbered(p);
    let task = RegressionTask { x: &x, columns: &columns, y: &y, weight: None, groups: None, target };
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    let model = learner.fit(&task, &FitContext::silent(Seed(0)))?;
    let (fit, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    let start = Instant::now();
    let predicted = model.predict(&x_test)?;
    let predict = start.elapsed().as_secs_f64();
    let error = mean_error(&predicted, &y_test, target);
    let held_out = model.held_out().map_or(f64::NAN, |own| mean_error(own, &y, target));
    let state = model.state()?;
    let facts = state.json.get("facts").cloned().unwrap_or_default();
    println!(
        "{{\"fit\": {fit}, \"cpu\": {cpu}, \"predict\": {predict}, \"error\": {error}, \"held_out\": {held_out}, \"bytes\": {}, \
         \"rounds\": {}, \"leaves\": {}}}",
        bytes(&state),
        facts.get("rounds").cloned().unwrap_or_default(),
        facts.get("max_leaves").cloned().unwrap_or_default(),
    );
    Ok(())
}

/// Seconds of computing by all threads so far, which other work on the machine does not change; not a number where the
/// system does not tell.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = behind_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse().ok()).collect();
    if ticks.len() == 2 { (ticks[0] + ticks[1]) / 100.0 } else { f64::NAN }
}

fn mean_error(predicted: &[f64], y: &[f64], target: Target) -> f64 {
    let error = |(p, y): (&f64, &f64)| match target {
        Target::Mean => (y - p).powi(2),
        Target::Probability => -(if *y > 0.5 { p.ln() } else { (-p).ln_1p() }),
    };
    predicted.iter().zip(y).map(error).sum::<f64>() / y.len() as f64
}

/// What the model's numbers take in a file.
fn bytes(state: &State) -> usize {
    let size = |tensor: &Tensor| match tensor {
        Tensor::F64(_, v) => 8 * v.len(),
        Tensor::F32(_, v) => 4 * v.len(),
        Tensor::U32(_, v) => 4 * v.len(),
        Tensor::U16(_, v) => 2 * v.len(),
        Tensor::U8(_, v) => v.len(),
    };
    state.json.to_string().len() + state.tensors.values().map(size).sum::<usize>()
}

fn read(path: &str, p: usize) -> (Features, Vec<f64>) {
    let bytes = std::fs::read(path).expect("a file that can be read");
    let all: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let y = all.chunks_exact(p + 1).map(|row| row[p]).collect::<Vec<f64>>();
    let x = all.chunks_exact(p + 1).flat_map(|row| row[..p].to_vec()).collect();
    (Features::Dense(Dense::new(y.len(), p, x).unwrap()), y)
}
