//! What the data must choose, chosen on validation rows without the truth.
//!
//! Dropout and L2 by the validation objective of the first member's candidates. All train as long as any training must; then the best
//! goes on and the others are given up. Weighted nets take the choice of the unweighted ones. How much the weights count is chosen
//! after all members are trained, see [`crate::temper`].

use paretau_core::{Design, Result};

use crate::estimator::{inside, run_all};
use crate::member::{Job, Member};
use crate::nets::{Keeping, NetKind};
use crate::settings::{Choice, Part, Size};
use crate::splits::TrainValid;

/// Named numbers for the diagnostics.
pub(crate) type Notes = Vec<(String, f64)>;

/// Trains the first member with every candidate until the rung, and with the best to the end. Named numbers report what the candidates
/// reached by then.
pub(crate) fn choose(
    kind: &dyn NetKind,
    design: &Design,
    parts: &TrainValid,
    part: Part,
    keeping: Keeping<'_>,
) -> Result<(Choice, Member, Notes)> {
    let size = Size { n: parts.train.len(), d: design.x().n_cols() };
    let all = kind.candidates(size).into_iter();
    let candidates: Vec<Choice> =
        all.map(|c| Choice { gamma: if kind.tempers() { 0.0 } else { c.gamma }, part, ..c }).collect();
    let name = |k: usize| format!("candidate{k}");
    let train = |k: usize, pause: Option<u64>, runs: usize| {
        let parallelism = inside(runs);
        let job = Job { kind, design, parts, choice: candidates[k], member: 0, parallelism, from: None, pause };
        let member = job.train(&name(k), keeping)?;
        let score = pause.map_or(member.trained.score, |step| member.trained.score_by(step));
        Ok((member, score))
    };
    let rung = kind.rung(size, candidates[0]);
    let (best, first, scores) = best_of(candidates.len(), rung, train)?;
    (0..candidates.len()).for_each(|k| keeping.1.release(&name(k)));
    let notes = scores.into_iter().enumerate().map(|(k, score)| (format!("candidate{k}_valid"), score)).collect();
    Ok((candidates[best], first, notes))
}

/// The best of some runs by their scores at the rung (at the end, without one), trained to the end, with all scores. `train` gets a
/// run's number, where to pause, and how many runs go on side by side; called again without a pause, it goes on.
pub(crate) fn best_of<R: Send>(
    count: usize,
    rung: Option<u64>,
    train: impl Fn(usize, Option<u64>, usize) -> Result<(R, f64)> + Send + Sync,
) -> Result<(usize, R, Vec<f64>)> {
    let rung = rung.filter(|_| count > 1);
    let mut runs = run_all(count, |k| train(k, rung, count))?;
    let scores: Vec<f64> = runs.iter().map(|(_, score)| *score).collect();
    let best = (0..count).min_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
    let first = if rung.is_some() { train(best, None, 1)?.0 } else { runs.swap_remove(best).0 };
    Ok((best, first, scores))
}
