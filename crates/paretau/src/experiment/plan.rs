//! What to run: read from TOML, checked against the registries before the first cell starts.

use std::path::Path;

use paretau_core::{Error, Params, Result};
use paretau_data::RoleSpec;
use paretau_eval::Metric;
use serde::{Deserialize, Serialize};

use crate::registry;

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name, used for titles.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Data sets.
    pub data: Vec<DataSpec>,
    /// Methods to compare.
    pub methods: Vec<Method>,
    /// How rows are split.
    #[serde(default)]
    pub split: SplitSpec,
    /// Seeds of the fits.
    #[serde(default = "one_seed")]
    pub seeds: Vec<u64>,
    /// Metrics to record; all that the data allow when empty.
    #[serde(default)]
    pub metrics: Vec<String>,
}

fn one_seed() -> Vec<u64> {
    vec![0]
}

/// A family of data sets: a simulator, or files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Name in tables.
    pub name: String,
    /// A simulator's name; the realisation number is its seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<String>,
    /// The simulator's parameters.
    #[serde(default)]
    pub params: Params,
    /// A file, relative to the data folder; `{i}` stands for the realisation number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether the file has a header line.
    #[serde(default = "yes")]
    pub header: bool,
    /// The columns' roles, for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<RoleSpec>,
    /// Realisation numbers.
    pub realisations: Vec<u64>,
}

fn yes() -> bool {
    true
}

/// An estimator with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Registry name or alias.
    pub estimator: String,
    /// Name in tables; the estimator's when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Parameters that differ from the defaults.
    #[serde(default)]
    pub params: Params,
}

impl Method {
    /// Name in tables.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.estimator)
    }
}

/// Shares of validation and test rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitSpec {
    /// Validation rows: estimators with early stopping choose by them; others learn from them too.
    pub valid: f64,
    /// Test rows: scored on, never learnt from.
    pub test: f64,
}

impl Default for SplitSpec {
    fn default() -> Self {
        Self { valid: 0.2, test: 0.2 }
    }
}

/// A plan that comes with paretau.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The plan's text.
    pub toml: &'static str,
}

/// All built-in plans.
pub const PLANS: &[BuiltIn] = &[BuiltIn {
    name: "first-look",
    summary: "the linear baselines on the paper's synthetic process, five data sets",
    toml: include_str!("plans/first-look.toml"),
}];

impl Plan {
    /// A built-in plan by name, or a plan from a TOML file.
    pub fn open(name_or_path: &str) -> Result<Self> {
        if let Some(built_in) = PLANS.iter().find(|plan| plan.name == name_or_path) {
            return Self::parse(built_in.toml, Path::new(built_in.name));
        }
        let path = Path::new(name_or_path);
        if path.extension().is_none_or(|e| e != "toml") {
            return Err(Error::unknown_name("plan", name_or_path, PLANS.iter().map(|plan| plan.name)));
        }
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Self::parse(&text, path)
    }

    /// A plan from TOML, checked.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let at = |row, message: String| Error::File { path: path.to_path_buf(), column: None, row, message };
        let plan: Self = toml::from_str(text).map_err(|e| {
            let row = e.span().map(|span| 1 + text[..span.start].matches('\n').count() as u64);
            at(row, format!("is not a plan: {}", e.message()))
        })?;
        plan.check().map_err(|e| at(None, e.to_string()))?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::unfit(message));
        if self.data.is_empty() || self.methods.is_empty() || self.seeds.is_empty() {
            return wrong("a plan needs at least one data set, one method and one seed".to_owned());
        }
        let SplitSpec { valid, test } = self.split;
        if !(valid >= 0.0 && test > 0.0 && valid + test < 1.0) {
            return wrong("the split needs test rows and must leave rows to learn from".to_owned());
        }
        for data in &self.data {
            match (&data.simulator, &data.file) {
                (Some(name), None) => {
                    paretau_data::simulator(name)?;
                }
                (None, Some(_)) if data.roles.is_some() => {}
                (None, Some(_)) => {
                    return wrong(format!("data `{}` names a file, but not its columns' roles", data.name));
                }
                _ => return wrong(format!("data `{}` needs either a simulator or a file", data.name)),
            }
            if data.realisations.is_empty() {
                return wrong(format!("data `{}` has no realisations", data.name));
            }
        }
        for method in &self.methods {
            registry::find(&method.estimator)?.resolved(&method.params)?;
        }
        for metric in &self.metrics {
            Metric::named(metric)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn built_in_plans_are_sound() {
        for plan in PLANS {
            assert_eq!(Plan::open(plan.name).unwrap().name, plan.name);
        }
    }

    #[test]
    fn a_wrong_plan_is_refused_before_anything_runs() {
        let fail = |from: &str, to: &str| {
            let text = PLANS[0].toml.replace(from, to);
            assert_ne!(text, PLANS[0].toml, "the test's own replacement found nothing");
            Plan::parse(&text, Path::new("p.toml")).unwrap_err().to_string()
        };
        assert!(fail("lr-1", "lr-11").contains("did you mean `lr-1`"));
        assert!(fail("simulator = ", "simulatr = ").contains("p.toml, row"));
        assert!(fail("\"pehe\"", "\"pehee\"").contains("did you mean `pehe`"));
        assert!(Plan::open("frist-look").unwrap_err().to_string().contains("first-look"));
    }
}
