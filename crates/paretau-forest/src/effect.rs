//! Effects from the moments in the leaves: one weighted regression with intercept per row, never an average of slopes.
//!
//! The moments of y, z, zy and zz are averaged over the trees that may speak for the row, each tree alike. With
//! V = E zzᵀ − z̄z̄ᵀ, τ = V⁻¹(E zy − z̄ȳ). The variance is that of the trees' influence values
//! ρ = V⁻¹[(ψ₁ − z̄ψ₂)], where ψ₂ is the tree's mean of y − μ − τᵀz and ψ₁ that of its product with z.

use crate::bags::LittleBags;
use crate::forest::Forest;
use crate::solve::{MAX_DIM, Matrix, Vector, inverse, multiply};
use crate::walk::{Block, NO_LEAF};

/// The effect at a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slope {
    pub(crate) tau: f64,
    /// Nothing without enough bags.
    pub(crate) variance: Option<f64>,
}

/// The effects of several contrasts at a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slopes {
    pub(crate) tau: Vector,
    /// Nothing without enough bags.
    pub(crate) variance: Option<Vector>,
}

/// Averaged moments of one row.
#[derive(Debug, Clone, Copy)]
struct Averages {
    z: Vector,
    inverse: Matrix,
    tau: Vector,
    mu: f64,
}

/// Effects of a block's rows; nothing for a row that no tree may speak for, or where the treatment does not vary.
pub(crate) fn slope(block: &Block<'_>) -> Vec<Option<Slope>> {
    let forest = block.forest;
    let mut sums = vec![[0.0_f64; 5]; block.n_rows];
    for tree in 0..forest.n_trees() {
        for (&leaf, sum) in block.tree(tree).iter().zip(&mut sums) {
            if leaf != NO_LEAF {
                let [y, z, zy, zz] = four(forest, leaf);
                *sum = [sum[0] + y, sum[1] + z, sum[2] + zy, sum[3] + zz, sum[4] + 1.0];
            }
        }
    }
    // Average of z, inverse of its variance, effect and level.
    let rows: Vec<Option<[f64; 4]>> = sums
        .iter()
        .map(|&[y, z, zy, zz, n]| {
            let (y, z, zy, zz) = (y / n, z / n, zy / n, zz / n);
            let variance = zz - z * z;
            let tau = (zy - z * y) / variance;
            (n > 0.0 && variance > 0.0 && tau.is_finite()).then_some([z, 1.0 / variance, tau, y - z * tau])
        })
        .collect();
    let bag = forest.bag;
    let share = 1.0 / bag as f64;
    let mut bags = vec![LittleBags::default(); if bag > 1 { block.n_rows } else { 0 }];
    if !bags.is_empty() {
        let mut trees = Vec::with_capacity(bag);
        for first in (0..forest.n_trees() - forest.n_trees() % bag).step_by(bag) {
            trees.clear();
            trees.extend((first..first + bag).map(|tree| block.tree(tree)));
            for (row, (little, averages)) in bags.iter_mut().zip(&rows).enumerate() {
                let Some([z, inverse, tau, mu]) = *averages else { continue };
                let (mut sum, mut squares, mut all) = (0.0, 0.0, true);
                for leaves in &trees {
                    let leaf = leaves[row];
                    if leaf == NO_LEAF {
                        all = false;
                        break;
                    }
                    let [ty, tz, tzy, tzz] = four(forest, leaf);
                    let psi1 = tzy - tzz * tau - tz * mu;
                    let psi2 = ty - tz * tau - mu;
                    let rho = (psi1 - z * psi2) * inverse;
                    sum += rho;
                    squares += rho * rho;
                }
                if all {
                    little.add(sum, squares, share);
                }
            }
        }
    }
    rows.iter()
        .enumerate()
        .map(|(row, averages)| {
            averages.map(|[_, _, tau, _]| {
                let variance = bags.get(row).and_then(|b| b.variance(bag));
                Slope { tau, variance }
            })
        })
        .collect()
}

