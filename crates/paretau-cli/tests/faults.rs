//! Faults on purpose: a disk that is full after N calls, for every N, at every step of `fit`, `effect`, `report`, `tune` and
//! `run`; and memory that ends after N bytes, or at the system's limit. Each ends in an error in words, and older files stay whole.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use common::{command, ok};

/// The compiled shim of the disk.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    compiled(&SHIM, "shim.rs")
}

/// The compiled shim of the memory.
fn memory_shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    compiled(&SHIM, "memory.rs")
}

fn compiled(shim: &'static OnceLock<(tempfile::TempDir, PathBuf)>, source: &str) -> &'static Path {
    &shim
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let library = folder.path().join("libshim.so");
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults").join(source);
            let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let made = Command::new(rustc)
                .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-o"])
                .args([&library, &source])
                .output()
                .unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            (folder, library)
        })
        .1
}

/// Every file below a folder but locks, by name; none where the folder could not be made.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A folder with data, a model, its effects, a page and a plan.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "120", "--d", "3", "--out", "people.csv"]);
    ok(at, &["simulate", "synthetic", "--n", "90", "--d", "3", "--seed", "7", "--out", "earlier.csv"]);
    ok(at, &["fit", "earlier.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-1", "--out", "model.paretau"]);
    ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "other.paretau"]);
    ok(at, &["effect", "model.paretau", "earlier.csv", "--out", "effects.csv"]);
    ok(at, &["report", "model.paretau", "--out", "page.html"]);
    let plan = "name = \"full\"\nsummary = \"two cells\"\n\n[[data]]\nname = \"synthetic\"\nsimulator = \"synthetic\"\n\
                params = { n = 80, d = 3 }\nrealisations = [1, 2]\n\n[[methods]]\nestimator = \"lr-1\"\n";
    std::fs::write(at.join("plan.toml"), plan).unwrap();
    folder
}

