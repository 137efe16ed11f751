//! A run while it goes on: on a terminal a table that fills, one row per method, with the time left; elsewhere one line
//! per cell.

use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use paretau::{Event, Observer};
use paretau_study::experiment::{Method, Plan, RunProgress};

use crate::output;
use crate::progress::Progress;

/// Methods that the table shows; more would not fit a terminal.
const MOST_ROWS: usize = 20;

/// The counts and the score sum of one method so far.
#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    method: String,
    done: usize,
    failed: usize,
    sum: f64,
    scored: usize,
}

/// Shows a run as it goes on.
pub(crate) struct LiveTable {
    progress: Progress,
    bar: Option<ProgressBar>,
    metric: String,
    rows: Mutex<Vec<Row>>,
}

impl LiveTable {
    pub(crate) fn new(plan: &Plan, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{msg}\n{bar:24} {pos}/{len}, {elapsed} so far{prefix}") {
                bar.set_style(style);
            }
            bar.set_message(plan.name.clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let row = |method: &Method| Row { method: method.label().to_owned(), ..Row::default() };
        Self {
            progress: Progress::new(quiet),
            bar,
            metric: plan.metrics.first().cloned().unwrap_or_else(|| "pehe".to_owned()),
            rows: Mutex::new(plan.methods.iter().map(row).collect()),
        }
    }

    /// Adds a finished cell to the table, or prints its line.
    pub(crate) fn record(&self, progress: &RunProgress<'_>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut rows, progress, &self.metric);
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.total as u64);
                bar.set_position(progress.done as u64);
                bar.set_prefix(format!(", {} left", duration_in_words(progress.left)));
                bar.set_message(table(&rows, &self.metric));
            }
            None => self.progress.print_line(&line(progress, &self.metric)),
        }
    }
}

fn count(rows: &mut [Row], progress: &RunProgress<'_>, metric: &str) {
    let record = progress.record;
    let Some(row) = rows.iter_mut().find(|row| row.method == record.cell.method.label()) else { return };
    row.done += 1;
    row.failed += usize::from(record.error.is_some());
    if let Some(score) = record.scores.get(metric) {
        row.sum += score;
        row.scored += 1;
    }
}

/// One line about a finished cell.
fn line(progress: &RunProgress<'_>, metric: &str) -> String {
    let record = progress.record;
    let result = match (&record.error, record.scores.get(metric)) {
        (Some(error), _) => format!("failed: {error}"),
        (None, Some(score)) => format!("{metric} {}", output::number(*score)),
        (None, None) => "done".to_owned(),
    };
    let left = if progress.done == progress.total {
        String::new()
    } else {
        format!(", {} left", duration_in_words(progress.left))
    };
    format!(
        "[{}/{}] {}, realisation {}, {}: {result} ({:.1} s){left}",
        progress.done,
        progress.total,
        record.cell.data.name,
        record.cell.realisation,
        record.cell.method.label(),
        record.seconds
    )
}

fn table(rows: &[Row], metric: &str) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .take(MOST_ROWS)
        .map(|row| {
            let mean = if row.scored > 0 { output::number(row.sum / row.scored as f64) } else { "–".to_owned() };
            vec![row.method.clone(), row.done.to_string(), row.failed.to_string(), mean]
        })
        .collect();
    output::table(&["method", "done", "failed", &format!("mean {metric}")], &cells)
}

/// A duration, rounded as coarsely as an estimate deserves.
fn duration_in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=59 => "less than a minute".to_owned(),
        60..=5399 => format!("about {} min", (seconds + 30) / 60),
        5400..=172_799 => format!("about {} h", (seconds + 1800) / 3600),
        _ => format!("about {} days", (seconds + 43_200) / 86_400),
    }
}

impl Observer for LiveTable {
    fn event(&self, event: &Event) {
        // Stages and steps are in the table already.
        if let Event::Note { message } = event {
            match &self.bar {
                Some(bar) => bar.suspend(|| self.progress.print_line(message)),
                None => self.progress.print_line(message),
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.progress.interrupted()
    }
}

impl Drop for LiveTable {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_study::experiment::{Cell, Record};

    #[test]
    fn a_finished_cell_gives_a_line_and_updates_its_row() {
        let plan = Plan::open("first-look").unwrap();
        let cell = Cell::all(&plan).remove(1);
        let scores = [("pehe".to_owned(), 0.25)].into_iter().collect();
        let mut record = Record { key: cell.key(), cell, rows: None, tuned: None, scores, error: None, seconds: 2.04 };
        let at = |record: &'_ Record| -> (String, Vec<Row>) {
            let progress = RunProgress { record, done: 3, total: 10, left: Duration::from_mins(10) };
            let mut rows: Vec<Row> =
                plan.methods.iter().map(|m| Row { method: m.label().to_owned(), ..Row::default() }).collect();
            count(&mut rows, &progress, "pehe");
            (line(&progress, "pehe"), rows)
        };
        let (text, rows) = at(&record);
        assert_eq!(text, "[3/10] synthetic d=15, realisation 1, lr-2: pehe 0.2500 (2.0 s), about 10 min left");
        assert_eq!((rows[0].done, rows[1].done, rows[1].sum), (0, 1, 0.25));
        assert!(table(&rows, "pehe").contains("mean pehe"));
        record.error = Some("no rows".into());
        record.scores.clear();
        let (text, rows) = at(&record);
        assert!(text.contains("failed: no rows") && rows[1].failed == 1);
    }

    #[test]
    fn durations_are_rounded_in_words() {
        let words = [20, 90, 3600, 7200, 200_000].map(|s| duration_in_words(Duration::from_secs(s)));
        assert_eq!(words, ["less than a minute", "about 2 min", "about 60 min", "about 2 h", "about 2 days"]);
    }
}
