//! One unit of work: a data set, a method, a seed. Its key is a digest of all that decides its result.

use paretau_core::{Error, Result, hex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::plan::{DataSpec, Method, Plan, SplitSpec, TuneOn};
use crate::tune::TuneSpec;

/// One unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Where the rows come from.
    pub data: DataSpec,
    /// Which realisation.
    pub realisation: u64,
    /// Estimator and parameters.
    pub method: Method,
    /// Seed of the fit.
    pub seed: u64,
    /// Split of the rows.
    pub split: SplitSpec,
    /// How parameters are searched for; not at all when the method has nothing to search or is not to be tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneSpec>,
    /// The realisation whose training rows are searched on; its own when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune_on: Option<u64>,
}

impl Cell {
    /// All cells of a plan, in the order of its tables.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let mut cells = vec![];
        for data in &plan.data {
            for &realisation in &data.realisations {
                for method in &plan.methods {
                    let tune = plan.search_of(method);
                    let first = data.realisations.first().copied();
                    let tune_on = if tune.is_some() && plan.tune_on == TuneOn::First { first } else { None };
                    for &seed in &plan.seeds {
                        let data = DataSpec { realisations: vec![realisation], ..data.clone() };
                        let (split, tune, method) = (plan.split, tune.clone(), method.clone());
                        cells.push(Self { data, realisation, method, seed, split, tune, tune_on });
                    }
                }
            }
        }
        cells
    }

    /// The digest of everything that decides the cell's result. Labels and names do not; the version does.
    pub fn key(&self) -> String {
        let mut content = self.data.content();
        let own = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "realisation": self.realisation,
            "estimator": self.method.estimator,
            "method_params": self.method.params,
            "seed": self.seed,
            "split": self.split,
            "tune": self.tune,
        });
        if let (Some(all), Value::Object(own)) = (content.as_object_mut(), own) {
            all.extend(own);
            all.extend(self.tune_on.map(|on| ("tune_on".to_owned(), json!(on))));
        }
        digest(&content)
    }
}

/// A short name for some content, the same for the same content.
pub(super) fn digest(content: &Value) -> String {
    hex(&Sha256::digest(content.to_string())[..12])
}

/// One of several parts of a run, for job arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// 1-based part.
    pub part: usize,
    /// Number of parts.
    pub of: usize,
}

impl Shard {
    /// Everything in one part.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// Whether the `index`-th cell belongs to this part.
    pub fn holds(self, index: usize) -> bool {
        index % self.of == self.part - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.split_once('/')
            .and_then(|(part, of)| Some(Self { part: part.trim().parse().ok()?, of: of.trim().parse().ok()? }))
            .filter(|shard| shard.part >= 1 && shard.part <= shard.of)
            .ok_or_else(|| Error::BadParameter {
                owner: "run".into(),
                name: "shard".into(),
                value: text.to_owned(),
                expected: "i/n with i from 1 to n, e.g. 2/8".into(),
            })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_with_content_and_not_with_labels() {
        let plan = Plan::open("first-look").unwrap();
        let cells = Cell::all(&plan);
        assert_eq!(cells.len(), 10);
        let keys: std::collections::BTreeSet<String> = cells.iter().map(Cell::key).collect();
        assert_eq!(keys.len(), cells.len());
        let mut renamed = cells[0].clone();
        renamed.method.label = Some("another name".into());
        assert_eq!(renamed.key(), cells[0].key());
    }

    #[test]
    fn shards_cover_every_cell_once() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].iter().map(|s| s.parse().unwrap()).collect();
        assert!((0..10).all(|i| shards.iter().filter(|s| s.holds(i)).count() == 1));
        assert!(["0/3", "4/3", "a/b", "3"].iter().all(|s| s.parse::<Shard>().is_err()));
    }
}
