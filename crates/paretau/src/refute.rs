//! Checks that could refute an average effect: estimated again where the answer is known (nothing, or the same).
//!
//! Three checks destroy the effect and expect 0: `placebo-treatment` (arms permuted), `dummy-outcome` (outcomes permuted) and
//! `shuffled-arms` (arms permuted among rows of like propensity, so that the arms' differences in features stay). Two leave
//! it alone and expect the same: `random-cause` (a column of noise more) and `subset` (four rows of five).
//! `leave-one-out` drops the features that go most with treatment and outcome, one at a time: the average may well
//! move, and then depends on the feature, which is no failure.
//!
//! Rules. A check that expects 0 fails when the mean over replicates is not 0 (Student's test) or more of the replicates'
//! own 95 % intervals exclude 0 than chance allows (binomial tail); its p-value is twice the smaller of the two, and it fails
//! below 1 %. A check that expects the same fails when the mean shift is larger than half the standard error of the
//! average.

use paretau_core::{Error, FitContext, Observer, Result, Seed};
use paretau_data::{Assigned, RoleSpec, Table, TableColumn, assign};
use paretau_kernels::numeric::{mean, sample_sd};
use paretau_nuisance::inference::student_tail;
use paretau_nuisance::{Estimand, Observed, Score, Weights, average_effect};
use serde::Serialize;

use crate::nuisances::{Yardstick, yardstick};
use crate::sensitivity::{strongest, without_feature};

/// A check fails below this p-value.
const LEVEL: f64 = 0.01;
/// Share of rows in a subset.
const SUBSET: f64 = 0.8;
/// Rows of like propensity that arms are shuffled among.
const STRATA: usize = 10;
/// Features that are left out, one at a time.
const MOST_LEFT_OUT: usize = 5;
/// A shift larger than this many standard errors fails.
const MOST_SHIFT: f64 = 0.5;

/// A check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Arms permuted.
    PlaceboTreatment,
    /// Outcomes permuted.
    DummyOutcome,
    /// A column of noise more.
    RandomCause,
    /// Four rows of five.
    Subset,
    /// Arms permuted among rows of like propensity.
    ShuffledArms,
    /// Without one feature.
    LeaveOneOut,
}

/// All checks by name.
pub const CHECKS: &[(&str, Check)] = &[
    ("placebo-treatment", Check::PlaceboTreatment),
    ("dummy-outcome", Check::DummyOutcome),
    ("random-cause", Check::RandomCause),
    ("subset", Check::Subset),
    ("shuffled-arms", Check::ShuffledArms),
    ("leave-one-out", Check::LeaveOneOut),
];

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RefuteRequest {
    /// Names of checks; all when empty.
    pub checks: Vec<String>,
    /// Replicates per check, at least 3.
    pub replicates: usize,
}

impl RefuteRequest {
    /// Replicates per check when nothing else is asked for.
    pub const REPLICATES: usize = 20;
}

/// What a check found.
#[derive(Debug, Clone, Serialize)]
pub struct CheckResult {
    /// Its name; that of the feature behind a colon, where one is left out.
    pub name: String,
    /// The average that is expected.
    pub expected: f64,
    /// The mean over replicates.
    pub found: f64,
    /// Standard deviation over replicates, where there are several.
    pub spread: Option<f64>,
    /// p-value, for checks that expect 0.
    pub p_value: Option<f64>,
    /// Shift from what is expected, in standard errors of the average.
    pub shift: f64,
    /// Whether it passed; absent for features left out, which are no test.
    pub passed: Option<bool>,
    /// What that means.
    pub words: String,
}

/// What the checks found.
#[derive(Debug, Clone, Serialize)]
pub struct Refutation {
    /// Rows.
    pub n_rows: usize,
    /// The average effect that is checked.
    pub ate: Score,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Replicates per check.
    pub replicates: usize,
    /// Results.
    pub checks: Vec<CheckResult>,
    /// What was done to the data.
    pub notes: Vec<String>,
}

