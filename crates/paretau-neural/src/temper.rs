//! How much the weights count: the share of the weighted nets in the answer, chosen on held-out rows without the truth.
//!
//! Every member holds out its own validation rows, so all rows that are held out by someone count. Their loss under
//! Pareto-smoothed balancing weights stands for the loss over both arms' outcomes; with `r` the unweighted nets' residual and
//! `g` what the weighted nets add, the share `a` that makes `sum w (r - a g)^2` least is a ratio of sums. As far as the rows
//! leave it open (its standard error), it is drawn towards what nets of equal merit deserve: averages count estimates by their
//! precision, and weighted nets have learnt from `ess` rows where the others had all of them, so their share is `ess / (1 + ess)`:
//! one half where weights are equal, little where few rows carry them. Where k-hat shows that the weights' tail cannot be relied
//! upon, smoothed or not, nets that were trained by them have no share.

use paretau_core::{Design, Result, Want};
use paretau_kernels::ess::ess;

use crate::fitted::{Mixture, predict};
use crate::member::Member;
use crate::splits::TrainValid;
use crate::weigh::{FEW, balancing, propensities, reliable};

/// The share of the weighted members and its standard error, from all held-out rows.
pub(crate) fn weighted_share(
    design: &Design,
    (weighted, plain): (&[Member], &[Member]),
    parts: &[TrainValid],
) -> Result<(f64, f64)> {
    let (mut cross, mut square, mut noise) = (0.0, 0.0, 0.0);
    let (mut effective, mut counted) = (0.0, 0.0);
    let (mut all_e, mut all_t) = (Vec::new(), Vec::new());
    for ((weighted, plain), part) in weighted.iter().zip(plain).zip(parts) {
        let rows = &part.valid;
        let t: Vec<u8> = rows.iter().map(|&i| design.t()[i]).collect();
        if rows.len() < FEW || !(t.contains(&0) && t.contains(&1)) {
            continue;
        }
        let alone = |member: &Member| {
            let alone = Mixture::new(vec![member.predictor.clone()], &[1.0]);
            predict(&[alone], design.x(), rows, Want::Everything)
        };
        let (with, without) = (alone(weighted)?, alone(plain)?);
        let own_arm = |e: &paretau_core::Effects, k: usize| if t[k] == 1 { e.mu1[k] } else { e.mu0[k] };
        // The separate net's propensity: the weighted encoders are pulled by the weights themselves, towards equal ones.
        let Some(e) = propensities(design, rows, without.e.as_deref()) else { continue };
        let Some(w) = balancing(&e, &t, share_treated(design, part)) else { continue };
        all_e.extend_from_slice(&e);
        all_t.extend_from_slice(&t);
        effective += ess(&w).unwrap_or(0.0);
        counted += w.len() as f64;
        // In units of the outcome's spread, so that squares of huge outcomes stay numbers.
        let unit = plain.predictor.info.scale.sd.max(f64::MIN_POSITIVE);
        for (k, &i) in rows.iter().enumerate() {
            let s = w[k] * design.weight().map_or(1.0, |s| s[i]);
            let r = (design.y()[i] - own_arm(&without, k)) / unit;
            let g = (own_arm(&with, k) - own_arm(&without, k)) / unit;
            cross += s * r * g;
            square += s * g * g;
            noise += (s * r * g).powi(2);
        }
    }
    let (best, variance) = (cross / square, noise / (square * square));
    let treated = share_treated(design, &parts[0]);
    if !all_e.is_empty() && reliable(&all_e, &all_t, treated).contains(&false) {
        return Ok((0.0, f64::INFINITY));
    }
    let ess = if counted > 0.0 { effective / counted } else { 1.0 };
    let prior = ess / (1.0 + ess);
    // No rows, or nets that agree: nothing to choose by.
    if !(square > 0.0 && best.is_finite() && variance.is_finite()) {
        return Ok((prior, f64::INFINITY));
    }
    // Before any row is seen, the share is expected to lie about as far from its prior as that from zero.
    let pull = variance / (variance + prior * prior);
    Ok(((best + pull * (prior - best)).clamp(0.0, 1.0), variance.sqrt()))
}

fn share_treated(design: &Design, part: &TrainValid) -> f64 {
    part.train.iter().filter(|&&i| design.t()[i] == 1).count() as f64 / part.train.len().max(1) as f64
}
