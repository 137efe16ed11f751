//! Fitting: one model per fold, grown round by round together, stopped where held-out rows are predicted best.

use paretau_core::{Error, Event, FitContext, RegressionTask, Result, Seed, Target, folds};
use paretau_kernels::numeric::weighted_mean;
use paretau_nuisance::folds::fold_count;
use rayon::prelude::*;

use super::config::{BoostingConfig, BoostingRegressor};
use super::fixed::{FixedPoint, fits_one};
use super::grow::{LeafRows, Limits, Workspace, grow};
use super::histogram::Layout;
use super::loss::{Loss, SURE, median};
use super::model::{BoostedTrees, Facts};
use super::split::SplitRule;
use crate::bins::{MISSING, NARROW};
use crate::codes::{Cells, Codes};
use crate::forest::{BinnedRows, Forest};
use crate::importance::importance;
use crate::input::{self, binned_rows};
use crate::tree::Tree;

/// Rounds that the folds' models grow between two looks at the held-out rows.
const ROUNDS_AT_A_TIME: usize = 10;
/// Leaves per tree that are tried when none are given: few, for sums of simple effects; and many, for interactions, where
/// there are rows enough to find them.
const LEAVES_TRIED: [usize; 2] = [4, 16];
/// Rows from which on many leaves are tried too.
const MANY_ROWS: usize = 1000;
/// Rows per bin, about, unless that leaves few bins: of few rows, finer bins cost time and tell nothing more.
const ROWS_PER_BIN: usize = 8;
const FEW_BINS: usize = 32;
/// A tree's step in log-odds, at most.
const LARGEST_STEP: f64 = 10.0;

/// What all models of a fit share.
struct Rows<'a> {
    binned: &'a BinnedRows,
    cells: &'a [u8],
    /// Outcomes: those of means centred and scaled.
    y: Vec<f64>,
    /// Weights with mean 1.
    weight: Option<Vec<f64>>,
    loss: Loss,
    config: &'a BoostingConfig,
    ctx: &'a FitContext<'a>,
}

impl Rows<'_> {
    fn w(&self, row: u32) -> f64 {
        self.weight.as_ref().map_or(1.0, |w| w[row as usize])
    }

    fn codes(&self) -> &Codes {
        &self.binned.codes
    }
}

