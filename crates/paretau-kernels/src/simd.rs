//! Loops compiled for the processor at hand, and an exponential that such loops can hold.
//!
//! A plain loop is compiled for the oldest processor of the architecture. [`dispatch`] compiles it a second time for
//! AVX2 with fused multiply-add and chooses at run time; no `unsafe` is needed, because `pulp` proves the
//! features by a value.

use crate::error::KernelError;
use crate::real::{Real, check_len};

/// A piece of work whose loops should become vector code.
///
/// Mark `run` as `#[inline(always)]`, and everything it calls: only what is inlined is compiled for the features.
pub trait Vectorised {
    /// What the work returns.
    type Output;
    /// Does the work; `FMA` says whether [`Real::mul_add`] should round once. `simd` proves which registers there are.
    fn run<S: pulp::Simd, const FMA: bool>(self, simd: S) -> Self::Output;
}

/// Fused multiply-add even where no vector instructions are compiled in.
const BASELINE_FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

struct Work<W>(W);

impl<W: Vectorised> pulp::WithSimd for Work<W> {
    type Output = W::Output;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> W::Output {
        if S::IS_SCALAR { self.0.run::<S, BASELINE_FMA>(simd) } else { self.0.run::<S, true>(simd) }
    }
}

/// Runs `work` with AVX2 where it is present, else with what was compiled in.
///
/// Wider registers are left to matrix products: rows are laid out for [`LANES`] values, and sums keep their bits on every
/// processor with AVX2.
#[inline]
pub fn dispatch<W: Vectorised>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(simd, Work(work));
    }
    pulp::Arch::new().dispatch(Work(work))
}

/// Values that loops in this crate handle side by side: one AVX2 register of `f32`, two of `f64`.
pub(crate) const LANES: usize = 8;

/// The sum over lanes, in a fixed order.
#[inline]
pub(crate) fn add_lanes<T: Real>(x: &[T; LANES]) -> T {
    ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))
}

struct Exp<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
}

impl<T: Real> Vectorised for Exp<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = x.exp_flushed::<FMA>();
        }
    }
}

/// `out[i] = e^x[i]`, see [`Real::exp_flushed`] for its accuracy and its ends.
///
/// # Errors
/// [`KernelError::Length`] if the lengths differ.
pub fn exp_slice<T: Real>(out: &mut [T], x: &[T]) -> Result<(), KernelError> {
    check_len("out", x.len(), out.len())?;
    dispatch(Exp { out, x });
    Ok(())
}

