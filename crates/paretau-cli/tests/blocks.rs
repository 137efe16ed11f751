//! `fit --block-rows`: the same bits whatever the files and threads, memory that does not grow with the table, nothing left
//! behind, and clear refusals.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{command, json, ok, paretau};

const ROLES: [&str; 4] = ["--treatment", "t", "--outcome", "y"];

fn simulate(at: &Path, n: &str, out: &str) {
    ok(at, &["simulate", "synthetic", "--n", n, "--d", "3", "--out", out]);
}

fn fit<'a>(data: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", data][..], &ROLES, &["--out", out, "--quiet"], more].concat()
}

fn refusal(at: &Path, args: &[&str]) -> String {
    let out = paretau(at, args);
    assert!(!out.status.success(), "{args:?}");
    String::from_utf8(out.stderr).unwrap()
}

/// Names of the files in a folder.
fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_table_of_one_block_gives_the_ordinary_model() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "600", "people.csv");
    let forest = ["-e", "causal-forest", "--set", "n_estimators=40"];
    ok(at, &fit("people.csv", "whole.paretau", &forest));
    ok(at, &fit("people.csv", "block.paretau", &[&forest[..], &["--block-rows", "600"]].concat()));
    assert!(std::fs::read(at.join("whole.paretau")).unwrap() == std::fs::read(at.join("block.paretau")).unwrap());
}

#[test]
fn blocks_hang_neither_on_files_nor_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "2600", "people.csv");
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    // Sorted by the treatment: blocks of consecutive rows would not do.
    rows.sort_by_key(|row| row.starts_with('1'));
    std::fs::write(at.join("people.csv"), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
    std::fs::create_dir(at.join("parts")).unwrap();
    for (k, part) in [&rows[..1], &rows[1..1700], &rows[1700..]].iter().enumerate() {
        std::fs::write(at.join(format!("parts/{k}.csv")), format!("{header}\n{}\n", part.join("\n"))).unwrap();
    }
    let forest = ["-e", "causal-forest", "--set", "n_estimators=40", "--block-rows", "1300"];
    for (data, out, threads) in
        [("people.csv", "one.paretau", "1"), ("people.csv", "two.paretau", "2"), ("parts", "parts.paretau", "2")]
    {
        ok(at, &fit(data, out, &[&forest[..], &["--threads", threads]].concat()));
    }
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert!(bytes("one.paretau") == bytes("two.paretau"), "threads have a say");
    // The model of the folder has another source and a note of its files; its numbers are the same.
    let effects = |model: &str| ok(at, &["effect", model, "people.csv", "--interval", "0.9", "--quiet", "--in-sample"]);
    let expected = effects("one.paretau");
    assert_eq!(effects("parts.paretau"), expected);
    assert!(expected.starts_with("mu0,mu1,tau,lo,hi,e,w_raw,w"), "{}", &expected[..40]);
    let about = |data: &str| {
        let args = fit(data, "again.paretau", &forest);
        json(at, &args.into_iter().filter(|arg| *arg != "--quiet").collect::<Vec<_>>())
    };
    let (one, parts) = (about("people.csv"), about("parts"));
    for key in ["averages", "overlap", "nuisances", "blocks", "arms", "warnings"] {
        assert_eq!(one[key], parts[key], "{key}");
    }
    assert_eq!(one["n_rows"], 2600);
    assert_eq!(one["blocks"]["rows"].as_array().unwrap().len(), 2);
    let notes = one["notes"].to_string();
    assert!(notes.contains("fitted in 2 blocks"), "{notes}");
    // All trees together are those that were asked for.
    assert_eq!(one["params"]["n_estimators"], 40);
    // The page says what it has.
    ok(at, &["report", "one.paretau", "--out", "page.html"]);
}

/// Root mean squared error of effects of new rows with known truth.
fn error(at: &Path, model: &str) -> f64 {
    json(at, &["evaluate", model, "new.csv"])["pehe"].as_f64().unwrap()
}

