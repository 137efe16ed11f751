//! What can be said about a fit's training rows, computed once: propensities, weights, averages, overlap, findings and
//! warnings. The page, the summary, the model file and `effect` all show what stands here.

use paretau_core::{FitContext, Result, Warning};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{
    Nuisance, Observed, OverlapOptions, OverlapReport, Rule, Weights, average_effect, overlap_report,
};
use paretau_report::Findings;

use crate::about::{Arm, Averages, Estimate};
use crate::fit::Fitted;
use crate::prepared::Pair;
use crate::propensity_weights::PropensityWeights;
use crate::{findings, warnings};

/// Rows at risk that a model file names, the most extreme ones.
const MOST_ROWS_AT_RISK: usize = 100;

/// What was found about the training rows.
pub(crate) struct Assessment {
    /// All arms, the control first.
    pub(crate) arms: Vec<Arm>,
    /// Average effects of the first treated arm.
    pub(crate) averages: Averages,
    /// How far the control and the first treated arm overlap.
    pub(crate) overlap: OverlapReport,
    /// What the page shows of the rows.
    pub(crate) findings: Findings,
    /// What to be careful about, most important first.
    pub(crate) warnings: Vec<Warning>,
    /// Gives new rows their propensity and weight as the training rows have them.
    pub(crate) propensity_weights: PropensityWeights,
}

/// The rows of two arms with the nuisances and the weights that every number about them stands on.
pub(crate) struct Weighted<'a> {
    pub(crate) pair: &'a Pair<'a>,
    pub(crate) nuisance: Nuisance,
    /// Inverse weights, Pareto-smoothed within each arm.
    pub(crate) weights: Weights,
}

impl<'a> Weighted<'a> {
    /// Predictions of the rows as nuisances, and the one computation of their weights.
    pub(crate) fn new(pair: &'a Pair<'a>, e: Vec<f64>) -> Result<Self> {
        let weights = Weights::inverse(&e, pair.design.t(), Rule::Pareto, BOUND)?;
        let (mu0, mu1) = (pair.effects.mu0.clone(), pair.effects.mu1.clone());
        Ok(Self { pair, nuisance: Nuisance::from_arms(mu0, mu1, e), weights })
    }

    /// Treatment, outcome, weights and groups of the rows.
    pub(crate) fn rows(&self) -> Result<Observed<'_>> {
        Observed::of(&self.pair.design)
    }

    fn averages(&self) -> Result<Averages> {
        let rows = self.rows()?;
        Averages::of(|estimand| {
            let average = average_effect(&rows, &self.nuisance, &self.weights.smooth, estimand)?;
            Estimate::from_score(average.score)
        })
    }
}

impl Assessment {
    /// Assesses a fit.
    pub(crate) fn of(fitted: &Fitted, ctx: &FitContext<'_>) -> Result<Self> {
        let first = fitted.prepared.pair(1, &fitted.predictions[0])?;
        let (map, e) = PropensityWeights::fit(&first.design, first.effects.e.as_deref(), ctx)?;
        let weighted = Weighted::new(&first, e)?;
        let averages = weighted.averages()?;
        let design = &first.design;
        let options = OverlapOptions::default();
        let mut overlap =
            overlap_report(&weighted.nuisance.e, &weighted.weights, (design.t(), design.weight()), &options)?;
        // The model file names the rows most at risk, not a million of them.
        overlap.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
        let findings = findings::find(&weighted, fitted.held_out)?;
        let warnings = warnings::of_fit(fitted, &first, (&overlap, &findings, &averages), ctx.seed);
        let propensity_weights = map.with_weights(weighted.weights.map.clone());
        let arms = arms(fitted, averages.ate)?;
        Ok(Self { arms, averages, overlap, findings, warnings, propensity_weights })
    }
}

/// Rows and average effect of every arm.
fn arms(fitted: &Fitted, first: Estimate) -> Result<Vec<Arm>> {
    let prepared = &fitted.prepared;
    let arm = |(k, name): (usize, &String)| {
        let n_rows = prepared.assigned.t.iter().filter(|&&t| usize::from(t) == k).count();
        let ate = match k {
            0 => None,
            1 => Some(first),
            _ => Some(of_further_arm(&prepared.pair(k, &fitted.predictions[k - 1])?)?),
        };
        Ok(Arm { name: name.clone(), n_rows, ate })
    };
    prepared.assigned.arms.iter().enumerate().map(arm).collect()
}

/// The average effect of an arm beyond the first, by the estimator's own propensity.
fn of_further_arm(pair: &Pair<'_>) -> Result<Estimate> {
    let share = pair.design.rows_of_arm(1).len() as f64 / pair.design.n_rows() as f64;
    let e = pair.effects.e.clone().unwrap_or_else(|| vec![share; pair.design.n_rows()]);
    Ok(Weighted::new(pair, e)?.averages()?.ate)
}
