//! The best split of one column: bin the node's rows, then scan the bins in order.
//!
//! Bins that no row of the node falls into cost nothing: a bit marks the others. Small nodes, and exact mode, sort
//! codes instead of using a histogram; both ways add up a bin's rows in the same order, so they agree to the last bit.
//! Missing values are tried on either side and alone; the levels of a categorical column are put in order of their
//! labels and cut as if they were numbers, which for least squares finds the best of all subsets (Fisher 1958).

use super::SplitRule;
use crate::codes::Code;
use crate::tree::LevelSet;

/// Nodes of at most this many rows are sorted rather than binned.
const SORT_AT_MOST: usize = 12;

/// A split must be better than the best so far by more than rounding: columns that part a small node's rows alike have
/// equal gains but for the order of summation, and the first should win whatever that order.
const TIE: f64 = 1.0 + 1e-9;

/// How a split sends codes left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Codes up to and including this.
    Threshold(u16),
    /// Codes in this set.
    Set(LevelSet),
}

/// The best split found so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Best {
    pub(crate) gain: f64,
    pub(crate) feature: u16,
    pub(crate) cut: Cut,
    pub(crate) missing_left: bool,
}

/// What the search needs to know of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeView<'a, B, const L: usize> {
    /// Growing rows.
    pub(crate) rows: &'a [u32],
    /// Their lanes, in the same order.
    pub(crate) lanes: &'a [[f64; L]],
    /// Honest rows.
    pub(crate) honest: &'a [u32],
    /// Sums over the node.
    pub(crate) total: [f64; L],
    /// The rule's limits.
    pub(crate) bounds: B,
}

/// What the search needs to know of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnView<'a, C> {
    pub(crate) feature: u16,
    pub(crate) codes: &'a [C],
    /// The code of missing values.
    pub(crate) missing: u16,
    pub(crate) categorical: bool,
    /// Whether a threshold lies halfway to the next code that occurs, or at the last code that goes left.
    pub(crate) halfway: bool,
}

/// Buffers that the search uses again and again.
#[derive(Debug)]
pub(crate) struct Search<const L: usize> {
    bins: Box<[[f64; L]; 256]>,
    keys: Vec<u64>,
    groups: Vec<(u16, [f64; L])>,
}

impl<const L: usize> Default for Search<L> {
    fn default() -> Self {
        Self { bins: Box::new([[0.0; L]; 256]), keys: Vec::new(), groups: Vec::new() }
    }
}

impl<const L: usize> Search<L> {
    /// Improves `best` by the column's best split, if it has a better one.
    pub(crate) fn improve<Label, R: SplitRule<Label, L>, C: Code>(
        &mut self,
        rule: &R,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
        best: &mut Best,
    ) {
        if C::BYTE && node.rows.len() > SORT_AT_MOST {
            self.bin(node, column.codes, R::HONEST_LANE);
        } else {
            self.sort(node, column.codes, R::HONEST_LANE);
        }
        if self.groups.len() < 2 {
            return;
        }
        if column.categorical {
            self.scan_levels(rule, node, column, best);
        } else {
            self.scan_thresholds(rule, node, column, best);
        }
    }

    /// Groups by histogram.
    fn bin<B, C: Code>(&mut self, node: &NodeView<'_, B, L>, codes: &[C], honest_lane: Option<usize>) {
        let mut seen = [0_u64; 4];
        for (&row, lanes) in node.rows.iter().zip(node.lanes) {
            let code = codes[row as usize].byte();
            seen[usize::from(code >> 6)] |= 1 << (code & 63);
            let bin = &mut self.bins[usize::from(code)];
            for k in 0..L {
                bin[k] += lanes[k];
            }
        }
        if let Some(lane) = honest_lane {
            for &row in node.honest {
                let code = codes[row as usize].byte();
                seen[usize::from(code >> 6)] |= 1 << (code & 63);
                self.bins[usize::from(code)][lane] += 1.0;
            }
        }
        self.groups.clear();
        for (word, mut bits) in seen.into_iter().enumerate() {
            while bits != 0 {
                let code = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.groups.push((code as u16, self.bins[code]));
                self.bins[code] = [0.0; L];
            }
        }
    }

