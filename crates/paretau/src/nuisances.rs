//! Nuisances that belong to the data: expected outcomes and propensities by a stack of base learners, the same whatever
//! estimator was fitted. Averages, groups, calibration, scores and the page stand on them.

use paretau_core::{Design, Error, Event, FitContext, Handles, Result};
use paretau_data::Assigned;
use paretau_nuisance::{
    Candidate, Nuisance, Observed, StackPlan, StackReport, StackedNuisances, Weights, stack_nuisances,
};
use serde::{Deserialize, Serialize};

use crate::prepared::Prepared;
use crate::registry::BASES;

/// What the nuisances' learners read: numbers without gaps, categories as indicators, sparse columns as they are. Every base
/// learner takes that.
pub(crate) const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };

/// How well outcomes and treatment are predicted for rows that were not learned from, and by whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NuisanceReport {
    /// Outcomes without and with treatment.
    pub outcomes: [StackReport; 2],
    /// Propensity.
    pub propensity: StackReport,
    /// Whether the propensities in use are known from the study's design.
    pub propensity_known: bool,
}

/// Fits the stack to a design with two arms that was encoded for [`HANDLES`], without models of the outcomes.
pub(crate) fn of_design(design: &Design, ctx: &FitContext<'_>) -> Result<StackedNuisances> {
    of_design_keeping(design, false, ctx)
}

/// The same, perhaps with models of the outcomes for new rows.
pub(crate) fn of_design_keeping(
    design: &Design,
    keeps_outcome_models: bool,
    ctx: &FitContext<'_>,
) -> Result<StackedNuisances> {
    ctx.event(&Event::Stage { name: "cross-fitting nuisances".to_owned(), total: None });
    let (n, d) = (design.n_rows().min(StackPlan::most_rows(design.x())), design.x().n_cols());
    let candidates = BASES.iter().filter(|base| base.most_columns().is_none_or(|most| d <= most)).filter_map(|base| {
        let params = base.for_nuisances(n)?;
        Some(base.build(&params).map(|learner| Candidate { name: base.name(), learner }))
    });
    let plan = StackPlan { keeps_outcome_models, ..StackPlan::usual(candidates.collect::<Result<_>>()?, design.x()) };
    if plan.candidates.is_empty() {
        return Err(Error::internal("cross-fitting nuisances", "no base learner takes part"));
    }
    // Named after what they are and not after who asked: every estimator gets the same.
    stack_nuisances(design, &plan, &ctx.with_seed(ctx.seed.named("nuisances")))
}

impl NuisanceReport {
    /// Who carries each nuisance and how well it is predicted held out, in a line.
    pub fn in_words(&self) -> String {
        let carriers = |report: &StackReport| {
            let mut shares: Vec<_> = report.shares.iter().filter(|s| s.share > 0.0).collect();
            shares.sort_by(|a, b| b.share.total_cmp(&a.share));
            let named = shares.iter().map(|s| format!("{} {:.0} %", s.name, 100.0 * s.share));
            named.collect::<Vec<_>>().join(", ")
        };
        let [control, treated] = &self.outcomes;
        let propensity = if self.propensity_known {
            "propensity known from the study's design".to_owned()
        } else {
            format!("propensity by {} (log-loss {:.3})", carriers(&self.propensity), self.propensity.loss)
        };
        format!(
            "estimated from the data (doubly robust): outcomes without treatment by {} (held-out R² {:.2}), with treatment by \
             {} ({:.2}); {propensity}",
            carriers(control),
            control.gain(),
            carriers(treated),
            treated.gain()
        )
    }

    pub(crate) fn of(stacked: &StackedNuisances, design: &Design) -> Self {
        Self {
            outcomes: stacked.outcomes.clone(),
            propensity: stacked.propensity.clone(),
            propensity_known: design.propensity().is_some(),
        }
    }
}

/// What effects are measured by when the truth is not known.
#[derive(Debug)]
pub struct Yardstick {
    /// The rows with the features that the nuisances' learners read.
    pub design: Design,
    /// Expected outcomes and propensities of each row by models that did not see it.
    pub nuisance: Nuisance,
    /// Doubly robust scores of each row with Pareto-smoothed weights.
    pub scores: Vec<f64>,
}

/// The yardstick of rows, cross-fitted on them.
pub fn yardstick(assigned: &Assigned, ctx: &FitContext<'_>) -> Result<Yardstick> {
    let Prepared { design, .. } = Prepared::encode(assigned.clone(), HANDLES)?;
    crate::scale::refuse_extremes(assigned, &design, None)?;
    let nuisance = of_design(&design, ctx)?.nuisance;
    let inverse = Weights::smoothed_inverse(&nuisance.e, design.t())?;
    let scores = nuisance.scores(&Observed::of(&design)?, &inverse.smooth);
    Ok(Yardstick { design, nuisance, scores })
}
