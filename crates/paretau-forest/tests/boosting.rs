//! Boosting: what it learns, what must not change its answer, and what it refuses.

#![allow(clippy::unwrap_used)]

use paretau_core::{
    BaseEntry, Column, ColumnKind, Csr, Dense, Error, Event, Features, FitContext, FittedRegressor, Observer, Params,
    RegressionTask, Result, Seed, Target,
};
use paretau_forest::{BOOSTING, BoostedTrees, BoostingConfig, BoostingLoss, BoostingRegressor};

struct Rows {
    x: Features,
    columns: Vec<Column>,
    y: Vec<f64>,
    weight: Option<Vec<f64>>,
    groups: Option<Vec<u32>>,
    target: Target,
}

impl Rows {
    fn new(values: Vec<f64>, p: usize, y: Vec<f64>) -> Self {
        let x = Features::Dense(Dense::new(y.len(), p, values).unwrap());
        Self { x, columns: Column::numbered(p), y, weight: None, groups: None, target: Target::Mean }
    }

    fn task(&self) -> RegressionTask<'_> {
        RegressionTask {
            x: &self.x,
            columns: &self.columns,
            y: &self.y,
            weight: self.weight.as_deref(),
            groups: self.groups.as_deref(),
            target: self.target,
        }
    }

    fn fit(&self, config: BoostingConfig) -> Result<BoostedTrees> {
        BoostingRegressor::new(config)?.fit_trees(&self.task(), &FitContext::silent(Seed(7)))
    }
}

/// A curve, a step and an interaction of three columns, and two columns of noise.
fn surface(x: &[f64]) -> f64 {
    x[0] * x[0] + if x[1] > 0.3 { 2.0 } else { 0.0 } + x[0] * x[2]
}

fn drawn(n: usize, seed: u64, noise: f64) -> Rows {
    let mut rng = Seed(seed).rng();
    let values: Vec<f64> = (0..n * 5).map(|_| rng.normal()).collect();
    let y = values.chunks(5).map(|x| surface(x) + noise * rng.normal()).collect();
    Rows::new(values, 5, y)
}

fn quick() -> BoostingConfig {
    BoostingConfig { n_estimators: 150, max_leaves: Some(8), ..BoostingConfig::default() }
}

fn mean_squares(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64
}

#[test]
fn means_are_learned_and_held_out_rows_tell_the_error() {
    let (rows, fresh) = (drawn(3000, 1, 1.0), drawn(20_000, 2, 1.0));
    let model = rows.fit(BoostingConfig::default()).unwrap();
    let predicted = model.predict(&fresh.x).unwrap();
    // The noise alone is 1; without a model it is 1 plus the surface's variance, about 5.
    let error = mean_squares(&predicted, &fresh.y);
    assert!(error < 1.3, "{error}");
    let held_out = mean_squares(model.held_out().unwrap(), &rows.y);
    // Held-out rows are predicted by single models, new ones by their mean; 3000 squares have a standard error of 3 to 4 %.
    assert!(held_out > 0.9 * error && held_out < 1.15 * error, "{held_out} {error}");
    assert!(model.rounds() > 20 && model.rounds() < 1000);
    assert!(model.importance()[0].share > model.importance()[4].share);
}

#[test]
fn probabilities_are_learned_and_calibrated() {
    let mut rows = drawn(4000, 3, 0.0);
    let chance = |s: f64| 1.0 / (1.0 + (-(s - 1.5)).exp());
    let classes = |y: &[f64], seed: u64| -> Vec<f64> {
        let mut rng = Seed(seed).rng();
        y.iter().map(|&s| f64::from(u8::from(rng.bernoulli(chance(s))))).collect()
    };
    let truth: Vec<f64> = rows.y.iter().map(|&s| chance(s)).collect();
    (rows.y, rows.target) = (classes(&rows.y, 5), Target::Probability);
    let model = rows.fit(BoostingConfig::default()).unwrap();
    let held_out = model.held_out().unwrap();
    assert!(held_out.iter().all(|p| *p > 0.0 && *p < 1.0));
    assert!(mean_squares(held_out, &truth) < 0.01, "{}", mean_squares(held_out, &truth));
    let fresh = drawn(2000, 4, 0.0);
    let truth: Vec<f64> = fresh.y.iter().map(|&s| chance(s)).collect();
    let p = model.predict(&fresh.x).unwrap();
    assert!(mean_squares(&p, &truth) < 0.01, "{}", mean_squares(&p, &truth));
}

