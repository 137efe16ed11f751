//! What can be said about a fit's training rows, computed once: propensities, weights, averages, overlap, findings and
//! warnings. The page, the summary, the model file and `effect` all show what stands here.

use paretau_core::{FitContext, Result, Warning};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{
    LEAST_EFFECTIVE_ROWS, Nuisance, Observed, OverlapOptions, OverlapReport, Rule, StackedNuisances, Weights,
    average_effect, overlap_report,
};
use paretau_report::Findings;

use crate::about::{Arm, Averages, Estimate, Population};
use crate::fit::Fitted;
use crate::nuisances::{self, NuisanceReport};
use crate::prepared::{Pair, Prepared};
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
    /// Who predicts outcomes and treatment, and how well.
    pub(crate) nuisances: NuisanceReport,
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
    /// How far the arms overlap.
    pub(crate) overlap: OverlapReport,
}

impl<'a> Weighted<'a> {
    /// The one computation of the rows' weights.
    fn new(pair: &'a Pair<'a>, nuisance: Nuisance) -> Result<Self> {
        let design = &pair.design;
        let weights = Weights::inverse(&nuisance.e, design.t(), Rule::Pareto, BOUND)?;
        let rows = (design.t(), design.weight());
        let overlap = overlap_report(&nuisance.e, &weights, rows, &OverlapOptions::default())?;
        Ok(Self { pair, nuisance, weights, overlap })
    }

    /// Treatment, outcome, weights and groups of the rows.
    pub(crate) fn rows(&self) -> Result<Observed<'_>> {
        Observed::of(&self.pair.design)
    }

    /// Average effects, as far as enough rows carry them, and which of them the data can speak about.
    fn averages(&self) -> Result<Averages> {
        let rows = self.rows()?;
        let average = |population: Population| -> Result<Option<Estimate>> {
            if !self.carried(population) {
                return Ok(None);
            }
            let average = average_effect(&rows, &self.nuisance, &self.weights.smooth, population.estimand())?;
            Estimate::from_score(average.score).map(Some)
        };
        let [ate, att, atc, ato] = Population::ALL.map(average);
        let (ate, att, atc, ato) = (ate?, att?, atc?, ato?);
        let (headline, reason) = match self.overlap.extrapolates() {
            None if ate.is_some() => (Some(Population::Ate), None),
            Some(reason) if ato.is_some() => (Some(Population::Ato), Some(reason)),
            _ => {
                let few = self.overlap.arms.iter().map(|arm| arm.n).min().unwrap_or(0);
                let reason = format!(
                    "fewer than {LEAST_EFFECTIVE_ROWS} effective rows in one arm (the smaller arm has {few} rows)"
                );
                (ato.map(|_| Population::Ato), Some(reason))
            }
        };
        Ok(Averages { ate, att, atc, ato, headline, reason })
    }

    /// Whether enough effective rows of both arms carry an average.
    fn carried(&self, population: Population) -> bool {
        let t = self.pair.design.t();
        // What each row of the other arm, or of both, counts in the average.
        let weight = |i: usize| match population {
            Population::Ate => self.weights.smooth[i],
            Population::Att => {
                if t[i] == 1 {
                    1.0
                } else {
                    self.weights.smooth[i] - 1.0
                }
            }
            Population::Atc => {
                if t[i] == 0 {
                    1.0
                } else {
                    self.weights.smooth[i] - 1.0
                }
            }
            Population::Ato => (f64::from(t[i]) - self.nuisance.e[i]).abs(),
        };
        [0, 1].into_iter().all(|arm| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for i in (0..t.len()).filter(|&i| t[i] == arm) {
                let w = weight(i).max(0.0) * self.pair.design.weight().map_or(1.0, |w| w[i]);
                (sum, squares) = (sum + w, squares + w * w);
            }
            squares > 0.0 && sum * sum / squares >= LEAST_EFFECTIVE_ROWS
        })
    }
}

impl Assessment {
    /// Assesses a fit.
    pub(crate) fn of(fitted: &Fitted, ctx: &FitContext<'_>) -> Result<Self> {
        let own = fitted.prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().unwrap_or(&fitted.prepared);
        let first = fitted.prepared.pair(1, &fitted.predictions[0])?;
        let stacked = stack(readable, fitted, 1, ctx)?;
        let nuisances = NuisanceReport::of(&stacked, &first.design);
        let StackedNuisances { nuisance, propensity_model, .. } = stacked;
        let weighted = Weighted::new(&first, nuisance)?;
        let averages = weighted.averages()?;
        let findings = findings::find(&weighted, fitted.held_out)?;
        let warnings = warnings::of_fit(fitted, &first, (&weighted.overlap, &findings, &averages), ctx.seed);
        let map = weighted.weights.map.clone();
        let propensity_weights =
            PropensityWeights::new(own.as_ref().map(|own| own.encoder.clone()), propensity_model, map);
        let arms = arms(fitted, readable, averages.ate, ctx)?;
        let mut overlap = weighted.overlap;
        // The model file names the rows most at risk, not a million of them.
        overlap.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
        Ok(Self { arms, averages, nuisances, overlap, findings, warnings, propensity_weights })
    }
}

/// Nuisances of the control and the `k`-th arm.
fn stack(readable: &Prepared, fitted: &Fitted, k: usize, ctx: &FitContext<'_>) -> Result<StackedNuisances> {
    nuisances::of_design(&readable.pair(k, &fitted.predictions[k - 1])?.design, ctx)
}

/// Rows and average effect of every arm.
fn arms(fitted: &Fitted, readable: &Prepared, first: Option<Estimate>, ctx: &FitContext<'_>) -> Result<Vec<Arm>> {
    let prepared = &fitted.prepared;
    let arm = |(k, name): (usize, &String)| {
        let n_rows = prepared.assigned.t.iter().filter(|&&t| usize::from(t) == k).count();
        let ate = match k {
            0 => None,
            1 => first,
            _ => {
                let pair = prepared.pair(k, &fitted.predictions[k - 1])?;
                Weighted::new(&pair, stack(readable, fitted, k, ctx)?.nuisance)?.averages()?.ate
            }
        };
        Ok(Arm { name: name.clone(), n_rows, ate })
    };
    prepared.assigned.arms.iter().enumerate().map(arm).collect()
}
