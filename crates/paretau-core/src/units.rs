//! Learning from more rows than memory holds. Rows are dealt to units at random; units lie outside of memory, a byte per cell and
//! a few numbers per row. Whoever learns from them sees some of the rows first, a random part of all, as it would any table. With
//! what it knows from there it codes the rows of all units, and then reads those units that it needs.
//!
//! A random set of units is a random set of rows. Half-samples, honest parts and what a tree has not seen are made of whole units:
//! what is said about bags, and with groups that lie in one unit each what is said about groups, holds as it does for rows.

use std::any::Any;
use std::fmt;
use std::ops::Range;

use crate::{Column, Design, Error, Features, FitContext, FittedModel, FittedRegressor, Result, Target};

/// Rows up to which a tree sees as large a share of them as in an ordinary fit, where memory holds fewer.
const NEAR: usize = 100_000;

/// Rows up to which a tree sees as large a share of them as in an ordinary fit, where memory holds so many.
pub fn near_rows(memory: usize) -> usize {
    memory.max(NEAR)
}

/// Rows that a tree sees of `n`: the share `max_samples` of them up to `near` rows, beyond that the share of √(n · `near`), so
/// that trees go on growing with the rows and the time for all of them grows less than the rows.
pub fn tree_rows(n: usize, max_samples: f64, near: usize) -> usize {
    let of = if n <= near { n as f64 } else { (n as f64).sqrt() * (near as f64).sqrt() };
    (max_samples * of) as usize
}

/// Rows to be coded.
#[derive(Debug, Clone, Copy)]
pub struct NewRows<'a> {
    /// Features.
    pub x: &'a Features,
    /// Arm of each row, 0 or 1.
    pub t: &'a [u8],
    /// Outcome.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Propensities, where the study's design tells them.
    pub e: Option<&'a [f64]>,
    /// Rows that were seen first: their place here and there.
    pub known: &'a [(usize, usize)],
}

/// Rows as they lie in units.
#[derive(Debug, Clone, PartialEq)]
pub struct CodedRows {
    /// How many rows there are.
    pub n_rows: usize,
    /// Numbers of the rows, one list after the other.
    pub numbers: Vec<Vec<f64>>,
    /// Codes, column after column.
    pub codes: Vec<u8>,
}

impl CodedRows {
    /// Some neighbouring rows as bytes: numbers, then codes column after column.
    pub fn to_bytes(&self, rows: Range<usize>) -> Vec<u8> {
        let columns = self.codes.chunks_exact(self.n_rows.max(1));
        let mut out = Vec::with_capacity(rows.len() * (8 * self.numbers.len() + columns.len()));
        self.numbers.iter().for_each(|list| list[rows.clone()].iter().for_each(|v| out.extend(v.to_le_bytes())));
        columns.for_each(|column| out.extend(&column[rows.clone()]));
        out
    }

    fn of_bytes(bytes: &[u8], n_rows: usize, n_numbers: usize, n_columns: usize) -> Result<Self> {
        if bytes.len() != n_rows * (8 * n_numbers + n_columns) {
            return Err(Error::internal("rows outside of memory", "a unit has another length than was written"));
        }
        let (numbers, codes) = bytes.split_at(8 * n_rows * n_numbers);
        let numbers = numbers.chunks_exact((8 * n_rows).max(1)).map(numbers_of).collect();
        Ok(Self { n_rows, numbers, codes: codes.to_vec() })
    }
}

/// Numbers from their bytes.
pub fn numbers_of(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

/// A place outside of memory for what belongs to units.
pub trait UnitScratch: Sync {
    /// Adds bytes to a unit.
    fn add(&self, unit: usize, bytes: &[u8]) -> Result<()>;
    /// All bytes of a unit, in the order in which they came.
    fn read(&self, unit: usize) -> Result<Vec<u8>>;
}

/// Units of coded rows outside of memory.
pub struct StoredUnits<'a> {
    /// Rows of each unit; none is empty.
    pub rows: &'a [usize],
    /// Gives the bytes of a unit's rows, as [`CodedRows::to_bytes`] made them.
    pub read: &'a (dyn Fn(usize) -> Result<Vec<u8>> + Sync),
    /// The unit of each row that was seen first, ascending: these rows fill the first units.
    pub known: &'a [u32],
    /// Rows up to which a tree sees as large a share of them as in an ordinary fit ([`near_rows`]).
    pub near: usize,
    /// Makes room for more that belongs to units.
    pub scratch: &'a (dyn Fn() -> Result<Box<dyn UnitScratch>> + Sync),
}

impl StoredUnits<'_> {
    /// Rows of all units.
    pub fn n_rows(&self) -> usize {
        self.rows.iter().sum()
    }

    /// How many of the units hold the rows that were seen first.
    pub fn n_known(&self) -> usize {
        self.known.last().map_or(0, |unit| *unit as usize + 1)
    }

    /// The rows of a unit.
    pub fn unit(&self, unit: usize, n_numbers: usize, n_columns: usize) -> Result<CodedRows> {
        CodedRows::of_bytes(&(self.read)(unit)?, self.rows[unit], n_numbers, n_columns)
    }
}

