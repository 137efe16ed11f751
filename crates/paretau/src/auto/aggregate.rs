//! Convex weights over candidates' effects by Q-aggregation.
//!
//! Plain least squares over the simplex may follow noise into mixtures of bad candidates; choosing one candidate is worse where
//! several are good. Q-aggregation minimises the mean of the mixture's loss and of the candidates' own losses under the
//! weights, which is as good as the best candidate up to a term of order `log k / n` (Lecué and Rigollet 2014).

/// Steps of exact line search between two candidates; a handful per candidate is enough.
const STEPS: usize = 20_000;
/// The search ends when no exchange of weight lowers the objective by more than this share of it.
const STILL: f64 = 1e-14;

/// Weights of candidates from the residuals of each: `residuals[j][i]` is what candidate `j` leaves of row `i`, and the
/// residual of a mixture is the mixture of the residuals.
pub(crate) fn q_aggregation(residuals: &[Vec<f64>], weight: &dyn Fn(usize) -> f64) -> Vec<f64> {
    let k = residuals.len();
    let n = residuals.first().map_or(0, Vec::len);
    let mut gram = vec![0.0; k * k];
    for i in 0..n {
        let w = weight(i);
        for a in 0..k {
            let left = w * residuals[a][i];
            for b in a..k {
                gram[a * k + b] += left * residuals[b][i];
            }
        }
    }
    for a in 0..k {
        for b in 0..a {
            gram[a * k + b] = gram[b * k + a];
        }
    }
    on_simplex(&gram, k)
}

/// The minimum of `w'Gw + w·diag(G)` over the simplex, by moving weight between the two candidates that gain most.
fn on_simplex(gram: &[f64], k: usize) -> Vec<f64> {
    let own: Vec<f64> = (0..k).map(|a| gram[a * k + a]).collect();
    // From the best single candidate: a mixture must earn its place.
    let best = (0..k).min_by(|&a, &b| own[a].total_cmp(&own[b])).unwrap_or(0);
    let mut w: Vec<f64> = (0..k).map(|a| f64::from(u8::from(a == best))).collect();
    let scale = own.get(best).copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
    for _ in 0..STEPS {
        let slope: Vec<f64> =
            (0..k).map(|a| 2.0 * (0..k).map(|b| gram[a * k + b] * w[b]).sum::<f64>() + own[a]).collect();
        let to = (0..k).min_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(0);
        let from = (0..k).filter(|&a| w[a] > 0.0).max_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(to);
        let gain = slope[from] - slope[to];
        if from == to || gain <= STILL * scale {
            break;
        }
        let curve = 2.0 * (own[from] + own[to] - 2.0 * gram[from * k + to]);
        let step = if curve > 0.0 { (gain / curve).min(w[from]) } else { w[from] };
        if step <= 0.0 {
            break;
        }
        w[to] += step;
        w[from] = if step >= w[from] { 0.0 } else { w[from] - step };
    }
    let total: f64 = w.iter().sum();
    w.iter_mut().for_each(|v| *v /= total);
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    fn objective(residuals: &[Vec<f64>], w: &[f64]) -> f64 {
        (0..residuals[0].len())
            .map(|i| {
                let mixed: f64 = w.iter().zip(residuals).map(|(w, r)| w * r[i]).sum();
                mixed * mixed + w.iter().zip(residuals).map(|(w, r)| w * r[i] * r[i]).sum::<f64>()
            })
            .sum()
    }

    #[test]
    fn no_weights_on_a_grid_are_better() {
        let mut rng = Seed(3).rng();
        for _ in 0..5 {
            let shared: Vec<f64> = (0..80).map(|_| rng.normal()).collect();
            let residuals: Vec<Vec<f64>> =
                [0.3, 0.5, 0.4].iter().map(|sd| shared.iter().map(|s| s + sd * rng.normal()).collect()).collect();
            let found = q_aggregation(&residuals, &|_| 1.0);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.iter().all(|w| *w >= 0.0));
            let best = objective(&residuals, &found);
            for a in 0..=20 {
                for b in 0..=20 - a {
                    let w = [f64::from(a) / 20.0, f64::from(b) / 20.0, f64::from(20 - a - b) / 20.0];
                    assert!(best <= objective(&residuals, &w) * (1.0 + 1e-9), "{found:?} against {w:?}");
                }
            }
        }
    }

    #[test]
    fn a_clear_winner_takes_all() {
        let residuals = vec![vec![0.1, -0.1, 0.1, -0.1], vec![2.0, 2.1, 2.0, 1.9]];
        assert_eq!(q_aggregation(&residuals, &|_| 1.0), [1.0, 0.0]);
    }
}
