//! Effects along features that are numbers, in bins of neighbouring values.
//!
//! As for subgroups, intervals are part of a band over the bins of every feature that could have been chosen.

use paretau_core::Result;
use paretau_data::{ColumnData, Table};
use paretau_report::{CurvePoint, FeatureCurve};

use super::grouped::{GroupKind, Grouped, Threshold};
use super::{ScoredRows, banded};

/// Features that are shown.
const FEATURES: usize = 4;
/// Bins per feature, at most.
const BINS: usize = 8;

/// A bin with its rows.
struct Bin {
    level: String,
    at: f64,
    rows: Vec<usize>,
}

pub(super) fn curves(scored: &ScoredRows<'_>, features: &Table, grouped: &[Grouped]) -> Result<Vec<FeatureCurve>> {
    let numbers = |name: &str| match &features.column(name)?.data {
        // The axis of a chart counts in numbers, not in dates.
        ColumnData::Number(values) if !features.column(name)?.is_date => Some(values.contiguous()),
        _ => None,
    };
    let mut all: Vec<(&str, Vec<Bin>)> = grouped
        .iter()
        .filter_map(|own| match &own.kind {
            GroupKind::Thresholds(thresholds) if !thresholds[0].single => {
                Some((own.name.as_str(), bins(own, thresholds, &numbers(&own.name)?)))
            }
            _ => None,
        })
        .filter(|(_, bins)| bins.len() > 2)
        .collect();
    if all.is_empty() {
        return Ok(vec![]);
    }
    let groups: Vec<Vec<usize>> =
        all.iter_mut().flat_map(|(_, bins)| bins).map(|bin| std::mem::take(&mut bin.rows)).collect();
    let n_features = features.columns().len() + features.sparse().map_or(0, |block| block.names.len());
    let considered = groups.len() * n_features.max(1) / grouped.len().max(1);
    let seen = scored.seen(&groups, considered.max(groups.len()))?;
    let mut found = groups.iter().zip(&seen);
    let curves = all.iter().take(FEATURES).map(|(name, bins)| FeatureCurve {
        feature: (*name).to_owned(),
        points: bins
            .iter()
            .zip(&mut found)
            .map(|(bin, (rows, seen))| CurvePoint {
                at: bin.at,
                level: bin.level.clone(),
                n: rows.len(),
                predicted: scored.predicted(rows),
                seen: banded(seen),
            })
            .collect(),
    });
    Ok(curves.collect())
}

/// Neighbouring groups of a column put together into a few bins.
fn bins(grouped: &Grouped, thresholds: &[Threshold], values: &[f64]) -> Vec<Bin> {
    let n_groups = thresholds.len() + 1;
    let n_bins = n_groups.min(BINS);
    let bin_of = |code: u8| usize::from(code) * n_bins / n_groups;
    let mut rows: Vec<Vec<usize>> = vec![vec![]; n_bins];
    for (i, &code) in grouped.codes.iter().enumerate().filter(|(_, code)| **code != Grouped::MISSING) {
        rows[bin_of(code)].push(i);
    }
    let bins = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()).map(|(k, rows)| {
        // The thresholds below the first group of the bin and above its last.
        let first = (0..n_groups).position(|g| g * n_bins / n_groups == k).unwrap_or(0);
        let last = (0..n_groups).rposition(|g| g * n_bins / n_groups == k).unwrap_or(0);
        let below = first.checked_sub(1).map(|t| &thresholds[t].words);
        let level = match (below, thresholds.get(last)) {
            (None, Some(to)) => format!("at most {}", to.words),
            (Some(from), Some(to)) => format!("above {from}, at most {}", to.words),
            (Some(from), None) => format!("above {from}"),
            (None, None) => "any".to_owned(),
        };
        let mut own: Vec<f64> = rows.iter().map(|&i| values[i]).collect();
        own.sort_unstable_by(f64::total_cmp);
        Bin { level, at: own[own.len() / 2], rows }
    });
    bins.collect()
}
