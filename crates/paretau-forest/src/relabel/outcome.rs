//! Labels of regressions, and of the exact criterion: outcomes (and treatments) about the node's means.

use super::{Label, Relabel, weight_of};

/// The outcome itself, about the node's mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'a> {
    pub(crate) y: &'a [f64],
    pub(crate) weight: Option<&'a [f64]>,
}

impl Relabel for Outcome<'_> {
    type Label = Label;
    type Node = f64;

    fn node(&self, rows: &[u32]) -> Option<f64> {
        let first = self.y[*rows.first()? as usize];
        let (mut sum, mut total, mut varies) = (0.0, 0.0, false);
        for &i in rows {
            let (y, w) = (self.y[i as usize], weight_of(self.weight, i));
            sum += w * y;
            total += w;
            varies |= y != first;
        }
        (varies && total > 0.0).then(|| sum / total)
    }

    #[inline(always)]
    fn label(&self, mean: &f64, row: u32) -> Label {
        Label { rho: self.y[row as usize] - mean, z: 0.0, w: weight_of(self.weight, row) }
    }
}

/// Outcome and treatment residuals, both about the node's means, for criteria that re-estimate in each child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residuals<'a> {
    /// Treatment and outcome residual of each row.
    pub(crate) zy: &'a [[f64; 2]],
    pub(crate) weight: Option<&'a [f64]>,
    /// Treatment variance below which a node is not split.
    pub(crate) min_variance: f64,
}

impl Relabel for Residuals<'_> {
    type Label = Label;
    type Node = [f64; 2];

    fn node(&self, rows: &[u32]) -> Option<[f64; 2]> {
        let means = super::gradient::means(self.zy, self.weight, rows)?;
        let spread = super::gradient::spread(self.zy, self.weight, rows, means);
        (spread[0] > self.min_variance).then_some(means)
    }

    #[inline(always)]
    fn label(&self, means: &[f64; 2], row: u32) -> Label {
        let [z, y] = self.zy[row as usize];
        Label { rho: y - means[1], z: z - means[0], w: weight_of(self.weight, row) }
    }
}
