//! One metric on arrays.

use numpy::PyReadonlyArray1;
use paretau::eval::{Evidence, Metric};
use paretau::nuisance::{Nuisance, Observed, Weights};
use paretau::{Error, FeatureRole, Oracle, Seed};
use pyo3::prelude::*;

use crate::arrays::{In, slice};
use crate::detach::detach;
use crate::error::{to_py, usage};

/// The metric's value and standard error; `None` when it is not defined for these arrays (a constant effect).
///
/// `nuisance` is `(m, mu0, mu1, e)`, `truth` is the true effect, `encoders` are feature roles as JSON.
#[pyfunction]
#[pyo3(signature = (name, effect, *, rows = None, nuisance = None, truth = None, encoders = None, weight = None, seed = 0))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn metric(
    py: Python<'_>,
    name: &str,
    effect: In<'_>,
    rows: Option<(PyReadonlyArray1<'_, u8>, In<'_>)>,
    nuisance: Option<[In<'_>; 4]>,
    truth: Option<In<'_>>,
    encoders: Option<&str>,
    weight: Option<In<'_>>,
    seed: u64,
) -> PyResult<Option<(f64, Option<f64>)>> {
    let tau = slice(&effect)?;
    let weight = weight.as_ref().map(slice).transpose()?;
    let rows = match &rows {
        Some((t, y)) => Some(Observed { t: slice(t)?, y: slice(y)?, weight, groups: None }),
        None => None,
    };
    let nuisance = match &nuisance {
        Some([m, mu0, mu1, e]) => Some(Nuisance {
            m: slice(m)?.to_vec(),
            mu0: slice(mu0)?.to_vec(),
            mu1: slice(mu1)?.to_vec(),
            e: slice(e)?.to_vec(),
        }),
        None => None,
    };
    let truth = truth.as_ref().map(slice).transpose()?;
    let encoders: Option<Vec<FeatureRole>> = encoders
        .map(serde_json::from_str)
        .transpose()
        .map_err(|e| usage(format!("feature roles are the list `feature_roles_` of a fitted estimator ({e})")))?;
    let score = detach(py, to_py, || {
        let metric = Metric::named(name)?;
        same_length(tau.len(), rows, nuisance.as_ref(), truth)?;
        let truth = truth.map(|truth| Oracle::new(vec![0.0; truth.len()], truth.to_vec())).transpose()?;
        let scores = match (rows, &nuisance) {
            (Some(rows), Some(nuisance)) => {
                rows.check()?;
                nuisance.check(rows.len())?;
                let inverse = Weights::smoothed_inverse(&nuisance.e, rows.t)?;
                Some(nuisance.scores(&rows, &inverse.smooth))
            }
            _ => None,
        };
        metric.score(&Evidence {
            tau,
            rows,
            nuisance: nuisance.as_ref(),
            scores: scores.as_deref(),
            truth: truth.as_ref(),
            encoders: encoders.as_deref(),
            seed: Seed(seed),
        })
    })?;
    Ok(score.map(|score| (score.value, score.se)))
}

/// Metrics of the library trust their caller about lengths; here the caller is a person.
fn same_length(
    n: usize,
    rows: Option<Observed<'_>>,
    nuisance: Option<&Nuisance>,
    truth: Option<&[f64]>,
) -> paretau::Result<()> {
    let wrong = |what: &'static str, found: usize| Err(Error::LengthMismatch { what, expected: n, found });
    match (rows, nuisance, truth) {
        (Some(rows), _, _) if rows.len() != n => wrong("treatment", rows.len()),
        (_, Some(nuisance), _) if nuisance.e.len() != n => wrong("propensity", nuisance.e.len()),
        (_, _, Some(truth)) if truth.len() != n => wrong("the true effect", truth.len()),
        _ => Ok(()),
    }
}
