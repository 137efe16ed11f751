//! The causal forest's label: how much a row would move the node's effect (Athey, Tibshirani and Wager 2019).
//!
//! With residuals z (treatment) and y (outcome), node means z̄ and ȳ and the node's slope τ,
//! ρ = (z − z̄)·[(y − ȳ) − τ(z − z̄)]. The node's Hessian would divide every label alike, so it is left out.

use super::{Label, Relabel, weight_of};

/// Gradient labels of a partially linear effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gradient<'a> {
    /// Treatment and outcome residual of each row.
    pub(crate) zy: &'a [[f64; 2]],
    pub(crate) weight: Option<&'a [f64]>,
    /// Treatment variance below which a node is not split.
    pub(crate) min_variance: f64,
}

/// Means and slope of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slope {
    z: f64,
    y: f64,
    tau: f64,
}

impl Relabel for Gradient<'_> {
    type Label = Label;
    type Node = Slope;

    fn node(&self, rows: &[u32]) -> Option<Slope> {
        let [z, y] = means(self.zy, self.weight, rows)?;
        let [variance, covariance] = spread(self.zy, self.weight, rows, [z, y]);
        (variance > self.min_variance).then(|| Slope { z, y, tau: covariance / variance })
    }

    #[inline(always)]
    fn label(&self, node: &Slope, row: u32) -> Label {
        let [z, y] = self.zy[row as usize];
        let z = z - node.z;
        Label { rho: z * ((y - node.y) - node.tau * z), z, w: weight_of(self.weight, row) }
    }
}

/// Weighted means of treatment and outcome; nothing when the rows weigh nothing.
pub(crate) fn means(zy: &[[f64; 2]], weight: Option<&[f64]>, rows: &[u32]) -> Option<[f64; 2]> {
    let (mut sum_z, mut sum_y, mut total) = (0.0, 0.0, 0.0);
    for &i in rows {
        let ([z, y], w) = (zy[i as usize], weight_of(weight, i));
        sum_z += w * z;
        sum_y += w * y;
        total += w;
    }
    (total > 0.0).then(|| [sum_z / total, sum_y / total])
}

/// Variance of the treatment and its covariance with the outcome.
pub(crate) fn spread(zy: &[[f64; 2]], weight: Option<&[f64]>, rows: &[u32], means: [f64; 2]) -> [f64; 2] {
    let (mut zz, mut z_y, mut total) = (0.0, 0.0, 0.0);
    for &i in rows {
        let ([z, y], w) = (zy[i as usize], weight_of(weight, i));
        let z = z - means[0];
        zz += w * z * z;
        z_y += w * z * (y - means[1]);
        total += w;
    }
    [zz / total, z_y / total]
}

/// The slope of outcome on treatment over the rows; nothing when the treatment does not vary.
pub(crate) fn slope(zy: &[[f64; 2]], weight: Option<&[f64]>, rows: &[u32]) -> Option<f64> {
    let means = means(zy, weight, rows)?;
    let [variance, covariance] = spread(zy, weight, rows, means);
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    fn rows(scale: f64) -> Vec<[f64; 2]> {
        let mut rng = Seed(4).rng();
        (0..64).map(|_| [scale * rng.normal(), rng.normal()]).collect()
    }

    fn labels(zy: &[[f64; 2]]) -> Vec<f64> {
        let all: Vec<u32> = (0..zy.len() as u32).collect();
        let relabel = Gradient { zy, weight: None, min_variance: 0.0 };
        let node = relabel.node(&all).unwrap();
        all.iter().map(|&i| relabel.label(&node, i).rho).collect()
    }

    #[test]
    fn flipping_the_treatment_flips_the_labels() {
        let (plain, flipped) = (labels(&rows(1.0)), labels(&rows(-1.0)));
        assert!(plain.iter().zip(&flipped).all(|(a, b)| *a == -b));
    }

    #[test]
    fn scaling_the_treatment_scales_the_labels() {
        let (plain, scaled) = (labels(&rows(1.0)), labels(&rows(4.0)));
        assert!(plain.iter().zip(&scaled).all(|(a, b)| 4.0 * a == *b));
    }

    #[test]
    fn labels_sum_to_nothing_and_ignore_the_outcomes_level() {
        let base = rows(1.0);
        let moved: Vec<[f64; 2]> = base.iter().map(|&[z, y]| [z, y + 8.0]).collect();
        let (a, b) = (labels(&base), labels(&moved));
        assert!(a.iter().sum::<f64>().abs() < 1e-12);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn weights_are_replication() {
        let zy = rows(1.0);
        let weight: Vec<f64> = (0..64).map(|i| f64::from(1 + i % 3)).collect();
        let all: Vec<u32> = (0..64).collect();
        let repeated: Vec<u32> = all.iter().flat_map(|&i| vec![i; 1 + i as usize % 3]).collect();
        let weighted = Gradient { zy: &zy, weight: Some(&weight), min_variance: 0.0 };
        let plain = Gradient { weight: None, ..weighted };
        let (a, b) = (weighted.node(&all).unwrap(), plain.node(&repeated).unwrap());
        assert!((a.tau - b.tau).abs() < 1e-12 && (a.z - b.z).abs() < 1e-12 && (a.y - b.y).abs() < 1e-12);
    }

    #[test]
    fn a_constant_treatment_gives_a_leaf() {
        let zy = vec![[0.3, 1.0], [0.3, 2.0]];
        assert!(Gradient { zy: &zy, weight: None, min_variance: 1e-12 }.node(&[0, 1]).is_none());
    }
}
