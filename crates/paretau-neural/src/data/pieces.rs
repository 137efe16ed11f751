//! Piecewise-linear encoding of numbers (Gorishniy et al. 2022): beside its standardised value, a column has one further input per
//! bin between quantiles of the training rows.
//!
//! A piece is 0 below its bin, 1 above it and linear inside, then standardised, so that a column's first-layer sums are any
//! continuous function that is linear between quantiles: steps and bends cost no hidden layers. Columns with few different values get
//! a piece between each two; columns with two values or one, those that are zero in more than half of the rows, and sparse features
//! stay as they are.
//!
//! A row is kept as the position of each such column, its bin's number and the share of the bin that lies below the value; a batch is
//! expanded when it is gathered.

use paretau_core::{Error, Features, Result, State, Tensor};
use paretau_kernels::real::Real;

/// Most further inputs of a net: with more columns, fewer bins each.
const MOST_INPUTS: usize = 1024;
/// Fewest bins that are worth their inputs.
const FEWEST_BINS: usize = 3;

/// The pieces of all columns that have some, column after column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pieces {
    columns: Vec<Binned>,
    /// Standardisation of every piece: what its value between 0 and 1 is multiplied by, and what is added.
    scales: Vec<(f64, f64)>,
}

/// A column with its bins.
#[derive(Debug, Clone, PartialEq)]
struct Binned {
    column: usize,
    /// Increasing ends of the bins.
    edges: Vec<f64>,
}

impl Binned {
    fn bins(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin that holds a value; the first or the last one for values outside.
    fn bin(&self, value: f64) -> usize {
        self.edges[1..self.bins()].partition_point(|edge| *edge <= value)
    }

    /// Number of the bin plus the share of it below the value, from 0 to the number of bins.
    fn position(&self, value: f64) -> f64 {
        let bin = self.bin(value);
        let (start, end) = (self.edges[bin], self.edges[bin + 1]);
        // Halves, so that the two ends of all numbers are no overflow apart.
        bin as f64 + ((0.5 * value - 0.5 * start) / (0.5 * end - 0.5 * start)).clamp(0.0, 1.0)
    }
}

impl Pieces {
    /// Learns up to `bins` bins per column from the given rows of `x`; none for sparse features.
    pub fn fit(x: &Features, rows: &[usize], bins: usize) -> Self {
        let none = Self::default();
        let Features::Dense(m) = x else { return none };
        let values = |j: usize| rows.iter().map(move |&i| m.row(i)[j]);
        let open: Vec<usize> = (0..m.n_cols()).filter(|&j| suits(values(j))).collect();
        let bins = bins.min(MOST_INPUTS / open.len().max(1));
        if bins < FEWEST_BINS {
            return none;
        }
        let mut pieces = none;
        let mut sorted = Vec::with_capacity(rows.len());
        for column in open {
            sorted.clear();
            sorted.extend(values(column));
            sorted.sort_unstable_by(f64::total_cmp);
            let binned = Binned { column, edges: edges(&sorted, bins) };
            if binned.edges.len() > 2 {
                pieces.scales.extend((0..binned.bins()).map(|k| standardisation(&binned, k, &sorted)));
                pieces.columns.push(binned);
            }
        }
        pieces
    }

    /// Whether some column of `x` would have pieces.
    pub fn suit(x: &Features) -> bool {
        let Features::Dense(m) = x else { return false };
        let open = (0..m.n_cols()).filter(|&j| suits((0..m.n_rows()).map(|i| m.row(i)[j]))).count();
        (1..=MOST_INPUTS / FEWEST_BINS).contains(&open)
    }

    /// Number of further inputs.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Number of columns that have some, and so of a row's positions.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The column of every piece.
    pub fn owners(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().flat_map(|binned| std::iter::repeat_n(binned.column, binned.bins()))
    }

    /// Appends the positions of a row.
    pub(super) fn positions<T: Real>(&self, row: &[f64], out: &mut Vec<T>) {
        out.extend(self.columns.iter().map(|binned| T::from_f64(binned.position(row[binned.column]))));
    }

    /// Appends the pieces that belong to a row's positions.
    pub(super) fn expand<T: Real>(&self, positions: &[T], out: &mut Vec<T>) {
        let start = out.len();
        out.resize(start + self.len(), T::ZERO);
        let (mut out, mut scales) = (&mut out[start..], &self.scales[..]);
        for (binned, position) in self.columns.iter().zip(positions) {
            let (own, more) = out.split_at_mut(binned.bins());
            let (own_scales, more_scales) = scales.split_at(binned.bins());
            let mut left = position.to_f64();
            for (out, (scale, low)) in own.iter_mut().zip(own_scales) {
                *out = T::from_f64(left.clamp(0.0, 1.0) * scale + low);
                left -= 1.0;
            }
            (out, scales) = (more, more_scales);
        }
    }

