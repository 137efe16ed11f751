//! What the nets get wrong on average, put right by held-out rows: a shift of each arm's outcome.
//!
//! Nets that were regularised or stopped early are pulled towards their own arm's rows, which under poor overlap are not the
//! population: the average effect inherits the confounding. Every row was held out by some member, so its residual is honest,
//! and residuals weighted by Pareto-smoothed balancing weights show an arm's mean error over both arms' rows. The shift is that
//! mean, drawn towards zero as far as the rows leave it open: with `s` its standard error, `m` becomes `m (1 - s^2 / m^2)`, or nothing
//! when it is smaller than `s` (James and Stein). An arm whose weights k-hat calls unreliable is left as it is.

use paretau_core::{Design, Effects, OutcomeKind};

use crate::loss::outcome::sigmoid;
use crate::weigh::{HeldOut, finite_logit};

/// Shifts of the two arms' outcomes; for outcomes of 0 and 1, of their logits.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Shift {
    pub(crate) arms: [f64; 2],
    /// On the scale of logits.
    pub(crate) logit: bool,
}

impl Shift {
    /// Shifts outcomes and effects in place.
    pub(crate) fn apply(&self, effects: &mut Effects) {
        if self.arms == [0.0; 2] {
            return;
        }
        for (by, mu) in self.arms.into_iter().zip([&mut effects.mu0, &mut effects.mu1]) {
            mu.iter_mut()
                .filter(|_| by != 0.0)
                .for_each(|m| *m = if self.logit { sigmoid(finite_logit(*m) + by) } else { *m + by });
        }
        effects.tau = effects.mu1.iter().zip(&effects.mu0).map(|(a, b)| a - b).collect();
    }
}