#[test]
fn medians_are_not_moved_by_outliers() {
    let mut rows = drawn(2000, 5, 0.3);
    let fresh = drawn(2000, 6, 0.0);
    rows.y.iter_mut().step_by(20).for_each(|y| *y += 300.0);
    let absolute = rows.fit(BoostingConfig { loss: BoostingLoss::Absolute, ..quick() }).unwrap();
    let squared = rows.fit(quick()).unwrap();
    let error = |model: &BoostedTrees| mean_squares(&model.predict(&fresh.x).unwrap(), &fresh.y);
    assert!(error(&absolute) < 1.0 && error(&squared) > 20.0, "{} {}", error(&absolute), error(&squared));
}

#[test]
fn threads_do_not_change_a_bit() {
    for (target, sampled) in [(Target::Mean, false), (Target::Probability, true)] {
        let mut rows = drawn(6000, 7, 1.0);
        if target == Target::Probability {
            rows.y.iter_mut().for_each(|y| *y = f64::from(u8::from(*y > 1.0)));
        }
        rows.target = target;
        let share = if sampled { 0.7 } else { 1.0 };
        let config = BoostingConfig { n_estimators: 30, max_samples: share, feature_share: share, ..quick() };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| rows.fit(config).unwrap())
        };
        assert_eq!(on(1), on(3));
    }
}

#[test]
fn weights_count_as_copies_of_rows() {
    // Few values per column, so that copies do not change the bins.
    let mut rng = Seed(8).rng();
    let values: Vec<f64> = (0..500 * 5).map(|_| (2.0 * rng.normal()).round().clamp(-4.0, 4.0) / 2.0).collect();
    let y = values.chunks(5).map(|x| surface(x) + 0.5 * rng.normal()).collect();
    let rows = Rows::new(values, 5, y);
    let copies: Vec<usize> = (0..500).flat_map(|i| std::iter::repeat_n(i, 1 + i % 3)).collect();
    let copied = Rows {
        x: rows.x.select(&copies),
        y: copies.iter().map(|&i| rows.y[i]).collect(),
        columns: rows.columns.clone(),
        ..drawn(1, 1, 0.0)
    };
    // Penalties and least sizes of leaves count rows, of which copies are more.
    let config = BoostingConfig { folds: 1, n_estimators: 20, min_leaf_size: 1, l2: 0.0, ..quick() };
    let weight = (0..500).map(|i| f64::from(u8::try_from(1 + i % 3).unwrap())).collect();
    let plain = copied.fit(config).unwrap().predict(&rows.x).unwrap();
    let weighted = Rows { weight: Some(weight), ..rows };
    let predicted = weighted.fit(config).unwrap().predict(&weighted.x).unwrap();
    assert!(predicted.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-4), "{}", mean_squares(&predicted, &plain));
}

#[test]
fn rows_without_weight_teach_nothing() {
    let mut rows = drawn(600, 9, 0.5);
    rows.weight = Some((0..600).map(|i| f64::from(u8::from(i % 4 > 0))).collect());
    let before = rows.fit(quick()).unwrap().predict(&rows.x).unwrap();
    rows.y.iter_mut().step_by(4).for_each(|y| *y = -50.0);
    assert_eq!(rows.fit(quick()).unwrap().predict(&rows.x).unwrap(), before);
}

