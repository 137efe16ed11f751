//! Gradients as fixed-point numbers: a row is one or two 64-bit integers, and so is any sum of rows.
//!
//! Where every row has the same curvature, a sum is one integer: the gradient above, the number of rows below. Otherwise it
//! is two: the gradient; and the curvature above the number of rows. Integers add up exactly, in any order.

use std::array;

/// Bits of a row's gradient or curvature, at most.
const MOST_BITS: u32 = 30;
/// Bits of a row's gradient, at least, where it shares an integer with the count; of more rows it gets one of its own.
const LEAST_BITS: u32 = 26;
/// Bits of an integer that sums may use: none of its sign.
const ROOM: u32 = 62;

/// What the integers of a tree's rows stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FixedPoint {
    count_bits: u32,
    gradient_unit: f64,
    curvature_unit: f64,
}

/// A sum of rows, read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sums {
    pub(crate) gradient: f64,
    pub(crate) curvature: f64,
    pub(crate) rows: u32,
}

/// Bits that count so many rows.
fn count_bits(n_rows: usize) -> u32 {
    usize::BITS - n_rows.leading_zeros()
}

/// Whether gradients of so many rows with equal curvatures are exact enough beside their count.
pub(crate) fn fits_one(n_rows: usize) -> bool {
    2 * count_bits(n_rows) + LEAST_BITS <= ROOM
}

impl FixedPoint {
    /// Units for rows with gradients and curvatures of at most these sizes; with `L` of 1, curvatures are all 1.
    pub(crate) fn new<const L: usize>(n_rows: usize, largest_gradient: f64, largest_curvature: f64) -> Self {
        let count_bits = count_bits(n_rows);
        let shared = MOST_BITS.min(ROOM - 2 * count_bits);
        let unit = |largest: f64, bits: u32| if largest > 0.0 { largest / (1_u64 << bits) as f64 } else { 1.0 };
        Self {
            count_bits,
            gradient_unit: unit(largest_gradient, if L == 1 { shared } else { MOST_BITS }),
            curvature_unit: unit(largest_curvature, shared),
        }
    }

    /// One row.
    #[inline(always)]
    pub(crate) fn pack<const L: usize>(&self, gradient: f64, curvature: f64) -> [i64; L] {
        let gradient = (gradient / self.gradient_unit).round() as i64;
        let shared = if L == 1 { gradient } else { (curvature / self.curvature_unit).round() as i64 };
        let mut out = [gradient; L];
        out[L - 1] = (shared << self.count_bits) + 1;
        out
    }

    /// What a sum of rows stands for.
    #[inline(always)]
    pub(crate) fn read<const L: usize>(&self, sum: [i64; L]) -> Sums {
        let rows = (sum[L - 1] & ((1 << self.count_bits) - 1)) as u32;
        let shared = (sum[L - 1] >> self.count_bits) as f64;
        if L == 1 {
            Sums { gradient: shared * self.gradient_unit, curvature: f64::from(rows), rows }
        } else {
            Sums { gradient: sum[0] as f64 * self.gradient_unit, curvature: shared * self.curvature_unit, rows }
        }
    }
}

/// Sum of two sums.
#[inline(always)]
pub(crate) fn plus<const L: usize>(a: [i64; L], b: [i64; L]) -> [i64; L] {
    array::from_fn(|k| a[k] + b[k])
}

/// What is left of a sum.
#[inline(always)]
pub(crate) fn minus<const L: usize>(a: [i64; L], b: [i64; L]) -> [i64; L] {
    array::from_fn(|k| a[k] - b[k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    fn sums_are_those_of_numbers<const L: usize>(curvature: impl Fn(f64) -> f64, tolerance: f64) {
        let mut rng = Seed(1).rng();
        let rows: Vec<(f64, f64)> = (0..10_000).map(|_| (rng.normal(), curvature(rng.uniform()))).collect();
        let largest = rows.iter().fold(0.0_f64, |m, (g, _)| m.max(g.abs()));
        let fixed = FixedPoint::new::<L>(rows.len(), largest, 1.0);
        let sum = |rows: &[(f64, f64)]| rows.iter().fold([0; L], |s, &(g, h)| plus(s, fixed.pack(g, h)));
        let (all, part) = (sum(&rows), sum(&rows[..3000]));
        assert_eq!(sum(&rows[3000..]), minus(all, part));
        let read = fixed.read(part);
        let exact = rows[..3000].iter().fold((0.0, 0.0), |(g, h), row| (g + row.0, h + row.1));
        assert_eq!(read.rows, 3000);
        assert!(
            (read.gradient - exact.0).abs() < tolerance && (read.curvature - exact.1).abs() < tolerance,
            "{read:?}"
        );
    }

    #[test]
    fn one_and_two_integers_hold_the_same_sums() {
        sums_are_those_of_numbers::<1>(|_| 1.0, 1e-5);
        sums_are_those_of_numbers::<2>(|u| u, 1e-5);
        assert!(fits_one(200_000) && !fits_one(1 << 20));
    }

    #[test]
    fn the_largest_sums_do_not_overflow() {
        let n = (1 << 24) - 1;
        let fixed = FixedPoint::new::<2>(n, 3.0, 7.0);
        let row: [i64; 2] = fixed.pack(-3.0, 7.0);
        let total = row.map(|v| v.checked_mul(n as i64));
        assert!(total.iter().all(Option::is_some));
        let read = fixed.read(total.map(Option::unwrap_or_default));
        assert_eq!(read.rows as usize, n);
        assert!((read.gradient / (-3.0 * n as f64) - 1.0).abs() < 1e-9, "{read:?}");
        assert!((read.curvature / (7.0 * n as f64) - 1.0).abs() < 1e-3, "{read:?}");
    }
}
