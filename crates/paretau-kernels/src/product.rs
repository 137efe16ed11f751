//! Matrix products: a safe, shape-checked door to the `gemm` crate.
//!
//! This is the one module of the crate with `unsafe` code. `gemm` takes raw pointers and strides; the views below
//! can only be built when every element they name lies inside their slice, and a writable view only when no two
//! of its elements coincide.
//!
//! `gemm` promises nothing about the order of its sums when it is threaded (its threads are not compiled in). So
//! products are cut here, by shape alone, into blocks of output rows or columns that are each one serial call:
//! the same bits for every number of threads.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::error::KernelError;
use crate::parallel::Parallelism;
use crate::real::Real;

/// A read-only matrix: element `(i, j)` is `data[i * row_stride + j * col_stride]`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// A writable matrix with the same layout as [`MatRef`], in which no two elements share a place.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// One past the last index that a strided matrix touches; `None` if that does not fit a `usize`.
fn extent(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let last_row = (rows - 1).checked_mul(row_stride)?;
    let last_col = (cols - 1).checked_mul(col_stride)?;
    last_row.checked_add(last_col)?.checked_add(1)
}

fn check_extent(needed: Option<usize>, found: usize) -> Result<(), KernelError> {
    match needed {
        Some(needed) if needed <= found => Ok(()),
        _ => Err(KernelError::Length { what: "matrix data", expected: needed.unwrap_or(usize::MAX), found }),
    }
}

fn check_row_major(rows: usize, cols: usize, found: usize) -> Result<(), KernelError> {
    let expected = rows.saturating_mul(cols);
    if expected == found {
        return Ok(());
    }
    Err(KernelError::Length { what: "matrix data", expected, found })
}

impl<'a, T: Real> MatRef<'a, T> {
    /// A dense row-major `rows × cols` matrix; `data` must have exactly that many elements.
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self, KernelError> {
        check_row_major(rows, cols, data.len())?;
        Ok(Self { data, rows, cols, row_stride: cols, col_stride: 1 })
    }

