//! Whom to treat, as a shallow tree: exhaustive search for the tree whose leaves' best arms gain most.
//!
//! Thresholds are the midpoints between a column's distinct values, or, where it has more than [`MOST_BINS`], that many
//! quantiles: over these the search is exact. A stump takes one scan of histograms. A tree of depth 2 sweeps the first
//! threshold of each column from left to right and moves rows one by one from the right side's histograms to the left
//! side's, so that `p²n` moves and `p²b²` looks (rows `n`, columns `p`, bins `b`) see every pair of splits. Deeper
//! trees try every first split and search both sides anew, with fewer bins.
//!
//! A budget is a share of the rows' weight that may be treated. A price per treated row, found by bisection, makes the
//! search give trees that treat fewer rows; in each, the set of leaves to treat that gains most within the budget is found
//! by looking at all sets, and the best of these trees is kept. It never treats more than the budget of the rows it was
//! chosen on.

use paretau_core::{Error, Features, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::policy_bins::Binned;

/// Bins of a column, at depths up to 2.
pub const MOST_BINS: usize = 256;
/// Bins of a column at depth 3.
pub const MOST_BINS_DEEP: usize = 32;
/// Columns that take part: those whose stumps gain most. Up to depth 2, and at depth 3.
pub const MOST_COLUMNS: [usize; 2] = [50, 20];
/// The deepest tree.
pub const MOST_DEPTH: usize = 3;
/// Steps of the search that a tree of depth 3 may take.
const MOST_STEPS: f64 = 1e11;
/// Steps of the bisection on the price per treated row.
const PRICES: usize = 10;

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub struct PolicyTask<'a> {
    /// Features without gaps.
    pub x: &'a Features,
    /// What each treated arm gains over the control, per arm and row, costs subtracted.
    pub gains: &'a [Vec<f64>],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
}

/// How it is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyOptions {
    /// Depth, from 0 (one decision for all) to [`MOST_DEPTH`].
    pub depth: usize,
    /// Fewest rows in a leaf.
    pub min_leaf: usize,
    /// Largest share of the rows' weight that is treated.
    pub budget: Option<f64>,
}

/// A decision or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyTree {
    /// Everyone who comes here gets one arm.
    Leaf {
        /// The arm: 0 is the control.
        arm: usize,
        /// Rows here that the tree was chosen on.
        rows: usize,
        /// What each arm gains here on average over the control, which is the first; chosen on the same rows.
        gains: Vec<f64>,
    },
    /// Rows with at most the threshold go left.
    Split {
        /// Column of the features.
        column: usize,
        /// Threshold.
        threshold: f64,
        /// Where rows with at most the threshold go.
        left: Box<PolicyTree>,
        /// Where the others go.
        right: Box<PolicyTree>,
    },
}

impl PolicyTree {
    /// The arm for a row of features.
    pub fn arm(&self, row: &[f64]) -> usize {
        match self {
            Self::Leaf { arm, .. } => *arm,
            Self::Split { column, threshold, left, right } => {
                if row[*column] <= *threshold {
                    left.arm(row)
                } else {
                    right.arm(row)
                }
            }
        }
    }

    /// The arms for rows.
    pub fn arms(&self, x: &Features, rows: &[usize]) -> Vec<usize> {
        let mut buffer = vec![0.0; x.n_cols()];
        let of = |&i: &usize| {
            x.copy_row(i, &mut buffer);
            self.arm(&buffer)
        };
        rows.iter().map(of).collect()
    }

    /// Neighbouring leaves with the same decision become one.
    fn simplified(self) -> Self {
        let Self::Split { column, threshold, left, right } = self else { return self };
        let (left, right) = (left.simplified(), right.simplified());
        match (&left, &right) {
            (Self::Leaf { arm: a, rows: n, gains: g }, Self::Leaf { arm: b, rows: m, gains: h }) if a == b => {
                let (n_f, m_f) = (*n as f64, *m as f64);
                let gains = g.iter().zip(h).map(|(g, h)| (g * n_f + h * m_f) / (n_f + m_f)).collect();
                Self::Leaf { arm: *a, rows: n + m, gains }
            }
            _ => Self::Split { column, threshold, left: Box::new(left), right: Box::new(right) },
        }
    }
}

