//! X-learner: each arm's effects are imputed with the other arm's outcome model, learned, and mixed by propensity.
//!
//! Imputation needs no cross-fitting: the model that fills in a row's missing outcome learned from the other arm only.
//! The mix `e tau0 + (1 - e) tau1` trusts, where treatment is rare, the effect learned on the treated rows, which was
//! imputed with the well-learned control outcomes.

use paretau_core::{
    Abilities, BaseSpec, BuildContext, CodedRows, ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo,
    Family, Features, FitContext, FittedModel, NewRows, ParamSpec, Result, StoredUnits, Target, UnitEstimator,
    UnitStart, tree_rows,
};
use paretau_nuisance::{CrossTask, HeldOut, PropensityChoice, design_folds, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::{BaseLearner, able_to_fit, regressors};
use super::model::{BaseModels, MetaModel, Recipe, around_mean, load, mixed};
use super::setup::{
    BASE, CALIBRATE, EFFECT_BASE, HANDLES, PROPENSITY_BASE, arm_mask, enough_of_each_arm, no_empty_column,
    outcome_target, stage,
};
use super::units::{AllUnits, FirstRows, UnitNuisance, UnitNuisances, of_arm, outcomes};

/// Folds behind the choice of a propensity model.
const PROPENSITY_FOLDS: usize = 5;

/// Parameters of the X-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XConfig {
    /// Base learner of the outcomes.
    pub base: BaseSpec,
    /// Base learner of the imputed effects; `None` is `base`.
    pub effect_base: Option<BaseSpec>,
    /// Base learner of the propensity; `None` takes the better of logistic regression and `base`.
    pub propensity_base: Option<BaseSpec>,
    /// Whether the propensity is calibrated.
    pub calibrate: bool,
}

const PARAMS: &[ParamSpec] = &[BASE, EFFECT_BASE, PROPENSITY_BASE, CALIBRATE];

/// `x-learner`.
pub const X_LEARNER: ConfigEntry<XConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "x-learner",
        aliases: &["XL"],
        family: Family::MetaLearner,
        class: "XLearner",
        summary: "Imputed effects learned in each arm and mixed by propensity; good with unbalanced arms",
        reference: "Künzel, Sekhon, Bickel and Yu (2019)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || XConfig { base: "forest".into(), effect_base: None, propensity_base: None, calibrate: false },
    build: |config, ctx| build(&config, ctx),
    load: |state, tools| load(&XRecipe, state, tools),
};

fn build(config: &XConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let base = &config.base;
    Ok(Box::new(XLearner {
        name: ctx.name,
        outcome: BaseLearner::new(ctx, "base", base)?,
        effect: BaseLearner::effect(ctx, base, config.effect_base.as_ref())?,
        propensity: BaseLearner::propensity(ctx, base, config.propensity_base.as_ref())?,
        calibrate: config.calibrate,
    }))
}

#[derive(Debug)]
struct XLearner {
    name: &'static str,
    outcome: BaseLearner,
    effect: BaseLearner,
    propensity: Vec<BaseLearner>,
    calibrate: bool,
}

impl Estimator for XLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let candidates = able_to_fit(&self.propensity, design);
        let masks = [arm_mask(design, 0), arm_mask(design, 1)];
        let mut models = BaseModels::default();
        let mut outcomes = Vec::new();
        for (arm, name, label) in [(0, "mu0", "control outcomes"), (1, "mu1", "treated outcomes")] {
            let task = CrossTask::of(design, design.y(), outcome_target(design)).from_rows(&masks[arm]);
            let fitted = fit_all(&task, self.outcome.learner.as_ref(), &stage(ctx, label)?)?;
            // For the other arm these are predictions of new rows, which is all that imputation uses.
            let predicted = match fitted.held_out {
                Some(own) => own,
                None => fitted.model.predict(design.x())?,
            };
            models.add(name, &self.outcome.base, fitted.model);
            outcomes.push(predicted);
        }
        let imputed: Vec<f64> = (0..design.n_rows())
            .map(|i| if design.t()[i] == 1 { design.y()[i] - outcomes[0][i] } else { outcomes[1][i] - design.y()[i] })
            .collect();
        let mut effects = Vec::new();
        for (arm, name, label) in [(0, "tau0", "effects of controls"), (1, "tau1", "effects of the treated")] {
            let task = CrossTask::of(design, &imputed, Target::Mean).from_rows(&masks[arm]);
            let fitted = fit_all(&task, self.effect.learner.as_ref(), &stage(ctx, label)?)?;
            models.add(name, &self.effect.base, fitted.model);
            effects.extend(fitted.held_out);
        }
        let folds = design_folds(design, PROPENSITY_FOLDS, ctx.seed)?;
        let mut chosen = PropensityChoice::fit(design, &regressors(&candidates), &folds, HeldOut::Oob, ctx)?;
        if self.calibrate {
            chosen.calibrate(design)?;
        }
        let e = design.propensity().unwrap_or(&chosen.fit.held_out).to_vec();
        models.add_calibrated("e", &candidates[chosen.index].base, chosen.fit.model, chosen.calibration);
        let held_out = <[Vec<f64>; 2]>::try_from(effects).ok().map(|[tau0, tau1]| {
            let tau = mix(&tau0, &tau1, &e);
            around_mean(&mixed(&outcomes[0], &outcomes[1], &e), e, tau)
        });
        Ok(Box::new(MetaModel {
            recipe: &XRecipe,
            models,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out,
        }))
    }

    fn over_units(&self) -> Option<&dyn UnitEstimator> {
        let learns = |base: &BaseLearner| base.learner.over_units().is_some();
        (learns(&self.outcome) && learns(&self.effect)).then_some(self)
    }
}

