//! Convex weights over a few predictions: the mixture that predicts best, by squared error or by log-loss.
//!
//! With `k` candidates and `n` rows both cost `O(n k²)` and little beside it. Weights are not negative and sum to one, so
//! that a mixture of means stays within the candidates' range and a mixture of probabilities is one.

use paretau_core::{Error, Result};

/// Most candidates: the squared loss is minimised exactly, over every subset of them.
pub const MOST_CANDIDATES: usize = 10;
/// Most exchanges of weight; few are needed.
const STEPS: usize = 500;
/// Differences of slopes, and of steps, that count as none: the mean log-loss is as near to the lowest.
const FLAT: f64 = 1e-8;

/// Weights of the mixture with the lowest weighted mean squared error of `y`; all `predictions` have `y`'s length.
pub fn least_squares(predictions: &[&[f64]], y: &[f64], weight: Option<&[f64]>) -> Result<Vec<f64>> {
    let k = checked(predictions, y.len())?;
    let w = |i: usize| weight.map_or(1.0, |w| w[i]);
    // Residuals of the candidates: with weights that sum to one, the mixture's residual is their mixture.
    let mut gram = vec![0.0; k * k];
    for (i, &y) in y.iter().enumerate() {
        for a in 0..k {
            let left = w(i) * (y - predictions[a][i]);
            for b in a..k {
                gram[a * k + b] += left * (y - predictions[b][i]);
            }
        }
    }
    for a in 0..k {
        for b in 0..a {
            gram[a * k + b] = gram[b * k + a];
        }
    }
    let mut best: Option<(f64, Vec<f64>)> = None;
    // Small subsets first: of equal losses, the simpler mixture is kept.
    let mut subsets: Vec<u32> = (1..1_u32 << k).collect();
    subsets.sort_by_key(|s| (s.count_ones(), *s));
    for subset in subsets {
        let members: Vec<usize> = (0..k).filter(|j| subset >> j & 1 == 1).collect();
        let Some(weights) = on_subset(&gram, k, &members) else { continue };
        let loss = quadratic(&gram, k, &weights);
        if best.as_ref().is_none_or(|(lowest, _)| loss < *lowest * (1.0 - 1e-12)) {
            best = Some((loss, weights));
        }
    }
    match best {
        Some((loss, weights)) if loss.is_finite() => Ok(weights),
        _ => {
            Err(Error::Numeric { what: "stacking", message: "no mixture of the predictions has a finite loss".into() })
        }
    }
}

/// The minimum of `w' G w` over weights of `members` that sum to one, if none of them is negative: `w ∝ G⁻¹ 1`.
fn on_subset(gram: &[f64], k: usize, members: &[usize]) -> Option<Vec<f64>> {
    let m = members.len();
    let mut out = vec![0.0; k];
    if m == 1 {
        out[members[0]] = 1.0;
        return Some(out);
    }
    let largest = members.iter().map(|&a| gram[a * k + a]).fold(0.0, f64::max);
    // Gaussian elimination with pivots; candidates that are copies of each other leave no pivot.
    let mut rows: Vec<Vec<f64>> =
        members.iter().map(|&a| members.iter().map(|&b| gram[a * k + b]).chain([largest]).collect()).collect();
    for column in 0..m {
        let pivot = (column..m).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() <= 1e-10 * largest {
            return None;
        }
        for below in column + 1..m {
            let factor = rows[below][column] / rows[column][column];
            for j in column..=m {
                rows[below][j] -= factor * rows[column][j];
            }
        }
    }
    let mut solution = vec![0.0; m];
    for a in (0..m).rev() {
        let known: f64 = (a + 1..m).map(|b| rows[a][b] * solution[b]).sum();
        solution[a] = (rows[a][m] - known) / rows[a][a];
    }
    let total: f64 = solution.iter().sum();
    if !(total.is_finite() && total > 0.0) || solution.iter().any(|s| *s < 0.0) {
        return None;
    }
    members.iter().zip(&solution).for_each(|(&a, s)| out[a] = s / total);
    Some(out)
}

fn quadratic(gram: &[f64], k: usize, w: &[f64]) -> f64 {
    (0..k).map(|a| w[a] * (0..k).map(|b| gram[a * k + b] * w[b]).sum::<f64>()).sum()
}

/// Weights of the mixture of probabilities with the lowest weighted mean log-loss of the 0/1 outcome `y`. Predictions lie
/// strictly between 0 and 1.
pub fn log_loss(predictions: &[&[f64]], y: &[f64], weight: Option<&[f64]>) -> Result<Vec<f64>> {
    let k = checked(predictions, y.len())?;
    let likelihood = |j: usize, i: usize| if y[i] > 0.5 { predictions[j][i] } else { 1.0 - predictions[j][i] };
    let row = |i: usize| weight.map_or(1.0, |weight| weight[i]);
    let total: f64 = (0..y.len()).map(row).sum();
    if total.is_nan() || total <= 0.0 {
        return Err(Error::Numeric { what: "stacking", message: "no row has a weight".into() });
    }
    // Vertex exchange: weight moves from the candidate whose slope is lowest to the one whose slope is highest, as far as
    // the loss falls. Unlike steps of expectation and maximisation it reaches weights of 0.
    let mut w = vec![1.0 / k as f64; k];
    for _ in 0..STEPS {
        let mixed: Vec<f64> = (0..y.len()).map(|i| (0..k).map(|j| w[j] * likelihood(j, i)).sum()).collect();
        let slope: Vec<f64> =
            (0..k).map(|j| (0..y.len()).map(|i| row(i) * likelihood(j, i) / mixed[i]).sum::<f64>() / total).collect();
        let to = (0..k).max_by(|&a, &b| slope[a].total_cmp(&slope[b]).then(b.cmp(&a))).unwrap_or(0);
        let from = (0..k).filter(|&j| w[j] > 0.0).min_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(to);
        // At the best mixture every slope is at most 1, and 1 where there is weight.
        if slope[to] - slope[from] <= FLAT {
            break;
        }
        let change = |i: usize| likelihood(to, i) - likelihood(from, i);
        let rise = |step: f64| (0..y.len()).map(|i| row(i) * change(i) / (mixed[i] + step * change(i))).sum::<f64>();
        let (mut low, mut high) = (0.0, w[from]);
        if rise(high) >= 0.0 {
            low = high;
        } else {
            while high - low > FLAT * w[from] {
                let middle = 0.5 * (low + high);
                *(if rise(middle) > 0.0 { &mut low } else { &mut high }) = middle;
            }
        }
        w[to] += low;
        w[from] = if low >= w[from] { 0.0 } else { w[from] - low };
    }
    let total: f64 = w.iter().sum();
    w.iter_mut().for_each(|v| *v /= total);
    Ok(w)
}

