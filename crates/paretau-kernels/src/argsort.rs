//! Argsort of finite doubles, ascending: the part of soft ranking that costs the most.
//!
//! Doubles map to order-preserving integers. The leading bits of `key - min(key)` and the row index share one `u64`,
//! so that a radix sort moves 8 bytes per row and two or three passes suffice; rows whose leading bits agree are put right
//! afterwards by comparing whole values. Time O(n) on usual data, O(n log n) at worst; memory 24 bytes per row.

use crate::error::KernelError;

/// Rows are numbered by `u32`.
pub const MAX_ROWS: usize = u32::MAX as usize;

/// Below this, a comparison sort beats clearing and summing the radix counters.
const RADIX_FROM: usize = 256;
/// From here on three digits are used, so that few rows share their leading bits.
const THREE_DIGITS_FROM: usize = 1 << 16;
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// Longest run of equal leading bits that insertion sort handles.
const INSERTION_UP_TO: usize = 24;

/// Reusable buffers of an argsort, and its result.
#[derive(Debug, Clone, Default)]
pub struct ArgSort {
    perm: Vec<u32>,
    sorted: Vec<f64>,
    front: Vec<u64>,
    back: Vec<u64>,
    counts: Vec<u32>,
}

/// Maps doubles to integers of the same order (with -0 just below +0).
#[inline]
fn key(x: f64) -> u64 {
    let bits = x.to_bits();
    bits ^ (((bits as i64) >> 63) as u64 | (1 << 63))
}

impl ArgSort {
    /// The rows in ascending order of the values last sorted; equal values in order of their row.
    pub fn perm(&self) -> &[u32] {
        &self.perm
    }

    /// The values last sorted, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Sorts `x`. Refuses NaN and infinite entries, and more than [`MAX_ROWS`] of them.
    pub fn sort(&mut self, what: &'static str, x: &[f64]) -> Result<(), KernelError> {
        let n = x.len();
        self.perm.clear();
        self.sorted.clear();
        if n == 0 {
            return Ok(());
        }
        if n > MAX_ROWS {
            return Err(KernelError::TooLong { what, limit: MAX_ROWS, found: n });
        }
        let (mut lo, mut hi) = (u64::MAX, 0);
        for &v in x {
            let k = key(v);
            lo = lo.min(k);
            hi = hi.max(k);
        }
        // NaN sorts beyond the infinities on either side, so the two ends tell whether every entry is finite.
        if lo <= key(f64::NEG_INFINITY) || hi >= key(f64::INFINITY) {
            crate::error::check_finite(what, x)?;
        }

        let digits = if n < THREE_DIGITS_FROM { 2 } else { 3 };
        let prefix_bits = (digits * DIGIT_BITS).min(32);
        let shift = (u64::BITS - (hi - lo).leading_zeros()).saturating_sub(prefix_bits);
        self.front.clear();
        self.front.extend(x.iter().enumerate().map(|(i, &v)| (((key(v) - lo) >> shift) << 32) | i as u64));
        if n < RADIX_FROM {
            self.front.sort_unstable();
        } else {
            self.radix(digits as usize);
        }

        self.perm.extend(self.front.iter().map(|&e| e as u32));
        self.sorted.extend(self.perm.iter().map(|&i| x[i as usize]));
        if shift > 0 {
            self.finish(x);
        }
        Ok(())
    }

    /// Least-significant-digit radix sort of `front` by its upper half.
    fn radix(&mut self, digits: usize) {
        let n = self.front.len();
        self.back.resize(n, 0);
        self.counts.clear();
        self.counts.resize(digits * BUCKETS, 0);
        for &e in &self.front {
            for d in 0..digits {
                self.counts[d * BUCKETS + digit(e, d)] += 1;
            }
        }
        for d in 0..digits {
            let counts = &mut self.counts[d * BUCKETS..(d + 1) * BUCKETS];
            if counts[digit(self.front[0], d)] as usize == n {
                continue;
            }
            let mut start = 0;
            for c in counts.iter_mut() {
                start += std::mem::replace(c, start);
            }
            for &e in &self.front {
                let slot = &mut counts[digit(e, d)];
                self.back[*slot as usize] = e;
                *slot += 1;
            }
            std::mem::swap(&mut self.front, &mut self.back);
        }
    }

    /// Orders the rows whose leading bits agree.
    fn finish(&mut self, x: &[f64]) {
        let n = x.len();
        let mut a = 0;
        while a < n {
            let prefix = self.front[a] >> 32;
            let mut b = a + 1;
            while b < n && self.front[b] >> 32 == prefix {
                b += 1;
            }
            if b - a > INSERTION_UP_TO {
                // Keys, not values, so that -0 and +0 order alike on every path.
                self.perm[a..b].sort_unstable_by_key(|&i| (key(x[i as usize]), i));
                for i in a..b {
                    self.sorted[i] = x[self.perm[i] as usize];
                }
            } else {
                for i in a + 1..b {
                    let (value, row) = (self.sorted[i], self.perm[i]);
                    let mut j = i;
                    while j > a && key(self.sorted[j - 1]) > key(value) {
                        self.sorted[j] = self.sorted[j - 1];
                        self.perm[j] = self.perm[j - 1];
                        j -= 1;
                    }
                    self.sorted[j] = value;
                    self.perm[j] = row;
                }
            }
            a = b;
        }
    }
}

#[inline]
fn digit(e: u64, d: usize) -> usize {
    (e >> (32 + d as u32 * DIGIT_BITS)) as usize & (BUCKETS - 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn check(x: &[f64]) {
        let mut s = ArgSort::default();
        s.sort("x", x).unwrap();
        let mut expected: Vec<u32> = (0..x.len() as u32).collect();
        expected.sort_by(|&i, &j| x[i as usize].total_cmp(&x[j as usize]));
        assert_eq!(s.perm(), expected);
        assert!(s.sorted().iter().zip(s.perm()).all(|(v, &i)| *v == x[i as usize]));
    }

    #[test]
    fn agrees_with_a_stable_comparison_sort() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for n in [0, 1, 2, 3, 255, 256, 1000, 70_000] {
            let x: Vec<f64> = (0..n).map(|_| rng.random::<f64>() * 10.0 - 5.0).collect();
            check(&x);
            check(&x.iter().map(|v| v.exp()).collect::<Vec<_>>());
            check(&x.iter().map(|v| v.floor()).collect::<Vec<_>>());
            check(&vec![-0.5; n]);
        }
    }

    #[test]
    fn clusters_far_apart_share_leading_bits_and_still_sort() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let x: Vec<f64> = (0..5000)
            .map(|i| if i % 1000 == 0 { -1e300 } else { 1.0 + f64::from(rng.random::<u32>() % 4000) * f64::EPSILON })
            .collect();
        check(&x);
        check(&[0.0, -0.0, 0.0, -0.0, 1e-310, -1e-310]);
    }

    #[test]
    fn names_the_entry_that_is_not_finite() {
        let mut s = ArgSort::default();
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            match s.sort("x", &[1.0, bad, 2.0]) {
                Err(KernelError::NonFinite { what: "x", index: 1, .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}
