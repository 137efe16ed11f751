//! `auto`: several estimators cross-fitted, and the convex mixture of their effects that losses without the truth like best.
//!
//! Candidates come from the data's shape. Each predicts rows that it did not learn from; those that are hopeless on the
//! folds so far are not fitted again. One effect for everyone is always a candidate, so that no heterogeneity is invented where
//! there is none. Weights are chosen by Q-aggregation on the doubly robust loss and the R-loss together, each
//! in units of a constant effect's: the first speaks about every row, the second is calm where overlap is poor. Members
//! with a weight are fitted again to all rows.

mod aggregate;
mod candidates;
mod model;
mod words;

use paretau_core::{
    Abilities, BuildContext, ConfigEntry, Design, Diagnostics, Effects, Error, Estimator, EstimatorInfo, Event, Family,
    FitContext, FittedModel, Fold, OutcomeKind, ParamKind, ParamSpec, Result, Want,
};
use paretau_eval::losses::{difference, dr_losses, r_losses};
use paretau_nuisance::inference::mean;
use paretau_nuisance::{Nuisance, Observed, Weights, design_folds, two_arms};
use serde::{Deserialize, Serialize};

use crate::observers::Quiet;
use crate::registry;
use crate::{find, nuisances};
use aggregate::q_aggregation;
pub use candidates::{Candidate, Effort, Shape, candidates};
use model::{AutoModel, Constant, Member, MemberFacts, mixed};
pub(crate) use words::{belongs, mixture};

/// Its name in the registry.
pub(crate) const NAME: &str = "auto";
/// The name of the candidate that gives everyone the same effect.
const CONSTANT: &str = "constant";
/// Members whose weight is below this are left out, and the others fill its place.
const LEAST_WEIGHT: f64 = 0.02;
/// Standard errors above the best on the folds so far at which a candidate is given up.
const HOPELESS: f64 = 2.5;

/// Parameters of `auto`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoConfig {
    /// How much work it may do.
    pub effort: Effort,
    /// Names of the candidates, separated by commas; `None` chooses by the data's shape.
    pub candidates: Option<String>,
    /// Folds of cross-fitting; `None` follows the effort.
    pub folds: Option<usize>,
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "effort",
        ParamKind::Choice(Effort::CHOICES),
        "how much work to do: `quick` tries lines, forests and meta-learners, `normal` a small net too, `thorough` more nets",
    ),
    ParamSpec::new(
        "candidates",
        ParamKind::Auto(&ParamKind::Text),
        "estimators to choose from, e.g. `lr-2,x-learner,causal-forest`; auto takes those that suit the data's shape",
    ),
    ParamSpec::new(
        "folds",
        ParamKind::Auto(&ParamKind::Int { min: 2, max: 20 }),
        "folds of cross-fitting, fewer when an arm is small; auto is 3 for quick, else 5",
    ),
];

/// `auto`.
pub const AUTO: ConfigEntry<AutoConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &[],
        family: Family::MetaLearner,
        class: "Auto",
        summary: "Convex mixture of the estimators that losses without the truth like best on held-out rows",
        reference: "Lecué and Rigollet (2014); Foster and Syrgkanis (2023)",
        handles: nuisances::HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || AutoConfig { effort: Effort::Normal, candidates: None, folds: None },
    build,
    load: model::load,
};

fn build(config: AutoConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let bad = |value: &str, expected: &str| Error::BadParameter {
        owner: ctx.name.to_owned(),
        name: "candidates".to_owned(),
        value: value.to_owned(),
        expected: expected.to_owned(),
    };
    let mut named: Option<Vec<Candidate>> = None;
    if let Some(text) = &config.candidates {
        let list = named.get_or_insert_with(Vec::new);
        for name in text.trim_matches(['[', ']']).split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let name = find(name)?.info().name;
            if name == NAME {
                return Err(bad(text, "other estimators than `auto` itself"));
            }
            if list.iter().all(|c| c.name != name) {
                list.push(Candidate::new(name));
            }
        }
        if list.is_empty() {
            return Err(bad(text, "names of estimators, separated by commas"));
        }
    }
    Ok(Box::new(Auto { config, named }))
}

