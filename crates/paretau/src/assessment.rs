//! What is known about a fit's training rows, computed once: propensities, weights, averages, overlap, findings and
//! warnings. The page, the summary, the model file and `effect` all show what stands here.

use std::borrow::Cow;

use paretau_core::{Effects, FitContext, Result, Warning};
use paretau_data::TableColumn;
use paretau_kernels::numeric::mean_sd;
use paretau_nuisance::{
    Nuisance, Observed, OverlapOptions, OverlapReport, RowEvidence, StackedNuisances, Weights, overlap_report,
};
use paretau_report::{ArmFindings, Findings};

use crate::about::{Arm, Averages, Population};
use crate::averages;
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
    pub(crate) fn new(pair: &'a Pair<'a>, nuisance: Nuisance) -> Result<Self> {
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
    /// Assesses a fit.
    pub(crate) fn of(fitted: &Fitted, wishes: &Wishes<'_>, ctx: &FitContext<'_>) -> Result<Self> {
        let uncertainty = &wishes.uncertainty;
        let own = fitted.prepared.encoded_for(nuisances::HANDLES)?;
        let readable = own.as_ref().and_then(|own| own.rows.as_ref()).unwrap_or(&fitted.prepared);
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
        let mut propensities = vec![ArmPropensity::new(propensity_model, weighted.weights.map.clone())];
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
        let propensity = ArmPropensity::new(propensity_model, weighted.weights.map.clone());
        let (predicted, _) = mean_sd(&pair.effects.tau);
        let overlap = stored(weighted.overlap, &pair);
        Ok(Self { averages, overlap, nuisances, findings, propensity, predicted, evidence })
    }
}