fn checked(predictions: &[&[f64]], n: usize) -> Result<usize> {
    let k = predictions.len();
    if k == 0 || k > MOST_CANDIDATES || n == 0 || predictions.iter().any(|p| p.len() != n) {
        return Err(Error::Numeric {
            what: "stacking",
            message: format!("{k} candidates for {n} rows, or predictions of other lengths"),
        });
    }
    Ok(k)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    fn candidates(seed: u64) -> ([Vec<f64>; 3], Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let y: Vec<f64> = (0..200).map(|_| rng.normal()).collect();
        let noisy =
            |sd: f64, rng: &mut paretau_core::Rng| y.iter().map(|y| y + sd * rng.normal()).collect::<Vec<f64>>();
        ([noisy(0.5, &mut rng), noisy(1.0, &mut rng), noisy(3.0, &mut rng)], y)
    }

    fn loss(w: &[f64], p: &[&[f64]], y: &[f64]) -> f64 {
        (0..y.len()).map(|i| (y[i] - (0..w.len()).map(|j| w[j] * p[j][i]).sum::<f64>()).powi(2)).sum()
    }

    #[test]
    fn no_mixture_on_a_grid_has_a_lower_squared_error() {
        for seed in 0..5 {
            let (candidates, y) = candidates(seed);
            let p: Vec<&[f64]> = candidates.iter().map(Vec::as_slice).collect();
            let found = least_squares(&p, &y, None).unwrap();
            assert!(found.iter().all(|w| *w >= 0.0) && (found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let best = loss(&found, &p, &y);
            for a in 0..=20 {
                for b in 0..=20 - a {
                    let w = [f64::from(a) / 20.0, f64::from(b) / 20.0, f64::from(20 - a - b) / 20.0];
                    assert!(best <= loss(&w, &p, &y) * (1.0 + 1e-9), "{found:?} against {w:?}");
                }
            }
        }
    }

    #[test]
    fn copies_and_perfect_candidates_are_no_trouble() {
        let (candidates, y) = candidates(9);
        let twice = least_squares(&[&candidates[0], &candidates[0]], &y, None).unwrap();
        assert_eq!(twice, [1.0, 0.0]);
        let perfect = least_squares(&[&candidates[0], &y], &y, None).unwrap();
        assert_eq!(perfect, [0.0, 1.0]);
    }

    #[test]
    fn no_mixture_on_a_grid_has_a_lower_log_loss() {
        let mut rng = Seed(4).rng();
        let truth: Vec<f64> = (0..300).map(|_| 1.0 / (1.0 + (-rng.normal()).exp())).collect();
        let y: Vec<f64> = truth.iter().map(|p| f64::from(u8::from(rng.bernoulli(*p)))).collect();
        let flat = vec![0.5; 300];
        let sure: Vec<f64> = truth.iter().map(|p| if *p > 0.5 { 0.99 } else { 0.01 }).collect();
        let p: Vec<&[f64]> = vec![&truth, &flat, &sure];
        let of = |w: &[f64]| -> f64 {
            (0..300)
                .map(|i| {
                    let m: f64 = (0..3).map(|j| w[j] * p[j][i]).sum();
                    -(if y[i] > 0.5 { m } else { 1.0 - m }).ln()
                })
                .sum()
        };
        let found = log_loss(&p, &y, None).unwrap();
        for a in 0..=20 {
            for b in 0..=20 - a {
                let w = [f64::from(a) / 20.0, f64::from(b) / 20.0, f64::from(20 - a - b) / 20.0];
                assert!(of(&found) <= of(&w) + 1e-7, "{found:?} against {w:?}");
            }
        }
    }

    #[test]
    fn row_weights_count_as_copies() {
        let (candidates, y) = candidates(2);
        let doubled: Vec<f64> = y.iter().chain(&y[..50]).copied().collect();
        let more = |v: &[f64]| -> Vec<f64> { v.iter().chain(&v[..50]).copied().collect() };
        let weight: Vec<f64> = (0..200).map(|i| if i < 50 { 2.0 } else { 1.0 }).collect();
        let p: Vec<&[f64]> = candidates.iter().map(Vec::as_slice).collect();
        let by_weight = least_squares(&p, &y, Some(&weight)).unwrap();
        let copies: Vec<Vec<f64>> = candidates.iter().map(|c| more(c)).collect();
        let by_copies = least_squares(&copies.iter().map(Vec::as_slice).collect::<Vec<_>>(), &doubled, None).unwrap();
        assert!(by_weight.iter().zip(&by_copies).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}
