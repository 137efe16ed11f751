//! The forests: which relabelling goes with which split rule and which leaf. The only file that pairs them.
//!
//! | forest | relabel | split | leaf |
//! |---|---|---|---|
//! | regression, probability | outcome about its mean | least squares | mean |
//! | causal | gradient | treatment-aware least squares (or plain) | moments |
//! | causal DML, `mse` | residuals about their means | exact child criterion | moments |
//! | causal DML, `het` | gradient | balanced least squares | moments |
//! | several arms | gradient per contrast | treatment-aware in every contrast | moments |

use paretau_core::Result;

use crate::forest::{Forest, GrowContext, InBag, fit};
use crate::grow::TreeRules;
use crate::leaf::{Mean, Moments};
use crate::relabel::{Arms, Gradient, Outcome, Residuals};
use crate::split::{ArmsRule, Balance, Exact, Heterogeneity, Treatment, Variance};

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
pub(crate) fn regression(context: &GrowContext<'_>, split: Variance, y: &[f64]) -> Result<(Forest, InBag)> {
    let rules =
        TreeRules { relabel: Outcome { y, weight: context.weight }, split, leaf: Mean { y, weight: context.weight } };
    match context.weight {
        None => fit::<_, _, _, 2>(context, &rules),
        Some(_) => fit::<_, _, _, 3>(context, &rules),
    }
}

/// Local slope of outcome residuals on treatment residuals, `zy[row] = [treatment, outcome]`. Nodes whose treatment
/// varies less than `min_variance` are not split.
pub(crate) fn causal(
    context: &GrowContext<'_>,
    rule: CausalRule,
    zy: &[[f64; 2]],
    min_variance: f64,
) -> Result<(Forest, InBag)> {
    let weight = context.weight;
    let gradient = Gradient { zy, weight, min_variance };
    let leaf = Moments { residual: zy, weight };
    match (rule, weight) {
        (CausalRule::Treatment(split), None) => {
            let rules = TreeRules { relabel: gradient, split, leaf };
            fit::<_, _, _, 4>(context, &rules)
        }
        (CausalRule::Treatment(split), Some(_)) => {
            let rules = TreeRules { relabel: gradient, split, leaf };
            fit::<_, _, _, 5>(context, &rules)
        }
        (CausalRule::Plain(split), _) => {
            let rules = TreeRules { relabel: gradient, split, leaf };
            fit::<_, _, _, 3>(context, &rules)
        }
        (CausalRule::Exact(balance), _) => {
            let relabel = Residuals { zy, weight, min_variance };
            let rules = TreeRules { relabel, split: Exact(balance), leaf };
            fit(context, &rules)
        }
        (CausalRule::Heterogeneity(balance), _) => {
            let rules = TreeRules { relabel: gradient, split: Heterogeneity(balance), leaf };
            fit(context, &rules)
        }
    }
}

/// Local slopes for several contrasts.
pub(crate) fn arms(context: &GrowContext<'_>, split: ArmsRule, arms: Arms<'_>) -> Result<(Forest, InBag)> {
    let rules = TreeRules { relabel: arms, split, leaf: Moments { residual: arms, weight: context.weight } };
    // Lanes are counted at compile time; a few sizes serve all numbers of arms.
    match arms.dim {
        ..=2 => fit::<_, _, _, 10>(context, &rules),
        3 => fit::<_, _, _, 14>(context, &rules),
        _ => fit::<_, _, _, 30>(context, &rules),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::grow::{Candidates, Growth};
    use crate::input::binned_rows;
    use crate::sample::{Sampler, Sampling, TreeSample, Units};
    use paretau_core::{Column, Dense, Features, FitContext, Seed};

    /// One tree by each causal rule, on given residuals.
    fn trees(x: &Features, zy: &[[f64; 2]], sampler: &Sampler) -> Vec<Forest> {
        let balance = Balance { min_rows: 5.0, min_share: 0.05, honest: true };
        let treatment = Treatment { min_node_size: 5, alpha: 0.05, imbalance_penalty: 0.0 };
        let plain = Variance { min_rows: 1.0, alpha: 0.05, imbalance_penalty: 0.0 };
        let growth =
            Growth { candidates: Candidates::Poisson(2.0), min_node_size: 5, max_depth: usize::MAX, halfway: false };
        let binned = binned_rows(x, &Column::numbered(3), 256, false).unwrap();
        let ctx = FitContext::silent(Seed(0));
        let context = GrowContext { binned: &binned, growth, sampler, n_trees: 1, weight: None, ctx: &ctx };
        [
            CausalRule::Treatment(treatment),
            CausalRule::Plain(plain),
            CausalRule::Exact(balance),
            CausalRule::Heterogeneity(balance),
        ]
        .map(|rule| causal(&context, rule, zy, 0.0).unwrap().0)
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
        let mut drawn = TreeSample::default();
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
