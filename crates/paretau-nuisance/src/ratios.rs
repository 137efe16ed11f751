//! Ratios for yes/no outcomes: how likely the outcome is with and without treatment, and the risk ratio and the odds ratio of
//! the two, with intervals by the delta method on the logarithm.

use paretau_core::Result;

use crate::inference::Score;
use crate::nuisances::Nuisance;
use crate::rows::{Observed, same_length};

/// Probabilities of the outcome in both arms, had everybody been in that arm, and what compares them. All are doubly robust
/// averages over all rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratios {
    /// Probability without treatment.
    pub control: Score,
    /// Probability with treatment.
    pub treated: Score,
    /// Logarithm of the risk ratio; absent when a probability is estimated as 0 or below.
    pub log_risk_ratio: Option<Score>,
    /// Logarithm of the odds ratio; absent when a probability is estimated at 0 or 1 or beyond.
    pub log_odds_ratio: Option<Score>,
}

/// The arms' mean outcomes and their ratios.
pub fn ratios(rows: &Observed<'_>, nuisance: &Nuisance, inverse_weights: &[f64]) -> Result<Ratios> {
    rows.check()?;
    let n = rows.len();
    nuisance.check(n)?;
    same_length("inverse weights", n, inverse_weights.len())?;
    let kept = |i: usize| inverse_weights[i] > 0.0;
    let total: f64 = (0..n).filter(|&i| kept(i)).map(|i| rows.w(i)).sum();
    let arm_mean = |arm: u8, mu: &[f64]| -> (f64, Vec<f64>) {
        let score = |i: usize| mu[i] + if rows.t[i] == arm { inverse_weights[i] * (rows.y[i] - mu[i]) } else { 0.0 };
        let value = (0..n).filter(|&i| kept(i)).map(|i| rows.w(i) * score(i)).sum::<f64>() / total;
        let influence = (0..n).map(|i| if kept(i) { rows.w(i) * (score(i) - value) / total } else { 0.0 }).collect();
        (value, influence)
    };
    let (control, psi0) = arm_mean(0, &nuisance.mu0);
    let (treated, psi1) = arm_mean(1, &nuisance.mu1);
    let combined = |value: f64, a: f64, b: f64| -> Option<Score> {
        let influence: Vec<f64> = psi1.iter().zip(&psi0).map(|(p1, p0)| a * p1 - b * p0).collect();
        Score::of_influence(value, &influence, rows.groups).finite()
    };
    let inside = |p: f64| p > 0.0 && p < 1.0;
    let log_risk_ratio = if control > 0.0 && treated > 0.0 {
        combined((treated / control).ln(), 1.0 / treated, 1.0 / control)
    } else {
        None
    };
    let log_odds_ratio = if inside(control) && inside(treated) {
        let odds = |p: f64| p / (1.0 - p);
        let slope = |p: f64| 1.0 / (p * (1.0 - p));
        combined((odds(treated) / odds(control)).ln(), slope(treated), slope(control))
    } else {
        None
    };
    Ok(Ratios {
        control: Score::of_influence(control, &psi0, rows.groups),
        treated: Score::of_influence(treated, &psi1, rows.groups),
        log_risk_ratio,
        log_odds_ratio,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_trials_ratios_are_those_of_the_two_by_two_table() {
        // 200 rows, half treated; 30 of 100 without and 45 of 100 with treatment.
        let t: Vec<u8> = (0..200).map(|i| u8::from(i >= 100)).collect();
        let y: Vec<f64> = (0..200).map(|i| f64::from(u8::from(i < 30 || (100..145).contains(&i)))).collect();
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(vec![0.30; 200], vec![0.45; 200], vec![0.5; 200]);
        let found = ratios(&rows, &nuisance, &[2.0; 200]).unwrap();
        assert!((found.control.value - 0.30).abs() < 1e-12 && (found.treated.value - 0.45).abs() < 1e-12);
        let (risk, odds) = (found.log_risk_ratio.unwrap(), found.log_odds_ratio.unwrap());
        assert!((risk.value - 1.5_f64.ln()).abs() < 1e-12);
        assert!((odds.value - (45.0 * 70.0 / (55.0 * 30.0_f64)).ln()).abs() < 1e-12);
        // The textbook's errors: sqrt(1/a - 1/n1 + 1/c - 1/n0), sqrt(1/a + 1/b + 1/c + 1/d).
        let textbook = (1.0 / 45.0 - 0.01 + 1.0 / 30.0 - 0.01_f64).sqrt();
        assert!((risk.se.unwrap() / textbook - 1.0).abs() < 0.01);
        let textbook = (1.0 / 45.0 + 1.0 / 55.0 + 1.0 / 30.0 + 1.0 / 70.0_f64).sqrt();
        assert!((odds.se.unwrap() / textbook - 1.0).abs() < 0.01);
    }
}
