//! A feed-forward net, or several of one shape side by side that read the same rows (the three encoders).
//!
//! Side by side, the first layers are one product and all later ones read and write stripes of shared matrices, so that
//! the outputs lie next to each other as columns `[net 0 | net 1 | …]` and nothing is ever copied together.

use std::ops::Range;

use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef, matmul};
use paretau_kernels::real::Real;

use super::activation::Activation;
use super::batch_norm::Running;
use super::dropout::Dropout;
use super::input::{Input, InputWork};
use super::layout::{Block, Layout};
use super::mode::Mode;
use super::norm::{Norm, Normaliser, Normed};
use super::pass::{self, Swept};

/// The shape of a net.
#[derive(Debug, Clone, PartialEq)]
pub struct NetShape {
    /// Columns it reads.
    pub inputs: usize,
    /// Nets side by side.
    pub groups: usize,
    /// Units of each layer of one net, the output last.
    pub widths: Vec<usize>,
    /// Activation of hidden layers.
    pub hidden: Activation,
    /// Activation of the last layer.
    pub last: Activation,
    /// What the last layer's initial weights are multiplied by.
    pub last_spread: f64,
    /// Normalisation of hidden layers.
    pub norm: Norm,
}

#[derive(Debug, Clone)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// One matrix when all groups read the same columns, else one per group.
    weights: Vec<Block>,
    bias: Block,
    activation: Activation,
    norm: Normaliser,
}

/// A net whose parameters are a stretch of a flat vector.
#[derive(Debug, Clone)]
pub struct Net {
    groups: usize,
    layers: Vec<Layer>,
    range: Range<usize>,
}

/// Where a gradient goes, and whether it is added to what is there.
pub type AddTo<'a, T> = (MatMut<'a, T>, bool);

/// Buffers of a net for at most a given number of rows: outputs and gradients of every layer.
#[derive(Debug)]
pub struct NetWork<T> {
    y: Vec<Vec<T>>,
    d: Vec<Vec<T>>,
    sums: Vec<T>,
    rows: usize,
    capacity: usize,
    dropout: Option<Dropout<T>>,
    input: InputWork<T>,
    normed: Vec<Normed<T>>,
}

impl Net {
    /// Appends the parameters of a net of that shape to `layout`.
    pub fn new(shape: &NetShape, layout: &mut Layout) -> Self {
        let start = layout.len();
        let groups = shape.groups.max(1);
        let n_layers = shape.widths.len();
        let mut layers = Vec::with_capacity(n_layers);
        let mut inputs = shape.inputs;
        for (index, &outputs) in shape.widths.iter().enumerate() {
            let is_last = index + 1 == n_layers;
            // Variance-preserving for units of slope one at zero, as all of ours but softplus have.
            let spread = (1.0 / inputs.max(1) as f64).sqrt() * if is_last { shape.last_spread } else { 1.0 };
            let weights = if index == 0 {
                vec![layout.weights(inputs, groups * outputs, spread)]
            } else {
                (0..groups).map(|_| layout.weights(inputs, outputs, spread)).collect()
            };
            let bias = layout.biases(groups * outputs);
            let activation = if is_last { shape.last } else { shape.hidden };
            let norm = Normaliser::new(if is_last { Norm::None } else { shape.norm }, groups * outputs, layout);
            layers.push(Layer { inputs, outputs, weights, bias, activation, norm });
            inputs = outputs;
        }
        Self { groups, layers, range: start..layout.len() }
    }

