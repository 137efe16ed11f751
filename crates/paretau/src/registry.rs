//! THE registry: every estimator and base learner there is. The command line, plans, Python classes, docs and the
//! conformance suite all iterate these two lists; adding an entry here is all it takes to be in each of them.

use paretau_core::{
    BaseEntry, Error, Estimator, EstimatorEntry, EstimatorInfo, FittedModel, ParamSpec, Params, Result, State, Toolbox,
};
use serde_json::Value;

/// All estimators, in the order in which lists show them; the first of a Python class is the class's default.
pub const ESTIMATORS: &[&dyn EstimatorEntry] = &{
    let mut all: [&dyn EstimatorEntry; COUNT] = [&REGISTERED[0]; COUNT];
    let mut i = 1;
    while i < COUNT {
        all[i] = &REGISTERED[i];
        i += 1;
    }
    all
};

const LEARNERS_AND_FORESTS: &[&dyn EstimatorEntry] = &[
    &crate::auto::AUTO,
    &paretau_learners::LR_2,
    &paretau_learners::LR_1,
    &paretau_learners::S_LEARNER,
    &paretau_learners::T_LEARNER,
    &paretau_learners::X_LEARNER,
    &paretau_learners::R_LEARNER,
    &paretau_learners::DR_LEARNER,
    &paretau_forest::CAUSAL_FOREST,
    &paretau_forest::CAUSAL_FOREST_DML,
];

const NETS: &[&dyn EstimatorEntry] = paretau_neural::ENTRIES;

const COUNT: usize = LEARNERS_AND_FORESTS.len() + NETS.len();

static REGISTERED: [Registered; COUNT] = {
    let first = LEARNERS_AND_FORESTS.len();
    let mut all = [Registered(LEARNERS_AND_FORESTS[0]); COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = Registered(if i < first { LEARNERS_AND_FORESTS[i] } else { NETS[i - first] });
        i += 1;
    }
    all
};

/// An entry that knows of the others: it refuses a parameter it lacks by naming those that have it.
#[derive(Clone, Copy)]
struct Registered(&'static dyn EstimatorEntry);

impl Registered {
    /// The error, or where another estimator has the parameter that this one lacks, a better one.
    fn explained(self, error: Error, params: &Params) -> Error {
        let has = |entry: &dyn EstimatorEntry, name: &str| entry.params().iter().any(|spec| spec.name == name);
        let Error::UnknownName { what: "parameter", name, .. } = &error else { return error };
        // An unknown parameter of something inside, such as a base learner, is not this entry's.
        if has(self.0, name) || !params.0.contains_key(name) {
            return error;
        }
        let owners: Vec<String> =
            ESTIMATORS.iter().filter(|e| has(**e, name)).map(|e| format!("`{}`", e.info().name)).collect();
        let list = match &owners[..] {
            [] => return error,
            [one] => format!("{one} has it"),
            [all @ .., last] if owners.len() <= OWNERS_SHOWN => format!("{} and {last} have it", all.join(", ")),
            _ => format!("{} and {} more have it", owners[..OWNERS_SHOWN].join(", "), owners.len() - OWNERS_SHOWN),
        };
        let estimator = self.0.info().name.to_owned();
        Error::Unsupported { estimator, message: format!("has no parameter `{name}`; {list}") }
    }
}

/// Estimators that a refusal names.
const OWNERS_SHOWN: usize = 3;

impl EstimatorEntry for Registered {
    fn info(&self) -> &EstimatorInfo {
        self.0.info()
    }

    fn params(&self) -> &'static [ParamSpec] {
        self.0.params()
    }

    fn defaults(&self) -> Value {
        self.0.defaults()
    }

    fn resolved(&self, params: &Params) -> Result<Value> {
        self.0.resolved(params).map_err(|e| self.explained(e, params))
    }

    fn build(&self, params: &Params, tools: &Toolbox) -> Result<Box<dyn Estimator>> {
        self.0.build(params, tools).map_err(|e| self.explained(e, params))
    }

    fn load(&self, state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
        self.0.load(state, tools)
    }
}

/// All base learners that meta-learners can stand on; the first that can read a model's features is also the
/// yardstick of scores without the truth.
pub const BASES: &[&dyn BaseEntry] = &[
    &paretau_learners::RIDGE,
    &paretau_learners::LASSO,
    &paretau_learners::PRODUCTS,
    &paretau_forest::FOREST,
    &paretau_forest::BOOSTING,
    &paretau_neural::MlpBase,
    &crate::stack_base::STACK,
];

