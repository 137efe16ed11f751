//! Forests and bins to and from tensors. What comes back is checked, so that a damaged file is refused, not walked.

use std::sync::Arc;

use paretau_core::{Error, Result, State, Tensor};
use serde::{Deserialize, Serialize};

use crate::bins::{Bins, ColumnBins};
use crate::forest::Forest;
use crate::tree::{INDEX, Node, SET};

#[derive(Serialize, Deserialize)]
struct ForestFacts {
    width: usize,
    bag: usize,
}

impl Forest {
    /// The forest without its bins, which several forests may share.
    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::new(&ForestFacts { width: self.width, bag: self.bag })?;
        let n = self.nodes.len();
        let mut put = |name: &str, tensor| state.tensors.insert(name.to_owned(), tensor);
        put("child", Tensor::U32(vec![n], self.nodes.iter().map(|node| node.child).collect()));
        let feature = if self.high.is_empty() {
            narrow(self.nodes.iter().map(|node| node.feature))
        } else {
            Tensor::U32(vec![n], (0..n as u32).map(|at| self.column(at) as u32).collect())
        };
        put("feature", feature);
        put("cut", narrow(self.nodes.iter().map(|node| node.cut)));
        put("leaves", Tensor::F32(vec![self.leaves.len() / self.width.max(1), self.width], self.leaves.clone()));
        put("roots", Tensor::U32(vec![self.roots.len()], self.roots.clone()));
        put("first_set", Tensor::U32(vec![self.first_set.len()], self.first_set.clone()));
        let sets = self.sets.iter().flatten().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
        put("sets", Tensor::U32(vec![self.sets.len(), 8], sets));
        Ok(state)
    }

    /// The forest back, checked.
    pub(crate) fn load(state: &State, bins: Arc<Bins>) -> Result<Self> {
        let ForestFacts { width, bag } = state.parse()?;
        let (child, cut) = (u32s(state, "child")?, u16s(state, "cut")?);
        let (feature, high) = match state.tensors.get("feature") {
            Some(Tensor::U32(_, columns)) => {
                (columns.iter().map(|&j| j as u16).collect(), columns.iter().map(|&j| (j >> 16) as u16).collect())
            }
            _ => (u16s(state, "feature")?, vec![]),
        };
        if child.len() != feature.len() || child.len() != cut.len() {
            return Err(Error::bad_model("a forest's node arrays differ in length"));
        }
        let nodes: Vec<Node> = child
            .iter()
            .zip(feature.iter().zip(&cut))
            .map(|(&child, (&feature, &cut))| Node { child, feature, cut })
            .collect();
        let Some(Tensor::F32(_, leaves)) = state.tensors.get("leaves") else {
            return Err(Error::bad_model("a forest's leaves are missing"));
        };
        let sets = u32s(state, "sets")?
            .chunks_exact(8)
            .map(|w| std::array::from_fn(|k| u64::from(w[2 * k]) | u64::from(w[2 * k + 1]) << 32))
            .collect();
        let (roots, first_set) = (u32s(state, "roots")?.to_vec(), u32s(state, "first_set")?.to_vec());
        let forest = Self { bins, width, bag, nodes, high, leaves: leaves.clone(), sets, roots, first_set };
        forest.check()?;
        Ok(forest)
    }

    /// Every index in range, and children after their parents, so that every walk ends.
    fn check(&self) -> Result<()> {
        let n_leaves = self.leaves.len().checked_div(self.width).unwrap_or(0);
        let n_trees = self.roots.len();
        let mut good = self.width > 0 && self.bag > 0 && n_trees > 0 && self.first_set.len() == n_trees;
        good &= self.leaves.len() == n_leaves * self.width && self.leaves.iter().all(|v| v.is_finite());
        good &= self.roots.first() == Some(&0) && self.roots.windows(2).all(|pair| pair[0] < pair[1]);
        good &= self.roots.last().is_some_and(|&last| (last as usize) < self.nodes.len());
        good &= self.first_set.iter().all(|&s| s as usize <= self.sets.len());
        let p = self.bins.n_cols();
        for tree in 0..if good { n_trees } else { 0 } {
            let end = self.roots.get(tree + 1).map_or(self.nodes.len(), |&r| r as usize);
            let n_sets = self.sets.len() - self.first_set[tree] as usize;
            for at in self.roots[tree] as usize..end {
                let node = self.nodes[at];
                let index = node.index() as usize;
                good &= self.column(at as u32) < p && node.cut < u16::MAX;
                good &= if node.is_leaf() {
                    index < n_leaves || index == INDEX as usize
                } else {
                    index > at && index + 1 < end && (node.child & SET == 0 || usize::from(node.cut) < n_sets)
                };
            }
        }
        if good { Ok(()) } else { Err(Error::bad_model("a forest's arrays do not fit together")) }
    }
}

