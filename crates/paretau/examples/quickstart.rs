//! From a table to effects and a saved model: `cargo run -p paretau --example quickstart`.
#![allow(clippy::print_stdout)] // an example talks to people

use paretau::data::RoleSpec;
use paretau::data::simulate::{SyntheticConfig, synthetic};
use paretau::forest::{CAUSAL_FOREST, CausalForestConfig};
use paretau::{ConfiguredEstimator, Model, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Rows with a known truth; `paretau::data::read` takes a file instead.
    let made = synthetic(&SyntheticConfig { n: 1000, d: 15, ..SyntheticConfig::default() }, Seed(1))?;
    let table = made.table()?;
    let roles =
        RoleSpec { truth: Some(("mu0".into(), "mu1".into())), ignore: vec!["e".into()], ..RoleSpec::new("t", "y") };

    let config = CausalForestConfig { n_estimators: 200, ..CausalForestConfig::default() };
    let forest = ConfiguredEstimator::new(&CAUSAL_FOREST, config)?.with_seed(Seed(1));
    let model = forest.fit(table.clone(), &roles)?;
    println!("{}\n", model.summary());

    let found = model.predict(&table)?;
    let (lo, hi) = model.interval(&found.arms[0].tau, found.arms[0].se.as_deref(), 0.95)?;
    for i in 0..5 {
        let (tau, truth) = (found.arms[0].tau[i], made.mu1[i] - made.mu0[i]);
        println!("row {i}: effect {tau:.2} ({:.2} to {:.2}), in truth {truth:.2}", lo[i], hi[i]);
    }

    let path = std::env::temp_dir().join("quickstart.paretau");
    model.save(&path)?;
    let again = Model::load(&path)?;
    println!("\nsaved to {}: {} knows its {} rows", path.display(), again.about().estimator, again.about().n_rows);
    Ok(())
}
