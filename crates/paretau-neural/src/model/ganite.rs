//! GANITE (Yoon, Jordon and van der Schaar 2018): a generator completes each row's outcomes, a discriminator guesses from the
//! completed outcomes which arm was received, and an inference net learns both outcomes from the completed rows against a
//! second discriminator. Generator and inference net really play against their discriminators: they are drawn to what fools them.
//!
//! The inference net is laid out first and as a shared representation net (trunk, then one head per arm), so that prediction
//! needs nothing of its own.

use std::ops::Range;

use paretau_core::{OutcomeKind, Result};
use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef};
use paretau_kernels::real::Real;

use super::held_out::mean_loss;
use super::pair::{Pair, PairWork};
use super::spec::RepSpec;
use super::{Model, Scores};
use crate::data::{Batch, Rows, Sample};
use crate::engine::{Activation, Dropout, Input, Layout, Mode, Move, Net, NetShape, NetWork};
use crate::error::failed;
use crate::loss::OutcomeLoss;
use crate::loss::outcome::{logistic, sigmoid};

/// The discriminator of completed outcomes.
pub const DISCRIMINATOR: usize = 0;
/// The generator.
pub const GENERATOR: usize = 1;
/// The discriminator of inferred outcomes.
pub const SECOND_DISCRIMINATOR: usize = 2;
/// The inference net.
pub const INFERENCE: usize = 3;

/// GANITE with its buffers.
#[derive(Debug)]
pub struct Ganite<T> {
    spec: RepSpec,
    alpha: f64,
    beta: f64,
    loss: OutcomeLoss,
    binary: bool,
    layout: Layout,
    inference: Pair,
    generator: Pair,
    discriminators: [Net; 2],
    rows: Rows<T>,
    /// Arm and outcome of each row of the batch, as the generator reads them beside the features.
    received: Vec<T>,
    /// Two outcomes of each row, and for the second discriminator of each row once more, as discriminators read them beside
    /// the features.
    shown: Vec<T>,
    d_shown: Vec<T>,
    generated: PairWork<T>,
    inferred: PairWork<T>,
    verdict: NetWork<T>,
    t: Vec<u8>,
    y: Vec<T>,
    coefficients: Vec<T>,
    completed: [Vec<T>; 2],
    /// Whether generator and inference net have run on the batch and not moved since.
    generated_fresh: bool,
    inferred_fresh: bool,
    key: u64,
    capacity: usize,
}

impl<T: Real> Ganite<T> {
    /// For batches of up to `capacity` rows; `alpha` and `beta` are how hard generator and inference net play against their
    /// discriminators.
    pub fn new(spec: RepSpec, (alpha, beta): (f64, f64), sample: &Sample<T>, capacity: usize) -> Self {
        let mut layout = Layout::default();
        let inference = Pair::new(&spec, spec.d, &mut layout);
        let generator = Pair::new(&spec, spec.d + 2, &mut layout);
        let discriminator = NetShape {
            inputs: spec.d + 2,
            groups: 1,
            widths: spec.encoder.iter().copied().chain([spec.representation, 1]).collect(),
            hidden: spec.activation,
            last: Activation::Linear,
            last_spread: 0.1,
            norm: spec.norm,
        };
        let discriminators = [Net::new(&discriminator, &mut layout), Net::new(&discriminator, &mut layout)];
        let binary = sample.outcome == OutcomeKind::Binary;
        Self {
            alpha,
            beta,
            loss: if binary { OutcomeLoss::Logistic } else { OutcomeLoss::Squared },
            binary,
            rows: Rows::with_capacity(&sample.table, capacity),
            received: Vec::with_capacity(2 * capacity),
            shown: Vec::with_capacity(4 * capacity),
            d_shown: Vec::with_capacity(4 * capacity),
            generated: generator.work(capacity),
            inferred: inference.work(capacity),
            verdict: discriminators[0].work(2 * capacity, true),
            t: Vec::with_capacity(capacity),
            y: Vec::with_capacity(capacity),
            coefficients: Vec::with_capacity(capacity),
            completed: [Vec::with_capacity(capacity), Vec::with_capacity(capacity)],
            generated_fresh: false,
            inferred_fresh: false,
            key: 0,
            capacity,
            layout,
            inference,
            generator,
            discriminators,
            spec,
        }
    }

