//! A fit that is broken off and taken up again ends in the same file as one that was left alone.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paretau"));
    command.args(args).current_dir(folder).env("NO_COLOR", "1").stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn fit<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let data = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "--estimator", "dpsw-norm"];
    let short = ["--set", "members=2", "--set", "max_steps=1500", "--set", "min_steps=1500", "--set", "dropout=0"];
    [&data[..], &short, &["--out", out], more].concat()
}

/// Starts a fit with a checkpoint and waits until the first one is on disk.
fn started(folder: &Path, more: &[&str]) -> Child {
    let args = fit("resumed.paretau", &[&["--checkpoint", "state.checkpoint"], more].concat());
    let checkpoint = folder.join("state.checkpoint");
    let before = std::fs::read(&checkpoint).ok();
    let mut child = command(folder, &args).spawn().unwrap();
    let start = Instant::now();
    while std::fs::read(&checkpoint).ok() == before {
        assert!(start.elapsed() < Duration::from_mins(4), "no checkpoint was written");
        assert!(child.try_wait().unwrap().is_none(), "the fit ended before its first checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn an_interrupted_fit_resumes_to_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made =
        command(at, &["simulate", "synthetic", "--n", "300", "--d", "6", "--out", "people.csv"]).output().unwrap();
    assert!(made.status.success());
    assert!(command(at, &fit("whole.paretau", &[])).output().unwrap().status.success());

    // Ctrl-C: a word, the exit code of an interruption, the checkpoint in place, no model.
    let child = started(at, &[]);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(at.join("state.checkpoint").exists() && !at.join("resumed.paretau").exists());

    // Without --resume it is not written over.
    let args = fit("resumed.paretau", &["--checkpoint", "state.checkpoint"]);
    let refused = command(at, &args).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--resume"));

    // Killed outright on the way, then taken up to the end.
    let mut child = started(at, &["--resume"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = command(at, &[&args[..], &["--resume"]].concat()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(!at.join("state.checkpoint").exists(), "a finished fit leaves no checkpoint");
    assert_eq!(std::fs::read(at.join("whole.paretau")).unwrap(), std::fs::read(at.join("resumed.paretau")).unwrap());
}