#[test]
fn a_model_over_blocks_errs_like_one_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (n, seed, out) in [("6000", "1", "people.csv"), ("2000", "2", "new.csv")] {
        let process = ["simulate", "grf", "--set", "design=aw2", "--d", "6"];
        ok(at, &[&process[..], &["--n", n, "--seed", seed, "--out", out]].concat());
    }
    for (learner, trees, tree_rows) in [
        ("causal-forest", "n_estimators=100", 3000),
        ("dr-learner", "base.n_estimators=60", 3792),
        ("x-learner", "base.n_estimators=60", 3792),
    ] {
        let learner = ["--truth", "mu0,mu1", "-e", learner, "--set", trees];
        ok(at, &fit("people.csv", "whole.paretau", &[&learner[..], &["--force"]].concat()));
        let args = fit("people.csv", "blocks.paretau", &[&learner[..], &["--force", "--block-rows", "1200"]].concat());
        let about = json(at, &args.into_iter().filter(|arg| *arg != "--quiet").collect::<Vec<_>>());
        let (whole, blocks) = (error(at, "whole.paretau"), error(at, "blocks.paretau"));
        assert!(blocks < 1.15 * whole, "{learner:?}: {whole} {blocks}");
        // The page has findings, of the first block, and averages of all rows.
        assert_eq!(about["n_rows"], 6000);
        let forest = &about["blocks"]["forest"];
        assert_eq!(forest["tree_rows"], tree_rows, "{learner:?}");
        let assessed = forest["assessed_rows"].as_u64().unwrap();
        assert!((900..1500).contains(&assessed), "{assessed}");
        let rows: u64 = about["arms"].as_array().unwrap().iter().map(|arm| arm["n_rows"].as_u64().unwrap()).sum();
        assert_eq!(rows, 6000);
        ok(at, &["report", "blocks.paretau", "--out", "page.html", "--force"]);
        assert!(std::fs::read_to_string(at.join("page.html")).unwrap().contains("of the first block"));
    }
}

#[test]
fn lines_over_blocks_are_those_of_one_fit() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "2600", "people.csv");
    for learner in ["lr-1", "lr-2"] {
        let effects = |more: &[&str]| -> Vec<f64> {
            ok(at, &fit("people.csv", "m.paretau", &[&["-e", learner, "--force"], more].concat()));
            let out = ok(at, &["effect", "m.paretau", "people.csv", "--quiet", "--in-sample"]);
            let tau = out.lines().next().unwrap().split(',').position(|name| name == "tau").unwrap();
            out.lines().skip(1).map(|row| row.split(',').nth(tau).unwrap().parse().unwrap()).collect()
        };
        let (whole, blocks) = (effects(&[]), effects(&["--block-rows", "1300"]));
        assert!(whole.len() == 2600 && whole.iter().zip(&blocks).all(|(a, b)| (a - b).abs() < 1e-9), "{learner}");
    }
}

#[test]
fn groups_stay_whole_over_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    ok(at, &["simulate", "grf", "--set", "design=aw2", "--n", "1500", "--d", "3", "--out", "people.csv"]);
    // Every row four times, in places far from each other.
    let text = std::fs::read_to_string(at.join("people.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let repeated: Vec<String> =
        (0..4).flat_map(|_| rows.iter().enumerate().map(|(i, row)| format!("{row},{i}"))).collect();
    std::fs::write(at.join("four.csv"), format!("{header},person\n{}\n", repeated.join("\n"))).unwrap();
    let se = |data: &str, more: &[&str]| {
        let forest = ["-e", "causal-forest", "--set", "n_estimators=40"];
        let args = fit(data, "m.paretau", &[&forest[..], more].concat());
        let about = json(at, &args.into_iter().filter(|arg| *arg != "--quiet").collect::<Vec<_>>());
        about["averages"]["ate"]["se"].as_f64().unwrap()
    };
    let once = se("people.csv", &[]);
    let grouped = se("four.csv", &["--group", "person", "--block-rows", "1500"]);
    let apart = se("four.csv", &["--ignore", "person", "--block-rows", "1500"]);
    // Copies of a row say nothing new; who does not know of them takes them for new rows.
    assert!((grouped / once - 1.0).abs() < 0.1, "{once} {grouped}");
    assert!(apart < 0.8 * grouped, "{apart} {grouped}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_named_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "20000", "people.parquet");
    for learner in ["causal-forest", "lr-2"] {
        let fit =
            format!("fit people.parquet {} -e {learner} --block-rows 5000 --out m.paretau --quiet", ROLES.join(" "));
        let script = format!("trap '' XFSZ; ulimit -f 300; exec '{}' {fit}", env!("CARGO_BIN_EXE_paretau"));
        let out = std::process::Command::new("sh").args(["-c", &script]).current_dir(at).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(3), "{text}");
        assert!(text.contains("has no room for the blocks of rows") && text.contains("--scratch"), "{text}");
        assert_eq!(names(at), ["people.parquet"], "{learner}");
    }
}

#[test]
fn learners_without_intervals_are_put_together_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "2600", "people.parquet");
    for learner in ["x-learner", "dr-learner", "lr-2"] {
        ok(at, &fit("people.parquet", "model.paretau", &["-e", learner, "--block-rows", "1300"]));
        let out = ok(at, &["effect", "model.paretau", "people.parquet", "--quiet", "--in-sample"]);
        assert_eq!(out.lines().count(), 2601, "{learner}");
    }
    let output = paretau(at, &["effect", "model.paretau", "people.parquet", "--out", "effects.csv"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("2600 of 2600 rows were learned from"), "{stderr}");
}

