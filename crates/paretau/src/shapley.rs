//! Shapley values of sums of trees, by walking the trees.
//!
//! A game per row `x` and background row `b`: a column that has joined has `x`'s value, any other has `b`'s, and what is shared
//! out is the difference of the sums at `x` and at `b`. A tree is walked once for both rows. Where they part at a column that
//! has not been decided, the walk goes both ways and remembers who led; a leaf is then reached by exactly those coalitions that
//! hold all columns in which `x` led and none in which `b` did. With `p` and `q` of them, its value belongs to a leading column
//! of `x` in `(p - 1)! q! / (p + q)!` of all orders, and is taken from one of `b` in `p! (q - 1)! / (p + q)!` of them.

use paretau_core::{Error, Result};
use rayon::prelude::*;

/// Trees as arrays over their nodes, and how rows walk down them.
#[derive(Debug, Clone, Copy)]
pub struct TreeSum<'a> {
    /// Root of each tree.
    pub roots: &'a [u32],
    /// Left and right child of each node; a leaf is its own child. Children come after their parents.
    pub children: [&'a [u32]; 2],
    /// The column of each inner node.
    pub column: &'a [u32],
    /// The value of each leaf.
    pub value: &'a [f64],
    /// How many columns there are.
    pub n_columns: usize,
}

impl TreeSum<'_> {
    /// Values per row and column, row after row: means over the background of the sums over the trees. Each row's `turns` say
    /// for every node whether it goes right there (1) or left (0), row after row.
    pub fn shapley(&self, turns: &[u8], background: &[u8]) -> Result<Vec<f64>> {
        let n = self.value.len();
        let lengths = [self.children[0].len(), self.children[1].len(), self.column.len()];
        let sound = |i: usize| {
            let (left, right) = (self.children[0][i] as usize, self.children[1][i] as usize);
            let leaf = left == i && right == i;
            leaf || (left > i && right > i && left < n && right < n && (self.column[i] as usize) < self.n_columns)
        };
        if n == 0
            || lengths != [n; 3]
            || !(turns.len().is_multiple_of(n) && background.len().is_multiple_of(n))
            || !(0..n).all(sound)
            || self.roots.iter().any(|&root| root as usize >= n)
        {
            return Err(Error::unfit("the arrays of the trees do not fit each other"));
        }
        let shares = Shares::up_to(self.deepest());
        let n_background = (background.len() / n).max(1) as f64;
        let rows: Vec<Vec<f64>> = turns
            .par_chunks(n)
            .map(|own| {
                let mut walk = Walk {
                    trees: self,
                    shares: &shares,
                    turns: [own, own],
                    leader: vec![None; self.n_columns],
                    led: [vec![], vec![]],
                    out: vec![0.0; self.n_columns],
                };
                for other in background.chunks(n) {
                    walk.turns[1] = other;
                    self.roots.iter().for_each(|&root| walk.down(root));
                }
                walk.out.iter_mut().for_each(|v| *v /= n_background);
                walk.out
            })
            .collect();
        Ok(rows.concat())
    }

    /// Most inner nodes on a way from a root.
    fn deepest(&self) -> usize {
        let mut depth = vec![0_usize; self.value.len()];
        for i in 0..depth.len() {
            for child in self.children.map(|side| side[i] as usize) {
                if child != i {
                    depth[child] = depth[child].max(depth[i] + 1);
                }
            }
        }
        depth.into_iter().max().unwrap_or(0)
    }
}

/// Whose value a column has on the way.
#[derive(Clone, Copy, PartialEq)]
enum Leader {
    Row,
    Background,
}

struct Walk<'a> {
    trees: &'a TreeSum<'a>,
    shares: &'a Shares,
    /// Turns of the row and of the background row.
    turns: [&'a [u8]; 2],
    leader: Vec<Option<Leader>>,
    /// Columns in which the row led, and the background row.
    led: [Vec<u32>; 2],
    out: Vec<f64>,
}

impl Walk<'_> {
    fn down(&mut self, node: u32) {
        let i = node as usize;
        let child = |turn: u8| self.trees.children[usize::from(turn != 0)][i];
        let [own, other] = self.turns.map(|turns| child(turns[i]));
        if child(0) == node {
            self.leaf(self.trees.value[i]);
        } else if own == other {
            self.down(own);
        } else {
            let column = self.trees.column[i];
            match self.leader[column as usize] {
                Some(Leader::Row) => self.down(own),
                Some(Leader::Background) => self.down(other),
                None => {
                    for (k, leader, next) in [(0, Leader::Row, own), (1, Leader::Background, other)] {
                        self.leader[column as usize] = Some(leader);
                        self.led[k].push(column);
                        self.down(next);
                        self.led[k].pop();
                    }
                    self.leader[column as usize] = None;
                }
            }
        }
    }

    fn leaf(&mut self, value: f64) {
        let (p, q) = (self.led[0].len(), self.led[1].len());
        if p > 0 {
            let share = value * self.shares.of(p - 1, q);
            self.led[0].iter().for_each(|&j| self.out[j as usize] += share);
        }
        if q > 0 {
            let share = value * self.shares.of(q - 1, p);
            self.led[1].iter().for_each(|&j| self.out[j as usize] -= share);
        }
    }
}

