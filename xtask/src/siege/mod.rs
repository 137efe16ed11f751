//! `cargo xtask siege [--kills N] [--hours H] [--program FILE]`: kills and crowds the built program, and counts what was lost.
//!
//! Every scenario is begun, ended by a signal at a random moment, taken up again, and compared with a run that was left alone:
//! byte by byte, records without the seconds they took. Fixed attacks (full and read-only disks, closed pipes) come first.
//! `experiments/siege/kills.md` holds the table of the last campaign.

mod attacks;
mod killed;
mod scenarios;
mod witness;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, run as run_command};

/// Kills of a campaign without a number of its own.
const KILLS: usize = 1_000;
/// A polite signal is answered within this.
const PATIENCE: Duration = Duration::from_secs(1);

/// The signals, in turn.
const SIGNALS: [&str; 3] = ["KILL", "TERM", "INT"];

/// What happened in a scenario.
#[derive(Debug, Default)]
struct Tally {
    /// Kills by signal.
    kills: BTreeMap<&'static str, usize>,
    /// Rounds whose command had ended before the signal.
    ended_before: usize,
    /// Polite signals that came before the program listened.
    not_begun: usize,
    /// Rounds that ended as the one that was left alone.
    same: usize,
    /// What went wrong.
    faults: Vec<String>,
    /// The longest time from a polite signal to the end, and what the process waited for meanwhile.
    slowest: Duration,
    while_slowest: String,
}

impl Tally {
    fn kills(&self) -> usize {
        self.kills.values().sum()
    }
}

/// Draws moments; the campaign is the same in its order, not in its moments, which hang on the machine.
struct Draws(u64);

impl Draws {
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Where a campaign works and what it runs.
struct Field {
    folder: PathBuf,
    program: PathBuf,
}

impl Field {
    fn new(folder: PathBuf, built: &Path) -> Result<Self> {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A copy, so that a build meanwhile does not change what is besieged.
        let program = folder.with_extension("program");
        std::fs::copy(built, &program).context("cannot copy the program")?;
        Ok(Self { folder, program })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The program with arguments, quiet.
    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(args).arg("--quiet").current_dir(&self.folder).env("NO_COLOR", "1");
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::piped());
        command
    }

    /// Runs to the end, which must be a good one.
    fn ok(&self, args: &[&str]) -> Result<()> {
        let out = self.command(args).output()?;
        if !out.status.success() {
            bail!("paretau {} ended with {}: {}", args.join(" "), out.status, String::from_utf8_lossy(&out.stderr));
        }
        Ok(())
    }
}

