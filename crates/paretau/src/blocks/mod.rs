//! A fit of more rows than memory holds: rows are dealt to blocks, each block is fitted like any table, and the blocks' models
//! and rows are put together.
//!
//! A pass over the data counts what must be known of all rows, a second one deals the rows to blocks on the disk
//! (`paretau_data::blocks`). Then one block after the other is read, fitted and dropped. What is left of it is its model, its
//! propensity, and for every row what averages need ([`rows`]).

mod block;
mod entry;
mod gathered;
mod mean;
mod parts;
mod rows;
mod stored;
mod together;

use std::path::{Path, PathBuf};

use paretau_core::{Error, Event, FitContext, Result, UnitEstimator};
use paretau_data::{BlockFacts, Census, ReadOptions, RoleSpec, RowBlocks, Watch, read_watched};

pub(crate) use self::mean::BlockMean;

use self::block::{Common, LEAST_ROWS, rounded_up};
use self::gathered::{Gathered, Whole};
use self::stored::StoredFit;
use crate::fingerprint::Fingerprint;
use crate::fit::{FitOptions, fit};
use crate::model::Model;
use crate::{nuisances, registry};

/// How rows are dealt to blocks.
#[derive(Debug, Clone)]
pub struct BlockOptions {
    /// About so many rows per block. A table that has no more of them is fitted as a whole.
    pub rows: usize,
    /// Folder for the blocks, which take about as much room as the columns in use.
    pub scratch: PathBuf,
}

/// Fits a file, a folder or a glob block by block, without ever holding its table.
pub fn fit_in_blocks(
    path: &Path,
    read: &ReadOptions,
    roles: &RoleSpec,
    options: &FitOptions<'_>,
    blocks: &BlockOptions,
    watch: &mut Watch<'_>,
) -> Result<Model> {
    let entry = registry::find(options.estimator)?;
    let whole = entry.build(&options.params, options.tools)?;
    if blocks.rows == 0 {
        return Err(Error::BadParameter {
            owner: "a fit in blocks".to_owned(),
            name: "--block-rows".to_owned(),
            value: "0".to_owned(),
            expected: "a number of rows above 0".to_owned(),
        });
    }
    let several = roles.treated_value.is_none();
    options.observer.event(&Event::Stage { name: "counting".to_owned(), total: None });
    let census = Census::take(path, read, roles, several, watch)?;
    if census.n_rows() <= blocks.rows {
        return fit(read_watched(path, read, watch)?, roles, options);
    }
    self::entry::check(entry, options)?;
    if census.arms().len() > 2 {
        let message = format!(
            "has {} values that are arms; in blocks of rows two arms are compared: name them with --treated-value and \
             --control-value",
            census.arms().len()
        );
        return Err(census.error(Some(&roles.treatment), message));
    }
    let n_blocks = census.n_rows().div_ceil(blocks.rows);
    check_size(&census, roles, n_blocks)?;
    let ctx = FitContext {
        seed: options.seed,
        observer: options.observer,
        valid_share: options.valid_share,
        checkpoint: None,
    };
    ctx.event(&Event::Stage { name: format!("dealing rows to {n_blocks} blocks"), total: None });
    let encoder = census.encoder(&entry.info().handles.into())?;
    let few = |method: &&dyn UnitEstimator| method.most_columns().is_none_or(|most| encoder.columns().len() <= most);
    let method = whole.over_units().filter(few);
    // Trees over all rows draw from many small blocks.
    let dealt_to = if method.is_some() { stored::n_units(n_blocks) } else { n_blocks };
    let mut dealt = RowBlocks::deal(&census, dealt_to, options.seed.named("deal"), &blocks.scratch, watch)?;
    let for_nuisances = census.encoder(&nuisances::HANDLES.into())?;
    let params = self::entry::params(entry, options, n_blocks)?;
    let estimator = entry.build(&params, options.tools)?;
    let common = Common {
        entry,
        estimator: estimator.as_ref(),
        roles: &census.roles(),
        several,
        arms: census.arms(),
        encoders: (&encoder, &for_nuisances),
        outcome: census.outcome(),
    };
    if let Some(method) = method {
        let (census, common) = (&census, &common);
        return StoredFit { path, census, roles, common, method, options, blocks, n_blocks }.fit(dealt, &ctx);
    }
    let mut fingerprint = Fingerprint::collector();
    let mut gathered = Gathered::default();
    for k in 0..n_blocks {
        let seed = options.seed.named("blocks").indexed(k as u64);
        let fitted = common.fit(dealt.read(k)?, (k, n_blocks), &mut fingerprint, &ctx.with_seed(seed))?;
        gathered.add(fitted);
    }
    let facts = BlockFacts {
        block_rows: blocks.rows,
        rows: gathered.n_rows.clone(),
        sampled_rows: census.sampled_rows(),
        forest: None,
    };
    let fingerprint = fingerprint.finish();
    let encoders = (encoder, for_nuisances);
    let whole = Whole { entry, path, census: &census, roles, options, facts, encoders, fingerprint };
    whole.model(gathered, &ctx)
}

/// Refuses blocks that would have too few rows of an arm, before they are made.
fn check_size(census: &Census, roles: &RoleSpec, n_blocks: usize) -> Result<()> {
    let n = census.n_rows();
    // What is enough for the rarest arm is enough for all.
    let rarest = census.arms().iter().zip(census.arm_rows()).min_by_key(|(_, rows)| *rows);
    if let Some((arm, rows)) = rarest {
        // Dealing leaves some blocks with fewer rows than the mean.
        let mean = rows as f64 / n_blocks as f64;
        if mean - 3.0 * mean.sqrt() < LEAST_ROWS as f64 {
            let needed = (1.5 * LEAST_ROWS as f64 * n as f64 / rows.max(1) as f64).ceil() as usize;
            let message = format!(
                "of {n} rows, {rows} have the value `{arm}`, which is about {mean:.0} for each of {n_blocks} blocks; a block needs \
                 at least {LEAST_ROWS} of every arm: use --block-rows {} or more",
                rounded_up(needed)
            );
            return Err(census.error(Some(&roles.treatment), message));
        }
    }
    Ok(())
}
