//! Real files from end to end as an analyst would: fit, effect, diagnose, each with a test of the outcome.
//! They are looked for in the folder `PARETAU_DATA`, else beside the workspace, and skipped where there are none.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{data, json, ok, paretau};
use serde_json::Value;

fn number(document: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(document, |value, key| &value[*key]);
    found.as_f64().unwrap_or_else(|| unreachable!("{path:?} is not a number in {document}"))
}

/// An average effect with the ends of its interval.
fn average(fit: &Value, which: &str) -> [f64; 3] {
    ["value", "lo", "hi"].map(|part| number(fit, &["averages", which, part]))
}

/// Header and rows of a CSV file without quoted cells.
fn rows(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

/// Everything that must hold of an effects file: one row per input row, every number finite, weights where an arm is known.
fn check_effects(path: &Path, n_rows: usize, n_weighted: usize) {
    let (header, rows) = rows(path);
    assert_eq!(rows.len(), n_rows);
    for (j, name) in header.iter().enumerate().filter(|(_, name)| *name != "seqn") {
        let values: Vec<f64> = rows.iter().filter(|r| !r[j].is_empty()).map(|r| r[j].parse().unwrap()).collect();
        let expected = if name.starts_with('w') { n_weighted } else { n_rows };
        assert_eq!(values.len(), expected, "{name}");
        assert!(values.iter().all(|v| v.is_finite()), "{name}");
        assert!(name != "e" || values.iter().all(|e| (0.0..=1.0).contains(e)));
    }
}

/// Does quitting smoking make people heavier? The literature has it at +3.4 kg (Hernán and Robins, What If, ch. 12).
#[test]
fn nhefs_quitting_adds_more_than_three_kilograms() {
    let Some(path) = data("real/nhefs.csv") else { return };
    let path = path.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Weight and prices of 1982 and deaths came after the treatment: wt82 would give the outcome away.
    let columns = ["--treatment", "qsmk", "--outcome", "wt82_71", "--id", "seqn"];
    let ignore = ["--ignore", "*82*,death,yrdth,modth,dadth,sbp,dbp"];
    for (estimator, slack) in [("dr-learner", 0.35), ("lr-2", 0.6)] {
        let out = ["--estimator", estimator, "--out", "model.paretau"];
        let fit = json(at, &[&["fit", path], &columns[..], &ignore[..], &out[..]].concat());
        let [ate, lo, hi] = average(&fit, "ate");
        assert!((ate - 3.4).abs() < slack && lo > 1.5 && hi < 5.0, "{estimator}: {ate} ({lo} to {hi})");
        assert_eq!((fit["n_rows"].as_u64(), fit["n_treated"].as_u64()), (Some(1566), Some(403)));
        let notes = fit["notes"].to_string();
        assert!(notes.contains("63 of 1629 rows have no outcome"), "{notes}");
    }
    // The 63 people whose later weight is unknown get an effect, too; identifiers come through in their order.
    ok(at, &["effect", "model.paretau", path, "--out", "effects.csv"]);
    check_effects(&at.join("effects.csv"), 1629, 1629);
    let ids = |path: &Path| rows(path).1.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&at.join("effects.csv")), ids(Path::new(path)));
    let out = paretau(at, &["effect", "model.paretau", path, "--out", "again.parquet"]);
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(stderr.contains("missing and were filled in"), "{stderr}");
    let diagnosis = json(at, &[&["diagnose", path], &columns[..], &ignore[..]].concat());
    let khats = diagnosis["overlap"]["arms"].as_array().unwrap();
    assert!(khats.iter().all(|arm| number(arm, &["khat"]) < number(arm, &["khat_threshold"])), "{khats:?}");
    assert!(ok(at, &["diagnose", "model.paretau"]).contains("propensities from"));
    // Fair overlap and nothing post-treatment: no alarm, and the answer does not fall with a cause twice as strong as age.
    let words =
        ok(at, &[&["fit", path], &columns[..], &ignore[..], &["-e", "lr-2", "--out", "again.paretau"]].concat());
    assert!(words.contains("average effect of `qsmk` on `wt82_71`: 3.") && !words.contains("warning:"), "{words}");
    let words = ok(at, &["sensitivity", "model.paretau", path, "--benchmark", "age"]);
    assert!(words.contains("twice as strong as `age` would not erase this"), "{words}");
}

