//! What is known about a fit's training rows, computed once: propensities, weights, averages, overlap, findings and
//! warnings. The page, the summary, the model file and `effect` all show what stands here.

use std::borrow::Cow;

use paretau_core::{Effects, FitContext, OutcomeKind, Result, Warning};
use paretau_data::TableColumn;
use paretau_kernels::numeric::mean_sd;
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{
    LEAST_EFFECTIVE_ROWS, Nuisance, Observed, OverlapOptions, OverlapReport, RowEvidence, StackedNuisances, Weights,
    average_effect, effective_rows, extrapolation, overlap_report, ratios, targeted_average,
};
use paretau_report::{ArmFindings, Findings};

use crate::about::{Arm, Averages, Estimate, Extrapolated, Population, RatioEstimates};
use crate::evaluate::HeldOutScores;
use crate::fit::{Fitted, Uncertainty};
use crate::groups::{self, GroupEffects, TrainingEvidence};
use crate::intervals::Intervals;
use crate::nuisances::{self, NuisanceReport};
use crate::prepared::{Pair, Prepared};
use crate::propensity_weights::{ArmPropensity, PropensityWeights};
use crate::warnings::Compared;
use crate::{findings, warnings};

/// Rows at risk that a model file names, the most extreme ones.
const MOST_ROWS_AT_RISK: usize = 100;

/// What was found about the training rows.
pub(crate) struct Assessment {
    /// All arms, the control first.
    pub(crate) arms: Vec<Arm>,
    /// Average effects of the first treated arm.
    pub(crate) averages: Averages,
    /// Effects of the groups that were asked for.
    pub(crate) groups: Option<GroupEffects>,
    /// Who predicts outcomes and treatment, and how well.
    pub(crate) nuisances: NuisanceReport,
    /// How far the control and the first treated arm overlap; further arms have theirs with them.
    pub(crate) overlap: OverlapReport,
    /// What the page shows of the rows.
    pub(crate) findings: Findings,
    /// What to be careful about, most important first.
    pub(crate) warnings: Vec<Warning>,
    /// Gives new rows their propensities and weights as the training rows have them.
    pub(crate) propensity_weights: PropensityWeights,
    /// How well the held-out predictions do, where there are any.
    pub(crate) held_out_scores: Option<HeldOutScores>,
    /// Uncertainty of single rows.
    pub(crate) intervals: Intervals,
    /// What further questions about the rows of each treated arm and the control need.
    pub(crate) evidence: Vec<TrainingEvidence>,
}

