//! What averages over all blocks need of each row.

use paretau_core::{OutcomeKind, Result};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{Nuisance, Observed, OverlapOptions, OverlapReport, Rule, WeightMap, Weights, overlap_report};

use crate::about::{Averages, Population};
use crate::averages;

/// Rows at risk that a model file names.
const MOST_AT_RISK: usize = 100;

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
        let mut rows: Vec<(f64, usize)> = self.nuisance.e.iter().enumerate().map(|(i, e)| (e.min(1.0 - e), i)).collect();
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
    /// Adds the rows of the next block.
    pub(super) fn add(&mut self, mut rows: BlockRows, extreme: Vec<(f64, usize)>) {
        self.extreme.extend(extreme);
        self.extreme.sort_unstable_by(order);
        self.extreme.truncate(MOST_AT_RISK);
        if let Some(groups) = &mut rows.groups {
            let most = groups.iter().max().map_or(0, |g| g + 1);
            groups.iter_mut().for_each(|g| *g += self.n_groups);
            self.n_groups += most;
        }
        let Some(all) = &mut self.all else {
            self.all = Some(rows);
            return;
        };
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
        let weights = Weights::inverse(&all.nuisance.e, rows.t, Rule::Pareto, BOUND)?;
        let mut overlap =
            overlap_report(&all.nuisance.e, &weights, (rows.t, rows.weight), &OverlapOptions::default())?;
        let at_risk = overlap.rows_at_risk.len();
        overlap.rows_at_risk = self.extreme.into_iter().map(|(_, row)| row).take(at_risk).collect();
        let averages = averages::of_rows(&rows, (&all.nuisance, &weights.smooth, &overlap), outcome, asked)?;
        Ok(Together { averages, overlap, map: weights.map })
    }
}
