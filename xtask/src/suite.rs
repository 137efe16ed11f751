//! `cargo xtask test`: everything that must hold before a change lands, cheapest checks first.

use std::path::Path;

use anyhow::Result;

use crate::shell::{self, step};
use crate::venv::Venv;
use crate::{browser, generate, layers};

pub(crate) fn run() -> Result<()> {
    step("format", || shell::run(&mut shell::cargo(&["fmt", "--all", "--check"])))?;
    step("layers", layers::run)?;
    step("build", || shell::run(&mut shell::cargo(&["build", "--workspace"])))?;
    step("build of tests", || shell::run(&mut shell::cargo(&["build", "--workspace", "--all-targets"])))?;
    step("clippy", || {
        shell::run(&mut shell::cargo(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ]))
    })?;
    step("generated files", || generate::run(true))?;
    // The whole workspace again: with a crate left out, features and so dependencies would be compiled anew.
    step("rust tests", || shell::run(&mut shell::cargo(&["test", "--workspace", "--no-fail-fast"])))?;
    let mut venv = None;
    step("python environment", || {
        venv = Some(Venv::with_requirements(".venv", Path::new("crates/paretau-python/requirements-dev.txt"))?);
        Ok(())
    })?;
    let Some(venv) = venv else { return Ok(()) };
    step("python extension", || venv.install_extension(false))?;
    step("python tests", || {
        let mut tests = venv.command(&["-m", "pytest", "--quiet", "crates/paretau-python/tests"]);
        // Its answers are held against the command line's, which was built above.
        shell::run(tests.env("PARETAU_PROGRAM", shell::built("paretau")))
    })?;
    step("report in a browser", browser::run)
}
