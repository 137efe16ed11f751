//! How often the one-line test says that effects differ when they do not: 200 trials whose treatment adds the same to everyone.
//! Estimators with held-out predictions are scored on their training rows, the others on new rows:
//! `cargo run -p paretau --example null_heterogeneity -- [TRIALS] [ROWS] [ESTIMATOR...]`.
#![allow(clippy::print_stdout)] // an example talks to people

use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::{Basis, EvaluateOptions, Evaluation, FitOptions, Params, Seed};

/// Rows of five features, of which two bear on the outcome; the effect is 1 for everyone.
fn people(n: usize, seed: Seed) -> Result<Table, paretau::Error> {
    let mut rng = seed.rng();
    let x: Vec<Vec<f64>> = (0..5).map(|_| (0..n).map(|_| rng.normal()).collect()).collect();
    let t: Vec<f64> = (0..n).map(|_| f64::from(u8::from(rng.bernoulli(0.5)))).collect();
    let y = (0..n).map(|i| x[0][i] + 0.5 * x[1][i] + t[i] + rng.normal()).collect();
    let mut columns = vec![TableColumn::number("t", t), TableColumn::number("y", y)];
    columns.extend(x.into_iter().enumerate().map(|(j, x)| TableColumn::number(format!("x{j}"), x)));
    Table::new(columns)
}

/// Whether the line on heterogeneity and a one-sided test of AUTOC at 5 % say that effects differ.
fn rejects(found: &Evaluation) -> [bool; 2] {
    let autoc = found.scores.iter().find(|named| named.name == "autoc").and_then(|named| named.score.p_above_zero());
    [found.heterogeneity.differ, autoc.is_some_and(|p| p < 0.05)]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: usize| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (trials, n) = (number(200)?, number(300)?);
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        names = vec!["causal-forest".to_owned(), "lr-2".to_owned()];
    }
    let roles = RoleSpec::new("t", "y");
    println!("{trials} trials of {n} rows without heterogeneity; found to differ at 5 %:");
    for name in &names {
        let (mut counts, mut basis) = ([0_u32; 2], Basis::NewRows);
        for trial in 0..trials {
            let seed = Seed(1).indexed(trial as u64);
            let (own, later) = (people(n, seed.named("own"))?, people(n, seed.named("later"))?);
            let forest = name.starts_with("causal-forest");
            let params = if forest { Params::none().with("n_estimators", 100) } else { Params::none() };
            let model = paretau::fit(own.clone(), &roles, &FitOptions { params, seed, ..FitOptions::new(name) })?;
            let options = EvaluateOptions { seed, ..EvaluateOptions::default() };
            // Training rows are refused where there are no held-out predictions.
            let found = paretau::evaluate(&model, own, &roles, &options)
                .or_else(|_| paretau::evaluate(&model, later, &roles, &options))?;
            basis = found.basis;
            counts.iter_mut().zip(rejects(&found)).for_each(|(count, differ)| *count += u32::from(differ));
        }
        let [slope, autoc] = counts.map(|count| 100.0 * f64::from(count) / trials as f64);
        println!("{name} ({basis:?}): calibration {slope:.1} %, autoc {autoc:.1} %");
    }
    Ok(())
}
