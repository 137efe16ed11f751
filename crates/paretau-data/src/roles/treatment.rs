//! Which value of the treatment column means treated, and which control.

use std::collections::BTreeMap;

use paretau_core::Result;

use super::RoleSpec;
use crate::read::{Cell, classify};
use crate::table::{ColumnData, Table, TableColumn, Text, format_number};

/// Arms decoded from a column.
pub(super) struct Arms {
    /// 1 treated, 0 control, `None` for missing and other values.
    pub(super) arm: Vec<Option<u8>>,
    /// Whether the cell is missing.
    pub(super) missing: Vec<bool>,
    /// The values that mean control and treated.
    pub(super) names: [String; 2],
}

/// Text that means yes or no by itself, with the no first.
const PAIRS: [(&str, &str); 6] =
    [("0", "1"), ("false", "true"), ("no", "yes"), ("control", "treated"), ("control", "treatment"), ("n", "y")];

/// Reads the treatment column as the spec tells, or by what its values mean.
pub(super) fn decode(table: &Table, column: &TableColumn, spec: &RoleSpec) -> Result<Arms> {
    let (codes, values) = distinct(column);
    let mut counts = vec![0_usize; values.len()];
    codes.iter().filter(|&&c| c != Text::MISSING).for_each(|&c| counts[c as usize] += 1);
    let fail = |message: String| Err(table.error(Some(&column.name), None, message));
    let find = |wanted: &str| {
        let number: Option<f64> = wanted.trim().parse().ok();
        values.iter().position(|v| v == wanted.trim() || (number.is_some() && v.parse::<f64>().ok() == number))
    };
    let listed = || list(&values, &counts);
    let arm_of: Box<dyn Fn(usize) -> Option<u8>>;
    let names: [String; 2];
    match (&spec.treated_value, &spec.control_value) {
        (Some(treated), Some(control)) => {
            let (Some(t), Some(c)) = (find(treated), find(control)) else {
                let absent = if find(treated).is_none() { treated } else { control };
                return fail(format!("no row holds `{absent}`; its values are {}", listed()));
            };
            if t == c {
                return fail(format!("--treated-value and --control-value are both `{treated}`"));
            }
            arm_of = Box::new(move |v| {
                if v == t {
                    Some(1)
                } else if v == c {
                    Some(0)
                } else {
                    None
                }
            });
            names = [values[c].clone(), values[t].clone()];
        }
        (Some(treated), None) => {
            let Some(t) = find(treated) else {
                return fail(format!("no row holds `{treated}`; its values are {}", listed()));
            };
            if values.len() != 2 {
                return fail(format!(
                    "has {} values ({}); with --treated-value {treated} also tell --control-value",
                    values.len(),
                    listed()
                ));
            }
            arm_of = Box::new(move |v| Some(u8::from(v == t)));
            names = [values[1 - t].clone(), values[t].clone()];
        }
        (None, Some(control)) => {
            return fail(format!("--control-value {control} needs --treated-value; its values are {}", listed()));
        }
        (None, None) => {
            let lower: Vec<String> = values.iter().map(|v| v.to_lowercase()).collect();
            let place = |word: &str| lower.iter().position(|v| v == word);
            let pair = PAIRS.iter().find_map(|(no, yes)| Some((place(no)?, place(yes)?)));
            match pair {
                Some((c, t)) if values.len() == 2 => {
                    arm_of = Box::new(move |v| Some(u8::from(v == t)));
                    names = [values[c].clone(), values[t].clone()];
                }
                _ if values.is_empty() => return fail("is empty: no row has a treatment".to_owned()),
                _ if values.len() == 1 => {
                    return fail(format!("is `{}` in every row; the effect needs rows of both arms", values[0]));
                }
                _ => {
                    return fail(format!(
                        "has {} values: {}; say which mean treated and control with --treated-value and --control-value",
                        values.len(),
                        listed()
                    ));
                }
            }
        }
    }
    let missing: Vec<bool> = codes.iter().map(|&c| c == Text::MISSING).collect();
    let arm = codes.iter().map(|&c| if c == Text::MISSING { None } else { arm_of(c as usize) }).collect();
    Ok(Arms { arm, missing, names })
}

/// The arm of each cell of a treatment column in new data, given the values that meant control and treated when the
/// model was fitted; `None` for missing cells and other values. `1`, `1.0` and `TRUE` are one value.
pub fn arms_of(column: &TableColumn, arms: &[String; 2]) -> Vec<Option<u8>> {
    let numbers = [0, 1].map(|arm| arms[arm].parse::<f64>().ok());
    let of_number = |value: f64| (0..2_u8).find(|&arm| numbers[usize::from(arm)] == Some(value));
    let of_text = |level: &str| {
        let same = (0..2_u8).find(|&arm| arms[usize::from(arm)] == level);
        same.or_else(|| match classify(level.as_bytes()) {
            Cell::Number(value) => of_number(value),
            Cell::Bool(value) => of_number(f64::from(u8::from(value))),
            _ => None,
        })
    };
    match &column.data {
        ColumnData::Number(_) if column.is_date => {
            (0..column.len()).map(|i| column.cell(i).and_then(|cell| of_text(&cell))).collect()
        }
        ColumnData::Number(values) => values.iter().map(|&value| of_number(value)).collect(),
        ColumnData::Text(text) => {
            let levels: Vec<Option<u8>> = text.levels.iter().map(|level| of_text(level)).collect();
            text.codes.iter().map(|&code| levels.get(code as usize).copied().flatten()).collect()
        }
    }
}

/// The column as codes of distinct values, written as text.
fn distinct(column: &TableColumn) -> (Vec<u32>, Vec<String>) {
    match &column.data {
        ColumnData::Text(text) => {
            // A dictionary may hold levels of rows that are no longer there.
            let mut used: BTreeMap<u32, u32> = BTreeMap::new();
            text.codes.iter().filter(|&&c| c != Text::MISSING).for_each(|&c| {
                used.insert(c, 0);
            });
            let values = used.keys().map(|&c| text.levels[c as usize].clone()).collect();
            used.values_mut().enumerate().for_each(|(k, code)| *code = k as u32);
            (text.codes.iter().map(|c| used.get(c).copied().unwrap_or(Text::MISSING)).collect(), values)
        }
        ColumnData::Number(numbers) => {
            let mut distinct: Vec<f64> = numbers.iter().copied().filter(|v| !v.is_nan()).map(|v| v + 0.0).collect();
            distinct.sort_unstable_by(f64::total_cmp);
            distinct.dedup();
            let code = |v: f64| match distinct.binary_search_by(|d| d.total_cmp(&(v + 0.0))) {
                Ok(place) => place as u32,
                Err(_) => Text::MISSING,
            };
            (numbers.iter().map(|&v| code(v)).collect(), distinct.iter().map(|&v| format_number(v)).collect())
        }
    }
}

/// Values with their counts, the commonest first.
fn list(values: &[String], counts: &[usize]) -> String {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(counts[k]));
    let shown: Vec<String> = order.iter().take(8).map(|&k| format!("`{}` ({} rows)", values[k], counts[k])).collect();
    let more = if values.len() > 8 { format!(" and {} more", values.len() - 8) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
