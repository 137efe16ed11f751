//! The fitted meta-learner: named base models and the recipe that combines their predictions.

use std::collections::BTreeMap;

use paretau_core::{Diagnostics, Effects, Error, Features, FittedModel, FittedRegressor, Result, State, Toolbox, Want};
use paretau_nuisance::Calibrator;
use serde::{Deserialize, Serialize};

/// How a meta-learner's fitted base models answer; each meta-learner's file has one.
pub(super) trait Recipe: std::fmt::Debug + Send + Sync {
    /// Its name in model files.
    fn name(&self) -> &'static str;

    /// Names of its base models.
    fn models(&self) -> &'static [&'static str];

    /// Effects and expected outcomes of rows.
    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects>;

    /// The model that predicts the effect by itself, where there is one; without, effects need the outcomes' models.
    fn effect_model(&self) -> Option<&'static str> {
        None
    }
}

/// A fitted base model and the name of the base learner that can read it back.
#[derive(Debug)]
pub(super) struct BaseModel {
    pub(super) base: String,
    pub(super) model: Box<dyn FittedRegressor>,
    /// Applied to its predictions.
    calibration: Option<Calibrator>,
}

/// The fitted base models of a meta-learner by name.
#[derive(Debug, Default)]
pub(super) struct BaseModels(BTreeMap<&'static str, BaseModel>);

impl BaseModels {
    pub(super) fn add(&mut self, name: &'static str, base: &str, model: Box<dyn FittedRegressor>) {
        self.add_calibrated(name, base, model, None);
    }

    /// A model whose predictions are calibrated.
    pub(super) fn add_calibrated(
        &mut self,
        name: &'static str,
        base: &str,
        model: Box<dyn FittedRegressor>,
        calibration: Option<Calibrator>,
    ) {
        self.0.insert(name, BaseModel { base: base.to_owned(), model, calibration });
    }

    /// Predictions of one model.
    pub(super) fn predict(&self, name: &str, x: &Features) -> Result<Vec<f64>> {
        if x.n_rows() == 0 {
            return Ok(Vec::new());
        }
        match self.0.get(name) {
            Some(part) => {
                let mut out = part.model.predict(x)?;
                if let Some(map) = &part.calibration {
                    out.iter_mut().for_each(|p| *p = map.apply(*p));
                }
                Ok(out)
            }
            None => Err(missing(name)),
        }
    }
}

/// A fitted meta-learner.
#[derive(Debug)]
pub(super) struct MetaModel {
    pub(super) recipe: &'static dyn Recipe,
    pub(super) models: BaseModels,
    pub(super) n_features: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) held_out: Option<Effects>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    recipe: String,
    n_features: usize,
    diagnostics: Diagnostics,
    bases: BTreeMap<String, String>,
    /// Knots of the calibrations, by part.
    #[serde(default)]
    knots: BTreeMap<String, usize>,
}

/// Name of a part's calibration in the state.
fn calibration_of(part: &str) -> String {
    format!("{part}-calibration")
}

impl FittedModel for MetaModel {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        self.check_columns(x)?;
        let effects = match self.recipe.effect_model() {
            Some(direct) if want == Want::Effect => {
                Effects { tau: self.models.predict(direct, x)?, ..Effects::default() }
            }
            _ => self.recipe.effects(&self.models, x)?,
        };
        if effects.is_finite() { Ok(vec![effects]) } else { Err(not_finite()) }
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let bases = self.models.0.iter().map(|(name, part)| ((*name).to_owned(), part.base.clone())).collect();
        let length = |part: &BaseModel| part.calibration.as_ref().map(Calibrator::n_knots);
        let knots = self.models.0.iter().filter_map(|(name, part)| Some(((*name).to_owned(), length(part)?))).collect();
        let mut state = State::new(&Saved {
            recipe: self.recipe.name().to_owned(),
            n_features: self.n_features,
            diagnostics: self.diagnostics.clone(),
            bases,
            knots,
        })?;
        for (name, part) in &self.models.0 {
            if let Some(map) = &part.calibration {
                map.put(&mut state, &calibration_of(name));
            }
            state.nest(name, part.model.state()?);
        }
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_ref().map(std::slice::from_ref)
    }
}

fn not_finite() -> Error {
    Error::Numeric { what: "predicting effects", message: "a base learner gave a number that is not finite".into() }
}

/// A meta-learner of that recipe from its state.
pub(super) fn load(recipe: &'static dyn Recipe, state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    let saved: Saved = state.parse()?;
    if saved.recipe != recipe.name() {
        return Err(Error::bad_model(format!("its recipe is `{}`, not `{}`", saved.recipe, recipe.name())));
    }
    let mut models = BaseModels::default();
    for &name in recipe.models() {
        let base = saved.bases.get(name).ok_or_else(|| missing(name))?;
        let model = tools.base(base)?.load(&state.nested(name)?)?;
        let knots = saved.knots.get(name).copied();
        let calibration = knots.map(|n| Calibrator::get(state, &calibration_of(name), n)).transpose()?;
        models.add_calibrated(name, base, model, calibration);
    }
    Ok(Box::new(MetaModel {
        recipe,
        models,
        n_features: saved.n_features,
        diagnostics: saved.diagnostics,
        held_out: None,
    }))
}

fn missing(model: &str) -> Error {
    Error::bad_model(format!("base model `{model}` is missing"))
}

/// Both expected outcomes around the mean outcome `m` that differ by `tau`: `m - e tau` and `m + (1 - e) tau`.
pub(super) fn around_mean(m: &[f64], e: Vec<f64>, tau: Vec<f64>) -> Effects {
    let mu0 = m.iter().zip(&e).zip(&tau).map(|((m, e), t)| m - e * t).collect();
    let mu1 = m.iter().zip(&e).zip(&tau).map(|((m, e), t)| m + (1.0 - e) * t).collect();
    Effects { mu0, mu1, tau, e: Some(e), se: None }
}

/// The mean outcome that two arms' models imply.
pub(super) fn mixed(mu0: &[f64], mu1: &[f64], e: &[f64]) -> Vec<f64> {
    mu0.iter().zip(mu1).zip(e).map(|((a, b), e)| a + e * (b - a)).collect()
}
