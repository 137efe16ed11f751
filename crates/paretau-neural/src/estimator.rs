//! The estimator: chooses what the data must choose on validation rows, trains the members, reports.

use std::sync::Arc;

use paretau_core::{Design, Effects, Error, Estimator, Event, FitContext, FittedModel, Result, Want};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::choose::{Notes, choose};
use crate::fitted::{Mixture, NetModel, predict};
use crate::member::{Job, Member};
use crate::nets::{FeatureReport, Keeping, NetKind};
use crate::predictor::Predictor;
use crate::propensity_nets::propensity_nets;
use crate::recalibrate::{self, Shift};
use crate::report::report;
use crate::roles::{reading, roles};
use crate::settings::{Choice, Part};
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
        let (trained, mut notes) = train_members(kind, design, &parts, (ctx, &keeper))?;
        let count = trained.len();
        let mut shares = vec![1.0];
        if let [(_, weighted), (_, plain)] = &trained[..] {
            let (share, error) = weighted_share(design, (weighted, plain), &parts)?;
            shares = vec![share, 1.0 - share];
            notes.push(("weighted_share".to_owned(), share));
            if error.is_finite() {
                notes.push(("weighted_share_error".to_owned(), error));
            }
        }
        // Γ serves the weights alone, so only weighted nets show what it reads, whatever they count for.
        let (mut feature_roles, mut feature_reading) = (Vec::new(), Vec::new());
        match kind.feature_report() {
            FeatureReport::Roles => feature_roles = roles(design, &trained[0].1)?,
            FeatureReport::Reading => feature_reading = reading(design, &trained[0].1),
            FeatureReport::None => {}
        }
        let mut ensembles = Vec::new();
        for (place, ((choice, members), share)) in trained.into_iter().zip(shares).enumerate() {
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

/// Nets that were trained with one choice of what is open.
type Trained = (Choice, Vec<Member>);

/// Trains all members: one ensemble, or a weighted and an unweighted one when the weights' share is open.
fn train_members(
    kind: &dyn NetKind,
    design: &Design,
    parts: &[TrainValid],
    keeping: Keeping<'_>,
) -> Result<(Vec<Trained>, Notes)> {
    let (ctx, _) = keeping;
    let (tempers, rest) = (kind.tempers(), parts.len() - 1);
    // Where propensities are unknown, nets of their own find them, and unweighted nets need none.
    let separate = tempers && design.propensity().is_none();
    let part = if separate { Part::Unweighted } else { Part::Whole };
    let (chosen, propensities) = rayon::join(
        || choose(kind, design, &parts[0], part, keeping),
        || separate.then(|| propensity_nets(kind, design, parts, keeping)).transpose(),
    );
    let ((choice, first, notes), propensities) = (chosen?, propensities?);
    ctx.event(&Event::Progress { done: 1 });
    let train = |choice: Choice, member: usize, from: Option<&Predictor>, (runs, ensemble): (usize, usize)| {
        let parallelism = inside(runs);
        let job = Job { kind, design, parts: &parts[member], choice, member, parallelism, from, pause: None };
        job.train(&format!("member{member}-{ensemble}"), keeping)
    };
    let others = run_all(rest, |k| train(choice, 1 + k, None, (rest, usize::from(tempers))))?;
    let mut members: Vec<Member> = std::iter::once(first).chain(others).collect();
    let mut ensembles = Vec::new();
    if tempers {
        let weighted = Choice { gamma: 1.0, part: Part::Weighted, ..choice };
        let runs = members.len();
        let others = run_all(runs, |k| train(weighted, k, Some(&members[k].predictor), (runs, 0)))?;
        ensembles.push((weighted, others));
    }
    if let Some(nets) = propensities {
        let with_net = |(m, net): (Member, _)| Member { predictor: m.predictor.with_propensity_net(net), ..m };
        members = members.into_iter().zip(nets).map(with_net).collect();
    }
    ctx.event(&Event::Progress { done: parts.len() as u64 });
    ensembles.push((choice, members));
    Ok((ensembles, notes))
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

#[cfg(test)]
mod tests {
    use paretau_core::{Dense, Features, Seed};

    use super::*;
    use crate::config::TrainingConfig;
    use crate::nets::disentangled::{DPSW_NORM, DpswConfig};

    fn design() -> Design {
        let (n, d) = (400, 4);
        let mut rng = Seed(11).rng();
        let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
        let (mut t, mut y) = (vec![], vec![]);
        for row in x.chunks(d) {
            let treated = rng.bernoulli(1.0 / (1.0 + (-row[0] - row[1]).exp()));
            t.push(u8::from(treated));
            y.push(row[1] + row[3] + f64::from(t[t.len() - 1]) * (1.0 + row[3]) + 0.3 * rng.normal());
        }
        Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap()
    }

    fn fitted(design: &Design) -> NetModel {
        let training =
            TrainingConfig { max_steps: Some(60), min_steps: Some(40), members: 2, ..TrainingConfig::default() };
        let kind = DpswConfig { training, ..(DPSW_NORM.preset)() };
        let ctx = FitContext { valid_share: 0.3, ..FitContext::silent(Seed(3)) };
        NetEstimator::new("dpsw-norm", kind).unwrap().fit_nets(design, &ctx).unwrap()
    }

    #[test]
    fn the_answer_is_the_mean_of_weighted_and_unweighted_nets_by_their_shares() {
        let design = design();
        let model = fitted(&design);
        let number = |name: &str| model.diagnostics.numbers[name];
        let share = number("weighted_share");
        assert!(share > 0.0 && share < 1.0, "{share}");
        let rows: Vec<usize> = (0..design.n_rows()).collect();
        let count = model.members.len() as f64;
        let mut raw = vec![0.0; rows.len()];
        for member in &model.members {
            assert_eq!(member.nets.len(), 2);
            for ((net, own), expected) in member.nets.iter().zip([share, 1.0 - share]) {
                assert!((own - expected).abs() < 1e-12);
                let alone = [Mixture::new(vec![net.clone()], &[1.0])];
                let tau = predict(&alone, design.x(), &rows, Want::Outcomes).unwrap().tau;
                raw.iter_mut().zip(&tau).for_each(|(sum, tau)| *sum += own * tau / count);
            }
        }
        let shift = number("shift_1") - number("shift_0");
        let (kept, centre) = (number("spread_kept"), number("spread_centre"));
        let tau = model.predict(design.x(), Want::Outcomes).unwrap().remove(0).tau;
        for (i, (tau, raw)) in tau.iter().zip(raw).enumerate() {
            let expected = centre + kept * (raw + shift - centre);
            assert!((tau - expected).abs() < 1e-9, "row {i}: {tau} {expected}");
        }
    }

    #[test]
    fn unweighted_nets_lack_what_outcomes_do_not_need_and_known_propensities_keep_it() {
        let design = design();
        let model = fitted(&design);
        let groups: Vec<usize> = model.members[0].nets.iter().map(|(net, _)| net.info.spec.groups).collect();
        assert_eq!(groups, [3, 2]);
        let e = vec![0.5; design.n_rows()];
        let known = fitted(&design.with_propensity(e).unwrap());
        assert!(known.members[0].nets.iter().all(|(net, _)| net.info.spec.groups == 3));
    }
}
