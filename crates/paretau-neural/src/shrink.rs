//! How much of the effects' spread held-out rows bear out; the rest is taken back.
//!
//! Nets that learn from few or noisy rows find differences between people where there are none, and no early stopping on the
//! outcome's loss sees it: the effect is a small part of the outcome. With `h` the effect minus its mean and `s = t - e` the surprise
//! in the treatment, keeping a part `a` of the spread makes the outcomes `mu - (1 - a) s h`. Held-out residuals show the best `a`, a
//! ratio of sums in which no weight is ever large: rows that could only have been treated one way have `s` near zero and show
//! nothing (Robinson's residuals, as in the calibration test of causal forests). Taken back is only what the rows are fairly sure
//! of: `1 - a` less its standard error, so that nets with nothing wrong keep very nearly all of what they found.
//!
//! A held-out row was answered by few members, often one, whose effects scatter more than the ensemble's: covariances are theirs,
//! the spread in the denominator is the ensemble's.

use paretau_core::{Design, Effects, OutcomeKind};

use crate::loss::outcome::sigmoid;
use crate::weigh::{FEW, finite_logit, propensities};

/// Effects drawn towards their mean; for outcomes of 0 and 1, differences of logits.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Shrink {
    /// Part of the spread that is kept.
    pub(crate) kept: f64,
    /// What effects are drawn towards.
    pub(crate) centre: f64,
    /// Share of treated rows.
    pub(crate) treated: f64,
    /// On the scale of logits.
    pub(crate) logit: bool,
}

impl Default for Shrink {
    fn default() -> Self {
        Self { kept: 1.0, centre: 0.0, treated: 0.5, logit: false }
    }
}

impl Shrink {
    /// Whether its numbers can be used.
    pub(crate) fn is_sound(&self) -> bool {
        self.centre.is_finite() && (0.0..=1.0).contains(&self.kept) && (0.0..=1.0).contains(&self.treated)
    }

    /// Draws effects in place.
    pub(crate) fn apply(&self, effects: &mut Effects) {
        if self.kept >= 1.0 {
            return;
        }
        for (mu0, mu1) in effects.mu0.iter_mut().zip(&mut effects.mu1) {
            let (a, b) = if self.logit { (finite_logit(*mu0), finite_logit(*mu1)) } else { (*mu0, *mu1) };
            let back = (1.0 - self.kept) * (b - a - self.centre);
            let (a, b) = (a + self.treated * back, b - (1.0 - self.treated) * back);
            (*mu0, *mu1) = if self.logit { (sigmoid(a), sigmoid(b)) } else { (a, b) };
        }
        effects.tau = effects.mu1.iter().zip(&effects.mu0).map(|(a, b)| a - b).collect();
    }
}

/// What held-out `rows` bear out: `held_out` by members that did not see them, `all` by the whole ensemble. Also the part of the spread
/// that fits best and its standard error. None without a propensity.
pub(crate) fn shrink(
    design: &Design,
    rows: &[usize],
    (held_out, all): (&Effects, &Effects),
) -> Option<(Shrink, [f64; 2])> {
    let e = propensities(design, rows, held_out.e.as_deref())?;
    let n_treated = rows.iter().filter(|&&i| design.t()[i] == 1).count();
    if n_treated < FEW || rows.len() - n_treated < FEW {
        return None;
    }
    let binary = design.outcome() == OutcomeKind::Binary;
    let (own, ensemble) = (spread(held_out, binary), spread(all, binary));
    let (mut cross, mut square) = (0.0, 0.0);
    let mut terms = Vec::with_capacity(rows.len());
    for (k, &i) in rows.iter().enumerate() {
        let weight = design.weight().map_or(1.0, |w| w[i]);
        let (s, mu) = if design.t()[i] == 1 { (1.0 - e[k], held_out.mu1[k]) } else { (-e[k], held_out.mu0[k]) };
        // The loss's second derivative: one for squares, that of the logistic loss for probabilities.
        let curve = if binary { (mu * (1.0 - mu)).max(1e-6) } else { 1.0 };
        let fit = curve * s * own.1[k];
        let (slope, rest) = (weight * s * own.1[k], design.y()[i] - mu + fit);
        cross += slope * rest;
        square += weight * curve * (s * ensemble.1[k]).powi(2);
        terms.push((slope, rest, fit));
    }
    let best = cross / square;
    let noise = terms.iter().map(|(slope, rest, fit)| (slope * (rest - best * fit)).powi(2)).sum::<f64>();
    let variance = noise / (square * square);
    if !(square > 0.0 && best.is_finite() && variance.is_finite()) {
        return None;
    }
    let back = (1.0 - best - variance.sqrt()).clamp(0.0, 1.0);
    let treated = n_treated as f64 / rows.len() as f64;
    let found = Shrink { kept: 1.0 - back, centre: ensemble.0, treated, logit: binary };
    found.is_sound().then_some((found, [best, variance.sqrt()]))
}

