//! `effect` on files that are read in batches: order, formats, spellings, and memory that does not grow.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{json, ok};

fn simulate(at: &Path, process: &str, n: &str, d: &str, out: &str) {
    ok(at, &["simulate", process, "--n", n, "--d", d, "--out", out]);
}

fn fit(at: &Path, data: &str, more: &[&str]) {
    let base = ["fit", data, "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau", "--quiet"];
    ok(at, &[&base[..], more].concat());
}

#[test]
fn output_is_in_input_order_over_many_batches_and_the_same_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "synthetic", "150000", "3", "people.csv");
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let named: String = text
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 0 { format!("{line},who\n") } else { format!("{line},{:07}\n", (i * 7919) % 150_001) })
        .collect();
    std::fs::write(at.join("people.csv"), &named).unwrap();
    fit(at, "people.csv", &["--id", "who"]);
    ok(at, &["effect", "model.paretau", "people.csv", "--out", "effects.csv", "--quiet"]);
    let effects = std::fs::read_to_string(at.join("effects.csv")).unwrap();
    let first = |line: &str| line.split(',').next().unwrap().to_owned();
    let last = |line: &str| line.rsplit(',').next().unwrap().to_owned();
    // Leading zeros included.
    assert!(effects.lines().map(first).eq(named.lines().map(last)));
    std::fs::write(at.join("zipped.csv.gz"), common::gzip(named.as_bytes())).unwrap();
    for (data, threads) in [("people.csv", "1"), ("zipped.csv.gz", "2")] {
        ok(at, &["effect", "model.paretau", data, "--out", "again.csv", "--quiet", "--threads", threads]);
        assert_eq!(std::fs::read_to_string(at.join("again.csv")).unwrap(), effects, "{data}");
    }
    // A mean over batches is the mean.
    let summary = json(at, &["effect", "model.paretau", "people.csv", "--out", "again.parquet"]);
    let taus: Vec<f64> = effects.lines().skip(1).map(|l| l.split(',').nth(3).unwrap().parse().unwrap()).collect();
    let mean = taus.iter().sum::<f64>() / taus.len() as f64;
    assert!((summary["mean_effect"].as_f64().unwrap() - mean).abs() < 1e-9 && summary["rows"] == 150_000);
}

#[test]
fn arms_are_known_however_new_data_spell_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "synthetic", "300", "3", "people.csv");
    fit(at, "people.csv", &[]);
    let plain = ok(at, &["effect", "model.paretau", "people.csv"]);
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    for (treated, control) in [("1.0", "0.0"), ("TRUE", "FALSE"), ("true", "false")] {
        let spelled = text.replace("\n1,", &format!("\n{treated},")).replace("\n0,", &format!("\n{control},"));
        std::fs::write(at.join("spelled.csv"), spelled).unwrap();
        assert_eq!(ok(at, &["effect", "model.paretau", "spelled.csv"]), plain, "{treated}");
    }
    let shuffled: String = text.lines().map(|l| l.split(',').rev().collect::<Vec<_>>().join(",") + "\n").collect();
    std::fs::write(at.join("reordered.csv"), shuffled).unwrap();
    assert_eq!(ok(at, &["effect", "model.paretau", "reordered.csv"]), plain, "columns in any order");
}

#[test]
fn changes_to_new_rows_are_reported_once_for_all_batches() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "synthetic", "300", "3", "people.csv");
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let with_town = |town: &dyn Fn(usize) -> &'static str, times: usize| -> String {
        let (header, rows) = text.split_once('\n').unwrap();
        let rows = std::iter::repeat_n(rows.lines(), times).flatten().enumerate();
        let rows: String = rows.map(|(i, line)| format!("{line},{}\n", town(i))).collect();
        format!("{header},town\n{rows}")
    };
    std::fs::write(at.join("people.csv"), with_town(&|i| ["Ulm", "Bonn"][i % 2], 1)).unwrap();
    fit(at, "people.csv", &[]);
    // 90 000 rows are two batches; one in three is of a new town, one in three of none.
    std::fs::write(at.join("new.csv"), with_town(&|i| ["Ulm", "Paris", ""][i % 3], 300)).unwrap();
    let out = common::paretau(at, &["effect", "model.paretau", "new.csv", "--out", "effects.csv"]);
    let stderr = String::from_utf8(out.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "45000 of 90000 rows were learned from (their features are those of training rows): their effects are in-sample \
             and look surer than those of new people (--in-sample silences this)",
            "`town`: 30000 of 90000 rows were missing and were filled in",
            "`town`: 30000 of 90000 rows have a level that training hardly had",
            "columns not used by the model: mu0, mu1, e",
        ]
    );
}

#[test]
fn a_model_of_sparse_features_reads_plain_columns_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "news", "200", "30", "words.csv");
    let text = std::fs::read_to_string(at.join("words.csv")).unwrap();
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let words = cells[5..].iter().enumerate().filter(|(_, v)| **v != "0");
        let words: String = words.map(|(j, v)| format!(" {}:{v}", j + 1)).collect();
        format!("{} {}{words}\n", cells[1], cells[0])
    };
    assert!(text.starts_with("t,y,mu0,mu1,e,x1,"), "{}", &text[..40]);
    std::fs::write(at.join("words.svm"), text.lines().skip(1).map(line).collect::<String>()).unwrap();
    fit(at, "words.svm", &[]);
    let sparse = ok(at, &["effect", "model.paretau", "words.svm", "--quiet"]);
    assert_eq!(sparse, ok(at, &["effect", "model.paretau", "words.csv", "--quiet"]));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for ending in ["csv", "parquet", "arrow"] {
        simulate(at, "synthetic", "100000", "3", &format!("short.{ending}"));
        simulate(at, "synthetic", "400000", "3", &format!("long.{ending}"));
        if ending == "csv" {
            fit(at, "short.csv", &[]);
        }
        let [short, long] = ["short", "long"].map(|name| {
            common::peak(
                at,
                &["effect", "model.paretau", &format!("{name}.{ending}"), "--out", "effects.csv", "--threads", "1"],
            )
        });
        assert!(
            long < short + short / 3 + (8 << 10),
            "{ending}: {short} KiB became {long} KiB with four times the rows"
        );
    }
}
