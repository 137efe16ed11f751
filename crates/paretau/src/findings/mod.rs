//! What a fit finds about its training rows, in summaries that travel in the model file: the report is made from them alone.
//!
//! Nothing here grows with the rows, and nothing is about a single one.

mod cross_check;
mod curves;
mod determined;
mod grouped;
mod subgroups;
mod suspects;
mod tree;
mod weights;

use paretau_core::{Column, ColumnKind, Design, Effects, Result, Seed};
use paretau_data::{Assigned, Encoder, EncoderPolicy};
use paretau_eval::{TocBand, toc_band};
use paretau_kernels::numeric::mean_sd;
use paretau_nuisance::inference::{mean, normal_quantile};
use paretau_nuisance::{
    FeatureBalance, GroupEstimate, Observed, RowEvidence, Score, Weights, balance, group_estimates,
};
use paretau_report::{
    ArmFindings, Balance, Bin, EffectGroup, EffectSummary, Findings, Interval, SortedEffect, TargetPoint,
};

pub(crate) use self::cross_check::cross_check;
pub(crate) use self::determined::determined;
use self::grouped::Grouped;
pub(crate) use self::suspects::suspects;
use crate::about::Population;
use crate::assessment::Weighted;

/// Points of the sorted effects, less one.
const STEPS: usize = 100;
/// Points of the targeting curve.
const TARGETED: usize = 20;
/// Groups by predicted effect.
const GROUPS: usize = 5;
/// Features whose balance is kept, the worst.
const MOST_BALANCED: usize = 200;
/// Features that are looked at for subgroups and the tree, at most.
const MOST_FEATURES: usize = 40;

/// The rows of a fit with everything that was estimated about them.
struct ScoredRows<'a> {
    design: &'a Design,
    effects: &'a Effects,
    /// Doubly robust scores.
    scores: Vec<f64>,
    /// What averages of some rows need.
    evidence: RowEvidence<'a>,
    seed: Seed,
}

impl ScoredRows<'_> {
    /// Doubly robust estimates for some groups of rows that were chosen among so many.
    fn seen(&self, groups: &[Vec<usize>], considered: usize) -> Result<Vec<GroupEstimate>> {
        group_estimates(&self.evidence, groups, considered, self.seed.named("subgroups"))
    }

    /// The mean predicted effect of some rows.
    fn predicted(&self, rows: &[usize]) -> f64 {
        self.mean_of(rows, &self.effects.tau).value
    }

    fn mean_of(&self, rows: &[usize], values: &[f64]) -> Score {
        let pick = |v: &[f64]| -> Vec<f64> { rows.iter().map(|&i| v[i]).collect() };
        let t: Vec<u8> = rows.iter().map(|&i| self.design.t()[i]).collect();
        let (y, weight) = (pick(self.design.y()), self.design.weight().map(pick));
        let groups: Option<Vec<u32>> = self.design.groups().map(|g| rows.iter().map(|&i| g[i]).collect());
        let part = Observed { t: &t, y: &y, weight: weight.as_deref(), groups: groups.as_deref() };
        mean(&part, &pick(values))
    }
}

/// Everything the report wants to know about the training rows, by their one set of weights, but for the lists per arm.
/// Effects that are seen in groups are those of `population`.
pub(crate) fn find(weighted: &Weighted<'_>, population: Population, held_out: bool, seed: Seed) -> Result<Findings> {
    let (assigned, design, effects) = (&*weighted.pair.assigned, &*weighted.pair.design, &*weighted.pair.effects);
    let (rows, weights) = (weighted.rows()?, &weighted.weights);
    let scores = weighted.nuisance.scores(&rows, &weights.smooth);
    let evidence = weighted.evidence(&rows, population);
    let scored = ScoredRows { design, effects, scores, evidence, seed };
    let summary = summary(effects, held_out);
    let varies = summary.sd > 0.0;
    let features = &assigned.features;
    let grouped =
        if varies { Grouped::of(features, &effects.tau, subgroups::most_examined(design.n_rows())) } else { vec![] };
    Ok(Findings {
        raw_difference: raw_difference(&scored),
        effects: summary,
        // Groups by predictions that have seen the very outcomes would flatter them.
        groups: if varies && held_out { by_effect(&scored)? } else { vec![] },
        subgroups: subgroups::subgroups(&scored, features, &grouped)?,
        curves: curves::curves(&scored, features, &grouped)?,
        targeting: if varies && held_out { targeting(&scored) } else { vec![] },
        tree: if varies { tree::tree(&scored, features)? } else { None },
        arms: vec![],
    })
}