    /// Groups by sorting.
    fn sort<B, C: Code>(&mut self, node: &NodeView<'_, B, L>, codes: &[C], honest_lane: Option<usize>) {
        let key = |row: u32, k: usize| -> u64 { u64::from(codes[row as usize].into()) << 32 | k as u64 };
        self.keys.clear();
        self.keys.extend(node.rows.iter().enumerate().map(|(k, &row)| key(row, k)));
        if honest_lane.is_some() {
            let n = node.rows.len();
            self.keys.extend(node.honest.iter().enumerate().map(|(k, &row)| key(row, n + k)));
        }
        self.keys.sort_unstable();
        self.groups.clear();
        for &key in &self.keys {
            let code = (key >> 32) as u16;
            if self.groups.last().is_none_or(|(last, _)| *last != code) {
                self.groups.push((code, [0.0; L]));
            }
            let Some((_, sums)) = self.groups.last_mut() else { continue };
            match (node.lanes.get(key as u32 as usize), honest_lane) {
                (Some(lanes), _) => (0..L).for_each(|k| sums[k] += lanes[k]),
                (None, Some(lane)) => sums[lane] += 1.0,
                (None, None) => {}
            }
        }
    }

    fn scan_thresholds<Label, R: SplitRule<Label, L>, C>(
        &mut self,
        rule: &R,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
        best: &mut Best,
    ) {
        let missing = self.groups.pop_if(|(code, _)| *code == column.missing).map(|(_, sums)| sums);
        let zero = [0.0; L];
        let found = match missing {
            None => scan(rule, node, &self.groups, zero, best.gain * TIE).map(|(at, gain, left)| {
                // No missing value to learn from: they will follow the larger side.
                (at, gain, 2.0 * rule.rows(&left) >= rule.rows(&node.total))
            }),
            Some(missing) => {
                let left =
                    scan(rule, node, &self.groups, missing, best.gain * TIE).map(|(at, gain, _)| (at, gain, true));
                let floor = TIE * left.map_or(best.gain, |(_, gain, _)| gain);
                let right = scan(rule, node, &self.groups, zero, floor).map(|(at, gain, _)| (at, gain, false));
                let floor = right.map_or(floor, |(_, gain, _)| TIE * gain);
                let alone = rule.gain(&node.bounds, &minus(&node.total, &missing), &missing, floor);
                let last = self.groups.len().saturating_sub(1);
                let alone = (alone > floor && !self.groups.is_empty()).then_some((last, alone, false));
                alone.or(right).or(left)
            }
        };
        if let Some((at, gain, missing_left)) = found {
            let code = self.groups[at].0;
            let cut = match self.groups.get(at + 1) {
                Some((next, _)) if column.halfway => code + (next - code - 1) / 2,
                Some(_) => code,
                None => column.missing - 1,
            };
            *best = Best { gain, feature: column.feature, cut: Cut::Threshold(cut), missing_left };
        }
    }

    fn scan_levels<Label, R: SplitRule<Label, L>, C>(
        &mut self,
        rule: &R,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
        best: &mut Best,
    ) {
        self.groups.sort_by(|a, b| rule.order(&a.1).total_cmp(&rule.order(&b.1)).then(a.0.cmp(&b.0)));
        let Some((at, gain, left)) = scan(rule, node, &self.groups, [0.0; L], best.gain * TIE) else { return };
        // Levels that this node has not seen follow the larger side, as missing values do.
        let larger_left = 2.0 * rule.rows(&left) >= rule.rows(&node.total);
        let mut set: LevelSet = if larger_left { [u64::MAX; 4] } else { [0; 4] };
        let mut missing_left = larger_left;
        for (k, (code, _)) in self.groups.iter().enumerate() {
            let bit = 1_u64 << (code & 63);
            let word = &mut set[usize::from(code >> 6) & 3];
            *word = if k <= at { *word | bit } else { *word & !bit };
            if *code == column.missing {
                missing_left = k <= at;
            }
        }
        *best = Best { gain, feature: column.feature, cut: Cut::Set(set), missing_left };
    }
}

/// The best place to cut the groups, starting with `left` on the left: its index, gain and left sums.
#[inline]
fn scan<Label, R: SplitRule<Label, L>, const L: usize>(
    rule: &R,
    node: &NodeView<'_, R::Bounds, L>,
    groups: &[(u16, [f64; L])],
    mut left: [f64; L],
    mut floor: f64,
) -> Option<(usize, f64, [f64; L])> {
    let mut found = None;
    let (_, before_last) = groups.split_last()?;
    for (at, (_, sums)) in before_last.iter().enumerate() {
        for k in 0..L {
            left[k] += sums[k];
        }
        let gain = rule.gain(&node.bounds, &left, &minus(&node.total, &left), floor);
        if gain > floor {
            floor = gain * TIE;
            found = Some((at, gain, left));
        }
    }
    found
}

#[inline(always)]
fn minus<const L: usize>(a: &[f64; L], b: &[f64; L]) -> [f64; L] {
    std::array::from_fn(|k| a[k] - b[k])
}
