//! What a process waits for between a signal and its end, as the system tells it: an answer that is slow because the disk or the
//! other processes are is another finding than one that the program is slow to give.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Looks at a process again and again.
pub(super) struct Witness {
    folder: PathBuf,
    last: Instant,
    /// Time in which a thread could not be ended because it waited for the disk.
    disk: Duration,
    /// Time in which a thread was ready to run. A process that is ending uses the processor for a moment only: the rest of
    /// this is time in which it got none.
    ready: Duration,
}

impl Witness {
    pub(super) fn of(process: u32) -> Self {
        let folder = PathBuf::from(format!("/proc/{process}/task"));
        Self { folder, last: Instant::now(), disk: Duration::ZERO, ready: Duration::ZERO }
    }

    /// Adds the time since the last look to what the threads do now.
    pub(super) fn look(&mut self) {
        let passed = self.last.elapsed();
        self.last += passed;
        let states: Vec<char> = self.stats().iter().filter_map(|stat| state(stat)).collect();
        if states.contains(&'D') {
            self.disk += passed;
        } else if states.contains(&'R') {
            self.ready += passed;
        }
    }

    /// The findings for a cell of the table.
    pub(super) fn words(&self) -> String {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or("?");
        format!("{}, {}; {load}", self.disk.as_millis(), self.ready.as_millis())
    }

    /// The threads as they are, for a process that does not end.
    pub(super) fn threads(&self) -> String {
        self.stats().join("; ")
    }

    fn stats(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok()).collect()
    }
}

/// The letter behind the name, which stands in brackets and may hold anything.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}
