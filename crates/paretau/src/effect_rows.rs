//! What `effect` says about each row, as columns of a table: the same for files, streams and clusters.

use paretau_core::{Error, Result};
use paretau_data::{Field, Kind, ReadOptions, Table, TableColumn, read_stream, tables_to_ipc};
use rayon::prelude::*;

use crate::intervals::IntervalKind;
use crate::model::{Model, Predictions};

/// The output's columns for one batch: id, `mu0, mu1, tau[, lo, hi], e[, w_raw, w]`, and for each further arm of a fit
/// with several `mu_ARM, tau_ARM[, lo_ARM, hi_ARM], e_ARM[, w_raw_ARM, w_ARM]`. A row has weights against the arms that it is
/// compared with: rows of the control have all of them, rows of an arm its own.
pub fn effect_rows(
    model: &Model,
    batch: &Table,
    p: &Predictions,
    id: Option<&str>,
    interval: Option<(f64, IntervalKind)>,
) -> Result<Table> {
    let mut columns = vec![];
    if let Some(id) = id {
        columns.push(batch.require(id)?.clone());
    }
    let effects = &p.arms[0];
    columns.push(TableColumn::number("mu0", effects.mu0.clone()));
    columns.push(TableColumn::number("mu1", effects.mu1.clone()));
    columns.push(TableColumn::number("tau", effects.tau.clone()));
    if let Some((level, kind)) = interval {
        let (lo, hi) = match kind {
            IntervalKind::Conditional => model.interval(&effects.tau, effects.se.as_deref(), level)?,
            IntervalKind::Individual => model.individual_interval(batch, level)?,
        };
        columns.push(TableColumn::number("lo", lo));
        columns.push(TableColumn::number("hi", hi));
    }
    columns.push(TableColumn::number("e", p.e[0].clone()));
    if let Some(weights) = p.weights.as_ref().map(|all| &all[0]) {
        // A row whose arm is not known has no weight: an empty cell.
        columns.push(TableColumn::number("w_raw", weights.raw.clone()));
        columns.push(TableColumn::number("w", weights.smooth.clone()));
    }
    for (k, (arm, effects)) in model.about().further_arms().iter().zip(&p.arms[1..]).enumerate() {
        let named = |what: &str, values| TableColumn::number(format!("{what}_{}", arm.name), values);
        columns.push(named("mu", effects.mu1.clone()));
        columns.push(named("tau", effects.tau.clone()));
        // Intervals of individual effects are refused above where there are further arms.
        if let Some((level, _)) = interval {
            let (lo, hi) = model.interval(&effects.tau, effects.se.as_deref(), level)?;
            columns.push(named("lo", lo));
            columns.push(named("hi", hi));
        }
        columns.push(named("e", p.e[k + 1].clone()));
        if let Some(weights) = p.weights.as_ref().map(|all| &all[k + 1]) {
            // The weights of an arm `raw` must not be taken for the first arm's raw ones.
            let gap = if arm.name.starts_with("raw") { "_" } else { "" };
            columns.push(named(&format!("w_raw{gap}"), weights.raw.clone()));
            columns.push(named(&format!("w{gap}"), weights.smooth.clone()));
        }
    }
    Table::new(columns)
}

/// The columns that a model reads, the one that names the rows and, if it is there, the treatment; no others.
pub fn effect_fields(model: &Model, id: Option<&str>) -> ReadOptions {
    let encoder = model.encoder();
    let mut fields = encoder.fields();
    fields.extend(encoder.sparse_fields());
    // The first kind given wins: a feature that also names the rows is read as the model needs it.
    if let Some(id) = id.filter(|id| !fields.iter().any(|field| field.name == *id)) {
        fields.push(Field::new(id, Kind::Text));
    }
    let treatment = Field::new(model.about().roles.treatment.clone(), Kind::Text);
    ReadOptions { fields, optional: vec![treatment], only_fields: true, ..ReadOptions::default() }
}

/// Effects of the rows of record batches, from one Arrow IPC stream to another: batch by batch the columns of
/// [`effect_rows`]. A batch depends on its own rows alone, so that streams may be cut anywhere and sent anywhere.
pub fn score_stream(
    model: &Model,
    bytes: &[u8],
    id: Option<&str>,
    interval: Option<(f64, IntervalKind)>,
) -> Result<Vec<u8>> {
    if let Some((level, _)) = interval.filter(|(level, _)| !(*level > 0.0 && *level < 1.0)) {
        return Err(Error::BadParameter {
            owner: "effect".into(),
            name: "interval".into(),
            value: level.to_string(),
            expected: "a probability between 0 and 1".into(),
        });
    }
    let options = effect_fields(model, id).like(&model.about().reading);
    let tables = read_stream(bytes, &options, 0)?;
    let scored = tables.par_iter().map(|table| effect_rows(model, table, &model.predict(table)?, id, interval));
    tables_to_ipc(&scored.collect::<Result<Vec<_>>>()?)
}
