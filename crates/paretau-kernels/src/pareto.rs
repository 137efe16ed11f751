//! Hard Pareto smoothing of a batch of weights (Vehtari et al. 2024, with moments for the fit), its derivative, and the map that smooths one new weight.

use crate::argsort::ArgSort;
use crate::error::{KernelError, check_finite, check_len, check_parameter, check_result, check_weights};
use crate::fallback::{FallBack, MIN_TAIL, TailFit, Tally};
use crate::gpd::Gpd;
use crate::gpd_fit::{GpdFit, Moments};

/// Number of tail weights among `n`: `M = min(floor(n/5), floor(3 sqrt n))`.
pub fn tail_length(n: usize) -> usize {
    (n / 5).min((3.0 * (n as f64).sqrt()) as usize)
}

/// Hard Pareto smoothing by probability weighted moments, with its tape. Buffers are kept between calls.
#[derive(Debug, Clone, Default)]
pub struct HardPareto {
    order: ArgSort,
    excess: Vec<f64>,
    tape: Option<Tape>,
    tally: Tally,
}

#[derive(Debug, Clone, Copy)]
struct Tape {
    n: usize,
    /// `None` when the weights were left as they are.
    fit: Option<(Gpd, Moments, usize)>,
}

impl HardPareto {
    /// Writes the smoothed weights to `out`: with `x_j` the `M` largest weights' excesses over the next one, `mu`, the
    /// j-th becomes the quantile at `(j - 1/2)/M` of the generalised Pareto distribution fitted to them; the others stay.
    ///
    /// # Shapes
    /// `w`, `out`: n.
    ///
    /// # Cost
    /// O(n) on usual data (the sort), O(n log n) at worst.
    ///
    /// # Errors
    /// Empty, non-finite or non-positive weights, lengths that differ. Degenerate tails are no error: the weights are then
    /// copied, and the reason is returned and counted.
    pub fn forward(&mut self, w: &[f64], out: &mut [f64]) -> Result<TailFit, KernelError> {
        let n = w.len();
        self.tape = None;
        check_weights("w", w)?;
        check_len("out", n, out.len())?;
        self.order.sort("w", w)?;
        out.copy_from_slice(w);
        let m = tail_length(n);
        let outcome = match self.fit(m) {
            Ok((gpd, moments)) => {
                self.tape = Some(Tape { n, fit: Some((gpd, moments, m)) });
                for (j, &row) in self.order.perm()[n - m..].iter().enumerate() {
                    out[row as usize] = gpd.quantile_at(position(j, m));
                }
                TailFit::Smoothed { mu: gpd.mu(), sigma: gpd.sigma(), xi: gpd.xi(), m, soft_m: m as f64 }
            }
            Err(reason) => {
                self.tape = Some(Tape { n, fit: None });
                TailFit::LeftAsIs(reason)
            }
        };
        self.tally.record(&outcome);
        Ok(outcome)
    }

    /// Fits the tail, and makes sure that its largest quantile is finite.
    fn fit(&mut self, m: usize) -> Result<(Gpd, Moments), FallBack> {
        if m < MIN_TAIL {
            return Err(FallBack::TailTooShort { m });
        }
        let sorted = self.order.sorted();
        let split = sorted.len() - m;
        let mu = sorted[split - 1];
        self.excess.clear();
        self.excess.extend(sorted[split..].iter().map(|v| v - mu));
        let moments = Moments::of_sorted(&self.excess).map_err(|_| FallBack::NonFinite)?;
        let GpdFit { sigma, xi } = moments.solve(false)?;
        let gpd = Gpd::new(mu, sigma, xi).map_err(|_| FallBack::NonFinite)?;
        if gpd.quantile_at(position(m - 1, m)).is_finite() { Ok((gpd, moments)) } else { Err(FallBack::NonFinite) }
    }

    /// Writes to `out` the product of `g` with the Jacobian of the last forward pass. Ranks are locally constant, so the
    /// derivative runs through `mu`, `sigma` and `xi` alone; it exists wherever no two weights at the tail's edge tie.
    ///
    /// # Shapes
    /// `g`, `out`: n of the last forward pass.
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow.
    pub fn vjp(&self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        let tape = self.tape.ok_or(KernelError::NoForward { what: "hard Pareto smoothing" })?;
        check_len("g", tape.n, g.len())?;
        check_len("out", tape.n, out.len())?;
        check_finite("g", g)?;
        out.copy_from_slice(g);
        let Some((gpd, moments, m)) = tape.fit else {
            return Ok(());
        };
        let tail = &self.order.perm()[tape.n - m..];
        let (mut g_mu, mut g_sigma, mut g_xi) = (0.0, 0.0, 0.0);
        for (j, &row) in tail.iter().enumerate() {
            let q = gpd.quantile_derivatives_at(position(j, m));
            let gj = g[row as usize];
            g_mu += gj;
            g_sigma += gj * q.d_sigma;
            g_xi += gj * q.d_xi;
        }
        let (g_a0, g_a1) = moments.solve_vjp(g_sigma, g_xi);
        for (j, &row) in tail.iter().enumerate() {
            let gx = (g_a0 + g_a1 * ((m - 1 - j) as f64 / (m - 1) as f64)) / m as f64;
            out[row as usize] = gx;
            g_mu -= gx;
        }
        out[self.order.perm()[tape.n - m - 1] as usize] += g_mu;
        check_result("Pareto smoothing derivative", out)
    }