/// What the user asks about the rows.
pub(crate) struct Wishes<'a> {
    /// Columns of the whole table that make groups.
    pub(crate) by: &'a [TableColumn],
    /// Rows of that table.
    pub(crate) n_rows: usize,
    /// Whose average is the headline.
    pub(crate) estimand: Option<Population>,
    /// What intervals of single rows are made from.
    pub(crate) uncertainty: Uncertainty,
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
        let weights = Weights::smoothed_inverse(&nuisance.e, design.t())?;
        let rows = (design.t(), design.weight());
        let overlap = overlap_report(&nuisance.e, &weights, rows, &OverlapOptions::default())?;
        Ok(Self { pair, nuisance, weights, overlap })
    }

    /// Treatment, outcome, weights and groups of the rows.
    pub(crate) fn rows(&self) -> Result<Observed<'_>> {
        Observed::of(&self.pair.design)
    }

    /// What averages of some of the rows need.
    pub(crate) fn evidence<'r>(&'r self, rows: &'r Observed<'r>, population: Population) -> RowEvidence<'r> {
        let (nuisance, inverse_weights) = (&self.nuisance, self.weights.smooth.as_slice());
        RowEvidence { rows, nuisance, inverse_weights, estimand: population.estimand() }
    }

    /// Average effects, as far as enough rows carry them, and which of them the data can speak about.
    fn averages(&self, asked: Option<Population>) -> Result<Averages> {
        let rows = self.rows()?;
        let all: Vec<usize> = (0..rows.len()).collect();
        let inverse = &self.weights.smooth;
        let average = |population: Population| -> Result<Option<Estimate>> {
            let effective = effective_rows(&rows, &self.nuisance, inverse, population.estimand(), &all);
            if effective.iter().any(|n| *n < LEAST_EFFECTIVE_ROWS) {
                return Ok(None);
            }
            let average = average_effect(&rows, &self.nuisance, inverse, population.estimand())?;
            Estimate::from_score(average.score).map(Some)
        };
        let [ate, att, atc, ato] = Population::ALL.map(average);
        let (ate, att, atc, ato) = (ate?, att?, atc?, ato?);
        let outcome = self.pair.design.outcome();
        let (targeted, ratios) = if ate.is_some() {
            let targeted = Estimate::from_score(targeted_average(&rows, &self.nuisance, inverse, outcome)?)?;
            let ratios = match outcome {
                OutcomeKind::Binary => Some(RatioEstimates::from_ratios(&ratios(&rows, &self.nuisance, inverse)?)?),
                OutcomeKind::Continuous => None,
            };
            (Some(targeted), ratios)
        } else {
            (None, None)
        };
        let mut extrapolated = vec![];
        for population in Population::ALL {
            let found = extrapolation(&rows, &self.nuisance, inverse, &self.overlap, population.estimand())?;
            extrapolated.extend(found.map(|reason| Extrapolated { population, reason }));
        }
        let why = |population: Population| {
            extrapolated.iter().find(|found| found.population == population).map(|found| found.reason.clone())
        };
        let extrapolates = why(Population::Ate);
        let few = || {
            let few = self.overlap.arms.iter().map(|arm| arm.n).min().unwrap_or(0);
            format!(
                "the effective sample size of one arm is below {LEAST_EFFECTIVE_ROWS} (the smaller arm has {few} rows)"
            )
        };
        // Overlap weights always add up to something; with nobody in the overlap that is an average over no one.
        let in_overlap = |arm: u8| {
            let rows = rows.t.iter().zip(&self.nuisance.e);
            rows.filter(|(t, e)| **t == arm && (BOUND..=1.0 - BOUND).contains(*e)).count()
        };
        let shared = in_overlap(0).min(in_overlap(1));
        let apart = (asked.is_none() && (shared as f64) < LEAST_EFFECTIVE_ROWS && extrapolates.is_some()).then(|| {
            format!(
                "in one arm only {shared} rows have a propensity between {BOUND} and {}: the features tell the arms apart, and \
                 nobody is left to compare",
                1.0 - BOUND
            )
        });
        let (headline, reason) = match (asked, extrapolates) {
            _ if apart.is_some() => (None, apart),
            (Some(asked), _) => {
                let found = match asked {
                    Population::Ate => ate,
                    Population::Att => att,
                    Population::Atc => atc,
                    Population::Ato => ato,
                };
                match found {
                    None => (None, Some(few())),
                    Some(_) => (Some(asked), why(asked)),
                }
            }
            (None, None) if ate.is_some() => (Some(Population::Ate), None),
            (None, Some(reason)) if ato.is_some() => (Some(Population::Ato), Some(reason)),
            (None, _) => (ato.map(|_| Population::Ato), Some(few())),
        };
        Ok(Averages { ate, att, atc, ato, headline, reason, asked, extrapolated, targeted, ratios })
    }
}

