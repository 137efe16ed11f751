//! Whether trees are honest and how they split, chosen by small forests on rows that their trees have not seen.
//!
//! The measure is the squared error of the outcome residuals given the treatment residuals and the effect (the R-loss of
//! Nie and Wager 2021), for which no true effect is needed. Honest trees that split by gradient labels are what the
//! theory of the intervals is about; another kind is taken only where it is better by more than a standard error of
//! the rows' paired differences, that is where honest halves are too small to follow the effect.

use paretau_core::{FitContext, Result};
use paretau_nuisance::inference::clustered_mean;

use crate::causal_forest::CausalForest;
use crate::causal_model::out_of_bag;
use crate::dml::Criterion;
use crate::forest::{BinnedRows, GrowContext};
use crate::recipes;
use crate::rows::CausalRows;
use crate::sample::{Sampler, Units};

/// Trees of a small forest.
const TREES: usize = 50;
/// With more rows than this honest halves are large enough, and trying costs more than it brings.
const MOST_ROWS: usize = 50_000;

/// The kind of a causal forest's trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) honest: bool,
    pub(crate) criterion: Criterion,
}

/// What small forests are grown on.
pub(crate) struct Trial<'a> {
    pub(crate) forest: &'a CausalForest,
    pub(crate) binned: &'a BinnedRows,
    pub(crate) units: &'a Units,
    pub(crate) rows: &'a CausalRows<'a>,
    pub(crate) zy: &'a [[f64; 2]],
    pub(crate) overall: f64,
    pub(crate) min_variance: f64,
    pub(crate) ctx: &'a FitContext<'a>,
}

impl Trial<'_> {
    /// The kind that is asked for, or the best of those left open.
    pub(crate) fn choose(&self, honest: Option<bool>, criterion: Option<Criterion>) -> Result<Shape> {
        let mut open = Vec::new();
        for honest in honest.map_or(vec![true, false], |honest| vec![honest]) {
            for criterion in criterion.map_or(vec![Criterion::Het, Criterion::Mse], |criterion| vec![criterion]) {
                open.push(Shape { honest, criterion });
            }
        }
        let usual = open[0];
        if open.len() == 1 || self.zy.len() > MOST_ROWS {
            return Ok(usual);
        }
        let losses = self.losses(usual)?;
        let mut best = (usual, 0.0);
        for &shape in &open[1..] {
            let differences: Vec<f64> = self.losses(shape)?.iter().zip(&losses).map(|(a, b)| a - b).collect();
            let difference = clustered_mean(&differences, self.rows.weight, self.rows.groups);
            if difference.value < -difference.se.unwrap_or(0.0) && difference.value < best.1 {
                best = (shape, difference.value);
            }
        }
        Ok(best.0)
    }

    /// Squared errors of the rows, each by trees that have not seen it.
    fn losses(&self, shape: Shape) -> Result<Vec<f64>> {
        let (n_trees, bag) = self.forest.size();
        let sampler = Sampler {
            sampling: self.forest.sampling(shape.honest),
            units: self.units.clone(),
            seed: self.ctx.seed.named("trial"),
        };
        let context = GrowContext {
            binned: self.binned,
            growth: self.forest.growth(self.rows.x.n_cols()),
            sampler: &sampler,
            n_trees: n_trees.min(TREES).next_multiple_of(bag),
            weight: self.rows.weight,
            ctx: self.ctx,
        };
        let (forest, in_bag) = recipes::causal(&context, self.forest.rule(shape), self.zy, self.min_variance)?;
        let slopes = out_of_bag(&forest, self.binned, &in_bag, self.ctx)?;
        let tau = slopes.iter().map(|s| s.map_or(self.overall, |s| s.tau));
        Ok(self.zy.iter().zip(tau).map(|([z, y], tau)| (y - z * tau).powi(2)).collect())
    }
}
