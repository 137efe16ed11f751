//! How rows are assigned to folds: within arms, whole groups together, and no more folds than the data allow.

use std::collections::BTreeSet;

use paretau_core::{Design, Error, Result, Seed};
pub use paretau_core::{Fold, folds};

/// The largest number of folds up to `wanted` that leaves every stratum (or, with groups, every fold a group) in each
/// part; `None` when not even two are possible.
pub fn fold_count(strata: &[u8], groups: Option<&[u32]>, wanted: usize) -> Option<usize> {
    let limit = if let Some(groups) = groups {
        groups.iter().collect::<BTreeSet<_>>().len()
    } else {
        let mut counts = [0_usize; 256];
        strata.iter().for_each(|&s| counts[usize::from(s)] += 1);
        counts.into_iter().filter(|c| *c > 0).min().unwrap_or(0)
    };
    let k = wanted.min(limit);
    (k >= 2).then_some(k)
}

/// Folds of a design, within arms, whole groups together; fewer than asked for when an arm is small.
pub fn design_folds(design: &Design, wanted: usize, seed: Seed) -> Result<Vec<Fold>> {
    folds_up_to(design.t(), design.groups(), wanted, seed)
}

/// Folds of rows by their arms and groups alone.
pub fn folds_up_to(t: &[u8], groups: Option<&[u32]>, wanted: usize, seed: Seed) -> Result<Vec<Fold>> {
    let Some(k) = fold_count(t, groups, wanted) else {
        return Err(Error::unfit(
            "cross-fitting needs at least two rows of each arm (two groups, when rows are grouped)",
        ));
    };
    folds(t, groups, k, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_strata_and_few_groups_limit_folds() {
        assert_eq!(fold_count(&[0, 0, 0, 1, 1, 1, 1], None, 5), Some(3));
        assert_eq!(fold_count(&[0, 0, 1], None, 5), None);
        assert_eq!(fold_count(&[0, 0, 1, 1], Some(&[1, 1, 2, 3]), 5), Some(3));
        assert_eq!(fold_count(&[0, 1], Some(&[1, 1]), 5), None);
    }
}
