//! Columns of numbers that are not what they seem: identifiers, and codes for missing values among amounts.

use crate::calendar::days_from_civil;
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

/// Fewest other values that show what a column mostly of codes holds.
const FEWEST: usize = 5;
/// Fewest other values that show how close together they lie; a code among them is a step away that is more than so many times the
/// largest between two of them, and a part of their range that is not smaller than one in as many.
const MANY: usize = 20;
const FAR_STEP: f64 = 4.0;
/// Most answers of a scale, codes among them; at most one code for so many answers.
const MOST_ANSWERS: usize = 12;
const RARE_ANSWERS: usize = 4;

/// Whether a column of numbers only says which row is which: 1, 2, 3, … in order, different whole numbers under a name
/// such as `id`, or numbers of one length and of so many digits that no amount has them.
pub(crate) fn names_rows(column: &TableColumn) -> bool {
    let ColumnData::Number(values) = &column.data else { return false };
    if column.is_date || values.len() < 3 || values.iter().any(|v| v.fract() != 0.0) {
        return false;
    }
    let called_id = is_id_name(&column.name);
    let (start, end) = (values[0], values[values.len() - 1]);
    if values.iter().enumerate().all(|(i, &v)| v == start + i as f64) {
        return counts_rows(&column.name, start, values.len());
    }
    // The newest row first.
    if values.iter().rev().enumerate().all(|(i, &v)| v == end + i as f64) {
        return counts_rows(&column.name, end, values.len());
    }
    let values: &[f64] = &values.contiguous();
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
    const NAMES: [&str; 30] = [
        "id",
        "index",
        "idx",
        "row",
        "rownum",
        "rowid",
        "rowname",
        "rownames",
        "recordid",
        "record",
        "caseid",
        "uid",
        "uuid",
        "guid",
        "key",
        "serial",
        "seqn",
        "obs",
        "patient",
        "subject",
        "participant",
        "respondent",
        "person",
        "customer",
        "client",
        "user",
        "case",
        "account",
        "mrn",
        "ssn",
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
    let outside = |code: f64| (lo - code).max(code - hi) > hi - lo;
    let more = found.iter().map(|(_, count)| count).sum::<usize>() < others;
    // A test that few people took is missing in most rows.
    let enough = more || (others >= FEWEST && hi > lo);
    if enough {
        let apart = |code: f64, count: usize| count >= 2 && others >= MANY && far_beside(values, code, hi - lo);
        found.retain(|&(code, count)| outside(code) || apart(code, count));
    } else {
        found.clear();
    }
    if found.is_empty() {
        found = answers_apart(values);
    }
    found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// Whether a code that stands in several cells is a large step away from the other values, which lie close together: 99 among ages
/// from 20 to 69.
fn far_beside(values: &[f64], code: f64, range: f64) -> bool {
    let mut others: Vec<f64> = values.iter().copied().filter(|&v| !v.is_nan() && !is_code(v)).collect();
    others.sort_unstable_by(f64::total_cmp);
    let largest = others.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    let step = match (others.first(), others.last()) {
        (Some(&lo), Some(&hi)) => (lo - code).max(code - hi),
        _ => return false,
    };
    step * FAR_STEP > range && step > largest * FAR_STEP
}

/// Codes of one digit among answers on a short scale (7, 8 and 9 beside 1 to 5, -1 beside 0 to 4), or a single negative number
/// among amounts (-1 beside counts), in several cells but few.
fn answers_apart(values: &[f64]) -> Vec<(f64, usize)> {
    let mut counted: Vec<(f64, usize)> = vec![];
    for &value in values.iter().filter(|v| !v.is_nan()) {
        match counted.iter().position(|(known, _)| *known == value) {
            Some(place) => counted[place].1 += 1,
            None if counted.len() == MOST_ANSWERS || value.fract() != 0.0 => return only_negative(values),
            None => counted.push((value, 1)),
        }
    }
    counted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (scale, apart): (Vec<_>, Vec<_>) = counted.into_iter().partition(|(v, _)| (0.0..=6.0).contains(v));
    let (Some(&(lo, _)), Some(&(hi, _))) = (scale.first(), scale.last()) else { return vec![] };
    let is_scale = scale.len() >= 2 && lo <= 1.0 && scale.len() as f64 == hi - lo + 1.0;
    // 7 and 8 alone only count on; with 9 at the end they are codes. Zero and one may be two of three signs.
    let has_end = apart.iter().any(|&(v, _)| v == 9.0);
    let is_apart = |code: f64| match code {
        7.0..=9.0 => has_end && code - hi >= 2.0,
        -9.0..=-1.0 => code < -1.0 || lo > 0.0 || scale.len() > 2,
        _ => false,
    };
    let cells = |of: &[(f64, usize)]| of.iter().map(|(_, count)| count).sum::<usize>();
    let few = cells(&apart) >= 2 && cells(&apart) * RARE_ANSWERS <= cells(&scale);
    if is_scale && few && apart.iter().all(|&(v, _)| is_apart(v)) { apart } else { vec![] }
}

/// The one negative number of a column of amounts, if it stands there several times.
fn only_negative(values: &[f64]) -> Vec<(f64, usize)> {
    let negative: Vec<f64> = values.iter().copied().filter(|&v| v < 0.0).collect();
    match negative[..] {
        [first, _, ..] if first.fract() == 0.0 && first >= -9.0 && negative.iter().all(|&v| v == first) => {
            vec![(first, negative.len())]
        }
        _ => vec![],
    }
}

/// How codes stand beside the other values, in words.
pub(crate) fn place_of(codes: &[(f64, usize)]) -> &'static str {
    if codes.iter().all(|&(code, _)| is_code(code)) { "far outside the rest" } else { "apart from the rest" }
}

/// Days that stand for none in many databases: the first and last of their calendars.
pub(crate) fn day_codes(days: &[f64]) -> Vec<(f64, usize)> {
    const CODES: [(i64, i64, i64); 10] = [
        (1, 1, 1),
        (1582, 10, 14),
        (1582, 10, 15),
        (1753, 1, 1),
        (1899, 12, 30),
        (1900, 1, 1),
        (1970, 1, 1),
        (2099, 12, 31),
        (2999, 12, 31),
        (9999, 12, 31),
    ];
    let codes = CODES.map(|(year, month, day)| days_from_civil(year, month, day) as f64);
    let of_day = |day: f64| days.iter().filter(|d| d.floor() == day).count();
    let others = days.iter().copied().filter(|d| !d.is_nan() && !codes.contains(&d.floor()));
    let (lo, hi) = others.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), d| (lo.min(d), hi.max(d)));
    let outside = |code: f64| lo <= hi && (lo - code).max(code - hi) > hi - lo;
    codes.into_iter().filter(|&code| outside(code)).map(|code| (code, of_day(code))).filter(|(_, n)| *n > 0).collect()
}

