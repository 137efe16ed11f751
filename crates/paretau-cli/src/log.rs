//! `--log FILE`: what happened and when, appended line by line, so that a run without a terminal can be followed and kept.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use paretau::{Error, printable};

use crate::commands::data::bad_argument;
use crate::out_path::same_file;

/// What the first line of every log begins with: a file that begins otherwise is not ours to add to.
const HEAD: &str = "# log of paretau";

static LOG: OnceLock<(Mutex<File>, Instant, PathBuf)> = OnceLock::new();

/// Begins to log to a file, behind what it holds already.
pub(crate) fn open(path: &Path) -> Result<()> {
    if names_another_argument(path) {
        let expected = "a file that is not given elsewhere on the command line";
        return Err(bad_argument("log", &path.display().to_string(), expected).into());
    }
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
    let _ = LOG.set((Mutex::new(file), Instant::now(), path.to_path_buf()));
    if head.is_empty() {
        write(&format!("{HEAD} {}", env!("CARGO_PKG_VERSION")));
    }
    // Names of files need not be text.
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    line(&format!("paretau {}", words.join(" ")));
    Ok(())
}

/// The file of the log, where one is kept.
pub(crate) fn path() -> Option<&'static Path> {
    LOG.get().map(|(_, _, path)| path.as_path())
}

/// Whether the log's file is also data, a model or an output of this command.
fn names_another_argument(log: &Path) -> bool {
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        if word == "--log" {
            words.next();
            continue;
        }
        let value = match word.to_str().and_then(|text| text.strip_prefix("--")?.split_once('=')) {
            Some(("log", _)) => continue,
            Some((_, value)) => value.into(),
            None => word,
        };
        if same_file(log, Path::new(&value)) {
            return true;
        }
    }
    false
}

/// Adds a line with the date and the seconds since the beginning; nothing where no log is kept.
pub(crate) fn line(text: &str) {
    let Some((_, begin, _)) = LOG.get() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64().floor());
    let stamp = paretau::data::iso_date(now / 86_400.0);
    for part in text.lines() {
        write(&format!("{stamp} +{:.1}s {}", begin.elapsed().as_secs_f64(), printable(part)));
    }
}

fn write(text: &str) {
    if let Some((file, ..)) = LOG.get() {
        // One call, so that lines of several processes stay whole. A full disk must not stop the work that the log is about.
        let line = format!("{text}\n");
        let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}
