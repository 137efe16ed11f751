//! The best split of one column: bin the node's rows, then scan the bins in order.
//!
//! Bins that no row of the node falls into cost nothing: a bit marks the others. Exact mode sorts codes instead of
//! using a histogram; both ways add up a bin's rows in the same order, so they agree to the last bit.
//! Where most rows of a column have one code, as in sparse columns, only the others are added up, and that code gets
//! what is left of the node's total. Missing values are tried on either side and alone; the levels of a categorical column are put in order of their
//! labels and cut as if they were numbers, which for least squares finds the best of all subsets (Fisher 1958).

use super::SplitRule;
use crate::bins::MISSING;
use crate::codes::Code;
use crate::tree::{LevelSet, contains};

/// Nodes of at least this many rows look for their occupied bins afterwards rather than marking them row by row.
const MARK_BELOW: usize = 128;

/// A split must be better than the best so far by more than rounding: columns that divide a small node's rows alike have
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
    pub(crate) feature: u32,
    pub(crate) cut: Cut,
    pub(crate) missing_left: bool,
}

/// What the search needs to know of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeView<'a, B, const L: usize> {
    /// Places of the growing rows among the copied codes.
    pub(crate) places: &'a [u32],
    /// The growing rows.
    pub(crate) rows: &'a [u32],
    /// Their lanes, in the same order.
    pub(crate) lanes: &'a [[f64; L]],
    /// Honest rows.
    pub(crate) honest: &'a [u32],
    /// Sums over the node.
    pub(crate) total: [f64; L],
    /// The rule's limits.
    pub(crate) bounds: B,
    /// Which of all rows are in the node, when that was written down.
    pub(crate) marks: Option<&'a Marks>,
}

/// Which rows are in the current node, and where: for columns that list the few rows with an unusual code.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The number of the node that a row was last seen in, and its place among the growing rows there.
    rows: Vec<(u32, u32)>,
    node: u32,
}

/// Stands for the place of an honest row.
const HONEST: u32 = u32::MAX;

impl Marks {
    /// Writes down the rows of the next node, out of `n` rows.
    pub(crate) fn next(&mut self, n: usize, rows: &[u32], honest: &[u32]) {
        if self.rows.len() != n || self.node == u32::MAX {
            *self = Self { rows: vec![(0, 0); n], node: 0 };
        }
        self.node += 1;
        rows.iter().zip(0..).for_each(|(&row, k)| self.rows[row as usize] = (self.node, k));
        honest.iter().for_each(|&row| self.rows[row as usize] = (self.node, HONEST));
    }

    /// The place of a row, if it is in the node.
    #[inline(always)]
    pub(crate) fn place(&self, row: u32) -> Option<u32> {
        let (node, place) = self.rows[row as usize];
        (node == self.node).then_some(place)
    }
}

/// What the search needs to know of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnView<'a, C> {
    pub(crate) feature: u32,
    /// Codes of the tree's growing rows, by place, if they were copied.
    pub(crate) codes: Option<&'a [C]>,
    /// Codes of all rows.
    pub(crate) all_codes: &'a [C],
    /// The code of missing values.
    pub(crate) missing: u16,
    pub(crate) categorical: bool,
    /// The code that most rows have, if there is one; otherwise above all codes.
    pub(crate) usual: u16,
    /// The rows with another code, where they are few and therefore listed.
    pub(crate) unusual: &'a [(u32, u8)],
    /// Whether a threshold lies halfway to the next code that occurs, or at the last code that goes left.
    pub(crate) halfway: bool,
}

impl<'a, C> ColumnView<'a, C> {
    /// The codes to read, and where in them the node's growing rows are.
    fn codes_of<'b, B, const L: usize>(&self, node: &NodeView<'b, B, L>) -> (&'a [C], &'b [u32]) {
        self.codes.map_or((self.all_codes, node.rows), |codes| (codes, node.places))
    }

    /// The threshold between two neighbouring codes of a node.
    fn cut(&self, code: u16, next: u16) -> u16 {
        if self.halfway { code + (next - code - 1) / 2 } else { code }
    }
}

