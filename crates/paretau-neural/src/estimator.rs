//! The estimator: chooses what the data must choose on validation rows, trains the members, reports.

use std::sync::Arc;

use paretau_core::{Design, Effects, Error, Estimator, Event, FitContext, FittedModel, Result, Want};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::choose::choose;
use crate::fitted::{Mixture, NetModel, predict};
use crate::member::{Job, Member};
use crate::nets::{FeatureReport, NetKind};
use crate::propensity_nets::propensity_nets;
use crate::recalibrate::{self, Shift};
use crate::report::report;
use crate::roles::{reading, roles};
use crate::settings::Choice;
use crate::shrink::{self, Shrink};
use crate::splits::{TrainValid, windows};
use crate::temper::weighted_share;
use crate::train::Keeper;

/// A neural estimator with checked parameters.
#[derive(Debug, Clone)]
pub(crate) struct NetEstimator {
    name: &'static str,
    kind: Arc<dyn NetKind>,
    members: usize,
    /// All parameters, which a checkpoint must share.
    params: Value,
}

impl NetEstimator {
    /// Checks the parameters of the estimator `name`.
    pub(crate) fn new<K: NetKind + Serialize + 'static>(name: &'static str, kind: K) -> Result<Self> {
        kind.check(name)?;
        let params = serde_json::to_value(&kind)
            .map_err(|e| Error::Numeric { what: "writing parameters", message: e.to_string() })?;
        Ok(Self { name, members: kind.training().members, params, kind: Arc::new(kind) })
    }

    /// Its name in the registry.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Nets averaged.
    pub(crate) fn members(&self) -> usize {
        self.members
    }

    /// The same with another number of nets.
    #[must_use]
    pub(crate) fn with_members(self, members: usize) -> Self {
        Self { members, ..self }
    }

    /// Fits and returns the model as its own type.
    pub(crate) fn fit_nets(&self, design: &Design, ctx: &FitContext<'_>) -> Result<NetModel> {
        if design.n_arms() != 2 {
            return Err(Error::Unsupported {
                estimator: self.name.into(),
                message: format!("takes two arms, the data have {}; compare one arm with the control", design.n_arms()),
            });
        }
        let kind = self.kind.as_ref();
        let keeper = Keeper::new(ctx, self.request(design, ctx))?;
        let parts = windows(design.t(), design.groups(), ctx.valid_share, (self.members, ctx.seed));
        check_arms(design, &parts)?;
        ctx.event(&Event::Stage { name: "training networks".into(), total: Some(self.members as u64) });
        let (chosen, mut notes) = choose(kind, design, &parts[0], (ctx, &keeper))?;
        ctx.event(&Event::Progress { done: 1 });
        let (count, rest) = (chosen.len(), self.members - 1);
        let others = run_all(count * rest, |k| {
            let (ensemble, member) = (k % count, 1 + k / count);
            let choice = chosen[ensemble].choice;
            let job = Job { kind, design, parts: &parts[member], choice, member, parallelism: inside(count * rest) };
            job.train(&format!("member{member}-{ensemble}"), (ctx, &keeper))
        })?;
        ctx.event(&Event::Progress { done: self.members as u64 });
        // One ensemble per choice: the first member was trained while choosing, the others come in turn.
        let choices: Vec<Choice> = chosen.iter().map(|c| c.choice).collect();
        let mut trained: Vec<Vec<Member>> = chosen.into_iter().map(|c| vec![c.first]).collect();
        others.into_iter().enumerate().for_each(|(k, member)| trained[k % count].push(member));
        if count == 2 && design.propensity().is_none() {
            let separate = propensity_nets(kind, design, &parts, (ctx, &keeper))?;
            let plain = trained.pop().unwrap_or_default().into_iter().zip(separate);
            let with_net = |(m, net): (Member, _)| Member { predictor: m.predictor.with_propensity_net(net), ..m };
            trained.push(plain.map(with_net).collect());
        }
        let mut shares = vec![1.0];
        if let [weighted, plain] = &trained[..] {
            let (share, error) = weighted_share(design, (weighted, plain), &parts)?;
            shares = vec![share, 1.0 - share];
            notes.push(("weighted_share".to_owned(), share));
            if error.is_finite() {
                notes.push(("weighted_share_error".to_owned(), error));
            }
        }
        // Γ learns through the weights alone, so only weighted nets show what it reads, whatever they count for.
        let (mut feature_roles, mut feature_reading) = (Vec::new(), Vec::new());
        match kind.feature_report() {
            FeatureReport::Roles => feature_roles = roles(design, &trained[0])?,
            FeatureReport::Reading => feature_reading = reading(design, &trained[0]),
            FeatureReport::None => {}
        }
        let mut ensembles = Vec::new();
        for (place, ((choice, members), share)) in choices.into_iter().zip(trained).zip(shares).enumerate() {
            // Nets that do not count are not kept, but for the last ones, which give the propensity.
            if share > 0.0 || place + 1 == count {
                ensembles.push(Ensemble { choice, members, share });
            }
        }
        let mut diagnostics = report(kind, design, &ensembles, &parts, &notes)?;
        diagnostics.roles = feature_roles;
        diagnostics.reading = feature_reading;
        let (shares, nets): (Vec<f64>, Vec<_>) = ensembles
            .into_iter()
            .map(|e| (e.share, e.members.into_iter().map(|m| m.predictor).collect::<Vec<_>>()))
            .unzip();
        let members: Vec<Mixture> =
            (0..self.members).map(|k| Mixture::new(nets.iter().map(|all| all[k].clone()).collect(), &shares)).collect();
        let (rows, mut held_out) = held_out(&members, design, &parts)?;
        let (mut shift, mut shrink) = (Shift::default(), Shrink::default());
        if kind.tempers() {
            if let Some((found, errors)) = recalibrate::shift(design, &rows, &held_out) {
                shift = found;
                shift.apply(&mut held_out);
                for (arm, [mean, error]) in errors.into_iter().enumerate() {
                    diagnostics.note(&format!("held_out_error_{arm}"), mean);
                    diagnostics.note(&format!("held_out_error_{arm}_se"), error);
                    diagnostics.note(&format!("shift_{arm}"), shift.arms[arm]);
                }
            }
            let mut all = predict(&members, design.x(), &rows, Want::Outcomes)?;
            shift.apply(&mut all);
            if let Some((found, [best, error])) = shrink::shrink(design, &rows, (&held_out, &all)) {
                shrink = found;
                shrink.apply(&mut held_out);
                diagnostics.note("spread_best", best);
                diagnostics.note("spread_best_se", error);
                diagnostics.note("spread_kept", shrink.kept);
                diagnostics.note("spread_centre", shrink.centre);
            }
        }
        let held_out = (rows.len() == design.n_rows()).then_some(held_out);
        Ok(NetModel { members, shift, shrink, diagnostics, held_out })
    }

    /// What a checkpoint must have been asked for to be resumed.
    fn request(&self, design: &Design, ctx: &FitContext<'_>) -> Value {
        serde_json::json!({
            "estimator": self.name,
            "params": self.params,
            "members": self.members,
            "rows": design.n_rows(),
            "columns": design.x().n_cols(),
            "treated": design.rows_of_arm(1).len(),
            "outcomes": design.y().iter().enumerate().map(|(i, y)| y * (1.0 + (i % 7) as f64)).sum::<f64>().to_string(),
            "seed": ctx.seed.0.to_string(),
            "valid_share": ctx.valid_share,
        })
    }
}

