//! The estimator: chooses what the data must choose on validation rows, trains the members, reports.

use paretau_core::{Design, Effects, Error, Estimator, Event, FitContext, FittedModel, Result};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;

use crate::choose::choose;
use crate::config::{NetConfig, Network};
use crate::fitted::{Mixture, NetModel, predict};
use crate::judge::judges;
use crate::member::{Job, Member};
use crate::predictor::Wanted;
use crate::recalibrate::{self, Shift};
use crate::report::report;
use crate::roles::{reading, roles};
use crate::settings::Choice;
use crate::shrink::{self, Shrink};
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
        // Γ learns through the weights alone, so only weighted nets tell what it reads, whatever they count for.
        let disentangled = config.network == Network::Disentangled;
        let told_roles = if disentangled { roles(design, &ensembles[0])? } else { Vec::new() };
        let shared = matches!(config.network, Network::Shared | Network::Dragon);
        let told_reading = if shared { reading(design, &ensembles[0]) } else { Vec::new() };
        let mut parties = Vec::new();
        for (kind, ((choice, members), share)) in choices.into_iter().zip(ensembles).zip(shares).enumerate() {
            // Nets that do not count are not kept, but for the last ones, which tell the propensity.
            if share > 0.0 || kind + 1 == kinds {
                parties.push(Party { choice, members, share });
            }
        }
        let mut diagnostics = report(config, design, &parties, &parts, &notes)?;
        diagnostics.roles = told_roles;
        diagnostics.reading = told_reading;
        let (shares, nets): (Vec<f64>, Vec<_>) = parties
            .into_iter()
            .map(|p| (p.share, p.members.into_iter().map(|m| m.predictor).collect::<Vec<_>>()))
            .unzip();
        let members: Vec<Mixture> = (0..config.members)
            .map(|k| Mixture::new(nets.iter().map(|all| all[k].clone()).collect(), &shares))
            .collect();
        let (rows, mut said) = held_out(&members, design, &parts)?;
        let (mut shift, mut shrink) = (Shift::default(), Shrink::default());
        if config.tempers() {
            if let Some((found, told)) = recalibrate::shift(design, &rows, &said) {
                shift = found;
                shift.apply(&mut said);
                for (arm, [mean, error]) in told.into_iter().enumerate() {
                    diagnostics.note(&format!("held_out_error_{arm}"), mean);
                    diagnostics.note(&format!("held_out_error_{arm}_se"), error);
                    diagnostics.note(&format!("shift_{arm}"), shift.arms[arm]);
                }
            }
            let mut all = predict(&members, design.x(), &rows, Wanted::Outcomes)?;
            shift.apply(&mut all);
            if let Some((found, [best, error])) = shrink::shrink(design, &rows, (&said, &all)) {
                shrink = found;
                shrink.apply(&mut said);
                diagnostics.note("spread_best", best);
                diagnostics.note("spread_best_se", error);
                diagnostics.note("spread_kept", shrink.kept);
                diagnostics.note("spread_centre", shrink.centre);
            }
        }
        let held_out = (rows.len() == design.n_rows()).then_some(said);
        Ok(NetModel { members, shift, shrink, diagnostics, held_out })
    }
}

/// The members trained by one choice, and what they count for in the answer.
#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) choice: Choice,
    pub(crate) members: Vec<Member>,
    pub(crate) share: f64,
}

/// The rows that some member held out, and their effects by the members that did.
fn held_out(members: &[Mixture], design: &Design, parts: &[Parts]) -> Result<(Vec<usize>, Effects)> {
    let n = design.n_rows();
    let mut holders = vec![0_u32; n];
    parts.iter().flat_map(|part| &part.valid).for_each(|&i| holders[i] += 1);
    let rows: Vec<usize> = (0..n).filter(|&i| holders[i] > 0).collect();
    let mut place = vec![0; n];
    rows.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let zeros = || vec![0.0; rows.len()];
    let (mut mu0, mut mu1, mut e) = (zeros(), zeros(), zeros());
    let mut tells_e = true;
    for (member, part) in members.iter().zip(parts) {
        let said = predict(std::slice::from_ref(member), design.x(), &part.valid, Wanted::Everything)?;
        for (k, &i) in part.valid.iter().enumerate() {
            let share = 1.0 / f64::from(holders[i]);
            mu0[place[i]] += share * said.mu0[k];
            mu1[place[i]] += share * said.mu1[k];
            match &said.e {
                Some(values) => e[place[i]] += share * values[k],
                None => tells_e = false,
            }
        }
    }
    let mut out = Effects::from_outcomes(mu0, mu1);
    out.e = (tells_e && !rows.is_empty()).then_some(e);
    Ok((rows, out))
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
