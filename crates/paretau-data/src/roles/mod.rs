//! Giving columns their roles: treatment, outcome, features and the rest. The truth is taken out here.

mod copies;
mod features;
mod oddities;
mod treatment;
mod words;

use paretau_core::{Column, Design, Error, Features, Oracle, Result, Warning};
use serde::{Deserialize, Serialize};

use crate::read::ReadOptions;
use crate::table::{ColumnData, Table, TableColumn, select_columns};

pub use features::parse_list;
pub(crate) use features::{looks_like_truth, matches_glob};
pub(crate) use oddities::{counts_rows, day_codes, days_as_numbers, names_rows, place_of, sentinels};
pub use treatment::arms_of;

/// Which column plays which role. Stored with a model, so that evaluation need not be given them again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleSpec {
    /// Treatment column.
    pub treatment: String,
    /// Outcome column.
    pub outcome: String,
    /// Feature columns as names or patterns (`x_*`); all that have no other role when not given.
    pub features: Option<Vec<String>>,
    /// Columns never to be used, names or patterns.
    pub ignore: Vec<String>,
    /// Column that identifies rows; carried along, never a feature.
    pub id: Option<String>,
    /// Column of row weights.
    pub weight: Option<String>,
    /// Columns of the true expected outcomes without and with treatment.
    pub truth: Option<(String, String)>,
    /// The treatment column's value that means treated.
    pub treated_value: Option<String>,
    /// The treatment column's value that means control.
    pub control_value: Option<String>,
    /// Column of propensities known from the study's design.
    pub propensity: Option<String>,
    /// Column of groups whose rows must stay together.
    pub group: Option<String>,
}

impl RoleSpec {
    /// Treatment and outcome; everything else is a feature, as far as it does not look like the truth.
    pub fn new(treatment: impl Into<String>, outcome: impl Into<String>) -> Self {
        Self { treatment: treatment.into(), outcome: outcome.into(), ..Self::default() }
    }

    /// Options for reading a file with these roles: identifiers stay as they are written, `007` included.
    pub fn read_options(&self) -> ReadOptions {
        match &self.id {
            Some(id) => ReadOptions::default().with_id(id.clone()),
            None => ReadOptions::default(),
        }
    }

    /// Columns with a role other than feature, with the role's name.
    pub(crate) fn named(&self) -> Vec<(&'static str, &str)> {
        let optional =
            [("id", &self.id), ("weight", &self.weight), ("propensity", &self.propensity), ("group", &self.group)];
        let mut named = vec![("treatment", self.treatment.as_str()), ("outcome", self.outcome.as_str())];
        named.extend(optional.into_iter().filter_map(|(role, name)| name.as_deref().map(|name| (role, name))));
        if let Some((mu0, mu1)) = &self.truth {
            named.extend([("truth", mu0.as_str()), ("truth", mu1.as_str())]);
        }
        named
    }
}

/// Columns in their roles, for the rows that can be used.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// The feature columns of the used rows, to be encoded.
    pub features: Table,
    /// Rows of the given table that are used, ascending.
    pub rows: Vec<usize>,
    /// Arm of each row: 1 treated, 0 control; from 2 on the other arms, in their order.
    pub t: Vec<u8>,
    /// Outcomes.
    pub y: Vec<f64>,
    /// Row weights.
    pub weight: Option<Vec<f64>>,
    /// Known propensities.
    pub propensity: Option<Vec<f64>>,
    /// Groups.
    pub groups: Option<Vec<u32>>,
    /// The identifying column.
    pub id: Option<TableColumn>,
    /// The truth, when columns of it were named.
    pub oracle: Option<Oracle>,
    /// The treatment column's values that stand for control and treated, then those of the other arms, where several were
    /// asked for.
    pub arms: Vec<String>,
    /// What was done that the analyst should know of.
    pub notes: Vec<String>,
    /// What looks wrong in the columns that are used.
    pub warnings: Vec<Warning>,
    /// Rows left out, for a missing treatment or outcome or another value of the treatment.
    pub rows_left_out: usize,
    /// The same by reason, of the whole table.
    pub left_out: LeftOut,
}

