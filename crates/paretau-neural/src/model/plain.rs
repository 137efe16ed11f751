//! One net from the features to one number: the propensity of two-step weighting, and the `mlp` base learner.

use paretau_core::Result;
use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;

use super::held_out::mean_loss;
use super::{Model, Scores};
use crate::data::{Batch, Rows, Sample};
use crate::engine::{Activation, Dropout, Layout, Mode, Move, Net, NetShape, NetWork, Norm};
use crate::error::failed;
use crate::loss::OutcomeLoss;

/// Shape and loss of a plain net.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainSpec {
    /// Feature columns.
    pub d: usize,
    /// Hidden units, layer by layer.
    pub hidden: Vec<usize>,
    /// Activation of hidden units.
    pub activation: Activation,
    /// Share of hidden units dropped in training.
    pub dropout: f64,
    /// Loss per row.
    pub loss: OutcomeLoss,
}

impl PlainSpec {
    /// The net and the layout of its parameters.
    pub fn net(&self) -> (Net, Layout) {
        let mut layout = Layout::default();
        let shape = NetShape {
            inputs: self.d,
            groups: 1,
            widths: self.hidden.iter().copied().chain([1]).collect(),
            hidden: self.activation,
            last: Activation::Linear,
            last_spread: if self.loss == OutcomeLoss::Logistic { 0.1 } else { 1.0 },
            norm: Norm::None,
        };
        let net = Net::new(&shape, &mut layout);
        (net, layout)
    }
}

/// A plain net with its buffers. The target is the sample's `y`.
#[derive(Debug)]
pub struct PlainNet<T> {
    spec: PlainSpec,
    net: Net,
    layout: Layout,
    rows: Rows<T>,
    work: NetWork<T>,
    t: Vec<u8>,
    coefficients: Vec<T>,
    y: Vec<T>,
    key: u64,
    capacity: usize,
}

impl<T: Real> PlainNet<T> {
    /// A net for batches of up to `capacity` rows of `sample`.
    pub fn new(spec: PlainSpec, sample: &Sample<T>, capacity: usize) -> Self {
        let (net, layout) = spec.net();
        Self {
            rows: Rows::with_capacity(&sample.table, capacity),
            work: net.work(capacity, true),
            t: Vec::with_capacity(capacity),
            coefficients: Vec::with_capacity(capacity),
            y: Vec::with_capacity(capacity),
            key: 0,
            capacity,
            spec,
            net,
            layout,
        }
    }

    fn step(
        &mut self,
        sample: &Sample<T>,
        (params, grads): (&[T], &mut [T]),
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let input = self.rows.input(&sample.table)?;
        let mask = Dropout::new(self.spec.dropout, self.key);
        self.net.forward(params, input, (self.y.len(), Mode::Training(mask)), &mut self.work, parallelism)?;
        let mut loss = 0.0;
        let (h, d) = self.work.output_and_gradient();
        for i in 0..self.y.len() {
            let (value, slope) = self.spec.loss.at(h[i], self.y[i]);
            loss += (self.coefficients[i] * value).to_f64();
            d[i] = self.coefficients[i] * slope;
        }
        self.net.backward(params, input, &mut self.work, (Some(grads), None), parallelism)?;
        Ok(loss)
    }

    fn score(
        &mut self,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let Self { spec, net, rows: buffer, work, capacity, .. } = self;
        mean_loss(sample, rows, (spec.loss, *capacity, buffer), |input, part, outputs| {
            net.forward(params, input, (part.len(), Mode::Evaluation), work, parallelism)?;
            outputs.extend_from_slice(work.output());
            Ok(())
        })
    }
}

impl<T: Real> Model<T> for PlainNet<T> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn moves(&self, _phase: usize) -> Vec<Move> {
        self.layout.moves(&self.net.range())
    }

    fn begin(&mut self, sample: &Sample<T>, batch: &Batch) -> Result<()> {
        sample.table.gather(&batch.rows, &mut self.rows);
        self.key = batch.key;
        sample.deal(batch, &mut self.t, &mut self.y, &mut self.coefficients);
        Ok(())
    }

    fn loss(
        &mut self,
        _phase: usize,
        sample: &Sample<T>,
        at: (&[T], &mut [T]),
        parallelism: Parallelism,
    ) -> Result<f64> {
        self.step(sample, at, parallelism).map_err(failed)
    }

    fn absorb(&mut self, _phase: usize, params: &mut [T]) {
        self.net.absorb(params, &mut self.work);
    }

    fn validate(
        &mut self,
        _stage: usize,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<Scores> {
        let objective = self.score(sample, rows, params, parallelism).map_err(failed)?;
        let values = [("valid_loss".to_owned(), objective)].into_iter().collect();
        Ok(Scores { objective, values })
    }
}
