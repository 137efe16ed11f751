//! Features as bins for the search of policy trees: codes row by row, and the thresholds between them.

use paretau_core::Features;
use paretau_kernels::numeric::shortest_between;

/// Rows of features as bins.
pub(crate) struct Binned {
    /// Codes row by row: the number of thresholds below the value.
    codes: Vec<u8>,
    /// Thresholds per kept column.
    cuts: Vec<Vec<f64>>,
    /// Where each kept column's bins begin, among those of all.
    offsets: Vec<usize>,
    /// The kept columns' places among the features.
    columns: Vec<usize>,
    n_rows: usize,
    n_cells: usize,
}

impl Binned {
    /// Bins of all columns that vary, at most `most` (up to 256) each.
    pub(crate) fn new(x: &Features, rows: &[usize], most: usize) -> Self {
        let (n, p) = (rows.len(), x.n_cols());
        let mut by_column = vec![0.0; n * p];
        let mut buffer = vec![0.0; p];
        for (i, &row) in rows.iter().enumerate() {
            x.copy_row(row, &mut buffer);
            buffer.iter().enumerate().for_each(|(j, v)| by_column[j * n + i] = *v);
        }
        let values = |j: usize| &by_column[j * n..(j + 1) * n];
        let all: Vec<(usize, Vec<f64>)> =
            (0..p).map(|j| (j, thresholds(values(j), most))).filter(|(_, cuts)| !cuts.is_empty()).collect();
        let q = all.len();
        let mut codes = vec![0; n * q];
        for (k, (j, cuts)) in all.iter().enumerate() {
            for (i, v) in values(*j).iter().enumerate() {
                codes[i * q + k] = u8::try_from(cuts.partition_point(|c| c < v)).unwrap_or(u8::MAX);
            }
        }
        let (columns, cuts) = all.into_iter().unzip();
        Self::from_parts(codes, cuts, columns, n)
    }

    fn from_parts(codes: Vec<u8>, cuts: Vec<Vec<f64>>, columns: Vec<usize>, n_rows: usize) -> Self {
        let mut n_cells = 0;
        let offsets = cuts
            .iter()
            .map(|cuts| {
                let offset = n_cells;
                n_cells += cuts.len() + 1;
                offset
            })
            .collect();
        Self { codes, cuts, offsets, columns, n_rows, n_cells }
    }

    /// The same with some of the columns.
    pub(crate) fn keep(&self, kept: &[usize]) -> Self {
        let codes = (0..self.n_rows).flat_map(|i| kept.iter().map(move |&k| self.row(i)[k])).collect();
        let cuts = kept.iter().map(|&k| self.cuts[k].clone()).collect();
        Self::from_parts(codes, cuts, kept.iter().map(|&k| self.columns[k]).collect(), self.n_rows)
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Bins of all columns together.
    pub(crate) fn n_cells(&self) -> usize {
        self.n_cells
    }

    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    pub(crate) fn n_cuts(&self, k: usize) -> usize {
        self.cuts[k].len()
    }

    /// A threshold: rows with codes up to `b` have at most this.
    pub(crate) fn cut(&self, k: usize, b: usize) -> f64 {
        self.cuts[k][b]
    }

    /// The last code of rows with at most the threshold.
    pub(crate) fn code_of(&self, k: usize, threshold: f64) -> u8 {
        u8::try_from(self.cuts[k].partition_point(|c| *c < threshold)).unwrap_or(u8::MAX)
    }

    /// The kept column's place among the features.
    pub(crate) fn column(&self, k: usize) -> usize {
        self.columns[k]
    }

    /// The place among the kept columns of a column of the features.
    pub(crate) fn place(&self, column: usize) -> usize {
        self.columns.iter().position(|&c| c == column).unwrap_or(0)
    }

    /// The codes of a row.
    pub(crate) fn row(&self, i: usize) -> &[u8] {
        &self.codes[i * self.columns.len()..(i + 1) * self.columns.len()]
    }

    pub(crate) fn code(&self, i: usize, k: usize) -> u8 {
        self.codes[i * self.columns.len() + k]
    }

    /// Rows by rising code of a column, their order kept within a code.
    pub(crate) fn sorted(&self, rows: &[u32], k: usize) -> Vec<u32> {
        let mut starts = [0_usize; 257];
        rows.iter().for_each(|&i| starts[usize::from(self.code(i as usize, k)) + 1] += 1);
        for b in 0..256 {
            starts[b + 1] += starts[b];
        }
        let mut out = vec![0; rows.len()];
        for &i in rows {
            let place = &mut starts[usize::from(self.code(i as usize, k))];
            out[*place] = i;
            *place += 1;
        }
        out
    }
}

/// Thresholds between distinct values: the shortest number between neighbours, so that what is shown is what is applied; at
/// quantiles where there are too many.
fn thresholds(values: &[f64], most: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() <= most {
        return distinct.windows(2).map(|pair| between(pair[0], pair[1])).collect();
    }
    let mut cuts: Vec<f64> = (1..most)
        .filter_map(|b| {
            let last = sorted[(b * n / most).max(1) - 1];
            let next = sorted.partition_point(|v| *v <= last);
            (next < n).then(|| between(last, sorted[next]))
        })
        .collect();
    cuts.dedup();
    cuts
}

/// The shortest number from `low` (included) to `high` (not included).
fn between(low: f64, high: f64) -> f64 {
    shortest_between(low, high).parse().unwrap_or(low)
}
