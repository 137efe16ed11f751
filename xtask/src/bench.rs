//! `cargo xtask bench`: paretau beside its peers in one run, printed as ratios.
//!
//! Times on a shared machine mean little alone; ratios measured in one run mean something. Nothing here is a test.
//! A benchmark is a pair of files in `bench`: `bench_NAME.py` and `requirements-NAME.txt`, which names its peers.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;
use crate::venv::Venv;

/// Runs the named benchmarks, or all of them in turn. One that fails does not keep the others from running.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let known = known()?;
    if names == ["--list"] {
        known.iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    if let Some(name) = names.iter().find(|name| !known.iter().any(|k| k == *name)) {
        bail!("no benchmark `{name}`; there are: {}", known.join(", "));
    }
    let chosen: Vec<&str> =
        known.iter().map(String::as_str).filter(|name| names.is_empty() || names.contains(name)).collect();
    println!("benchmarks: {}", chosen.join(", "));
    let mut failed = vec![];
    for name in &chosen {
        if let Err(error) = shell::step(name, || run_one(name)) {
            eprintln!("xtask: {error:#}");
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} benchmarks failed: {}", failed.len(), chosen.len(), failed.join(", "));
    }
    Ok(())
}

/// The names of all benchmarks, sorted.
fn known() -> Result<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(shell::root().join("bench"))?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Some(name.to_str()?.strip_prefix("bench_")?.strip_suffix(".py")?.to_owned())
        })
        .collect();
    names.sort();
    Ok(names)
}

fn run_one(name: &str) -> Result<()> {
    // Each benchmark names its own peers, so that one need not install the peers of all.
    let requirements = format!("bench/requirements-{name}.txt");
    let venv = Venv::with_requirements(".venv-bench", Path::new(&requirements))?;
    let late = format!("bench/requirements-{name}-late.txt");
    if shell::root().join(&late).exists() {
        venv.add_without_isolation(Path::new(&late))?;
    }
    // Some time the command line alone, and need not wait for the extension.
    if std::fs::read_to_string(shell::root().join(&requirements))?.lines().any(|line| line.starts_with("maturin")) {
        venv.install_extension(true)?;
    }
    shell::run(&mut venv.command(&[&format!("bench/bench_{name}.py")]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_names_its_peers() {
        let known = known().unwrap();
        assert!(known.iter().any(|name| name == "kernels"), "{known:?}");
        for name in known {
            let file = shell::root().join(format!("bench/requirements-{name}.txt"));
            assert!(file.exists(), "{} is missing", file.display());
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = run(&["kernel"]).unwrap_err().to_string();
        assert!(error.contains("`kernel`") && error.contains("kernels"), "{error}");
    }
}
