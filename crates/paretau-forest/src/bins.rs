//! Columns quantised once: where a column's bins end, and the bin code of a value.
//!
//! A numeric column with few distinct values keeps them all; otherwise its bins hold about equally many rows.
//! A categorical column has one bin per level. Missing values have a code of their own. The codes of the training
//! rows live in [`Codes`](crate::codes::Codes); here is what is needed to code any other row the same way.

use std::ops::Range;

use paretau_core::{Column, ColumnKind, Error, Features, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Code of a missing value in a query row; larger than any bin.
pub(crate) const MISSING: u16 = u16::MAX;
/// Columns up to which the nodes of a tree name them alone; beyond, upper halves of their numbers stand beside the nodes.
pub(crate) const NARROW: usize = u16::MAX as usize;
/// Most codes of a wider table.
const MOST_CODES: usize = 1 << 32;

/// Largest number of levels that a categorical column keeps apart: a set of them is 256 bits.
pub(crate) const MAX_LEVELS: usize = 256;

/// More rows than this and the bins' ends are read off an evenly spaced sample, to stay linear in the rows.
const SAMPLE: usize = 200_000;

/// How the values of one column become codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ColumnBins {
    /// Bin `b` holds the values above `cuts[b - 1]` up to and including `cuts[b]`.
    Numeric {
        /// Ascending inner bounds, one fewer than there are bins.
        cuts: Vec<f64>,
    },
    /// Level `l` has code `code_of[l]`; rare levels may share one.
    Levels {
        /// Code of each level.
        code_of: Vec<u16>,
    },
}

impl ColumnBins {
    /// Number of bins, the one for missing values not counted.
    pub(crate) fn n_bins(&self) -> usize {
        match self {
            Self::Numeric { cuts } => cuts.len() + 1,
            Self::Levels { code_of } => code_of.iter().max().map_or(1, |&c| usize::from(c) + 1),
        }
    }

    /// The code of a value; NaN, and anything that is not a known level, is [`MISSING`].
    pub(crate) fn code(&self, value: f64) -> u16 {
        match self {
            _ if value.is_nan() => MISSING,
            Self::Numeric { cuts } => cuts.partition_point(|&cut| cut < value) as u16,
            Self::Levels { code_of } => {
                let known = value >= 0.0 && value.fract() == 0.0 && value < code_of.len() as f64;
                if known { code_of[value as usize] } else { MISSING }
            }
        }
    }

    pub(crate) fn is_categorical(&self) -> bool {
        matches!(self, Self::Levels { .. })
    }
}

/// The bins of all columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bins {
    /// One entry per column.
    pub(crate) columns: Vec<ColumnBins>,
}

impl Bins {
    /// Bins for the columns of `x`, at most `max_bins` each, one of them kept for missing values where there are any.
    pub(crate) fn fit(x: &Features, columns: &[Column], max_bins: usize) -> Result<Self> {
        let n_cols = x.n_cols();
        // A sparse file of modest size could ask for more than any memory.
        if n_cols > NARROW && n_cols.saturating_mul(x.n_rows()) > MOST_CODES {
            return Err(Error::unfit(format!(
                "trees would hold {} GiB of codes for {} rows of {n_cols} feature columns; select or combine columns, or use an \
                 estimator of lines such as `lr-2`",
                n_cols.saturating_mul(x.n_rows()) >> 30,
                x.n_rows()
            )));
        }
        let by_column = SparseColumns::of(x);
        let (n, group) = (x.n_rows(), columns_at_once(x.n_rows()));
        let bins_of = |j: usize, values: &[f64]| match columns.get(j).map(|c| c.kind) {
            Some(ColumnKind::Categorical { levels }) => level_bins(values, levels as usize, max_bins),
            _ => numeric_bins(values, max_bins),
        };
        let groups: Vec<Vec<ColumnBins>> = (0..n_cols.div_ceil(group))
            .into_par_iter()
            .map_init(Vec::new, |values, k| {
                let range = k * group..((k + 1) * group).min(n_cols);
                values_of_columns(x, by_column.as_ref(), range.clone(), values);
                range.zip(0..).map(|(j, at)| bins_of(j, &values[at * n..(at + 1) * n])).collect()
            })
            .collect();
        Ok(Self { columns: groups.into_iter().flatten().collect() })
    }

    /// Number of columns.
    pub(crate) fn n_cols(&self) -> usize {
        self.columns.len()
    }

    /// The same for the given columns only, ascending; the codes of others are arbitrary.
    pub(crate) fn encode_some(&self, x: &Features, used: &[usize], rows: Range<usize>, out: &mut Vec<u16>) {
        let Features::Dense(m) = x else { return self.encode(x, rows, out) };
        let n = rows.len();
        out.clear();
        out.resize(n * self.columns.len(), 0);
        for (k, i) in rows.enumerate() {
            let row = m.row(i);
            used.iter().for_each(|&j| out[j * n + k] = self.columns[j].code(row[j]));
        }
    }

