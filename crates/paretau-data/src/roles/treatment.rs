//! Which value of the treatment column means treated, which control, and which another arm.

use std::collections::BTreeMap;

use paretau_core::Result;

use super::RoleSpec;
use super::words::{CONTROL_TREATED, CONTROLS, NO_YES};
use crate::fold::{fold, joined, joined_in_words};
use crate::read::{Cell, classify};
use crate::table::{ColumnData, Table, TableColumn, Text, counts, format_number};

/// Arms decoded from a column.
pub(super) struct Arms {
    /// 1 treated, 0 control, from 2 on the other arms, `None` for missing and left-out values.
    pub(super) arm: Vec<Option<u8>>,
    /// Whether the cell is missing.
    pub(super) missing: Vec<bool>,
    /// The values that mean control and treated, then those of the other arms, where several are wanted.
    pub(super) names: Vec<String>,
    /// Which spellings were joined.
    pub(super) note: Option<String>,
}

/// Most values of a treatment column that are taken for arms; more are amounts or names.
const MOST_ARMS: usize = 20;

/// Beside arms 0 and 1, other numbers in at most one row of so many are strays: a row of totals, a code for a missing cell.
const RARE: usize = 10;

/// Reads the treatment column as the spec says, or by what its values mean. With `several`, values that are neither
/// control nor treated are arms of their own; without, their rows are left out.
pub(super) fn decode(table: &Table, column: &TableColumn, spec: &RoleSpec, several: bool) -> Result<Arms> {
    // Who names both values knows the column.
    if spec.treated_value.is_none() || spec.control_value.is_none() {
        table.check_doubt(&column.name)?;
    }
    let (codes, values, note) = distinct(column);
    let (control, treated) = Values::of(&codes, &values)
        .pair(spec, several)
        .map_err(|message| table.error(Some(&column.name), None, message))?;
    let mut others: Vec<usize> = vec![];
    if several {
        others.extend((0..values.len()).filter(|&v| v != control && v != treated));
        // The order of arms should not depend on that of rows.
        others.sort_by(|&a, &b| order(&values[a], &values[b]));
        if values.len() > MOST_ARMS {
            let message = format!("has {} values, too many for arms; group them, or name two of them", values.len());
            return Err(table.error(Some(&column.name), None, message));
        }
    }
    let mut arm_of: Vec<Option<u8>> = vec![None; values.len()];
    [control, treated].iter().chain(&others).zip(0..).for_each(|(&value, arm)| arm_of[value] = Some(arm));
    Ok(Arms {
        arm: codes.iter().map(|&c| arm_of.get(c as usize).copied().flatten()).collect(),
        missing: codes.iter().map(|&c| c == Text::MISSING).collect(),
        names: [control, treated].into_iter().chain(others).map(|v| values[v].clone()).collect(),
        note,
    })
}

/// Numbers by size, other values by their letters.
fn order(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    }
}

/// The distinct values of a treatment column and how often each occurs.
struct Values<'a> {
    values: &'a [String],
    counts: Vec<usize>,
}

impl<'a> Values<'a> {
    fn of(codes: &[u32], values: &'a [String]) -> Self {
        let mut counts = vec![0_usize; values.len()];
        codes.iter().filter(|&&c| c != Text::MISSING).for_each(|&c| counts[c as usize] += 1);
        Self { values, counts }
    }

