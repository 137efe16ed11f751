//! Every command of the guide and of the README is run, in order, and shown outputs are compared.
//!
//! All `sh` blocks of a document run in one folder; lines that start with `cargo` build the project and are left out.
//! A `text` block right after a `sh` block is what that block prints: numbers may differ by a little, and a line
//! `…` stands for any further lines.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A `sh` block with its line in the document, and the output that is shown for it.
struct Block {
    line: usize,
    script: String,
    shown: Option<String>,
}

/// The `sh` blocks of a Markdown text.
fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = vec![];
    let mut fence: Option<(String, usize, Vec<&str>)> = None;
    let mut after_script = false;
    for (k, line) in text.lines().enumerate() {
        match (&mut fence, line.strip_prefix("```")) {
            (None, Some(language)) => fence = Some((language.trim().to_owned(), k + 1, vec![])),
            (None, None) => after_script &= line.trim().is_empty(),
            (Some((language, start, lines)), Some(_)) => {
                let inside = lines.join("\n");
                match (language.as_str(), found.last_mut()) {
                    ("sh", _) => {
                        let kept = inside.lines().filter(|l| !l.starts_with("cargo ")).collect::<Vec<_>>().join("\n");
                        found.push(Block { line: *start, script: kept, shown: None });
                    }
                    ("text", Some(last)) if after_script => last.shown = Some(inside),
                    _ => {}
                }
                after_script = language == "sh";
                fence = None;
            }
            (Some((_, _, lines)), None) => lines.push(line),
        }
    }
    found
}

/// Whether two words say the same, numbers to within a twentieth.
fn alike(shown: &str, found: &str) -> bool {
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit() && c != '-').parse::<f64>().ok();
    match (plain(shown), plain(found)) {
        _ if shown == found => true,
        (Some(a), Some(b)) => (a - b).abs() <= 0.05 * a.abs().max(b.abs()) + 0.005,
        _ => false,
    }
}

/// Whether what is shown is what was printed.
fn matches(shown: &str, found: &str) -> bool {
    let mut lines = found.lines();
    for line in shown.lines() {
        if line.trim() == "…" {
            return true;
        }
        let Some(printed) = lines.next() else { return false };
        let (mut ours, mut theirs) = (line.split_whitespace(), printed.split_whitespace());
        loop {
            match (ours.next(), theirs.next()) {
                (Some("…"), _) | (None, None) => break,
                (Some(a), Some(b)) if alike(a, b) => {}
                _ => return false,
            }
        }
    }
    lines.next().is_none()
}

/// Runs the blocks of a document.
fn run_document(name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_paretau")).parent().unwrap();
    let search = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let blocks = blocks(&text);
    let commands = blocks.iter().flat_map(|b| b.script.lines()).filter(|l| l.contains("paretau ")).count();
    assert!(commands >= 3, "{name} has {commands} commands; are its blocks marked `sh`?");
    for Block { line, script, shown } in blocks {
        let out = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(folder.path())
            .env("PATH", &search)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&out.stdout);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}, line {line}:\n{script}\n{printed}{stderr}");
        if let Some(shown) = shown {
            assert!(matches(&shown, &printed), "{name}, line {line} shows\n{shown}\nbut prints\n{printed}");
        }
    }
}

#[test]
fn every_command_of_the_guide_works() {
    run_document("docs/guide.md");
}

#[test]
fn every_command_of_the_page_on_studies_works() {
    run_document("docs/studies.md");
}

#[test]
fn every_command_of_the_readme_works() {
    run_document("README.md");
}

#[test]
fn the_comparison_can_fail() {
    assert!(matches("a 1.00\n…", "a 1.01\nmore"));
    assert!(matches("a … c", "a b c"));
    for (shown, found) in [("a 1.0", "a 2.0"), ("a", "a\nb"), ("a\nb", "a"), ("a b", "a"), ("x 1", "y 1")] {
        assert!(!matches(shown, found), "{shown:?} {found:?}");
    }
    let two = blocks("```sh\na\ncargo b\n```\n\n```text\nout\n```\nwords\n```sh\nc\n```\nwords\n\n```text\nno\n```\n");
    assert_eq!(two.iter().map(|b| b.script.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(two.iter().map(|b| b.shown.as_deref()).collect::<Vec<_>>(), [Some("out"), None]);
}
