//! What is killed: commands, what they must leave behind, and how they look when they were left alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Field;

/// Files by name, as they are compared.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// How a scenario goes on after a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The same command again, which goes on where it was.
    Resume,
    /// The output must be the older file or the whole new one; the command is then done again.
    Replace,
}

/// Commands that run at once in a folder of their own, and what they make there.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Arguments of each process; `OUT` stands for the scenario's folder.
    pub(super) processes: Vec<Vec<String>>,
    pub(super) after: After,
    /// Files that older commands left in the folder.
    pub(super) before: Files,
    /// Files that there are in the end.
    pub(super) whole: Files,
    /// How long it takes when it is left alone.
    pub(super) takes: Duration,
}

const PLAN: &str = "name = \"siege\"\nsummary = \"quick cells\"\nmetrics = [\"pehe\"]\n\n[[data]]\nname = \"synthetic\"\n\
simulator = \"synthetic\"\nparams = { n = 200, d = 3 }\nrealisations = [1, 2, 3, 4]\n\n[[methods]]\nestimator = \"lr-1\"\n\n\
[[methods]]\nestimator = \"lr-2\"\n\n[[methods]]\nestimator = \"t-learner\"\nparams = { base = \"ridge\" }\n";

/// All scenarios, each done once undisturbed.
pub(super) fn all(field: &Field) -> Result<Vec<Scenario>> {
    std::fs::write(field.at("plan.toml"), PLAN)?;
    field.ok(&["simulate", "synthetic", "--n", "200", "--d", "3", "--out", "people.csv"])?;
    field.ok(&["simulate", "synthetic", "--n", "160", "--d", "3", "--seed", "5", "--out", "earlier.csv"])?;
    field.ok(&["simulate", "synthetic", "--n", "25000", "--d", "3", "--seed", "6", "--out", "many.csv"])?;
    let roles = ["--treatment", "t", "--outcome", "y"];
    field.ok(&[&["fit", "earlier.csv", "-e", "lr-1", "--out", "earlier.paretau"][..], &roles].concat())?;
    field.ok(&[&["fit", "people.csv", "-e", "lr-2", "--out", "model.paretau"][..], &roles].concat())?;
    field.ok(&["effect", "earlier.paretau", "earlier.csv", "--out", "earlier-effects.csv"])?;
    field.ok(&["effect", "earlier.paretau", "earlier.csv", "--out", "earlier-effects.parquet"])?;
    field.ok(&["report", "earlier.paretau", "--out", "earlier.html"])?;
    let old = |file: &str, name: &str| -> Result<Files> {
        Ok(Files::from([(name.to_owned(), std::fs::read(field.at(file))?)]))
    };
    let shards = |n: usize| -> Vec<Vec<String>> {
        (1..=n).map(|k| words(&format!("run plan.toml --out OUT --resume --threads 1 --shard {k}/{n}"))).collect()
    };
    let fit = "fit people.csv --treatment t --outcome y";
    let net = "-e tarnet --set members=1 --set max_steps=800 --set min_steps=800 --set dropout=0 --set l2=0.001";
    let mut scenarios = vec![
        scenario("run, one process", vec![words("run plan.toml --out OUT --resume --threads 1")], After::Resume),
        scenario("run, two processes on one folder", shards(2), After::Resume),
        scenario("run, four processes on one folder", shards(4), After::Resume),
        scenario(
            "fit with a checkpoint",
            vec![words(&format!("{fit} {net} --checkpoint OUT/c.checkpoint --resume --out OUT/model.paretau"))],
            After::Resume,
        ),
        scenario(
            "tune with records",
            vec![words(
                "tune people.csv --treatment t --outcome y -e lr-2 --trials 8 --folds 2 --records OUT/trials.jsonl --resume",
            )],
            After::Resume,
        ),
        Scenario {
            before: old("earlier.paretau", "model.paretau")?,
            ..scenario(
                "fit over an older model",
                vec![words(&format!("{fit} -e lr-2 --out OUT/model.paretau"))],
                After::Replace,
            )
        },
        Scenario {
            before: old("earlier-effects.csv", "effects.csv")?,
            ..scenario(
                "effect over older effects, CSV",
                vec![words("effect model.paretau many.csv --out OUT/effects.csv")],
                After::Replace,
            )
        },
        Scenario {
            before: old("earlier-effects.parquet", "effects.parquet")?,
            ..scenario(
                "effect over older effects, Parquet",
                vec![words("effect model.paretau many.csv --out OUT/effects.parquet")],
                After::Replace,
            )
        },
        Scenario {
            before: old("earlier.html", "page.html")?,
            ..scenario(
                "report over an older page",
                vec![words("report model.paretau --out OUT/page.html")],
                After::Replace,
            )
        },
    ];
    for scenario in &mut scenarios {
        let folder = fresh(field, scenario)?;
        let start = Instant::now();
        for process in &scenario.processes {
            let args = in_folder(process, "work");
            field.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        scenario.takes = start.elapsed() / scenario.processes.len() as u32;
        scenario.whole = files(&folder)?;
    }
    Ok(scenarios)
}

fn scenario(name: &'static str, processes: Vec<Vec<String>>, after: After) -> Scenario {
    Scenario { name, processes, after, before: Files::new(), whole: Files::new(), takes: Duration::ZERO }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The arguments with the folder's name in place of `OUT`.
pub(super) fn in_folder(args: &[String], folder: &str) -> Vec<String> {
    args.iter().map(|arg| arg.replace("OUT", folder)).collect()
}

/// The folder `work`, with what older commands left.
pub(super) fn fresh(field: &Field, scenario: &Scenario) -> Result<std::path::PathBuf> {
    let folder = field.at("work");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for (name, bytes) in &scenario.before {
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(folder)
}

/// Every file of a folder as it is compared: records sorted and without their seconds; tables and pages that show seconds
/// by their presence only.
pub(super) fn files(folder: &Path) -> Result<Files> {
    let mut found = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path)?;
        let bytes = match name.as_str() {
            "records.jsonl" => records(&bytes)?,
            "table.md" | "report.html" => vec![],
            _ => bytes,
        };
        found.insert(name, bytes);
    }
    Ok(found)
}

fn records(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut lines = vec![];
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut record: serde_json::Value = serde_json::from_slice(line)?;
        if let Some(fields) = record.as_object_mut() {
            fields.remove("seconds");
        }
        lines.push(record.to_string());
    }
    lines.sort();
    Ok(lines.join("\n").into_bytes())
}
