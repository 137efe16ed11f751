//! Bin codes of the training rows, column after column: one byte per cell, or two in exact mode.

use paretau_core::Features;
use rayon::prelude::*;

use crate::bins::{Bins, MISSING, SparseColumns, columns_at_once, values_of_columns};

/// A training code: a byte, or two bytes when every distinct value has its own.
pub(crate) trait Code: Copy + Send + Sync + Into<u16> + 'static {
    /// Whether all codes fit a histogram of 256 bins.
    const BYTE: bool;
    /// The code as an index below 256; only meaningful when [`Code::BYTE`].
    fn byte(self) -> u8;
}

impl Code for u8 {
    const BYTE: bool = true;
    #[inline(always)]
    fn byte(self) -> u8 {
        self
    }
}

impl Code for u16 {
    const BYTE: bool = false;
    #[inline(always)]
    fn byte(self) -> u8 {
        self as u8
    }
}

/// The cells of all columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cells {
    /// At most 256 bins per column.
    Byte(Vec<u8>),
    /// Every distinct value its own code.
    Wide(Vec<u16>),
}

/// The codes of the training rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Codes {
    pub(crate) n_rows: usize,
    pub(crate) cells: Cells,
    /// The code that stands for a missing value in each column, which is one more than its last bin.
    pub(crate) missing: Vec<u16>,
    /// Whether each column is categorical.
    pub(crate) categorical: Vec<bool>,
    /// The code that most rows of a column have, if there is one, as in sparse columns; [`MISSING`] otherwise.
    pub(crate) usual: Vec<u16>,
    /// The rows with another code than the usual one, ascending, and their codes, for columns where they are few; empty
    /// for the others, and in exact mode.
    pub(crate) unusual: Vec<Vec<(u32, u8)>>,
}

/// Share of the rows from which on a code is the usual one.
const USUAL_SHARE: f64 = 0.7;

/// Share of the rows up to which those with another code are listed.
const FEW: f64 = 0.1;

/// Rows up to which they are listed: a listed column is read as a whole, which a core's cache must hold. Of more rows,
/// branches are copied together instead.
const MOST_ROWS: usize = 1 << 17;

impl Codes {
    /// Codes of all rows of `x`; `wide` for exact mode.
    pub(crate) fn new(x: &Features, bins: &Bins, wide: bool) -> Self {
        let missing: Vec<u16> = bins.columns.iter().map(|c| c.n_bins() as u16).collect();
        let by_column = SparseColumns::of(x);
        let cells = if wide {
            Cells::Wide(fill(x, by_column.as_ref(), |j, v| match bins.columns[j].code(v) {
                MISSING => missing[j],
                code => code,
            }))
        } else {
            Cells::Byte(fill(x, by_column.as_ref(), |j, v| match bins.columns[j].code(v) {
                MISSING => missing[j] as u8,
                code => code as u8,
            }))
        };
        Self::of_cells(x.n_rows(), cells, bins)
    }

    /// The codes of rows whose cells are there, column after column.
    pub(crate) fn of_cells(n_rows: usize, cells: Cells, bins: &Bins) -> Self {
        let missing: Vec<u16> = bins.columns.iter().map(|c| c.n_bins() as u16).collect();
        let categorical = bins.columns.iter().map(crate::bins::ColumnBins::is_categorical).collect();
        let usual = match &cells {
            Cells::Byte(cells) => cells.par_chunks(n_rows.max(1)).map(usual_code).collect(),
            Cells::Wide(cells) => cells.par_chunks(n_rows.max(1)).map(usual_code).collect(),
        };
        let unusual = match &cells {
            Cells::Byte(cells) => {
                cells.par_chunks(n_rows.max(1)).zip(&usual).map(|(column, &usual)| others(column, usual)).collect()
            }
            Cells::Wide(_) => vec![Vec::new(); missing.len()],
        };
        Self { n_rows, cells, missing, categorical, usual, unusual }
    }

    /// Number of columns.
    pub(crate) fn n_cols(&self) -> usize {
        self.missing.len()
    }

    /// The codes of the rows `rows` as query codes, column after column.
    pub(crate) fn decode(&self, rows: std::ops::Range<usize>, out: &mut Vec<u16>) {
        out.clear();
        match &self.cells {
            Cells::Byte(cells) => self.decode_cells(cells, rows, out),
            Cells::Wide(cells) => self.decode_cells(cells, rows, out),
        }
    }

    fn decode_cells<C: Code>(&self, cells: &[C], rows: std::ops::Range<usize>, out: &mut Vec<u16>) {
        for (column, &missing) in cells.chunks_exact(self.n_rows).zip(&self.missing) {
            out.extend(column[rows.clone()].iter().map(|&code| {
                let code: u16 = code.into();
                if code == missing { MISSING } else { code }
            }));
        }
    }
}

/// The code of a column's majority, by one pass that can only keep a majority's code and one that counts it.
fn usual_code<C: Code>(column: &[C]) -> u16 {
    let (mut candidate, mut lead) = (MISSING, 0_usize);
    for &code in column {
        let code: u16 = code.into();
        if lead == 0 {
            candidate = code;
        }
        lead = if code == candidate { lead + 1 } else { lead.saturating_sub(1) };
    }
    let count = column.iter().filter(|&&code| code.into() == candidate).count();
    if count as f64 >= USUAL_SHARE * column.len() as f64 { candidate } else { MISSING }
}

/// Rows with another code than the usual one, if there is one and they are few.
fn others(column: &[u8], usual: u16) -> Vec<(u32, u8)> {
    let differs = |code: u8| u16::from(code) != usual;
    let n = column.iter().filter(|&&code| differs(code)).count();
    if column.len() > MOST_ROWS || n as f64 > FEW * column.len() as f64 {
        return Vec::new();
    }
    let mut list = Vec::with_capacity(n);
    list.extend((0..).zip(column).filter(|&(_, &code)| differs(code)).map(|(row, &code)| (row, code)));
    list
}

fn fill<C: Send + Default + Clone>(
    x: &Features,
    by_column: Option<&SparseColumns>,
    code: impl Fn(usize, f64) -> C + Sync,
) -> Vec<C> {
    let n = x.n_rows().max(1);
    let group = columns_at_once(n);
    let mut cells = vec![C::default(); x.n_rows() * x.n_cols()];
    cells.par_chunks_mut(n * group).enumerate().for_each_init(Vec::new, |values, (k, columns)| {
        let from = k * group;
        values_of_columns(x, by_column, from..from + columns.len() / n, values);
        for ((column, values), j) in columns.chunks_exact_mut(n).zip(values.chunks_exact(n)).zip(from..) {
            column.iter_mut().zip(values).for_each(|(cell, &v)| *cell = code(j, v));
        }
    });
    cells
}
