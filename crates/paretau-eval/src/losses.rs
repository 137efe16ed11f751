//! Losses of predicted effects that need no truth: how far they are from doubly robust scores, from the residuals'
//! regression, and from plug-in differences. Lower is better. Per-row losses are public so that two models can be
//! compared on the same rows, which is far sharper than comparing their means.

use paretau_nuisance::inference::{Score, mean};
use paretau_nuisance::scores::Residuals;
use paretau_nuisance::{Nuisance, Observed};

/// `(score - tau)²` of each row, with doubly robust scores (the DR-loss).
pub fn dr_losses(tau: &[f64], scores: &[f64]) -> Vec<f64> {
    tau.iter().zip(scores).map(|(tau, score)| (score - tau).powi(2)).collect()
}

/// `((y - m) - (t - e) tau)²` of each row (the R-loss of Nie and Wager 2021).
pub fn r_losses(rows: &Observed<'_>, nuisance: &Nuisance, tau: &[f64]) -> Vec<f64> {
    (0..tau.len())
        .map(|i| Residuals::new((rows.y[i], nuisance.m[i]), (f64::from(rows.t[i]), nuisance.e[i])).loss(tau[i]))
        .collect()
}

/// `((mu1 - mu0) - tau)²` of each row, with both outcomes from a separate plug-in model (the T-score).
pub fn t_losses(nuisance: &Nuisance, tau: &[f64]) -> Vec<f64> {
    (0..tau.len()).map(|i| (nuisance.mu1[i] - nuisance.mu0[i] - tau[i]).powi(2)).collect()
}

/// Mean difference of two models' losses on the same rows (`a - b`: below 0 is better for `a`), with its standard
/// error. Noise that both share cancels.
pub fn difference(rows: &Observed<'_>, a: &[f64], b: &[f64]) -> Score {
    let gaps: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    mean(rows, &gaps)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let (t, y) = ([1, 0], [5.0, 1.0]);
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(vec![1.0, 2.0], vec![3.0, 2.0], vec![0.5, 0.25]);
        assert_eq!(nuisance.m, vec![2.0, 2.0]);
        let scores = nuisance.scores(&rows, &[2.0, 4.0 / 3.0]);
        // 2 + 2 (5 - 3) = 6; 0 - 4/3 (1 - 2) = 4/3.
        assert!((scores[0] - 6.0).abs() < 1e-12 && (scores[1] - 4.0 / 3.0).abs() < 1e-12);
        assert!((dr_losses(&[5.0, 1.0], &scores)[1] - 1.0 / 9.0).abs() < 1e-12);
        assert_eq!(r_losses(&rows, &nuisance, &[2.0, 4.0]), vec![4.0, 0.0]);
        assert_eq!(t_losses(&nuisance, &[2.0, 4.0]), vec![0.0, 16.0]);
        let gap = difference(&rows, &[3.0, 5.0], &[1.0, 3.0]);
        assert_eq!((gap.value, gap.se), (2.0, Some(0.0)));
    }
}