    /// Its stretch of the flat vector.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Columns of its output, over all groups.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |l| l.outputs * self.groups)
    }

    /// First-layer weights, `inputs × (groups · units)`.
    pub fn first_weights(&self) -> Block {
        self.layers[0].weights[0]
    }

    /// The bias of the last layer.
    pub fn last_bias(&self) -> Block {
        self.layers[self.layers.len() - 1].bias
    }

    /// Buffers for up to `capacity` rows; without `gradients` only the forward pass works.
    pub fn work<T: Real>(&self, capacity: usize, gradients: bool) -> NetWork<T> {
        let buffers = |on: bool| -> Vec<Vec<T>> {
            let len = |l: &Layer| if on { capacity * l.outputs * self.groups } else { 0 };
            self.layers.iter().map(|l| vec![T::ZERO; len(l)]).collect()
        };
        let widest = self.layers.iter().map(|l| l.outputs * self.groups).max().unwrap_or(0);
        let sums = if gradients { widest * capacity.div_ceil(pass::ROWS).max(1) } else { 0 };
        let normed = |l: &Layer| l.norm.work(capacity, (self.groups, l.outputs), gradients);
        NetWork {
            normed: self.layers.iter().map(normed).collect(),
            y: buffers(true),
            d: buffers(gradients),
            sums: vec![T::ZERO; sums],
            rows: 0,
            capacity,
            dropout: None,
            input: InputWork::default(),
        }
    }

    /// Runs `rows` rows of `input` through the net; the outputs are then in [`NetWork::output`].
    pub fn forward<T: Real>(
        &self,
        params: &[T],
        input: Input<'_, T>,
        (rows, mode): (usize, Mode<T>),
        work: &mut NetWork<T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        work.set_rows(rows)?;
        work.dropout = mode.dropout();
        let training = matches!(mode, Mode::Training(_));
        for (index, layer) in self.layers.iter().enumerate() {
            let width = layer.outputs * self.groups;
            let (before, after) = work.y.split_at_mut(index);
            let out = &mut after[0][..rows * width];
            if index == 0 {
                let w = layer.weights[0];
                input.times(out, (&params[w.range()], width), &mut work.input, parallelism)?;
            } else {
                let read = layer.inputs * self.groups;
                for (g, w) in layer.weights.iter().enumerate() {
                    let a = stripe(&before[index - 1], rows, (read, g), layer.inputs)?;
                    let c = stripe_mut(out, rows, (width, g), layer.outputs)?;
                    let w = MatRef::row_major(&params[w.range()], layer.inputs, layer.outputs)?;
                    matmul(c, a, w, (T::ONE, T::ZERO), parallelism)?;
                }
            }
            let sums = (&mut *out, layer.outputs);
            layer.norm.forward(sums, (params, training), &mut work.normed[index], parallelism);
            let mask = self.mask(work.dropout, index);
            pass::forward(out, &params[layer.bias.range()], layer.activation, mask, parallelism);
        }
        Ok(())
    }

    /// Turns the gradient that the caller left in [`NetWork::d_output`] back through the net.
    ///
    /// With `grads`, this net's stretch of it is overwritten by the gradient of its parameters. With `d_input`, the
    /// gradient with respect to the input is written there (added, if its flag says so); of features with further columns
    /// beside them, that of the further columns alone.
    pub fn backward<T: Real>(
        &self,
        params: &[T],
        input: Input<'_, T>,
        work: &mut NetWork<T>,
        (mut grads, d_input): (Option<&mut [T]>, Option<AddTo<'_, T>>),
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        let rows = work.rows;
        let mut d_input = d_input;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let width = layer.outputs * self.groups;
            let (d_before, d_after) = work.d.split_at_mut(index);
            let dz = &mut d_after[0][..rows * width];
            let swept = Swept {
                y: &work.y[index][..rows * width],
                width,
                activation: layer.activation,
                dropout: self.mask(work.dropout, index),
            };
            pass::backward(dz, swept, &mut work.sums, parallelism);
            if let Some(grads) = grads.as_deref_mut() {
                grads[layer.bias.range()].copy_from_slice(&work.sums[..width]);
                if let Normaliser::Batch(running) = layer.norm {
                    grads[running.range()].fill(T::ZERO);
                }
            }
            work.normed[index].backward((dz, layer.outputs), &work.sums[..width], parallelism);
            if index == 0 {
                let w = layer.weights[0];
                if let Some(grads) = grads.as_deref_mut() {
                    input.transposed_times(&mut grads[w.range()], (dz, width), &mut work.input, parallelism)?;
                }
                if let Some((d_in, add)) = d_input.take() {
                    let dz = MatRef::row_major(dz, rows, width)?;
                    let given = input.given();
                    let w = MatRef::row_major(&params[w.range()][given * w.cols..], w.rows - given, w.cols)?;
                    matmul(d_in, dz, w.t(), (T::ONE, if add { T::ONE } else { T::ZERO }), parallelism)?;
                }
                continue;
            }
            let read = layer.inputs * self.groups;
            for (g, w) in layer.weights.iter().enumerate() {
                let dz = stripe(dz, rows, (width, g), layer.outputs)?;
                if let Some(grads) = grads.as_deref_mut() {
                    let a = stripe(&work.y[index - 1], rows, (read, g), layer.inputs)?;
                    let dw = MatMut::row_major(&mut grads[w.range()], layer.inputs, layer.outputs)?;
                    matmul(dw, a.t(), dz, (T::ONE, T::ZERO), parallelism)?;
                }
                let da = stripe_mut(&mut d_before[index - 1][..rows * read], rows, (read, g), layer.inputs)?;
                let w = MatRef::row_major(&params[w.range()], layer.inputs, layer.outputs)?;
                matmul(da, dz, w.t(), (T::ONE, T::ZERO), parallelism)?;
            }
        }
        Ok(())
    }

    /// Folds the statistics of the last training pass, if they are not yet, into the running ones among the parameters.
    pub fn absorb<T: Real>(&self, params: &mut [T], work: &mut NetWork<T>) {
        for (layer, normed) in self.layers.iter().zip(&mut work.normed) {
            if let (Normaliser::Batch(running), Normed::Batch(normed)) = (layer.norm, normed) {
                normed.fold(running, params);
            }
        }
    }

    /// The mask of layer `index`: hidden layers only.
    fn mask<T: Real>(&self, dropout: Option<Dropout<T>>, index: usize) -> Option<Dropout<T>> {
        if index + 1 == self.layers.len() { None } else { dropout.map(|m| m.layer(index)) }
    }

    /// Copies the parameters of some groups of `other`, which lie in `from`, into as many groups of this net, which lie in `params`.
    /// The nets' layers have the same widths.
    pub(crate) fn take_groups<T: Real>(
        &self,
        params: &mut [T],
        groups: Range<usize>,
        (other, other_groups, from): (&Self, Range<usize>, &[T]),
    ) {
        for (index, (layer, source)) in self.layers.iter().zip(&other.layers).enumerate() {
            let columns = |groups: &Range<usize>| groups.start * layer.outputs..groups.end * layer.outputs;
            let (to, of) = (columns(&groups), columns(&other_groups));
            if index == 0 {
                let (w, v) = (layer.weights[0], source.weights[0]);
                let rows = params[w.range()].chunks_exact_mut(w.cols).zip(from[v.range()].chunks_exact(v.cols));
                rows.for_each(|(row, source)| row[to.clone()].copy_from_slice(&source[of.clone()]));
            } else {
                let pairs = layer.weights[groups.clone()].iter().zip(&source.weights[other_groups.clone()]);
                pairs.for_each(|(w, v)| params[w.range()].copy_from_slice(&from[v.range()]));
            }
            let mut row = |to_block: Block, of_block: Block| {
                params[to_block.range()][to.clone()].copy_from_slice(&from[of_block.range()][of.clone()]);
            };
            row(layer.bias, source.bias);
            if let (Normaliser::Batch(own), Normaliser::Batch(others)) = (layer.norm, source.norm) {
                row(own.mean, others.mean);
                row(own.variance, others.variance);
            }
        }
    }

    /// Copies the parameters of some groups into a net of their own, appended to `layout`; returns it with the values
    /// of its stretch.
    pub fn extract<T: Real>(&self, params: &[T], groups: Range<usize>, layout: &mut Layout) -> (Self, Vec<T>) {
        let start = layout.len();
        let mut values = Vec::new();
        let mut layers = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let columns = groups.start * layer.outputs..groups.end * layer.outputs;
            let weights = if index == 0 {
                let w = layer.weights[0];
                for row in params[w.range()].chunks_exact(w.cols) {
                    values.extend_from_slice(&row[columns.clone()]);
                }
                vec![layout.weights(w.rows, columns.len(), w.spread)]
            } else {
                let kept = &layer.weights[groups.clone()];
                kept.iter().for_each(|w| values.extend_from_slice(&params[w.range()]));
                kept.iter().map(|w| layout.weights(w.rows, w.cols, w.spread)).collect()
            };
            values.extend_from_slice(&params[layer.bias.range()][columns.clone()]);
            let bias = layout.biases(columns.len());
            let norm = match layer.norm {
                Normaliser::Batch(running) => {
                    let (mean, variance) = running.of(params);
                    values.extend_from_slice(&mean[columns.clone()]);
                    values.extend_from_slice(&variance[columns.clone()]);
                    Normaliser::Batch(Running::new(columns.len(), layout))
                }
                other => other,
            };
            layers.push(Layer { weights, bias, norm, ..layer.clone() });
        }
        (Self { groups: groups.len(), layers, range: start..layout.len() }, values)
    }
}

