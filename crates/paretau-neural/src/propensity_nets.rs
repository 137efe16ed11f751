//! Propensity nets apart from the outcome nets: trained on the features by themselves, one per member, on the rows that the
//! member learns from.
//!
//! The propensity nets inside the outcome nets read representations that serve the outcome, so what they predict of treatment is
//! whatever those leave. Weights for held-out rows, and the propensity that users get, need one that reads everything.

use paretau_core::{Design, Result};

use crate::choose::Rounds;
use crate::estimator::{inside, run_all};
use crate::member::Job;
use crate::nets::{Keeping, NetKind};
use crate::plain::PlainPredictor;
use crate::settings::Size;
use crate::splits::TrainValid;

/// One propensity net per member; dropout, L2 and embedding by the first one's validation loss.
pub(crate) fn propensity_nets(
    kind: &dyn NetKind,
    design: &Design,
    parts: &[TrainValid],
    keeping: Keeping<'_>,
) -> Result<Vec<PlainPredictor>> {
    let size = Size { n: parts[0].train.len(), d: design.x().n_cols() };
    let rounds = Rounds::new(kind, design, size);
    let candidates = &rounds.candidates;
    let train = |member: usize, choice, runs: usize, (pause, name): (Option<u64>, &str)| {
        let parallelism = inside(runs);
        let job = Job { kind, design, parts: &parts[member], choice, member, parallelism, from: None, pause };
        job.separate_propensity_net(name, keeping)
    };
    let name = |k: usize| format!("separate-candidate{k}");
    let rung = kind.rung(size, candidates[0]);
    let (best, first, _) = rounds.best(rung, |k, pause, runs| train(0, candidates[k], runs, (pause, &name(k))))?;
    (0..candidates.len()).for_each(|k| keeping.1.release(&format!("{}-propensity", name(k))));
    let rest = parts.len() - 1;
    let choice = candidates[best];
    let others = run_all(rest, |k| train(1 + k, choice, rest, (None, &format!("separate{}", 1 + k))))?;
    Ok(std::iter::once(first).chain(others.into_iter().map(|(net, _)| net)).collect())
}
