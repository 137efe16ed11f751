//! What may be searched: a documented space for every family, or one of the user's own.

use std::collections::BTreeMap;

use paretau_core::{EstimatorEntry, Family, Params, Result};
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

    fn between(low: f64, high: f64) -> Self {
        Self::Between { low, high, log: false, whole: false }
    }

    fn ratio(low: f64, high: f64) -> Self {
        Self::Between { low, high, log: true, whole: false }
    }

    fn whole_ratio(low: f64, high: f64) -> Self {
        Self::Between { low, high, log: true, whole: true }
    }

    fn one_of<const N: usize>(values: [Value; N]) -> Self {
        Self::OneOf(values.into())
    }

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
        let defaults = entry.defaults();
        let is = |name: &str, value: &str| defaults.get(name).and_then(Value::as_str) == Some(value);
        let mut dimensions: Vec<(&str, Dimension)> = match entry.info().family {
            Family::Neural => vec![
                ("rate", Dimension::ratio(3e-4, 1e-2)),
                ("propensity_rate", Dimension::ratio(3e-4, 1e-2)),
                ("l2", Dimension::ratio(1e-6, 1e-1)),
                ("dropout", Dimension::between(0.0, 0.5)),
                ("batch", Dimension::one_of([json!(64), json!(128), json!(256), json!(512)])),
                ("encoder", Dimension::one_of([json!([32]), json!([64]), json!([128]), json!([64, 64])])),
                ("representation", Dimension::one_of([json!(16), json!(32), json!(64)])),
                ("heads", Dimension::one_of([json!([32]), json!([64]), json!([128]), json!([64, 64])])),
            ],
            Family::Forest => vec![
                ("min_node_size", Dimension::whole_ratio(2.0, 50.0)),
                ("max_samples", Dimension::between(0.2, 0.5)),
                ("honest_share", Dimension::between(0.3, 0.7)),
                ("alpha", Dimension::between(0.0, 0.2)),
            ],
            Family::MetaLearner => vec![("base", Dimension::one_of([json!("forest"), json!("ridge"), json!("mlp")]))],
            _ => vec![],
        };
        if entry.info().family == Family::Neural {
            if !is("balance", "none") {
                dimensions.push(("balance_weight", Dimension::ratio(1e-3, 1e1)));
            }
            if defaults.get("weighting").and_then(Value::as_str).is_some_and(|w| w.starts_with("pareto")) {
                dimensions.push(("eps", Dimension::ratio(1e-2, 1e1)));
                dimensions.push(("kappa", Dimension::ratio(1e-1, 1e1)));
            }
            if is("network", "disentangled") {
                dimensions.push(("schedule", Dimension::one_of([json!("each-step"), json!("blocks")])));
            } else {
                dimensions.retain(|(name, _)| *name != "propensity_rate");
            }
        }
        let known: Vec<&str> = entry.params().iter().map(|spec| spec.name).collect();
        let kept = dimensions.into_iter().filter(|(name, _)| known.contains(name));
        Self(kept.map(|(name, dimension)| (name.to_owned(), dimension)).collect())
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same without parameters that an estimator does not have.
    #[must_use]
    pub(super) fn known_to(mut self, entry: &dyn EstimatorEntry) -> Self {
        self.0.retain(|name, _| entry.params().iter().any(|spec| spec.name == name));
        self
    }

    /// The same without parameters that are fixed.
    #[must_use]
    pub(super) fn without(mut self, fixed: &Params) -> Self {
        self.0.retain(|name, _| !fixed.0.contains_key(name));
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

    /// Every corner must be something that the estimator takes, so that a slip is found before the first fit.
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
        assert!(Space::of(paretau::registry::find("tarnet").unwrap()).0.keys().all(|name| name != "eps"));
    }

    #[test]
    fn places_and_values_are_inverse() {
        for dimension in [Dimension::ratio(1e-3, 1e2), Dimension::between(-1.0, 3.0)] {
            for place in [0.0, 0.2, 0.77, 1.0] {
                let back = dimension.place_of(&dimension.at(place)).unwrap();
                assert!((back - place).abs() < 1e-3, "{back} is not {place}");
            }
        }
        let choice = Dimension::one_of([json!("a"), json!("b")]);
        assert_eq!((choice.at(0.0), choice.at(1.0)), (json!("a"), json!("b")));
        assert_eq!(choice.place_of(&json!("c")), None);
    }
}
