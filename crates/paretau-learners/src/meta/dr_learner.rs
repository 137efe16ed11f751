//! DR-learner: a regression of doubly robust scores, whose conditional mean is the effect if either the outcomes or
//! the propensity are right.
//!
//! The scores `mu1 - mu0 + w (2t - 1)(y - mu_t)` hold inverse propensity weights, which poor overlap makes wild: a few
//! rows then decide the regression. They are clipped, trimmed, or, by default, Pareto-smoothed within each arm.

use paretau_core::{
    Abilities, BaseSpec, BuildContext, CodedRows, ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo,
    Family, Features, FitContext, FittedModel, NewRows, ParamKind, ParamSpec, Result, StoredUnits, Target,
    UnitEstimator, UnitStart, numbers_of, tree_rows,
};
use paretau_nuisance::scores::doubly_robust;
use paretau_nuisance::{CrossTask, HeldOut, NuisanceFit, NuisancePlan, Rule, Weights, design_folds, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::{BaseLearner, able_to_fit, regressors};
use super::model::{BaseModels, MetaModel, Recipe, around_mean, load, mixed};
use super::setup::{
    BASE, CALIBRATE, CROSS_FIT, EFFECT_BASE, FOLDS, HANDLES, PROPENSITY_BASE, enough_of_each_arm, no_empty_column,
    stage,
};
use super::units::{AllUnits, FirstRows, UnitNuisance, UnitNuisances, arms, outcomes};

/// Rows outside of memory that the tails of inverse weights are fitted to, at most.
const MOST_WEIGHTED: usize = 4_000_000;

/// Parameters of the DR-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrConfig {
    /// Base learner of the outcomes.
    pub base: BaseSpec,
    /// Base learner of the effect; `None` is `base`.
    pub effect_base: Option<BaseSpec>,
    /// Base learner of the propensity; `None` takes the better of logistic regression and `base`.
    pub propensity_base: Option<BaseSpec>,
    /// Whether the propensity is calibrated.
    pub calibrate: bool,
    /// Where held-out nuisances come from.
    pub cross_fit: HeldOut,
    /// Folds of cross-fitting.
    pub folds: usize,
    /// What to do about propensities near 0 and 1.
    pub overlap: Rule,
    /// Lowest propensity of clipping and trimming.
    pub clip: f64,
}

const PARAMS: &[ParamSpec] = &[
    BASE,
    EFFECT_BASE,
    PROPENSITY_BASE,
    CALIBRATE,
    CROSS_FIT,
    FOLDS,
    ParamSpec::new(
        "overlap",
        ParamKind::Choice(Rule::CHOICES),
        "inverse weights of poor overlap: `pareto` smooths each arm's tail, `clip` bounds the propensity, `trim` \
               leaves rows out",
    ),
    ParamSpec::new(
        "clip",
        ParamKind::Float { min: 1e-9, max: 0.49 },
        "lowest propensity (and one minus the highest) of clipping and trimming, and where no tail can be fitted",
    ),
];

/// `dr-learner`.
pub const DR_LEARNER: ConfigEntry<DrConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "dr-learner",
        aliases: &["DRL"],
        family: Family::MetaLearner,
        class: "DRLearner",
        summary: "Regression of doubly robust scores with Pareto-smoothed inverse weights",
        reference: "Kennedy (2023)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || DrConfig {
        base: "forest".into(),
        effect_base: None,
        propensity_base: None,
        calibrate: false,
        cross_fit: HeldOut::Oob,
        folds: 5,
        overlap: Rule::Pareto,
        clip: 0.01,
    },
    build,
    load: |state, tools| load(&DrRecipe, state, tools),
};

fn build(config: DrConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let base = &config.base;
    Ok(Box::new(DrLearner {
        name: ctx.name,
        outcome: BaseLearner::new(ctx, "base", base)?,
        effect: BaseLearner::noisy_effect(ctx, base, config.effect_base.as_ref())?,
        propensity: BaseLearner::propensity(ctx, base, config.propensity_base.as_ref())?,
        config,
    }))
}

#[derive(Debug)]
struct DrLearner {
    name: &'static str,
    outcome: BaseLearner,
    effect: BaseLearner,
    propensity: Vec<BaseLearner>,
    config: DrConfig,
}

