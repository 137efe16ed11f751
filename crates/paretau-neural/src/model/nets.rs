//! The nets of a representation model and the views they have of each other's outputs.

use std::ops::Range;

use paretau_kernels::error::KernelError;
use paretau_kernels::product::{MatMut, MatRef};
use paretau_kernels::real::Real;

use super::spec::RepSpec;
use crate::engine::{Activation, Block, Layout, Net, NetShape};

/// The nets of a representation model, as stretches of one flat vector.
#[derive(Debug, Clone)]
pub struct Nets {
    /// Blocks of the flat vector.
    pub layout: Layout,
    /// Encoders side by side.
    pub encoders: Net,
    /// Propensity net.
    pub propensity: Option<Net>,
    /// Outcome heads of controls and treated.
    pub heads: [Net; 2],
    /// Size of the fluctuation of targeted regularisation.
    pub epsilon: Option<Block>,
}

impl Nets {
    /// Lays the nets out.
    pub fn new(spec: &RepSpec, fluctuates: bool) -> Self {
        let mut layout = Layout::default();
        let mut widths = spec.encoder.clone();
        widths.push(spec.representation);
        let shape = |inputs, groups, hidden: &[usize], out, last, last_spread| NetShape {
            inputs,
            groups,
            widths: hidden.iter().copied().chain([out]).collect(),
            hidden: spec.activation,
            last,
            last_spread,
            norm: spec.norm,
        };
        let r = spec.representation;
        let encoders =
            Net::new(&shape(spec.d, spec.groups, &spec.encoder, r, spec.representation_activation, 1.0), &mut layout);
        // A propensity that starts near one half starts with weights near their mean.
        let propensity = spec.propensity.as_ref().map(|(hidden, reads)| {
            Net::new(&shape(reads.len() * r, 1, hidden, 1, Activation::Linear, 0.1), &mut layout)
        });
        let head = shape(spec.head_reads.len() * r, 1, &spec.heads, 1, Activation::Linear, 1.0);
        let heads = [Net::new(&head, &mut layout), Net::new(&head, &mut layout)];
        let epsilon = fluctuates.then(|| layout.biases(1));
        Self { layout, encoders, propensity, heads, epsilon }
    }

    /// Copies what outcomes are made of, encoders that the heads read and the heads themselves, from `other` nets of the same widths
    /// into `params`. `other` may have fewer encoders.
    pub(crate) fn take_outcomes<T: Real>(
        &self,
        params: &mut [T],
        spec: &RepSpec,
        (other, other_spec, from): (&Self, &RepSpec, &[T]),
    ) {
        let (reads, other_reads) = (spec.head_reads.clone(), other_spec.head_reads.clone());
        self.encoders.take_groups(params, reads, (&other.encoders, other_reads, from));
        for (own, other) in self.heads.iter().zip(&other.heads) {
            own.take_groups(params, 0..1, (other, 0..1, from));
        }
    }
}

/// Columns of some encoders' outputs, for some rows.
pub(super) fn columns<'a, T: Real>(
    all: &'a [T],
    (width, r): (usize, usize),
    rows: Range<usize>,
    reads: &Range<usize>,
) -> Result<MatRef<'a, T>, KernelError> {
    let start = rows.start * width + reads.start * r;
    MatRef::strided(&all[start.min(all.len())..], (rows.len(), reads.len() * r), (width, 1))
}

pub(super) fn columns_mut<'a, T: Real>(
    all: &'a mut [T],
    (width, r): (usize, usize),
    rows: Range<usize>,
    reads: &Range<usize>,
) -> Result<MatMut<'a, T>, KernelError> {
    let start = (rows.start * width + reads.start * r).min(all.len());
    MatMut::strided(&mut all[start..], (rows.len(), reads.len() * r), (width, 1))
}
