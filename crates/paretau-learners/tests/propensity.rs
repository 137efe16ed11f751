//! Propensities, inverse weights and cross-fitting.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use paretau_core::{
    BaseEntry, Dense, Design, Features, FitContext, FittedRegressor, Params, RegressionTask, Regressor, Result, Seed,
    State, Target,
};
use paretau_learners::{
    CrossTask, HeldOut, Overlap, PropensityModel, PropensityOptions, RidgeBase, cross_fit, design_folds,
    inverse_weights,
};

fn confounded(n: usize, strength: f64) -> (Design, Vec<f64>) {
    let mut rng = Seed(12).rng();
    let x: Vec<f64> = (0..n * 2).map(|_| rng.normal()).collect();
    let e: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + (-strength * x[2 * i]).exp())).collect();
    let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
    let y: Vec<f64> = (0..n).map(|i| x[2 * i] + rng.normal()).collect();
    (Design::new(Features::Dense(Dense::new(n, 2, x).unwrap()), t, y).unwrap(), e)
}

#[test]
fn the_propensity_is_learned_held_out_and_survives_its_state() {
    let (design, e) = confounded(2000, 1.0);
    for calibrate in [false, true] {
        let options = PropensityOptions { calibrate, ..PropensityOptions::default() };
        let fit = PropensityModel::fit(&design, &options, &FitContext::silent(Seed(1))).unwrap();
        let error: f64 = fit.held_out.iter().zip(&e).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2000.0;
        assert!(error < 0.05, "{error}");
        let back = PropensityModel::load(&fit.model.state().unwrap()).unwrap();
        assert_eq!(back.predict(design.x()).unwrap(), fit.model.predict(design.x()).unwrap());
        let mut torn = fit.model.state().unwrap();
        torn.tensors.pop_first();
        assert!(PropensityModel::load(&torn).is_err());
    }
    let known = design.with_propensity(e.clone()).unwrap();
    let fit = PropensityModel::fit(&known, &PropensityOptions::default(), &FitContext::silent(Seed(1))).unwrap();
    assert_eq!(fit.held_out, e);
}

#[test]
fn inverse_weights_clip_trim_and_smooth() {
    let mut rng = Seed(3).rng();
    let n = 2000;
    let e: Vec<f64> = (0..n).map(|_| 1.0 / (1.0 + (-3.0 * rng.normal()).exp())).collect();
    let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
    let raw: Vec<f64> = e.iter().zip(&t).map(|(e, t)| if *t == 1 { 1.0 / e } else { 1.0 / (1.0 - e) }).collect();
    let clip = inverse_weights(&e, &t, Overlap::Clip, 0.05).unwrap();
    for i in 0..n {
        assert!((clip.w[i] - raw[i].min(20.0)).abs() < 1e-9 * raw[i] || clip.w[i] < 1.06, "{} {}", clip.w[i], raw[i]);
    }
    let trim = inverse_weights(&e, &t, Overlap::Trim, 0.05).unwrap();
    assert_eq!(trim.w.iter().filter(|w| **w == 0.0).count(), trim.beyond);
    let pareto = inverse_weights(&e, &t, Overlap::Pareto, 1e-4).unwrap();
    assert!(pareto.w.iter().all(|w| *w <= 1e4));
    assert_eq!(pareto.smoothed, [true, true]);
    let changed = pareto.w.iter().zip(&raw).filter(|(a, b)| (*a - *b).abs() > 1e-9 * **b).count();
    assert!(changed > 100 && changed < 2 * 134 + 1, "{changed}");
    // A trial: equal weights are left alone.
    let flat = inverse_weights(&[0.5; 60], &t[..60], Overlap::Pareto, 0.01).unwrap();
    assert!(flat.w.iter().all(|w| (*w - 2.0).abs() < 1e-12) && flat.smoothed == [false, false]);
    assert!(inverse_weights(&[0.001, 0.999], &[0, 1], Overlap::Trim, 0.01).is_err());
}