impl<T: Real> NetWork<T> {
    fn set_rows(&mut self, rows: usize) -> Result<(), KernelError> {
        if rows > self.capacity {
            return Err(KernelError::Length { what: "rows of a net's buffers", expected: rows, found: self.capacity });
        }
        self.rows = rows;
        Ok(())
    }

    /// Drops the statistics of a training pass whose step was not taken.
    pub fn forget(&mut self) {
        for normed in &mut self.normed {
            if let Normed::Batch(normed) = normed {
                normed.forget();
            }
        }
    }

    /// Rows of the last forward pass.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Outputs of the last forward pass, row after row.
    pub fn output(&self) -> &[T] {
        let y = &self.y[self.y.len() - 1];
        &y[..self.rows * (y.len() / self.capacity.max(1))]
    }

    /// Where the caller writes the gradient with respect to the outputs before the backward pass.
    pub fn d_output(&mut self) -> &mut [T] {
        let last = self.d.len() - 1;
        let width = self.d[last].len() / self.capacity.max(1);
        &mut self.d[last][..self.rows * width]
    }

    /// Both of the above at once.
    pub fn output_and_gradient(&mut self) -> (&[T], &mut [T]) {
        let last = self.y.len() - 1;
        let len = self.rows * (self.y[last].len() / self.capacity.max(1));
        (&self.y[last][..len], &mut self.d[last][..len])
    }
}