/// What weighting does to a treated arm and the control.
pub(crate) fn of_arm(weighted: &Weighted<'_>) -> Result<ArmFindings> {
    let (weights, design) = (&weighted.weights, &*weighted.pair.design);
    let (n_balanced, balance) = balances(&weighted.pair.assigned, design, weights)?;
    let [control, treated] = [0, 1].map(|arm| weights::of_arm(weights, design.t(), arm));
    Ok(ArmFindings { weights: [control, treated], balance, n_balanced })
}

/// Groups of about equal size by predicted effect, lowest first, rows of one prediction together; those that too few rows of
/// either arm carry are left out.
fn by_effect(scored: &ScoredRows<'_>) -> Result<Vec<EffectGroup>> {
    let tau = &scored.effects.tau;
    let mut order: Vec<usize> = (0..tau.len()).collect();
    order.sort_by(|&a, &b| tau[a].total_cmp(&tau[b]).then(a.cmp(&b)));
    let (mut parts, mut start): (Vec<Vec<usize>>, usize) = (vec![], 0);
    for part in 1..=GROUPS {
        let mut end = (part * order.len()).div_ceil(GROUPS).max(start);
        while end > start && end < order.len() && tau[order[end]] == tau[order[end - 1]] {
            end += 1;
        }
        if end > start {
            parts.push(order[start..end].to_vec());
        }
        start = end;
    }
    let seen = scored.seen(&parts, parts.len())?;
    let groups = parts.iter().zip(&seen).filter_map(|(own, seen)| {
        let seen = banded(seen)?;
        Some(EffectGroup { n: own.len(), predicted: scored.predicted(own), seen })
    });
    Ok(groups.collect())
}

/// The targeting curve: the average effect of the rows with the largest predictions, less that of all.
fn targeting(scored: &ScoredRows<'_>) -> Vec<TargetPoint> {
    let design = scored.design;
    let rows = Observed { t: design.t(), y: design.y(), weight: design.weight(), groups: design.groups() };
    let curve = toc_band(&rows, &scored.scores, &scored.effects.tau, TARGETED, scored.seed.named("targeting"));
    let point = |p: &TocBand| TargetPoint { share: p.q, gain: p.toc.value, se: p.toc.se };
    curve.iter().map(point).filter(|p| p.gain.is_finite() && p.se.is_none_or(f64::is_finite)).collect()
}

/// A group's effect with its part of the band over all groups.
fn banded(found: &GroupEstimate) -> Option<Interval> {
    let effect = found.effect.as_ref().ok()?;
    Some(Interval { value: effect.score.value, lo: effect.band.0, hi: effect.band.1 })
}

/// The 95 % interval of a score; one without a standard error is as wide as its number.
fn interval(score: Score) -> Interval {
    let (lo, hi) = score.interval(0.95).unwrap_or((score.value, score.value));
    Interval { value: score.value, lo, hi }
}

/// Difference of the arms' mean outcomes.
fn raw_difference(evidence: &ScoredRows<'_>) -> Interval {
    let design = evidence.design;
    let [control, treated] = [0, 1].map(|arm| evidence.mean_of(&design.rows_of_arm(arm), design.y()));
    let se = match (control.se, treated.se) {
        (Some(a), Some(b)) => Some(a.hypot(b)),
        _ => None,
    };
    interval(Score::new(treated.value - control.value, se))
}

fn summary(effects: &Effects, held_out: bool) -> EffectSummary {
    let tau = &effects.tau;
    let n = tau.len();
    let (average, spread) = mean_sd(tau);
    // Rounding makes even a constant effect vary in its last digits.
    let size = tau.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
    let sd = if spread > 1e-9 * size { spread } else { 0.0 };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| tau[a].total_cmp(&tau[b]).then(a.cmp(&b)));
    let z = normal_quantile(0.975);
    let share = |test: &dyn Fn(usize) -> bool| (0..n).filter(|&i| test(i)).count() as f64 / n as f64;
    let se = effects.se.as_ref();
    let sorted = (0..=STEPS)
        .map(|k| {
            let at = k as f64 / STEPS as f64;
            let place = ((at * (n - 1) as f64).round() as usize).min(n - 1);
            // The band is the mean of its neighbours' intervals: single ones would make a comb.
            let reach = n / (2 * STEPS);
            let near = &order[place.saturating_sub(reach)..=(place + reach).min(n - 1)];
            let band = se.map(|se| {
                let half = z * near.iter().map(|&i| se[i]).sum::<f64>() / near.len() as f64;
                (tau[order[place]] - half, tau[order[place]] + half)
            });
            SortedEffect { share: at, tau: tau[order[place]], band }
        })
        .collect();
    let (bins, outside) = if sd > 0.0 { histogram(tau, &order) } else { (vec![], [0; 2]) };
    EffectSummary {
        mean: average,
        sd,
        above_zero: share(&|i| tau[i] > 0.0),
        surely_above: se.map(|se| share(&|i| tau[i] - z * se[i] > 0.0)),
        surely_below: se.map(|se| share(&|i| tau[i] + z * se[i] < 0.0)),
        held_out,
        histogram: bins,
        outside,
        sorted,
    }
}

