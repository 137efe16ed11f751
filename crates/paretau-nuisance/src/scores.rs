//! The doubly robust score, and the residuals that the R-loss is made of: each once, for every estimator and metric.

/// What a row's own outcome adds to the difference of the expected ones: `w (2t - 1)(y - mu_t)`, for the inverse
/// weight `w` of the arm it received.
#[inline]
pub fn correction(t: u8, y: f64, (mu0, mu1): (f64, f64), w: f64) -> f64 {
    let miss = if t == 1 { y - mu1 } else { mu0 - y };
    w * miss
}

/// The doubly robust score of one row, `mu1 - mu0 + w (2t - 1)(y - mu_t)`: its mean is the average effect if either
/// the outcomes or the inverse weights `w = 1/P(t | x)` are right.
#[inline]
pub fn doubly_robust_score(t: u8, y: f64, (mu0, mu1): (f64, f64), w: f64) -> f64 {
    mu1 - mu0 + correction(t, y, (mu0, mu1), w)
}

/// The doubly robust scores of rows with these arms and outcomes, expected outcomes and inverse weights.
pub fn doubly_robust((t, y): (&[u8], &[f64]), (mu0, mu1): (&[f64], &[f64]), inverse_weights: &[f64]) -> Vec<f64> {
    (0..t.len()).map(|i| doubly_robust_score(t[i], y[i], (mu0[i], mu1[i]), inverse_weights[i])).collect()
}

/// What the R-loss regresses on what: the residuals of outcome and treatment of one row. `(y - m) - (t - e) tau` is
/// its error for an effect `tau`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residuals {
    /// `y - m`.
    pub outcome: f64,
    /// `t - e`.
    pub treatment: f64,
}

impl Residuals {
    /// Of a row with these values and expectations.
    #[inline]
    pub fn new((y, m): (f64, f64), (t, e): (f64, f64)) -> Self {
        Self { outcome: y - m, treatment: t - e }
    }

    /// The squared error of an effect: one row of the R-loss.
    #[inline]
    pub fn loss(&self, tau: f64) -> f64 {
        (self.outcome - self.treatment * tau).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let scores = doubly_robust((&[1, 0], &[4.0, 0.5]), (&[1.0, 1.0], &[3.0, 3.0]), &[2.0, 4.0]);
        // 2 + 2 (4 - 3), 2 - 4 (0.5 - 1).
        assert_eq!(scores, [4.0, 4.0]);
        let residuals = Residuals::new((3.0, 1.0), (1.0, 0.5));
        assert_eq!((residuals.loss(4.0), residuals.loss(2.0)), (0.0, 1.0));
    }
}
