//! Parameters: the settings of an estimator, checked against their specification before it is built.
//!
//! A default is written once, in the estimator's configuration type; specifications add kind, range and
//! meaning, and everything a user sees (help, docs, Python signatures) is made from the two.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{BaseSpec, Error, Result, base_spec, param_text};

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
    /// A base learner: its name, or its name and parameters of its own ([`BaseSpec`](crate::BaseSpec)).
    Base,
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
            Self::Base => write!(f, "a base learner: its name, or {{ name, params }}"),
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
            Self::Base => base_spec::accept(value),
            Self::Auto(_) if self.is_auto(value) => Some(Value::Null),
            Self::Auto(inner) => inner.accept(value),
        }
    }

    /// Whether the value leaves the choice to the data or the other parameters.
    pub(crate) fn is_auto(&self, value: &Value) -> bool {
        let auto = || matches!(value.as_str().map(str::trim), Some("auto" | "none" | "null"));
        matches!(self, Self::Auto(_)) && (value.is_null() || auto())
    }

    /// Whether the values are base learners, which have parameters of their own.
    pub fn is_base(&self) -> bool {
        match self {
            Self::Base => true,
            Self::Auto(inner) => inner.is_base(),
            _ => false,
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
        let (spec, nested) = find(owner, specs, name)?;
        if spec.kind.is_base() {
            merged[spec.name] = base_spec::lay_over(owner, spec, &merged[spec.name], nested, value)?;
            continue;
        }
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

/// The specification that a key is about, and, for keys like `base.min_node_size`, the base learner's own parameter.
fn find<'a>(owner: &str, specs: &'a [ParamSpec], key: &'a str) -> Result<(&'a ParamSpec, Option<&'a str>)> {
    if let Some(spec) = specs.iter().find(|s| s.name == key) {
        return Ok((spec, None));
    }
    let refuse = |message: String| Err(Error::Unsupported { estimator: owner.to_owned(), message });
    let head = parameter_of(key);
    if let (Some(spec), Some((_, nested))) = (specs.iter().find(|s| s.name == head), key.split_once('.')) {
        if spec.kind.is_base() {
            return Ok((spec, Some(nested)));
        }
        return refuse(format!("has no parameter `{key}`; `{head}` is not a base learner, but takes {}", spec.kind));
    }
    // Parameters of base learners were once written as text in a parameter beside them.
    let stem = key.strip_suffix("_params");
    let former = |s: &&ParamSpec| s.kind.is_base() && (Some(s.name) == stem || s.name.strip_suffix("_base") == stem);
    if let (Some(_), Some(spec)) = (stem, specs.iter().find(former)) {
        return refuse(format!(
            "has no parameter `{key}`; use {0}.KEY=VALUE (in a file or in Python also {0} = {{ name, params }})",
            spec.name
        ));
    }
    Err(Error::unknown_name("parameter", head, specs.iter().map(|s| s.name)))
}

/// The parameter that a key is about: `base` of `base.min_node_size`.
pub fn parameter_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(head, _)| head)
}

/// A parameter as the `KEY=VALUE` pairs that give it on the command line; a base learner with parameters of its own
/// takes several.
pub fn set_pairs(name: &str, value: &Value) -> Vec<(String, String)> {
    if let Value::Object(_) = value
        && let Ok(base) = serde_json::from_value::<BaseSpec>(value.clone())
    {
        let own = base.params.0.iter().map(|(key, value)| (format!("{name}.{key}"), param_text(value)));
        return std::iter::once((name.to_owned(), base.name.clone())).chain(own).collect();
    }
    vec![(name.to_owned(), param_text(value))]
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
