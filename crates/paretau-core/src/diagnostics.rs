//! What a fit has to say about itself: warnings in words, numbers, training history, feature roles.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

/// How much a warning weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The answer may be wrong altogether.
    Serious,
    /// The answer, or a part of it, is less certain than it looks.
    Caution,
    /// Good to know.
    Note,
}

/// Warnings that are more or less than a caution, by their codes: the one list.
const SEVERITIES: &[(&str, Severity)] = &[
    ("outcome-determined", Severity::Serious),
    ("treatment-determined", Severity::Serious),
    ("outcome-nearly-determined", Severity::Serious),
    ("arms-hardly-overlap", Severity::Serious),
    ("heavy-tail", Severity::Serious),
    ("small-effective-sample", Severity::Serious),
    ("arms-not-balanced", Severity::Serious),
    ("second-opinion-differs", Severity::Serious),
    ("few-rows", Severity::Serious),
    ("near-copies", Severity::Note),
    ("identifier-suspect", Severity::Note),
    ("tail-fit-fell-back", Severity::Note),
];

/// A warning that a tired analyst understands: what was seen, and what to do about it. In JSON it has its severity, too,
/// which follows from the code.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Warning {
    /// A stable key for programs, e.g. `tail-fit-fell-back`.
    pub code: String,
    /// The sentence for people.
    pub message: String,
}

impl Warning {
    /// A warning with its code and its sentence.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// How much it weighs.
    pub fn severity(&self) -> Severity {
        SEVERITIES.iter().find(|(code, _)| *code == self.code).map_or(Severity::Caution, |(_, severity)| *severity)
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Warning", 3)?;
        fields.serialize_field("code", &self.code)?;
        fields.serialize_field("severity", &self.severity())?;
        fields.serialize_field("message", &self.message)?;
        fields.end()
    }
}

/// The causal role that a feature plays for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Moves the treatment only.
    Instrument,
    /// Moves both the treatment and the outcome.
    Confounder,
    /// Moves the outcome only.
    Adjuster,
    /// Hardly read at all.
    None,
}

/// How strongly each encoder reads a feature, and the role that follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureRole {
    /// Column name.
    pub name: String,
    /// The label.
    pub role: Role,
    /// Share of the ensemble that agrees with the label, 0 to 1.
    pub score: f64,
    /// Reading strength of the instrument encoder.
    pub instrument: f64,
    /// Reading strength of the confounder encoder.
    pub confounder: f64,
    /// Reading strength of the adjustment encoder.
    pub adjuster: f64,
}

/// How much a feature matters to a fitted forest or linear model; shares sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// Column name.
    pub name: String,
    /// Its share.
    pub share: f64,
}

/// Everything a fit reports beside its effects. Stored in the model file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnostics {
    /// Warnings, most important first.
    pub warnings: Vec<Warning>,
    /// Named numbers, e.g. the chosen penalty.
    pub numbers: BTreeMap<String, f64>,
    /// Training curves: one map of named numbers an epoch (or a round).
    pub history: Vec<BTreeMap<String, f64>>,
    /// Feature roles, when the estimator tells them.
    pub roles: Vec<FeatureRole>,
    /// Feature importances, when the estimator tells them.
    pub importance: Vec<Importance>,
    /// How strongly a net with one encoder reads each feature, as shares; nets with three tell roles.
    pub reading: Vec<Importance>,
}

impl Diagnostics {
    /// Adds a warning.
    pub fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.warnings.push(Warning { code: code.to_owned(), message: message.into() });
    }

    /// Records a named number; one that is not finite is left out, since JSON cannot hold it.
    pub fn note(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.numbers.insert(name.to_owned(), value);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod severity_tests {
    use super::*;

    #[test]
    fn a_warnings_json_has_its_severity_and_reads_back() {
        let warning = Warning::new("heavy-tail", "the tail");
        let json = serde_json::to_value(&warning).unwrap();
        assert_eq!(json, serde_json::json!({ "code": "heavy-tail", "severity": "serious", "message": "the tail" }));
        assert_eq!(serde_json::from_value::<Warning>(json).unwrap(), warning);
        assert!(Severity::Serious < Warning::new("rows-at-risk", "").severity());
    }
}
