//! How often the one-line test says that effects differ when they do not: 200 trials whose treatment adds the same to everyone,
//! each with a forest scored out of bag on its training rows and a line scored on new rows:
//! `cargo run -p paretau --example null_heterogeneity -- [TRIALS] [ROWS]`.
#![allow(clippy::print_stdout)] // an example talks to people

use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::{EvaluateOptions, Evaluation, FitOptions, Params, Seed};

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
    let arguments: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let (trials, n) = (arguments.first().copied().unwrap_or(200), arguments.get(1).copied().unwrap_or(300));
    let roles = RoleSpec::new("t", "y");
    let (mut forest, mut line) = ([0; 2], [0; 2]);
    for trial in 0..trials {
        let seed = Seed(1).indexed(trial as u64);
        let (own, later) = (people(n, seed.named("own"))?, people(n, seed.named("later"))?);
        for (name, params, rows, count) in [
            ("causal-forest", Params::none().with("n_estimators", 100), &own, &mut forest),
            ("lr-2", Params::none(), &later, &mut line),
        ] {
            let options = FitOptions { params, seed, ..FitOptions::new(name) };
            let model = paretau::fit(own.clone(), &roles, &options)?;
            let found = paretau::evaluate(&model, rows.clone(), &roles, &EvaluateOptions { seed, ..Default::default() })?;
            count.iter_mut().zip(rejects(&found)).for_each(|(count, differ)| *count += usize::from(differ));
        }
    }
    let share = |count: usize| 100.0 * count as f64 / trials as f64;
    println!("{trials} trials of {n} rows without heterogeneity; said to differ at 5 %:");
    for (name, [slope, autoc]) in [("forest, out of bag", forest), ("line, new rows", line)] {
        println!("{name}: calibration {:.1} %, autoc {:.1} %", share(slope), share(autoc));
    }
    Ok(())
}
