//! A base learner as the value of a parameter: its name and parameters of its own.
//!
//! Wherever parameters come from, three ways of writing mean the same: a name (`"forest"`), an object
//! (`{ name = "forest", params = { min_node_size = 5 } }`, or flat, `{ name = "forest", min_node_size = 5 }`), and
//! dotted keys beside the name (`base=forest`, `base.min_node_size=5`).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Error, ParamSpec, Params, Result};

/// A base learner by name, with the parameters in which it differs from its defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BaseSpec {
    /// Its name in the list of base learners.
    pub name: String,
    /// Its own parameters.
    pub params: Params,
}

impl BaseSpec {
    /// The base learner of that name with its defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), params: Params::none() }
    }

    /// The same with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params = self.params.with(name, value);
        self
    }

    /// A spec from a name or an object; where an object has no name, it is laid over `current`.
    fn read(value: &Value, current: Option<&Self>) -> Option<Reading> {
        match value {
            Value::String(name) => Some(Reading::of(Self::new(name.trim()))),
            Value::Object(fields) if fields.contains_key("name") => Self::default().overlaid(fields),
            Value::Object(fields) => current.cloned().unwrap_or_default().overlaid(fields),
            _ => None,
        }
    }

    /// The same with the fields of an object laid over it.
    fn overlaid(mut self, fields: &Map<String, Value>) -> Option<Reading> {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("name", Value::String(name)) => name.trim().clone_into(&mut self.name),
                ("params", Value::Object(own)) => {
                    self.params.0.extend(own.iter().map(|(k, v)| (k.clone(), v.clone())));
                }
                ("name" | "params", _) => return None,
                _ => self.params = self.params.with(key, value.clone()),
            }
        }
        Some(Reading::of(self))
    }

    /// As JSON: the name alone where there are no parameters.
    fn value(&self) -> Value {
        if self.params.0.is_empty() {
            return Value::from(self.name.as_str());
        }
        let params: Map<String, Value> = self.params.0.clone().into_iter().collect();
        Value::from(Map::from_iter([
            ("name".to_owned(), Value::from(self.name.as_str())),
            ("params".to_owned(), Value::from(params)),
        ]))
    }
}

/// What was read: a whole spec, or parameters for which nobody named the learner.
enum Reading {
    Whole(BaseSpec),
    Nameless,
}

impl Reading {
    fn of(spec: BaseSpec) -> Self {
        if spec.name.is_empty() { Self::Nameless } else { Self::Whole(spec) }
    }
}

/// The JSON of a value given on its own, where it names a base learner.
pub(crate) fn accept(value: &Value) -> Option<Value> {
    match BaseSpec::read(value, None)? {
        Reading::Whole(spec) => Some(spec.value()),
        Reading::Nameless => None,
    }
}

/// The value of a base learner's parameter after `value` was given for the parameter itself, or, with `nested`, for one
/// of the learner's own; `current` is the value so far.
pub(crate) fn lay_over(
    owner: &str,
    spec: &ParamSpec,
    current: &Value,
    nested: Option<&str>,
    value: &Value,
) -> Result<Value> {
    let before = serde_json::from_value::<Option<BaseSpec>>(current.clone()).ok().flatten();
    let read = match nested {
        Some(key) => before.unwrap_or_default().overlaid(&Map::from_iter([(key.to_owned(), value.clone())])),
        None if spec.kind.is_auto(value) => return Ok(Value::Null),
        None => BaseSpec::read(value, before.as_ref()),
    };
    let key = nested.map_or_else(|| spec.name.to_owned(), |nested| format!("{}.{nested}", spec.name));
    match read {
        Some(Reading::Whole(spec)) => Ok(spec.value()),
        Some(Reading::Nameless) => Err(Error::Unsupported {
            estimator: owner.to_owned(),
            message: format!("needs a base learner's name for `{key}`; give {}=NAME as well", spec.name),
        }),
        None => Err(Error::BadParameter {
            owner: owner.to_owned(),
            name: key,
            value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            expected: spec.kind.to_string(),
        }),
    }
}

impl From<&str> for BaseSpec {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Serialize for BaseSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BaseSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Self::read(&Value::deserialize(deserializer)?, None) {
            Some(Reading::Whole(spec)) => Ok(spec),
            _ => Err(D::Error::custom("a base learner is a name or { name, params }")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ParamKind, resolve};
    use serde_json::json;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Config {
        base: BaseSpec,
        effect_base: Option<BaseSpec>,
        folds: usize,
    }

    const SPECS: &[ParamSpec] = &[
        ParamSpec::new("base", ParamKind::Base, ""),
        ParamSpec::new("effect_base", ParamKind::Auto(&ParamKind::Base), ""),
        ParamSpec::new("folds", ParamKind::Int { min: 2, max: 50 }, ""),
    ];

    fn resolved(params: &Params) -> Result<Config> {
        resolve("m", SPECS, &Config { base: "forest".into(), effect_base: None, folds: 5 }, params)
    }

    #[test]
    fn every_way_of_writing_means_the_same() {
        let wanted = BaseSpec::new("ridge").with("penalty", 2);
        for value in [json!({ "name": "ridge", "params": { "penalty": 2 } }), json!({ "name": "ridge", "penalty": 2 })]
        {
            assert_eq!(serde_json::from_value::<BaseSpec>(value.clone()).unwrap(), wanted);
            assert_eq!(resolved(&Params::none().with("base", value)).unwrap().base, wanted);
        }
        let dotted = Params::none().with("base.penalty", 2).with("base", "ridge");
        assert_eq!(resolved(&dotted).unwrap().base, wanted);
        assert_eq!(resolved(&Params::none().with("base.penalty", 2).with("base.name", "ridge")).unwrap().base, wanted);
        // Written out and read again, it is the same.
        assert_eq!(serde_json::from_value::<BaseSpec>(serde_json::to_value(&wanted).unwrap()).unwrap(), wanted);
        assert_eq!(serde_json::to_value(BaseSpec::new("forest")).unwrap(), json!("forest"));
    }

    #[test]
    fn parameters_without_a_name_are_of_the_default() {
        let wanted = BaseSpec::new("forest").with("honest", "true");
        assert_eq!(resolved(&Params::none().with("base.honest", "true")).unwrap().base, wanted);
        assert_eq!(resolved(&Params::none().with("base", json!({ "honest": "true" }))).unwrap().base, wanted);
        let both = Params::none().with("base", json!({ "honest": "true" })).with("base.exact", true);
        assert_eq!(resolved(&both).unwrap().base, wanted.with("exact", true));
        let error = resolved(&Params::none().with("effect_base.honest", true)).unwrap_err().to_string();
        assert!(error.contains("`effect_base.honest`") && error.contains("effect_base=NAME"), "{error}");
        assert_eq!(resolved(&Params::none().with("effect_base", "auto")).unwrap().effect_base, None);
    }

    #[test]
    fn refusals_say_what_to_write_instead() {
        let fail = |params: Params| resolved(&params).unwrap_err().to_string();
        let old = fail(Params::none().with("base_params", "honest=true"));
        assert!(old.starts_with("`m` has no parameter `base_params`") && old.contains("base.KEY=VALUE"), "{old}");
        assert!(fail(Params::none().with("effect_params", "")).contains("effect_base.KEY=VALUE"));
        assert!(fail(Params::none().with("base", 3)).contains("must be a base learner"));
        assert!(fail(Params::none().with("folds.x", 3)).contains("`folds` is not a base learner"));
        assert!(fail(Params::none().with("bas.x", 3)).contains("did you mean `base`?"));
    }
}
