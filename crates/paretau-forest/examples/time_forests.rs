//! Time and memory of fitting and predicting. On a shared machine the processor's seconds mean more than the clock's.
//!
//! `cargo run --release -p paretau-forest --example time_forests -- [rows] [columns] [trees] [kind]`,
//! where kind is `regression`, `deep` (leaves of one row), `causal` or `dml`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::time::Instant;

use paretau_core::{
    Column, Dense, Design, EstimatorEntry, Features, FitContext, FittedRegressor, Params, RegressionTask, Result, Seed,
    State, Target, Tensor, Toolbox, Want,
};
use paretau_forest::{CAUSAL_FOREST, CAUSAL_FOREST_DML, FOREST, ForestConfig, ForestRegressor};
use paretau_learners::RIDGE;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, usual: usize| args.get(k).map_or(usual, |a| a.parse().expect("a whole number"));
    let (n, p, trees) = (number(0, 20_000), number(1, 20), number(2, 2000));
    let kind = args.get(3).map_or("causal", String::as_str);
    let (x, t, y) = rows(n, p);
    println!("{kind}: {n} rows, {p} columns, {trees} trees; resident before: {} MB", peak_mb());
    match kind {
        "regression" | "deep" => regression(&x, &y, trees, kind == "deep"),
        _ => causal(x, t, y, trees, kind == "dml"),
    }
}

/// Rows of the bulk prediction.
const BULK: usize = 100_000;

/// Confounded rows with an effect that varies.
fn rows(n: usize, p: usize) -> (Features, Vec<u8>, Vec<f64>) {
    let mut rng = Seed(1).rng();
    let (mut values, mut t, mut y) = (Vec::with_capacity(n * p), Vec::new(), Vec::new());
    for _ in 0..n {
        let start = values.len();
        values.extend((0..p).map(|_| rng.normal()));
        let x = &values[start..];
        let treated = rng.bernoulli(1.0 / (1.0 + (-x[0]).exp()));
        t.push(u8::from(treated));
        let effect = 1.0 + x[1].max(0.0);
        y.push(x[0] + x[2 % p].sin() + f64::from(u8::from(treated)) * effect + rng.normal());
    }
    (Features::Dense(Dense::new(n, p, values).unwrap()), t, y)
}

fn regression(x: &Features, y: &[f64], trees: usize, deep: bool) -> Result<()> {
    let config = ForestConfig {
        n_estimators: trees,
        min_node_size: if deep { 1 } else { 5 },
        max_features: Some(x.n_cols().div_ceil(3)),
        ..ForestConfig::default()
    };
    let columns = Column::numbered(x.n_cols());
    let task = RegressionTask { x, columns: &columns, y, weight: None, groups: None, target: Target::Mean };
    let start = Watch::start();
    let forest = ForestRegressor::new(config)?.fit_forest(&task, &FitContext::silent(Seed(0)))?;
    println!("fit {}, out-of-bag error {:.4}", start.read(), forest.oob_error().unwrap());
    println!("state {:.1} MB, peak {} MB", megabytes(&forest.state()?), peak_mb());
    let start = Watch::start();
    let predicted = forest.predict(x)?;
    println!("bulk prediction of {} rows {}", predicted.len(), start.read());
    Ok(())
}

fn causal(x: Features, t: Vec<u8>, y: Vec<f64>, trees: usize, dml: bool) -> Result<()> {
    let tools = Toolbox { bases: &[&FOREST, &RIDGE] };
    let params = Params::none().with("n_estimators", trees);
    let estimator =
        if dml { CAUSAL_FOREST_DML.build(&params, &tools)? } else { CAUSAL_FOREST.build(&params, &tools)? };
    let design = Design::new(x, t, y)?;
    let start = Watch::start();
    let model = estimator.fit(&design, &FitContext::silent(Seed(0)))?;
    println!("fit {}; {:?}", start.read(), model.diagnostics().numbers);
    println!("peak {} MB, state {:.1} MB", peak_mb(), megabytes(&model.state()?));
    let one = design.x().select(&[0]);
    model.effects(&one)?;
    let start = Watch::start();
    (0..1000).try_for_each(|_| model.effects(&one).map(|_| ()))?;
    println!("one row, 1000 times {}", start.read());
    let (many, ..) = rows(BULK, design.x().n_cols());
    let start = Watch::start();
    let effects = model.effects(&many)?;
    println!("bulk prediction of {} rows with expected outcomes {}", effects.len(), start.read());
    for _ in 0..3 {
        let start = Watch::start();
        let alone = model.predict(&many, Want::Effect)?.swap_remove(0);
        println!("bulk prediction of {} rows, effects and errors alone {}", alone.tau.len(), start.read());
    }
    println!("peak {} MB", peak_mb());
    Ok(())
}

/// Seconds by the clock and by the processor.
struct Watch(Instant, f64);

impl Watch {
    fn start() -> Self {
        Self(Instant::now(), Self::processor())
    }

    fn read(&self) -> String {
        format!("{:.2} s ({:.2} s of processor)", self.0.elapsed().as_secs_f64(), Self::processor() - self.1)
    }

    /// User time of the process, where the system reports it.
    fn processor() -> f64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
    }
}

fn megabytes(state: &State) -> f64 {
    let bytes = |tensor: &Tensor| {
        let n: usize = tensor.shape().iter().product();
        n * match tensor {
            Tensor::F64(..) => 8,
            Tensor::F32(..) | Tensor::U32(..) => 4,
            Tensor::U16(..) => 2,
            Tensor::U8(..) => 1,
        }
    };
    state.tensors.values().map(bytes).sum::<usize>() as f64 / 1e6
}

/// Largest resident memory so far, where the system reports it.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1000
}
