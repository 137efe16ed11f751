//! Stacked nuisances: both arms' outcomes and the propensity as convex mixtures of several learners, each cross-fitted.
//!
//! A doubly robust average inherits the faults of its nuisances, and no learner is good on all data: a line is blind to
//! curves, a forest slow on lines. Each learner predicts every row without having seen it, and the mixture that predicts
//! best is taken (short stacking), so that the answer hangs on the data and not on which learner was named. The overall mean
//! is always a candidate, which is best where the features say nothing; the smaller arm may also borrow the
//! larger one's prediction, shifted, which is best where an arm has few rows.
//!
//! Learners with held-out predictions of their own (a forest's out-of-bag ones) are fitted once. The others are cross-fitted
//! over several random splits into folds, and a row's prediction is the median over splits, so that no answer hangs on one split.

use paretau_core::{Design, Features, FitContext, FittedRegressor, Fold, Regressor, Result, Target};
use serde::{Deserialize, Serialize};

use crate::convex;
use crate::crossfit::{CrossTask, fit_all, fit_folds};
use crate::folds::{design_folds, fold_count};
use crate::nuisances::Nuisance;
use crate::platt::LogitMap;
use crate::rows::{outcome_target, stage, two_arms};

/// Learners whose share is below this are left out, and the others' shares fill its place.
const LEAST_SHARE: f64 = 0.01;
/// The name of the candidate that predicts the mean.
pub const MEAN: &str = "mean";
/// The name of the candidate that predicts the other arm's outcome, shifted.
pub const OTHER_ARM: &str = "other arm, shifted";

/// A learner that may take part.
#[derive(Debug)]
pub struct Candidate {
    /// Its name among the base learners.
    pub name: &'static str,
    /// The learner.
    pub learner: Box<dyn Regressor>,
}

/// How nuisances are stacked.
#[derive(Debug)]
pub struct StackPlan {
    /// Who may take part, beside the mean.
    pub candidates: Vec<Candidate>,
    /// Folds of cross-fitting; fewer are used when an arm is small.
    pub folds: usize,
    /// Random splits into folds; odd, so that there is a middle one.
    pub repeats: usize,
    /// Whether the outcomes' models are kept for new rows; forests of many rows take more memory than the rows.
    pub keeps_outcome_models: bool,
    /// Most rows that a learner is given, drawn at random from more. A learner works on copies of its rows, so this, and not
    /// the size of the data, is what their memory grows with.
    pub most_rows: usize,
}

impl StackPlan {
    /// Folds when nothing else is asked for.
    pub const FOLDS: usize = 5;
    /// Splits of small data, whose folds differ most.
    const REPEATS: usize = 3;
    /// Cells up to which data count as small.
    const SMALL: usize = 1_000_000;
    /// Cells, stored ones of sparse features, that a learner is given at most.
    const MOST_CELLS: usize = 1 << 23;
    /// Rows that it is given however wide they are.
    const LEAST_ROWS: usize = 50_000;
    /// Share of those rows that the rarer class of a 0/1 target must have for rows to be left out.
    const RARE: f64 = 0.1;

    /// The usual plan for these features: three splits, one where that would take long and changes little. The outcomes'
    /// models are not kept.
    pub fn usual(candidates: Vec<Candidate>, x: &Features) -> Self {
        let is_small = x.n_rows().saturating_mul(x.n_cols()) <= Self::SMALL;
        let repeats = if is_small { Self::REPEATS } else { 1 };
        let most_rows = Self::most_rows(x);
        Self { candidates, folds: Self::FOLDS, repeats, keeps_outcome_models: false, most_rows }
    }

    /// Most rows of these features that a learner is given: more would hardly predict better, and take time and memory.
    pub fn most_rows(x: &Features) -> usize {
        let stored = match x {
            Features::Dense(m) => m.values().len(),
            Features::Sparse(m) => m.values().len(),
        };
        let per_row = stored.div_ceil(x.n_rows().max(1)).max(1);
        (Self::MOST_CELLS / per_row).max(Self::LEAST_ROWS)
    }

    /// The same for a target: of a rare class no rows are left out.
    fn most_rows_for(&self, task: &CrossTask<'_>, scored: &[bool]) -> usize {
        if task.rows.target == Target::Mean {
            return self.most_rows;
        }
        let rows = scored.iter().filter(|own| **own).count().max(1) as f64;
        let ones = task.rows.y.iter().zip(scored).filter(|(y, own)| **own && **y > 0.5).count() as f64;
        let rarer = (ones / rows).min(1.0 - ones / rows);
        (self.most_rows as f64 / (rarer / Self::RARE).min(1.0)) as usize
    }
}

