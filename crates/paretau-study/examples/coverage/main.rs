//! How often intervals hold the truth, and how often tests cry wolf, over fresh draws of known processes:
//! `cargo run --release -p paretau-study --example coverage -- [--replicates 200] [--only NAME,…] [--seed 1000] [--out DIR]`.
//!
//! Writes `records.jsonl`, one line per draw, and `table.md`; `experiments/coverage` holds the committed ones. Draws that the
//! folder's records hold already are not drawn again, so that a run may be stopped and taken up; a study of another build begins
//! in a folder of its own.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

mod designs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use designs::{PROCESSES, Process, Row, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::nuisance::OverlapReport;
use paretau::nuisance::inference::clustered_mean;
use paretau::{Averages, Estimate, FitOptions, GroupEffect, Population, Seed, Severity};
use paretau_report::{EffectNode, Interval};
use rayon::prelude::*;
use serde_json::{Value, json};

/// The column whose quantile bins are the groups.
const BY: usize = 0;
/// Rows by which population values are computed.
const POPULATION: usize = 400_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut replicates, mut first, mut only, mut out, mut estimator) =
        (200_u64, 1000_u64, Vec::<String>::new(), PathBuf::from("coverage"), "lr-2".to_owned());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--replicates" => replicates = value.parse()?,
            "--seed" => first = value.parse()?,
            "--only" => only = value.split(',').map(str::to_owned).collect(),
            "--out" => out = PathBuf::from(value),
            "--estimator" => estimator = value,
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    std::fs::create_dir_all(&out)?;
    let mut study = Study::open(out)?;
    let wanted = |p: &&Process| only.is_empty() || only.iter().any(|o| o == p.name);
    for process in PROCESSES.iter().filter(wanted) {
        let missing: Vec<u64> =
            (first..first + replicates).filter(|seed| !study.records.contains_key(&key(process.name, *seed))).collect();
        if missing.is_empty() {
            continue;
        }
        let truth = truth(process);
        for seeds in missing.chunks(AT_A_TIME) {
            let found: Vec<Value> = seeds
                .par_iter()
                .map(|&seed| replicate(process, &truth, Seed(seed), &estimator))
                .collect::<Result<_, _>>()
                .map_err(|e| e.to_string())?;
            study.add(found)?;
        }
        print!("{}", summarise(process, &study.of(process)));
    }
    // The table follows the records even where nothing was missing.
    study.add(vec![])?;
    Ok(())
}

/// Draws after which records are kept.
const AT_A_TIME: usize = 10;

/// Where a record stands: by process, in the order of the list, and seed.
type Key = (usize, u64);

fn key(process: &str, seed: u64) -> Key {
    (PROCESSES.iter().position(|p| p.name == process).unwrap_or(usize::MAX), seed)
}

/// What has been drawn so far.
struct Study {
    out: PathBuf,
    records: BTreeMap<Key, Value>,
}

impl Study {
    fn open(out: PathBuf) -> Result<Self, Box<dyn std::error::Error>> {
        let mut study = Self { out, records: BTreeMap::new() };
        if let Ok(lines) = std::fs::read_to_string(study.out.join("records.jsonl")) {
            for line in lines.lines() {
                let mut record: Value = serde_json::from_str(line)?;
                let process = record["process"].as_str().unwrap_or_default().to_owned();
                // Records of earlier studies do not have it; it needs no fit.
                if let (None, Some(known)) = (record.get("oracle"), PROCESSES.iter().find(|p| p.name == process)) {
                    let (seed, truth) = (record["seed"].as_u64(), record["ate"]["truth"].as_f64());
                    if let (Some(seed), Some(truth)) = (seed, truth) {
                        record["oracle"] = oracle(known, Seed(seed), truth);
                        shorten(&mut record);
                    }
                }
                study.records.insert(key(&process, record["seed"].as_u64().unwrap_or_default()), record);
            }
        }
        Ok(study)
    }

