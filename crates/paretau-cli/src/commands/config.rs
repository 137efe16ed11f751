//! The file of `--config`: which column is what, how cells are read, the estimator and its parameters. Flags win over it.
//!
//! Parameters stand at the top of the file, where they always stood, or under `[parameters]`.

use std::path::Path;

use anyhow::Result;
use paretau::{Error, Params};
use serde::Deserialize;

use crate::args::{DataArgs, EstimatorArgs, ReadArgs, RoleArgs};

/// Parts of the file that are no parameters.
const SECTIONS: [&str; 3] = ["columns", "reading", "fit"];
const PARAMETERS: &str = "parameters";

/// The file without its parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    columns: Columns,
    reading: Reading,
    pub(crate) fit: Fit,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Columns {
    treatment: Option<String>,
    outcome: Option<String>,
    features: Vec<String>,
    ignore: Vec<String>,
    id: Option<String>,
    weight: Option<String>,
    propensity: Option<String>,
    group: Option<String>,
    truth: Vec<String>,
    treated_value: Option<String>,
    control_value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Reading {
    no_header: bool,
    decimal: Option<char>,
    thousands: Option<char>,
    na: Vec<String>,
    numeric: Vec<String>,
    categorical: Vec<String>,
    date_order: Option<String>,
    sheet: Option<String>,
}

/// What `fit` takes besides.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Fit {
    estimator: Option<String>,
    pub(crate) by: Vec<String>,
    pub(crate) projection: Vec<String>,
    pub(crate) estimand: Option<String>,
    pub(crate) intervals: Option<usize>,
}

/// The file's sections and its parameters.
fn read(path: &Path) -> Result<(Config, Params)> {
    let refuse = |message: String| Error::File { path: path.to_path_buf(), column: None, row: None, message };
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        // The parser's message may go over several lines; an error is one.
        let what = e.message().lines().collect::<Vec<_>>().join(", ");
        refuse(format!("(line {line}) is not valid TOML: {what}"))
    })?;
    let mut sections = toml::Table::new();
    for name in SECTIONS {
        if let Some(section) = table.remove(name) {
            sections.insert(name.to_owned(), section);
        }
    }
    let config = Config::deserialize(toml::Value::Table(sections)).map_err(|e| {
        let what = e.message().lines().collect::<Vec<_>>().join(", ");
        refuse(format!("is not a configuration such as `paretau init` writes: {what}"))
    })?;
    match table.remove(PARAMETERS) {
        None => {}
        Some(toml::Value::Table(parameters)) => {
            for (name, value) in parameters {
                if table.insert(name.clone(), value).is_some() {
                    let message = format!("gives `{name}` at the top and under [{PARAMETERS}]; give it once");
                    return Err(refuse(message).into());
                }
            }
        }
        Some(_) => return Err(refuse(format!("`{PARAMETERS}` is a section: write [{PARAMETERS}]")).into()),
    }
    let params = serde_json::to_value(table).and_then(serde_json::from_value);
    let params = params.map_err(|e| refuse(format!("is not a list of parameters (`name = value` lines): {e}")))?;
    Ok((config, params))
}

/// The parameters of a configuration file.
pub(crate) fn params(path: &Path) -> Result<Params> {
    Ok(read(path)?.1)
}

/// Arguments with what the configuration file adds to them, and what else it says.
pub(crate) fn apply(data: &DataArgs, estimator: &EstimatorArgs) -> Result<(DataArgs, EstimatorArgs, Fit)> {
    let (mut data, mut estimator) = (data.clone(), estimator.clone());
    let Some(path) = &estimator.config else { return Ok((data, estimator, Fit::default())) };
    let Config { columns, reading, fit } = read(path)?.0;
    columns.apply(&mut data.roles);
    reading.apply(&mut data.read);
    estimator.estimator = estimator.estimator.or_else(|| fit.estimator.clone());
    Ok((data, estimator, fit))
}

/// What was given, else what the file says.
fn or<T>(given: &mut Option<T>, known: Option<T>) {
    if given.is_none() {
        *given = known;
    }
}

fn or_list(given: &mut Vec<String>, known: Vec<String>) {
    if given.is_empty() {
        *given = known;
    }
}

impl Columns {
    fn apply(self, roles: &mut RoleArgs) {
        or(&mut roles.treatment, self.treatment);
        or(&mut roles.outcome, self.outcome);
        or_list(&mut roles.features, self.features);
        or_list(&mut roles.ignore, self.ignore);
        or(&mut roles.id, self.id);
        or(&mut roles.weight, self.weight);
        or(&mut roles.propensity, self.propensity);
        or(&mut roles.group, self.group);
        or_list(&mut roles.truth, self.truth);
        or(&mut roles.treated_value, self.treated_value);
        or(&mut roles.control_value, self.control_value);
    }
}

impl Reading {
    fn apply(self, read: &mut ReadArgs) {
        read.no_header |= self.no_header;
        or(&mut read.decimal, self.decimal);
        or(&mut read.thousands, self.thousands);
        or_list(&mut read.na, self.na);
        or_list(&mut read.numeric, self.numeric);
        or_list(&mut read.categorical, self.categorical);
        or(&mut read.date_order, self.date_order);
        or(&mut read.sheet, self.sheet);
    }
}
