//! Records as tables: mean ± standard deviation over realisations and seeds, failures counted, never dropped.

use super::plan::Plan;
use super::records::Record;

struct Summary {
    mean: f64,
    sd: f64,
    n: usize,
}

fn summary(values: &[f64]) -> Option<Summary> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
    Some(Summary { mean, sd, n })
}

fn metrics(plan: &Plan, records: &[&Record]) -> Vec<String> {
    if !plan.metrics.is_empty() {
        return plan.metrics.clone();
    }
    let mut names: Vec<String> = records.iter().flat_map(|r| r.scores.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

/// One row a data set and method, for reading by people.
pub fn markdown(plan: &Plan, records: &[&Record]) -> String {
    let metrics = metrics(plan, records);
    let mut out =
        format!("# {}\n\n{}\n\nMean ± standard deviation over realisations and seeds.\n\n", plan.name, plan.summary);
    out += &format!("| data | method | {} | runs | failed |\n", metrics.join(" | "));
    out += &format!("|---|---|{}---|---|\n", "---|".repeat(metrics.len()));
    for_each_row(plan, records, |data, method, rows| {
        let cells: Vec<String> = metrics
            .iter()
            .map(|metric| match summary(&values(rows, metric)) {
                Some(s) => format!("{:.3} ± {:.3}", s.mean, s.sd),
                None => "–".to_owned(),
            })
            .collect();
        let failed = rows.iter().filter(|r| r.error.is_some()).count();
        out += &format!("| {data} | {method} | {} | {} | {failed} |\n", cells.join(" | "), rows.len());
    });
    out
}

/// One row a data set, method and metric, for reading by programs.
pub fn csv(plan: &Plan, records: &[&Record]) -> String {
    let mut out = "data,method,metric,mean,sd,n,failed\n".to_owned();
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for_each_row(plan, records, |data, method, rows| {
        let failed = rows.iter().filter(|r| r.error.is_some()).count();
        for metric in metrics(plan, records) {
            if let Some(s) = summary(&values(rows, &metric)) {
                out += &format!("{},{},{metric},{},{},{},{failed}\n", quote(data), quote(method), s.mean, s.sd, s.n);
            }
        }
    });
    out
}

fn for_each_row(plan: &Plan, records: &[&Record], mut row: impl FnMut(&str, &str, &[&Record])) {
    for data in &plan.data {
        for method in &plan.methods {
            let rows: Vec<&Record> = records
                .iter()
                .copied()
                .filter(|r| r.cell.data.name == data.name && r.cell.method.label() == method.label())
                .collect();
            if !rows.is_empty() {
                row(&data.name, method.label(), &rows);
            }
        }
    }
}

fn values(rows: &[&Record], metric: &str) -> Vec<f64> {
    rows.iter().filter_map(|r| r.scores.get(metric).copied()).collect()
}
