//! The forests: which relabelling goes with which split rule and which leaf. The only file that pairs them.
//!
//! | forest | relabel | split | leaf |
//! |---|---|---|---|
//! | regression, probability | outcome about its mean | least squares | mean |
//! | causal | gradient | treatment-aware least squares (or plain) | moments |
//! | causal DML, `mse` | residuals about their means | exact child criterion | moments |
//! | causal DML, `het` | gradient | balanced least squares | moments |
//! | several arms | gradient a contrast | treatment-aware in every contrast | moments |

use paretau_core::{FitContext, Result};

use crate::forest::{Forest, Ground, InBag, fit};
use crate::grow::{Growth, Pieces};
use crate::leaf::{Mean, Moments};
use crate::relabel::{Arms, Gradient, Outcome, Residuals};
use crate::sample::Sampler;
use crate::split::{ArmsRule, Balance, Exact, Heterogeneity, Treatment, Variance};

/// What every recipe needs beside its pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kitchen<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) growth: Growth,
    pub(crate) sampler: &'a Sampler,
    pub(crate) n_trees: usize,
    pub(crate) weight: Option<&'a [f64]>,
    pub(crate) ctx: &'a FitContext<'a>,
}

/// How a causal forest splits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CausalRule {
    /// As grf with stabilised splits.
    Treatment(Treatment),
    /// As grf without.
    Plain(Variance),
    /// As EconML's `mse`.
    Exact(Balance),
    /// As EconML's `het`.
    Heterogeneity(Balance),
}

/// Mean of `y`.
pub(crate) fn regression(k: &Kitchen<'_>, split: Variance, y: &[f64]) -> Result<(Forest, InBag)> {
    let pieces = Pieces { relabel: Outcome { y, weight: k.weight }, split, leaf: Mean { y, weight: k.weight } };
    match k.weight {
        None => fit::<_, _, _, 2>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx),
        Some(_) => fit::<_, _, _, 3>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx),
    }
}

/// Local slope of outcome residuals on treatment residuals, `zy[row] = [treatment, outcome]`. Nodes whose treatment
/// varies less than `min_variance` are not split.
pub(crate) fn causal(k: &Kitchen<'_>, rule: CausalRule, zy: &[[f64; 2]], min_variance: f64) -> Result<(Forest, InBag)> {
    let weight = k.weight;
    let gradient = Gradient { zy, weight, min_variance };
    let leaf = Moments { residual: zy, weight };
    match (rule, weight) {
        (CausalRule::Treatment(split), None) => {
            let pieces = Pieces { relabel: gradient, split, leaf };
            fit::<_, _, _, 5>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
        (CausalRule::Treatment(split), Some(_)) => {
            let pieces = Pieces { relabel: gradient, split, leaf };
            fit::<_, _, _, 6>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
        (CausalRule::Plain(split), _) => {
            let pieces = Pieces { relabel: gradient, split, leaf };
            fit::<_, _, _, 3>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
        (CausalRule::Exact(balance), _) => {
            let relabel = Residuals { zy, weight, min_variance };
            let pieces = Pieces { relabel, split: Exact(balance), leaf };
            fit(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
        (CausalRule::Heterogeneity(balance), _) => {
            let pieces = Pieces { relabel: gradient, split: Heterogeneity(balance), leaf };
            fit(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
    }
}

/// Local slopes for several contrasts.
pub(crate) fn arms(k: &Kitchen<'_>, split: ArmsRule, arms: Arms<'_>) -> Result<(Forest, InBag)> {
    let pieces = Pieces { relabel: arms, split, leaf: Moments { residual: arms, weight: k.weight } };
    // Lanes are counted at compile time; a few sizes serve all numbers of arms.
    match arms.dim {
        ..=2 => fit::<_, _, _, 10>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx),
        3 => fit::<_, _, _, 14>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx),
        _ => fit::<_, _, _, 30>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx),
    }
}
