//! Soft (differentiable) Pareto smoothing of a batch of weights, with its full vector-Jacobian product
//! (Chikahara and Ushiyama 2024, "Making Pareto Smoothing Differentiable").
//!
//! Gradients run through everything: ranks, step, location, scale, shape, quantile and the weights themselves.

use crate::error::{KernelError, check_finite, check_len, check_result, check_weights};
use crate::fallback::{FallBack, MIN_TAIL, TailFit, Tally};
use crate::gpd::Gpd;
use crate::gpd_fit::Moments;
use crate::numeric::sigmoid;
use crate::pareto::{TailMap, tail_length};
use crate::soft_pareto_options::{Center, NegativeScale, STEPS_PER_TAIL, SoftParetoOptions, Units};
use crate::soft_rank::SoftRank;

/// Log-weights with a standard deviation up to this are equal up to rounding.
const EQUAL_BELOW: f64 = 1e-9;

/// The step is 0 below this argument. Even ten million rows at `exp(-46) = 1e-20` would not move a sum, and most rows of a
/// large batch lie there: they then cost neither exponentials nor subnormal arithmetic.
const STEP_FLOOR: f64 = -46.0;

/// What the backward pass needs of a smoothed batch, beside the vectors.
#[derive(Debug, Clone, Copy)]
struct Fitted {
    m: usize,
    soft_m: f64,
    mu_row: usize,
    moments: Moments,
    gpd: Gpd,
    /// -1 where a negative scale was replaced by its absolute value.
    sign: f64,
    kappa: f64,
    sd: f64,
}

#[derive(Debug, Clone, Copy)]
enum Tape {
    Empty,
    Left,
    Smoothed(Fitted),
}

/// Soft Pareto smoothing with its tape. Buffers are kept between calls: a steady-state call allocates nothing.
#[derive(Debug, Clone)]
pub struct SoftPareto {
    options: SoftParetoOptions,
    ranks: SoftRank,
    w: Vec<f64>,
    z: Vec<f64>,
    r: Vec<f64>,
    s: Vec<f64>,
    g_r: Vec<f64>,
    g_z: Vec<f64>,
    tape: Tape,
    tally: Tally,
}

impl SoftPareto {
    /// Checks the options.
    ///
    /// # Errors
    /// As [`SoftParetoOptions::check`].
    pub fn new(options: SoftParetoOptions) -> Result<Self, KernelError> {
        options.check()?;
        Ok(Self {
            options,
            ranks: SoftRank::default(),
            w: Vec::new(),
            z: Vec::new(),
            r: Vec::new(),
            s: Vec::new(),
            g_r: Vec::new(),
            g_z: Vec::new(),
            tape: Tape::Empty,
            tally: Tally::default(),
        })
    }

    /// Writes to `out` the softly smoothed weights `s_i Q(p_i) + (1 - s_i) w_i`, where
    /// - `r` are soft ranks, `s_i = sigmoid(kappa (r_i - c))`, `M~ = Σ s_i`,
    /// - `mu~ = w_i` at `argmax{r_i : r_i <= n - M}`,
    /// - `a0~ = Σ s_i (w_i - mu~)/M~`, `a1~ = Σ s_i (n - r_i)/(M~ - 1) (w_i - mu~)/M~`, from which `sigma~` and `xi~`,
    /// - `p_i = (r_i - (n - M) - 1/2)/M`, no less than 0; `r_i <= n` keeps it below 1.
    ///
    /// The result is finite and positive. Degenerate batches are copied, and the reason is returned and counted.
    ///
    /// # Shapes
    /// `w`, `out`: n.
    ///
    /// # Cost
    /// O(n) on usual data (O(n log n) sort at worst); about 100 bytes per row.
    ///
    /// # Errors
    /// Empty, non-finite or non-positive weights, lengths that differ; in raw units weights above 1e290.
    pub fn forward(&mut self, w: &[f64], out: &mut [f64]) -> Result<TailFit, KernelError> {
        let n = w.len();
        self.tape = Tape::Empty;
        check_weights("w", w)?;
        check_len("out", n, out.len())?;
        self.w.clear();
        self.w.extend_from_slice(w);
        let mut fit = self.fit()?;
        if let Ok(f) = &fit {
            let (nf, m) = (n as f64, f.m as f64);
            for i in 0..n {
                if self.s[i] == 0.0 {
                    out[i] = w[i];
                    continue;
                }
                let q = f.gpd.quantile_at(probability(self.r[i], nf, m));
                out[i] = self.s[i] * q + (1.0 - self.s[i]) * w[i];
            }
            if !out.iter().all(|v| v.is_finite() && *v > 0.0) {
                fit = Err(FallBack::NonFinite);
            }
        }
        let outcome = match fit {
            Ok(f) => {
                self.tape = Tape::Smoothed(f);
                TailFit::Smoothed { mu: f.gpd.mu(), sigma: f.gpd.sigma(), xi: f.gpd.xi(), m: f.m, soft_m: f.soft_m }
            }
            Err(reason) => {
                self.tape = Tape::Left;
                out.copy_from_slice(w);
                TailFit::LeftAsIs(reason)
            }
        };
        self.tally.record(&outcome);
        Ok(outcome)
    }

