//! `--log FILE`: what happened and when, appended line by line, so that a run without a terminal can be followed and kept.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use paretau::{Error, printable};

/// What the first line of every log begins with: a file that begins otherwise is not ours to add to.
const HEAD: &str = "# log of paretau";

static LOG: OnceLock<(Mutex<File>, Instant)> = OnceLock::new();

/// Begins to log to a file, behind what it holds already.
pub(crate) fn open(path: &Path) -> Result<()> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let mut head = vec![];
    if path.is_file() {
        File::open(path).map_err(io)?.take(HEAD.len() as u64).read_to_end(&mut head).map_err(io)?;
        if !head.is_empty() && head != HEAD.as_bytes() {
            let message =
                "there is a file already that is not a log of paretau; choose another name for --log".to_owned();
            return Err(Error::File { path: path.to_path_buf(), column: None, row: None, message }.into());
        }
    }
    let file = File::options().create(true).append(true).open(path).map_err(io)?;
    let _ = LOG.set((Mutex::new(file), Instant::now()));
    if head.is_empty() {
        write(&format!("{HEAD} {}", env!("CARGO_PKG_VERSION")));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    line(&format!("paretau {}", words.join(" ")));
    Ok(())
}

/// Adds a line with the date and the seconds since the beginning; nothing where no log is kept.
pub(crate) fn line(text: &str) {
    let Some((_, begin)) = LOG.get() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64().floor());
    let stamp = paretau::data::iso_date(now / 86_400.0);
    for part in text.lines() {
        write(&format!("{stamp} +{:.1}s {}", begin.elapsed().as_secs_f64(), printable(part)));
    }
}

fn write(text: &str) {
    if let Some((file, _)) = LOG.get() {
        // A full disk must not stop the work that the log is about.
        let _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{text}");
    }
}
