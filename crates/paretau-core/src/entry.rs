//! What the registry lists: an estimator's name, family, parameters, and how to build and reload it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    BaseEntry, BaseSpec, Error, Estimator, FittedModel, ParamSpec, Params, Regressor, Result, State, nearest,
    parameter_of, resolve,
};

/// Families of methods, for lists and docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Penalised linear regressions.
    Linear,
    /// Recipes over any base learner.
    MetaLearner,
    /// Forests.
    Forest,
    /// Neural networks.
    Neural,
}

impl Family {
    /// The family's name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::MetaLearner => "meta-learner",
            Self::Forest => "forest",
            Self::Neural => "neural",
        }
    }
}

/// What an estimator takes as it is; the data layer transforms the rest before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct Handles {
    /// Missing values (NaN).
    pub missing: bool,
    /// Sparse features without making them dense.
    pub sparse: bool,
    /// Categorical codes; otherwise they are made indicators.
    pub categories: bool,
    /// More than two arms at once.
    pub many_arms: bool,
}

/// What an estimator does beyond giving effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct Abilities {
    /// Keeps checkpoints while it fits, and goes on from one.
    pub checkpoints: bool,
    /// Holds rows out to decide when to stop.
    pub early_stopping: bool,
    /// Gives standard errors of the effects of single rows.
    pub intervals: bool,
}

impl Abilities {
    /// Effects and nothing else.
    pub const NONE: Self = Self { checkpoints: false, early_stopping: false, intervals: false };
}

/// An estimator's entry in the lists.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EstimatorInfo {
    /// Registry name.
    pub name: &'static str,
    /// Other names it answers to (case-insensitive), e.g. the paper's.
    pub aliases: &'static [&'static str],
    /// Family.
    pub family: Family,
    /// Python class; estimators of one class are presets of it, the first listed is its default.
    pub class: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where the method comes from.
    pub reference: &'static str,
    /// What it takes.
    pub handles: Handles,
    /// What it does beyond giving effects.
    pub abilities: Abilities,
}

/// The base learners that meta-learners may use; handed in by the registry.
#[derive(Clone, Copy)]
pub struct Toolbox {
    /// All base learners.
    pub bases: &'static [&'static dyn BaseEntry],
}

impl Toolbox {
    /// The base learner of that name.
    pub fn base(&self, name: &str) -> Result<&'static dyn BaseEntry> {
        self.bases
            .iter()
            .find(|b| b.name() == name)
            .copied()
            .ok_or_else(|| Error::unknown_name("base learner", name, self.bases.iter().map(|b| b.name())))
    }

    /// The base learner of a parameter, built with parameters of its own; errors name the whole key, such as
    /// `base.min_node_size`.
    pub fn regressor(&self, parameter: &str, spec: &BaseSpec) -> Result<Box<dyn Regressor>> {
        let entry = self.base(&spec.name)?;
        let known = || entry.params().iter().map(|own| own.name);
        if let Some(stranger) = spec.params.0.keys().find(|key| known().all(|own| own != parameter_of(key))) {
            return Err(Error::UnknownBaseParameter {
                key: format!("{parameter}.{stranger}"),
                base: spec.name.clone(),
                name: stranger.clone(),
                suggestion: nearest(stranger, known()).map(str::to_owned),
                known: known().map(str::to_owned).collect(),
            });
        }
        entry.build(&spec.params).map_err(|error| match error {
            Error::BadParameter { owner, name, value, expected } => {
                Error::BadParameter { owner, name: format!("{parameter}.{name}"), value, expected }
            }
            other => other,
        })
    }
}

/// What an entry's `build` may use.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    /// The entry's name in the registry, for errors.
    pub name: &'static str,
    /// Base learners.
    pub tools: &'a Toolbox,
}

/// One method in the registry.
pub trait EstimatorEntry: Sync {
    /// Name, family, references.
    fn info(&self) -> &EstimatorInfo;
    /// Parameter specifications.
    fn params(&self) -> &'static [ParamSpec];
    /// Defaults as a JSON object, keyed by parameter name.
    fn defaults(&self) -> Value;
    /// All parameters after checking, defaults filled in, as JSON.
    fn resolved(&self, params: &Params) -> Result<Value>;
    /// A checked estimator.
    fn build(&self, params: &Params, tools: &Toolbox) -> Result<Box<dyn Estimator>>;
    /// A fitted model from its state.
    fn load(&self, state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>>;
}

/// How an entry's model comes back from its state.
pub type LoadFn = fn(&State, &Toolbox) -> Result<Box<dyn FittedModel>>;

/// An entry made of a configuration type: `preset` gives its defaults, `build` checks and builds.
/// Variants of one method are several entries with one `build` and different presets.
pub struct ConfigEntry<C: 'static> {
    /// Name, family, references.
    pub info: EstimatorInfo,
    /// Parameter specifications; one for every field of `C`.
    pub params: &'static [ParamSpec],
    /// The defaults.
    pub preset: fn() -> C,
    /// Checks relations between parameters and builds.
    pub build: fn(C, &BuildContext<'_>) -> Result<Box<dyn Estimator>>,
    /// Reloads.
    pub load: LoadFn,
}

impl<C: Serialize + DeserializeOwned> ConfigEntry<C> {
    fn config(&self, params: &Params) -> Result<C> {
        resolve(self.info.name, self.params, &(self.preset)(), params)
    }
}

impl<C: Serialize + DeserializeOwned> EstimatorEntry for ConfigEntry<C> {
    fn info(&self) -> &EstimatorInfo {
        &self.info
    }

    fn params(&self) -> &'static [ParamSpec] {
        self.params
    }

    fn defaults(&self) -> Value {
        serde_json::to_value((self.preset)()).unwrap_or(Value::Null)
    }

    fn resolved(&self, params: &Params) -> Result<Value> {
        serde_json::to_value(self.config(params)?).map_err(|e| Error::internal("writing parameters", e))
    }

    fn build(&self, params: &Params, tools: &Toolbox) -> Result<Box<dyn Estimator>> {
        (self.build)(self.config(params)?, &BuildContext { name: self.info.name, tools })
    }

    fn load(&self, state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
        (self.load)(state, tools)
    }
}
