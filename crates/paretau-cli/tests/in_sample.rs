//! Scores cannot flatter: rows that a model learned from are known again, whatever file they come in.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{json, ok, paretau};

/// A folder with people for whom the treatment does the same to everyone, and later ones; the first ones as Parquet and with
/// their columns turned round, too.
fn null_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (seed, out) in [("1", "people.csv"), ("1", "people.parquet"), ("2", "later.csv")] {
        ok(at, &["simulate", "trial", "--n", "400", "--seed", seed, "--out", out]);
    }
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let turned = text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n");
    std::fs::write(at.join("turned.csv"), turned.collect::<String>()).unwrap();
    folder
}

fn fit(at: &Path, estimator: &str, out: &str) {
    let trees: &[&str] = if estimator == "causal-forest" { &["--set", "n_estimators=100"] } else { &[] };
    let args = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", estimator, "--out", out, "--quiet"];
    ok(at, &[&args[..], trees].concat());
}

#[test]
fn training_rows_are_refused_in_every_format() {
    let folder = null_data();
    let at = folder.path();
    fit(at, "lr-2", "m.paretau");
    for file in ["people.csv", "people.parquet", "turned.csv"] {
        let out = paretau(at, &["evaluate", "m.paretau", file, "--json"]);
        let message = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(3), "{file}: {message}");
        for word in ["400 of the 400 rows were learned from", "kept aside", "--in-sample"] {
            assert!(message.contains(word), "{file}: {message}");
        }
        let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(document["exit_code"], 3);
    }
    let labelled = json(at, &["evaluate", "m.paretau", "people.parquet", "--in-sample", "--truth", "mu0,mu1"]);
    assert_eq!(
        (&labelled["in_sample"], &labelled["basis"], &labelled["learned_from"]),
        (&true.into(), &"in_sample".into(), &400.into())
    );
    assert!(labelled["pehe"].is_number() && labelled["r_score"].is_number());
    let text = ok(at, &["evaluate", "m.paretau", "people.csv", "--in-sample", "--quiet"]);
    assert!(text.starts_with("IN-SAMPLE: 400 of 400 rows were learned from"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("IN-SAMPLE: "), "{text}");

    let fresh = json(at, &["evaluate", "m.paretau", "later.csv"]);
    assert_eq!((&fresh["in_sample"], &fresh["learned_from"], &fresh["rows"]), (&false.into(), &0.into(), &400.into()));
    assert!(fresh["heterogeneity"]["p"].is_number() && fresh["autoc_se"].is_number());
    let text = ok(at, &["evaluate", "m.paretau", "later.csv", "--quiet"]);
    assert!(text.contains("calibration test, one-sided"), "{text}");
}

#[test]
fn a_forest_is_scored_out_of_bag_on_its_own_rows() {
    let folder = null_data();
    let at = folder.path();
    fit(at, "causal-forest", "m.paretau");
    let own = json(at, &["evaluate", "m.paretau", "people.parquet"]);
    assert_eq!((&own["basis"], &own["in_sample"], &own["rows"]), (&"out_of_bag".into(), &false.into(), &400.into()));
    assert_eq!(own, json(at, &["evaluate", "m.paretau", "turned.csv"]));
    let truth = json(at, &["evaluate", "m.paretau", "people.csv", "--truth", "mu0,mu1"]);
    assert!(truth["pehe"].is_null() && truth["notes"].to_string().contains("was not given --truth"), "{truth}");
    let flattered = json(at, &["evaluate", "m.paretau", "people.csv", "--in-sample"]);
    let number = |document: &serde_json::Value, name: &str| document[name].as_f64().unwrap();
    // The same rows by predictions that saw them: the ranking looks better than it is.
    assert!(
        number(&flattered, "autoc") > number(&own, "autoc") + 2.0 * number(&flattered, "autoc_se"),
        "{flattered} {own}"
    );
    // Out of bag these lean below 0, so that they are bounded from below and have no interval of two sides.
    for name in ["autoc", "qini", "auuc", "calibration"] {
        assert!(own[format!("{name}_se")].is_null() && flattered[format!("{name}_se")].is_number(), "{own}");
        assert!(number(&own, &format!("{name}_lower")) < number(&own, name), "{own}");
    }
    assert!(own["r_score_se"].is_number() && own["notes"].to_string().contains("one-sided 95 % lower limit"), "{own}");
    let text = ok(at, &["evaluate", "m.paretau", "people.csv", "--quiet"]);
    assert!(text.contains("at least -"), "{text}");
}

#[test]
fn some_training_rows_are_left_out_and_counted() {
    let folder = null_data();
    let at = folder.path();
    fit(at, "lr-2", "m.paretau");
    let lines = |name: &str| -> Vec<String> {
        std::fs::read_to_string(at.join(name)).unwrap().lines().map(str::to_owned).collect()
    };
    let (people, later) = (lines("people.csv"), lines("later.csv"));
    let mixed = |known: usize, new: usize| [&later[..=new], &people[1..=known]].concat().join("\n") + "\n";
    std::fs::write(at.join("mixed.csv"), mixed(150, 400)).unwrap();
    let found = json(at, &["evaluate", "m.paretau", "mixed.csv"]);
    assert_eq!((&found["rows"], &found["learned_from"]), (&400.into(), &150.into()));
    let alone = json(at, &["evaluate", "m.paretau", "later.csv"]);
    assert_eq!(found["r_score"], alone["r_score"]);
    std::fs::write(at.join("few.csv"), mixed(350, 60)).unwrap();
    let out = paretau(at, &["evaluate", "m.paretau", "few.csv"]);
    let message = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(message.contains("350 of the 410 rows were learned from") && message.contains("60 others"), "{message}");
}