/// Runs the checks on the average effect of the rows of a table.
pub fn refute(
    table: Table,
    roles: &RoleSpec,
    request: &RefuteRequest,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Refutation> {
    let wanted = wanted(&request.checks)?;
    if request.replicates < 3 {
        return Err(Error::unfit(format!("{} replicates have no spread; ask for at least 3", request.replicates)));
    }
    let assigned = assign(table, roles)?;
    let ctx = FitContext::new(seed, observer);
    let (ate, e) = average(&assigned, &ctx)?;
    let se = ate
        .se
        .filter(|se| *se > 0.0)
        .ok_or_else(|| Error::unfit("the average has no standard error to compare with"))?;
    let mut checks = vec![];
    for (name, check) in wanted {
        if check == Check::LeaveOneOut {
            for feature in strongest(&assigned, MOST_LEFT_OUT) {
                ctx.check_interrupt()?;
                let (without, _) = average(&without_feature(&assigned, &feature)?, &ctx)?;
                checks.push(left_out(&feature, ate, se, without));
            }
            continue;
        }
        let mut found = vec![];
        for k in 0..request.replicates {
            ctx.check_interrupt()?;
            let draw = seed.named("refute").named(name).indexed(k as u64);
            let changed = changed(&assigned, check, &e, draw)?;
            found.push(average(&changed, &ctx.with_seed(draw))?.0);
        }
        checks.push(match check {
            Check::RandomCause | Check::Subset => same(name, ate, se, &found),
            _ => nothing(name, se, &found),
        });
    }
    Ok(Refutation {
        n_rows: assigned.t.len(),
        ate,
        interval: ate.interval(0.95),
        replicates: request.replicates,
        checks,
        notes: assigned.notes.clone(),
    })
}

fn wanted(names: &[String]) -> Result<Vec<(&'static str, Check)>> {
    if names.is_empty() {
        return Ok(CHECKS.to_vec());
    }
    names
        .iter()
        .map(|name| {
            CHECKS.iter().find(|(known, _)| known == name).copied().ok_or_else(|| {
                let known: Vec<&str> = CHECKS.iter().map(|(known, _)| *known).collect();
                Error::unfit(format!("there is no check `{name}`; there are {}", known.join(", ")))
            })
        })
        .collect()
}

/// The stacked, doubly robust average, and the propensities behind it.
fn average(assigned: &Assigned, ctx: &FitContext<'_>) -> Result<(Score, Vec<f64>)> {
    let Yardstick { design, nuisance, .. } = yardstick(assigned, ctx)?;
    let weights = Weights::smoothed_inverse(&nuisance.e, design.t())?.smooth;
    let average = average_effect(&Observed::of(&design)?, &nuisance, &weights, Estimand::All)?;
    Ok((average.score, nuisance.e))
}

/// The rows as a check wants them.
fn changed(assigned: &Assigned, check: Check, e: &[f64], seed: Seed) -> Result<Assigned> {
    let mut rng = seed.named("rows").rng();
    let mut out = assigned.clone();
    match check {
        Check::PlaceboTreatment => {
            rng.shuffle(&mut out.t);
            // What the study's design says of the arms does not hold for permuted ones.
            out.propensity = None;
        }
        Check::DummyOutcome => rng.shuffle(&mut out.y),
        Check::ShuffledArms => {
            let mut order: Vec<usize> = (0..e.len()).collect();
            order.sort_by(|&a, &b| e[a].total_cmp(&e[b]).then(a.cmp(&b)));
            for stratum in order.chunks(e.len().div_ceil(STRATA)) {
                let mut arms: Vec<u8> = stratum.iter().map(|&i| assigned.t[i]).collect();
                rng.shuffle(&mut arms);
                stratum.iter().zip(arms).for_each(|(&i, t)| out.t[i] = t);
            }
            out.propensity = None;
        }
        Check::RandomCause => {
            let (mut columns, sparse) = assigned.features.clone().into_parts();
            let noise = (0..assigned.t.len()).map(|_| rng.normal()).collect();
            let mut name = "random_cause".to_owned();
            while columns.iter().any(|c| c.name == name) {
                name.push('_');
            }
            columns.push(TableColumn::number(name, noise));
            out.features = Table::new(columns)?;
            if let Some(block) = sparse {
                out.features = out.features.with_sparse(block)?;
            }
        }
        Check::Subset | Check::LeaveOneOut => {
            // Four of five in each arm, so that no arm is lost.
            let mut rows: Vec<usize> = vec![];
            for arm in [0, 1] {
                let own: Vec<usize> = (0..out.t.len()).filter(|&i| out.t[i] == arm).collect();
                let kept = ((own.len() as f64 * SUBSET).ceil() as usize).max(1);
                rows.extend(rng.sample(own.len(), kept).into_iter().map(|k| own[k]));
            }
            rows.sort_unstable();
            let pick = |values: &Vec<f64>| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
            out = Assigned {
                features: assigned.features.select(&rows),
                rows: rows.iter().map(|&i| assigned.rows[i]).collect(),
                t: rows.iter().map(|&i| assigned.t[i]).collect(),
                y: pick(&assigned.y),
                weight: assigned.weight.as_ref().map(pick),
                propensity: assigned.propensity.as_ref().map(pick),
                groups: assigned.groups.as_ref().map(|groups| rows.iter().map(|&i| groups[i]).collect()),
                id: assigned.id.as_ref().map(|id| id.select(&rows)),
                oracle: assigned.oracle.as_ref().map(|oracle| oracle.select(&rows)),
                ..out
            };
        }
    }
    Ok(out)
}

fn mean_and_sd(found: &[Score]) -> (f64, f64) {
    let values: Vec<f64> = found.iter().map(|s| s.value).collect();
    (mean(&values), sample_sd(&values).unwrap_or(f64::NAN))
}

/// A check that expects no effect.
fn nothing(name: &str, se: f64, found: &[Score]) -> CheckResult {
    let (mean, sd) = mean_and_sd(found);
    let n = found.len() as f64;
    let p_mean = if sd > 0.0 { 2.0 * student_tail((mean / (sd / n.sqrt())).abs(), n - 1.0) } else { 1.0 };
    let alarms = found.iter().filter(|s| s.interval(0.95).is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)).count();
    let p = (2.0 * p_mean.min(binomial_tail(alarms, found.len(), 0.05))).min(1.0);
    let passed = p >= LEVEL;
    let words = format!(
        "{alarms} of {} intervals exclude 0{}",
        found.len(),
        if passed { "" } else { ": the estimate finds an effect where there is none" }
    );
    let name = name.to_owned();
    CheckResult {
        name,
        expected: 0.0,
        found: mean,
        spread: Some(sd),
        p_value: Some(p),
        shift: mean / se,
        passed: Some(passed),
        words,
    }
}

