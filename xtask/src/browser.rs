//! A real browser for the report's tests: installed where the system's package manager allows it.

use crate::shell;

/// Installs Chromium and its driver when they are missing and this is a machine where that can be done;
/// says plainly when not, and the report's browser tests then skip themselves.
pub(crate) fn install_if_possible() {
    let present = |name: &str| shell::command(name, &["--version"]).output().is_ok_and(|o| o.status.success());
    if present("chromium") && present("chromedriver") {
        return;
    }
    let quiet = |args: &[&str]| shell::command("apt-get", args).output().is_ok_and(|o| o.status.success());
    if quiet(&["update"]) && quiet(&["install", "-y", "-q", "--no-install-recommends", "chromium", "chromium-driver"]) {
        return;
    }
    println!("no Chromium here and none could be installed: the report's browser tests will be skipped");
}
