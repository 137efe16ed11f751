//! The typed way to a model: an entry and a configuration of its own type become a checked estimator, which fits.

use paretau_core::{CheckpointStore, ConfigEntry, Error, EstimatorEntry as _, Observer, Params, Result, Seed, resolve};
use paretau_data::{RoleSpec, Table};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fit::{FitOptions, fit};
use crate::model::Model;
use crate::registry;

/// An estimator whose parameters are checked. Making one is where bad parameters are refused; a typing error in a
/// parameter's name does not compile.
///
/// Works for every entry of the registry: `paretau::learners`, `paretau::forest` and the modules of
/// `paretau::neural::nets` hold the entries beside their configuration types.
///
/// ```
/// use paretau::ConfiguredEstimator;
/// use paretau::learners::{LR_2, LinearConfig};
///
/// let config = LinearConfig { penalty: Some(0.5), ..(LR_2.preset)() };
/// assert!(ConfiguredEstimator::new(&LR_2, config.clone()).is_ok());
/// let refused = ConfiguredEstimator::new(&LR_2, LinearConfig { penalty: Some(-1.0), ..config });
/// assert!(refused.is_err_and(|error| error.to_string().contains("penalty")));
/// ```
#[derive(Clone)]
pub struct ConfiguredEstimator<'a> {
    options: FitOptions<'a>,
}

impl std::fmt::Debug for ConfiguredEstimator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FitOptions { estimator, params, seed, .. } = &self.options;
        f.debug_struct("ConfiguredEstimator")
            .field("estimator", estimator)
            .field("params", params)
            .field("seed", seed)
            .finish_non_exhaustive()
    }
}

impl<'a> ConfiguredEstimator<'a> {
    /// Checks a configuration; the entry's own defaults are `(ENTRY.preset)()`.
    pub fn new<C>(entry: &'static ConfigEntry<C>, config: C) -> Result<Self>
    where
        C: Serialize + DeserializeOwned + PartialEq,
    {
        let name = entry.info.name;
        registry::find(name)?;
        let unreadable = |message: String| Error::Numeric { what: "reading parameters", message };
        let params = match serde_json::to_value(&config) {
            Ok(Value::Object(fields)) => Params(fields.into_iter().collect()),
            Ok(other) => return Err(unreadable(format!("the configuration of `{name}` is {other}, not a table"))),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        // JSON writes infinities and NaN as null, which means `auto`: what comes back must be what was given.
        if resolve(name, entry.params, &(entry.preset)(), &params)? != config {
            return Err(Error::BadParameter {
                owner: name.to_owned(),
                name: "config".to_owned(),
                value: "a number that is not finite".to_owned(),
                expected: "finite in every field".to_owned(),
            });
        }
        entry.build(&params, &registry::TOOLBOX)?;
        Ok(Self { options: FitOptions { params, ..FitOptions::new(name) } })
    }

    /// The same with another source of all randomness.
    #[must_use]
    pub fn with_seed(mut self, seed: Seed) -> Self {
        self.options.seed = seed;
        self
    }

    /// The same with another share of rows held out for early stopping.
    #[must_use]
    pub fn with_valid_share(mut self, share: f64) -> Self {
        self.options.valid_share = share;
        self
    }

    /// The same with someone who hears of progress and may interrupt the fit.
    #[must_use]
    pub fn with_observer(mut self, observer: &'a dyn Observer) -> Self {
        self.options.observer = observer;
        self
    }

    /// The same with a place where a long fit leaves its state.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: &'a dyn CheckpointStore) -> Self {
        self.options.checkpoint = Some(checkpoint);
        self
    }

    /// Fits to a table.
    pub fn fit(&self, table: Table, roles: &RoleSpec) -> Result<Model> {
        fit(table, roles, &self.options)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::registry::ESTIMATORS;
    use paretau_data::simulate::{TrialConfig, trial};
    use paretau_forest::{CAUSAL_FOREST, CausalForestConfig};
    use paretau_learners::{LR_2, LinearConfig};

    #[test]
    fn the_typed_way_and_the_named_way_give_the_same_model() {
        let table = trial(&TrialConfig { n: 200, ..TrialConfig::default() }, Seed(3)).unwrap().table().unwrap();
        let roles = RoleSpec { ignore: vec!["e".into()], ..RoleSpec::new("t", "y") };
        let config = LinearConfig { penalty: Some(0.25), ..(LR_2.preset)() };
        let typed =
            ConfiguredEstimator::new(&LR_2, config).unwrap().with_seed(Seed(7)).fit(table.clone(), &roles).unwrap();
        let options =
            FitOptions { params: Params::none().with("penalty", 0.25), seed: Seed(7), ..FitOptions::new("lr-2") };
        let named = fit(table, &roles, &options).unwrap();
        assert_eq!(typed.to_bytes().unwrap(), named.to_bytes().unwrap());
    }

    #[test]
    fn every_entrys_own_configuration_survives_the_way_through_json() {
        for entry in ESTIMATORS {
            let Value::Object(fields) = entry.defaults() else { panic!("{}", entry.info().name) };
            let params = Params(fields.into_iter().collect());
            assert_eq!(entry.resolved(&params).unwrap(), entry.defaults(), "{}", entry.info().name);
        }
    }

    #[test]
    fn learners_and_nets_take_configurations_of_their_own_type() {
        use paretau_learners::{T_LEARNER, X_LEARNER};
        use paretau_neural::nets::disentangled::DPSW_NORM;
        use paretau_neural::nets::shared::TARNET;
        assert!(ConfiguredEstimator::new(&T_LEARNER, (T_LEARNER.preset)()).is_ok());
        assert!(ConfiguredEstimator::new(&X_LEARNER, (X_LEARNER.preset)()).is_ok());
        assert!(ConfiguredEstimator::new(&TARNET, (TARNET.preset)()).is_ok());
        assert!(ConfiguredEstimator::new(&DPSW_NORM, (DPSW_NORM.preset)()).is_ok());
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_refused() {
        for penalty in [f64::NAN, f64::INFINITY] {
            let config = LinearConfig { penalty: Some(penalty), ..(LR_2.preset)() };
            assert!(ConfiguredEstimator::new(&LR_2, config).is_err());
        }
        let config = CausalForestConfig { alpha: f64::NAN, ..CausalForestConfig::default() };
        assert!(ConfiguredEstimator::new(&CAUSAL_FOREST, config).unwrap_err().to_string().contains("alpha"));
    }
}
