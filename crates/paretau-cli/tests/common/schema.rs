//! Documents held against the program's own JSON Schema. Only the words that it uses are known, and a property that it does not
//! name is an error here, so that it cannot fall behind the program.

use serde_json::Value;

/// What is wrong with a command's document; empty when nothing is.
pub(crate) fn problems(schema: &Value, command: &str, document: &Value) -> Vec<String> {
    let mut found = vec![];
    check(schema, &schema["$defs"][command], document, command, &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { return found.push(format!("{at}: no schema")) };
    for (rule, wanted) in rules {
        match rule.as_str() {
            "description" | "default" | "required" | "properties" | "additionalProperties" => {}
            "$ref" => {
                let name = wanted.as_str().and_then(|r| r.strip_prefix("#/$defs/")).unwrap_or_default();
                check(root, &root["$defs"][name], value, at, found);
            }
            "type" => {
                let names: Vec<&str> = match wanted {
                    Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                    one => one.as_str().into_iter().collect(),
                };
                if !names.iter().any(|name| is_of_type(name, value)) {
                    found.push(format!("{at}: {value} is not of type {names:?}"));
                }
            }
            "enum" => {
                if !wanted.as_array().is_some_and(|all| all.contains(value)) {
                    found.push(format!("{at}: {value} is none of {wanted}"));
                }
            }
            "minimum" => {
                if value.as_f64().zip(wanted.as_f64()).is_some_and(|(v, least)| v < least) {
                    found.push(format!("{at}: {value} is below {wanted}"));
                }
            }
            "minItems" | "maxItems" => {
                let n = value.as_array().map_or(0, Vec::len) as u64;
                let limit = wanted.as_u64().unwrap_or(0);
                if value.is_array() && (if rule == "minItems" { n < limit } else { n > limit }) {
                    found.push(format!("{at}: {n} items, {rule} is {limit}"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}[{i}]"), found);
                }
            }
            "anyOf" => {
                let ways: Vec<Vec<String>> = (wanted.as_array().into_iter().flatten())
                    .map(|way| {
                        let mut own = vec![];
                        check(root, way, value, at, &mut own);
                        own
                    })
                    .collect();
                if ways.iter().all(|own| !own.is_empty()) {
                    found.push(format!("{at}: none of {} ways fits: {ways:?}", ways.len()));
                }
            }
            other => found.push(format!("{at}: the schema's word `{other}` is not known to this test")),
        }
    }
    let Some(fields) = value.as_object() else { return };
    for name in rules.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("{at}: `{name}` is missing"));
        }
    }
    let Some(properties) = rules.get("properties").and_then(Value::as_object) else {
        if let Some(others) = rules.get("additionalProperties") {
            fields.iter().for_each(|(name, field)| check(root, others, field, &format!("{at}.{name}"), found));
        }
        return;
    };
    for (name, field) in fields {
        let at = format!("{at}.{name}");
        match (properties.get(name), rules.get("additionalProperties")) {
            (Some(own), _) => check(root, own, field, &at, found),
            (None, Some(Value::Bool(true))) => {}
            (None, Some(others)) => check(root, others, field, &at, found),
            (None, None) => found.push(format!("{at}: the schema does not name it")),
        }
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => false,
    }
}
