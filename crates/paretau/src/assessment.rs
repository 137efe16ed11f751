//! What is known about a fit's training rows, computed once: propensities, weights, averages, overlap, findings and
//! warnings. The page, the summary, the model file and `effect` all show what stands here.

use std::borrow::Cow;

use paretau_core::{Effects, Error, FitContext, Result, Warning};
use paretau_data::TableColumn;
use paretau_kernels::numeric::mean_sd;
use paretau_nuisance::{
    Nuisance, Observed, OverlapOptions, OverlapReport, RowEvidence, StackedNuisances, WeightMap, Weights,
    overlap_report,
};
use paretau_report::{ArmFindings, Findings};

use crate::about::{AgainstControl, Arm, Averages, Population};
use crate::averages;
use crate::evaluate::HeldOutScores;
use crate::fit::{Fitted, Uncertainty};
use crate::groups::{self, GroupEffects, TrainingEvidence};
use crate::intervals::{Evidence, Intervals, companion};
use crate::nuisances::{self, NuisanceReport};
use crate::prepared::{Pair, Prepared};
use crate::propensity_weights::{ArmPropensity, PropensityWeights};
use crate::warnings::Compared;
use crate::{findings, warnings};

/// Rows at risk that a model file names, the most extreme ones.
const MOST_ROWS_AT_RISK: usize = 100;

/// What was found about the training rows.
pub(crate) struct Assessment {
    /// All arms with what is known of each against the control, which comes first.
    pub(crate) arms: Vec<Arm>,
    /// Effects of the groups that were asked for.
    pub(crate) groups: Option<GroupEffects>,
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
pub(crate) struct AssessmentRequest<'a> {
    /// Columns of the whole table that make groups.
    pub(crate) by: &'a [TableColumn],
    /// Rows of that table.
    pub(crate) n_rows: usize,
    /// Whose average is the headline.
    pub(crate) estimand: Option<Population>,
    /// What intervals of single rows are made from.
    pub(crate) uncertainty: Uncertainty,
}

/// What is known already of the control and the first treated arm, where more rows were looked at than those that are assessed.
pub(crate) struct OfAllRows {
    /// Nuisances of the rows that are assessed.
    pub(crate) stacked: StackedNuisances,
    /// Averages, overlap and weights of all rows.
    pub(crate) averages: Averages,
    pub(crate) overlap: OverlapReport,
    pub(crate) map: WeightMap,
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

/// The one computation of the weights of rows with their treatment and row weights, and how far they show that the arms overlap.
pub(crate) fn weights_and_overlap(
    e: &[f64],
    (t, row_weight): (&[u8], Option<&[f64]>),
) -> Result<(Weights, OverlapReport)> {
    let weights = Weights::smoothed_inverse(e, t)?;
    let overlap = overlap_report(e, &weights, (t, row_weight), &OverlapOptions::default())?;
    Ok((weights, overlap))
}

impl<'a> Weighted<'a> {
    pub(crate) fn new(pair: &'a Pair<'a>, nuisance: Nuisance) -> Result<Self> {
        let (weights, overlap) = weights_and_overlap(&nuisance.e, (pair.design.t(), pair.design.weight()))?;
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

    /// Average effects of the rows.
    fn averages(&self, asked: Option<Population>) -> Result<Averages> {
        averages::of_rows(
            &self.rows()?,
            (&self.nuisance, &self.weights.smooth, &self.overlap),
            self.pair.design.outcome(),
            asked,
        )
    }
}

impl Assessment {
    /// Assesses a fit, one treated arm after the other.
    pub(crate) fn of(fitted: &Fitted, request: &AssessmentRequest<'_>, ctx: &FitContext<'_>) -> Result<Self> {
        Self::with(fitted, request, None, ctx)
    }

