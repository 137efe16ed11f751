//! Long jobs as they are met in life: killed at any moment, resumed, split over machines.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const PLAN: &str = r#"
name = "killed"
summary = "many quick cells"
metrics = ["pehe", "ate_error"]

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 1500, d = 12 }
realisations = [1, 2, 3, 4, 5, 6, 7, 8]

[[methods]]
estimator = "lr-1"

[[methods]]
estimator = "lr-2"

[[methods]]
estimator = "t-learner"
params = { base = "ridge" }
"#;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paretau"));
    command.args(args).current_dir(folder).env("NO_COLOR", "1");
    command
}

fn ok(folder: &Path, args: &[&str]) -> String {
    let out: Output = command(folder, args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn with_plan() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    folder
}

/// Records by key without the seconds they took; a key twice is an error.
fn records(path: &Path) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("seconds");
        let key = record["key"].as_str().unwrap().to_owned();
        assert!(out.insert(key.clone(), record).is_none(), "{key} was done twice");
    }
    out
}

/// Number of whole lines of the records.
fn lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

#[test]
fn a_run_killed_at_any_moment_and_resumed_ends_with_the_same_records() {
    let folder = with_plan();
    let at = folder.path();
    ok(at, &["run", "plan.toml", "--out", "whole", "--quiet"]);
    let whole = records(&at.join("whole/records.jsonl"));
    assert_eq!(whole.len(), 24);

    let file = at.join("killed/records.jsonl");
    let mut kills = 0;
    for wanted in [1, 5, 11, 17] {
        let mut child = command(at, &["run", "plan.toml", "--out", "killed", "--resume", "--quiet", "--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed while it works, at a moment that differs from try to try.
        while lines(&file) < wanted && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills > 0, "the run was too fast to be killed even once");
    // A torn last line, as a crash in the middle of a write leaves it.
    let mut torn = fs::read(&file).unwrap();
    torn.extend_from_slice(b"{\"key\":\"half a rec");
    fs::write(&file, torn).unwrap();
    ok(at, &["run", "plan.toml", "--out", "killed", "--resume", "--quiet"]);
    assert_eq!(records(&file), whole);
    assert_eq!(
        fs::read_to_string(at.join("killed/table.csv")).unwrap(),
        fs::read_to_string(at.join("whole/table.csv")).unwrap()
    );
}

/// The plan with a search for the penalty on the first realisation; the t-learner has no such parameter.
fn searching(trials: usize) -> String {
    let search =
        format!("[tune]\ntrials = {trials}\nspace = {{ penalty = {{ low = 1e-3, high = 1e3, log = true }} }}\n");
    PLAN.replace("[1, 2, 3, 4, 5, 6, 7, 8]", "[3, 1]").replace("summary = ", "tune_on = \"first\"\nsummary = ")
        + &search
}

#[test]
fn a_search_is_made_once_for_all_realisations_and_survives_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("plan.toml"), searching(40)).unwrap();
    ok(at, &["run", "plan.toml", "--out", "whole", "--quiet"]);
    let whole = records(&at.join("whole/records.jsonl"));
    let searched: Vec<&Value> = whole.values().filter(|record| !record["found"].is_null()).collect();
    assert_eq!((whole.len(), searched.len()), (6, 4));
    assert!(searched.iter().all(|r| r["found"]["realisation"] == 3 && r["found"]["trials"] == 40));
    assert!(searched.iter().all(|r| r["found"]["value"].as_f64() <= r["found"]["default_value"].as_f64()));
    let files: Vec<_> = fs::read_dir(at.join("whole/tuning")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "one search for each linear method");
    let table = fs::read_to_string(at.join("whole/tuning.md")).unwrap();
    assert!(table.contains("Not searched: t-learner.") && table.contains("| synthetic | 3 | lr-2 |"), "{table}");

    let args = ["run", "plan.toml", "--out", "killed", "--resume", "--quiet", "--threads", "1"];
    let file = at.join("killed/tuning").join(files[0].file_name().unwrap());
    let mut child = command(at, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while lines(&file) < 5 && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    assert!(child.try_wait().unwrap().is_none(), "the search was too fast to be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lines(&at.join("killed/records.jsonl")) == 0 && lines(&file) < 41, "killed too late");
    ok(at, &args);
    assert_eq!(records(&at.join("killed/records.jsonl")), whole);
    assert_eq!(fs::read_to_string(&file).unwrap(), fs::read_to_string(&files[0]).unwrap());

    // More trials go on where the fewer ended, and the cells are done again with what they find.
    fs::write(at.join("plan.toml"), searching(42)).unwrap();
    ok(at, &args);
    assert_eq!((lines(&file), lines(&at.join("killed/records.jsonl"))), (43, 6 + 4));
    // A name that no method has is a slip, not an empty search.
    fs::write(at.join("plan.toml"), searching(3).replace("penalty", "penalti")).unwrap();
    let wrong = command(at, &args).output().unwrap();
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && message.contains("did you mean `penalty`"), "{message}");
}

#[test]
fn shards_make_the_whole_and_a_second_run_has_nothing_to_do() {
    let folder = with_plan();
    let at = folder.path();
    ok(at, &["run", "plan.toml", "--out", "whole", "--quiet"]);
    for shard in ["1/3", "2/3", "3/3"] {
        ok(at, &["run", "plan.toml", "--out", "parts", "--resume", "--shard", shard, "--quiet"]);
    }
    assert_eq!(records(&at.join("parts/records.jsonl")), records(&at.join("whole/records.jsonl")));
    let again: Value =
        serde_json::from_str(&ok(at, &["run", "plan.toml", "--out", "parts", "--resume", "--json"])).unwrap();
    assert_eq!((again["done"].as_u64(), again["kept"].as_u64()), (Some(0), Some(24)));
    let comparison = fs::read_to_string(at.join("parts/comparison.md")).unwrap();
    assert!(
        comparison.contains("Mean rank over 8 realisations") && comparison.contains("95 % interval"),
        "{comparison}"
    );
}

#[test]
fn a_plan_can_be_cut_down_and_its_folder_keeps_what_was_run() {
    let folder = with_plan();
    let cut = ["run", "plan.toml", "--out", "cut", "--realisations", "2", "--set", "penalty=0.5", "--quiet"];
    ok(folder.path(), &cut);
    let found = records(&folder.path().join("cut/records.jsonl"));
    assert_eq!(found.len(), 6);
    let penalty = |record: &Value| record["cell"]["method"]["params"]["penalty"].clone();
    let with = found.values().filter(|record| !penalty(record).is_null()).count();
    assert_eq!(with, 4, "the two linear methods have a penalty, the t-learner has none of that name");
    assert!(fs::read_to_string(folder.path().join("cut/plan.toml")).unwrap().contains("penalty"));
    let wrong = command(folder.path(), &["run", "plan.toml", "--out", "wrong", "--set", "penalti=1"]).output().unwrap();
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.status.code() == Some(2) && message.contains("did you mean `penalty`"), "{message}");
    assert!(!folder.path().join("wrong").exists());
}