/// The outcome is wt82 − wt71: with both among the features nothing is left for the treatment to do, and that must be reported.
#[test]
fn nhefs_with_the_later_weight_is_seen_through() {
    let Some(path) = data("real/nhefs.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let fit = |ignore: &str| {
        let columns = ["--treatment", "qsmk", "--outcome", "wt82_71", "--id", "seqn", "--ignore", ignore];
        let out = ["-e", "lr-2", "--out", "model.paretau"];
        json(folder.path(), &[&["fit", path.to_str().unwrap()], &columns[..], &out[..]].concat())["warnings"]
            .to_string()
    };
    let stderr = fit("death,yrdth,modth,dadth");
    assert!(stderr.contains("outcome-determined"), "{stderr}");
    // The later weight is to go; the earlier one confounds, and must not go with it.
    assert!(stderr.contains("--ignore wt82") && stderr.contains("keep those measured before it"), "{stderr}");
    assert!(!fit("*82*,death,yrdth,modth,dadth,sbp,dbp").contains("outcome-determined"));
    // Whoever reads the words and not the JSON is warned too.
    let columns =
        ["--treatment", "qsmk", "--outcome", "wt82_71", "--id", "seqn", "--ignore", "death,yrdth,modth,dadth"];
    let words = ok(
        folder.path(),
        &[&["fit", path.to_str().unwrap()], &columns[..], &["-e", "lr-2", "--out", "m2.paretau"]].concat(),
    );
    assert!(words.contains("warning: columns `wt82` and `wt71` almost determine"), "{words}");
}

/// A trial with three arms as text: the e-mail raised visits by 4.5 points, as the difference of means has it.
#[test]
fn hillstrom_is_a_trial_with_text_arms() {
    let Some(path) = data("real/hillstrom.csv") else { return };
    let path = path.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let columns = ["--treatment", "treatment", "--outcome", "visit", "--ignore", "conversion,spend"];
    let asked = paretau(at, &[&["fit", path, "--out", "model.paretau"], &columns[..]].concat());
    let stderr = String::from_utf8(asked.stderr).unwrap();
    assert_eq!(asked.status.code(), Some(3));
    assert!(stderr.contains("`No E-Mail` (21306 rows)") && stderr.contains("--treated-value"), "{stderr}");
    let arms = ["--treated-value", "Womens E-Mail", "--control-value", "No E-Mail"];
    let out = ["--estimator", "lr-2", "--by", "womens", "--out", "model.paretau"];
    let fit = json(at, &[&["fit", path], &columns[..], &arms[..], &out[..]].concat());
    let [ate, lo, hi] = average(&fit, "ate");
    assert!((ate - 0.0452).abs() < 0.002 && lo > 0.035 && hi < 0.055, "{ate} ({lo} to {hi})");
    // Whoever bought women's things before is the one whom this e-mail brings: differences of means within the two groups.
    for (group, (level, truth)) in
        fit["groups"]["groups"].as_array().unwrap().iter().zip([("0", 0.0111), ("1", 0.0731)])
    {
        let [value, lo, hi] = ["value", "lo", "hi"].map(|part| number(group, &["effect", part]));
        assert_eq!(group["level"], level, "{group}");
        assert!((value - truth).abs() < 0.003 && lo < truth && truth < hi && hi - lo < 0.025, "{group}");
    }
    assert_eq!(fit["warnings"], serde_json::json!([]), "a trial of 42 693 people gives no reason to warn");
    let names: Vec<_> = fit["arms"].as_array().unwrap().iter().map(|arm| arm["name"].clone()).collect();
    assert_eq!(names, ["No E-Mail", "Womens E-Mail"]);
    assert!(fit["notes"].to_string().contains("21307 of 64000 rows have another treatment"), "{}", fit["notes"]);
    // Rows of the third arm get an effect, but no weight.
    ok(at, &["effect", "model.paretau", path, "--out", "effects.csv"]);
    check_effects(&at.join("effects.csv"), 64_000, 42_693);
    let diagnosis = json(at, &[&["diagnose", path], &columns[..], &arms[..]].concat());
    let range = diagnosis["overlap"]["range"].as_array().unwrap();
    let near_half = |v: &Value| (v.as_f64().unwrap() - 0.5).abs() < 0.05;
    assert!(range.iter().all(near_half), "a trial tosses a coin: {range:?}");
    assert_eq!(diagnosis["overlap"]["warnings"], serde_json::json!([]));
}

