//! A second stage on top of the nets: Pareto-smoothed doubly robust pseudo-outcomes of rows that the nets held out, and a
//! regression of what the nets left unexplained in them.
//!
//! With held-out `mu0, mu1, e` and inverse propensities `v`, Pareto-smoothed and divided by their mean arm by arm,
//! `psi = mu1 - mu0 + (2t - 1) v (y - mu_t)` is an unbiased but noisy view of the effect. The regression learns
//! `psi - (mu1 - mu0)`, and its share in the answer, 0 to 1, is the one that predicts best out of fold: where
//! pseudo-outcomes are all noise the nets' effects stay as they are.

use paretau_core::{
    BaseSpec, BuildContext, Design, Diagnostics, Effects, Error, Estimator, Event, Features, FitContext, FittedModel,
    FittedRegressor, Regressor, Result, State, Target, Toolbox, Want,
};
use paretau_nuisance::crossfit::{CrossTask, FitAll, fit_all_seeded, fit_folds};
use paretau_nuisance::folds::folds;
use paretau_nuisance::scores::correction;
use paretau_nuisance::weights::{Kind, Pooling, Rule, WeightOptions, Weights};
use serde::{Deserialize, Serialize};

use crate::estimator::NetEstimator;
use crate::fitted::NetModel;

/// Folds in which the regression's share is chosen.
const FOLDS: usize = 5;

/// Nets with a regression on top.
#[derive(Debug)]
pub(crate) struct SecondStage {
    nets: NetEstimator,
    base: &'static str,
    regressor: Box<dyn Regressor>,
}

/// The name that stands for no second stage.
pub(crate) const NO_SECOND_STAGE: &str = "none";

impl SecondStage {
    pub(crate) fn new(nets: NetEstimator, base: &'static str, regressor: Box<dyn Regressor>) -> Self {
        Self { nets, base, regressor }
    }

    /// The learner that a spec describes; `None` where there is to be no second stage.
    pub(crate) fn learner(
        spec: &BaseSpec,
        ctx: &BuildContext<'_>,
    ) -> Result<Option<(&'static str, Box<dyn Regressor>)>> {
        let tools = ctx.tools;
        let spec = match spec.name.as_str() {
            NO_SECOND_STAGE if spec.params.0.is_empty() => return Ok(None),
            NO_SECOND_STAGE => {
                return Err(Error::Unsupported {
                    estimator: ctx.name.to_owned(),
                    message: "has no second stage by default: to give it parameters, name its base learner as well \
                              (second_stage=NAME)"
                        .to_owned(),
                });
            }
            // Forests see what nets do not.
            "auto" => {
                let entry = tools.base("forest").or_else(|_| tools.base("mlp"))?;
                &BaseSpec { name: entry.name().to_owned(), params: spec.params.clone() }
            }
            _ => spec,
        };
        Ok(Some((tools.base(&spec.name)?.name(), tools.regressor("second_stage", spec)?)))
    }
}

/// Doubly robust corrections `psi - (mu1 - mu0)` from held-out nuisances, and how many propensities were raised to the
/// least that weights allow.
fn corrections(estimator: &str, design: &Design, held_out: &Effects) -> Result<(Vec<f64>, usize)> {
    let Some(e) = design.propensity().or(held_out.e.as_deref()) else {
        return Err(Error::Unsupported {
            estimator: estimator.into(),
            message: "cannot have a second stage here: it needs nets with a propensity, or known propensities".into(),
        });
    };
    let options = WeightOptions { kind: Kind::Inverse, rule: Rule::Psis, bound: None, pooling: Pooling::PerArm };
    let weights = Weights::new(e, design.t(), &options)?;
    let (t, y, w) = (design.t(), design.y(), &weights.smooth);
    let row = |i: usize| correction(t[i], y[i], (held_out.mu0[i], held_out.mu1[i]), w[i]);
    Ok(((0..design.n_rows()).map(row).collect(), weights.extreme.floored))
}

