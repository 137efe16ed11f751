//! Which estimators are fitted in blocks, and with which parameters in each.

use paretau_core::{Error, EstimatorEntry, ParamSpec, Params, Result};
use serde_json::Value;

use crate::auto;
use crate::fit::FitOptions;

/// Little bags of a block's forest, at least: one alone has no spread.
const LEAST_BAGS: u64 = 2;

/// Refuses what cannot be put together from blocks, with a remedy.
pub(super) fn check(entry: &dyn EstimatorEntry, options: &FitOptions<'_>) -> Result<()> {
    let name = entry.info().name;
    let unfit = |what: &str, remedy: &str| {
        Err(Error::Unsupported { estimator: name.to_owned(), message: format!("{what} in blocks of rows; {remedy}") })
    };
    if name == auto::NAME {
        return unfit(
            "is not fitted",
            "let `paretau compare` or `auto` choose on a part of the rows, then fit the estimator that it chose with --block-rows",
        );
    }
    if options.intervals.is_some() {
        return unfit(
            "makes no refits for intervals",
            "leave out --intervals; `causal-forest` has intervals of its own, in blocks, too",
        );
    }
    if options.checkpoint.is_some() {
        return unfit("keeps no checkpoint", "leave out --checkpoint");
    }
    if !options.by.is_empty() || !options.projection.is_empty() {
        let flag = if options.by.is_empty() { "--projection" } else { "--by" };
        return unfit(
            "gives no effects of groups and no projection",
            &format!("leave out {flag}, and ask with it on a part of the rows that fits into memory"),
        );
    }
    Ok(())
}

/// The parameters of each block's fit: the trees of a forest that come in little bags are shared out over the blocks, so that
/// all blocks together have about as many as one fit would have.
pub(super) fn params(entry: &dyn EstimatorEntry, options: &FitOptions<'_>, n_blocks: usize) -> Result<Params> {
    let has = |name: &str| entry.params().iter().any(|spec: &ParamSpec| spec.name == name);
    if !(has(TREES) && has(BAG)) {
        return Ok(options.params.clone());
    }
    let all = entry.resolved(&options.params)?;
    let number = |name: &str| all.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (trees, bag) = (number(TREES), number(BAG).max(1));
    let bags = (trees / bag).div_ceil(n_blocks as u64).max(LEAST_BAGS);
    Ok(options.params.clone().with(TREES, bags * bag))
}

const TREES: &str = "n_estimators";
const BAG: &str = "subforest_size";
