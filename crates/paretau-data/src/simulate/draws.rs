//! Random variates and densities beyond the generator's own.

use paretau_core::Rng;

/// The logarithm of a gamma variate with shape `a` and scale 1 (Marsaglia and Tsang 2000). The logarithm, since
/// shapes far below 1 give variates below the smallest float.
pub(super) fn ln_gamma_variate(a: f64, rng: &mut Rng) -> f64 {
    if a < 1.0 {
        let uniform = 1.0 - rng.uniform();
        return ln_gamma_variate(a + 1.0, rng) + uniform.ln() / a;
    }
    let d = a - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - rng.uniform()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

/// A draw from the Dirichlet distribution with the given parameters.
pub(super) fn dirichlet(alpha: &[f64], rng: &mut Rng) -> Vec<f64> {
    let logs: Vec<f64> = alpha.iter().map(|&a| ln_gamma_variate(a, rng)).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut out: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
    out
}

/// A Poisson variate, by counting exponential gaps; meant for means up to some thousands.
pub(super) fn poisson(mean: f64, rng: &mut Rng) -> usize {
    let mut left = mean;
    let mut count = 0;
    loop {
        left += (1.0 - rng.uniform()).ln();
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// The density of the beta distribution with parameters 2 and 4.
pub(super) fn beta_2_4(x: f64) -> f64 {
    20.0 * x * (1.0 - x).powi(3)
}

/// log(1 + exp(z)) without overflow.
pub(super) fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// The index at which a cumulative sum passes a uniform draw.
pub(super) fn pick(cumulative: &[f64], rng: &mut Rng) -> usize {
    let total = cumulative.last().copied().unwrap_or(0.0);
    let at = rng.uniform() * total;
    cumulative.partition_point(|&c| c <= at).min(cumulative.len().saturating_sub(1))
}

/// Running sums.
pub(super) fn cumulate(weights: &[f64]) -> Vec<f64> {
    weights
        .iter()
        .scan(0.0, |sum, w| {
            *sum += w;
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    fn moments(draws: &[f64]) -> (f64, f64) {
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        (mean, draws.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn gamma_and_poisson_have_their_moments() {
        let mut rng = Seed(1).rng();
        for a in [0.3, 1.0, 4.0] {
            let draws: Vec<f64> = (0..100_000).map(|_| ln_gamma_variate(a, &mut rng).exp()).collect();
            let (mean, var) = moments(&draws);
            assert!((mean - a).abs() < 0.03 && (var - a).abs() < 0.12, "{a}: {mean} {var}");
        }
        let draws: Vec<f64> = (0..100_000).map(|_| poisson(6.5, &mut rng) as f64).collect();
        let (mean, var) = moments(&draws);
        assert!((mean - 6.5).abs() < 0.03 && (var - 6.5).abs() < 0.12, "{mean} {var}");
    }

    #[test]
    fn dirichlet_sums_to_one_even_for_tiny_parameters() {
        let mut rng = Seed(2).rng();
        let draw = dirichlet(&[0.001; 200], &mut rng);
        assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-12 && draw.iter().all(|p| p.is_finite()));
        let means = (0..20_000).fold([0.0; 2], |m, _| {
            let p = dirichlet(&[1.0, 3.0], &mut rng);
            [m[0] + p[0] / 20_000.0, m[1] + p[1] / 20_000.0]
        });
        assert!((means[0] - 0.25).abs() < 0.005, "{means:?}");
    }

    #[test]
    fn the_beta_density_integrates_to_one() {
        let sum: f64 = (0..10_000).map(|k| beta_2_4((f64::from(k) + 0.5) / 10_000.0)).sum::<f64>() / 10_000.0;
        assert!((sum - 1.0).abs() < 1e-6);
        assert!((softplus(-40.0) - (-40.0_f64).exp()).abs() < 1e-25 && softplus(800.0) == 800.0);
    }
}