impl Estimator for SecondStage {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        // Windows that tile the rows: every row is held out by one member.
        let members = self.nets.members().max(2);
        let tiled = FitContext { valid_share: 1.0 / members as f64, ..*ctx };
        let nets = self.nets.clone().with_members(members).fit_nets(design, &tiled)?;
        let Some(held_out) = nets.held_out.as_ref() else {
            return Err(Error::unfit(
                "the second stage needs every row to be held out once; there are too few rows for it",
            ));
        };
        ctx.event(&Event::Stage { name: "second stage".into(), total: None });
        let (rest, floored) = corrections(self.nets.name(), design, held_out)?;
        let quiet = FitContext { checkpoint: None, ..ctx.with_seed(ctx.seed.named("second stage")) };
        let task = CrossTask::of(design, &rest, Target::Mean);
        let FitAll { model: fitted, held_out: own } = fit_all_seeded(&task, self.regressor.as_ref(), &quiet)?;
        let predicted = if let Some(own) = own {
            own
        } else {
            let n_folds = FOLDS.min(design.rows_of_arm(0).len()).min(design.rows_of_arm(1).len());
            let parts = folds(design.t(), design.groups(), n_folds.max(2), quiet.seed)?;
            fit_folds(&task, self.regressor.as_ref(), &parts, quiet.seed, &quiet)?.held_out
        };
        let (cross, square) = predicted.iter().zip(&rest).fold((0.0, 0.0), |(c, s), (a, b)| (c + a * b, s + a * a));
        let share = if square > 0.0 { (cross / square).clamp(0.0, 1.0) } else { 0.0 };
        let mut diagnostics = nets.diagnostics.clone();
        diagnostics.note("second_stage_share", share);
        if floored > 0 {
            diagnostics.note("second_stage_propensities_raised", floored as f64);
        }
        Ok(Box::new(SecondModel { nets, base: self.base.to_owned(), fitted, share, diagnostics }))
    }
}

#[derive(Debug)]
struct SecondModel {
    nets: NetModel,
    base: String,
    fitted: Box<dyn FittedRegressor>,
    share: f64,
    diagnostics: Diagnostics,
}

#[derive(Serialize, Deserialize)]
struct About {
    base: String,
    share: f64,
    diagnostics: Diagnostics,
}

impl SecondModel {
    /// What the second stage finds beyond the nets' effects.
    fn add(&self, mut effects: Effects, x: &Features) -> Result<Effects> {
        if self.share > 0.0 {
            let more = self.fitted.predict(x)?;
            effects.tau.iter_mut().zip(&more).for_each(|(tau, m)| *tau += self.share * m);
        }
        Ok(effects)
    }
}

impl FittedModel for SecondModel {
    fn n_features(&self) -> usize {
        self.nets.n_features()
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        self.nets.predict(x, want)?.into_iter().map(|effects| self.add(effects, x)).collect()
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        let about = About { base: self.base.clone(), share: self.share, diagnostics: self.diagnostics.clone() };
        state.nest("second", State::new(&about)?);
        state.nest("nets", self.nets.state()?);
        state.nest("regression", self.fitted.state()?);
        Ok(state)
    }
}

/// Whether a state is one of a second stage.
pub(crate) fn is_second(state: &State) -> bool {
    state.json.get("second").is_some()
}

/// Brings a model with a second stage back.
pub(crate) fn load(state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    let About { base, share, diagnostics } = state.nested("second")?.parse()?;
    let nets = NetModel::load(&state.nested("nets")?)?;
    let fitted = tools.base(&base)?.load(&state.nested("regression")?)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::bad_model("the second stage's share is not one"));
    }
    Ok(Box::new(SecondModel { nets, base, fitted, share, diagnostics }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_learner_is_a_name_with_parameters_of_its_own() {
        let tools = Toolbox { bases: &[&crate::MlpBase] };
        let ctx = BuildContext { name: "dpsw", tools: &tools };
        let learner = |spec: BaseSpec| SecondStage::learner(&spec, &ctx);
        assert!(learner(NO_SECOND_STAGE.into()).unwrap().is_none());
        // Without a forest the net stands in.
        let hidden = |spec: BaseSpec| format!("{:?}", learner(spec.with("hidden", vec![7])).unwrap().unwrap());
        assert!(hidden("auto".into()).contains('7') && hidden("mlp".into()).starts_with("(\"mlp\""));
        let error = |spec: BaseSpec| learner(spec).unwrap_err().to_string();
        assert!(error(BaseSpec::new("none").with("hidden", vec![7])).contains("second_stage=NAME"));
        assert!(error(BaseSpec::new("mlp").with("leaves", 3)).contains("`second_stage.leaves`"));
        assert!(error("mpl".into()).contains("did you mean `mlp`?"));
    }
}