#[test]
fn what_cannot_be_fitted_in_blocks_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "1000", "people.csv");
    let lr = ["-e", "lr-2", "--block-rows"];
    let with = |more: &[&str]| refusal(at, &fit("people.csv", "m.paretau", more));
    let error = with(&[&lr[..], &["100"]].concat());
    assert!(error.contains("column `t`") && error.contains("use --block-rows ") && error.contains("200"), "{error}");
    let error = with(&["--block-rows", "500"]);
    assert!(error.contains("`auto` is not fitted in blocks of rows") && error.contains("compare"), "{error}");
    let error = with(&[&lr[..], &["500", "--by", "x1"]].concat());
    assert!(error.contains("leave out --by"), "{error}");
    let error = with(&[&lr[..], &["500", "--intervals", "10"]].concat());
    assert!(error.contains("leave out --intervals"), "{error}");
    let error = with(&[&lr[..], &["0"]].concat());
    assert!(error.contains("--block-rows"), "{error}");
    let error = with(&[&lr[..], &["500", "--scratch", "nowhere"]].concat());
    assert!(error.contains("--scratch") && error.contains("nowhere"), "{error}");
    let error = refusal(at, &fit("-", "m.paretau", &[&lr[..], &["500"]].concat()));
    assert!(error.contains("standard input"), "{error}");
    std::fs::write(at.join("people.json"), "[{\"t\": 1, \"y\": 2}]").unwrap();
    let error = refusal(at, &fit("people.json", "m.paretau", &[&lr[..], &["500"]].concat()));
    assert!(error.contains("Parquet, Arrow and delimited text"), "{error}");
    // Who has too little memory learns of the blocks.
    ok(at, &["simulate", "synthetic", "--n", "1000", "--d", "3", "--out", "people.parquet"]);
    let error = refusal(at, &fit("people.parquet", "m.paretau", &["-e", "lr-2", "--max-memory", "10K"]));
    assert!(error.contains("--block-rows"), "{error}");
    assert!(!at.join("m.paretau").exists());
}

#[cfg(unix)]
#[test]
fn a_fit_that_is_killed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    simulate(at, "20000", "people.parquet");
    std::fs::create_dir(at.join("scratch")).unwrap();
    let lines = ["-e", "lr-2"];
    let forest = ["-e", "causal-forest", "--set", "n_estimators=400"];
    for (signal, learner) in [("-KILL", &lines[..]), ("-INT", &lines), ("-KILL", &forest), ("-INT", &forest)] {
        let more = [learner, &["--block-rows", "2000", "--scratch", "scratch"]].concat();
        let args = fit("people.parquet", "m.paretau", &more);
        let mut child = command(at).args(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let id = child.id().to_string();
        // The blocks are a file without a name: once it is open, rows are being dealt or fitted.
        let open = || {
            let files = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
            files.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|to| {
                let to = to.to_string_lossy();
                to.contains("scratch") && to.ends_with("(deleted)")
            })
        };
        let mut seen = false;
        while child.try_wait().unwrap().is_none() {
            if open() {
                seen = true;
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(seen || !cfg!(target_os = "linux"), "the fit ended before its blocks were seen");
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert!(!status.success());
        assert_eq!(names(&at.join("scratch")), Vec::<String>::new());
        assert_eq!(names(at), ["people.parquet", "scratch"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // From eight blocks on, the propensity has no more of them.
    for (n, name) in [("9600", "short.parquet"), ("38400", "long.parquet")] {
        simulate(at, n, name);
    }
    let [short, long] = ["short.parquet", "long.parquet"].map(|name| {
        common::peak(at, &fit(name, "m.paretau", &["-e", "lr-2", "--block-rows", "1200", "--threads", "1"]))
    });
    assert!(long < short + short / 3 + (8 << 10), "{short} KiB became {long} KiB with four times the rows");
}