#[derive(Debug)]
struct Auto {
    config: AutoConfig,
    named: Option<Vec<Candidate>>,
}

/// A candidate with its estimator and its predictions for rows it did not see.
struct Runner {
    label: &'static str,
    candidate: Candidate,
    estimator: Box<dyn Estimator>,
    /// Predictions per row; rows of folds that it was not fitted for are not numbers.
    held_out: Effects,
    /// Why it is not a candidate any more.
    given_up: Option<String>,
}

impl Runner {
    fn new(label: &'static str, candidate: Candidate, n: usize) -> Result<Self> {
        let estimator = find(candidate.name)?.build(&candidate.params, &registry::TOOLBOX)?;
        let nan = || vec![f64::NAN; n];
        let held_out = Effects { mu0: nan(), mu1: nan(), tau: nan(), e: None, se: None };
        Ok(Self { label, candidate, estimator, held_out, given_up: None })
    }

    fn is_constant(&self) -> bool {
        self.label == CONSTANT
    }

    /// Fits the rows, with the constant effect of these rows where that is the candidate.
    fn fit(&self, job: &Job<'_>, rows: Option<&[usize]>, ctx: &FitContext<'_>) -> Result<Member> {
        let part;
        let design = match rows {
            None => job.design,
            Some(rows) => {
                part = job.design.select(rows)?;
                &part
            }
        };
        let model = self.estimator.fit(design, ctx)?;
        let constant = self.is_constant().then(|| job.constant(rows));
        Ok(Member { facts: MemberFacts { name: self.candidate.name.to_owned(), weight: 0.0, constant }, model })
    }

    fn predict_fold(&mut self, job: &Job<'_>, k: usize, ctx: &FitContext<'_>) -> Result<()> {
        let fold = &job.folds[k];
        let ctx = ctx.with_seed(ctx.seed.named(self.label).indexed(k as u64));
        let member = self.fit(job, Some(&fold.train), &ctx)?;
        let effects = member.predict(&job.design.x().select(&fold.held_out), Want::Outcomes)?;
        if !effects.is_finite() {
            return Err(Error::Numeric { what: "auto", message: "a candidate's effect is not finite".into() });
        }
        for (j, &i) in fold.held_out.iter().enumerate() {
            self.held_out.mu0[i] = effects.mu0[j];
            self.held_out.mu1[i] = effects.mu1[j];
            self.held_out.tau[i] = effects.tau[j];
        }
        Ok(())
    }
}

/// The rows with what effects are measured by.
struct Job<'a> {
    design: &'a Design,
    folds: Vec<Fold>,
    nuisance: Nuisance,
    scores: Vec<f64>,
}

impl<'a> Job<'a> {
    fn new(design: &'a Design, folds: usize, ctx: &FitContext<'_>) -> Result<Self> {
        let folds = design_folds(design, folds, ctx.seed.named("auto"))?;
        let nuisance = nuisances::of_design(design, ctx)?.nuisance;
        let inverse = Weights::smoothed_inverse(&nuisance.e, design.t())?;
        let scores = nuisance.scores(&Observed::of(design)?, &inverse.smooth);
        Ok(Self { design, folds, nuisance, scores })
    }

    fn w(&self, i: usize) -> f64 {
        self.design.weight().map_or(1.0, |w| w[i])
    }

    /// The average doubly robust score of some rows, or of all.
    fn constant(&self, rows: Option<&[usize]>) -> Constant {
        let mut sums = [0.0; 3];
        let mut add = |i: usize| {
            let w = self.w(i);
            sums[0] += w;
            sums[1] += w * self.scores[i];
            sums[2] += w * f64::from(self.design.t()[i]);
        };
        match rows {
            Some(rows) => rows.iter().for_each(|&i| add(i)),
            None => (0..self.scores.len()).for_each(&mut add),
        }
        let binary = self.design.outcome() == OutcomeKind::Binary;
        let effect = sums[1] / sums[0];
        let effect = if binary { effect.clamp(-1.0, 1.0) } else { effect };
        Constant { effect, treated: sums[2] / sums[0], binary }
    }