    /// Keeps further records, in files that are replaced whole.
    fn add(&mut self, found: Vec<Value>) -> std::io::Result<()> {
        for mut record in found {
            shorten(&mut record);
            let process = record["process"].as_str().unwrap_or_default().to_owned();
            self.records.insert(key(&process, record["seed"].as_u64().unwrap_or_default()), record);
        }
        let mut lines = String::new();
        self.records.values().for_each(|record| {
            let _ = writeln!(lines, "{record}");
        });
        let measured = PROCESSES.iter().map(|process| (process, self.of(process))).filter(|(_, own)| !own.is_empty());
        let table = measured.fold(HEADER.to_owned(), |table, (process, own)| table + &summarise(process, &own));
        for (name, text) in [("records.jsonl", lines), ("table.md", table)] {
            let (new, path) = (self.out.join(format!("{name}.new")), self.out.join(name));
            std::fs::write(&new, text)?;
            std::fs::rename(new, path)?;
        }
        Ok(())
    }

    fn of(&self, process: &Process) -> Vec<Value> {
        let own = self.records.range(key(process.name, 0)..=key(process.name, u64::MAX));
        own.map(|(_, record)| record.clone()).collect()
    }
}

/// Six digits of every number: more than a rate over draws can use.
fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().and_then(|v| format!("{v:.5e}").parse::<f64>().ok());
            *value = short.map_or(Value::Null, Value::from);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// What is true of a process.
struct Truth {
    /// Averages, in the order of [`Population::ALL`].
    averages: [f64; 4],
    /// Feature, effect and propensity of the population's rows, by rising feature.
    rows: Vec<(f64, f64, f64)>,
    /// Probabilities of the outcome without and with treatment.
    means: (f64, f64),
}

impl Truth {
    /// The average effect of those whose feature lies above `low` and at most at `high`, for a population.
    fn between(&self, population: Population, low: f64, high: f64) -> f64 {
        let from = self.rows.partition_point(|row| row.0 <= low);
        let to = self.rows.partition_point(|row| row.0 <= high);
        let (mut sum, mut total) = (0.0, 0.0);
        for &(_, tau, e) in &self.rows[from..to] {
            let w = match population {
                Population::Ate => 1.0,
                Population::Att => e,
                Population::Atc => 1.0 - e,
                Population::Ato => e * (1.0 - e),
            };
            sum += w * tau;
            total += w;
        }
        sum / total
    }
}