/// `a! b! / (a + b + 1)!`.
struct Shares {
    logs: Vec<f64>,
}

impl Shares {
    fn up_to(most: usize) -> Self {
        let mut logs = vec![0.0; most + 3];
        for k in 1..logs.len() {
            logs[k] = logs[k - 1] + (k as f64).ln();
        }
        Self { logs }
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        (self.logs[a] + self.logs[b] - self.logs[a + b + 1]).exp()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    /// Random trees over few columns, so that columns come back on the way down.
    struct Trees {
        roots: Vec<u32>,
        left: Vec<u32>,
        right: Vec<u32>,
        column: Vec<u32>,
        cut: Vec<f64>,
        value: Vec<f64>,
    }

    impl Trees {
        fn grow(&mut self, depth: usize, d: usize, rng: &mut paretau_core::Rng) -> u32 {
            let i = self.value.len() as u32;
            self.left.push(i);
            self.right.push(i);
            self.column.push(rng.below(d) as u32);
            self.cut.push(rng.normal());
            self.value.push(rng.normal());
            if depth > 0 && (depth > 3 || rng.bernoulli(0.8)) {
                self.left[i as usize] = self.grow(depth - 1, d, rng);
                self.right[i as usize] = self.grow(depth - 1, d, rng);
            }
            i
        }

        fn turns(&self, x: &[f64]) -> Vec<u8> {
            self.column.iter().zip(&self.cut).map(|(&j, cut)| u8::from(x[j as usize] > *cut)).collect()
        }

        fn sum(&self, x: &[f64]) -> f64 {
            let turns = self.turns(x);
            let fall = |&root: &u32| {
                let mut i = root as usize;
                while self.left[i] as usize != i {
                    i = if turns[i] == 1 { self.right[i] } else { self.left[i] } as usize;
                }
                self.value[i]
            };
            self.roots.iter().map(fall).sum()
        }
    }

    #[test]
    fn the_walk_gives_what_all_coalitions_give() {
        let (d, mut rng) = (5, Seed(2).rng());
        let mut trees =
            Trees { roots: vec![], left: vec![], right: vec![], column: vec![], cut: vec![], value: vec![] };
        for _ in 0..7 {
            let root = trees.grow(6, d, &mut rng);
            trees.roots.push(root);
        }
        let mut draw = |n: usize| -> Vec<Vec<f64>> { (0..n).map(|_| (0..d).map(|_| rng.normal()).collect()).collect() };
        let (rows, background) = (draw(6), draw(4));
        let all = |rows: &[Vec<f64>]| -> Vec<u8> { rows.iter().flat_map(|x| trees.turns(x)).collect() };
        let sums = TreeSum {
            roots: &trees.roots,
            children: [&trees.left, &trees.right],
            column: &trees.column,
            value: &trees.value,
            n_columns: d,
        };
        let found = sums.shapley(&all(&rows), &all(&background)).unwrap();
        let factorial = |k: usize| (1..=k).product::<usize>() as f64;
        for (x, found) in rows.iter().zip(found.chunks(d)) {
            let mut by_hand = vec![0.0; d];
            for b in &background {
                let worth = |set: usize| {
                    let mixed: Vec<f64> = (0..d).map(|j| if set >> j & 1 == 1 { x[j] } else { b[j] }).collect();
                    trees.sum(&mixed)
                };
                for set in 0..1_usize << d {
                    for j in (0..d).filter(|j| set >> j & 1 == 0) {
                        let size = set.count_ones() as usize;
                        let share = factorial(size) * factorial(d - size - 1) / factorial(d);
                        by_hand[j] += share * (worth(set | 1 << j) - worth(set)) / background.len() as f64;
                    }
                }
            }
            found.iter().zip(&by_hand).for_each(|(a, b)| assert!((a - b).abs() < 1e-10, "{found:?} {by_hand:?}"));
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let (leaf, value) = ([0_u32], [1.0]);
        let sums = TreeSum { roots: &[0], children: [&leaf, &leaf], column: &leaf, value: &value, n_columns: 1 };
        assert_eq!(sums.shapley(&[0], &[0]).unwrap(), [0.0]);
        assert!(TreeSum { roots: &[1], ..sums }.shapley(&[0], &[0]).is_err());
        // A circle would never end.
        let (two, values) = ([1_u32, 0], [1.0, 2.0]);
        assert!(
            TreeSum { roots: &[0], children: [&two, &two], column: &two, value: &values, n_columns: 2 }
                .shapley(&[0, 0], &[0, 0])
                .is_err()
        );
    }
}