/// The estimator used when none is named.
pub const DEFAULT_ESTIMATOR: &str = "auto";

/// The estimator that gives everyone the same effect.
pub const CONSTANT_EFFECT: &str = "lr-1";

/// What estimators may use when they are built.
pub const TOOLBOX: Toolbox = Toolbox { bases: BASES };

/// The estimator of that name or alias, whatever its case; spaces, dots and underscores are as good as hyphens.
pub fn find(name: &str) -> Result<&'static dyn EstimatorEntry> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, ' ' | '-' | '_' | '.')).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    ESTIMATORS
        .iter()
        .find(|entry| {
            let info = entry.info();
            plain(info.name) == wanted || info.aliases.iter().any(|alias| plain(alias) == wanted)
        })
        .copied()
        .ok_or_else(|| Error::unknown_name("estimator", name, ESTIMATORS.iter().map(|entry| entry.info().name)))
}

/// Refuses parameters that the estimator, or a base learner that they name, does not take.
pub fn check(entry: &dyn EstimatorEntry, params: &Params) -> Result<()> {
    entry.build(params, &TOOLBOX).map(|_| ())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_aliases_find_exactly_one_estimator() {
        let mut seen = BTreeSet::new();
        for entry in ESTIMATORS {
            let info = entry.info();
            assert!(seen.insert(info.name.to_lowercase()), "{} is listed twice", info.name);
            for name in info.aliases.iter().chain([&info.name]) {
                assert_eq!(find(name).unwrap().info().name, info.name, "alias {name}");
                assert_eq!(find(&name.to_uppercase()).unwrap().info().name, info.name);
            }
        }
    }

    #[test]
    fn the_default_estimator_exists() {
        assert_eq!(find(DEFAULT_ESTIMATOR).unwrap().info().name, DEFAULT_ESTIMATOR);
    }

    #[test]
    fn a_slip_of_the_finger_is_answered_with_the_nearest_name() {
        let Err(error) = find("lr-22") else { panic!("found something") };
        assert_eq!(error.to_string(), "unknown estimator `lr-22`; did you mean `lr-2`?");
    }

    #[test]
    fn every_parameter_has_one_default_and_every_default_a_specification() {
        for entry in ESTIMATORS {
            let defaults = entry.defaults();
            let fields: BTreeSet<&str> = defaults.as_object().unwrap().keys().map(String::as_str).collect();
            let specs: BTreeSet<&str> = entry.params().iter().map(|s| s.name).collect();
            assert_eq!(fields, specs, "{}", entry.info().name);
            assert_eq!(specs.len(), entry.params().len(), "{} specifies a parameter twice", entry.info().name);
            assert!(entry.params().iter().all(|s| !s.help.is_empty()), "{}", entry.info().name);
        }
    }

    #[test]
    fn every_entry_refuses_a_parameter_it_lacks_and_names_who_has_it() {
        let names = |entry: &dyn EstimatorEntry| -> BTreeSet<&str> { entry.params().iter().map(|s| s.name).collect() };
        let all: BTreeSet<&str> = ESTIMATORS.iter().flat_map(|entry| names(*entry)).collect();
        for entry in ESTIMATORS {
            let own = entry.info().name;
            for name in all.difference(&names(*entry)) {
                let params = Params::none().with(name, 1);
                let owner = ESTIMATORS.iter().find(|e| names(**e).contains(name)).unwrap().info().name;
                let expected = format!("`{own}` has no parameter `{name}`; `{owner}`");
                let refused = entry.resolved(&params).unwrap_err();
                assert!(refused.to_string().starts_with(&expected), "{refused}");
                assert_eq!(refused.kind(), paretau_core::ErrorKind::Usage);
                assert_eq!(entry.build(&params, &TOOLBOX).unwrap_err().to_string(), refused.to_string());
            }
        }
        let refused = |name: &str, params: Params| find(name).unwrap().resolved(&params).unwrap_err().to_string();
        assert_eq!(
            refused("tarnet", Params::none().with("alpha", 0.3)),
            "`tarnet` has no parameter `alpha`; `causal-forest` and `ganite` have it"
        );
        assert_eq!(
            refused("tarnet", Params::none().with("beta", 0.3)),
            "`tarnet` has no parameter `beta`; `ganite` has it"
        );
        // A slip is still answered with the nearest name.
        assert!(refused("tarnet", Params::none().with("dropuot", 0.3)).contains("did you mean `dropout`?"));
    }
}