#[test]
fn weights_may_have_any_unit_and_outcomes_any_level() {
    let mut rows = drawn(800, 10, 0.5);
    rows.weight = Some((0..800).map(|i| 0.5 + f64::from(u8::try_from(i % 7).unwrap())).collect());
    let model = rows.fit(quick()).unwrap();
    let plain = model.predict(&rows.x).unwrap();
    rows.weight.iter_mut().flatten().for_each(|w| *w *= 1024.0);
    assert_eq!(rows.fit(quick()).unwrap().predict(&rows.x).unwrap(), plain);
    rows.y.iter_mut().for_each(|y| *y = 1e6 + 1e3 * *y);
    let moved = rows.fit(quick()).unwrap().predict(&rows.x).unwrap();
    assert!(plain.iter().zip(&moved).all(|(a, b)| ((b - 1e6) / 1e3 - a).abs() < 0.02));
}

#[test]
fn groups_are_held_out_together() {
    // The outcome is a number of the group's own, which a column gives away: only rows of the same group know it.
    let mut rng = Seed(11).rng();
    let groups: Vec<u32> = (0..900).map(|i| i / 30).collect();
    let level: Vec<f64> = (0..30).map(|_| rng.normal()).collect();
    let values = groups.iter().map(|&g| f64::from(g)).collect();
    let y: Vec<f64> = groups.iter().map(|&g| level[g as usize] + 0.1 * rng.normal()).collect();
    let alone = Rows::new(values, 1, y);
    let config = BoostingConfig { min_leaf_size: 5, ..quick() };
    let error = |rows: &Rows| mean_squares(rows.fit(config).unwrap().held_out().unwrap(), &rows.y);
    let by_rows = error(&alone);
    let together = Rows { groups: Some(groups), ..alone };
    let by_groups = error(&together);
    assert!(by_rows < 0.1 && by_groups > 0.5, "{by_rows} {by_groups}");
}

#[test]
fn missing_values_and_categories_are_learned_from() {
    let mut rng = Seed(12).rng();
    let effect = [3.0, -2.0, 0.5, 3.0, -2.0, 1.0];
    let (mut values, mut y) = (vec![], vec![]);
    for _ in 0..3000 {
        let (level, amount) = (rng.below(6), rng.normal());
        let is_missing = rng.bernoulli(0.3);
        values.extend([level as f64, if is_missing { f64::NAN } else { amount }]);
        y.push(effect[level] + if is_missing { 4.0 } else { amount } + 0.3 * rng.normal());
    }
    let mut rows = Rows::new(values, 2, y);
    rows.columns[0].kind = ColumnKind::Categorical { levels: 6 };
    let model = rows.fit(quick()).unwrap();
    let held_out = mean_squares(model.held_out().unwrap(), &rows.y);
    assert!(held_out < 0.15, "{held_out}");
    let strange = Features::Dense(Dense::new(1, 2, vec![17.0, f64::NAN]).unwrap());
    assert!(model.predict(&strange).unwrap()[0].is_finite());
    let back = BOOSTING.load(&model.state().unwrap()).unwrap();
    assert_eq!(back.predict(&rows.x).unwrap(), model.predict(&rows.x).unwrap());
}

