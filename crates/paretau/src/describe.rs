//! An estimator as a JSON document: what docs, Python classes and `paretau describe` are made from.

use paretau_core::{EstimatorEntry, ParamKind};
use serde_json::{Value, json};

/// Everything a user may know about an estimator.
pub fn describe(entry: &dyn EstimatorEntry) -> Value {
    let info = entry.info();
    let defaults = entry.defaults();
    let params: Vec<Value> = entry
        .params()
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "type": type_name(&spec.kind),
                "optional": matches!(spec.kind, ParamKind::Auto(_)),
                "accepts": spec.kind.to_string(),
                "default": defaults[spec.name],
                "help": spec.help,
            })
        })
        .collect();
    json!({
        "name": info.name,
        "aliases": info.aliases,
        "family": info.family,
        "class": info.class,
        "summary": info.summary,
        "reference": info.reference,
        "handles": info.handles,
        "abilities": info.abilities,
        "params": params,
    })
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
