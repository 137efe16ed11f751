//! Scoring a fitted model on rows, with the truth when there is one and without it always.
//!
//! Scores without the truth need nuisances: expected outcomes and propensities by models that saw neither the row
//! nor the effects being scored. They are cross-fitted here on the rows to score on, with the first base learner
//! that can read their features, so that every model is judged by the same yardstick.

use paretau_core::{Design, Error, Event, FitContext, Observer, Params, Regressor, Result, Seed, Target};
use paretau_data::{Assigned, Encoder, EncoderPolicy, RoleSpec, Table, assign};
use paretau_eval::{Evidence, NamedScore, Nuisance, Observed};
use paretau_learners::{CrossTask, HeldOut, Overlap as Rule, cross_predict, design_folds, inverse_weights};

use crate::model::Model;
use crate::registry::BASES;

/// Folds of the nuisances.
const FOLDS: usize = 5;
/// Propensities nearer to 0 or 1 than this are counted; smoothing deals with them.
const BOUND: f64 = 0.01;

/// All metrics that the rows allow.
pub fn evaluate(
    model: &Model,
    table: Table,
    roles: &RoleSpec,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Vec<NamedScore>> {
    let assigned = assign(table, roles)?;
    let predictions = model.predict(&assigned.features)?;
    let Yardstick { design, nuisance, scores } = yardstick(&assigned, seed, observer)?;
    paretau_eval::evaluate(&Evidence {
        tau: &predictions.effects.tau,
        rows: Some(Observed::of(&design)?),
        nuisance: Some(&nuisance),
        scores: Some(&scores),
        truth: assigned.oracle.as_ref(),
        encoders: None,
        seed,
    })
}

/// What effects are measured by when the truth is not known.
#[derive(Debug)]
pub struct Yardstick {
    /// The rows with the features that the yardstick's own models read.
    pub design: Design,
    /// Expected outcomes and propensities of each row by models that did not see it.
    pub nuisance: Nuisance,
    /// Doubly robust scores of each row with Pareto-smoothed weights.
    pub scores: Vec<f64>,
}

/// The yardstick of rows, cross-fitted on them with the first base learner.
pub fn yardstick(assigned: &Assigned, seed: Seed, observer: &dyn Observer) -> Result<Yardstick> {
    let base = BASES.first().ok_or_else(|| Error::unfit("there is no base learner"))?;
    let rows: Vec<usize> = (0..assigned.t.len()).collect();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::from(base.handles()), &rows)?;
    let (x, _) = encoder.transform(&assigned.features)?;
    let design = assigned.design(x, encoder.columns().to_vec())?;
    let ctx = FitContext::new(seed, observer);
    ctx.event(&Event::Stage { name: "cross-fitting nuisances".to_owned(), total: None });
    let nuisance = nuisances(&design, base.build(&Params::none())?.as_ref(), &ctx)?;
    let inverse = inverse_weights(&nuisance.e, design.t(), Rule::Pareto, BOUND)?;
    let scores = nuisance.scores(&Observed::of(&design)?, &inverse.w);
    Ok(Yardstick { design, nuisance, scores })
}

/// Cross-fitted nuisances of a design; propensities known from the study's design are taken as they are.
pub fn nuisances(design: &Design, learner: &dyn Regressor, ctx: &FitContext<'_>) -> Result<Nuisance> {
    let parts = design_folds(design, FOLDS, ctx.seed)?;
    let predict = |name: &str, task: &CrossTask<'_>| {
        cross_predict(task, learner, &parts, HeldOut::Oob, &ctx.with_seed(ctx.seed.named(name)))
    };
    let outcome = |name: &str, arm: u8| {
        let mask: Vec<bool> = design.t().iter().map(|&t| t == arm).collect();
        predict(name, &CrossTask::of(design, design.y(), Target::Mean).from_rows(&mask))
    };
    let (mu0, mu1) = (outcome("mu0", 0)?, outcome("mu1", 1)?);
    let e = match design.propensity() {
        Some(known) => known.to_vec(),
        None => {
            let t: Vec<f64> = design.t().iter().map(|&t| f64::from(t)).collect();
            predict("e", &CrossTask::of(design, &t, Target::Probability))?
        }
    };
    let mut nuisance = Nuisance::from_arms(mu0, mu1, e);
    nuisance.m = predict("m", &CrossTask::of(design, design.y(), Target::Mean))?;
    Ok(nuisance)
}
