//! Columns of numbers that are not what they seem: identifiers, and codes for missing values among amounts.

use crate::table::{ColumnData, TableColumn};

/// Rows from which on 1, 2, 3, … in the rows' order is taken for their numbers, whatever the column is called.
const COUNTED_ROWS: usize = 50;
/// Rows from which on different whole numbers under a name like `id` are identifiers.
const NAMED_ROWS: usize = 10;
/// Whole numbers from here on are not all distinct in a 64-bit float.
const INEXACT: f64 = 9_007_199_254_740_992.0;
/// No identifier has so many digits; larger numbers are amounts in an odd unit.
const NO_IDENTIFIER: f64 = 1e40;
/// Digits that an identifier uses up; an amount in a tiny unit ends in zeros.
const USED_DIGITS: usize = 14;

/// Whether a column of numbers only says which row is which: 1, 2, 3, … in order, different whole numbers under a name
/// such as `id`, or numbers of one length and of so many digits that no amount has them.
pub(crate) fn names_rows(column: &TableColumn) -> bool {
    let ColumnData::Number(values) = &column.data else { return false };
    if column.is_date || values.len() < 3 || values.iter().any(|v| v.fract() != 0.0) {
        return false;
    }
    let called_id = is_id_name(&column.name);
    let start = values[0];
    let counts = values.iter().enumerate().all(|(i, &v)| v == start + i as f64);
    if counts {
        return counts_rows(&column.name, start, values.len());
    }
    (called_id && values.len() >= NAMED_ROWS && all_differ(values))
        || count_beyond_precision(values)
        || (are_long_codes(values) && repeat_seldom(values))
}

/// Whether so many numbers that count up by 1 from `start`, in the order of the rows, only number them.
pub(crate) fn counts_rows(name: &str, start: f64, n: usize) -> bool {
    let unnamed = name == "column1" || name.starts_with("Unnamed: ") || name == "__index_level_0__";
    is_id_name(name) || ((start == 0.0 || start == 1.0) && (unnamed || n >= COUNTED_ROWS))
}

/// Whether numbers look like codes of many digits. An amount that was only scaled has both signs, several lengths or zeros at
/// its end, and must not be lost: it may be a confounder.
fn are_long_codes(values: &[f64]) -> bool {
    let range = |(lo, hi): (f64, f64), &v: &f64| (lo.min(v), hi.max(v));
    let (lo, hi) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
    if !(lo >= INEXACT && hi < NO_IDENTIFIER) || lo.log10().floor() != hi.log10().floor() {
        return false;
    }
    // The shortest text that reads as the same number: 1.5e19 has two digits, a code of 20 digits has 16 or 17 or, with
    // zeros in the right places, somewhat fewer.
    let used = |v: f64| format!("{v:e}").bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit).count();
    values.iter().filter(|v| used(**v) >= USED_DIGITS).count() * 10 >= values.len() * 9
}

/// Whether numbers with more digits than a 64-bit float holds differ in their last digits only, as card numbers and counters
/// with a prefix do. Rounded, several of them may be one.
fn count_beyond_precision(values: &[f64]) -> bool {
    let range = |(lo, hi): (f64, f64), &v: &f64| (lo.min(v), hi.max(v));
    let (lo, hi) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
    lo >= INEXACT && hi < NO_IDENTIFIER && hi > lo && hi - lo < lo * 1e-6
}

/// Whether there are too many different values for codes of a few groups.
fn repeat_seldom(values: &[f64]) -> bool {
    let distinct: std::collections::HashSet<u64> = values.iter().map(|v| v.to_bits()).collect();
    distinct.len() >= 3 && distinct.len() * 10 >= values.len()
}

fn all_differ(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    sorted.dedup();
    // Long identifiers may collide once they are rounded.
    sorted.len() * 10 >= n * 9
}

/// Whether a column's name says that it identifies rows.
fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 18] = [
        "id", "index", "idx", "row", "rownum", "rowid", "rowname", "rownames", "recordid", "record", "caseid", "uid",
        "uuid", "guid", "key", "serial", "seqn", "obs",
    ];
    let plain: String = name.to_lowercase().chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).collect();
    let last = name.rsplit(['_', '-', ' ', '.']).next().unwrap_or_default();
    let first = name.split(['_', '-', ' ', '.']).next().unwrap_or_default();
    NAMES.contains(&plain.as_str())
        || [first, last].iter().any(|part| part.eq_ignore_ascii_case("id"))
        || name.ends_with("Id")
        || name.ends_with("ID")
}