    /// The design's rows as metrics take them.
    fn observed(&self) -> Result<Observed<'a>> {
        Observed::of(self.design)
    }

    /// Both losses of each row.
    fn losses(&self, tau: &[f64]) -> Result<[Vec<f64>; 2]> {
        Ok([dr_losses(tau, &self.scores), r_losses(&self.observed()?, &self.nuisance, tau)])
    }

    /// Weighted mean over some rows.
    fn mean_of(&self, values: &[f64], rows: &[usize]) -> f64 {
        let total: f64 = rows.iter().map(|&i| self.w(i)).sum();
        rows.iter().map(|&i| self.w(i) * values[i]).sum::<f64>() / total
    }

    /// What each candidate leaves of the rows, the doubly robust part first, in units of the constant effect's losses.
    fn residuals(&self, taus: &[&[f64]], rows: &[usize], units: [f64; 2]) -> Vec<Vec<f64>> {
        let scale = units.map(|unit| 1.0 / unit.sqrt());
        taus.iter()
            .map(|tau| {
                let dr = rows.iter().map(|&i| scale[0] * (self.scores[i] - tau[i]));
                let r = rows.iter().map(|&i| {
                    let (y, t) = (self.design.y()[i], f64::from(self.design.t()[i]));
                    scale[1] * ((y - self.nuisance.m[i]) - (t - self.nuisance.e[i]) * tau[i])
                });
                dr.chain(r).collect()
            })
            .collect()
    }

    /// Weights of the candidates on some rows.
    fn weights(&self, taus: &[&[f64]], rows: &[usize], units: [f64; 2]) -> Vec<f64> {
        let n = rows.len();
        q_aggregation(&self.residuals(taus, rows, units), &|i| self.w(rows[i % n]))
    }
}

impl Estimator for Auto {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, NAME)?;
        let quiet = Quiet(ctx.observer);
        let inner = FitContext { observer: &quiet, checkpoint: None, ..*ctx };
        ctx.event(&Event::Stage { name: "cross-fitting nuisances".to_owned(), total: None });
        let job = Job::new(design, self.config.folds.unwrap_or_else(|| self.config.effort.folds()), &inner)?;
        let mut runners = self.runners(design)?;
        self.cross_fit(&job, &mut runners, (ctx, &inner))?;
        let (alive, shares, mut diagnostics) = self.choose(&job, &runners)?;
        let kept: Vec<(&Runner, f64)> = alive.into_iter().zip(shares).filter(|(_, share)| *share > 0.0).collect();
        ctx.event(&Event::Note { message: format!("auto chose {}", in_words(&kept)) });
        for (runner, share) in &kept {
            diagnostics.note(&format!("share_{}", runner.label), *share);
        }
        let held_out = mixed(kept.iter().map(|(runner, share)| (*share, &runner.held_out)), Want::Outcomes);
        ctx.event(&Event::Stage { name: "fitting the members to all rows".to_owned(), total: Some(kept.len() as u64) });
        let mut members = vec![];
        for (runner, share) in &kept {
            ctx.check_interrupt()?;
            let own = inner.with_seed(inner.seed.named(runner.label).named("all rows"));
            let mut member = runner.fit(&job, None, &own)?;
            member.facts.weight = *share;
            diagnostics.warnings.extend(member.model.diagnostics().warnings.clone());
            members.push(member);
            ctx.event(&Event::Progress { done: members.len() as u64 });
        }
        Ok(Box::new(AutoModel {
            members,
            n_features: design.x().n_cols(),
            diagnostics,
            held_out: Some(vec![held_out]),
        }))
    }
}

impl Auto {
    /// The constant effect and the candidates.
    fn runners(&self, design: &Design) -> Result<Vec<Runner>> {
        let n = design.n_rows();
        let constant = Candidate::new(registry::CONSTANT_EFFECT);
        let own = self.named.clone().unwrap_or_else(|| candidates(&Shape::of(design), self.config.effort));
        let mut runners = vec![Runner::new(CONSTANT, constant, n)?];
        for candidate in own {
            runners.push(Runner::new(candidate.label, candidate, n)?);
        }
        Ok(runners)
    }

