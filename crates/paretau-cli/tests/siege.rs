//! Attacks that once got through, each as it was made: two processes in one folder, resuming with other data, outputs over
//! precious files, failed cells, records of impossible numbers, names that steer terminals.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use common::{command, json, ok, paretau};
use serde_json::Value;

const PLAN: &str = "name = \"crowd\"\nsummary = \"quick cells\"\nmetrics = [\"pehe\"]\n\n[[data]]\nname = \"synthetic\"\n\
simulator = \"synthetic\"\nparams = { n = 200, d = 3 }\nrealisations = [1, 2, 3, 4, 5, 6, 7, 8]\n\n[[methods]]\nestimator = \"lr-1\"\n\n\
[[methods]]\nestimator = \"lr-2\"\n";

/// A folder with people, the same people with shuffled features, a model and a plan.
fn field() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "synthetic", "--n", "200", "--d", "3", "--out", "people.csv"]);
    let text = fs::read_to_string(at.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
    let first = header.split(',').position(|name| name == "x1").unwrap();
    let mut shuffled = format!("{header}\n");
    for (i, row) in rows.iter().enumerate() {
        let other = &rows[(i * 37 + 5) % rows.len()];
        writeln!(shuffled, "{}", [&row[..first], &other[first..]].concat().join(",")).unwrap();
    }
    fs::write(at.join("shuffled.csv"), shuffled).unwrap();
    ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"]);
    fs::write(at.join("plan.toml"), PLAN).unwrap();
    folder
}

/// Exit code and message of a command.
fn refused(at: &Path, args: &[&str]) -> (i32, String) {
    let out = paretau(at, args);
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    (out.status.code().unwrap(), text)
}

fn records(at: &Path) -> Vec<Value> {
    let text = fs::read_to_string(at.join("records.jsonl")).unwrap();
    let mut all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    all.iter_mut().for_each(|record| drop(record.as_object_mut().unwrap().remove("seconds")));
    all.sort_by_key(|record| record["key"].as_str().unwrap().to_owned());
    all
}