#[test]
fn a_search_starts_with_the_defaults_can_be_resumed_and_prints_what_fit_takes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "600", "--d", "6", "--out", "people.csv"]);
    let search = |trials: &str, file: &str, more: &[&str]| -> Value {
        let mut args = vec!["tune", "people.csv", "--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1"];
        args.extend(["--estimator", "causal-forest", "--set", "n_estimators=50", "--json", "--quiet"]);
        args.extend(["--objective", "r", "--folds", "3", "--trials", trials, "--records", file]);
        args.extend(more);
        serde_json::from_str(&ok(at, &args)).unwrap()
    };
    let whole = search("7", "whole.jsonl", &[]);
    search("3", "parts.jsonl", &[]);
    let resumed = search("7", "parts.jsonl", &["--resume"]);
    assert_eq!(whole, resumed);
    let report = &whole["report"];
    assert_eq!(report["trials"].as_array().unwrap().len(), 7);
    assert!(report["value"].as_f64() <= report["default_value"].as_f64());
    // What it prints is what `fit` takes.
    let mut fit = vec!["fit", "people.csv", "--treatment", "t", "--outcome", "y", "--estimator", "causal-forest"];
    fit.extend(["--out", "model.paretau", "--quiet"]);
    fit.extend(whole["set"].as_str().unwrap().split(' '));
    ok(at, &fit);
    // Trials of another search are not taken up.
    let mut other = vec!["tune", "people.csv", "--treatment", "t", "--outcome", "y", "--records", "parts.jsonl"];
    other.extend(["--estimator", "lr-2", "--resume"]);
    let out = command(at, &other).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("another search"));
}

#[test]
fn data_sets_are_listed_with_where_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let out =
        command(folder.path(), &["list", "datasets", "--json"]).env("PARETAU_DATA", folder.path()).output().unwrap();
    let sets: Value = serde_json::from_slice(&out.stdout).unwrap();
    for set in sets.as_array().unwrap() {
        assert_eq!(set["present"], "no", "{set}");
        assert!(set["address"].as_str().unwrap().starts_with("https://"), "{set}");
    }
}
