//! How often roles by test are right on the paper's process, and how many findings are false:
//! `cargo run --release -p paretau-study --example roles -- [--draws 20] [--only 2000x15,…] [--out FILE]`.
//!
//! Coefficients are normal draws, so that some are next to nothing. A column counts as non-negligible when each of its influences
//! explains at least a given share of what all other columns leave: of the treatment `c² E[e (1 - e)]` to first order, of the
//! outcome the mean over the arms of the term's variance over the noise's.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

use std::fmt::Write as _;
use std::time::Instant;

use paretau::data::simulate::{SyntheticConfig, synthetic};
use paretau::data::{ColumnData, RoleSpec, Table};
use paretau::{RolesOptions, Seed, test_roles};

/// Rows and columns of the processes, and how many draws beside the usual number.
const SIZES: [(usize, usize); 9] = [
    (2000, 15),
    (2000, 21),
    (2000, 30),
    (20_000, 15),
    (20_000, 18),
    (20_000, 21),
    (20_000, 27),
    (20_000, 30),
    (20_000, 3000),
];
/// Shares of what the others leave at which a column counts.
const SHARES: [f64; 2] = [0.001, 0.005];
/// Draws of the largest process.
const FEW_DRAWS: usize = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut draws, mut only, mut out) = (20, String::new(), None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--draws" => draws = value.parse()?,
            "--only" => only = value,
            "--out" => out = Some(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    let mut table = HEADER.to_owned();
    print!("{table}");
    for (n, d) in SIZES {
        let name = format!("{n}x{d}");
        if !only.is_empty() && only.split(',').all(|o| o != name) {
            continue;
        }
        let draws = if d > 100 { FEW_DRAWS.min(draws) } else { draws };
        let (start, mut tally) = (Instant::now(), Tally::default());
        for k in 0..draws {
            draw(n, d, 5000 + k as u64, &mut tally)?;
        }
        let row = tally.row(n, d, draws, start.elapsed().as_secs_f64() / draws as f64);
        print!("{row}");
        table += &row;
    }
    if let Some(out) = out {
        std::fs::write(out, table)?;
    }
    Ok(())
}

const HEADER: &str = "\
| rows | columns | draws | right, share ≥ 0.1 % | right, share ≥ 0.5 % | instruments, confounders, adjusters right (≥ 0.5 %) \
| false of findings: treatment | outcome | seconds per draw |
|---|---|---|---|---|---|---|---|---|
";

#[derive(Default)]
struct Tally {
    /// Columns that count and those right among them, by share and third.
    counted: [[usize; 3]; 2],
    right: [[usize; 3]; 2],
    /// Mean share of false findings, summed over draws: of the treatment, of the outcome.
    false_share: [f64; 2],
}

impl Tally {
    fn row(&self, n: usize, d: usize, draws: usize, seconds: f64) -> String {
        let rate = |right: usize, of: usize| {
            if of == 0 { "–".to_owned() } else { format!("{:.1} %", 100.0 * right as f64 / of as f64) }
        };
        let all = |k: usize| {
            let (right, of) = (self.right[k].iter().sum(), self.counted[k].iter().sum());
            format!("{} of {of}", rate(right, of))
        };
        let mut row = format!("| {n} | {d} | {draws} | {} | {} | ", all(0), all(1));
        row += &(0..3).map(|third| rate(self.right[1][third], self.counted[1][third])).collect::<Vec<_>>().join(", ");
        let falses = self.false_share.map(|sum| format!("{:.1} %", 100.0 * sum / draws as f64)).join(" | ");
        let _ = writeln!(row, " | {falses} | {seconds:.1} |");
        row
    }
}

/// One draw of the process, tested and compared with what is true.
fn draw(n: usize, d: usize, seed: u64, tally: &mut Tally) -> Result<(), Box<dyn std::error::Error>> {
    let config = SyntheticConfig { n, d, coefficient_seed: Some(seed), ..SyntheticConfig::default() };
    let table = synthetic(&config, Seed(seed))?.table()?;
    let third = d / 3;
    // The coefficients as the process draws them.
    let mut rng = Seed(seed).rng();
    let [c_a, c_0, c_1] = [(); 3].map(|()| (0..2 * third).map(|_| rng.normal()).collect::<Vec<f64>>());
    let e = numbers(&table, "e")?;
    let treated = e.iter().sum::<f64>() / n as f64;
    let spread = e.iter().map(|e| e * (1.0 - e)).sum::<f64>() / n as f64;
    let scale = 3.0 / (2.0 * d as f64);
    let noise = config.noise.powi(2);
    let of_treatment = |j: usize| c_a.get(j).map_or(0.0, |c| c * c * spread);
    let of_outcome = |j: usize| {
        let variance = |k: usize| (1.0 - treated) * (scale * c_0[k]).powi(2) + treated * 2.0 * (scale * c_1[k]).powi(2);
        j.checked_sub(third).map_or(0.0, |k| variance(k) / noise)
    };
    let roles = RoleSpec { ignore: ["mu0", "mu1", "e"].map(str::to_owned).to_vec(), ..RoleSpec::new("t", "y") };
    let found = test_roles(table, &roles, &RolesOptions::default())?;
    if found.roles.len() != d {
        return Err(format!("{} columns were tested, not {d}", found.roles.len()).into());
    }
    let expected = ["instrument", "confounder", "adjuster"];
    for (j, role) in found.roles.iter().enumerate() {
        let kind = j / third;
        let least = match kind {
            0 => of_treatment(j),
            1 => of_treatment(j).min(of_outcome(j)),
            _ => of_outcome(j),
        };
        for (k, share) in SHARES.iter().enumerate() {
            if least >= *share {
                tally.counted[k][kind] += 1;
                tally.right[k][kind] += usize::from(role.role_word() == expected[kind]);
            }
        }
    }
    for (k, null) in [2, 0].into_iter().enumerate() {
        let q = |j: usize| if k == 0 { found.roles[j].q_treatment } else { found.roles[j].q_outcome };
        let findings: Vec<usize> = (0..d).filter(|&j| q(j) <= found.fdr).collect();
        let wrong = findings.iter().filter(|&&j| j / third == null).count();
        tally.false_share[k] += wrong as f64 / findings.len().max(1) as f64;
    }
    Ok(())
}

fn numbers(table: &Table, name: &str) -> Result<Vec<f64>, String> {
    match table.column(name).map(|column| &column.data) {
        Some(ColumnData::Number(values)) => Ok(values.contiguous().into_owned()),
        _ => Err(format!("the process has no column `{name}` of numbers")),
    }
}
