//! Calibration of probabilities with two numbers: `sigmoid(intercept + slope logit(p))`, after Platt.
//!
//! A penalised regression shrinks its probabilities towards the middle and a forest's out-of-bag votes do so too; a
//! mixture of them keeps their order but not always their spread. Two numbers mend that and, unlike an isotonic map, can
//! be learned from a hundred rows.

use paretau_core::{Error, Result};
use paretau_kernels::numeric::{logit, sigmoid};
use serde::{Deserialize, Serialize};

/// Newton steps; the loss is convex and two-dimensional, so that a handful does.
const STEPS: usize = 50;
/// How firmly the slope is held at 1 and the intercept at 0: the evidence of so many rows.
const HELD: f64 = 1.0;
/// Calibrated probabilities keep this distance from 0 and 1.
const INSIDE: f64 = 1e-9;

/// A map of probabilities, increasing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogitMap {
    /// What is added on the scale of logits.
    pub intercept: f64,
    /// What logits are multiplied by, above 0.
    pub slope: f64,
}

impl LogitMap {
    /// The map that changes nothing.
    pub const IDENTITY: Self = Self { intercept: 0.0, slope: 1.0 };

    /// The map under which probabilities `p`, strictly between 0 and 1, predict the 0/1 labels best.
    pub fn fit(p: &[f64], y: &[f64], weight: Option<&[f64]>) -> Self {
        let logits: Vec<f64> = p.iter().map(|p| logit(*p)).collect();
        let (mut a, mut b) = (0.0, 1.0);
        for _ in 0..STEPS {
            // Gradient and curvature of the penalised log-loss.
            let (mut g, mut h) = ([HELD * a, HELD * (b - 1.0)], [HELD, 0.0, HELD]);
            for (i, z) in logits.iter().enumerate() {
                let w = weight.map_or(1.0, |w| w[i]);
                let q = sigmoid(a + b * z);
                let (miss, bend) = (w * (q - y[i]), w * q * (1.0 - q));
                g = [g[0] + miss, g[1] + miss * z];
                h = [h[0] + bend, h[1] + bend * z, h[2] + bend * z * z];
            }
            let determinant = h[0] * h[2] - h[1] * h[1];
            let step = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
            if !step.iter().all(|s| s.is_finite()) {
                return Self::IDENTITY;
            }
            // Steps of more than one logit are where Newton's quadratic no longer describes the loss.
            let size = step[0].abs().max(step[1].abs());
            let damp = if size > 1.0 { 1.0 / size } else { 1.0 };
            (a, b) = (a - damp * step[0], b - damp * step[1]);
            if size < 1e-10 {
                break;
            }
        }
        // A slope at or below 0 says that the probabilities know nothing; their order is then not turned round.
        if b > 0.0 && a.is_finite() { Self { intercept: a, slope: b } } else { Self::IDENTITY }
    }

    /// The calibrated probability, strictly between 0 and 1.
    pub fn apply(&self, p: f64) -> f64 {
        sigmoid(self.intercept + self.slope * logit(p)).clamp(INSIDE, 1.0 - INSIDE)
    }

    /// Itself, if it is a map that could have been fitted.
    pub fn checked(self) -> Result<Self> {
        if self.slope > 0.0 && self.slope.is_finite() && self.intercept.is_finite() {
            Ok(self)
        } else {
            Err(Error::bad_model("the calibration of its propensities is not an increasing map"))
        }
    }
}

#[cfg(test)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    #[test]
    fn shrunken_probabilities_get_their_spread_back() {
        let mut rng = Seed(4).rng();
        let logits: Vec<f64> = (0..4000).map(|_| 1.5 * rng.normal()).collect();
        let y: Vec<f64> = logits.iter().map(|z| f64::from(u8::from(rng.bernoulli(sigmoid(*z))))).collect();
        let shrunk: Vec<f64> = logits.iter().map(|z| sigmoid(0.5 * z + 0.3)).collect();
        let map = LogitMap::fit(&shrunk, &y, None);
        assert!((map.slope - 2.0).abs() < 0.15 && (map.intercept + 0.6).abs() < 0.15, "{map:?}");
        let twice: Vec<f64> = shrunk.iter().chain(&shrunk).copied().collect();
        let twice_y: Vec<f64> = y.iter().chain(&y).copied().collect();
        let (copies, weights) =
            (LogitMap::fit(&twice, &twice_y, None), LogitMap::fit(&shrunk, &y, Some(&vec![2.0; 4000])));
        assert!((copies.slope - weights.slope).abs() < 1e-8);
    }

    #[test]
    fn separation_and_noise_stay_finite() {
        let map = LogitMap::fit(&[0.1, 0.2, 0.8, 0.9], &[0.0, 0.0, 1.0, 1.0], None);
        assert!(map.slope > 1.0 && map.slope < 100.0 && map.apply(1.0 - 1e-12) < 1.0, "{map:?}");
        let turned = LogitMap::fit(&[0.1, 0.2, 0.8, 0.9], &[1.0, 1.0, 0.0, 0.0], None);
        assert!(turned.slope > 0.0, "{turned:?}");
        assert!((LogitMap::IDENTITY.apply(0.3) - 0.3).abs() < 1e-12);
        assert!(LogitMap { intercept: 0.0, slope: -1.0 }.checked().is_err());
    }
}