fn shard(at: &Path, out: &str, shard: &str) -> Child {
    command(at)
        .args(["run", "plan.toml", "--out", out, "--quiet", "--threads", "1", "--shard", shard])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_share_a_folder_lose_no_record() {
    let folder = field();
    let at = folder.path();
    ok(at, &["run", "plan.toml", "--out", "whole", "--quiet"]);
    for (out, n) in [("two", 2), ("four", 4)] {
        // Started in the same moment, in a folder that is not there yet.
        let parts: Vec<Child> = (1..=n).map(|k| shard(at, out, &format!("{k}/{n}"))).collect();
        for part in parts {
            let done = part.wait_with_output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        assert_eq!(records(&at.join(out)), records(&at.join("whole")), "{n} processes");
        // Whoever ends last writes tables of everything.
        assert_eq!(fs::read(at.join(out).join("table.csv")).unwrap(), fs::read(at.join("whole/table.csv")).unwrap());
    }
}

#[test]
fn a_second_process_on_the_same_cells_is_refused_by_name() {
    let folder = field();
    let at = folder.path();
    let many = PLAN.replace("[1, 2, 3, 4, 5, 6, 7, 8]", &format!("{:?}", (1..400).collect::<Vec<_>>()));
    fs::write(at.join("plan.toml"), many).unwrap();
    let mut first = shard(at, "out", "1/1");
    while !fs::read(at.join("out/records.jsonl")).is_ok_and(|bytes| !bytes.is_empty()) {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it could be met");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let (code, text) = refused(at, &["run", "plan.toml", "--out", "out", "--resume"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains(&format!("process {}", first.id())), "{text}");
    first.kill().unwrap();
    first.wait().unwrap();
    // What a killed process claimed is free.
    let few = ["run", "plan.toml", "--out", "out", "--resume", "--quiet", "--realisations", "2"];
    ok(at, &few);
    let left: Vec<String> = fs::read_dir(at.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(left, [""; 0], "locks and temporary files of the killed process are gone");
}

#[test]
fn a_damaged_line_is_set_aside_and_does_not_block_the_rest() {
    let folder = field();
    let at = folder.path();
    ok(at, &["run", "plan.toml", "--out", "out", "--quiet"]);
    let whole = records(&at.join("out"));
    let file = at.join("out/records.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[3] = lines[3].replace("\"key\"", "\"kye\"");
    // Numbers that no run can have written would put infinities into tables.
    let mut forged: Value = serde_json::from_str(&lines[5]).unwrap();
    forged["scores"]["pehe"] = 1e308.into();
    lines[5] = forged.to_string();
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let out = paretau(at, &["run", "plan.toml", "--out", "out", "--resume", "--json"]);
    let notes = String::from_utf8(out.stderr).unwrap();
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&done["done"], &done["kept"]), (&2.into(), &14.into()), "{notes}");
    assert!(notes.contains("line 4 is damaged") && notes.contains("line 6 is damaged"), "{notes}");
    let kept: Vec<Value> = fs::read_to_string(&file)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|record| record["scores"]["pehe"] != 1e308 && record.get("key").is_some())
        .collect();
    assert_eq!(kept.len(), whole.len());
    for name in ["table.md", "table.csv", "comparison.md"] {
        let text = fs::read_to_string(at.join("out").join(name)).unwrap();
        assert!(!text.contains("inf") && !text.contains("NaN"), "{name}: {text}");
    }
}

#[test]
fn nothing_is_resumed_with_other_data() {
    let folder = field();
    let at = folder.path();
    fs::copy(at.join("people.csv"), at.join("data.csv")).unwrap();
    let tune = |more: &'static [&'static str]| {
        let base =
            ["tune", "data.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--records", "trials.jsonl"];
        [&base[..], &["--folds", "2", "--quiet"], more].concat()
    };
    ok(at, &tune(&["--trials", "2"]));
    fs::write(
        at.join("file.toml"),
        "name = \"f\"\nsummary = \"a file\"\n[[data]]\nname = \"d\"\nfile = \"data.csv\"\nroles = { treatment = \"t\", \
         outcome = \"y\", truth = [\"mu0\", \"mu1\"] }\nrealisations = [1]\n[[methods]]\nestimator = \"lr-1\"\n",
    )
    .unwrap();
    let run = |more: &[&str]| {
        let out = command(at)
            .args(["run", "file.toml", "--out", "run", "--quiet"])
            .args(more)
            .env("PARETAU_DATA", at)
            .output()
            .unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    assert_eq!(run(&[]).0, Some(0));
    let trials = fs::read(at.join("trials.jsonl")).unwrap();
    let kept = fs::read(at.join("run/records.jsonl")).unwrap();
    fs::copy(at.join("shuffled.csv"), at.join("data.csv")).unwrap();
    let (code, text) = refused(at, &tune(&["--trials", "4", "--resume"]));
    assert!(code == 3 && text.contains("the rows of the data differ"), "{text}");
    let (code, text) = refused(at, &tune(&["--trials", "4", "--resume", "--seed", "5"]));
    assert!(code == 3 && text.contains("the seed (0 then, 5 now)"), "{text}");
    let (code, text) = run(&["--resume"]);
    assert!(code == Some(3) && text.contains("are not those of the records"), "{text}");
    assert_eq!(fs::read(at.join("trials.jsonl")).unwrap(), trials);
    assert_eq!(fs::read(at.join("run/records.jsonl")).unwrap(), kept);
    // Restored, both go on.
    fs::copy(at.join("people.csv"), at.join("data.csv")).unwrap();
    ok(at, &tune(&["--trials", "4", "--resume"]));
    assert_eq!(run(&["--resume"]).0, Some(0));
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let folder = field();
    let at = folder.path();
    fs::copy(at.join("people.csv"), at.join("data.csv")).unwrap();
    let fit = |more: &'static [&'static str]| {
        let base = ["fit", "data.csv", "--treatment", "t", "--outcome", "y", "-e", "tarnet", "--set", "members=1"];
        let long = ["--set", "max_steps=20000", "--set", "min_steps=20000", "--set", "dropout=0", "--quiet"];
        [&base[..], &long, &["--checkpoint", "c.checkpoint", "--out", "net.paretau"], more].concat()
    };
    let mut child = command(at).args(fit(&[])).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !at.join("c.checkpoint").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the fit ended before its first checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let checkpoint = fs::read(at.join("c.checkpoint")).unwrap();
    fs::copy(at.join("shuffled.csv"), at.join("data.csv")).unwrap();
    let (code, text) = refused(at, &fit(&["--resume"]));
    assert!(code == 3 && text.contains("the rows of the data differ"), "{text}");
    fs::copy(at.join("people.csv"), at.join("data.csv")).unwrap();
    let (code, text) = refused(at, &fit(&["--resume", "--ignore", "x1"]));
    assert!(code == 3 && text.contains("the columns' roles"), "{text}");
    let (code, text) = refused(at, &fit(&["--resume", "--set", "l2=0.5"]));
    assert!(code == 3 && text.contains("the parameters"), "{text}");
    assert_eq!(fs::read(at.join("c.checkpoint")).unwrap(), checkpoint);
}

