//! The one check of every path that a command writes to, made before any byte is touched: not a file that is read or
//! written elsewhere in the same command (by the file itself, whatever it is called), not a folder, and not an existing
//! file of another kind than the one that will be written. A table is one of ours by its columns, so that nobody's data
//! are replaced by effects because a name was typed twice.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use paretau::Error;
use paretau::data::{BatchReader, DataFiles, ReadOptions, check_writable, news_files};

use crate::commands::data::bad_argument;
use crate::{interrupt, log};

/// What a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A model or a checkpoint.
    Model,
    /// Rows; the ending of the name says in which format.
    Table,
    /// A page.
    Page,
    /// A configuration.
    Config,
    /// Trials of a search, whose own reader looks at what is in the file.
    Trials,
}

/// Whether a person may insist on an output, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// The command has no `--force`, or it does not concern this output.
    None,
    Offered,
    Given,
}

impl From<bool> for Force {
    fn from(given: bool) -> Self {
        if given { Self::Given } else { Self::Offered }
    }
}

/// The files that a command reads or writes besides an output, each file of a folder or a glob for itself, whatever it is
/// called.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    given: Vec<PathBuf>,
    paths: HashSet<PathBuf>,
    /// Devices and numbers.
    inodes: HashSet<(u64, u64)>,
}

impl InUse {
    pub(crate) fn of(paths: &[&Path]) -> Self {
        let mut all = Self::default();
        for &path in paths.iter().filter(|path| path.as_os_str() != "-") {
            all.given.push(path.to_path_buf());
            all.add(path);
            news_files(path).iter().for_each(|path| all.add(path));
            // What is wrong with the folder is said when it is read.
            for part in DataFiles::find(path).ok().flatten().into_iter().flat_map(|files| files.parts) {
                all.add(&part.path);
            }
        }
        if let Some(path) = log::path() {
            all.add(path);
        }
        all
    }

    fn add(&mut self, path: &Path) {
        self.paths.extend(real(path));
        self.inodes.extend(std::fs::metadata(path).ok().filter(Metadata::is_file).and_then(|data| inode(&data)));
    }

    fn contains(&self, out: &Path) -> bool {
        let same = std::fs::metadata(out).ok().filter(Metadata::is_file).and_then(|data| inode(&data));
        real(out).is_some_and(|path| self.paths.contains(&path)) || same.is_some_and(|same| self.inodes.contains(&same))
    }

    /// Refuses an output that is one of these files, or would be one of them the next time.
    pub(crate) fn check(&self, flag: &str, out: &Path) -> Result<()> {
        let expected = if self.contains(out) {
            "a file other than those that this command reads or writes"
        } else if self.given.iter().any(|path| DataFiles::would_hold(path, out)) {
            "a place outside the folder of the data, where it would be read as data the next time"
        } else {
            return Ok(());
        };
        Err(bad_argument(flag, &out.display().to_string(), expected).into())
    }
}

/// Refuses an output that would destroy something. `flag` names it; `others` are the files that the command reads or
/// writes besides.
pub(crate) fn check(flag: &str, out: &Path, kind: Kind, others: &[&Path], force: Force) -> Result<()> {
    check_beside(flag, out, kind, &InUse::of(others), force)
}

/// The same for one of many outputs.
pub(crate) fn check_beside(flag: &str, out: &Path, kind: Kind, others: &InUse, force: Force) -> Result<()> {
    if out.as_os_str() == "-" {
        return Ok(());
    }
    others.check(flag, out)?;
    let refuse =
        |message: String| Err(Error::File { path: out.to_path_buf(), column: None, row: None, message }.into());
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return refuse("its folder does not exist; make the folder first".to_owned());
    }
    if out.is_dir() {
        return refuse("is a folder; name a file to write".to_owned());
    }
    interrupt::writes_in(folder);
    if kind == Kind::Trials {
        return Ok(());
    }
    if force == Force::Given || !out.is_file() {
        return can_be_written(out);
    }
    let head = head(out);
    if head.is_empty() || is_replaceable(kind, out, &head) {
        return can_be_written(out);
    }
    let what = match kind {
        Kind::Model => "a model of paretau",
        Kind::Page => "a page of paretau",
        Kind::Config => "a configuration made by `paretau init`",
        _ => "a table that paretau wrote",
    };
    let remedy = if force == Force::None { "" } else { ", or add --force to replace it" };
    refuse(format!("there is a file already that is not {what}; choose another name{remedy}"))
}