    /// The map for new weights that the last forward pass implies; the identity when weights were left as they are.
    pub fn tail_map(&self) -> TailMap {
        match self.tape.and_then(|tape| tape.fit) {
            None => TailMap::identity(),
            Some((gpd, _, m)) => {
                let sorted = self.order.sorted();
                let tail = sorted[sorted.len() - m..].to_vec();
                TailMap { mu: gpd.mu(), sigma: gpd.sigma(), xi: gpd.xi(), tail }
            }
        }
    }

    /// Batches seen and left as they are since this value was made.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Probability of the j-th of m tail weights, j from 0.
fn position(j: usize, m: usize) -> f64 {
    (j as f64 + 0.5) / m as f64
}

/// Smooths one weight at a time as its training batch was smoothed: what prediction needs, where no batch exists.
///
/// The fields are plain so that a model file can store them; [`check`](Self::check) a map that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct TailMap {
    /// Location.
    pub mu: f64,
    /// Scale.
    pub sigma: f64,
    /// Shape.
    pub xi: f64,
    /// Raw weights of the training tail, ascending. Empty in the identity map.
    pub tail: Vec<f64>,
}

impl TailMap {
    /// The map that leaves every weight as it is.
    pub fn identity() -> Self {
        Self { mu: f64::MAX, sigma: 1.0, xi: 0.0, tail: Vec::new() }
    }

    /// Refuses a map with non-finite parameters, a scale that is not positive, or a tail that is not ascending.
    ///
    /// # Errors
    /// The first violation, with its value.
    pub fn check(&self) -> Result<(), KernelError> {
        check_parameter("mu", self.mu, "a positive number", |m| m > 0.0)?;
        Gpd::new(self.mu, self.sigma, self.xi)?;
        check_finite("tail", &self.tail)?;
        match self.tail.windows(2).position(|v| v[0] > v[1]) {
            None => Ok(()),
            Some(i) => Err(KernelError::OutOfRange {
                what: "tail",
                index: i + 1,
                value: self.tail[i + 1],
                expected: "no less than the entry before",
            }),
        }
    }

    /// Smooths one weight. A weight up to `mu` stays. Above, its rank among the stored tail (linear between neighbours, ties
    /// at the middle of their ranks, no more than the largest) gives a probability `(rank - 1/2)/M <= (M - 1/2)/M`, and that
    /// the quantile. Continuous and non-decreasing above `mu`. O(log M).
    ///
    /// # Errors
    /// A weight that is not positive and finite, a map that [`check`](Self::check) would refuse.
    pub fn smooth(&self, w: f64) -> Result<f64, KernelError> {
        check_parameter("w", w, "a positive number", |v| v > 0.0)?;
        if self.tail.is_empty() || w <= self.mu {
            return Ok(w);
        }
        let gpd = Gpd::new(self.mu, self.sigma, self.xi)?;
        let q = gpd.quantile_at(self.probability(w));
        if q.is_finite() { Ok(q) } else { Err(KernelError::Overflow { what: "generalised Pareto value" }) }
    }

