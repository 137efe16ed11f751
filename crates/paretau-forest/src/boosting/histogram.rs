//! Histograms of a node's gradients: for every column the sum of the rows in each of its bins.

use super::fixed::{minus, plus};
use crate::codes::Codes;
use crate::split::search::Marks;

/// Where each column's bins are in a histogram; bins that no code of a column reaches take no room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The columns that a tree sees.
    pub(crate) columns: Vec<u16>,
    start: Vec<usize>,
}

impl Layout {
    /// Room for the given columns; one bin more than a column's codes where values may be missing.
    pub(crate) fn new(codes: &Codes, columns: Vec<u16>) -> Self {
        let mut start = vec![0];
        let mut end = 0;
        for &j in &columns {
            end += (usize::from(codes.missing[usize::from(j)]) + 1).min(256);
            start.push(end);
        }
        Self { columns, start }
    }

    /// Bins of all columns.
    pub(crate) fn n_bins(&self) -> usize {
        self.start.last().copied().unwrap_or(0)
    }

    /// Bins of the columns `from..to` of the tree.
    pub(crate) fn bins_between(&self, from: usize, to: usize) -> usize {
        self.start[to] - self.start[from]
    }
}

/// The rows of a node as histograms are made of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeRows<'a, const L: usize> {
    /// Row numbers, ascending.
    pub(crate) rows: &'a [u32],
    /// Their integers, in the same order.
    pub(crate) values: &'a [[i64; L]],
    /// Sum of them.
    pub(crate) total: [i64; L],
    /// Where each row is in the node, if that was written down for columns that list their unusual rows.
    pub(crate) marks: Option<&'a Marks>,
}

/// Adds up a node's rows in the bins of column `j`.
pub(crate) fn build<const L: usize>(
    node: &NodeRows<'_, L>,
    codes: &Codes,
    cells: &[u8],
    j: usize,
    bins: &mut [[i64; L]],
) {
    bins.fill([0; L]);
    let unusual = &codes.unusual[j];
    if let Some(marks) = node.marks
        && !unusual.is_empty()
        && 2 * unusual.len() < node.rows.len()
    {
        let mut rest = node.total;
        for &(row, code) in unusual {
            if let Some(place) = marks.place(row) {
                let value = node.values[place as usize];
                bins[usize::from(code)] = plus(bins[usize::from(code)], value);
                rest = minus(rest, value);
            }
        }
        bins[usize::from(codes.usual[j])] = rest;
        return;
    }
    let column = &cells[j * codes.n_rows..(j + 1) * codes.n_rows];
    for (&row, &value) in node.rows.iter().zip(node.values) {
        let bin = &mut bins[usize::from(column[row as usize])];
        *bin = plus(*bin, value);
    }
}

/// Turns a parent's bins into those of one child, given the other's.
pub(crate) fn subtract<const L: usize>(parent: &mut [[i64; L]], child: &[[i64; L]]) {
    parent.iter_mut().zip(child).for_each(|(of_parent, of_child)| *of_parent = minus(*of_parent, *of_child));
}