impl Assessment {
    /// Assesses a fit.
    pub(crate) fn of(fitted: &Fitted, wishes: &Wishes<'_>, ctx: &FitContext<'_>) -> Result<Self> {
        let uncertainty = &wishes.uncertainty;
        let own = fitted.prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().unwrap_or(&fitted.prepared);
        let first = fitted.prepared.pair(1, &fitted.predictions[0])?;
        let stacked = stack(readable, fitted, (1, uncertainty.individual), ctx)?;
        let nuisances = NuisanceReport::of(&stacked, &first.design);
        let StackedNuisances { nuisance, propensity_model, outcome_models, .. } = stacked;
        let weighted = Weighted::new(&first, nuisance)?;
        let mut intervals = Intervals::default();
        let errors = add_arm(&mut intervals, fitted, (readable, &weighted, 1), uncertainty, ctx)?;
        // From here on the rows' standard errors are those that were measured.
        let effects = Cow::Owned(Effects { se: errors, ..first.effects.clone().into_owned() });
        let first = Pair { assigned: first.assigned.clone(), design: first.design.clone(), effects };
        let Weighted { nuisance, weights, overlap, .. } = weighted;
        let weighted = Weighted { pair: &first, nuisance, weights, overlap };
        let averages = weighted.averages(wishes.estimand)?;
        let population = averages.headline.unwrap_or(Population::Ate);
        let observed = weighted.rows()?;
        let rows = weighted.evidence(&observed, population);
        let groups = if wishes.by.is_empty() {
            None
        } else {
            let by = groups::partitions(wishes.by, &first.assigned.rows);
            Some(GroupEffects::of(&rows, population, &by, ctx.seed)?)
        };
        let mut evidence = vec![evidence_of(&weighted, fitted.held_out, population, wishes.n_rows, ctx)?];
        let mut findings = findings::find(&weighted, population, fitted.held_out, ctx.seed)?;
        let mut propensities = vec![ArmPropensity { stack: propensity_model, map: weighted.weights.map.clone() }];
        let mut predicted = vec![findings.effects.mean];
        let assigned = &fitted.prepared.assigned;
        let n_rows = |k: usize| assigned.t.iter().filter(|&&t| usize::from(t) == k).count();
        let mut arms = vec![];
        for (k, name) in assigned.arms.iter().enumerate() {
            let ate = averages.ate.filter(|_| k == 1);
            let mut arm =
                Arm { name: name.clone(), n_rows: n_rows(k), ate, averages: None, overlap: None, nuisances: None };
            if k > 1 {
                let found = FurtherArm::of(fitted, (readable, k), wishes, &mut intervals, ctx)?;
                arm.ate = found.averages.ate;
                (arm.averages, arm.nuisances) = (Some(found.averages), Some(found.nuisances));
                arm.overlap = Some(found.overlap);
                findings.arms.push(found.findings);
                propensities.push(found.propensity);
                predicted.push(found.predicted);
                evidence.push(found.evidence);
            }
            arms.push(arm);
        }
        let further = arms.iter().skip(2).filter_map(|arm| Some((arm.averages.as_ref()?, arm.overlap.as_ref()?)));
        let compared: Vec<Compared<'_>> = std::iter::once((&averages, &weighted.overlap))
            .chain(further)
            .zip(findings.arms.iter().zip(&predicted))
            .map(|((averages, overlap), (findings, &predicted))| Compared { averages, overlap, findings, predicted })
            .collect();
        let warnings = warnings::of_fit(fitted, &first, (&compared, &findings), ctx.seed);
        let encoder = own.as_ref().map(|own| own.encoder.clone());
        let propensity_weights = PropensityWeights::new(encoder, propensities);
        if let (Some(models), 2) = (outcome_models, arms.len()) {
            intervals.add_individual(models, &weighted);
        }
        let held_out_scores = fitted.held_out.then(|| HeldOutScores::of(&weighted, ctx.seed)).transpose()?;
        let overlap = stored(weighted.overlap, &first);
        Ok(Self {
            arms,
            averages,
            groups,
            nuisances,
            overlap,
            findings,
            warnings,
            propensity_weights,
            held_out_scores,
            intervals,
            evidence,
        })
    }
}

/// What further questions about the rows of two arms need.
fn evidence_of(
    weighted: &Weighted<'_>,
    held_out: bool,
    population: Population,
    n_rows: usize,
    ctx: &FitContext<'_>,
) -> Result<TrainingEvidence> {
    let observed = weighted.rows()?;
    let tau = held_out.then_some(weighted.pair.effects.tau.as_slice());
    let rows = (weighted.pair.assigned.rows.as_slice(), n_rows);
    Ok(TrainingEvidence::new(&weighted.evidence(&observed, population), tau, population, rows, ctx.seed))
}