/// Buffers that the search uses again and again.
#[derive(Debug)]
pub(crate) struct Search<const L: usize> {
    /// All zero between columns.
    bins: Box<[[f64; L]; 256]>,
    keys: Vec<u64>,
    groups: Groups<L>,
}

/// Occupied bins in ascending order. Codes and sums apart, since together they would be stored unaligned.
#[derive(Debug)]
struct Groups<const L: usize> {
    codes: Vec<u16>,
    sums: Vec<[f64; L]>,
}

impl<const L: usize> Default for Search<L> {
    fn default() -> Self {
        let groups = Groups { codes: Vec::new(), sums: Vec::new() };
        Self { bins: Box::new([[0.0; L]; 256]), keys: Vec::new(), groups }
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
        if C::BYTE {
            let seen = self.bin::<Label, R, C>(node, column);
            let has_missing = column.missing < 256 && contains(&seen, column.missing);
            if !column.categorical && !has_missing {
                self.scan_bins(rule, node, column, seen, best);
                return;
            }
            self.collect(seen);
        } else {
            self.sort::<Label, R, C>(node, column);
        }
        if self.groups.codes.len() < 2 {
            return;
        }
        if column.categorical {
            self.scan_levels(rule, node, column, best);
        } else {
            self.scan_thresholds(rule, node, column, best);
        }
    }

    /// Adds the node's rows up in the histogram and marks which bins are occupied.
    fn bin<Label, R: SplitRule<Label, L>, C: Code>(
        &mut self,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
    ) -> LevelSet {
        let (codes, rows) = column.codes_of(node);
        let mut seen = [0_u64; 4];
        let bins = &mut *self.bins;
        let usual = u8::try_from(column.usual).ok();
        // Rows of the node to look at, or rows of the column's list: whichever are fewer.
        let n_rows = node.rows.len() + R::HONEST_LANE.map_or(0, |_| node.honest.len());
        let listed = !column.unusual.is_empty() && 2 * column.unusual.len() < n_rows;
        if let (Some(marks), Some(usual), true) = (node.marks, usual, listed) {
            for &(row, code) in column.unusual {
                match (marks.place(row), R::HONEST_LANE) {
                    (None, _) | (Some(HONEST), None) => continue,
                    (Some(HONEST), Some(lane)) => bins[usize::from(code)][lane] += 1.0,
                    (Some(place), _) => add(&mut bins[usize::from(code)], &node.lanes[place as usize]),
                }
                mark(&mut seen, code);
            }
            keep_rest::<Label, R, L>(bins, &mut seen, usual, node.total);
            return seen;
        }
        if let Some(lane) = R::HONEST_LANE {
            for &row in node.honest {
                let code = column.all_codes[row as usize].byte();
                if usual != Some(code) {
                    mark(&mut seen, code);
                    bins[usize::from(code)][lane] += 1.0;
                }
            }
        }
        if let Some(usual) = usual {
            for (&row, lanes) in rows.iter().zip(node.lanes) {
                let code = codes[row as usize].byte();
                if code != usual {
                    mark(&mut seen, code);
                    add(&mut bins[usize::from(code)], lanes);
                }
            }
            keep_rest::<Label, R, L>(bins, &mut seen, usual, node.total);
        } else if node.rows.len() < MARK_BELOW {
            for (&row, lanes) in rows.iter().zip(node.lanes) {
                let code = codes[row as usize].byte();
                mark(&mut seen, code);
                add(&mut bins[usize::from(code)], lanes);
            }
        } else {
            for (&row, lanes) in rows.iter().zip(node.lanes) {
                add(&mut bins[usize::from(codes[row as usize].byte())], lanes);
            }
            for (word, part) in seen.iter_mut().zip(bins.chunks_exact(64)) {
                for (bit, sums) in part.iter().enumerate() {
                    *word |= u64::from(sums[R::COUNT_LANE] != 0.0) << bit;
                }
            }
        }
        seen
    }

