//! A fitted causal forest: effects with standard errors, expected outcomes, diagnostics, state.

use std::sync::Arc;

use paretau_core::{
    Diagnostics, Effects, Error, Features, FitContext, FittedModel, FittedRegressor, Result, State, Toolbox, Want,
};
use serde::{Deserialize, Serialize};

use crate::bins::Bins;
use crate::centre::Centre;
use crate::effect::{Slope, slope};
use crate::forest::{BinnedRows, Forest, InBag};
use crate::input;
use crate::leaf::moments_width;

/// Where expected outcome m(x) and expected treatment e(x) of new rows come from.
#[derive(Debug)]
pub(crate) enum Nuisance {
    /// What the rows were centred by.
    Centred {
        /// Expected outcome.
        m: Box<Centre>,
        /// Expected treatment.
        e: Box<Centre>,
    },
    /// The mean of the models of all folds.
    Folds {
        /// Expected outcome, one model per fold.
        m: FoldModels,
        /// Expected treatment, one model per fold.
        e: FoldModels,
    },
}

/// Models of one base learner, one per fold.
#[derive(Debug)]
pub(crate) struct FoldModels {
    /// Name of the base learner.
    pub(crate) base: String,
    pub(crate) models: Vec<Box<dyn FittedRegressor>>,
}

impl FoldModels {
    /// Mean of the models' predictions.
    pub(crate) fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let mut out = vec![0.0; x.n_rows()];
        for model in &self.models {
            out.iter_mut().zip(model.predict(x)?).for_each(|(sum, v)| *sum += v / self.models.len() as f64);
        }
        Ok(out)
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest("facts", State::new(&FoldFacts { base: self.base.clone(), n_folds: self.models.len() })?);
        for (k, model) in self.models.iter().enumerate() {
            state.nest(&format!("fold{k}"), model.state()?);
        }
        Ok(state)
    }

    pub(crate) fn load(state: &State, tools: &Toolbox) -> Result<Self> {
        let FoldFacts { base, n_folds } = state.nested("facts")?.parse()?;
        let entry = tools.base(&base)?;
        let models = (0..n_folds).map(|k| entry.load(&state.nested(&format!("fold{k}"))?)).collect::<Result<_>>()?;
        Ok(Self { base, models })
    }
}

#[derive(Serialize, Deserialize)]
struct FoldFacts {
    base: String,
    n_folds: usize,
}

impl Nuisance {
    fn predict(&self, x: &Features) -> Result<(Vec<f64>, Vec<f64>)> {
        match self {
            Self::Centred { m, e } => Ok((m.predict(x)?, e.predict(x)?)),
            Self::Folds { m, e } => Ok((m.predict(x)?, e.predict(x)?)),
        }
    }
}

/// A fitted causal forest.
#[derive(Debug)]
pub struct CausalForestModel {
    pub(crate) forest: Forest,
    pub(crate) nuisance: Nuisance,
    pub(crate) facts: Facts,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) held_out: Option<Effects>,
}

/// Small facts of a causal forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Whether the treatment is 0 or 1.
    pub(crate) binary: bool,
    /// Effect over all rows, for rows that no tree can predict.
    pub(crate) overall: f64,
    /// Training rows.
    pub(crate) n_rows: usize,
}

/// Effects of the training rows from trees that have not seen them; nothing for a row that all have seen.
pub(crate) fn out_of_bag(
    forest: &Forest,
    binned: &BinnedRows,
    in_bag: &InBag,
    ctx: &FitContext<'_>,
) -> Result<Vec<Option<Slope>>> {
    forest.map_blocks_out_of_bag(&binned.codes, in_bag, || ctx.check_interrupt(), slope)
}

impl CausalForestModel {
    /// Puts slopes and nuisances together. The expected outcomes are m − e·τ and m + (1 − e)·τ.
    pub(crate) fn assemble(slopes: &[Option<Slope>], m: &[f64], e: &[f64], facts: &Facts) -> Effects {
        let Effects { tau, se, .. } = contrast(slopes, facts);
        Effects {
            mu0: m.iter().zip(e).zip(&tau).map(|((m, e), t)| m - e * t).collect(),
            mu1: m.iter().zip(e).zip(&tau).map(|((m, e), t)| m + (1.0 - e) * t).collect(),
            se,
            e: facts.binary.then(|| e.iter().map(|e| inside(*e, facts.n_rows)).collect()),
            tau,
        }
    }

    /// Reads the model back.
    pub(crate) fn load(state: &State, tools: &Toolbox) -> Result<Self> {
        let bins: Arc<Bins> = Bins::load(&state.nested("bins")?)?;
        let forest = Forest::load(&state.nested("forest")?, bins.clone())?;
        if forest.width != moments_width(1) {
            return Err(Error::bad_model("a causal forest must keep four numbers per leaf"));
        }
        let (m, e) = (state.nested("m")?, state.nested("e")?);
        let nuisance = if Centre::is_in(&m) {
            Nuisance::Centred {
                m: Box::new(Centre::load(&m, &bins, tools)?),
                e: Box::new(Centre::load(&e, &bins, tools)?),
            }
        } else {
            Nuisance::Folds { m: FoldModels::load(&m, tools)?, e: FoldModels::load(&e, tools)? }
        };
        let facts = state.nested("facts")?.parse()?;
        let diagnostics = state.nested("diagnostics")?.parse()?;
        Ok(Self { forest, nuisance, facts, diagnostics, held_out: None })
    }
}

/// Effects and standard errors of rows, without outcomes, those included that no tree can predict.
fn contrast(slopes: &[Option<Slope>], facts: &Facts) -> Effects {
    let widest = slopes.iter().flatten().filter_map(|s| s.variance).fold(0.0, f64::max);
    let has_se = slopes.iter().flatten().any(|s| s.variance.is_some());
    // A row about which nothing is known is at least as uncertain as any other.
    let se = |s: &Option<Slope>| s.and_then(|s| s.variance).unwrap_or(widest).sqrt();
    Effects {
        tau: slopes.iter().map(|s| s.map_or(facts.overall, |s| s.tau)).collect(),
        se: has_se.then(|| slopes.iter().map(se).collect()),
        ..Effects::default()
    }
}

/// A propensity strictly between 0 and 1: drawn in by half a row.
pub(crate) fn inside(e: f64, n: usize) -> f64 {
    (e.clamp(0.0, 1.0) * n as f64 + 0.5) / (n as f64 + 1.0)
}

impl FittedModel for CausalForestModel {
    fn n_features(&self) -> usize {
        self.forest.bins.n_cols()
    }

    /// For effects alone the forests of outcome and treatment stay at rest.
    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        input::check_columns(self.n_features(), x)?;
        let found = self.forest.map_blocks(x, slope);
        if want == Want::Effect {
            return Ok(vec![contrast(&found, &self.facts)]);
        }
        let (m, e) = self.nuisance.predict(x)?;
        Ok(vec![Self::assemble(&found, &m, &e, &self.facts)])
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest("facts", State::new(&self.facts)?);
        state.nest("diagnostics", State::new(&self.diagnostics)?);
        state.nest("bins", self.forest.bins.state()?);
        state.nest("forest", self.forest.state()?);
        let (m, e) = match &self.nuisance {
            Nuisance::Centred { m, e } => (m.state()?, e.state()?),
            Nuisance::Folds { m, e } => (m.state()?, e.state()?),
        };
        state.nest("m", m);
        state.nest("e", e);
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_ref().map(std::slice::from_ref)
    }
}
