//! What people read and type around a fit: the configuration that `init` writes, the log, manual pages, completions, tables
//! that fit, colours, the page in the reader's words, and what `diagnose` suspects.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{json, ok, paretau};

fn with_env(folder: &Path, env: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paretau"));
    command.args(args).current_dir(folder).env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.envs(env.iter().copied()).output().unwrap()
}

fn text(out: &Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout.clone()).unwrap()
}

fn folder_with_people() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), &["simulate", "synthetic", "--n", "400", "--d", "6", "--out", "people.csv"]);
    folder
}

#[test]
fn init_writes_a_configuration_that_fit_accepts() {
    let folder = folder_with_people();
    let at = folder.path();
    ok(at, &["init", "people.csv", "--estimator", "lr-2", "--out", "c.toml"]);
    let config = std::fs::read_to_string(at.join("c.toml")).unwrap();
    for words in [
        "treatment = \"t\"",
        "outcome = \"y\"",
        "ignore = [\"mu0\"",
        "[reading]",
        "estimator = \"lr-2\"",
        "# penalty = ",
    ] {
        assert!(config.contains(words), "{words}\n{config}");
    }
    ok(at, &["fit", "people.csv", "--config", "c.toml", "--out", "a.paretau"]);
    let flags = ["--treatment", "t", "--outcome", "y", "--ignore", "mu0,mu1,e", "--estimator", "lr-2"];
    ok(at, &[&["fit", "people.csv"], &flags[..], &["--out", "b.paretau"]].concat());
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("a.paretau"), bytes("b.paretau"), "the file says the same as the flags");
    // Every commented line is one that could be used: without the marks, sections still parse.
    let uncommented: String = config
        .lines()
        .skip_while(|line| !line.starts_with("[parameters]"))
        .filter(|line| {
            line.starts_with('[')
                || line.trim_start_matches("# ").split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
        })
        .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
        .collect();
    std::fs::write(at.join("d.toml"), uncommented).unwrap();
    ok(at, &[&["fit", "people.csv", "--config", "d.toml"], &flags[..], &["--out", "d.paretau"]].concat());
    // A file of one's own is kept; a configuration is replaced; mistakes are named.
    std::fs::write(at.join("mine.toml"), "x = 1\n").unwrap();
    assert_eq!(paretau(at, &["init", "people.csv", "--out", "mine.toml"]).status.code(), Some(3));
    ok(at, &["init", "people.csv", "--out", "c.toml"]);
    std::fs::write(at.join("wrong.toml"), "[columns]\ntreatmnt = \"t\"\n").unwrap();
    let out = paretau(at, &["fit", "people.csv", "--config", "wrong.toml", "--out", "w.paretau"]);
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.code() == Some(3) && message.contains("treatmnt") && message.contains("wrong.toml"),
        "{message}"
    );
    let out = paretau(at, &["fit", "people.csv", "--treatment", "t", "--out", "w.paretau"]);
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(2) && message.contains("--outcome is required"), "{message}");
}

#[test]
fn a_log_keeps_the_command_its_stages_and_its_errors() {
    let folder = folder_with_people();
    let at = folder.path();
    let fit = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "--estimator", "lr-2", "--out", "m.paretau"];
    ok(at, &[&fit[..], &["--quiet", "--log", "fit.log"]].concat());
    paretau(
        at,
        &["fit", "nowhere.csv", "--treatment", "t", "--outcome", "y", "--out", "m.paretau", "--log", "fit.log"],
    );
    let log = std::fs::read_to_string(at.join("fit.log")).unwrap();
    assert!(log.starts_with("# log of paretau") && log.matches("# log of").count() == 1, "{log}");
    for words in ["paretau fit people.csv", "stage: ", "not used as features", "done", "error (exit 3): nowhere.csv"] {
        assert!(log.contains(words), "{words}\n{log}");
    }
    let before = std::fs::read(at.join("people.csv")).unwrap();
    let out = paretau(at, &["list", "plans", "--log", "people.csv"]);
    assert_eq!(out.status.code(), Some(3));
    assert_eq!(std::fs::read(at.join("people.csv")).unwrap(), before, "data are never a log");
}

