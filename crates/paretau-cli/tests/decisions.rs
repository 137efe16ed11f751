//! `policy`, `sensitivity` and `refute`, with good input and with bad.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn paretau(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paretau"));
    command.args(arguments.split_whitespace()).arg("--quiet").current_dir(folder).output().unwrap()
}

fn json(folder: &Path, arguments: &str) -> Value {
    let output = paretau(folder, &format!("{arguments} --json"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(folder: &Path, arguments: &str, word: &str) {
    let output = paretau(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{arguments}: {:?} {text}", output.status);
    assert!(text.contains(word), "{arguments}: {text}");
}

/// A trial in which treatment helps where x1 is above 0 and hurts elsewhere.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("t,y,x1,x2,price\n");
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    for _ in 0..600 {
        let (x1, x2) = (2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0);
        let t = u8::from(uniform() < 0.5);
        let y = x2 + f64::from(t) * if x1 > 0.0 { 2.0 } else { -1.0 } + uniform();
        text += &format!("{t},{y},{x1},{x2},0.5\n");
    }
    std::fs::write(folder.path().join("d.csv"), text).unwrap();
    let fit = "fit d.csv --treatment t --outcome y --ignore price --estimator lr-2 --out m.paretau";
    assert!(paretau(folder.path(), fit).status.success());
    folder
}

#[test]
fn policies_find_the_split_respect_the_budget_and_refuse_nonsense() {
    let folder = prepared();
    let at = folder.path();
    let found = json(at, "policy m.paretau d.csv --depth 1 --out arms.csv");
    let words = found["words"].to_string();
    assert!(words.contains("x1 above") && words.contains("do not treat"), "{words}");
    let tree = &found["policies"][0];
    assert_eq!(tree["name"], "tree");
    // Treating the better half gains about 1 over nobody and 0.5 over everyone.
    let value = tree["over_none"]["value"].as_f64().unwrap();
    assert!((0.7..1.3).contains(&value), "{value}");
    let arms = std::fs::read_to_string(at.join("arms.csv")).unwrap();
    assert_eq!(arms.lines().count(), 601);
    let cheap = json(at, "policy m.paretau d.csv --budget 0.2 --cost price");
    assert!(cheap["share_treated"].as_f64().unwrap() <= 0.2 + 1e-9);
    // Where less is better, the other half is treated.
    let turned = json(at, "policy m.paretau d.csv --depth 1 --lower-is-better")["words"].to_string();
    assert!(turned.find("treat (").unwrap() < turned.find("do not treat").unwrap(), "{turned}");
    assert_eq!(json(at, "policy m.paretau d.csv --cost 100")["share_treated"], 0.0);
    refused(at, "policy m.paretau d.csv --cost nowhere", "nowhere");
    refused(at, "policy m.paretau d.csv --budget 1.5", "--budget");
    refused(at, "policy m.paretau d.csv --depth 4", "--depth");
    refused(at, "policy m.paretau d.csv --out d.csv", "--out");
}

#[test]
fn hidden_causes_and_refutations() {
    let folder = prepared();
    let at = folder.path();
    let found = json(at, "sensitivity m.paretau d.csv --benchmarks 1");
    let (all, interval) = (&found["robustness_value"], &found["robustness_value_interval"]);
    assert!(all.as_f64().unwrap() >= interval.as_f64().unwrap());
    assert_eq!(found["benchmarks"].as_array().unwrap().len(), 1);
    assert!(found["words"].to_string().contains("hidden cause"));
    refused(at, "sensitivity d.csv --treatment t --outcome y --cf-d 1", "--cf-d");
    refused(at, "sensitivity d.csv --treatment t --outcome y --benchmark nowhere", "nowhere");
    refused(at, "sensitivity m.paretau", "data file");
    let found = json(at, "refute m.paretau d.csv --replicates 3 --checks placebo-treatment,random-cause");
    assert_eq!(found["checks"].as_array().unwrap().len(), 2);
    assert_eq!(found["checks"][1]["passed"], true);
    refused(at, "refute d.csv --treatment t --outcome y --checks nonsense", "--checks");
    refused(at, "refute d.csv --treatment t --outcome y --replicates 1", "--replicates");
}

#[test]
fn several_arms_get_the_best_one() {
    let folder = prepared();
    let at = folder.path();
    let text = std::fs::read_to_string(at.join("d.csv")).unwrap();
    let three: Vec<String> = (text.lines().enumerate())
        .map(|(k, line)| match line.as_bytes()[0] {
            b'0' => format!("none{}", &line[1..]),
            b'1' if k % 2 == 0 => format!("pill{}", &line[1..]),
            b'1' => format!("syrup{}", &line[1..]),
            _ => line.to_owned(),
        })
        .collect();
    std::fs::write(at.join("arms.csv"), three.join("\n")).unwrap();
    let fit = "fit arms.csv --treatment t --outcome y --control-value none --estimator causal-forest --set n_estimators=50 \
               --out arms.paretau";
    assert!(paretau(at, fit).status.success());
    let found = json(at, "policy arms.paretau arms.csv --depth 1");
    assert_eq!(found["arms"].as_array().unwrap().len(), 3);
    assert!(found["words"].to_string().contains("give "), "{}", found["words"]);
}
