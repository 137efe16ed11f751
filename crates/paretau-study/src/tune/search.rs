//! How the next trial is chosen: by a grid, at random, or by densities of good and bad trials (TPE).

use paretau_core::{Error, Params, Result, Seed};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::space::{Dimension, Space};
use super::trials::Trial;

/// A way to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Every combination of a few values of each parameter.
    Grid,
    /// Independent draws.
    Random,
    /// Tree-structured Parzen estimator: changes a few parameters of the best trial, towards good trials and away from bad ones.
    Tpe,
}

impl Search {
    const ALL: [Self; 3] = [Self::Grid, Self::Random, Self::Tpe];

    /// Its name in plans and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Random => "random",
            Self::Tpe => "tpe",
        }
    }
}

impl std::str::FromStr for Search {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|search| search.name() == text);
        found.ok_or_else(|| Error::unknown_name("search", text, Self::ALL.map(Self::name)))
    }
}

/// Draws before TPE has learnt anything.
const WARM_UP: usize = 5;

/// Parameters that a trial of TPE changes on average, besides one that it always changes.
const CHANGED: f64 = 2.0;

/// Parameters of the trial of that index (at least 1), given all before it. The same history gives the same trial,
/// so that a resumed search goes on as if it had never stopped.
pub(super) fn propose(space: &Space, search: Search, index: usize, before: &[Trial], seed: Seed) -> Result<Params> {
    let mut params = Params::none();
    let draw = seed.named("trial").indexed(index as u64);
    match search {
        Search::Grid => {
            let mut rest = index - 1;
            for (name, dimension) in &space.0 {
                params = params.with(name, dimension.on_grid(rest % dimension.grid_size()));
                rest /= dimension.grid_size();
            }
        }
        Search::Random => {
            let mut rng = draw.rng();
            for (name, dimension) in &space.0 {
                params = params.with(name, dimension.at(rng.uniform()));
            }
        }
        Search::Tpe => {
            // From the best trial so far a few parameters are changed: of a dozen drawn anew at once, one that is badly off hides
            // what the others gain, and a search of ten trials would end where it began.
            let mut rng = draw.rng();
            let mut densities = ChaCha8Rng::seed_from_u64(rng.bits());
            params = best(before).map_or_else(Params::none, |trial| trial.params.clone());
            params.0.retain(|name, _| space.0.contains_key(name));
            let share = CHANGED / space.0.len().max(1) as f64;
            let surely = rng.below(space.0.len());
            for (k, (name, dimension)) in space.0.iter().enumerate() {
                // Drawn for every parameter, so that no draw depends on an earlier one's outcome.
                let (chance, place) = (rng.uniform(), rng.uniform());
                if k == surely || chance < share {
                    let value = match index {
                        ..=WARM_UP => dimension.at(place),
                        _ => ask(name, dimension, before, &mut densities)?,
                    };
                    params = params.with(name, value);
                }
            }
        }
    }
    Ok(params)
}

/// The trial with the least loss; the first of equals.
pub(super) fn best(trials: &[Trial]) -> Option<&Trial> {
    let mut best: Option<(&Trial, f64)> = None;
    for trial in trials {
        if let Some(value) = trial.value
            && best.is_none_or(|(_, least)| value < least)
        {
            best = Some((trial, value));
        }
    }
    best.map(|(trial, _)| trial)
}