/// Rows of a table that cannot be used, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Rows of the table.
    pub of: usize,
    /// Rows with a value of the treatment that is none of the arms.
    pub other_treatment: usize,
    /// Rows without a treatment.
    pub no_treatment: usize,
    /// Rows with a treatment and without an outcome.
    pub no_outcome: usize,
}

impl LeftOut {
    /// Adds those of further rows.
    pub fn add(&mut self, more: Self) {
        self.of += more.of;
        self.other_treatment += more.other_treatment;
        self.no_treatment += more.no_treatment;
        self.no_outcome += more.no_outcome;
    }

    /// A sentence for each reason that there is.
    pub fn in_words(self) -> Vec<String> {
        [
            (self.other_treatment, "have another treatment"),
            (self.no_treatment, "have no treatment"),
            (self.no_outcome, "have no outcome"),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{n} of {} rows {why} and are left out", self.of))
        .collect()
    }
}

impl Assigned {
    /// Names of the feature columns (of the sparse block, too).
    pub fn feature_names(&self) -> Vec<String> {
        let named = self.features.columns().iter().map(|c| c.name.clone());
        named.chain(self.features.sparse().into_iter().flat_map(|b| b.names.iter().cloned())).collect()
    }

    /// Places of the rows of the control and of one other arm.
    pub fn rows_of_pair(&self, arm: u8) -> Vec<usize> {
        (0..self.t.len()).filter(|&i| self.t[i] == 0 || self.t[i] == arm).collect()
    }

    /// The control and one other arm, which is then the treated one, for their rows alone.
    #[must_use]
    pub fn pair(&self, arm: u8) -> Self {
        let own = self.select(&self.rows_of_pair(arm));
        Self {
            t: own.t.iter().map(|&t| u8::from(t == arm)).collect(),
            arms: [0, usize::from(arm)].into_iter().filter_map(|k| self.arms.get(k).cloned()).collect(),
            ..own
        }
    }

    /// Some of the rows; the others count as left out.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        Self {
            features: self.features.select(rows),
            rows: rows.iter().map(|&i| self.rows[i]).collect(),
            t: rows.iter().map(|&i| self.t[i]).collect(),
            y: pick(&self.y),
            weight: self.weight.as_ref().map(pick),
            propensity: self.propensity.as_ref().map(pick),
            groups: self.groups.as_ref().map(|groups| rows.iter().map(|&i| groups[i]).collect()),
            id: self.id.as_ref().map(|id| id.select(rows)),
            oracle: self.oracle.as_ref().map(|oracle| oracle.select(rows)),
            arms: self.arms.clone(),
            notes: self.notes.clone(),
            warnings: self.warnings.clone(),
            rows_left_out: self.rows_left_out + self.t.len() - rows.len(),
            left_out: self.left_out,
        }
    }

    /// The design of these rows with encoded features.
    pub fn design(&self, x: Features, columns: Vec<Column>) -> Result<Design> {
        let mut design = Design::with_arms(x, self.t.clone(), self.y.clone(), self.arms.len())?.named(columns)?;
        if let Some(weight) = &self.weight {
            design = design.weighted(weight.clone())?;
        }
        if let Some(propensity) = &self.propensity {
            design = design.with_propensity(propensity.clone())?;
        }
        if let Some(groups) = &self.groups {
            design = design.grouped(groups.clone())?;
        }
        Ok(design)
    }
}

/// Gives the columns of a table their roles; rows without a treatment or an outcome, or with one that is neither treated
/// nor control, are left out and counted.
pub fn assign(table: Table, spec: &RoleSpec) -> Result<Assigned> {
    give(table, spec, false)
}

/// The same with every value of the treatment column an arm. The treated value may be left out, and the first besides
/// the control takes its place.
pub fn assign_all_arms(table: Table, spec: &RoleSpec) -> Result<Assigned> {
    give(table, spec, true)
}