impl UnitEstimator for XLearner {
    fn start<'a>(&'a self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn UnitStart + 'a>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let folds = design_folds(design, PROPENSITY_FOLDS, ctx.seed)?;
        let (base, folds) = (self.outcome.learner.as_ref(), (folds.as_slice(), HeldOut::Oob));
        Ok(Box::new(XStart { learner: self, first: FirstRows::learn(design, base, &self.propensity, folds, ctx)? }))
    }

    fn tree_rows(&self, n: usize, near: usize) -> Option<usize> {
        Some(tree_rows(n, self.effect.learner.over_units()?.max_samples(), near))
    }
}

/// An X-learner that has seen some of the rows.
struct XStart<'a> {
    learner: &'a XLearner,
    first: FirstRows,
}

impl UnitStart for XStart<'_> {
    fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        self.first.code(rows)
    }

    fn fit(
        self: Box<Self>,
        design: &Design,
        units: &StoredUnits<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn FittedModel>> {
        let Self { learner: XLearner { outcome, effect, propensity, calibrate, .. }, first } = *self;
        let all = AllUnits { units, first: &first, columns: design.columns() };
        let nuisances = UnitNuisances::fit(&all, design, (outcome, propensity, *calibrate), ctx)?;
        let imputed = |arm: u8| {
            let (nuisances, first) = (&nuisances, &first);
            move |unit: usize, rows: &CodedRows| -> Result<Vec<f64>> {
                let UnitNuisance { mu: [mu0, mu1], .. } = nuisances.of_unit(first, unit, rows)?;
                let y = outcomes(rows).iter();
                let effects: Vec<f64> = match arm {
                    1 => y.zip(mu0).map(|(y, mu0)| y - mu0).collect(),
                    _ => y.zip(mu1).map(|(y, mu1)| mu1 - y).collect(),
                };
                Ok(of_arm(rows, arm, &effects))
            }
        };
        let of = |arm: u8, label: &str| {
            all.fit(effect.learner.as_ref(), (Target::Mean, true), &imputed(arm), &stage(ctx, label)?)
        };
        let tau = [of(0, "effects of controls")?, of(1, "effects of the treated")?];
        let (mut m, mut e, mut held_out) = (vec![], vec![], vec![]);
        let predict = |unit: usize, rows: &CodedRows| -> Result<[Vec<f64>; 2]> {
            let own = |arm: u8| tau[usize::from(arm)].held_out(unit, rows, &imputed(arm)(unit, rows)?);
            Ok([own(0)?, own(1)?])
        };
        all.each(units.n_known(), predict, |unit, rows, [tau0, tau1]| {
            let UnitNuisance { mu: [mu0, mu1], e: own } = nuisances.of_unit(&first, unit, rows)?;
            m.extend(mixed(&mu0, &mu1, &own));
            held_out.extend(mix(&tau0, &tau1, &own));
            e.extend(own);
            Ok(())
        })?;
        let mut models = BaseModels::default();
        let chosen = able_to_fit(propensity, design)[nuisances.index];
        nuisances.into_models(first, (outcome, chosen), &mut models)?;
        for (name, fitted) in ["tau0", "tau1"].into_iter().zip(tau) {
            models.add(name, &effect.base, fitted.into_model());
        }
        Ok(Box::new(MetaModel {
            recipe: &XRecipe,
            models,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out: Some(around_mean(&m, e, held_out)),
        }))
    }
}

fn mix(tau0: &[f64], tau1: &[f64], e: &[f64]) -> Vec<f64> {
    tau0.iter().zip(tau1).zip(e).map(|((a, b), e)| e * a + (1.0 - e) * b).collect()
}

/// How the fitted models answer.
#[derive(Debug)]
struct XRecipe;

impl Recipe for XRecipe {
    fn name(&self) -> &'static str {
        "x"
    }

    fn models(&self) -> &'static [&'static str] {
        &["mu0", "mu1", "tau0", "tau1", "e"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        let e = models.predict("e", x)?;
        let tau = mix(&models.predict("tau0", x)?, &models.predict("tau1", x)?, &e);
        let m = mixed(&models.predict("mu0", x)?, &models.predict("mu1", x)?, &e);
        Ok(around_mean(&m, e, tau))
    }
}
