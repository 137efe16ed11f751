//! A parameter's value as text, in the form that `--set` reads back.

use serde_json::Value;

/// The value as `--set NAME=` takes it: `auto` for null, words without quotes, lists joined by commas.
pub fn param_text(value: &Value) -> String {
    match value {
        Value::Null => "auto".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(param_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ParamKind, ParamSpec, Params, resolve};
    use serde_json::json;

    #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Config {
        penalty: Option<f64>,
        widths: Vec<usize>,
        kind: String,
        honest: bool,
    }

    const SPECS: &[ParamSpec] = &[
        ParamSpec::new("penalty", ParamKind::Auto(&ParamKind::Float { min: 0.0, max: 9.0 }), ""),
        ParamSpec::new("widths", ParamKind::IntList { min: 1, max: 99 }, ""),
        ParamSpec::new("kind", ParamKind::Choice(&["a", "b"]), ""),
        ParamSpec::new("honest", ParamKind::Bool, ""),
    ];

    #[test]
    fn what_is_written_is_read_back() {
        let base = Config { penalty: Some(1.0), widths: vec![1], kind: "a".into(), honest: false };
        for penalty in [None, Some(0.1 + 0.2)] {
            let wanted = Config { penalty, widths: vec![30, 7], kind: "b".into(), honest: true };
            let text = serde_json::to_value(&wanted).unwrap();
            let params = SPECS.iter().fold(Params::none(), |p, spec| p.with(spec.name, param_text(&text[spec.name])));
            assert_eq!(resolve("m", SPECS, &base, &params).unwrap(), wanted);
        }
        assert_eq!(param_text(&json!([64, 32])), "64,32");
    }
}
