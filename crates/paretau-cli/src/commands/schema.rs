//! `paretau schema`: JSON Schema of what commands print with `--json`.
//!
//! The schema is a file that people wrote (`schema/documents.json`); the tests hold every document that they look at against it,
//! without letting an unnamed property pass.

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::SchemaArgs;
use crate::output;

const DOCUMENTS: &str = include_str!("../schema/documents.json");

pub(crate) fn run(args: &SchemaArgs) -> Result<()> {
    let mut schema: Value = serde_json::from_str(DOCUMENTS)?;
    if let Some(command) = &args.command {
        let names: Vec<&str> = commands(&schema).collect();
        if !names.contains(&command.as_str()) {
            return Err(paretau::Error::unknown_name("command", command, names).into());
        }
        let needed = needed(&schema, command);
        if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
            definitions.retain(|name, _| needed.contains(name));
        }
        schema["title"] = json!(format!("paretau {command} --json"));
        schema["description"] = json!("Later versions may add properties.");
        schema["anyOf"] = json!([{ "$ref": format!("#/$defs/{command}") }]);
    }
    output::json(&schema)
}

/// The names of the documents, which are those of the commands.
fn commands(schema: &Value) -> impl Iterator<Item = &str> {
    let documents = schema["anyOf"].as_array().into_iter().flatten();
    documents.filter_map(|one| one["$ref"].as_str()?.strip_prefix("#/$defs/"))
}

/// The definitions that a document uses, itself included.
fn needed(schema: &Value, command: &str) -> Vec<String> {
    let mut found = vec![command.to_owned()];
    let mut k = 0;
    while k < found.len() {
        references(&schema["$defs"][&found[k]], &mut found);
        k += 1;
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(|r| r.as_str()?.strip_prefix("#/$defs/"))
                && !found.iter().any(|known| known == name)
            {
                found.push(name.to_owned());
            }
            fields.values().for_each(|inner| references(inner, found));
        }
        Value::Array(entries) => entries.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}
