//! What is done with the Python package beyond the everyday tests: other packages, other versions, wheels, the site.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{self, step};
use crate::venv::Venv;

const PACKAGE: &str = "crates/paretau-python";
/// No wheel is larger.
const MOST_BYTES: u64 = 10_000_000;
/// The oldest glibc that the wheel runs with.
const PLATFORM: &str = "manylinux_2_28";
/// Versions of scikit-learn whose conformance checks run.
const SKLEARN: [&str; 2] = ["1.6", "1.9"];

/// An environment with a requirements file of the package and the extension.
fn environment(name: &str) -> Result<Venv> {
    let requirements = format!("{PACKAGE}/requirements-{name}.txt");
    let venv = Venv::with_requirements(&format!(".venv-{name}"), Path::new(&requirements))?;
    venv.install_extension(false)?;
    Ok(venv)
}

/// `cargo xtask peers`: the tests inside other packages (`DoWhy`, causallib, `MLflow`), with the real ones.
pub(crate) fn peers() -> Result<()> {
    let venv = environment("peers")?;
    shell::run(&mut venv.command(&["-m", "pytest", "--quiet", &format!("{PACKAGE}/tests/peers")]))
}

/// `cargo xtask sklearn`: scikit-learn's conformance checks over every class, with its oldest and its newest version.
pub(crate) fn sklearn() -> Result<()> {
    for version in SKLEARN {
        step(&format!("scikit-learn {version}"), || {
            let venv = environment(&format!("sklearn-{version}"))?;
            shell::run(&mut venv.command(&[
                "-m",
                "pytest",
                "--quiet",
                &format!("{PACKAGE}/tests/test_sklearn_checks.py"),
            ]))
        })?;
    }
    Ok(())
}

/// `cargo xtask types`: mypy and pyright over the package as its users see it.
pub(crate) fn types() -> Result<()> {
    let venv = environment("types")?;
    let package = format!("{PACKAGE}/python/paretau");
    step("mypy", || {
        shell::run(&mut venv.command(&["-m", "mypy", "--config-file", &format!("{PACKAGE}/pyproject.toml"), &package]))
    })?;
    step("pyright", || shell::run(&mut venv.command(&["-m", "pyright", "--project", PACKAGE])))
}

/// `cargo xtask wheel`: this machine's wheel in `target/wheels`, checked: its tag, its size, what it holds, and that it works with
/// numpy alone.
pub(crate) fn wheel() -> Result<()> {
    let requirements = format!("{PACKAGE}/requirements-wheel.txt");
    let venv = Venv::with_requirements(".venv-wheel", Path::new(&requirements))?;
    let folder = shell::root().join("target/wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let manifest = format!("{PACKAGE}/Cargo.toml");
    let out = folder.to_string_lossy().into_owned();
    let mut args = vec!["-m", "maturin", "build", "--release", "--manifest-path", &manifest, "--out", &out];
    if cfg!(target_os = "linux") {
        args.extend(["--zig", "--compatibility", PLATFORM]);
    }
    step("wheel", || shell::run(&mut venv.command(&args)))?;
    let wheel = only_file(&folder)?;
    let size = fs::metadata(&wheel)?.len();
    if size > MOST_BYTES {
        bail!("{} has {size} bytes, more than {MOST_BYTES}", wheel.display());
    }
    let name = wheel.to_string_lossy().into_owned();
    if cfg!(target_os = "linux") && !name.contains(PLATFORM) {
        bail!("{name} is not tagged {PLATFORM}");
    }
    step("wheel with numpy alone", || {
        let fresh = Venv::fresh(".venv-wheel-test")?;
        shell::run(&mut fresh.command(&["-m", "pip", "install", "--quiet", &name]))?;
        shell::run(&mut fresh.command(&[&format!("{PACKAGE}/tests/wheel_alone.py")]))
    })?;
    println!("{name}: {:.1} MB", size as f64 / 1e6);
    Ok(())
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut found = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(file),
        _ => bail!("{} does not hold exactly one wheel", folder.display()),
    }
}

/// `cargo xtask site`: the documentation as a site in `target/site`; tutorials are run, and what they print and draw is shown.
pub(crate) fn site() -> Result<()> {
    let venv = Venv::with_requirements(".venv-site", Path::new("docs/requirements.txt"))?;
    step("python extension", || venv.install_extension(false))?;
    step("site", || shell::run(&mut venv.command(&["-m", "mkdocs", "build", "--strict", "--site-dir", "target/site"])))
        .context("the site was not built")
}
