//! How far a run is: after every cell, what it gave and how long the others will take.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::cell::Cell;
use super::records::Record;

/// How far a run is, the moment a cell is done.
#[derive(Debug, Clone, Copy)]
pub struct RunProgress<'a> {
    /// What was just recorded.
    pub record: &'a Record,
    /// Cells done in this run.
    pub done: usize,
    /// Cells that this run has to do.
    pub total: usize,
    /// How long the others will take, about.
    pub left: Duration,
}

/// Hears of every cell that is done; called from any thread.
pub type Watch<'a> = &'a (dyn Fn(&RunProgress<'_>) + Sync);

/// What cells of a kind took so far.
type Took = BTreeMap<(String, String), (f64, usize)>;

/// Guesses the time left from what cells of the same method and data took. Methods differ a thousandfold, so that the
/// share of cells that are done says little.
#[derive(Debug)]
pub(super) struct Clock {
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

fn kind(cell: &Cell) -> (String, String) {
    (cell.method.label().to_owned(), cell.data.name.clone())
}

impl Clock {
    /// A run that begins: records from before teach what cells take.
    pub(super) fn start<'r>(open: &[&Cell], known: impl Iterator<Item = &'r Record>) -> Self {
        let mut clock = Self {
            start: Instant::now(),
            work: 0.0,
            done: 0,
            total: open.len(),
            took: Took::new(),
            open: BTreeMap::new(),
        };
        for cell in open {
            *clock.open.entry(kind(cell)).or_default() += 1;
        }
        for record in known {
            clock.learn(record);
        }
        clock
    }

    fn learn(&mut self, record: &Record) {
        let seen = self.took.entry(kind(&record.cell)).or_default();
        *seen = (seen.0 + record.seconds, seen.1 + 1);
    }

    /// A cell is done.
    pub(super) fn done<'a>(&mut self, record: &'a Record) -> RunProgress<'a> {
        self.learn(record);
        self.work += record.seconds;
        self.done += 1;
        if let Some(open) = self.open.get_mut(&kind(&record.cell)) {
            *open = open.saturating_sub(1);
        }
        let at_once = (self.work / self.start.elapsed().as_secs_f64().max(1e-9)).max(1.0);
        let left = Duration::from_secs_f64((self.work_left() / at_once).min(1e9));
        RunProgress { record, done: self.done, total: self.total, left }
    }

    /// Seconds of work in the open cells: as cells of the same method and data took, else of the same method, else all.
    fn work_left(&self) -> f64 {
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
        let mut clock = Clock::start(&open, std::iter::empty());
        let record = |cell: &Cell, seconds: f64| Record {
            key: cell.key(),
            cell: cell.clone(),
            found: None,
            scores: BTreeMap::new(),
            error: None,
            seconds,
        };
        // Five realisations of a quick method and five of a slow one; the slow one is unknown at first.
        let first = record(&cells[0], 1.0);
        let progress = clock.done(&first);
        assert_eq!((progress.done, progress.total), (1, 10));
        assert!((clock.work_left() - 9.0).abs() < 1e-9);
        clock.done(&record(&cells[1], 100.0));
        assert!((clock.work_left() - (4.0 + 400.0)).abs() < 1e-9, "{}", clock.work_left());
        for cell in &cells[2..] {
            clock.done(&record(cell, 1.0));
        }
        assert_eq!(clock.work_left(), 0.0);
    }
}
