//! Facts about a fit that travel in the model file: what was asked, what came out, how far it can be trusted.

use paretau_core::{Diagnostics, Error, OutcomeKind, Result, Seed, Warning};
use paretau_data::{Reading, RoleSpec};
use paretau_nuisance::{Estimand, OverlapReport, Score};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a model knows about its own making.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Registry name.
    pub estimator: String,
    /// All parameters, defaults included.
    pub params: Value,
    /// Which columns played which role.
    pub roles: RoleSpec,
    /// The arms, the control first; effects are against it.
    pub arms: Vec<Arm>,
    /// Kind of outcome.
    pub outcome: OutcomeKind,
    /// Training rows of all arms.
    pub n_rows: usize,
    /// Those of the first treated arm.
    pub n_treated: usize,
    /// Feature columns after encoding.
    pub n_features: usize,
    /// Average effects of the first treated arm.
    pub averages: Averages,
    /// What the fit had to say.
    pub diagnostics: Diagnostics,
    /// Overlap, weights and their tail, of the control and the first treated arm.
    pub overlap: OverlapReport,
    /// What to be careful about, most important first: all of it, the overlap's and the estimator's included.
    pub warnings: Vec<Warning>,
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
    /// Training rows of the control and the first treated arm, and of the latter alone.
    pub fn rows_compared(&self) -> (usize, usize) {
        let rows = |k: usize| self.arms.get(k).map_or(0, |arm| arm.n_rows);
        (rows(0) + rows(1), rows(1))
    }

    /// Values of the treatment column that mean control and treated.
    pub fn pair(&self) -> [&str; 2] {
        [0, 1].map(|k| self.arms.get(k).map_or("", |arm| arm.name.as_str()))
    }

    /// The arms beyond control and treated.
    pub fn further_arms(&self) -> &[Arm] {
        self.arms.get(2..).unwrap_or_default()
    }
}

/// An arm of the treatment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its value in the treatment column.
    pub name: String,
    /// Its training rows.
    pub n_rows: usize,
    /// Average effect against the control over the rows of both; absent for the control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ate: Option<Estimate>,
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
    pub(crate) fn from_score(score: Score) -> Result<Self> {
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
    pub(crate) fn of(average: impl Fn(Estimand) -> Result<Estimate>) -> Result<Self> {
        Ok(Self { ate: average(Estimand::All)?, att: average(Estimand::Treated)?, ato: average(Estimand::Overlap)? })
    }
}
