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
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && message.contains(word), "{message}");
    }
}

/// The effect is 1 in the north and 3 in the south, so its projection on the region is 2. With the east there is none, since a
/// projection is about everyone.
#[test]
fn the_effect_is_projected_on_columns() {
    let folder = tempfile::tempdir().unwrap();
    trial(folder.path());
    let file = folder.path().join("trial.csv");
    let with_east = std::fs::read_to_string(&file).unwrap();
    let north_and_south: Vec<&str> = with_east.lines().filter(|line| !line.contains(",east,")).collect();
    std::fs::write(folder.path().join("east.csv"), &with_east).unwrap();
    std::fs::write(&file, north_and_south.join("\n") + "\n").unwrap();
    let extrapolated =
        [&["fit", "east.csv"][..], &ROLES[..], &["--projection", "region", "--out", "e.paretau"]].concat();
    let document = json(folder.path(), &extrapolated);
    let notes = document["notes"].to_string();
    assert!(document["projection"].is_null() && notes.contains("no projection of the effect"), "{notes}");
    let fit = [&["fit", "trial.csv"][..], &ROLES[..], &["--projection", "region,age", "--out", "m.paretau"]].concat();
    let document = json(folder.path(), &fit);
    let found = document["projection"].as_array().unwrap();
    assert_eq!((found.len(), &found[0]["name"]), (3, &Value::from("intercept")), "{found:?}");
    // One draw: each coefficient lies within three standard errors of its truth, and that of the region is told from 0.
    for (name, truth) in [("region=south", 2.0), ("age", 0.0)] {
        let own = found.iter().find(|c| c["name"] == name).unwrap();
        let number = |key: &str| own[key].as_f64().unwrap();
        let (value, se, half) = (number("value"), number("se"), (number("hi") - number("lo")) / 2.0);
        assert!((value - truth).abs() < 3.0 * se && (half / se - 1.96).abs() < 0.01, "{own}");
        assert!(truth == 0.0 || number("lo") > 1.0, "{own}");
    }
    let text = ok(folder.path(), &[&fit[..], &["--quiet"]].concat());
    assert!(text.contains("best linear projection") && text.contains("  region=south: "), "{text}");
    ok(folder.path(), &["report", "m.paretau", "--out", "r.html"]);
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("On what the effect depends") && page.contains("--projection</span> region,age"));
    let wrong = [&["fit", "trial.csv"][..], &ROLES[..], &["--blp", "t", "--out", "n.paretau"]].concat();
    let out = paretau(folder.path(), &wrong);
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("that is the treatment"));
}

/// Arms that a feature nearly tells apart: averages over people whom nobody in the other arm resembles have no interval, in
/// words and on the page, and a reason in JSON.
#[test]
fn an_average_that_rests_on_extrapolation_has_no_interval() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "t,y,x,z\n".to_owned();
    let mut state = 77_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..600 {
        let (x, z) = (6.0 * uniform() - 3.0, uniform());
        let t = i32::from(uniform() < 1.0 / (1.0 + (-4.0 * x).exp()));
        text += &format!("{t},{},{x},{z}\n", x * x + f64::from(t) * (1.0 + x) + uniform());
    }
    std::fs::write(folder.path().join("apart.csv"), text).unwrap();
    let fit = ["fit", "apart.csv", "--treatment", "t", "--outcome", "y", "--estimator", "lr-2", "--out", "m.paretau"];
    let averages = &json(folder.path(), &fit)["averages"];
    assert_eq!(averages["headline"], "ato");
    let flagged: Vec<&str> =
        averages["extrapolated"].as_array().unwrap().iter().map(|e| e["population"].as_str().unwrap()).collect();
    assert_eq!(flagged, ["ate", "att", "atc"]);
    let text = ok(folder.path(), &[&fit[..], &["--quiet"]].concat());
    let line =
        text.lines().find(|line| line.starts_with("extrapolated, so without an interval: over everyone")).unwrap();
    let (listed, _reason) = line.rsplit_once(" (").unwrap();
    assert!(!listed.contains('('), "{text}");
    assert!(!text.contains("second opinion on the average over everyone"), "{text}");
    ok(folder.path(), &["report", "m.paretau", "--out", "r.html"]);
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(!page.contains("the average effect on those who were treated (ATT)"));
    let projected = json(folder.path(), &[&fit[..], &["--projection", "z"]].concat());
    assert!(projected["projection"].is_null(), "{projected}");
    let notes = projected["notes"].to_string();
    assert!(notes.contains("no projection of the effect"), "{notes}");
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
