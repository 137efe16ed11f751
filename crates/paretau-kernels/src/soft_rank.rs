//! The L2-regularised soft rank (Blondel et al. 2020) and its vector-Jacobian product.
//!
//! Ascending soft ranks of `w` are the Euclidean projection of `w / eps` onto the permutahedron of `(1, ..., n)`. With `s`
//! the sorted values, the projection is `s/eps - v` for the isotonic fit `v` of `s/eps - (1, ..., n)`, found in one pass of
//! pool-adjacent-violators. Within a pooled block of positions `a..b` (0-based, `b` excluded) this is
//! `r = (s - mean(s))/eps + (a + b + 1)/2`, and a block of one has its hard rank.

use crate::argsort::ArgSort;
use crate::error::{KernelError, check_finite, check_len, check_parameter};

/// Values and `eps` must not exceed this in size, so that no sum over a batch overflows.
pub const MAX_MAGNITUDE: f64 = 1e290;

/// A run of positions in sorted order that the projection pools.
#[derive(Debug, Clone, Copy)]
struct Block {
    start: u32,
    /// Smallest value of the block. Sums are kept relative to it: ties then cancel exactly, however small `eps` is.
    first: f64,
    /// `Σ (s_i - first)` over the block.
    sum: f64,
    /// `sum / length`.
    mean: f64,
}

/// Soft ranks with their tape. Buffers are kept between calls.
#[derive(Debug, Clone, Default)]
pub struct SoftRank {
    order: ArgSort,
    blocks: Vec<Block>,
    eps: f64,
}

impl SoftRank {
    /// Writes the ascending soft ranks of `w` to `out`.
    ///
    /// `eps -> 0` gives hard ranks (ties share their mean rank), `eps -> ∞` gives `(n+1)/2` everywhere. The sum is always
    /// `n(n+1)/2`, and `w_i <= w_j` implies `out_i <= out_j`.
    ///
    /// # Shapes
    /// `w`, `out`: n.
    ///
    /// # Cost
    /// O(n) time on usual data, O(n log n) at worst; about 56 bytes per row.
    ///
    /// # Errors
    /// Empty `w`, lengths that differ, entries that are not finite or exceed [`MAX_MAGNITUDE`], `eps` outside
    /// `[1/MAX_MAGNITUDE, MAX_MAGNITUDE]`.
    pub fn forward(&mut self, w: &[f64], eps: f64, out: &mut [f64]) -> Result<(), KernelError> {
        let n = w.len();
        self.blocks.clear();
        if n == 0 {
            return Err(KernelError::Empty { what: "w" });
        }
        check_len("out", n, out.len())?;
        check_parameter("eps", eps, "a number in [1e-290, 1e290]", |e| {
            (1.0 / MAX_MAGNITUDE..=MAX_MAGNITUDE).contains(&e)
        })?;
        self.order.sort("w", w)?;
        let s = self.order.sorted();
        if s[0] < -MAX_MAGNITUDE || s[n - 1] > MAX_MAGNITUDE {
            let index = w.iter().position(|v| v.abs() > MAX_MAGNITUDE).unwrap_or(0);
            return Err(KernelError::OutOfRange { what: "w", index, value: w[index], expected: "a size up to 1e290" });
        }
        self.eps = eps;
        pool(s, eps, &mut self.blocks);

        let perm = self.order.perm();
        let inverse = 1.0 / eps;
        let mut end = n;
        for block in self.blocks.iter().rev() {
            let start = block.start as usize;
            if end - start == 1 {
                out[perm[start] as usize] = end as f64;
            } else {
                let (lowest, highest) = ((start + 1) as f64, end as f64);
                let center = 0.5 * (lowest + highest);
                for i in start..end {
                    let r = center + ((s[i] - block.first) - block.mean) * inverse;
                    // The permutahedron keeps a block within its own ranks; clamping takes rounding away.
                    out[perm[i] as usize] = r.clamp(lowest, highest);
                }
            }
            end = start;
        }
        Ok(())
    }

    /// Writes to `out` the product of `g` with the Jacobian of the last [`forward`](Self::forward): in each pooled block
    /// `(g - mean_block(g))/eps`, 0 in blocks of one. The Jacobian is symmetric.
    ///
    /// # Shapes
    /// `g`, `out`: n of the last forward pass.
    ///
    /// # Cost
    /// O(n) time, no memory.
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow.
    pub fn vjp(&self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        let n = self.order.perm().len();
        if self.blocks.is_empty() {
            return Err(KernelError::NoForward { what: "soft rank" });
        }
        check_len("g", n, g.len())?;
        check_len("out", n, out.len())?;
        let perm = self.order.perm();
        let inverse = 1.0 / self.eps;
        let mut end = n;
        let mut finite = true;
        for block in self.blocks.iter().rev() {
            let start = block.start as usize;
            let rows = &perm[start..end];
            if let [row] = *rows {
                finite &= g[row as usize].is_finite();
                out[row as usize] = 0.0;
            } else {
                let mean = rows.iter().map(|&i| g[i as usize]).sum::<f64>() / rows.len() as f64;
                for &i in rows {
                    let d = (g[i as usize] - mean) * inverse;
                    finite &= d.is_finite();
                    out[i as usize] = d;
                }
            }
            end = start;
        }
        if finite {
            return Ok(());
        }
        check_finite("g", g)?;
        Err(KernelError::Overflow { what: "soft rank derivative" })
    }