/// Refuses a place where nothing can be written before hours are spent on what was to be written there.
fn can_be_written(out: &Path) -> Result<()> {
    Ok(check_writable(out)?)
}

/// Whether two paths are one file: by device and number where they exist, else by name.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let mut one = InUse::default();
    one.add(a);
    one.contains(b)
}

/// The path with its folder resolved, which is there even when the file is not yet.
fn real(path: &Path) -> Option<std::path::PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(path).ok().or_else(|| Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?)))
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
fn inode(data: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The first bytes of a file.
fn head(path: &Path) -> Vec<u8> {
    let mut head = vec![];
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(4096).read_to_end(&mut head);
    }
    head
}

fn is_replaceable(kind: Kind, path: &Path, head: &[u8]) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let has = |what: &[u8]| head.windows(what.len()).any(|part| part == what);
    let is_model = has(b"{\"__metadata__\":{\"paretau\"");
    match kind {
        // A damaged model is replaced by a new fit without a question.
        Kind::Model => is_model || (ending == "paretau" && !is_text(head)),
        Kind::Page => head.starts_with(b"<!doctype html>") && has(b"content=\"paretau"),
        Kind::Config => head.starts_with(crate::commands::CONFIG_HEAD.as_bytes()),
        Kind::Table => {
            let starts = |magic: &[u8]| head.starts_with(magic);
            match ending.as_str() {
                "gz" => starts(b"\x1f\x8b"),
                "parquet" => starts(b"PAR1") && is_own_table(&columns(path)),
                "arrow" | "feather" => starts(b"ARROW1") && is_own_table(&columns(path)),
                "csv" | "tsv" | "txt" => is_text(head) && is_own_table(&header(head)),
                // Formats without names of columns.
                _ => (ending == "npz") == starts(b"PK") && !starts(b"{") && !starts(b"[") && !starts(b"<") && !is_model,
            }
        }
        Kind::Trials => true,
    }
}

/// The names of the columns of a Parquet or Arrow file; none when it cannot be read.
fn columns(path: &Path) -> Vec<String> {
    let first = BatchReader::open(path, &ReadOptions::default(), 1).ok().and_then(|mut batches| batches.next());
    let Some(Ok(table)) = first else { return vec![] };
    table.columns().iter().map(|column| column.name.clone()).collect()
}

/// The names in the first line of delimited text.
fn header(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().next().unwrap_or_default();
    line.split([',', '\t', ';']).map(|name| name.trim_matches([' ', '"', '\u{feff}']).to_owned()).collect()
}

/// Whether a table with these columns is one that commands write: effects, simulated rows, recommended arms.
fn is_own_table(columns: &[String]) -> bool {
    columns.iter().any(|name| matches!(name.as_str(), "tau" | "mu0" | "w_raw") || name.starts_with("tau_"))
        || (columns.len() <= 2 && columns.last().is_some_and(|name| name == "arm"))
}

fn is_text(head: &[u8]) -> bool {
    !head.contains(&0)
        && match std::str::from_utf8(head) {
            Ok(_) => true,
            // A character may be cut where the head ends.
            Err(e) => e.error_len().is_none(),
        }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_another_kind_and_files_in_use_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("rows.csv"), "mu0,mu1,tau\n1,2,1\n").unwrap();
        std::fs::write(at("data.csv"), "age,weight\n1,2\n").unwrap();
        std::fs::write(at("arms.tsv"), "id\tarm\n1\t0\n").unwrap();
        std::fs::write(at("notes.html"), "<p>mine</p>").unwrap();
        std::fs::write(at("empty.paretau"), "").unwrap();
        std::fs::hard_link(at("rows.csv"), at("link.csv")).unwrap();
        let ok = |name: &str, kind, others: &[&Path]| check("out", &at(name), kind, others, Force::Offered).is_ok();
        assert!(
            ok("rows.csv", Kind::Table, &[])
                && ok("arms.tsv", Kind::Table, &[])
                && ok("new.paretau", Kind::Model, &[])
                && ok("empty.paretau", Kind::Model, &[])
        );
        assert!(
            !ok("rows.csv", Kind::Model, &[])
                && !ok("notes.html", Kind::Page, &[])
                && !ok("notes.html", Kind::Table, &[])
                && !ok("data.csv", Kind::Table, &[])
        );
        assert!(!ok("link.csv", Kind::Table, &[&at("rows.csv")]), "two names of one file");
        assert!(!ok("new", Kind::Model, &[&at("./new")]), "two outputs that are not there yet");
        assert!(check("out", &at("notes.html"), Kind::Page, &[], Force::Given).is_ok());
    }
}
