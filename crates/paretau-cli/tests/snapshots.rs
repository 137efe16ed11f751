//! Help, errors and JSON documents as they were last agreed on, one plain file each in `tests/snapshots`.
//!
//! `PARETAU_RECORD=1 cargo test -p paretau-cli --test snapshots` writes them anew; look at the difference before
//! committing it. Numbers in JSON documents are shown by their kind alone: their values are other tests' business.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{ok, paretau};
use serde_json::{Map, Value};

/// What differs from the file, if anything does; writes the file instead when asked to.
fn compare(name: &str, found: &str) -> Option<String> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("PARETAU_RECORD").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return None;
    }
    let agreed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    if agreed == found {
        return None;
    }
    let mut lines = agreed.lines().zip(found.lines()).enumerate();
    let first = lines.find(|(_, (a, b))| a != b).map_or_else(
        || format!("{} lines became {}", agreed.lines().count(), found.lines().count()),
        |(k, (a, b))| format!("line {}:\n  was `{a}`\n  is  `{b}`", k + 1),
    );
    Some(format!("tests/snapshots/{name}: {first}"))
}

fn check(snapshots: Vec<(String, String)>) {
    let changed: Vec<String> = snapshots.iter().filter_map(|(name, found)| compare(name, found)).collect();
    assert!(changed.is_empty(), "{}\nPARETAU_RECORD=1 writes them anew", changed.join("\n"));
}

/// The commands that the help lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| {
        line.split_whitespace().next().filter(|_| line.starts_with("  ") && !line.starts_with("   "))
    });
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn help() {
    let folder = tempfile::tempdir().unwrap();
    let help = ok(folder.path(), &["--help"]);
    let commands = commands(&help);
    assert!(commands.len() > 15 && commands.iter().any(|c| c == "fit"), "{commands:?}");
    let mut snapshots = vec![("help.txt".to_owned(), help)];
    for command in &commands {
        snapshots.push((format!("help-{command}.txt"), ok(folder.path(), &[command, "--help"])));
    }
    check(snapshots);
}

/// Folder with data, a model and some broken files.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "300", "--d", "6", "--out", "people.csv"]);
    ok(at, &["simulate", "synthetic", "--n", "300", "--d", "6", "--seed", "1", "--out", "later.csv"]);
    ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"]);
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
    write("empty.csv", "");
    write("ragged.csv", "t,y,x\n0,1,2\n1,2\n");
    write("three.csv", "t,y,x\na,1,2\nb,2,3\nc,3,4\n");
    write("words.csv", "t,y,x\n0,1,2\n1,many,3\n");
    write("infinite.csv", "t,y,x\n0,1,2\n1,2,inf\n");
    write("constant.csv", "t,y,x\n0,1,2\n1,1,3\n");
    write("bad.toml", "penalty = = 1\n");
    write("new.csv", "x1,x2,x3,x4,x5,height\n1,1,1,1,1,1\n");
    let model = std::fs::read(at.join("model.paretau")).unwrap();
    std::fs::write(at.join("torn.paretau"), &model[..model.len() / 2]).unwrap();
    folder
}

#[test]
fn errors() {
    let folder = prepared();
    let fit = "--treatment t --outcome y --out never.paretau";
    let cases = [
        "fit".to_owned(),
        "fitt".to_owned(),
        format!("fit people.csv --treatmnt t {fit}"),
        format!("fit nowhere.csv {fit}"),
        format!("fit empty.csv {fit}"),
        format!("fit ragged.csv {fit}"),
        format!("fit three.csv {fit}"),
        format!("fit words.csv {fit}"),
        format!("fit infinite.csv {fit}"),
        format!("fit constant.csv {fit}"),
        "fit people.csv --treatment tt --outcome y --out never.paretau".to_owned(),
        "fit people.csv --outcome y --out never.paretau".to_owned(),
        format!("fit people.csv {fit} --estimator lr-22"),
        format!("fit people.csv {fit} --estimator lr-2 --set penaltyy=1"),
        format!("fit people.csv {fit} --estimator lr-2 --set penalty=-1"),
        format!("fit people.csv {fit} --estimator lr-2 --config bad.toml"),
        format!("fit people.csv {fit} --valid 2"),
        "fit people.csv --treatment t --outcome y --out no/model.paretau".to_owned(),
        "effect model.paretau new.csv".to_owned(),
        "effect torn.paretau people.csv".to_owned(),
        "effect model.paretau people.csv --out people.csv".to_owned(),
        "effect model.paretau people.csv --interval 0.95".to_owned(),
        "describe lr-3".to_owned(),
        "simulate sinthetic --out d.csv".to_owned(),
        "run frist-look --out r".to_owned(),
    ];
    // To a file or a program as they are, in a terminal wrapped between words.
    let snapshots = ["", "80", "100", "140"].map(|width| {
        let mut text = String::new();
        for args in &cases {
            let mut command = common::command(folder.path());
            let out = command.env("COLUMNS", width).args(args.split_whitespace()).arg("--quiet").output().unwrap();
            let stderr = String::from_utf8(out.stderr).unwrap();
            text += &format!("$ paretau {args}\n{stderr}exit {}\n\n", out.status.code().unwrap());
        }
        (if width.is_empty() { "errors.txt".to_owned() } else { format!("errors-{width}.txt") }, text)
    });
    check(snapshots.to_vec());
}

