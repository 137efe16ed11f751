//! How a table is understood, column by column: what an analyst should look at before any fit.

use std::collections::HashSet;

use paretau_core::Result;
use serde::Serialize;

use crate::fold::{joined, joined_in_words};
use crate::roles::{
    RoleSpec, arms_in_words, day_codes, days_as_numbers, looks_like_truth, matches_glob, names_rows,
    numbered_days_in_words, outcome_in_words, place_of, sentinels,
};
use crate::table::{ColumnData, Kind, Table, TableColumn, Text, counts, format_number};

/// Names that treatment and outcome columns have by themselves, compared in lower case.
const TREATMENTS: [&str; 10] =
    ["t", "w", "z", "treat", "treated", "treatment", "arm", "exposure", "exposed", "intervention"];
const OUTCOMES: [&str; 6] = ["y", "outcome", "response", "target", "result", "endpoint"];
/// Levels that a range names.
const LEVELS: usize = 3;

/// What is known of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// `number`, `whole number`, `date`, `category` or `empty`.
    pub kind: &'static str,
    /// Least and greatest value, or the commonest levels.
    pub range: String,
    /// Missing cells.
    pub missing: usize,
    /// Different values.
    pub distinct: usize,
    /// What looks odd, with the remedy.
    pub oddities: Vec<String>,
    /// The role given, or the one proposed.
    pub role: String,
}

/// Describes every column of a table; roles that the spec does not give are proposed.
pub fn profile(table: &Table, spec: &RoleSpec) -> Result<Vec<ColumnProfile>> {
    for (_, name) in spec.named().into_iter().filter(|(_, name)| !name.is_empty()) {
        table.require(name)?;
    }
    let mut columns: Vec<ColumnProfile> = table.columns().iter().map(|column| describe(table, column, spec)).collect();
    let read: Vec<ColumnProfile> = table
        .unread
        .iter()
        .map(|(name, reason)| ColumnProfile {
            name: name.clone(),
            kind: "not read",
            range: String::new(),
            missing: 0,
            distinct: 0,
            oddities: vec![reason.clone()],
            role: "none".to_owned(),
        })
        .collect();
    columns.extend(read);
    Ok(columns)
}

fn describe(table: &Table, column: &TableColumn, spec: &RoleSpec) -> ColumnProfile {
    let n = column.len();
    let missing = (0..n).filter(|&i| column.is_missing(i)).count();
    let mut oddities: Vec<String> = vec![];
    if let Some(doubt) = table.doubts.get(&column.name) {
        oddities.push(format!("{}{}", doubt.row.map_or_else(String::new, |row| place(table, row)), doubt.message));
    }
    if missing == n {
        oddities.push("is empty".to_owned());
    }
    let (kind, range, distinct) = match &column.data {
        ColumnData::Number(values) => {
            let present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            let distinct = present.iter().map(|v| (v + 0.0).to_bits()).collect::<HashSet<_>>().len();
            let (lo, hi) =
                present.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)));
            let shown = |value: f64| {
                if column.is_date { crate::calendar::format_iso(value) } else { brief(value) }
            };
            let range = if present.is_empty() { String::new() } else { format!("{} to {}", shown(lo), shown(hi)) };
            let kind = match column.kind() {
                Kind::Date => "date",
                _ if present.is_empty() => "empty",
                _ if present.iter().all(|v| v.fract() == 0.0) => "whole number",
                _ => "number",
            };
            let cells = values.contiguous();
            let found = if column.is_date { day_codes(&cells) } else { sentinels(&cells) };
            let place = if column.is_date { "far outside the rest" } else { place_of(&found) };
            let spelled =
                |code: f64| if column.is_date { crate::calendar::format_iso(code) } else { format_number(code) };
            if !column.is_date {
                oddities.extend(days_as_numbers(&cells).map(numbered_days_in_words));
            }
            oddities.extend(found.into_iter().map(|(code, count)| {
                let (code, cells) = (spelled(code), if count == 1 { "cell" } else { "cells" });
                format!("{code} in {count} {cells} is {place}; --na {code} if it means missing")
            }));
            (kind, range, distinct)
        }
        ColumnData::Text(text) => {
            let counts = counts(text);
            let stands = joined(&text.levels, &counts);
            oddities.extend(joined_in_words(&text.levels, &stands));
            // Spellings of one level are one.
            let distinct = counts.iter().enumerate().filter(|&(k, &count)| count > 0 && stands[k] == k).count();
            ("category", commonest(text, &counts, &stands), distinct)
        }
    };
    if rounds(column) {
        oddities.push(format!(
            "holds numbers of more than 15 digits, which are rounded, so that different ones may look the same; add --id {0} if they name \
             the rows, or --categorical {0}",
            crate::read::quoted(&column.name)
        ));
    } else if distinct == 1 && missing == 0 && n > 1 {
        oddities.push("is the same in every row".to_owned());
    }
    if column.name == spec.outcome {
        oddities.extend(outcome_in_words(table, spec));
    }
    if column.name == spec.treatment {
        oddities.extend(arms_in_words(table, spec));
    }
    let role = role(column, spec, distinct, n - missing);
    ColumnProfile { name: column.name.clone(), kind, range, missing, distinct, oddities, role }
}

