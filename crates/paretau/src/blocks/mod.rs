//! A fit of more rows than memory holds: rows are dealt to blocks, each block is fitted like any table, and the blocks' models
//! and rows are put together.
//!
//! A pass over the data counts what must be known of all rows, a second one deals the rows to blocks on the disk
//! (`paretau_data::blocks`). Then one block after the other is read, fitted and dropped. What is left of it is its model, its
//! propensity, and for every row what averages need ([`rows`]).

mod block;
mod entry;
mod mean;
mod rows;
mod together;

use std::path::{Path, PathBuf};

use paretau_core::{Error, Event, FitContext, Result, Warning};
use paretau_data::{BlockFacts, Census, LeftOut, ReadOptions, RoleSpec, RowBlocks, Watch, read_watched};
use paretau_nuisance::{PropensityStack, Score};

pub(crate) use self::mean::BlockMean;

use self::block::{BlockFit, Common, LEAST_ROWS, rounded_up};
use self::rows::{AllRows, Together};
use crate::about::{About, Arm};
use crate::findings;
use crate::fingerprint::Fingerprint;
use crate::fit::{FitOptions, between, fit};
use crate::intervals::{Intervals, calibration};
use crate::model::{Model, TrainingRows};
use crate::nuisances::{self, NuisanceReport};
use crate::propensity_weights::PropensityWeights;
use crate::registry;

/// Blocks whose propensity goes into the model file. Each is fitted on a whole block and good by itself; more of them cost
/// every prediction.
const PROPENSITIES: usize = 8;

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
    entry.build(&options.params, options.tools)?;
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
    let mut dealt = RowBlocks::deal(&census, n_blocks, options.seed.named("deal"), &blocks.scratch, watch)?;
    let encoder = census.encoder(&entry.info().handles.into())?;
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
    let mut fingerprint = Fingerprint::collector();
    let mut gathered = Gathered::default();
    for k in 0..n_blocks {
        let seed = options.seed.named("blocks").indexed(k as u64);
        let fitted = common.fit(dealt.read(k)?, (k, n_blocks), &mut fingerprint, &ctx.with_seed(seed))?;
        gathered.add(fitted);
    }
    let facts =
        BlockFacts { block_rows: blocks.rows, rows: gathered.n_rows.clone(), sampled_rows: census.sampled_rows() };
    let Gathered { models, n_rows, propensities, nuisance_reports, rows, left_out, biases, effects, warnings, arm_rows } =
        gathered;
    let total: usize = n_rows.iter().sum();
    let share = |n: usize| n as f64 / total as f64;
    let shares: Vec<f64> = n_rows.iter().map(|&n| share(n)).collect();
    ctx.event(&Event::Stage { name: "averaging over all blocks".to_owned(), total: None });
    let Together { averages, overlap, map } = rows.finish(census.outcome(), options.estimand)?;
    let diagnostics = {
        let own: Vec<_> = shares.iter().copied().zip(models.iter().map(|(_, model)| model.diagnostics())).collect();
        together::diagnostics(&own)
    };
    let bias = combined_bias(&shares, &biases);
    let mut all_warnings: Vec<Warning> = overlap.warnings.clone();
    all_warnings.extend(together::warnings(warnings.iter().map(Vec::as_slice), n_blocks));
    all_warnings.extend(census.warnings().iter().cloned());
    all_warnings.extend(diagnostics.warnings.iter().cloned());
    let ate = averages.ate.filter(|_| averages.headline == Some(crate::about::Population::Ate));
    let mean_effect: f64 = shares.iter().zip(&effects).map(|(share, effect)| share * effect).sum();
    all_warnings.extend(ate.and_then(|ate| findings::cross_check(mean_effect, &ate)));
    all_warnings.extend(crate::warnings::second_opinion(&averages));
    crate::warnings::by_severity(&mut all_warnings);
    let mut notes = census.notes().to_vec();
    notes.extend(left_out.in_words());
    notes.extend(encoder.notes().iter().cloned());
    notes.extend(what_is_different(&facts, encoder_needs_medians(&census), n_rows.len()));
    for note in &notes {
        ctx.event(&Event::Note { message: note.clone() });
    }
    let reports: Vec<(f64, NuisanceReport)> = shares.iter().copied().zip(nuisance_reports).collect();
    let nuisances = together::nuisances(&reports)
        .ok_or_else(|| Error::internal("a fit in blocks", "there are no blocks"))?;
    let arms: Vec<Arm> = (census.arms().iter().zip(arm_rows).enumerate())
        .map(|(k, (name, n_rows))| Arm {
            name: name.clone(),
            n_rows,
            ate: averages.ate.filter(|_| k == 1),
            averages: None,
        })
        .collect();
    let propensity_weights = PropensityWeights::of_blocks(
        (for_nuisances != encoder).then(|| for_nuisances.clone()),
        stacks(propensities, &n_rows),
        map,
    );
    let source = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let about = About {
        estimator: entry.info().name.to_owned(),
        params: entry.resolved(&options.params)?,
        roles: between(roles, &arms),
        outcome: census.outcome(),
        n_rows: total,
        n_treated: arms.get(1).map_or(0, |arm| arm.n_rows),
        n_features: encoder.columns().len(),
        arms,
        averages,
        groups: None,
        projection: None,
        nuisances,
        diagnostics: diagnostics.clone(),
        overlap,
        warnings: all_warnings,
        notes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        valid_share: options.valid_share,
        source,
        reading: census.reading().clone(),
        blocks: Some(facts),
    };
    let training = TrainingRows {
        fingerprint: fingerprint.finish(),
        held_out_scores: None,
        intervals: Intervals::of_bias(bias),
        evidence: vec![],
        held_out: None,
    };
    let model = BlockMean::new(models, diagnostics)?;
    Ok(Model::new(entry, about, encoder, Box::new(model), propensity_weights, None, training))
}

