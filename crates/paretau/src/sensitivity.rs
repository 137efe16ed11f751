//! How strong a hidden cause would have to be to overturn the average effect.

use paretau_core::{Error, FitContext, Observer, OutcomeKind, Result, Seed};
use paretau_data::{Assigned, RoleSpec, Table, assign};
use paretau_kernels::numeric::correlation;
use paretau_nuisance::hidden_cause::{Benchmark, BiasBounds, EValue, OmittedBias};
use paretau_nuisance::inference::clustered_mean;
use paretau_nuisance::marginal_sensitivity::{MarginalBounds, MarginalSensitivity};
use paretau_nuisance::{Observed, Score, Weights};
use serde::Serialize;

use crate::nuisances::yardstick;

/// Level of the one-sided confidence bounds.
const LEVEL: f64 = 0.95;
/// Factors on the odds of treatment that are shown.
const LAMBDAS: [f64; 4] = [1.25, 1.5, 2.0, 3.0];

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SensitivityRequest {
    /// Share of the outcome's residual variance that a hidden cause explains.
    pub cf_y: f64,
    /// Share of the treatment's (Riesz representer's) variation that it explains.
    pub cf_d: f64,
    /// Features to compare with; the strongest when empty.
    pub benchmarks: Vec<String>,
    /// How many of the strongest.
    pub n_benchmarks: usize,
}

impl SensitivityRequest {
    /// Both shares when nothing else is asked for.
    pub const SHARE: f64 = 0.03;
    /// Features to compare with when nothing else is asked for.
    pub const BENCHMARKS: usize = 3;
}

/// An observed feature as a measure of strength.
#[derive(Debug, Clone, Serialize)]
pub struct FeatureBenchmark {
    /// The feature.
    pub name: String,
    /// How strong it is.
    #[serde(flatten)]
    pub strength: Benchmark,
    /// How many times as strong a hidden cause must be to bring the average to 0; absent when 1000 is not enough.
    pub times_for_estimate: Option<f64>,
    /// The same for the interval's end.
    pub times_for_interval: Option<f64>,
}

/// What could overturn an average effect.
#[derive(Debug, Clone, Serialize)]
pub struct Sensitivity {
    /// Rows.
    pub n_rows: usize,
    /// The average effect.
    pub ate: Score,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// The bounds at the asked strength.
    pub bounds: BiasBounds,
    /// Strengths of the hidden cause behind `bounds`.
    pub strength: (f64, f64),
    /// Robustness value of the estimate.
    pub robustness_value: f64,
    /// Robustness value of the one-sided 95 % interval.
    pub robustness_value_interval: f64,
    /// Observed features as measures.
    pub benchmarks: Vec<FeatureBenchmark>,
    /// E-value, where the effect can be put as a risk ratio.
    pub e_value: Option<EValue>,
    /// Bounds under the marginal sensitivity model.
    pub marginal: Vec<MarginalBounds>,
    /// The factor on the odds of treatment at which the bounds hold 0; absent when 100 is not enough.
    pub lambda_for_estimate: Option<f64>,
    /// The same for their interval.
    pub lambda_for_interval: Option<f64>,
    /// The answer in words.
    pub words: Vec<String>,
    /// What was done to the data.
    pub notes: Vec<String>,
}

/// The average of the rows with what its bounds are made of.
struct Estimated {
    bias: OmittedBias,
    marginal: MarginalSensitivity,
    e_value: Option<EValue>,
    variance: f64,
}

