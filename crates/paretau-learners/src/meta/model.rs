//! The fitted meta-learner: named base models and the recipe that combines their predictions.

use std::collections::BTreeMap;

use paretau_core::{
    Contrast, Diagnostics, Effects, Error, Features, FittedModel, FittedRegressor, Result, State, Toolbox,
};
use paretau_nuisance::Calibrator;
use serde::{Deserialize, Serialize};

use super::{dr_learner, r_learner, s_learner, t_learner, x_learner};

/// Which recipe combines the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Recipe {
    S,
    T,
    X,
    R,
    Dr,
}

impl Recipe {
    /// Parts that a model of this recipe has.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::S => s_learner::PARTS,
            Self::T => t_learner::PARTS,
            Self::X => x_learner::PARTS,
            Self::R => r_learner::PARTS,
            Self::Dr => dr_learner::PARTS,
        }
    }
}

/// A fitted base model and the name of the base learner that can read it back.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) base: String,
    pub(super) model: Box<dyn FittedRegressor>,
    /// Applied to its predictions.
    calibration: Option<Calibrator>,
}

/// The fitted parts by name.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<&'static str, Part>);

impl Parts {
    pub(super) fn add(&mut self, name: &'static str, base: &str, model: Box<dyn FittedRegressor>) {
        self.add_calibrated(name, base, model, None);
    }

    /// A part whose predictions are calibrated.
    pub(super) fn add_calibrated(
        &mut self,
        name: &'static str,
        base: &str,
        model: Box<dyn FittedRegressor>,
        calibration: Option<Calibrator>,
    ) {
        self.0.insert(name, Part { base: base.to_owned(), model, calibration });
    }

    /// Predictions of one part.
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
            None => Err(Error::bad_model(format!("part `{name}` is missing"))),
        }
    }
}

/// A fitted meta-learner.
#[derive(Debug)]
pub(super) struct MetaModel {
    pub(super) recipe: Recipe,
    pub(super) parts: Parts,
    pub(super) n_features: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) held_out: Option<Effects>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    recipe: Recipe,
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

    fn effects(&self, x: &Features) -> Result<Effects> {
        self.check_columns(x)?;
        let effects = match self.recipe {
            Recipe::S => s_learner::effects(&self.parts, x),
            Recipe::T => t_learner::effects(&self.parts, x),
            Recipe::X => x_learner::effects(&self.parts, x),
            Recipe::R => r_learner::effects(&self.parts, x),
            Recipe::Dr => dr_learner::effects(&self.parts, x),
        }?;
        if effects.is_finite() { Ok(effects) } else { Err(not_finite()) }
    }

    /// R- and DR-learner have a model of the effect itself, the others need their models of the outcome.
    fn contrast(&self, x: &Features) -> Result<Contrast> {
        if !matches!(self.recipe, Recipe::R | Recipe::Dr) {
            return self.effects(x).map(Contrast::from);
        }
        self.check_columns(x)?;
        let found = Contrast { tau: self.parts.predict("tau", x)?, se: None };
        if found.is_finite() { Ok(found) } else { Err(not_finite()) }
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let bases = self.parts.0.iter().map(|(name, part)| ((*name).to_owned(), part.base.clone())).collect();
        let length = |part: &Part| part.calibration.as_ref().map(Calibrator::len);
        let knots = self.parts.0.iter().filter_map(|(name, part)| Some(((*name).to_owned(), length(part)?))).collect();
        let mut state = State::new(&Saved {
            recipe: self.recipe,
            n_features: self.n_features,
            diagnostics: self.diagnostics.clone(),
            bases,
            knots,
        })?;
        for (name, part) in &self.parts.0 {
            if let Some(map) = &part.calibration {
                map.put(&mut state, &calibration_of(name));
            }
            state.nest(name, part.model.state()?);
        }
        Ok(state)
    }

    fn held_out_effects(&self) -> Option<&Effects> {
        self.held_out.as_ref()
    }
}

fn not_finite() -> Error {
    Error::Numeric { what: "predicting effects", message: "a base learner gave a number that is not finite".into() }
}

/// A meta-learner from its state.
pub(super) fn load(state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    let saved: Saved = state.parse()?;
    let mut parts = Parts::default();
    for &name in saved.recipe.parts() {
        let base = saved.bases.get(name).ok_or_else(|| Error::bad_model(format!("part `{name}` is missing")))?;
        let model = tools.base(base)?.load(&state.nested(name)?)?;
        let knots = saved.knots.get(name).copied();
        let calibration = knots.map(|n| Calibrator::get(state, &calibration_of(name), n)).transpose()?;
        parts.add_calibrated(name, base, model, calibration);
    }
    Ok(Box::new(MetaModel {
        recipe: saved.recipe,
        parts,
        n_features: saved.n_features,
        diagnostics: saved.diagnostics,
        held_out: None,
    }))
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
