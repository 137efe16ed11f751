//! The representation net: encoders, propensity net, two outcome heads, and the losses of its two phases.
//!
//! Phase 0 moves the propensity net alone. Phase 1 moves encoders and heads with the propensity's parameters frozen, but its
//! inputs are not: gradients run through the weights into Γ and Δ. On wish the propensity's cross-entropy moves Γ too, and Γ alone.
//!
//! Rows of a batch are controls first, so each head reads a block of rows, and encoders' outputs are columns
//! `[Γ | Δ | Υ]`, so the propensity net reads the first columns and the heads the last ones: nothing is copied together.

use std::collections::BTreeMap;

use paretau_core::Result;
use paretau_kernels::error::KernelError;
use paretau_kernels::fallback::{FallBack, TailFit};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::MatMut;
use paretau_kernels::real::Real;
use paretau_kernels::weights::{Weigher, WeightReport, Weighting};

use super::nets::{Nets, columns, columns_mut};
use super::spec::{Objective, RepSpec};
use super::{Model, Scores};
use crate::data::{Batch, Rows, Sample};
use crate::engine::{Dropout, Input, Layout, Mode, Move, NetWork};
use crate::error::failed;
use crate::loss::balance::Stripe;
use crate::loss::independence::IndependenceWork;
use crate::loss::targeted::{Fluctuation, targeted};
use crate::loss::{Balance, BalanceWork, propensity, separation};
use crate::weigh::{khat, log_weight};

/// Phase of the propensity net.
pub const PROPENSITY: usize = 0;
/// Phase of everything else.
pub const OUTCOME: usize = 1;

/// Weights whose effective sample size is this share of the rows are as good as equal: their standard deviation is a tenth of
/// their mean.
const ALIKE: f64 = 0.99;

/// Numbers gathered over steps.
#[derive(Debug, Clone, Default)]
struct Gathered {
    largest: f64,
    fits: f64,
    left: f64,
    equal: f64,
    capped: f64,
    ess: f64,
    steps: f64,
}

/// A representation net with its buffers.
#[derive(Debug)]
pub struct RepNet<T> {
    pub(super) spec: RepSpec,
    pub(super) objective: Objective,
    pub(super) nets: Nets,
    pub(super) rows: Rows<T>,
    pub(super) encoded: NetWork<T>,
    pub(super) propensity_work: Option<NetWork<T>>,
    pub(super) answered: [NetWork<T>; 2],
    /// Held-out rows being scored.
    pub(super) picked: Vec<usize>,
    capacity: usize,
    weigher: Weigher,
    balance: BalanceWork<T>,
    independence: IndependenceWork,
    /// The batch at hand.
    t: Vec<u8>,
    n0: usize,
    key: u64,
    /// What a row counts for: its weight and its arm's share, over the batch.
    coefficients: Vec<T>,
    y: Vec<T>,
    h: Vec<T>,
    d_h: Vec<T>,
    logits: Vec<f64>,
    known: bool,
    w: Vec<f64>,
    g_w: Vec<f64>,
    g_logit: Vec<f64>,
    d_logit: Vec<T>,
    /// What the cross-entropy pulls the logits by for Γ's sake, and the derivatives of the logits by what the propensity net reads.
    d_taught: Vec<T>,
    slopes: Vec<T>,
    fresh: bool,
    gathered: Gathered,
}

impl<T: Real> RepNet<T> {
    /// A net for batches of up to `capacity` rows of `sample`.
    pub fn new(spec: RepSpec, objective: Objective, sample: &Sample<T>, capacity: usize) -> Result<Self> {
        let nets = Nets::new(&spec, objective.targeted > 0.0);
        let weigher = Weigher::new(objective.weighting, objective.pooling, objective.gamma).map_err(failed)?;
        let row = || Vec::with_capacity(capacity);
        let row64 = || Vec::with_capacity(capacity);
        Ok(Self {
            rows: Rows::with_capacity(&sample.table, capacity),
            encoded: nets.encoders.work(capacity, true),
            propensity_work: nets.propensity.as_ref().map(|net| net.work(capacity, true)),
            answered: [nets.heads[0].work(capacity, true), nets.heads[1].work(capacity, true)],
            picked: Vec::with_capacity(capacity),
            capacity,
            weigher,
            balance: BalanceWork::default(),
            independence: IndependenceWork::default(),
            t: Vec::with_capacity(capacity),
            n0: 0,
            key: 0,
            coefficients: row(),
            y: row(),
            h: row(),
            d_h: row(),
            logits: row64(),
            known: sample.known_logit.is_some(),
            w: row64(),
            g_w: row64(),
            g_logit: row64(),
            d_logit: row(),
            d_taught: row(),
            slopes: Vec::new(),
            fresh: false,
            gathered: Gathered::default(),
            spec,
            objective,
            nets,
        })
    }

