//! What a forest asks of its input, and refusals that name the column and what to do.

use std::sync::Arc;

use paretau_core::{Column, Error, Features, ParamKind, ParamSpec, Params, RegressionTask, Result, Target, resolve};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bins::Bins;
use crate::codes::Codes;
use crate::forest::BinnedRows;
use crate::split::MAX_ROWS;

/// Fewest rows a causal forest learns from.
pub(crate) const MIN_ROWS: usize = 10;

/// Fewest rows a regression learns from: less, since it may be handed one arm of one fold.
const MIN_ROWS_OF_A_PART: usize = 2;

/// A count of at least one.
pub(crate) const COUNT: ParamKind = ParamKind::Int { min: 1, max: 10_000_000 };

/// Bins a column.
pub(crate) const BINS: ParamKind = ParamKind::Int { min: 8, max: 256 };

/// Bins a column in exact mode.
const EXACT_BINS: usize = u16::MAX as usize;

/// A configuration made in code, checked against the same specifications as one made of words.
pub(crate) fn checked<C: Serialize + DeserializeOwned>(owner: &str, specs: &[ParamSpec], config: &C) -> Result<C> {
    let value = serde_json::to_value(config).map_err(|e| Error::internal("writing parameters", e))?;
    let params = Params(value.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect());
    resolve(owner, specs, config, &params)
}

/// Bins and codes of the training rows.
pub(crate) fn binned_rows(x: &Features, columns: &[Column], max_bins: usize, exact: bool) -> Result<BinnedRows> {
    let bins = Bins::fit(x, columns, if exact { EXACT_BINS } else { max_bins })?;
    let codes = Arc::new(Codes::new(x, &bins, exact));
    Ok(BinnedRows { bins: Arc::new(bins), codes })
}

/// Whether `x` has the columns the forest was fitted on.
pub(crate) fn check_columns(expected: usize, x: &Features) -> Result<()> {
    if x.n_cols() == expected {
        return Ok(());
    }
    Err(Error::SchemaMismatch {
        message: format!("the forest was fitted on {expected} feature columns, the data have {}", x.n_cols()),
    })
}

/// Enough rows, and no more than counts can hold.
pub(crate) fn check_rows(n: usize, least: usize) -> Result<()> {
    if n < least {
        return Err(Error::unfit(format!("a forest needs at least {least} rows, there are {n}; give more rows")));
    }
    if n > MAX_ROWS {
        return Err(Error::unfit(format!("a forest takes at most {MAX_ROWS} rows, there are {n}; take a sample")));
    }
    Ok(())
}

/// A vector of the right length without NaN or infinities.
pub(crate) fn check_values(what: &'static str, values: &[f64], n: usize) -> Result<()> {
    if values.len() != n {
        return Err(Error::LengthMismatch { what, expected: n, found: values.len() });
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::NonFinite {
            what: what.to_owned(),
            row: i + 1,
            value: values[i],
            remedy: "remove the row or mend the value",
        }),
    }
}

/// Weights that are finite, not negative and not all zero.
pub(crate) fn check_weight(weight: Option<&[f64]>, n: usize) -> Result<()> {
    let Some(weight) = weight else { return Ok(()) };
    check_values("row weights", weight, n)?;
    if let Some(i) = weight.iter().position(|&w| w < 0.0) {
        return Err(Error::unfit(format!("row weights: row {} holds {}, which is negative", i + 1, weight[i])));
    }
    if weight.iter().all(|&w| w == 0.0) {
        return Err(Error::unfit("row weights: all are 0; give some rows a positive weight"));
    }
    Ok(())
}

/// Columns that hold at least one value.
pub(crate) fn check_not_all_missing(x: &Features, columns: &[Column]) -> Result<()> {
    let Features::Dense(m) = x else { return Ok(()) };
    if !m.row(0).iter().any(|v| v.is_nan()) {
        return Ok(());
    }
    let empty = |j: usize| (0..m.n_rows()).all(|i| m.get(i, j).is_nan());
    match (0..m.n_cols()).find(|&j| empty(j)) {
        None => Ok(()),
        Some(j) => Err(Error::unfit(format!(
            "feature column `{}` has no value in any row; leave the column out or fill it",
            columns.get(j).map_or("?", |c| c.name.as_str())
        ))),
    }
}

/// All that a regression needs.
pub(crate) fn check_regression(task: &RegressionTask<'_>) -> Result<()> {
    let n = task.x.n_rows();
    check_rows(n, MIN_ROWS_OF_A_PART)?;
    check_values("outcome", task.y, n)?;
    check_weight(task.weight, n)?;
    if task.target == Target::Probability {
        if let Some(i) = task.y.iter().position(|&v| v != 0.0 && v != 1.0) {
            return Err(Error::unfit(format!(
                "outcome: row {} holds {}, but a probability forest needs 0 or 1",
                i + 1,
                task.y[i]
            )));
        }
        if task.y.iter().all(|&v| v == task.y[0]) {
            return Err(Error::unfit(format!(
                "outcome: every row holds {}, so there is only one class; a probability needs rows of both",
                task.y[0]
            )));
        }
    }
    Ok(())
}
