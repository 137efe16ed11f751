//! What may be searched: the ranges that an estimator's parameters are specified with, or a space of the user's own.

use std::collections::BTreeMap;

use paretau_core::{EstimatorEntry, ParamSpec, Params, Result, SearchRange, parameter_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::search::Search;

/// The values of one parameter that a search may try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dimension {
    /// One of these.
    OneOf(Vec<Value>),
    /// A number between two bounds.
    Between {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
        /// Whether ratios matter rather than differences.
        #[serde(default)]
        log: bool,
        /// Whether only whole numbers count.
        #[serde(default)]
        whole: bool,
    },
}

impl Dimension {
    /// Values that a grid takes from a range.
    const GRID: usize = 4;

    /// Number of values on a grid.
    pub(super) fn grid_size(&self) -> usize {
        match self {
            Self::OneOf(values) => values.len(),
            Self::Between { .. } => Self::GRID,
        }
    }

    /// The `i`-th value of a grid.
    pub(super) fn on_grid(&self, i: usize) -> Value {
        match self {
            Self::OneOf(values) => values[i].clone(),
            Self::Between { .. } => self.at(i as f64 / (Self::GRID - 1) as f64),
        }
    }

    /// The value at a place between 0 and 1.
    pub(super) fn at(&self, place: f64) -> Value {
        match *self {
            Self::OneOf(ref values) => values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Self::Between { low, high, log, whole } => {
                let value = if log { low * (high / low).powf(place) } else { low + (high - low) * place };
                let value = value.clamp(low, high);
                if whole { json!(value.round() as i64) } else { json!(short(value).clamp(low, high)) }
            }
        }
    }

    /// The place between 0 and 1 (or the number of the choice) where a value lies; `None` for a foreign one.
    pub(super) fn place_of(&self, value: &Value) -> Option<f64> {
        match *self {
            Self::OneOf(ref values) => values.iter().position(|v| v == value).map(|i| i as f64),
            Self::Between { low, high, log, .. } => {
                let value = value.as_f64().filter(|v| (low..=high).contains(v))?;
                Some(if log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) })
            }
        }
    }
}

impl From<SearchRange> for Dimension {
    fn from(range: SearchRange) -> Self {
        let between = |low, high, log, whole| Self::Between { low, high, log, whole };
        match range {
            SearchRange::Between(low, high) => between(low, high, false, false),
            SearchRange::Ratio(low, high) => between(low, high, true, false),
            SearchRange::WholeRatio(low, high) => between(low, high, true, true),
            SearchRange::Words(words) => Self::OneOf(words.iter().map(|word| json!(word)).collect()),
            SearchRange::Ints(numbers) => Self::OneOf(numbers.iter().map(|number| json!(number)).collect()),
            SearchRange::IntLists(lists) => Self::OneOf(lists.iter().map(|list| json!(list)).collect()),
        }
    }
}

/// A value that reads well and is tried exactly as it is printed.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The parameters of a search and their values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Space(pub BTreeMap<String, Dimension>);

impl Space {
    /// The documented space of an estimator; empty when it has nothing worth searching.
    pub fn of(entry: &dyn EstimatorEntry) -> Self {
        let searched = |spec: &ParamSpec| Some((spec.name.to_owned(), Dimension::from(spec.search?)));
        Self(entry.params().iter().filter_map(searched).collect())
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Itself without parameters that an estimator does not have.
    #[must_use]
    pub(super) fn restricted_to(mut self, entry: &dyn EstimatorEntry) -> Self {
        self.0.retain(|name, _| entry.params().iter().any(|spec| spec.name == parameter_of(name)));
        self
    }

    /// Itself without parameters that are fixed. Fixing a parameter of a base learner fixes the learner.
    #[must_use]
    pub(super) fn without_fixed(mut self, fixed: &Params) -> Self {
        let is_fixed = |name: &str| fixed.0.keys().any(|key| key == name || parameter_of(key) == name);
        self.0.retain(|name, _| !is_fixed(name));
        self
    }

    /// Trials beyond the defaults that make sense; `None` for any number.
    pub(super) fn capacity(&self, search: Search) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        match search {
            Search::Grid => Some(self.0.values().map(Dimension::grid_size).fold(1, usize::saturating_mul)),
            Search::Random | Search::Tpe => None,
        }
    }

