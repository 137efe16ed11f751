//! Two hundred files that nobody should have to fear: a hundred made to do harm and a hundred made in a hurry, each with its
//! exit code and words of its message, under a bound on memory. They are made here, byte by byte; none is kept as a file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "files_table/careless.rs"]
mod careless;
mod common;
#[path = "files_table/hostile.rs"]
mod hostile;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use common::ok;

/// Address space that a case may take, in MiB: the program itself and its threads need about 150 of them.
const MEMORY: u64 = 600;

/// One row of the table.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The file's name; others may be written with it.
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    /// Arguments, with `FILE` for the file.
    pub(crate) args: String,
    pub(crate) exit: i32,
    /// Words of what is printed.
    pub(crate) words: Vec<&'static str>,
}

/// A case that is fitted with `--treatment t --outcome y`.
pub(crate) fn fit(name: &str, file: &str, bytes: impl AsRef<[u8]>, exit: i32, words: &[&'static str]) -> Case {
    with(name, file, bytes, "fit FILE --treatment t --outcome y -e lr-1 --out new.paretau", exit, words)
}

/// A case with other arguments.
pub(crate) fn with(
    name: &str,
    file: &str,
    bytes: impl AsRef<[u8]>,
    args: &str,
    exit: i32,
    words: &[&'static str],
) -> Case {
    Case {
        name: name.to_owned(),
        file: file.to_owned(),
        bytes: bytes.as_ref().to_vec(),
        args: args.to_owned(),
        exit,
        words: words.to_vec(),
    }
}

/// Files that every case finds: people in several formats, and a model of them.
pub(crate) struct Fixtures {
    pub(crate) folder: tempfile::TempDir,
}

impl Fixtures {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for name in ["people.csv", "people.parquet", "people.arrow"] {
            ok(at, &["simulate", "synthetic", "--n", "120", "--d", "3", "--out", name]);
        }
        ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-1", "--out", "model.paretau"]);
        Self { folder }
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap()
    }
}

fn names(folder: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path().symlink_metadata().map_or(0, |m| m.len())))
        .collect()
}

/// What is wrong with the way in which a case ends.
fn faults(fixtures: &Fixtures, case: &Case) -> Vec<String> {
    let at = fixtures.folder.path();
    let path = at.join(&case.file);
    // A file without an end is a link.
    let path = case.file.strip_prefix("->").map_or(path, |link| at.join(link));
    if case.file.starts_with("->") {
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    } else if !case.file.is_empty() {
        std::fs::write(&path, &case.bytes).unwrap();
    }
    let before = names(at);
    let words = case.args.split(' ').map(|word| word.replace("FILE", &case.file).replace('\'', "'\\''"));
    let quoted: Vec<String> = words.map(|word| format!("'{word}'")).collect();
    let script = format!(
        "ulimit -c 0; ulimit -v {}; exec '{}' {}",
        MEMORY * 1024,
        env!("CARGO_BIN_EXE_paretau"),
        quoted.join(" ")
    );
    let out = Command::new("sh")
        .args(["-c", &script])
        .current_dir(at)
        .env("NO_COLOR", "1")
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[&out.stdout[..], &out.stderr].concat()).into_owned();
    let stderr = String::from_utf8_lossy(&out.stderr);
    let mut faults = vec![];
    if out.status.code() != Some(case.exit) {
        faults.push(format!("ended with {}, not {}", out.status, case.exit));
    }
    let lacking: Vec<&&str> = case.words.iter().filter(|word| !text.contains(**word)).collect();
    if !lacking.is_empty() {
        faults.push(format!("lacks {lacking:?}"));
    }
    if text.contains("panicked") {
        faults.push("panicked".to_owned());
    }
    // The bound on memory would otherwise end in the same exit code as a refusal.
    if text.contains("out of memory") {
        faults.push("took all memory that there was".to_owned());
    }
    if text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}') {
        faults.push("steers the terminal".to_owned());
    }
    if case.exit != 0 {
        if stderr.lines().filter(|line| line.starts_with("paretau: ")).count() != 1 {
            faults.push("does not say what is wrong in one line".to_owned());
        }
        if names(at) != before {
            faults.push("left something behind".to_owned());
        }
    }
    if !case.file.is_empty() {
        std::fs::remove_file(&path).unwrap();
    }
    for made in ["new.paretau", "new.csv"] {
        let _ = std::fs::remove_file(at.join(made));
    }
    let shown: String = text.chars().take(600).collect();
    faults.into_iter().map(|fault| format!("{} (paretau {}): {fault}\n    {shown}", case.name, case.args)).collect()
}

fn check_all(cases: impl FnOnce(&Fixtures) -> Vec<Case>) {
    let fixtures = Fixtures::new();
    let cases = cases(&fixtures);
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let faults: Vec<String> = cases.iter().flat_map(|case| faults(&fixtures, case)).collect();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[test]
fn a_hundred_hostile_files() {
    check_all(hostile::cases);
}

#[test]
fn a_hundred_careless_files() {
    check_all(careless::cases);
}
