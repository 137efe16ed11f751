//! Codes of a tree's growing rows, copied together.
//!
//! The search reads them over and over, and a quarter of a long column fits a cache where the column does not. Of very
//! many rows not even that fits: there the codes of a branch are copied together once more as soon as the branch is
//! small enough.

use crate::codes::{Code, Codes};

/// Cells of a branch that are copied together: what stays in a core's own cache.
pub(crate) const NEAR_CELLS: usize = 1 << 17;

/// Growing cells above which branches are copied: what does not.
const FAR_CELLS: usize = 1 << 21;

/// Copied codes of all growing rows, and of the branch that is worked on.
#[derive(Debug)]
pub(crate) struct CodeCopies<C> {
    /// Codes of the growing rows, column after column, without the columns whose unusual rows are listed.
    cells: Vec<C>,
    /// Where each column is among them; `None` for those that are not copied.
    slots: Vec<Option<usize>>,
    n_copied: usize,
    /// The same for the rows of a branch.
    branch_cells: Vec<C>,
    branch_rows: Vec<u32>,
    /// While a copied branch is worked on: how many nodes wait below it on the stack.
    branch_floor: Option<usize>,
    /// Growing cells above which branches are copied.
    far_cells: usize,
}

/// Copied codes and the rows that they belong to; places of rows count within them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied<'a, C> {
    cells: &'a [C],
    slots: &'a [Option<usize>],
    pub(crate) rows: &'a [u32],
}

impl<'a, C> Copied<'a, C> {
    /// The codes of column `j`, if they were copied.
    #[inline(always)]
    pub(crate) fn column(&self, j: usize) -> Option<&'a [C]> {
        let width = self.rows.len();
        self.slots[j].map(|slot| &self.cells[slot * width..(slot + 1) * width])
    }
}

impl<C> Default for CodeCopies<C> {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            slots: Vec::new(),
            n_copied: 0,
            branch_cells: Vec::new(),
            branch_rows: Vec::new(),
            branch_floor: None,
            far_cells: FAR_CELLS,
        }
    }
}

impl<C: Code> CodeCopies<C> {
    /// Copies that treat fewer or more cells as too many for a cache.
    #[cfg(test)]
    pub(crate) fn with_far_cells(far_cells: usize) -> Self {
        Self { far_cells, ..Self::default() }
    }

    /// Copies the codes of a tree's growing rows; `cells` are the columns of `codes`. Not if the tree will look at few of the
    /// columns: then they are read where they are.
    pub(crate) fn start(&mut self, codes: &Codes, cells: &[C], grow: &[u32], pays: bool) {
        self.cells.clear();
        self.slots.clear();
        self.n_copied = 0;
        self.branch_floor = None;
        if !pays {
            self.slots.resize(codes.n_cols(), None);
            return;
        }
        for (column, unusual) in cells.chunks_exact(codes.n_rows).zip(&codes.unusual) {
            self.slots.push(unusual.is_empty().then_some(self.n_copied));
            if unusual.is_empty() {
                self.cells.extend(grow.iter().map(|&row| column[row as usize]));
                self.n_copied += 1;
            }
        }
    }

    /// To be called for every node, with the number of nodes that wait and the places of its growing rows: leaves a
    /// branch that is done, and copies the one that starts here if that pays. Places are then renumbered.
    pub(crate) fn enter_node(&mut self, n_waiting: usize, grow: &[u32], places: &mut [u32]) {
        self.branch_floor = self.branch_floor.filter(|&floor| n_waiting >= floor);
        let is_far = grow.len() * self.n_copied > self.far_cells;
        if self.branch_floor.is_none() && is_far && places.len() * self.n_copied <= NEAR_CELLS {
            self.copy_branch(grow, places);
            self.branch_floor = Some(n_waiting);
        }
    }

    fn copy_branch(&mut self, grow: &[u32], places: &mut [u32]) {
        self.branch_cells.clear();
        for column in self.cells.chunks_exact(grow.len()) {
            self.branch_cells.extend(places.iter().map(|&place| column[place as usize]));
        }
        self.branch_rows.clear();
        self.branch_rows.extend(places.iter().map(|&place| grow[place as usize]));
        places.iter_mut().zip(0..).for_each(|(place, k)| *place = k);
    }

    /// The codes that the places of the current node point into.
    #[inline(always)]
    pub(crate) fn current<'a>(&'a self, grow: &'a [u32]) -> Copied<'a, C> {
        let (cells, rows) = match self.branch_floor {
            Some(_) => (&self.branch_cells[..], &self.branch_rows[..]),
            None => (&self.cells[..], grow),
        };
        Copied { cells, slots: &self.slots, rows }
    }
}