impl Estimator for DrLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let candidates = able_to_fit(&self.propensity, design);
        let propensity = regressors(&candidates);
        let plan = NuisancePlan {
            outcome: self.outcome.learner.as_ref(),
            propensity: &propensity,
            held_out: self.config.cross_fit,
            folds: self.config.folds,
        };
        let mut nuisance = NuisanceFit::fit(design, &plan, ctx)?;
        if self.config.calibrate {
            nuisance.calibrate(design)?;
        }
        let inverse = Weights::inverse(&nuisance.e, design.t(), self.config.overlap, self.config.clip)?;
        let scores = nuisance.scores(design, &inverse.smooth);
        let kept: Vec<bool> = inverse.smooth.iter().map(|w| *w > 0.0).collect();
        let mut task = CrossTask::of(design, &scores, Target::Mean);
        if kept.contains(&false) {
            task = task.from_rows(&kept);
        }
        let tau = fit_all(&task, self.effect.learner.as_ref(), &stage(ctx, "effects")?)?;
        let held_out = tau.held_out.map(|tau| around_mean(&nuisance.mean_outcome(), nuisance.e.clone(), tau));
        let mut overlap = Overlap::default();
        for (i, score) in scores.iter().enumerate() {
            overlap.add((nuisance.e[i], inverse.smooth[i]), *score, design.weight().map_or(1.0, |w| w[i]));
        }
        let mut diagnostics = overlap.describe(inverse.extreme.beyond, &self.config);
        diagnostics.note("propensity_log_loss", nuisance.e_model.log_loss);
        let mut models = BaseModels::default();
        models.add("mu0", &self.outcome.base, nuisance.mu0.model);
        models.add("mu1", &self.outcome.base, nuisance.mu1.model);
        let e_model = nuisance.e_model;
        models.add_calibrated("e", &candidates[e_model.index].base, e_model.fit.model, e_model.calibration);
        models.add("tau", &self.effect.base, tau.model);
        Ok(Box::new(MetaModel { recipe: &DrRecipe, models, n_features: design.x().n_cols(), diagnostics, held_out }))
    }

    fn over_units(&self) -> Option<&dyn UnitEstimator> {
        let learns = |base: &BaseLearner| base.learner.over_units().is_some();
        let held_out = self.config.cross_fit == HeldOut::Oob;
        (held_out && learns(&self.outcome) && learns(&self.effect)).then_some(self)
    }
}

impl UnitEstimator for DrLearner {
    fn start<'a>(&'a self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn UnitStart + 'a>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let folds = design_folds(design, self.config.folds, ctx.seed)?;
        let (base, folds) = (self.outcome.learner.as_ref(), (folds.as_slice(), self.config.cross_fit));
        Ok(Box::new(DrStart { learner: self, first: FirstRows::learn(design, base, &self.propensity, folds, ctx)? }))
    }

    fn tree_rows(&self, n: usize, near: usize) -> Option<usize> {
        Some(tree_rows(n, self.effect.learner.over_units()?.max_samples(), near))
    }
}

/// A DR-learner that has seen some of the rows.
struct DrStart<'a> {
    learner: &'a DrLearner,
    first: FirstRows,
}