/// Columns `[group · width, (group + 1) · width)` of a row-major matrix of `stride` columns.
fn stripe<T: Real>(
    data: &[T],
    rows: usize,
    (stride, group): (usize, usize),
    width: usize,
) -> Result<MatRef<'_, T>, KernelError> {
    MatRef::strided(&data[group * width..], (rows, width), (stride, 1))
}

fn stripe_mut<T: Real>(
    data: &mut [T],
    rows: usize,
    (stride, group): (usize, usize),
    width: usize,
) -> Result<MatMut<'_, T>, KernelError> {
    MatMut::strided(&mut data[group * width..], (rows, width), (stride, 1))
}

#[cfg(test)]
mod tests {
    use paretau_core::Seed;
    use paretau_kernels::sparse::{CsrView, Standardise};

    use super::*;

    fn shape(groups: usize, widths: Vec<usize>, hidden: Activation, norm: Norm) -> NetShape {
        NetShape { inputs: 4, groups, widths, hidden, last: Activation::Linear, last_spread: 1.0, norm }
    }

    fn loss(net: &Net, params: &[f64], x: &[f64], rows: usize, mode: Mode<f64>) -> f64 {
        let mut work = net.work(rows, false);
        let input = Input::Dense(MatRef::row_major(x, rows, x.len() / rows).unwrap());
        net.forward(params, input, (rows, mode), &mut work, Parallelism::None).unwrap();
        work.output().iter().enumerate().map(|(i, y)| y * ((i as f64) * 0.7).sin() + y * y * 0.3).sum()
    }

    fn dropping(rate: f64, key: u64) -> Mode<f64> {
        Mode::Training(Dropout::new(rate, key))
    }