    /// Codes of the rows `rows` of `x`, column after column.
    pub(crate) fn encode(&self, x: &Features, rows: Range<usize>, out: &mut Vec<u16>) {
        let n = rows.len();
        out.clear();
        match x {
            Features::Dense(m) => {
                let part = &m.values()[rows.start * m.n_cols()..rows.end * m.n_cols()];
                for (j, bins) in self.columns.iter().enumerate() {
                    out.extend(part.iter().skip(j).step_by(m.n_cols()).map(|&v| bins.code(v)));
                }
            }
            Features::Sparse(m) => {
                for bins in &self.columns {
                    out.resize(out.len() + n, bins.code(0.0));
                }
                for (k, i) in rows.enumerate() {
                    let (indices, values) = m.row(i);
                    for (&j, &v) in indices.iter().zip(values) {
                        out[j as usize * n + k] = self.columns[j as usize].code(v);
                    }
                }
            }
        }
    }
}

/// The stored entries of a sparse matrix by columns: row indices and values, column after column.
pub(crate) struct SparseColumns {
    start: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl SparseColumns {
    /// The transposed entries of a sparse matrix; nothing for a dense one.
    pub(crate) fn of(x: &Features) -> Option<Self> {
        let Features::Sparse(m) = x else { return None };
        let mut start = vec![0_usize; m.n_cols() + 1];
        m.indices().iter().for_each(|&j| start[j as usize + 1] += 1);
        (0..m.n_cols()).for_each(|j| start[j + 1] += start[j]);
        let mut next = start.clone();
        let (mut rows, mut values) = (vec![0_u32; m.indices().len()], vec![0.0; m.indices().len()]);
        for i in 0..m.n_rows() {
            let (indices, entries) = m.row(i);
            for (&j, &v) in indices.iter().zip(entries) {
                let at = &mut next[j as usize];
                rows[*at] = i as u32;
                values[*at] = v;
                *at += 1;
            }
        }
        Some(Self { start, rows, values })
    }
}

/// How many columns are taken out of a matrix at once. Of few rows several: a row's cells stand side by side in memory, and each
/// cache line that is fetched then serves more than one column.
pub(crate) fn columns_at_once(n_rows: usize) -> usize {
    const CELLS: usize = 1 << 16;
    const MOST: usize = 16;
    (CELLS / n_rows.max(1)).clamp(1, MOST)
}

/// All values of some neighbouring columns, one after the other, absent entries of a sparse matrix as zeros.
pub(crate) fn values_of_columns(
    x: &Features,
    by_column: Option<&SparseColumns>,
    columns: Range<usize>,
    out: &mut Vec<f64>,
) {
    let n = x.n_rows();
    out.clear();
    match (x, by_column) {
        (Features::Dense(m), _) if columns.len() == 1 => {
            out.extend(m.values().iter().skip(columns.start).step_by(m.n_cols().max(1)));
        }
        (Features::Dense(m), _) => {
            out.resize(n * columns.len(), 0.0);
            for i in 0..n {
                m.row(i)[columns.clone()].iter().zip(0..).for_each(|(&v, at)| out[at * n + i] = v);
            }
        }
        (Features::Sparse(_), Some(entries)) => {
            out.resize(n * columns.len(), 0.0);
            for (column, j) in out.chunks_exact_mut(n.max(1)).zip(columns) {
                let range = entries.start[j]..entries.start[j + 1];
                entries.rows[range.clone()]
                    .iter()
                    .zip(&entries.values[range])
                    .for_each(|(&i, &v)| column[i as usize] = v);
            }
        }
        (Features::Sparse(_), None) => out.resize(n * columns.len(), 0.0),
    }
}

/// Bins of a numeric column: all distinct values if they fit, else quantiles.
fn numeric_bins(values: &[f64], max_bins: usize) -> ColumnBins {
    let stride = values.len().div_ceil(SAMPLE).max(1);
    // Adding zero turns -0 into 0, so that the two are one value.
    let mut sorted: Vec<f64> = values.iter().step_by(stride).filter(|v| !v.is_nan()).map(|v| v + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let has_missing = values.iter().any(|v| v.is_nan());
    let max_bins = max_bins - usize::from(has_missing);
    let mut distinct = distinct_of(&sorted, max_bins);
    if stride > 1 && distinct.len() <= max_bins {
        add_unseen(values, &mut distinct, max_bins);
    }
    let ends = if distinct.len() <= max_bins {
        distinct.windows(2).map(|pair| between(pair[0], pair[1])).collect()
    } else {
        quantile_cuts(&sorted, max_bins)
    };
    ColumnBins::Numeric { cuts: ends }
}

/// Distinct values, ascending; stops once there are more than `max`.
fn distinct_of(sorted: &[f64], max: usize) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for &v in sorted {
        if out.last() != Some(&v) {
            out.push(v);
            if out.len() > max {
                break;
            }
        }
    }
    out
}

/// Values that the sample of a long column missed; stops once there are more than `max`.
fn add_unseen(values: &[f64], distinct: &mut Vec<f64>, max: usize) {
    for v in values.iter().filter(|v| !v.is_nan()) {
        let at = distinct.partition_point(|known| known < v);
        if distinct.get(at) != Some(v) {
            distinct.insert(at, v + 0.0);
            if distinct.len() > max {
                return;
            }
        }
    }
}

/// Inner bounds of `max_bins` bins of about equal size; a value is never divided between two bins.
fn quantile_cuts(sorted: &[f64], max_bins: usize) -> Vec<f64> {
    let mut cuts = Vec::with_capacity(max_bins);
    let mut start = 0;
    for bins_left in (2..=max_bins).rev() {
        let want = (sorted.len() - start).div_ceil(bins_left).max(1);
        let Some(&last) = sorted.get(start + want - 1) else { break };
        let end = sorted.partition_point(|v| *v <= last);
        if end >= sorted.len() {
            break;
        }
        cuts.push(between(sorted[end - 1], sorted[end]));
        start = end;
    }
    cuts
}

/// A bound between two neighbouring values: halfway, so that new values go to the nearer side.
fn between(below: f64, above: f64) -> f64 {
    let middle = below / 2.0 + above / 2.0;
    if middle >= below && middle < above { middle } else { below }
}

/// Bins of a categorical column: one per level; when there are too many, the rarest share the last.
fn level_bins(values: &[f64], levels: usize, max_bins: usize) -> ColumnBins {
    let is_level = |v: f64| v >= 0.0 && v.fract() == 0.0 && v < levels as f64;
    let has_missing = values.iter().any(|&v| !is_level(v));
    let max_bins = max_bins.min(MAX_LEVELS) - usize::from(has_missing);
    if levels <= max_bins {
        return ColumnBins::Levels { code_of: (0..levels as u16).collect() };
    }
    let mut counts = vec![0_usize; levels];
    for &v in values {
        if is_level(v) {
            counts[v as usize] += 1;
        }
    }
    let mut order: Vec<usize> = (0..levels).collect();
    order.sort_by_key(|&l| (std::cmp::Reverse(counts[l]), l));
    let mut code_of = vec![max_bins as u16 - 1; levels];
    order.iter().take(max_bins - 1).enumerate().for_each(|(code, &l)| code_of[l] = code as u16);
    ColumnBins::Levels { code_of }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::{Csr, Dense, Seed};

    #[test]
    fn few_values_are_kept_and_many_are_shared_evenly() {
        let few = numeric_bins(&[3.0, 1.0, f64::NAN, 1.0, 2.0], 256);
        assert_eq!(few, ColumnBins::Numeric { cuts: vec![1.5, 2.5] });
        assert_eq!([1.0, 1.4, 2.0, 9.0, f64::NAN].map(|v| few.code(v)), [0, 0, 1, 2, MISSING]);
        let mut rng = Seed(1).rng();
        let values: Vec<f64> = (0..10_000).map(|_| rng.normal()).collect();
        let many = numeric_bins(&values, 256);
        assert_eq!(many.n_bins(), 256);
        let mut counts = vec![0; 256];
        values.iter().for_each(|&v| counts[usize::from(many.code(v))] += 1);
        assert!(counts.iter().all(|c| (30..50).contains(c)), "{counts:?}");
    }

    #[test]
    fn a_heavy_value_gets_a_bin_of_its_own() {
        let mut rng = Seed(2).rng();
        let values: Vec<f64> = (0..5_000).map(|i| if i % 2 == 0 { 0.0 } else { rng.uniform() }).collect();
        let bins = numeric_bins(&values, 64);
        assert_eq!(bins.code(0.0), 0);
        assert_eq!(bins.code(1e-3), 1);
        assert!(bins.n_bins() > 60, "{}", bins.n_bins());
    }

    #[test]
    fn levels_have_their_own_codes_and_strangers_are_missing() {
        let bins = level_bins(&[0.0, 1.0, 2.0], 3, 256);
        assert_eq!([0.0, 2.0, 3.0, 0.5, -1.0].map(|v| bins.code(v)), [0, 2, MISSING, MISSING, MISSING]);
        let shared = level_bins(&[5.0, 5.0, 4.0, 4.0, 1.0], 6, 3);
        assert_eq!([4.0, 5.0, 1.0, 0.0].map(|v| shared.code(v)), [0, 1, 2, 2]);
    }

    #[test]
    fn sparse_and_dense_columns_get_the_same_codes() {
        let dense = Features::Dense(Dense::new(3, 2, vec![0.0, 2.0, 1.0, 0.0, 0.0, 5.0]).unwrap());
        let csr = Csr::new(3, 2, vec![0, 1, 2, 3], vec![1, 0, 1], vec![2.0, 1.0, 5.0]).unwrap();
        let sparse = Features::Sparse(csr);
        let columns = Column::numbered(2);
        let bins = Bins::fit(&dense, &columns, 256).unwrap();
        assert_eq!(bins, Bins::fit(&sparse, &columns, 256).unwrap());
        let (mut a, mut b) = (vec![], vec![]);
        bins.encode(&dense, 0..3, &mut a);
        bins.encode(&sparse, 0..3, &mut b);
        assert_eq!(a, b);
        bins.encode_some(&dense, &[0, 1], 0..3, &mut b);
        assert_eq!(a, b);
        assert_eq!(a, [0, 1, 0, 1, 0, 2]);
    }
}