    /// The nets.
    pub fn nets(&self) -> &Nets {
        &self.nets
    }

    /// Whether the weights depend on the propensity.
    fn weighs(&self) -> bool {
        self.objective.gamma > 0.0 && !matches!(self.objective.weighting, Weighting::Uniform | Weighting::InverseShare)
    }

    /// Whether the propensity's cross-entropy moves the first encoder, which then the propensity net reads first.
    fn teaches(&self) -> bool {
        let reads_first = self.spec.propensity.as_ref().is_some_and(|(_, reads)| reads.start == 0);
        self.objective.instruments > 0.0 && reads_first
    }

    pub(super) fn width(&self) -> (usize, usize) {
        (self.spec.groups * self.spec.representation, self.spec.representation)
    }

    /// Rows that the buffers hold.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The encoders' outputs are no longer those of the batch.
    pub(super) fn stale(&mut self) {
        self.fresh = false;
    }

    fn mask(&self, net: u64) -> Option<Dropout<T>> {
        Dropout::new(self.spec.dropout, self.key ^ net.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    fn encode(&mut self, sample: &Sample<T>, params: &[T], parallelism: Parallelism) -> Result<(), KernelError> {
        if self.fresh {
            return Ok(());
        }
        let input = self.rows.input(&sample.table)?;
        let mode = Mode::Training(self.mask(1));
        self.nets.encoders.forward(params, input, (self.t.len(), mode), &mut self.encoded, parallelism)?;
        self.fresh = true;
        Ok(())
    }

    /// Runs the propensity net on the encoded batch: to train it, or to read its answer.
    fn run_propensity(&mut self, params: &[T], train: bool, parallelism: Parallelism) -> Result<(), KernelError> {
        let (Some(net), Some(work), Some((_, reads))) =
            (&self.nets.propensity, &mut self.propensity_work, &self.spec.propensity)
        else {
            return Ok(());
        };
        let n = self.t.len();
        let width = (self.spec.groups * self.spec.representation, self.spec.representation);
        let input = Input::Dense(columns(self.encoded.output(), width, 0..n, reads)?);
        let mask = || Dropout::new(self.spec.dropout, self.key ^ 0x5851_f42d_4c95_7f2d);
        let mode = if train { Mode::Training(mask()) } else { Mode::Evaluation };
        net.forward(params, input, (n, mode), work, parallelism)
    }

    fn propensity_loss(
        &mut self,
        sample: &Sample<T>,
        (params, grads): (&[T], &mut [T]),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.encode(sample, params, parallelism)?;
        self.run_propensity(params, true, parallelism)?;
        let width = self.width();
        let (Some(net), Some(work), Some((_, reads))) =
            (&self.nets.propensity, &mut self.propensity_work, &self.spec.propensity)
        else {
            return Ok(0.0);
        };
        let (logits, d) = work.output_and_gradient();
        let loss = propensity::cross_entropy(logits, self.n0, &self.coefficients, d);
        let input = Input::Dense(columns(self.encoded.output(), width, 0..self.t.len(), reads)?);
        net.backward(params, input, work, (Some(grads), None), parallelism)?;
        Ok(loss)
    }

    /// Weights of the batch into `self.w`; uniform ones do not need the propensity.
    fn weigh(&mut self, sample: &Sample<T>) -> Result<Option<WeightReport>, KernelError> {
        let n = self.t.len();
        self.w.clear();
        self.w.resize(n, 1.0);
        if !self.weighs() && matches!(self.objective.weighting, Weighting::Uniform) {
            return Ok(None);
        }
        if !self.known {
            self.logits.clear();
            match &self.propensity_work {
                Some(work) if self.weighs() => self.logits.extend(work.output().iter().map(|v| v.to_f64())),
                _ => self.logits.resize(n, 0.0),
            }
        }
        self.weigher.forward(&self.logits, &self.t, sample.treated, &mut self.w).map(Some)
    }

    fn outcome_loss(
        &mut self,
        sample: &Sample<T>,
        (params, grads): (&[T], &mut [T]),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.encode(sample, params, parallelism)?;
        let (n, n0, width) = (self.t.len(), self.n0, self.width());
        let joint = self.objective.joint > 0.0 || self.objective.targeted > 0.0;
        if joint || self.teaches() || (self.weighs() && !self.known) {
            self.run_propensity(params, joint, parallelism)?;
        }
        let report = self.weigh(sample)?;
        if self.weighs() {
            self.gather(report.as_ref());
        }

        // Heads: each on the rows of its arm.
        self.h.clear();
        for (arm, rows) in [0..n0, n0..n].into_iter().enumerate() {
            let mode = Mode::Training(self.mask(3 + arm as u64));
            let input = Input::Dense(columns(self.encoded.output(), width, rows.clone(), &self.spec.head_reads)?);
            let work = &mut self.answered[arm];
            self.nets.heads[arm].forward(params, input, (rows.len(), mode), work, parallelism)?;
            self.h.extend_from_slice(work.output());
        }
        let mut loss = 0.0;
        self.g_w.clear();
        self.d_h.clear();
        for i in 0..n {
            let (value, slope) = self.objective.loss.at(self.h[i], self.y[i]);
            let c = self.coefficients[i];
            let w = T::from_f64(self.w[i]);
            loss += (c * w * value).to_f64();
            self.g_w.push((c * value).to_f64());
            self.d_h.push(c * w * slope);
        }

        // What the propensity net's logits are pulled by: cross-entropy and fluctuation when trained jointly, and the
        // outcome loss through the weights.
        self.d_logit.clear();
        self.d_logit.resize(n, T::ZERO);
        if let (true, Some(work)) = (joint, &self.propensity_work) {
            let logits = work.output();
            let ce = propensity::cross_entropy(logits, n0, &self.coefficients, &mut self.d_logit);
            let strength = T::from_f64(self.objective.joint);
            self.d_logit.iter_mut().for_each(|d| *d *= strength);
            loss += self.objective.joint * ce;
            if let Some(block) = self.nets.epsilon {
                let terms = Fluctuation {
                    h: &self.h,
                    y: &self.y,
                    logits,
                    coefficients: &self.coefficients,
                    n0,
                    epsilon: params[block.start],
                    strength: T::from_f64(self.objective.targeted),
                };
                let (value, d_epsilon) = targeted(&terms, &mut self.d_h, &mut self.d_logit);
                loss += value;
                grads[block.start] = d_epsilon;
            }
        }
        let through_weights = self.weighs() && !self.known;
        if through_weights {
            self.g_logit.clear();
            self.g_logit.resize(n, 0.0);
            self.weigher.vjp(&self.g_w, &mut self.g_logit)?;
            self.d_logit.iter_mut().zip(&self.g_logit).for_each(|(d, g)| *d += T::from_f64(*g));
        }

        let teaches = self.teaches();
        if let (true, Some(work)) = (teaches, &self.propensity_work) {
            self.d_taught.clear();
            self.d_taught.resize(n, T::ZERO);
            let strength = self.objective.instruments;
            let ce = propensity::cross_entropy(work.output(), n0, &self.coefficients, &mut self.d_taught);
            self.d_taught.iter_mut().for_each(|d| *d *= T::from_f64(strength));
            loss += strength * ce;
        }

        // Back through the heads and the propensity net into the encoders' outputs.
        let (z, d_z) = self.encoded.output_and_gradient();
        d_z.fill(T::ZERO);
        for (arm, rows) in [0..n0, n0..n].into_iter().enumerate() {
            if rows.is_empty() {
                grads[self.nets.heads[arm].range()].fill(T::ZERO);
                continue;
            }
            let work = &mut self.answered[arm];
            work.d_output().copy_from_slice(&self.d_h[rows.clone()]);
            let input = Input::Dense(columns(z, width, rows.clone(), &self.spec.head_reads)?);
            let d_in = columns_mut(d_z, width, rows, &self.spec.head_reads)?;
            self.nets.heads[arm].backward(params, input, work, (Some(grads), Some((d_in, true))), parallelism)?;
        }
        if teaches {
            self.teach(params, parallelism)?;
        } else if (joint || through_weights)
            && let (Some(net), Some(work), Some((_, reads))) =
                (&self.nets.propensity, &mut self.propensity_work, &self.spec.propensity)
        {
            work.d_output().copy_from_slice(&self.d_logit);
            let input = Input::Dense(columns(z, width, 0..n, reads)?);
            let d_in = columns_mut(d_z, width, 0..n, reads)?;
            let own = if joint { Some(&mut *grads) } else { None };
            net.backward(params, input, work, (own, Some((d_in, true))), parallelism)?;
        }
        let (z, d_z) = self.encoded.output_and_gradient();
        let penalty = self.objective.penalty;
        if penalty.strength > 0.0 && penalty.balance != Balance::None && n0 > 0 && n0 < n {
            let stripe = Stripe { width: width.0, start: self.spec.balanced * width.1, k: width.1, n0 };
            loss += self.balance.add(penalty, (z, d_z), stripe, parallelism)?;
        }
        if self.objective.independence > 0.0 {
            let strength = (self.objective.independence, penalty.width);
            loss += self.independence.add(strength, (z, d_z), (self.spec.groups, width.1, n0));
        }
        let input = self.rows.input(&sample.table)?;
        self.nets.encoders.backward(params, input, &mut self.encoded, (Some(&mut *grads), None), parallelism)?;
        if self.objective.separation > 0.0 {
            let first = self.nets.encoders.first_weights();
            let shape = (self.spec.groups, first.cols / self.spec.groups);
            let at = (&params[first.range()], &mut grads[first.range()]);
            loss += separation::add(self.objective.separation, at, shape);
        }
        Ok(loss)
    }

    /// Back through the propensity net into the encoders it reads: the outcome loss's pull on the weights into all of them, that of the
    /// cross-entropy into the first alone. A row has one logit, so one pass that finds its slopes serves both.
    fn teach(&mut self, params: &[T], parallelism: Parallelism) -> Result<(), KernelError> {
        let (width, n) = (self.width(), self.t.len());
        let (Some(net), Some(work), Some((_, reads))) =
            (&self.nets.propensity, &mut self.propensity_work, &self.spec.propensity)
        else {
            return Ok(());
        };
        let (z, d_z) = self.encoded.output_and_gradient();
        let read = reads.len() * width.1;
        self.slopes.resize(n * read, T::ZERO);
        work.d_output().fill(T::ONE);
        let input = Input::Dense(columns(z, width, 0..n, reads)?);
        let slopes = MatMut::row_major(&mut self.slopes, n, read)?;
        net.backward(params, input, work, (None, Some((slopes, false))), parallelism)?;
        let pulls = self.d_logit.iter().zip(&self.d_taught);
        for ((row, slopes), (pull, taught)) in
            d_z.chunks_exact_mut(width.0).zip(self.slopes.chunks_exact(read)).zip(pulls)
        {
            for (l, (d, slope)) in row.iter_mut().zip(slopes).enumerate() {
                *d += *slope * if l < width.1 { *pull + *taught } else { *pull };
            }
        }
        Ok(())
    }

    /// Tail shape of the last batch's balancing weights before smoothing, as importance samplers diagnose it.
    fn khat(&self) -> Option<f64> {
        let treated = self.t.iter().filter(|t| **t == 1).count() as f64;
        let odds = treated / (self.t.len() as f64 - treated);
        let rows = self.logits.iter().zip(&self.t);
        khat(&rows.map(|(l, t)| log_weight(*l, *t, odds)).collect::<Vec<_>>())
    }

    fn gather(&mut self, report: Option<&WeightReport>) {
        let Some(report) = report else { return };
        let g = &mut self.gathered;
        g.steps += 1.0;
        g.largest = g.largest.max(report.max);
        g.ess += report.ess / self.t.len().max(1) as f64;
        g.capped += report.capped as f64;
        let alike = report.ess > ALIKE * self.t.len() as f64;
        for fit in report.fits.iter().flatten() {
            g.fits += 1.0;
            // Weights that are (nearly) equal have no tail to smooth: nothing is lost, so it is counted apart.
            match fit {
                TailFit::LeftAsIs(FallBack::AllEqual) => g.equal += 1.0,
                TailFit::LeftAsIs(_) if alike => g.equal += 1.0,
                TailFit::LeftAsIs(_) => g.left += 1.0,
                TailFit::Smoothed { .. } => {}
            }
        }
    }
}

impl<T: Real> Model<T> for RepNet<T> {
    fn layout(&self) -> &Layout {
        &self.nets.layout
    }

    fn moves(&self, phase: usize) -> Vec<Move> {
        let nets = &self.nets;
        let propensity = || nets.propensity.as_ref().map_or_else(Vec::new, |net| nets.layout.moves(&net.range()));
        if phase == PROPENSITY {
            return propensity();
        }
        let mut moves = nets.layout.moves(&nets.encoders.range());
        if self.objective.joint > 0.0 || self.objective.targeted > 0.0 {
            moves.extend(propensity());
        }
        nets.heads.iter().for_each(|net| moves.extend(nets.layout.moves(&net.range())));
        moves.extend(nets.epsilon.iter().map(|b| Move { range: b.range(), decays: false }));
        moves
    }

    fn begin(&mut self, sample: &Sample<T>, batch: &Batch) -> Result<()> {
        sample.table.gather(&batch.rows, &mut self.rows);
        self.fresh = false;
        // Of a step that was not taken nothing is remembered.
        self.encoded.forget();
        self.propensity_work.iter_mut().chain(&mut self.answered).for_each(NetWork::forget);
        (self.n0, self.key) = (batch.n0, batch.key);
        sample.deal(batch, &mut self.t, &mut self.y, &mut self.coefficients);
        if let Some(known) = &sample.known_logit {
            self.logits.clear();
            self.logits.extend(batch.rows.iter().map(|&i| known[i]));
        }
        Ok(())
    }

    fn loss(
        &mut self,
        phase: usize,
        sample: &Sample<T>,
        at: (&[T], &mut [T]),
        parallelism: Parallelism,
    ) -> Result<f64> {
        if phase == PROPENSITY {
            self.propensity_loss(sample, at, parallelism).map_err(failed)
        } else {
            self.outcome_loss(sample, at, parallelism).map_err(failed)
        }
    }

    fn absorb(&mut self, _phase: usize, params: &mut [T]) {
        // Encoders that both phases read ran once and count once; a net that was only read has nothing to fold.
        self.nets.encoders.absorb(params, &mut self.encoded);
        if let (Some(net), Some(work)) = (&self.nets.propensity, &mut self.propensity_work) {
            net.absorb(params, work);
        }
        self.nets.heads.iter().zip(&mut self.answered).for_each(|(net, work)| net.absorb(params, work));
    }

    fn validate(
        &mut self,
        _stage: usize,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<Scores> {
        self.score(sample, rows, params, parallelism).map_err(failed)
    }

    fn gathered(&mut self) -> BTreeMap<String, f64> {
        let g = std::mem::take(&mut self.gathered);
        let mut values = BTreeMap::new();
        if g.steps > 0.0 {
            values.insert("weight_max".to_owned(), g.largest);
            values.insert("ess_share".to_owned(), g.ess / g.steps);
            values.insert("tail_fits".to_owned(), g.fits);
            values.insert("tail_fits_left".to_owned(), g.left);
            values.insert("tail_fits_equal".to_owned(), g.equal);
            values.insert("weights_capped".to_owned(), g.capped);
            if let Some(khat) = self.khat() {
                values.insert("khat".to_owned(), khat);
            }
        }
        values
    }
}
