//! All rows of a design with their features, arms, outcomes and weights in the engine's number type.

use paretau_core::{Design, Error, OutcomeKind, Result};
use paretau_kernels::numeric::logit;
use paretau_kernels::real::Real;
use serde::{Deserialize, Serialize};

use super::batches::Batch;
use super::scaler::Scaler;
use super::table::Table;

/// How outcomes are scaled for training and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OutcomeScale {
    /// Centre.
    pub mean: f64,
    /// Unit.
    pub sd: f64,
}

impl OutcomeScale {
    /// Leaves outcomes as they are.
    pub const NONE: Self = Self { mean: 0.0, sd: 1.0 };

    /// Mean and standard deviation over the given rows; binary outcomes stay as they are.
    pub fn fit(y: &[f64], rows: &[usize], kind: OutcomeKind) -> Self {
        if kind == OutcomeKind::Binary {
            return Self::NONE;
        }
        let n = rows.len() as f64;
        // Halved while summing, so that outcomes near the largest number do not overflow on the way.
        let mean = rows.iter().map(|&i| y[i] / n).sum::<f64>();
        let largest = rows.iter().map(|&i| (y[i] - mean).abs()).fold(0.0, f64::max);
        if !(largest.is_normal() && largest > 1e-12 * mean.abs()) {
            return Self { mean, sd: 1.0 };
        }
        let sd = largest * (rows.iter().map(|&i| ((y[i] - mean) / largest).powi(2)).sum::<f64>() / n).sqrt();
        Self { mean, sd: if sd.is_normal() { sd } else { 1.0 } }
    }
}

/// A design ready for training.
#[derive(Debug, Clone)]
pub struct Sample<T> {
    /// Features.
    pub table: Table<T>,
    /// Arms, 0 or 1.
    pub t: Vec<u8>,
    /// Outcomes on the training scale.
    pub y: Vec<T>,
    /// Row weights with mean 1.
    pub weight: Vec<T>,
    /// Known propensities as logits.
    pub known_logit: Option<Vec<f64>>,
    /// Weights fixed before training (a propensity model of its own), which multiply the outcome loss.
    pub fixed: Option<Vec<T>>,
    /// Kind of outcome.
    pub outcome: OutcomeKind,
    /// Share of treated rows among the training rows.
    pub treated: f64,
}

impl<T: Real> Sample<T> {
    /// Arms and outcomes of a batch, and what each row counts for: its weights and its arm's share, over the batch.
    pub(crate) fn deal(&self, batch: &Batch, t: &mut Vec<u8>, y: &mut Vec<T>, counts: &mut Vec<T>) {
        let n = batch.rows.len() as f64;
        t.clear();
        y.clear();
        counts.clear();
        for (place, &i) in batch.rows.iter().enumerate() {
            let arm = usize::from(place >= batch.n0);
            t.push(arm as u8);
            y.push(self.y[i]);
            let fixed = self.fixed.as_ref().map_or(T::ONE, |w| w[i]);
            counts.push(self.weight[i] * fixed * T::from_f64(batch.share[arm] / n));
        }
    }

    /// Prepares a design; `rows` are the training rows, which alone decide scales and shares.
    pub fn new(design: &Design, rows: &[usize]) -> Result<(Self, Scaler, OutcomeScale)> {
        Self::with_pieces(design, rows, 0)
    }

    /// The same with up to `bins` pieces per column.
    pub fn with_pieces(design: &Design, rows: &[usize], bins: usize) -> Result<(Self, Scaler, OutcomeScale)> {
        let scaler = Scaler::fit(design.x(), rows).with_pieces(design.x(), rows, bins);
        let table = Table::new(design.x(), &scaler)?;
        let scale = OutcomeScale::fit(design.y(), rows, design.outcome());
        let y: Vec<T> = design.y().iter().map(|v| T::from_f64((v - scale.mean) / scale.sd)).collect();
        if let Some(row) = y.iter().position(|v| !v.is_finite()) {
            return Err(Error::unfit(format!(
                "outcome: row {} holds {}, which is too far from the others to be scaled; rescale the outcome",
                row + 1,
                design.y()[row]
            )));
        }
        let n = rows.len().max(1) as f64;
        let weight = match design.weight() {
            None => vec![T::ONE; design.n_rows()],
            Some(w) => {
                let mean = rows.iter().map(|&i| w[i]).sum::<f64>() / n;
                let mean = if mean > 0.0 { mean } else { 1.0 };
                w.iter().map(|v| T::from_f64(v / mean)).collect()
            }
        };
        let known_logit = design.propensity().map(|e| e.iter().map(|e| logit(*e)).collect());
        let treated = rows.iter().filter(|&&i| design.t()[i] == 1).count() as f64 / n;
        let t = design.t().to_vec();
        Ok((Self { table, t, y, weight, known_logit, fixed: None, outcome: design.outcome(), treated }, scaler, scale))
    }
}
