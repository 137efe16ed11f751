//! What a member brings to the stack of nuisances: the stack with it against the stack without it, on the same draws of known
//! processes: `cargo run -p paretau-study --example stack_members -- [--without products] [--replicates 20] [--only NAME,…]
//! [--seed 7000] [--out DIR]`.
//!
//! Writes a line per process to `DIR/stack_members.md`: held-out losses, which is what members are chosen by, and, which chooses
//! nothing, how far nuisances are from the truth and how far the average effect is off. The last column is the ratio of the wall-clock times.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command talks to people

#[path = "../coverage/designs.rs"]
#[allow(dead_code)] // the coverage study needs more of it
mod designs;

use std::path::PathBuf;
use std::time::Instant;

use designs::{PROCESSES, Process, outcome};
use paretau::nuisance::{
    Candidate, Estimand, Observed, StackPlan, StackReport, Weights, average_effect, stack_nuisances,
};
use paretau::registry::BASES;
use paretau::{Dense, Design, Features, FitContext, Seed};
use rayon::prelude::*;

/// Rows by which population values are computed.
const POPULATION: usize = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut without, mut replicates, mut only, mut first, mut out) =
        ("products".to_owned(), 20_u64, Vec::<String>::new(), 7000_u64, PathBuf::from("stack_members"));
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--without" => without = value,
            "--replicates" => replicates = value.parse()?,
            "--only" => only = value.split(',').map(str::to_owned).collect(),
            "--seed" => first = value.parse()?,
            "--out" => out = PathBuf::from(value),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    if !BASES.iter().any(|base| base.name() == without) {
        return Err(format!("--without: there is no base learner `{without}`").into());
    }
    std::fs::create_dir_all(&out)?;
    let mut table = HEADER.replace("MEMBER", &without);
    print!("{table}");
    for process in PROCESSES.iter().filter(|p| only.is_empty() || only.iter().any(|o| o == p.name)) {
        let truth = truth(process);
        let found: Vec<[Draw; 2]> = (first..first + replicates)
            .into_par_iter()
            .map(|seed| {
                let of = |takes_part: bool| draw(process, Seed(seed), (without.as_str(), takes_part), truth);
                Ok([of(true)?, of(false)?])
            })
            .collect::<paretau::Result<_>>()?;
        let line = line(process, &found);
        print!("{line}");
        table += &line;
        std::fs::write(out.join("stack_members.md"), &table)?;
    }
    Ok(())
}

const HEADER: &str = "\
| process | draws | outcomes: held-out loss with `MEMBER` / without | propensity: log-loss | error of mu with / without | error of e | bias/sd of ATE with | without | ATT with | without | share of `MEMBER`: mu0, mu1, e | time |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// What one stack gives in one draw.
struct Draw {
    /// Held-out losses of the outcomes (mean of both arms) and of the propensity.
    loss: [f64; 2],
    /// Mean squared distance of both from the truth.
    error: [f64; 2],
    /// Errors of the averages over everyone and over the treated.
    averages: [f64; 2],
    /// Shares of the member in question.
    shares: [f64; 3],
    seconds: f64,
}

fn truth(process: &Process) -> [f64; 2] {
    let mut rng = Seed(7).named(process.name).rng();
    let (mut all, mut treated, mut share) = (0.0, 0.0, 0.0);
    for _ in 0..POPULATION {
        let row = (process.draw)(&mut rng, process.d);
        all += row.tau;
        treated += row.e * row.tau;
        share += row.e;
    }
    [all / POPULATION as f64, treated / share]
}

fn draw(process: &Process, seed: Seed, (member, takes_part): (&str, bool), truth: [f64; 2]) -> paretau::Result<Draw> {
    let mut rng = seed.named(process.name).rng();
    let (n, d) = (process.n, process.d);
    let (mut x, mut t, mut y) = (Vec::with_capacity(n * d), vec![], vec![]);
    let mut expected: Vec<[f64; 3]> = vec![];
    for _ in 0..n {
        let row = (process.draw)(&mut rng, d);
        let arm = u8::from(rng.bernoulli(row.e));
        y.push(outcome(&mut rng, process.noise, row.mu0 + f64::from(arm) * row.tau));
        t.push(arm);
        expected.push([row.mu0, row.mu0 + row.tau, row.e]);
        x.extend(row.x);
    }
    let x = Features::Dense(Dense::new(n, d, x)?);
    let design = Design::new(x, t, y)?;
    let candidates = BASES
        .iter()
        .filter(|base| base.most_columns().is_none_or(|most| d <= most) && (takes_part || base.name() != member))
        .filter_map(|base| Some(base.build(&base.for_nuisances(n)?).map(|learner| (base.name(), learner))))
        .map(|built| built.map(|(name, learner)| Candidate { name, learner }))
        .collect::<paretau::Result<Vec<_>>>()?;
    let plan = StackPlan::usual(candidates, design.x());
    let started = Instant::now();
    let stacked = stack_nuisances(&design, &plan, &FitContext::silent(seed.named("nuisances")))?;
    let seconds = started.elapsed().as_secs_f64();
    let nuisance = &stacked.nuisance;
    let weights = Weights::smoothed_inverse(&nuisance.e, design.t())?;
    let rows = Observed::of(&design)?;
    let average = |estimand| -> paretau::Result<f64> {
        Ok(average_effect(&rows, nuisance, &weights.smooth, estimand)?.score.value)
    };
    let mean = |of: &dyn Fn(usize) -> f64| (0..n).map(of).sum::<f64>() / n as f64;
    let far = |i: usize| (nuisance.mu0[i] - expected[i][0]).powi(2) + (nuisance.mu1[i] - expected[i][1]).powi(2);
    let share = |report: &StackReport| report.shares.iter().filter(|s| s.name == member).map(|s| s.share).sum::<f64>();
    Ok(Draw {
        loss: [f64::midpoint(stacked.outcomes[0].loss, stacked.outcomes[1].loss), stacked.propensity.loss],
        error: [mean(&|i| far(i) / 2.0), mean(&|i| (nuisance.e[i] - expected[i][2]).powi(2))],
        averages: [average(Estimand::All)? - truth[0], average(Estimand::Treated)? - truth[1]],
        shares: [share(&stacked.outcomes[0]), share(&stacked.outcomes[1]), share(&stacked.propensity)],
        seconds,
    })
}

fn line(process: &Process, found: &[[Draw; 2]]) -> String {
    let n = found.len() as f64;
    let mean = |k: usize, of: &dyn Fn(&Draw) -> f64| found.iter().map(|both| of(&both[k])).sum::<f64>() / n;
    let ratio = |of: &dyn Fn(&Draw) -> f64| mean(0, of) / mean(1, of).max(1e-12);
    let bias = |k: usize, which: usize| {
        let centre = mean(k, &|d| d.averages[which]);
        let sd = mean(k, &|d| (d.averages[which] - centre).powi(2)).sqrt();
        centre / sd.max(1e-12)
    };
    let shares = [0, 1, 2].map(|which| format!("{:.2}", mean(0, &|d| d.shares[which]))).join(", ");
    format!(
        "| {} | {} | {:.3} | {:.3} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {shares} | {:.2} |\n",
        process.name,
        found.len(),
        ratio(&|d| d.loss[0]),
        ratio(&|d| d.loss[1]),
        ratio(&|d| d.error[0]),
        ratio(&|d| d.error[1]),
        bias(0, 0),
        bias(1, 0),
        bias(0, 1),
        bias(1, 1),
        ratio(&|d| d.seconds),
    )
}
