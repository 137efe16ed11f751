//! From the records of a run's folder to the page about it.

use std::collections::HashMap;
use std::path::Path;

use paretau_core::{Error, Result};
use paretau_eval::METRICS;
use paretau_kernels::numeric::{mean, sample_sd};
use paretau_report::{Figure, RunComparison, RunPair, RunPublished, RunRecords, RunScore, RunTail};

use crate::experiment::{self, Cell, Method, Plan, Record};

/// One self-contained HTML page about the run in a folder.
pub fn report_run(folder: &Path) -> Result<String> {
    paretau_report::render_run(&run_records(folder)?)
}

/// The content of the page about a run. Nothing in the folder is changed.
pub fn run_records(folder: &Path) -> Result<RunRecords> {
    let experiment::RecordLines { records, damaged } = experiment::read_records(folder)?;
    let name = folder.canonicalize().ok().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    let path = folder.join(experiment::PLAN_FILE);
    let plan = match std::fs::read_to_string(&path) {
        Ok(text) => Plan::parse(&text, &path)?,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            if records.is_empty() {
                let message = "holds no records yet".to_owned();
                return Err(Error::File { path: folder.join("records.jsonl"), column: None, row: None, message });
            }
            plan_of(&records, &name.unwrap_or_else(|| folder.display().to_string()))
        }
        Err(source) => return Err(Error::Io { path, source }),
    };
    let by_key: HashMap<&str, &Record> = records.iter().map(|record| (record.key.as_str(), record)).collect();
    let own: Vec<&Record> =
        Cell::all(&plan).iter().filter_map(|cell| by_key.get(cell.key().as_str()).copied()).collect();
    // Records of another version have other keys; a page about them is better than none.
    let own = if own.is_empty() { records.iter().collect() } else { own };
    let (figure, tails) = match &plan.illustration {
        Some(drawing) => drawing.draw(&plan.summary)?,
        None => (experiment::figure(&plan, &own), vec![]),
    };
    let mut study = study(&plan, &own, &figure, tails);
    study.failures.extend(damaged);
    Ok(study)
}

/// The content of the page about a plan's records.
pub(crate) fn study(plan: &Plan, records: &[&Record], figure: &Figure, tails: Vec<RunTail>) -> RunRecords {
    let mut rows: Vec<(&str, &str)> = vec![];
    for record in records {
        let row = (record.cell.data.name.as_str(), record.cell.method.label());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut scores = vec![];
    for metric in METRICS {
        for (data, method) in &rows {
            let own = records.iter().filter(|r| r.cell.data.name == *data && r.cell.method.label() == *method);
            let values: Vec<f64> = own.filter_map(|r| r.scores.get(metric.name).copied()).collect();
            scores.extend(score(data, method, metric.name, &values));
        }
    }
    let failures = records.iter().filter_map(|r| {
        let Cell { data, realisation, method, seed, .. } = &r.cell;
        let place = format!("{}, realisation {realisation}, {}, seed {seed}", data.name, method.label());
        r.error.as_ref().map(|error| format!("{place}: {error}"))
    });
    let seconds: f64 = records.iter().map(|r| r.seconds).sum();
    RunRecords {
        name: plan.name.clone(),
        summary: plan.summary.clone(),
        note: plan.note_in_words(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cells: Cell::all(plan).len(),
        done: records.len(),
        hours: seconds / 3600.0,
        failures: failures.collect(),
        figure: (!figure.is_empty()).then(|| figure.clone()),
        published: published(plan, &scores),
        comparison: experiment::compare(plan, records).map(comparison),
        tails,
        scores,
    }
}

/// Published figures beside ours, by the plan's first metric.
fn published(plan: &Plan, scores: &[RunScore]) -> Vec<RunPublished> {
    let Some(metric) = plan.metrics.first() else { return vec![] };
    let mut out = vec![];
    for theirs in &plan.published {
        let ours = scores.iter().filter(|s| s.method == theirs.method && s.metric == *metric);
        out.extend(ours.map(|ours| RunPublished {
            method: theirs.method.clone(),
            metric: metric.clone(),
            data: ours.data.clone(),
            mean: ours.mean,
            sd: ours.sd,
            published_data: theirs.data.clone(),
            published_mean: theirs.mean,
            published_sd: theirs.sd,
        }));
    }
    out
}

fn comparison(result: experiment::Comparison) -> RunComparison {
    let pair = |pair: experiment::Pair| RunPair {
        data: pair.data,
        against: pair.b,
        ratio: pair.ratio,
        interval: pair.interval,
        wins: pair.wins,
        n: pair.n,
    };
    RunComparison {
        metric: result.metric,
        n: result.n,
        ranks: result.ranks,
        hero: result.hero,
        pairs: result.pairs.into_iter().map(pair).collect(),
    }
}

/// A plan that would have given these records, for runs that kept none: data sets and methods as they were first met.
fn plan_of(records: &[Record], name: &str) -> Plan {
    let mut plan = Plan {
        name: name.to_owned(),
        summary: "A run without its plan".to_owned(),
        note: String::new(),
        data: vec![],
        methods: vec![],
        split: records[0].cell.split,
        seeds: vec![],
        metrics: vec![],
        hero: None,
        tune: None,
        tune_on: experiment::TuneOn::default(),
        quick: experiment::Quick::default(),
        published: vec![],
        figure: None,
        illustration: None,
    };
    for Record { cell, .. } in records {
        if !plan.data.iter().any(|data| data.name == cell.data.name) {
            plan.data.push(cell.data.clone());
        }
        if let Some(data) = plan.data.iter_mut().find(|data| data.name == cell.data.name)
            && !data.realisations.contains(&cell.realisation)
        {
            data.realisations.push(cell.realisation);
        }
        if !plan.methods.iter().map(Method::label).any(|label| label == cell.method.label()) {
            plan.methods.push(cell.method.clone());
        }
        if !plan.seeds.contains(&cell.seed) {
            plan.seeds.push(cell.seed);
        }
    }
    plan
}

fn score(data: &str, method: &str, metric: &str, values: &[f64]) -> Option<RunScore> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (mean, sd) = (mean(values), sample_sd(values));
    Some(RunScore { data: data.to_owned(), method: method.to_owned(), metric: metric.to_owned(), mean, sd, n })
}
