//! Rows that stand in a table more than once, as after drawing with replacement or repeating a rare arm.
//!
//! A copy on both sides of a split is predicted from itself: held-out losses, out-of-bag predictions and standard errors are then
//! flattered. Copies are therefore groups of rows that stay together, as if a column had named them. Equal rows need not be copies:
//! where few columns with few values describe people, many people are alike. So rows count as copies only where some number
//! distinguishes most of the different rows, and rows with the same features agree in treatment and outcome, too.

use crate::table::{ColumnData, Table};

/// Share of the rows that must be copies or have one.
const LEAST_SHARE: f64 = 0.05;
/// Share of the rows with the features of another row that must agree with such a row, drawn at random, in treatment and outcome.
const LEAST_AGREEMENT: f64 = 0.95;
/// The rows may be this many times as many as the different values of the column that distinguishes them.
const MOST_COPIES: usize = 10;

/// Which rows are copies of each other.
pub(super) struct Copies {
    /// The rows' groups, numbered in the order of their first rows.
    pub(super) groups: Vec<u32>,
    /// Rows beyond the first of each group.
    pub(super) beyond_first: usize,
}

/// Finds the copies among rows with these features, arms and outcomes. Rows of sparse blocks are not looked at.
pub(super) fn find(features: &Table, t: &[u8], y: &[f64]) -> Option<Copies> {
    let n = y.len();
    if features.sparse().is_some() || n < 2 {
        return None;
    }
    let mut alike = vec![0_u64; n];
    let mut widest = different(y);
    for column in features.columns() {
        match &column.data {
            ColumnData::Number(values) => {
                alike.iter_mut().zip(values).for_each(|(hash, v)| *hash = mix(*hash, bits(*v)));
                widest = widest.max(different(&values.contiguous()));
            }
            ColumnData::Text(text) => {
                alike.iter_mut().zip(&text.codes).for_each(|(hash, code)| *hash = mix(*hash, u64::from(*code)));
            }
        }
    }
    let equal: Vec<u64> = (0..n).map(|i| mix(mix(alike[i], u64::from(t[i])), bits(y[i]))).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by_key(|&i| (alike[i], equal[i], i));
    let (mut tied, mut copied, mut distinct, mut agreeing) = (0, 0, 0, 0.0);
    let mut first_of: Vec<usize> = (0..n).collect();
    for people in order.chunk_by(|&a, &b| alike[a] == alike[b]) {
        let others = people.len() - 1;
        tied += if others > 0 { people.len() } else { 0 };
        for copies in people.chunk_by(|&a, &b| equal[a] == equal[b]) {
            distinct += 1;
            if copies.len() > 1 {
                copied += copies.len();
                // How often another row with these features agrees: existence alone would be no news where very many are alike.
                agreeing += (copies.len() * (copies.len() - 1)) as f64 / others as f64;
            }
            copies.iter().for_each(|&i| first_of[i] = copies[0]);
        }
    }
    let enough = copied > 0 && copied as f64 >= LEAST_SHARE * n as f64;
    let agree = agreeing >= LEAST_AGREEMENT * tied as f64;
    if !enough || !agree || 2 * widest < distinct || MOST_COPIES * widest < n {
        return None;
    }
    let mut groups = vec![0_u32; n];
    let mut next = 0;
    for i in 0..n {
        if first_of[i] == i {
            groups[i] = next;
            next += 1;
        } else {
            groups[i] = groups[first_of[i]];
        }
    }
    Some(Copies { groups, beyond_first: n - distinct })
}

/// How many different numbers there are.
fn different(values: &[f64]) -> usize {
    let mut all: Vec<u64> = values.iter().map(|v| bits(*v)).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// A number as an integer: both zeros are one number, all missing cells are alike.
fn bits(v: f64) -> u64 {
    if v.is_nan() { u64::MAX } else { (v + 0.0).to_bits() }
}

fn mix(hash: u64, value: u64) -> u64 {
    let mut h = (hash ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}
