//! Which columns the trees split on, near the root most of all.

use paretau_core::{Column, Importance};

use crate::forest::Forest;

/// Deepest level that counts.
const MAX_DEPTH: usize = 4;

/// Each column's share of the splits at depths 1 to 4, a depth `d` counting `d⁻²`; shares sum to 1.
pub(crate) fn importance(forest: &Forest, columns: &[Column]) -> Vec<Importance> {
    let mut shares = vec![0.0; forest.bins.n_cols()];
    let mut total = 0.0;
    let mut level: Vec<u32> = forest.roots.clone();
    for depth in 1..=MAX_DEPTH {
        let mut counts = vec![0_usize; shares.len()];
        let mut next = Vec::with_capacity(2 * level.len());
        for (at, node) in level.iter().map(|&at| (at, forest.nodes[at as usize])).filter(|(_, node)| !node.is_leaf()) {
            counts[forest.column(at)] += 1;
            next.extend([node.index(), node.index() + 1]);
        }
        let splits: usize = counts.iter().sum();
        if splits == 0 {
            break;
        }
        let weight = (depth as f64).powi(-2);
        total += weight;
        shares.iter_mut().zip(&counts).for_each(|(s, &c)| *s += weight * c as f64 / splits as f64);
        level = next;
    }
    shares
        .iter()
        .zip(columns)
        .map(|(s, c)| Importance { name: c.name.clone(), share: if total > 0.0 { s / total } else { 0.0 } })
        .collect()
}
