//! How often intervals hold the truth, and how often tests cry wolf, over fresh draws of known processes:
//! `cargo run --release -p paretau-study --example coverage -- [--replicates 200] [--only NAME,…] [--out DIR]`.
//!
//! Writes `records.jsonl`, one line per draw, and `table.md`; `experiments/coverage` holds the committed ones.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

mod designs;

use std::fmt::Write as _;
use std::path::PathBuf;

use designs::{PROCESSES, Process, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::{Averages, FitOptions, Model, Population, Seed};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Rows by which population values are computed.
const POPULATION: usize = 400_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut replicates, mut only, mut out, mut estimator) =
        (200, vec![], PathBuf::from("coverage"), "lr-2".to_owned());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--replicates" => replicates = value.parse()?,
            "--only" => only = value.split(',').map(str::to_owned).collect(),
            "--out" => out = PathBuf::from(value),
            "--estimator" => estimator = value,
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&out)?;
    let (mut lines, mut table) = (String::new(), HEADER.to_owned());
    for process in PROCESSES.iter().filter(|p| only.is_empty() || only.iter().any(|o| o == p.name)) {
        let truth = truth(process);
        let records: Vec<Value> = (0..replicates)
            .into_par_iter()
            .map(|k| replicate(process, &truth, Seed(1000 + k as u64), &estimator))
            .collect::<Result<_, _>>()
            .map_err(|e| e.to_string())?;
        for record in &records {
            let _ = writeln!(lines, "{record}");
        }
        let row = summarise(process, &records);
        print!("{row}");
        table += &row;
    }
    std::fs::write(out.join("records.jsonl"), lines)?;
    std::fs::write(out.join("table.md"), table)?;
    Ok(())
}

/// True averages, in the order of [`Population::ALL`].
fn truth(process: &Process) -> [f64; 4] {
    let mut rng = Seed(7).named(process.name).rng();
    let (mut sums, mut totals) = ([0.0; 4], [0.0; 4]);
    for _ in 0..POPULATION {
        let row = (process.draw)(&mut rng, process.d);
        for (k, w) in [1.0, row.e, 1.0 - row.e, row.e * (1.0 - row.e)].into_iter().enumerate() {
            sums[k] += w * row.tau;
            totals[k] += w;
        }
    }
    std::array::from_fn(|k| sums[k] / totals[k])
}

fn draw(process: &Process, seed: Seed) -> paretau::Result<Table> {
    let mut rng = seed.named(process.name).rng();
    let (mut x, mut t, mut y) = (vec![vec![]; process.d], vec![], vec![]);
    for _ in 0..process.n {
        let row = (process.draw)(&mut rng, process.d);
        let arm = f64::from(u8::from(rng.bernoulli(row.e)));
        y.push(outcome(&mut rng, process.noise, row.mu0 + arm * row.tau));
        t.push(arm);
        x.iter_mut().zip(row.x).for_each(|(column, v)| column.push(v));
    }
    let features = x.into_iter().enumerate().map(|(j, v)| TableColumn::number(&format!("x{}", j + 1), v));
    Table::new([TableColumn::number("t", t), TableColumn::number("y", y)].into_iter().chain(features).collect())
}

fn replicate(process: &Process, truth: &[f64; 4], seed: Seed, estimator: &str) -> paretau::Result<Value> {
    let options = FitOptions { seed, ..FitOptions::new(estimator) };
    let model = paretau::fit(draw(process, seed)?, &RoleSpec::new("t", "y"), &options)?;
    let averages: &Averages = &model.about().averages;
    let mut record =
        json!({ "process": process.name, "seed": seed.0, "headline": averages.headline.map(Population::name) });
    for (population, truth) in Population::ALL.into_iter().zip(truth) {
        record[population.name()] = averages
            .of(population)
            .map_or(Value::Null, |e| json!({ "value": e.value, "se": e.se, "lo": e.lo, "hi": e.hi, "truth": truth }));
    }
    record["overlap"] = overlap(&model);
    Ok(record)
}

/// What the rule about overlap looks at.
fn overlap(model: &Model) -> Value {
    let overlap = &model.about().overlap;
    json!({
        "khat": overlap.arms.each_ref().map(|a| a.khat),
        "limit": overlap.arms.each_ref().map(|a| a.khat_threshold),
        "ess": overlap.arms.each_ref().map(|a| a.ess_smoothed / a.n as f64),
        "beyond": overlap.held.n,
    })
}

const HEADER: &str = "\
| process | what is hard | ATE covered | bias/se | width/oracle | ATT | ATC | ATO | headline covered | headline ATE | none |
|---|---|---|---|---|---|---|---|---|---|---|
";

fn summarise(process: &Process, records: &[Value]) -> String {
    let covered = |r: &Value, name: &str| -> Option<bool> {
        let e = r.get(name)?;
        Some(e["lo"].as_f64()? <= e["truth"].as_f64()? && e["truth"].as_f64()? <= e["hi"].as_f64()?)
    };
    let percent = |hits: Vec<bool>| {
        if hits.is_empty() {
            return "–".to_owned();
        }
        format!("{:.1}", 100.0 * hits.iter().filter(|h| **h).count() as f64 / hits.len() as f64)
    };
    let share = |name: &str| percent(records.iter().filter_map(|r| covered(r, name)).collect());
    let errors: Vec<f64> =
        records.iter().filter_map(|r| Some(r["ate"]["value"].as_f64()? - r["ate"]["truth"].as_f64()?)).collect();
    let n = errors.len().max(1) as f64;
    let bias = errors.iter().sum::<f64>() / n;
    let sd = (errors.iter().map(|e| (e - bias).powi(2)).sum::<f64>() / n).sqrt();
    let se = records.iter().filter_map(|r| r["ate"]["se"].as_f64()).sum::<f64>() / n;
    let headline = |r: &Value| covered(r, r["headline"].as_str()?);
    let of_headline = percent(records.iter().filter_map(headline).collect());
    let is_ate = percent(records.iter().map(|r| r["headline"] == "ate").collect());
    let none = percent(records.iter().map(|r| r["headline"].is_null()).collect());
    format!(
        "| {} | {} | {} | {:.2} | {:.2} | {} | {} | {} | {of_headline} | {is_ate} | {none} |\n",
        process.name,
        process.about,
        share("ate"),
        bias / sd.max(1e-12),
        se / sd.max(1e-12),
        share("att"),
        share("atc"),
        share("ato"),
    )
}