    #[test]
    fn gradients_match_central_differences() {
        for (activation, mode, groups, norm, rows) in [
            (Activation::Elu, dropping(0.0, 0), 3, Norm::None, 7),
            (Activation::Tanh, dropping(0.4, 5), 2, Norm::None, 7),
            (Activation::Softplus, dropping(0.0, 0), 1, Norm::None, 7),
            (Activation::Elu, dropping(0.3, 1), 3, Norm::None, 7),
            (Activation::Elu, dropping(0.0, 0), 1, Norm::Layer, 7),
            (Activation::Tanh, dropping(0.3, 2), 3, Norm::Layer, 7),
            (Activation::Elu, dropping(0.0, 0), 1, Norm::Batch, 7),
            (Activation::Elu, dropping(0.0, 0), 3, Norm::Batch, 7),
            (Activation::Softplus, dropping(0.2, 3), 2, Norm::Batch, 7),
            (Activation::Tanh, dropping(0.3, 2), 3, Norm::Batch, 7),
            // More rows than one piece of a sum.
            (Activation::Elu, dropping(0.1, 4), 1, Norm::Batch, pass::ROWS + 5),
            // By running statistics: asked for, or because one row has no variance.
            (Activation::Elu, Mode::Evaluation, 3, Norm::Batch, 7),
            (Activation::Elu, dropping(0.3, 6), 2, Norm::Batch, 1),
        ] {
            let what = format!("{activation:?} {mode:?} {groups} {norm:?} {rows}");
            let mut layout = Layout::default();
            let net = Net::new(&shape(groups, vec![5, 3, 2], activation, norm), &mut layout);
            let mut params: Vec<f64> = layout.initial(Seed(3));
            let mut rng = Seed(4).rng();
            params.iter_mut().for_each(|p| *p += 0.1 * rng.normal());
            let mut x: Vec<f64> = (0..rows * 4).map(|_| rng.normal()).collect();
            let mut work = net.work(rows, true);
            let input = Input::Dense(MatRef::row_major(&x, rows, 4).unwrap());
            net.forward(&params, input, (rows, mode), &mut work, Parallelism::None).unwrap();
            let (y, d) = work.output_and_gradient();
            d.iter_mut().zip(y).enumerate().for_each(|(i, (d, y))| *d = ((i as f64) * 0.7).sin() + 0.6 * y);
            let mut grads = vec![f64::NAN; params.len()];
            let mut dx = vec![0.0; x.len()];
            let d_input = Some((MatMut::row_major(&mut dx, rows, 4).unwrap(), false));
            net.backward(&params, input, &mut work, (Some(&mut grads), d_input), Parallelism::None).unwrap();
            let h = 1e-6;
            let moved: Vec<usize> = layout.moves(&net.range()).into_iter().flat_map(|m| m.range).collect();
            for i in 0..params.len() {
                if !moved.contains(&i) {
                    assert!(norm == Norm::Batch && grads[i] == 0.0, "{what}: statistics have a gradient at {i}");
                    continue;
                }
                let keep = params[i];
                params[i] = keep + h;
                let up = loss(&net, &params, &x, rows, mode);
                params[i] = keep - h;
                let down = loss(&net, &params, &x, rows, mode);
                params[i] = keep;
                let numeric = (up - down) / (2.0 * h);
                let close = (numeric - grads[i]).abs() < 1e-6 * (1.0 + numeric.abs());
                assert!(close, "{what}, {i}: {numeric} {}", grads[i]);
            }
            for i in 0..x.len() {
                let keep = x[i];
                x[i] = keep + h;
                let up = loss(&net, &params, &x, rows, mode);
                x[i] = keep - h;
                let down = loss(&net, &params, &x, rows, mode);
                x[i] = keep;
                let numeric = (up - down) / (2.0 * h);
                assert!((numeric - dx[i]).abs() < 1e-6 * (1.0 + numeric.abs()), "{what}, x {i}: {numeric} {}", dx[i]);
            }
        }
    }

