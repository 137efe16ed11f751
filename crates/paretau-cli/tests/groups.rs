//! Groups, the headline by name, and warnings, as the command line shows them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{json, ok, paretau};
use serde_json::Value;

/// A trial of 600 people with an effect of 1 in the north, 3 in the south, and an east where hardly anyone is treated; a leak
/// is the outcome in another unit.
fn trial(folder: &std::path::Path) {
    let mut text = "t,y,age,region,leak\n".to_owned();
    let mut state = 12345_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for i in 0..600 {
        let region = if i < 270 {
            "north"
        } else if i < 540 {
            "south"
        } else {
            "east"
        };
        let t = if region == "east" { i32::from(i == 541) } else { i32::from(uniform() < 0.5) };
        let effect = if region == "south" { 3.0 } else { 1.0 };
        let noise: f64 = (0..6).map(|_| uniform() - 0.5).sum();
        let (age, y) = (20.0 + 60.0 * uniform(), f64::from(t) * effect + noise);
        text += &format!("{t},{y},{age},{region},{}\n", 2.0 * y + 1.0);
    }
    std::fs::write(folder.join("trial.csv"), text).unwrap();
}

const ROLES: [&str; 8] = ["--treatment", "t", "--outcome", "y", "--ignore", "leak", "--estimator", "lr-2"];

#[test]
fn groups_have_intervals_bands_and_reasons() {
    let folder = tempfile::tempdir().unwrap();
    trial(folder.path());
    let fit = [&["fit", "trial.csv"][..], &ROLES[..], &["--by", "region,age", "--out", "m.paretau"]].concat();
    let document = json(folder.path(), &fit);
    let groups = document["groups"]["groups"].as_array().unwrap();
    let named = |level: &str| groups.iter().find(|g| g["level"] == level).unwrap();
    for (level, truth) in [("north", 1.0), ("south", 3.0)] {
        let group = named(level);
        let number = |value: &Value| value.as_f64().unwrap();
        let (lo, hi) = (number(&group["effect"]["lo"]), number(&group["effect"]["hi"]));
        let (below, above) = (number(&group["band"][0]), number(&group["band"][1]));
        assert!(below < lo && lo < hi && hi < above, "{group}");
        assert!(below < truth && truth < above && hi - lo < 1.0, "{group}");
        assert_eq!(group["n"][0].as_u64().unwrap() + group["n"][1].as_u64().unwrap(), 270);
    }
    let east = named("east");
    assert!(east["effect"].is_null() && east["reason"].as_str().unwrap().contains("1 treated row"), "{east}");
    assert_eq!(groups.iter().filter(|g| g["column"] == "age").count(), 4);
    // The text and the page show them, too.
    let text = ok(folder.path(), &[&fit[..], &["--quiet"]].concat());
    assert!(text.contains("region east: no estimate: 1 treated row"), "{text}");
    ok(folder.path(), &["report", "m.paretau", "--out", "r.html"]);
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("Groups that were asked for") && page.contains("1 treated row"));
    for (by, word) in [("y", "outcome"), ("regoin", "region")] {
        let wrong = [&["fit", "trial.csv"][..], &ROLES[..], &["--by", by, "--out", "n.paretau"]].concat();
        let out = paretau(folder.path(), &wrong);
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && told.contains(word), "{told}");
    }
}

#[test]
fn the_headline_is_the_one_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    trial(folder.path());
    let fit = [&["fit", "trial.csv"][..], &ROLES[..], &["--estimand", "att", "--out", "m.paretau"]].concat();
    let document = json(folder.path(), &fit);
    assert_eq!(document["averages"]["headline"], "att");
    assert!(document["averages"]["targeted"]["value"].is_number());
    let text = ok(folder.path(), &[&fit[..], &["--quiet"]].concat());
    assert!(text.contains("over the treated: "), "{text}");
    let wrong = [&["fit", "trial.csv"][..], &ROLES[..], &["--estimand", "late", "--out", "m.paretau"]].concat();
    assert!(!paretau(folder.path(), &wrong).status.success());
}

#[test]
fn diagnose_names_columns_that_determine_the_outcome() {
    let folder = tempfile::tempdir().unwrap();
    trial(folder.path());
    let found = json(folder.path(), &["diagnose", "trial.csv", "--treatment", "t", "--outcome", "y"]);
    let first = &found["warnings"][0];
    assert_eq!((first["code"].as_str(), first["severity"].as_str()), (Some("outcome-determined"), Some("serious")));
    assert!(first["message"].as_str().unwrap().contains("`leak`"), "{first}");
}
