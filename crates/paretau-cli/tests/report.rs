//! The report as the command writes it: the same bytes every time, self-contained, and right about real files.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn paretau(folder: &Path, args: &[&str]) -> String {
    let out =
        Command::new(env!("CARGO_BIN_EXE_paretau")).args(args).arg("--quiet").current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// A file of the real data, or a plain word that the test was skipped.
fn real(name: &str) -> Option<String> {
    let folder = std::env::var_os("PARETAU_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join("real").join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap().to_str().unwrap().to_owned());
    }
    eprintln!("skipped: real/{name} is not in the data folder");
    None
}

/// Fits, reports, and gives the page and its records.
fn page(folder: &Path, fit: &[&str]) -> (String, Value) {
    paretau(folder, &[&["fit"], fit, &["--out", "m.paretau"]].concat());
    let answer: Value =
        serde_json::from_str(&paretau(folder, &["report", "m.paretau", "--out", "r.html", "--json"])).unwrap();
    let page = std::fs::read_to_string(folder.join("r.html")).unwrap();
    assert_eq!(answer["bytes"], page.len());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(!page.contains("NaN") && !page.contains(">inf") && !page.contains("null"), "a number that is none");
    // The only addresses are names of XML vocabularies.
    for (at, _) in page.match_indices("http") {
        let rest = &page[at..];
        assert!(rest.starts_with("http://www.w3.org/2000/svg") || rest.starts_with("http-equiv"), "{}", &rest[..40]);
    }
    (page, answer["records"].clone())
}

#[test]
fn the_same_model_gives_the_same_page_and_every_section_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    paretau(at, &["simulate", "synthetic", "--n", "600", "--d", "6", "--out", "people.csv"]);
    let fit = [
        "people.csv",
        "--treatment",
        "t",
        "--outcome",
        "y",
        "--estimator",
        "causal-forest",
        "--set",
        "n_estimators=100",
    ];
    let (first, records) = page(at, &fit);
    let (second, _) = page(at, &[&fit[..], &["--threads", "1"]].concat());
    assert_eq!(first, second);
    for heading in [
        "The answer",
        "How effects differ between people",
        "Can the arms be compared?",
        "Are the arms alike?",
        "How it was made",
    ] {
        assert!(first.contains(heading), "{heading}");
    }
    let command = records["making"]["command"].as_str().unwrap();
    assert_eq!(
        command,
        "paretau fit people.csv --treatment t --outcome y --estimator causal-forest --set n_estimators=100 --seed 0 \
         --out model.paretau"
    );
    // The command in the page makes the same model: the page of that model is the same page.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    paretau(at, &words);
    paretau(at, &["report", "model.paretau", "--out", "again.html"]);
    assert_eq!(std::fs::read_to_string(at.join("again.html")).unwrap(), first);
}

#[test]
fn a_constant_effect_and_a_net_have_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    paretau(at, &["simulate", "synthetic", "--n", "400", "--d", "6", "--out", "people.csv"]);
    let roles = ["people.csv", "--treatment", "t", "--outcome", "y", "--estimator"];
    let (constant, records) = page(at, &[&roles[..], &["lr-1"]].concat());
    assert!(constant.contains("same effect for everybody"));
    assert!(records["findings"]["tree"].is_null());
    let net = ["dpsw-norm", "--set", "members=1", "--set", "max_steps=100"];
    let (net, records) = page(at, &[&roles[..], &net[..]].concat());
    assert!(net.contains("How training went") && net.contains("instruments"));
    let curves = records["training"].as_array().unwrap();
    let named = |name: &str| curves.iter().any(|c| c["name"].as_str().unwrap().contains(name));
    for name in
        ["Objective", "Loss of outcomes", "Cross-entropy", "Loss of the propensity", "Largest weight", "Effective"]
    {
        assert!(named(name), "{name}: {curves:?}");
    }
    // A member may be several nets; a line never goes back.
    for curve in curves {
        let steps: Vec<f64> = curve["points"].as_array().unwrap().iter().map(|p| p[0].as_f64().unwrap()).collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    }
}