/// Mean effect and each row's distance from it.
fn spread(effects: &Effects, binary: bool) -> (f64, Vec<f64>) {
    let link = |m: f64| if binary { finite_logit(m) } else { m };
    let all: Vec<f64> = effects.mu0.iter().zip(&effects.mu1).map(|(a, b)| link(*b) - link(*a)).collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    (mean, all.iter().map(|v| v - mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::{Dense, Features, Seed};

    /// Rows whose effect is `slope` times the feature, and nets that predict it to be the feature itself.
    fn case(slope: f64, binary: bool) -> (Design, Effects) {
        let n = 6000;
        let mut rng = Seed(5).rng();
        let (mut x, mut t, mut y, mut e) = (vec![], vec![], vec![], vec![]);
        let (mut mu0, mut mu1) = (vec![], vec![]);
        for _ in 0..n {
            let z = rng.normal();
            let own = sigmoid(0.5 * z);
            let treated = rng.bernoulli(own);
            let arm = f64::from(u8::from(treated)) - 0.5;
            let (truth, predicted) = (0.3 * z + arm * (0.5 + slope * z), |arm: f64| 0.3 * z + arm * (0.5 + z));
            if binary {
                y.push(f64::from(u8::from(rng.bernoulli(sigmoid(truth)))));
                mu0.push(sigmoid(predicted(-0.5)));
                mu1.push(sigmoid(predicted(0.5)));
            } else {
                y.push(truth + rng.normal());
                mu0.push(predicted(-0.5));
                mu1.push(predicted(0.5));
            }
            x.push(z);
            t.push(u8::from(treated));
            e.push(own);
        }
        let x = Features::Dense(Dense::new(n, 1, x).unwrap());
        let mut held = Effects::from_outcomes(mu0, mu1);
        held.e = Some(e);
        (Design::new(x, t, y).unwrap(), held)
    }

    fn found(slope: f64, binary: bool) -> (Shrink, [f64; 2]) {
        let (design, held) = case(slope, binary);
        let rows: Vec<usize> = (0..design.n_rows()).collect();
        shrink(&design, &rows, (&held, &held)).unwrap()
    }

    #[test]
    fn spread_that_is_not_there_is_taken_back_and_what_is_there_is_kept() {
        for binary in [false, true] {
            for slope in [0.0, 0.4, 1.0] {
                let (shrink, [best, error]) = found(slope, binary);
                assert!((best - slope).abs() < 4.0 * error && error < 0.1, "{binary} {slope}: {best} {error}");
                assert!((shrink.kept - slope).abs() < 0.15, "{binary} {slope}: {}", shrink.kept);
            }
            // Twice the spread is there: nothing is taken back, and nothing is blown up.
            assert_eq!(found(2.0, binary).0.kept, 1.0);
        }
    }

    #[test]
    fn drawing_leaves_the_mean_effect_and_the_outcome_over_arms() {
        let (_, mut effects) = case(1.0, false);
        let before = effects.clone();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let half = Shrink { kept: 0.5, centre: mean(&before.tau), treated: 0.3, logit: false };
        half.apply(&mut effects);
        assert!((mean(&effects.tau) - mean(&before.tau)).abs() < 1e-12);
        for i in 0..before.tau.len() {
            let (was, is) = (before.tau[i] - half.centre, effects.tau[i] - half.centre);
            assert!((is - 0.5 * was).abs() < 1e-12);
            let pooled = |e: &Effects| 0.7 * e.mu0[i] + 0.3 * e.mu1[i];
            assert!((pooled(&effects) - pooled(&before)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_few_rows_or_no_propensity_take_nothing_back() {
        let (design, mut held) = case(0.0, false);
        assert!(shrink(&design, &[0, 1, 2], (&held, &held)).is_none());
        held.e = None;
        let rows: Vec<usize> = (0..design.n_rows()).collect();
        assert!(shrink(&design, &rows, (&held, &held)).is_none());
    }
}