    /// The derivative of every piece of a row with respect to its column.
    pub(crate) fn slopes(&self, row: &[f64]) -> Vec<(usize, f64)> {
        let mut out = Vec::with_capacity(self.len());
        let mut scales = self.scales.iter();
        for binned in &self.columns {
            let value = row[binned.column];
            let inside = value > binned.edges[0] && value < binned.edges[binned.bins()];
            let at = inside.then(|| binned.bin(value));
            for (k, (scale, _)) in scales.by_ref().take(binned.bins()).enumerate() {
                let slope = if at == Some(k) { scale / (binned.edges[k + 1] - binned.edges[k]) } else { 0.0 };
                out.push((binned.column, slope));
            }
        }
        out
    }

    /// Writes the pieces, if there are any.
    pub(crate) fn put(&self, state: &mut State) {
        if self.is_empty() {
            return;
        }
        let columns = self.columns.iter().flat_map(|binned| [binned.column as u32, binned.bins() as u32]).collect();
        state.tensors.insert("piece_columns".to_owned(), Tensor::U32(vec![self.columns.len(), 2], columns));
        let edges: Vec<f64> = self.columns.iter().flat_map(|binned| binned.edges.iter().copied()).collect();
        state.put_f64("piece_edges", &[edges.len()], edges);
        state.put_f64("piece_scales", &[self.len(), 2], self.scales.iter().flat_map(|(a, b)| [*a, *b]).collect());
    }