/// `Σ x[i]` in double precision, in an order that depends on the length alone.
pub fn sum_f64<T: Real>(x: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for l in 0..LANES {
            lanes[l] += block[l].to_f64();
        }
    }
    for (lane, v) in lanes.iter_mut().zip(rest) {
        *lane += v.to_f64();
    }
    add_lanes(&lanes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn single_precision_exp_is_within_two_units_over_its_whole_range() {
        let mut worst: f64 = 0.0;
        let (lo, hi) = (f32::EXP_MIN, f32::EXP_MAX);
        let steps = 2_000_000;
        let xs: Vec<f32> = (0..=steps)
            .map(|i| lo + (hi - lo) * (i as f32 / steps as f32))
            .chain((0..200_000).map(|i| (i as f32 - 1e5) * 1e-6))
            .filter(|x| (lo..=hi).contains(x))
            .collect();
        let mut out = vec![0.0; xs.len()];
        exp_slice(&mut out, &xs).unwrap();
        for (&x, &y) in xs.iter().zip(&out) {
            let want = f64::from(x).exp();
            let ulp = f64::from((want as f32).next_up() - want as f32);
            worst = worst.max((f64::from(y) - want).abs() / ulp);
            let plain = f64::from(x.exp_flushed::<false>());
            worst = worst.max((plain - want).abs() / ulp);
        }
        assert!(worst <= 2.0, "{worst} ulp");
    }

    #[test]
    fn double_precision_exp_is_within_two_units_over_its_whole_range() {
        let mut worst: f64 = 0.0;
        let (lo, hi) = (f64::EXP_MIN, f64::EXP_MAX);
        let steps = 1_000_000;
        let xs: Vec<f64> = (0..=steps)
            .map(|i| lo + (hi - lo) * (f64::from(i) / f64::from(steps)))
            .chain((0..200_000).map(|i| (f64::from(i) - 1e5) * 1e-5))
            .filter(|x| (lo..=hi).contains(x))
            .collect();
        let mut out = vec![0.0; xs.len()];
        exp_slice(&mut out, &xs).unwrap();
        for (&x, &y) in xs.iter().zip(&out) {
            let want = x.exp();
            let ulp = want.next_up() - want;
            worst = worst.max((y - want).abs() / ulp);
            worst = worst.max((x.exp_flushed::<false>() - want).abs() / ulp);
        }
        // The standard library's own error, up to one unit, is in here too.
        assert!(worst <= 2.5, "{worst} ulp");
    }

    #[test]
    fn exp2_of_nonpositive_numbers_is_within_two_units() {
        let (mut worst, mut worst32) = (0.0_f64, 0.0_f64);
        for i in 0..400_000 {
            let x = -(f64::from(i) / 400_000.0) * 900.0;
            let want = x.max(-1021.0).exp2();
            for y in [x.exp2_nonpositive::<true>(), x.exp2_nonpositive::<false>()] {
                worst = worst.max((y - want).abs() / (want.next_up() - want));
            }
            let x = (x / 7.2) as f32;
            let want = f64::from(x).max(-125.0).exp2();
            let ulp = f64::from((want as f32).next_up() - want as f32);
            for y in [x.exp2_nonpositive::<true>(), x.exp2_nonpositive::<false>()] {
                worst32 = worst32.max((f64::from(y) - want).abs() / ulp);
            }
        }
        assert!(worst <= 2.5 && worst32 <= 2.0, "{worst} {worst32}");
        assert_eq!(0.0_f32.exp2_nonpositive::<true>(), 1.0);
        assert_eq!(0.0_f64.exp2_nonpositive::<true>(), 1.0);
        assert!(f32::NEG_INFINITY.exp2_nonpositive::<true>() < 1e-37);
    }

    #[test]
    fn the_ends_of_exp() {
        let x = [f32::NEG_INFINITY, -1e30, -87.5, 0.0, 89.0, f32::INFINITY];
        let mut out = [7.0; 6];
        exp_slice(&mut out, &x).unwrap();
        assert_eq!(out, [0.0, 0.0, 0.0, 1.0, f32::INFINITY, f32::INFINITY]);
        let x = [f64::NEG_INFINITY, -1e300, -710.0, 0.0, 710.0, f64::INFINITY];
        let mut out = [7.0; 6];
        exp_slice(&mut out, &x).unwrap();
        assert_eq!(out, [0.0, 0.0, 0.0, 1.0, f64::INFINITY, f64::INFINITY]);
        assert!(f32::NAN.exp_flushed::<false>().is_nan());
        assert!(f64::NAN.exp_flushed::<false>().is_nan());
        assert!(exp_slice(&mut [0.0_f64; 2], &[1.0]).is_err());
    }

    proptest! {
        #[test]
        fn any_bits_give_what_the_standard_library_gives(bits: u32) {
            let x = f32::from_bits(bits);
            let mut out = [0.0];
            exp_slice(&mut out, &[x]).unwrap();
            let want = x.exp();
            prop_assert!(
                out[0] == want || (out[0].is_nan() && want.is_nan())
                    || (out[0] - want).abs() <= want * 3e-7 + 2e-38
                    || (x > f32::EXP_MAX && out[0].is_infinite()),
                "{} {} {}", x, out[0], want
            );
        }
    }
}
