//! A borrowed matrix in compressed sparse row form, checked once.

use crate::error::KernelError;
use crate::real::{Real, check_finite, check_len};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for usize {}
}

/// The type of row offsets: `usize` or `u32`.
pub trait Offset: sealed::Sealed + Copy + Send + Sync + 'static {
    /// As an index.
    fn index(self) -> usize;
}

impl Offset for usize {
    #[inline(always)]
    fn index(self) -> usize {
        self
    }
}

impl Offset for u32 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// An `n × d` matrix of which only some values are stored; the others are zero.
///
/// Row `i` has the values `values[indptr[i]..indptr[i+1]]` in the columns `indices[..]` of the same range, which strictly
/// increase within a row.
#[derive(Debug, Clone, Copy)]
pub struct CsrView<'a, T, P = usize> {
    indptr: &'a [P],
    indices: &'a [u32],
    values: &'a [T],
    cols: usize,
}

impl<'a, T: Real, P: Offset> CsrView<'a, T, P> {
    /// Checks every offset, index and value once, so that products need not.
    ///
    /// # Errors
    /// Lengths that do not fit, offsets that decrease, indices that do not strictly increase within a row or reach `cols`,
    /// or a value that is not finite.
    pub fn new(indptr: &'a [P], indices: &'a [u32], values: &'a [T], cols: usize) -> Result<Self, KernelError> {
        let (Some(first), Some(last)) = (indptr.first(), indptr.last()) else {
            return Err(KernelError::Empty { what: "indptr" });
        };
        if first.index() != 0 {
            return Err(KernelError::Parameter { name: "indptr[0]", value: first.index() as f64, expected: "0" });
        }
        check_len("indices", last.index(), indices.len())?;
        check_len("values", indices.len(), values.len())?;
        for pair in indptr.windows(2) {
            let (from, to) = (pair[0].index(), pair[1].index());
            if from > to || to > indices.len() {
                return Err(KernelError::Parameter {
                    name: "indptr",
                    value: to as f64,
                    expected: "offsets that never decrease, up to the number of values",
                });
            }
            let row = &indices[from..to];
            let increasing = row.windows(2).all(|p| p[0] < p[1]);
            if !increasing || row.last().is_some_and(|&j| j as usize >= cols) {
                return Err(KernelError::Parameter {
                    name: "column index",
                    value: row.last().map_or(0.0, |&j| f64::from(j)),
                    expected: "0 to the number of columns, strictly increasing within a row",
                });
            }
        }
        check_finite("values", values)?;
        Ok(Self { indptr, indices, values, cols })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored values.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Columns and values stored in row `i`; nothing beyond the last row.
    pub fn row(&self, i: usize) -> (&'a [u32], &'a [T]) {
        match (self.indptr.get(i), self.indptr.get(i + 1)) {
            (Some(from), Some(to)) => {
                let range = from.index()..to.index();
                (&self.indices[range.clone()], &self.values[range])
            }
            _ => (&[], &[]),
        }
    }

    /// Refuses a choice with a row that does not exist.
    pub(crate) fn check_rows(&self, rows: Option<&[usize]>) -> Result<(), KernelError> {
        let outside = rows.and_then(|rows| rows.iter().find(|&&i| i >= self.rows()));
        outside.map_or(Ok(()), |&i| {
            Err(KernelError::Parameter { name: "row index", value: i as f64, expected: "0 to the number of rows" })
        })
    }
}
