//! `cargo xtask browser`: the report in a real headless Chromium.
//!
//! The browser and its driver are Debian's. Where they are missing they are installed if that is possible; if not, the
//! tests are skipped with a word.

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use crate::shell;
use crate::venv::Venv;

const TESTS: &str = "crates/paretau-report/browser";
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

pub(crate) fn run() -> Result<()> {
    if !present() && !install() {
        println!(
            "skipped: {} are not installed and could not be; the report was not looked at",
            PACKAGES.join(" and ")
        );
        return Ok(());
    }
    shell::run(&mut shell::cargo(&["build", "--quiet", "--workspace", "--bins"]))?;
    let paretau = std::env::current_exe()?.with_file_name(format!("paretau{}", std::env::consts::EXE_SUFFIX));
    let venv = Venv::with_requirements(".venv-browser", Path::new(&format!("{TESTS}/requirements.txt")))?;
    shell::run(venv.command(&["-m", "pytest", "--quiet", "-p", "no:cacheprovider", TESTS]).env("PARETAU", paretau))
}

/// Whether both programs start.
fn present() -> bool {
    PROGRAMS.iter().all(|program| quiet(program, &["--version"]))
}

/// Tries to install them, which takes Debian and its administrator.
fn install() -> bool {
    println!("installing {}", PACKAGES.join(" and "));
    let install = |args: &[&str]| quiet("apt-get", &[&["-qq", "-y"], args].concat());
    let wanted = [&["install", "--no-install-recommends"], PACKAGES.as_slice(), &["fonts-dejavu-core"]].concat();
    (install(&wanted) || (install(&["update"]) && install(&wanted))) && present()
}

fn quiet(program: &str, args: &[&str]) -> bool {
    let mut command = shell::command(program, args);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
