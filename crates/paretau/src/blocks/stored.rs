//! One model over the rows of all blocks, of methods that learn from rows outside of memory (`paretau_core::UnitEstimator`).
//!
//! Rows are dealt to many small units at random. The first block of units is fitted like any table as far as bins and what is taken
//! from some rows alone go. With these the rows of all blocks are coded, one block after the other, and lie on the disk as a byte
//! per cell and a few numbers; no row is predicted by a model that has seen it. Trees draw units and read the rows of those
//! they drew, so that they may be as large as the rows of several blocks. Averages are over all rows; findings, held-out scores
//! and the bias of intervals come from the first block, whose rows are predicted by trees that have not seen them.

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use paretau_core::{
    CodedRows, Error, Event, FitContext, NewRows, Result, StoredUnits, UnitEstimator, UnitScratch, UnitStart, Want,
    near_rows,
};
use paretau_data::{Assigned, BlockFacts, Census, Encoder, ForestFacts, LeftOut, RoleSpec, RowBlocks, ScratchFile};
use paretau_nuisance::{Nuisance, OutcomeStack, StackedNuisances};

use super::BlockOptions;
use super::block::Common;
use super::parts::{self, Parts};
use super::rows::{BlockRows, Together};
use crate::about::{About, Arm};
use crate::assessment::{Assessment, AssessmentRequest, OfAllRows};
use crate::fingerprint::{Collector, Fingerprint};
use crate::fit::{FitOptions, Fitted, Uncertainty, between};
use crate::model::{Model, TrainingRows};
use crate::prepared::Prepared;
use crate::{nuisances, scale, warnings};

/// Units that rows are dealt to, at least: half of them is a half-sample.
const UNITS: usize = 1024;

/// Units for so many blocks.
pub(super) fn n_units(n_blocks: usize) -> usize {
    UNITS.max(n_blocks.next_power_of_two())
}

/// A fit of all blocks' rows.
pub(super) struct StoredFit<'a> {
    pub(super) path: &'a Path,
    pub(super) census: &'a Census,
    /// The roles as they were asked for.
    pub(super) roles: &'a RoleSpec,
    pub(super) common: &'a Common<'a>,
    pub(super) method: &'a dyn UnitEstimator,
    pub(super) options: &'a FitOptions<'a>,
    pub(super) blocks: &'a BlockOptions,
    pub(super) n_blocks: usize,
}

/// What the first block gives to all others.
struct Learned<'a> {
    start: Box<dyn UnitStart + 'a>,
    /// Nuisances of its rows, and their models.
    stacked: StackedNuisances,
    prepared: Prepared,
    /// The unit of each of its rows, among those that are not empty.
    units: Vec<u32>,
}

/// The rows of all blocks.
struct Written {
    file: ScratchFile,
    /// Rows of each unit that has any.
    rows: Vec<usize>,
    parts: Parts,
    left_out: LeftOut,
    arm_rows: [usize; 2],
    block_rows: Vec<usize>,
    fingerprint: Collector,
}

impl<'a> StoredFit<'a> {
    pub(super) fn fit(self, mut dealt: RowBlocks, ctx: &FitContext<'_>) -> Result<Model> {
        let (census, options) = (self.census, self.options);
        let n_units = dealt.rows().len();
        let mut written = Written {
            file: ScratchFile::new(&self.blocks.scratch, n_units)?,
            rows: vec![],
            parts: Parts::new(census.n_rows(), parts::ROWS, census.outcome(), options.estimand),
            left_out: LeftOut::default(),
            arm_rows: [0; 2],
            block_rows: vec![],
            fingerprint: Fingerprint::collector(),
        };
        let mut learned: Option<Learned<'a>> = None;
        for k in 0..self.n_blocks {
            ctx.check_interrupt()?;
            let stage = if k == 0 { "learning from" } else { "reading" };
            ctx.event(&Event::Stage { name: format!("{stage} block {} of {}", k + 1, self.n_blocks), total: None });
            let range = k * n_units / self.n_blocks..(k + 1) * n_units / self.n_blocks;
            learned = Some(self.block(k, range, &mut dealt, (learned, &mut written), ctx)?);
        }
        drop(dealt);
        let learned = learned.ok_or_else(|| Error::internal("a fit in blocks", "there are no blocks"))?;
        self.model(learned, written, ctx)
    }

