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
            fit::<_, _, _, 4>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
        }
        (CausalRule::Treatment(split), Some(_)) => {
            let pieces = Pieces { relabel: gradient, split, leaf };
            fit::<_, _, _, 5>(k.ground, &pieces, &k.growth, k.sampler, k.n_trees, k.ctx)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::grow::Candidates;
    use crate::input::ground;
    use crate::sample::{Drawn, Sampling, Units};
    use paretau_core::{Column, Dense, Features, Seed};

    /// One tree by each causal rule, on given residuals.
    fn trees(x: &Features, zy: &[[f64; 2]], sampler: &Sampler) -> Vec<Forest> {
        let balance = Balance { min_rows: 5.0, min_share: 0.05, honest: true };
        let treatment = Treatment { min_node_size: 5, alpha: 0.05, imbalance_penalty: 0.0 };
        let plain = Variance { min_rows: 1.0, alpha: 0.05, imbalance_penalty: 0.0 };
        let growth =
            Growth { candidates: Candidates::Poisson(2.0), min_node_size: 5, max_depth: usize::MAX, halfway: false };
        let ground = ground(x, &Column::numbered(3), 256, false).unwrap();
        let ctx = FitContext::silent(Seed(0));
        let kitchen = Kitchen { ground: &ground, growth, sampler, n_trees: 1, weight: None, ctx: &ctx };
        [
            CausalRule::Treatment(treatment),
            CausalRule::Plain(plain),
            CausalRule::Exact(balance),
            CausalRule::Heterogeneity(balance),
        ]
        .map(|rule| causal(&kitchen, rule, zy, 0.0).unwrap().0)
        .into()
    }

    #[test]
    fn honest_rows_never_choose_a_split() {
        let n = 400;
        let mut rng = Seed(5).rng();
        let values = (0..3 * n).map(|_| rng.uniform()).collect();
        let x = Features::Dense(Dense::new(n, 3, values).unwrap());
        let zy: Vec<[f64; 2]> = (0..n).map(|_| [rng.normal(), rng.normal()]).collect();
        let sampling = Sampling { fraction: 0.5, bag: 2, honest: Some(0.5) };
        let sampler = Sampler { sampling, units: Units::Rows(n), seed: Seed(6) };
        let mut drawn = Drawn::default();
        sampler.draw(0, &mut drawn, &mut vec![0; n.div_ceil(64)]);
        let changed = |rows: &[u32]| {
            let mut out = zy.clone();
            rows.iter().for_each(|&i| out[i as usize] = [f64::from(i), -3.0 * f64::from(i % 7)]);
            out
        };
        let base = trees(&x, &zy, &sampler);
        let other_honest = trees(&x, &changed(&drawn.honest), &sampler);
        let other_growing = trees(&x, &changed(&drawn.grow), &sampler);
        for ((base, honest), growing) in base.iter().zip(&other_honest).zip(&other_growing) {
            assert!(base.nodes.len() > 5);
            assert_eq!(base.nodes, honest.nodes);
            assert_ne!(base.leaves, honest.leaves);
            assert_ne!(base.nodes, growing.nodes);
        }
    }
}