fn give(mut table: Table, spec: &RoleSpec, several: bool) -> Result<Assigned> {
    check_spec(spec)?;
    if spec.id.is_some() {
        table.id.clone_from(&spec.id);
    }
    for (_, name) in spec.named() {
        table.require(name)?;
    }
    let mut notes = table.notes.clone();
    let arms = treatment::decode(&table, table.require(&spec.treatment)?, spec, several)?;
    notes.extend(arms.note.clone());
    let y = match yes_or_no(&table, &spec.outcome)? {
        Some((y, note)) => {
            notes.push(note);
            y
        }
        None => numbers(&table, &spec.outcome, "outcome")?,
    };
    let n = table.n_rows();
    let rows: Vec<usize> = (0..n).filter(|&i| arms.arm[i].is_some() && !y[i].is_nan()).collect();
    let count = |test: &dyn Fn(usize) -> bool| (0..n).filter(|&i| test(i)).count();
    let left_out = LeftOut {
        of: n,
        other_treatment: count(&|i| arms.arm[i].is_none() && !arms.missing[i]),
        no_treatment: count(&|i| arms.missing[i]),
        no_outcome: count(&|i| y[i].is_nan() && arms.arm[i].is_some()),
    };
    notes.extend(left_out.in_words());
    if rows.is_empty() {
        return Err(table.error(None, None, "no row has both a treatment and an outcome"));
    }
    let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
    let t: Vec<u8> = rows.iter().filter_map(|&i| arms.arm[i]).collect();
    for (arm, name) in (0_u8..).zip(&arms.names) {
        if !t.contains(&arm) {
            let wanted = if arms.names.len() == 2 { "both arms" } else { "rows of every arm" };
            let message = format!("no row with an outcome has the value `{name}`; the effect needs {wanted}");
            return Err(table.error(Some(&spec.treatment), None, message));
        }
    }
    let y = pick(&y);
    if y.iter().all(|&v| v == y[0]) {
        let message = format!("is {} in every row: there is no effect to learn; name another outcome", y[0]);
        return Err(table.error(Some(&spec.outcome), None, message));
    }
    let whole = |name: &str, role: &'static str| -> Result<Vec<f64>> {
        let values = numbers(&table, name, role)?;
        match rows.iter().find(|&&i| values[i].is_nan()) {
            Some(&i) => Err(table.error(
                Some(name),
                Some(i),
                format!("the {role} is missing; fill the cell or leave the row out"),
            )),
            None => Ok(pick(&values)),
        }
    };
    let weight = spec.weight.as_deref().map(|name| whole(name, "weight")).transpose()?;
    if let (Some(name), Some(values)) = (&spec.weight, &weight)
        && let Some(k) = values.iter().position(|&w| w < 0.0)
    {
        let message = format!("the weight is {}, which is negative; give every row a number of 0 or more", values[k]);
        return Err(table.error(Some(name), Some(rows[k]), message));
    }
    let propensity = spec.propensity.as_deref().map(|name| whole(name, "propensity")).transpose()?;
    let oracle = match &spec.truth {
        Some((mu0, mu1)) => Some(Oracle::new(whole(mu0, "truth")?, whole(mu1, "truth")?)?),
        None => None,
    };
    let groups = spec.group.as_deref().map(|name| groups(&table, name, &rows)).transpose()?;
    let id = spec.id.as_deref().map(|name| table.require(name).map(|column| column.select(&rows))).transpose()?;
    let chosen = features::choose(&table, spec, &mut notes)?;
    let rows_left_out = n - rows.len();
    let used = table.columns().iter().filter(|c| c.name == spec.outcome || chosen.columns.contains(&c.name));
    let warnings = used.filter_map(sentinel_warning).collect();
    let features = keep_columns(table, &chosen, &rows)?;
    notes.extend(features.columns().iter().filter_map(numbered_days));
    let groups = groups.or_else(|| {
        let found = copies::find(&features, &t, &y)?;
        notes.push(format!(
            "{} of {} rows are copies of other rows: copies stay together when rows are held out, and standard errors count them as \
             one; --group names other groups",
            found.beyond_first,
            rows.len()
        ));
        Some(found.groups)
    });
    Ok(Assigned {
        features,
        rows,
        t,
        y,
        weight,
        propensity,
        groups,
        id,
        oracle,
        arms: arms.names,
        notes,
        warnings,
        rows_left_out,
        left_out,
    })
}