    /// The stretch of the inference net: the parameters of a shared representation net.
    pub fn inference_range(&self) -> Range<usize> {
        self.inference.range()
    }

    /// What an output stands for: itself, or a probability.
    fn meaning(&self, h: T) -> T {
        if self.binary { sigmoid(h) } else { h }
    }

    /// Slope of [`Ganite::meaning`] where its value is `v`.
    fn slope(&self, v: T) -> T {
        if self.binary { v * (T::ONE - v) } else { T::ONE }
    }

    /// Runs the generator and completes the rows: the received arm keeps its observed outcome.
    fn complete(&mut self, params: &[T], features: Input<'_, T>, parallelism: Parallelism) -> Result<(), KernelError> {
        if self.generated_fresh {
            return Ok(());
        }
        let n = self.t.len();
        let input = Input::Beside(&features, MatRef::row_major(&self.received, n, 2)?);
        let mask = Dropout::new(self.spec.dropout, self.key);
        self.generator.forward(params, input, (n, Mode::Training(mask)), &mut self.generated, parallelism)?;
        for arm in 0..2 {
            self.completed[arm].clear();
            for i in 0..n {
                let own = usize::from(self.t[i]) == arm;
                let generated = self.meaning(self.generated.heads[arm].output()[i]);
                self.completed[arm].push(if own { self.y[i] } else { generated });
            }
        }
        self.generated_fresh = true;
        Ok(())
    }

    /// Appends the given outcomes of the batch's rows to what a discriminator reads.
    fn show(&mut self, outcomes: impl Fn(&Self, usize) -> [T; 2]) {
        for i in 0..self.t.len() {
            let pair = outcomes(self, i);
            self.shown.extend_from_slice(&pair);
        }
    }

