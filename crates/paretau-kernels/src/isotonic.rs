//! Isotonic regression by pool-adjacent-violators (PAV).
//!
//! The soft rank has its own pass over sorted values (`soft_rank.rs`), where the target is known to be a line; this is
//! the general one, with weights.

use crate::error::{KernelError, check_finite, check_len, check_result};

/// Which way the fit must run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `v_1 <= v_2 <= ... <= v_n`.
    NonDecreasing,
    /// `v_1 >= v_2 >= ... >= v_n`.
    NonIncreasing,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    start: usize,
    mean: f64,
    weight: f64,
}

/// Isotonic regression with reusable buffers.
#[derive(Debug, Clone, Default)]
pub struct Isotonic {
    blocks: Vec<Block>,
}

impl Isotonic {
    /// Writes to `out` the minimiser of `Σ c_i (v_i - y_i)²` over all `v` that run in `direction`
    /// (`c` = `weights`, 1 without).
    ///
    /// # Shapes
    /// `y`, `weights`, `out`: n. An empty `y` is fine.
    ///
    /// # Cost
    /// O(n) time; O(n) memory, kept between calls.
    ///
    /// # Errors
    /// Lengths that differ, non-finite entries, weights that are not positive, sums that overflow.
    pub fn fit(
        &mut self,
        y: &[f64],
        weights: Option<&[f64]>,
        direction: Direction,
        out: &mut [f64],
    ) -> Result<(), KernelError> {
        let n = y.len();
        check_len("out", n, out.len())?;
        check_finite("y", y)?;
        if let Some(c) = weights {
            check_len("weights", n, c.len())?;
            if n > 0 {
                crate::error::check_weights("weights", c)?;
            }
        }
        // A non-increasing fit of y is minus the non-decreasing fit of -y.
        let sign = match direction {
            Direction::NonDecreasing => 1.0,
            Direction::NonIncreasing => -1.0,
        };
        self.blocks.clear();
        for i in 0..n {
            let mut current = Block { start: i, mean: sign * y[i], weight: weights.map_or(1.0, |c| c[i]) };
            while let Some(&previous) = self.blocks.last() {
                if previous.mean < current.mean {
                    break;
                }
                let weight = previous.weight + current.weight;
                // A convex combination, so that large values of both signs cannot overflow on the way.
                let mean = previous.mean * (previous.weight / weight) + current.mean * (current.weight / weight);
                current = Block { start: previous.start, mean, weight };
                self.blocks.pop();
            }
            self.blocks.push(current);
        }
        let mut end = n;
        for block in self.blocks.iter().rev() {
            out[block.start..end].fill(sign * block.mean);
            end = block.start;
        }
        if self.blocks.iter().all(|b| b.weight.is_finite()) {
            check_result("isotonic fit", out)
        } else {
            Err(KernelError::Overflow { what: "sum of weights" })
        }
    }

    /// First rows of the blocks that the last fit pooled, ascending.
    pub fn block_starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().map(|b| b.start)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fit(y: &[f64], c: Option<&[f64]>, direction: Direction) -> Vec<f64> {
        let mut out = vec![0.0; y.len()];
        Isotonic::default().fit(y, c, direction, &mut out).unwrap();
        out
    }

    #[test]
    fn pools_violators_only() {
        assert_eq!(fit(&[1.0, 3.0, 2.0, 4.0], None, Direction::NonDecreasing), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(fit(&[3.0, 1.0, 2.0, 0.0], None, Direction::NonIncreasing), [3.0, 1.5, 1.5, 0.0]);
        assert_eq!(fit(&[5.0, 5.0], None, Direction::NonIncreasing), [5.0, 5.0]);
        assert_eq!(fit(&[], None, Direction::NonIncreasing), [0.0; 0]);
    }

    #[test]
    fn weights_shift_the_mean_of_a_block() {
        assert_eq!(fit(&[4.0, 0.0], Some(&[1.0, 3.0]), Direction::NonDecreasing), [1.0, 1.0]);
    }

    #[test]
    fn degenerate_input_is_refused_with_its_values() {
        let mut out = [0.0; 2];
        let mut iso = Isotonic::default();
        let up = Direction::NonDecreasing;
        assert_eq!(
            iso.fit(&[1.0], None, up, &mut out),
            Err(KernelError::Length { what: "out", expected: 1, found: 2 })
        );
        assert!(matches!(
            iso.fit(&[1.0, f64::NAN], None, up, &mut out),
            Err(KernelError::NonFinite { what: "y", index: 1, .. })
        ));
        assert!(matches!(
            iso.fit(&[1.0, 2.0], Some(&[1.0, 0.0]), up, &mut out),
            Err(KernelError::OutOfRange { what: "weights", index: 1, .. })
        ));
        assert!(matches!(
            iso.fit(&[2.0, 1.0], Some(&[f64::MAX, f64::MAX]), up, &mut out),
            Err(KernelError::Overflow { .. })
        ));
    }
}
