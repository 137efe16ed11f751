//! What a fit has to say about itself: warnings in words, numbers, training history, feature roles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A warning that a tired analyst understands: what was seen, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable key for programs, e.g. `tail-fit-fell-back`.
    pub code: String,
    /// The sentence for people.
    pub message: String,
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
