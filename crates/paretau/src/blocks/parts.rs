//! Averages over very many rows, a few million at a time: weights with one tail per arm and averages need several numbers per row
//! at once. Parts are random and have no group in common, so that what they say is put together as independent.

use paretau_core::{OutcomeKind, Result};
use paretau_nuisance::{OverlapReport, WeightMap};

use super::rows::{AllRows, BlockRows, Together};
use super::together;
use crate::about::{Averages, Estimate, Population, RatioEstimates};

/// Rows of a part, about: enough for tails and averages, and some hundred MB.
pub(super) const ROWS: usize = 4_000_000;

/// Rows in parts, of which those that are complete have been averaged.
pub(super) struct Parts {
    outcome: OutcomeKind,
    asked: Option<Population>,
    /// Rows from which on a part is complete.
    most_rows: usize,
    open: AllRows,
    done: Vec<(usize, Together)>,
}

impl Parts {
    /// Parts of equal size for `n` rows, none above `most`.
    pub(super) fn new(n: usize, most: usize, outcome: OutcomeKind, asked: Option<Population>) -> Self {
        let most_rows = n.div_ceil(n.div_ceil(most).max(1));
        Self { outcome, asked, most_rows, open: AllRows::default(), done: vec![] }
    }

    /// Adds a block of rows and those of them whose propensity is nearest to 0 or 1.
    pub(super) fn add(&mut self, rows: BlockRows, extreme: Vec<(f64, usize)>) -> Result<()> {
        self.open.add(rows, extreme);
        if self.open.n_rows() >= self.most_rows { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.open);
        let n = rows.n_rows();
        if n > 0 {
            self.done.push((n, rows.finish(self.outcome, self.asked)?));
        }
        Ok(())
    }

    /// What all parts say together.
    pub(super) fn finish(mut self) -> Result<Together> {
        self.close()?;
        let total: usize = self.done.iter().map(|(n, _)| n).sum();
        let mut done: Vec<(f64, Together)> =
            self.done.into_iter().map(|(n, part)| (n as f64 / total as f64, part)).collect();
        let Some((_, first)) = done.pop() else {
            return Err(paretau_core::Error::internal("blocks of rows", "there are none"));
        };
        if done.is_empty() {
            return Ok(first);
        }
        let all: Vec<(f64, &Together)> =
            done.iter().map(|(share, part)| (*share, part)).chain([(1.0 - sum(&done), &first)]).collect();
        let averages: Vec<(f64, &Averages)> = all.iter().map(|(share, part)| (*share, &part.averages)).collect();
        let overlaps: Vec<&OverlapReport> = all.iter().map(|(_, part)| &part.overlap).collect();
        let map: WeightMap = first.map.clone();
        Ok(Together { averages: averaged(&averages), overlap: overlap(&overlaps), map })
    }
}

fn sum(parts: &[(f64, Together)]) -> f64 {
    parts.iter().map(|(share, _)| share).sum()
}

/// The mean of independent estimates with their shares; nothing where a part has none.
fn mean(parts: &[(f64, Option<Estimate>)]) -> Option<Estimate> {
    let all: Vec<(f64, Estimate)> =
        parts.iter().map(|(share, found)| Some((*share, (*found)?))).collect::<Option<_>>()?;
    let of = |pick: fn(&Estimate) -> f64| all.iter().map(|(share, own)| share * pick(own)).sum::<f64>();
    let value = of(|own| own.value);
    let squares = |pick: fn(&Estimate) -> f64| all.iter().map(|(s, own)| (s * pick(own)).powi(2)).sum::<f64>().sqrt();
    // Widths below and above, since those of ratios differ.
    let (below, above) = (squares(|own| own.value - own.lo), squares(|own| own.hi - own.value));
    Some(Estimate { value, se: squares(|own| own.se), lo: value - below, hi: value + above })
}

fn averaged(parts: &[(f64, &Averages)]) -> Averages {
    let of = |pick: fn(&Averages) -> Option<Estimate>| {
        mean(&parts.iter().map(|(share, own)| (*share, pick(own))).collect::<Vec<_>>())
    };
    // Where parts disagree, the one that says less speaks for all.
    let most_careful =
        parts.iter().map(|(_, own)| *own).max_by_key(|own| (own.extrapolated.len(), own.headline.is_none()));
    let Averages { headline, reason, asked, extrapolated, .. } =
        most_careful.cloned().unwrap_or_else(|| parts[0].1.clone());
    let ratios = parts.iter().map(|(share, own)| Some((*share, own.ratios?))).collect::<Option<Vec<_>>>();
    let ratios = ratios.and_then(|all| {
        let of = |pick: fn(&RatioEstimates) -> Option<Estimate>| {
            mean(&all.iter().map(|(share, own)| (*share, pick(own))).collect::<Vec<_>>())
        };
        Some(RatioEstimates {
            control: of(|own| Some(own.control))?,
            treated: of(|own| Some(own.treated))?,
            risk_ratio: of(|own| own.risk_ratio),
            odds_ratio: of(|own| own.odds_ratio),
        })
    });
    Averages {
        ate: of(|own| own.ate),
        att: of(|own| own.att),
        atc: of(|own| own.atc),
        ato: of(|own| own.ato),
        headline,
        reason,
        asked,
        extrapolated,
        targeted: of(|own| own.targeted),
        ratios,
    }
}

