//! The command line as a user meets it: the built binary, real files, exit codes, stdout and stderr.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn paretau(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_paretau")).args(args).current_dir(folder).env("NO_COLOR", "1").output().unwrap()
}

fn ok(folder: &Path, args: &[&str]) -> String {
    let out = paretau(folder, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Exit code and the error's text.
fn fails(folder: &Path, args: &[&str]) -> (i32, String) {
    let out = paretau(folder, args);
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(!text.contains("panicked"), "{args:?} panicked: {text}");
    (out.status.code().unwrap(), text)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A folder with `people.csv` in it.
fn with_people() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["simulate", "synthetic", "--n", "400", "--d", "6", "--out", "people.csv"]);
    folder
}

const FIT: &[&str] =
    &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "--estimator", "lr-2", "--out", "model.paretau"];

#[test]
fn the_whole_way_from_data_to_scores() {
    let folder = with_people();
    let at = folder.path();
    let fit = json(&ok(at, &[FIT, &["--json", "--quiet"]].concat()));
    assert_eq!(fit["n_rows"], 400);
    assert!(fit["averages"]["ate"]["lo"].as_f64().unwrap() < fit["averages"]["ate"]["hi"].as_f64().unwrap());

    let effects = ok(at, &["effect", "model.paretau", "people.csv", "--out", "-"]);
    let mut lines = effects.lines();
    assert_eq!(lines.next().unwrap(), "mu0,mu1,tau,e,w_raw,w");
    assert_eq!(lines.clone().count(), 400);
    assert!(!effects.contains("NaN") && !effects.contains("inf"));
    let row: Vec<f64> = lines.next().unwrap().split(',').map(|v| v.parse().unwrap()).collect();
    assert!((row[1] - row[0] - row[2]).abs() < 1e-12);

    ok(at, &["simulate", "synthetic", "--n", "400", "--d", "6", "--seed", "1", "--out", "later.csv"]);
    let scores = json(&ok(at, &["evaluate", "model.paretau", "later.csv", "--truth", "mu0,mu1", "--json"]));
    for name in ["pehe", "pehe_rel", "ate", "ate_error", "dr_score", "r_score", "autoc", "qini", "calibration"] {
        assert!(scores[name].is_number(), "{name} is missing: {scores}");
    }
    let without = json(&ok(at, &["evaluate", "model.paretau", "later.csv", "--json"]));
    assert!(without["pehe"].is_null() && without["r_score"].is_number());
}

/// A study of three arms, `drug` and `device` against `placebo`, whose effects are 1 and -1.
fn three_arms(folder: &Path) {
    let mut text = "arm,y,x,z\n".to_owned();
    for i in 0..600_u32 {
        let (x, z) = (f64::from(i * 37 % 101) / 100.0, f64::from(i * 53 % 89) / 88.0);
        let (arm, effect) = [("placebo", 0.0), ("drug", 1.0), ("device", -1.0)][(i * 7 / 3 % 3) as usize];
        text += &format!("{arm},{},{x},{z}\n", x + effect + 0.1 * f64::from(i * 29 % 17) / 16.0);
    }
    std::fs::write(folder.join("study.csv"), text).unwrap();
}