#[test]
fn sparse_columns_are_dense_ones() {
    let (n, p) = (1500, 12);
    let mut rng = Seed(13).rng();
    let values: Vec<f64> =
        (0..n * p).map(|_| if rng.bernoulli(0.06) { 1.0 + rng.below(4) as f64 } else { 0.0 }).collect();
    let y = values.chunks(p).map(|x| x[0] - x[1] + x[2] * x[2] + 0.2 * rng.normal()).collect();
    let dense = Rows::new(values.clone(), p, y);
    let (mut indptr, mut indices, mut entries) = (vec![0], vec![], vec![]);
    for row in values.chunks(p) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).unwrap());
            entries.push(v);
        }
        indptr.push(indices.len());
    }
    let sparse = Features::Sparse(Csr::new(n, p, indptr, indices, entries).unwrap());
    // Most rows of a column are 0, so that the few others are listed.
    let config = BoostingConfig { min_leaf_size: 5, ..quick() };
    let of_dense = dense.fit(config).unwrap();
    let rows = Rows { x: sparse, ..dense };
    let of_sparse = rows.fit(config).unwrap();
    assert_eq!(of_dense, of_sparse);
    let error = mean_squares(of_sparse.held_out().unwrap(), &rows.y);
    // The outcome's variance is above 5.
    assert!(error < 0.5, "{error}");
}

#[test]
fn models_come_back_from_their_state_and_damage_is_refused() {
    let rows = drawn(400, 14, 0.5);
    let model = rows.fit(quick()).unwrap();
    let state = model.state().unwrap();
    let back = BOOSTING.load(&state).unwrap();
    assert_eq!(back.predict(&rows.x).unwrap(), model.predict(&rows.x).unwrap());
    let mut damaged = state.clone();
    damaged.json["facts"]["n_models"] = 0.into();
    assert!(BOOSTING.load(&damaged).is_err());
    let mut damaged = state;
    damaged.tensors.remove("trees/leaves");
    assert!(BOOSTING.load(&damaged).is_err());
    let narrow = Features::Dense(Dense::new(1, 2, vec![0.0; 2]).unwrap());
    assert!(model.predict(&narrow).unwrap_err().to_string().contains("5 feature columns"));
}

#[test]
fn noise_and_constants_are_predicted_by_the_mean() {
    let mut rng = Seed(15).rng();
    let values: Vec<f64> = (0..600 * 3).map(|_| rng.normal()).collect();
    let rows = Rows::new(values.clone(), 3, (0..600).map(|_| rng.normal()).collect());
    let held_out = mean_squares(rows.fit(BoostingConfig::default()).unwrap().held_out().unwrap(), &rows.y);
    assert!(held_out < 1.1, "{held_out}");
    let rows = Rows::new(values, 3, vec![2.5; 600]);
    let model = rows.fit(BoostingConfig::default()).unwrap();
    assert!(model.predict(&rows.x).unwrap().iter().all(|p| *p == 2.5));
    let state = model.state().unwrap();
    assert_eq!(BOOSTING.load(&state).unwrap().predict(&rows.x).unwrap(), vec![2.5; 600]);
    // Two rows are enough for a mean.
    let two = Rows::new(vec![0.0, 1.0], 1, vec![1.0, 3.0]);
    let predicted = two.fit(BoostingConfig::default()).unwrap().predict(&two.x).unwrap();
    assert!(predicted.iter().all(|p| p.is_finite()), "{predicted:?}");
}

struct Impatient;

impl Observer for Impatient {
    fn event(&self, _: &Event) {}

    fn interrupted(&self) -> bool {
        true
    }
}

#[test]
fn fits_can_be_interrupted_and_refusals_name_the_remedy() {
    let mut rows = drawn(300, 16, 1.0);
    let learner = BOOSTING.build(&Params::none()).unwrap();
    let stopped = learner.fit(&rows.task(), &FitContext::new(Seed(1), &Impatient)).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted));
    let error = BOOSTING.build(&Params::none().with("folds", 1)).unwrap_err().to_string();
    assert!(error.contains("max_leaves"), "{error}");
    assert!(
        BOOSTING.build(&Params::none().with("loss", "cubic")).unwrap_err().to_string().contains("squared, absolute")
    );
    rows.target = Target::Probability;
    assert!(rows.fit(quick()).unwrap_err().to_string().contains("0 or 1"));
    rows.target = Target::Mean;
    rows.y[4] = f64::NAN;
    assert!(rows.fit(quick()).unwrap_err().to_string().contains("row 5"));
}
