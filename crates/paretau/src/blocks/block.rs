//! One block of rows: an ordinary fit, and of its assessment the parts that can be put together with those of other blocks.

use paretau_core::{Estimator, EstimatorEntry, Event, FitContext, FittedModel, OutcomeKind, Result, Warning};
use paretau_data::{Assigned, ColumnData, Encoder, LeftOut, Table, assign, assign_all_arms};
use paretau_kernels::numeric::mean;
use paretau_nuisance::{PropensityStack, Score, StackedNuisances};

use super::rows::BlockRows;
use crate::assessment::{Weighted, stack};
use crate::fingerprint::Collector;
use crate::fit::Fitted;
use crate::intervals::calibration;
use crate::nuisances::{self, NuisanceReport};
use crate::prepared::Prepared;

/// Rows of either arm that a block must have: fewer leave folds without anything to learn from.
pub(super) const LEAST_ROWS: usize = 200;

/// What all blocks have in common.
pub(super) struct Common<'a> {
    pub(super) entry: &'static dyn EstimatorEntry,
    pub(super) estimator: &'a dyn Estimator,
    pub(super) roles: &'a paretau_data::RoleSpec,
    pub(super) several: bool,
    pub(super) arms: &'a [String],
    /// For the estimator and for the nuisances.
    pub(super) encoders: (&'a Encoder, &'a Encoder),
    pub(super) outcome: OutcomeKind,
}

/// A fitted block.
pub(super) struct BlockFit {
    pub(super) model: Box<dyn FittedModel>,
    pub(super) propensity: PropensityStack,
    pub(super) nuisances: NuisanceReport,
    pub(super) rows: BlockRows,
    /// How near to 0 or 1 the most extreme propensities are, and where their rows stand in the table.
    pub(super) extreme: Vec<(f64, usize)>,
    pub(super) left_out: LeftOut,
    /// Mean squared bias of the block's held-out effects, where the estimator tells its own errors.
    pub(super) squared_bias: Option<Score>,
    /// The mean predicted effect of the block's rows.
    pub(super) mean_effect: f64,
    /// Warnings about the block's numbers.
    pub(super) warnings: Vec<Warning>,
}

impl Common<'_> {
    /// Fits a block and adds its rows to the fingerprint.
    pub(super) fn fit(
        &self,
        table: Table,
        (k, n_blocks): (usize, usize),
        fingerprint: &mut Collector,
        ctx: &FitContext<'_>,
    ) -> Result<BlockFit> {
        ctx.check_interrupt()?;
        ctx.event(&Event::Stage { name: format!("block {} of {n_blocks}", k + 1), total: None });
        let assigned = self.assign(table, (k, n_blocks))?;
        let left_out = assigned.left_out;
        let encoders = (self.encoders.0.clone(), self.encoders.1.clone());
        let prepared = Prepared::encoded_by(assigned, encoders, self.outcome)?;
        fingerprint.add(&prepared.assigned, prepared.design.x());
        let fitted = Fitted::new(self.estimator, prepared, (self.entry.info().name, &self.roles.outcome), ctx)?;
        let own = fitted.prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().and_then(|own| own.rows.as_ref()).unwrap_or(&fitted.prepared);
        let pair = fitted.prepared.pair(1, &fitted.predictions[0])?;
        let stacked = stack(readable, &fitted, (1, false), ctx)?;
        let report = NuisanceReport::of(&stacked, &pair.design);
        let StackedNuisances { nuisance, propensity_model, .. } = stacked;
        let weighted = Weighted::new(&pair, nuisance)?;
        let squared_bias = if self.entry.info().abilities.intervals && fitted.held_out && pair.effects.se.is_some() {
            let rows = weighted.rows()?;
            let scores = weighted.nuisance.scores(&rows, &weighted.weights.smooth);
            Some(calibration::squared_bias(&rows, (&scores, &pair.effects.tau), pair.design.x(), ctx.seed)?)
        } else {
            None
        };
        let mean_effect = mean(&pair.effects.tau);
        let rows = BlockRows {
            t: pair.design.t().to_vec(),
            y: pair.design.y().to_vec(),
            weight: pair.design.weight().map(<[f64]>::to_vec),
            groups: pair.design.groups().map(<[u32]>::to_vec),
            nuisance: weighted.nuisance,
        };
        let source = &pair.assigned.features.source;
        let extreme = rows.most_extreme().into_iter().map(|(edge, i)| (edge, source.row(i))).collect();
        let warnings = fitted.scale.iter().cloned().collect();
        drop(pair);
        Ok(BlockFit {
            model: fitted.model,
            propensity: propensity_model,
            nuisances: report,
            rows,
            extreme,
            left_out,
            squared_bias,
            mean_effect,
            warnings,
        })
    }

    /// The block's rows in their roles; every arm must be there.
    pub(super) fn assign(&self, table: Table, (k, n_blocks): (usize, usize)) -> Result<Assigned> {
        let whole = table.select(&[]);
        if has_one_outcome(&table, &self.roles.outcome) {
            let message = format!(
                "block {} of {n_blocks} has one value in all of its {} rows: use a larger --block-rows, or name another outcome",
                k + 1,
                table.n_rows()
            );
            return Err(whole.error(Some(&self.roles.outcome), None, message));
        }
        let assigned = if self.several { assign_all_arms(table, self.roles) } else { assign(table, self.roles) };
        let assigned = assigned?;
        for (arm, name) in self.arms.iter().enumerate() {
            let n = assigned.t.iter().filter(|&&t| usize::from(t) == arm).count();
            if n < LEAST_ROWS || assigned.arms != self.arms {
                return Err(too_small(&whole, &self.roles.treatment, name, (n, assigned.t.len()), (k, n_blocks)));
            }
        }
        Ok(assigned)
    }
}

/// Whether an outcome is the same wherever there is one.
fn has_one_outcome(table: &Table, outcome: &str) -> bool {
    let Some(ColumnData::Number(values)) = table.column(outcome).map(|column| &column.data) else { return false };
    let mut present = values.iter().filter(|v| !v.is_nan());
    present.next().is_some_and(|first| present.all(|v| v == first))
}

/// The error on a block with too few rows of an arm.
pub(super) fn too_small(
    table: &Table,
    treatment: &str,
    arm: &str,
    (n, rows): (usize, usize),
    (k, n_blocks): (usize, usize),
) -> paretau_core::Error {
    let needed = (1.5 * LEAST_ROWS as f64 * rows as f64 / n.max(1) as f64).ceil() as usize;
    let message = format!(
        "block {} of {n_blocks} has {n} rows with the value `{arm}` among {rows}; a block needs at least {LEAST_ROWS} of every arm: \
         use --block-rows {} or more",
        k + 1,
        rounded_up(needed)
    );
    table.error(Some(treatment), None, message)
}

/// A number with one digit that is not 0, no smaller.
pub(super) fn rounded_up(n: usize) -> usize {
    let power = 10_usize.pow(n.max(1).ilog10());
    n.div_ceil(power) * power
}