#[test]
fn no_output_goes_over_a_precious_file() {
    let folder = field();
    let at = folder.path();
    ok(at, &["run", "plan.toml", "--out", "run", "--quiet", "--realisations", "1"]);
    fs::write(at.join("precious.json"), "{\"precious\": 1}").unwrap();
    fs::write(at.join("precious.html"), "<p>Somebody's own page").unwrap();
    fs::hard_link(at.join("model.paretau"), at.join("alias.paretau")).unwrap();
    let roles = ["--treatment", "t", "--outcome", "y"];
    let before: Vec<(String, Vec<u8>)> = [
        "precious.json",
        "precious.html",
        "model.paretau",
        "plan.toml",
        "people.csv",
        "run/records.jsonl",
        "run/plan.toml",
    ]
    .map(|name| (name.to_owned(), fs::read(at.join(name)).unwrap()))
    .to_vec();
    let fit = |more: &[&'static str]| [&["fit", "people.csv", "-e", "lr-2"][..], &roles, more].concat();
    let tune = ["tune", "people.csv", "-e", "lr-2", "--trials", "1", "--records", "precious.json"];
    for (args, code) in [
        ([&tune[..], &roles].concat(), 3),
        ([&tune[..], &roles, &["--resume"]].concat(), 3),
        (fit(&["--checkpoint", "model.paretau", "--out", "model.paretau"]), 2),
        (fit(&["--checkpoint", "alias.paretau", "--out", "model.paretau"]), 2),
        (fit(&["--checkpoint", "model.paretau", "--out", "new.paretau"]), 3),
        (fit(&["--out", "precious.json"]), 3),
        (fit(&["--out", "people.csv", "--force"]), 2),
        (vec!["report", "model.paretau", "--out", "model.paretau"], 2),
        (vec!["report", "model.paretau", "--out", "alias.paretau"], 2),
        (vec!["report", "run", "--out", "run/records.jsonl"], 2),
        (vec!["report", "run", "--out", "run/records.jsonl", "--force"], 2),
        (vec!["report", "run", "--out", "run/plan.toml", "--force"], 2),
        (vec!["report", "run", "--out", "precious.html"], 3),
        (vec!["run", "plan.toml", "--out", "."], 3),
        (vec!["run", "plan.toml", "--out", ".", "--resume"], 3),
        (vec!["run", "plan.toml", "--out", "run"], 3),
        (vec!["merge", "run", "run", "--out", "run"], 3),
        (vec!["effect", "model.paretau", "people.csv", "--out", "model.paretau"], 2),
        (vec!["effect", "model.paretau", "people.csv", "--out", "people.csv", "--force"], 2),
    ] {
        let (found, text) = refused(at, &args);
        assert_eq!(found, code, "{args:?}: {text}");
        for (name, bytes) in &before {
            assert!(fs::read(at.join(name)).unwrap() == *bytes, "{args:?} changed {name}");
        }
    }
    assert!(!at.join("new.paretau").exists());
    // Who means it may.
    ok(at, &["report", "model.paretau", "--out", "precious.html", "--force"]);
}

#[test]
fn failed_cells_are_told_and_tried_again() {
    let folder = field();
    let at = folder.path();
    fs::copy(at.join("people.csv"), at.join("set1.csv")).unwrap();
    fs::write(
        at.join("file.toml"),
        "name = \"f\"\nsummary = \"files\"\n[[data]]\nname = \"d\"\nfile = \"set{i}.csv\"\nroles = { treatment = \"t\", \
         outcome = \"y\", truth = [\"mu0\", \"mu1\"] }\nrealisations = [1, 2]\n[[methods]]\nestimator = \"lr-1\"\n",
    )
    .unwrap();
    let run = |more: &[&str]| {
        let out = command(at)
            .args(["run", "file.toml", "--out", "run", "--json"])
            .args(more)
            .env("PARETAU_DATA", at)
            .output();
        let out = out.unwrap();
        (out.status.code(), serde_json::from_slice::<Value>(&out.stdout).unwrap())
    };
    let (code, first) = run(&[]);
    assert_eq!((code, &first["failed"]), (Some(1), &1.into()), "{first}");
    fs::copy(at.join("people.csv"), at.join("set2.csv")).unwrap();
    let (code, second) = run(&["--resume"]);
    assert_eq!((code, &second["failed"], &second["done"]), (Some(0), &0.into(), &1.into()), "{second}");
    // What is wrong in the plan is known before the first cell.
    for wrong in ["d = -3", "dd = 3", "n = 1000000000000"] {
        fs::write(at.join("plan.toml"), PLAN.replace("d = 3", wrong).replace("n = 200, n", "n")).unwrap();
        let (code, text) = refused(at, &["run", "plan.toml", "--out", "wrong"]);
        assert!(code == 3 && text.contains("plan.toml"), "{text}");
        assert!(!at.join("wrong").exists());
    }
}

#[test]
fn names_from_files_never_steer_a_terminal() {
    let folder = field();
    let at = folder.path();
    let text = fs::read_to_string(at.join("people.csv")).unwrap();
    let evil = text.replacen("x1", "\u{1b}[31mred\u{7}", 1).replacen("x2", "a\u{202e}b", 1);
    fs::write(at.join("evil.csv"), evil).unwrap();
    let roles = ["--treatment", "t", "--outcome", "y"];
    ok(at, &[&["fit", "evil.csv", "-e", "lr-2", "--out", "evil.paretau", "--quiet"][..], &roles].concat());
    let of_data = |verb: &'static str| [&[verb, "evil.csv"][..], &roles].concat();
    for args in [
        of_data("check"),
        of_data("diagnose"),
        of_data("refute"),
        of_data("sensitivity"),
        of_data("roles"),
        [&["compare", "evil.csv", "-e", "lr-1", "-e", "lr-2"][..], &roles].concat(),
        [&["tune", "evil.csv", "-e", "lr-2", "--trials", "1"][..], &roles].concat(),
        vec!["init", "evil.csv", "--out", "evil.toml"],
        [&["fit", "evil.csv", "-e", "lr-2", "--out", "evil.paretau"][..], &roles].concat(),
        vec!["diagnose", "evil.paretau"],
        vec!["evaluate", "evil.paretau", "evil.csv", "--in-sample"],
        vec!["policy", "evil.paretau", "evil.csv"],
        vec!["report", "evil.paretau", "--out", "page.html"],
    ] {
        let out = paretau(at, &args);
        let text = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        assert!(out.status.success(), "{args:?}: {text}");
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(raw), "{args:?} prints {:?}", text.chars().find(|c| raw(*c)));
    }
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(page.contains("script-src 'sha256-") && !page.contains("script-src 'unsafe-inline'"));
    // A plan's names neither.
    let plan = PLAN.replace("\"synthetic\"\nsimulator", "\"a|b <img src=x>\\u001b[31m\"\nsimulator");
    fs::write(at.join("plan.toml"), plan).unwrap();
    ok(at, &["run", "plan.toml", "--out", "run", "--realisations", "2", "--quiet"]);
    for name in ["table.md", "comparison.md"] {
        let text = fs::read_to_string(at.join("run").join(name)).unwrap();
        assert!(text.contains("a\\|b \\<img src=x>") && !text.contains('\u{1b}'), "{name}: {text}");
    }
}

