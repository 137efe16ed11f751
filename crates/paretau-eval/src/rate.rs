//! Ranking metrics: does treating those with the largest predicted effect first pay? TOC, AUTOC, QINI, AUUC.
//!
//! With rows sorted by predicted effect, the targeting operator characteristic `TOC(q)` is the mean score of the top
//! share q minus the mean score of all, so it ends at 0. AUTOC is its plain mean over the ranking, QINI its mean
//! weighted by q (Yadlowsky et al. 2021). Rows with equal predictions share the mean of their scores. Standard errors
//! are standard deviations over half-samples drawn without replacement, of whole groups when there are groups: a
//! half-sample varies about the full estimate as the full estimate varies about the truth.

use paretau_core::Seed;
use paretau_kernels::numeric::sample_sd;
use paretau_nuisance::{Observed, Score};
use rayon::prelude::*;

/// Half-samples behind a standard error.
pub const HALF_SAMPLES: usize = 200;

/// One point of the targeting curve.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TocPoint {
    /// Share treated, by falling predicted effect.
    pub q: f64,
    /// Mean score of that share minus the mean score of all.
    pub toc: f64,
}

/// Rows sorted by falling priority, with ties numbered alike.
struct Ranking {
    order: Vec<usize>,
    tie: Vec<usize>,
}

impl Ranking {
    fn of(priority: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..priority.len()).collect();
        order.sort_by(|&a, &b| priority[b].total_cmp(&priority[a]).then(a.cmp(&b)));
        let mut tie = vec![0; priority.len()];
        for k in 1..order.len() {
            let same = priority[order[k]] == priority[order[k - 1]];
            tie[k] = if same { tie[k - 1] } else { tie[k - 1] + 1 };
        }
        Self { order, tie }
    }

    /// Calls `step(weight, cumulated weight, cumulated weighted score)` down the ranking, over rows with
    /// weight above 0.
    fn scan(&self, scores: &[f64], weight: impl Fn(usize) -> f64, mut step: impl FnMut(f64, f64, f64)) {
        let (mut at, mut sum_w, mut sum_s) = (0, 0.0, 0.0);
        while at < self.order.len() {
            let end = at + self.tie[at..].iter().take_while(|t| **t == self.tie[at]).count();
            let block = &self.order[at..end];
            let total: f64 = block.iter().map(|&i| weight(i)).sum();
            if total > 0.0 {
                let mean = block.iter().map(|&i| weight(i) * scores[i]).sum::<f64>() / total;
                for &i in block {
                    let w = weight(i);
                    sum_w += w;
                    sum_s += w * mean;
                    if w > 0.0 {
                        step(w, sum_w, sum_s);
                    }
                }
            }
            at = end;
        }
    }

    /// AUTOC and QINI under the given weights.
    fn areas(&self, scores: &[f64], weight: impl Fn(usize) -> f64) -> (f64, f64) {
        let (mut total, mut sum) = (0.0, 0.0);
        for &i in &self.order {
            total += weight(i);
            sum += weight(i) * scores[i];
        }
        let all = sum / total;
        let (mut autoc, mut qini) = (0.0, 0.0);
        self.scan(scores, weight, |w, sum_w, sum_s| {
            let toc = sum_s / sum_w - all;
            autoc += w * toc;
            qini += w * (sum_w / total) * toc;
        });
        (autoc / total, qini / total)
    }
}

/// The targeting curve at up to `n_points` equally spaced shares; the last point is (1, 0).
pub fn toc(rows: &Observed<'_>, scores: &[f64], priority: &[f64], n_points: usize) -> Vec<TocPoint> {
    let ranking = Ranking::of(priority);
    let total = rows.total_weight();
    let all = (0..scores.len()).map(|i| rows.w(i) * scores[i]).sum::<f64>() / total;
    let (mut points, mut next) = (Vec::with_capacity(n_points), 1.0);
    ranking.scan(
        scores,
        |i| rows.w(i),
        |_, sum_w, sum_s| {
            let q = sum_w / total;
            if q * n_points as f64 >= next - 1e-9 {
                points.push(TocPoint { q, toc: sum_s / sum_w - all });
                while q * n_points as f64 >= next - 1e-9 {
                    next += 1.0;
                }
            }
        },
    );
    if let Some(last) = points.last_mut().filter(|p| p.q > 1.0 - 1e-9) {
        *last = TocPoint { q: 1.0, toc: 0.0 };
    }
    points
}

