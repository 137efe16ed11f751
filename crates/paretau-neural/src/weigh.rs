//! Balancing weights from propensities, outside training: raw ones with their tail, smoothed ones for averages over held-out rows.

use std::borrow::Cow;

use paretau_core::Design;
use paretau_kernels::numeric::logit;
use paretau_kernels::psis::{Psis, TailRule, khat_threshold};
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::{Pooling, Weigher, Weighting};

use crate::loss::outcome::sigmoid;

/// Fewer held-out rows per arm than this are too few to go by.
pub(crate) const FEW: usize = 10;

/// No probability is nearer to 0 or 1 than this.
const SUREST: f64 = 1e-12;

/// Log-odds of a probability, kept finite.
pub(crate) fn finite_logit(p: f64) -> f64 {
    logit(p.clamp(SUREST, 1.0 - SUREST))
}

/// A net's propensity from its log-odds: strictly between 0 and 1, however sure the net is.
pub(crate) fn propensity(logit: f32) -> f64 {
    sigmoid(f64::from(logit)).clamp(SUREST, 1.0 - SUREST)
}

/// The logarithm of a row's balancing weight, given the log-odds of its treatment and the odds of treatment over all rows.
pub(crate) fn log_weight(logit: f64, t: u8, odds: f64) -> f64 {
    if t == 1 { (odds * (-logit).exp()).ln_1p() } else { (logit.exp() / odds).ln_1p() }
}

/// Tail shape of weights, as importance samplers diagnose it; nothing when there are too few rows for a tail.
pub(crate) fn khat(log_weights: &[f64]) -> Option<f64> {
    let mut smooth = vec![0.0; log_weights.len()];
    let khat = Psis::default().smooth_unnormalised(log_weights, 1.0, TailRule::Loo, &mut smooth).ok()?;
    khat.is_finite().then_some(khat)
}

/// Whether averages over weights with this tail mean anything. Where no tail can be fitted, nothing speaks against them.
pub(crate) fn is_reliable(khat: Option<f64>, n: usize) -> bool {
    khat.is_none_or(|khat| khat <= khat_threshold(n))
}

/// The propensities of some rows: the users' where they gave them, else those `predicted` by a net.
pub(crate) fn propensities<'a>(
    design: &Design,
    rows: &[usize],
    predicted: Option<&'a [f64]>,
) -> Option<Cow<'a, [f64]>> {
    let known = design.propensity().map(|all| rows.iter().map(|&i| all[i]).collect::<Vec<f64>>());
    known.map(Cow::Owned).or_else(|| predicted.map(Cow::Borrowed))
}

/// Held-out rows with weights that make either arm stand for all of them.
#[derive(Debug)]
pub(crate) struct HeldOut {
    /// Arms.
    pub(crate) t: Vec<u8>,
    /// Pareto-smoothed balancing weights divided by their arm's mean, times the users' weights.
    pub(crate) w: Vec<f64>,
    /// Whether each arm's weights can be relied upon.
    pub(crate) relied: [bool; 2],
}

impl HeldOut {
    /// Weighs `rows` by the users' propensity, else by `predicted`; nothing without either or with too few rows of an arm.
    pub(crate) fn new(design: &Design, rows: &[usize], predicted: Option<&[f64]>) -> Option<Self> {
        let t: Vec<u8> = rows.iter().map(|&i| design.t()[i]).collect();
        let e = &propensities(design, rows, predicted)?;
        let n_treated = t.iter().filter(|&&t| t == 1).count();
        if n_treated < FEW || t.len() - n_treated < FEW {
            return None;
        }
        let treated = n_treated as f64 / t.len() as f64;
        let mut w = balancing(e, &t, treated)?;
        if let Some(users) = design.weight() {
            w.iter_mut().zip(rows).for_each(|(w, &i)| *w *= users[i]);
        }
        let relied = reliable(e, &t, treated);
        Some(Self { t, w, relied })
    }
}

/// Whether the tail of each arm's balancing weights is light enough for averages over them to mean anything.
pub(crate) fn reliable(e: &[f64], t: &[u8], treated: f64) -> [bool; 2] {
    let odds = treated / (1.0 - treated);
    [0_u8, 1].map(|arm| {
        let rows = e.iter().zip(t).filter(|(_, t)| **t == arm);
        let logs: Vec<f64> = rows.map(|(e, _)| log_weight(finite_logit(*e), arm, odds)).collect();
        is_reliable(khat(&logs), logs.len())
    })
}

/// Pareto-smoothed balancing weights, divided by their arm's mean; nothing when they cannot be had.
pub(crate) fn balancing(e: &[f64], t: &[u8], treated: f64) -> Option<Vec<f64>> {
    let logits: Vec<f64> = e.iter().map(|e| finite_logit(*e)).collect();
    let mut w = vec![1.0; t.len()];
    let scheme = Weighting::SoftParetoNorm(SoftParetoOptions::default());
    let done = Weigher::new(scheme, Pooling::Pooled, 1.0).and_then(|mut g| g.forward(&logits, t, treated, &mut w));
    done.ok().map(|_| w)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_net_is_surer_than_sure() {
        for logit in [40.0, 1000.0, f32::MAX] {
            assert!(propensity(logit) < 1.0 && propensity(-logit) > 0.0, "{logit}");
        }
        assert!((propensity(0.0) - 0.5).abs() < 1e-15);
    }
}