impl fmt::Debug for StoredUnits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredUnits").field("units", &self.rows.len()).finish_non_exhaustive()
    }
}

/// How cells become codes of one byte.
pub trait Coding: Send + Sync + fmt::Debug {
    /// Codes of rows, column after column.
    fn code(&self, x: &Features) -> Result<Vec<u8>>;
    /// The type itself, for the learner that made it.
    fn as_any(&self) -> &dyn Any;
}

/// Outcomes of a unit's rows; a row whose outcome is not a number is not learned from.
pub type UnitOutcomes<'a> = dyn Fn(usize, &CodedRows) -> Result<Vec<f64>> + Sync + 'a;

/// A regression on the rows of all units.
pub struct UnitTask<'a> {
    /// The rows.
    pub units: &'a StoredUnits<'a>,
    /// How they were coded.
    pub coding: &'a dyn Coding,
    /// Names and kinds of the columns.
    pub columns: &'a [Column],
    /// Numbers per row.
    pub n_numbers: usize,
    /// Which of the numbers are row weights.
    pub weight: Option<usize>,
    /// Outcomes.
    pub y: &'a UnitOutcomes<'a>,
    /// What to predict.
    pub target: Target,
    /// Whether trees go on growing with the rows ([`tree_rows`]), as those of effects should; otherwise they see no more than
    /// of `near` rows.
    pub growing: bool,
}

impl UnitTask<'_> {
    /// The rows of a unit and their outcomes.
    pub fn unit(&self, unit: usize) -> Result<(CodedRows, Vec<f64>)> {
        let rows = self.units.unit(unit, self.n_numbers, self.columns.len())?;
        let y = (self.y)(unit, &rows)?;
        Ok((rows, y))
    }

    /// Rows that a tree sees of `n` that may be learned from.
    pub fn tree_rows(&self, n: usize, max_samples: f64) -> usize {
        let near = self.units.near;
        tree_rows(if self.growing { n } else { n.min(near) }, max_samples, near)
    }
}

impl fmt::Debug for UnitTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitTask").field("units", &self.units).field("target", &self.target).finish_non_exhaustive()
    }
}

/// A base learner that learns from rows outside of memory.
pub trait UnitRegressor: Send + Sync {
    /// Learns how cells are coded from some of the rows.
    fn coding(&self, x: &Features, columns: &[Column]) -> Result<Box<dyn Coding>>;
    /// The share of the rows that a tree sees in an ordinary fit.
    fn max_samples(&self) -> f64;
    /// Learns from the rows of all units.
    fn fit_units(&self, task: &UnitTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn UnitFit>>;
}

/// A base learner that was fitted to the rows of all units.
pub trait UnitFit: Send + Sync + fmt::Debug {
    /// Predictions of a unit's rows by parts that have not seen them. Rows that were not learned from are new to all parts.
    fn held_out(&self, unit: usize, rows: &CodedRows, y: &[f64]) -> Result<Vec<f64>>;
    /// The model, for new rows.
    fn into_model(self: Box<Self>) -> Box<dyn FittedRegressor>;
}

/// A method that learns from rows outside of memory.
pub trait UnitEstimator: Send + Sync {
    /// Learns from some of the rows how all are coded, and what else it takes from them alone.
    fn start<'a>(&'a self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn UnitStart + 'a>>;
    /// Rows that a tree of effects sees of `n`; `None` if there are no trees and every row is learned from.
    fn tree_rows(&self, n: usize, near: usize) -> Option<usize>;
    /// The most feature columns for which rows are kept outside of memory, where there is such a number.
    fn most_columns(&self) -> Option<usize> {
        None
    }
}

/// A method that has seen some of the rows.
pub trait UnitStart: Send + Sync {
    /// Rows as they lie in units.
    fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows>;
    /// Learns from the rows of all units; `design` holds those that were seen first. The model's held-out predictions, if it has any, are of these.
    fn fit(
        self: Box<Self>,
        design: &Design,
        units: &StoredUnits<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn FittedModel>>;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn trees_grow_with_the_rows_but_less_than_these() {
        let rows = |n: usize, memory: usize| tree_rows(n, 0.5, near_rows(memory));
        assert_eq!(rows(80_000, 10_000), 40_000);
        assert_eq!(rows(100_000, 10_000), 50_000);
        assert_eq!(rows(10_000_000, 10_000), 500_000);
        assert_eq!(rows(10_000_000, 10_000_000), 5_000_000);
        assert_eq!(rows(1_000_000_000, 0), 5_000_000);
    }

    #[test]
    fn rows_come_back_from_their_bytes() {
        let numbers = vec![vec![1.0, 2.0, 3.0], vec![-1.0, f64::MAX, 0.5]];
        let all = CodedRows { n_rows: 3, numbers, codes: vec![1, 2, 3, 4, 5, 255] };
        let found = CodedRows::of_bytes(&all.to_bytes(1..3), 2, 2, 2).unwrap();
        let numbers = vec![vec![2.0, 3.0], vec![f64::MAX, 0.5]];
        assert_eq!(found, CodedRows { n_rows: 2, numbers, codes: vec![2, 3, 5, 255] });
        assert!(CodedRows::of_bytes(&[0; 7], 2, 2, 2).is_err());
    }
}
