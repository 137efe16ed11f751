//! Facts about a fit that travel in the model file: what was asked, what came out, how far it can be trusted.

use paretau_core::{Design, Diagnostics, Effects, Error, Family, OutcomeKind, Result, Seed, Warning};
use paretau_data::{Reading, RoleSpec};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{Estimand, Nuisance, Observed, OverlapReport, Rule, Score, Weights, average_effect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registry;

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
    /// The other arms, when the fit had several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_arms: Vec<OtherArm>,
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
    /// How the data file was read, so that new files are read alike.
    #[serde(default, skip_serializing_if = "Reading::is_plain")]
    pub reading: Reading,
}

impl About {
    /// What the fit itself warns of. What forests and nets say about the overlap in words of their own is left out where the
    /// overlap's report says the same.
    pub fn own_warnings(&self) -> impl Iterator<Item = &Warning> {
        let known: Vec<&str> = self.overlap.warnings.iter().map(|w| w.code.as_str()).collect();
        let (heavy, at_risk) =
            (known.contains(&"heavy-tail"), known.contains(&"arms-hardly-overlap") || known.contains(&"rows-at-risk"));
        let is_net = registry::find(&self.estimator).is_ok_and(|entry| entry.info().family == Family::Neural);
        let repeated = move |code: &str| match code {
            "heavy-weights" => heavy,
            "little-overlap" => at_risk,
            "poor-overlap" => at_risk && is_net,
            _ => false,
        };
        self.diagnostics.warnings.iter().filter(move |w| !repeated(&w.code))
    }
}

/// An arm besides control and treated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherArm {
    /// Its value in the treatment column.
    pub name: String,
    /// Its training rows.
    pub n_rows: usize,
    /// Average effect against the control over the rows of both.
    pub ate: Estimate,
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
        let inverse = Weights::inverse(e, design.t(), Rule::Pareto, BOUND)?;
        let average = |estimand| {
            average_effect(&rows, &nuisance, &inverse.smooth, estimand)
                .and_then(|average| Estimate::from_score(average.score))
        };
        Ok(Self { ate: average(Estimand::All)?, att: average(Estimand::Treated)?, ato: average(Estimand::Overlap)? })
    }
}
