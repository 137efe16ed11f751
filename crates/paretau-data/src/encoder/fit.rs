//! Learning an encoder: an encoding for each column, then dropping outputs that say nothing new.

use std::collections::HashSet;

use paretau_core::{Column, Result};

use super::encoding::Encoding;
use super::{Encoder, EncoderPolicy, Input, SparseInput};
use crate::fold::{joined, joined_in_words};
use crate::table::{ColumnData, Kind, Table, TableColumn, Text};

/// What is known about a column of the training rows.
pub(super) struct Seen<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    pub(super) encoding: Encoding,
    /// A hash of each output over the training rows, `None` for a constant one.
    pub(super) prints: Vec<Option<[u64; 2]>>,
    /// Texts of the whole column with their counts; `None` of numbers.
    pub(super) texts: Option<(&'a [String], Vec<usize>)>,
}

pub(super) fn fit(table: &Table, policy: &EncoderPolicy, rows: &[usize]) -> Result<Encoder> {
    let seen = table.columns().iter().map(|column| {
        let (encoding, texts) = match &column.data {
            ColumnData::Number(values) => (Encoding::of_numbers(rows.iter().map(|&i| values[i]), policy), None),
            ColumnData::Text(text) => {
                (Encoding::of_text(text, rows, policy), Some((text.levels.as_slice(), crate::table::counts(text))))
            }
        };
        let k = encoding.columns(&column.name).len();
        let prints = fingerprints(&encoding, column, rows, k);
        Seen { name: &column.name, kind: column.kind(), encoding, prints, texts }
    });
    put_together(seen, rows.len(), table, policy)
}

/// An encoder of columns in their order. `table` has the sparse block, if there is one, and names the file in errors.
pub(super) fn put_together<'a>(
    columns: impl Iterator<Item = Seen<'a>>,
    n_rows: usize,
    table: &Table,
    policy: &EncoderPolicy,
) -> Result<Encoder> {
    let mut encoder = Encoder { inputs: vec![], sparse: None, columns: vec![], notes: vec![] };
    let (mut constant, mut copies) = (vec![], vec![]);
    let mut seen = HashSet::new();
    let mut names = HashSet::new();
    for Seen { name, kind, encoding, prints, texts } in columns {
        let without_levels = encoding.has_no_levels() && n_rows > 0;
        let outputs = encoding.columns(name);
        let places = (prints.into_iter().zip(outputs))
            .map(|(print, output)| match print {
                None => {
                    // A column that is ignored has its own note.
                    constant.extend((!without_levels).then_some(output.name));
                    None
                }
                Some(print) if !seen.insert(print) => {
                    copies.push(output.name);
                    None
                }
                Some(_) => {
                    encoder.columns.push(unique(output, &mut names));
                    Some(encoder.columns.len() - 1)
                }
            })
            .collect::<Vec<_>>();
        if without_levels {
            let rest = if places.iter().all(Option::is_none) {
                "column ignored"
            } else {
                "only whether there is a value is used"
            };
            encoder.notes.push(format!(
                "`{name}`: almost every value is unique; {rest}. If it holds numbers, check the decimal mark"
            ));
        } else if let Some((levels, counts)) = texts {
            describe(&encoding, name, (levels, &counts), &mut encoder.notes);
        }
        if places.iter().any(Option::is_some) {
            encoder.inputs.push(Input { name: name.to_owned(), kind, encoding, places });
        }
    }
    for (dropped, why) in [(constant, "the same in every training row"), (copies, "a copy of an earlier column")] {
        if !dropped.is_empty() {
            let shown: Vec<&str> = dropped.iter().take(10).map(String::as_str).collect();
            let more = if dropped.len() > 10 { format!(" and {} more", dropped.len() - 10) } else { String::new() };
            encoder.notes.push(format!("dropped as {why}: {}{more}", shown.join(", ")));
        }
    }
    if let Some(block) = table.sparse() {
        encoder.sparse = Some(SparseInput { names: block.names.clone(), keep_sparse: policy.sparse });
        for name in &block.names {
            encoder.columns.push(Column { name: name.clone(), kind: paretau_core::ColumnKind::Numeric });
        }
    }
    if encoder.columns.is_empty() {
        return Err(table.error(
            None,
            None,
            "no feature says anything: all are the same in every training row; name others with --features",
        ));
    }
    Ok(encoder)
}

/// Notes for the analyst about categories that lose something.
fn describe(encoding: &Encoding, name: &str, (levels, counts): (&[String], &[usize]), notes: &mut Vec<String>) {
    let stands = joined(levels, counts);
    let n_levels = (0..stands.len()).filter(|&k| stands[k] == k && counts[k] > 0).count();
    notes.extend(joined_in_words(levels, &stands).map(|words| format!("`{name}`: {words}")));
    match encoding {
        Encoding::Frequency { shares, .. } => notes.push(format!(
            "`{name}` has {} levels and is coded by how frequent the level is ({} levels kept)",
            n_levels,
            shares.len()
        )),
        Encoding::OneHot { levels, other: true, .. } | Encoding::Codes { levels, other: true, .. } => {
            notes.push(format!("`{name}`: {} rare levels are pooled into one", n_levels.saturating_sub(levels.len())));
        }
        _ => {}
    }
}

/// A hash of each output over the training rows, `None` for a constant one.
fn fingerprints(encoding: &Encoding, column: &TableColumn, rows: &[usize], k: usize) -> Vec<Option<[u64; 2]>> {
    let mut out = vec![0.0; k];
    let mut first = vec![0_u64; k];
    let mut varies = vec![false; k];
    // Two independent 64-bit hashes: an accidental match of unequal columns will not happen.
    let mut hashes = vec![[0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f]; k];
    let per_level = match &column.data {
        ColumnData::Text(text) => {
            let mut table = vec![0.0; (text.levels.len() + 1) * k];
            let lookup = encoding.lookup();
            for (at, level) in text.levels.iter().map(|l| Some(lookup.of(l))).chain([None]).enumerate() {
                encoding.text(level, &mut table[at * k..(at + 1) * k]);
            }
            table
        }
        ColumnData::Number(_) => vec![],
    };
    // One bit pattern for both zeros and one for every NaN.
    let bits_of = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
    for (step, &i) in rows.iter().enumerate() {
        let raw = match &column.data {
            ColumnData::Number(values) => {
                encoding.number(values[i], &mut out);
                Some(values[i])
            }
            ColumnData::Text(Text { levels, codes }) => {
                let at = (codes[i] as usize).min(levels.len());
                out.copy_from_slice(&per_level[at * k..(at + 1) * k]);
                None
            }
        };
        for (j, &value) in out.iter().enumerate() {
            let bits = bits_of(value);
            if step == 0 {
                first[j] = bits;
            }
            varies[j] |= bits != first[j];
            // Columns that differ only in their gaps are no copies of each other, even if filling makes them equal.
            let bits = raw.filter(|_| j == 0).map_or(bits, bits_of);
            let [a, b] = &mut hashes[j];
            *a = (*a ^ bits).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
            *b = (b.rotate_left(17) ^ bits).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
    }
    hashes.into_iter().zip(varies).map(|(hash, varies)| varies.then_some(hash)).collect()
}

/// The column under a name that no earlier one has.
fn unique(mut column: Column, names: &mut HashSet<String>) -> Column {
    let plain = column.name.clone();
    let mut copy = 2;
    while !names.insert(column.name.clone()) {
        column.name = format!("{plain}.{copy}");
        copy += 1;
    }
    column
}
