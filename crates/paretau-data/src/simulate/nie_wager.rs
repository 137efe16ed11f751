//! The four setups of Nie and Wager (2021), section 4; CausalML's modes 1 to 4 and grf's nw1 to nw4 are these.
//!
//! `y = b(x) + (t - 1/2) tau(x) + noise`, so that `mu0 = b - tau/2` and `mu1 = b + tau/2`.

use paretau_core::Rng;

use super::draws::softplus;
use super::sigmoid;

/// A setup's letter in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    A,
    B,
    C,
    D,
}

impl Setup {
    /// Draws a row of features: uniform in setup A, normal in the others.
    pub(super) fn draw(self, x: &mut [f64], rng: &mut Rng) {
        x.iter_mut().for_each(|v| *v = if self == Self::A { rng.uniform() } else { rng.normal() });
    }

    /// Baseline b, effect tau and propensity e of a row of at least five features.
    pub(super) fn truth(self, x: &[f64]) -> (f64, f64, f64) {
        let (x1, x2, x3, x4, x5) = (x[0], x[1], x[2], x[3], x[4]);
        match self {
            Self::A => {
                let wave = (std::f64::consts::PI * x1 * x2).sin();
                (wave + 2.0 * (x3 - 0.5).powi(2) + x4 + 0.5 * x5, 0.5 * (x1 + x2), wave.clamp(0.1, 0.9))
            }
            Self::B => ((x1 + x2).max(x3).max(0.0) + (x4 + x5).max(0.0), x1 + softplus(x2), 0.5),
            Self::C => (2.0 * softplus(x1 + x2 + x3), 1.0, sigmoid(-(x2 + x3))),
            Self::D => {
                let (up, down) = ((x1 + x2 + x3).max(0.0), (x4 + x5).max(0.0));
                (0.5 * (up + down), up - down, 1.0 / (1.0 + (-x1).exp() + (-x2).exp()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truths_by_hand() {
        let x = [0.5, 1.0, 0.5, 0.2, 0.4];
        assert_eq!(Setup::A.truth(&x), (1.0 + 0.2 + 0.2, 0.75, 0.9));
        let (b, tau, e) = Setup::B.truth(&x);
        assert!((b - 2.1).abs() < 1e-12 && (tau - (0.5 + (1.0 + 1_f64.exp()).ln())).abs() < 1e-12 && e == 0.5);
        let (b, tau, e) = Setup::C.truth(&x);
        assert!((b - 2.0 * (1.0 + 2_f64.exp()).ln()).abs() < 1e-12 && tau == 1.0);
        assert!((e - 1.0 / (1.0 + 1.5_f64.exp())).abs() < 1e-12);
        let (b, tau, e) = Setup::D.truth(&x);
        assert!((b - 1.3).abs() < 1e-12 && (tau - 1.4).abs() < 1e-12);
        assert!((e - 1.0 / (1.0 + (-0.5_f64).exp() + (-1_f64).exp())).abs() < 1e-12);
    }
}
