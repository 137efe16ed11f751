//! Developer commands: `cargo xtask <verb>`.
//!
//! One file per verb. Each does its own set-up, so that a fresh clone with Rust and Python needs nothing else.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod browser;
mod cluster;
mod generate;
mod golden;
mod layers;
mod python_classes;
mod python_packages;
mod shell;
mod siege;
mod suite;
mod venv;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask <verb>

  test             everything that must hold before a change lands (what CI runs)
  gen [--check]    make the generated files from the registry, or check that they are fresh
  layers           check that crates depend on lower layers only
  golden [--check] make the golden files with the reference libraries, or compare with them
  browser          look at the report in a headless Chromium (part of test)
  bench [NAME …]   time paretau beside its peers and print ratios: all benchmarks in turn, or those named
  bench --list     name the benchmarks
  wheel            build this machine's wheel into target/wheels and try it with numpy alone
  site             build the documentation into target/site; its tutorials are run
  sklearn          scikit-learn's conformance checks with its oldest and its newest version
  peers            tests inside DoWhy, causallib and MLflow
  types            mypy and pyright over the Python package
  cluster          studies and scoring on real clusters of this machine: Ray, Dask, Spark
  siege [--kills N] [--hours H]
                   kill, crowd and starve the program, count what was lost, and write experiments/siege/kills.md
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["test"] => suite::run(),
        ["gen"] => generate::run(false),
        ["gen", "--check"] => generate::run(true),
        ["layers"] => layers::run(),
        ["golden"] => golden::run(false),
        ["golden", "--check"] => golden::run(true),
        ["browser"] => browser::run(),
        ["bench", names @ ..] => bench::run(names),
        ["wheel"] => python_packages::wheel(),
        ["site"] => python_packages::site(),
        ["sklearn"] => python_packages::sklearn(),
        ["peers"] => python_packages::peers(),
        ["types"] => python_packages::types(),
        ["cluster"] => cluster::run(),
        ["siege", options @ ..] => siege::run(options),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