#[derive(Serialize, Deserialize)]
struct BinFacts {
    /// For each column its number of cuts, or for a categorical one its number of levels with the sign turned.
    sizes: Vec<i64>,
}

impl Bins {
    pub(crate) fn state(&self) -> Result<State> {
        let (mut sizes, mut cuts, mut codes) = (vec![], vec![], vec![]);
        for column in &self.columns {
            match column {
                ColumnBins::Numeric { cuts: c } => {
                    sizes.push(c.len() as i64);
                    cuts.extend_from_slice(c);
                }
                ColumnBins::Levels { code_of } => {
                    sizes.push(-1 - code_of.len() as i64);
                    codes.extend_from_slice(code_of);
                }
            }
        }
        let mut state = State::new(&BinFacts { sizes })?;
        state.tensors.insert("cuts".into(), Tensor::F64(vec![cuts.len()], cuts));
        state.tensors.insert("level_codes".into(), Tensor::U16(vec![codes.len()], codes));
        Ok(state)
    }

    pub(crate) fn load(state: &State) -> Result<Arc<Self>> {
        let BinFacts { sizes } = state.parse()?;
        let codes = u16s(state, "level_codes")?;
        let Some(Tensor::F64(_, cuts)) = state.tensors.get("cuts") else {
            return Err(Error::bad_model("the bins' cuts are missing"));
        };
        let short = || Error::bad_model("the bins' arrays are too short");
        let (mut cut_at, mut code_at) = (0, 0);
        let mut columns = Vec::with_capacity(sizes.len());
        for size in sizes {
            if size >= 0 {
                let end = cut_at + size as usize;
                let part = cuts.get(cut_at..end).ok_or_else(short)?;
                if !part.is_sorted() || part.len() >= usize::from(u16::MAX) {
                    return Err(Error::bad_model("the bins' cuts do not ascend"));
                }
                columns.push(ColumnBins::Numeric { cuts: part.to_vec() });
                cut_at = end;
            } else {
                let end = code_at + (-1 - size) as usize;
                columns.push(ColumnBins::Levels { code_of: codes.get(code_at..end).ok_or_else(short)?.to_vec() });
                code_at = end;
            }
        }
        Ok(Arc::new(Self { columns }))
    }
}

/// The smallest tensor that holds the values.
fn narrow(values: impl Iterator<Item = u16> + Clone) -> Tensor {
    let n = values.clone().count();
    if values.clone().all(|v| u8::try_from(v).is_ok()) {
        Tensor::U8(vec![n], values.map(|v| v as u8).collect())
    } else {
        Tensor::U16(vec![n], values.collect())
    }
}

fn u32s<'a>(state: &'a State, name: &str) -> Result<&'a [u32]> {
    match state.tensors.get(name) {
        Some(Tensor::U32(_, values)) => Ok(values),
        _ => Err(Error::bad_model(format!("tensor `{name}` is missing or of another type"))),
    }
}

fn u16s(state: &State, name: &str) -> Result<Vec<u16>> {
    match state.tensors.get(name) {
        Some(Tensor::U16(_, values)) => Ok(values.clone()),
        Some(Tensor::U8(_, values)) => Ok(values.iter().map(|&v| u16::from(v)).collect()),
        _ => Err(Error::bad_model(format!("tensor `{name}` is missing or of another type"))),
    }
}