/// What a learner has in a mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The learner's name.
    pub name: String,
    /// Its share, from 0 to 1.
    pub share: f64,
    /// Its own held-out loss: mean squared error, log-loss for propensities.
    pub loss: f64,
}

/// A nuisance as a mixture, in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StackReport {
    /// Who carries it.
    pub shares: Vec<Share>,
    /// The mixture's held-out loss.
    pub loss: f64,
    /// The loss of the mean.
    pub loss_of_mean: f64,
}

impl StackReport {
    /// Share of the mean's loss that the mixture saves: an R² for outcomes, its like for propensities.
    pub fn gain(&self) -> f64 {
        if self.loss_of_mean > 0.0 { 1.0 - self.loss / self.loss_of_mean } else { 0.0 }
    }
}

/// The propensity of new rows: the mixture's models, fitted on all rows.
#[derive(Debug)]
pub struct PropensityStack {
    /// Base learner's name, share, model.
    pub members: Vec<(&'static str, f64, Box<dyn FittedRegressor>)>,
    /// The share of treated rows, and its own share in the mixture.
    pub mean: (f64, f64),
    /// Calibrates the mixture.
    pub calibration: LogitMap,
}

impl PropensityStack {
    /// Propensities of rows, strictly between 0 and 1.
    pub fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let (mean, share) = self.mean;
        let mut mixed = vec![mean * share; x.n_rows()];
        for (_, share, model) in &self.members {
            mixed.iter_mut().zip(model.predict(x)?).for_each(|(sum, p)| *sum += share * p);
        }
        Ok(mixed.into_iter().map(|p| self.calibration.apply(p)).collect())
    }
}