    /// Reads `count` pieces of `d` columns.
    pub(crate) fn read(state: &State, count: usize, d: usize) -> Result<Self> {
        if count == 0 {
            return Ok(Self::default());
        }
        let bad = || Error::bad_model("a net's piecewise inputs make no sense");
        let scales: Vec<(f64, f64)> =
            state.f64("piece_scales", &[count, 2])?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let (Some(Tensor::U32(_, counts)), Some(Tensor::F64(_, edges))) =
            (state.tensors.get("piece_columns"), state.tensors.get("piece_edges"))
        else {
            return Err(bad());
        };
        let mut edges = &edges[..];
        let mut columns = Vec::new();
        for pair in counts.chunks_exact(2) {
            let (column, ends) = (pair[0] as usize, pair[1] as usize + 1);
            if column >= d || ends < 3 || ends > edges.len() {
                return Err(bad());
            }
            let (own, rest) = edges.split_at(ends);
            columns.push(Binned { column, edges: own.to_vec() });
            edges = rest;
        }
        let sound = edges.is_empty()
            && columns.iter().map(Binned::bins).sum::<usize>() == count
            && columns.iter().all(|b| b.edges.iter().all(|e| e.is_finite()) && b.edges.windows(2).all(|w| w[0] < w[1]))
            && scales.iter().all(|(scale, low)| scale.is_finite() && low.is_finite());
        if sound { Ok(Self { columns, scales }) } else { Err(bad()) }
    }
}

/// Whether a column may have pieces: with three values at least, and not zero in more than half of the rows. Such a column is kept
/// as it is in sparse features too, so that a table gives the same however it is stored.
fn suits(values: impl Iterator<Item = f64> + Clone) -> bool {
    let (rows, zeros) = values.clone().fold((0_usize, 0_usize), |(n, z), v| (n + 1, z + usize::from(v == 0.0)));
    zeros * 2 <= rows && has_three_values(values)
}

fn has_three_values(mut values: impl Iterator<Item = f64>) -> bool {
    let Some(first) = values.next() else { return false };
    let Some(second) = values.find(|v| *v != first) else { return false };
    values.any(|v| v != first && v != second)
}

/// Different quantiles of sorted values: all values where they are few.
fn edges(sorted: &[f64], bins: usize) -> Vec<f64> {
    let mut edges: Vec<f64> = Vec::with_capacity(bins + 2);
    for &value in sorted {
        if edges.last() != Some(&value) {
            edges.push(value);
            if edges.len() > bins + 1 {
                break;
            }
        }
    }
    if edges.len() > bins + 1 {
        let last = sorted.len() - 1;
        edges = (0..=bins).map(|k| sorted[(last * k + bins / 2) / bins]).collect();
        edges.dedup();
    }
    // Ends that are nearly the same number make a jump of rounding errors.
    let least = 1e-12 * sorted.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    edges.dedup_by(|later, kept| *later - *kept <= least.max(f64::MIN_POSITIVE));
    edges
}

/// What gives a column's `k`th piece mean 0 and variance 1 over sorted values.
fn standardisation(binned: &Binned, k: usize, sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len() as f64;
    let raw = |value: &f64| (binned.position(*value) - k as f64).clamp(0.0, 1.0);
    let mean = sorted.iter().map(raw).sum::<f64>() / n;
    let sd = (sorted.iter().map(|v| (raw(v) - mean).powi(2)).sum::<f64>() / n).sqrt();
    // A piece that one row in a million moves would be that row's own.
    if sd > 1e-3 { (1.0 / sd, -mean / sd) } else { (0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use paretau_core::{Dense, Seed};

    use super::*;

    fn table(n: usize) -> Features {
        let mut rng = Seed(5).rng();
        let mut values = Vec::new();
        for _ in 0..n {
            let z = rng.normal();
            let row = [z.exp(), f64::from(u8::from(z > 0.3)), (2.0 * z).round().clamp(-2.0, 2.0), 7.0, 1e300 * z];
            values.extend(row);
        }
        Features::Dense(Dense::new(n, 5, values).unwrap())
    }

    fn all(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    fn expanded(pieces: &Pieces, row: &[f64]) -> Vec<f64> {
        let (mut positions, mut out) = (Vec::<f64>::new(), Vec::new());
        pieces.positions(row, &mut positions);
        pieces.expand(&positions, &mut out);
        out
    }

    #[test]
    fn numbers_have_standardised_pieces_and_other_columns_none() {
        let x = table(400);
        let rows = all(300);
        let pieces = Pieces::fit(&x, &rows, 8);
        let per_column = |column: usize| pieces.owners().filter(|c| *c == column).count();
        assert_eq!((0..5).map(per_column).collect::<Vec<_>>(), [8, 0, 4, 0, 8]);
        let Features::Dense(m) = &x else { unreachable!() };
        let values: Vec<Vec<f64>> = rows.iter().map(|&i| expanded(&pieces, m.row(i))).collect();
        for k in 0..pieces.len() {
            let mean = values.iter().map(|row| row[k]).sum::<f64>() / 300.0;
            let variance = values.iter().map(|row| (row[k] - mean).powi(2)).sum::<f64>() / 300.0;
            assert!(mean.abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "{k}: {mean} {variance}");
        }
        // Far outside the training rows nothing grows.
        let far = expanded(&pieces, &[f64::MAX, 1.0, 9e9, 7.0, -f64::MAX]);
        assert!(far.iter().all(|v| v.abs() < 20.0), "{far:?}");
    }

    #[test]
    fn slopes_are_derivatives() {
        let x = table(300);
        let pieces = Pieces::fit(&x, &all(300), 6);
        let Features::Dense(m) = &x else { unreachable!() };
        let row = m.row(17).to_vec();
        let at = |step: f64| {
            let mut moved = row.clone();
            moved[0] += step;
            expanded(&pieces, &moved)
        };
        let (up, down) = (at(1e-7), at(-1e-7));
        let mut inside = 0;
        for (k, (column, slope)) in pieces.slopes(&row).into_iter().enumerate().filter(|(_, (c, _))| *c == 0) {
            let found = (up[k] - down[k]) / 2e-7;
            assert!((found - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{k} {column}: {found} {slope}");
            inside += usize::from(slope > 0.0);
        }
        assert_eq!(inside, 1);
    }

    #[test]
    fn a_model_file_brings_them_back_and_nonsense_is_refused() {
        let x = table(200);
        let pieces = Pieces::fit(&x, &all(200), 5);
        let mut state = State::default();
        pieces.put(&mut state);
        assert_eq!(Pieces::read(&state, pieces.len(), 5).unwrap(), pieces);
        assert!(Pieces::read(&state, pieces.len(), 4).is_err());
        assert!(Pieces::read(&state, pieces.len() + 1, 5).is_err());
        let Some(Tensor::F64(_, edges)) = state.tensors.get_mut("piece_edges") else { unreachable!() };
        edges.swap(0, 1);
        assert!(Pieces::read(&state, pieces.len(), 5).is_err());
    }

    #[test]
    fn many_columns_have_fewer_bins_or_none() {
        let wide = |d: usize| {
            let mut rng = Seed(2).rng();
            Features::Dense(Dense::new(50, d, (0..50 * d).map(|_| rng.normal()).collect()).unwrap())
        };
        let count = |d: usize| Pieces::fit(&wide(d), &all(50), 8).len();
        assert_eq!([count(10), count(200), count(400)], [80, 1000, 0]);
    }
}
