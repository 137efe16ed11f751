//! Inverse propensity weights where overlap is poor: clip the propensity, trim the rows, or smooth the tail.

use paretau_core::{Error, Result};
use paretau_kernels::KernelError;
use paretau_kernels::fallback::TailFit;
use paretau_kernels::weights::{Pooling, Weigher, Weighting};
use serde::{Deserialize, Serialize};

/// What to do about propensities near 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Hold the propensity within bounds.
    Clip,
    /// Leave out the rows beyond the bounds.
    Trim,
    /// Clip, then replace the largest weights of each arm by quantiles of a generalised Pareto tail fitted to them, never
    /// above the bound. An arm whose tail cannot be fitted (fewer than 25 rows, equal weights) is only clipped.
    Pareto,
}

impl Overlap {
    /// The words for parameters.
    pub const CHOICES: &'static [&'static str] = &["clip", "trim", "pareto"];
}

/// Inverse probabilities of the received arm, made usable.
#[derive(Debug, Clone, PartialEq)]
pub struct InverseWeights {
    /// `1/P(t | x)` after clipping, trimming (0) or smoothing.
    pub w: Vec<f64>,
    /// Rows beyond the bounds; under [`Overlap::Trim`] they have weight 0 and take no part.
    pub beyond: usize,
    /// Per arm, whether a Pareto tail was fitted.
    pub smoothed: [bool; 2],
}

/// Inverse weights from propensities strictly between 0 and 1; `bound` is the lowest propensity of clipping and
/// trimming, above 0 and below 1/2.
pub fn inverse_weights(e: &[f64], t: &[u8], rule: Overlap, bound: f64) -> Result<InverseWeights> {
    let logits: Vec<f64> = e.iter().map(|e| e.ln() - (-e).ln_1p()).collect();
    let beyond = e.iter().filter(|e| **e < bound || **e > 1.0 - bound).count();
    let weigh = |weighting: Weighting, logits: &[f64]| -> Result<(Vec<f64>, [Option<TailFit>; 2])> {
        let mut w = vec![0.0; e.len()];
        // With equal shares the balancing weight 1 + (1-π)/π is the inverse propensity.
        let report = Weigher::new(weighting, Pooling::PerArm, 1.0)
            .and_then(|mut weigher| weigher.forward(logits, t, 0.5, &mut w))
            .map_err(|e| kernel("weighting by propensity", &e))?;
        Ok((w, report.fits))
    };
    let clip = Weighting::Truncated { lo: bound, hi: 1.0 - bound };
    match rule {
        Overlap::Clip => Ok(InverseWeights { w: weigh(clip, &logits)?.0, beyond, smoothed: [false; 2] }),
        Overlap::Trim => {
            let w = weigh(Weighting::Ignored { lo: bound, hi: 1.0 - bound }, &logits)?.0;
            for arm in [0, 1] {
                if !w.iter().zip(t).any(|(w, &a)| a == arm && *w > 0.0) {
                    return Err(Error::unfit(format!(
                        "trimming at propensity {bound} leaves no row of treatment {arm}: the arms hardly overlap; \
                         use a smaller `clip`, or `overlap = pareto`"
                    )));
                }
            }
            Ok(InverseWeights { w, beyond, smoothed: [false; 2] })
        }
        Overlap::Pareto => {
            // A fit by moments would follow a single propensity of 1e-9, and lift the whole tail with it.
            let limit = ((1.0 - bound) / bound).ln();
            let held: Vec<f64> = logits.iter().map(|l| l.clamp(-limit, limit)).collect();
            let (mut w, fits) = weigh(Weighting::HardPareto, &held)?;
            let smoothed = fits.map(|fit| fit.is_some_and(|f| f.is_smoothed()));
            w.iter_mut().for_each(|w| *w = w.min(1.0 / bound));
            Ok(InverseWeights { w, beyond, smoothed })
        }
    }
}

/// A kernel's refusal as an error of the workspace.
pub(crate) fn kernel(what: &'static str, error: &KernelError) -> Error {
    Error::Numeric { what, message: error.to_string() }
}