    /// The places of control and treated, or what is wrong.
    fn pair(&self, spec: &RoleSpec, several: bool) -> Result<(usize, usize), String> {
        let n = self.values.len();
        match (&spec.treated_value, &spec.control_value) {
            (Some(treated), Some(control)) => {
                let (t, c) = (self.find(treated)?, self.find(control)?);
                if t == c {
                    return Err(format!("--treated-value and --control-value are both `{treated}`"));
                }
                Ok((c, t))
            }
            (Some(treated), None) => {
                let t = self.find(treated)?;
                if n != 2 {
                    return Err(format!(
                        "has {n} values ({}); with --treated-value {treated} also give --control-value",
                        self.listed()
                    ));
                }
                Ok((1 - t, t))
            }
            (None, Some(control)) => {
                let c = self.find(control)?;
                if n != 2 && !several {
                    return Err(format!(
                        "--control-value {control} needs --treated-value; its values are {}",
                        self.listed()
                    ));
                }
                self.first_besides(c).map(|t| (c, t))
            }
            (None, None) => self.by_meaning(several),
        }
    }

    fn by_meaning(&self, several: bool) -> Result<(usize, usize), String> {
        let lower: Vec<String> = self.values.iter().map(|v| v.to_lowercase()).collect();
        let place = |word: &str| lower.iter().position(|v| v == word);
        let pair = (CONTROL_TREATED.iter().chain(&NO_YES)).find_map(|(no, yes)| Some((place(no)?, place(yes)?)));
        let named = CONTROLS.iter().find_map(|word| place(word));
        let control = place("0").or(named);
        if let Some(message) = self.strays() {
            return Err(message);
        }
        match (pair, control) {
            (Some(pair), _) if self.values.len() == 2 => Ok(pair),
            _ if named.is_some() && self.values.len() == 2 => {
                Ok(named.map_or((0, 1), |control| (control, 1 - control)))
            }
            (_, Some(control)) if several && self.values.len() > 2 => self.first_besides(control).map(|t| (control, t)),
            _ => Err(match self.values.len() {
                0 => "is empty: no row has a treatment".to_owned(),
                1 => format!("is `{}` in every row; the effect needs rows of both arms", self.values[0]),
                n if several && n > 2 => {
                    format!(
                        "has {n} values: {}; name the control with --control-value to compare each other value with it, or two of them with \
                         --treated-value and --control-value",
                        self.listed()
                    )
                }
                n => {
                    // Which of them is which, only the reader knows.
                    let mut values: Vec<&String> = self.values.iter().collect();
                    values.sort_by(|a, b| order(a, b));
                    let flag = |value: Option<&&String>| crate::read::quoted(value.map_or("", |value| value.as_str()));
                    format!(
                        "has {n} values: {}; name the treated and the control value, e.g. --treated-value {} \
                         --control-value {}",
                        self.listed(),
                        flag(values.last()),
                        flag(values.first())
                    )
                }
            }),
        }
    }

    /// What is wrong with a column of 0 and 1 in which a few other numbers stand that do not count on from these.
    fn strays(&self) -> Option<String> {
        let numbers: Vec<f64> = self.values.iter().map(|v| v.parse().ok()).collect::<Option<_>>()?;
        let is_arm = |value: f64| value == 0.0 || value == 1.0;
        let counts_on = |value: f64| value >= 0.0 && value.fract() == 0.0 && value < numbers.len() as f64;
        let others: Vec<usize> =
            (0..numbers.len()).filter(|&k| !is_arm(numbers[k]) && !counts_on(numbers[k])).collect();
        let cells: usize = others.iter().map(|&k| self.counts[k]).sum();
        let rare = cells * RARE <= self.counts.iter().sum::<usize>();
        if numbers.iter().filter(|&&v| is_arm(v)).count() < 2 || others.is_empty() || !rare {
            return None;
        }
        let shown: Vec<String> =
            others.iter().take(5).map(|&k| format!("`{}` ({})", self.values[k], rows(self.counts[k]))).collect();
        let more = if others.len() > 5 { format!(" and {} more", others.len() - 5) } else { String::new() };
        let marks: Vec<&str> = others.iter().map(|&k| self.values[k].as_str()).collect();
        Some(format!(
            "has 0, 1 and in a few rows {}{more}; add --na {} if that means missing, delete such rows if they are totals, or \
             name the control with --control-value 0 if every value is an arm",
            shown.join(", "),
            marks.join(",")
        ))
    }

