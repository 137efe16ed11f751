//! `cargo xtask cluster`: studies and scoring on real clusters of this machine (Ray, Dask, Spark), outside the everyday
//! tests because of what they install and how long they take.

use std::path::Path;

use anyhow::Result;

use crate::shell::{self, step};
use crate::venv::Venv;

const TESTS: &str = "crates/paretau-python/cluster";

pub(crate) fn run() -> Result<()> {
    let requirements = Path::new("crates/paretau-python/requirements-cluster.txt");
    let venv = match Venv::with_requirements(".venv-cluster", requirements) {
        Ok(venv) => venv,
        Err(error) => {
            println!(
                "skipped: Ray, Dask and Spark are not installed and could not be ({error:#}); no cluster was tried"
            );
            return Ok(());
        }
    };
    step("python extension", || venv.install_extension(false))?;
    step("clusters", || {
        shell::run(&mut venv.command(&["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-rs", TESTS]))
    })
}
