//! Coverage of the causal forest's 95 % intervals over many replicates; the table in `COVERAGE.md` is its output.
//!
//! `cargo run --release -p paretau-forest --example coverage -- [replicates] [trees]`
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use paretau_core::{Dense, Design, EstimatorEntry, Features, FitContext, Params, Result, Rng, Seed, Toolbox};
use paretau_forest::{CAUSAL_FOREST, CAUSAL_FOREST_DML, FOREST};

/// A data generating process on uniform features.
struct Process {
    name: &'static str,
    n: usize,
    p: usize,
    baseline: fn(&[f64]) -> f64,
    propensity: fn(&[f64]) -> f64,
    effect: fn(&[f64]) -> f64,
}

/// The sigmoid of Wager and Athey (2018).
fn sigmoid(v: f64) -> f64 {
    1.0 + 1.0 / (1.0 + (-20.0 * (v - 1.0 / 3.0)).exp())
}

/// Density of the Beta(2, 4) distribution.
fn beta24(v: f64) -> f64 {
    20.0 * v * (1.0 - v).powi(3)
}

const PROCESSES: &[Process] = &[
    Process {
        name: "constant effect, trial",
        n: 1000,
        p: 5,
        baseline: |x| 2.0 * x[0],
        propensity: |_| 0.5,
        effect: |_| 1.0,
    },
    Process {
        name: "no effect, confounded (Wager-Athey 1)",
        n: 1000,
        p: 5,
        baseline: |x| 2.0 * x[0] - 1.0,
        propensity: |x| 0.25 * (1.0 + beta24(x[0])),
        effect: |_| 0.0,
    },
    Process {
        name: "linear effect, confounded",
        n: 2000,
        p: 5,
        baseline: |x| 2.0 * x[2] - 1.0,
        propensity: |x| 0.25 + 0.5 * x[2],
        effect: |x| 1.0 + x[0],
    },
    Process {
        name: "steep effect, trial (Wager-Athey 2)",
        n: 4000,
        p: 2,
        baseline: |_| 0.0,
        propensity: |_| 0.5,
        effect: |x| sigmoid(x[0]) * sigmoid(x[1]),
    },
    Process {
        name: "steep effect, trial (Wager-Athey 2)",
        n: 4000,
        p: 6,
        baseline: |_| 0.0,
        propensity: |_| 0.5,
        effect: |x| sigmoid(x[0]) * sigmoid(x[1]),
    },
];

/// Rows where the intervals are judged, the same in every replicate.
const POINTS: usize = 100;

fn main() -> Result<()> {
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().expect("a whole number")).collect();
    let (replicates, trees) = (args.first().copied().unwrap_or(200), args.get(1).copied().unwrap_or(2000));
    println!("{replicates} replicates; {trees} trees (DML: half as many); {POINTS} points drawn like the rows.\n");
    println!("| estimator | design | rows | features | coverage | mean error | sd of errors | mean standard error |");
    println!("|---|---|---|---|---|---|---|---|");
    for (entry, trees) in [(&CAUSAL_FOREST as &dyn EstimatorEntry, trees), (&CAUSAL_FOREST_DML, trees / 2)] {
        for process in PROCESSES {
            report(process, entry, replicates, trees)?;
        }
    }
    Ok(())
}

fn report(process: &Process, entry: &dyn EstimatorEntry, replicates: usize, trees: usize) -> Result<()> {
    let tools = Toolbox { bases: &[&FOREST] };
    let estimator = entry.build(&Params::none().with("n_estimators", trees), &tools)?;
    let (points, truth) = draw_points(process);
    let (mut covered, mut bias, mut squares, mut errors) = (0.0, vec![0.0; POINTS], vec![0.0; POINTS], 0.0);
    for replicate in 0..replicates as u64 {
        let seed = Seed(replicate).named(process.name).indexed(process.p as u64);
        let effects = estimator.fit(&draw(process, seed)?, &FitContext::silent(seed))?.effects(&points)?;
        let se = effects.se.expect("a standard error");
        for i in 0..POINTS {
            let error = effects.tau[i] - truth[i];
            covered += f64::from(u8::from(error.abs() <= 1.959_964 * se[i]));
            bias[i] += error / replicates as f64;
            squares[i] += error * error / replicates as f64;
            errors += se[i];
        }
    }
    let total = (replicates * POINTS) as f64;
    // Spread about each point's own mean error: what the standard error should match.
    let spread = (0..POINTS).map(|i| (squares[i] - bias[i] * bias[i]).max(0.0).sqrt()).sum::<f64>() / POINTS as f64;
    println!(
        "| {} | {} | {} | {} | {:.3} | {:+.3} | {:.3} | {:.3} |",
        entry.info().name,
        process.name,
        process.n,
        process.p,
        covered / total,
        bias.iter().sum::<f64>() / POINTS as f64,
        spread,
        errors / total
    );
    Ok(())
}

fn row(process: &Process, rng: &mut Rng) -> Vec<f64> {
    (0..process.p).map(|_| rng.uniform()).collect()
}

fn draw_points(process: &Process) -> (Features, Vec<f64>) {
    let mut rng = Seed(99).rng();
    let rows: Vec<Vec<f64>> = (0..POINTS).map(|_| row(process, &mut rng)).collect();
    let truth = rows.iter().map(|x| (process.effect)(x)).collect();
    (Features::Dense(Dense::new(POINTS, process.p, rows.concat()).unwrap()), truth)
}

fn draw(process: &Process, seed: Seed) -> Result<Design> {
    let mut rng = seed.named("rows").rng();
    let (mut x, mut t, mut y) = (Vec::with_capacity(process.n * process.p), vec![], vec![]);
    for _ in 0..process.n {
        let row = row(process, &mut rng);
        let treated = rng.bernoulli((process.propensity)(&row));
        t.push(u8::from(treated));
        y.push((process.baseline)(&row) + if treated { (process.effect)(&row) } else { 0.0 } + rng.normal());
        x.extend(row);
    }
    Design::new(Features::Dense(Dense::new(process.n, process.p, x)?), t, y)
}
