//! A fitted forest of means: regression and probability forests, and the centering forests inside causal ones.

use paretau_core::{Error, Features, Result, State};
use paretau_kernels::numeric::weighted_mean;
use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::forest::{Forest, GrowContext, InBag};
use crate::recipes;
use crate::split::Variance;
use crate::walk::{Block, NO_LEAF};

/// Trees whose leaves hold means about `offset`. Means are stored in single precision, so the level, which may be
/// large beside the differences, is kept apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeanForest {
    pub(crate) forest: Forest,
    pub(crate) offset: f64,
}

/// What is known of the training rows from trees that have not seen them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutOfBag {
    pub(crate) values: Vec<f64>,
    /// Rows that every tree has seen; they got the overall mean.
    pub(crate) n_unseen: usize,
}

#[derive(Serialize, Deserialize)]
struct Facts {
    offset: f64,
}

impl MeanForest {
    /// Grows the forest and predicts its own rows out of bag.
    pub(crate) fn fit(context: &GrowContext<'_>, split: Variance, y: &[f64]) -> Result<(Self, OutOfBag)> {
        let offset = weighted_mean(y, context.weight);
        let centred: Vec<f64> = y.iter().map(|v| v - offset).collect();
        let (forest, in_bag) = recipes::regression(context, split, &centred)?;
        let out = Self { forest, offset };
        let held_out = out.out_of_bag(&context.binned.codes, &in_bag, || context.ctx.check_interrupt())?;
        Ok((out, held_out))
    }

    /// Means at new rows.
    pub(crate) fn predict(&self, x: &Features) -> Vec<f64> {
        let means = self.forest.map_blocks(x, means);
        means.into_iter().map(|v| self.offset + v.unwrap_or(0.0)).collect()
    }

    /// Means of coded rows by the trees that have not seen them.
    pub(crate) fn out_of_bag<E: Send>(
        &self,
        codes: &Codes,
        in_bag: &InBag,
        watch: impl Fn() -> std::result::Result<(), E> + Sync,
    ) -> std::result::Result<OutOfBag, E> {
        let means = self.forest.map_blocks_out_of_bag(codes, in_bag, watch, means)?;
        let n_unseen = means.iter().filter(|v| v.is_none()).count();
        Ok(OutOfBag { values: means.into_iter().map(|v| self.offset + v.unwrap_or(0.0)).collect(), n_unseen })
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::new(&Facts { offset: self.offset })?;
        state.nest("forest", self.forest.state()?);
        Ok(state)
    }

    pub(crate) fn load(state: &State, bins: &std::sync::Arc<crate::bins::Bins>) -> Result<Self> {
        let Facts { offset } = state.parse()?;
        let forest = Forest::load(&state.nested("forest")?, bins.clone())?;
        if forest.width != 1 {
            return Err(Error::bad_model("a forest of means must keep one number per leaf"));
        }
        Ok(Self { forest, offset })
    }
}

/// Average of the leaves' means over the trees that may speak.
fn means(block: &Block<'_>) -> Vec<Option<f64>> {
    let forest = block.forest;
    let mut sums = vec![(0.0_f64, 0_u32); block.n_rows];
    for tree in 0..forest.n_trees() {
        for (&leaf, (sum, n)) in block.tree(tree).iter().zip(&mut sums) {
            if leaf != NO_LEAF {
                *sum += f64::from(forest.leaves[leaf as usize]);
                *n += 1;
            }
        }
    }
    sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
}