/// The tree that gains most on these rows.
pub fn policy_tree(task: &PolicyTask<'_>, rows: &[usize], options: &PolicyOptions) -> Result<PolicyTree> {
    check(task, rows, options)?;
    let weight = |i: usize| task.weight.map_or(1.0, |w| w[i]);
    let deep = options.depth > 2;
    let bins = if deep { MOST_BINS_DEEP } else { MOST_BINS };
    let m = task.gains.len();
    let values: Vec<f64> =
        rows.iter().flat_map(|&i| (0..m).map(move |a| (i, a))).map(|(i, a)| weight(i) * task.gains[a][i]).collect();
    let weights: Vec<f64> = rows.iter().map(|&i| weight(i)).collect();
    let binned = Binned::new(task.x, rows, bins);
    let columns = screen(&binned, &values, m, options, MOST_COLUMNS[usize::from(deep)]);
    let binned = binned.keep(&columns);
    if deep {
        let (n, p, b) = (rows.len() as f64, binned.n_columns() as f64, MOST_BINS_DEEP as f64);
        let steps = p * b * p * p * (n + b * b);
        if steps > MOST_STEPS {
            return Err(Error::unfit(format!(
                "a tree of depth 3 over {} rows and {} columns takes about {steps:.0e} steps, more than {MOST_STEPS:.0e}; \
                 ask for depth 2, or name fewer features",
                rows.len(),
                binned.n_columns()
            )));
        }
    }
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let grow = |price: f64| -> PolicyTree {
        let priced: Vec<f64> = (values.iter().enumerate()).map(|(k, v)| v - price * weights[k / m]).collect();
        let search = Search { binned: &binned, values: &priced, m, min_leaf: options.min_leaf.max(1) };
        search.grow(&all, options.depth)
    };
    let free = settle(grow(0.0), &binned, (&values, &weights, m), None);
    let Some(budget) = options.budget else { return Ok(free.tree.simplified()) };
    let total: f64 = weights.iter().sum();
    let limit = budget * total * (1.0 + 1e-12);
    if free.treated <= limit {
        return Ok(free.tree.simplified());
    }
    let highest =
        values.iter().zip(0..).map(|(v, k): (&f64, usize)| v / weights[k / m].max(1e-300)).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, highest);
    let mut best = settle(free.tree, &binned, (&values, &weights, m), Some(limit));
    for _ in 0..PRICES {
        let price = f64::midpoint(low, high);
        let tree = grow(price);
        let treated = settle(tree.clone(), &binned, (&values, &weights, m), None).treated_by_price(price);
        if treated > limit {
            low = price;
        } else {
            high = price;
        }
        let settled = settle(tree, &binned, (&values, &weights, m), Some(limit));
        if settled.value > best.value {
            best = settled;
        }
    }
    Ok(best.tree.simplified())
}

fn check(task: &PolicyTask<'_>, rows: &[usize], options: &PolicyOptions) -> Result<()> {
    if rows.is_empty() || task.gains.is_empty() {
        return Err(Error::unfit("a policy needs rows and at least one treated arm"));
    }
    if options.depth > MOST_DEPTH {
        return Err(Error::unfit(format!("trees are at most {MOST_DEPTH} deep, {} was asked for", options.depth)));
    }
    if let Some(budget) = options.budget.filter(|b| !(0.0..=1.0).contains(b)) {
        return Err(Error::unfit(format!("the budget is a share from 0 to 1, not {budget}")));
    }
    if let Some(arm) = task.gains.iter().position(|g| g.len() != task.x.n_rows() || g.iter().any(|v| !v.is_finite())) {
        return Err(Error::unfit(format!("the gains of arm {} are not one finite number per row", arm + 1)));
    }
    Ok(())
}

