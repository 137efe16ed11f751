//! A trunk with one head per arm, each head run on all rows.

use std::ops::Range;

use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef};
use paretau_kernels::real::Real;

use super::spec::RepSpec;
use crate::engine::{Activation, Input, Layout, Mode, Net, NetShape, NetWork};

/// A trunk with one head per arm.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) trunk: Net,
    pub(super) heads: [Net; 2],
}

#[derive(Debug)]
pub(super) struct PairWork<T> {
    pub(super) trunk: NetWork<T>,
    pub(super) heads: [NetWork<T>; 2],
}

impl Pair {
    pub(super) fn new(spec: &RepSpec, inputs: usize, layout: &mut Layout) -> Self {
        let shape = |inputs: usize, hidden: &[usize], out: usize, last| NetShape {
            inputs,
            groups: 1,
            widths: hidden.iter().copied().chain([out]).collect(),
            hidden: spec.activation,
            last,
            last_spread: 1.0,
            norm: spec.norm,
        };
        let r = spec.representation;
        let trunk = Net::new(&shape(inputs, &spec.encoder, r, spec.representation_activation), layout);
        let head = shape(r, &spec.heads, 1, Activation::Linear);
        let heads = [Net::new(&head, layout), Net::new(&head, layout)];
        Self { trunk, heads }
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.trunk.range().start..self.heads[1].range().end
    }

    pub(super) fn work<T: Real>(&self, capacity: usize) -> PairWork<T> {
        PairWork {
            trunk: self.trunk.work(capacity, true),
            heads: [self.heads[0].work(capacity, true), self.heads[1].work(capacity, true)],
        }
    }

    pub(super) fn forward<T: Real>(
        &self,
        params: &[T],
        input: Input<'_, T>,
        (n, mode): (usize, Mode<T>),
        work: &mut PairWork<T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        self.trunk.forward(params, input, (n, mode), &mut work.trunk, parallelism)?;
        for arm in 0..2 {
            let z = MatRef::row_major(work.trunk.output(), n, self.trunk.outputs())?;
            let mode = mode.layer(100 + arm);
            self.heads[arm].forward(params, Input::Dense(z), (n, mode), &mut work.heads[arm], parallelism)?;
        }
        Ok(())
    }

    /// Folds the statistics of the last training pass into the running ones.
    pub(super) fn absorb<T: Real>(&self, params: &mut [T], work: &mut PairWork<T>) {
        self.trunk.absorb(params, &mut work.trunk);
        self.heads.iter().zip(&mut work.heads).for_each(|(net, work)| net.absorb(params, work));
    }

    /// From the gradients in the heads' outputs.
    pub(super) fn backward<T: Real>(
        &self,
        params: &[T],
        input: Input<'_, T>,
        work: &mut PairWork<T>,
        grads: &mut [T],
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        let n = work.trunk.rows();
        let (z, d_z) = work.trunk.output_and_gradient();
        for arm in 0..2 {
            let input = Input::Dense(MatRef::row_major(z, n, self.trunk.outputs())?);
            let d_in = MatMut::row_major(&mut *d_z, n, self.trunk.outputs())?;
            let to = (Some(&mut *grads), Some((d_in, arm == 1)));
            self.heads[arm].backward(params, input, &mut work.heads[arm], to, parallelism)?;
        }
        self.trunk.backward(params, input, &mut work.trunk, (Some(grads), None), parallelism)
    }
}