/// Refuses blocks that would have too few rows of an arm, before they are made.
fn check_size(census: &Census, roles: &RoleSpec, n_blocks: usize) -> Result<()> {
    let n = census.n_rows();
    for (arm, rows) in census.arms().iter().zip(census.arm_rows()) {
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

/// What is kept of the blocks.
#[derive(Default)]
struct Gathered {
    models: Vec<(usize, Box<dyn paretau_core::FittedModel>)>,
    n_rows: Vec<usize>,
    propensities: Vec<PropensityStack>,
    nuisance_reports: Vec<NuisanceReport>,
    rows: AllRows,
    left_out: LeftOut,
    biases: Vec<Option<Score>>,
    effects: Vec<f64>,
    warnings: Vec<Vec<Warning>>,
    arm_rows: [usize; 2],
}

impl Gathered {
    fn add(&mut self, fitted: BlockFit) {
        let BlockFit {
            model,
            propensity,
            nuisances,
            rows,
            extreme,
            left_out,
            squared_bias,
            mean_effect,
            warnings,
        } = fitted;
        let n = rows.t.len();
        let treated = rows.t.iter().filter(|&&t| t == 1).count();
        self.arm_rows[0] += n - treated;
        self.arm_rows[1] += treated;
        self.models.push((n, model));
        self.n_rows.push(n);
        if self.propensities.len() < PROPENSITIES {
            self.propensities.push(propensity);
        }
        self.nuisance_reports.push(nuisances);
        self.rows.add(rows, extreme);
        self.left_out.add(left_out);
        self.biases.push(squared_bias);
        self.effects.push(mean_effect);
        self.warnings.push(warnings);
    }
}

/// Stacks with their shares of the rows that they were fitted on.
fn stacks(propensities: Vec<PropensityStack>, n_rows: &[usize]) -> Vec<(f64, PropensityStack)> {
    let total: usize = n_rows.iter().take(propensities.len()).sum();
    n_rows.iter().map(|&n| n as f64 / total as f64).zip(propensities).collect()
}

/// The bias of the mean of the blocks' effects: as in one fit, over the rows of all blocks.
fn combined_bias(shares: &[f64], biases: &[Option<Score>]) -> Option<f64> {
    let own: Option<Vec<Score>> = biases.iter().copied().collect();
    let own = own.filter(|own| !own.is_empty())?;
    let value = shares.iter().zip(&own).map(|(share, score)| share * score.value).sum();
    let variance: f64 = shares.iter().zip(&own).map(|(share, score)| (share * score.se.unwrap_or(0.0)).powi(2)).sum();
    Some(calibration::root(Score::new(value, Some(variance.sqrt()))))
}

fn encoder_needs_medians(census: &Census) -> bool {
    census.has_gaps_in_numbers() && census.sampled_rows() < census.n_rows()
}

/// What a fit in blocks does otherwise, and what it does not say.
fn what_is_different(facts: &BlockFacts, medians: bool, n_blocks: usize) -> Vec<String> {
    let (least, most) = (facts.rows.iter().min().unwrap_or(&0), facts.rows.iter().max().unwrap_or(&0));
    let mut notes = vec![format!(
        "fitted in {n_blocks} blocks of {least} to {most} rows, which were dealt at random; effects are the mean of the blocks' \
         models, averages and overlap are over all rows"
    )];
    if medians {
        notes.push(format!("gaps in numbers are filled by medians of a sample of {} rows", facts.sampled_rows));
    }
    notes.push(
        "distribution of the effects, subgroups, curves, balance, features that determine the outcome, and how well \
         held-out effects predict are not put together from blocks and left out; ask with rows that were kept aside \
         (`paretau evaluate`) or fit a part of the rows for them"
            .to_owned(),
    );
    if n_blocks > PROPENSITIES {
        notes.push(format!(
            "the propensity of new rows is the mean of the first {PROPENSITIES} blocks' propensities"
        ));
    }
    notes
}