/// The shifts that held-out `rows` ask for, with the weighted mean errors and their standard errors; none without a propensity.
pub(crate) fn shift(design: &Design, rows: &[usize], held_out: &Effects) -> Option<(Shift, [[f64; 2]; 2])> {
    let HeldOut { t, w, relied } = HeldOut::new(design, rows, held_out.e.as_deref())?;
    let logit = design.outcome() == OutcomeKind::Binary;
    let mut shift = Shift { logit, ..Shift::default() };
    let mut errors = [[0.0; 2]; 2];
    for arm in 0..2_u8 {
        let own: Vec<usize> = (0..rows.len()).filter(|&k| t[k] == arm).collect();
        let mu = if arm == 1 { &held_out.mu1 } else { &held_out.mu0 };
        let mass: f64 = own.iter().map(|&k| w[k]).sum();
        let gap = |k: usize| design.y()[rows[k]] - mu[k];
        let mean = own.iter().map(|&k| w[k] / mass * gap(k)).sum::<f64>();
        let variance = own.iter().map(|&k| (w[k] / mass * (gap(k) - mean)).powi(2)).sum::<f64>();
        if !(mean.is_finite() && variance.is_finite()) {
            return None;
        }
        let kept = if relied[usize::from(arm)] && mean * mean > variance {
            mean * (1.0 - variance / (mean * mean))
        } else {
            0.0
        };
        // One Newton step turns a difference of probabilities into one of logits.
        let slope = if logit { own.iter().map(|&k| w[k] / mass * mu[k] * (1.0 - mu[k])).sum() } else { 1.0 };
        shift.arms[usize::from(arm)] = if slope > 1e-6 { kept / slope } else { 0.0 };
        errors[usize::from(arm)] = [mean, variance.sqrt()];
    }
    Some((shift, errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::{Dense, Features, Seed};

    /// One confounder that both arms' outcomes follow, and held-out answers that are `wrong` by a constant in the treated arm.
    fn case(wrong: f64, binary: bool) -> (Design, Effects) {
        let n = 4000;
        let mut rng = Seed(3).rng();
        let (mut x, mut t, mut y, mut e) = (vec![], vec![], vec![], vec![]);
        let (mut mu0, mut mu1) = (vec![], vec![]);
        for _ in 0..n {
            let z = rng.normal();
            let own = sigmoid(z);
            let treated = rng.bernoulli(own);
            let truth = if binary { sigmoid(0.5 * z) } else { z };
            y.push(if binary { f64::from(u8::from(rng.bernoulli(truth))) } else { truth + rng.normal() });
            x.push(z);
            t.push(u8::from(treated));
            e.push(own);
            mu0.push(truth);
            mu1.push(if binary { sigmoid(0.5 * z + wrong) } else { truth + wrong });
        }
        let x = Features::Dense(Dense::new(n, 1, x).unwrap());
        let mut held = Effects::from_outcomes(mu0, mu1);
        held.e = Some(e);
        (Design::new(x, t, y).unwrap(), held)
    }

    fn all(design: &Design) -> Vec<usize> {
        (0..design.n_rows()).collect()
    }

    #[test]
    fn an_arm_that_is_wrong_by_a_constant_is_put_right() {
        for binary in [false, true] {
            let (design, held) = case(1.0, binary);
            let (shift, _) = shift(&design, &all(&design), &held).unwrap();
            assert_eq!(shift.logit, binary);
            assert!((shift.arms[1] + 1.0).abs() < 0.15 && shift.arms[0].abs() < 0.15, "{binary}: {:?}", shift.arms);
        }
    }

    #[test]
    fn weights_and_not_the_arm_s_own_rows_decide() {
        // Wrong where few are treated: the treated rows' own mean error is small, the population's is not.
        let (design, mut held) = case(0.0, false);
        let Features::Dense(x) = design.x() else { unreachable!() };
        let gap = |i: usize| if x.row(i)[0] < -1.0 { 2.0 } else { 0.0 };
        held.mu1.iter_mut().enumerate().for_each(|(i, m)| *m += gap(i));
        let population = (0..design.n_rows()).map(gap).sum::<f64>() / design.n_rows() as f64;
        let own = design.rows_of_arm(1);
        let seen = own.iter().map(|&i| gap(i)).sum::<f64>() / own.len() as f64;
        let (shift, _) = shift(&design, &all(&design), &held).unwrap();
        assert!(population > 1.5 * seen);
        assert!((shift.arms[1] + population).abs() < 0.5 * (population - seen), "{:?} {population}", shift.arms);
    }

    #[test]
    fn errors_within_their_noise_are_left_alone_and_probabilities_stay_so() {
        let (design, held) = case(0.0, false);
        let (found, errors) = shift(&design, &all(&design), &held).unwrap();
        for (by, [mean, error]) in found.arms.into_iter().zip(errors) {
            assert!(by.abs() <= mean.abs() && (mean.abs() > error || by == 0.0));
        }
        let mut effects = Effects::from_outcomes(vec![0.0, 0.3, 1.0], vec![0.0, 0.3, 1.0]);
        Shift { arms: [0.0, 9.0], logit: true }.apply(&mut effects);
        assert!(effects.mu1.iter().all(|m| (0.0..=1.0).contains(m)) && effects.tau[1] > 0.6 && effects.mu0[1] == 0.3);
    }

    #[test]
    fn weights_that_cannot_be_relied_upon_move_nothing() {
        let (design, mut held) = case(1.0, false);
        // A propensity that is far too sure of itself: weights over many orders of magnitude.
        let sure = |e: f64| sigmoid(8.0 * finite_logit(e));
        held.e = held.e.map(|e| e.into_iter().map(sure).collect());
        assert_eq!(shift(&design, &all(&design), &held).unwrap().0.arms, [0.0; 2]);
    }

    #[test]
    fn a_few_rows_or_no_propensity_ask_for_nothing() {
        let (design, mut held) = case(1.0, false);
        held.e = None;
        assert!(shift(&design, &all(&design), &held).is_none());
    }
}
