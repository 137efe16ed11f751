//! The estimator: chooses what the data must choose on validation rows, trains the members, reports.

use paretau_core::{Design, Effects, Error, Estimator, Event, FitContext, FittedModel, Result};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;

use crate::choose::choose;
use crate::config::NetConfig;
use crate::fitted::{Mixture, NetModel, predict};
use crate::judge::judges;
use crate::member::{Job, Member};
use crate::recalibrate::{self, Shift};
use crate::report::report;
use crate::settings::Choice;
use crate::splits::{Parts, windows};
use crate::temper::weighted_share;
use crate::train::Keeper;

/// A neural estimator with checked parameters.
#[derive(Debug, Clone)]
pub struct NetEstimator {
    config: NetConfig,
}

impl NetEstimator {
    /// Checks the configuration.
    pub fn new(config: NetConfig) -> Result<Self> {
        config.check()?;
        Ok(Self { config })
    }

    /// Its configuration.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Fits and returns the model as its own type.
    pub fn fit_nets(&self, design: &Design, ctx: &FitContext<'_>) -> Result<NetModel> {
        if design.n_arms() != 2 {
            return Err(Error::Unsupported {
                estimator: "neural".into(),
                message: format!("takes two arms, the data have {}; compare one arm with the control", design.n_arms()),
            });
        }
        let config = &self.config;
        let keeper = Keeper::new(ctx, request(config, design, ctx))?;
        let parts = windows(design.t(), design.groups(), ctx.valid_share, (config.members, ctx.seed));
        for part in &parts {
            for arm in 0..2 {
                if !part.train.iter().any(|&i| design.t()[i] == arm) {
                    return Err(Error::unfit(format!(
                        "no training rows of treatment {arm} are left beside the validation rows; lower the validation share"
                    )));
                }
            }
        }
        ctx.event(&Event::Stage { name: "training networks".into(), total: Some(config.members as u64) });
        let (chosen, mut notes) = choose(config, design, &parts[0], (ctx, &keeper))?;
        ctx.event(&Event::Progress { done: 1 });
        let (kinds, rest) = (chosen.len(), config.members - 1);
        let others = run_all(kinds * rest, |k| {
            let (kind, member) = (k % kinds, 1 + k / kinds);
            let choice = chosen[kind].choice;
            let job = Job { config, design, parts: &parts[member], choice, member, parallelism: inside(kinds * rest) };
            job.train(&format!("member{member}-{kind}"), (ctx, &keeper))
        })?;
        ctx.event(&Event::Progress { done: config.members as u64 });
        // One ensemble a kind: the first member was trained while choosing, the others come in turn.
        let choices: Vec<Choice> = chosen.iter().map(|c| c.choice).collect();
        let mut ensembles: Vec<Vec<Member>> = chosen.into_iter().map(|c| vec![c.first]).collect();
        others.into_iter().enumerate().for_each(|(k, member)| ensembles[k % kinds].push(member));
        if kinds == 2 && design.propensity().is_none() {
            let judges = judges(config, design, &parts, (ctx, &keeper))?;
            let plain = ensembles.pop().unwrap_or_default();
            let judged = plain.into_iter().zip(judges);
            ensembles.push(judged.map(|(m, judge)| Member { predictor: m.predictor.judged_by(judge), ..m }).collect());
        }
        let mut shares = vec![1.0];
        if let [weighted, plain] = &ensembles[..] {
            let (share, error) = weighted_share(design, (weighted, plain), &parts)?;
            shares = vec![share, 1.0 - share];
            notes.push(("weighted_share".to_owned(), share));
            if error.is_finite() {
                notes.push(("weighted_share_error".to_owned(), error));
            }
        }
        let mut parties = Vec::new();
        for (kind, ((choice, members), share)) in choices.into_iter().zip(ensembles).zip(shares).enumerate() {
            // Nets that do not count are not kept, but for the last ones, which tell the propensity.
            if share > 0.0 || kind + 1 == kinds {
                parties.push(Party { choice, members, share });
            }
        }
        let mut diagnostics = report(config, design, &parties, &parts, &notes)?;
        let (shares, nets): (Vec<f64>, Vec<_>) = parties
            .into_iter()
            .map(|p| (p.share, p.members.into_iter().map(|m| m.predictor).collect::<Vec<_>>()))
            .unzip();
        let members: Vec<Mixture> = (0..config.members)
            .map(|k| Mixture::new(nets.iter().map(|all| all[k].clone()).collect(), &shares))
            .collect();
        let mut held_out = held_out(&members, design, &parts)?;
        let mut shift = Shift::default();
        if let (true, Some(rows)) = (config.tempers(), &mut held_out)
            && let Some((found, told)) = recalibrate::shift(design, rows)
        {
            shift = found;
            shift.apply(0, &mut rows.mu0);
            shift.apply(1, &mut rows.mu1);
            rows.tau = rows.mu1.iter().zip(&rows.mu0).map(|(a, b)| a - b).collect();
            for (arm, [mean, error]) in told.into_iter().enumerate() {
                diagnostics.note(&format!("held_out_error_{arm}"), mean);
                diagnostics.note(&format!("held_out_error_{arm}_se"), error);
                diagnostics.note(&format!("shift_{arm}"), shift.arms[arm]);
            }
        }
        Ok(NetModel { members, shift, diagnostics, held_out })
    }
}

