//! How a plan's file is written, where that is not to be found from its cells: the options of `fit` under their names.

use paretau_core::{Error, Result};
use paretau_data::{DateOrder, ReadOptions};
use serde::{Deserialize, Serialize};

/// The reading options of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reading {
    /// Decimal mark of all numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// What separates thousands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// Order of day and month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_order: Option<DateOrder>,
    /// Marks that mean a missing cell, besides the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub na: Vec<String>,
    /// Columns of numbers in which every other cell counts as missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numeric: Vec<String>,
    /// Columns of categories, though they may look like numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<String>,
    /// The sheet of a workbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

impl Reading {
    /// Refuses marks that cannot both hold.
    pub(super) fn check(&self) -> Result<()> {
        if self.decimal.is_some() && self.decimal == self.thousands {
            return Err(Error::unfit("reading: `thousands` must be another mark than `decimal`"));
        }
        match [self.decimal, self.thousands].into_iter().flatten().find(char::is_ascii_alphanumeric) {
            Some(mark) => {
                Err(Error::unfit(format!("reading: `{mark}` cannot be a decimal mark or separate thousands")))
            }
            None => Ok(()),
        }
    }

    /// The options of the reader, on top of those of the roles.
    pub(super) fn options(&self, roles: ReadOptions, header: bool) -> ReadOptions {
        // Where one of the two marks separates thousands, the other is the decimal mark.
        let implied = match self.thousands {
            Some('.') => Some(','),
            Some(',') => Some('.'),
            _ => None,
        };
        ReadOptions {
            header,
            decimal: self.decimal.or(implied),
            thousands: self.thousands,
            date_order: self.date_order,
            na: self.na.clone(),
            numeric: self.numeric.clone(),
            categorical: self.categorical.clone(),
            sheet: self.sheet.clone(),
            ..roles
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::super::cell::Cell;
    use super::super::plan::Plan;
    use super::super::runner::rows;

    fn plan(reading: &str) -> Result<Plan, String> {
        let text = format!(
            "name = \"p\"\nsummary = \"s\"\n[[data]]\nname = \"d\"\nfile = \"f.csv\"\nrealisations = [1]\n\
             roles = {{ treatment = \"t\", outcome = \"y\" }}\n{reading}\n[[methods]]\nestimator = \"lr-2\"\n"
        );
        Plan::parse(&text, Path::new("p.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn a_plan_says_how_its_file_is_written_and_another_way_is_another_cell() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f.csv"), "t;y;x\n1;1.500;-9\n0;2.250;3\n1;3.125;4\n").unwrap();
        let outcomes = |plan: &Plan| {
            let (table, _) = rows(&plan.data[0], 1, folder.path()).unwrap();
            let numbers = |name: &str| match &table.column(name).unwrap().data {
                paretau_data::ColumnData::Number(values) => values.contiguous().into_owned(),
                paretau_data::ColumnData::Text(_) => vec![],
            };
            (numbers("y"), numbers("x")[0].is_nan())
        };
        // Without either, a point before three digits is in doubt.
        let (plain, thousands) = (
            plan("reading = { decimal = \".\" }").unwrap(),
            plan("reading = { thousands = \".\", na = [\"-9\"] }").unwrap(),
        );
        assert_eq!(outcomes(&plain), (vec![1.5, 2.25, 3.125], false));
        assert_eq!(outcomes(&thousands), (vec![1500.0, 2250.0, 3125.0], true));
        assert_ne!(Cell::all(&plain)[0].key(), Cell::all(&thousands)[0].key());
        assert!(plan("reading = { decimal = \",\", thousands = \",\" }").unwrap_err().contains("another mark"));
        assert!(plan("reading = { comma = \",\" }").unwrap_err().contains("comma"));
    }
}