/// The expected outcome of new rows in one arm: the mixture's models, fitted on all rows of the arm.
#[derive(Debug)]
pub struct ArmStack {
    /// Base learner's name, share, model.
    pub members: Vec<(&'static str, f64, Box<dyn FittedRegressor>)>,
    /// The arm's mean outcome, and its own share in the mixture.
    pub mean: (f64, f64),
    /// What the other arm's prediction is shifted by, and its share in the mixture.
    pub other: (f64, f64),
}

/// Expected outcomes of new rows without and with treatment.
#[derive(Debug)]
pub struct OutcomeStack {
    /// Without and with treatment; at most one of them leans on the other.
    pub arms: [ArmStack; 2],
    /// Whether they are probabilities.
    pub probability: bool,
}

impl OutcomeStack {
    /// Expected outcomes of rows without and with treatment.
    pub fn predict(&self, x: &Features) -> Result<[Vec<f64>; 2]> {
        let own = |arm: &ArmStack| -> Result<Vec<f64>> {
            let mut mixed = vec![arm.mean.0 * arm.mean.1; x.n_rows()];
            for (_, share, model) in &arm.members {
                mixed.iter_mut().zip(model.predict(x)?).for_each(|(sum, p)| *sum += share * p);
            }
            Ok(mixed)
        };
        let mut mu = [own(&self.arms[0])?, own(&self.arms[1])?];
        for arm in [0, 1] {
            let (shift, share) = self.arms[arm].other;
            if share > 0.0 {
                let [mu0, mu1] = &mut mu;
                let (into, from) = if arm == 0 { (mu0, &*mu1) } else { (mu1, &*mu0) };
                into.iter_mut().zip(from).for_each(|(sum, p)| *sum += share * inside(p + shift, self.probability));
            }
        }
        Ok(mu)
    }
}

/// A prediction, within what a probability may be.
fn inside(p: f64, probability: bool) -> f64 {
    if probability { p.clamp(1e-6, 1.0 - 1e-6) } else { p }
}

/// Nuisances of a design with two arms, whatever estimator was fitted to it.
#[derive(Debug)]
pub struct StackedNuisances {
    /// Predictions of every row by models that did not see it.
    pub nuisance: Nuisance,
    /// How the outcomes without and with treatment are predicted.
    pub outcomes: [StackReport; 2],
    /// Expected outcomes of new rows, where the plan keeps their models.
    pub outcome_models: Option<OutcomeStack>,
    /// How the propensity is predicted.
    pub propensity: StackReport,
    /// The same for new rows. Where the study's design tells the training rows' propensities, those are used for them.
    pub propensity_model: PropensityStack,
}

/// Cross-fits all nuisances of a design with two arms.
pub fn stack_nuisances(design: &Design, plan: &StackPlan, ctx: &FitContext<'_>) -> Result<StackedNuisances> {
    two_arms(design, "cross-fitting")?;
    if fold_count(design.t(), design.groups(), plan.folds).is_none() {
        return Ok(of_means(design, plan));
    }
    let splits = (0..plan.repeats.max(1))
        .map(|k| design_folds(design, plan.folds, ctx.seed.named("splits").indexed(k as u64)))
        .collect::<Result<Vec<_>>>()?;
    let learned_from = |fold: &Fold, arm: u8| fold.train.iter().filter(|&&i| design.t()[i] == arm).count();
    if splits.iter().flatten().any(|fold| learned_from(fold, 0).min(learned_from(fold, 1)) < 2) {
        return Ok(of_means(design, plan));
    }
    let stacking = Stacking { plan, splits, ctx };
    let target = outcome_target(design);
    // The larger arm first: the smaller one may lean on it.
    let treated = design.t().iter().filter(|&&t| t == 1).count();
    let larger = u8::from(2 * treated > design.n_rows());
    let outcome = |arm: u8, other: Option<&[f64]>| -> Result<Mixture> {
        let label = if arm == 0 { "outcomes without treatment" } else { "outcomes with treatment" };
        let rows: Vec<bool> = design.t().iter().map(|&t| t == arm).collect();
        let task = CrossTask::of(design, design.y(), target).from_rows(&rows);
        let shifted = other.map(|other| stacking.shifted(design, &rows, other, target));
        let further = shifted.map(|p| (OTHER_ARM, p));
        stacking.mix(&task, &rows, (further, Loss::Squared, plan.keeps_outcome_models), &stage(ctx, label)?)
    };
    let first = outcome(larger, None)?;
    let second = outcome(1 - larger, Some(&first.held_out))?;
    let shift = mean_of(design, 1 - larger, &first.held_out);
    let [mu0, mu1] = if larger == 0 { [first, second] } else { [second, first] };
    let zero = vec![0.0; design.n_rows()];
    let arm_stack = |arm: u8, members: Members, (mean, other): (f64, f64)| ArmStack {
        members,
        mean: (mean_of(design, arm, &zero), mean),
        other: (if arm == larger { 0.0 } else { shift }, other),
    };
    let (e, propensity, propensity_model) = stacking.propensity(design)?;
    let e = design.propensity().map_or(e, <[f64]>::to_vec);
    let outcomes = [mu0.report, mu1.report];
    let arms = [arm_stack(0, mu0.members, (mu0.mean, mu0.other)), arm_stack(1, mu1.members, (mu1.mean, mu1.other))];
    let outcome_models =
        plan.keeps_outcome_models.then(|| OutcomeStack { arms, probability: target == Target::Probability });
    let nuisance = Nuisance::from_arms(mu0.held_out, mu1.held_out, e);
    Ok(StackedNuisances { nuisance, outcomes, outcome_models, propensity, propensity_model })
}

/// The weighted mean of `y - base` over the rows of an arm.
fn mean_of(design: &Design, arm: u8, base: &[f64]) -> f64 {
    let w = |i: usize| design.weight().map_or(1.0, |w| w[i]);
    let rows = design.rows_of_arm(arm);
    rows.iter().map(|&i| w(i) * (design.y()[i] - base[i])).sum::<f64>() / rows.iter().map(|&i| w(i)).sum::<f64>()
}

/// Where a fold would learn from a single row of an arm nothing can be cross-fitted, and the arms' means are all there is. No
/// average is reported from so few rows.
fn of_means(design: &Design, plan: &StackPlan) -> StackedNuisances {
    let (n, share) = (design.n_rows(), weighted_share(design));
    let zero = vec![0.0; n];
    let mean = |arm: u8| mean_of(design, arm, &zero);
    let arm_stack = |arm: u8| ArmStack { members: vec![], mean: (mean(arm), 1.0), other: (0.0, 0.0) };
    let e = design.propensity().map_or_else(|| vec![share; n], <[f64]>::to_vec);
    let report = || StackReport {
        shares: vec![Share { name: MEAN.to_owned(), share: 1.0, loss: 0.0 }],
        loss: 0.0,
        loss_of_mean: 0.0,
    };
    StackedNuisances {
        nuisance: Nuisance::from_arms(vec![mean(0); n], vec![mean(1); n], e),
        outcomes: [report(), report()],
        outcome_models: plan.keeps_outcome_models.then(|| OutcomeStack {
            arms: [arm_stack(0), arm_stack(1)],
            probability: outcome_target(design) == Target::Probability,
        }),
        propensity: report(),
        propensity_model: PropensityStack { members: vec![], mean: (share, 1.0), calibration: LogitMap::IDENTITY },
    }
}

/// Base learner's name, share, model.
type Members = Vec<(&'static str, f64, Box<dyn FittedRegressor>)>;

/// A mixture of candidates' held-out predictions.
struct Mixture {
    held_out: Vec<f64>,
    report: StackReport,
    /// Models on all rows of the learners that have a share, where they are kept.
    members: Members,
    /// The mean's share.
    mean: f64,
    /// The share of the other arm's prediction, shifted.
    other: f64,
}

struct Stacking<'a> {
    plan: &'a StackPlan,
    splits: Vec<Vec<Fold>>,
    ctx: &'a FitContext<'a>,
}

impl Stacking<'_> {
    /// Cross-fits the candidates on the task and mixes them by their losses on the rows that have an outcome.
    fn mix(
        &self,
        task: &CrossTask<'_>,
        scored: &[bool],
        (further, loss, keeps_models): (Option<(&'static str, Vec<f64>)>, Loss, bool),
        ctx: &FitContext<'_>,
    ) -> Result<Mixture> {
        let task = &CrossTask { most_rows: Some(self.plan.most_rows_for(task, scored)), ..*task };
        let mut held_out: Vec<(&'static str, Vec<f64>)> = vec![(MEAN, self.means(task, scored))];
        let leans = further.is_some();
        let mut models = vec![];
        for candidate in &self.plan.candidates {
            let ctx = ctx.with_seed(ctx.seed.named(candidate.name));
            let full = fit_all(task, candidate.learner.as_ref(), &ctx)?;
            models.extend(keeps_models.then_some(full.model));
            let predicted = match full.held_out {
                Some(own) => own,
                None => self.over_splits(|split, k| {
                    let seeds = ctx.seed.named("split").indexed(k as u64);
                    Ok(fit_folds(task, candidate.learner.as_ref(), split, seeds, &ctx)?.held_out)
                })?,
            };
            held_out.push((candidate.name, predicted));
        }
        held_out.extend(further);
        let rows: Vec<usize> = (0..scored.len()).filter(|&i| scored[i]).collect();
        let pick = |v: &[f64]| -> Vec<f64> { rows.iter().map(|&i| v[i]).collect() };
        let (y, weight) = (pick(task.rows.y), task.rows.weight.map(pick));
        let predictions: Vec<Vec<f64>> = held_out.iter().map(|(_, p)| pick(p)).collect();
        let views: Vec<&[f64]> = predictions.iter().map(Vec::as_slice).collect();
        let mut shares = match loss {
            Loss::Squared => convex::least_squares(&views, &y, weight.as_deref())?,
            Loss::Log => convex::log_loss(&views, &y, weight.as_deref())?,
        };
        shares.iter_mut().filter(|s| **s < LEAST_SHARE).for_each(|s| *s = 0.0);
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= total);
        let loss = |p: &[f64]| loss.mean(p, &y, weight.as_deref());
        let mixed: Vec<f64> =
            (0..scored.len()).map(|i| shares.iter().zip(&held_out).map(|(share, (_, p))| share * p[i]).sum()).collect();
        let report = StackReport {
            loss: loss(&pick(&mixed)),
            loss_of_mean: loss(&predictions[0]),
            shares: (held_out.iter().zip(&shares).zip(&predictions))
                .map(|(((name, _), share), p)| Share { name: (*name).to_owned(), share: *share, loss: loss(p) })
                .collect(),
        };
        let other = if leans { shares[shares.len() - 1] } else { 0.0 };
        let names = self.plan.candidates.iter().map(|c| c.name);
        let members = names.zip(&shares[1..]).zip(models).map(|((name, share), model)| (name, *share, model));
        let members = members.filter(|(_, share, _)| *share > 0.0).collect();
        Ok(Mixture { held_out: mixed, report, members, mean: shares[0], other })
    }

    /// The propensity, calibrated.
    fn propensity(&self, design: &Design) -> Result<(Vec<f64>, StackReport, PropensityStack)> {
        let t: Vec<f64> = design.t().iter().map(|&t| f64::from(t)).collect();
        let task = CrossTask::of(design, &t, Target::Probability);
        let all = vec![true; t.len()];
        let Mixture { held_out, mut report, members, mean, .. } =
            self.mix(&task, &all, (None, Loss::Log, true), &stage(self.ctx, "propensity")?)?;
        let calibration = LogitMap::fit(&held_out, &t, design.weight());
        let e: Vec<f64> = held_out.iter().map(|p| calibration.apply(*p)).collect();
        report.loss = Loss::Log.mean(&e, &t, design.weight());
        let share = weighted_share(design);
        let model = PropensityStack { members, mean: (share, mean), calibration };
        Ok((e, report, model))
    }

    /// The mean outcome of the rows that are learned from, without the row's own fold.
    fn means(&self, task: &CrossTask<'_>, learned: &[bool]) -> Vec<f64> {
        let zero = vec![0.0; task.rows.y.len()];
        self.shifts(task.rows.y, &zero, task.rows.weight, learned)
    }

    /// The other arm's prediction plus the mean of what it misses in this arm, by rows outside the row's fold.
    fn shifted(&self, design: &Design, own: &[bool], other: &[f64], target: Target) -> Vec<f64> {
        let shift = self.shifts(design.y(), other, design.weight(), own);
        other.iter().zip(shift).map(|(other, by)| inside(other + by, target == Target::Probability)).collect()
    }

    /// Per row, the weighted mean of `y - base` over the marked rows outside its fold; the median over splits.
    fn shifts(&self, y: &[f64], base: &[f64], weight: Option<&[f64]>, marked: &[bool]) -> Vec<f64> {
        let w = |i: usize| weight.map_or(1.0, |w| w[i]);
        let mean = |rows: &mut dyn Iterator<Item = usize>| -> Option<f64> {
            let (mut sum, mut total) = (0.0, 0.0);
            for i in rows.filter(|&i| marked[i]) {
                sum += w(i) * (y[i] - base[i]);
                total += w(i);
            }
            (total > 0.0).then(|| sum / total)
        };
        let of_all = mean(&mut (0..y.len())).unwrap_or(0.0);
        let of_split = |split: &[Fold]| -> Vec<f64> {
            let mut out = vec![of_all; y.len()];
            for fold in split {
                if let Some(value) = mean(&mut fold.train.iter().copied()) {
                    fold.held_out.iter().for_each(|&i| out[i] = value);
                }
            }
            out
        };
        median(self.splits.iter().map(|split| of_split(split)).collect())
    }

    /// The median of each row's prediction over the splits.
    fn over_splits(&self, predict: impl Fn(&[Fold], usize) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
        let all = self.splits.iter().enumerate().map(|(k, split)| predict(split, k));
        Ok(median(all.collect::<Result<_>>()?))
    }
}

/// Row-wise median of several vectors.
fn median(mut all: Vec<Vec<f64>>) -> Vec<f64> {
    if all.len() == 1 {
        return all.swap_remove(0);
    }
    let n = all.first().map_or(0, Vec::len);
    let mut values = vec![0.0; all.len()];
    (0..n)
        .map(|i| {
            values.iter_mut().zip(&all).for_each(|(v, p)| *v = p[i]);
            values.sort_by(f64::total_cmp);
            let half = values.len() / 2;
            if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
        })
        .collect()
}

fn weighted_share(design: &Design) -> f64 {
    let w = |i: usize| design.weight().map_or(1.0, |w| w[i]);
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, &t) in design.t().iter().enumerate() {
        sum += w(i) * f64::from(t);
        total += w(i);
    }
    sum / total
}

/// What mixtures are chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Squared error: for outcomes, yes/no ones too, since it is what an average's variance is made of.
    Squared,
    /// Log-loss: for propensities, whose inverses count.
    Log,
}

impl Loss {
    /// The weighted mean loss; the log-loss takes probabilities strictly between 0 and 1.
    fn mean(self, p: &[f64], y: &[f64], weight: Option<&[f64]>) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..y.len() {
            let w = weight.map_or(1.0, |w| w[i]);
            let loss = match self {
                Self::Squared => (y[i] - p[i]).powi(2),
                Self::Log if y[i] > 0.5 => -p[i].ln(),
                Self::Log => -(-p[i]).ln_1p(),
            };
            sum += w * loss;
            total += w;
        }
        sum / total
    }
}