    /// Ranks, step, moments and fit of `self.w`; every reason to leave the batch is decided here, before any smoothed value.
    fn fit(&mut self) -> Result<Result<Fitted, FallBack>, KernelError> {
        let (w, n) = (&self.w, self.w.len());
        let m = tail_length(n);
        if m < MIN_TAIL {
            return Ok(Err(FallBack::TailTooShort { m }));
        }
        let (nf, mf) = (n as f64, m as f64);
        self.r.resize(n, 0.0);
        self.s.resize(n, 0.0);
        let SoftParetoOptions { eps, kappa, units, center, negative_scale } = self.options;
        let (sd, kappa) = match units {
            Units::Raw => {
                self.ranks.forward(w, eps, &mut self.r)?;
                (1.0, kappa)
            }
            Units::ScaleFree => {
                let sd = standardise_log(w, &mut self.z);
                if sd <= EQUAL_BELOW {
                    return Ok(Err(FallBack::AllEqual));
                }
                self.ranks.forward(&self.z, eps / nf, &mut self.r)?;
                (sd, STEPS_PER_TAIL * kappa / mf)
            }
        };
        let center = match center {
            Center::Half => nf - mf + 0.5,
            Center::Paper => nf - mf + 1.0,
        };
        // Ranks ascend along the sorting permutation, and the smallest is at most (n+1)/2 <= n-M: there is always one.
        // The slack is for ranks that reach n-M up to rounding.
        let perm = self.ranks.perm();
        let below = perm.partition_point(|&i| self.r[i as usize] <= nf - mf + 1e-9);
        let mu_row = perm[below.max(1) - 1] as usize;
        let mu = w[mu_row];

        let mut soft_m = 0.0;
        for (s, &r) in self.s.iter_mut().zip(&self.r) {
            let x = kappa * (r - center);
            *s = if x < STEP_FLOOR { 0.0 } else { sigmoid(x) };
            soft_m += *s;
        }
        // Positions divide by M~ - 1.
        if soft_m <= 1.0 + 1e-6 {
            return Ok(Err(FallBack::SoftTailTooShort { soft_m }));
        }
        let (mut s0, mut s1) = (0.0, 0.0);
        for i in 0..n {
            let d = self.s[i] * (w[i] - mu);
            s0 += d;
            s1 += d * self.options.position(self.r[i], nf, soft_m).0;
        }
        let moments = Moments { a0: s0 / soft_m, a1: s1 / soft_m };
        let fit = match moments.solve(negative_scale == NegativeScale::Abs) {
            Ok(fit) => fit,
            Err(reason) => return Ok(Err(reason)),
        };
        let Ok(gpd) = Gpd::new(mu, fit.sigma.abs(), fit.xi) else {
            return Ok(Err(FallBack::NonFinite));
        };
        let sign = fit.sigma.signum();
        Ok(Ok(Fitted { m, soft_m, mu_row, moments, gpd, sign, kappa, sd }))
    }