/// Fits boosted trees.
pub(super) fn fit(config: &BoostingConfig, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<BoostedTrees> {
    input::check_regression(task)?;
    let n = task.x.n_rows();
    let loss = BoostingRegressor::loss(config, task.target);
    if task.x.n_cols() > NARROW {
        return Err(Error::unfit(format!(
            "boosting takes at most {NARROW} feature columns, there are {}; select or combine columns, or use the base learner \
             `forest`",
            task.x.n_cols()
        )));
    }
    let n_bins = config.max_bins.min((n / ROWS_PER_BIN).max(FEW_BINS));
    let binned = binned_rows(task.x, task.columns, n_bins, false)?;
    let Cells::Byte(cells) = &binned.codes.cells else {
        return Err(Error::internal("boosting", "columns were not binned to bytes"));
    };
    let (offset, scale) = if loss == Loss::Logistic { (0.0, 1.0) } else { level(task)? };
    let mean_weight = task.weight.map(|w| w.iter().sum::<f64>() / n as f64);
    let rows = Rows {
        binned: &binned,
        cells,
        y: task.y.iter().map(|y| (y - offset) / scale).collect(),
        weight: task.weight.zip(mean_weight).map(|(w, mean)| w.iter().map(|w| w / mean).collect()),
        loss,
        config,
        ctx,
    };
    let parts = parts(config, task, ctx.seed)?;
    let chosen = if loss.has_equal_curvature() && rows.weight.is_none() && fits_one(n) {
        boost::<1>(&rows, &parts)?
    } else {
        boost::<2>(&rows, &parts)?
    };
    let has_held_out = parts.iter().all(|part| !part.held_out.is_empty());
    let mut chosen = chosen;
    let mut held_out = if has_held_out { chosen.held_out(&rows, &parts) } else { vec![] };
    if has_held_out && chosen.rounds > 0 && !chosen.is_better_than_chance(&rows, &parts, &held_out) {
        chosen.drop_trees();
        held_out = chosen.held_out(&rows, &parts);
    }
    let mut forest = Forest::empty(binned.bins.clone(), 1, 1);
    chosen.models.iter().flat_map(|model| &model.trees).for_each(|tree| forest.push(tree));
    if forest.n_trees() == 0 {
        forest.push(&Tree { nodes: vec![crate::tree::Node::leaf(0)], leaves: vec![0.0], ..Tree::default() });
    }
    let n_models = chosen.models.len();
    let start = chosen.models.iter().map(|model| model.start).sum::<f64>() / n_models as f64;
    let facts = Facts {
        loss,
        offset,
        scale,
        start,
        n_models,
        n_rows: n,
        rounds: chosen.rounds,
        max_leaves: chosen.max_leaves,
        held_out_loss: chosen.held_out_loss,
        importance: importance(&forest, task.columns),
    };
    Ok(BoostedTrees::new(facts, forest, held_out))
}

/// Level and spread of the outcomes, so that scores are of size 1 whatever the outcome's unit.
fn level(task: &RegressionTask<'_>) -> Result<(f64, f64)> {
    let offset = weighted_mean(task.y, task.weight);
    let squares: Vec<f64> = task.y.iter().map(|y| (y - offset).powi(2)).collect();
    let sd = weighted_mean(&squares, task.weight).sqrt();
    if !(offset.is_finite() && sd.is_finite()) {
        return Err(Error::unfit("the outcomes are too large to be added up; give them in a larger unit"));
    }
    Ok((offset, if sd > 0.0 { sd } else { 1.0 }))
}

/// Rows that one model learns from, and rows that only follow: those it holds out, and those without weight.
struct Part {
    train: Vec<u32>,
    followers: Vec<u32>,
    /// Among all rows those that the model holds out.
    held_out: Vec<usize>,
}

/// The rows of each model. Groups stay together, and the classes of a 0/1 outcome are shared out evenly; where not even two
/// folds are possible nobody is held out.
fn parts(config: &BoostingConfig, task: &RegressionTask<'_>, seed: Seed) -> Result<Vec<Part>> {
    let n = task.x.n_rows();
    let strata: Vec<u8> = match task.target {
        Target::Probability => task.y.iter().map(|&y| u8::from(y > 0.5)).collect(),
        Target::Mean => vec![0; n],
    };
    let weighs = |i: usize| task.weight.is_none_or(|w| w[i] > 0.0);
    let part = |train: &[usize], held_out: &[usize]| {
        let (train, weightless): (Vec<usize>, Vec<usize>) = train.iter().partition(|&&i| weighs(i));
        Part {
            train: train.iter().map(|&i| i as u32).collect(),
            followers: held_out.iter().chain(&weightless).map(|&i| i as u32).collect(),
            held_out: held_out.to_vec(),
        }
    };
    let count = if config.folds > 1 { fold_count(&strata, task.groups, config.folds) } else { None };
    let Some(count) = count else {
        let all: Vec<usize> = (0..n).collect();
        return Ok(vec![part(&all, &[])]);
    };
    let all = folds(&strata, task.groups, count, seed.named("folds"))?;
    let parts: Vec<Part> = all.iter().map(|fold| part(&fold.train, &fold.held_out)).collect();
    // With most weights 0 a fold may have nothing to learn from.
    if parts.iter().any(|part| part.train.is_empty()) {
        let all: Vec<usize> = (0..n).collect();
        return Ok(vec![part(&all, &[])]);
    }
    Ok(parts)
}

/// One model while it grows.
struct Growing<const L: usize> {
    start: f64,
    /// Scores of all rows so far.
    scores: Vec<f64>,
    trees: Vec<Tree>,
    /// Loss of the rows held out after each round, summed with weights; that of the start first.
    losses: Vec<f64>,
    work: Workspace<L>,
    derivatives: Vec<(f64, f64)>,
    /// Nothing more can be split.
    is_done: bool,
}

/// One model of those that are kept.
struct Model {
    start: f64,
    trees: Vec<Tree>,
}

/// What a choice of leaves leads to.
struct Boosted {
    models: Vec<Model>,
    rounds: usize,
    max_leaves: usize,
    /// Mean loss of the rows held out; nothing without folds.
    held_out_loss: Option<f64>,
}

/// The models of all folds, with the leaves that predict held-out rows best.
fn boost<const L: usize>(rows: &Rows<'_>, parts: &[Part]) -> Result<Boosted> {
    let tried = match rows.config.max_leaves {
        Some(leaves) => vec![leaves],
        None if rows.y.len() < MANY_ROWS => LEAVES_TRIED[..1].to_vec(),
        None => LEAVES_TRIED.to_vec(),
    };
    let mut chosen: Option<Boosted> = None;
    for (k, max_leaves) in tried.into_iter().enumerate() {
        let seed = rows.ctx.seed.named("leaves").indexed(k as u64);
        let next = boost_with::<L>(rows, parts, max_leaves, seed)?;
        if chosen.as_ref().is_none_or(|best| next.held_out_loss < best.held_out_loss) {
            chosen = Some(next);
        }
    }
    chosen.ok_or_else(|| Error::internal("boosting", "no number of leaves to try"))
}

fn boost_with<const L: usize>(rows: &Rows<'_>, parts: &[Part], max_leaves: usize, seed: Seed) -> Result<Boosted> {
    let (config, ctx) = (rows.config, rows.ctx);
    let mut growing: Vec<Growing<L>> = parts.par_iter().map(|part| Growing::new(rows, part)).collect();
    let has_held_out = parts.iter().all(|part| !part.held_out.is_empty());
    // Asked to hold rows out where none can be: too few rows to learn more from than the mean.
    let most = if has_held_out || config.folds == 1 { config.n_estimators } else { 0 };
    let name = format!("boosting trees of {max_leaves} leaves");
    ctx.event(&Event::Stage { name, total: Some(most as u64) });
    let total_weight: f64 = parts.iter().flat_map(|p| &p.held_out).map(|&i| rows.w(i as u32)).sum();
    let (mut rounds, mut best) = (0, (0, f64::INFINITY));
    while rounds < most {
        let next = (rounds + ROUNDS_AT_A_TIME).min(most);
        growing
            .par_iter_mut()
            .zip(parts)
            .enumerate()
            .try_for_each(|(k, (model, part))| model.grow(rows, part, max_leaves, next, seed.indexed(k as u64)))?;
        rounds = next;
        ctx.event(&Event::Progress { done: rounds as u64 });
        if has_held_out {
            best = lowest(&growing, total_weight);
            if best.0 + config.patience <= rounds {
                break;
            }
        }
        if growing.iter().all(|model| model.is_done) {
            break;
        }
    }
    if has_held_out && total_weight > 0.0 {
        rounds = best.0;
    }
    let models = growing.into_iter().map(|mut model| {
        model.trees.truncate(rounds);
        Model { start: model.start, trees: model.trees }
    });
    let held_out_loss = (has_held_out && best.1.is_finite()).then_some(best.1);
    Ok(Boosted { models: models.collect(), rounds, max_leaves, held_out_loss })
}

/// The round after which held-out rows are predicted best, and their mean loss there; the first of equals.
fn lowest<const L: usize>(growing: &[Growing<L>], total_weight: f64) -> (usize, f64) {
    let n_rounds = growing.iter().map(|model| model.losses.len()).max().unwrap_or(0);
    let mut best = (0, f64::INFINITY);
    for round in 0..n_rounds {
        // A model that is done keeps its last loss.
        let loss_of = |model: &Growing<L>| model.losses.get(round).or(model.losses.last()).copied().unwrap_or(0.0);
        let loss = growing.iter().map(loss_of).sum::<f64>() / total_weight;
        if loss < best.1 {
            best = (round, loss);
        }
    }
    best
}

impl<const L: usize> Growing<L> {
    fn new(rows: &Rows<'_>, part: &Part) -> Self {
        let mut outcomes: Vec<(f64, f64)> = part.train.iter().map(|&i| (rows.y[i as usize], rows.w(i))).collect();
        let start = rows.loss.best_constant(&mut outcomes);
        let n = rows.y.len();
        let mut out = Self {
            start,
            scores: vec![start; n],
            trees: vec![],
            losses: vec![],
            work: Workspace::default(),
            derivatives: vec![(0.0, 0.0); n],
            is_done: false,
        };
        out.work.values.resize(n, [0; L]);
        out.losses.push(out.held_out_loss(rows, part));
        out
    }

    /// Goes on until there are so many rounds.
    fn grow(&mut self, rows: &Rows<'_>, part: &Part, max_leaves: usize, until: usize, seed: Seed) -> Result<()> {
        while self.trees.len() < until && !self.is_done {
            rows.ctx.check_interrupt()?;
            let round = seed.indexed(self.trees.len() as u64);
            self.draw_rows(rows, part, round);
            let (g, h) = self.derive(rows);
            let config = rows.config;
            let is_random = config.max_samples < 1.0 || config.feature_share < 1.0;
            let layout = Layout::new(rows.codes(), columns(rows, round));
            let rule = SplitRule {
                min_leaf_size: config.min_leaf_size.min(u32::MAX as usize) as u32,
                l2: config.l2,
                fixed: FixedPoint::new::<L>(rows.y.len(), g, h),
            };
            for &row in &self.work.rows {
                let (g, h) = self.derivatives[row as usize];
                self.work.values[row as usize] = rule.fixed.pack(g, h);
            }
            let limits = Limits { max_leaves, max_depth: config.max_depth.unwrap_or(usize::MAX), rule };
            let (mut tree, leaves) = grow(&limits, &layout, rows.codes(), rows.cells, &mut self.work);
            self.is_done = leaves.len() == 1 && !is_random;
            for (leaf, value) in leaves.iter().zip(&mut tree.leaves) {
                *value = self.step(rows, leaf) as f32;
                let step = f64::from(*value);
                let (own, others) = (&self.work.rows[leaf.rows.clone()], &self.work.others[leaf.others.clone()]);
                own.iter().chain(others).for_each(|&row| self.scores[row as usize] += step);
            }
            tree.nodes.shrink_to_fit();
            self.trees.push(tree);
            self.losses.push(self.held_out_loss(rows, part));
        }
        Ok(())
    }

    /// The rows that the next tree learns from, and those that follow it; both ascending but for followers of both kinds.
    fn draw_rows(&mut self, rows: &Rows<'_>, part: &Part, seed: Seed) {
        let work = &mut self.work;
        work.rows.clear();
        work.others.clear();
        work.others.extend_from_slice(&part.followers);
        let (n, share) = (part.train.len(), rows.config.max_samples);
        if share >= 1.0 {
            work.rows.extend_from_slice(&part.train);
            return;
        }
        let size = ((n as f64 * share).round() as usize).clamp(1, n);
        let mut is_drawn = vec![false; n];
        seed.named("rows").rng().sample(n, size).into_iter().for_each(|k| is_drawn[k] = true);
        for (&row, is_drawn) in part.train.iter().zip(is_drawn) {
            (if is_drawn { &mut work.rows } else { &mut work.others }).push(row);
        }
    }

    /// Derivatives of the loss for the rows of the next tree; the largest of both kinds.
    fn derive(&mut self, rows: &Rows<'_>) -> (f64, f64) {
        let mut largest = (0.0_f64, 0.0_f64);
        for &row in &self.work.rows {
            let i = row as usize;
            let (g, h) = rows.loss.derivatives(self.scores[i], rows.y[i]);
            let w = rows.w(row);
            self.derivatives[i] = (w * g, w * h);
            largest = (largest.0.max((w * g).abs()), largest.1.max(w * h));
        }
        largest
    }

    /// The step that a leaf's rows take.
    fn step(&self, rows: &Rows<'_>, leaf: &LeafRows) -> f64 {
        let config = rows.config;
        let own = &self.work.rows[leaf.rows.clone()];
        let step = if rows.loss == Loss::Absolute {
            let mut residuals: Vec<(f64, f64)> =
                own.iter().map(|&i| (rows.y[i as usize] - self.scores[i as usize], rows.w(i))).collect();
            let weight: f64 = residuals.iter().map(|(_, w)| w).sum();
            if weight > 0.0 { median(&mut residuals) * weight / (weight + config.l2) } else { 0.0 }
        } else {
            let (g, h) =
                own.iter().map(|&i| self.derivatives[i as usize]).fold((0.0, 0.0), |s, d| (s.0 + d.0, s.1 + d.1));
            if h + config.l2 > 0.0 { -g / (h + config.l2) } else { 0.0 }
        };
        let step = if rows.loss == Loss::Logistic { step.clamp(-LARGEST_STEP, LARGEST_STEP) } else { step };
        config.learning_rate * step
    }

    fn held_out_loss(&self, rows: &Rows<'_>, part: &Part) -> f64 {
        part.held_out
            .iter()
            .map(|&i| rows.w(i as u32) * rows.loss.value(self.scores[i].clamp(-rows.bound(), rows.bound()), rows.y[i]))
            .sum()
    }
}

impl Rows<'_> {
    /// Largest score that counts.
    fn bound(&self) -> f64 {
        if self.loss == Loss::Logistic { SURE } else { f64::INFINITY }
    }
}