/// The four moments of a leaf; its place is known to be whole, so that one check serves all four.
#[inline(always)]
fn four(forest: &Forest, leaf: u32) -> [f64; 4] {
    let at = 4 * leaf as usize;
    let Some(&[y, z, zy, zz]) = forest.leaves[at..].first_chunk::<4>() else { return [0.0; 4] };
    [y, z, zy, zz].map(f64::from)
}

/// The same for several contrasts.
pub(crate) fn slopes(block: &Block<'_>, dim: usize) -> Vec<Option<Slopes>> {
    (0..block.n_rows).map(|row| slopes_at(block, row, dim)).collect()
}

fn slopes_at(block: &Block<'_>, row: usize, dim: usize) -> Option<Slopes> {
    let forest = block.forest;
    let mut sums = vec![0.0; forest.width];
    let mut n = 0.0;
    for tree in 0..forest.n_trees() {
        let leaf = block.tree(tree)[row];
        if leaf != NO_LEAF {
            n += 1.0;
            sums.iter_mut().zip(forest.stats(leaf)).for_each(|(sum, &s)| *sum += f64::from(s));
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= n);
    let moments = Split::of(&sums, dim);
    let averages = moments.averages(dim)?;
    let bag = forest.bag;
    let mut bags = [LittleBags::default(); MAX_DIM];
    if bag > 1 {
        for first in (0..forest.n_trees() - forest.n_trees() % bag).step_by(bag) {
            let mut values: Vec<Vector> = Vec::with_capacity(bag);
            for tree in first..first + bag {
                let leaf = block.tree(tree)[row];
                if leaf != NO_LEAF {
                    let stats: Vec<f64> = forest.stats(leaf).iter().map(|&s| f64::from(s)).collect();
                    values.push(Split::of(&stats, dim).influence(&averages, dim));
                }
            }
            if values.len() == bag {
                for k in 0..dim {
                    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), v| (s + v[k], q + v[k] * v[k]));
                    bags[k].add(sum, squares, 1.0 / bag as f64);
                }
            }
        }
    }
    let mut variance = [0.0; MAX_DIM];
    let known = (0..dim).all(|k| bags[k].variance(bag).inspect(|&v| variance[k] = v).is_some());
    Some(Slopes { tau: averages.tau, variance: known.then_some(variance) })
}

/// The moments of a leaf or an average, taken apart.
struct Split {
    y: f64,
    z: Vector,
    zy: Vector,
    zz: Matrix,
}

impl Split {
    fn of(stats: &[f64], dim: usize) -> Self {
        let (mut z, mut zy, mut zz) = ([0.0; MAX_DIM], [0.0; MAX_DIM], [[0.0; MAX_DIM]; MAX_DIM]);
        let mut at = 1 + 2 * dim;
        for a in 0..dim {
            (z[a], zy[a]) = (stats[1 + a], stats[1 + dim + a]);
            for b in a..dim {
                (zz[a][b], zz[b][a]) = (stats[at], stats[at]);
                at += 1;
            }
        }
        Self { y: stats[0], z, zy, zz }
    }

    fn averages(&self, dim: usize) -> Option<Averages> {
        let (mut variance, mut covariance) = (self.zz, self.zy);
        for a in 0..dim {
            covariance[a] -= self.z[a] * self.y;
            (0..dim).for_each(|b| variance[a][b] -= self.z[a] * self.z[b]);
        }
        let inverse = inverse(&variance, dim)?;
        let tau = multiply(&inverse, &covariance, dim);
        let mu = self.y - (0..dim).map(|k| tau[k] * self.z[k]).sum::<f64>();
        tau.iter().all(|t| t.is_finite()).then_some(Averages { z: self.z, inverse, tau, mu })
    }

    fn influence(&self, at: &Averages, dim: usize) -> Vector {
        let psi2 = self.y - at.mu - (0..dim).map(|k| at.tau[k] * self.z[k]).sum::<f64>();
        let mut psi = [0.0; MAX_DIM];
        for a in 0..dim {
            let psi1 = self.zy[a] - self.z[a] * at.mu - (0..dim).map(|b| self.zz[a][b] * at.tau[b]).sum::<f64>();
            psi[a] = psi1 - at.z[a] * psi2;
        }
        multiply(&at.inverse, &psi, dim)
    }
}
