//! How well the arms overlap, in numbers and in words.

use paretau_core::{Result, Warning};
use paretau_kernels::ess::ess;
use paretau_kernels::psis::{Psis, TailRule, khat_threshold};
use serde::{Deserialize, Serialize};

use crate::overlap::{RowWeights, numeric};

/// Propensities outside this range count as rows at risk (Crump et al.).
const SAFE: (f64, f64) = (0.1, 0.9);

/// Overlap of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmOverlap {
    /// Rows.
    pub n_rows: usize,
    /// Shape of the tail of the raw weights; the average of weights with a larger one than `khat_limit` is unreliable.
    /// Absent when the tail is too short or too even to tell.
    pub khat: Option<f64>,
    /// The limit for this many rows.
    pub khat_limit: f64,
    /// Effective sample size of the raw weights.
    pub ess_raw: f64,
    /// The same with propensities truncated to [0.1, 0.9].
    pub ess_truncated: f64,
    /// The same with Pareto-smoothed weights.
    pub ess_smooth: f64,
    /// Largest raw weight.
    pub max_raw: f64,
    /// Largest smoothed weight.
    pub max_smooth: f64,
}

/// Overlap of both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapReport {
    /// Control arm.
    pub control: ArmOverlap,
    /// Treated arm.
    pub treated: ArmOverlap,
    /// Smallest and largest propensity.
    pub propensity_range: (f64, f64),
    /// Rows whose propensity lies outside [0.1, 0.9].
    pub rows_at_risk: usize,
    /// What to worry about.
    pub warnings: Vec<Warning>,
}

impl OverlapReport {
    /// The report of rows with known arm, propensity and weights.
    pub fn new(t: &[u8], e: &[f64], weights: &RowWeights) -> Result<Self> {
        let arm = |arm: u8| -> Result<ArmOverlap> {
            let pick =
                |v: &[f64]| -> Vec<f64> { v.iter().zip(t).filter(|(_, a)| **a == arm).map(|(v, _)| *v).collect() };
            let (raw, smooth, e) = (pick(&weights.raw), pick(&weights.smooth), pick(e));
            let truncated: Vec<f64> = e
                .iter()
                .map(|e| e.clamp(SAFE.0, SAFE.1))
                .map(|e| if arm == 1 { e.recip() } else { (1.0 - e).recip() })
                .collect();
            let logs: Vec<f64> = raw.iter().map(|w| w.ln()).collect();
            let khat =
                Psis::default().smooth(&logs, 1.0, TailRule::Loo, &mut vec![0.0; logs.len()]).map_err(numeric)?;
            let largest = |v: &[f64]| v.iter().copied().fold(0.0, f64::max);
            Ok(ArmOverlap {
                n_rows: raw.len(),
                khat: khat.is_finite().then_some(khat),
                khat_limit: khat_threshold(raw.len()),
                ess_raw: ess(&raw).map_err(numeric)?,
                ess_truncated: ess(&truncated).map_err(numeric)?,
                ess_smooth: ess(&smooth).map_err(numeric)?,
                max_raw: largest(&raw),
                max_smooth: largest(&smooth),
            })
        };
        let (control, treated) = (arm(0)?, arm(1)?);
        let low = e.iter().copied().fold(f64::INFINITY, f64::min);
        let high = e.iter().copied().fold(0.0, f64::max);
        let rows_at_risk = e.iter().filter(|e| !(SAFE.0..=SAFE.1).contains(*e)).count();
        let mut report = Self { control, treated, propensity_range: (low, high), rows_at_risk, warnings: vec![] };
        report.warnings = report.worries(e.len());
        Ok(report)
    }

    fn worries(&self, n: usize) -> Vec<Warning> {
        let mut warnings = vec![];
        let mut warn = |code: &str, message: String| warnings.push(Warning { code: code.to_owned(), message });
        for (name, arm) in [("control", &self.control), ("treated", &self.treated)] {
            if let Some(khat) = arm.khat
                && khat > arm.khat_limit
            {
                warn(
                    "khat",
                    format!(
                        "the weights of the {name} arm have a tail too heavy to trust their averages (k-hat {khat:.2}, limit {:.2}); \
                         look at who gets the large weights, or restrict the question to rows with overlap",
                        arm.khat_limit
                    ),
                );
            }
            let share = arm.ess_raw / arm.n_rows as f64;
            if share < 0.2 {
                warn(
                    "ess",
                    format!(
                        "weighting leaves the {name} arm with {:.0} effective rows of {} ({:.0} %)",
                        arm.ess_raw,
                        arm.n_rows,
                        100.0 * share
                    ),
                );
            }
        }
        let at_risk = self.rows_at_risk as f64 / n as f64;
        if at_risk > 0.1 {
            warn(
                "overlap",
                format!(
                    "{} of {n} rows ({:.0} %) have a propensity below 0.1 or above 0.9: for them the other arm was hardly seen",
                    self.rows_at_risk,
                    100.0 * at_risk
                ),
            );
        }
        warnings
    }

    /// The report in a few lines.
    pub fn in_words(&self) -> Vec<String> {
        let (low, high) = self.propensity_range;
        let mut lines = vec![format!("propensities from {low:.3} to {high:.3}")];
        for (name, arm) in [("control", &self.control), ("treated", &self.treated)] {
            let khat = arm.khat.map_or("no tail".to_owned(), |k| format!("k-hat {k:.2} (limit {:.2})", arm.khat_limit));
            lines.push(format!(
                "{name} arm: {} rows, {khat}, effective rows {:.0} raw, {:.0} truncated, {:.0} smoothed",
                arm.n_rows, arm.ess_raw, arm.ess_truncated, arm.ess_smooth
            ));
        }
        lines.extend(self.warnings.iter().map(|w| format!("warning: {}", w.message)));
        lines
    }
}
