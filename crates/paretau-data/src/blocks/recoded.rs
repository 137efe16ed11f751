//! The cells of a batch's column with texts as codes of the dictionary of all batches.

use crate::interner::Interner;
use crate::numbers::Numbers;
use crate::table::{ColumnData, TableColumn, Text};

/// A column of a batch.
#[derive(Debug)]
pub(super) enum Recoded<'a> {
    /// Numbers, as they are.
    Number(&'a Numbers),
    /// Codes of the dictionary of all batches.
    Text(Vec<u32>),
}

impl<'a> Recoded<'a> {
    /// The column's cells; new texts go into the dictionary.
    pub(super) fn of(column: &'a TableColumn, dictionary: &mut Interner) -> Self {
        match &column.data {
            ColumnData::Number(values) => Self::Number(values),
            ColumnData::Text(text) => {
                // In the order of the rows, so that codes do not depend on how a batch lists its levels.
                let mut code_of = vec![Text::MISSING; text.levels.len()];
                let mut code = |code: u32| -> u32 {
                    let Some(known) = code_of.get_mut(code as usize) else { return Text::MISSING };
                    if *known == Text::MISSING {
                        *known = dictionary.code(&text.levels[code as usize]);
                    }
                    *known
                };
                Self::Text(text.codes.iter().map(|&c| code(c)).collect())
            }
        }
    }

    pub(super) fn empty(&self) -> ColumnData {
        match self {
            Self::Number(_) => ColumnData::Number(vec![].into()),
            Self::Text(_) => ColumnData::Text(Text::default()),
        }
    }

    pub(super) fn push_to(&self, i: usize, column: &mut ColumnData) {
        match (self, column) {
            (Self::Number(cells), ColumnData::Number(values)) => values.to_mut().push(cells[i]),
            (Self::Text(codes), ColumnData::Text(text)) => text.codes.push(codes[i]),
            // A column keeps its kind over all batches, which declares it.
            _ => {}
        }
    }
}
