//! Some rows of a feature matrix, read where they lie.
//!
//! Cross-validation looks at most rows of the same matrix several times over; a copy per fold would take several times the
//! memory of the data.

use paretau_core::Features;

/// All or some rows of features, in a given order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// The whole matrix.
    pub(crate) x: &'a Features,
    rows: Option<&'a [usize]>,
}

impl<'a> View<'a> {
    /// The named rows.
    pub(crate) fn of(x: &'a Features, rows: &'a [usize]) -> Self {
        Self { x, rows: Some(rows) }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.rows.map_or(self.x.n_rows(), <[usize]>::len)
    }

    pub(crate) fn n_cols(&self) -> usize {
        self.x.n_cols()
    }

    /// Which row of the whole matrix the `i`-th is.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> usize {
        self.rows.map_or(i, |rows| rows[i])
    }
}

impl<'a> From<&'a Features> for View<'a> {
    fn from(x: &'a Features) -> Self {
        Self { x, rows: None }
    }
}
