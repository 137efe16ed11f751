//! The nodes of a tree in flat arrays, eight bytes per node, and how a row walks down them.

use crate::bins::MISSING;

/// Marks a leaf; the index is then that of its statistics.
pub(crate) const LEAF: u32 = 1 << 31;
/// Missing values go left.
pub(crate) const MISSING_LEFT: u32 = 1 << 30;
/// The cut is the number of a set of levels, not a threshold.
pub(crate) const SET: u32 = 1 << 29;
/// The index without its marks; as a leaf's index it means "no statistics".
pub(crate) const INDEX: u32 = SET - 1;

/// One node. The two children of an inner node stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index of the left child, or of the leaf's statistics, with marks in the top bits.
    pub(crate) child: u32,
    /// Column to look at, or of its number the lower half where there are more columns than this can tell apart: the upper
    /// halves then stand beside the nodes, so that nodes of narrow tables stay small.
    pub(crate) feature: u16,
    /// Codes up to and including this go left; with [`SET`], the number of the set within the tree.
    pub(crate) cut: u16,
}

impl Node {
    /// A leaf with the given statistics.
    pub(crate) const fn leaf(index: u32) -> Self {
        Self { child: LEAF | index, feature: 0, cut: 0 }
    }

    /// The same node in a forest whose nodes and leaves before its tree are so many.
    pub(crate) const fn moved(self, nodes: u32, leaves: u32) -> Self {
        if self.is_empty_leaf() {
            self
        } else if self.is_leaf() {
            Self { child: self.child + leaves, ..self }
        } else {
            Self { child: self.child + nodes, ..self }
        }
    }

    pub(crate) const fn is_leaf(self) -> bool {
        self.child & LEAF != 0
    }

    pub(crate) const fn index(self) -> u32 {
        self.child & INDEX
    }

    /// Whether the leaf holds no statistics, because no honest row reached it.
    pub(crate) const fn is_empty_leaf(self) -> bool {
        self.is_leaf() && self.index() == INDEX
    }

    /// 1 if a row with this code goes right, else 0.
    #[inline(always)]
    pub(crate) fn right(self, code: u16, sets: &[LevelSet]) -> u32 {
        if self.child & SET != 0 && code != MISSING {
            return u32::from(!contains(&sets[usize::from(self.cut)], code));
        }
        if self.child & SET != 0 { u32::from(self.child & MISSING_LEFT == 0) } else { self.right_of_cut(code) }
    }

    /// The same for a node that cuts by threshold, without branches.
    #[inline(always)]
    pub(crate) fn right_of_cut(self, code: u16) -> u32 {
        let (cut, shift) = self.threshold();
        u32::from(code.wrapping_add(shift) > cut)
    }

    /// A row goes right if its code plus the second number, wrapping around, is above the first. The code of a missing
    /// value is the largest, so it goes right with 0 and, as it wraps to 0, left with 1.
    #[inline(always)]
    pub(crate) const fn threshold(self) -> (u16, u16) {
        let shift = (self.child & MISSING_LEFT != 0) as u16;
        (self.cut + shift, shift)
    }

    pub(crate) const fn is_set(self) -> bool {
        self.child & SET != 0
    }
}

/// A set of at most 256 level codes.
pub(crate) type LevelSet = [u64; 4];

/// Whether a set holds a code.
#[inline(always)]
pub(crate) fn contains(set: &LevelSet, code: u16) -> bool {
    set[usize::from(code >> 6) & 3] >> (code & 63) & 1 == 1
}

/// A grown tree: nodes (root first), statistics of the leaves, and the sets of categorical splits.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Upper half of each node's column; empty where the lower halves are enough.
    pub(crate) high: Vec<u16>,
    pub(crate) leaves: Vec<f32>,
    pub(crate) sets: Vec<LevelSet>,
}

impl Tree {
    /// Replaces every inner node that has an empty leaf below it by its other child, then drops what cannot be
    /// reached any more.
    pub(crate) fn prune(&mut self) {
        if !self.nodes.iter().any(|n| n.is_empty_leaf()) {
            return;
        }
        // Children come after their parents, so going backwards sees them settled.
        for i in (0..self.nodes.len()).rev() {
            let node = self.nodes[i];
            if node.is_leaf() {
                continue;
            }
            let left = self.nodes[node.index() as usize];
            let right = self.nodes[node.index() as usize + 1];
            let child = node.index() as usize;
            if left.is_empty_leaf() {
                self.lift(i, child + 1);
            } else if right.is_empty_leaf() {
                self.lift(i, child);
            }
        }
        let is_wide = !self.high.is_empty();
        let mut kept_high: Vec<u16> = self.high.first().copied().into_iter().collect();
        let mut kept = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![(0_u32, self.nodes[0])];
        kept.push(self.nodes[0]);
        while let Some((at, node)) = stack.pop() {
            if node.is_leaf() {
                continue;
            }
            let first = kept.len() as u32;
            kept[at as usize].child = (node.child & !INDEX) | first;
            let (left, right) = (self.nodes[node.index() as usize], self.nodes[node.index() as usize + 1]);
            kept.extend([left, right]);
            if is_wide {
                let child = node.index() as usize;
                kept_high.extend_from_slice(&self.high[child..child + 2]);
            }
            stack.push((first + 1, right));
            stack.push((first, left));
        }
        kept.shrink_to_fit();
        kept_high.shrink_to_fit();
        self.nodes = kept;
        self.high = kept_high;
    }

    /// Puts a node in the place of another.
    fn lift(&mut self, to: usize, from: usize) {
        self.nodes[to] = self.nodes[from];
        if !self.high.is_empty() {
            self.high[to] = self.high[from];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_where_the_cut_sends_them() {
        let plain = Node { child: 1, feature: 0, cut: 3 };
        assert_eq!([0, 3, 4, MISSING].map(|c| plain.right(c, &[])), [0, 0, 1, 1]);
        let kept = Node { child: 1 | MISSING_LEFT, feature: 0, cut: 3 };
        assert_eq!([3, 4, MISSING].map(|c| kept.right(c, &[])), [0, 1, 0]);
        let sets = [[1 << 5, 1, 0, 0]];
        let set = Node { child: 1 | SET, feature: 0, cut: 0 };
        assert_eq!([5, 64, 6, MISSING].map(|c| set.right(c, &sets)), [0, 0, 1, 1]);
        let set = Node { child: 1 | SET | MISSING_LEFT, feature: 0, cut: 0 };
        assert_eq!([5, 6, MISSING].map(|c| set.right(c, &sets)), [0, 1, 0]);
    }

    #[test]
    fn pruning_lifts_the_other_child() {
        let empty = Node::leaf(INDEX);
        let inner = |child, cut| Node { child, feature: 0, cut };
        let mut tree = Tree {
            nodes: vec![inner(1, 9), empty, inner(3, 8), Node::leaf(0), inner(5, 7), empty, Node::leaf(1)],
            high: vec![1, 0, 2, 0, 3, 0, 0],
            leaves: vec![1.0, 2.0],
            sets: vec![],
        };
        tree.prune();
        assert_eq!(tree.nodes, vec![inner(1, 8), Node::leaf(0), Node::leaf(1)]);
        assert_eq!(tree.high, [2, 0, 0]);
        let mut hopeless = Tree { nodes: vec![inner(1, 9), empty, empty], ..Tree::default() };
        hopeless.prune();
        assert_eq!(hopeless.nodes, vec![empty]);
    }
}
