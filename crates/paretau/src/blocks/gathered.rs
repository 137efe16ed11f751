//! What is kept of the blocks, and the model that comes of it.

use std::path::Path;

use paretau_core::{Error, EstimatorEntry, Event, FitContext, FittedModel, Result, Warning};
use paretau_data::{BlockFacts, Census, Encoder, LeftOut, RoleSpec};
use paretau_nuisance::{PropensityStack, Score};

use super::block::BlockFit;
use super::mean::BlockMean;
use super::rows::{AllRows, Together};
use super::together;
use crate::about::{About, AgainstControl, Arm, Population};
use crate::findings;
use crate::fingerprint::Fingerprint;
use crate::fit::{FitOptions, between};
use crate::intervals::{Intervals, calibration};
use crate::model::{Model, TrainingRows};
use crate::nuisances::NuisanceReport;
use crate::propensity_weights::{ArmPropensity, PropensityWeights};
use crate::warnings;

/// Blocks whose propensity goes into the model file. Each is fitted on a whole block and good by itself; more of them cost
/// every prediction.
const PROPENSITIES: usize = 8;

/// What intervals of single rows are like, as measured in `experiments/large/blocks.md`.
const NARROW: &str = "intervals of single rows hold less often than they say where blocks are small: the mean of the blocks has the bias \
                      of one block; take blocks as large as memory allows";

/// What is kept of the blocks.
#[derive(Default)]
pub(super) struct Gathered {
    models: Vec<(usize, Box<dyn FittedModel>)>,
    /// Rows of each block.
    pub(super) n_rows: Vec<usize>,
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
    /// Keeps what is needed of a block.
    pub(super) fn add(&mut self, fitted: BlockFit) {
        let BlockFit { model, propensity, nuisances, rows, extreme, left_out, squared_bias, mean_effect, warnings } =
            fitted;
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

/// What is known of the whole table and of what was asked.
pub(super) struct Whole<'a> {
    pub(super) entry: &'static dyn EstimatorEntry,
    pub(super) path: &'a Path,
    pub(super) census: &'a Census,
    pub(super) roles: &'a RoleSpec,
    pub(super) options: &'a FitOptions<'a>,
    pub(super) facts: BlockFacts,
    /// For the estimator and for the nuisances.
    pub(super) encoders: (Encoder, Encoder),
    pub(super) fingerprint: Fingerprint,
}

impl Whole<'_> {
    /// The model of all blocks.
    pub(super) fn model(self, gathered: Gathered, ctx: &FitContext<'_>) -> Result<Model> {
        let Self { entry, path, census, roles, options, facts, encoders, fingerprint } = self;
        let (encoder, for_nuisances) = encoders;
        let Gathered {
            models,
            n_rows,
            propensities,
            nuisance_reports,
            rows,
            left_out,
            biases,
            effects,
            warnings: of_blocks,
            arm_rows,
        } = gathered;
        let n_blocks = n_rows.len();
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
        all_warnings.extend(together::warnings(of_blocks.iter().map(Vec::as_slice), n_blocks));
        all_warnings.extend(census.warnings().iter().cloned());
        all_warnings.extend(diagnostics.warnings.iter().cloned());
        let ate = averages.ate.filter(|_| averages.headline == Some(Population::Ate));
        let mean_effect: f64 = shares.iter().zip(&effects).map(|(share, effect)| share * effect).sum();
        all_warnings.extend(ate.and_then(|ate| findings::cross_check(mean_effect, &ate)));
        all_warnings.extend(warnings::second_opinion(&averages));
        warnings::by_severity(&mut all_warnings);
        let mut notes = census.notes().to_vec();
        notes.extend(left_out.in_words());
        notes.extend(encoder.notes().iter().cloned());
        let medians = census.has_gaps_in_numbers() && census.sampled_rows() < census.n_rows();
        notes.extend(what_is_different(&facts, medians, n_blocks));
        notes.extend(bias.map(|_| NARROW.to_owned()));
        for note in &notes {
            ctx.event(&Event::Note { message: note.clone() });
        }
        let reports: Vec<(f64, NuisanceReport)> = shares.iter().copied().zip(nuisance_reports).collect();
        let nuisances =
            together::nuisances(&reports).ok_or_else(|| Error::internal("a fit in blocks", "there are no blocks"))?;
        let mut compared = [None, Some(AgainstControl { averages, overlap, nuisances })].into_iter();
        let arms: Vec<Arm> = (census.arms().iter().zip(arm_rows))
            .map(|(name, n_rows)| Arm { name: name.clone(), n_rows, against_control: compared.next().flatten() })
            .collect();
        let propensity_weights = PropensityWeights::new(
            (for_nuisances != encoder).then(|| for_nuisances.clone()),
            vec![ArmPropensity { stacks: stacks(propensities, &n_rows), map }],
        );
        let source = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let about = About {
            estimator: entry.info().name.to_owned(),
            params: entry.resolved(&options.params)?,
            roles: between(roles, &arms),
            outcome: census.outcome(),
            n_rows: total,
            n_features: encoder.columns().len(),
            arms,
            groups: None,
            projection: None,
            diagnostics: diagnostics.clone(),
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
            fingerprint,
            held_out_scores: None,
            intervals: Intervals::of_bias(bias),
            evidence: vec![],
            held_out: None,
        };
        let model = BlockMean::new(models, diagnostics)?;
        Ok(Model::new(entry, about, encoder, Box::new(model), propensity_weights, None, training))
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
        notes.push(format!("the propensity of new rows is the mean of the first {PROPENSITIES} blocks' propensities"));
    }
    notes
}