#[test]
fn outputs_keep_their_rights_and_leftovers_go() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = field();
    let at = folder.path();
    let effect = ["effect", "model.paretau", "people.csv", "--out", "effects.csv", "--quiet"];
    ok(at, &effect);
    fs::set_permissions(at.join("effects.csv"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(at.join(".effects.csv.4000001.0.tmp"), "half").unwrap();
    ok(at, &effect);
    assert_eq!(fs::metadata(at.join("effects.csv")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!at.join(".effects.csv.4000001.0.tmp").exists());
    let long = format!("{}.csv", "n".repeat(249));
    ok(at, &["effect", "model.paretau", "people.csv", "--out", &long, "--quiet"]);
}

#[test]
fn what_tells_the_arms_apart_gives_no_headline() {
    let folder = field();
    let at = folder.path();
    let text = fs::read_to_string(at.join("people.csv")).unwrap();
    let with = |value: &dyn Fn(&str, usize) -> String| -> String {
        let rows = text.lines().enumerate().map(|(i, row)| {
            let more = if i == 0 { "more".to_owned() } else { value(&row[..1], i) };
            format!("{row},{more}\n")
        });
        rows.collect()
    };
    let fit = ["fit", "data.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "m.paretau"];
    fs::write(at.join("data.csv"), with(&|t, _| if t == "1" { "yes".into() } else { "no".into() })).unwrap();
    let (code, message) = refused(at, &fit);
    assert!(code == 3 && message.contains("`more`") && message.contains("--ignore more"), "{message}");
    ok(at, &[&fit[..], &["--ignore", "more", "--quiet"]].concat());
    // A number that only differs in sign between the arms is no copy, but nobody is left to compare.
    fs::write(at.join("data.csv"), with(&|t, i| format!("{}{}", if t == "1" { "" } else { "-" }, 50 + i % 17)))
        .unwrap();
    let facts = json(at, &fit);
    assert!(facts["averages"]["headline"].is_null(), "{}", facts["averages"]);
    let words = ok(at, &[&fit[..], &["--quiet"]].concat());
    assert!(words.contains("no average effect of `t` on `y` is reported"), "{words}");
}

#[test]
fn no_output_goes_over_a_file_of_the_data() {
    let folder = field();
    let at = folder.path();
    for name in ["data/one.csv", "data/sub/one.csv", "data/sub/two.csv"] {
        fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
        // Simulated rows have the columns of tables that paretau writes, which it would replace elsewhere.
        fs::copy(at.join("people.csv"), at.join(name)).unwrap();
    }
    fs::hard_link(at.join("data/one.csv"), at.join("alias.csv")).unwrap();
    fs::write(at.join("news.csv.x"), "2,2,0\n1,1,3\n2,2,1\n").unwrap();
    fs::write(at.join("news.csv.y"), "0,1,2,1,2\n1,2,1,1,2\n").unwrap();
    let roles = ["--treatment", "t", "--outcome", "y"];
    let of = |verb: &'static str, data: &'static str| [&[verb, data][..], &roles].concat();
    let before = files(at);
    for (args, code) in [
        (vec!["effect", "model.paretau", "data", "--out", "data/sub/"], 2),
        (vec!["effect", "model.paretau", "data/one.csv", "--out", "data/"], 2),
        (vec!["effect", "model.paretau", "data", "--out", "alias.csv"], 2),
        (vec!["effect", "model.paretau", "data", "--out", "data/sub/two.csv", "--force"], 2),
        (vec!["effect", "model.paretau", "data/*", "--out", "data/sub/two.csv", "--force"], 2),
        (vec!["effect", "model.paretau", "data/**/o*.csv", "--out", "data/sub/one.csv", "--force"], 2),
        (vec!["policy", "model.paretau", "data", "--out", "data/one.csv"], 2),
        ([&of("fit", "data")[..], &["-e", "lr-2", "--out", "data/one.csv", "--force"]].concat(), 2),
        ([&of("fit", "news.csv.x")[..], &["-e", "lr-2", "--out", "news.csv.y", "--force"]].concat(), 2),
        (vec!["init", "data", "--out", "data/one.csv", "--force"], 2),
        // What would be read as data the next time.
        (vec!["effect", "model.paretau", "data", "--out", "data/effects.csv"], 2),
        (vec!["effect", "model.paretau", "data", "--out", "data/effects/"], 2),
        (vec!["effect", "model.paretau", "data/*/*.csv", "--out", "data/sub/effects.csv"], 2),
        ([&of("tune", "data")[..], &["-e", "lr-2", "--records", "data/trials.jsonl"]].concat(), 2),
        // A log is nothing else.
        ([&of("fit", "people.csv")[..], &["--out", "new.paretau", "--log", "new.paretau"]].concat(), 2),
        ([&of("fit", "people.csv")[..], &["--out=new.paretau", "--log=new.paretau", "--force"]].concat(), 2),
        ([&of("fit", "people.csv")[..], &["--out", "new.paretau", "--log", "people.csv"]].concat(), 2),
        (vec!["effect", "model.paretau", "data", "--out", "out/", "--log", "alias.csv"], 3),
    ] {
        let (found, text) = refused(at, &args);
        assert_eq!(found, code, "{args:?}: {text}");
        assert!(files(at) == before, "{args:?} changed files: {:?}", files(at).keys());
    }
    // A place beside them will do.
    ok(at, &["effect", "model.paretau", "data", "--out", "out/", "--in-sample"]);
    ok(at, &["effect", "model.paretau", "data/*.csv", "--out", "data/sub/../../beside.csv", "--in-sample"]);
    // A file that is called like the list of outputs, but is another.
    fs::create_dir(at.join("other")).unwrap();
    fs::write(at.join("other/_effects.jsonl"), "{\"precious\": 1}\n").unwrap();
    let (code, text) = refused(at, &["effect", "model.paretau", "data", "--out", "other/"]);
    assert!(code == 3 && text.contains("no list of effects"), "{text}");
    assert_eq!(fs::read_to_string(at.join("other/_effects.jsonl")).unwrap(), "{\"precious\": 1}\n");
    // The files of a demonstration.
    fs::create_dir(at.join("mine")).unwrap();
    fs::write(at.join("mine/report.html"), "<p>Somebody's own page").unwrap();
    let (code, text) = refused(at, &["demo", "--out", "mine"]);
    assert!(code == 3 && text.contains("mine/report.html") && !text.contains("--force"), "{text}");
    assert_eq!(files(&at.join("mine")).len(), 1);
}

/// Every file below a folder, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn names_of_files_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = field();
    let at = folder.path();
    let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    fs::create_dir(at.join("data")).unwrap();
    fs::copy(at.join("people.csv"), at.join("data/one.csv")).unwrap();
    let strange = at.join(name(b"data/tw\xffo.csv"));
    if fs::copy(at.join("people.csv"), &strange).is_err() {
        return; // A file system that takes no such names.
    }
    let run = |args: &[&OsStr]| {
        let out = command(at).args(args).output().unwrap();
        let text = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        assert!(!text.contains("panicked") && !text.contains("bug"), "{text}");
        (out.status.code(), text)
    };
    let effect = |data: &'static [u8], out: &'static [u8], more: &'static [u8]| {
        let words: [&[u8]; 9] =
            [b"effect", b"model.paretau", data, b"--out", out, b"--in-sample", more, b"--log", b"l\xff.log"];
        words.map(name)
    };
    let (code, text) = run(&effect(b"data/tw\xffo.csv", b"e\xff.csv", b"--json"));
    assert!(code == Some(0) && text.contains("\"out\": \"e\u{fffd}.csv\""), "{text}");
    assert!(at.join(name(b"e\xff.csv")).is_file() && at.join(name(b"l\xff.log")).is_file());
    // Among others it would be left out without a word.
    for data in [b"data".as_slice(), b"data/*.csv"] {
        let (code, text) = run(&effect(data, b"all.csv", b"--quiet"));
        assert!(code == Some(3) && text.contains("rename it"), "{text}");
    }
    assert_eq!(run(&effect(b"data/o*.csv", b"all.csv", b"--quiet")).0, Some(0));
}

#[test]
fn arguments_never_steer_a_terminal() {
    let folder = field();
    let at = folder.path();
    let evil = "x\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\u{2066}z";
    let flag = format!("--{evil}");
    let file = format!("{evil}.csv");
    for args in [
        vec![evil],
        vec!["fit", &flag],
        vec!["fit", "people.csv", "--threads", evil],
        vec!["list", evil],
        vec!["check", &file],
        vec!["describe", evil],
        vec!["fit", "people.csv", "--treatment", evil, "--outcome", "y", "--out", "m.paretau"],
        vec!["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", evil, "--out", "m.paretau"],
        vec!["effect", "model.paretau", &file],
        vec!["run", evil, "--out", evil],
        vec!["merge", evil, "--out", evil],
    ] {
        for more in [&["--log", "l.log"][..], &["--json"], &[]] {
            let out = paretau(at, &[&args[..], more].concat());
            assert!(!out.status.success(), "{args:?}");
            let log = fs::read(at.join("l.log")).unwrap_or_default();
            let text = String::from_utf8([out.stdout, out.stderr, log].concat()).unwrap();
            let raw = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2066}');
            assert!(!text.contains(raw), "{args:?} {more:?} prints {:?}: {text:?}", text.chars().find(|c| raw(*c)));
        }
    }
}