/// The columns that a tree sees, ascending.
fn columns(rows: &Rows<'_>, seed: Seed) -> Vec<u16> {
    let p = rows.codes().n_cols();
    let share = rows.config.feature_share;
    if share >= 1.0 {
        return (0..p as u16).collect();
    }
    let size = ((p as f64 * share).ceil() as usize).clamp(1, p.max(1));
    let mut drawn: Vec<u16> = seed.named("columns").rng().sample(p, size).into_iter().map(|j| j as u16).collect();
    drawn.sort_unstable();
    drawn
}

impl Boosted {
    /// Whether held-out rows are predicted better than by constants, by more than one standard error. The best of many
    /// rounds always looks a little better than the first, even where there is nothing to learn.
    fn is_better_than_chance(&self, rows: &Rows<'_>, parts: &[Part], held_out: &[f64]) -> bool {
        let (mut sum, mut squares, mut n) = (0.0, 0.0, 0.0);
        for (model, part) in self.models.iter().zip(parts) {
            for &i in &part.held_out {
                let before = rows.loss.value(model.start, rows.y[i]);
                let gain = rows.w(i as u32)
                    * (before - rows.loss.value(held_out[i].clamp(-rows.bound(), rows.bound()), rows.y[i]));
                sum += gain;
                squares += gain * gain;
                n += 1.0;
            }
        }
        sum > (squares - sum * sum / n).max(0.0).sqrt()
    }

