//! Looking at data before any effect is estimated: do the arms overlap, and what does weighting do to them?

use paretau_core::{FitContext, Observer, Result, Seed, Warning};
use paretau_data::{RoleSpec, Table};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{FeatureBalance, OverlapOptions, OverlapReport, Rule, Weights, overlap_report};

use crate::findings::feature_balance;
use crate::prepared::{ArmsWanted, Prepared};
use crate::{nuisances, warnings};

/// What there is to say about a table before a fit.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Diagnosis {
    /// Rows used.
    pub n_rows: usize,
    /// Rows left out.
    pub rows_left_out: usize,
    /// Feature columns after encoding.
    pub n_features: usize,
    /// Overlap of the arms.
    pub overlap: OverlapReport,
    /// How far apart the arms are before and after weighting by smoothed inverse propensities, worst before first.
    pub balance: Vec<FeatureBalance>,
    /// What to be careful about, most severe first: columns that look measured after the treatment, poor overlap, odd cells.
    pub warnings: Vec<Warning>,
    /// What was done to the data.
    pub notes: Vec<String>,
}

/// Fits propensities and reports on overlap and balance. Rows at risk are numbered as in the table, from 0.
pub fn diagnose(table: Table, roles: &RoleSpec, seed: Seed, observer: &dyn Observer) -> Result<Diagnosis> {
    let prepared = Prepared::new(table, roles, ArmsWanted::Pair, nuisances::HANDLES)?;
    let Prepared { assigned, design, .. } = &prepared;
    let ctx = FitContext::new(seed, observer);
    let e = nuisances::of_design(design, &ctx)?.nuisance.e;
    let weights = Weights::inverse(&e, design.t(), Rule::Pareto, BOUND)?;
    let mut overlap = overlap_report(&e, &weights, (design.t(), design.weight()), &OverlapOptions::default())?;
    overlap.rows_at_risk.iter_mut().for_each(|row| *row = assigned.rows[*row]);
    let balance = feature_balance(assigned, design, &weights)?;
    let warnings = warnings::of_data(&prepared, &overlap, seed);
    let notes = prepared.notes();
    Ok(Diagnosis {
        n_rows: design.n_rows(),
        rows_left_out: assigned.rows_left_out,
        n_features: design.x().n_cols(),
        overlap,
        balance,
        warnings,
        notes,
    })
}
