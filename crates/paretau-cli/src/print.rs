//! A page on paper: an installed Chromium or Chrome prints it to PDF.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use paretau::Error;

use crate::interrupt;

/// Names under which such browsers are installed.
const BROWSERS: [&str; 8] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "brave-browser",
];
/// A browser that has not printed by then never will.
const PATIENCE: Duration = Duration::from_mins(2);

/// The page as PDF; `out` is what messages are about.
pub(crate) fn to_pdf(page: &str, out: &Path) -> Result<Vec<u8>> {
    let refused = |message: String| Error::File { path: out.to_path_buf(), column: None, row: None, message };
    let Some(browser) = browser() else {
        return Err(refused(
            "printing a PDF takes an installed Chromium or Chrome, and none was found; write .html and print it from your \
             browser"
                .to_owned(),
        )
        .into());
    };
    let folder = tempfile::tempdir()?;
    let (html, pdf) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    std::fs::write(&html, page)?;
    let mut command = Command::new(&browser);
    command
        .args(["--headless", "--disable-gpu", "--disable-extensions", "--no-first-run", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()));
    if is_root() {
        // The browser's sandbox refuses to run as the administrator; the page has no script but our own.
        command.arg("--no-sandbox");
    }
    command.arg(&html).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if interrupt::is_raised() || begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if interrupt::is_raised() {
        return Err(Error::Interrupted.into());
    }
    match std::fs::read(&pdf) {
        Ok(bytes) if status.is_some_and(|status| status.success()) && bytes.starts_with(b"%PDF") => Ok(bytes),
        _ => Err(refused(format!(
            "{} did not print the page; write .html and print it from your browser",
            browser.display()
        ))
        .into()),
    }
}

/// The first browser in the folders of programs.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let ending = std::env::consts::EXE_SUFFIX;
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(format!("{name}{ending}"))))
        .find(|path| path.is_file())
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}
