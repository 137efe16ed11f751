//! Data in several files: folders, globs, partitions; and effects of each file in a folder of outputs.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{json, ok, paretau};

/// People in one file, and the same in three files of two regions.
fn people(at: &Path) {
    ok(at, &["simulate", "synthetic", "--n", "900", "--d", "3", "--out", "all.csv"]);
    let text = std::fs::read_to_string(at.join("all.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    for (k, (name, region)) in [("a", "north"), ("b", "north"), ("c", "south")].iter().enumerate() {
        let folder = at.join("in").join(format!("region={region}"));
        std::fs::create_dir_all(&folder).unwrap();
        let part = lines[300 * k..300 * (k + 1)].join("\n");
        std::fs::write(folder.join(format!("part-{name}.csv")), format!("{header}\n{part}\n")).unwrap();
    }
    std::fs::write(at.join("in/_SUCCESS"), "").unwrap();
    let named: String = (lines.iter().enumerate())
        .map(|(i, line)| format!("{line},{}\n", if i < 600 { "north" } else { "south" }))
        .collect();
    std::fs::write(at.join("all.csv"), format!("{header},region\n{named}")).unwrap();
}

const ROLES: [&str; 7] = ["--treatment", "t", "--outcome", "y", "--ignore", "mu0,mu1,e", "--quiet"];

fn fails(at: &Path, args: &[&str]) -> String {
    let out = paretau(at, args);
    assert!(!out.status.success(), "{args:?}");
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn a_folder_and_a_glob_are_one_table_with_the_folders_names_as_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    people(at);
    for (data, model) in [("all.csv", "one.paretau"), ("in", "folder.paretau"), ("in/*/part-*.csv", "glob.paretau")] {
        ok(at, &[&["fit", data, "-e", "lr-2", "--out", model][..], &ROLES].concat());
    }
    let of = |model: &str, data: &str| ok(at, &["effect", model, data, "--quiet"]);
    let effects = of("one.paretau", "all.csv");
    for (model, data) in [("folder.paretau", "all.csv"), ("glob.paretau", "in"), ("one.paretau", "in/**/*.csv")] {
        assert!(of(model, data) == effects, "{model} {data}");
    }
    let columns = json(at, &["check", "in"]);
    assert!(columns["columns"].as_array().unwrap().iter().any(|c| c["name"] == "region"), "{columns}");
    // Another command that reads rows, and an error that names the file and the row in it.
    ok(at, &["evaluate", "one.paretau", "in", "--in-sample", "--quiet"]);
    let part = at.join("in/region=south/part-c.csv");
    let text = std::fs::read_to_string(&part).unwrap();
    std::fs::write(&part, text.replacen(",x1", ",extra", 1)).unwrap();
    let message = fails(at, &[&["fit", "in", "--out", "m.paretau"][..], &ROLES].concat());
    assert!(message.contains("part-c.csv") && message.contains("`x1`") && message.contains("part-a.csv"), "{message}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[2] = format!("{}words", lines[2].rsplit_once(',').unwrap().0.to_owned() + ",");
    std::fs::write(&part, lines[..3].join("\n")).unwrap();
    let message = fails(at, &[&["fit", "in", "--out", "m.paretau"][..], &ROLES].concat());
    assert!(message.contains("part-c.csv") && message.contains("x3"), "{message}");
    let message = fails(at, &[&["fit", "none/*.csv", "--out", "m.paretau"][..], &ROLES].concat());
    assert!(message.contains("matches no data file"), "{message}");
}

#[test]
fn effects_of_each_file_are_resumed_and_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    people(at);
    for (seed, model) in [("1", "m.paretau"), ("2", "other.paretau")] {
        let forest = ["-e", "causal-forest", "--set", "n_estimators=20", "--seed", seed, "--out", model];
        ok(at, &[&["fit", "all.csv"][..], &forest, &ROLES].concat());
    }
    let effect =
        |model: &'static str, more: &[&'static str]| [&["effect", model, "in", "--out", "out/"][..], more].concat();
    let first = json(at, &effect("m.paretau", &[]));
    assert!(first["files"] == 3 && first["skipped"] == 0 && first["rows"] == 900, "{first}");
    let part = |name: &str| std::fs::read_to_string(at.join("out").join(name)).unwrap();
    let names = ["region=north/part-a.csv", "region=north/part-b.csv", "region=south/part-c.csv"];
    let whole = ok(at, &["effect", "m.paretau", "all.csv", "--quiet"]);
    let joined = names.map(|name| part(name).split_once('\n').unwrap().1.to_owned()).concat();
    assert_eq!(whole.split_once('\n').unwrap().1, joined);
    // One output is gone, one was cut: these two are made again, the third is not.
    std::fs::remove_file(at.join("out").join(names[0])).unwrap();
    std::fs::write(at.join("out").join(names[1]), "tau\n").unwrap();
    let again = json(at, &effect("m.paretau", &["--resume"]));
    assert!(again["skipped"] == 1 && again["mean_effect"] == first["mean_effect"], "{again}");
    assert_eq!(joined, names.map(|name| part(name).split_once('\n').unwrap().1.to_owned()).concat());
    // The outputs of a folder are a table of their own.
    let check = json(at, &["check", "out"]);
    assert_eq!(check["rows"], 900);
    let message = fails(at, &effect("other.paretau", &["--resume"]));
    assert!(message.contains("the model differ"), "{message}");
    let input = at.join("in").join(names[2]);
    let text = std::fs::read_to_string(&input).unwrap();
    std::fs::write(&input, text.replacen("\n1,", "\n0,", 1)).unwrap();
    let message = fails(at, &effect("m.paretau", &["--resume"]));
    assert!(message.contains("part-c.csv") && message.contains("the rows of the data"), "{message}");
    let message = fails(at, &["effect", "m.paretau", "in", "--out", "in/"]);
    assert!(message.contains("other than those"), "{message}");
}