#[test]
fn effects_of_training_rows_are_labelled() {
    let folder = null_data();
    let at = folder.path();
    fit(at, "lr-2", "m.paretau");
    let note = |file: &str, more: &[&str]| {
        let args = [&["effect", "m.paretau", file, "--out", "e.csv"], more].concat();
        String::from_utf8(paretau(at, &args).stderr).unwrap()
    };
    for file in ["people.csv", "people.parquet", "turned.csv"] {
        assert!(note(file, &[]).contains("400 of 400 rows were learned from"), "{file}");
    }
    assert!(!note("people.csv", &["--in-sample"]).contains("learned from"));
    assert!(!note("later.csv", &[]).contains("learned from"));
    let own = json(at, &["effect", "m.paretau", "people.csv", "--out", "e.csv"]);
    assert_eq!((&own["learned_from"], &own["in_sample"]), (&400.into(), &true.into()));
    let rows = json(at, &["effect", "m.paretau", "later.csv"]);
    assert_eq!((&rows["learned_from"], &rows["in_sample"], &rows["rows"]), (&0.into(), &false.into(), &400.into()));
}

#[test]
fn a_model_s_own_choice_is_not_valued_on_rows_that_it_learned_from() {
    let folder = null_data();
    let at = folder.path();
    fit(at, "t-learner", "m.paretau");
    let names = |document: &serde_json::Value| -> Vec<String> {
        let policies = document["policies"].as_array().unwrap().iter();
        policies.map(|policy| policy["name"].as_str().unwrap().to_owned()).collect()
    };
    let own = json(at, &["policy", "m.paretau", "people.csv", "--depth", "1"]);
    assert_eq!(names(&own), ["tree", "everyone"]);
    assert_eq!(own["targeting"], serde_json::json!([]));
    assert!(own["notes"].to_string().contains("400 of 400 rows were learned from"), "{}", own["notes"]);
    let text = ok(at, &["policy", "m.paretau", "people.csv", "--depth", "1", "--quiet"]);
    assert!(!text.contains("targeting curve"), "{text}");
    let fresh = json(at, &["policy", "m.paretau", "later.csv", "--depth", "1"]);
    assert_eq!(names(&fresh), ["tree", "model", "everyone"]);
    assert!(!fresh["targeting"].as_array().unwrap().is_empty());
    assert!(!fresh["notes"].to_string().contains("learned from"), "{}", fresh["notes"]);
}

#[test]
fn copies_of_rows_are_no_further_evidence() {
    let folder = null_data();
    let at = folder.path();
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    std::fs::write(at.join("thrice.csv"), format!("{header}\n{rows}{rows}{rows}")).unwrap();
    let fitted = |file: &str| {
        let roles = [
            "--treatment",
            "t",
            "--outcome",
            "y",
            "--ignore",
            "mu0,mu1,e",
            "-e",
            "lr-2",
            "--out",
            "m.paretau",
            "--force",
        ];
        json(at, &[&["fit", file], &roles[..]].concat())
    };
    let (once, thrice) = (fitted("people.csv"), fitted("thrice.csv"));
    assert!(!once["notes"].to_string().contains("copies of other rows"), "{}", once["notes"]);
    assert!(thrice["notes"].to_string().contains("800 of 1200 rows are copies of other rows"), "{}", thrice["notes"]);
    let number = |fit: &serde_json::Value, part: &str| fit["averages"]["ate"][part].as_f64().unwrap();
    // Folds differ by chance: the estimate moves by less than half a standard error, which stays as large as it was.
    let (se, ratio) = (number(&once, "se"), number(&thrice, "se") / number(&once, "se"));
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    assert!((number(&once, "value") - number(&thrice, "value")).abs() < 0.5 * se);
    assert_eq!(thrice["averages"]["headline"], "ate");
    // Held-out losses are not flattered either.
    let loss = |fit: &serde_json::Value| fit["nuisances"]["outcomes"][0]["loss"].as_f64().unwrap();
    assert!(loss(&thrice) > 0.85 * loss(&once), "{} {}", loss(&thrice), loss(&once));
}

#[test]
fn a_handful_of_treated_rows_is_the_reason_and_not_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for treated in [1, 5] {
        let rows = (0..300).map(|i| {
            let (x, y) = (f64::from(i * 37 % 101) / 50.0, f64::from(i * 53 % 97) / 40.0);
            format!("{},{},{x},{}\n", u8::from(i < treated), x + y, f64::from(i * 29 % 89))
        });
        std::fs::write(at.join("d.csv"), format!("t,y,x1,x2\n{}", rows.collect::<String>())).unwrap();
        let fit = ["fit", "d.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "m.paretau", "--force"];
        let words = ok(at, &fit);
        let wanted = format!("the smaller arm has {treated} {}", if treated == 1 { "row" } else { "rows" });
        assert!(words.contains("no average effect") && words.contains(&wanted), "{words}");
        assert!(!words.contains("tell the arms apart, and nobody") && !words.contains("1 rows"), "{words}");
    }
}
