//! From the records of a run's folder to the page about it.

use std::path::Path;

use paretau_core::{Error, Result};
use paretau_eval::METRICS;
use paretau_report::{RunRecords, RunScore};

use crate::experiment::Record;

/// One self-contained HTML page about the run in a folder.
pub fn report_run(folder: &Path) -> Result<String> {
    paretau_report::render_run(&run_records(folder)?)
}

/// Everything that the page about a run tells. Nothing in the folder is changed.
pub fn run_records(folder: &Path) -> Result<RunRecords> {
    let records = read(&folder.join("records.jsonl"))?;
    let mut rows: Vec<(&str, &str)> = vec![];
    for record in &records {
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
        let place = format!("{}, {}, seed {}", r.cell.data.name, r.cell.method.label(), r.cell.seed);
        r.error.as_ref().map(|error| format!("{place}: {error}"))
    });
    let name = folder.canonicalize().ok().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    Ok(RunRecords {
        name: name.unwrap_or_else(|| folder.display().to_string()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        failures: failures.collect(),
        scores,
    })
}

fn score(data: &str, method: &str, metric: &str, values: &[f64]) -> Option<RunScore> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
    Some(RunScore { data: data.to_owned(), method: method.to_owned(), metric: metric.to_owned(), mean, sd, n })
}

/// The whole lines of a records file, the last of each key.
fn read(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::File {
            path: path.to_path_buf(),
            column: None,
            row: None,
            message: "is not there: the folder holds no run; name the --out folder of `paretau run`".to_owned(),
        },
        _ => Error::Io { path: path.to_path_buf(), source },
    })?;
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut records: Vec<Record> = vec![];
    for (row, line) in text[..whole].lines().enumerate() {
        let record: Record = serde_json::from_str(line).map_err(|e| Error::File {
            path: path.to_path_buf(),
            column: None,
            row: Some(row as u64 + 1),
            message: format!("is not a record ({e})"),
        })?;
        match records.iter_mut().find(|r| r.key == record.key) {
            Some(earlier) => *earlier = record,
            None => records.push(record),
        }
    }
    if records.is_empty() {
        let message = "holds no records yet".to_owned();
        return Err(Error::File { path: path.to_path_buf(), column: None, row: None, message });
    }
    Ok(records)
}
