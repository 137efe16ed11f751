//! `paretau describe`: one estimator, or with `--all` everything there is.

use anyhow::Result;
use paretau::registry::ESTIMATORS;
use serde_json::Value;

use crate::args::{Common, DescribeArgs};
use crate::output;

pub(crate) fn run(args: &DescribeArgs, common: &Common) -> Result<()> {
    let documents: Vec<Value> = match &args.name {
        Some(name) => vec![paretau::describe(paretau::find(name)?)],
        None => ESTIMATORS.iter().map(|entry| paretau::describe(*entry)).collect(),
    };
    match (common.json, documents.as_slice()) {
        (true, [one]) if !args.all => output::json(one),
        (true, _) => output::json(&Value::from(documents)),
        (false, _) => output::text(&documents.iter().map(for_people).collect::<Vec<_>>().join("\n\n\n")),
    }
}

fn for_people(document: &Value) -> String {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    let aliases: Vec<&str> = document["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out = format!("{}: {}\n", text("name"), text("summary"));
    if !aliases.is_empty() {
        out += &format!("also called {}\n", aliases.join(", "));
    }
    out += &format!("family {}, Python class {}\n{}\n", text("family"), text("class"), text("reference"));
    let rows: Vec<Vec<String>> = document["params"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|param| {
            let cell = |key: &str| param[key].as_str().unwrap_or_default().to_owned();
            vec![cell("name"), default_text(&param["default"]), cell("accepts"), cell("help")]
        })
        .collect();
    if rows.is_empty() {
        return out + "\nno parameters";
    }
    out + "\n" + &output::table(&["parameter", "default", "accepts", "meaning"], &rows)
}

fn default_text(value: &Value) -> String {
    match value {
        Value::Null => "auto".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
