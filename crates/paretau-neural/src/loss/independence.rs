//! An independence penalty between encoders: the Hilbert-Schmidt criterion (Gretton et al. 2005) with Gaussian kernels of median
//! width, summed over pairs of encoders.
//!
//! ```text
//! HSIC(a, b) = 1/m² tr(K H L H),   K_ij = exp(-|a_i - a_j|² / 2σ_a²),  L likewise,  H = I - 1/m
//! ∂HSIC/∂a_i = -2/(m² σ_a²) Σ_j (H L H)_ij K_ij (a_i - a_j),   σ constant
//! ```
//! Kernels of all pairs of rows cost m², so at most [`ROWS`] rows of each arm take part: batches are shuffled.

use paretau_kernels::real::Real;

/// Rows of each arm that take part.
pub const ROWS: usize = 64;

/// Buffers of the penalty.
#[derive(Debug, Default)]
pub struct IndependenceWork {
    kernels: Vec<Vec<f64>>,
    centred: Vec<f64>,
    distances: Vec<f64>,
    widths: Vec<f64>,
}

impl IndependenceWork {
    /// Adds the gradient of `strength · Σ HSIC` over all pairs of groups to `d_z` and returns the value.
    ///
    /// # Shapes
    /// `z`, `d_z`: rows of `groups · k` values, the first `n0` rows controls. `width` fixes all σ.
    pub fn add<T: Real>(
        &mut self,
        (strength, width): (f64, Option<f64>),
        (z, d_z): (&[T], &mut [T]),
        (groups, k, n0): (usize, usize, usize),
    ) -> f64 {
        let all = groups * k;
        let n = z.len() / all.max(1);
        // Places of the rows that take part: the first of each arm.
        let m0 = n0.min(ROWS);
        let m = m0 + (n - n0).min(ROWS);
        if m < 4 || groups < 2 {
            return 0.0;
        }
        let row = |i: usize| if i < m0 { i } else { n0 + i - m0 };
        let point = |i: usize, g: usize| &z[row(i) * all + g * k..row(i) * all + (g + 1) * k];
        self.kernels.resize_with(groups, Vec::new);
        self.widths.clear();
        for g in 0..groups {
            self.distances.clear();
            for i in 0..m {
                for j in 0..m {
                    let squares = point(i, g).iter().zip(point(j, g));
                    self.distances.push(squares.map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum());
                }
            }
            let kernel = &mut self.kernels[g];
            kernel.clear();
            kernel.extend_from_slice(&self.distances);
            let sigma2 = width.map_or_else(
                || {
                    let middle = self.distances.len() / 2;
                    *self.distances.select_nth_unstable_by(middle, f64::total_cmp).1
                },
                |w| w * w,
            );
            let sigma2 = if sigma2 > 0.0 { sigma2 } else { 1.0 };
            self.widths.push(sigma2);
            kernel.iter_mut().for_each(|d| *d = (-*d / (2.0 * sigma2)).exp());
        }
        let scale = 1.0 / (m * m) as f64;
        let mut total = 0.0;
        for a in 0..groups {
            for b in (0..groups).filter(|&b| b != a) {
                centre(&self.kernels[b], m, &mut self.centred);
                let value: f64 = self.kernels[a].iter().zip(&self.centred).map(|(k, l)| k * l).sum();
                if a < b {
                    total += scale * value;
                }
                let pull = -2.0 * strength * scale / self.widths[a];
                for i in 0..m {
                    for j in 0..m {
                        let c = pull * self.centred[i * m + j] * self.kernels[a][i * m + j];
                        for l in 0..k {
                            let gap = point(i, a)[l].to_f64() - point(j, a)[l].to_f64();
                            d_z[row(i) * all + a * k + l] += T::from_f64(c * gap);
                        }
                    }
                }
            }
        }
        strength * total
    }
}

/// `H L H`: rows and columns of a symmetric matrix with their means taken off.
fn centre(l: &[f64], m: usize, out: &mut Vec<f64>) {
    out.clear();
    out.extend_from_slice(l);
    let grand = l.iter().sum::<f64>() / (m * m) as f64;
    // Row means of the symmetric matrix are its column means; they are kept in the last row until the end of the pass.
    for i in 0..m {
        let mean_i = l[i * m..(i + 1) * m].iter().sum::<f64>() / m as f64;
        for j in 0..m {
            out[i * m + j] -= mean_i;
            out[j * m + i] -= mean_i;
        }
    }
    out.iter_mut().for_each(|v| *v += grand);
}

#[cfg(test)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    #[test]
    fn gradient_matches_central_differences_and_independence_scores_lower() {
        let (n, groups, k) = (20, 3, 2);
        let mut rng = Seed(1).rng();
        let mut z: Vec<f64> = (0..n * groups * k).map(|_| rng.normal()).collect();
        let mut work = IndependenceWork::default();
        let mut grads = vec![0.0; z.len()];
        let mut value = |z: &[f64], grads: &mut [f64]| work.add((0.7, Some(1.2)), (z, grads), (groups, k, 9));
        let independent = value(&z, &mut grads);
        let mut idle = vec![0.0; z.len()];
        for i in 0..z.len() {
            let keep = z[i];
            z[i] = keep + 1e-6;
            let up = value(&z, &mut idle);
            z[i] = keep - 1e-6;
            let down = value(&z, &mut idle);
            z[i] = keep;
            assert!(((up - down) / 2e-6 - grads[i]).abs() < 1e-8, "{i}");
        }
        for row in z.chunks_mut(groups * k) {
            row.copy_within(0..k, k);
        }
        assert!(value(&z, &mut idle) > 1.5 * independent);
    }
}