/// Job training against survey controls, the field's hardest classic: the arms hardly overlap. The tool must say so,
/// and its effect on the treated must undo most of the bias (the trial has +886, the plain difference is −13 177).
#[test]
fn jobs_warns_of_arms_that_hardly_overlap() {
    let Some(path) = data("real/jobs_lalonde.csv") else { return };
    let path = path.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let columns = ["--treatment", "Treatment", "--outcome", "RE78"];
    let out = ["--estimator", "dr-learner", "--out", "model.paretau"];
    let fit = json(at, &[&["fit", path], &columns[..], &out[..]].concat());
    let [att, lo, hi] = average(&fit, "att");
    assert!((att - 886.0).abs() < 2000.0 && lo < 886.0 && hi > -886.0, "{att} ({lo} to {hi})");
    // No method can be right about everyone here: the headline is about others, and nothing over everyone has an interval.
    let averages = &fit["averages"];
    assert_ne!(averages["headline"], "ate", "{averages}");
    assert!(averages["extrapolated"].as_array().unwrap().iter().any(|e| e["population"] == "ate"), "{averages}");
    // Whatever the estimator, the words are the same: the answer is not over everyone, what is has no interval, the headline
    // claims no harm, and the reader is warned.
    let lines: Vec<String> = ["lr-2", "dr-learner"]
        .map(|name| ok(at, &[&["fit", path], &columns[..], &["-e", name, "--out", "m.paretau"]].concat()))
        .map(|words| {
            for found in
                ["; not over everyone, because", "extrapolated, so without an interval: over everyone -", "warning: "]
            {
                assert!(words.contains(found), "{found}: {words}");
            }
            assert!(words.contains("nearly tell the arms apart, and effects rest on extrapolation"), "{words}");
            // The interval over the treated leaves the trial's +886 out: what it does not count is said beside it.
            assert!(words.contains("no interval covers that, not even the one over the treated"), "{words}");
            words.lines().filter(|line| line.contains("average effect") || line.contains("over the treated")).collect()
        })
        .into();
    assert_eq!(lines[0], lines[1]);
    let headline = averages["headline"].as_str().unwrap();
    assert!(average(&fit, headline)[1] < 0.0 && average(&fit, headline)[2] > 0.0, "{averages}");
    let words = ok(at, &["report", "model.paretau", "--out", "r.html"]);
    let page = std::fs::read_to_string(at.join("r.html")).unwrap();
    assert!(!page.contains("the average effect (ATE)"), "{words}");
    ok(at, &["effect", "model.paretau", path, "--out", "effects.csv"]);
    check_effects(&at.join("effects.csv"), 3212, 3212);
    for source in [vec!["diagnose", "model.paretau"], [&["diagnose", path], &columns[..]].concat()] {
        let words = ok(at, &source);
        assert!(words.contains("rest on extrapolation"), "{words}");
    }
}

/// Twins: both outcomes are known, so that the truth scores the answer. Treatment was drawn by a known propensity
/// that depends on more than the features; given that column, the average effect is right, and without it visibly not.
#[test]
fn twins_needs_its_known_propensity() {
    let Some(path) = data("real/twins.csv") else { return };
    let path = path.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let columns = ["--treatment", "T", "--outcome", "yf", "--truth", "y0,y1", "--estimator", "lr-2"];
    let known = ["--propensity", "Propensity", "--by", "csex", "--out", "model.paretau"];
    let truth = -0.025_200;
    let fit = json(at, &[&["fit", path], &columns[..], &known[..]].concat());
    let [ate, lo, hi] = average(&fit, "ate");
    assert!((ate - truth).abs() < 0.012 && lo < truth && truth < hi, "{ate} ({lo} to {hi})");
    // Groups too, at once. That the known propensity does not balance the order of birth is said, with its name.
    for (group, truth) in fit["groups"]["groups"].as_array().unwrap().iter().zip([-0.024_100, -0.026_325]) {
        let band: Vec<f64> = group["band"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect();
        assert!(band[0] < truth && truth < band[1] && band[1] - band[0] < 0.1, "{group}");
    }
    assert!(fit["warnings"].to_string().contains("most of all bord"), "{}", fit["warnings"]);
    let blind = json(at, &[&["fit", path], &columns[..], &["--out", "blind.paretau"]].concat());
    assert!(average(&blind, "ate")[2] < truth, "the features alone do not undo the selection");
    let notes = blind["notes"].to_string();
    for word in
        ["look like the truth: y_cf, Propensity", "number or name the rows: column1", "`gestatcat1` names 3 columns"]
    {
        assert!(notes.contains(word), "{notes}");
    }
    ok(at, &["effect", "model.paretau", path, "--out", "effects.csv"]);
    check_effects(&at.join("effects.csv"), 11_984, 11_984);
    let scores = json(at, &["evaluate", "model.paretau", path, "--in-sample"]);
    assert!(number(&scores, &["pehe_rel"]) < 1.2 && number(&scores, &["ate_error"]) < 0.08, "{scores}");
    let diagnosis = json(at, &["diagnose", path, "--treatment", "T", "--outcome", "yf"]);
    assert_eq!(diagnosis["n_rows"], 11_984);
}