    /// The usual case, straight from the histogram: numbers, none of them missing in this node.
    fn scan_bins<Label, R: SplitRule<Label, L>, C>(
        &mut self,
        rule: &R,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
        seen: LevelSet,
        best: &mut Best,
    ) {
        let mut left = [0.0; L];
        let mut floor = best.gain * TIE;
        let mut found = None;
        each_in(seen, |code| {
            add(&mut left, &self.bins[code]);
            self.bins[code] = [0.0; L];
            // With the last bin everything is on the left, which no rule allows.
            let gain = rule.gain(&node.bounds, &left, &minus(&node.total, &left), floor);
            if gain > floor {
                floor = gain * TIE;
                found = Some((code as u16, gain, rule.rows(&left)));
            }
        });
        let Some((code, gain, rows)) = found else { return };
        let cut = next_in(&seen, code).map_or(code, |next| column.cut(code, next));
        // No missing value to learn from: they will follow the larger side.
        let missing_left = 2.0 * rows >= rule.rows(&node.total);
        *best = Best { gain, feature: column.feature, cut: Cut::Threshold(cut), missing_left };
    }

    /// Moves the occupied bins to the groups.
    fn collect(&mut self, seen: LevelSet) {
        self.groups.codes.clear();
        self.groups.sums.clear();
        each_in(seen, |code| {
            self.groups.codes.push(code as u16);
            self.groups.sums.push(self.bins[code]);
            self.bins[code] = [0.0; L];
        });
    }

