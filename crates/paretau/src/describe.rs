//! An estimator's description: what docs, Python classes and `paretau describe` are made from.

use paretau_core::{DEFAULT_VALID_SHARE, EstimatorEntry, EstimatorInfo, ParamKind, param_text};
use serde::Serialize;
use serde_json::Value;

/// Everything a user may know about an estimator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// Its entry in the lists.
    #[serde(flatten)]
    pub info: EstimatorInfo,
    /// Share of rows that it holds out for early stopping when nothing else is asked for; absent without early stopping.
    pub valid_share: Option<f64>,
    /// Its parameters.
    pub params: Vec<ParamDescription>,
}

/// One parameter of an estimator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParamDescription {
    /// Name.
    pub name: &'static str,
    /// Python's name of the type.
    #[serde(rename = "type")]
    pub type_name: &'static str,
    /// Whether it may be left to the data.
    pub optional: bool,
    /// Accepted values in words.
    pub accepts: String,
    /// Default.
    pub default: Value,
    /// The default as `--set` takes it.
    pub default_text: String,
    /// What it does.
    pub help: &'static str,
}

/// The description of an estimator.
pub fn describe(entry: &dyn EstimatorEntry) -> Description {
    let info = entry.info();
    let defaults = entry.defaults();
    let params = entry.params().iter().map(|spec| ParamDescription {
        name: spec.name,
        type_name: type_name(&spec.kind),
        optional: matches!(spec.kind, ParamKind::Auto(_)),
        accepts: spec.kind.to_string(),
        default: defaults[spec.name].clone(),
        default_text: param_text(&defaults[spec.name]),
        help: spec.help,
    });
    Description {
        info: *info,
        valid_share: info.abilities.early_stopping.then_some(DEFAULT_VALID_SHARE),
        params: params.collect(),
    }
}

fn type_name(kind: &ParamKind) -> &'static str {
    match kind {
        ParamKind::Bool => "bool",
        ParamKind::Int { .. } => "int",
        ParamKind::Float { .. } => "float",
        ParamKind::Choice(_) | ParamKind::Text => "str",
        ParamKind::IntList { .. } => "list[int]",
        ParamKind::Base => "base learner",
        ParamKind::Auto(inner) => type_name(inner),
    }
}