/// Whether whole numbers have more digits than a 64-bit float holds.
fn rounds(column: &TableColumn) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match &column.data {
        ColumnData::Number(values) if !column.is_date => values.iter().any(|v| v.abs() > EXACT && v.abs() < 1e40),
        _ => false,
    }
}

/// The row of a cell as errors name it: in its own file, where the table comes from several.
fn place(table: &Table, row: usize) -> String {
    let (path, number, _) = table.source.place(Some(table.source.row_number(row)));
    let file = path.filter(|_| !table.source.parts.is_empty());
    let file = file.map_or_else(String::new, |path| format!("{}, ", path.display()));
    let id = table.identifier(row).map_or_else(String::new, |id| format!(" ({id})"));
    format!("{file}row {}{id}: ", number.unwrap_or(row as u64 + 1))
}

/// A number in at most six significant digits, whole numbers whole: a range is for orientation.
fn brief(value: f64) -> String {
    let whole = format_number(value);
    if whole.len() <= 8 || value.fract() == 0.0 {
        return whole;
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 300) as usize;
    format_number(format!("{value:.digits$}").parse().unwrap_or(value))
}

/// The commonest levels.
fn commonest(text: &Text, counts: &[usize], stands: &[usize]) -> String {
    let mut cells = vec![0; counts.len()];
    counts.iter().zip(stands).for_each(|(count, &stand)| cells[stand] += count);
    let mut order: Vec<usize> = (0..cells.len()).filter(|&k| cells[k] > 0).collect();
    order.sort_by(|&a, &b| cells[b].cmp(&cells[a]).then_with(|| text.levels[a].cmp(&text.levels[b])));
    let shown: Vec<String> = order.iter().take(LEVELS).map(|&k| shortened(&text.levels[k])).collect();
    format!("{}{}", shown.join(", "), if order.len() > LEVELS { ", …" } else { "" })
}

fn shortened(level: &str) -> String {
    if level.chars().count() <= 20 { level.to_owned() } else { level.chars().take(19).chain(['…']).collect() }
}

/// The role that a column has, or that is proposed for it.
fn role(column: &TableColumn, spec: &RoleSpec, distinct: usize, present: usize) -> String {
    let name = column.name.as_str();
    if let Some((role, _)) = spec.named().iter().find(|(_, named)| *named == name) {
        return (*role).to_owned();
    }
    let fits = |patterns: &[String]| patterns.iter().any(|p| p == name || matches_glob(p, name));
    let lower = name.to_lowercase();
    let role = match () {
        () if fits(&spec.ignore) => "ignored",
        () if spec.features.as_deref().is_some_and(fits) => "feature",
        () if spec.features.is_some() => "none",
        () if names_rows(column) || (column.kind() == Kind::Text && distinct == present && present > 20) => "id?",
        () if distinct < 2 => "none",
        () if spec.treatment.is_empty() && TREATMENTS.contains(&lower.as_str()) && distinct <= 20 => "treatment?",
        () if spec.outcome.is_empty() && OUTCOMES.contains(&lower.as_str()) => "outcome?",
        () if looks_like_truth(name) => "truth?",
        () => "feature",
    };
    role.to_owned()
}
