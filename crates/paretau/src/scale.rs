//! Numbers too large or too small to compute with: an outcome that no model could store, features whose squares or differences
//! overflow or vanish, weights whose sum overflows.

use paretau_core::{Design, Error, Features, Result, Warning};
use paretau_data::Assigned;

/// Models keep outcomes and effects in 32-bit floats, whose largest is 3.4e38; the difference of two must fit as well.
const MOST_OUTCOME: f64 = 1e37;
/// Squares of smaller differences vanish: with those of outcomes every standard error, with those of a feature its deviation.
const LEAST_SPREAD: f64 = 1e-140;
/// Squares and sums of squares of larger features overflow.
const MOST_FEATURE: f64 = 1e150;
/// Sums of weights beyond this leave no room for products.
const MOST_WEIGHT: f64 = 1e300;
/// A stable key for programs.
const SCALE: &str = "feature-scale";
/// Columns that a warning names.
const NAMED: usize = 5;

/// The first feature beyond `most`: its row, its column and itself.
fn beyond(x: &Features, most: f64) -> Option<(usize, usize, f64)> {
    let is_beyond = |v: f64| v.abs() > most;
    match x {
        Features::Dense(x) => {
            (0..x.n_rows()).find_map(|i| x.row(i).iter().position(|v| is_beyond(*v)).map(|j| (i, j, x.row(i)[j])))
        }
        Features::Sparse(x) => (0..x.n_rows()).find_map(|i| {
            let (columns, values) = x.row(i);
            values.iter().position(|v| is_beyond(*v)).map(|k| (i, columns[k] as usize, values[k]))
        }),
    }
}

/// Refuses an outcome, weights and features that are too large to compute with, and features that vary too little, whoever computes;
/// the outcome by its column's name where that is known.
pub(crate) fn refuse_extremes(assigned: &Assigned, design: &Design, outcome: Option<&str>) -> Result<()> {
    if let Some(row) = design.y().iter().position(|y| y.abs() > MOST_OUTCOME) {
        let message = format!(
            "{}holds {:e}, but outcomes may go up to {MOST_OUTCOME:e}; divide the column by a power of ten, the effects are \
             then in the same unit",
            if outcome.is_some() { "" } else { "the outcome " },
            design.y()[row]
        );
        return Err(assigned.features.error(outcome, Some(row), message));
    }
    let total: f64 = design.weight().map_or(0.0, |weight| weight.iter().sum());
    if total > MOST_WEIGHT {
        let message =
            format!("row weights add up to {total:e}; divide them by a power of ten, since only their ratios count");
        return Err(Error::unfit(message));
    }
    // Differences and the sum over all rows must be numbers.
    let most = f64::MAX / (2.0 * design.n_rows().max(1) as f64);
    if let Some((row, column, value)) = beyond(design.x(), most) {
        let message = format!("holds {value:e}, whose sums overflow; divide the column by a power of ten");
        let name = design.columns().get(column).map(|column| column.name.as_str());
        return Err(assigned.features.error(name, Some(row), message));
    }
    if let Some((column, spread)) = too_little(design.x()) {
        let message = format!(
            "its values differ by {spread:e} at most, too little to compute with; multiply the column by a power of ten, or leave it out"
        );
        let name = design.columns().get(column).map(|column| column.name.as_str());
        return Err(assigned.features.error(name, None, message));
    }
    Ok(())
}

/// The first feature that varies, but so little that its deviation would be 0, and by how much it varies.
fn too_little(x: &Features) -> Option<(usize, f64)> {
    // A column of a sparse matrix holds zeros, too.
    let first = |j: usize| if let Features::Dense(x) = x { x.row(0)[j] } else { 0.0 };
    let mut ends: Vec<(f64, f64)> =
        (0..if x.n_rows() == 0 { 0 } else { x.n_cols() }).map(|j| (first(j), first(j))).collect();
    let widen = |(lo, hi): &mut (f64, f64), v: f64| (*lo, *hi) = (lo.min(v), hi.max(v));
    match x {
        Features::Dense(x) => {
            (0..x.n_rows()).for_each(|i| ends.iter_mut().zip(x.row(i)).for_each(|(ends, v)| widen(ends, *v)));
        }
        Features::Sparse(x) => {
            x.indices().iter().zip(x.values()).for_each(|(&j, v)| widen(&mut ends[j as usize], *v));
        }
    }
    let spreads = ends.iter().map(|(lo, hi)| hi - lo).enumerate();
    spreads.into_iter().find(|(_, spread)| *spread > 0.0 && *spread < LEAST_SPREAD)
}

/// Refuses an outcome that is too large or varies too little, and features and weights that nothing can be computed with; warns
/// of features that are merely large.
pub(crate) fn check(assigned: &Assigned, design: &Design, outcome: &str) -> Result<Option<Warning>> {
    refuse_extremes(assigned, design, Some(outcome))?;
    let (lowest, highest) = design.y().iter().fold((f64::MAX, f64::MIN), |(lo, hi), y| (lo.min(*y), hi.max(*y)));
    if highest - lowest < LEAST_SPREAD {
        let message = format!(
            "its values differ by {:e} only, too little to compute with; multiply the column by a power of ten, the effects \
             are then in the same unit",
            highest - lowest
        );
        return Err(assigned.features.error(Some(outcome), None, message));
    }
    let mut large = vec![false; design.x().n_cols()];
    match design.x() {
        Features::Dense(x) => {
            for i in 0..x.n_rows() {
                large.iter_mut().zip(x.row(i)).for_each(|(large, v)| *large |= v.abs() > MOST_FEATURE);
            }
        }
        Features::Sparse(x) => {
            x.indices().iter().zip(x.values()).for_each(|(&j, v)| large[j as usize] |= v.abs() > MOST_FEATURE);
        }
    }
    let names: Vec<&str> =
        design.columns().iter().zip(&large).filter(|(_, large)| **large).map(|(c, _)| c.name.as_str()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    Ok(Some(Warning {
        code: SCALE.to_owned(),
        message: format!(
            "{}{more} {} numbers beyond {MOST_FEATURE:e}, whose squares overflow, so that the estimator may ignore {}; \
             divide {} by a power of ten",
            shown.join(", "),
            if names.len() == 1 { "holds" } else { "hold" },
            if names.len() == 1 { "the column" } else { "these columns" },
            if names.len() == 1 { "it" } else { "them" },
        ),
    }))
}
