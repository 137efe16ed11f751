//! Cross-fitting, the one implementation: every row is predicted by a model that did not learn from it.
//!
//! Either the learner's own held-out predictions are used (out of bag, one fit), or one model per fold is fitted, in
//! parallel where the data are small. Models get their seeds from the fold's number, so that nothing depends on the order in which they finish.

use paretau_core::{
    Design, Error, Features, FitContext, FittedRegressor, Fold, RegressionTask, Regressor, Result, Seed, Target,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Cells of a feature matrix up to which all folds are fitted at the same time; of larger ones it is one fold after another,
/// and the threads work within it.
const MOST_CELLS_AT_ONCE: usize = 1 << 20;
/// Rows that are predicted at a time however many columns there are, since sparse ones are mostly empty.
const LEAST_ROWS_AT_ONCE: usize = 4096;
/// Most: a large forest predicts so many in a fraction of a second.
const MOST_ROWS_AT_ONCE: usize = 16_384;

/// Where predictions for the training rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOut {
    /// Out of bag where the learner has such predictions, else folds.
    Oob,
    /// Always folds.
    Folds,
}

/// A regression to be cross-fitted.
#[derive(Debug, Clone, Copy)]
pub struct CrossTask<'a> {
    /// All rows; outcomes of rows that are not learned from are ignored.
    pub rows: RegressionTask<'a>,
    /// Which rows may be learned from (an arm, say); all rows are predicted. `None` is all.
    pub learn_from: Option<&'a [bool]>,
    /// Most rows that a model learns from; of more, as many are drawn with its seed. Rows in groups are drawn for folds only.
    pub most_rows: Option<usize>,
}

impl<'a> CrossTask<'a> {
    /// A regression that may learn from every row.
    pub fn new(rows: RegressionTask<'a>) -> Self {
        Self { rows, learn_from: None, most_rows: None }
    }

    /// The regression of `y` on a design's features, with its weights and groups.
    pub fn of(design: &'a Design, y: &'a [f64], target: Target) -> Self {
        Self::new(RegressionTask {
            x: design.x(),
            columns: design.columns(),
            y,
            weight: design.weight(),
            groups: design.groups(),
            target,
        })
    }

    /// The same, learning only from the marked rows.
    #[must_use]
    pub fn from_rows(self, learn_from: &'a [bool]) -> Self {
        Self { learn_from: Some(learn_from), ..self }
    }

    /// Fits on the given rows that may be learned from.
    fn fit(&self, rows: Option<&[usize]>, learner: &dyn Regressor, ctx: &FitContext<'_>) -> Result<Fitted> {
        ctx.check_interrupt()?;
        let task = &self.rows;
        let all = || -> Vec<usize> { (0..task.y.len()).collect() };
        let chosen: Option<Vec<usize>> = match (rows, self.learn_from) {
            (None, None) => None,
            (rows, mask) => {
                let mut from = rows.map_or_else(all, <[usize]>::to_vec);
                if let Some(mask) = mask {
                    from.retain(|&i| mask[i]);
                }
                Some(from)
            }
        };
        // Out of bag, rows that were not drawn count as unseen, which those with a drawn row in their group are not.
        let most = self.most_rows.filter(|_| rows.is_some() || task.groups.is_none());
        let n = chosen.as_ref().map_or(task.y.len(), Vec::len);
        let chosen = match most {
            Some(most) if n > most => {
                let mut kept = ctx.seed.rng().sample(n, most);
                kept.sort_unstable();
                Some(kept.into_iter().map(|i| chosen.as_ref().map_or(i, |chosen| chosen[i])).collect())
            }
            _ => chosen,
        };
        let Some(chosen) = chosen else {
            return Ok(Fitted { model: learner.fit(task, ctx)?, rows: all() });
        };
        if chosen.is_empty() || task.weight.is_some_and(|w| chosen.iter().all(|&i| w[i] <= 0.0)) {
            return Err(Error::unfit(
                "a part of the cross-fitting has no rows of one arm; use fewer folds, or larger groups",
            ));
        }
        let x = task.x.select(&chosen);
        let pick = |v: &[f64]| -> Vec<f64> { chosen.iter().map(|&i| v[i]).collect() };
        let (y, weight) = (pick(task.y), task.weight.map(pick));
        let groups: Option<Vec<u32>> = task.groups.map(|g| chosen.iter().map(|&i| g[i]).collect());
        let part = RegressionTask { x: &x, y: &y, weight: weight.as_deref(), groups: groups.as_deref(), ..*task };
        Ok(Fitted { model: learner.fit(&part, ctx)?, rows: chosen })
    }
}

struct Fitted {
    model: Box<dyn FittedRegressor>,
    rows: Vec<usize>,
}

/// What cross-fitting gives.
#[derive(Debug)]
pub struct CrossFit {
    /// A prediction for every row, by a model that did not learn from it.
    pub held_out: Vec<f64>,
    /// The model of all rows that may be learned from, for new rows.
    pub model: Box<dyn FittedRegressor>,
}

/// Cross-fits and also fits on all rows. The folds are shared by all nuisances of one estimator.
pub fn cross_fit(
    task: &CrossTask<'_>,
    learner: &dyn Regressor,
    parts: &[Fold],
    held_out: HeldOut,
    ctx: &FitContext<'_>,
) -> Result<CrossFit> {
    let full = task.fit(None, learner, &ctx.with_seed(ctx.seed.named("full")))?;
    let own = match held_out {
        HeldOut::Oob => own_held_out(task, &full, ctx)?,
        HeldOut::Folds => None,
    };
    let held_out = match own {
        Some(own) => own,
        None => fit_folds(task, learner, parts, ctx.seed.named("fold"), ctx)?.held_out,
    };
    Ok(CrossFit { held_out, model: full.model })
}