/// Predicts the mean of its training outcomes; tells the held-out mean when `own`.
#[derive(Debug)]
struct MeanLearner {
    own: bool,
    fits: AtomicUsize,
}

#[derive(Debug)]
struct MeanModel(f64, Option<Vec<f64>>);

impl Regressor for MeanLearner {
    fn fit(&self, task: &RegressionTask<'_>, _: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        self.fits.fetch_add(1, Ordering::Relaxed);
        let (sum, n) = (task.y.iter().sum::<f64>(), task.y.len() as f64);
        let own = self.own.then(|| task.y.iter().map(|y| (sum - y) / (n - 1.0)).collect());
        Ok(Box::new(MeanModel(sum / n, own)))
    }
}

impl FittedRegressor for MeanModel {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        Ok(vec![self.0; x.n_rows()])
    }

    fn held_out(&self) -> Option<&[f64]> {
        self.1.as_deref()
    }

    fn state(&self) -> Result<State> {
        State::new(&self.0)
    }
}

#[test]
fn no_row_is_predicted_by_a_model_that_saw_it() {
    let (design, _) = confounded(40, 0.5);
    let groups: Vec<u32> = (0..40).map(|i| i / 4).collect();
    let design = design.grouped(groups.clone()).unwrap();
    let parts = design_folds(&design, 5, Seed(0)).unwrap();
    let control: Vec<bool> = design.t().iter().map(|t| *t == 0).collect();
    let task = CrossTask::of(&design, design.y(), Target::Mean).from_rows(&control);
    let ctx = FitContext::silent(Seed(0));
    let learner = MeanLearner { own: false, fits: AtomicUsize::new(0) };
    let by_folds = cross_fit(&task, &learner, &parts, HeldOut::Oob, &ctx).unwrap();
    assert_eq!(learner.fits.load(Ordering::Relaxed), 6);
    for fold in &parts {
        let learned: Vec<f64> = fold.train.iter().filter(|&&i| control[i]).map(|&i| design.y()[i]).collect();
        let mean = learned.iter().sum::<f64>() / learned.len() as f64;
        for &i in &fold.held_out {
            assert_eq!(by_folds.held_out[i], mean);
            assert!(fold.train.iter().all(|&j| groups[i] != groups[j]));
        }
    }
    let learner = MeanLearner { own: true, fits: AtomicUsize::new(0) };
    let own = cross_fit(&task, &learner, &parts, HeldOut::Oob, &ctx).unwrap();
    assert_eq!(learner.fits.load(Ordering::Relaxed), 1);
    let sum: f64 = (0..40).filter(|&i| control[i]).map(|i| design.y()[i]).sum();
    let n = control.iter().filter(|c| **c).count() as f64;
    for i in 0..40 {
        let expected = if control[i] { (sum - design.y()[i]) / (n - 1.0) } else { sum / n };
        assert!((own.held_out[i] - expected).abs() < 1e-12);
    }
}

#[test]
fn the_ridge_base_learner_predicts_means_and_probabilities() {
    let (design, _) = confounded(300, 1.0);
    let t: Vec<f64> = design.t().iter().map(|t| f64::from(*t)).collect();
    let learner = RidgeBase.build(&Params::none()).unwrap();
    for (target, y) in [(Target::Mean, design.y()), (Target::Probability, &t[..])] {
        let task = RegressionTask { x: design.x(), columns: design.columns(), y, weight: None, groups: None, target };
        let model = learner.fit(&task, &FitContext::silent(Seed(0))).unwrap();
        let back = RidgeBase.load(&model.state().unwrap()).unwrap();
        assert_eq!(back.predict(design.x()).unwrap(), model.predict(design.x()).unwrap());
        assert!(back.predict(&design.x().select(&[])).unwrap().is_empty());
        if target == Target::Probability {
            assert!(model.predict(design.x()).unwrap().iter().all(|p| *p > 0.0 && *p < 1.0));
        }
    }
    assert!(RidgeBase.build(&Params::none().with("penalty", -1)).is_err());
}