/// The first of whole numbers that are all days written without marks, 20240531.
pub(crate) fn days_as_numbers(values: &[f64]) -> Option<f64> {
    let is_day = |v: f64| {
        let whole = v as i64;
        let (year, month, day) = (whole / 10_000, whole / 100 % 100, whole % 100);
        v.fract() == 0.0 && (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
    };
    let mut present = values.iter().copied().filter(|v| !v.is_nan());
    let first = present.next().filter(|&v| is_day(v))?;
    let (mut n, mut differ) = (1, false);
    for value in present {
        if !is_day(value) {
            return None;
        }
        (n, differ) = (n + 1, differ || value != first);
    }
    (n >= FEWEST && differ).then_some(first)
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
        let adults: Vec<f64> = (20..70).map(f64::from).collect();
        assert_eq!(sentinels(&[&adults[..], &[99.0; 4]].concat()), [(99.0, 4)]);
        assert_eq!(sentinels(&[&adults[..], &[99.0]].concat()), [], "the oldest of them");
        let spread: Vec<f64> = adults.iter().map(|age| age * age).collect();
        assert_eq!(sentinels(&[&spread[..], &[9999.0; 4]].concat()), [(9999.0, 4)]);
        assert_eq!(sentinels(&[&spread[..], &[4999.0, 5200.0, 5500.0, 999.0, 999.0]].concat()), []);
        assert_eq!(sentinels(&[1.0, 2.0, 5.0, 99.0]), [(99.0, 1)]);
        assert_eq!(sentinels(&[0.0, 5000.0, 12_000.0, 9999.0]), []);
        assert_eq!(sentinels(&[999.0, 999.0, 1.0]), []);
        let half: Vec<f64> = (0..20).flat_map(|i| [-999.0, f64::from(i)]).collect();
        assert_eq!(sentinels(&half), [(-999.0, 20)]);
    }

    #[test]
    fn codes_on_short_scales_stand_apart() {
        let among = |scale: &[i32], codes: &[f64]| {
            let answers = scale.iter().cycle().take(30).map(|&v| f64::from(v));
            sentinels(&answers.chain(codes.iter().copied()).collect::<Vec<_>>())
        };
        assert_eq!(among(&[0, 1], &[9.0, 9.0]), [(9.0, 2)]);
        assert_eq!(among(&[1, 2, 3, 4, 5], &[9.0, 8.0]), [(8.0, 1), (9.0, 1)]);
        assert_eq!(among(&[0, 1, 2, 3, 4], &[-1.0, -1.0]), [(-1.0, 2)]);
        assert_eq!(among(&[1, 2], &[-1.0, -1.0]), [(-1.0, 2)]);
        let counts: Vec<i32> = (0..30).collect();
        assert_eq!(among(&counts, &[-1.0, -1.0]), [(-1.0, 2)]);
        for (scale, more) in [
            (&[0, 1][..], &[-1.0, -1.0][..]),
            (&[1, 2, 3, 4, 5, 6, 7, 8], &[9.0, 9.0]),
            (&[1, 2, 3, 4, 5], &[9.0]),
            (&[1, 2, 3, 4, 5], &[6.0, 7.0]),
            (&[0, 2, 4], &[9.0, 9.0]),
            (&[-2, -1, 0, 1, 2], &[]),
            (&counts, &[-1.0, -2.0]),
            (&counts, &[-1.0]),
        ] {
            assert_eq!(among(scale, more), [], "{scale:?} and {more:?}");
        }
    }

    #[test]
    fn days_that_stand_for_none_and_days_as_numbers() {
        let days: Vec<f64> = (0..30).map(|i| 19_800.0 + f64::from(i)).collect();
        let with = |more: &[f64]| day_codes(&[&days[..], more].concat());
        assert_eq!(with(&[]), []);
        assert_eq!(with(&[0.0, -25_567.0, 0.5]), [(-25_567.0, 1), (0.0, 2)]);
        assert_eq!(day_codes(&[-10.0, 0.0, 5.0, 12.0]), []);
        let numbers = |from: f64| (0..20).map(|i| from + f64::from(i)).collect::<Vec<_>>();
        assert_eq!(days_as_numbers(&numbers(20_240_501.0)), Some(20_240_501.0));
        assert_eq!(days_as_numbers(&numbers(20_240_590.0)), None);
        assert_eq!(days_as_numbers(&[20_240_501.0; 9]), None);
    }

    #[test]
    fn identifiers_are_known_by_order_name_or_length() {
        let column = |name: &str, values: Vec<f64>| TableColumn::number(name, values);
        let shuffled = || (0..30).map(|i| f64::from(i * 7 % 31)).collect::<Vec<_>>();
        assert!(names_rows(&column("id", vec![5.0, 6.0, 7.0])));
        assert!(names_rows(&column("patient_id", shuffled())));
        assert!(names_rows(&column("userId", shuffled())));
        assert!(names_rows(&column("Patient", shuffled())));
        assert!(!names_rows(&column("age", shuffled())));
        assert!(!names_rows(&column("humid", shuffled())));
        assert!(!names_rows(&column("x", vec![1.0, 2.0, 3.0])));
        assert!(names_rows(&column("x", (1..=60).map(f64::from).collect())));
        assert!(names_rows(&column("x", (1..=60).rev().map(f64::from).collect())), "the newest first");
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
