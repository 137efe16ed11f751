//! What averages over all blocks need of each row.

use paretau_core::{OutcomeKind, Result};
use paretau_nuisance::{Nuisance, Observed, OverlapReport, WeightMap};

use crate::about::{Averages, Population};
use crate::assessment::weights_and_overlap;
use crate::averages;

/// Rows at risk that a model file names.
pub(super) const MOST_AT_RISK: usize = 100;

/// Rows with nuisances by models of their own block that did not see them.
#[derive(Debug)]
pub(super) struct BlockRows {
    pub(super) t: Vec<u8>,
    pub(super) y: Vec<f64>,
    pub(super) weight: Option<Vec<f64>>,
    pub(super) groups: Option<Vec<u32>>,
    pub(super) nuisance: Nuisance,
}

impl BlockRows {
    /// The rows whose propensity is nearest to 0 or 1.
    pub(super) fn most_extreme(&self) -> Vec<(f64, usize)> {
        let mut rows: Vec<(f64, usize)> =
            self.nuisance.e.iter().enumerate().map(|(i, e)| (e.min(1.0 - e), i)).collect();
        rows.sort_unstable_by(order);
        rows.truncate(MOST_AT_RISK);
        rows
    }

    fn observed(&self) -> Observed<'_> {
        Observed { t: &self.t, y: &self.y, weight: self.weight.as_deref(), groups: self.groups.as_deref() }
    }
}

fn order(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// The rows of all blocks.
#[derive(Debug, Default)]
pub(super) struct AllRows {
    all: Option<BlockRows>,
    /// How many groups there are, so that those of different blocks get different numbers.
    n_groups: u32,
    extreme: Vec<(f64, usize)>,
}

/// What the rows of all blocks say together.
pub(super) struct Together {
    pub(super) averages: Averages,
    pub(super) overlap: OverlapReport,
    pub(super) map: WeightMap,
}

impl AllRows {
    /// How many there are.
    pub(super) fn n_rows(&self) -> usize {
        self.all.as_ref().map_or(0, |all| all.t.len())
    }

    /// Adds the rows of the next block.
    pub(super) fn add(&mut self, mut rows: BlockRows, extreme: Vec<(f64, usize)>) {
        self.extreme.extend(extreme);
        self.extreme.sort_unstable_by(order);
        self.extreme.truncate(MOST_AT_RISK);
        if let Some(groups) = &mut rows.groups {
            let mut distinct = groups.clone();
            distinct.sort_unstable();
            distinct.dedup();
            // Numbered anew and without holes, so that those of all blocks together are no more than there are groups.
            let place = |g: u32| distinct.binary_search(&g).unwrap_or_default() as u32;
            groups.iter_mut().for_each(|g| *g = self.n_groups + place(*g));
            self.n_groups += distinct.len() as u32;
        }
        let Some(all) = &mut self.all else {
            self.all = Some(rows);
            return;
        };
        debug_assert!(all.weight.is_some() == rows.weight.is_some() && all.groups.is_some() == rows.groups.is_some());
        all.t.append(&mut rows.t);
        all.y.append(&mut rows.y);
        if let (Some(all), Some(more)) = (&mut all.weight, &mut rows.weight) {
            all.append(more);
        }
        if let (Some(all), Some(more)) = (&mut all.groups, &mut rows.groups) {
            all.append(more);
        }
        let (all, more) = (&mut all.nuisance, &mut rows.nuisance);
        for (all, more) in [
            (&mut all.m, &mut more.m),
            (&mut all.e, &mut more.e),
            (&mut all.mu0, &mut more.mu0),
            (&mut all.mu1, &mut more.mu1),
        ] {
            all.append(more);
        }
    }

    /// Weights with one tail per arm over all rows, and from them the averages.
    pub(super) fn finish(self, outcome: OutcomeKind, asked: Option<Population>) -> Result<Together> {
        let Some(all) = self.all else {
            return Err(paretau_core::Error::internal("blocks of rows", "there are none"));
        };
        let rows = all.observed();
        let (weights, mut overlap) = weights_and_overlap(&all.nuisance.e, (rows.t, rows.weight))?;
        let at_risk = overlap.rows_at_risk.len();
        overlap.rows_at_risk = self.extreme.into_iter().map(|(_, row)| row).take(at_risk).collect();
        let averages = averages::of_rows(&rows, (&all.nuisance, &weights.smooth, &overlap), outcome, asked)?;
        Ok(Together { averages, overlap, map: weights.map })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;
    use paretau_nuisance::{Estimand, Weights, average_effect};

    use super::*;

    /// Rows of one block whose groups are numbered from `first` on.
    fn block(n: usize, first: u32, seed: u64) -> BlockRows {
        let mut rng = Seed(seed).rng();
        let e: Vec<f64> = (0..n).map(|_| 0.1 + 0.8 * rng.uniform()).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let y = t.iter().map(|t| f64::from(*t) + rng.normal()).collect();
        let groups = (0..n as u32).map(|i| first + 3 * (i / 4)).collect();
        let nuisance = Nuisance::from_arms(vec![0.1; n], vec![0.9; n], e);
        BlockRows { t, y, weight: None, groups: Some(groups), nuisance }
    }

    #[test]
    fn averages_are_those_of_all_rows_at_once() {
        let blocks = || [block(400, 7, 1), block(300, 0, 2), block(500, 100, 3)];
        let (mut all, mut whole) = (AllRows::default(), block(0, 0, 0));
        for (k, own) in blocks().into_iter().enumerate() {
            whole.t.extend(&own.t);
            whole.y.extend(&own.y);
            let groups = own.groups.clone().unwrap();
            whole.groups.as_mut().unwrap().extend(groups.iter().map(|g| g + 10_000 * k as u32));
            whole.nuisance.e.extend(&own.nuisance.e);
            whole.nuisance.m.extend(&own.nuisance.m);
            whole.nuisance.mu0.extend(&own.nuisance.mu0);
            whole.nuisance.mu1.extend(&own.nuisance.mu1);
            let extreme = own.most_extreme();
            all.add(own, extreme);
        }
        assert_eq!(all.n_groups, 300);
        let found = all.finish(OutcomeKind::Continuous, None).unwrap();
        let weights = Weights::smoothed_inverse(&whole.nuisance.e, &whole.t).unwrap();
        let expected =
            average_effect(&whole.observed(), &whole.nuisance, &weights.smooth, Estimand::All).unwrap().score;
        let ate = found.averages.ate.unwrap();
        assert_eq!((ate.value, Some(ate.se)), (expected.value, expected.se));
        assert_eq!(found.map, weights.map);
        assert_eq!(found.overlap.arms.iter().map(|arm| arm.n).sum::<usize>(), 1200);
    }
}