/// The columns whose stumps gain most, in their order.
fn screen(binned: &Binned, values: &[f64], m: usize, options: &PolicyOptions, most: usize) -> Vec<usize> {
    let p = binned.n_columns();
    if p <= most {
        return (0..p).collect();
    }
    let all: Vec<u32> = (0..binned.n_rows() as u32).collect();
    let of = |column: usize| {
        let one = binned.keep(&[column]);
        let search = Search { binned: &one, values, m, min_leaf: options.min_leaf.max(1) };
        search.stump(&search.histogram(&all)).value
    };
    let mut ranked: Vec<(usize, f64)> = (0..p).into_par_iter().map(|column| (column, of(column))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut kept: Vec<usize> = ranked[..most].iter().map(|(column, _)| *column).collect();
    kept.sort_unstable();
    kept
}

/// A tree with decisions and what they gain.
struct Settled {
    tree: PolicyTree,
    value: f64,
    treated: f64,
    /// Per leaf: weight of its rows, and the best sum of gains over the treated arms.
    leaves: Vec<(f64, f64)>,
}

impl Settled {
    /// The weight treated when each treated row costs the price.
    fn treated_by_price(&self, price: f64) -> f64 {
        self.leaves.iter().filter(|(w, gain)| *gain > price * w).map(|(w, _)| w).sum()
    }
}

/// Gives the leaves their best arms, by all sets of treated leaves where a limit of treated weight holds.
fn settle(tree: PolicyTree, binned: &Binned, data: (&[f64], &[f64], usize), limit: Option<f64>) -> Settled {
    let (values, weights, m) = data;
    let mut leaves = vec![];
    let all: Vec<u32> = (0..binned.n_rows() as u32).collect();
    collect(&tree, binned, all, &mut leaves);
    // Per leaf: weight, best treated arm, its sum of gains, sums of all arms.
    let facts: Vec<(f64, usize, f64, Vec<f64>)> = leaves
        .iter()
        .map(|rows| {
            let w: f64 = rows.iter().map(|&i| weights[i as usize]).sum();
            let sums: Vec<f64> = (0..m).map(|a| rows.iter().map(|&i| values[i as usize * m + a]).sum()).collect();
            let best = (0..m).fold(0, |best, a| if sums[a] > sums[best] { a } else { best });
            (w, best + 1, sums[best], sums)
        })
        .collect();
    let mut treat = 0_usize;
    let mut most = 0.0;
    for set in 0..1_usize << facts.len() {
        let inside = || facts.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1).map(|(_, f)| f);
        let (gain, weight) = (inside().map(|f| f.2).sum::<f64>(), inside().map(|f| f.0).sum::<f64>());
        if gain > most && limit.is_none_or(|limit| weight <= limit) {
            (most, treat) = (gain, set);
        }
    }
    let treated = facts.iter().enumerate().filter(|(k, _)| treat >> k & 1 == 1).map(|(_, f)| f.0).sum();
    let decisions: Vec<(usize, usize, Vec<f64>)> = (facts.iter().zip(&leaves).enumerate())
        .map(|(k, ((w, arm, _, sums), rows))| {
            let mean = sums.iter().map(|s| if *w > 0.0 { s / w } else { 0.0 });
            let gains = std::iter::once(0.0).chain(mean).collect();
            (if treat >> k & 1 == 1 { *arm } else { 0 }, rows.len(), gains)
        })
        .collect();
    let mut next = decisions.into_iter();
    let tree = decide(tree, &mut next);
    Settled { tree, value: most, treated, leaves: facts.into_iter().map(|f| (f.0, f.2)).collect() }
}

/// The rows of each leaf, from left to right. Columns are those of the kept bins.
fn collect(tree: &PolicyTree, binned: &Binned, rows: Vec<u32>, leaves: &mut Vec<Vec<u32>>) {
    match tree {
        PolicyTree::Leaf { .. } => leaves.push(rows),
        PolicyTree::Split { column, threshold, left, right } => {
            let k = binned.place(*column);
            let cut = binned.code_of(k, *threshold);
            let (low, high): (Vec<u32>, Vec<u32>) = rows.into_iter().partition(|&i| binned.code(i as usize, k) <= cut);
            collect(left, binned, low, leaves);
            collect(right, binned, high, leaves);
        }
    }
}

fn decide(tree: PolicyTree, next: &mut impl Iterator<Item = (usize, usize, Vec<f64>)>) -> PolicyTree {
    match tree {
        PolicyTree::Leaf { arm, rows, gains } => {
            let (arm, rows, gains) = next.next().unwrap_or((arm, rows, gains));
            PolicyTree::Leaf { arm, rows, gains }
        }
        PolicyTree::Split { column, threshold, left, right } => {
            let left = Box::new(decide(*left, next));
            let right = Box::new(decide(*right, next));
            PolicyTree::Split { column, threshold, left, right }
        }
    }
}

/// Sums of gains and counts of rows per bin of every column.
struct Histogram {
    sums: Vec<f64>,
    counts: Vec<u32>,
    total: Vec<f64>,
    n: u32,
}

/// The best that can be done with some rows, and how.
#[derive(Debug, Clone, Copy)]
struct Best {
    value: f64,
    /// Kept column and last bin that goes left.
    split: Option<(usize, usize)>,
}

struct Search<'a> {
    binned: &'a Binned,
    /// Gains per row and arm, row by row.
    values: &'a [f64],
    m: usize,
    min_leaf: usize,
}

/// What a leaf gains: its best arm's sum, 0 for the control's.
fn leaf(sums: &[f64]) -> f64 {
    sums.iter().fold(0.0, |best, s| if *s > best { *s } else { best })
}

