//! The schema of `--json`. That documents fit it is checked wherever a test reads one (`common::json`).
#![allow(clippy::unwrap_used)]

mod common;

use std::panic::catch_unwind;
use std::path::Path;

use common::{described, json, ok, paretau};
use serde_json::{Value, json as value};

fn schema(args: &[&str]) -> Value {
    serde_json::from_str(&ok(Path::new("."), &[&["schema"], args].concat())).unwrap()
}

#[test]
fn every_command_with_a_document_has_a_schema() {
    let help = ok(Path::new("."), &["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let all = schema(&[]);
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        // These print texts of their own.
        let has_none = ["completions", "man", "schema", "help"].contains(&command);
        assert_eq!(all["$defs"][command].is_null(), has_none, "{command}");
    }
}

#[test]
fn the_schema_of_one_command_stands_alone() {
    let fit = schema(&["fit"]);
    let definitions = fit["$defs"].as_object().unwrap();
    assert!(definitions.contains_key("estimate") && !definitions.contains_key("policy"), "{:?}", definitions.keys());
    assert_eq!(fit["anyOf"], value!([{ "$ref": "#/$defs/fit" }]));
    let wrong = paretau(Path::new("."), &["schema", "fti"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("fit"));
}

type Damage = fn(&mut Value);

#[test]
fn a_document_that_does_not_fit_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let good = json(folder.path(), &["describe", "lr-2"]);
    let damages: [Damage; 4] = [
        |d| d["surprise"] = value!(1),
        |d| d["name"] = value!(7),
        |d| d["handles"]["sparse"] = value!("yes"),
        |d| drop(d.as_object_mut().unwrap().remove("class")),
    ];
    for damage in damages {
        let mut document = good.clone();
        damage(&mut document);
        assert!(catch_unwind(|| described("describe", &document)).is_err(), "{document}");
    }
}

/// Several arms, a yes/no outcome, groups, a projection, an estimand that was asked for.
#[test]
fn documents_of_odd_fits_fit_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "arm,bought,age,town\n".to_owned();
    let mut state = 5_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for i in 0..600 {
        let arm = ["none", "letter", "call"][i % 3];
        let bought = u8::from(uniform() < if arm == "none" { 0.3 } else { 0.5 });
        text += &format!(
            "{arm},{bought},{:.1},{}\n",
            20.0 + 50.0 * uniform(),
            if uniform() < 0.5 { "north" } else { "south" }
        );
    }
    std::fs::write(folder.path().join("shop.csv"), text).unwrap();
    let roles = ["shop.csv", "--treatment", "arm", "--outcome", "bought", "--control-value", "none"];
    let asked = ["--by", "town", "--estimand", "ato", "--projection", "age", "-e", "lr-2", "--out", "m.paretau"];
    let fit = json(folder.path(), &[&["fit"], &roles[..], &asked[..]].concat());
    assert!(fit["groups"].is_object() && fit["averages"]["ratios"].is_object() && fit["arms"][2].is_object(), "{fit}");
    json(folder.path(), &[&["diagnose"], &roles[..]].concat());
    json(folder.path(), &["diagnose", "m.paretau"]);
    json(folder.path(), &["effect", "m.paretau", "shop.csv", "--out", "scored/", "--in-sample"]);
    json(folder.path(), &["init", "shop.csv", "--treatment", "arm", "--outcome", "bought", "--out", "shop.toml"]);
    json(folder.path(), &["list", "datasets"]);
}