const STUDY: &str = r#"
name = "study"
summary = "Two methods over the number of features"
note = "Their data are others."
metrics = ["pehe"]
hero = "lr-2"

[[data]]
name = "d=6"
simulator = "synthetic"
params = { n = 300, d = 6 }
realisations = [1, 2]

[[data]]
name = "d=9"
simulator = "synthetic"
params = { n = 300, d = 9 }
realisations = [1, 2]

# Too few rows to split: every cell of it fails.
[[data]]
name = "d=12"
simulator = "synthetic"
params = { n = 4, d = 12 }
realisations = [1, 2]

[figure]
x = "d"
x_label = "features"

[[figure.panels]]
metric = "pehe"
title = "error"

[[methods]]
estimator = "lr-1"

[[methods]]
estimator = "lr-2"

[[published]]
data = "Elsewhere"
method = "lr-2"
mean = 0.5
sd = 0.1
"#;

#[test]
fn a_study_has_figures_and_a_page_with_published_numbers_and_failures() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("study.toml"), STUDY).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_paretau"))
        .args(["run", "study.toml", "--out", "out"])
        .current_dir(at)
        .output()
        .unwrap();
    // Two of the cells cannot be done, and the exit says so.
    assert_eq!(out.status.code(), Some(1));
    // Not on a terminal: one line per cell, with the time left on all but the last.
    let stderr = String::from_utf8(out.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(lines.len(), 12, "{stderr}");
    assert!(lines[0].starts_with("[1/12]") && lines[0].ends_with(" left") && !lines[11].contains(" left"), "{stderr}");
    let read = |name: &str| std::fs::read(at.join("out").join(name)).unwrap();
    assert!(read("figure.png").starts_with(b"\x89PNG\r\n"));
    let figure = String::from_utf8(read("figure.svg")).unwrap();
    assert!(figure.contains("lr-2") && figure.contains("stroke-dasharray") && !figure.contains("NaN"));
    let page = String::from_utf8(read("report.html")).unwrap();
    for words in ["Elsewhere", "Their data are others.", "Methods against each other", "s-series-1", "lr-2"] {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(stderr.matches("failed:").count(), 4, "{stderr}");
    assert!(page.contains("What failed") && page.contains("4 of 12 runs failed"));
    assert_eq!(page.matches("<li>d=12, realisation ").count(), 4);
    // `report` makes the same page from the folder, and from records alone where the plan was lost.
    paretau(at, &["report", "out", "--out", "again.html"]);
    assert_eq!(std::fs::read_to_string(at.join("again.html")).unwrap(), page);
    std::fs::remove_file(at.join("out/plan.toml")).unwrap();
    paretau(at, &["report", "out", "--out", "bare.html"]);
    assert!(std::fs::read_to_string(at.join("bare.html")).unwrap().contains("A run without its plan"));
    // The illustration has neither data nor records.
    paretau(at, &["run", "fig2", "--out", "fig2"]);
    let curves = std::fs::read_to_string(at.join("fig2/table.csv")).unwrap();
    assert!(curves.lines().count() > 1000 && curves.contains("hard rank"));
    assert!(std::fs::read_to_string(at.join("fig2/report.html")).unwrap().contains("soft rank"));
}

#[test]
fn diagnose_prints_the_balance_of_data_and_of_models() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    paretau(at, &["simulate", "synthetic", "--n", "400", "--d", "6", "--out", "people.csv"]);
    let roles = ["people.csv", "--treatment", "t", "--outcome", "y"];
    let text = paretau(at, &[&["diagnose"], &roles[..]].concat());
    assert!(text.contains("of 6 features beyond 0.1 before weighting"), "{text}");
    let json: Value = serde_json::from_str(&paretau(at, &[&["diagnose"], &roles[..], &["--json"]].concat())).unwrap();
    let size = |b: &Value, key: &str| b[key].as_f64().unwrap().abs();
    let balance = json["balance"].as_array().unwrap();
    let total = |key: &str| balance.iter().map(|b| size(b, key)).sum::<f64>();
    assert!(balance.len() == 6 && total("after") < total("before"), "{balance:?}");
    paretau(at, &[&["fit"], &roles[..], &["--estimator", "lr-2", "--out", "m.paretau"]].concat());
    assert!(paretau(at, &["diagnose", "m.paretau"]).contains("of 6 features beyond 0.1"));
}