    /// Every corner must be something that the estimator takes, so that a mistake is reported before the first fit.
    pub(crate) fn check(&self, entry: &dyn EstimatorEntry) -> Result<()> {
        for (name, dimension) in &self.0 {
            let bad = |expected: &str| {
                Err(paretau_core::Error::BadParameter {
                    owner: "the search space".into(),
                    name: name.clone(),
                    value: serde_json::to_string(dimension).unwrap_or_default(),
                    expected: expected.into(),
                })
            };
            match dimension {
                Dimension::OneOf(values) if values.is_empty() => return bad("at least one value"),
                Dimension::Between { low, high, log, .. } => {
                    if !(low.is_finite() && high.is_finite() && low < high) {
                        return bad("low below high");
                    }
                    if *log && *low <= 0.0 {
                        return bad("low above 0 on a logarithmic scale");
                    }
                }
                Dimension::OneOf(_) => {}
            }
            for i in 0..dimension.grid_size() {
                entry.resolved(&Params::none().with(name, dimension.on_grid(i)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau::registry::ESTIMATORS;

    #[test]
    fn every_documented_space_fits_its_estimator() {
        for entry in ESTIMATORS {
            Space::of(*entry).check(*entry).unwrap();
        }
        assert!(!Space::of(paretau::registry::find("dpsw-norm").unwrap()).is_empty());
    }

    #[test]
    fn a_search_leaves_alone_what_makes_no_difference() {
        let searched = |name: &str| Space::of(paretau::registry::find(name).unwrap()).0.into_keys().collect::<Vec<_>>();
        let net = ["batch", "dropout", "encoder", "heads", "l2", "rate", "representation"];
        let with = |more: &[&str]| {
            let mut all: Vec<String> = net.iter().chain(more).map(|name| (*name).to_owned()).collect();
            all.sort_unstable();
            all
        };
        for name in ["tarnet", "dragonnet", "ganite"] {
            assert_eq!(searched(name), with(&[]), "{name}");
        }
        for name in ["cfr-mmd", "cfr-wass", "psw"] {
            assert_eq!(searched(name), with(&["balance_weight"]), "{name}");
        }
        for name in ["drcfr", "drcfr-norm", "drcfr-trunc", "drcfr-ignore"] {
            assert_eq!(searched(name), with(&["balance_weight", "propensity_rate", "schedule"]), "{name}");
        }
        for name in ["dpsw", "dpsw-norm", "dpsw-dr"] {
            let own = with(&["balance_weight", "propensity_rate", "schedule", "eps", "kappa"]);
            assert_eq!(searched(name), own, "{name}");
        }
        assert_eq!(searched("causal-forest"), ["alpha", "honest_share", "max_samples", "min_node_size"]);
        assert_eq!(searched("causal-forest-dml"), ["max_samples"]);
        assert_eq!(searched("dr-learner"), ["base"]);
        assert!(searched("lr-2").is_empty());
        let learner = Space::of(paretau::registry::find("dr-learner").unwrap());
        assert!(learner.without_fixed(&Params::none().with("base.n_estimators", 50)).is_empty());
    }

    #[test]
    fn places_and_values_are_inverse() {
        for dimension in [SearchRange::Ratio(1e-3, 1e2), SearchRange::Between(-1.0, 3.0)].map(Dimension::from) {
            for place in [0.0, 0.2, 0.77, 1.0] {
                let back = dimension.place_of(&dimension.at(place)).unwrap();
                assert!((back - place).abs() < 1e-3, "{back} is not {place}");
            }
        }
        let choice = Dimension::from(SearchRange::Words(&["a", "b"]));
        assert_eq!((choice.at(0.0), choice.at(1.0)), (json!("a"), json!("b")));
        assert_eq!(choice.place_of(&json!("c")), None);
    }
}
