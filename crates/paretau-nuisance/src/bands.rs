//! Simultaneous bands: intervals of several estimates of the same rows that hold all of them at once.
//!
//! Each estimate comes with its rows' influence on it. Multiplying the influences by independent normal draws, one per row or
//! cluster, gives draws of all errors together (multiplier bootstrap); how far the largest of them strays, in standard errors,
//! is how wide the band must be. Estimates that move together need a narrower band than Bonferroni's. Given the data, such
//! draws are jointly normal with the influences' own correlations, so they are drawn from these: that takes one pass over the
//! rows, not one per draw.

use std::borrow::Cow;

use paretau_core::Seed;

use crate::inference::{Score, normal_quantile, normal_tail, student_quantile};

/// Draws of the multiplier bootstrap.
pub const DRAWS: usize = 4000;

/// Influences beyond which correlations are computed from a part of the rows.
const MOST_INFLUENCES: usize = 4_000_000;
/// Rows whose influences are put beside each other at a time.
const ROWS_AT_A_TIME: usize = 4096;

/// An estimate of some rows.
#[derive(Debug, Clone)]
pub struct Influenced<'a> {
    /// The estimate with its standard error.
    pub score: Score,
    /// The rows that have an influence on it.
    pub rows: Cow<'a, [usize]>,
    /// Their influence, weights and 1/n included.
    pub influence: Vec<f64>,
}

impl<'a> Influenced<'a> {
    /// An estimate with the influence of some rows, and a standard error clustered by the groups of all rows.
    pub fn new(value: f64, rows: impl Into<Cow<'a, [usize]>>, influence: Vec<f64>, groups: Option<&[u32]>) -> Self {
        let rows = rows.into();
        let own = groups.map(|groups| rows.iter().map(|&i| groups[i]).collect::<Vec<u32>>());
        Self { score: Score::of_influence(value, &influence, own.as_deref()), rows, influence }
    }
}

/// How wide a band over several estimates is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Standard errors on either side.
    pub width: f64,
}

impl Band {
    /// The band that holds all estimates at once with probability `level`, rows of one group counted as one draw.
    pub fn of(estimates: &[&Influenced<'_>], groups: Option<&[u32]>, level: f64, seed: Seed) -> Self {
        let pointwise = normal_quantile(f64::midpoint(1.0, level));
        let usable: Vec<&Influenced<'_>> =
            estimates.iter().copied().filter(|e| e.score.se.is_some_and(|se| se > 0.0)).collect();
        if usable.len() < 2 {
            return Self { width: pointwise };
        }
        let root = factor(correlations(&usable, groups));
        let k = usable.len();
        let mut rng = seed.named("bands").rng();
        let mut largest: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let z: Vec<f64> = (0..k).map(|_| rng.normal()).collect();
                let error = |a: usize| (0..=a).map(|b| root[a][b] * z[b]).sum::<f64>().abs();
                (0..k).map(error).fold(0.0, f64::max)
            })
            .collect();
        largest.sort_by(f64::total_cmp);
        let place = ((level * DRAWS as f64).ceil() as usize).clamp(1, DRAWS) - 1;
        Self { width: largest[place].max(pointwise) }
    }

    /// The band's ends at one estimate: where its error has few degrees of freedom, at the same probability by Student's
    /// distribution.
    pub fn ends(&self, score: &Score) -> Option<(f64, f64)> {
        let width = score.df.map_or(self.width, |df| student_quantile(1.0 - normal_tail(self.width), df));
        let half = score.se? * width;
        Some((score.value - half, score.value + half))
    }
}