fn truth(process: &Process) -> Truth {
    let mut rng = Seed(7).named(process.name).rng();
    let (mut sums, mut totals) = ([0.0; 4], [0.0; 4]);
    let (mut rows, mut means) = (Vec::with_capacity(POPULATION), (0.0, 0.0));
    for _ in 0..POPULATION {
        let row = (process.draw)(&mut rng, process.d);
        for (k, w) in [1.0, row.e, 1.0 - row.e, row.e * (1.0 - row.e)].into_iter().enumerate() {
            sums[k] += w * row.tau;
            totals[k] += w;
        }
        means = (means.0 + row.mu0 / POPULATION as f64, means.1 + (row.mu0 + row.tau) / POPULATION as f64);
        rows.push((row.x[BY], row.tau, row.e));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    Truth { averages: std::array::from_fn(|k| sums[k] / totals[k]), rows, means }
}

fn draw(process: &Process, seed: Seed) -> paretau::Result<Table> {
    let (mut x, mut t, mut y) = (vec![vec![]; process.d], vec![], vec![]);
    for_each_row(process, seed, |row, arm, outcome| {
        y.push(outcome);
        t.push(arm);
        x.iter_mut().zip(row.x).for_each(|(column, v)| column.push(v));
    });
    let features = x.into_iter().enumerate().map(|(j, v)| TableColumn::number(format!("x{}", j + 1), v));
    Table::new([TableColumn::number("t", t), TableColumn::number("y", y)].into_iter().chain(features).collect())
}

/// Rows of a draw with their arms and outcomes.
fn for_each_row(process: &Process, seed: Seed, mut use_row: impl FnMut(Row, f64, f64)) {
    let mut rng = seed.named(process.name).rng();
    for _ in 0..process.n {
        let row = (process.draw)(&mut rng, process.d);
        let arm = f64::from(u8::from(rng.bernoulli(row.e)));
        let outcome = outcome(&mut rng, process.noise, row.mu0 + arm * row.tau);
        use_row(row, arm, outcome);
    }
}

/// Who knows propensities and expected outcomes averages the same rows without any error of nuisances: what is left is the luck of
/// the draw, against which an estimate is to be held.
fn oracle(process: &Process, seed: Seed, truth: f64) -> Value {
    let mut scores = vec![];
    for_each_row(process, seed, |row, arm, y| {
        let weight = if arm > 0.5 { 1.0 / row.e } else { -1.0 / (1.0 - row.e) };
        scores.push(row.tau + weight * (y - row.mu0 - arm * row.tau));
    });
    let score = clustered_mean(&scores, None, None);
    let (lo, hi) = score.interval(0.95).unwrap_or((f64::NAN, f64::NAN));
    json!({ "value": score.value, "se": score.se, "lo": lo, "hi": hi, "truth": truth })
}

fn replicate(process: &Process, truth: &Truth, seed: Seed, estimator: &str) -> paretau::Result<Value> {
    let by = format!("x{}", BY + 1);
    let options = FitOptions { seed, by: vec![by], ..FitOptions::new(estimator) };
    let model = paretau::fit(draw(process, seed)?, &RoleSpec::new("t", "y"), &options)?;
    let fault = || paretau::Error::internal("the study", "there is no treated arm");
    let averages: &Averages = model.about().averages_of(1).ok_or_else(fault)?;
    let mut record =
        json!({ "process": process.name, "seed": seed.0, "headline": averages.headline.map(Population::name) });
    let entry =
        |e: Estimate, truth: f64| json!({ "value": e.value, "se": e.se, "lo": e.lo, "hi": e.hi, "truth": truth });
    for (population, truth) in Population::ALL.into_iter().zip(truth.averages) {
        record[population.name()] = averages.of(population).map_or(Value::Null, |e| entry(e, truth));
    }
    record["extrapolated"] = averages.extrapolated.iter().map(|found| json!(found.population.name())).collect();
    record["targeted"] = averages.targeted.map_or(Value::Null, |e| entry(e, truth.averages[0]));
    if let Some(ratios) = averages.ratios {
        let (p0, p1) = truth.means;
        let odds = |p: f64| p / (1.0 - p);
        record["risk_ratio"] = ratios.risk_ratio.map_or(Value::Null, |e| entry(e, p1 / p0));
        record["odds_ratio"] = ratios.odds_ratio.map_or(Value::Null, |e| entry(e, odds(p1) / odds(p0)));
    }
    record["oracle"] = oracle(process, seed, truth.averages[0]);
    record["overlap"] = model.about().overlap_of(1).map_or(Value::Null, overlap);
    record["warned"] = json!(model.about().warnings.iter().any(|w| w.severity() == Severity::Serious));
    if let Some(found) = &model.about().groups {
        record["groups"] = found.groups.iter().map(|g| group(g, truth, found.estimand)).collect();
    }
    if let Some(findings) = model.findings() {
        let tree = findings.tree.as_ref().map_or(vec![], |tree| below(&tree.root));
        record["tree"] =
            json!({ "nodes": tree.len(), "zero_out": tree.iter().filter(|seen| zero_out(**seen)).count() });
        let table: Vec<Option<Interval>> = findings.subgroups.iter().map(|s| s.seen).collect();
        record["subgroups"] =
            json!({ "n": table.len(), "zero_out": table.iter().filter(|seen| zero_out(**seen)).count() });
    }
    Ok(record)
}

/// A group's estimate with the truth about the values that it holds; its words say which.
fn group(group: &GroupEffect, truth: &Truth, population: Population) -> Value {
    let Some(effect) = group.effect else { return json!({ "reason": group.reason }) };
    let number = |word: Option<&str>| word.and_then(|w| w.trim().parse::<f64>().ok());
    let after = |mark: &str| number(group.level.split(mark).nth(1).and_then(|rest| rest.split(',').next()));
    let (low, high) = (after("above ").unwrap_or(f64::NEG_INFINITY), after("at most ").unwrap_or(f64::INFINITY));
    json!({
        "lo": effect.lo, "hi": effect.hi, "band": group.band, "value": effect.value, "se": effect.se,
        "truth": truth.between(population, low, high),
    })
}

/// What is seen in the nodes below one.
fn below(node: &EffectNode) -> Vec<Option<Interval>> {
    let children = node.split.iter().flat_map(|split| [&split.left, &split.right]);
    children.flat_map(|child| std::iter::once(child.seen).chain(below(child))).collect()
}

fn zero_out(seen: Option<Interval>) -> bool {
    seen.is_some_and(|e| e.lo > 0.0 || e.hi < 0.0)
}

/// What the rule about overlap looks at.
fn overlap(overlap: &OverlapReport) -> Value {
    json!({
        "khat": overlap.arms.each_ref().map(|a| a.khat),
        "limit": overlap.arms.each_ref().map(|a| a.khat_threshold),
        "ess": overlap.arms.each_ref().map(|a| a.ess_smoothed / a.n as f64),
        "beyond": overlap.held.n,
    })
}

const HEADER: &str = "\
| process | what is hard | draws | ATE covered | oracle | bias/sd | se/sd | ATT | ATC | ATO | TMLE | headline covered | headline ATE | none | warned | groups | band | tree zero out | subgroups zero out | ratios |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
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
    // An average that rests on extrapolation is shown without its interval: its draws do not count, their share is named.
    let flagged = |r: &Value, name: &str| {
        r["extrapolated"].as_array().is_some_and(|all| all.iter().any(|found| found.as_str() == Some(name)))
    };
    let shown = |name: &str| {
        let held = percent(records.iter().filter(|r| !flagged(r, name)).filter_map(|r| covered(r, name)).collect());
        let withheld = records.iter().filter(|r| flagged(r, name)).count();
        if withheld == 0 { held } else { format!("{held} ({:.0})", 100.0 * withheld as f64 / records.len() as f64) }
    };
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
    // The rule about overlap: the headline moves or is withheld, or a serious warning stands beside it.
    let fires = |r: &Value| r["headline"] != "ate" || r["warned"] == true;
    let warned = percent(records.iter().map(fires).collect());
    let groups = || records.iter().flat_map(|r| r["groups"].as_array().into_iter().flatten());
    let inside = |g: &Value, lo: &Value, hi: &Value| -> Option<bool> {
        let truth = g["truth"].as_f64()?;
        Some(lo.as_f64()? <= truth && truth <= hi.as_f64()?)
    };
    let each = percent(groups().filter_map(|g| inside(g, &g["lo"], &g["hi"])).collect());
    let whole = |r: &Value| -> Option<bool> {
        let all: Vec<bool> =
            r["groups"].as_array()?.iter().filter_map(|g| inside(g, &g["band"][0], &g["band"][1])).collect();
        (!all.is_empty()).then(|| all.iter().all(|hit| *hit))
    };
    let band = percent(records.iter().filter_map(whole).collect());
    // Shares of draws in which at least one interval leaves zero out: false alarms where there is no effect.
    let alarms = |name: &str| percent(records.iter().map(|r| r[name]["zero_out"].as_u64() > Some(0)).collect());
    let (risk, odds) = (share("risk_ratio"), share("odds_ratio"));
    let ratios = if risk == "–" { risk } else { format!("{risk}, {odds}") };
    format!(
        "| {} | {} | {} | {} | {} | {:.2} | {:.2} | {} | {} | {} | {} | {of_headline} | {is_ate} | {none} | {warned} | {each} | {band} | {} | {} | {ratios} |\n",
        process.name,
        process.about,
        records.len(),
        shown("ate"),
        share("oracle"),
        bias / sd.max(1e-12),
        se / sd.max(1e-12),
        shown("att"),
        shown("atc"),
        shown("ato"),
        share("targeted"),
        alarms("tree"),
        alarms("subgroups"),
    )
}