/// A point of the targeting curve with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TocBand {
    /// Share treated, by falling predicted effect.
    pub q: f64,
    /// Mean score of that share minus the mean score of all.
    #[serde(flatten)]
    pub toc: Score,
}

/// The targeting curve at up to `n_points` equally spaced shares, with half-sample standard errors.
pub fn toc_band(rows: &Observed<'_>, scores: &[f64], priority: &[f64], n_points: usize, seed: Seed) -> Vec<TocBand> {
    let curve = toc(rows, scores, priority, n_points);
    let (units, n_units) = units(rows);
    let draw = |draw: usize| -> Vec<TocPoint> {
        let mut kept = vec![false; n_units];
        let mut rng = seed.named("toc").indexed(draw as u64).rng();
        rng.sample(n_units, n_units / 2).into_iter().for_each(|u| kept[u] = true);
        let half: Vec<usize> = (0..rows.len()).filter(|&i| kept[units[i]]).collect();
        let pick = |v: &[f64]| -> Vec<f64> { half.iter().map(|&i| v[i]).collect() };
        let (t, y, weight): (Vec<u8>, _, _) =
            (half.iter().map(|&i| rows.t[i]).collect(), pick(rows.y), rows.weight.map(pick));
        let part = Observed { t: &t, y: &y, weight: weight.as_deref(), groups: None };
        toc(&part, &pick(scores), &pick(priority), n_points)
    };
    let draws: Vec<Vec<TocPoint>> =
        if n_units < 4 { vec![] } else { (0..HALF_SAMPLES).into_par_iter().map(draw).collect() };
    (curve.iter().enumerate())
        .map(|(k, point)| {
            let same = draws.iter().filter(|d| d.len() == curve.len() && d[k].toc.is_finite()).map(|d| d[k].toc);
            TocBand { q: point.q, toc: Score::new(point.toc, sample_sd(&same.collect::<Vec<_>>())) }
        })
        .collect()
}

/// Both rank-weighted average effects, AUTOC then QINI, with half-sample standard errors.
pub fn rate(rows: &Observed<'_>, scores: &[f64], priority: &[f64], seed: Seed) -> (Score, Score) {
    let ranking = Ranking::of(priority);
    let (autoc, qini) = ranking.areas(scores, |i| rows.w(i));
    let (units, n_units) = units(rows);
    if n_units < 4 {
        return (Score::plain(autoc), Score::plain(qini));
    }
    let draws: Vec<(f64, f64)> = (0..HALF_SAMPLES)
        .into_par_iter()
        .map(|draw| {
            let mut kept = vec![false; n_units];
            let mut rng = seed.named("rate").indexed(draw as u64).rng();
            rng.sample(n_units, n_units / 2).into_iter().for_each(|u| kept[u] = true);
            ranking.areas(scores, |i| if kept[units[i]] { rows.w(i) } else { 0.0 })
        })
        .filter(|(a, q)| a.is_finite() && q.is_finite())
        .collect();
    let autocs: Vec<f64> = draws.iter().map(|d| d.0).collect();
    let qinis: Vec<f64> = draws.iter().map(|d| d.1).collect();
    (Score::new(autoc, sample_sd(&autocs)), Score::new(qini, sample_sd(&qinis)))
}