    /// A matrix with given strides, in elements. `data` must reach the last element. A stride may be zero.
    pub fn strided(
        data: &'a [T],
        (rows, cols): (usize, usize),
        (row_stride, col_stride): (usize, usize),
    ) -> Result<Self, KernelError> {
        check_extent(extent(rows, cols, row_stride, col_stride), data.len())?;
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// The transpose, without a copy.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

impl<'a, T: Real> MatMut<'a, T> {
    /// A dense row-major `rows × cols` matrix; `data` must have exactly that many elements.
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self, KernelError> {
        check_row_major(rows, cols, data.len())?;
        Ok(Self { data, rows, cols, row_stride: cols, col_stride: 1 })
    }

    /// A matrix with given strides, in elements. The smaller stride must be at least one and the larger one must
    /// step over a whole line of the other dimension, so that no two elements coincide.
    pub fn strided(
        data: &'a mut [T],
        (rows, cols): (usize, usize),
        (row_stride, col_stride): (usize, usize),
    ) -> Result<Self, KernelError> {
        check_extent(extent(rows, cols, row_stride, col_stride), data.len())?;
        let line = |n: usize, stride: usize| (n.max(1) - 1).saturating_mul(stride);
        let rows_apart = col_stride >= 1 && row_stride > line(cols, col_stride);
        let cols_apart = row_stride >= 1 && col_stride > line(rows, row_stride);
        if !(rows_apart || cols_apart) {
            return Err(KernelError::Parameter {
                name: "strides of a writable matrix",
                value: row_stride.max(col_stride) as f64,
                expected: "strides that keep the elements apart",
            });
        }
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// The transpose, without a copy.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

/// Blocks of the output are at least this many multiply-adds: a few tens of microseconds, so that handing one to
/// a thread costs little beside it.
const MIN_BLOCK_WORK: usize = 1 << 21;
/// At most this many blocks: packing is repeated in each.
const MAX_BLOCKS: usize = 8;
/// Blocks start at multiples of this many rows or columns, a multiple of every register tile `gemm` has.
const BLOCK_GRAIN: usize = 48;

/// How an output is cut: along rows or columns, in pieces of nearly the same size, so that no thread waits long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    by_rows: bool,
    len: usize,
    grains: usize,
    count: usize,
}

impl Cut {
    /// First row or column of a block, or the end after the last one.
    fn start(&self, block: usize) -> usize {
        if block == self.count { self.len } else { block * self.grains / self.count * BLOCK_GRAIN }
    }
}

/// Depends on the shape alone, in which neither `m` nor `n` is zero.
fn cut(m: usize, n: usize, k: usize) -> Cut {
    let by_rows = m >= n;
    let len = m.max(n);
    let work = m.saturating_mul(n).saturating_mul(k);
    let blocks = (work / MIN_BLOCK_WORK).clamp(1, MAX_BLOCKS);
    // Less than half a grain at the end goes with what is before it.
    let grains = ((len + BLOCK_GRAIN / 2) / BLOCK_GRAIN).max(1);
    Cut { by_rows, len, grains, count: blocks.min(grains) }
}

/// Base address of the output, shared by the tasks of one product.
struct OutPtr<'a, T> {
    ptr: *mut T,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: the tasks of one product write disjoint blocks of rows or columns (see `multiply`), and the exclusive
// borrow of the whole output outlives them.
unsafe impl<T: Send> Sync for OutPtr<'_, T> {}

/// `c = alpha · a · b + beta · c`.
///
/// # Shapes
/// `a` is `m × k`, `b` is `k × n`, `c` is `m × n`; transposes are views ([`MatRef::t`]).
/// With `beta == 0` what `c` held is ignored, NaN included.
///
/// # Cost
/// `m n k` multiply-adds. The result has the same bits whatever `parallelism` is.
///
/// # Errors
/// [`KernelError::Length`] if the shapes do not fit.
pub fn matmul<T: Real>(
    c: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    factors: (T, T),
    parallelism: Parallelism,
) -> Result<(), KernelError> {
    multiply(c, a, b, factors, cut, parallelism)
}

/// [`matmul`] in one serial call, for tiles that are themselves a thread's share of a larger task.
pub(crate) fn matmul_tile<T: Real>(
    c: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    factors: (T, T),
) -> Result<(), KernelError> {
    let whole = |m, _, _| Cut { by_rows: true, len: m, grains: 1, count: 1 };
    multiply(c, a, b, factors, whole, Parallelism::None)
}

fn multiply<T: Real>(
    c: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    (alpha, beta): (T, T),
    cut: impl Fn(usize, usize, usize) -> Cut,
    parallelism: Parallelism,
) -> Result<(), KernelError> {
    let mismatch = |what, expected, found| Err(KernelError::Length { what, expected, found });
    if b.rows != a.cols {
        return mismatch("rows of b", a.cols, b.rows);
    }
    if c.rows != a.rows {
        return mismatch("rows of c", a.rows, c.rows);
    }
    if c.cols != b.cols {
        return mismatch("columns of c", b.cols, c.cols);
    }
    let MatMut { data, rows: m, cols: n, row_stride, col_stride } = c;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let cut = cut(m, n, a.cols);
    let out = OutPtr { ptr: data.as_mut_ptr(), owner: PhantomData };
    let out = &out;
    parallelism.run(cut.count, |block| {
        let (start, end) = (cut.start(block), cut.start(block + 1));
        let (row, col, rows, cols) = if cut.by_rows { (start, 0, end - start, n) } else { (0, start, m, end - start) };
        // SAFETY: `row + rows <= m` and `col + cols <= n` (the cut covers the longer side once), and the
        // constructors of the views checked that every `(i, j)` with `i < rows`, `j < cols` of a whole matrix lies
        // inside its slice, whose length is at most `isize::MAX` elements, so no stride sum overflows. With k = 0
        // nothing of a and b is read; their slices may then be empty, hence `wrapping_add`. Blocks of
        // different tasks name different elements of c, because the constructors of `MatMut` keep elements apart,
        // and a and b cannot overlap c, which is borrowed exclusively.
        unsafe {
            gemm::gemm(
                rows,
                cols,
                a.cols,
                out.ptr.add(row * row_stride + col * col_stride),
                col_stride as isize,
                row_stride as isize,
                beta != T::ZERO,
                a.data.as_ptr().wrapping_add(row * a.row_stride),
                a.col_stride as isize,
                a.row_stride as isize,
                b.data.as_ptr().wrapping_add(col * b.col_stride),
                b.col_stride as isize,
                b.row_stride as isize,
                beta,
                alpha,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests;
