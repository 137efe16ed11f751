//! Facts about a fit that travel in the model file: what was asked, what came out, how far it can be trusted.

use paretau_core::{Design, Diagnostics, Effects, Error, OutcomeKind, Result, Seed};
use paretau_data::RoleSpec;
use paretau_eval::{Estimand, Nuisance, Observed, OverlapReport, Score, average_effect};
use paretau_learners::{Overlap as Rule, inverse_weights};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Propensities nearer to 0 or 1 than this are counted as beyond the bound; smoothing deals with their weights.
const BOUND: f64 = 0.01;

/// Everything a model knows about its own making.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Registry name.
    pub estimator: String,
    /// All parameters, defaults included.
    pub params: Value,
    /// Which columns played which role.
    pub roles: RoleSpec,
    /// Values of the treatment column that mean control and treated.
    pub arms: [String; 2],
    /// Kind of outcome.
    pub outcome: OutcomeKind,
    /// Training rows.
    pub n_rows: usize,
    /// Treated ones among them.
    pub n_treated: usize,
    /// Feature columns after encoding.
    pub n_features: usize,
    /// Average effects.
    pub averages: Averages,
    /// What the fit had to say.
    pub diagnostics: Diagnostics,
    /// Overlap, weights and their tail.
    pub overlap: OverlapReport,
    /// What was done to the data.
    pub notes: Vec<String>,
    /// Version of paretau that fitted it.
    pub version: String,
    /// Seed.
    pub seed: Seed,
    /// Share of rows held out by estimators with early stopping.
    pub valid_share: f64,
    /// Name of the data file, without its folder; absent for data made in memory.
    #[serde(default)]
    pub source: Option<String>,
}

impl About {
    /// What the average that rows correct says against the mean prediction, if the two disagree.
    pub fn disagreement(&self) -> Option<&str> {
        let disagrees = |w: &&paretau_core::Warning| w.code == crate::findings::DISAGREES;
        self.diagnostics.warnings.iter().find(disagrees).map(|w| w.message.as_str())
    }
}

/// A number with its standard error and 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Estimate {
    fn from_score(score: Score) -> Result<Self> {
        match (score.se, score.interval(0.95)) {
            (Some(se), Some((lo, hi))) => Ok(Self { value: score.value, se, lo, hi }),
            _ => Err(Error::Numeric { what: "the average effect", message: "it has no standard error".into() }),
        }
    }
}

/// Average effects over the training rows, doubly robust with Pareto-smoothed weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Averages {
    /// Over all rows.
    pub ate: Estimate,
    /// Over the treated rows.
    pub att: Estimate,
    /// Over those who could well have been in either arm, weighted by e(1 - e).
    pub ato: Estimate,
}

impl Averages {
    /// Augmented inverse-propensity averages from predictions of the training rows.
    pub fn estimate(design: &Design, effects: &Effects, e: &[f64]) -> Result<Self> {
        let rows = Observed::of(design)?;
        let nuisance = Nuisance::from_arms(effects.mu0.clone(), effects.mu1.clone(), e.to_vec());
        let inverse = inverse_weights(e, design.t(), Rule::Pareto, BOUND)?;
        let average = |estimand| {
            average_effect(&rows, &nuisance, &inverse.w, estimand)
                .and_then(|average| Estimate::from_score(average.score))
        };
        Ok(Self { ate: average(Estimand::All)?, att: average(Estimand::Treated)?, ato: average(Estimand::Overlap)? })
    }
}
