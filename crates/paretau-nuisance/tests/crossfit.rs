//! Cross-fitting: who learned from what, and with which seeds.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use paretau_core::{
    Dense, Design, Features, FitContext, FittedRegressor, RegressionTask, Regressor, Result, Seed, State, Target,
};
use paretau_nuisance::{CrossTask, HeldOut, cross_fit, design_folds, fit_folds};

fn confounded(n: usize, strength: f64) -> (Design, Vec<f64>) {
    let mut rng = Seed(12).rng();
    let x: Vec<f64> = (0..n * 2).map(|_| rng.normal()).collect();
    let e: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + (-strength * x[2 * i]).exp())).collect();
    let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
    let y: Vec<f64> = (0..n).map(|i| x[2 * i] + rng.normal()).collect();
    (Design::new(Features::Dense(Dense::new(n, 2, x).unwrap()), t, y).unwrap(), e)
}

/// Predicts the mean of its training outcomes; with held-out means of its own when `own`.
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

/// Predicts the number of rows it learned from, and its seed.
#[derive(Debug)]
struct RecordingLearner;

impl Regressor for RecordingLearner {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        Ok(Box::new(MeanModel(task.y.len() as f64 + (ctx.seed.0 % 1000) as f64 / 1000.0, None)))
    }
}

#[test]
fn folds_keep_their_models_their_seeds_and_their_limit_of_rows() {
    let (design, _) = confounded(50, 0.5);
    let parts = design_folds(&design, 5, Seed(0)).unwrap();
    let task = CrossTask { most_rows: Some(30), ..CrossTask::of(&design, design.y(), Target::Mean) };
    let ctx = FitContext::silent(Seed(9));
    let fits = fit_folds(&task, &RecordingLearner, &parts, Seed(4), &ctx).unwrap();
    assert_eq!(fits.models.len(), 5);
    for (k, fold) in parts.iter().enumerate() {
        let expected = 30.0 + (Seed(4).indexed(k as u64).0 % 1000) as f64 / 1000.0;
        assert!(fold.held_out.iter().all(|&i| fits.held_out[i] == expected));
    }
}