    /// Leaves only the constants.
    fn drop_trees(&mut self) {
        self.models.iter_mut().for_each(|model| model.trees.clear());
        self.rounds = 0;
    }

    /// Scores of every row by the model that has not seen it.
    fn held_out(&self, rows: &Rows<'_>, parts: &[Part]) -> Vec<f64> {
        let codes = rows.codes();
        let mut out = vec![0.0; codes.n_rows];
        for (model, part) in self.models.iter().zip(parts) {
            let scores: Vec<f64> = part
                .held_out
                .par_iter()
                .with_min_len(256)
                .map(|&row| {
                    model.start + model.trees.iter().map(|tree| value(tree, codes, rows.cells, row)).sum::<f64>()
                })
                .collect();
            part.held_out.iter().zip(scores).for_each(|(&row, score)| out[row] = score);
        }
        out
    }
}

/// What a tree gives a training row.
fn value(tree: &Tree, codes: &Codes, cells: &[u8], row: usize) -> f64 {
    let mut node = tree.nodes[0];
    while !node.is_leaf() {
        let j = usize::from(node.feature);
        let code = u16::from(cells[j * codes.n_rows + row]);
        let code = if code == codes.missing[j] { MISSING } else { code };
        node = tree.nodes[(node.index() + node.right(code, &tree.sets)) as usize];
    }
    f64::from(tree.leaves[node.index() as usize])
}