impl UnitStart for DrStart<'_> {
    fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        self.first.code(rows)
    }

    fn fit(
        self: Box<Self>,
        design: &Design,
        units: &StoredUnits<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn FittedModel>> {
        let Self { learner, first } = *self;
        let DrLearner { outcome, effect, propensity, config, .. } = learner;
        let all = AllUnits { units, first: &first, columns: design.columns() };
        let nuisances = UnitNuisances::fit(&all, design, (outcome, propensity, config.calibrate), ctx)?;
        let inverse = inverse_weights(&all, &nuisances, config)?;
        let written = (units.scratch)()?;
        let (mut overlap, mut beyond, mut at) = (Overlap::default(), inverse.extreme.beyond, 0);
        let nuisance = |unit: usize, rows: &CodedRows| nuisances.of_unit(&first, unit, rows);
        all.each(units.rows.len(), nuisance, |unit, rows, own| {
            let (UnitNuisance { mu: [mu0, mu1], e }, t) = (own, arms(rows));
            let weights: Vec<f64> = match inverse.smooth.get(at..at + rows.n_rows) {
                Some(known) => known.to_vec(),
                None => {
                    let (low, high) = (config.clip, 1.0 - config.clip);
                    beyond += e.iter().filter(|e| **e < low || **e > high).count();
                    e.iter().zip(&t).map(|(&e, &t)| inverse.map.weight(e, t)).collect::<Result<_>>()?
                }
            };
            at += rows.n_rows;
            let mut scores = doubly_robust((&t, outcomes(rows)), (&mu0, &mu1), &weights);
            for (i, score) in scores.iter_mut().enumerate() {
                overlap.add((e[i], weights[i]), *score, first.weight(rows, i));
                if weights[i] <= 0.0 {
                    *score = f64::NAN;
                }
            }
            written.add(unit, &scores.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        })?;
        let scores = |unit: usize, _: &CodedRows| Ok(numbers_of(&written.read(unit)?));
        let tau = all.fit(effect.learner.as_ref(), (Target::Mean, true), &scores, &stage(ctx, "effects")?)?;
        let (mut m, mut e, mut held_out) = (vec![], vec![], vec![]);
        let predict = |unit: usize, rows: &CodedRows| tau.held_out(unit, rows, &scores(unit, rows)?);
        all.each(units.n_known(), predict, |unit, rows, own| {
            let UnitNuisance { mu: [mu0, mu1], e: known } = nuisances.of_unit(&first, unit, rows)?;
            m.extend(mixed(&mu0, &mu1, &known));
            e.extend(known);
            held_out.extend(own);
            Ok(())
        })?;
        let mut diagnostics = overlap.describe(beyond, config);
        diagnostics.note("propensity_log_loss", nuisances.log_loss);
        let mut models = BaseModels::default();
        let chosen = able_to_fit(propensity, design)[nuisances.index];
        nuisances.into_models(first, (outcome, chosen), &mut models)?;
        models.add("tau", &effect.base, tau.into_model());
        let (n_features, held_out) = (design.x().n_cols(), Some(around_mean(&m, e, held_out)));
        Ok(Box::new(MetaModel { recipe: &DrRecipe, models, n_features, diagnostics, held_out }))
    }
}

/// Inverse weights whose tails are fitted to the rows of the first units, up to [`MOST_WEIGHTED`] rows: those of these rows, and how
/// others are weighted.
fn inverse_weights(all: &AllUnits<'_>, nuisances: &UnitNuisances, config: &DrConfig) -> Result<Weights> {
    let (mut n_units, mut n) = (0, 0);
    while n_units < all.units.rows.len() && (n == 0 || n + all.units.rows[n_units] <= MOST_WEIGHTED) {
        n += all.units.rows[n_units];
        n_units += 1;
    }
    let (mut e, mut t) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let nuisance = |unit: usize, rows: &CodedRows| nuisances.of_unit(all.first, unit, rows);
    all.each(n_units, nuisance, |_, rows, own| {
        e.extend(own.e);
        t.extend(arms(rows));
        Ok(())
    })?;
    Weights::inverse(&e, &t, config.overlap, config.clip)
}

/// What is said about propensities, weights and scores.
#[derive(Debug)]
struct Overlap {
    n: usize,
    /// Sums over rows that take part: of their weights, and of their scores times these.
    total: f64,
    sum: f64,
    e_min: f64,
    e_max: f64,
    weight_max: f64,
}

impl Default for Overlap {
    fn default() -> Self {
        Self { n: 0, total: 0.0, sum: 0.0, e_min: 1.0, e_max: 0.0, weight_max: 0.0 }
    }
}

impl Overlap {
    /// Adds a row with its propensity and inverse weight, its score and its own weight.
    fn add(&mut self, (e, inverse): (f64, f64), score: f64, weight: f64) {
        self.n += 1;
        if inverse > 0.0 {
            self.total += weight;
            self.sum += weight * score;
        }
        self.e_min = self.e_min.min(e);
        self.e_max = self.e_max.max(e);
        self.weight_max = self.weight_max.max(inverse);
    }

    fn describe(&self, beyond: usize, config: &DrConfig) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        let n = self.n as f64;
        diagnostics.note("mean_score", self.sum / self.total);
        diagnostics.note("propensity_min", self.e_min);
        diagnostics.note("propensity_max", self.e_max);
        diagnostics.note("weight_max", self.weight_max);
        diagnostics.note("rows_beyond_clip", beyond as f64);
        if beyond as f64 > 0.01 * n {
            let (share, clip) = (100.0 * beyond as f64 / n, config.clip);
            let done = match config.overlap {
                Rule::Clip => "their propensity was clipped, which biases the effect of such rows",
                Rule::Trim => "they were left out, so effects of such rows are extrapolated",
                Rule::Pareto | Rule::Psis => "the largest weights were Pareto-smoothed",
                Rule::Raw => "their weights were left as they are",
            };
            diagnostics.warn(
                "poor-overlap",
                format!("{share:.1} % of the rows have a propensity below {clip} or above {}; {done}", 1.0 - clip),
            );
        }
        diagnostics
    }
}

/// How the fitted models answer.
#[derive(Debug)]
struct DrRecipe;

impl Recipe for DrRecipe {
    fn name(&self) -> &'static str {
        "dr"
    }

    fn models(&self) -> &'static [&'static str] {
        &["mu0", "mu1", "e", "tau"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        let (e, tau) = (models.predict("e", x)?, models.predict("tau", x)?);
        let m = mixed(&models.predict("mu0", x)?, &models.predict("mu1", x)?, &e);
        Ok(around_mean(&m, e, tau))
    }

    fn effect_model(&self) -> Option<&'static str> {
        Some("tau")
    }
}