    /// Predictions of every row; who fails or is hopeless on the folds so far is given up.
    fn cross_fit(
        &self,
        job: &Job<'_>,
        runners: &mut [Runner],
        (ctx, inner): (&FitContext<'_>, &FitContext<'_>),
    ) -> Result<()> {
        let total = (runners.len() * job.folds.len()) as u64;
        ctx.event(&Event::Stage { name: "cross-fitting candidates".to_owned(), total: Some(total) });
        let mut done = 0;
        let mut first_error = None;
        for k in 0..job.folds.len() {
            for runner in runners.iter_mut() {
                ctx.check_interrupt()?;
                done += 1;
                ctx.event(&Event::Progress { done });
                if runner.given_up.is_some() {
                    continue;
                }
                match runner.predict_fold(job, k, inner) {
                    Ok(()) => {}
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => {
                        runner.given_up = Some(error.to_string());
                        first_error.get_or_insert(error);
                    }
                }
            }
            if k + 1 < job.folds.len() {
                give_up_hopeless(job, runners, k + 1)?;
            }
        }
        // A constant effect alone is no answer to data that nobody could be fitted to.
        match first_error {
            Some(error) if runners.iter().all(|r| r.is_constant() || r.given_up.is_some()) => {
                let hopeless = runners.iter().any(|r| r.given_up.as_deref() == Some(GIVEN_UP));
                if hopeless { Ok(()) } else { Err(error) }
            }
            _ => Ok(()),
        }
    }

    /// Which candidates take part with which share, and the notes on it.
    fn choose<'r>(&self, job: &Job<'_>, runners: &'r [Runner]) -> Result<(Vec<&'r Runner>, Vec<f64>, Diagnostics)> {
        let alive: Vec<&Runner> = runners.iter().filter(|r| r.given_up.is_none()).collect();
        let Some(constant) = alive.iter().find(|r| r.is_constant()) else {
            let why = runners.first().and_then(|r| r.given_up.clone()).unwrap_or_default();
            return Err(Error::unfit(format!("not even a constant effect could be fitted: {why}")));
        };
        let rows = job.observed()?;
        let everyone: Vec<usize> = (0..job.scores.len()).collect();
        let units = units(job, &constant.held_out.tau, &everyone)?;
        let taus: Vec<&[f64]> = alive.iter().map(|r| r.held_out.tau.as_slice()).collect();
        let mut shares = job.weights(&taus, &everyone, units);
        let left: f64 = shares.iter().filter(|s| **s >= LEAST_WEIGHT).sum();
        shares.iter_mut().for_each(|s| *s = if *s >= LEAST_WEIGHT { *s / left } else { 0.0 });
        // The mixture's own loss, with weights that did not see the fold.
        let mut tau = vec![0.0; everyone.len()];
        for fold in &job.folds {
            let weights = job.weights(&taus, &fold.train, units);
            for &i in &fold.held_out {
                tau[i] = weights.iter().zip(&taus).map(|(w, tau)| w * tau[i]).sum();
            }
        }
        let mut diagnostics = Diagnostics::default();
        let [dr, r] = job.losses(&tau)?;
        let mut best: Option<(f64, Vec<f64>)> = None;
        for runner in &alive {
            let [own_dr, own_r] = job.losses(&runner.held_out.tau)?;
            let (score, r_score) = (mean(&rows, &own_dr), mean(&rows, &own_r));
            diagnostics.note(&format!("dr_loss_{}", runner.label), score.value);
            diagnostics.note(&format!("r_loss_{}", runner.label), r_score.value);
            if best.as_ref().is_none_or(|(lowest, _)| score.value < *lowest) {
                best = Some((score.value, own_dr));
            }
        }
        let own = mean(&rows, &dr);
        diagnostics.note("dr_loss", own.value);
        diagnostics.note("r_loss", mean(&rows, &r).value);
        if let Some((_, best)) = best {
            let gap = difference(&rows, &dr, &best);
            diagnostics.note("dr_loss_above_best", gap.value);
            diagnostics.note("dr_loss_above_best_se", gap.se.unwrap_or(0.0));
        }
        for runner in runners {
            if let Some(why) = runner.given_up.as_ref().filter(|why| why.as_str() != GIVEN_UP) {
                diagnostics.warn("candidate-failed", format!("candidate `{}` took no part: {why}", runner.label));
            }
        }
        Ok((alive, shares, diagnostics))
    }
}

