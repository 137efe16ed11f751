//! What is counted of one column over all rows: enough to encode it without having its cells.

use std::collections::BTreeMap;

use super::recoded::Recoded;
use crate::fold::{fold, joined, joined_in_words};
use crate::interner::Interner;
use crate::table::{Kind, Text, format_number};

/// Distinct numbers that are counted; a treatment has fewer.
const MOST_DISTINCT: usize = 64;

/// A column's counts.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) missing: usize,
    pub(crate) cells: Cells,
    /// Two independent hashes of the cells in the order of the rows: columns that agree in both are copies.
    pub(crate) print: [u64; 2],
    /// The same of which cells are missing.
    pub(crate) gaps: [u64; 2],
}

/// What is counted of numbers, or of texts.
#[derive(Debug)]
pub(crate) enum Cells {
    Number {
        /// How often each number occurs, as bits; `None` when there are too many of them.
        distinct: Option<BTreeMap<u64, usize>>,
        /// Whether the cells count the rows, and from which number on.
        counts_from: Option<f64>,
        /// Whether all numbers are 0 or 1.
        binary: bool,
    },
    Text {
        dictionary: Interner,
        /// Cells of each text.
        counts: Vec<usize>,
    },
}

/// Where both hashes begin.
const START: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

fn step([a, b]: &mut [u64; 2], bits: u64) {
    *a = (*a ^ bits).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
    *b = (b.rotate_left(17) ^ bits).wrapping_mul(0xd6e8_feb8_6659_fd93);
}

/// One bit pattern for both zeros and one for all that is not a number.
pub(crate) fn bits_of(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

impl Counted {
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        let cells = match kind {
            Kind::Text => Cells::Text { dictionary: Interner::default(), counts: vec![] },
            Kind::Number | Kind::Date => {
                Cells::Number { distinct: Some(BTreeMap::new()), counts_from: None, binary: true }
            }
        };
        Self { name: name.to_owned(), kind, missing: 0, cells, print: START, gaps: START }
    }

    /// Adds the cells of the next rows, whose first is row `first_row` of all.
    pub(super) fn add(&mut self, column: &Recoded<'_>, first_row: u64) {
        match (&mut self.cells, column) {
            (Cells::Number { distinct, counts_from, binary }, Recoded::Number(values)) => {
                for (i, &value) in values.iter().enumerate() {
                    let bits = bits_of(value);
                    step(&mut self.print, bits);
                    step(&mut self.gaps, u64::from(value.is_nan()));
                    let row = first_row + i as u64;
                    if row == 0 {
                        *counts_from = Some(value).filter(|v| v.fract() == 0.0);
                    } else if counts_from.is_some_and(|from| value != from + row as f64) {
                        *counts_from = None;
                    }
                    if value.is_nan() {
                        self.missing += 1;
                        continue;
                    }
                    *binary &= value == 0.0 || value == 1.0;
                    if let Some(found) = distinct {
                        *found.entry(bits).or_insert(0) += 1;
                        if found.len() > MOST_DISTINCT {
                            *distinct = None;
                        }
                    }
                }
            }
            (Cells::Text { dictionary, counts }, Recoded::Text(codes)) => {
                counts.resize(dictionary.len(), 0);
                for &code in codes {
                    // Codes are numbered in the order of the rows, so that equal hashes mean equal groups of rows.
                    step(&mut self.print, u64::from(code));
                    step(&mut self.gaps, u64::from(code == Text::MISSING));
                    match counts.get_mut(code as usize) {
                        Some(count) => *count += 1,
                        None => self.missing += 1,
                    }
                }
            }
            // A column keeps its kind over all batches, which declares it.
            _ => {}
        }
    }

    /// The dictionary of texts.
    pub(super) fn dictionary(&mut self) -> Option<&mut Interner> {
        match &mut self.cells {
            Cells::Text { dictionary, .. } => Some(dictionary),
            Cells::Number { .. } => None,
        }
    }

    /// For each text the one that stands for it, its commonest spelling; `None` of numbers.
    pub(crate) fn stands(&self) -> Option<Vec<u32>> {
        let Cells::Text { dictionary, counts } = &self.cells else { return None };
        Some(joined(dictionary.levels(), counts).into_iter().map(|k| k as u32).collect())
    }

    /// Its texts, by code; none of numbers.
    pub(super) fn levels(&self) -> &[String] {
        match &self.cells {
            Cells::Text { dictionary, .. } => dictionary.levels(),
            Cells::Number { .. } => &[],
        }
    }

    /// The spellings that were joined, in words.
    pub(super) fn spellings(&self) -> Option<String> {
        let Cells::Text { dictionary, counts } = &self.cells else { return None };
        joined_in_words(dictionary.levels(), &joined(dictionary.levels(), counts))
    }

    /// Different texts; 0 of numbers.
    pub(super) fn n_levels(&self) -> usize {
        match &self.cells {
            Cells::Text { dictionary, .. } => dictionary.len(),
            Cells::Number { .. } => 0,
        }
    }

    /// Cells that are written like this; spellings that were joined count together.
    pub(super) fn rows_with(&self, text: &str) -> usize {
        match &self.cells {
            Cells::Text { dictionary, counts } => {
                let same = |level: &String| fold(level) == fold(text);
                dictionary.levels().iter().zip(counts).filter(|(level, _)| same(level)).map(|(_, n)| n).sum()
            }
            Cells::Number { distinct, .. } => {
                let same = |bits: u64| format_number(f64::from_bits(bits)) == text;
                distinct.iter().flatten().filter(|(bits, _)| same(**bits)).map(|(_, n)| n).sum()
            }
        }
    }

    /// Different numbers, as far as they are counted; 0 of texts.
    pub(crate) fn n_numbers(&self) -> usize {
        match &self.cells {
            Cells::Number { distinct, .. } => distinct.as_ref().map_or(MOST_DISTINCT, BTreeMap::len),
            Cells::Text { .. } => 0,
        }
    }
}