/// Fits on all rows that may be learned from, with the learner's own held-out predictions where it has any: for last
/// stages, which nothing is built on. The seed is the context's stream `full`.
pub fn fit_all(task: &CrossTask<'_>, learner: &dyn Regressor, ctx: &FitContext<'_>) -> Result<FitAll> {
    fit_all_seeded(task, learner, &ctx.with_seed(ctx.seed.named("full")))
}

/// As [`fit_all`], with the context's own seed.
pub fn fit_all_seeded(task: &CrossTask<'_>, learner: &dyn Regressor, ctx: &FitContext<'_>) -> Result<FitAll> {
    let full = task.fit(None, learner, ctx)?;
    let held_out = own_held_out(task, &full, ctx)?;
    Ok(FitAll { model: full.model, held_out })
}

/// A model of all rows, and perhaps held-out predictions of every row.
#[derive(Debug)]
pub struct FitAll {
    /// The model, for new rows.
    pub model: Box<dyn FittedRegressor>,
    /// The learner's own held-out predictions, where it has any.
    pub held_out: Option<Vec<f64>>,
}

/// Held-out predictions only, for nuisances that new rows do not need.
pub fn cross_predict(
    task: &CrossTask<'_>,
    learner: &dyn Regressor,
    parts: &[Fold],
    held_out: HeldOut,
    ctx: &FitContext<'_>,
) -> Result<Vec<f64>> {
    match held_out {
        // Only after a fit is it known whether the learner has held-out predictions.
        HeldOut::Oob => Ok(cross_fit(task, learner, parts, held_out, ctx)?.held_out),
        HeldOut::Folds => Ok(fit_folds(task, learner, parts, ctx.seed.named("fold"), ctx)?.held_out),
    }
}

/// The learner's own held-out predictions; rows it was not given are predicted as new ones.
fn own_held_out(task: &CrossTask<'_>, full: &Fitted, ctx: &FitContext<'_>) -> Result<Option<Vec<f64>>> {
    let Some(own) = full.model.held_out() else { return Ok(None) };
    let mut out = vec![f64::NAN; task.rows.y.len()];
    full.rows.iter().zip(own).for_each(|(&i, v)| out[i] = *v);
    // Other arms' rows, and the odd row that no part of the learner left out.
    let rest: Vec<usize> = (0..out.len()).filter(|&i| !out[i].is_finite()).collect();
    if !rest.is_empty() {
        let predicted = predict_rows(full.model.as_ref(), (task.rows.x, &rest), ctx)?;
        rest.iter().zip(predicted).for_each(|(&i, v)| out[i] = v);
    }
    Ok(Some(out))
}

/// Predictions of some rows, which are copied a part at a time; a request to stop is heard between two parts.
fn predict_rows(
    model: &dyn FittedRegressor,
    (x, rows): (&Features, &[usize]),
    ctx: &FitContext<'_>,
) -> Result<Vec<f64>> {
    let at_a_time = (MOST_CELLS_AT_ONCE / x.n_cols().max(1)).clamp(LEAST_ROWS_AT_ONCE, MOST_ROWS_AT_ONCE);
    if rows.len() <= at_a_time {
        return model.predict(&x.select(rows));
    }
    let mut out = Vec::with_capacity(rows.len());
    for part in rows.chunks(at_a_time) {
        ctx.check_interrupt()?;
        out.extend(model.predict(&x.select(part))?);
    }
    Ok(out)
}

/// One model per fold, and its predictions for the rows that the fold holds out.
#[derive(Debug)]
pub struct FoldFits {
    /// A prediction for every row, by the model that did not learn from it.
    pub held_out: Vec<f64>,
    /// The models, in the order of the folds.
    pub models: Vec<Box<dyn FittedRegressor>>,
}

/// Fits one model per fold and predicts the rows it holds out: the only such loop there is. The model of fold `k` is
/// fitted with `seeds.indexed(k)`, so that callers keep streams of their own.
pub fn fit_folds(
    task: &CrossTask<'_>,
    learner: &dyn Regressor,
    parts: &[Fold],
    seeds: Seed,
    ctx: &FitContext<'_>,
) -> Result<FoldFits> {
    let fit = |(k, fold): (usize, &Fold)| -> Result<_> {
        let fitted = task.fit(Some(&fold.train), learner, &ctx.with_seed(seeds.indexed(k as u64)))?;
        let predicted = predict_rows(fitted.model.as_ref(), (task.rows.x, &fold.held_out), ctx)?;
        Ok((fitted.model, predicted))
    };
    // Every fold at work holds a copy of most rows, and what its learner makes of them.
    let is_large = task.rows.x.n_rows().saturating_mul(task.rows.x.n_cols()) > MOST_CELLS_AT_ONCE;
    let fitted: Vec<Result<_>> = if is_large {
        parts.iter().enumerate().map(fit).collect()
    } else {
        parts.par_iter().enumerate().map(fit).collect()
    };
    let mut held_out = vec![0.0; task.rows.y.len()];
    let mut models = Vec::with_capacity(parts.len());
    for (fold, fitted) in parts.iter().zip(fitted) {
        let (model, predicted) = fitted?;
        fold.held_out.iter().zip(predicted).for_each(|(&i, v)| held_out[i] = v);
        models.push(model);
    }
    Ok(FoldFits { held_out, models })
}