/// The help of every command in narrow and wide terminals; `help` has it in the usual width.
#[test]
fn help_in_other_widths() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands(&ok(folder.path(), &["--help"]));
    let snapshots = [80, 140].map(|width| {
        let mut text = String::new();
        for command in [String::new()].iter().chain(&commands) {
            let mut paretau = common::command(folder.path());
            let args = command.split_whitespace().chain(["--help"]);
            let out = paretau.env("COLUMNS", width.to_string()).args(args).output().unwrap();
            let help = String::from_utf8(out.stdout).unwrap();
            let longest = help.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width.min(100), "{command}: {longest} letters in a width of {width}");
            text += &format!("$ paretau {command} --help\n{help}\n");
        }
        (format!("help-{width}.txt"), text)
    });
    check(snapshots.to_vec());
}

/// Help, tables and prose in narrow, usual and wide terminals. Only what does not depend on the last digits of a machine.
#[test]
fn terminals() {
    let folder = prepared();
    let cases = [
        "fit --help",
        "report --help",
        "check --help",
        "list plans",
        "list simulators",
        "describe lr-2",
        "check people.csv --treatment t --outcome y --quiet",
        "init people.csv --estimator lr-2 --out - --quiet",
    ];
    let snapshots = [80, 100, 140].map(|width| {
        let mut text = String::new();
        for args in cases {
            let mut command = common::command(folder.path());
            let out = command.env("COLUMNS", width.to_string()).args(args.split_whitespace()).output().unwrap();
            assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
            text += &format!("$ paretau {args}\n{}\n", String::from_utf8(out.stdout).unwrap());
        }
        (format!("terminal-{width}.txt"), text)
    });
    check(snapshots.to_vec());
}

/// The document with every number replaced by its kind and every list by its first entry.
fn shape(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(if number.is_f64() { "<number>" } else { "<whole>" }),
        Value::Array(entries) => Value::Array(entries.first().map(shape).into_iter().collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), shape(value))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[test]
fn json() {
    let folder = prepared();
    let cases = [
        ("list-estimators", "list estimators"),
        ("list-metrics", "list metrics"),
        ("list-simulators", "list simulators"),
        ("list-plans", "list plans"),
        ("describe", "describe lr-2"),
        ("simulate", "simulate synthetic --n 50 --d 6 --out d.csv"),
        ("simulate-stdout", "simulate synthetic --n 3 --d 3 --out -"),
        ("fit", "fit people.csv --treatment t --outcome y --estimator lr-2 --out m.paretau"),
        ("effect", "effect model.paretau people.csv --out e.csv"),
        ("effect-stdout", "effect model.paretau people.csv"),
        ("evaluate", "evaluate model.paretau later.csv --truth mu0,mu1"),
        ("diagnose-data", "diagnose people.csv --treatment t --outcome y"),
        ("diagnose-model", "diagnose model.paretau"),
        ("run", "run first-look --out r --shard 1/5"),
        ("report-run", "report r --out run.html"),
        ("policy", "policy model.paretau later.csv --truth mu0,mu1 --ignore e"),
        ("sensitivity", "sensitivity people.csv --treatment t --outcome y --ignore mu0,mu1,e"),
        ("refute", "refute people.csv --treatment t --outcome y --ignore mu0,mu1,e --replicates 3"),
        ("compare", "compare people.csv --treatment t --outcome y --estimators lr-1,lr-2 --truth mu0,mu1 --ignore e"),
        ("roles", "roles people.csv --treatment t --outcome y --ignore mu0,mu1,e"),
        ("check", "check people.csv --treatment t --outcome y"),
        ("tune", "tune people.csv --treatment t --outcome y --estimator lr-2 --trials 2"),
    ];
    let snapshots = cases.iter().map(|(name, args)| {
        let document = common::json(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
        let text = serde_json::to_string_pretty(&shape(&document)).unwrap();
        (format!("json-{name}.json"), format!("{text}\n"))
    });
    let mut snapshots: Vec<(String, String)> = snapshots.collect();
    let out =
        paretau(folder.path(), &["fit", "nowhere.csv", "--treatment", "t", "--outcome", "y", "--out", "m", "--json"]);
    common::described("error", &serde_json::from_slice(&out.stdout).unwrap());
    snapshots.push(("json-error.json".to_owned(), String::from_utf8(out.stdout).unwrap()));
    let out = paretau(folder.path(), &["fit", "--json"]);
    common::described("error", &serde_json::from_slice(&out.stdout).unwrap());
    snapshots.push(("json-usage-error.json".to_owned(), String::from_utf8(out.stdout).unwrap()));
    check(snapshots);
}