/// Equal bins over the values, more of them for more rows, and the rows below the first and above the last: values farther
/// from the middle 98 % than these lie from each other would leave nothing to be seen of the rest.
fn histogram(values: &[f64], order: &[usize]) -> (Vec<Bin>, [usize; 2]) {
    let at = |share: f64| values[order[((share * (order.len() - 1) as f64).round() as usize).min(order.len() - 1)]];
    let (least, most) = (at(0.0), at(1.0));
    let (low, high) = (at(0.01), at(0.99));
    let reach = if high > low { high - low } else { most - least };
    let inside = |v: f64| v >= low - reach && v <= high + reach;
    let kept = || values.iter().copied().filter(|&v| inside(v));
    let (lo, hi) = kept().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let k = ((2.0 * (values.len() as f64).cbrt()).ceil() as usize).clamp(8, 40);
    let width = (hi - lo) / k as f64;
    let mut bins: Vec<Bin> = (0..k)
        .map(|j| Bin {
            from: lo + width * j as f64,
            to: if j + 1 == k { hi } else { lo + width * (j + 1) as f64 },
            n: 0,
        })
        .collect();
    kept().for_each(|v| bins[(((v - lo) / width) as usize).min(k - 1)].n += 1);
    let outside = [values.iter().filter(|&&v| v < lo).count(), values.iter().filter(|&&v| v > hi).count()];
    (bins, outside)
}

/// How many features were compared, and the balance of those that differ most.
fn balances(assigned: &Assigned, design: &Design, weights: &Weights) -> Result<(usize, Vec<Balance>)> {
    let all = feature_balance(assigned, design, weights)?;
    let kept = all.iter().take(MOST_BALANCED);
    let kept = kept.map(|b| Balance { name: b.name.clone(), before: b.before, after: b.after }).collect();
    Ok((all.len(), kept))
}

/// Balance of all features under the weights, categories as indicators, whatever the estimator takes.
pub(crate) fn feature_balance(assigned: &Assigned, design: &Design, weights: &Weights) -> Result<Vec<FeatureBalance>> {
    let w = weights.times(design.weight());
    let coded = |column: &Column| matches!(column.kind, ColumnKind::Categorical { .. });
    if !design.columns().iter().any(coded) {
        return balance(design.x(), design.columns(), design.t(), &w);
    }
    let rows: Vec<usize> = (0..design.n_rows()).collect();
    let policy = EncoderPolicy { sparse: true, ..EncoderPolicy::default() };
    let encoder = Encoder::fit(&assigned.features, &policy, &rows)?;
    let (x, _) = encoder.transform(&assigned.features)?;
    balance(&x, encoder.columns(), design.t(), &w)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_counted_and_do_not_stretch_the_bins() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let sorted = |values: &[f64]| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            order
        };
        let (bins, outside) = histogram(&values, &sorted(&values));
        assert_eq!((bins.iter().map(|b| b.n).sum::<usize>(), outside), (1000, [0, 0]));
        values.extend([500.0, -90.0, 800.0]);
        let (bins, outside) = histogram(&values, &sorted(&values));
        assert_eq!((bins.iter().map(|b| b.n).sum::<usize>(), outside), (1000, [1, 2]));
        assert!(bins[0].from == 0.0 && bins[bins.len() - 1].to < 1.0);
        // Almost all alike, one apart: both are shown.
        let mut alike = vec![1.0; 300];
        alike.push(2.0);
        let (bins, outside) = histogram(&alike, &sorted(&alike));
        assert_eq!((bins.iter().map(|b| b.n).sum::<usize>(), outside), (301, [0, 0]));
    }
}
