//! Vector registers of either number type, for the few loops that a compiler does not vectorise by itself: those that
//! keep sums in registers.

use pulp::Simd;

/// The operations of `pulp` on one of its two float types, under common names.
pub trait Lanes: Copy + 'static {
    /// A register of this type.
    type Reg<S: Simd>: Copy;
    /// Values in a register.
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Reg<S>>() / size_of::<Self>()
    }
    /// The registers in a slice, and what is left.
    fn regs<S: Simd>(x: &[Self]) -> (&[Self::Reg<S>], &[Self]);
    /// The registers in a slice, and what is left.
    fn regs_mut<S: Simd>(x: &mut [Self]) -> (&mut [Self::Reg<S>], &mut [Self]);
    /// `x` in every lane.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Reg<S>;
    /// `a + b`.
    fn vadd<S: Simd>(simd: S, a: Self::Reg<S>, b: Self::Reg<S>) -> Self::Reg<S>;
    /// `a - b`.
    fn vsub<S: Simd>(simd: S, a: Self::Reg<S>, b: Self::Reg<S>) -> Self::Reg<S>;
    /// The larger of each pair.
    fn vmax<S: Simd>(simd: S, a: Self::Reg<S>, b: Self::Reg<S>) -> Self::Reg<S>;
    /// `a · b + c`, fused where that is fast.
    fn vmul_add<S: Simd>(simd: S, a: Self::Reg<S>, b: Self::Reg<S>, c: Self::Reg<S>) -> Self::Reg<S>;
    /// The sum of the lanes.
    fn vsum<S: Simd>(simd: S, a: Self::Reg<S>) -> Self;
    /// The largest lane.
    fn vmaximum<S: Simd>(simd: S, a: Self::Reg<S>) -> Self;
}

macro_rules! lanes {
    ($float:ty, $reg:ident, $regs:ident, $regs_mut:ident, $splat:ident, $add:ident, $sub:ident, $max:ident, $mul_add:ident, $sum:ident, $maximum:ident) => {
        impl Lanes for $float {
            type Reg<S: Simd> = S::$reg;
            #[inline(always)]
            fn regs<S: Simd>(x: &[Self]) -> (&[S::$reg], &[Self]) {
                S::$regs(x)
            }
            #[inline(always)]
            fn regs_mut<S: Simd>(x: &mut [Self]) -> (&mut [S::$reg], &mut [Self]) {
                S::$regs_mut(x)
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$reg {
                simd.$splat(x)
            }
            #[inline(always)]
            fn vadd<S: Simd>(simd: S, a: S::$reg, b: S::$reg) -> S::$reg {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn vsub<S: Simd>(simd: S, a: S::$reg, b: S::$reg) -> S::$reg {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn vmax<S: Simd>(simd: S, a: S::$reg, b: S::$reg) -> S::$reg {
                simd.$max(a, b)
            }
            #[inline(always)]
            fn vmul_add<S: Simd>(simd: S, a: S::$reg, b: S::$reg, c: S::$reg) -> S::$reg {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn vsum<S: Simd>(simd: S, a: S::$reg) -> Self {
                simd.$sum(a)
            }
            #[inline(always)]
            fn vmaximum<S: Simd>(simd: S, a: S::$reg) -> Self {
                simd.$maximum(a)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    max_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s,
    reduce_max_f32s
);
lanes!(
    f64,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    max_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s,
    reduce_max_f64s
);

/// `Σ x[i]` of a whole number of registers.
#[inline(always)]
pub(crate) fn sum<T: Lanes, S: Simd>(simd: S, zero: T, x: &[T]) -> T {
    let mut sums = [T::splat(simd, zero); 2];
    let (pairs, rest) = T::regs::<S>(x).0.as_chunks::<2>();
    for &[a, b] in pairs {
        sums[0] = T::vadd(simd, sums[0], a);
        sums[1] = T::vadd(simd, sums[1], b);
    }
    for &a in rest {
        sums[0] = T::vadd(simd, sums[0], a);
    }
    T::vsum(simd, T::vadd(simd, sums[0], sums[1]))
}

/// The largest of a whole number of registers, and `least` if there is none.
#[inline(always)]
pub(crate) fn maximum<T: Lanes, S: Simd>(simd: S, least: T, x: &[T]) -> T {
    let mut largest = T::splat(simd, least);
    for &a in T::regs::<S>(x).0 {
        largest = T::vmax(simd, largest, a);
    }
    T::vmaximum(simd, largest)
}