/// A warning of numbers that stand far outside the rest and look like codes for missing values.
fn sentinel_warning(column: &TableColumn) -> Option<Warning> {
    let ColumnData::Number(values) = &column.data else { return None };
    let values = values.contiguous();
    let found = if column.is_date { day_codes(&values) } else { sentinels(&values) };
    if found.is_empty() {
        return None;
    }
    let code = |value: f64| {
        if column.is_date { crate::calendar::format_iso(value) } else { crate::table::format_number(value) }
    };
    let place = if column.is_date { "far outside the rest" } else { place_of(&found) };
    let words: Vec<String> = found
        .iter()
        .map(|&(value, count)| format!("{} ({count} {})", code(value), if count == 1 { "cell" } else { "cells" }))
        .collect();
    let flags: Vec<String> = found.iter().map(|&(value, _)| code(value)).collect();
    Some(Warning {
        code: "sentinel-values".to_owned(),
        message: format!(
            "`{}` holds {}, {place}; if that means missing, add --na {}",
            column.name,
            words.join(" and "),
            flags.join(",")
        ),
    })
}

/// What is wrong with the arms of the treatment column, or which of them is the control where that is not `0`.
pub(crate) fn arms_in_words(table: &Table, spec: &RoleSpec) -> Option<String> {
    match treatment::decode(table, table.column(&spec.treatment)?, spec, true) {
        // What is in doubt about cells is said of every column.
        Err(Error::File { message, .. }) => (!table.doubts.contains_key(&spec.treatment)).then_some(message),
        Err(_) => None,
        Ok(arms) => (arms.names[0] != "0").then(|| format!("`{}` is the control", arms.names[0])),
    }
}

/// What is wrong with the outcome column, or how its texts count.
pub(crate) fn outcome_in_words(table: &Table, spec: &RoleSpec) -> Option<String> {
    if table.doubts.contains_key(&spec.outcome) {
        return None;
    }
    let without_name = |note: String| note.trim_start_matches(&format!("`{}`: ", spec.outcome)).to_owned();
    match yes_or_no(table, &spec.outcome) {
        Ok(Some((_, note))) => Some(without_name(note)),
        Ok(None) => match numbers(table, &spec.outcome, "outcome") {
            Err(Error::File { row, message, .. }) => {
                let place = row.map_or_else(String::new, |row| format!("row {row}: "));
                let line = message
                    .strip_prefix('(')
                    .and_then(|rest| rest.split_once(") "))
                    .filter(|(line, _)| line.starts_with("line "));
                Some(format!("{place}{}", line.map_or(message.as_str(), |(_, rest)| rest)))
            }
            _ => None,
        },
        Err(_) => None,
    }
}

/// A note on days that are written as numbers, of which the distance between two is not that of the days.
fn numbered_days(column: &TableColumn) -> Option<String> {
    let ColumnData::Number(values) = &column.data else { return None };
    let first = days_as_numbers(&values.contiguous()).filter(|_| !column.is_date)?;
    Some(format!("`{}`: {}", column.name, numbered_days_in_words(first)))
}

/// What is said of days that are written as numbers.
pub(crate) fn numbered_days_in_words(first: f64) -> String {
    let text = format!("{first:08}");
    format!(
        "numbers such as {text} look like dates and are used as numbers; write them as {}-{}-{} if they are dates",
        &text[..4],
        &text[4..6],
        &text[6..]
    )
}

fn check_spec(spec: &RoleSpec) -> Result<()> {
    let named = spec.named();
    for (k, (role, name)) in named.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::unfit(format!("no {role} column is named; use --{role} COLUMN")));
        }
        if let Some((other, _)) = named[..k].iter().find(|(_, earlier)| earlier == name)
            // Propensities and truth may be one column with nothing else; an id may serve as the group.
            && (*other, *role) != ("id", "group")
        {
            return Err(Error::unfit(format!(
                "column `{name}` is named as {other} and as {role}; it can be one of them"
            )));
        }
    }
    Ok(())
}

