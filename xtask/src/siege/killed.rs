//! One round: begin, end by a signal at a random moment, take up again, compare.

use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::scenarios::{After, Scenario, files, fresh, in_folder};
use super::witness::Witness;
use super::{Draws, Field, Tally};

/// A process that has not ended after this will not.
const HANGS: Duration = Duration::from_mins(2);

/// Kills the scenario two to five times, and lets it end.
pub(super) fn round(
    field: &Field,
    scenario: &Scenario,
    signal: &'static str,
    draws: &mut Draws,
    tally: &mut Tally,
) -> Result<()> {
    let folder = fresh(field, scenario)?;
    for _ in 0..2 + (draws.share() * 4.0) as usize {
        let children = start(field, scenario)?;
        // Longer with other processes beside it, so that late moments are reached too.
        let longest = scenario.takes.as_secs_f64() * (1.0 + 0.3 * (children.len() as f64 - 1.0));
        sleep(Duration::from_secs_f64(draws.share() * longest));
        for child in children {
            end(child, signal, tally)?;
        }
        if scenario.after == After::Replace {
            let left: Vec<(String, Vec<u8>)> =
                files(&folder)?.into_iter().filter(|(name, _)| !is_temporary(name)).collect();
            for (name, bytes) in left {
                if scenario.before.get(&name) != Some(&bytes) && scenario.whole.get(&name) != Some(&bytes) {
                    tally.faults.push(format!("{name} is neither the older file nor the whole new one after {signal}"));
                }
            }
        }
        if signal != "KILL" && files_left(&folder)? {
            tally.faults.push(format!("a temporary file stayed after {signal}"));
        }
    }
    let children = start(field, scenario)?;
    for child in children {
        let out = child.wait_with_output()?;
        if !out.status.success() {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            tally.faults.push(format!("taken up again after {signal}, it ended with {}: {text}", out.status));
        }
    }
    let found = files(&folder);
    match found {
        Ok(found) if found == scenario.whole => tally.same += 1,
        Ok(found) => {
            let differ: Vec<&String> = scenario
                .whole
                .iter()
                .filter(|(name, bytes)| found.get(*name) != Some(bytes))
                .map(|(name, _)| name)
                .chain(found.keys().filter(|name| !scenario.whole.contains_key(*name)))
                .collect();
            tally.faults.push(format!("after {signal}, {differ:?} differ from an undisturbed run"));
        }
        Err(error) => tally.faults.push(format!("after {signal}, a file cannot be read: {error}")),
    }
    Ok(())
}

fn start(field: &Field, scenario: &Scenario) -> Result<Vec<Child>> {
    scenario
        .processes
        .iter()
        .map(|args| {
            let args = in_folder(args, "work");
            Ok(field.command(&args.iter().map(String::as_str).collect::<Vec<_>>()).spawn()?)
        })
        .collect()
}

/// Sends the signal to a child that still runs, and waits for its end.
fn end(mut child: Child, signal: &'static str, tally: &mut Tally) -> Result<()> {
    if child.try_wait()?.is_some() {
        tally.ended_before += 1;
        return Ok(());
    }
    let sent = Instant::now();
    let mut witness = Witness::of(child.id());
    let id = child.id().to_string();
    let _ = Command::new("kill").args([&format!("-{signal}"), id.as_str()]).status()?;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if sent.elapsed() > HANGS => {
                let seen = witness.threads();
                child.kill()?;
                bail!("a process did not hear {signal} within {HANGS:?}; its threads: {seen}");
            }
            None => {
                witness.look();
                sleep(Duration::from_millis(2));
            }
        }
    };
    *tally.kills.entry(signal).or_default() += 1;
    if signal != "KILL" {
        if sent.elapsed() > tally.slowest {
            tally.slowest = sent.elapsed();
            tally.while_slowest = witness.words();
        }
        // It may have been over in the moment of the signal, or not yet begun: before the program listens, the signal ends it.
        if status.code().is_none() && std::os::unix::process::ExitStatusExt::signal(&status) != Some(9) {
            tally.not_begun += 1;
        } else if !matches!(status.code(), Some(130 | 0)) {
            tally.faults.push(format!("{signal} was answered with {status}"));
        }
    }
    Ok(())
}

fn files_left(folder: &std::path::Path) -> Result<bool> {
    Ok(std::fs::read_dir(folder)?.flatten().any(|entry| is_temporary(&entry.file_name().to_string_lossy())))
}

/// Whether a file is one that has not got its name yet.
fn is_temporary(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some()
}
