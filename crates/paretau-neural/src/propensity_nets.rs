//! Propensity nets apart from the outcome nets: trained on the features by themselves, one per member, on the rows that the
//! member learns from.
//!
//! The propensity nets inside the outcome nets read representations that serve the outcome, so what they predict of treatment is
//! whatever those leave. Weights for held-out rows, and the propensity that users get, need one that reads everything.

use paretau_core::{Design, Result};

use crate::estimator::{inside, run_all};
use crate::member::Job;
use crate::nets::{Keeping, NetKind};
use crate::plain::PlainPredictor;
use crate::settings::Size;
use crate::splits::TrainValid;

/// One propensity net per member; dropout and L2 by the first one's validation loss.
pub(crate) fn propensity_nets(
    kind: &dyn NetKind,
    design: &Design,
    parts: &[TrainValid],
    keeping: Keeping<'_>,
) -> Result<Vec<PlainPredictor>> {
    let candidates = kind.candidates(Size { n: parts[0].train.len(), d: design.x().n_cols() });
    let train = |member: usize, choice, runs: usize, name: String| {
        let job = Job { kind, design, parts: &parts[member], choice, member, parallelism: inside(runs) };
        job.separate_propensity_net(&name, keeping)
    };
    let tried =
        run_all(candidates.len(), |k| train(0, candidates[k], candidates.len(), format!("separate-candidate{k}")))?;
    let Some((choice, (first, _))) = candidates.iter().zip(tried).min_by(|a, b| a.1.1.total_cmp(&b.1.1)) else {
        return Ok(Vec::new());
    };
    let rest = parts.len() - 1;
    let others = run_all(rest, |k| train(1 + k, *choice, rest, format!("separate{}", 1 + k)))?;
    Ok(std::iter::once(first).chain(others.into_iter().map(|(net, _)| net)).collect())
}