/// A check that expects the same effect.
fn same(name: &str, ate: Score, se: f64, found: &[Score]) -> CheckResult {
    let (mean, sd) = mean_and_sd(found);
    let shift = (mean - ate.value) / se;
    let passed = shift.abs() <= MOST_SHIFT;
    let words = if passed { "stays where it was" } else { "moves by more than half its standard error" }.to_owned();
    let name = name.to_owned();
    CheckResult {
        name,
        expected: ate.value,
        found: mean,
        spread: Some(sd),
        p_value: None,
        shift,
        passed: Some(passed),
        words,
    }
}

fn left_out(feature: &str, ate: Score, se: f64, without: Score) -> CheckResult {
    let shift = (without.value - ate.value) / se;
    let outside = ate.interval(0.95).is_some_and(|(lo, hi)| without.value < lo || without.value > hi);
    let words =
        if outside { format!("the average leans on `{feature}`") } else { "stays within its interval".to_owned() };
    let name = format!("leave-one-out: {feature}");
    CheckResult {
        name,
        expected: ate.value,
        found: without.value,
        spread: None,
        p_value: None,
        shift,
        passed: None,
        words,
    }
}

/// Probability of at least `k` hits of `n` with chance `p`.
fn binomial_tail(k: usize, n: usize, p: f64) -> f64 {
    let mut chance = (1.0 - p).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for hits in 0..k {
        below += chance;
        chance *= (n - hits) as f64 / (hits + 1) as f64 * p / (1.0 - p);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_by_hand() {
        assert!((binomial_tail(1, 20, 0.05) - (1.0 - 0.95_f64.powi(20))).abs() < 1e-12);
        assert_eq!(binomial_tail(0, 20, 0.05), 1.0);
        let scores = |values: &[f64]| values.iter().map(|v| Score::new(*v, Some(1.0))).collect::<Vec<_>>();
        assert_eq!(nothing("x", 1.0, &scores(&[0.4, -0.3, 0.1, -0.2])).passed, Some(true));
        // The mean is off, and so is each interval.
        assert_eq!(nothing("x", 1.0, &scores(&[3.0, 3.1, 2.9, 3.05])).passed, Some(false));
        let ate = Score::new(2.0, Some(1.0));
        assert_eq!(same("x", ate, 1.0, &scores(&[2.1, 2.3, 1.9])).passed, Some(true));
        assert_eq!(same("x", ate, 1.0, &scores(&[2.7, 2.6, 2.5])).passed, Some(false));
        assert!(wanted(&["nonsense".to_owned()]).is_err());
    }
}
