//! What to be careful about after a fit: the one place where warnings are gathered, most important first.

use paretau_core::{Seed, Warning};
use paretau_nuisance::inference::normal_quantile;
use paretau_nuisance::{IMBALANCE, OverlapReport};
use paretau_report::{ArmFindings, Balance, Findings};

use crate::about::{Averages, Population, comparison};
use crate::findings;
use crate::fit::Fitted;
use crate::prepared::Prepared;
use crate::summary::four_digits;

/// All warnings about a fit, by severity. Within one, features that determine the outcome come first, for they explain most of
/// what else looks odd; then the overlap and the balance, which bear on everything else; then what the data and the estimator
/// had to say.
pub(crate) fn of_fit(
    fitted: &Fitted,
    determined: Option<Warning>,
    compared: &[Compared<'_>],
    found: &Findings,
) -> Vec<Warning> {
    let mut all: Vec<Warning> = determined.into_iter().collect();
    all.extend(of_arms(fitted, compared, |own| {
        own.overlap.warnings.iter().cloned().chain(imbalance(own.overlap, own.findings)).collect()
    }));
    all.extend(fitted.scale.iter().cloned());
    all.extend(fitted.prepared.assigned.warnings.iter().cloned());
    all.extend(fitted.model.diagnostics().warnings.iter().cloned());
    all.extend(of_arms(fitted, compared, |own| {
        // An average that rests on extrapolation is no reason to distrust the predictions.
        let ate = own.averages.ate.filter(|_| own.averages.headline == Some(Population::Ate));
        let disagrees = ate.and_then(|ate| findings::cross_check(own.predicted, &ate));
        disagrees.into_iter().chain(second_opinion(own.averages)).collect()
    }));
    all.extend(ranking(found));
    by_severity(&mut all);
    all
}

/// What is known about a treated arm and the control.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) averages: &'a Averages,
    pub(crate) overlap: &'a OverlapReport,
    pub(crate) findings: &'a ArmFindings,
    /// Mean predicted effect of the rows of both.
    pub(crate) predicted: f64,
}

/// Warnings about every treated arm, which say about which one they are where there are several.
fn of_arms(
    fitted: &Fitted,
    compared: &[Compared<'_>],
    warnings: impl Fn(&Compared<'_>) -> Vec<Warning>,
) -> Vec<Warning> {
    let arms = &fitted.prepared.assigned.arms;
    let named = |k: usize, warning| if arms.len() > 2 { about_arm(warning, &arms[k + 1], &arms[0]) } else { warning };
    let of_arm = |(k, own)| warnings(own).into_iter().map(move |warning| named(k, warning)).collect::<Vec<_>>();
    compared.iter().enumerate().flat_map(of_arm).collect()
}

/// A warning that says about which arm it is.
pub(crate) fn about_arm(warning: Warning, arm: &str, control: &str) -> Warning {
    let mut letters = warning.message.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    Warning { message: format!("{}: {first}{}", comparison(arm, control), letters.as_str()), ..warning }
}

/// Warnings before a fit: features that determine the outcome, other columns that look wrong, then the overlap.
pub(crate) fn of_data(
    prepared: &Prepared,
    overlap: &OverlapReport,
    suspects: Vec<Warning>,
    seed: Seed,
) -> Vec<Warning> {
    let names = prepared.assigned.features.columns().iter().map(|column| column.name.as_str());
    let determined = findings::determined(&prepared.design, names, seed);
    let exactly = determined.is_some();
    let mut all: Vec<Warning> = determined.into_iter().collect();
    // What determines the outcome exactly has been named already.
    all.extend(suspects.into_iter().filter(|w| !(exactly && w.code == "outcome-nearly-determined")));
    all.extend(overlap.warnings.iter().cloned());
    all.extend(prepared.assigned.warnings.iter().cloned());
    by_severity(&mut all);
    all
}

/// The most severe first, otherwise in their order.
pub(crate) fn by_severity(all: &mut [Warning]) {
    all.sort_by_key(Warning::severity);
}

/// A warning when two doubly robust estimates by the same nuisances and weights disagree: then single rows with large weights
/// decide.
pub(crate) fn second_opinion(averages: &Averages) -> Option<Warning> {
    let (first, second) = (averages.ate?, averages.targeted?);
    (!(first.lo..=first.hi).contains(&second.value)).then(|| {
        Warning::new(
            "second-opinion-differs",
            format!(
                "a second opinion on the average over everyone, {}, lies outside the interval of the first, {} to {}: a few \
                 rows with large weights decide; prefer the overlap-weighted average, or leave out the rows at risk",
                four_digits(second.value),
                four_digits(first.lo),
                four_digits(first.hi)
            ),
        )
    })
}

/// A warning when those with the largest predicted effects do not have larger effects than those with the smallest.
fn ranking(found: &Findings) -> Option<Warning> {
    let (first, last) = (found.groups.first()?, found.groups.last()?);
    (found.groups.len() > 1 && last.seen.value <= first.seen.value).then(|| {
        Warning::new(
            "ranking-not-confirmed",
            format!(
                "the effect is no larger among the people with the largest predicted effects than among those with the smallest \
                 (estimated {} against {}): do not choose people by these predictions",
                four_digits(last.seen.value),
                four_digits(first.seen.value)
            ),
        )
    })
}

/// A warning when weighting leaves the arms apart by more than chance would.
fn imbalance(overlap: &OverlapReport, findings: &ArmFindings) -> Option<Warning> {
    /// Distances of so many standard errors are not chance.
    const ERRORS: f64 = 3.0;
    /// How often chance alone may raise the warning, whatever the number of features.
    const FALSE_ALARMS: f64 = 0.01;
    let [control, treated] = &overlap.arms;
    let error = (1.0 / control.ess_smoothed + 1.0 / treated.ess_smoothed).sqrt();
    // The largest of many distances is larger than one alone (Bonferroni).
    let among = normal_quantile(1.0 - FALSE_ALARMS / (2.0 * findings.n_balanced.max(1) as f64));
    let limit = IMBALANCE.max(ERRORS.max(among) * error);
    let size = |b: &Balance| b.after.map_or(f64::INFINITY, f64::abs);
    let off: Vec<&Balance> = findings.balance.iter().filter(|b| size(b) > limit).collect();
    let worst = off.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let apart = worst.after.map_or_else(
        || "which separates them completely".to_owned(),
        |d| format!("which differs by {:.2} standard deviations", d.abs()),
    );
    let (count, verb) = if off.len() == 1 {
        ("One feature".to_owned(), "differs")
    } else {
        (format!("{} features", off.len()), "differ")
    };
    Some(Warning {
        code: "arms-not-balanced".to_owned(),
        message: format!(
            "{count} of {} still {verb} between the arms by more than chance after weighting by the propensity, most of all {}, {apart}: the \
             propensities do not make the arms alike, so the answer leans on the outcome model.",
            findings.n_balanced, worst.name
        ),
    })
}
