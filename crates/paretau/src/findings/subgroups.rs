//! Effects within levels of the features that tell effects apart best.

use paretau_report::Subgroup;

use super::ScoredRows;
use super::grouped::{GroupKind, Grouped};

/// Features that are told.
const FEATURES: usize = 8;
/// Subgroups of a text column, at most.
const LEVELS: usize = 6;
/// Fewest rows of each arm in a subgroup.
const FEWEST: usize = 10;

pub(super) fn subgroups(evidence: &ScoredRows<'_>, grouped: &[Grouped]) -> Vec<Subgroup> {
    grouped.iter().map(|g| of_feature(evidence, g)).filter(|g| g.len() > 1).take(FEATURES).flatten().collect()
}

fn of_feature(evidence: &ScoredRows<'_>, grouped: &Grouped) -> Vec<Subgroup> {
    let mut parts: Vec<(String, Vec<u8>)> = match &grouped.kind {
        GroupKind::Levels(names) => {
            names.iter().take(LEVELS).enumerate().map(|(k, name)| (name.clone(), vec![k as u8])).collect()
        }
        GroupKind::Thresholds(thresholds) if thresholds[0].single => {
            thresholds.iter().enumerate().map(|(k, t)| (t.words.clone(), vec![k as u8])).collect()
        }
        GroupKind::Thresholds(thresholds) => {
            let near = |share: f64| {
                let gap = |k: usize| (thresholds[k].share - share).abs();
                (0..thresholds.len()).min_by(|&a, &b| gap(a).total_cmp(&gap(b))).unwrap_or(0)
            };
            let (low, high) = (near(1.0 / 3.0), near(2.0 / 3.0));
            let codes = |from: usize, to: usize| (from as u8..=to as u8).collect();
            let last = thresholds.len();
            let words = |k: usize| &thresholds[k].words;
            let mut parts = vec![(format!("at most {}", words(low)), codes(0, low))];
            if high > low {
                parts.push((format!("above {}, at most {}", words(low), words(high)), codes(low + 1, high)));
            }
            parts.push((format!("above {}", words(high)), codes(high + 1, last)));
            parts
        }
    };
    parts.push(("missing".to_owned(), vec![Grouped::MISSING]));
    parts.into_iter().filter_map(|(level, codes)| subgroup(evidence, grouped, level, &codes)).collect()
}

fn subgroup(evidence: &ScoredRows<'_>, grouped: &Grouped, level: String, codes: &[u8]) -> Option<Subgroup> {
    let rows: Vec<usize> = (0..grouped.codes.len()).filter(|&i| codes.contains(&grouped.codes[i])).collect();
    let n_treated = rows.iter().filter(|&&i| evidence.design.t()[i] == 1).count();
    if n_treated < FEWEST || rows.len() - n_treated < FEWEST {
        return None;
    }
    Some(Subgroup {
        feature: grouped.name.clone(),
        level,
        n: rows.len(),
        n_treated,
        predicted: evidence.predicted(&rows),
        seen: evidence.seen(&rows),
    })
}