impl Search<'_> {
    fn empty(&self) -> Histogram {
        let cells = self.binned.n_cells();
        Histogram { sums: vec![0.0; cells * self.m], counts: vec![0; cells], total: vec![0.0; self.m], n: 0 }
    }

    fn add(&self, histogram: &mut Histogram, i: usize) {
        let m = self.m;
        let gains = &self.values[i * m..(i + 1) * m];
        for (code, offset) in self.binned.row(i).iter().zip(self.binned.offsets()) {
            let cell = offset + usize::from(*code);
            histogram.counts[cell] += 1;
            for (a, gain) in gains.iter().enumerate() {
                histogram.sums[cell * m + a] += gain;
            }
        }
        histogram.total.iter_mut().zip(gains).for_each(|(t, g)| *t += g);
        histogram.n += 1;
    }

    fn histogram(&self, rows: &[u32]) -> Histogram {
        let mut out = self.empty();
        rows.iter().for_each(|&i| self.add(&mut out, i as usize));
        out
    }

    /// The best stump (or leaf) of the rows in a histogram.
    fn stump(&self, rows: &Histogram) -> Best {
        let m = self.m;
        let mut best = Best { value: leaf(&rows.total), split: None };
        let mut left = vec![0.0; m];
        let mut right = vec![0.0; m];
        for k in 0..self.binned.n_columns() {
            let offset = self.binned.offsets()[k];
            left.fill(0.0);
            let mut n = 0;
            for b in 0..self.binned.n_cuts(k) {
                let count = rows.counts[offset + b];
                if count == 0 {
                    continue;
                }
                n += count;
                for a in 0..m {
                    left[a] += rows.sums[(offset + b) * m + a];
                    right[a] = rows.total[a] - left[a];
                }
                if (n as usize) < self.min_leaf || ((rows.n - n) as usize) < self.min_leaf {
                    continue;
                }
                let value = leaf(&left) + leaf(&right);
                if value > best.value + 1e-12 * best.value.abs() {
                    best = Best { value, split: Some((k, b)) };
                }
            }
        }
        best
    }

    /// The best tree of this depth on these rows: its value and first split.
    fn best(&self, rows: &[u32], depth: usize) -> Best {
        let all = self.histogram(rows);
        let alone = Best { value: leaf(&all.total), split: None };
        match depth {
            0 => return alone,
            1 => return self.stump(&all),
            _ => {}
        }
        let of = |k: usize| -> Best {
            let order = self.binned.sorted(rows, k);
            let mut best = alone;
            let mut at = 0;
            let (mut left, mut right) = (self.empty(), self.empty());
            for b in 0..self.binned.n_cuts(k) {
                let start = at;
                while at < order.len() && usize::from(self.binned.code(order[at] as usize, k)) <= b {
                    if depth == 2 {
                        self.add(&mut left, order[at] as usize);
                    }
                    at += 1;
                }
                if at == start || at < self.min_leaf || order.len() - at < self.min_leaf {
                    continue;
                }
                let value = if depth == 2 {
                    for (r, (a, l)) in right.sums.iter_mut().zip(all.sums.iter().zip(&left.sums)) {
                        *r = a - l;
                    }
                    for (r, (a, l)) in right.counts.iter_mut().zip(all.counts.iter().zip(&left.counts)) {
                        *r = a - l;
                    }
                    for (r, (a, l)) in right.total.iter_mut().zip(all.total.iter().zip(&left.total)) {
                        *r = a - l;
                    }
                    right.n = all.n - left.n;
                    self.stump(&left).value + self.stump(&right).value
                } else {
                    self.best(&order[..at], depth - 1).value + self.best(&order[at..], depth - 1).value
                };
                if value > best.value + 1e-12 * best.value.abs() {
                    best = Best { value, split: Some((k, b)) };
                }
            }
            best
        };
        let bests: Vec<Best> = (0..self.binned.n_columns()).into_par_iter().map(of).collect();
        // The first of equally good columns, whatever the threads.
        bests.into_iter().fold(alone, |a, b| if b.value > a.value + 1e-12 * a.value.abs() { b } else { a })
    }

    fn grow(&self, rows: &[u32], depth: usize) -> PolicyTree {
        let Some((k, b)) = self.best(rows, depth).split else {
            return PolicyTree::Leaf { arm: 0, rows: rows.len(), gains: vec![] };
        };
        let (low, high): (Vec<u32>, Vec<u32>) =
            rows.iter().partition(|&&i| usize::from(self.binned.code(i as usize, k)) <= b);
        PolicyTree::Split {
            column: self.binned.column(k),
            threshold: self.binned.cut(k, b),
            left: Box::new(self.grow(&low, depth - 1)),
            right: Box::new(self.grow(&high, depth - 1)),
        }
    }
}

#[cfg(test)]
#[path = "policy_tree_tests.rs"]
mod tests;
