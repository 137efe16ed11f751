//! Records as tables: mean ± standard deviation over realisations and seeds, failures counted, never dropped.

use paretau_core::param_text;
use paretau_kernels::numeric::{mean, sample_sd};

use super::plan::Plan;
use super::records::Record;

/// Mean and standard deviation of some values.
pub(super) struct Summary {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) n: usize,
}

pub(super) fn summary(values: &[f64]) -> Option<Summary> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    Some(Summary { mean: mean(values), sd: sample_sd(values).unwrap_or(0.0), n })
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

/// A name or a message as text of a Markdown table: on one line, and with nothing in it that ends the cell or is markup.
pub(super) fn table_cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in paretau_core::printable(text).chars() {
        match c {
            '|' | '`' | '*' | '<' | '[' | ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// One row per data set and method, for reading by people; published figures stand beside the first metric.
pub fn markdown(plan: &Plan, records: &[&Record]) -> String {
    let metrics = metrics(plan, records);
    let mut out = format!(
        "# {}\n\n{}\n\nMean ± standard deviation over realisations and seeds.\n\n",
        table_cell(&plan.name),
        table_cell(&plan.summary)
    );
    let mut header = vec!["data".to_owned(), "method".to_owned()];
    for (k, metric) in metrics.iter().enumerate() {
        header.push(metric.clone());
        if let (0, Some(published)) = (k, plan.published.first()) {
            header.push(format!("published, {}", published.data));
        }
    }
    header.extend(["runs", "failed", "seconds per fit"].map(str::to_owned));
    let header: Vec<String> = header.iter().map(|name| table_cell(name)).collect();
    out += &format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for_each_row(plan, records, |data, method, rows| {
        let mut cells = vec![table_cell(data), table_cell(method)];
        for (k, metric) in metrics.iter().enumerate() {
            let ours = summary(&values(rows, metric)).map(|s| (s.mean, s.sd));
            cells.push(mean_and_sd(ours));
            if k == 0 && !plan.published.is_empty() {
                let published = plan.published.iter().find(|p| p.method == method);
                cells.push(mean_and_sd(published.map(|p| (p.mean, p.sd))));
            }
        }
        let failed = rows.iter().filter(|r| r.error.is_some()).count();
        let seconds = rows.iter().map(|r| r.seconds).sum::<f64>() / rows.len() as f64;
        cells.extend([rows.len().to_string(), failed.to_string(), format!("{seconds:.1}")]);
        out += &format!("| {} |\n", cells.join(" | "));
    });
    let errors: std::collections::BTreeMap<&str, usize> = records.iter().filter_map(|r| r.error.as_deref()).fold(
        std::collections::BTreeMap::default(),
        |mut all, error| {
            *all.entry(error).or_default() += 1;
            all
        },
    );
    for (error, n) in errors {
        out += &format!("\nFailed {n} times: {}\n", table_cell(error));
    }
    let note = plan.note_in_words();
    if !note.is_empty() {
        out += &format!("\n{note}\n");
    }
    out += "\nFigure: `figure.svg`, `figure.png`; paired comparisons: `comparison.md`; all on one page: `report.html`";
    out += if records.iter().any(|r| r.tuned.is_some()) { "; parameters found: `tuning.md`.\n" } else { ".\n" };
    out
}

/// The parameters that the searches found, one row per search; none without a search.
pub(super) fn tuned_params(plan: &Plan, records: &[&Record]) -> Option<String> {
    let mut rows: Vec<String> = vec![];
    for record in records {
        let Some(tuned) = &record.tuned else { continue };
        // Parameters that the plan fixes are not a result of the search.
        let own = tuned.params.0.iter().filter(|(name, _)| !record.cell.method.params.0.contains_key(*name));
        let params: Vec<String> = own.map(|(name, value)| format!("{name}={}", param_text(value))).collect();
        let params = if params.is_empty() { "as they were".to_owned() } else { table_cell(&params.join(" ")) };
        let ratio = tuned.default_value.map_or("–".to_owned(), |default| format!("{:.3}", tuned.value / default));
        let row = format!(
            "| {} | {} | {} | {} | {} | {ratio} | {params} |",
            table_cell(&record.cell.data.name),
            tuned.realisation,
            table_cell(record.cell.method.label()),
            record.cell.seed,
            tuned.trials
        );
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    (!rows.is_empty()).then(|| {
        format!(
            "# {}: parameters found\n\n{}\n\n`loss` is that of the best trial over that of the first one (the method as the \
             plan has it), on rows that no fit of the search saw.\n\n\
             | data | searched on realisation | method | seed | trials | loss | parameters |\n\
             |---|---|---|---|---|---|---|\n{}\n",
            table_cell(&plan.name),
            plan.note_in_words(),
            rows.join("\n")
        )
    })
}

fn mean_and_sd(value: Option<(f64, f64)>) -> String {
    value.map_or_else(|| "–".to_owned(), |(mean, sd)| format!("{} ± {}", three_places(mean), three_places(sd)))
}

/// A number with three places, or in powers of ten where that would be a long row of digits.
fn three_places(value: f64) -> String {
    if value.abs() < 1e9 { format!("{value:.3}") } else { format!("{value:.3e}") }
}

/// One row per data set, method and metric, for reading by programs.
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

pub(super) fn values(rows: &[&Record], metric: &str) -> Vec<f64> {
    rows.iter().filter_map(|r| r.scores.get(metric).copied()).collect()
}
