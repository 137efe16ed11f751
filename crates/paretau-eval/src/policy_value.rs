//! What a policy is worth, on rows that did not choose it.

use paretau_core::{Fold, Result};
use paretau_nuisance::Score;
use paretau_nuisance::inference::clustered_mean;
use serde::{Deserialize, Serialize};

use crate::policy_tree::{PolicyOptions, PolicyTask, policy_tree};

/// What a policy gains, per row on average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyValue {
    /// Share of the rows' weight that it treats.
    pub share_treated: f64,
    /// Gain over treating nobody, costs subtracted.
    pub over_none: Score,
    /// Gain over giving everyone the best single arm (or nobody any), which is chosen on rows other than those it is
    /// measured on.
    pub over_best_constant: Score,
    /// Gain over treating everyone with the first treated arm.
    pub over_all: Score,
}

/// Decisions of trees that did not see the rows they decide about.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossFitted {
    /// The rows that are decided about, ascending.
    pub rows: Vec<usize>,
    /// Arm of each of these rows by a tree that was chosen on earlier blocks.
    pub arms: Vec<usize>,
    /// The best single arm for each of these rows, chosen on the same blocks.
    pub constant: Vec<usize>,
}

/// Blocks of rows that only choose the first tree.
const FIRST_BLOCKS: usize = 2;

/// Deals with the folds' held-out rows as blocks in their order: the tree that decides about a block is chosen on all
/// blocks before it. The gains are then a martingale, so that their standard error is right even where nothing is to be
/// gained. Trees chosen on all *other* folds share rows with the blocks that they are valued beside: measured on noise, such
/// a value's 95 % interval excluded 0 in 12 % of 200 data sets.
pub fn cross_fitted_tree(task: &PolicyTask<'_>, folds: &[Fold], options: &PolicyOptions) -> Result<CrossFitted> {
    let mut decided: Vec<(usize, usize, usize)> = vec![];
    let first = FIRST_BLOCKS.min(folds.len().saturating_sub(1));
    for k in first..folds.len() {
        let mut before: Vec<usize> = folds[..k].iter().flat_map(|fold| fold.held_out.iter().copied()).collect();
        before.sort_unstable();
        let tree = policy_tree(task, &before, options)?;
        let best = policy_tree(task, &before, &PolicyOptions { depth: 0, ..*options })?;
        let own = &folds[k].held_out;
        let both = tree.arms(task.x, own).into_iter().zip(best.arms(task.x, own));
        decided.extend(own.iter().zip(both).map(|(&i, (arm, constant))| (i, arm, constant)));
    }
    decided.sort_unstable();
    Ok(CrossFitted {
        rows: decided.iter().map(|d| d.0).collect(),
        arms: decided.iter().map(|d| d.1).collect(),
        constant: decided.iter().map(|d| d.2).collect(),
    })
}

/// What giving each of `rows` its arm gains, by the rows' gains of each treated arm.
pub fn policy_value(
    task: &PolicyTask<'_>,
    groups: Option<&[u32]>,
    rows: &[usize],
    (arms, constant): (&[usize], &[usize]),
) -> PolicyValue {
    let gain = |i: usize, arm: usize| if arm == 0 { 0.0 } else { task.gains[arm - 1][i] };
    let weight: Option<Vec<f64>> = task.weight.map(|w| rows.iter().map(|&i| w[i]).collect());
    let groups: Option<Vec<u32>> = groups.map(|g| rows.iter().map(|&i| g[i]).collect());
    let mean = |value: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = (0..rows.len()).map(value).collect();
        clustered_mean(&values, weight.as_deref(), groups.as_deref())
    };
    PolicyValue {
        share_treated: mean(&|k| f64::from(u8::from(arms[k] > 0))).value,
        over_none: mean(&|k| gain(rows[k], arms[k])),
        over_best_constant: mean(&|k| gain(rows[k], arms[k]) - gain(rows[k], constant[k])),
        over_all: mean(&|k| gain(rows[k], arms[k]) - gain(rows[k], 1)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Dense, Features, Seed, folds};

    use super::*;

    #[test]
    fn by_hand() {
        let x = Features::Dense(Dense::new(4, 1, vec![0.0, 1.0, 2.0, 3.0]).unwrap());
        let gains = vec![vec![1.0, -1.0, 3.0, -3.0]];
        let task = PolicyTask { x: &x, gains: &gains, weight: None };
        let value = policy_value(&task, None, &[0, 1, 2, 3], (&[1, 0, 1, 0], &[1; 4]));
        assert_eq!((value.share_treated, value.over_none.value), (0.5, 1.0));
        assert_eq!((value.over_best_constant.value, value.over_all.value), (1.0, 1.0));
    }

    /// On pure noise a tree chosen and valued on the same rows seems to gain; the cross-fitted value does not.
    #[test]
    fn no_gain_is_found_on_noise() {
        let (sets, n) = (200, 300);
        let (mut false_alarms, mut flattered) = (0, 0);
        for set in 0..sets {
            let mut rng = Seed(500 + set).rng();
            let x = Features::Dense(Dense::new(n, 4, (0..4 * n).map(|_| rng.normal()).collect()).unwrap());
            let gains = vec![(0..n).map(|_| 2.0 * rng.normal()).collect::<Vec<_>>()];
            let task = PolicyTask { x: &x, gains: &gains, weight: None };
            let options = PolicyOptions { depth: 2, min_leaf: 10, budget: None };
            let parts = folds(&vec![0; n], None, 6, Seed(set)).unwrap();
            let fitted = cross_fitted_tree(&task, &parts, &options).unwrap();
            let excludes = |score: Score| score.interval(0.95).is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0);
            let CrossFitted { rows, arms, constant } = fitted;
            let value = policy_value(&task, None, &rows, (&arms, &constant));
            false_alarms += i32::from(excludes(value.over_best_constant));
            let rows: Vec<usize> = (0..n).collect();
            let same = policy_tree(&task, &rows, &options).unwrap().arms(&x, &rows);
            flattered += i32::from(excludes(policy_value(&task, None, &rows, (&same, &vec![0; n])).over_none));
        }
        assert!(false_alarms <= 18, "{false_alarms} of {sets}");
        assert!(flattered > 150, "the test has no teeth: {flattered}");
    }
}
