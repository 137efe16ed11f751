//! How often intervals hold the truth, and how often tests cry wolf, over fresh draws of known processes:
//! `cargo run --release -p paretau-study --example coverage -- [--replicates 200] [--only NAME,…] [--seed 1000] [--out DIR]`.
//!
//! Writes `records.jsonl`, one line per draw, and `table.md`; `experiments/coverage` holds the committed ones. Draws that the
//! folder's records hold already are not drawn again, so that a run may be stopped and taken up, and several processes may draw into
//! one folder; a study of another build begins in a folder of its own.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

mod designs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use designs::{PROCESSES, Process, Row, outcome};
use paretau::data::{RoleSpec, Table, TableColumn};
use paretau::nuisance::inference::clustered_mean;
use paretau::{Averages, Estimate, FitOptions, GroupEffect, Population, Seed, Severity};
use paretau_report::{EffectNode, Interval};
use paretau_study::DrawRecords;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

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
        let seeds: Vec<u64> = (first..first + replicates).collect();
        let mut truth_of = None;
        for seeds in seeds.chunks(AT_A_TIME) {
            // Other processes may have drawn some meanwhile.
            let missing: Vec<u64> = seeds.iter().copied().filter(|seed| !study.has(process, *seed)).collect();
            if missing.is_empty() {
                continue;
            }
            let truth = truth_of.get_or_insert_with(|| truth(process));
            let found: Vec<Record> = missing
                .par_iter()
                .map(|&seed| replicate(process, truth, Seed(seed), &estimator))
                .collect::<Result<_, _>>()
                .map_err(|e| e.to_string())?;
            study.add(&found)?;
        }
        if truth_of.is_some() {
            print!("{}", summarise(process, &of(&sorted(study.draws.all()), process)));
        }
    }
    // The table follows the records even where nothing was missing.
    study.add(&[])?;
    Ok(())
}

/// Draws after which records are kept.
const AT_A_TIME: usize = 10;

/// Where a record stands: by process, in the order of the list, and seed.
type Key = (usize, u64);

fn key(process: &str, seed: u64) -> Key {
    (PROCESSES.iter().position(|p| p.name == process).unwrap_or(usize::MAX), seed)
}

/// What one draw gave. Averages and groups are lists of numbers in the file, of five digits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    process: String,
    seed: u64,
    headline: Option<String>,
    ate: Option<Average>,
    att: Option<Average>,
    atc: Option<Average>,
    ato: Option<Average>,
    targeted: Option<Average>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    risk_ratio: Option<Average>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    odds_ratio: Option<Average>,
    oracle: Option<Average>,
    /// Averages that are shown without an interval.
    extrapolated: Vec<String>,
    /// Whether there is a serious warning.
    warned: bool,
    /// The groups' estimates; null where too few rows carry one.
    groups: Vec<Option<Group>>,
    /// Nodes of the small tree, and rows of the table of subgroups, whose interval leaves zero out.
    tree: usize,
    subgroups: usize,
}

impl Record {
    fn average(&self, name: &str) -> Option<&Average> {
        match name {
            "ate" => self.ate.as_ref(),
            "att" => self.att.as_ref(),
            "atc" => self.atc.as_ref(),
            "ato" => self.ato.as_ref(),
            "targeted" => self.targeted.as_ref(),
            "risk_ratio" => self.risk_ratio.as_ref(),
            "odds_ratio" => self.odds_ratio.as_ref(),
            "oracle" => self.oracle.as_ref(),
            _ => None,
        }
    }
}

/// An estimate, its standard error, the ends of its interval, the truth.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "[f64; 5]", into = "[f64; 5]")]
struct Average {
    value: f64,
    se: f64,
    lo: f64,
    hi: f64,
    truth: f64,
}

impl From<[f64; 5]> for Average {
    fn from([value, se, lo, hi, truth]: [f64; 5]) -> Self {
        Self { value, se, lo, hi, truth }
    }
}

impl From<Average> for [f64; 5] {
    fn from(Average { value, se, lo, hi, truth }: Average) -> Self {
        [value, se, lo, hi, truth].map(short)
    }
}

impl Average {
    fn is_covered(&self) -> bool {
        self.lo <= self.truth && self.truth <= self.hi
    }
}

/// The same of a group, with the ends of its part of the band before the truth.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "[f64; 7]", into = "[f64; 7]")]
struct Group {
    own: Average,
    band: (f64, f64),
}

impl From<[f64; 7]> for Group {
    fn from([value, se, lo, hi, low, high, truth]: [f64; 7]) -> Self {
        Self { own: Average { value, se, lo, hi, truth }, band: (low, high) }
    }
}

