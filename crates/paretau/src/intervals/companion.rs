//! How uncertain effects are whose estimator does not say so itself: as uncertain as those of an honest causal forest of the same
//! rows.
//!
//! An honest forest adapts to where the data are rich and where they are thin, and says by its little bags how much its effects would
//! move with other rows. Its variances stand for those of the estimator; what the estimator's own held-out predictions miss
//! beyond that is measured afterwards ([`super::calibration`]). How often such intervals hold the truth is a matter of
//! measurement, estimator by estimator (`experiments/person_intervals`).

use paretau_core::{Design, Error, FitContext, Params, Result};

use crate::registry::{self, TOOLBOX};

/// The forest beside an estimator.
const FOREST: &str = "causal-forest";
/// Its trees: enough for a smooth variance, which is smoothed once more.
const TREES: usize = 200;
/// Rows up to which it is fitted without being asked for: beyond, it would be felt.
pub(crate) const MOST_ROWS_UNASKED: usize = 100_000;

/// Variances of the rows' held-out effects by the forest; `None` where it cannot be fitted.
pub(crate) fn variances(design: &Design, ctx: &FitContext<'_>) -> Result<Option<Vec<f64>>> {
    let forest = registry::find(FOREST)?.build(&Params::none().with("n_estimators", TREES), &TOOLBOX)?;
    let model = match forest.fit(design, &ctx.with_seed(ctx.seed.named("companion forest"))) {
        Ok(model) => model,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        // Too few rows for honest halves, say: then there is no interval, and the estimator's answer stands without one.
        Err(_) => return Ok(None),
    };
    let errors = model.held_out().and_then(<[_]>::first).and_then(|effects| effects.se.as_ref());
    Ok(errors.filter(|se| se.iter().all(|v| v.is_finite())).map(|se| se.iter().map(|v| v * v).collect()))
}