#[test]
fn no_number_of_threads_stops_the_work() {
    let folder = field();
    let at = folder.path();
    let effect = ["effect", "model.paretau", "people.csv", "--in-sample", "--threads"];
    assert_eq!(refused(at, &[&effect[..], &["5000"]].concat()).0, 2);
    let one = ok(at, &[&effect[..], &["1"]].concat());
    assert_eq!(ok(at, &[&effect[..], &["1024"]].concat()), one);
    let named = command(at).args(&effect[..4]).env("RAYON_NUM_THREADS", "100000").output().unwrap();
    assert!(named.status.success() && String::from_utf8(named.stdout).unwrap() == one);
}

#[test]
fn numbers_beyond_any_model_are_refused_by_whoever_computes_with_them() {
    let folder = field();
    let at = folder.path();
    let text = fs::read_to_string(at.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let y = header.split(',').position(|name| name == "y").unwrap();
    let mut huge = format!("{header}\n");
    for row in rows.lines() {
        let cells: Vec<String> = row
            .split(',')
            .enumerate()
            .map(|(j, cell)| if j == y { format!("{cell}e40") } else { cell.to_owned() })
            .collect();
        writeln!(huge, "{}", cells.join(",")).unwrap();
    }
    fs::write(at.join("huge.csv"), huge).unwrap();
    let roles = ["--treatment", "t", "--outcome", "y"];
    for command in [
        &["fit", "huge.csv", "--out", "huge.paretau"][..],
        &["tune", "huge.csv", "-e", "lr-2"],
        &["compare", "huge.csv"],
        &["diagnose", "huge.csv"],
        &["sensitivity", "model.paretau", "huge.csv"],
        &["refute", "model.paretau", "huge.csv"],
        &["policy", "model.paretau", "huge.csv"],
        &["evaluate", "model.paretau", "huge.csv"],
    ] {
        let (exit, text) = refused(at, &[command, &roles].concat());
        assert!(exit == 3 && text.contains("huge.csv") && text.contains("power of ten"), "{command:?}: {exit} {text}");
    }
}