/// Refuses data of which some member would see one arm alone.
fn check_arms(design: &Design, parts: &[TrainValid]) -> Result<()> {
    for part in parts {
        for arm in 0..2 {
            if !part.train.iter().any(|&i| design.t()[i] == arm) {
                return Err(Error::unfit(format!(
                    "no training rows of treatment {arm} are left beside the validation rows; lower the validation share"
                )));
            }
        }
    }
    Ok(())
}

/// The members trained by one choice, and what they count for in the answer.
#[derive(Debug)]
pub(crate) struct Ensemble {
    pub(crate) choice: Choice,
    pub(crate) members: Vec<Member>,
    pub(crate) share: f64,
}

/// The rows that some member held out, and their effects by the members that did.
fn held_out(members: &[Mixture], design: &Design, parts: &[TrainValid]) -> Result<(Vec<usize>, Effects)> {
    let n = design.n_rows();
    let mut holders = vec![0_u32; n];
    parts.iter().flat_map(|part| &part.valid).for_each(|&i| holders[i] += 1);
    let rows: Vec<usize> = (0..n).filter(|&i| holders[i] > 0).collect();
    let mut place = vec![0; n];
    rows.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let zeros = || vec![0.0; rows.len()];
    let (mut mu0, mut mu1, mut e) = (zeros(), zeros(), zeros());
    let mut has_e = true;
    for (member, part) in members.iter().zip(parts) {
        let own = predict(std::slice::from_ref(member), design.x(), &part.valid, Want::Everything)?;
        for (k, &i) in part.valid.iter().enumerate() {
            let share = 1.0 / f64::from(holders[i]);
            mu0[place[i]] += share * own.mu0[k];
            mu1[place[i]] += share * own.mu1[k];
            match &own.e {
                Some(values) => e[place[i]] += share * values[k],
                None => has_e = false,
            }
        }
    }
    let mut out = Effects::from_outcomes(mu0, mu1);
    out.e = (has_e && !rows.is_empty()).then_some(e);
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

impl Estimator for NetEstimator {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        Ok(Box::new(self.fit_nets(design, ctx)?))
    }
}