/// Counts and effective rows are added up, extremes are extremes, the worst tail counts, warnings say of how many parts.
fn overlap(parts: &[&OverlapReport]) -> OverlapReport {
    let mut all = parts[0].clone();
    for part in &parts[1..] {
        for (sum, own) in all.histogram.iter_mut().zip(&part.histogram) {
            sum.control += own.control;
            sum.treated += own.treated;
        }
        for (sum, own) in all.arms.iter_mut().zip(&part.arms) {
            sum.n += own.n;
            sum.khat = sum.khat.into_iter().chain(own.khat).reduce(f64::max);
            sum.khat_threshold = sum.khat_threshold.min(own.khat_threshold);
            sum.ess_raw += own.ess_raw;
            sum.ess_truncated += own.ess_truncated;
            sum.ess_smoothed += own.ess_smoothed;
            sum.max_raw = sum.max_raw.max(own.max_raw);
            sum.max_smoothed = sum.max_smoothed.max(own.max_smoothed);
            sum.smoothed |= own.smoothed;
            sum.at_risk += own.at_risk;
        }
        all.range = (all.range.0.min(part.range.0), all.range.1.max(part.range.1));
        all.held.n += part.held.n;
    }
    // Each list is in order, the most extreme first; the head of each is kept.
    let longest = parts.iter().map(|part| part.rows_at_risk.len()).max().unwrap_or(0);
    all.rows_at_risk =
        (0..longest).flat_map(|k| parts.iter().filter_map(move |part| part.rows_at_risk.get(k))).copied().collect();
    all.rows_at_risk.truncate(super::rows::MOST_AT_RISK);
    all.warnings = together::warnings(parts.iter().map(|part| part.warnings.as_slice()), parts.len());
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;
    use paretau_nuisance::Nuisance;

    use super::*;

    fn block(n: usize, seed: u64) -> BlockRows {
        let mut rng = Seed(seed).rng();
        let e: Vec<f64> = (0..n).map(|_| 0.1 + 0.8 * rng.uniform()).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let y = t.iter().map(|t| f64::from(*t) + rng.normal()).collect();
        BlockRows { t, y, weight: None, groups: None, nuisance: Nuisance::from_arms(vec![0.1; n], vec![0.9; n], e) }
    }

    fn together(most: usize) -> Together {
        let mut parts = Parts::new(24_000, most, OutcomeKind::Continuous, None);
        for k in 0..24 {
            let own = block(1000, k);
            let extreme = own.most_extreme();
            parts.add(own, extreme).unwrap();
        }
        parts.finish().unwrap()
    }

    #[test]
    fn parts_say_what_all_rows_at_once_say() {
        let (whole, parts) = (together(24_000), together(7_000));
        for pick in [|a: &Averages| a.ate, |a: &Averages| a.att, |a: &Averages| a.ato, |a: &Averages| a.targeted] {
            let (one, many) = (pick(&whole.averages).unwrap(), pick(&parts.averages).unwrap());
            assert!((one.value - many.value).abs() < 0.1 * one.se, "{one:?} {many:?}");
            assert!((one.se / many.se - 1.0).abs() < 0.02, "{one:?} {many:?}");
            assert!(((one.hi - one.lo) / (many.hi - many.lo) - 1.0).abs() < 0.02);
        }
        assert_eq!(whole.averages.headline, parts.averages.headline);
        let counts = |found: &Together| {
            let bins: Vec<usize> = found.overlap.histogram.iter().map(|bin| bin.control + bin.treated).collect();
            (bins, found.overlap.arms.map(|arm| (arm.n, arm.at_risk)), found.overlap.range)
        };
        assert_eq!(counts(&whole), counts(&parts));
        for (one, many) in whole.overlap.arms.iter().zip(&parts.overlap.arms) {
            assert!((one.ess_smoothed / many.ess_smoothed - 1.0).abs() < 0.02);
        }
    }
}