    /// Number of pooled blocks of the last forward pass (n without any pooling, 1 when all ranks are one line).
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Rows in ascending order of the values of the last forward pass.
    pub fn perm(&self) -> &[u32] {
        self.order.perm()
    }
}

/// One pass of pool-adjacent-violators over the ascending `s`.
///
/// Neighbouring blocks `a..b` and `b..c` violate the order when the means of `s/eps - rank` fall, that is when their means
/// of `s` lie closer than `eps (c - a)/2`.
fn pool(s: &[f64], eps: f64, blocks: &mut Vec<Block>) {
    let half = 0.5 * eps;
    let mut top = Block { start: 0, first: s[0], sum: 0.0, mean: 0.0 };
    for (i, &value) in s.iter().enumerate().skip(1) {
        let end = i + 1;
        let mut current = Block { start: i as u32, first: value, sum: 0.0, mean: 0.0 };
        let mut open = true;
        while (current.first - top.first) + (current.mean - top.mean) < half * (end - top.start as usize) as f64 {
            let length = (end - current.start as usize) as f64;
            let sum = top.sum + current.sum + length * (current.first - top.first);
            let mean = sum / (end - top.start as usize) as f64;
            current = Block { start: top.start, first: top.first, sum, mean };
            let Some(previous) = blocks.pop() else {
                open = false;
                break;
            };
            top = previous;
        }
        if open {
            blocks.push(top);
        }
        top = current;
    }
    blocks.push(top);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rank(w: &[f64], eps: f64) -> Vec<f64> {
        let mut out = vec![0.0; w.len()];
        SoftRank::default().forward(w, eps, &mut out).unwrap();
        out
    }

    #[test]
    fn small_eps_gives_hard_ranks_and_ties_share_them() {
        assert_eq!(rank(&[0.3, -1.0, 7.0, 2.0], 1e-9), [2.0, 1.0, 4.0, 3.0]);
        assert_eq!(rank(&[0.1, 5.0, 0.1, 0.1], 1e-200), [2.0, 4.0, 2.0, 2.0]);
        assert_eq!(rank(&[4.0], 3.0), [1.0]);
    }

    #[test]
    fn large_eps_gives_the_middle_rank() {
        for r in rank(&[3.0, 1.0, 2.0, 9.0], 1e12) {
            assert!((r - 2.5).abs() < 1e-9);
        }
        assert_eq!(rank(&[2.0; 5], 1.0), [3.0; 5]);
    }

    #[test]
    fn figure_2_of_the_paper() {
        // Ranks of w1 among (w1, 1, 2, 3). With eps = 1 the others are exactly one rank apart.
        assert_eq!(rank(&[0.0, 1.0, 2.0, 3.0], 1.0)[0], 1.0);
        assert_eq!(rank(&[4.0, 1.0, 2.0, 3.0], 1.0)[0], 4.0);
        assert_eq!(rank(&[2.5, 1.0, 2.0, 3.0], 0.1)[0], 3.0);
        // By symmetry w1 = 2 lies in the middle of its tie: ranks 2 and 3 shared.
        assert!((rank(&[2.0, 1.0, 2.0, 3.0], 0.1)[0] - 2.5).abs() < 1e-12);
        // With eps = 10 all four are pooled: r1 = (w1 - mean)/eps + 2.5.
        for w1 in [-1.0, 0.5, 2.2, 5.0] {
            let w = [w1, 1.0, 2.0, 3.0];
            let mean = w.iter().sum::<f64>() / 4.0;
            assert!((rank(&w, 10.0)[0] - ((w1 - mean) / 10.0 + 2.5)).abs() < 1e-12);
        }
    }

    #[test]
    fn derivative_centres_within_blocks() {
        let mut tape = SoftRank::default();
        let mut r = [0.0; 3];
        tape.forward(&[0.0, 0.5, 10.0], 2.0, &mut r).unwrap();
        assert_eq!(tape.n_blocks(), 2);
        let mut d = [9.0; 3];
        tape.vjp(&[1.0, 3.0, 5.0], &mut d).unwrap();
        assert_eq!(d, [-0.5, 0.5, 0.0]);
    }

    #[test]
    fn degenerate_input_is_refused() {
        let mut tape = SoftRank::default();
        let mut out = [0.0; 2];
        assert_eq!(tape.forward(&[], 1.0, &mut []), Err(KernelError::Empty { what: "w" }));
        assert!(matches!(tape.vjp(&[1.0; 2], &mut out), Err(KernelError::NoForward { .. })));
        assert!(matches!(tape.forward(&[1.0, 2.0], 0.0, &mut out), Err(KernelError::Parameter { .. })));
        assert!(matches!(tape.forward(&[1.0, f64::MAX], 1.0, &mut out), Err(KernelError::OutOfRange { index: 1, .. })));
        assert!(matches!(tape.forward(&[f64::NAN, 1.0], 1.0, &mut out), Err(KernelError::NonFinite { index: 0, .. })));
        tape.forward(&[1.0, 1.0], 1e-290, &mut out).unwrap();
        assert!(matches!(tape.vjp(&[1e100, -1e100], &mut out), Err(KernelError::Overflow { .. })));
        assert!(matches!(tape.vjp(&[1.0, f64::NAN], &mut out), Err(KernelError::NonFinite { index: 1, .. })));
    }
}
