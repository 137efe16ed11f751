//! Looking at data before any effect is estimated: do the arms overlap, and what does weighting do to them?

use std::borrow::Cow;

use paretau_core::{Error, FitContext, Observer, Result, Seed, Warning};
use paretau_data::{RoleSpec, Table, assign, assign_all_arms};
use paretau_nuisance::{FeatureBalance, OverlapReport};

use crate::assessment::weights_and_overlap;
use crate::findings::{self, feature_balance};
use crate::prepared::Prepared;
use crate::{nuisances, scale, warnings};

/// What there is to say about a table before a fit.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Diagnosis {
    /// The control's value of the treatment column and that of the arm it is compared with.
    pub arms: [String; 2],
    /// Rows used.
    pub n_rows: usize,
    /// Rows left out.
    pub rows_left_out: usize,
    /// Feature columns after encoding.
    pub n_features: usize,
    /// Overlap of the arms.
    pub overlap: OverlapReport,
    /// What the rows at risk are called, by the column of identifiers, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids_at_risk: Option<Vec<String>>,
    /// How far apart the arms are before and after weighting by smoothed inverse propensities, worst before first.
    pub balance: Vec<FeatureBalance>,
    /// What to be careful about, most severe first: columns that look measured after the treatment, poor overlap, odd cells.
    pub warnings: Vec<Warning>,
    /// What was done to the data.
    pub notes: Vec<String>,
    /// The same of each further arm against the control; its warnings are about its own overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_arms: Vec<Diagnosis>,
}

/// Fits propensities and reports on overlap and balance, of every arm against the control unless the treated value is named.
/// Rows at risk are numbered as in the table, from 0.
pub fn diagnose(table: Table, roles: &RoleSpec, seed: Seed, observer: &dyn Observer) -> Result<Diagnosis> {
    let assigned = if roles.treated_value.is_none() { assign_all_arms(table, roles)? } else { assign(table, roles)? };
    let suspects = findings::suspects(&assigned, roles, seed);
    let ctx = FitContext::new(seed, observer);
    let several = assigned.arms.len() > 2;
    // As a fit does: features are encoded for all rows, and arms are compared one by one.
    let all = Prepared::encode(assigned, nuisances::HANDLES)?;
    let assigned = &all.assigned;
    let mut found = vec![];
    for k in 1..assigned.arms.len() {
        let prepared = if several { Cow::Owned(all.of_pair(k)?) } else { Cow::Borrowed(&all) };
        let mut own = of_pair(&prepared, &ctx)?;
        if k == 1 {
            own.warnings = warnings::of_data(&prepared, &own.overlap, suspects.clone(), seed);
            own.notes = all.notes();
            own.rows_left_out = assigned.rows_left_out;
        }
        if several {
            // The first arm's list has warnings about the data too, which are not about an arm.
            let (name, control) = (&assigned.arms[k], &assigned.arms[0]);
            let overlap = own.overlap.warnings.clone();
            let of_arm = |warning: Warning| {
                if overlap.contains(&warning) { warnings::about_arm(warning, name, control) } else { warning }
            };
            own.warnings = own.warnings.into_iter().map(of_arm).collect();
        }
        found.push(own);
    }
    let mut found = found.into_iter();
    let first = found.next().ok_or_else(|| Error::internal("diagnosing", "there is one arm only"))?;
    Ok(Diagnosis { further_arms: found.collect(), ..first })
}

/// Overlap and balance of two arms.
fn of_pair(prepared: &Prepared, ctx: &FitContext<'_>) -> Result<Diagnosis> {
    let Prepared { assigned, design, .. } = prepared;
    scale::refuse_extremes(assigned, design, None)?;
    let e = nuisances::of_design(design, ctx)?.nuisance.e;
    let (weights, mut overlap) = weights_and_overlap(&e, (design.t(), design.weight()))?;
    let ids_at_risk = assigned
        .id
        .as_ref()
        .map(|id| overlap.rows_at_risk.iter().map(|&row| id.cell(row).unwrap_or_default()).collect::<Vec<String>>());
    overlap.rows_at_risk.iter_mut().for_each(|row| *row = assigned.rows[*row]);
    Ok(Diagnosis {
        arms: [0, 1].map(|k| assigned.arms.get(k).cloned().unwrap_or_default()),
        n_rows: design.n_rows(),
        rows_left_out: assigned.rows_left_out,
        n_features: design.x().n_cols(),
        warnings: overlap.warnings.clone(),
        overlap,
        ids_at_risk,
        balance: feature_balance(assigned, design, &weights)?,
        notes: vec![],
        further_arms: vec![],
    })
}
