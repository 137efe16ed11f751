//! How far a run is: after every cell, what it gave and how long the others will take.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::cell::Cell;
use super::records::Record;

/// The progress of a run at the moment a cell is finished.
#[derive(Debug, Clone, Copy)]
pub struct RunProgress<'a> {
    /// What was just recorded.
    pub record: &'a Record,
    /// Cells done in this run.
    pub done: usize,
    /// Cells that this run has to do.
    pub total: usize,
    /// Estimated time for the others.
    pub left: Duration,
}

/// Called after every finished cell, from any thread.
pub type OnCellDone<'a> = &'a (dyn Fn(&RunProgress<'_>) + Sync);

/// Durations of the finished cells of one method and data set.
type Took = BTreeMap<(String, String), (f64, usize)>;

/// Estimates the time left from what cells of the same method and data took. Methods differ a thousandfold, so that the
/// share of finished cells would mislead.
#[derive(Debug)]
pub(super) struct TimeLeft {
    start: Instant,
    /// Seconds of work done now, all threads together.
    work: f64,
    done: usize,
    total: usize,
    /// By method and data set.
    took: Took,
    /// Cells still open, by method and data set.
    open: BTreeMap<(String, String), usize>,
}

fn method_and_data(cell: &Cell) -> (String, String) {
    (cell.method.label().to_owned(), cell.data.name.clone())
}

impl TimeLeft {
    /// Starts the estimate; earlier records show how long cells take.
    pub(super) fn start<'r>(open: &[&Cell], known: impl Iterator<Item = &'r Record>) -> Self {
        let mut time_left = Self {
            start: Instant::now(),
            work: 0.0,
            done: 0,
            total: open.len(),
            took: Took::new(),
            open: BTreeMap::new(),
        };
        for cell in open {
            *time_left.open.entry(method_and_data(cell)).or_default() += 1;
        }
        for record in known {
            time_left.add_duration(record);
        }
        time_left
    }

    fn add_duration(&mut self, record: &Record) {
        let seen = self.took.entry(method_and_data(&record.cell)).or_default();
        *seen = (seen.0 + record.seconds, seen.1 + 1);
    }

    /// Counts a finished cell.
    pub(super) fn done<'a>(&mut self, record: &'a Record) -> RunProgress<'a> {
        self.add_duration(record);
        self.work += record.seconds;
        self.done += 1;
        if let Some(open) = self.open.get_mut(&method_and_data(&record.cell)) {
            *open = open.saturating_sub(1);
        }
        let at_once = (self.work / self.start.elapsed().as_secs_f64().max(1e-9)).max(1.0);
        let left = Duration::from_secs_f64((self.seconds_left() / at_once).min(1e9));
        RunProgress { record, done: self.done, total: self.total, left }
    }

    /// Seconds of work in the open cells: as cells of the same method and data took, else of the same method, else all.
    fn seconds_left(&self) -> f64 {
        let mean = |cells: &mut dyn Iterator<Item = &(f64, usize)>| {
            let (sum, n) = cells.fold((0.0, 0), |(sum, n), (s, k)| (sum + s, n + k));
            (n > 0).then(|| sum / n as f64)
        };
        self.open
            .iter()
            .map(|(kind, open)| {
                let same = self.took.get(kind).map(|(sum, n)| sum / *n as f64);
                let guess = same
                    .or_else(|| mean(&mut self.took.iter().filter(|(k, _)| k.0 == kind.0).map(|(_, v)| v)))
                    .or_else(|| mean(&mut self.took.values()))
                    .unwrap_or(0.0);
                guess * *open as f64
            })
            .sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::experiment::Plan;

    #[test]
    fn time_left_follows_what_each_method_takes() {
        let cells = Cell::all(&Plan::open("first-look").unwrap());
        let open: Vec<&Cell> = cells.iter().collect();
        let mut time_left = TimeLeft::start(&open, std::iter::empty());
        let record = |cell: &Cell, seconds: f64| Record {
            key: cell.key(),
            cell: cell.clone(),
            rows: None,
            tuned: None,
            scores: BTreeMap::new(),
            error: None,
            seconds,
        };
        // Five realisations of a quick method and five of a slow one; the slow one is unknown at first.
        let first = record(&cells[0], 1.0);
        let progress = time_left.done(&first);
        assert_eq!((progress.done, progress.total), (1, 10));
        assert!((time_left.seconds_left() - 9.0).abs() < 1e-9);
        time_left.done(&record(&cells[1], 100.0));
        assert!((time_left.seconds_left() - (4.0 + 400.0)).abs() < 1e-9, "{}", time_left.seconds_left());
        for cell in &cells[2..] {
            time_left.done(&record(cell, 1.0));
        }
        assert_eq!(time_left.seconds_left(), 0.0);
    }
}