    /// Verdicts on all rows shown, with `label` as the truth; returns the mean cross-entropy and leaves its derivative, times
    /// `strength`, in the discriminator's output.
    fn discriminate(
        &mut self,
        discriminator: usize,
        (params, features): (&[T], Input<'_, T>),
        (strength, label): (f64, impl Fn(usize) -> (T, T)),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let n = self.shown.len() / 2;
        let input = Input::Beside(&features, MatRef::row_major(&self.shown, n, 2)?);
        self.discriminators[discriminator].forward(
            params,
            input,
            (n, Mode::Training(None)),
            &mut self.verdict,
            parallelism,
        )?;
        let (out, d) = self.verdict.output_and_gradient();
        let mut total = 0.0;
        for i in 0..n {
            let (truth, c) = label(i);
            let (value, slope) = logistic(out[i], truth);
            total += (c * value).to_f64();
            d[i] = T::from_f64(strength) * c * slope;
        }
        Ok(total)
    }

    /// Back through a discriminator to the outcomes that it was shown; their gradient is in `d_shown`.
    fn back_to_outcomes(
        &mut self,
        discriminator: usize,
        (params, features): (&[T], Input<'_, T>),
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        let n = self.shown.len() / 2;
        self.d_shown.clear();
        self.d_shown.resize(2 * n, T::ZERO);
        let input = Input::Beside(&features, MatRef::row_major(&self.shown, n, 2)?);
        let d_in = MatMut::row_major(&mut self.d_shown, n, 2)?;
        self.discriminators[discriminator].backward(
            params,
            input,
            &mut self.verdict,
            (None, Some((d_in, false))),
            parallelism,
        )
    }

    fn train_discriminator(
        &mut self,
        discriminator: usize,
        (params, grads): (&[T], &mut [T]),
        features: Input<'_, T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        let input = Input::Beside(&features, MatRef::row_major(&self.shown, self.shown.len() / 2, 2)?);
        self.discriminators[discriminator].backward(params, input, &mut self.verdict, (Some(grads), None), parallelism)
    }

    fn discriminator_loss(
        &mut self,
        at: (&[T], &mut [T]),
        features: Input<'_, T>,
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.complete(at.0, features, parallelism)?;
        self.shown.clear();
        self.show(|s, i| [s.completed[0][i], s.completed[1][i]]);
        let loss = self.guess_arm((at.0, features), (1.0, false), parallelism)?;
        self.train_discriminator(0, at, features, parallelism)?;
        Ok(loss)
    }

    /// Cross-entropy of the first discriminator's guess of the arm, or of the other arm.
    fn guess_arm(
        &mut self,
        at: (&[T], Input<'_, T>),
        (strength, other): (f64, bool),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let (t, c) = (std::mem::take(&mut self.t), std::mem::take(&mut self.coefficients));
        let label = |i: usize| (if (t[i] == 1) == other { T::ZERO } else { T::ONE }, c[i]);
        let loss = self.discriminate(0, at, (strength, label), parallelism);
        (self.t, self.coefficients) = (t, c);
        loss
    }

    fn generator_loss(
        &mut self,
        (params, grads): (&[T], &mut [T]),
        features: Input<'_, T>,
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.complete(params, features, parallelism)?;
        self.shown.clear();
        self.show(|s, i| [s.completed[0][i], s.completed[1][i]]);
        // Towards the other arm's verdict rather than away from the right one: the same equilibrium, but the pull fades where
        // the discriminator is fooled instead of growing without bound, which drove outcomes of any size away.
        let guess = self.guess_arm((params, features), (self.alpha, true), parallelism)?;
        self.back_to_outcomes(0, (params, features), parallelism)?;
        let n = self.t.len();
        let mut loss = self.alpha * guess;
        for arm in 0..2 {
            for i in 0..n {
                let own = usize::from(self.t[i]) == arm;
                let h = self.generated.heads[arm].output()[i];
                let pull = if own {
                    let (value, slope) = self.loss.at(h, self.y[i]);
                    loss += (self.coefficients[i] * value).to_f64();
                    self.coefficients[i] * slope
                } else {
                    self.d_shown[2 * i + arm] * self.slope(self.completed[arm][i])
                };
                self.generated.heads[arm].d_output()[i] = pull;
            }
        }
        let input = Input::Beside(&features, MatRef::row_major(&self.received, n, 2)?);
        self.generator.backward(params, input, &mut self.generated, grads, parallelism)?;
        Ok(loss)
    }

    /// Completed rows first, inferred rows after them, for the second discriminator.
    fn show_both(&mut self, params: &[T], features: Input<'_, T>, parallelism: Parallelism) -> Result<(), KernelError> {
        self.complete(params, features, parallelism)?;
        if !self.inferred_fresh {
            let mask = Dropout::new(self.spec.dropout, self.key ^ 0x2545_f491_4f6c_dd1d);
            let mode = (self.t.len(), Mode::Training(mask));
            self.inference.forward(params, features, mode, &mut self.inferred, parallelism)?;
            self.inferred_fresh = true;
        }
        self.shown.clear();
        self.show(|s, i| [s.completed[0][i], s.completed[1][i]]);
        self.show(|s, i| [0, 1].map(|arm| s.meaning(s.inferred.heads[arm].output()[i])));
        Ok(())
    }

    /// Cross-entropy of the second discriminator: completed rows are genuine, inferred ones are not. To fool it is to have
    /// inferred rows taken for genuine ones.
    fn guess_origin(
        &mut self,
        at: (&[T], Input<'_, T>),
        (strength, fool): (f64, bool),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let c = std::mem::take(&mut self.coefficients);
        let (n, half) = (c.len(), T::from_f64(0.5));
        let label = |i: usize| match (i < n, fool) {
            (true, false) => (T::ONE, half * c[i]),
            (false, false) => (T::ZERO, half * c[i - n]),
            (true, true) => (T::ONE, T::ZERO),
            (false, true) => (T::ONE, half * c[i - n]),
        };
        let loss = self.discriminate(1, at, (strength, label), parallelism);
        self.coefficients = c;
        loss
    }

    fn second_discriminator_loss(
        &mut self,
        at: (&[T], &mut [T]),
        features: Input<'_, T>,
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.show_both(at.0, features, parallelism)?;
        let loss = self.guess_origin((at.0, features), (1.0, false), parallelism)?;
        self.train_discriminator(1, at, features, parallelism)?;
        Ok(loss)
    }

    fn inference_loss(
        &mut self,
        (params, grads): (&[T], &mut [T]),
        features: Input<'_, T>,
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.show_both(params, features, parallelism)?;
        let guess = self.guess_origin((params, features), (self.beta, true), parallelism)?;
        self.back_to_outcomes(1, (params, features), parallelism)?;
        let n = self.t.len();
        let mut loss = self.beta * guess;
        for arm in 0..2 {
            for i in 0..n {
                let h = self.inferred.heads[arm].output()[i];
                let (value, slope) = self.loss.at(h, self.completed[arm][i]);
                loss += (self.coefficients[i] * value).to_f64();
                let fooled = self.d_shown[2 * (n + i) + arm] * self.slope(self.meaning(h));
                self.inferred.heads[arm].d_output()[i] = self.coefficients[i] * slope + fooled;
            }
        }
        self.inference.backward(params, features, &mut self.inferred, grads, parallelism)?;
        Ok(loss)
    }

    /// Factual loss of the inference net.
    fn score(
        &mut self,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        self.inferred_fresh = false;
        let Self { loss, inference, rows: buffer, inferred, capacity, .. } = self;
        mean_loss(sample, rows, (*loss, *capacity, buffer), |input, part, outputs| {
            inference.forward(params, input, (part.len(), Mode::Evaluation), inferred, parallelism)?;
            let own = |(place, &i): (usize, &usize)| inferred.heads[usize::from(sample.t[i])].output()[place];
            outputs.extend(part.iter().enumerate().map(own));
            Ok(())
        })
    }
}

impl<T: Real> Model<T> for Ganite<T> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn moves(&self, phase: usize) -> Vec<Move> {
        let range = match phase {
            DISCRIMINATOR => self.discriminators[0].range(),
            GENERATOR => self.generator.range(),
            SECOND_DISCRIMINATOR => self.discriminators[1].range(),
            _ => self.inference.range(),
        };
        self.layout.moves(&range)
    }

    fn begin(&mut self, sample: &Sample<T>, batch: &Batch) -> Result<()> {
        sample.table.gather(&batch.rows, &mut self.rows);
        (self.generated_fresh, self.inferred_fresh) = (false, false);
        self.key = batch.key;
        sample.deal(batch, &mut self.t, &mut self.y, &mut self.coefficients);
        self.received.clear();
        for (&t, &y) in self.t.iter().zip(&self.y) {
            self.received.extend([if t == 1 { T::ONE } else { -T::ONE }, y]);
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
        let rows = std::mem::take(&mut self.rows);
        let loss = rows.input(&sample.table).and_then(|features| match phase {
            DISCRIMINATOR => self.discriminator_loss(at, features, parallelism),
            GENERATOR => self.generator_loss(at, features, parallelism),
            SECOND_DISCRIMINATOR => self.second_discriminator_loss(at, features, parallelism),
            _ => self.inference_loss(at, features, parallelism),
        });
        self.rows = rows;
        // The net that the phase moves has to run again before it is used.
        self.generated_fresh &= phase != GENERATOR;
        self.inferred_fresh &= phase != INFERENCE;
        loss.map_err(failed)
    }

    /// A phase folds the statistics of the net that it moves. Those of generator and discriminators are kept but never asked:
    /// they run on batches alone, so the parameters' mean, which the generator ends with, meets statistics of its own.
    fn absorb(&mut self, phase: usize, params: &mut [T]) {
        match phase {
            DISCRIMINATOR => self.discriminators[0].absorb(params, &mut self.verdict),
            GENERATOR => self.generator.absorb(params, &mut self.generated),
            SECOND_DISCRIMINATOR => self.discriminators[1].absorb(params, &mut self.verdict),
            _ => self.inference.absorb(params, &mut self.inferred),
        }
    }

    fn validate(
        &mut self,
        stage: usize,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<Scores> {
        // The generator is shown the observed outcome, so no held-out loss of its own means anything: its stage runs its length.
        let objective = if stage == 0 { 0.0 } else { self.score(sample, rows, params, parallelism).map_err(failed)? };
        let values = [("valid_factual".to_owned(), objective)].into_iter().collect();
        Ok(Scores { objective, values })
    }
}