/// Correlations of the estimates' errors, by the influences of rows or groups that they share.
fn correlations(estimates: &[&Influenced<'_>], groups: Option<&[u32]>) -> Vec<Vec<f64>> {
    let k = estimates.len();
    // Correlations of very many rows are known well enough from some of them, drawn by a hash of their place.
    let stride = estimates.iter().map(|e| e.rows.len()).sum::<usize>() / MOST_INFLUENCES + 1;
    let drawn = |id: usize| Seed(id as u64).named("bands").0.is_multiple_of(stride as u64);
    let counts = |id: usize| stride == 1 || drawn(id);
    let mut sums = vec![vec![0.0; k]; k];
    // What a row (or group of rows) does to which estimates, the first ones first.
    let mut add = |own: &[(usize, f64)]| {
        for &(a, x) in own {
            for &(b, y) in own.iter().filter(|(b, _)| *b <= a) {
                sums[a][b] += x * y;
            }
        }
    };
    if groups.is_none() && estimates.iter().all(|e| e.rows.is_sorted_by(|a, b| a < b)) {
        // Estimates of many features have all rows many times over: they are walked side by side, a block of rows at a time.
        let last = estimates.iter().filter_map(|e| e.rows.last()).max().map_or(0, |last| last + 1);
        let mut places = vec![0_usize; k];
        let mut block: Vec<Vec<(usize, f64)>> = vec![vec![]; ROWS_AT_A_TIME];
        for from in (0..last).step_by(ROWS_AT_A_TIME) {
            for (a, (estimate, place)) in estimates.iter().zip(&mut places).enumerate() {
                while let Some(&row) = estimate.rows.get(*place).filter(|row| **row < from + ROWS_AT_A_TIME) {
                    if counts(row) {
                        block[row - from].push((a, estimate.influence[*place]));
                    }
                    *place += 1;
                }
            }
            for own in &mut block {
                add(own);
                own.clear();
            }
        }
    } else {
        let mut shared: Vec<(usize, usize, f64)> = vec![];
        for (a, estimate) in estimates.iter().enumerate() {
            let ids = estimate.rows.iter().map(|&row| groups.map_or(row, |groups| groups[row] as usize));
            let kept = ids.zip(&estimate.influence).filter(|(id, _)| counts(*id));
            shared.extend(kept.map(|(id, &psi)| (id, a, psi)));
        }
        // Stable, so that sums within a group of rows are taken in the rows' order.
        shared.sort_by_key(|&(id, _, _)| id);
        let mut own: Vec<(usize, f64)> = vec![];
        for together in shared.chunk_by(|x, y| x.0 == y.0) {
            own.clear();
            for &(_, a, psi) in together {
                match own.last_mut() {
                    Some((last, sum)) if *last == a => *sum += psi,
                    _ => own.push((a, psi)),
                }
            }
            add(&own);
        }
    }
    let scale: Vec<f64> = (0..k).map(|a| sums[a][a].sqrt()).collect();
    (0..k)
        .map(|a| {
            (0..k)
                .map(|b| {
                    let (high, low) = (a.max(b), a.min(b));
                    let both = scale[a] * scale[b];
                    if a == b {
                        1.0
                    } else if both > 0.0 {
                        sums[high][low] / both
                    } else {
                        0.0
                    }
                })
                .collect()
        })
        .collect()
}

/// The lower triangular root of a correlation matrix. Estimates that others determine (the levels of a column and
/// everybody) have nothing of their own, and get none.
fn factor(matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let k = matrix.len();
    let mut root = vec![vec![0.0; k]; k];
    for a in 0..k {
        for b in 0..=a {
            let rest = matrix[a][b] - (0..b).map(|c| root[a][c] * root[b][c]).sum::<f64>();
            root[a][b] = if a == b {
                rest.max(0.0).sqrt()
            } else if root[b][b] > 1e-7 {
                rest / root[b][b]
            } else {
                0.0
            };
        }
    }
    root
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn disjoint(k: usize, each: usize) -> Vec<Influenced<'static>> {
        let mut rng = Seed(4).rng();
        (0..k)
            .map(|g| {
                let rows: Vec<usize> = (g * each..(g + 1) * each).collect();
                let influence = rows.iter().map(|_| rng.normal() / each as f64).collect();
                Influenced::new(0.0, rows, influence, None)
            })
            .collect()
    }

    #[test]
    fn independent_estimates_need_sidaks_width_and_equal_ones_no_more_than_one() {
        let all = disjoint(6, 200);
        let views: Vec<&Influenced<'_>> = all.iter().collect();
        let band = Band::of(&views, None, 0.95, Seed(1));
        let sidak = normal_quantile(f64::midpoint(1.0, 0.95_f64.powf(1.0 / 6.0)));
        assert!((band.width - sidak).abs() < 0.06, "{} {sidak}", band.width);
        let same = vec![views[0]; 6];
        let width = Band::of(&same, None, 0.95, Seed(1)).width;
        assert!((width - 1.96).abs() < 0.06, "{width}");
        assert!((Band::of(&views[..1], None, 0.95, Seed(1)).width - normal_quantile(0.975)).abs() < 1e-12);
        assert_eq!(band, Band::of(&views, None, 0.95, Seed(1)));
    }

    #[test]
    fn clusters_make_estimates_move_together() {
        // Two estimates without a common row, but every group has a row in each, with the same influence.
        let mut rng = Seed(5).rng();
        let psi: Vec<f64> = (0..300).map(|_| rng.normal() / 300.0).collect();
        let groups: Vec<u32> = (0..600).map(|i| i % 300).collect();
        let first = Influenced::new(0.0, (0..300).collect::<Vec<_>>(), psi.clone(), Some(&groups));
        let second = Influenced::new(0.0, (300..600).collect::<Vec<_>>(), psi, Some(&groups));
        let together = Band::of(&[&first, &second], Some(&groups), 0.95, Seed(2)).width;
        let apart = Band::of(&[&first, &second], None, 0.95, Seed(2)).width;
        assert!(together < 2.03 && apart > 2.15, "{together} {apart}");
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter() {
        // Overlapping estimates over more rows than a block has; the reversed ones go the other way.
        let mut rng = Seed(6).rng();
        let all: Vec<Influenced<'_>> = (1..=4)
            .map(|k| {
                let rows: Vec<usize> = (0..3 * ROWS_AT_A_TIME).filter(|i| i % k == 0).collect();
                let influence = rows.iter().map(|_| rng.normal() / 1000.0).collect();
                Influenced::new(0.0, rows, influence, None)
            })
            .collect();
        let reversed: Vec<Influenced<'_>> = (all.iter())
            .map(|e| {
                let rows: Vec<usize> = e.rows.iter().rev().copied().collect();
                Influenced::new(0.0, rows, e.influence.iter().rev().copied().collect(), None)
            })
            .collect();
        let matrix = |all: &[Influenced<'_>]| correlations(&all.iter().collect::<Vec<_>>(), None);
        assert_eq!(matrix(&all), matrix(&reversed));
        let groups: Vec<u32> = (0..3 * ROWS_AT_A_TIME as u32).collect();
        assert_eq!(matrix(&all), correlations(&all.iter().collect::<Vec<_>>(), Some(&groups)));
    }

    #[test]
    fn ends_hold_the_pointwise_interval() {
        let all = disjoint(4, 30);
        let views: Vec<&Influenced<'_>> = all.iter().collect();
        let band = Band::of(&views, None, 0.95, Seed(1));
        for estimate in &all {
            let (lo, hi) = estimate.score.interval(0.95).unwrap();
            let (below, above) = band.ends(&estimate.score).unwrap();
            assert!(below < lo && above > hi);
        }
    }
}
