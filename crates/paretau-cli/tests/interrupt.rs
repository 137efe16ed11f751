//! Ctrl-C: exit code 130, one line, and nothing half-written.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{command, ok};

/// A folder with `people.csv` and `model.paretau`.
fn fitted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "300", "--d", "6", "--out", "people.csv"]);
    ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"]);
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Sends what Ctrl-C sends.
fn press_ctrl_c(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// Waits for the child's end, which must be an interruption.
fn check_interrupted(mut child: Child) {
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_mins(1) => {
                child.kill().unwrap();
                unreachable!("Ctrl-C was not heard within a minute");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert_eq!(stderr, "paretau: interrupted\n");
}

/// Feeds rows to the child's standard input until `ready` says so, then presses Ctrl-C and feeds on until it ends.
fn feed(folder: &Path, args: &[&str], ready: impl Fn() -> bool) {
    let before = names(folder);
    let text = std::fs::read_to_string(folder.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut child = command(folder)
        .args(args)
        .args(["--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{header}").unwrap();
    let (mut sent, mut pressed) = (0, false);
    // The pipe breaks when the child has gone.
    while input.write_all(rows.as_bytes()).is_ok() {
        sent += 300;
        if !pressed && ready() {
            press_ctrl_c(&child);
            pressed = true;
        }
        assert!(sent < 50_000_000, "Ctrl-C was not heard");
    }
    assert!(pressed, "the command ended by itself");
    drop(input);
    check_interrupted(child);
    assert_eq!(names(folder), before, "nothing is left behind");
}

#[test]
fn streaming_effects_leave_nothing_half_written() {
    let folder = fitted();
    let at = folder.path();
    for out in ["effects.csv", "effects.csv.gz", "effects.parquet", "effects.arrow"] {
        // Once the temporary file is there, output has been written.
        let begun = || names(at).iter().any(|name| name.contains(".tmp"));
        feed(at, &["effect", "model.paretau", "-", "--out", out], begun);
    }
    // An older file stays as it was.
    std::fs::write(at.join("effects.csv"), "precious").unwrap();
    let begun = || names(at).iter().any(|name| name.contains(".tmp"));
    feed(at, &["effect", "model.paretau", "-", "--out", "effects.csv"], begun);
    assert_eq!(std::fs::read(at.join("effects.csv")).unwrap(), b"precious");
}

#[test]
fn a_long_fit_stops() {
    let folder = fitted();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "20000", "--d", "18", "--out", "many.csv"]);
    let before = names(at);
    let long = [
        "fit",
        "many.csv",
        "--treatment",
        "t",
        "--outcome",
        "y",
        "-e",
        "causal-forest",
        "--set",
        "n_estimators=100000",
    ];
    let child = command(at)
        .args(long)
        .args(["--out", "long.paretau", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    press_ctrl_c(&child);
    check_interrupted(child);
    assert_eq!(names(at), before);
}
