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

/// What a signal's answer may take here: a second, and another for machines that do other things besides. The campaign
/// (`cargo xtask siege`) measures the second itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits for the child's end, which must be an interruption, and a quick one.
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
    assert!(start.elapsed() < PATIENCE, "it took {:?}", start.elapsed());
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
    std::fs::write(at.join("effects.csv"), "tau\n0.5\n").unwrap();
    let begun = || names(at).iter().any(|name| name.contains(".tmp"));
    feed(at, &["effect", "model.paretau", "-", "--out", "effects.csv"], begun);
    assert_eq!(std::fs::read(at.join("effects.csv")).unwrap(), b"tau\n0.5\n");
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

/// Sends what `kill` sends.
fn terminate(child: &Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
}

#[test]
fn waiting_for_input_is_no_reason_to_stay() {
    let folder = fitted();
    let at = folder.path();
    assert!(Command::new("mkfifo").arg(at.join("pipe.csv")).status().unwrap().success());
    let before = names(at);
    let roles = ["--treatment", "t", "--outcome", "y"];
    for (args, signal) in [
        ([&["fit", "-", "--out", "m.paretau"][..], &roles].concat(), press_ctrl_c as fn(&Child)),
        ([&["fit", "pipe.csv", "--out", "m.paretau"][..], &roles].concat(), terminate),
        (vec!["effect", "model.paretau", "-", "--out", "e.csv"], terminate),
        (vec!["effect", "model.paretau", "pipe.csv", "--out", "e.csv"], press_ctrl_c),
        (vec!["check", "-"], press_ctrl_c),
    ] {
        // The pipe stays open, and nothing comes.
        let mut child = command(at)
            .args(&args)
            .args(["--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        std::thread::sleep(Duration::from_millis(400));
        signal(&child);
        check_interrupted(child);
        drop(input);
        assert_eq!(names(at), before, "{args:?}");
    }
}

#[test]
fn every_long_command_stops_within_a_second() {
    let folder = fitted();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "60000", "--d", "18", "--out", "many.csv"]);
    let fit = ["fit", "many.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "many.paretau"];
    let before = names(at);
    let of_data = |verb: &'static str| vec![verb, "many.csv", "--treatment", "t", "--outcome", "y"];
    let mut heard = 0;
    let commands: Vec<Vec<&str>> = vec![
        fit.to_vec(),
        of_data("diagnose"),
        of_data("refute"),
        of_data("sensitivity"),
        of_data("roles"),
        of_data("compare"),
        [&of_data("tune")[..], &["--trials", "50", "--records", "trials.jsonl"]].concat(),
        vec!["simulate", "synthetic", "--n", "3000000", "--d", "18", "--out", "more.csv"],
        vec!["evaluate", "model.paretau", "many.csv"],
    ];
    for (k, args) in commands.iter().enumerate() {
        for moment in [150, 700, 1600] {
            let mut child = command(at)
                .args(args)
                .args(["--quiet"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(moment));
            if child.try_wait().unwrap().is_none() {
                if k % 2 == 0 {
                    press_ctrl_c(&child);
                } else {
                    terminate(&child);
                }
                check_interrupted(child);
                heard += 1;
            }
            let _ = std::fs::remove_file(at.join("trials.jsonl"));
            let _ = std::fs::remove_file(at.join("more.csv"));
            assert_eq!(names(at), before, "{args:?} after {moment} ms");
        }
    }
    assert!(heard >= 15, "only {heard} commands were still at work");
}