    /// The same with what is known of all rows, of which those of the fit are a part.
    pub(crate) fn with(
        fitted: &Fitted,
        request: &AssessmentRequest<'_>,
        mut known: Option<OfAllRows>,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let own = fitted.prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().and_then(|own| own.rows.as_ref()).unwrap_or(&fitted.prepared);
        let assigned = &fitted.prepared.assigned;
        let arm = |k: usize, against_control: Option<AgainstControl>| {
            let n_rows = assigned.t.iter().filter(|&&t| usize::from(t) == k).count();
            Arm { name: assigned.arms[k].clone(), n_rows, against_control }
        };
        let mut intervals = Intervals::default();
        let mut arms = vec![arm(0, None)];
        let (mut propensities, mut findings, mut predicted, mut evidence) = (vec![], vec![], vec![], vec![]);
        let mut averages = vec![];
        let mut of_first = None;
        for k in 1..assigned.arms.len() {
            let found = ArmAssessment::of(fitted, (readable, k), request, (&mut intervals, known.take()), ctx)?;
            arms.push(arm(k, Some(found.against_control)));
            averages.push(found.of_rows);
            propensities.push(found.propensity);
            findings.push(found.findings);
            predicted.push(found.predicted);
            evidence.push(found.evidence);
            of_first = of_first.or(found.of_first);
        }
        let FirstArm { groups, findings: rows, determined, held_out_scores } =
            of_first.ok_or_else(|| Error::internal("assessing a fit", "there is no treated arm"))?;
        let findings = Findings { arms: findings, ..rows };
        let compared: Vec<Compared<'_>> = (arms.iter().filter_map(|arm| arm.against_control.as_ref()))
            .zip(averages.iter().zip(findings.arms.iter().zip(&predicted)))
            .map(|(of, (averages, (findings, &predicted)))| Compared {
                averages,
                overlap: &of.overlap,
                findings,
                predicted,
            })
            .collect();
        let warnings = warnings::of_fit(fitted, determined, &compared, &findings);
        let encoder = own.as_ref().map(|own| own.encoder.clone());
        let propensity_weights = PropensityWeights::new(encoder, propensities);
        Ok(Self { arms, groups, findings, warnings, propensity_weights, held_out_scores, intervals, evidence })
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
pub(crate) fn stack(
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
    let replicates = uncertainty.replicates.as_ref().and_then(|all| all.get(k - 1));
    let replicates = replicates.map(|found| match readable.assigned.arms.len() {
        2 => Cow::Borrowed(found),
        _ => Cow::Owned(found.select(&readable.assigned.rows_of_pair(u8::try_from(k).unwrap_or(u8::MAX)))),
    });
    let x = pair.design.x();
    // Errors are calibrated on held-out predictions; without any there is nothing to calibrate by.
    let held_out = fitted.held_out.then_some(&*pair.effects);
    let beside = match held_out {
        Some(_) if uncertainty.companion => companion::variances(&pair.design, ctx)?,
        _ => None,
    };
    let from = match (replicates.as_deref(), held_out, &beside) {
        (Some(found), ..) => Evidence::Refits(found),
        (None, Some(held_out), Some(variance)) => Evidence::Companion { held_out, variance },
        (None, Some(own), None) if uncertainty.own => Evidence::Own(own),
        _ => Evidence::None,
    };
    intervals.add_arm(weighted, x, from, ctx)?;
    intervals.errors(k - 1, pair.effects.se.clone(), x)
}

/// The report as a model file keeps it: the rows most at risk, not a million of them, by their numbers in the table of the fit.
fn stored(mut overlap: OverlapReport, pair: &Pair<'_>) -> OverlapReport {
    overlap.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
    overlap.rows_at_risk.iter_mut().for_each(|row| *row = pair.assigned.rows[*row]);
    overlap
}

/// What is found about a treated arm and the control.
struct ArmAssessment {
    against_control: AgainstControl,
    /// Averages of the rows that are assessed, against which their predictions are held.
    of_rows: Averages,
    findings: ArmFindings,
    propensity: ArmPropensity,
    /// Mean predicted effect.
    predicted: f64,
    evidence: TrainingEvidence,
    /// What is asked of the first treated arm alone.
    of_first: Option<FirstArm>,
}

/// What is asked of the first treated arm alone.
struct FirstArm {
    groups: Option<GroupEffects>,
    /// What the page shows of the rows, without the lists per arm.
    findings: Findings,
    /// A warning of features that determine the outcome.
    determined: Option<Warning>,
    held_out_scores: Option<HeldOutScores>,
}

impl ArmAssessment {
    /// Assesses the `k`-th arm and adds the uncertainty of its effects.
    fn of(
        fitted: &Fitted,
        (readable, k): (&Prepared, usize),
        request: &AssessmentRequest<'_>,
        (intervals, known): (&mut Intervals, Option<OfAllRows>),
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let mut pair = fitted.prepared.pair(k, &fitted.predictions[k - 1])?;
        // Intervals of individual effects are made between two arms only.
        let keeps_models = request.uncertainty.individual && fitted.prepared.assigned.arms.len() == 2;
        let (stacked, of_all) = match known {
            Some(OfAllRows { stacked, averages, overlap, map }) => (stacked, Some((averages, overlap, map))),
            None => (stack(readable, fitted, (k, keeps_models), ctx)?, None),
        };
        let nuisances = NuisanceReport::of(&stacked, &pair.design);
        let StackedNuisances { nuisance, propensity_model, outcome_models, .. } = stacked;
        let weighted = Weighted::new(&pair, nuisance)?;
        let errors = add_arm(intervals, fitted, (readable, &weighted, k), &request.uncertainty, ctx)?;
        // From here on the rows' standard errors are those that were measured.
        let Weighted { nuisance, weights, overlap, .. } = weighted;
        pair.effects = Cow::Owned(Effects { se: errors, ..pair.effects.into_owned() });
        let weighted = Weighted { pair: &pair, nuisance, weights, overlap };
        let of_rows = weighted.averages(request.estimand)?;
        let (averages, overlap, map) = match of_all {
            Some(found) => found,
            None => {
                let overlap = stored(weighted.overlap.clone(), &pair);
                (of_rows.clone(), overlap, weighted.weights.map.clone())
            }
        };
        let population = averages.headline.unwrap_or(Population::Ate);
        let evidence = evidence_of(&weighted, fitted.held_out, population, request.n_rows, ctx)?;
        let of_first = if k == 1 { Some(FirstArm::of(&weighted, population, fitted, request, ctx)?) } else { None };
        let findings = findings::of_arm(&weighted)?;
        let propensity = ArmPropensity::new(propensity_model, map);
        if let Some(models) = outcome_models.filter(|_| keeps_models) {
            intervals.add_individual(models, &weighted);
        }
        let (predicted, _) = mean_sd(&pair.effects.tau);
        let against_control = AgainstControl { averages, overlap, nuisances };
        Ok(Self { against_control, of_rows, findings, propensity, predicted, evidence, of_first })
    }
}

impl FirstArm {
    fn of(
        weighted: &Weighted<'_>,
        population: Population,
        fitted: &Fitted,
        request: &AssessmentRequest<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let observed = weighted.rows()?;
        let groups = if request.by.is_empty() {
            None
        } else {
            let by = groups::partitions(request.by, &weighted.pair.assigned.rows);
            Some(GroupEffects::of(&weighted.evidence(&observed, population), population, &by, ctx.seed)?)
        };
        let names = weighted.pair.assigned.features.columns().iter().map(|column| column.name.as_str());
        Ok(Self {
            groups,
            findings: findings::find(weighted, population, fitted.held_out, ctx.seed)?,
            determined: findings::determined(&weighted.pair.design, names, ctx.seed),
            held_out_scores: fitted.held_out.then(|| HeldOutScores::of(weighted, ctx.seed)).transpose()?,
        })
    }
}
