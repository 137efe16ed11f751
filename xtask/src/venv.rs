//! Python virtual environments, made on demand inside the workspace and reused while their requirements stand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;

/// A virtual environment of the workspace.
pub(crate) struct Venv(PathBuf);

impl Venv {
    /// The environment `.venv[-name]` with the packages of a requirements file installed.
    pub(crate) fn with_requirements(folder: &str, requirements: &Path) -> Result<Self> {
        let venv = Self(shell::root().join(folder));
        if !venv.python().exists() {
            shell::run(&mut shell::command(system_python()?, &["-m", "venv", folder]))?;
        }
        venv.install(requirements, &[])?;
        Ok(venv)
    }

    /// A new environment with nothing in it.
    pub(crate) fn fresh(folder: &str) -> Result<Self> {
        let venv = Self(shell::root().join(folder));
        if venv.0.exists() {
            fs::remove_dir_all(&venv.0)?;
        }
        shell::run(&mut shell::command(system_python()?, &["-m", "venv", folder]))?;
        Ok(venv)
    }

    /// Installs a second requirements file without build isolation: for packages whose build needs those of the first.
    pub(crate) fn add_without_isolation(&self, requirements: &Path) -> Result<()> {
        self.install(requirements, &["--no-build-isolation"])
    }

    /// Installs a requirements file unless it was installed as it stands; each file has its own stamp, since
    /// benchmarks share an environment.
    fn install(&self, requirements: &Path, options: &[&str]) -> Result<()> {
        let wanted = fs::read_to_string(shell::root().join(requirements))
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let file = requirements.to_string_lossy();
        let stamp =
            self.0.join(format!("installed-{}", requirements.file_name().unwrap_or_default().to_string_lossy()));
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
            let args = [&["-m", "pip", "install", "--quiet"], options, &["-r", &file]].concat();
            shell::run(&mut self.command(&args))?;
            fs::write(stamp, wanted)?;
        }
        Ok(())
    }

    /// Its Python.
    pub(crate) fn python(&self) -> PathBuf {
        self.0.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }

    /// A command in this environment as if it were active: what it starts by name (`python3`, for zig) is the environment's, too.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let python = self.python();
        let mut command = shell::command(&python, args);
        command.env("VIRTUAL_ENV", &self.0);
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = python.parent().map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&others));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }

    /// Builds the extension and installs it here in place.
    pub(crate) fn install_extension(&self, release: bool) -> Result<()> {
        let mut args =
            vec!["-m", "maturin", "develop", "--quiet", "--manifest-path", "crates/paretau-python/Cargo.toml"];
        if release {
            args.push("--release");
        }
        shell::run(&mut self.command(&args))
    }
}

fn system_python() -> Result<&'static str> {
    let recent = "import sys; sys.exit(sys.version_info < (3, 11))";
    ["python3", "python"]
        .into_iter()
        .find(|name| shell::command(name, &["-c", recent]).status().is_ok_and(|s| s.success()))
        .map_or_else(|| bail!("Python 3.11 or newer is needed; install it and make sure that `python3` starts it"), Ok)
}
