//! Average effects of rows by their nuisances and weights: which of them enough rows carry, and which the data can speak about.

use paretau_core::{OutcomeKind, Result};
use paretau_nuisance::weights::BOUND;
use paretau_nuisance::{
    LEAST_EFFECTIVE_ROWS, Nuisance, Observed, OverlapReport, average_effect, effective_rows, extrapolation, ratios,
    targeted_average,
};

use crate::about::{Averages, Estimate, Extrapolated, Population, RatioEstimates};

/// Average effects, as far as enough rows carry them, and which of them the data can speak about.
pub(crate) fn of_rows(
    rows: &Observed<'_>,
    (nuisance, inverse, overlap): (&Nuisance, &[f64], &OverlapReport),
    outcome: OutcomeKind,
    asked: Option<Population>,
) -> Result<Averages> {
    let all: Vec<usize> = (0..rows.len()).collect();
    let average = |population: Population| -> Result<Option<Estimate>> {
        let effective = effective_rows(rows, nuisance, inverse, population.estimand(), &all);
        if effective.iter().any(|n| *n < LEAST_EFFECTIVE_ROWS) {
            return Ok(None);
        }
        let average = average_effect(rows, nuisance, inverse, population.estimand())?;
        Estimate::from_score(average.score).map(Some)
    };
    let [ate, att, atc, ato] = Population::ALL.map(average);
    let (ate, att, atc, ato) = (ate?, att?, atc?, ato?);
    let (targeted, ratios) = if ate.is_some() {
        let targeted = Estimate::from_score(targeted_average(rows, nuisance, inverse, outcome)?)?;
        let ratios = match outcome {
            OutcomeKind::Binary => Some(RatioEstimates::from_ratios(&ratios(rows, nuisance, inverse)?)?),
            OutcomeKind::Continuous => None,
        };
        (Some(targeted), ratios)
    } else {
        (None, None)
    };
    let mut extrapolated = vec![];
    for population in Population::ALL {
        let found = extrapolation(rows, nuisance, inverse, overlap, population.estimand())?;
        extrapolated.extend(found.map(|reason| Extrapolated { population, reason }));
    }
    let why = |population: Population| {
        extrapolated.iter().find(|found| found.population == population).map(|found| found.reason.clone())
    };
    let extrapolates = why(Population::Ate);
    let few = || {
        let few = overlap.arms.iter().map(|arm| arm.n).min().unwrap_or(0);
        format!(
            "the effective sample size of one arm is below {LEAST_EFFECTIVE_ROWS} (the smaller arm has {few} {})",
            if few == 1 { "row" } else { "rows" }
        )
    };
    // Overlap weights always add up to something; with nobody in the overlap that is an average over no one.
    let in_overlap = |arm: u8| {
        let rows = rows.t.iter().zip(&nuisance.e);
        rows.filter(|(t, e)| **t == arm && (BOUND..=1.0 - BOUND).contains(*e)).count()
    };
    let shared = in_overlap(0).min(in_overlap(1));
    // An arm of a handful of rows says nothing about overlap: that it is small is the reason, not that it stands apart.
    let known = overlap.arms.iter().all(|arm| arm.n as f64 >= LEAST_EFFECTIVE_ROWS);
    let is_apart = asked.is_none() && known && (shared as f64) < LEAST_EFFECTIVE_ROWS && extrapolates.is_some();
    let apart = is_apart.then(|| {
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