/// The members trained by one choice, and what they count for in the answer.
#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) choice: Choice,
    pub(crate) members: Vec<Member>,
    pub(crate) share: f64,
}

/// Effects of every row by the members that held it out, when every row was held out by one.
fn held_out(members: &[Mixture], design: &Design, parts: &[Parts]) -> Result<Option<Effects>> {
    let n = design.n_rows();
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (k, part) in parts.iter().enumerate() {
        part.valid.iter().for_each(|&i| holders[i].push(k));
    }
    if holders.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let mut out = Effects { mu0: vec![0.0; n], mu1: vec![0.0; n], tau: vec![0.0; n], e: None, se: None };
    let mut e = vec![0.0; n];
    let mut tells_e = true;
    for (k, part) in parts.iter().enumerate() {
        let said = predict(std::slice::from_ref(&members[k]), design.x(), &part.valid)?;
        for (place, &i) in part.valid.iter().enumerate() {
            let share = 1.0 / holders[i].len() as f64;
            out.mu0[i] += share * said.mu0[place];
            out.mu1[i] += share * said.mu1[place];
            out.tau[i] += share * said.tau[place];
            match &said.e {
                Some(values) => e[i] += share * values[place],
                None => tells_e = false,
            }
        }
    }
    out.e = tells_e.then_some(e);
    Ok(Some(out))
}

/// Runs `n` jobs side by side; the first error wins.
pub(crate) fn run_all<R: Send>(n: usize, f: impl Fn(usize) -> Result<R> + Send + Sync) -> Result<Vec<R>> {
    let all: Vec<Result<R>> = (0..n).into_par_iter().with_max_len(1).map(f).collect();
    all.into_iter().collect()
}

/// Threads inside a step when `runs` runs go on side by side: none when the runs fill the pool by themselves.
pub(crate) fn inside(runs: usize) -> Parallelism {
    if runs >= rayon::current_num_threads() { Parallelism::None } else { Parallelism::Rayon }
}

/// What a checkpoint must have been asked for to be taken up.
fn request(config: &NetConfig, design: &Design, ctx: &FitContext<'_>) -> serde_json::Value {
    serde_json::json!({
        "config": config,
        "rows": design.n_rows(),
        "columns": design.x().n_cols(),
        "treated": design.rows_of_arm(1).len(),
        "outcomes": design.y().iter().enumerate().map(|(i, y)| y * (1.0 + (i % 7) as f64)).sum::<f64>().to_string(),
        "seed": ctx.seed.0.to_string(),
        "valid_share": ctx.valid_share,
    })
}

impl Estimator for NetEstimator {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        Ok(Box::new(self.fit_nets(design, ctx)?))
    }
}
