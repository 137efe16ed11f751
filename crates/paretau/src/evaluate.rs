//! Scoring a fitted model on rows, with the truth when there is one and without it always.
//!
//! Scores without the truth need nuisances: expected outcomes and propensities by models that saw neither the row
//! nor the effects being scored. They are cross-fitted here on the rows to score on, with the first base learner
//! that can read their features, so that every model is scored by the same yardstick.

use paretau_core::{Design, Error, Event, FitContext, Observer, Params, Result, Seed};
use paretau_data::{Assigned, RoleSpec, Table, assign};
use paretau_eval::{Evidence, NamedScore};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{Nuisance, Observed, Rule, Weights, cross_fit_nuisances};

use crate::model::Model;
use crate::prepared::Prepared;
use crate::registry::BASES;

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
        tau: &predictions.arms[0].tau,
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
    let Prepared { design, .. } = Prepared::encode(assigned.clone(), base.handles())?;
    let ctx = FitContext::new(seed, observer);
    ctx.event(&Event::Stage { name: "cross-fitting nuisances".to_owned(), total: None });
    let nuisance = cross_fit_nuisances(&design, base.build(&Params::none())?.as_ref(), &ctx)?;
    let inverse = Weights::inverse(&nuisance.e, design.t(), Rule::Pareto, BOUND)?;
    let scores = nuisance.scores(&Observed::of(&design)?, &inverse.smooth);
    Ok(Yardstick { design, nuisance, scores })
}
