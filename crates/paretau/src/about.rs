//! Facts about a fit that travel in the model file: what was asked, what came out, how far it can be trusted.

use paretau_core::{Design, Diagnostics, Effects, Error, OutcomeKind, Result, Seed};
use paretau_data::RoleSpec;
use paretau_eval::{Nuisance, Observed, Score, score};
use paretau_kernels::pareto::HardPareto;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::overlap_report::OverlapReport;

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
}

impl Averages {
    /// Augmented inverse-propensity averages from predictions of the training rows.
    pub fn estimate(design: &Design, effects: &Effects, e: &[f64]) -> Result<Self> {
        let rows = Observed::of(design)?;
        let nuisance = Nuisance::from_arms(effects.mu0.clone(), effects.mu1.clone(), e.to_vec());
        nuisance.check(rows.len())?;
        let of_arm = |i: usize| if rows.t[i] == 1 { e[i] } else { 1.0 - e[i] };
        let inverse = smooth(&(0..rows.len()).map(|i| of_arm(i).recip()).collect::<Vec<_>>())?;
        let ate = score::mean(&rows, &nuisance.scores(&rows, &inverse));

        // Among the treated: t (y - mu0) - (1 - t) e/(1 - e) (y - mu0), over the share of treated rows.
        let odds = smooth(&e.iter().map(|e| e / (1.0 - e)).collect::<Vec<_>>())?;
        let total: f64 = (0..rows.len()).map(|i| weight(&rows, i)).sum();
        let treated: f64 = (0..rows.len()).map(|i| weight(&rows, i) * f64::from(rows.t[i])).sum();
        let share = treated / total;
        let residual = |i: usize| rows.y[i] - effects.mu0[i];
        let influence = |i: usize| if rows.t[i] == 1 { residual(i) / share } else { -odds[i] * residual(i) / share };
        let raw: Vec<f64> = (0..rows.len()).map(influence).collect();
        let att = score::mean(&rows, &raw).value;
        // The share is estimated too; its part of the influence is -(t/share) times the average itself.
        let centred: Vec<f64> = raw.iter().zip(rows.t).map(|(v, &t)| v - att * (f64::from(t) / share - 1.0)).collect();
        let att = Score { value: att, se: score::mean(&rows, &centred).se };
        Ok(Self { ate: Estimate::from_score(ate)?, att: Estimate::from_score(att)? })
    }
}

fn weight(rows: &Observed<'_>, i: usize) -> f64 {
    rows.weight.map_or(1.0, |w| w[i])
}

fn smooth(weights: &[f64]) -> Result<Vec<f64>> {
    let mut out = vec![0.0; weights.len()];
    HardPareto::default().forward(weights, &mut out).map_err(crate::overlap::numeric)?;
    Ok(out)
}