    /// Writes to `out` the product of `g` with the Jacobian of the last forward pass; `g` itself where the weights were left
    /// as they are.
    ///
    /// # Shapes
    /// `g`, `out`: n of the last forward pass.
    ///
    /// # Cost
    /// O(n) time, no memory beyond the tape.
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow.
    pub fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        let n = self.w.len();
        if matches!(self.tape, Tape::Empty) {
            return Err(KernelError::NoForward { what: "soft Pareto smoothing" });
        }
        check_len("g", n, g.len())?;
        check_len("out", n, out.len())?;
        check_finite("g", g)?;
        let Tape::Smoothed(f) = self.tape else {
            out.copy_from_slice(g);
            return Ok(());
        };
        let (nf, m) = (n as f64, f.m as f64);
        let mu = f.gpd.mu();
        self.g_r.clear();
        self.g_r.resize(n, 0.0);
        self.g_z.resize(n, 0.0);

        // out_i = s_i q_i + (1 - s_i) w_i. `g_z` holds the derivative with respect to s_i until the ranks need it.
        let (mut g_mu, mut g_sigma, mut g_xi) = (0.0, 0.0, 0.0);
        // Rows with step 0 have slope 0 too: nothing but the weight itself reaches them.
        for i in 0..n {
            if self.s[i] == 0.0 {
                out[i] = g[i];
                continue;
            }
            let p = probability(self.r[i], nf, m);
            let g_q = g[i] * self.s[i];
            g_mu += g_q;
            let mut q = mu;
            if p > 0.0 {
                let d = f.gpd.quantile_derivatives_at(p);
                q = d.value;
                g_sigma += g_q * d.d_sigma;
                g_xi += g_q * d.d_xi;
                self.g_r[i] = g_q * d.d_arg / m;
            }
            self.g_z[i] = g[i] * (q - self.w[i]);
            out[i] = g[i] * (1.0 - self.s[i]);
        }

        // Scale and shape to moments, moments to their sums and the soft count.
        let (g_a0, g_a1) = f.moments.solve_vjp(f.sign * g_sigma, g_xi);
        let (g_s0, g_s1) = (g_a0 / f.soft_m, g_a1 / f.soft_m);
        let mut g_count = -(g_s0 * f.moments.a0 + g_s1 * f.moments.a1);
        for i in (0..n).filter(|&i| self.s[i] > 0.0) {
            let (position, free) = self.options.position(self.r[i], nf, f.soft_m);
            let d = self.w[i] - mu;
            let g_term = g_s0 + g_s1 * position;
            self.g_z[i] += g_term * d;
            let g_d = g_term * self.s[i];
            out[i] += g_d;
            g_mu -= g_d;
            if free {
                let g_position = g_s1 * self.s[i] * d / (f.soft_m - 1.0);
                self.g_r[i] -= g_position;
                g_count -= g_position * position;
            }
        }
        out[f.mu_row] += g_mu;

        for i in (0..n).filter(|&i| self.s[i] > 0.0) {
            let slope = f.kappa * self.s[i] * (1.0 - self.s[i]);
            self.g_r[i] += (self.g_z[i] + g_count) * slope;
        }
        check_result("soft Pareto derivative", &self.g_r)?;
        self.ranks.vjp(&self.g_r, &mut self.g_z)?;
        match self.options.units {
            Units::Raw => {
                for (o, d) in out.iter_mut().zip(&self.g_z) {
                    *o += d;
                }
            }
            Units::ScaleFree => {
                // z = (l - mean)/sd; block-centred derivatives sum to 0, so that the mean's own term vanishes.
                let dot = self.g_z.iter().zip(&self.z).map(|(a, b)| a * b).sum::<f64>() / nf;
                for i in 0..n {
                    out[i] += (self.g_z[i] - self.z[i] * dot) / (f.sd * self.w[i]);
                }
            }
        }
        check_result("soft Pareto derivative", out)
    }

    /// The map for new weights that the last forward pass implies, with the `M` largest weights as its tail; the identity when
    /// weights were left as they are.
    pub fn tail_map(&self) -> TailMap {
        let Tape::Smoothed(f) = self.tape else {
            return TailMap::identity();
        };
        let perm = self.ranks.perm();
        let mut tail: Vec<f64> = perm[perm.len() - f.m..].iter().map(|&i| self.w[i as usize]).collect();
        // Logarithms may tie where weights do not.
        tail.sort_unstable_by(f64::total_cmp);
        TailMap { mu: f.gpd.mu(), sigma: f.gpd.sigma(), xi: f.gpd.xi(), tail }
    }

    /// The options.
    pub fn options(&self) -> &SoftParetoOptions {
        &self.options
    }

    /// Batches seen and left as they are since this value was made.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Probability of soft rank `r`, no less than 0. `r <= n` keeps it at or below `(M - 1/2)/M`.