/// One parameter by TPE. Failed trials and those given up count as the worst, so that their region is avoided.
fn ask(name: &str, dimension: &Dimension, before: &[Trial], rng: &mut ChaCha8Rng) -> Result<Value> {
    let internal = |e: &dyn std::fmt::Display| Error::Numeric { what: "choosing a trial", message: e.to_string() };
    let worst = before.iter().filter_map(|trial| trial.value).fold(f64::NEG_INFINITY, f64::max);
    let history = before.iter().filter_map(|trial| {
        let place = dimension.place_of(trial.params.0.get(name)?)?;
        Some((place, trial.value.or_else(|| worst.is_finite().then_some(worst))?))
    });
    match dimension {
        Dimension::OneOf(values) => {
            let range = tpe::categorical_range(values.len()).map_err(|e| internal(&e))?;
            let mut optimizer = tpe::TpeOptimizer::new(tpe::histogram_estimator(), range);
            for (place, value) in history {
                optimizer.tell(place, value).map_err(|e| internal(&e))?;
            }
            let choice = optimizer.ask(rng).map_err(|e| internal(&e))?;
            Ok(values[(choice as usize).min(values.len() - 1)].clone())
        }
        Dimension::Between { .. } => {
            let range = tpe::range(0.0, 1.0 + f64::EPSILON).map_err(|e| internal(&e))?;
            let mut optimizer = tpe::TpeOptimizer::new(tpe::parzen_estimator(), range);
            for (place, value) in history {
                optimizer.tell(place.clamp(0.0, 1.0), value).map_err(|e| internal(&e))?;
            }
            Ok(dimension.at(optimizer.ask(rng).map_err(|e| internal(&e))?.clamp(0.0, 1.0)))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn space() -> Space {
        let range = Dimension::Between { low: 1e-4, high: 1.0, log: true, whole: false };
        let choice = Dimension::OneOf(vec!["good".into(), "bad".into(), "worse".into()]);
        Space([("rate".to_owned(), range), ("kind".to_owned(), choice)].into())
    }

    /// A bowl around a rate of 0.01, with a penalty on the kind.
    fn objective(params: &Params) -> f64 {
        let rate = params.0["rate"].as_f64().unwrap();
        let kind = params.0["kind"].as_str().unwrap();
        (rate.log10() + 2.0).powi(2) + ["good", "bad", "worse"].iter().position(|k| *k == kind).unwrap() as f64
    }

    fn best_of(search: Search, trials: usize, seed: u64) -> f64 {
        let mut before = vec![];
        for index in 1..=trials {
            let params = propose(&space(), search, index, &before, Seed(seed)).unwrap();
            let value = Some(objective(&params));
            before.push(Trial { index, params, folds: vec![], value, given_up: false, error: None });
        }
        before.iter().filter_map(|trial| trial.value).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn tpe_finds_the_bowl_faster_than_chance() {
        let total = |search| (0..20).map(|seed| best_of(search, 30, seed)).sum::<f64>();
        let (tpe, random) = (total(Search::Tpe), total(Search::Random));
        assert!(tpe < random, "TPE {tpe}, random {random}");
    }

    /// Twelve parameters whose defaults are passable; only some matter much. What a trial leaves out is at its default.
    fn best_of_many(search: Search, trials: usize, seed: u64) -> f64 {
        let names: Vec<String> = (0..12).map(|k| format!("p{k:02}")).collect();
        let range = Dimension::Between { low: 0.0, high: 1.0, log: false, whole: false };
        let space = Space(names.iter().map(|name| (name.clone(), range.clone())).collect());
        let loss = |params: &Params| -> f64 {
            let at = |k: usize| params.0.get(&names[k]).map_or(0.4, |value| value.as_f64().unwrap());
            (0..12).map(|k| (at(k) - (0.3 + 0.04 * k as f64)).powi(2) * if k % 3 == 0 { 3.0 } else { 0.5 }).sum()
        };
        let mut before: Vec<Trial> = vec![];
        for index in 0..trials {
            let params = match index {
                0 => Params::none(),
                _ => propose(&space, search, index, &before, Seed(seed)).unwrap(),
            };
            let value = Some(loss(&params));
            before.push(Trial { index, params, folds: vec![], value, given_up: false, error: None });
        }
        best(&before).unwrap().value.unwrap() / before[0].value.unwrap()
    }

    #[test]
    fn a_short_search_of_many_parameters_improves_on_passable_defaults() {
        let gains = |search| (0..40).filter(|&seed| best_of_many(search, 10, seed) < 0.95).count();
        let (tpe, random) = (gains(Search::Tpe), gains(Search::Random));
        assert!(tpe > 2 * random, "of 40 searches {tpe} gained by TPE, {random} by drawing all parameters at once");
    }

    #[test]
    fn tpe_changes_some_parameters_of_the_best_trial_and_leaves_the_rest() {
        let range = Dimension::Between { low: 0.0, high: 1.0, log: false, whole: false };
        let space = Space((0..12).map(|k| (format!("p{k:02}"), range.clone())).collect());
        let trial = |index, place: f64, value| {
            let params = space.0.keys().fold(Params::none(), |all, name| all.with(name, place));
            Trial { index, params, folds: vec![], value, given_up: false, error: None }
        };
        let before = [trial(0, 0.25, Some(2.0)), trial(1, 0.5, Some(1.0)), trial(2, 0.75, None)];
        let mut changed = vec![];
        for index in 3..60 {
            let params = propose(&space, Search::Tpe, index, &before, Seed(1)).unwrap();
            changed.push(params.0.values().filter(|value| value.as_f64() != Some(0.5)).count());
        }
        assert!(changed.iter().all(|&n| n >= 1), "{changed:?}");
        let mean = changed.iter().sum::<usize>() as f64 / changed.len() as f64;
        assert!((2.0..4.0).contains(&mean), "{mean} parameters changed on average");
    }

    #[test]
    fn a_grid_visits_every_combination_once() {
        let size = space().capacity(Search::Grid).unwrap();
        assert_eq!(size, 12);
        let mut seen: Vec<String> = (1..=size)
            .map(|i| serde_json::to_string(&propose(&space(), Search::Grid, i, &[], Seed(0)).unwrap()).unwrap())
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), size);
    }

    #[test]
    fn the_same_history_gives_the_same_trial() {
        for search in [Search::Grid, Search::Random, Search::Tpe] {
            let once = propose(&space(), search, 3, &[], Seed(4)).unwrap();
            assert_eq!(once, propose(&space(), search, 3, &[], Seed(4)).unwrap());
        }
        assert!("tpee".parse::<Search>().unwrap_err().to_string().contains("did you mean `tpe`"));
    }
}