/// Area under the uplift curve: the mean over k of `k/n` times the difference of arm means among the k rows with the
/// largest predicted effects. It compares raw outcomes, so it is for randomised data; with confounding use QINI.
pub fn auuc(rows: &Observed<'_>, priority: &[f64], seed: Seed) -> Score {
    let ranking = Ranking::of(priority);
    let area = |weight: &dyn Fn(usize) -> f64| {
        let total: f64 = (0..rows.len()).map(weight).sum();
        // Per arm: weight and weighted outcome so far.
        let (mut w_arm, mut y_arm, mut seen, mut sum) = ([0.0; 2], [0.0; 2], 0.0, 0.0);
        let mut at = 0;
        while at < ranking.order.len() {
            let end = at + ranking.tie[at..].iter().take_while(|t| **t == ranking.tie[at]).count();
            let mut block = 0.0;
            for &i in &ranking.order[at..end] {
                let arm = usize::from(rows.t[i]);
                w_arm[arm] += weight(i);
                y_arm[arm] += weight(i) * rows.y[i];
                block += weight(i);
            }
            let before = seen;
            seen += block;
            // Until both arms occur, the gain is unknown and counted as none.
            if w_arm[0] > 0.0 && w_arm[1] > 0.0 {
                let gain = y_arm[1] / w_arm[1] - y_arm[0] / w_arm[0];
                sum += block * f64::midpoint(before + if block > 0.0 { block / (end - at) as f64 } else { 0.0 }, seen)
                    / total
                    * gain;
            }
            at = end;
        }
        sum / total
    };
    let value = area(&|i| rows.w(i));
    let (units, n_units) = units(rows);
    if n_units < 4 {
        return Score::plain(value);
    }
    let draws: Vec<f64> = (0..HALF_SAMPLES)
        .into_par_iter()
        .map(|draw| {
            let mut kept = vec![false; n_units];
            let mut rng = seed.named("auuc").indexed(draw as u64).rng();
            rng.sample(n_units, n_units / 2).into_iter().for_each(|u| kept[u] = true);
            area(&|i| if kept[units[i]] { rows.w(i) } else { 0.0 })
        })
        .filter(|a| a.is_finite())
        .collect();
    Score::new(value, sample_sd(&draws))
}