/// Runs a campaign: `--kills N`, `--hours H`, `--program FILE` for a program that is built already.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (mut kills, mut hours, mut program) = (KILLS, None, None);
    for pair in args.chunks(2) {
        match pair {
            ["--kills", n] => kills = n.parse().context("--kills takes a number")?,
            ["--hours", h] => hours = Some(h.parse::<f64>().context("--hours takes a number")?),
            ["--program", file] => program = Some(PathBuf::from(file)),
            other => bail!("siege takes --kills N, --hours H and --program FILE, not {other:?}"),
        }
    }
    let end = hours.map(|hours| Instant::now() + Duration::from_secs_f64(hours * 3600.0));
    let profile = if program.is_some() { "a program that was built before" } else { "the binary of the dev profile" };
    let built = match program {
        Some(built) => built,
        None => {
            run_command(&mut cargo(&["build", "-p", "paretau-cli"]))?;
            root().join("target/debug/paretau")
        }
    };
    let field = Field::new(root().join(format!("target/siege-{}", std::process::id())), &built)?;
    let start = Instant::now();
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let mut tallies: Vec<(&'static str, Tally)> = vec![];
    let scenarios = scenarios::all(&field)?;
    for scenario in &scenarios {
        tallies.push((scenario.name, Tally::default()));
    }
    let attacks = attacks::all(&field)?;
    let place = root().join("experiments/siege/kills.md");
    std::fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
    'campaign: for round in 0.. {
        for (scenario, (_, tally)) in scenarios.iter().zip(&mut tallies) {
            if end.is_some_and(|end| Instant::now() > end) {
                break 'campaign;
            }
            killed::round(&field, scenario, SIGNALS[round % SIGNALS.len()], &mut draws, tally)
                .with_context(|| format!("scenario `{}`, round {round}", scenario.name))?;
        }
        let total: usize = tallies.iter().map(|(_, tally)| tally.kills()).sum();
        if round % 5 == 0 {
            let faults: usize = tallies.iter().map(|(_, tally)| tally.faults.len()).sum();
            for (name, tally) in &tallies {
                tally.faults.iter().for_each(|fault| println!("{name}: {fault}"));
            }
            // A campaign that is stopped leaves its figures.
            write(&place, &table(&tallies, &attacks, start.elapsed(), profile))?;
            println!("{total} kills, {faults} faults, {:.0} s", start.elapsed().as_secs_f64());
        }
        // With hours given, they decide.
        if end.is_none() && total >= kills {
            break;
        }
    }
    let text = table(&tallies, &attacks, start.elapsed(), profile);
    write(&place, &text)?;
    println!("{text}");
    let faults: Vec<&String> = tallies.iter().flat_map(|(_, tally)| &tally.faults).collect();
    let broken = attacks.iter().filter(|attack| attack.fault.is_some()).count();
    let slow = tallies.iter().filter(|(_, tally)| tally.slowest > PATIENCE).count();
    if !faults.is_empty() || broken > 0 || slow > 0 {
        bail!("{} faults in scenarios, {broken} attacks that got through, {slow} scenarios slow to stop", faults.len());
    }
    let _ = std::fs::remove_dir_all(&field.folder);
    let _ = std::fs::remove_file(&field.program);
    Ok(())
}

/// Writes the figures; how people read the last ones stays below them.
fn write(place: &Path, figures: &str) -> Result<()> {
    const READING: &str = "\n## Reading\n";
    let old = std::fs::read_to_string(place).unwrap_or_default();
    let reading = old.find(READING).map_or("", |at| &old[at..]);
    std::fs::write(place, format!("{figures}{reading}"))?;
    Ok(())
}

fn table(tallies: &[(&'static str, Tally)], attacks: &[attacks::Attack], took: Duration, profile: &str) -> String {
    let total: usize = tallies.iter().map(|(_, tally)| tally.kills()).sum();
    let mut out = format!(
        "# The siege\n\nOne campaign of `cargo xtask siege`: {total} kills in {:.0} minutes on {} cores, with {profile}.\n\
         A round begins a command, ends it by a signal at a random moment, takes it up again and compares the result with \
         that of a command that was left alone.\n\n\
         | scenario | KILL | TERM | INT | over before the signal | signal before it listened | same in the end | faults | slowest answer to TERM or INT, ms | of it waiting for the disk, for a processor; load |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        took.as_secs_f64() / 60.0,
        std::thread::available_parallelism().map_or(0, usize::from)
    );
    for (name, tally) in tallies {
        let of = |signal: &str| tally.kills.get(signal).copied().unwrap_or(0);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            of("KILL"),
            of("TERM"),
            of("INT"),
            tally.ended_before,
            tally.not_begun,
            tally.same,
            tally.faults.len(),
            tally.slowest.as_millis(),
            tally.while_slowest
        );
    }
    out += "\nFixed attacks: the expected exit code, and every older file whole afterwards.\n\n| attack | exit | held |\n|---|---|---|\n";
    for attack in attacks {
        let held = attack.fault.as_deref().unwrap_or("yes");
        let _ = writeln!(out, "| {} | {} | {held} |", attack.name, attack.exit);
    }
    let faults: Vec<String> = tallies
        .iter()
        .flat_map(|(name, tally)| tally.faults.iter().map(move |fault| format!("- {name}: {fault}\n")))
        .collect();
    if !faults.is_empty() {
        out += &format!("\n## Faults\n\n{}", faults.concat());
    }
    out
}
