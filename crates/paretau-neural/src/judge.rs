//! Propensity nets that judge: trained on the features by themselves, one a member, on the rows that the member learns from.
//!
//! The propensity nets inside the outcome nets read representations that serve the outcome, so what they say of treatment is
//! whatever those leave. Weights for held-out rows, and the propensity that users are told, need one that reads everything.

use paretau_core::{Design, FitContext, Result};

use crate::config::NetConfig;
use crate::estimator::{inside, run_all};
use crate::member::Job;
use crate::plain::PlainPredictor;
use crate::settings::Size;
use crate::splits::Parts;
use crate::train::Keeper;

/// One propensity net a member; dropout and L2 by the first one's validation loss.
pub(crate) fn judges(
    config: &NetConfig,
    design: &Design,
    parts: &[Parts],
    keeping: (&FitContext<'_>, &Keeper<'_>),
) -> Result<Vec<PlainPredictor>> {
    let size = Size { n: parts[0].train.len(), d: design.x().n_cols(), outcome: design.outcome() };
    let candidates = config.candidates(size);
    let job = |member: usize, choice, runs| Job {
        config,
        design,
        parts: &parts[member],
        choice,
        member,
        parallelism: inside(runs),
    };
    let tried = run_all(candidates.len(), |k| {
        job(0, candidates[k], candidates.len()).judge(&format!("judge-candidate{k}"), keeping)
    })?;
    let Some((choice, (first, _))) = candidates.iter().zip(tried).min_by(|a, b| a.1.1.total_cmp(&b.1.1)) else {
        return Ok(Vec::new());
    };
    let rest = parts.len() - 1;
    let others = run_all(rest, |k| job(1 + k, *choice, rest).judge(&format!("judge{}", 1 + k), keeping))?;
    Ok(std::iter::once(first).chain(others.into_iter().map(|(net, _)| net)).collect())
}
