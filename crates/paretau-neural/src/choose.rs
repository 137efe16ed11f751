//! What the data must choose, chosen on validation rows without the truth.
//!
//! Dropout and L2 by the validation objective of the first member's candidates, for weighted and unweighted nets apart. How much
//! the weights count is chosen after all members are trained, see [`crate::temper`].

use paretau_core::{Design, Result};

use crate::estimator::{inside, run_all};
use crate::member::{Job, Member};
use crate::nets::{Keeping, NetKind};
use crate::settings::{Choice, Size};
use crate::splits::TrainValid;

/// Named numbers for the diagnostics.
pub(crate) type Notes = Vec<(String, f64)>;

/// A choice with the first member trained by it.
pub(crate) struct Chosen {
    pub(crate) choice: Choice,
    pub(crate) first: Member,
}

/// Trains the first member with every candidate and keeps the best: one weighted and one unweighted when the weights' share is
/// still open, else one. Named numbers report what the candidates reached.
pub(crate) fn choose(
    kind: &dyn NetKind,
    design: &Design,
    parts: &TrainValid,
    keeping: Keeping<'_>,
) -> Result<(Vec<Chosen>, Notes)> {
    let size = Size { n: parts.train.len(), d: design.x().n_cols() };
    let exponents: &[Option<f64>] = if kind.tempers() { &[None, Some(0.0)] } else { &[None] };
    let candidates: Vec<(usize, Choice)> = (exponents.iter().enumerate())
        .flat_map(|(ensemble, gamma)| {
            let all = kind.candidates(size).into_iter();
            all.map(move |c| (ensemble, Choice { gamma: gamma.unwrap_or(c.gamma), ..c }))
        })
        .collect();
    let parallelism = inside(candidates.len());
    let members = run_all(candidates.len(), |k| {
        let job = Job { kind, design, parts, choice: candidates[k].1, member: 0, parallelism };
        job.train(&format!("candidate{k}"), keeping)
    })?;
    let mut notes = Vec::new();
    let mut best: Vec<Option<Chosen>> = exponents.iter().map(|_| None).collect();
    for (k, ((ensemble, choice), first)) in candidates.into_iter().zip(members).enumerate() {
        notes.push((format!("candidate{k}_valid"), first.trained.score));
        let place = &mut best[ensemble];
        if place.as_ref().is_none_or(|b| first.trained.score < b.first.trained.score) {
            *place = Some(Chosen { choice, first });
        }
    }
    Ok((best.into_iter().flatten().collect(), notes))
}
