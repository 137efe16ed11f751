//! Explicit seeds with a derived stream for every tree, fold, replicate and layer.
//!
//! Nothing in paretau draws from a global generator, the clock or the thread count: two runs with one
//! seed give the same bits, whatever the machine is doing.

use rand_chacha::rand_core::{Rng as _, SeedableRng};
use serde::{Deserialize, Serialize};

/// A seed from which independent streams are derived by name or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of a named sub-task, e.g. `seed.named("folds")`.
    #[must_use]
    pub fn named(self, label: &str) -> Self {
        // FNV-1a folds the label into 64 bits; mixing below spreads them.
        let hash =
            label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Self(mix(self.0 ^ mix(hash)))
    }

    /// The seed of the `index`-th of many equal sub-tasks (tree, fold, member).
    #[must_use]
    pub fn indexed(self, index: u64) -> Self {
        Self(mix(self.0.wrapping_add(mix(index.wrapping_add(1)))))
    }

    /// A generator started from this seed.
    #[must_use]
    pub fn rng(self) -> Rng {
        Rng(rand_chacha::ChaCha8Rng::seed_from_u64(self.0))
    }
}

/// SplitMix64's finaliser: every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A pseudo-random generator with the few draws that paretau needs, defined here so that they stay the same
/// whatever happens to the libraries underneath.
#[derive(Debug, Clone)]
pub struct Rng(rand_chacha::ChaCha8Rng);

impl Rng {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1) with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform on 0..n; `n` must be positive (0 gives 0).
    pub fn below(&mut self, n: usize) -> usize {
        // Multiply-shift; the bias is below 2^-64 · n, far under anything measurable.
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal, by Box and Muller's polar-free form (one of the pair is dropped to keep the stream simple).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// True with probability `p`.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Fisher-Yates shuffle in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `k` distinct indices of 0..n in random order (all of them when `k >= n`).
    pub fn sample(&mut self, n: usize, k: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        let k = k.min(n);
        for i in 0..k {
            let j = i + self.below(n - i);
            all.swap(i, j);
        }
        all.truncate(k);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let seed = Seed(7);
        assert_eq!(seed.named("a").rng().bits(), seed.named("a").rng().bits());
        assert_ne!(seed.named("a"), seed.named("b"));
        assert_ne!(seed.indexed(0), seed.indexed(1));
        assert_ne!(seed.indexed(0), seed);
    }

    #[test]
    fn normal_has_the_right_moments() {
        let mut rng = Seed(1).rng();
        let draws: Vec<f64> = (0..200_000).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let var = draws.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        let tail = draws.iter().filter(|z| z.abs() > 1.959_963_985).count() as f64 / draws.len() as f64;
        assert!(mean.abs() < 0.01 && (var - 1.0).abs() < 0.015 && (tail - 0.05).abs() < 0.002, "{mean} {var} {tail}");
    }

    #[test]
    fn samples_are_distinct_and_uniform() {
        let mut rng = Seed(2).rng();
        let mut counts = [0_u32; 5];
        for _ in 0..10_000 {
            let picked = rng.sample(5, 2);
            assert_ne!(picked[0], picked[1]);
            picked.iter().for_each(|&i| counts[i] += 1);
        }
        assert!(counts.iter().all(|&c| (3_800..4_200).contains(&c)), "{counts:?}");
    }
}
