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
    + crate::lanes::Lanes
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

    /// `2^self` for arguments that are not positive, in fewer steps: a kernel can take the factor `log2 e` into a constant.
    ///
    /// Within 2 units in the last place down to about 1e-37 or 1e-307, and that small value below.
    #[must_use]
    fn exp2_nonpositive<const FMA: bool>(self) -> Self;
}

/// `e^x` for `EXP_MIN <= x <= EXP_MAX`, as `2^n e^r` with `|r| <= ln(2)/2`: gives `e^r` and the bits of `n`.
///
/// The coefficients are those of the Taylor series, highest power first; what is left out is below a quarter unit in the
/// last place: `0.3466^8/8! = 5e-9` and `0.3466^14/14! = 9e-18`.
macro_rules! exp_parts {
    ($x:expr, $float:ty, $magic:expr, $hi:expr, $lo:expr, [$($c:expr),+]) => {{
        let x: $float = $x;
        // Adding 1.5 * 2^mantissa leaves round(x / ln 2) in the low bits of the sum.
        let log2_e = std::f64::consts::LOG2_E as $float;
        let shifted: $float = Real::mul_add::<FMA>(x, log2_e, $magic);
        let whole: $float = shifted - $magic;
        let r: $float = Real::mul_add::<FMA>(whole, -$hi, x);
        let r: $float = Real::mul_add::<FMA>(whole, -$lo, r);
        let mut p: $float = 0.0;
        $( p = Real::mul_add::<FMA>(p, r, $c); )+
        (p, shifted.to_bits())
    }};
}

macro_rules! exp_methods {
    ($float:ty, $mantissa:literal, $bias:literal, $magic:expr, $parts:ident, $exp2:expr) => {
        #[inline(always)]
        fn exp_flushed<const FMA: bool>(self) -> Self {
            // Comparisons that are false for NaN, so that NaN passes through to the polynomial.
            let below = self < Self::EXP_MIN;
            let above = self > Self::EXP_MAX;
            let x = if below { Self::EXP_MIN } else { self };
            let x = if above { Self::EXP_MAX } else { x };
            let (p, n) = $parts::<FMA>(x);
            // 2^(n - 1), then doubled: 2^n itself has no finite representation at the upper end.
            let power = <$float>::from_bits(n.wrapping_add($bias - 1) << $mantissa);
            let value = p * power * 2.0;
            let value = if below { 0.0 } else { value };
            if above { Self::INFINITY } else { value }
        }

        #[inline(always)]
        fn exp2_nonpositive<const FMA: bool>(self) -> Self {
            let least = Self::from_f64(f64::from(Self::MIN_EXP));
            let x = if self < least { least } else { self };
            let shifted = x + $magic;
            let r = x - (shifted - $magic);
            let mut p: Self = 0.0;
            for c in $exp2 {
                p = Real::mul_add::<FMA>(p, r, c);
            }
            p * <$float>::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa)
        }
    };
}

const MAGIC_F32: f32 = 12_582_912.0;
const MAGIC_F64: f64 = 6_755_399_441_055_744.0;

/// `2^r = 1 + r q(r)` for `|r| <= 1/2`, highest power first: `q` interpolates at Chebyshev nodes, to 5e-9 and 1e-19.
const EXP2_F32: [f32; 7] =
    [1.545_316_3e-4, 1.339_086_3e-3, 0.009_618_083, 0.055_503_57, 0.240_226_5, std::f32::consts::LN_2, 1.0];
const EXP2_F64: [f64; 13] = [
    2.572_932_417_736_23e-11,
    4.455_817_908_336_064_5e-10,
    7.054_897_304_155_499e-9,
    1.017_805_708_773_394_1e-7,
    1.321_548_680_870_556_3e-6,
    1.525_273_384_155_677_3e-5,
    1.540_353_039_337_073_3e-4,
    1.333_355_814_640_647e-3,
    9.618_129_107_628_48e-3,
    5.550_410_866_482_163e-2,
    0.240_226_506_959_100_7,
    std::f64::consts::LN_2,
    1.0,
];

#[inline(always)]
fn exp_parts_f32<const FMA: bool>(x: f32) -> (f32, u32) {
    exp_parts!(
        x,
        f32,
        MAGIC_F32,
        0.693_359_4_f32,
        -2.121_944_4e-4_f32,
        [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    )
}

#[inline(always)]
fn exp_parts_f64<const FMA: bool>(x: f64) -> (f64, u64) {
    exp_parts!(
        x,
        f64,
        MAGIC_F64,
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
        if FMA { f32::mul_add(self, a, b) } else { self * a + b }
    }
    exp_methods!(f32, 23, 127, MAGIC_F32, exp_parts_f32, EXP2_F32);
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
        if FMA { f64::mul_add(self, a, b) } else { self * a + b }
    }
    exp_methods!(f64, 52, 1023, MAGIC_F64, exp_parts_f64, EXP2_F64);
}

/// Refuses a slice that does not hold `expected` values. Take saturating products for `expected`: a shape whose
/// product overflows then has no slice that fits it.
pub(crate) fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), KernelError> {
    if expected == found {
        return Ok(());
    }
    Err(KernelError::Length { what, expected, found })
}

/// Refuses a slice with a NaN or an infinity in it.
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
        Some(index) => Err(KernelError::NonFinite { what, index, value: values[index].to_f64() }),
    }
}
