//! Scoring a fitted model on rows, with the truth when there is one and without it always.
//!
//! Scores without the truth need nuisances: expected outcomes and propensities by models that saw neither the row
//! nor the effects being scored. They are cross-fitted on the rows to score on, by the stack of learners that every average
//! stands on, so that every model is scored by the same yardstick.

use paretau_core::{FitContext, Observer, Result, Seed};
use paretau_data::{RoleSpec, Table, assign};
use paretau_eval::{Evidence, NamedScore};
use paretau_nuisance::Observed;

use crate::model::Model;
use crate::nuisances::{Yardstick, yardstick};

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
    let Yardstick { design, nuisance, scores } = yardstick(&assigned, &FitContext::new(seed, observer))?;
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
