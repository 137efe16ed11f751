//! The search against brute force.

#![allow(clippy::unwrap_used)]

use paretau_core::{Dense, Rng, Seed};

use super::*;

fn problem(rng: &mut Rng, n: usize, p: usize, m: usize, levels: usize) -> (Features, Vec<Vec<f64>>) {
    let values = (0..n * p).map(|_| if levels > 0 { rng.below(levels) as f64 } else { rng.normal() }).collect();
    let gains = (0..m).map(|_| (0..n).map(|_| rng.normal() - 0.1).collect()).collect();
    (Features::Dense(Dense::new(n, p, values).unwrap()), gains)
}

/// The most that a tree of this depth can gain, by trying every tree.
fn brute_force(x: &Features, gains: &[Vec<f64>], rows: &[usize], depth: usize, min_leaf: usize) -> f64 {
    let sum = |a: &Vec<f64>| rows.iter().map(|&i| a[i]).sum::<f64>();
    let mut best = gains.iter().map(sum).fold(0.0, f64::max);
    if depth == 0 {
        return best;
    }
    let Features::Dense(x_dense) = x else { unreachable!() };
    for j in 0..x.n_cols() {
        for &at in rows {
            let cut = x_dense.get(at, j);
            let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&i| x_dense.get(i, j) <= cut);
            if left.len() < min_leaf || right.len() < min_leaf {
                continue;
            }
            let of = |side: &[usize]| brute_force(x, gains, side, depth - 1, min_leaf);
            best = best.max(of(&left) + of(&right));
        }
    }
    best
}

fn value(tree: &PolicyTree, x: &Features, gains: &[Vec<f64>], rows: &[usize]) -> f64 {
    let arms = tree.arms(x, rows);
    rows.iter().zip(&arms).map(|(&i, &arm)| if arm == 0 { 0.0 } else { gains[arm - 1][i] }).sum()
}

#[test]
fn equals_exhaustive_search() {
    let mut rng = Seed(1).rng();
    for case in 0..120 {
        let depth = case % 4;
        let (n, p, m) = (if depth == 3 { 9 } else { 16 + rng.below(10) }, 1 + rng.below(3), 1 + rng.below(2));
        let levels = [0, 2, 4][rng.below(3)];
        let min_leaf = 1 + rng.below(3);
        let (x, gains) = problem(&mut rng, n, p, m, levels);
        let rows: Vec<usize> = (0..n).filter(|i| i % 7 != 3).collect();
        let task = PolicyTask { x: &x, gains: &gains, weight: None };
        let tree = policy_tree(&task, &rows, &PolicyOptions { depth, min_leaf, budget: None }).unwrap();
        let expected = brute_force(&x, &gains, &rows, depth, min_leaf);
        let found = value(&tree, &x, &gains, &rows);
        assert!((found - expected).abs() < 1e-9, "case {case}, depth {depth}: {found} against {expected}");
    }
}

#[test]
fn a_budget_is_respected_and_used() {
    let mut rng = Seed(2).rng();
    for case in 0..60 {
        let (x, gains) = problem(&mut rng, 80, 3, 1 + case % 2, 0);
        let weight: Vec<f64> = (0..80).map(|_| 0.5 + rng.uniform()).collect();
        let total: f64 = weight.iter().sum();
        let rows: Vec<usize> = (0..80).collect();
        let task = PolicyTask { x: &x, gains: &gains, weight: Some(&weight) };
        let weighted: Vec<Vec<f64>> =
            gains.iter().map(|g| g.iter().zip(&weight).map(|(g, w)| g * w).collect()).collect();
        let mut before = -1.0;
        for budget in [0.0, 0.1, 0.3, 0.6, 1.0] {
            let options = PolicyOptions { depth: 2, min_leaf: 1, budget: Some(budget) };
            let tree = policy_tree(&task, &rows, &options).unwrap();
            let arms = tree.arms(&x, &rows);
            let treated: f64 = rows.iter().filter(|&&i| arms[i] > 0).map(|&i| weight[i]).sum();
            assert!(treated <= budget * total + 1e-9, "{treated} of {total} at {budget}");
            let gain = value(&tree, &x, &weighted, &rows);
            assert!(gain >= 0.0 && (budget > 0.0 || gain == 0.0));
            // More money never buys much less; the search under a budget is not exhaustive.
            assert!(gain >= 0.85 * before, "{gain} at {budget} after {before}");
            before = gain;
        }
    }
}

#[test]
fn quantiles_stand_in_for_many_values_and_bad_input_is_refused() {
    let n = 5000;
    let mut rng = Seed(3).rng();
    let values: Vec<f64> = (0..n * 2).map(|_| rng.normal()).collect();
    let x = Features::Dense(Dense::new(n, 2, values).unwrap());
    let Features::Dense(dense) = &x else { unreachable!() };
    let gains = vec![
        (0..n).map(|i| if dense.get(i, 0) > 0.5 && dense.get(i, 1) <= 0.0 { 1.0 } else { -1.0 }).collect::<Vec<_>>(),
    ];
    let rows: Vec<usize> = (0..n).collect();
    let task = PolicyTask { x: &x, gains: &gains, weight: None };
    let options = PolicyOptions { depth: 2, min_leaf: 1, budget: None };
    let tree = policy_tree(&task, &rows, &options).unwrap();
    let best: f64 = gains[0].iter().filter(|g| **g > 0.0).sum();
    assert!(value(&tree, &x, &gains, &rows) > 0.97 * best);
    for wrong in [PolicyOptions { depth: 4, ..options }, PolicyOptions { budget: Some(1.5), ..options }] {
        assert!(policy_tree(&task, &rows, &wrong).is_err());
    }
    let nan = vec![vec![f64::NAN; n]];
    assert!(policy_tree(&PolicyTask { gains: &nan, ..task }, &rows, &options).is_err());
}