    /// Reads a block and writes its rows as trees read them; learns from the first one what that takes.
    fn block(
        &self,
        k: usize,
        range: Range<usize>,
        dealt: &mut RowBlocks,
        (learned, written): (Option<Learned<'a>>, &mut Written),
        ctx: &FitContext<'_>,
    ) -> Result<Learned<'a>> {
        let sizes = dealt.rows()[range.clone()].to_vec();
        let assigned = self.common.assign(dealt.read_several(range)?, (k, self.n_blocks))?;
        written.left_out.add(assigned.left_out);
        let encoders = (self.common.encoders.0.clone(), self.common.encoders.1.clone());
        let mut prepared = Prepared::encoded_by(assigned, encoders, self.common.outcome)?;
        written.fingerprint.add(&prepared.assigned, prepared.design.x());
        // The census has warned of the columns of all rows.
        prepared.assigned.warnings.clear();
        let own = prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().and_then(|own| own.rows.as_ref()).unwrap_or(&prepared);
        let design = &prepared.design;
        let (nuisance, coded, first) = match &learned {
            Some(Learned { start, stacked, .. }) => {
                scale::check(&prepared.assigned, design, &self.common.roles.outcome)?;
                let nuisance = predicted(stacked, readable)?;
                (nuisance, start.code(&new_rows(&prepared, &[]))?, None)
            }
            None => {
                let start = self.method.start(design, ctx)?;
                let stacked = nuisances::of_design_keeping(&readable.design, true, ctx)?;
                let known: Vec<(usize, usize)> = (0..design.n_rows()).map(|i| (i, i)).collect();
                let coded = start.code(&new_rows(&prepared, &known))?;
                (stacked.nuisance.clone(), coded, Some((start, stacked)))
            }
        };
        let units = written.add_units(&sizes, &prepared.assigned, &coded)?;
        let rows = BlockRows {
            t: design.t().to_vec(),
            y: design.y().to_vec(),
            weight: design.weight().map(<[f64]>::to_vec),
            groups: design.groups().map(<[u32]>::to_vec),
            nuisance,
        };
        let treated = rows.t.iter().filter(|&&t| t == 1).count();
        written.arm_rows[0] += rows.t.len() - treated;
        written.arm_rows[1] += treated;
        written.block_rows.push(rows.t.len());
        let source = &prepared.assigned.features.source;
        let extreme = rows.most_extreme().into_iter().map(|(edge, i)| (edge, source.row(i))).collect();
        written.parts.add(rows, extreme)?;
        match (learned, first) {
            (Some(learned), _) => Ok(learned),
            (None, Some((start, stacked))) => Ok(Learned { start, stacked, prepared, units }),
            (None, None) => Err(Error::internal("a fit in blocks", "nothing was learned from the first block")),
        }
    }

    /// Fits the model and puts everything together.
    fn model(self, learned: Learned<'a>, written: Written, ctx: &FitContext<'_>) -> Result<Model> {
        let Self { path, census, roles, common, method, options, blocks, .. } = self;
        let Learned { start, stacked, prepared, units } = learned;
        let Written { file, rows, parts, left_out, arm_rows, block_rows, fingerprint } = written;
        let (n, near): (usize, usize) = (rows.iter().sum(), near_rows(blocks.rows));
        let size = method.tree_rows(n, near);
        let file = Scratch(Mutex::new(file));
        let read = |unit: usize| file.read(unit);
        let scratch = || -> Result<Box<dyn UnitScratch>> {
            Ok(Box::new(Scratch(Mutex::new(ScratchFile::new(&blocks.scratch, rows.len())?))))
        };
        let from = StoredUnits { rows: &rows, read: &read, known: &units, near, scratch: &scratch };
        let model = start.fit(&prepared.design, &from, ctx)?;
        ctx.event(&Event::Stage { name: "averaging over all blocks".to_owned(), total: None });
        let Together { averages, overlap, map } = parts.finish()?;
        let (encoder, assessed) = (common.encoders.0.clone(), prepared.design.n_rows());
        let (predictions, held_out) = match model.held_out() {
            Some(held_out) => (held_out.to_vec(), true),
            None => (model.predict(prepared.design.x(), Want::Everything)?, false),
        };
        let scale = scale::check(&prepared.assigned, &prepared.design, &common.roles.outcome)?;
        let fitted = Fitted { prepared, model, predictions, held_out, scale };
        let own = common.entry.info().abilities.intervals;
        let uncertainty = Uncertainty { own, companion: false, replicates: None, individual: false };
        let request = AssessmentRequest { by: &[], n_rows: assessed, estimand: options.estimand, uncertainty };
        let known = OfAllRows { stacked, averages, overlap, map };
        let Assessment {
            mut arms, findings, warnings: mut found, propensity_weights, held_out_scores, intervals, ..
        } = Assessment::with(&fitted, &request, Some(known), ctx)?;
        arms.iter_mut().zip(arm_rows).for_each(|(arm, n): (&mut Arm, usize)| arm.n_rows = n);
        found.extend(census.warnings().iter().cloned());
        warnings::by_severity(&mut found);
        let facts = BlockFacts {
            block_rows: blocks.rows,
            rows: block_rows,
            sampled_rows: census.sampled_rows(),
            forest: Some(ForestFacts {
                tree_rows: size.map(|size| size.min(n)),
                assessed_rows: assessed,
                units: rows.len(),
            }),
        };
        let notes = notes(census, &left_out, &encoder, &facts);
        for note in &notes {
            ctx.event(&Event::Note { message: note.clone() });
        }
        let about = About {
            estimator: common.entry.info().name.to_owned(),
            params: common.entry.resolved(&options.params)?,
            roles: between(roles, &arms),
            outcome: census.outcome(),
            n_rows: n,
            n_features: encoder.columns().len(),
            arms,
            groups: None,
            projection: None,
            diagnostics: fitted.model.diagnostics().clone(),
            warnings: found,
            notes,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: options.seed,
            valid_share: options.valid_share,
            source: path.file_name().and_then(|name| name.to_str()).map(str::to_owned),
            reading: census.reading().clone(),
            blocks: Some(facts),
        };
        let training = TrainingRows {
            fingerprint: fingerprint.finish(),
            held_out_scores,
            intervals,
            evidence: vec![],
            held_out: None,
        };
        Ok(Model::new(common.entry, about, encoder, fitted.model, propensity_weights, Some(findings), training))
    }
}