fn estimate(assigned: &Assigned, ctx: &FitContext<'_>) -> Result<Estimated> {
    let yardstick = yardstick(assigned, ctx)?;
    let (design, nuisance) = (&yardstick.design, &yardstick.nuisance);
    let rows = Observed::of(design)?;
    let weights = Weights::smoothed_inverse(&nuisance.e, design.t())?.smooth;
    let bias = OmittedBias::new(&rows, nuisance, &weights)?;
    let mean = clustered_mean(rows.y, rows.weight, None).value;
    let spread: Vec<f64> = rows.y.iter().map(|y| (y - mean).powi(2)).collect();
    let variance = clustered_mean(&spread, rows.weight, None).value;
    let e_value = match design.outcome() {
        OutcomeKind::Continuous => EValue::of_difference(bias.theta, variance.sqrt()),
        OutcomeKind::Binary => {
            // Doubly robust mean of each arm, and the ratio's logarithm by the delta method.
            let arm = |arm: u8| -> Vec<f64> {
                let mu = if arm == 1 { &nuisance.mu1 } else { &nuisance.mu0 };
                let own = |i: usize| if rows.t[i] == arm { weights[i] * (rows.y[i] - mu[i]) } else { 0.0 };
                (0..rows.len()).map(|i| mu[i] + own(i)).collect()
            };
            let (one, zero) = (arm(1), arm(0));
            let [p1, p0] = [&one, &zero].map(|v| clustered_mean(v, rows.weight, None).value);
            if p1 > 0.0 && p0 > 0.0 {
                let log: Vec<f64> = one.iter().zip(&zero).map(|(a, b)| a / p1 - b / p0).collect();
                let se = clustered_mean(&log, rows.weight, rows.groups).se;
                let log = Score { value: (p1 / p0).ln(), se, df: None };
                log.interval(0.95).and_then(|(lo, hi)| EValue::of_ratio(p1 / p0, (lo.exp(), hi.exp())))
            } else {
                None
            }
        }
    };
    let marginal = MarginalSensitivity::new(&rows, nuisance, &weights)?;
    Ok(Estimated { bias, marginal, e_value, variance })
}