#[test]
fn every_command_has_a_manual_page_and_completions_know_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let help = ok(at, &["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 18, "{commands:?}");
    for command in commands {
        let page = ok(at, &["man", command]);
        assert!(page.contains(".TH") && page.contains(&format!("paretau\\-{command}")), "{command}: {page}");
        assert!(page.contains("SYNOPSIS"), "{command}");
    }
    assert!(ok(at, &["man"]).contains("SUBCOMMANDS"));
    let out = paretau(at, &["man", "fitt"]);
    assert!(out.status.code() == Some(2) && String::from_utf8_lossy(&out.stderr).contains("did you mean `fit`"));
    for shell in ["bash", "zsh", "fish"] {
        let script = ok(at, &["completions", shell]);
        for name in ["causal-forest", "dpsw-norm", "n_estimators=", "placebo-treatment"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
        // Scripts for fish complete the values of options only.
        for name in ["first-look", "synthetic"].iter().filter(|_| shell != "fish") {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
}

/// What bash offers for the last of the words.
#[cfg(unix)]
fn offered(at: &std::path::Path, words: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_paretau");
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let script = format!(
        "source <('{program}' completions bash)\nCOMP_WORDS=(paretau {})\nCOMP_CWORD={}\n\
         paretau() {{ '{program}' \"$@\"; }}\n_paretau_or_column paretau '{last}' '{before}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len()
    );
    let out = std::process::Command::new("bash").args(["-c", &script]).current_dir(at).output().unwrap();
    String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn completions_know_the_columns_of_the_data_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("trial.csv"), "age,arm,amount paid,y\n31,0,2.5,1\n42,1,1.5,0\n").unwrap();
    assert_eq!(ok(at, &["column-names", "trial.csv"]), "age\narm\namount paid\ny\n");
    assert_eq!(offered(at, &["fit", "trial.csv", "--treatment", "a"]), ["age", "arm", "amount\\ paid"]);
    assert_eq!(offered(at, &["fit", "trial.csv", "--features", "age,ar"]), ["age,arm"]);
    assert_eq!(offered(at, &["fit", "trial.csv", "--estimator", "dpsw-n"]), ["dpsw-norm"]);
    assert_eq!(offered(at, &["fit", "trial.csv", "--set", "n_est"]), ["n_estimators="]);
    assert!(offered(at, &["fit", "--trea"]).contains(&"--treatment".to_owned()));
    // A file that is none of ours offers nothing, and no message.
    let out = paretau(at, &["column-names", "nothing.csv"]);
    assert!(out.status.success() && out.stdout.is_empty() && out.stderr.is_empty());
    for (shell, word) in [("zsh", ":COL:_paretau_columns"), ("fish", "-l treatment -x -a '(__paretau_columns)'")] {
        assert!(ok(at, &["completions", shell]).contains(word), "{shell}");
    }
}

#[test]
fn tables_fit_the_width_and_names_stay_whole() {
    let folder = folder_with_people();
    let at = folder.path();
    let check = ["check", "people.csv", "--quiet"];
    let compare =
        ["compare", "people.csv", "--treatment", "t", "--outcome", "y", "--estimators", "lr-1,lr-2", "--quiet"];
    for args in [&["list", "estimators"][..], &["list", "metrics"], &["describe", "causal-forest"], &check, &compare] {
        let whole = text(&with_env(at, &[], args));
        for width in [80, 100, 140] {
            let shown = text(&with_env(at, &[("COLUMNS", &width.to_string())], args));
            for line in shown.lines() {
                assert!(line.chars().count() <= width, "{args:?} at {width}: {line}");
            }
            // Seconds of a comparison differ from run to run.
            let changes = |word: &str| args[0] == "compare" && word.parse::<f64>().is_ok();
            for word in whole.split_whitespace().filter(|word| !word.starts_with('-') && !changes(word)) {
                assert!(shown.contains(word), "{args:?} at {width} lost or broke {word}");
            }
        }
    }
    // A file or a program gets whole lines, and JSON is never wrapped.
    let document = text(&with_env(at, &[("COLUMNS", "40")], &["list", "estimators", "--json"]));
    serde_json::from_str::<serde_json::Value>(&document).unwrap();
}

#[test]
fn colours_are_for_terminals_and_can_be_refused() {
    let folder = folder_with_people();
    let at = folder.path();
    let args = ["list", "plans"];
    let escape = '\u{1b}';
    assert!(!text(&with_env(at, &[], &args)).contains(escape), "a pipe is no terminal");
    let forced = text(&with_env(at, &[("CLICOLOR_FORCE", "1")], &args));
    assert!(forced.starts_with("\u{1b}[1mname"), "{forced}");
    assert!(!text(&with_env(at, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &args)).contains(escape));
    let wrong = with_env(at, &[("CLICOLOR_FORCE", "1")], &["describe", "lr-3"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("\u{1b}[1;31mparetau:"));
}

#[test]
fn the_page_speaks_the_readers_words() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // A trial, so that nothing rests on extrapolation.
    ok(at, &["simulate", "trial", "--n", "400", "--out", "people.csv"]);
    let fit = ["fit", "people.csv", "--treatment", "t", "--outcome", "y", "--ignore", "mu0,mu1,e", "--by", "x1"];
    ok(at, &[&fit[..], &["--estimator", "causal-forest", "--set", "n_estimators=50", "--out", "m.paretau"]].concat());
    let words = ["--title", "Our <question>", "--date", "31 May 2026", "--label", "t=The drug", "--label", "t:1=drug"];
    let more = ["--label", "x1=First score", "--label", "y=Weight", "--unit", "kg", "--lower-is-better"];
    ok(at, &[&["report", "m.paretau", "--out", "r.html"], &words[..], &more].concat());
    let page = std::fs::read_to_string(at.join("r.html")).unwrap();
    for words in [
        "<h1>Our &lt;question&gt;</h1>",
        "31 May 2026",
        "The drug",
        " kg</strong>",
        "Who benefits",
        "effect on Weight, kg",
        "First score",
        "id=\"asked-groups\"",
        "id=\"subgroups\"",
        "id=\"along-1\"",
        "id=\"targeting\"",
        "Reproduce this",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // What reproduces the model keeps the names in the data.
    assert!(page.contains("--treatment</span> t <span class=\"flag\">--outcome</span> y"));
    for (args, code, words) in [
        (vec!["--label", "tt=x"], 3, "did you mean `t`"),
        (vec!["--label", "t"], 2, "--label"),
        (vec!["--out", "r.png"], 3, ".html or .pdf"),
        (vec!["--out", "r.docx"], 3, ".html or .pdf"),
        (vec!["--out", "r"], 3, ".html or .pdf"),
    ] {
        let out = paretau(at, &[&["report", "m.paretau"], &args[..]].concat());
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(code) && message.contains(words), "{args:?}: {message}");
    }
    let out = with_env(at, &[("PATH", "/nowhere")], &["report", "m.paretau", "--out", "r.pdf"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("none was found"), "no browser, no PDF");
    assert!(!at.join("r.pdf").exists());
}

#[test]
fn a_unit_for_percentage_points_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows: String =
        (0..200).map(|i| format!("{},{},{}\n", i % 2, u8::from(i * 7 % 11 < 4 + i % 2 * 3), i * 13 % 29)).collect();
    std::fs::write(at.join("d.csv"), format!("t,y,x\n{rows}")).unwrap();
    ok(at, &["fit", "d.csv", "--treatment", "t", "--outcome", "y", "--estimator", "lr-2", "--out", "m.paretau"]);
    let out = paretau(at, &["report", "m.paretau", "--unit", "kg", "--out", "r.html"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("percentage points"));
}

#[test]
fn diagnose_names_suspects_in_every_arm_and_rows_alike_in_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut rows = String::from("pid,arm,y,x,dose,x_followup\n");
    for i in 0..600_u32 {
        let arm = ["none", "low", "high"][(i % 3) as usize];
        let noise = f64::from(i * 7919 % 101) / 101.0;
        let dose = if i % 3 == 0 { String::new() } else { format!("{}", f64::from(i % 3) * 10.0 + noise) };
        // One row that is in the other arm than its feature says.
        let x = if i % 3 == 0 { noise } else { noise + 0.3 };
        // Rows that are left out count in the numbers of the others.
        let y = if i % 97 == 5 { String::new() } else { (f64::from(i * 31 % 17) + noise).to_string() };
        rows += &format!("p{i:04},{arm},{y},{x:.4},{dose},{}\n", i * 17 % 23);
    }
    std::fs::write(at.join("d.csv"), rows).unwrap();
    let args = ["diagnose", "d.csv", "--treatment", "arm", "--outcome", "y", "--control-value", "none", "--id", "pid"];
    let shown = ok(at, &args);
    let found = json(at, &args);
    let codes: Vec<&str> = found["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"treatment-determined") && codes.contains(&"post-treatment-suspect"), "{codes:?}\n{shown}");
    assert!(
        shown.contains("column `dose` determines the treatment") && shown.contains("--ignore x_followup"),
        "{shown}"
    );
    assert!(shown.contains("arm `high` against `none`") && shown.contains("arm `low` against `none`"), "{shown}");
    assert_eq!(found["further_arms"].as_array().unwrap().len(), 1);
    // Rows are numbered from 1 in both, and each has its name: row k is p(k-1).
    let pairs = |own: &serde_json::Value| -> Vec<(u64, String)> {
        let rows = own["overlap"]["rows_at_risk"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap());
        rows.zip(own["ids_at_risk"].as_array().unwrap())
            .map(|(row, id)| (row, id.as_str().unwrap().to_owned()))
            .collect()
    };
    let first = pairs(&found);
    assert!(!first.is_empty(), "{shown}");
    for (row, id) in first.iter().chain(&pairs(&found["further_arms"][0])) {
        assert_eq!(*id, format!("p{:04}", row - 1));
    }
    assert!(shown.contains(&format!("rows most at risk: {} ({})", first[0].0, first[0].1)), "{shown}");
    // A fit numbers the same rows the same, of every arm.
    let fit = [&["fit"], &args[1..], &["--estimator", "lr-2", "--out", "m.paretau"]].concat();
    ok(at, &fit);
    let known = json(at, &["diagnose", "m.paretau"]);
    let rows = |own: &serde_json::Value| own["overlap"]["rows_at_risk"].as_array().unwrap().clone();
    for (known, found) in [(&known, &found), (&known["further_arms"][0], &found["further_arms"][0])] {
        let most = rows(known).len();
        assert!(most > 0 && rows(known) == rows(found)[..most], "{known}");
    }
    assert_eq!(known["further_arms"][0]["arms"], serde_json::json!(["none", "low"]));
}