#[test]
fn several_arms_are_fitted_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    three_arms(at);
    let fit = |estimator: &'static str| {
        let set = if estimator == "causal-forest" { vec!["--set", "n_estimators=200"] } else { vec![] };
        [&["fit", "study.csv", "--treatment", "arm", "--outcome", "y", "-e", estimator, "--out", "m.paretau"], &set[..]]
            .concat()
    };
    let words = ok(at, &fit("causal-forest"));
    assert!(
        words.contains("600 rows in 3 arms")
            && words.contains("arm `device` against `placebo` (400 rows of both)")
            && words.contains("arm `drug` against `placebo` (400 rows of both)"),
        "{words}"
    );
    let facts = json(&ok(at, &[&fit("causal-forest")[..], &["--json", "--quiet"]].concat()));
    let (first, second) = (&facts["averages"]["ate"]["value"], &facts["arms"][2]["ate"]["value"]);
    assert!((first.as_f64().unwrap() + 1.0).abs() < 0.1 && (second.as_f64().unwrap() - 1.0).abs() < 0.1, "{facts}");
    for name in ["averages", "overlap", "nuisances"] {
        assert!(facts["arms"][0][name].is_null() && facts["arms"][2][name].is_object(), "{facts}");
        assert_eq!(facts["arms"][1][name], facts[name], "the first treated arm's stand at the top, too");
    }

    let effects = ok(at, &["effect", "m.paretau", "study.csv", "--interval", "0.9", "--out", "-"]);
    let head = "mu0,mu1,tau,lo,hi,e,w_raw,w,mu_drug,tau_drug,lo_drug,hi_drug,e_drug,w_raw_drug,w_drug";
    assert_eq!(effects.lines().next().unwrap(), head);
    assert_eq!(effects.lines().count(), 601);
    // What is known of a model of two arms is known of this one, about its first arm.
    ok(at, &["report", "m.paretau", "--out", "page.html"]);
    let page = std::fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("drug against placebo, 200 people: "), "the page is silent about the third arm");
    ok(at, &["diagnose", "m.paretau"]);
    let words = ok(at, &["evaluate", "m.paretau", "study.csv"]);
    assert!(words.contains("these are the 400 rows that the model learned from"), "{words}");

    // Estimators of two arms are fitted once per arm.
    let facts = json(&ok(at, &[&fit("lr-2")[..], &["--json", "--quiet"]].concat()));
    let (first, second) = (&facts["averages"]["ate"]["value"], &facts["arms"][2]["ate"]["value"]);
    assert!((first.as_f64().unwrap() + 1.0).abs() < 0.1 && (second.as_f64().unwrap() - 1.0).abs() < 0.1, "{facts}");
    let effects = ok(at, &["effect", "m.paretau", "study.csv", "--out", "-"]);
    assert_eq!(effects.lines().next().unwrap(), "mu0,mu1,tau,e,w_raw,w,mu_drug,tau_drug,e_drug,w_raw_drug,w_drug");
    std::fs::write(
        at.join("study.csv"),
        std::fs::read_to_string(at.join("study.csv")).unwrap().replace("placebo", "p"),
    )
    .unwrap();
    let (_, message) = fails(at, &fit("causal-forest"));
    assert!(message.contains("name the control with --control-value"), "{message}");
}

#[test]
fn formats_agree_and_outputs_are_the_same_with_any_number_of_threads() {
    let folder = with_people();
    let at = folder.path();
    ok(at, FIT);
    ok(at, &["simulate", "synthetic", "--n", "400", "--d", "6", "--out", "people.parquet"]);
    let from_csv = ok(at, &["effect", "model.paretau", "people.csv", "--threads", "1"]);
    let from_parquet = ok(at, &["effect", "model.paretau", "people.parquet", "--threads", "2"]);
    assert_eq!(from_csv, from_parquet);
    ok(at, &["effect", "model.paretau", "people.csv", "--out", "effects.parquet"]);
    assert!(at.join("effects.parquet").exists());
}

#[test]
fn the_treatment_column_is_optional_when_predicting() {
    let folder = with_people();
    let at = folder.path();
    ok(at, FIT);
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let without: Vec<String> = text.lines().map(|l| l.split_once(',').unwrap().1.to_owned()).collect();
    std::fs::write(at.join("new.csv"), without.join("\n")).unwrap();
    assert!(ok(at, &["effect", "model.paretau", "new.csv"]).starts_with("mu0,mu1,tau,e\n"));
}

#[test]
fn lists_and_descriptions_come_from_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let all = json(&ok(at, &["describe", "--all", "--json"]));
    let listed = json(&ok(at, &["list", "estimators", "--json"]));
    assert_eq!(all.as_array().unwrap().len(), listed.as_array().unwrap().len());
    for what in ["metrics", "simulators", "plans"] {
        assert!(!json(&ok(at, &["list", what, "--json"])).as_array().unwrap().is_empty(), "{what}");
    }
    assert!(ok(at, &["describe", "LR 2"]).starts_with("lr-2: "));
    for shell in ["bash", "zsh", "fish"] {
        assert!(ok(at, &["completions", shell]).contains("paretau"));
    }
    assert!(ok(at, &["man"]).contains(".TH paretau"));
}

#[test]
fn a_run_resumes_and_does_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let first = json(&ok(at, &["run", "first-look", "--out", "r", "--shard", "1/2", "--json", "--quiet"]));
    assert_eq!((first["cells"].as_u64(), first["done"].as_u64()), (Some(5), Some(5)));
    assert_eq!(fails(at, &["run", "first-look", "--out", "r"]).0, 3);
    let rest = json(&ok(at, &["run", "first-look", "--out", "r", "--resume", "--json", "--quiet"]));
    assert_eq!((rest["done"].as_u64(), rest["kept"].as_u64(), rest["failed"].as_u64()), (Some(5), Some(5), Some(0)));
    // A torn last line, as a crash leaves it, is done again; everything else is kept.
    let path = at.join("r/records.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let again = json(&ok(at, &["run", "first-look", "--out", "r", "--resume", "--json", "--quiet"]));
    assert_eq!((again["done"].as_u64(), again["kept"].as_u64()), (Some(1), Some(9)));
    assert!(std::fs::read_to_string(at.join("r/table.md")).unwrap().contains("| lr-1 |"));
}