    /// Groups by sorting.
    fn sort<Label, R: SplitRule<Label, L>, C: Code>(
        &mut self,
        node: &NodeView<'_, R::Bounds, L>,
        column: &ColumnView<'_, C>,
    ) {
        let ((codes, rows), honest_lane) = (column.codes_of(node), R::HONEST_LANE);
        let key = |code: C, k: usize| -> u64 { u64::from(code.into()) << 32 | k as u64 };
        self.keys.clear();
        self.keys.extend(rows.iter().enumerate().map(|(k, &row)| key(codes[row as usize], k)));
        if honest_lane.is_some() {
            let n = rows.len();
            self.keys
                .extend(node.honest.iter().enumerate().map(|(k, &row)| key(column.all_codes[row as usize], n + k)));
        }
        self.keys.retain(|key| (key >> 32) as u16 != column.usual);
        self.keys.sort_unstable();
        let Groups { codes: group_codes, sums } = &mut self.groups;
        group_codes.clear();
        sums.clear();
        for &key in &self.keys {
            let code = (key >> 32) as u16;
            if group_codes.last() != Some(&code) {
                group_codes.push(code);
                sums.push([0.0; L]);
            }
            let Some(sums) = sums.last_mut() else { continue };
            match (node.lanes.get(key as u32 as usize), honest_lane) {
                (Some(lanes), _) => add(sums, lanes),
                (None, Some(lane)) => sums[lane] += 1.0,
                (None, None) => {}
            }
        }
        if column.usual != MISSING {
            let rest = sums.iter().fold(node.total, |rest, sums| minus(&rest, sums));
            if rest[R::COUNT_LANE] != 0.0 {
                let at = group_codes.partition_point(|&code| code < column.usual);
                group_codes.insert(at, column.usual);
                sums.insert(at, rest);
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
        let Groups { codes, sums } = &mut self.groups;
        let missing = codes.pop_if(|code| *code == column.missing).and_then(|_| sums.pop());
        let zero = [0.0; L];
        let found = match missing {
            None => scan(rule, node, sums, zero, best.gain * TIE)
                .map(|(at, gain, left)| (at, gain, 2.0 * rule.rows(&left) >= rule.rows(&node.total))),
            Some(missing) => {
                let left = scan(rule, node, sums, missing, best.gain * TIE).map(|(at, gain, _)| (at, gain, true));
                let floor = TIE * left.map_or(best.gain, |(_, gain, _)| gain);
                let right = scan(rule, node, sums, zero, floor).map(|(at, gain, _)| (at, gain, false));
                let floor = right.map_or(floor, |(_, gain, _)| TIE * gain);
                let alone = rule.gain(&node.bounds, &minus(&node.total, &missing), &missing, floor);
                let last = sums.len().saturating_sub(1);
                let alone = (alone > floor && !sums.is_empty()).then_some((last, alone, false));
                alone.or(right).or(left)
            }
        };
        if let Some((at, gain, missing_left)) = found {
            // With nothing above the cut, only missing values go right.
            let cut = codes.get(at + 1).map_or(column.missing - 1, |&next| column.cut(codes[at], next));
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
        let Groups { codes, sums } = &self.groups;
        let mut order: Vec<usize> = (0..codes.len()).collect();
        order.sort_by(|&a, &b| rule.order(&sums[a]).total_cmp(&rule.order(&sums[b])).then(a.cmp(&b)));
        let ordered: Vec<[f64; L]> = order.iter().map(|&k| sums[k]).collect();
        let Some((at, gain, left)) = scan(rule, node, &ordered, [0.0; L], best.gain * TIE) else { return };
        // Levels that this node has not seen follow the larger side, as missing values do.
        let larger_left = 2.0 * rule.rows(&left) >= rule.rows(&node.total);
        let mut set: LevelSet = if larger_left { [u64::MAX; 4] } else { [0; 4] };
        let mut missing_left = larger_left;
        for (k, code) in order.iter().map(|&g| &codes[g]).enumerate() {
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

/// Adds a code to a set.
#[inline(always)]
fn mark(seen: &mut LevelSet, code: u8) {
    seen[usize::from(code >> 6)] |= 1 << (code & 63);
}

/// Gives the usual code what the others leave of the total.
#[inline(always)]
fn keep_rest<Label, R: SplitRule<Label, L>, const L: usize>(
    bins: &mut [[f64; L]; 256],
    seen: &mut LevelSet,
    usual: u8,
    total: [f64; L],
) {
    let mut rest = total;
    each_in(*seen, |code| rest = minus(&rest, &bins[code]));
    if rest[R::COUNT_LANE] != 0.0 {
        mark(seen, usual);
        bins[usize::from(usual)] = rest;
    }
}

/// The best place to cut the groups, starting with `left` on the left: its index, gain and left sums.
#[inline]
fn scan<Label, R: SplitRule<Label, L>, const L: usize>(
    rule: &R,
    node: &NodeView<'_, R::Bounds, L>,
    groups: &[[f64; L]],
    mut left: [f64; L],
    mut floor: f64,
) -> Option<(usize, f64, [f64; L])> {
    let mut found = None;
    let (_, before_last) = groups.split_last()?;
    for (at, sums) in before_last.iter().enumerate() {
        add(&mut left, sums);
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

/// Loads before it stores, so that the compiler need not fear an overlap and adds lanes in pairs.
#[inline(always)]
fn add<const L: usize>(to: &mut [f64; L], from: &[f64; L]) {
    *to = std::array::from_fn(|k| to[k] + from[k]);
}

/// The smallest code in the set above `code`.
fn next_in(set: &LevelSet, code: u16) -> Option<u16> {
    (code + 1..256).find(|&next| contains(set, next))
}

/// Calls `each` for the codes in the set, ascending.
#[inline(always)]
fn each_in(set: LevelSet, mut each: impl FnMut(usize)) {
    for (word, mut bits) in set.into_iter().enumerate() {
        while bits != 0 {
            each(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}
