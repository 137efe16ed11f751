//! Several estimators by name on the same rows, scored on rows that none of them saw:
//! `cargo run -p paretau --example compare_by_name`.
#![allow(clippy::print_stdout)] // an example talks to people

use paretau::data::{RoleSpec, simulator};
use paretau::{EvaluateOptions, FitOptions, Params, Seed, Split};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let made = (simulator("synthetic")?.run)(&Params::none().with("n", 1000), Seed(1))?;
    let table = made.table()?;
    let split = Split::random(&made.t, 0.0, 0.25, Seed(1))?;
    let (train, test) = (table.select(&split.train), table.select(&split.test));
    let roles =
        RoleSpec { truth: Some(("mu0".into(), "mu1".into())), ignore: vec!["e".into()], ..RoleSpec::new("t", "y") };
    for (estimator, params) in [
        ("lr-2", Params::none()),
        ("t-learner", Params::none()),
        ("causal-forest", Params::none().with("n_estimators", 200)),
    ] {
        let options = FitOptions { params, seed: Seed(1), ..FitOptions::new(estimator) };
        let model = paretau::fit(train.clone(), &roles, &options)?;
        let found = paretau::evaluate(&model, test.clone(), &roles, &EvaluateOptions::default())?;
        let shown = found.scores.iter().filter(|named| ["pehe", "pehe_rel", "ate_error"].contains(&named.name));
        let words: Vec<String> = shown.map(|named| format!("{} {:.3}", named.name, named.score.value)).collect();
        println!("{estimator}: {}", words.join(", "));
    }
    Ok(())
}