/// Numbers that stand for a missing answer in many files, with the number of cells of each: codes such as -999 that lie
/// farther from all other values than these lie from each other.
pub(crate) fn sentinels(values: &[f64]) -> Vec<(f64, usize)> {
    let mut found: Vec<(f64, usize)> = vec![];
    let (mut lo, mut hi, mut others) = (f64::INFINITY, f64::NEG_INFINITY, 0_usize);
    for &value in values {
        if is_code(value) {
            match found.iter_mut().find(|(code, _)| *code == value) {
                Some((_, count)) => *count += 1,
                None => found.push((value, 1)),
            }
        } else if !value.is_nan() {
            (lo, hi) = (lo.min(value), hi.max(value));
            others += 1;
        }
    }
    let codes: usize = found.iter().map(|(_, count)| count).sum();
    let outside = |code: f64| (lo - code).max(code - hi) > hi - lo;
    found.retain(|&(code, _)| others > codes && outside(code));
    found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn is_code(value: f64) -> bool {
    if value.fract() != 0.0 || value > -9.0 && value < 77.0 || value.abs() > 2_147_483_648.0 {
        return false;
    }
    matches!(
        value.abs() as i64,
        77 | 88 | 97..=99 | 777 | 888 | 997..=999 | 7777 | 8888 | 9997..=9999 | 77_777 | 88_888 | 99_997..=99_999
            | 999_998 | 999_999 | 9_999_999 | 99_999_999 | 999_999_999 | 32_767 | 32_768 | 2_147_483_647 | 2_147_483_648
    ) || value == -9.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_far_from_the_rest_stand_out() {
        let ages: Vec<f64> = (18..90).map(f64::from).collect();
        let with = |more: &[f64]| sentinels(&[&ages[..], more].concat());
        assert_eq!(with(&[]), []);
        assert_eq!(with(&[-999.0; 3]), [(-999.0, 3)]);
        assert_eq!(with(&[999.0, -99.0, 999.0]), [(-99.0, 1), (999.0, 2)]);
        assert_eq!(with(&[99.0; 4]), []);
        assert_eq!(sentinels(&[1.0, 2.0, 5.0, 99.0]), [(99.0, 1)]);
        assert_eq!(sentinels(&[0.0, 5000.0, 12_000.0, 9999.0]), []);
        assert_eq!(sentinels(&[999.0, 999.0, 1.0]), []);
    }

    #[test]
    fn identifiers_are_known_by_order_name_or_length() {
        let column = |name: &str, values: Vec<f64>| TableColumn::number(name, values);
        let shuffled = || (0..30).map(|i| f64::from(i * 7 % 31)).collect::<Vec<_>>();
        assert!(names_rows(&column("id", vec![5.0, 6.0, 7.0])));
        assert!(names_rows(&column("patient_id", shuffled())));
        assert!(names_rows(&column("userId", shuffled())));
        assert!(!names_rows(&column("age", shuffled())));
        assert!(!names_rows(&column("humid", shuffled())));
        assert!(!names_rows(&column("x", vec![1.0, 2.0, 3.0])));
        assert!(names_rows(&column("x", (1..=60).map(f64::from).collect())));
        assert!(names_rows(&column("card", (1..=9).map(|i| 4e19 + f64::from(i) * 1e6 / 7.0).collect())));
        // Twenty digits of which a float keeps the first sixteen, and visits of one card.
        let counter = |i: i32| format!("9{:019}", i * 7919).parse::<f64>().unwrap_or_default();
        assert!(names_rows(&column("uid", (1..=99).map(counter).collect())));
        let card = |i: i32| 4e19 + f64::from(i / 3 + 1) * 1e17 / 7.3;
        assert!(names_rows(&column("card", (0..90).map(card).collect())));
        let noise = |i: i32| (f64::from(i) * 12.9898).sin() * 43_758.545_3 % 1.0;
        assert!(!names_rows(&column("scaled", (1..=99).map(|i| noise(i) * 1e19).collect())), "both signs");
        assert!(!names_rows(&column("scaled", (1..=99).map(|i| noise(i).abs() * 1e22).collect())), "several lengths");
        assert!(!names_rows(&column("age", (20..=90).map(|i| f64::from(i) * 1e19).collect())), "few digits");
        assert!(!names_rows(&column("x", (1..=9).map(|i| 4e299 + f64::from(i) * 1e290).collect())));
        assert!(!names_rows(&column("id", vec![0.5, 1.5, 2.5])));
        assert!(!names_rows(&column("id", [1.0, 2.0].repeat(10))));
    }
}
