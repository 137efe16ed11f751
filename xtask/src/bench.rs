//! `cargo xtask bench`: paretau beside its peers in one process, printed as ratios.
//!
//! Times on a shared machine mean little alone; ratios measured in one run mean something. Nothing here is a test.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;
use crate::venv::Venv;

pub(crate) fn run(names: &[&str]) -> Result<()> {
    let folder = shell::root().join("bench");
    let mut known: Vec<String> = std::fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str()?.strip_prefix("bench_").map(str::to_owned))
        .collect();
    known.sort();
    if let Some(name) = names.iter().find(|name| !known.iter().any(|k| k == *name)) {
        bail!("no benchmark `{name}`; there are: {}", known.join(", "));
    }
    for name in known.iter().filter(|k| names.is_empty() || names.contains(&k.as_str())) {
        println!("== {name}");
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
        shell::run(&mut venv.command(&[&format!("bench/bench_{name}.py")]))?;
    }
    Ok(())
}