/// An outcome of `yes` and `no` as 1 and 0, with a note; nothing if it is another one.
fn yes_or_no(table: &Table, name: &str) -> Result<Option<(Vec<f64>, String)>> {
    let ColumnData::Text(text) = &table.require(name)?.data else { return Ok(None) };
    table.check_doubt(name)?;
    let counts = crate::table::counts(text);
    for (no, yes) in words::NO_YES {
        let value = |level: &String| match crate::fold::fold(level) {
            level if level == yes => Some(1.0),
            level if level == no => Some(0.0),
            _ => None,
        };
        let of_level: Vec<Option<f64>> = text.levels.iter().map(value).collect();
        let mut used = of_level.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(value, _)| value);
        if counts.iter().any(|&count| count > 0) && used.all(Option::is_some) {
            let y = text.codes.iter().map(|&code| of_level.get(code as usize).copied().flatten().unwrap_or(f64::NAN));
            return Ok(Some((y.collect(), format!("`{name}`: `{yes}` counts as 1 and `{no}` as 0"))));
        }
    }
    Ok(None)
}

/// A column of numbers, or an error at the first cell that is none.
fn numbers(table: &Table, name: &str, role: &str) -> Result<Vec<f64>> {
    let column = table.require(name)?;
    table.check_doubt(name)?;
    let text = match &column.data {
        ColumnData::Number(values) => return Ok(values.contiguous().into_owned()),
        ColumnData::Text(text) => text,
    };
    let is_number = |level: &str| level.parse::<f64>().is_ok_and(f64::is_finite);
    let is_comma_number = |level: &str| is_number(&level.replace(',', "."));
    let row = (0..text.codes.len()).find(|&i| text.get(i).is_some_and(|cell| !is_number(cell)));
    let mut levels: Vec<&str> = text.levels.iter().map(String::as_str).collect();
    levels.sort_unstable();
    if role == "outcome" && levels.len() == 2 && levels.iter().all(|level| !is_comma_number(level)) {
        return Err(table.error(
            Some(name),
            row,
            format!(
                "the outcome is text (`{}` or `{}`); write it as 0 and 1, 1 being what the effect counts",
                levels[0], levels[1]
            ),
        ));
    }
    let cell = row.and_then(|i| text.get(i)).unwrap_or_default();
    let hint = if is_comma_number(cell) {
        "write decimals with a point, not a comma"
    } else {
        "fix the cell, or leave it empty if it is missing"
    };
    Err(table.error(Some(name), row, format!("holds `{cell}`, but the {role} must be a number; {hint}")))
}

fn groups(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<u32>> {
    let column = table.require(name)?;
    if let Some(&i) = rows.iter().find(|&&i| column.is_missing(i)) {
        return Err(table.error(Some(name), Some(i), "the group is missing; fill the cell"));
    }
    Ok(match &column.data {
        ColumnData::Text(text) => rows.iter().map(|&i| text.codes[i]).collect(),
        ColumnData::Number(values) => {
            let mut distinct: Vec<f64> = rows.iter().map(|&i| values[i]).collect();
            distinct.sort_unstable_by(f64::total_cmp);
            distinct.dedup();
            let place = |v: f64| distinct.binary_search_by(|d| d.total_cmp(&v)).unwrap_or_default() as u32;
            rows.iter().map(|&i| place(values[i])).collect()
        }
    })
}

/// The chosen columns and rows of a table, without a copy when all rows stay.
fn keep_columns(table: Table, chosen: &features::Chosen, rows: &[usize]) -> Result<Table> {
    let all_rows = rows.len() == table.n_rows();
    let source = if all_rows { table.source.clone() } else { table.source.select(rows) };
    let (columns, sparse) = table.into_parts();
    let columns: Vec<TableColumn> = columns.into_iter().filter(|c| chosen.columns.contains(&c.name)).collect();
    let mut out = Table::new(if all_rows { columns } else { select_columns(&columns, rows) })?;
    out.source = source;
    match sparse {
        Some(block) if !chosen.sparse.is_empty() => {
            let block = if chosen.sparse.len() == block.names.len() { block } else { block.columns(&chosen.sparse)? };
            out.with_sparse(if all_rows { block } else { block.select(rows) })
        }
        _ => Ok(out),
    }
}
