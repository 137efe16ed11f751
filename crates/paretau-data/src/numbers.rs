//! The numbers of a column: its own, or a column of a matrix that is shared with others and looked at where it lies.

use std::borrow::Cow;
use std::ops::Index;

use paretau_core::Dense;

/// Numbers in the order of the rows. Columns of one matrix share it, so that a table and the design made of it are one array.
#[derive(Debug, Clone)]
pub struct Numbers(Cells);

#[derive(Debug, Clone)]
enum Cells {
    Own(Vec<f64>),
    Column { matrix: Dense, place: usize },
}

impl Numbers {
    /// The column at `place` of a matrix.
    pub fn of_matrix(matrix: Dense, place: usize) -> Self {
        debug_assert!(place < matrix.n_cols());
        Self(Cells::Column { matrix, place })
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match &self.0 {
            Cells::Own(values) => values.len(),
            Cells::Column { matrix, .. } => matrix.n_rows(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All numbers, row after row.
    pub fn iter(&self) -> NumbersIter<'_> {
        let (values, step) = match &self.0 {
            Cells::Own(values) => (values.as_slice(), 1),
            Cells::Column { matrix, place } => (matrix.values().get(*place..).unwrap_or_default(), matrix.n_cols()),
        };
        values.iter().step_by(step)
    }

    /// The numbers side by side: borrowed where they lie so, else a copy for as long as it is needed.
    pub fn contiguous(&self) -> Cow<'_, [f64]> {
        match &self.0 {
            Cells::Own(values) => Cow::Borrowed(values),
            Cells::Column { .. } => Cow::Owned(self.iter().copied().collect()),
        }
    }

    /// The numbers as a vector of the column's own, to be changed.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<f64> {
        if let Cells::Column { .. } = self.0 {
            self.0 = Cells::Own(self.iter().copied().collect());
        }
        match &mut self.0 {
            Cells::Own(values) => values,
            Cells::Column { .. } => unreachable!("the numbers were made the column's own"),
        }
    }

    /// The matrix that these numbers are a column of, and the column's place.
    pub(crate) fn matrix(&self) -> Option<(&Dense, usize)> {
        match &self.0 {
            Cells::Own(_) => None,
            Cells::Column { matrix, place } => Some((matrix, *place)),
        }
    }
}

/// Goes over the numbers of a column.
pub type NumbersIter<'a> = std::iter::StepBy<std::slice::Iter<'a, f64>>;

impl From<Vec<f64>> for Numbers {
    fn from(values: Vec<f64>) -> Self {
        Self(Cells::Own(values))
    }
}

impl From<Numbers> for Vec<f64> {
    fn from(mut numbers: Numbers) -> Self {
        std::mem::take(numbers.to_mut())
    }
}

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(Cells::Own(values.into_iter().collect()))
    }
}

impl<'a> IntoIterator for &'a Numbers {
    type Item = &'a f64;
    type IntoIter = NumbersIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Index<usize> for Numbers {
    type Output = f64;

    fn index(&self, i: usize) -> &f64 {
        match &self.0 {
            Cells::Own(values) => &values[i],
            Cells::Column { matrix, place } => &matrix.row(i)[*place],
        }
    }
}

/// Columns are equal by their numbers, wherever these lie.
impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}
