//! The registry and the lists beside it, as JSON.

use paretau::registry::ESTIMATORS;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::to_py;

/// Every estimator's description, as a JSON array.
#[pyfunction]
pub(crate) fn describe_all() -> String {
    json!(ESTIMATORS.iter().map(|entry| paretau::describe(*entry)).collect::<Vec<_>>()).to_string()
}

/// The description of the estimator of that name or alias, as a JSON object.
#[pyfunction]
pub(crate) fn describe(name: &str) -> PyResult<String> {
    Ok(json!(paretau::describe(paretau::find(name).map_err(to_py)?)).to_string())
}

/// Every metric: name, summary, which way is better, what it needs; as a JSON array.
#[pyfunction]
pub(crate) fn list_metrics() -> String {
    let rows: Vec<Value> = paretau::eval::METRICS
        .iter()
        .map(|m| json!({ "name": m.name, "summary": m.summary, "better": m.better, "needs": m.needs }))
        .collect();
    Value::from(rows).to_string()
}