#[test]
fn quitting_smoking_in_nhefs() {
    let Some(data) = real("nhefs.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let features = "sex,race,age,school,education,income,marital,smokeintensity,smokeyrs,exercise,active,wt71,ht";
    let roles = [&data, "--treatment", "qsmk", "--outcome", "wt82_71", "--features", features];
    for estimator in ["causal-forest", "lr-2"] {
        let (html, records) = page(folder.path(), &[&roles[..], &["--estimator", estimator]].concat());
        // Hernán and Robins' book finds 3.4 kg (2.4 to 4.5) by several methods.
        let ate = records["averages"][0]["effect"]["value"].as_f64().unwrap();
        assert!((2.9..3.9).contains(&ate), "{estimator}: {ate}");
        assert!(html.contains("raises <code>wt82_71</code> by <strong>3"));
        assert!(records["notes"].to_string().contains("63 of 1629 rows have no outcome"));
        // Weighting must not leave the arms further apart than it found them.
        let balance = records["findings"]["arms"][0]["balance"].as_array().unwrap();
        let worst = |key: &str| balance.iter().filter_map(|b| b[key].as_f64()).fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(worst("after") < worst("before"), "{} {}", worst("after"), worst("before"));
    }
}

#[test]
fn a_trial_with_text_in_hillstrom() {
    let Some(data) = real("hillstrom.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let fit = [
        &data,
        "--treatment",
        "treatment",
        "--treated-value",
        "Womens E-Mail",
        "--control-value",
        "No E-Mail",
        "--outcome",
        "visit",
        "--ignore",
        "conversion,spend",
        "--estimator",
        "lr-2",
    ];
    let (html, records) = page(folder.path(), &fit);
    let effect = &records["averages"][0]["effect"];
    // A trial: the plain difference, 4.5 percentage points, is right, and adjustment cannot move it far.
    let plain = records["findings"]["raw_difference"]["value"].as_f64().unwrap();
    assert!((plain - 0.0452).abs() < 0.0005, "{plain}");
    assert!((effect["value"].as_f64().unwrap() - plain).abs() < 0.002);
    assert!(html.contains("percentage points") && html.contains("--treated-value</span> &#39;Womens E-Mail&#39;"));
    assert!(records["warnings"].as_array().unwrap().is_empty(), "{}", records["warnings"]);
}

#[test]
fn poor_overlap_in_jobs_is_reported_first() {
    let Some(data) = real("jobs_lalonde.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let fit = [&data, "--treatment", "Treatment", "--outcome", "RE78", "--estimator", "lr-2"];
    let (html, records) = page(folder.path(), &fit);
    // The comparison people are nothing like the trainees: most propensities are near 0.
    assert!(!records["warnings"].as_array().unwrap().is_empty());
    assert!(html.find("Before you rely on it").unwrap() < html.find("<svg").unwrap());
}

#[test]
fn repeated_names_in_twins() {
    let Some(data) = real("twins.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let fit =
        [&data, "--treatment", "T", "--outcome", "yf", "--ignore", "y0,y1,y_cf,Propensity", "--estimator", "lr-2"];
    let (html, records) = page(folder.path(), &fit);
    assert!(records["notes"].to_string().contains("`gestatcat1` names 3 columns"));
    // Being the heavier twin lowers mortality; the truth, 2.5 percentage points, is known but hidden confounding is not undone.
    assert!(html.contains("lowers the share with <code>yf</code> = 1 by"));
}
