//! How many folds the data can bear.

use std::collections::BTreeSet;

/// The largest number of folds up to `wanted` that leaves every stratum (or, with groups, every fold a group) in each
/// part; `None` when not even two are possible.
pub(crate) fn usable_folds(strata: &[u8], groups: Option<&[u32]>, wanted: usize) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_strata_and_few_groups_limit_folds() {
        assert_eq!(usable_folds(&[0, 0, 0, 1, 1, 1, 1], None, 5), Some(3));
        assert_eq!(usable_folds(&[0, 0, 1], None, 5), None);
        assert_eq!(usable_folds(&[0, 0, 1, 1], Some(&[1, 1, 2, 3]), 5), Some(3));
        assert_eq!(usable_folds(&[0, 1], Some(&[1, 1]), 5), None);
    }
}