#[test]
fn wrong_usage_and_wrong_data_have_their_exit_codes_and_leave_nothing_behind() {
    let folder = with_people();
    let at = folder.path();
    ok(at, FIT);
    std::fs::write(at.join("empty.csv"), "").unwrap();
    std::fs::write(at.join("three.csv"), "t,y,x\na,1,2\nb,2,3\nc,3,4\n").unwrap();
    let model = std::fs::read(at.join("model.paretau")).unwrap();
    std::fs::write(at.join("torn.paretau"), &model[..model.len() / 2]).unwrap();
    let with = |changes: &[(&str, &str)], more: &[&'static str]| -> (i32, String) {
        let mut args: Vec<String> = FIT.iter().map(|s| (*s).to_owned()).collect();
        for (from, to) in changes {
            args.iter_mut().filter(|a| *a == from).for_each(|a| *a = (*to).to_owned());
        }
        args.iter_mut().filter(|a| *a == "model.paretau").for_each(|a| *a = "never.paretau".to_owned());
        args.extend(more.iter().map(|s| (*s).to_owned()));
        fails(at, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let cases: Vec<((i32, String), i32, &str)> = vec![
        (with(&[("lr-2", "lr-22")], &[]), 2, "did you mean `lr-2`?"),
        (with(&[], &["--set", "penaltyy=1"]), 2, "did you mean `penalty`?"),
        (with(&[], &["--set", "penalty=-1"]), 2, "must be a number of at least 0"),
        (with(&[], &["--set", "penalty"]), 2, "KEY=VALUE"),
        (with(&[], &["--valid", "2"]), 2, "--valid"),
        (with(&[("t", "tt")], &[]), 3, "did you mean `t`?"),
        (with(&[("people.csv", "nowhere.csv")], &[]), 3, "nowhere.csv"),
        (with(&[("people.csv", "empty.csv")], &[]), 3, "empty.csv"),
        (with(&[("people.csv", "three.csv")], &[]), 3, "--treated-value"),
        (with(&[("people.csv", "people.xyz")], &[]), 3, "people.xyz"),
        (fails(at, &["effect", "torn.paretau", "people.csv"]), 3, "torn.paretau"),
        (fails(at, &["effect", "people.csv", "people.csv"]), 3, "people.csv"),
        (fails(at, &["effect", "model.paretau", "three.csv"]), 3, "x1"),
        (fails(at, &["effect", "model.paretau", "people.csv", "--interval", "0.95"]), 2, "no intervals"),
        (fails(at, &["effect", "model.paretau", "people.csv", "--interval", "95"]), 2, "between 0 and 1"),
        (fails(at, &["run", "frist-look", "--out", "r"]), 2, "first-look"),
        (fails(at, &["fit"]), 2, "Usage"),
    ];
    for ((code, text), expected, words) in cases {
        assert_eq!(code, expected, "{text}");
        assert!(text.contains(words), "`{words}` is not in: {text}");
        assert!(text.starts_with("paretau: ") || text.starts_with("error: "), "{text}");
    }
    assert!(!at.join("never.paretau").exists());
}

#[test]
fn the_paper_s_settings_are_reachable_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ok(folder, &["simulate", "synthetic", "--n", "400", "--d", "15", "--out", "rows.csv", "--quiet"]);
    let fit = |settings: &str, out: &str| {
        let setting = format!("settings={settings}");
        let args = ["fit", "rows.csv", "--treatment", "t", "--outcome", "y", "--estimator", "dpsw", "--set", &setting];
        let rest = ["--set", "members=1", "--set", "block=2", "--out", out, "--quiet", "--json"];
        paretau(folder, &[&args[..], &rest[..]].concat())
    };
    for settings in ["paper-synthetic", "paper-acic", "paper-news"] {
        let out = fit(settings, &format!("{settings}.paretau"));
        assert!(out.status.success(), "{settings}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let out = fit("paper-ihdp", "none.paretau");
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("paper-synthetic"), "{text}");
}
