//! Dropout from a counter: whether unit `j` of row `i` is kept is a function of a key and of its place, so that the
//! backward pass recomputes the mask instead of storing it and threads cannot change it.

use paretau_kernels::real::Real;

/// A dropout mask: a key and the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout<T> {
    key: u32,
    /// Keep where the hash is at least this.
    threshold: u32,
    /// What kept values are multiplied by.
    scale: T,
}

impl<T: Real> Dropout<T> {
    /// A mask that drops a share `rate` (below 1) of the units; `None` when it would drop nothing.
    pub fn new(rate: f64, key: u64) -> Option<Self> {
        (rate > 0.0).then(|| {
            let rate = rate.min(0.95);
            Self {
                key: (key ^ (key >> 32)) as u32,
                threshold: (rate * f64::from(u32::MAX)) as u32,
                scale: T::from_f64(1.0 / (1.0 - rate)),
            }
        })
    }

    /// The mask of another layer of the same step.
    #[must_use]
    pub fn layer(self, index: usize) -> Self {
        Self { key: hash(self.key ^ (index as u32).wrapping_mul(0x9e37_79b9)), ..self }
    }

    /// What the value at flat place `index` is multiplied by: 0 or `1 / (1 - rate)`.
    #[inline(always)]
    #[must_use]
    pub fn factor(self, index: usize) -> T {
        if hash((index as u32).wrapping_mul(0x9e37_79b9) ^ self.key) >= self.threshold { self.scale } else { T::ZERO }
    }

    /// [`Dropout::factor`] of the places from `start` on.
    #[inline(always)]
    pub fn factors(self, start: usize, out: &mut [T]) {
        // Counted in the hash's own type, so that the loop becomes vector code.
        let start = start as u32;
        for (j, factor) in (0_u32..).zip(out) {
            let mixed = hash(start.wrapping_add(j).wrapping_mul(0x9e37_79b9) ^ self.key);
            *factor = if mixed >= self.threshold { self.scale } else { T::ZERO };
        }
    }

    /// What a kept value must be multiplied by to undo [`Dropout::factor`].
    #[inline(always)]
    pub fn unscale(self) -> T {
        T::ONE / self.scale
    }
}

/// A 32-bit mix (two multiplications, three shifts) whose every output bit depends on every input bit.
#[inline(always)]
fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_a_stretch_are_those_of_its_places() {
        let mask = Dropout::<f32>::new(0.4, 5).unwrap();
        let mut out = [7.0; 100];
        mask.factors(31, &mut out);
        assert!((0..100).all(|j| out[j] == mask.factor(31 + j)) && out.contains(&0.0));
    }

    #[test]
    fn drops_the_asked_share_and_keeps_the_mean() {
        let mask = Dropout::<f64>::new(0.3, 99).map(|m| m.layer(2));
        let n = 200_000;
        let (mut kept, mut sum) = (0, 0.0);
        let mut runs = 0;
        for i in 0..n {
            let f = mask.map_or(0.0, |m| m.factor(i));
            kept += usize::from(f > 0.0);
            sum += f;
            runs += usize::from(i > 0 && (f > 0.0) != mask.is_some_and(|m| m.factor(i - 1) > 0.0));
        }
        assert!((kept as f64 / f64::from(n as u32) - 0.7).abs() < 0.005);
        assert!((sum / n as f64 - 1.0).abs() < 0.01);
        // Neighbours are independent: a change of state has probability 2 · 0.3 · 0.7.
        assert!((runs as f64 / n as f64 - 0.42).abs() < 0.005, "{runs}");
        assert!(Dropout::<f32>::new(0.0, 1).is_none());
    }
}