/// Nuisances of the control and the `k`-th arm, perhaps with models of the outcomes for new rows.
fn stack(
    readable: &Prepared,
    fitted: &Fitted,
    (k, keeps_models): (usize, bool),
    ctx: &FitContext<'_>,
) -> Result<StackedNuisances> {
    nuisances::of_design_keeping(&readable.pair(k, &fitted.predictions[k - 1])?.design, keeps_models, ctx)
}

/// Adds the uncertainty of the `k`-th arm's effects; gives the standard errors of its training rows.
fn add_arm(
    intervals: &mut Intervals,
    fitted: &Fitted,
    (readable, weighted, k): (&Prepared, &Weighted<'_>, usize),
    uncertainty: &Uncertainty,
    ctx: &FitContext<'_>,
) -> Result<Option<Vec<f64>>> {
    let pair = readable.pair(k, &fitted.predictions[k - 1])?;
    // Errors are calibrated on held-out predictions; without any there is nothing to calibrate by.
    let own = (uncertainty.own && fitted.held_out).then_some(&*pair.effects);
    let replicates = uncertainty.replicates.as_ref().and_then(|all| all.get(k - 1));
    let replicates = replicates.map(|found| match readable.assigned.arms.len() {
        2 => Cow::Borrowed(found),
        _ => Cow::Owned(found.select(&readable.assigned.rows_of_pair(u8::try_from(k).unwrap_or(u8::MAX)))),
    });
    let x = pair.design.x();
    intervals.add_arm(weighted, x, (replicates.as_deref(), own), ctx)?;
    intervals.errors(k - 1, pair.effects.se.clone(), x)
}

/// The report as a model file keeps it: the rows most at risk, not a million of them, by their numbers in the table of the fit.
fn stored(mut overlap: OverlapReport, pair: &Pair<'_>) -> OverlapReport {
    overlap.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
    overlap.rows_at_risk.iter_mut().for_each(|row| *row = pair.assigned.rows[*row]);
    overlap
}

/// What is known about a treated arm beyond the first and the control.
struct FurtherArm {
    averages: Averages,
    overlap: OverlapReport,
    nuisances: NuisanceReport,
    findings: ArmFindings,
    propensity: ArmPropensity,
    /// Mean predicted effect.
    predicted: f64,
    evidence: TrainingEvidence,
}

impl FurtherArm {
    /// Assesses the `k`-th arm and adds the uncertainty of its effects.
    fn of(
        fitted: &Fitted,
        (readable, k): (&Prepared, usize),
        wishes: &Wishes<'_>,
        intervals: &mut Intervals,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let pair = fitted.prepared.pair(k, &fitted.predictions[k - 1])?;
        let stacked = stack(readable, fitted, (k, false), ctx)?;
        let nuisances = NuisanceReport::of(&stacked, &pair.design);
        let StackedNuisances { nuisance, propensity_model, .. } = stacked;
        let weighted = Weighted::new(&pair, nuisance)?;
        add_arm(intervals, fitted, (readable, &weighted, k), &wishes.uncertainty, ctx)?;
        let averages = weighted.averages(wishes.estimand)?;
        let population = averages.headline.unwrap_or(Population::Ate);
        let evidence = evidence_of(&weighted, fitted.held_out, population, wishes.n_rows, ctx)?;
        let findings = findings::of_arm(&weighted)?;
        let propensity = ArmPropensity { stack: propensity_model, map: weighted.weights.map.clone() };
        let (predicted, _) = mean_sd(&pair.effects.tau);
        let overlap = stored(weighted.overlap, &pair);
        Ok(Self { averages, overlap, nuisances, findings, propensity, predicted, evidence })
    }
}