    fn probability(&self, w: f64) -> f64 {
        let tail = &self.tail;
        let m = tail.len() as f64;
        // Largest ties sit at the middle of their ranks too, so nothing lies above that.
        let place = |lower: usize, upper: usize| 0.5 * (lower + upper) as f64 / m;
        let ties = |v: f64| (tail.partition_point(|&u| u < v), tail.partition_point(|&u| u <= v));
        let (lower, upper) = ties(w);
        if lower < upper {
            return place(lower, upper);
        }
        let (left, p_left) = if lower == 0 {
            (self.mu, 0.0)
        } else {
            let (a, b) = ties(tail[lower - 1]);
            (tail[lower - 1], place(a, b))
        };
        if lower == tail.len() {
            return p_left;
        }
        let (a, b) = ties(tail[lower]);
        let (right, p_right) = (tail[lower], place(a, b));
        let share = (w - left) / (right - left);
        p_left + share.clamp(0.0, 1.0) * (p_right - p_left)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::spread_weights as weights;

    #[test]
    fn tail_lengths_are_those_of_the_method() {
        assert_eq!([0, 24, 25, 64, 225, 1000, 5000].map(tail_length), [0, 4, 5, 12, 45, 94, 212]);
    }

    #[test]
    fn only_the_tail_changes_and_order_is_kept() {
        let w = weights(100);
        let mut out = vec![0.0; 100];
        let fit = HardPareto::default().forward(&w, &mut out).unwrap();
        let TailFit::Smoothed { mu, m: 20, .. } = fit else { panic!("{fit:?}") };
        for i in 0..100 {
            assert!(if w[i] <= mu { out[i] == w[i] } else { out[i] > mu });
            for j in 0..100 {
                assert!(w[i] > w[j] || out[i] <= out[j]);
            }
        }
    }

    #[test]
    fn degenerate_batches_are_left_and_counted() {
        let mut hard = HardPareto::default();
        let mut out = vec![0.0; 24];
        let w = weights(24);
        let left = hard.forward(&w, &mut out).unwrap();
        assert_eq!(left, TailFit::LeftAsIs(FallBack::TailTooShort { m: 4 }));
        assert_eq!(out, w);
        hard.vjp(&w, &mut out).unwrap();
        assert_eq!(out, w);
        let mut out = vec![0.0; 50];
        assert_eq!(hard.forward(&[2.0; 50], &mut out).unwrap(), TailFit::LeftAsIs(FallBack::AllEqual));
        assert_eq!(hard.tally().batches, 2);
        assert_eq!(hard.tally().rate(), 1.0);
        assert_eq!(hard.tail_map(), TailMap::identity());
        assert!(matches!(hard.forward(&[], &mut []), Err(KernelError::Empty { .. })));
        assert!(matches!(hard.forward(&[1.0, 0.0], &mut [0.0; 2]), Err(KernelError::OutOfRange { index: 1, .. })));
        assert!(matches!(hard.vjp(&[], &mut []), Err(KernelError::NoForward { .. })));
    }

    #[test]
    fn derivative_matches_central_differences() {
        let w = weights(60);
        let g: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 13) - 6.0).collect();
        let mut hard = HardPareto::default();
        let (mut out, mut d) = (vec![0.0; 60], vec![0.0; 60]);
        hard.forward(&w, &mut out).unwrap();
        hard.vjp(&g, &mut d).unwrap();
        for i in 0..60 {
            let mut loss = |h: f64| {
                let mut v = w.clone();
                v[i] += h;
                hard.forward(&v, &mut out).unwrap();
                out.iter().zip(&g).map(|(a, b)| a * b).sum::<f64>()
            };
            let h = 1e-5;
            let numeric = (loss(h) - loss(-h)) / (2.0 * h);
            assert!((numeric - d[i]).abs() < 1e-6 * (1.0 + numeric.abs()), "{i}: {numeric} {}", d[i]);
        }
    }

    #[test]
    fn the_map_agrees_with_the_batch_and_is_monotone() {
        let w = weights(200);
        let mut hard = HardPareto::default();
        let mut out = vec![0.0; 200];
        hard.forward(&w, &mut out).unwrap();
        let map = hard.tail_map();
        map.check().unwrap();
        for (v, s) in w.iter().zip(&out) {
            assert!((map.smooth(*v).unwrap() - s).abs() < 1e-12 * s);
        }
        let top = map.smooth(1e12).unwrap();
        assert_eq!(top, map.smooth(*map.tail.last().unwrap()).unwrap());
        let mut before = 0.0;
        for i in 1..4000 {
            let s = map.smooth(f64::from(i) * 0.01).unwrap();
            assert!(s >= before);
            before = s;
        }
    }

    #[test]
    fn maps_with_ties_are_continuous_and_bad_maps_are_refused() {
        let map = TailMap { mu: 1.0, sigma: 1.0, xi: 0.2, tail: vec![2.0, 3.0, 3.0, 3.0, 5.0] };
        let at = |w: f64| map.smooth(w).unwrap();
        assert!((at(3.0) - at(3.0 - 1e-9)).abs() < 1e-7 && (at(3.0) - at(3.0 + 1e-9)).abs() < 1e-7);
        assert!(matches!(map.smooth(f64::NAN), Err(KernelError::Parameter { .. })));
        assert_eq!(TailMap::identity().smooth(7.0).unwrap(), 7.0);
        let bad = TailMap { tail: vec![2.0, 1.0], ..map };
        assert!(matches!(bad.check(), Err(KernelError::OutOfRange { index: 1, .. })));
    }
}