impl From<Group> for [f64; 7] {
    fn from(Group { own: Average { value, se, lo, hi, truth }, band: (low, high) }: Group) -> Self {
        [value, se, lo, hi, low, high, truth].map(short)
    }
}

/// Five digits, so that hardly ever an end of an interval moves across the truth.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// What has been drawn so far, by this process and others.
struct Study {
    out: PathBuf,
    draws: DrawRecords<Record>,
}

impl Study {
    fn open(out: PathBuf) -> paretau::Result<Self> {
        let draws = DrawRecords::open(&out.join("records.jsonl"))?;
        Ok(Self { out, draws })
    }

    fn has(&self, process: &Process, seed: u64) -> bool {
        self.draws.all().iter().any(|record| record.process == process.name && record.seed == seed)
    }

    /// Keeps further records, and makes the table from all there are.
    fn add(&mut self, found: &[Record]) -> paretau::Result<()> {
        self.draws.add(found, &self.out.join("table.md"), |all| {
            let all = sorted(all);
            let measured = PROCESSES.iter().map(|process| (process, of(&all, process)));
            measured
                .filter(|(_, own)| !own.is_empty())
                .fold(HEADER.to_owned(), |table, (process, own)| table + &summarise(process, &own))
        })
    }
}

/// The records in the order of their keys; one of those that two processes drew.
fn sorted(all: &[Record]) -> BTreeMap<Key, &Record> {
    all.iter().map(|record| (key(&record.process, record.seed), record)).collect()
}

/// The records of a process.
fn of<'a>(all: &BTreeMap<Key, &'a Record>, process: &Process) -> Vec<&'a Record> {
    all.range(key(process.name, 0)..=key(process.name, u64::MAX)).map(|(_, record)| *record).collect()
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
fn oracle(process: &Process, seed: Seed, truth: f64) -> Option<Average> {
    let mut scores = vec![];
    for_each_row(process, seed, |row, arm, y| {
        let weight = if arm > 0.5 { 1.0 / row.e } else { -1.0 / (1.0 - row.e) };
        scores.push(row.tau + weight * (y - row.mu0 - arm * row.tau));
    });
    let score = clustered_mean(&scores, None, None);
    let ((lo, hi), se) = (score.interval(0.95)?, score.se?);
    Some(Average { value: score.value, se, lo, hi, truth })
}

fn replicate(process: &Process, truth: &Truth, seed: Seed, estimator: &str) -> paretau::Result<Record> {
    let by = format!("x{}", BY + 1);
    let options = FitOptions { seed, by: vec![by], ..FitOptions::new(estimator) };
    let model = paretau::fit(draw(process, seed)?, &RoleSpec::new("t", "y"), &options)?;
    let fault = || paretau::Error::internal("the study", "there is no treated arm");
    let averages: &Averages = model.about().averages_of(1).ok_or_else(fault)?;
    let with_truth =
        |e: Option<Estimate>, truth: f64| e.map(|Estimate { value, se, lo, hi }| Average { value, se, lo, hi, truth });
    let of = |k: usize| with_truth(averages.of(Population::ALL[k]).ok(), truth.averages[k]);
    let (p0, p1) = truth.means;
    let odds = |p: f64| p / (1.0 - p);
    let zero_outs = |seen: &mut dyn Iterator<Item = Option<Interval>>| seen.filter(|seen| zero_out(*seen)).count();
    let findings = model.findings();
    let tree = findings.and_then(|found| found.tree.as_ref()).map_or(vec![], |tree| below(&tree.root));
    let table = findings.map_or(vec![], |found| found.subgroups.iter().map(|s| s.seen).collect());
    let groups = model.about().groups.as_ref();
    Ok(Record {
        process: process.name.to_owned(),
        seed: seed.0,
        headline: averages.headline.map(|headline| headline.name().to_owned()),
        ate: of(0),
        att: of(1),
        atc: of(2),
        ato: of(3),
        targeted: with_truth(averages.targeted, truth.averages[0]),
        risk_ratio: with_truth(averages.ratios.and_then(|ratios| ratios.risk_ratio), p1 / p0),
        odds_ratio: with_truth(averages.ratios.and_then(|ratios| ratios.odds_ratio), odds(p1) / odds(p0)),
        oracle: oracle(process, seed, truth.averages[0]),
        extrapolated: averages.extrapolated.iter().map(|found| found.population.name().to_owned()).collect(),
        warned: model.about().warnings.iter().any(|w| w.severity() == Severity::Serious),
        groups: groups.map_or(vec![], |found| {
            found.groups.iter().map(|group| group_record(group, truth, found.estimand)).collect()
        }),
        tree: zero_outs(&mut tree.into_iter()),
        subgroups: zero_outs(&mut table.into_iter()),
    })
}

