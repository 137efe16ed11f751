//! Which rows a tree sees: bags, subsamples, honest halves; by rows or by whole groups.

use paretau_core::{Rng, Seed};

/// How rows are drawn for the trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampling {
    /// Share of all rows (or groups) that a tree sees.
    pub(crate) fraction: f64,
    /// Trees of a bag share a half-sample from which each draws; 1 means no bags.
    pub(crate) bag: usize,
    /// Share of a tree's rows that grow it, the rest fill its leaves; `None` uses all for both.
    pub(crate) honest: Option<f64>,
}

/// What is drawn: rows, or groups of rows.
#[derive(Debug, Clone)]
pub(crate) enum Units {
    /// Every row by itself.
    Rows(usize),
    /// Rows of group `g` are `rows[start[g]..start[g + 1]]`.
    Groups { start: Vec<usize>, rows: Vec<u32> },
    /// All rows for every tree, drawn already from more: the first of them choose splits. The generator goes on from there.
    Drawn { n_grow: usize, n: usize, rng: Box<Rng> },
}

impl Units {
    /// Units of `n` rows with optional group labels.
    pub(crate) fn new(n: usize, groups: Option<&[u32]>) -> Self {
        let Some(groups) = groups else { return Self::Rows(n) };
        let mut rows: Vec<u32> = (0..n as u32).collect();
        rows.sort_by_key(|&i| groups[i as usize]);
        let mut start = vec![0];
        start.extend((1..n).filter(|&k| groups[rows[k] as usize] != groups[rows[k - 1] as usize]));
        start.push(n);
        Self::Groups { start, rows }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Rows(n) | Self::Drawn { n, .. } => *n,
            Self::Groups { start, .. } => start.len() - 1,
        }
    }

    fn n_rows(&self) -> usize {
        match self {
            Self::Rows(n) | Self::Drawn { n, .. } => *n,
            Self::Groups { rows, .. } => rows.len(),
        }
    }

    fn mark(&self, unit: u32, bits: &mut [u64]) {
        match self {
            Self::Rows(_) | Self::Drawn { .. } => set(bits, unit),
            Self::Groups { start, rows } => {
                rows[start[unit as usize]..start[unit as usize + 1]].iter().for_each(|&i| set(bits, i));
            }
        }
    }
}

/// The rows of one tree, each list ascending.
#[derive(Debug, Default)]
pub(crate) struct TreeSample {
    /// Rows that choose splits.
    pub(crate) grow: Vec<u32>,
    /// Rows that fill leaves; empty when the growing rows do.
    pub(crate) honest: Vec<u32>,
    units: Vec<u32>,
    bits: Vec<u64>,
}

/// Draws rows for trees from one seed.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    pub(crate) sampling: Sampling,
    pub(crate) units: Units,
    pub(crate) seed: Seed,
}

impl Sampler {
    /// Draws the rows of a tree into `sample`, marks them in `in_bag`, and gives back the tree's generator.
    pub(crate) fn draw(&self, tree: usize, sample: &mut TreeSample, in_bag: &mut [u64]) -> Rng {
        let n = self.units.len();
        if let Units::Drawn { n_grow, rng, .. } = &self.units {
            let (n_grow, n) = (*n_grow as u32, n as u32);
            sample.grow.clear();
            sample.grow.extend(0..n_grow);
            sample.honest.clear();
            sample.honest.extend(n_grow..n);
            (0..n).for_each(|i| set(in_bag, i));
            return Rng::clone(rng);
        }
        let Sampling { fraction, bag, honest } = self.sampling;
        let mut rng = self.seed.named("tree").indexed(tree as u64).rng();
        let size = ((n as f64 * fraction).floor() as usize).clamp(2.min(n), n);
        sample.units.clear();
        sample.units.extend(0..n as u32);
        let mut pool = n;
        if bag > 1 {
            // A bag is a half-sample; its trees share it and differ by what they draw from it.
            pool = (n / 2).max(size);
            partial_shuffle(&mut self.seed.named("bag").indexed((tree / bag) as u64).rng(), &mut sample.units, pool);
        }
        partial_shuffle(&mut rng, &mut sample.units[..pool], size);
        let n_grow = honest.map_or(size, |share| ((size as f64 * share).ceil() as usize).clamp(1, size));
        let words = self.units.n_rows().div_ceil(64);
        for (units, rows) in
            [(&sample.units[..n_grow], &mut sample.grow), (&sample.units[n_grow..size], &mut sample.honest)]
        {
            sample.bits.clear();
            sample.bits.resize(words, 0);
            units.iter().for_each(|&u| self.units.mark(u, &mut sample.bits));
            rows.clear();
            for (word, &bits) in sample.bits.iter().enumerate() {
                in_bag[word] |= bits;
                let mut left = bits;
                while left != 0 {
                    rows.push((word * 64) as u32 + left.trailing_zeros());
                    left &= left - 1;
                }
            }
        }
        rng
    }
}

