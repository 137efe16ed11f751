//! What the data must choose, chosen on validation rows without the truth.
//!
//! Dropout and L2 by the validation objective of the first member's candidates, then the best of them against the same with
//! piecewise-linear inputs where columns suit them. All train as long as any training must; then the best goes on and the others
//! are given up. Weighted nets take the choice of the unweighted ones. How much the weights count is chosen
//! after all members are trained, see [`crate::temper`].

use paretau_core::{Design, Result};

use crate::data::Pieces;
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
    let rounds = Rounds::new(kind, design, size);
    let all = rounds.candidates.iter();
    let candidates: Vec<Choice> =
        all.map(|c| Choice { gamma: if kind.tempers() { 0.0 } else { c.gamma }, part, ..*c }).collect();
    let name = |k: usize| format!("candidate{k}");
    let train = |k: usize, pause: Option<u64>, runs: usize| {
        let parallelism = inside(runs);
        let job = Job { kind, design, parts, choice: candidates[k], member: 0, parallelism, from: None, pause };
        let member = job.train(&name(k), keeping)?;
        let score = pause.map_or(member.trained.score, |step| member.trained.score_by(step));
        Ok((member, score))
    };
    let rung = kind.rung(size, candidates[0]);
    let (best, first, scores) = rounds.best(rung, train)?;
    (0..candidates.len()).for_each(|k| keeping.1.release(&name(k)));
    let notes = scores.into_iter().map(|(k, score)| (format!("candidate{k}_valid"), score)).collect();
    Ok((candidates[best], first, notes))
}

/// Scores of the candidates that were tried, by their numbers.
type Scores = Vec<(usize, f64)>;

/// What is tried: a first round of candidates, and a second of their winner with piecewise-linear inputs.
pub(crate) struct Rounds {
    /// Candidates of the first round, then, in the same order, those that a second may try.
    pub(crate) candidates: Vec<Choice>,
    first: usize,
}

impl Rounds {
    pub(crate) fn new(kind: &dyn NetKind, design: &Design, size: Size) -> Self {
        let mut candidates = kind.candidates(size, Pieces::suit(design.x()));
        let first = candidates.len();
        if kind.embedding_is_open() && candidates[0].bins > 0 {
            candidates.extend_from_within(..);
            candidates[..first].iter_mut().for_each(|choice| choice.bins = 0);
        }
        Self { candidates, first }
    }

    /// The best run by its score at the rung (at the end, without one), trained to the end, with the scores of all that were tried.
    /// `train` gets a candidate's number, where to pause, and how many runs go on side by side; called again without a pause, it goes
    /// on.
    pub(crate) fn best<R: Send>(
        &self,
        rung: Option<u64>,
        train: impl Fn(usize, Option<u64>, usize) -> Result<(R, f64)> + Send + Sync,
    ) -> Result<(usize, R, Scores)> {
        let rung = rung.filter(|_| self.candidates.len() > 1);
        let mut runs: Vec<(usize, R, f64)> = run_all(self.first, |k| {
            let (run, score) = train(k, rung, self.first)?;
            Ok((k, run, score))
        })?;
        let place = best_place(&runs);
        if self.candidates.len() > self.first {
            let other = self.first + runs[place].0;
            let (run, score) = train(other, rung, 1)?;
            runs.push((other, run, score));
        }
        let scores = runs.iter().map(|(k, _, score)| (*k, *score)).collect();
        let (best, run, _) = runs.swap_remove(best_place(&runs));
        let run = if rung.is_some() { train(best, None, 1)?.0 } else { run };
        Ok((best, run, scores))
    }
}

/// The place of the run with the lowest score, the first of equals.
fn best_place<R>(runs: &[(usize, R, f64)]) -> usize {
    (0..runs.len()).min_by(|&a, &b| runs[a].2.total_cmp(&runs[b].2)).unwrap_or(0)
}