    /// The first value that is not the control.
    fn first_besides(&self, control: usize) -> Result<usize, String> {
        let others = (0..self.values.len()).filter(|&v| v != control);
        let first = others.min_by(|&a, &b| order(&self.values[a], &self.values[b]));
        first.ok_or_else(|| format!("is `{}` in every row; the effect needs rows of both arms", self.values[control]))
    }

    fn find(&self, wanted: &str) -> Result<usize, String> {
        let number: Option<f64> = wanted.trim().parse().ok();
        let is = |v: &String| fold(v) == fold(wanted) || (number.is_some() && v.parse::<f64>().ok() == number);
        let found = self.values.iter().position(is);
        found.ok_or_else(|| format!("no row holds `{wanted}`; its values are {}", self.listed()))
    }

    /// Values with their counts, the commonest first.
    fn listed(&self) -> String {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(self.counts[k]));
        let shown: Vec<String> =
            order.iter().take(8).map(|&k| format!("`{}` ({})", self.values[k], rows(self.counts[k]))).collect();
        let more = if self.values.len() > 8 { format!(" and {} more", self.values.len() - 8) } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }
}

/// So many rows, in words.
fn rows(n: usize) -> String {
    if n == 1 { "1 row".to_owned() } else { format!("{n} rows") }
}

/// The arm of each cell of a treatment column in new data, given the values that meant the arms when the model was fitted; `None` for missing cells and other values. `1`, `1.0` and `TRUE` are one value.
pub fn arms_of(column: &TableColumn, arms: &[&str]) -> Vec<Option<u8>> {
    let numbers: Vec<Option<f64>> = arms.iter().map(|arm| arm.parse::<f64>().ok()).collect();
    let place = |found: Option<usize>| found.and_then(|arm| u8::try_from(arm).ok());
    let of_number = |value: f64| place(numbers.iter().position(|number| *number == Some(value)));
    let of_text = |level: &str| {
        let same = arms.iter().position(|arm| *arm == level);
        let same = same.or_else(|| arms.iter().position(|arm| fold(arm) == fold(level)));
        place(same).or_else(|| match classify(level.as_bytes()) {
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

/// The column as codes of distinct values, written as text, and which spellings were joined.
fn distinct(column: &TableColumn) -> (Vec<u32>, Vec<String>, Option<String>) {
    match &column.data {
        ColumnData::Text(text) => {
            let stands = joined(&text.levels, &counts(text));
            let note = joined_in_words(&text.levels, &stands).map(|words| format!("`{}`: {words}", column.name));
            // A dictionary may hold levels of rows that are no longer there.
            let mut used: BTreeMap<usize, u32> = BTreeMap::new();
            text.codes.iter().filter(|&&c| c != Text::MISSING).for_each(|&c| {
                used.insert(stands[c as usize], 0);
            });
            let values = used.keys().map(|&c| text.levels[c].clone()).collect();
            used.values_mut().enumerate().for_each(|(k, code)| *code = k as u32);
            let code = |c: &u32| stands.get(*c as usize).and_then(|stand| used.get(stand)).copied();
            (text.codes.iter().map(|c| code(c).unwrap_or(Text::MISSING)).collect(), values, note)
        }
        ColumnData::Number(numbers) => {
            let mut distinct: Vec<f64> = numbers.iter().copied().filter(|v| !v.is_nan()).map(|v| v + 0.0).collect();
            distinct.sort_unstable_by(f64::total_cmp);
            distinct.dedup();
            let code = |v: f64| match distinct.binary_search_by(|d| d.total_cmp(&(v + 0.0))) {
                Ok(place) => place as u32,
                Err(_) => Text::MISSING,
            };
            (numbers.iter().map(|&v| code(v)).collect(), distinct.iter().map(|&v| format_number(v)).collect(), None)
        }
    }
}