/// Puts a random `k`-subset first, in random order.
fn partial_shuffle(rng: &mut Rng, items: &mut [u32], k: usize) {
    let n = items.len();
    for i in 0..k.min(n.saturating_sub(1)) {
        let j = i + rng.below(n - i);
        items.swap(i, j);
    }
}

fn set(bits: &mut [u64], i: u32) {
    bits[i as usize / 64] |= 1 << (i % 64);
}

/// Whether bit `i` is set.
#[inline(always)]
pub(crate) fn is_set(bits: &[u64], i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

/// A Poisson draw by inversion; large means are halved until their exponential can be held.
pub(crate) fn poisson(rng: &mut Rng, mean: f64) -> usize {
    if mean > 500.0 {
        return poisson(rng, mean / 2.0) + poisson(rng, mean / 2.0);
    }
    let mut term = (-mean).exp();
    let (mut k, mut below, u) = (0_usize, term, rng.uniform());
    while u >= below && k < 10_000 {
        k += 1;
        term *= mean / k as f64;
        below += term;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sampler: &Sampler, tree: usize) -> (Vec<u32>, Vec<u32>, Vec<u64>) {
        let mut out = TreeSample::default();
        let mut bits = vec![0; sampler.units.n_rows().div_ceil(64)];
        sampler.draw(tree, &mut out, &mut bits);
        (out.grow, out.honest, bits)
    }

    #[test]
    fn trees_of_a_bag_share_their_rows_and_split_them_differently() {
        let sampling = Sampling { fraction: 0.5, bag: 2, honest: Some(0.5) };
        let sampler = Sampler { sampling, units: Units::Rows(101), seed: Seed(1) };
        let (g0, h0, b0) = drawn(&sampler, 0);
        let (g1, _, b1) = drawn(&sampler, 1);
        let (_, _, b2) = drawn(&sampler, 2);
        assert_eq!((g0.len(), h0.len()), (25, 25));
        assert!(g0.iter().all(|i| !h0.contains(i)));
        assert_eq!(b0, b1);
        assert_ne!(b0, b2);
        assert_ne!(g0, g1);
    }

    #[test]
    fn groups_are_drawn_whole() {
        let groups: Vec<u32> = (0..90).map(|i| i % 9).collect();
        let sampling = Sampling { fraction: 0.5, bag: 1, honest: Some(0.5) };
        let sampler = Sampler { sampling, units: Units::new(90, Some(&groups)), seed: Seed(1) };
        let (grow, honest, _) = drawn(&sampler, 0);
        assert_eq!((grow.len(), honest.len()), (20, 20));
        assert!(grow.iter().all(|&i| honest.iter().all(|&j| groups[i as usize] != groups[j as usize])));
    }

    #[test]
    fn every_row_is_drawn_equally_often() {
        let sampling = Sampling { fraction: 0.45, bag: 4, honest: None };
        let sampler = Sampler { sampling, units: Units::Rows(20), seed: Seed(3) };
        let mut counts = [0_u32; 20];
        (0..4000).for_each(|tree| drawn(&sampler, tree).0.iter().for_each(|&i| counts[i as usize] += 1));
        assert!(counts.iter().all(|&c| (1650..1950).contains(&c)), "{counts:?}");
    }

    #[test]
    fn poisson_has_its_mean_and_variance() {
        let mut rng = Seed(5).rng();
        for mean in [0.5, 20.0, 800.0] {
            let draws: Vec<f64> = (0..20_000).map(|_| poisson(&mut rng, mean) as f64).collect();
            let m = draws.iter().sum::<f64>() / 20_000.0;
            let v = draws.iter().map(|d| (d - m).powi(2)).sum::<f64>() / 20_000.0;
            assert!((m / mean - 1.0).abs() < 0.03 && (v / mean - 1.0).abs() < 0.05, "{mean} {m} {v}");
        }
    }
}