/// Why a candidate that could be fitted was given up.
const GIVEN_UP: &str = "hopeless on the first folds";

/// Gives up candidates whose loss on the first `n_folds` folds is clearly above the best one's.
fn give_up_hopeless(job: &Job<'_>, runners: &mut [Runner], n_folds: usize) -> Result<()> {
    let done: Vec<usize> = job.folds[..n_folds].iter().flat_map(|fold| fold.held_out.iter().copied()).collect();
    let Some(constant) = runners.iter().find(|r| r.is_constant() && r.given_up.is_none()) else { return Ok(()) };
    let units = units(job, &constant.held_out.tau, &done)?;
    let part = job.design.select(&done)?;
    let rows = Observed::of(&part)?;
    let losses = |runner: &Runner| -> Result<Option<Vec<f64>>> {
        if runner.given_up.is_some() {
            return Ok(None);
        }
        let [dr, r] = job.losses(&runner.held_out.tau)?;
        Ok(Some(done.iter().map(|&i| dr[i] / units[0] + r[i] / units[1]).collect()))
    };
    let all = runners.iter().map(losses).collect::<Result<Vec<_>>>()?;
    let best = all.iter().flatten().min_by(|a, b| mean(&rows, a).value.total_cmp(&mean(&rows, b).value)).cloned();
    let Some(best) = best else { return Ok(()) };
    for (runner, own) in runners.iter_mut().zip(all) {
        let Some(own) = own else { continue };
        let gap = difference(&rows, &own, &best);
        // A constant effect stays in any case.
        if !runner.is_constant() && gap.se.is_some_and(|se| gap.value > HOPELESS * se) {
            runner.given_up = Some(GIVEN_UP.to_owned());
        }
    }
    Ok(())
}

/// The constant effect's losses, in which both losses are measured.
fn units(job: &Job<'_>, constant: &[f64], rows: &[usize]) -> Result<[f64; 2]> {
    let losses = job.losses(constant)?;
    let units = losses.map(|values| job.mean_of(&values, rows));
    if units.iter().any(|u| !u.is_finite()) {
        return Err(Error::Numeric { what: "auto", message: "the loss of a constant effect is not finite".into() });
    }
    // Outcomes without any noise leave nothing to measure by.
    Ok(units.map(|u| if u > 0.0 { u } else { 1.0 }))
}

/// The members with their shares, largest first.
fn in_words(kept: &[(&Runner, f64)]) -> String {
    let mut sorted: Vec<(&str, f64)> = kept.iter().map(|(r, share)| (r.label, *share)).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    sorted.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::{Dense, Features, Params, Seed};

    #[test]
    fn hopeless_candidates_are_not_fitted_to_all_folds() {
        // Effects are twice the first feature, and there is hardly any noise: one effect for everyone is hopeless.
        let (n, mut rng) = (300, Seed(5).rng());
        let x: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
        let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
        let y = (0..n).map(|i| x[2 * i + 1] + 2.0 * x[2 * i] * f64::from(t[i]) + 0.1 * rng.normal()).collect();
        let design = Design::new(Features::Dense(Dense::new(n, 2, x).unwrap()), t, y).unwrap();
        let params = Params::none().with("candidates", "lr-1,lr-2");
        let auto = find(NAME).unwrap().build(&params, &registry::TOOLBOX).unwrap();
        let model = auto.fit(&design, &FitContext::silent(Seed(1))).unwrap();
        let numbers = &model.diagnostics().numbers;
        assert!(numbers.contains_key("dr_loss_lr-2") && numbers.contains_key("dr_loss_constant"), "{numbers:?}");
        assert!(!numbers.contains_key("dr_loss_lr-1"), "{numbers:?}");
    }
}