    /// Features read twice with two columns beside them, against the same rows written out.
    #[test]
    fn further_columns_are_read_as_if_written_out() {
        let shape = NetShape {
            inputs: 5,
            groups: 1,
            widths: vec![4, 2],
            hidden: Activation::Elu,
            last: Activation::Linear,
            last_spread: 1.0,
            norm: Norm::None,
        };
        let mut layout = Layout::default();
        let net = Net::new(&shape, &mut layout);
        let params: Vec<f64> = layout.initial(Seed(5));
        let mut rng = Seed(6).rng();
        let (indptr, indices) = ([0, 2, 2, 3], [0_u32, 2, 1]);
        let (values, mean, on) = ([1.5, -0.5, 2.0], [0.1, 0.2, -0.3], [1.0, 1.0, 0.0]);
        let csr = CsrView::new(&indptr, &indices, &values, 3).unwrap();
        let sparse = Input::Sparse(csr, Standardise::new(&mean, &on).unwrap());
        let features = [1.4, -0.2, 0.0, -0.1, -0.2, 0.0, -0.1, 1.8, 0.0];
        let dense = Input::Dense(MatRef::row_major(&features, 3, 3).unwrap());
        let more: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
        let written: Vec<f64> =
            (0..6).flat_map(|i| [&features[i % 3 * 3..i % 3 * 3 + 3], &more[2 * i..2 * i + 2]].concat()).collect();
        let run = |input: Input<'_, f64>, columns: usize| {
            let mut work = net.work(6, true);
            net.forward(&params, input, (6, Mode::Evaluation), &mut work, Parallelism::None).unwrap();
            let y = work.output().to_vec();
            work.d_output().iter_mut().enumerate().for_each(|(i, d)| *d = (i as f64).cos());
            let (mut grads, mut dx) = (vec![f64::NAN; params.len()], vec![f64::NAN; 6 * columns]);
            let d_input = Some((MatMut::row_major(&mut dx, 6, columns).unwrap(), false));
            net.backward(&params, input, &mut work, (Some(&mut grads), d_input), Parallelism::None).unwrap();
            (y, grads, dx)
        };
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        let (y, grads, dx) = run(Input::Dense(MatRef::row_major(&written, 6, 5).unwrap()), 5);
        let d_more: Vec<f64> = dx.chunks_exact(5).flat_map(|row| row[3..].to_vec()).collect();
        for features in [sparse, dense] {
            let (y2, grads2, dx2) = run(Input::Beside(&features, MatRef::row_major(&more, 6, 2).unwrap()), 2);
            assert!(
                close(&y, &y2) && close(&grads, &grads2) && close(&d_more, &dx2),
                "{y:?} {y2:?} {d_more:?} {dx2:?}"
            );
        }
    }

    #[test]
    fn a_net_that_took_groups_answers_as_they_did() {
        for norm in [Norm::None, Norm::Layer, Norm::Batch] {
            let (mut layout, mut other_layout) = (Layout::default(), Layout::default());
            layout.biases(2);
            let net = Net::new(&shape(3, vec![5, 2], Activation::Elu, norm), &mut layout);
            let other = Net::new(&shape(2, vec![5, 2], Activation::Elu, norm), &mut other_layout);
            let mut params: Vec<f64> = layout.initial(Seed(8));
            let mut from: Vec<f64> = other_layout.initial(Seed(9));
            from.iter_mut().enumerate().for_each(|(i, p)| *p += 0.01 * (i % 7) as f64);
            let before = params.clone();
            net.take_groups(&mut params, 1..3, (&other, 0..2, &from));
            let x: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1).collect();
            let input = Input::Dense(MatRef::row_major(&x, 3, 4).unwrap());
            let answer = |net: &Net, params: &[f64]| {
                let mut work = net.work(3, false);
                net.forward(params, input, (3, Mode::Evaluation), &mut work, Parallelism::None).unwrap();
                work.output().to_vec()
            };
            let (old, new, theirs) = (answer(&net, &before), answer(&net, &params), answer(&other, &from));
            for row in 0..3 {
                assert_eq!(new[row * 6..row * 6 + 2], old[row * 6..row * 6 + 2], "{norm:?}");
                assert_eq!(new[row * 6 + 2..row * 6 + 6], theirs[row * 4..row * 4 + 4], "{norm:?}");
            }
        }
    }

    #[test]
    fn an_extracted_net_says_what_its_groups_said() {
        for norm in [Norm::None, Norm::Layer, Norm::Batch] {
            let mut layout = Layout::default();
            let net = Net::new(&shape(3, vec![5, 2], Activation::Elu, norm), &mut layout);
            let mut rng = Seed(9).rng();
            let mut params: Vec<f64> = layout.initial(Seed(8));
            params.iter_mut().for_each(|p| *p += 0.3 * rng.uniform());
            let x: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1).collect();
            let input = Input::Dense(MatRef::row_major(&x, 3, 4).unwrap());
            let mut all = net.work(3, false);
            net.forward(&params, input, (3, Mode::Evaluation), &mut all, Parallelism::None).unwrap();
            let mut small_layout = Layout::default();
            let (small, values) = net.extract(&params, 1..3, &mut small_layout);
            assert_eq!(values.len(), small_layout.len(), "{norm:?}");
            let mut some = small.work(3, false);
            small.forward(&values, input, (3, Mode::Evaluation), &mut some, Parallelism::None).unwrap();
            for row in 0..3 {
                assert_eq!(all.output()[row * 6 + 2..row * 6 + 6], some.output()[row * 4..row * 4 + 4], "{norm:?}");
            }
        }
    }
}
