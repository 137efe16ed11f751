//! A small tree over the predicted effects: a few questions that account for most of their differences.

use paretau_report::{EffectNode, EffectSplit, EffectTree};

use super::Evidence;
use super::grouped::{GroupKind, Grouped};

/// Questions from the root to a leaf.
const DEPTH: usize = 3;
/// A question must account for this share of all differences.
const WORTH: f64 = 0.01;
/// Fewest rows of a leaf.
const FEWEST: usize = 25;

/// The best question of a node: the feature, and which of its groups answer yes.
struct Question<'a> {
    grouped: &'a Grouped,
    yes: Vec<u8>,
    words: [String; 2],
    gain: f64,
}

pub(super) fn tree(evidence: &Evidence<'_>, grouped: &[Grouped]) -> EffectTree {
    let all: Vec<usize> = (0..evidence.effects.tau.len()).collect();
    let total = squares(evidence, &all);
    let mut left = 0.0;
    let root = node(evidence, grouped, &all, DEPTH, total, &mut left);
    let explained = if total > 0.0 { (1.0 - left / total).clamp(0.0, 1.0) } else { 0.0 };
    EffectTree { explained, root }
}

/// Sum of squares about the mean.
fn squares(evidence: &Evidence<'_>, rows: &[usize]) -> f64 {
    let tau = &evidence.effects.tau;
    let mean = rows.iter().map(|&i| tau[i]).sum::<f64>() / rows.len().max(1) as f64;
    rows.iter().map(|&i| (tau[i] - mean).powi(2)).sum()
}

/// The node of these rows; what its leaves leave unexplained is added to `left`.
fn node(
    evidence: &Evidence<'_>,
    grouped: &[Grouped],
    rows: &[usize],
    depth: usize,
    total: f64,
    left: &mut f64,
) -> EffectNode {
    let fewest = FEWEST.max(evidence.effects.tau.len() / 20);
    let best = if depth == 0 { None } else { question(evidence, grouped, rows, fewest) };
    let split = match best.filter(|q| q.gain > WORTH * total) {
        None => {
            *left += squares(evidence, rows);
            None
        }
        Some(question) => {
            let (yes, no): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|&&i| question.yes.contains(&question.grouped.codes[i]));
            let [yes_words, no_words] = question.words;
            Some(Box::new(EffectSplit {
                yes: yes_words,
                no: no_words,
                left: node(evidence, grouped, &yes, depth - 1, total, left),
                right: node(evidence, grouped, &no, depth - 1, total, left),
            }))
        }
    };
    EffectNode { n: rows.len(), predicted: evidence.predicted(rows), seen: evidence.seen(rows), split }
}

fn question<'a>(
    evidence: &Evidence<'_>,
    grouped: &'a [Grouped],
    rows: &[usize],
    fewest: usize,
) -> Option<Question<'a>> {
    let tau = &evidence.effects.tau;
    let total: f64 = rows.iter().map(|&i| tau[i]).sum();
    let mut best: Option<Question<'a>> = None;
    for feature in grouped {
        let mut sums = vec![(0_usize, 0.0); 256];
        for &i in rows {
            let own = &mut sums[usize::from(feature.codes[i])];
            own.0 += 1;
            own.1 += tau[i];
        }
        let mut consider = |yes: Vec<u8>, words: &dyn Fn() -> [String; 2]| {
            let (n, sum) =
                yes.iter().fold((0, 0.0), |(n, s), &c| (n + sums[usize::from(c)].0, s + sums[usize::from(c)].1));
            let others = rows.len() - n;
            if n < fewest || others < fewest {
                return;
            }
            let gap = sum / n as f64 - (total - sum) / others as f64;
            let gain = n as f64 * others as f64 / rows.len() as f64 * gap * gap;
            if best.as_ref().is_none_or(|b| gain > b.gain) {
                best = Some(Question { grouped: feature, yes, words: words(), gain });
            }
        };
        let name = &feature.name;
        let gaps = sums[usize::from(Grouped::MISSING)].0 > 0;
        let or_missing = if gaps { ", or missing" } else { "" };
        match &feature.kind {
            GroupKind::Thresholds(thresholds) => {
                for k in 0..thresholds.len() {
                    let at = &thresholds[k].words;
                    consider((0..=k as u8).collect(), &|| {
                        [format!("{name} at most {at}"), format!("{name} above {at}{or_missing}")]
                    });
                }
            }
            GroupKind::Levels(levels) => {
                for (k, level) in levels.iter().enumerate() {
                    let other = if levels.len() == 2 && !gaps {
                        format!("{name} is {}", levels[1 - k])
                    } else {
                        format!("{name} is not {level}")
                    };
                    consider(vec![k as u8], &|| [format!("{name} is {level}"), other.clone()]);
                }
            }
        }
        if gaps {
            consider(vec![Grouped::MISSING], &|| [format!("{name} is missing"), format!("{name} is known")]);
        }
    }
    best
}