#[inline]
fn probability(r: f64, n: f64, m: f64) -> f64 {
    ((r - (n - m) - 0.5) / m).max(0.0)
}

/// Writes `(log w - mean)/sd` to `z` and returns `sd`, both over the batch; 0 leaves `z` centred only.
fn standardise_log(w: &[f64], z: &mut Vec<f64>) -> f64 {
    let n = w.len() as f64;
    z.clear();
    z.extend(w.iter().map(|v| v.ln()));
    let mean = z.iter().sum::<f64>() / n;
    let mut squares = 0.0;
    for v in z.iter_mut() {
        *v -= mean;
        squares += *v * *v;
    }
    let sd = (squares / n).sqrt();
    if sd > EQUAL_BELOW {
        for v in z.iter_mut() {
            *v /= sd;
        }
    }
    sd
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::spread_weights as weights;

    #[test]
    fn degenerate_batches_are_left_and_counted_by_reason() {
        let mut soft = SoftPareto::new(SoftParetoOptions::default()).unwrap();
        let mut left = |w: &[f64]| {
            let (mut out, mut d) = (vec![0.0; w.len()], vec![0.0; w.len()]);
            let TailFit::LeftAsIs(reason) = soft.forward(w, &mut out).unwrap() else { panic!("smoothed") };
            assert_eq!(out, w);
            soft.vjp(w, &mut d).unwrap();
            assert_eq!(d, w, "gradients pass through");
            assert_eq!(soft.tail_map(), TailMap::identity());
            reason
        };
        assert_eq!(left(&[2.0]), FallBack::TailTooShort { m: 0 });
        assert_eq!(left(&weights(24)), FallBack::TailTooShort { m: 4 });
        assert_eq!(left(&[3.0; 100]), FallBack::AllEqual);
        let tally = *soft.tally();
        assert_eq!((tally.batches, tally.rate()), (3, 1.0));
        assert_eq!(tally.left[FallBack::AllEqual.kind()], 1);
    }

    #[test]
    fn equal_tails_are_left_in_raw_units() {
        let options = SoftParetoOptions { units: Units::Raw, ..SoftParetoOptions::default() };
        let mut out = [0.0; 100];
        let fit = SoftPareto::new(options).unwrap().forward(&[3.0; 100], &mut out).unwrap();
        assert!(!fit.is_smoothed());
        assert_eq!(out, [3.0; 100]);
    }

    #[test]
    fn bad_input_is_refused_with_its_values() {
        let mut soft = SoftPareto::new(SoftParetoOptions::default()).unwrap();
        let mut out = [0.0; 2];
        assert!(matches!(soft.vjp(&[], &mut []), Err(KernelError::NoForward { .. })));
        assert!(matches!(soft.forward(&[], &mut []), Err(KernelError::Empty { .. })));
        assert!(matches!(soft.forward(&[1.0, f64::NAN], &mut out), Err(KernelError::NonFinite { index: 1, .. })));
        assert!(matches!(soft.forward(&[f64::INFINITY, 1.0], &mut out), Err(KernelError::NonFinite { index: 0, .. })));
        assert!(matches!(soft.forward(&[1.0, -1.0], &mut out), Err(KernelError::OutOfRange { index: 1, .. })));
        assert!(matches!(soft.forward(&[1.0], &mut out), Err(KernelError::Length { expected: 1, found: 2, .. })));
        let bad = SoftParetoOptions { eps: 0.0, ..SoftParetoOptions::default() };
        assert!(matches!(SoftPareto::new(bad), Err(KernelError::Parameter { name: "eps", .. })));
    }
}
