//! Splitting rows, always within arms, so that no part lacks one; groups stay together.

use crate::{Error, Result, Seed};

/// Rows for training, validation and testing, each ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows to choose by.
    pub valid: Vec<usize>,
    /// Rows to score on.
    pub test: Vec<usize>,
}

impl Split {
    /// A random split, stratified by arm, with the given shares of validation and test rows.
    pub fn random(t: &[u8], valid_share: f64, test_share: f64, seed: Seed) -> Result<Self> {
        if !(0.0..1.0).contains(&valid_share) || !(0.0..1.0).contains(&test_share) || valid_share + test_share >= 1.0 {
            return Err(Error::BadParameter {
                owner: "split".into(),
                name: "shares".into(),
                value: format!("{valid_share} and {test_share}"),
                expected: "two shares of at least 0 that leave rows to train on".into(),
            });
        }
        let mut split = Self { train: vec![], valid: vec![], test: vec![] };
        for (arm, mut rows) in rows_by_arm(t).into_iter().enumerate() {
            seed.named("split").indexed(arm as u64).rng().shuffle(&mut rows);
            let n = rows.len() as f64;
            let n_test = (n * test_share).round() as usize;
            let n_valid = ((n * valid_share).round() as usize).min(rows.len() - n_test);
            split.test.extend_from_slice(&rows[..n_test]);
            split.valid.extend_from_slice(&rows[n_test..n_test + n_valid]);
            split.train.extend_from_slice(&rows[n_test + n_valid..]);
        }
        [&mut split.train, &mut split.valid, &mut split.test].into_iter().for_each(|part| part.sort_unstable());
        Ok(split)
    }
}

/// One fold: rows held out and rows to learn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// Rows to learn from, ascending.
    pub train: Vec<usize>,
    /// Rows held out, ascending.
    pub held_out: Vec<usize>,
}

/// `k` folds, stratified by arm; with groups, whole groups are dealt out instead.
pub fn folds(t: &[u8], groups: Option<&[u32]>, k: usize, seed: Seed) -> Result<Vec<Fold>> {
    let mut fold_of = vec![0_usize; t.len()];
    if let Some(groups) = groups {
        let mut names: Vec<u32> = groups.to_vec();
        names.sort_unstable();
        names.dedup();
        if names.len() < k {
            return Err(Error::unfit(format!("{k} folds need at least {k} groups, there are {}", names.len())));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        seed.named("folds").rng().shuffle(&mut order);
        let mut fold_of_name = vec![0; names.len()];
        order.iter().enumerate().for_each(|(place, &name)| fold_of_name[name] = place % k);
        for (fold, group) in fold_of.iter_mut().zip(groups) {
            *fold = names.binary_search(group).map_or(0, |at| fold_of_name[at]);
        }
    } else {
        let mut dealt = 0;
        for (arm, mut rows) in rows_by_arm(t).into_iter().enumerate() {
            if !rows.is_empty() && rows.len() < k {
                return Err(Error::unfit(format!(
                    "{k} folds need at least {k} rows of each arm, arm {arm} has {}",
                    rows.len()
                )));
            }
            seed.named("folds").indexed(arm as u64).rng().shuffle(&mut rows);
            // Dealing goes on where the last arm stopped, so that fold sizes differ by one row at most.
            for row in rows {
                fold_of[row] = dealt % k;
                dealt += 1;
            }
        }
    }
    Ok((0..k)
        .map(|fold| {
            let (held_out, train) = (0..t.len()).partition(|&i| fold_of[i] == fold);
            Fold { train, held_out }
        })
        .collect())
}

fn rows_by_arm(t: &[u8]) -> Vec<Vec<usize>> {
    let n_arms = t.iter().max().map_or(0, |&m| usize::from(m) + 1);
    let mut rows = vec![vec![]; n_arms];
    t.iter().enumerate().for_each(|(i, &arm)| rows[usize::from(arm)].push(i));
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn split_covers_every_row_once_and_keeps_both_arms() {
        let t: Vec<u8> = (0..100).map(|i| u8::from(i % 5 == 0)).collect();
        let split = Split::random(&t, 0.2, 0.2, Seed(3)).unwrap();
        let mut all = [split.train.clone(), split.valid.clone(), split.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        for part in [&split.train, &split.valid, &split.test] {
            assert_eq!(part.iter().filter(|&&i| t[i] == 1).count() * 5, part.len());
        }
        assert!(Split::random(&t, 0.6, 0.5, Seed(3)).is_err());
    }

    #[test]
    fn folds_partition_rows_and_respect_groups() {
        let t: Vec<u8> = (0..50).map(|i| u8::from(i % 2 == 0)).collect();
        let plain = folds(&t, None, 5, Seed(1)).unwrap();
        assert_eq!(plain.iter().map(|f| f.held_out.len()).sum::<usize>(), 50);
        assert!(plain.iter().all(|f| f.held_out.iter().any(|&i| t[i] == 1) && f.held_out.iter().any(|&i| t[i] == 0)));
        let groups: Vec<u32> = (0..50).map(|i| i / 5).collect();
        for fold in folds(&t, Some(&groups), 3, Seed(1)).unwrap() {
            assert!(fold.held_out.iter().all(|&i| fold.train.iter().all(|&j| groups[i] != groups[j])));
        }
        assert!(folds(&t[..3], None, 5, Seed(1)).is_err());
    }
}
