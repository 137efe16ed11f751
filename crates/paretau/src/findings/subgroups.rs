//! Effects within levels of the features that tell predicted effects apart best.
//!
//! The features are chosen by predictions that have seen the outcomes, so intervals of the chosen ones alone would flatter.
//! Theirs are part of a band over the levels of every feature that could have been chosen: whichever is looked at, it holds.

use paretau_core::Result;
use paretau_data::Table;
use paretau_report::Subgroup;

use super::grouped::{GroupKind, Grouped};
use super::{MOST_FEATURES, ScoredRows, banded};

/// Features that are shown.
const FEATURES: usize = 8;
/// Rows times features that bands are computed for: very long tables are looked at in fewer features.
const MOST_CELLS: usize = 8_000_000;
/// Subgroups of a text column, at most.
const LEVELS: usize = 6;

/// A subgroup with its rows.
struct Part<'a> {
    grouped: &'a Grouped,
    level: String,
    rows: Vec<usize>,
}

/// How many features are examined in a table of so many rows.
pub(super) fn most_examined(n_rows: usize) -> usize {
    (MOST_CELLS / n_rows.max(1)).clamp(FEATURES, MOST_FEATURES)
}

pub(super) fn subgroups(scored: &ScoredRows<'_>, features: &Table, grouped: &[Grouped]) -> Result<Vec<Subgroup>> {
    let mut parts: Vec<Vec<Part<'_>>> = grouped.iter().map(of_feature).filter(|parts| parts.len() > 1).collect();
    let rows: Vec<Vec<usize>> = parts.iter_mut().flatten().map(|part| std::mem::take(&mut part.rows)).collect();
    // Features beyond those that are looked at had their chance, too.
    let n_features = features.columns().len() + features.sparse().map_or(0, |block| block.names.len());
    let considered = rows.len() * n_features.max(1) / grouped.len().max(1);
    let seen = scored.seen(&rows, considered)?;
    let shown = parts.iter().take(FEATURES).flatten();
    Ok(shown
        .zip(rows.iter().zip(&seen))
        .map(|(part, (rows, found))| Subgroup {
            feature: part.grouped.name.clone(),
            level: part.level.clone(),
            n: rows.len(),
            n_treated: found.n[1],
            predicted: scored.predicted(rows),
            seen: banded(found),
            reason: found.effect.as_ref().err().cloned(),
        })
        .collect())
}

fn of_feature(grouped: &Grouped) -> Vec<Part<'_>> {
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
    let rows = |codes: &[u8]| (0..grouped.codes.len()).filter(|&i| codes.contains(&grouped.codes[i])).collect();
    let part = |(level, codes): (String, Vec<u8>)| Part { grouped, level, rows: rows(&codes) };
    parts.into_iter().map(part).filter(|part: &Part<'_>| !part.rows.is_empty()).collect()
}
