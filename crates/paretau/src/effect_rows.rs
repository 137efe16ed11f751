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
    let arms = model.about().arms.iter().skip(1).zip(&p.arms);
    for (k, (arm, effects)) in arms.enumerate() {
        let named = |what: &str, values| {
            let name = match what {
                "mu" if k == 0 => "mu1".to_owned(),
                what if k == 0 => what.to_owned(),
                // The weights of an arm `raw` must not be taken for the first arm's raw ones.
                "w_raw" | "w" if arm.name.starts_with("raw") => format!("{what}__{}", arm.name),
                what => format!("{what}_{}", arm.name),
            };
            TableColumn::number(name, values)
        };
        if k == 0 {
            columns.push(named("mu0", effects.mu0.clone()));
        }
        columns.push(named("mu", effects.mu1.clone()));
        columns.push(named("tau", effects.tau.clone()));
        if let Some((level, kind)) = interval {
            // Intervals of individual effects are refused where there are several arms.
            let (lo, hi) = match kind {
                IntervalKind::Conditional => model.interval(&effects.tau, effects.se.as_deref(), level)?,
                IntervalKind::Individual => model.individual_interval(batch, level)?,
            };
            columns.push(named("lo", lo));
            columns.push(named("hi", hi));
        }
        columns.push(named("e", p.e[k].clone()));
        if let Some(weights) = p.weights.as_ref().map(|all| &all[k]) {
            // A row whose arm is not known has no weight: an empty cell.
            columns.push(named("w_raw", weights.raw.clone()));
            columns.push(named("w", weights.smooth.clone()));
        }
    }
    Table::new(columns)
}

/// Reads the columns of a model, the one that names the rows and, if it is there, the treatment, no others; as `read` says, and
/// otherwise as the table of the fit was read.
pub fn effect_fields(model: &Model, id: Option<&str>, read: ReadOptions) -> ReadOptions {
    let encoder = model.encoder();
    let mut fields = encoder.fields();
    fields.extend(encoder.sparse_fields());
    // The first kind given wins: a feature that also names the rows is read as the model needs it.
    if let Some(id) = id.filter(|id| !fields.iter().any(|field| field.name == *id)) {
        fields.push(Field::new(id, Kind::Text));
    }
    let treatment = Field::new(model.about().roles.treatment.clone(), Kind::Text);
    let read = read.like(&model.about().reading);
    ReadOptions { fields, optional: vec![treatment], only_fields: true, ..read }
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
    let options = effect_fields(model, id, ReadOptions::default());
    let tables = read_stream(bytes, &options, 0)?;
    let scored = tables.par_iter().map(|table| effect_rows(model, table, &model.predict(table)?, id, interval));
    tables_to_ipc(&scored.collect::<Result<Vec<_>>>()?)
}
