//! Coverage of 95 % intervals over many replicates, on the named designs of grf; `experiments/forests/coverage.md` is
//! its output.
//!
//! `cargo run --release -p paretau-forest --example forest_coverage -- [replicates] [trees] [words] [out.csv]`, where only
//! rows of the table that contain all the words (with `+` between them) are computed, e.g. `dml+aw1`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;

use paretau_core::{EstimatorEntry, FitContext, Params, Result, Seed, Toolbox};
use paretau_data::simulate::{GrfConfig, Simulated, grf};
use paretau_forest::{CAUSAL_FOREST, CAUSAL_FOREST_DML, FOREST};
use paretau_learners::RIDGE;

/// Named design, rows, features. The first group has published coverage (Wager and Athey 2018, tables 1 and 2).
const DESIGNS: &[(&str, usize, usize)] = &[
    ("aw1", 500, 2),
    ("aw1", 500, 10),
    ("aw2", 5000, 2),
    ("aw2", 5000, 4),
    ("aw2", 5000, 6),
    ("simple", 2000, 6),
    ("ai1", 2000, 2),
    ("nw1", 2000, 6),
    ("nw3", 2000, 6),
];

/// Rows where the intervals are checked, the same in every replicate.
const POINTS: usize = 100;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, usual: usize| args.get(k).map_or(usual, |a| a.parse().expect("a whole number"));
    let (replicates, trees) = (number(0, 200), number(1, 2000));
    let words: Vec<&str> = args.get(2).map_or(vec![], |w| w.split('+').filter(|w| !w.is_empty()).collect());
    let mut csv = args.get(3).map(|path| std::fs::File::create(path).expect("a file that can be written"));
    let header =
        ["estimator", "design", "rows", "features", "replicates", "trees", "coverage", "bias", "sd", "se", "pehe"];
    println!("| {} |\n|{}", header.join(" | "), "---|".repeat(header.len()));
    if let Some(file) = &mut csv {
        writeln!(file, "{}", header.join(",")).unwrap();
    }
    for (entry, trees) in [(&CAUSAL_FOREST as &dyn EstimatorEntry, trees), (&CAUSAL_FOREST_DML, trees / 2)] {
        for &(design, n, p) in DESIGNS {
            let name = format!("{} {design} p{p}", entry.info().name);
            if words.iter().all(|w| name.contains(w)) {
                let row = report((design, n, p), entry, replicates, trees)?;
                println!("| {} |", row.join(" | "));
                if let Some(file) = &mut csv {
                    writeln!(file, "{}", row.join(",")).unwrap();
                }
            }
        }
    }
    Ok(())
}

fn draw((design, n, p): (&str, usize, usize), seed: Seed) -> Result<Simulated> {
    grf(&GrfConfig { n, d: p, design: design.into(), ..GrfConfig::default() }, seed)
}

fn report(
    process: (&str, usize, usize),
    entry: &dyn EstimatorEntry,
    replicates: usize,
    trees: usize,
) -> Result<Vec<String>> {
    let tools = Toolbox { bases: &[&FOREST, &RIDGE] };
    let estimator = entry.build(&Params::none().with("n_estimators", trees), &tools)?;
    let points = draw((process.0, POINTS, process.2), Seed(99).named("points"))?;
    let truth: Vec<f64> = points.mu1.iter().zip(&points.mu0).map(|(a, b)| a - b).collect();
    let (mut covered, mut bias, mut squares, mut errors) = (0.0, vec![0.0; POINTS], vec![0.0; POINTS], 0.0);
    for replicate in 0..replicates as u64 {
        let seed = Seed(replicate).named(process.0).indexed(process.2 as u64);
        let data = draw(process, seed)?;
        let effects = estimator.fit(&data.design()?, &FitContext::silent(seed))?.effects(&points.x)?;
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
    let root_mean = |v: Vec<f64>| (v.iter().sum::<f64>() / v.len() as f64).sqrt();
    Ok(vec![
        entry.info().name.into(),
        process.0.into(),
        process.1.to_string(),
        process.2.to_string(),
        replicates.to_string(),
        trees.to_string(),
        format!("{:.3}", covered / total),
        format!("{:.3}", root_mean(bias.iter().map(|b| b * b).collect())),
        format!("{spread:.3}"),
        format!("{:.3}", errors / total),
        format!("{:.3}", root_mean(squares)),
    ])
}