/// A group's estimate with the truth about the values that it holds; its words say which.
fn group_record(group: &GroupEffect, truth: &Truth, population: Population) -> Option<Group> {
    let Estimate { value, se, lo, hi } = group.effect?;
    let number = |word: Option<&str>| word.and_then(|w| w.trim().parse::<f64>().ok());
    let after = |mark: &str| number(group.level.split(mark).nth(1).and_then(|rest| rest.split(',').next()));
    let (low, high) = (after("above ").unwrap_or(f64::NEG_INFINITY), after("at most ").unwrap_or(f64::INFINITY));
    Some(Group { own: Average { value, se, lo, hi, truth: truth.between(population, low, high) }, band: group.band? })
}

/// What is seen in the nodes below one.
fn below(node: &EffectNode) -> Vec<Option<Interval>> {
    let children = node.split.iter().flat_map(|split| [&split.left, &split.right]);
    children.flat_map(|child| std::iter::once(child.seen).chain(below(child))).collect()
}

fn zero_out(seen: Option<Interval>) -> bool {
    seen.is_some_and(|e| e.lo > 0.0 || e.hi < 0.0)
}

const HEADER: &str = "\
| process | what is hard | draws | ATE covered | oracle | bias/sd | se/sd | ATT | ATC | ATO | TMLE | headline covered | headline ATE | none | warned | groups | band | tree zero out | subgroups zero out | ratios |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn summarise(process: &Process, records: &[&Record]) -> String {
    let percent = |hits: Vec<bool>| {
        if hits.is_empty() {
            return "–".to_owned();
        }
        format!("{:.1}", 100.0 * hits.iter().filter(|h| **h).count() as f64 / hits.len() as f64)
    };
    let covered = |r: &Record, name: &str| r.average(name).map(Average::is_covered);
    let share = |name: &str| percent(records.iter().filter_map(|r| covered(r, name)).collect());
    // An average that rests on extrapolation is shown without its interval: its draws do not count, their share is named.
    let flagged = |r: &Record, name: &str| r.extrapolated.iter().any(|found| found == name);
    let shown = |name: &str| {
        let held = percent(records.iter().filter(|r| !flagged(r, name)).filter_map(|r| covered(r, name)).collect());
        let withheld = records.iter().filter(|r| flagged(r, name)).count();
        if withheld == 0 { held } else { format!("{held} ({:.0})", 100.0 * withheld as f64 / records.len() as f64) }
    };
    let everyone: Vec<&Average> = records.iter().filter_map(|r| r.ate.as_ref()).collect();
    let n = everyone.len().max(1) as f64;
    let bias = everyone.iter().map(|e| e.value - e.truth).sum::<f64>() / n;
    let sd = (everyone.iter().map(|e| (e.value - e.truth - bias).powi(2)).sum::<f64>() / n).sqrt();
    let se = everyone.iter().map(|e| e.se).sum::<f64>() / n;
    let of_headline = percent(records.iter().filter_map(|r| covered(r, r.headline.as_deref()?)).collect());
    let is_ate = |r: &Record| r.headline.as_deref() == Some("ate");
    let headline_ate = percent(records.iter().map(|r| is_ate(r)).collect());
    let none = percent(records.iter().map(|r| r.headline.is_none()).collect());
    // The rule about overlap: the headline moves or is withheld, or a serious warning stands beside it.
    let warned = percent(records.iter().map(|r| !is_ate(r) || r.warned).collect());
    let groups = || records.iter().flat_map(|r| r.groups.iter().flatten());
    let each = percent(groups().map(|g| g.own.is_covered()).collect());
    let in_band = |g: &Group| g.band.0 <= g.own.truth && g.own.truth <= g.band.1;
    let all_of = |r: &Record| r.groups.iter().flatten().all(in_band);
    let with_groups = records.iter().filter(|r| r.groups.iter().any(Option::is_some));
    let band = percent(with_groups.map(|r| all_of(r)).collect());
    // Shares of draws in which at least one interval leaves zero out: false alarms where there is no effect.
    let alarms = |of: fn(&Record) -> usize| percent(records.iter().map(|r| of(r) > 0).collect());
    let (risk, odds) = (share("risk_ratio"), share("odds_ratio"));
    let ratios = if risk == "–" { risk } else { format!("{risk}, {odds}") };
    format!(
        "| {} | {} | {} | {} | {} | {:.2} | {:.2} | {} | {} | {} | {} | {of_headline} | {headline_ate} | {none} | {warned} | {each} | {band} | {} | {} | {ratios} |\n",
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
        alarms(|r| r.tree),
        alarms(|r| r.subgroups),
    )
}
