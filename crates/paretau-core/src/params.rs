//! Parameters: what an estimator can be told, checked against their specification before it is built.
//!
//! A default is written once, in the estimator's configuration type; specifications add kind, range and
//! meaning, and everything a user sees (help, docs, Python signatures) is made from the two.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds (inclusive).
    Int {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number within bounds (inclusive).
    Float {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A list of whole numbers within bounds, e.g. layer widths.
    IntList {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A free word, checked by the estimator itself.
    Text,
    /// Any of the above or `auto`, which lets the data or the other parameters decide (JSON null).
    Auto(&'static ParamKind),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => write!(f, "true or false"),
            Self::Int { min, max } if *max == i64::MAX => write!(f, "a whole number of at least {min}"),
            Self::Int { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Float { min, max } if *min == f64::NEG_INFINITY && *max == f64::INFINITY => write!(f, "a number"),
            Self::Float { min, max } if *max == f64::INFINITY => write!(f, "a number of at least {min}"),
            Self::Float { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::IntList { min, max } => write!(f, "a list of whole numbers from {min} to {max}"),
            Self::Text => write!(f, "a word"),
            Self::Auto(inner) => write!(f, "{inner}, or auto"),
        }
    }
}

impl ParamKind {
    /// The value as JSON of the right type, if it is one; text (from a command line) is parsed.
    fn accept(&self, value: &Value) -> Option<Value> {
        let text = value.as_str().map(str::trim);
        match self {
            Self::Bool => value.as_bool().or_else(|| text?.parse().ok()).map(Value::from),
            Self::Int { min, max } => {
                let whole = |v: f64| (v.fract() == 0.0 && v.abs() < 9e15).then_some(v as i64);
                let number = value.as_i64().or_else(|| whole(value.as_f64()?)).or_else(|| text?.parse().ok())?;
                (*min..=*max).contains(&number).then(|| Value::from(number))
            }
            Self::Float { min, max } => {
                let number: f64 = value.as_f64().or_else(|| text?.parse().ok())?;
                (number.is_finite() && (*min..=*max).contains(&number)).then(|| Value::from(number))
            }
            Self::Choice(words) => words.iter().find(|w| Some(**w) == text).map(|w| Value::from(*w)),
            Self::IntList { min, max } => {
                let each = Self::Int { min: *min, max: *max };
                let items: Vec<Value> = match (value, text) {
                    (Value::Array(items), _) => items.clone(),
                    (_, Some(text)) => {
                        text.trim_matches(['[', ']']).split([',', 'x']).map(|p| Value::from(p.trim())).collect()
                    }
                    _ => return None,
                };
                items.iter().map(|item| each.accept(item)).collect::<Option<Vec<_>>>().map(Value::from)
            }
            Self::Text => text.map(Value::from),
            Self::Auto(inner) => match (value, text) {
                (Value::Null, _) | (_, Some("auto" | "none" | "null")) => Some(Value::Null),
                _ => inner.accept(value),
            },
        }
    }
}

/// Name, kind and meaning of one parameter. Its default is the configuration type's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamSpec {
    /// Field name in the configuration.
    pub name: &'static str,
    /// Values it takes.
    pub kind: ParamKind,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Values that a search tries; `None` where a search leaves the parameter alone.
    pub search: Option<SearchRange>,
}

impl ParamSpec {
    /// A parameter that searches leave alone.
    pub const fn new(name: &'static str, kind: ParamKind, help: &'static str) -> Self {
        Self { name, kind, help, search: None }
    }

    /// The same parameter, tried by searches over these values.
    #[must_use]
    pub const fn searched(self, range: SearchRange) -> Self {
        Self { search: Some(range), ..self }
    }
}

/// Values of a parameter that are worth a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchRange {
    /// A number between two bounds, differences alike.
    Between(f64, f64),
    /// A number between two bounds, ratios alike.
    Ratio(f64, f64),
    /// A whole number between two bounds, ratios alike.
    WholeRatio(f64, f64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these whole numbers.
    Ints(&'static [i64]),
    /// One of these lists of whole numbers.
    IntLists(&'static [&'static [i64]]),
}

/// Parameters as a user gave them: from `--set key=value`, TOML or Python.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// No parameters: all defaults.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

/// Checks `params` against `specs` and lays them over `base`.
pub fn resolve<C: Serialize + DeserializeOwned>(
    owner: &str,
    specs: &[ParamSpec],
    base: &C,
    params: &Params,
) -> Result<C> {
    let internal = |e: serde_json::Error| Error::internal("reading parameters", e);
    let mut merged = serde_json::to_value(base).map_err(internal)?;
    for (name, value) in &params.0 {
        let Some(spec) = specs.iter().find(|s| s.name == name) else {
            return Err(Error::unknown_name("parameter", name, specs.iter().map(|s| s.name)));
        };
        let accepted = spec.kind.accept(value).ok_or_else(|| Error::BadParameter {
            owner: owner.to_owned(),
            name: name.clone(),
            value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            expected: spec.kind.to_string(),
        })?;
        merged[name] = accepted;
    }
    serde_json::from_value(merged).map_err(internal)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        penalty: Option<f64>,
        folds: usize,
        widths: Vec<usize>,
        kind: String,
    }

    const SPECS: &[ParamSpec] = &[
        ParamSpec::new("penalty", ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }), ""),
        ParamSpec::new("folds", ParamKind::Int { min: 2, max: 50 }, ""),
        ParamSpec::new("widths", ParamKind::IntList { min: 1, max: 9 }, ""),
        ParamSpec::new("kind", ParamKind::Choice(&["a", "b"]), ""),
    ];

    fn base() -> Config {
        Config { penalty: None, folds: 5, widths: vec![1], kind: "a".into() }
    }

    #[test]
    fn text_and_json_mean_the_same() {
        let text = Params::none().with("penalty", "0.5").with("folds", "3").with("widths", "2,3").with("kind", "b");
        let json = Params::none().with("penalty", 0.5).with("folds", 3).with("widths", vec![2, 3]).with("kind", "b");
        let got = resolve("m", SPECS, &base(), &text).unwrap();
        assert_eq!(got, resolve("m", SPECS, &base(), &json).unwrap());
        assert_eq!(got, Config { penalty: Some(0.5), folds: 3, widths: vec![2, 3], kind: "b".into() });
        assert_eq!(resolve("m", SPECS, &got, &Params::none().with("penalty", "auto")).unwrap().penalty, None);
    }

    #[test]
    fn refusals_name_the_parameter_and_what_would_do() {
        let fail = |p: Params| resolve("m", SPECS, &base(), &p).unwrap_err().to_string();
        assert_eq!(fail(Params::none().with("fold", 3)), "unknown parameter `fold`; did you mean `folds`?");
        assert_eq!(
            fail(Params::none().with("folds", 1)),
            "parameter `folds` of `m` must be a whole number from 2 to 50, not `1`"
        );
        assert!(fail(Params::none().with("penalty", "nan")).contains("at least 0, or auto"));
        assert!(fail(Params::none().with("kind", "c")).contains("one of a, b"));
    }
}