/// What could overturn the average effect of the rows of a table.
pub fn sensitivity(
    table: Table,
    roles: &RoleSpec,
    request: &SensitivityRequest,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Sensitivity> {
    for (name, share) in [("cf_y", request.cf_y), ("cf_d", request.cf_d)] {
        if !(0.0..1.0).contains(&share) {
            return Err(Error::unfit(format!("{name} is a share from 0 to below 1, not {share}")));
        }
    }
    let assigned = assign(table, roles)?;
    let ctx = FitContext::new(seed, observer);
    let names = chosen(&assigned, request)?;
    let Estimated { bias, marginal, e_value, variance } = estimate(&assigned, &ctx)?;
    let benchmarks = (names.iter())
        .map(|name| {
            ctx.check_interrupt()?;
            let without = estimate(&without_feature(&assigned, name)?, &ctx)?.bias;
            let strength = bias.benchmark(&without, variance);
            Ok(FeatureBenchmark {
                name: name.clone(),
                strength,
                times_for_estimate: bias.times(&strength, None),
                times_for_interval: bias.times(&strength, Some(LEVEL)),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let mut found = Sensitivity {
        n_rows: assigned.t.len(),
        ate: bias.theta,
        interval: bias.theta.interval(0.95),
        bounds: bias.bounds(request.cf_y, request.cf_d, 1.0, LEVEL),
        strength: (request.cf_y, request.cf_d),
        robustness_value: bias.robustness_value(1.0, None),
        robustness_value_interval: bias.robustness_value(1.0, Some(LEVEL)),
        benchmarks,
        e_value,
        marginal: LAMBDAS.iter().map(|lambda| marginal.bounds_with_interval(*lambda, seed)).collect(),
        lambda_for_estimate: marginal.lambda_of_zero(None),
        lambda_for_interval: marginal.lambda_of_zero(Some(seed)),
        words: vec![],
        notes: assigned.notes.clone(),
    };
    found.words = words(&found, &bias);
    Ok(found)
}

/// The table without one of its features.
pub(crate) fn without_feature(assigned: &Assigned, name: &str) -> Result<Assigned> {
    let (columns, sparse) = assigned.features.clone().into_parts();
    let mut features = Table::new(columns.into_iter().filter(|c| c.name != name).collect())?;
    if let Some(block) = sparse {
        features = features.with_sparse(block)?;
    }
    Ok(Assigned { features, ..assigned.clone() })
}

/// The features to compare with: those named, or those that go most with both treatment and outcome.
fn chosen(assigned: &Assigned, request: &SensitivityRequest) -> Result<Vec<String>> {
    for name in &request.benchmarks {
        assigned.features.require(name)?;
    }
    if !request.benchmarks.is_empty() {
        return Ok(request.benchmarks.clone());
    }
    Ok(strongest(assigned, request.n_benchmarks))
}

/// The features that go most with both treatment and outcome, by the product of correlations (for a category, with the
/// mean of its level); none when there is only one feature.
pub(crate) fn strongest(assigned: &Assigned, most: usize) -> Vec<String> {
    let columns = assigned.features.columns();
    if columns.len() < 2 && assigned.features.sparse().is_none() {
        return vec![];
    }
    let t: Vec<f64> = assigned.t.iter().map(|t| f64::from(*t)).collect();
    let mut ranked: Vec<(String, f64)> = (columns.iter())
        .map(|column| {
            let with = |target: &[f64]| correlation(&column_values(column, target), target).abs();
            (column.name.clone(), with(&t) * with(&assigned.y))
        })
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.into_iter().take(most).map(|(name, _)| name).collect()
}

/// A column as numbers: gaps at 0 deviation, categories as their level's mean of the target.
fn column_values(column: &paretau_data::TableColumn, target: &[f64]) -> Vec<f64> {
    match &column.data {
        paretau_data::ColumnData::Number(values) => {
            let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            values.iter().map(|v| if v.is_finite() { *v } else { mean }).collect()
        }
        paretau_data::ColumnData::Text(_) => {
            let cells: Vec<Option<String>> = (0..column.len()).map(|i| column.cell(i)).collect();
            let mut sums = std::collections::BTreeMap::<&Option<String>, (f64, f64)>::new();
            for (cell, y) in cells.iter().zip(target) {
                let sum = sums.entry(cell).or_default();
                *sum = (sum.0 + y, sum.1 + 1.0);
            }
            cells.iter().map(|cell| sums.get(cell).map_or(0.0, |(sum, n)| sum / n)).collect()
        }
    }
}

fn words(found: &Sensitivity, bias: &OmittedBias) -> Vec<String> {
    let mut lines = vec![];
    if found.interval.is_some_and(|(lo, hi)| lo <= 0.0 && hi >= 0.0) {
        lines.push(
            "the interval of the average holds 0 already: there is no clear effect that a hidden cause could erase"
                .into(),
        );
    }
    lines.push(format!(
        "a hidden cause that explains {:.1} % of what is left of both outcome and treatment could bring the average to 0, \
         {:.1} % its 95 % interval (robustness values)",
        100.0 * found.robustness_value,
        100.0 * found.robustness_value_interval
    ));
    for benchmark in &found.benchmarks {
        let Benchmark { cf_y, cf_d, .. } = benchmark.strength;
        let name = &benchmark.name;
        lines.push(if cf_y * cf_d <= 0.0 {
            format!("`{name}` adds nothing measurable to outcome and treatment together: no measure of strength")
        } else if bias.erased(cf_y, cf_d, None) {
            format!("a hidden cause as strong as `{name}` would erase this")
        } else if bias.erased((2.0 * cf_y).min(0.9999), (2.0 * cf_d).min(0.9999), None) {
            format!("a hidden cause twice as strong as `{name}` would erase this")
        } else {
            let times = benchmark.times_for_estimate.map_or("more than 1000".to_owned(), |k| format!("about {k:.1}"));
            format!("a hidden cause twice as strong as `{name}` would not erase this; {times} times as strong would be needed")
        });
    }
    if let Some(e) = found.e_value {
        let how = if e.approximate { ", by exp(0.91 d) for a difference of d standard deviations" } else { "" };
        lines.push(format!(
            "E-value {:.2} (interval {:.2}): a hidden cause would need risk ratios of that size with both treatment and \
             outcome (risk ratio {:.2}{how})",
            e.point, e.limit, e.risk_ratio
        ));
    }
    let factor = |lambda: Option<f64>| lambda.map_or("more than 100".to_owned(), |l| format!("{l:.2}"));
    lines.push(format!(
        "odds of treatment changed by a factor of {} could bring the average to 0, {} its 95 % interval (marginal \
         sensitivity model)",
        factor(found.lambda_for_estimate),
        factor(found.lambda_for_interval)
    ));
    lines
}
