//! The two number types that kernels work in, behind one sealed trait.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::error::KernelError;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: what a kernel that is generic over precision needs, and no more.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + std::iter::Sum
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The distance from one to the next larger number.
    const EPSILON: Self;
    /// Below this, [`Real::exp_flushed`] answers zero.
    const EXP_MIN: Self;
    /// Above this, [`Real::exp_flushed`] answers infinity.
    const EXP_MAX: Self;

    /// Rounds a double to this type.
    #[must_use]
    fn from_f64(value: f64) -> Self;
    /// Widens to a double, exactly.
    fn to_f64(self) -> f64;
    /// Rounds a count to this type.
    #[must_use]
    #[inline(always)]
    fn from_usize(value: usize) -> Self {
        Self::from_f64(value as f64)
    }

    /// `e^self`, of the standard library.
    #[must_use]
    fn exp(self) -> Self;
    /// `e^self - 1` without cancellation near zero.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// `ln(1 + self)` without cancellation near zero.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// The larger of two; the other one if one is NaN.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// The smaller of two; the other one if one is NaN.
    #[must_use]
    fn min(self, other: Self) -> Self;

    /// `self * a + b`, rounded once if `FMA`, twice otherwise.
    ///
    /// Choose `FMA` where the processor has the instruction (see [`crate::simd`]); elsewhere it is a slow call.
    #[must_use]
    fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self;

    /// `e^self` without branches, for loops that a compiler turns into vector code.
    ///
    /// Within 2 units in the last place of the true value between [`Real::EXP_MIN`] and [`Real::EXP_MAX`];
    /// zero below (results under about 1e-38 or 1e-308 are flushed), infinite above; NaN stays NaN.
    #[must_use]
    fn exp_flushed<const FMA: bool>(self) -> Self;
}

/// Coefficients of the Taylor series of `e^r`, highest power first, enough for `|r| <= ln(2)/2`.
/// Truncation is below a quarter unit in the last place: `0.3466^8/8! = 5e-9` and `0.3466^14/14! = 4e-18`.
macro_rules! exp_flushed {
    ($x:expr, $float:ty, $int:ty, $bits:literal, $bias:literal, $magic:expr, $hi:expr, $lo:expr, [$($c:expr),+]) => {{
        let x: $float = $x;
        // Comparisons that are false for NaN, so that NaN passes through to the polynomial.
        let below = x < <$float as Real>::EXP_MIN;
        let above = x > <$float as Real>::EXP_MAX;
        let x = if below { <$float as Real>::EXP_MIN } else { x };
        let x = if above { <$float as Real>::EXP_MAX } else { x };
        // Adding 1.5 * 2^mantissa leaves round(x / ln 2) in the low bits of the sum.
        let shifted: $float = Real::mul_add::<FMA>(x, <$float>::from_f64(std::f64::consts::LOG2_E), $magic);
        let whole: $float = shifted - $magic;
        let r: $float = Real::mul_add::<FMA>(whole, -$hi, x);
        let r: $float = Real::mul_add::<FMA>(whole, -$lo, r);
        let mut p: $float = 0.0;
        $( p = Real::mul_add::<FMA>(p, r, $c); )+
        // 2^(whole - 1), then doubled: 2^whole itself has no finite representation at the upper end.
        let power = (shifted.to_bits() as $int).wrapping_add($bias - 1) << $bits;
        let value = p * <$float>::from_bits(power as _) * 2.0;
        let value = if below { 0.0 } else { value };
        if above { <$float>::INFINITY } else { value }
    }};
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f32::EPSILON;
    const EXP_MIN: Self = -86.9;
    const EXP_MAX: Self = 88.72;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f32::exp(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        f32::exp_m1(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f32::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f32::ln_1p(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        f32::max(self, other)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        f32::min(self, other)
    }
    #[inline(always)]
    fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self {
        if FMA {
            f32::mul_add(self, a, b)
        } else {
            self * a + b
        }
    }
    #[inline(always)]
    fn exp_flushed<const FMA: bool>(self) -> Self {
        exp_flushed!(
            self,
            f32,
            u32,
            23,
            127,
            12_582_912.0_f32,
            0.693_359_4_f32,
            -2.121_944_4e-4_f32,
            [
                1.0 / 5040.0,
                1.0 / 720.0,
                1.0 / 120.0,
                1.0 / 24.0,
                1.0 / 6.0,
                0.5,
                1.0,
                1.0
            ]
        )
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f64::EPSILON;
    const EXP_MIN: Self = -707.0;
    const EXP_MAX: Self = 709.78;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        f64::exp_m1(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        f64::max(self, other)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        f64::min(self, other)
    }
    #[inline(always)]
    fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self {
        if FMA {
            f64::mul_add(self, a, b)
        } else {
            self * a + b
        }
    }
    #[inline(always)]
    fn exp_flushed<const FMA: bool>(self) -> Self {
        exp_flushed!(
            self,
            f64,
            u64,
            52,
            1023,
            6_755_399_441_055_744.0_f64,
            0.693_147_180_369_123_8_f64,
            1.908_214_929_270_587_7e-10_f64,
            [
                1.0 / 6_227_020_800.0,
                1.0 / 479_001_600.0,
                1.0 / 39_916_800.0,
                1.0 / 3_628_800.0,
                1.0 / 362_880.0,
                1.0 / 40_320.0,
                1.0 / 5040.0,
                1.0 / 720.0,
                1.0 / 120.0,
                1.0 / 24.0,
                1.0 / 6.0,
                0.5,
                1.0,
                1.0
            ]
        )
    }
}

/// Refuses a slice that does not hold `expected` values.
pub(crate) fn check_len(
    what: &'static str,
    expected: Option<usize>,
    found: usize,
) -> Result<(), KernelError> {
    // A shape whose product overflows has no slice that fits it.
    let expected = expected.unwrap_or(usize::MAX);
    if expected == found {
        Ok(())
    } else {
        Err(KernelError::LengthMismatch {
            what,
            expected,
            found,
        })
    }
}

/// Refuses a slice with a NaN or an infinity in it.
#[allow(dead_code)]
pub(crate) fn check_finite<T: Real>(what: &'static str, values: &[T]) -> Result<(), KernelError> {
    // x * 0 is NaN exactly for the values to refuse, and a sum of such products needs no branch per element.
    let mut lanes = [T::ZERO; 8];
    let (blocks, rest) = values.as_chunks::<8>();
    for block in blocks {
        for l in 0..8 {
            lanes[l] += block[l] * T::ZERO;
        }
    }
    for (l, &x) in rest.iter().enumerate() {
        lanes[l] += x * T::ZERO;
    }
    if lanes.iter().all(|lane| lane.is_finite()) {
        return Ok(());
    }
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(KernelError::NonFinite {
            what,
            index,
            value: values[index].to_f64(),
        }),
    }
}
