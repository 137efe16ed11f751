//! What the data must choose, chosen on validation rows without the truth.
//!
//! Dropout and L2 by the validation objective. The tempering exponent by the validation loss under fixed balancing weights,
//! which stands for the loss over both arms' outcomes: the weighted net keeps its weights unless the unweighted one is better
//! by more than half a standard error of their difference, row by row.

use paretau_core::{Design, FitContext, OutcomeKind, Result};
use paretau_kernels::weights::{Pooling, Weigher, Weighting};

use crate::config::NetConfig;
use crate::member::{Job, Member};
use crate::settings::{Choice, Size};
use crate::splits::Parts;
use crate::train::Keeper;

/// Standard errors by which no weighting must be better to be chosen.
const MARGIN: f64 = 0.5;

/// What was chosen, and the first member if it was trained with it already.
pub(crate) struct Chosen {
    pub(crate) choice: Choice,
    pub(crate) first: Option<Member>,
    pub(crate) notes: Vec<(String, f64)>,
}

/// Trains one member for each candidate and chooses.
pub(crate) fn choose(
    config: &NetConfig,
    design: &Design,
    parts: &Parts,
    (ctx, keeper): (&FitContext<'_>, &Keeper<'_>),
) -> Result<Chosen> {
    let size = Size { n: parts.train.len(), d: design.x().n_cols(), outcome: design.outcome() };
    let candidates = config.candidates(size);
    let train = |choices: &[Choice], start: usize| -> Result<Vec<Member>> {
        crate::estimator::run_all(choices.len(), |k| {
            let job = Job {
                config,
                design,
                parts,
                choice: choices[k],
                member: 0,
                parallelism: crate::estimator::inside(choices.len()),
            };
            job.train(&format!("candidate{}", start + k), (ctx, keeper))
        })
    };
    let best_of = |members: &[Member]| {
        (0..members.len()).min_by(|&a, &b| members[a].trained.score.total_cmp(&members[b].trained.score)).unwrap_or(0)
    };
    // First the mild candidates; then the strong one beside the unweighted twin of the best mild one: two and two, for two cores.
    let mild = candidates.mild;
    let mut members = train(&mild, 0)?;
    let mut choices = mild;
    let best = best_of(&members);
    let mut next: Vec<Choice> = candidates.strong.into_iter().collect();
    let tempers = config.gamma.is_none() && config.weighs();
    if tempers {
        next.push(Choice { gamma: 0.0, ..choices[best] });
    }
    let mut notes = Vec::new();
    let mut more = train(&next, choices.len())?;
    let unweighted = if tempers { more.pop() } else { None };
    let mut gamma = choices[best].gamma;
    if let Some(unweighted) = &unweighted {
        let gain = gain(design, parts, &members[best], unweighted)?;
        notes.push(("gamma_gain".to_owned(), gain));
        if gain > MARGIN {
            gamma = 0.0;
        }
    }
    next.truncate(more.len());
    let mild = choices.clone();
    members.extend(more);
    choices.extend(next);
    for (k, member) in members.iter().enumerate() {
        notes.push((format!("candidate{k}_valid"), member.trained.score));
    }
    if gamma != choices[best].gamma {
        // Without weights another dropout may be the better one: the other mild candidates get their unweighted twins too.
        let rest: Vec<Choice> =
            mild.iter().enumerate().filter(|(k, _)| *k != best).map(|(_, c)| Choice { gamma, ..*c }).collect();
        let twins = train(&rest, choices.len() + 1)?;
        let strong = choices.split_off(mild.len()).into_iter().zip(members.split_off(mild.len()));
        choices = vec![Choice { gamma, ..mild[best] }];
        members = unweighted.into_iter().collect();
        choices.extend(rest);
        members.extend(twins);
        choices.extend(strong.map(|(c, m)| {
            members.push(m);
            c
        }));
    }
    let last = best_of(&members);
    let choice = Choice { gamma, ..choices[last] };
    // A strong candidate was trained with weights only: its first member is trained with the rest.
    let first = if gamma == choices[last].gamma { members.into_iter().nth(last) } else { None };
    Ok(Chosen { choice, first, notes })
}

/// By how many standard errors the unweighted net's validation loss is lower, under balancing weights.
fn gain(design: &Design, parts: &Parts, weighted: &Member, plain: &Member) -> Result<f64> {
    let rows = &parts.valid;
    let t: Vec<u8> = rows.iter().map(|&i| design.t()[i]).collect();
    if rows.len() < 10 || !(t.contains(&0) && t.contains(&1)) {
        return Ok(0.0);
    }
    let losses = |member: &Member| -> Result<(Vec<f64>, Vec<f64>)> {
        let mut work = member.predictor.work(rows.len());
        let said = member.predictor.answer(design.x(), rows, &mut work)?;
        let sd = member.predictor.info.scale.sd;
        let each = rows.iter().enumerate().map(|(k, &i)| {
            let (mu, y) = (if t[k] == 1 { said.mu1[k] } else { said.mu0[k] }, design.y()[i]);
            match design.outcome() {
                OutcomeKind::Continuous => ((mu - y) / sd).powi(2),
                OutcomeKind::Binary => -(if y > 0.5 { mu } else { 1.0 - mu }).max(1e-12).ln(),
            }
        });
        Ok((each.collect(), said.e))
    };
    let (with, e) = losses(weighted)?;
    let (without, _) = losses(plain)?;
    let logit = |e: f64| (e.clamp(1e-12, 1.0 - 1e-12) / (1.0 - e).max(1e-12)).ln();
    let logits: Vec<f64> = match design.propensity() {
        Some(known) => rows.iter().map(|&i| logit(known[i])).collect(),
        None if e.len() == rows.len() => e.iter().map(|&e| logit(e)).collect(),
        None => return Ok(0.0),
    };
    let share = parts.train.iter().filter(|&&i| design.t()[i] == 1).count() as f64 / parts.train.len() as f64;
    let mut w = vec![1.0; rows.len()];
    let scheme = Weighting::SoftParetoNorm(paretau_kernels::soft_pareto_options::SoftParetoOptions::default());
    let weigher = Weigher::new(scheme, Pooling::Pooled, 1.0).and_then(|mut g| g.forward(&logits, &t, share, &mut w));
    if weigher.is_err() {
        return Ok(0.0);
    }
    let n = rows.len() as f64;
    let gaps: Vec<f64> = (0..rows.len()).map(|k| w[k] * (with[k] - without[k])).collect();
    let mean = gaps.iter().sum::<f64>() / n;
    let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    Ok(if sd > 0.0 { mean / (sd / n.sqrt()) } else { 0.0 })
}
