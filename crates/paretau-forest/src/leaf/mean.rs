//! The mean outcome.

use super::LeafRule;
use crate::relabel::weight_of;

/// Keeps the weighted mean of the outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mean<'a> {
    pub(crate) y: &'a [f64],
    pub(crate) weight: Option<&'a [f64]>,
}

impl LeafRule for Mean<'_> {
    fn width(&self) -> usize {
        1
    }

    fn summarise(&self, rows: &[u32], out: &mut Vec<f32>) -> bool {
        let (mut sum, mut total) = (0.0, 0.0);
        for &i in rows {
            let w = weight_of(self.weight, i);
            sum += w * self.y[i as usize];
            total += w;
        }
        if total > 0.0 {
            out.push((sum / total) as f32);
        }
        total > 0.0
    }
}