fn on_a_disk_of(folder: &Path, calls: usize, args: &[&str]) -> Output {
    command(folder)
        .args(args)
        .env("LD_PRELOAD", shim())
        .env("FAIL_AFTER", calls.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs a command on disks whose first, second, … call fails and no other. Either the command says so and every file stays as it
/// was, or the call did not matter and the output is the one of a good disk.
fn one_bad_call_is_heard_or_does_not_matter(args: &[&str], out: &str) {
    let good = prepared();
    ok(good.path(), args);
    let expected = files(good.path());
    let folder = prepared();
    let at = folder.path();
    let before = files(at);
    assert_ne!(expected[out], before[out]);
    let (mut refused, mut quiet) = (0, 0);
    for calls in 0..200 {
        let mut command = command(at);
        command.args(args).env("LD_PRELOAD", shim()).env("FAIL_AFTER", calls.to_string()).env("FAIL_ONCE", "1");
        let done = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        let after = files(at);
        if done.status.success() {
            assert!(after == expected, "{args:?} with call {calls} bad gave something else and did not say so");
            std::fs::write(at.join(out), &before[out]).unwrap();
            quiet += 1;
        } else {
            assert_eq!(done.status.code(), Some(3), "{args:?} with call {calls} bad: {text}");
            assert!(text.contains("Input/output error"), "{text}");
            assert!(after == before, "{args:?} with call {calls} bad left something else: {:?}", after.keys());
            (refused, quiet) = (refused + 1, 0);
        }
        // Beyond the last call nothing is bad any more.
        if quiet == 8 {
            assert!(refused > 2, "{args:?} touched no disk");
            return;
        }
    }
    unreachable!("{args:?} needs more than 200 calls");
}

#[test]
fn one_bad_call_of_the_disk_is_heard_or_does_not_matter() {
    let fit = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"];
    one_bad_call_is_heard_or_does_not_matter(&[&fit[..], &["--quiet"]].concat(), "model.paretau");
    let effect = ["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"];
    one_bad_call_is_heard_or_does_not_matter(&effect, "effects.csv");
    one_bad_call_is_heard_or_does_not_matter(
        &["report", "other.paretau", "--out", "page.html", "--quiet"],
        "page.html",
    );
    let policy = ["policy", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"];
    one_bad_call_is_heard_or_does_not_matter(&policy, "effects.csv");
}

/// Runs a command that replaces the file `out` on disks that are full after 0, 1, 2, … calls, until it succeeds. Until then
/// every file stays as it was.
fn replaced_whole_or_not_at_all(args: &[&str], out: &str) {
    let folder = prepared();
    let at = folder.path();
    let before = files(at);
    for calls in 0..200 {
        let done = on_a_disk_of(at, calls, args);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() {
            assert!(calls > 2, "{args:?} touched no disk");
            let after = files(at);
            assert_ne!(after.get(out), before.get(out), "{out} was not replaced");
            assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
            ok(at, args);
            assert_eq!(files(at), after, "what a nearly full disk took is not what was meant");
            return;
        }
        assert_eq!(done.status.code(), Some(3), "{args:?} after {calls} calls: {text}");
        assert!(
            text.contains("No space left") && text.starts_with("paretau: ") && !text.contains("panicked"),
            "{text}"
        );
        assert!(files(at) == before, "{args:?} after {calls} calls left something else: {:?}", files(at).keys());
    }
    unreachable!("{args:?} needs more than 200 calls");
}

#[test]
fn a_model_is_replaced_whole_or_not_at_all() {
    let fit = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"];
    replaced_whole_or_not_at_all(&[&fit[..], &["--quiet"]].concat(), "model.paretau");
}

#[test]
fn effects_are_replaced_whole_or_not_at_all() {
    let effect = ["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"];
    replaced_whole_or_not_at_all(&effect, "effects.csv");
}

#[test]
fn a_page_is_replaced_whole_or_not_at_all() {
    replaced_whole_or_not_at_all(&["report", "other.paretau", "--out", "page.html", "--quiet"], "page.html");
}

/// Records without the seconds they took.
fn records(bytes: &[u8]) -> Vec<serde_json::Value> {
    let mut all: Vec<serde_json::Value> =
        std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    all.iter_mut().for_each(|record| drop(record.as_object_mut().unwrap().remove("seconds")));
    all.sort_by_key(|record| record["key"].as_str().unwrap().to_owned());
    all
}

#[test]
fn a_run_goes_on_when_there_is_room_again() {
    let folder = prepared();
    let at = folder.path();
    let run = |out: &'static str| ["run", "plan.toml", "--out", out, "--resume", "--quiet", "--threads", "1"];
    ok(at, &run("whole"));
    let whole = files(&at.join("whole"));
    let mut calls = 0;
    let mut failed = 0;
    loop {
        assert!(calls < 400, "the run needs more than 400 calls");
        let done = on_a_disk_of(at, calls, &run("full"));
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        let ended = done.status.success();
        if !ended {
            failed += 1;
            assert_eq!(done.status.code(), Some(3), "after {calls} calls: {text}");
            assert!(text.contains("No space left"), "after {calls} calls: {text}");
        }
        // Whatever is there is whole, and nothing temporary stays.
        for (name, bytes) in files(&at.join("full")) {
            assert!(!name.contains(".tmp"), "{name} stayed after {calls} calls");
            if name == "records.jsonl" {
                assert!(records(&bytes).len() <= 2);
            } else if name.strip_suffix(".lock").is_none() && !matches!(&*name, "table.md" | "report.html") {
                assert!(whole.get(&name) == Some(&bytes), "{name} is not whole after {calls} calls");
            }
        }
        if ended {
            break;
        }
        // Every call of the first cell, then some of those that write tables and pages.
        calls += if calls < 16 { 1 } else { 5 };
        if calls % 2 == 0 {
            let _ = std::fs::remove_dir_all(at.join("full"));
        }
    }
    assert!(failed > 8, "the run touched hardly any disk");
    ok(at, &run("full"));
    let after = files(&at.join("full"));
    assert_eq!(records(&after["records.jsonl"]), records(&whole["records.jsonl"]));
    assert_eq!(after.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
}

#[test]
fn a_search_goes_on_when_there_is_room_again() {
    let folder = prepared();
    let at = folder.path();
    let tune = |file: &'static str| {
        let data = ["tune", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--trials", "4"];
        [&data[..], &["--folds", "2", "--quiet", "--resume", "--records", file]].concat()
    };
    ok(at, &tune("whole.jsonl"));
    // What was written before a call failed is kept every other time, so that the search also goes on from parts of it.
    for calls in 0..60 {
        let done = on_a_disk_of(at, calls, &tune("full.jsonl"));
        if done.status.success() {
            assert!(calls > 2, "the search touched hardly any disk");
            assert_eq!(std::fs::read(at.join("full.jsonl")).unwrap(), std::fs::read(at.join("whole.jsonl")).unwrap());
            return;
        }
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(3) && text.contains("No space left"), "after {calls} calls: {text}");
        let written = std::fs::read(at.join("full.jsonl")).unwrap_or_default();
        assert!(written.is_empty() || written.ends_with(b"\n"), "half a line stayed after {calls} calls");
        if calls % 2 == 1 {
            let _ = std::fs::remove_file(at.join("full.jsonl"));
        }
    }
    unreachable!("the search needs more than 60 calls");
}

#[test]
fn files_may_not_grow_beyond_a_limit() {
    // The shell's limit of 512-byte or 1024-byte blocks; the signal that comes with it is ignored, so that writing fails.
    let folder = prepared();
    let at = folder.path();
    let before = files(at);
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec '{}' effect other.paretau people.csv --out effects.csv --quiet",
        env!("CARGO_BIN_EXE_paretau")
    );
    let done = Command::new("sh").args(["-c", &script]).current_dir(at).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(3), "{text}");
    assert!(text.contains("File too large"), "{text}");
    assert!(files(at) == before);
}

#[test]
fn permissions_stay_as_they_were_whatever_call_fails() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = prepared();
    let at = folder.path();
    let effects = at.join("effects.csv");
    let rights = || std::fs::metadata(&effects).unwrap().permissions().mode() & 0o777;
    let before = files(at);
    let effect = ["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"];
    for mode in [0o600, 0o640, 0o646] {
        std::fs::set_permissions(&effects, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut heard = false;
        for calls in 0..12 {
            let mut command = command(at);
            command.args(effect).env("LD_PRELOAD", shim()).env("FAIL_AFTER", calls.to_string()).env("FAIL_ONCE", "1");
            let done = command.stdin(Stdio::null()).output().unwrap();
            let text = String::from_utf8_lossy(&done.stderr).into_owned();
            heard |= text.contains("cannot get the permissions of the old one");
            assert_eq!(rights(), mode, "{mode:o} with call {calls} bad: {text}");
            if !done.status.success() {
                assert!(done.status.code() == Some(3) && files(at) == before, "with call {calls} bad: {text}");
            }
            std::fs::write(&effects, &before["effects.csv"]).unwrap();
        }
        // A new file is its owner's alone to begin with: where it stays so, a call that fails does not matter.
        assert_eq!(heard, mode != 0o600, "{mode:o}");
    }
}

#[test]
fn a_file_that_replaces_a_private_one_is_private_from_its_first_moment() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};
    let folder = prepared();
    let at = folder.path();
    std::fs::set_permissions(at.join("effects.csv"), std::fs::Permissions::from_mode(0o600)).unwrap();
    // The call that sets permissions waits: who looks then sees the file as it was made.
    let mut command = command(at);
    command.args(["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"]);
    command.env("LD_PRELOAD", shim()).env("SLOW_RIGHTS", "1").stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    let made = loop {
        let temporary = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
        let temporary = temporary.into_iter().find(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
        if let Some(Ok(made)) = temporary.map(|entry| entry.metadata()) {
            break made;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "no temporary file was made");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_disk_that_does_not_answer_is_no_reason_to_stay() {
    use std::time::{Duration, Instant};
    let folder = prepared();
    let at = folder.path();
    for (args, moment) in [
        (&["run", "plan.toml", "--out", "runs", "--resume", "--quiet", "--shard", "1/2"][..], 1500),
        (&["run", "plan.toml", "--out", "runs", "--resume", "--quiet", "--shard", "2/2"], 200),
        (
            &[
                "tune",
                "people.csv",
                "--treatment",
                "t",
                "--outcome",
                "y",
                "-e",
                "lr-2",
                "--records",
                "r.jsonl",
                "--quiet",
            ],
            1500,
        ),
        (&["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"], 1500),
    ] {
        let mut command = command(at);
        command.args(args).env("LD_PRELOAD", shim()).env("HANGS", "1").stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        assert!(child.try_wait().unwrap().is_none(), "{args:?} did not wait for the disk");
        let sent = Instant::now();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
        // The disk would take a minute.
        assert!(sent.elapsed() < Duration::from_secs(40), "{args:?} waited for the disk");
    }
}

/// Runs a command with so many bytes of memory, one and a half times as many, and so on until it succeeds: each time there is
/// one line and exit code 3, and every file stays as it was. `afterwards` looks at what is there after each attempt.
fn memory_may_end_anywhere(at: &Path, args: &[&str], afterwards: impl Fn(&str)) {
    let (mut ended, mut aborted) = (0, 0);
    let mut bytes = 200_000_u64;
    // Whether the C library is the one that finds nothing left hangs on which thread asks first: such an amount is tried again.
    let mut again = 0;
    while bytes < 40_000_000_000 {
        let mut command = command(at);
        command.args(args).env("LD_PRELOAD", memory_shim()).env("BYTES", bytes.to_string());
        let done = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        let what = format!("{args:?} with {bytes} bytes: {} {text}", done.status);
        if done.status.success() {
            assert!(
                ended > 3 && aborted < 3,
                "{what}: {ended} attempts ended for want of memory, {aborted} were aborted"
            );
            return;
        }
        afterwards(&what);
        if text.contains("Fatal glibc error") {
            // The C library itself finds no memory for a thread, and aborts.
            if again < 3 {
                again += 1;
                continue;
            }
            aborted += 1;
        } else {
            assert_eq!(done.status.code(), Some(3), "{what}");
            assert!(text.starts_with("paretau: out of memory") && text.lines().count() == 1, "{what}");
            ended += 1;
        }
        again = 0;
        bytes += bytes / 2;
    }
    unreachable!("{args:?} never has enough");
}

#[test]
fn without_memory_there_is_one_line_and_older_files_stay_whole() {
    let folder = prepared();
    let at = folder.path();
    let before = files(at);
    let fit = [
        "fit",
        "people.csv",
        "--treatment",
        "t",
        "--outcome",
        "y",
        "--out",
        "model.paretau",
        "--threads",
        "2",
        "--quiet",
    ];
    for args in [
        &[&fit[..], &["-e", "lr-2"]].concat()[..],
        &[&fit[..], &["-e", "causal-forest", "--set", "n_estimators=50"]].concat(),
        &["effect", "other.paretau", "people.csv", "--out", "effects.csv", "--quiet"],
        &["report", "other.paretau", "--out", "page.html", "--quiet"],
    ] {
        memory_may_end_anywhere(at, args, |what| assert!(files(at) == before, "{what} changed {:?}", files(at).keys()));
        let out = args[args.iter().position(|arg| *arg == "--out").unwrap() + 1];
        assert_ne!(files(at)[out], before[out]);
        std::fs::write(at.join(out), &before[out]).unwrap();
    }
}

#[test]
fn a_run_goes_on_when_there_is_memory_again() {
    let folder = prepared();
    let at = folder.path();
    let run = |out: &'static str| ["run", "plan.toml", "--out", out, "--resume", "--quiet", "--threads", "1"];
    ok(at, &run("whole"));
    let whole = files(&at.join("whole"));
    memory_may_end_anywhere(at, &run("short"), |what| {
        for (name, bytes) in files(&at.join("short")) {
            assert!(!name.contains(".tmp"), "{what} left {name}");
            if name == "records.jsonl" {
                assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "{what} left half a line");
            }
        }
    });
    let after = files(&at.join("short"));
    assert_eq!(records(&after["records.jsonl"]), records(&whole["records.jsonl"]));
    assert_eq!(after.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
}

#[test]
fn without_memory_older_files_stay_whole() {
    let folder = prepared();
    let at = folder.path();
    let mut outcomes = BTreeMap::new();
    for megabytes in [60, 120, 160, 200, 240, 280, 320, 400, 500] {
        let before = files(at);
        let script = format!(
            "ulimit -c 0; ulimit -v {}; exec '{}' fit people.csv --treatment t --outcome y -e lr-2 --out model.paretau \
             --quiet --threads 2",
            megabytes * 1024,
            env!("CARGO_BIN_EXE_paretau")
        );
        let done = Command::new("sh").args(["-c", &script]).current_dir(at).output().unwrap();
        outcomes.insert(megabytes, done.status.success());
        if done.status.success() {
            break;
        }
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!text.contains("panicked"), "with {megabytes} MB: {text}");
        assert!(files(at) == before, "with {megabytes} MB: {text}");
    }
    assert!(outcomes.values().any(|done| *done) && outcomes.values().any(|done| !*done), "{outcomes:?}");
}
