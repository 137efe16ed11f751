//! THE registry: every estimator and base learner there is. The command line, plans, Python classes, docs and the
//! conformance suite all iterate these two lists; adding an entry here is all it takes to be in each of them.

use paretau_core::{BaseEntry, Error, EstimatorEntry, Params, Result, Toolbox};
use paretau_neural::presets as nets;

/// All estimators, in the order in which lists show them; the first of a Python class is the class's default.
pub const ESTIMATORS: &[&dyn EstimatorEntry] = &[
    &paretau_learners::LR_2,
    &paretau_learners::LR_1,
    &paretau_learners::S_LEARNER,
    &paretau_learners::T_LEARNER,
    &paretau_learners::X_LEARNER,
    &paretau_learners::R_LEARNER,
    &paretau_learners::DR_LEARNER,
    &paretau_forest::CAUSAL_FOREST,
    &paretau_forest::CAUSAL_FOREST_DML,
    &nets::TARNET,
    &nets::CFR_MMD,
    &nets::CFR_WASS,
    &nets::DRAGONNET,
    &nets::GANITE,
    &nets::DRCFR_RAW,
    &nets::DRCFR_NORM,
    &nets::DRCFR_TRUNC,
    &nets::DRCFR_IGNORE,
    &nets::PSW,
    &nets::DPSW_NORM,
    &nets::DPSW_RAW,
    &nets::DPSW_DR,
];

/// All base learners that meta-learners can stand on; the first that can read a model's features is also the
/// yardstick of scores without the truth.
pub const BASES: &[&dyn BaseEntry] = &[&paretau_learners::RIDGE, &paretau_forest::FOREST, &paretau_neural::MlpBase];

/// The estimator used when none is named.
pub const DEFAULT_ESTIMATOR: &str = "dpsw-norm";

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
}