/// Chunks of bytes of units on the disk, for several threads.
struct Scratch(Mutex<ScratchFile>);

impl UnitScratch for Scratch {
    fn add(&self, unit: usize, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(unit, bytes)
    }

    fn read(&self, unit: usize) -> Result<Vec<u8>> {
        let mut all = vec![];
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(unit, |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }
}

impl Written {
    /// Writes the rows of units that lie one after the other, `sizes` rows each before some were left out; gives the number of
    /// each row's unit.
    fn add_units(&mut self, sizes: &[usize], assigned: &Assigned, coded: &CodedRows) -> Result<Vec<u32>> {
        let rows = &assigned.rows;
        let mut units = Vec::with_capacity(rows.len());
        let (mut at, mut end) = (0, 0);
        for size in sizes {
            end += size;
            let next = at + rows[at..].partition_point(|&row| row < end);
            if next > at {
                let unit = self.rows.len();
                self.file.add(unit, &coded.to_bytes(at..next))?;
                self.rows.push(next - at);
                units.resize(next, unit as u32);
            }
            at = next;
        }
        Ok(units)
    }
}

/// Rows of a block to be coded; `known` are those that the forest started with.
fn new_rows<'a>(prepared: &'a Prepared, known: &'a [(usize, usize)]) -> NewRows<'a> {
    let design = &prepared.design;
    NewRows { x: design.x(), t: design.t(), y: design.y(), weight: design.weight(), e: design.propensity(), known }
}

/// Nuisances of rows that the models have not seen.
fn predicted(stacked: &StackedNuisances, rows: &Prepared) -> Result<Nuisance> {
    let models: &OutcomeStack = (stacked.outcome_models.as_ref())
        .ok_or_else(|| Error::internal("a fit in blocks", "the models of the outcomes were not kept"))?;
    let x = rows.design.x();
    let [mu0, mu1] = models.predict(x)?;
    let e = match rows.design.propensity() {
        Some(known) => known.to_vec(),
        None => stacked.propensity_model.predict(x)?,
    };
    let nuisance = Nuisance::from_arms(mu0, mu1, e);
    nuisance.check(x.n_rows())?;
    Ok(nuisance)
}

/// What was done to the data, and what a fit over blocks does otherwise.
fn notes(census: &Census, left_out: &LeftOut, encoder: &Encoder, facts: &BlockFacts) -> Vec<String> {
    let mut notes = census.notes().to_vec();
    notes.extend(left_out.in_words());
    notes.extend(encoder.notes().iter().cloned());
    if let Some(ForestFacts { tree_rows, assessed_rows, .. }) = facts.forest {
        let trees = tree_rows.map_or_else(String::new, |rows| {
            format!(", whose trees of effects see about {rows} rows each, drawn from all blocks")
        });
        notes.push(format!(
            "fitted in {} blocks: one model over all rows{trees}; the nuisances of averages are learned from the {assessed_rows} rows \
             of the first block, a random part of all; averages and overlap are over all rows",
            facts.n_blocks()
        ));
        notes.push(format!(
            "distribution of the effects, subgroups, curves, balance and how well held-out effects predict are those of the \
             {assessed_rows} rows of the first block"
        ));
    }
    if census.has_gaps_in_numbers() && census.sampled_rows() < census.n_rows() {
        notes.push(format!("gaps in numbers are filled by medians of a sample of {} rows", census.sampled_rows()));
    }
    notes
}