/// The unit of each row in half-sampling: its group, or itself.
fn units(rows: &Observed<'_>) -> (Vec<usize>, usize) {
    let Some(groups) = rows.groups else { return ((0..rows.len()).collect(), rows.len()) };
    let mut names = groups.to_vec();
    names.sort_unstable();
    names.dedup();
    let units = groups.iter().map(|g| names.partition_point(|n| n < g)).collect();
    (units, names.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn areas_match_brute_force_with_ties() {
        let scores = [3.0, -1.0, 2.0, 0.5, 4.0, 1.0];
        let priority = [2.0, 1.0, 2.0, 0.0, 5.0, 1.0];
        let (t, y) = ([0, 1, 0, 1, 0, 1], [0.0; 6]);
        let rows = Observed::new(&t, &y).unwrap();
        // Ties share: order 4 | (0,2) -> 2.5 each | (1,5) -> 0 each | 3.
        let shared = [4.0, 2.5, 2.5, 0.0, 0.0, 0.5];
        let all = shared.iter().sum::<f64>() / 6.0;
        let (mut autoc, mut qini) = (0.0, 0.0);
        for k in 1..=6 {
            let top = shared[..k].iter().sum::<f64>() / k as f64 - all;
            autoc += top / 6.0;
            qini += top * (k as f64 / 6.0) / 6.0;
        }
        let (a, q) = rate(&rows, &scores, &priority, Seed(1));
        assert!((a.value - autoc).abs() < 1e-12 && (q.value - qini).abs() < 1e-12);
        assert!(a.se.unwrap() > 0.0);
        let curve = toc(&rows, &scores, &priority, 3);
        assert_eq!(curve.len(), 3);
        assert!((curve[0].toc - (6.5 / 2.0 - all)).abs() < 1e-12);
        assert_eq!(*curve.last().unwrap(), TocPoint { q: 1.0, toc: 0.0 });
        // A constant ranking cannot help.
        let (a, q) = rate(&rows, &scores, &[1.0; 6], Seed(1));
        assert!(a.value.abs() < 1e-12 && q.value.abs() < 1e-12 && a.se.unwrap() < 1e-12);
    }

    #[test]
    fn uplift_area_matches_brute_force() {
        let priority = [0.3, 0.9, 0.1, 0.5];
        let (t, y) = ([0, 1, 0, 1], [1.0, 4.0, 2.0, 3.0]);
        let rows = Observed::new(&t, &y).unwrap();
        // k=1, 2: treated rows only, no gain; k=3: + row 0: 3.5 - 1 = 2.5; k=4: 3.5 - 1.5 = 2.
        let expected = (2.5 * 0.75 + 2.0 * 1.0) / 4.0;
        assert!((auuc(&rows, &priority, Seed(0)).value - expected).abs() < 1e-12);
        // All tied: the gain of all rows at every k, so ATE (n + 1) / 2n.
        assert!((auuc(&rows, &[1.0; 4], Seed(0)).value - 2.0 * 5.0 / 8.0).abs() < 1e-12);
        // A row of weight 0 is not there.
        let w = [1.0, 1.0, 0.0, 1.0];
        let weighted = Observed { weight: Some(&w), ..rows };
        let scores = [3.0, -1.0, 100.0, 0.5];
        let without =
            Observed::new(&[0, 1, 1], &[1.0, 4.0, 3.0]).map(|r| rate(&r, &[3.0, -1.0, 0.5], &[0.3, 0.9, 0.5], Seed(0)));
        let with = rate(&weighted, &scores, &priority, Seed(0));
        assert!((with.0.value - without.unwrap().0.value).abs() < 1e-12);
    }

    #[test]
    fn equals_scikit_uplift() {
        let golden = include_str!("../../../testdata/golden/uplift.json");
        let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
        for case in golden["cases"].as_array().unwrap() {
            let numbers = |name: &str| -> Vec<f64> {
                case[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
            };
            let (y, prediction) = (numbers("y"), numbers("prediction"));
            let t: Vec<u8> = numbers("t").into_iter().map(|t| t as u8).collect();
            let (n, first) = (y.len() as f64, case["first"].as_f64().unwrap());
            // The curve's height over k rows is k times their gain; ours is the mean of k/n times the gain over all k, where rows
            // of a tie share the gain at its end.
            let (mut area, mut before) = (0.0, 0.0);
            for ((end, uplift), qini) in numbers("ends").into_iter().zip(numbers("uplift")).zip(numbers("qini")) {
                if end >= first {
                    area += (end - before) * f64::midpoint(before + 1.0, end) / n * (uplift / end);
                    // The Qini curve is the same gain per treated row.
                    let lowest = prediction
                        .iter()
                        .copied()
                        .filter(|p| prediction.iter().filter(|q| *q >= p).count() as f64 <= end);
                    let lowest = lowest.fold(f64::INFINITY, f64::min);
                    let treated = (0..y.len()).filter(|&i| t[i] == 1 && prediction[i] >= lowest).count() as f64;
                    assert!((qini / treated - uplift / end).abs() < 1e-12);
                }
                before = end;
            }
            let ours = auuc(&Observed::new(&t, &y).unwrap(), &prediction, Seed(1)).value;
            assert!((ours - area / n).abs() < 1e-12, "{ours} {}", area / n);
        }
    }

    #[test]
    fn half_sample_errors_match_the_spread_over_data_sets() {
        let (n, sets) = (300, 200);
        let (mut values, mut errors) = (Vec::new(), Vec::new());
        for set in 0..sets {
            let mut rng = Seed(100 + set).rng();
            let priority: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let scores: Vec<f64> = priority.iter().map(|p| p + 2.0 * rng.normal()).collect();
            let t: Vec<u8> = (0..n).map(|i| (i % 2) as u8).collect();
            let y = vec![0.0; n];
            let (_, qini) = rate(&Observed::new(&t, &y).unwrap(), &scores, &priority, Seed(set));
            values.push(qini.value);
            errors.push(qini.se.unwrap());
        }
        let ratio = errors.iter().sum::<f64>() / sets as f64 / sample_sd(&values).unwrap();
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
    }
}
