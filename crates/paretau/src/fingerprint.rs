//! Knowing the training rows again without keeping them: a compact fingerprint that travels in the model file.
//!
//! Each row is hashed as the model reads it: its encoded features (so neither the order of the columns nor the format of the
//! file matters, and numbers are compared in single precision, as which they may have been stored), its arm and its outcome.
//! Bloom filters over the hashes tell which rows of a table were learned from, a sum over them whether a table has exactly
//! the training rows.
//!
//! Rows of a few discrete values have twins by chance. How often is estimated by how many training rows have one, unless some
//! column is nearly different in every row: then twins are copies.

use std::collections::HashMap;

use paretau_core::{Error, Features, Result, State, Tensor};
use paretau_data::Assigned;
use serde::{Deserialize, Serialize};

/// Bits of a filter per row.
const BITS_PER_ROW: usize = 16;
/// Bits that a row sets: the number that makes false matches rarest, `BITS_PER_ROW · ln 2`.
const PROBES: u64 = 11;
/// Share of unknown rows that a filter takes for known ones; the theory says 0.00046.
const FALSE_MATCHES: f64 = 0.000_5;
/// Rows that a filter holds (2 MB). Of more rows, it holds those whose hash falls into a share.
const MOST_ROWS: usize = 1 << 20;
/// With more twins than this, a row that matches may well be another one.
const MOST_TWINS: f64 = 0.05;
/// Rows looked at for a column that tells rows apart.
const LOOKED_AT: usize = 2_000;

/// What a model remembers of its training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint {
    /// Features, arm and outcome.
    rows: Filter,
    /// Features alone, for tables without outcomes.
    features: Filter,
    /// Of the rows of the control and the first treated arm, with their weights.
    digest: Digest,
}

/// A Bloom filter.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    facts: FilterFacts,
    bits: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterFacts {
    /// Only rows whose hash begins with so many zeros are held.
    skipped_bits: u32,
    /// Share of new rows that are expected to be equal to a training row by chance.
    twins: f64,
}

/// A sum over rows that does not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Digest {
    n: u64,
    sums: [u64; 2],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    rows: FilterFacts,
    features: FilterFacts,
    digest: Digest,
}

/// How far the rows of a table are those that a model learned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// No row is, but for chance.
    New,
    /// All rows are, with the same weights, and there are no others.
    Exact,
    /// These rows are.
    Some(Vec<usize>),
    /// About so many are, but it is not known which.
    Unclear(usize),
}

impl Recognition {
    /// How many of the table's rows were learned from.
    pub fn n_known(&self, n_rows: usize) -> usize {
        match self {
            Self::New => 0,
            Self::Exact => n_rows,
            Self::Some(rows) => rows.len(),
            Self::Unclear(about) => *about,
        }
    }
}

/// Rows whose features are those of a training row. Adds up over batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureMatches {
    /// Rows.
    pub rows: usize,
    /// Rows that could be looked up.
    pub checked: usize,
    /// Those that are known.
    pub matched: usize,
}

impl FeatureMatches {
    /// Adds the next batch.
    pub fn add(&mut self, next: Self) {
        self.rows += next.rows;
        self.checked += next.checked;
        self.matched += next.matched;
    }
}

impl Fingerprint {
    /// Of the training rows and their encoded features.
    pub(crate) fn of(assigned: &Assigned, x: &Features) -> Self {
        let features = feature_hashes(x);
        let rows = row_hashes(assigned, &features);
        let [rows_distinct, features_distinct] = distinguished(assigned, x, (&rows, &features));
        Self {
            digest: Digest::of(assigned, &rows),
            rows: Filter::new(rows, rows_distinct),
            features: Filter::new(features, features_distinct),
        }
    }

    /// Of rows that come in parts.
    pub(crate) fn collector() -> Collector {
        Collector { digest: Digest::default(), hashes: [Counts::default(), Counts::default()], are_distinct: None }
    }

    /// How far rows with these encoded features are training rows.
    pub(crate) fn recognise(&self, assigned: &Assigned, x: &Features) -> Recognition {
        let hashes = row_hashes(assigned, &feature_hashes(x));
        if self.digest == Digest::of(assigned, &hashes) {
            return Recognition::Exact;
        }
        let filter = &self.rows;
        let checked = hashes.iter().filter(|&&h| filter.holds(h)).count();
        let known: Vec<usize> = (0..hashes.len()).filter(|&i| filter.contains(hashes[i])).collect();
        if !filter.beyond_chance(checked, known.len()) {
            return Recognition::New;
        }
        let twins = filter.facts.twins;
        if filter.facts.skipped_bits == 0 && twins <= MOST_TWINS {
            return Recognition::Some(known);
        }
        // Of rows that are not training rows, a share `twins` matches nevertheless.
        let share = (known.len() as f64 / checked as f64 - twins) / (1.0 - twins).max(f64::EPSILON);
        Recognition::Unclear(((share * hashes.len() as f64).round() as usize).clamp(1, hashes.len()))
    }

    /// How many rows have the features of a training row.
    pub(crate) fn feature_matches(&self, x: &Features) -> FeatureMatches {
        let hashes = feature_hashes(x);
        FeatureMatches {
            rows: hashes.len(),
            checked: hashes.iter().filter(|&&h| self.features.holds(h)).count(),
            matched: hashes.iter().filter(|&&h| self.features.contains(h)).count(),
        }
    }

    /// How many rows that is of all, where features tell rows apart and there are more matches than by chance; else 0.
    pub(crate) fn learned_from(&self, found: FeatureMatches) -> usize {
        let filter = &self.features;
        if filter.facts.twins > MOST_TWINS || !filter.beyond_chance(found.checked, found.matched) {
            return 0;
        }
        (found.matched as f64 / found.checked as f64 * found.rows as f64).round() as usize
    }

    pub(crate) fn state(&self) -> Result<State> {
        let saved = Saved { rows: self.rows.facts, features: self.features.facts, digest: self.digest };
        let mut state = State::new(&saved)?;
        for (name, filter) in [("rows", &self.rows), ("features", &self.features)] {
            state.tensors.insert(name.to_owned(), Tensor::U8(vec![filter.bits.len()], filter.bits.clone()));
        }
        Ok(state)
    }

    pub(crate) fn load(state: &State) -> Result<Self> {
        let Saved { rows, features, digest } = state.parse()?;
        Ok(Self {
            rows: Filter::load(state, "rows", rows)?,
            features: Filter::load(state, "features", features)?,
            digest,
        })
    }
}

/// A fingerprint in the making, of rows that come in parts. Whether features tell rows apart is seen in the first part.
#[derive(Debug)]
pub(crate) struct Collector {
    digest: Digest,
    /// Of rows, and of features alone.
    hashes: [Counts; 2],
    /// Whether rows, and features alone, are distinguished by some column; as the first part shows it.
    are_distinct: Option<[bool; 2]>,
}

/// How often each hash occurred, of those that a filter will hold.
#[derive(Debug, Default)]
struct Counts {
    skipped_bits: u32,
    of: HashMap<u64, u32>,
}

impl Collector {
    /// Adds rows with their encoded features.
    pub(crate) fn add(&mut self, assigned: &Assigned, x: &Features) {
        let features = feature_hashes(x);
        let rows = row_hashes(assigned, &features);
        self.are_distinct.get_or_insert_with(|| distinguished(assigned, x, (&rows, &features)));
        let Digest { n, sums } = Digest::of(assigned, &rows);
        self.digest.n += n;
        self.digest.sums.iter_mut().zip(sums).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
        let [own_rows, own_features] = &mut self.hashes;
        own_rows.add(&rows);
        own_features.add(&features);
    }

    pub(crate) fn finish(self) -> Fingerprint {
        let [rows_distinct, features_distinct] = self.are_distinct.unwrap_or_default();
        let [rows, features] = self.hashes;
        Fingerprint {
            rows: rows.finish(rows_distinct),
            features: features.finish(features_distinct),
            digest: self.digest,
        }
    }
}

impl Counts {
    fn add(&mut self, hashes: &[u64]) {
        for &hash in hashes.iter().filter(|h| held(self.skipped_bits, **h)) {
            *self.of.entry(hash).or_insert(0) += 1;
        }
        while self.of.len() > MOST_ROWS {
            self.skipped_bits += 1;
            let bits = self.skipped_bits;
            self.of.retain(|&h, _| held(bits, h));
        }
    }

    fn finish(self, are_distinct: bool) -> Filter {
        let n: u64 = self.of.values().map(|&count| u64::from(count)).sum();
        let twins: u64 = self.of.values().filter(|&&count| count > 1).map(|&count| u64::from(count)).sum();
        let twins = if are_distinct || n == 0 { 0.0 } else { twins as f64 / n as f64 };
        Filter::of_distinct(self.of.into_keys().collect(), FilterFacts { skipped_bits: self.skipped_bits, twins })
    }
}

/// Whether rows, and features alone, are distinguished by some column: one that differs between half of the distinct rows.
/// Equal rows are then copies.
fn distinguished(assigned: &Assigned, x: &Features, (rows, features): (&[u64], &[u64])) -> [bool; 2] {
    let looked_at = spread_over(rows.len());
    let cells = |of: &[u64]| distinct(looked_at.iter().map(|&i| of[i]));
    let widest = widest_column(x, &looked_at);
    let outcomes = distinct(looked_at.iter().map(|&i| u64::from(bits(assigned.y[i]))));
    [2 * widest.max(outcomes) >= cells(rows), 2 * widest >= cells(features)]
}

fn held(skipped_bits: u32, hash: u64) -> bool {
    skipped_bits == 0 || hash >> (64 - skipped_bits) == 0
}

impl Filter {
    fn new(mut hashes: Vec<u64>, are_distinct: bool) -> Self {
        let n = hashes.len();
        hashes.sort_unstable();
        let twins = hashes.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|&len| len > 1).sum::<usize>();
        let twins = if are_distinct || n == 0 { 0.0 } else { twins as f64 / n as f64 };
        hashes.dedup();
        let mut facts = FilterFacts { skipped_bits: 0, twins };
        while hashes.len() > MOST_ROWS {
            facts.skipped_bits += 1;
            hashes.retain(|&h| held(facts.skipped_bits, h));
        }
        Self::of_distinct(hashes, facts)
    }

    fn of_distinct(hashes: Vec<u64>, facts: FilterFacts) -> Self {
        let mut filter = Self { facts, bits: vec![] };
        filter.bits = vec![0; (hashes.len() * BITS_PER_ROW).div_ceil(8).max(8)];
        for hash in hashes {
            for at in filter.probes(hash) {
                filter.bits[at / 8] |= 1 << (at % 8);
            }
        }
        filter
    }

    /// Whether the filter would hold a training row of that hash.
    fn holds(&self, hash: u64) -> bool {
        held(self.facts.skipped_bits, hash)
    }

    fn contains(&self, hash: u64) -> bool {
        self.holds(hash) && self.probes(hash).all(|at| self.bits[at / 8] & (1 << (at % 8)) != 0)
    }

    fn probes(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let n_bits = 8 * self.bits.len() as u64;
        let (start, step) = (mix(hash ^ 0x5bd1), mix(hash ^ 0x9e37) | 1);
        (0..PROBES).map(move |k| {
            let at = start.wrapping_add(k.wrapping_mul(step));
            ((u128::from(at) * u128::from(n_bits)) >> 64) as usize
        })
    }

    /// Whether there are more matches among rows than twins and the filter's false matches explain, by three standard errors.
    fn beyond_chance(&self, checked: usize, matched: usize) -> bool {
        let (n, p) = (checked as f64, (self.facts.twins + FALSE_MATCHES).min(1.0));
        matched as f64 > n * p + 3.0 * (n * p * (1.0 - p)).sqrt()
    }

    fn load(state: &State, name: &str, facts: FilterFacts) -> Result<Self> {
        match state.tensors.get(name) {
            Some(Tensor::U8(_, bits))
                if (8..=MOST_ROWS * BITS_PER_ROW / 8).contains(&bits.len())
                    && facts.skipped_bits < 64
                    && (0.0..=1.0).contains(&facts.twins) =>
            {
                Ok(Self { facts, bits: bits.clone() })
            }
            _ => Err(Error::bad_model("its fingerprint of the training rows is damaged; copy it again or fit again")),
        }
    }
}

impl Digest {
    /// Of the rows of the first two arms, with what else bears on their scores.
    fn of(assigned: &Assigned, hashes: &[u64]) -> Self {
        let mut digest = Self::default();
        let of = |values: &Option<Vec<f64>>, i: usize| values.as_ref().map_or(0, |v| 1 + u64::from(bits(v[i])));
        for i in (0..hashes.len()).filter(|&i| assigned.t[i] < 2) {
            let mut hash = hashes[i];
            for more in [of(&assigned.weight, i), of(&assigned.propensity, i), u64::from(assigned.groups.is_some())] {
                hash = mix(hash ^ mix(more));
            }
            digest.n += 1;
            digest.sums[0] = digest.sums[0].wrapping_add(mix(hash ^ 0xa5a5));
            digest.sums[1] = digest.sums[1].wrapping_add(mix(hash ^ 0x3c3c));
        }
        digest
    }
}

/// Hashes of rows by their features.
fn feature_hashes(x: &Features) -> Vec<u64> {
    // A sum over the cells that are not 0, so that dense and sparse rows agree.
    let cell = |j: usize, value: f64| match bits(value) {
        0 => 0,
        bits => mix(mix(j as u64 + 1) ^ u64::from(bits)),
    };
    match x {
        Features::Dense(x) => (0..x.n_rows())
            .map(|i| mix(x.row(i).iter().enumerate().fold(0, |sum: u64, (j, &v)| sum.wrapping_add(cell(j, v)))))
            .collect(),
        Features::Sparse(x) => (0..x.n_rows())
            .map(|i| {
                let (columns, values) = x.row(i);
                let cells = columns.iter().zip(values).map(|(&j, &v)| cell(j as usize, v));
                mix(cells.fold(0, u64::wrapping_add))
            })
            .collect(),
    }
}

/// Hashes of rows by their features, arm and outcome.
fn row_hashes(assigned: &Assigned, features: &[u64]) -> Vec<u64> {
    let arms: Vec<u64> = assigned.arms.iter().map(|name| arm_hash(name)).collect();
    let arm = |i: usize| arms.get(usize::from(assigned.t[i])).copied().unwrap_or(0);
    (0..features.len()).map(|i| mix(mix(features[i] ^ arm(i)) ^ u64::from(bits(assigned.y[i])))).collect()
}

/// Of an arm's value in the treatment column: `1`, `1.0` and `true` are one.
fn arm_hash(name: &str) -> u64 {
    let name = name.trim().to_lowercase();
    let number = match name.as_str() {
        "true" | "yes" => Some(1.0),
        "false" | "no" => Some(0.0),
        other => other.parse::<f64>().ok(),
    };
    match number {
        Some(value) => mix(u64::from(bits(value)) ^ 0x0ff1),
        None => name.bytes().fold(0x7e47, |hash, byte| mix(hash ^ u64::from(byte))),
    }
}

/// A number's bits in single precision; the two zeros are one, and so are all that are not a number.
fn bits(value: f64) -> u32 {
    let value = value as f32;
    if value == 0.0 {
        0
    } else if value.is_nan() {
        f32::NAN.to_bits()
    } else {
        value.to_bits()
    }
}

/// Spreads every bit of a number over all others (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Up to [`LOOKED_AT`] rows, equally far apart.
fn spread_over(n: usize) -> Vec<usize> {
    let looked_at = n.min(LOOKED_AT);
    (0..looked_at).map(|k| k * n / looked_at).collect()
}

/// How many different values the column with the most of them has in some rows. Sparse features are not looked at: most of
/// their cells are 0.
fn widest_column(x: &Features, rows: &[usize]) -> usize {
    let Features::Dense(x) = x else { return 0 };
    (0..x.n_cols()).map(|j| distinct(rows.iter().map(|&i| u64::from(bits(x.get(i, j)))))).max().unwrap_or(0)
}

fn distinct(values: impl Iterator<Item = u64>) -> usize {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Csr, Dense, Rng, Seed};
    use paretau_data::{RoleSpec, Table, TableColumn, assign};

    use super::*;

    /// Rows of two features, with `levels` values each, or continuous ones.
    fn rows(n: usize, levels: Option<f64>, seed: u64) -> (Assigned, Features) {
        let mut rng = Seed(seed).rng();
        let draw = |rng: &mut Rng| match levels {
            Some(levels) => (rng.uniform() * levels).floor(),
            None => rng.normal(),
        };
        let mut column = || -> Vec<f64> { (0..n).map(|_| draw(&mut rng)).collect() };
        let (a, b, y) = (column(), column(), column());
        let t = (0..n).map(|i| (i % 2) as f64).collect();
        let x = a.iter().zip(&b).flat_map(|(&a, &b)| [a, b]).collect();
        let columns = [("t", t), ("y", y), ("a", a), ("b", b)];
        let columns = columns.into_iter().map(|(name, values)| TableColumn::number(name, values)).collect();
        let assigned = assign(Table::new(columns).unwrap(), &RoleSpec::new("t", "y")).unwrap();
        (assigned, Features::Dense(Dense::new(n, 2, x).unwrap()))
    }

    #[test]
    fn a_fingerprint_of_parts_is_that_of_the_whole() {
        for levels in [None, Some(3.0)] {
            let whole = rows(3000, levels, 7);
            let mut collector = Fingerprint::collector();
            for part in [0..1200, 1200..1201, 1201..3000] {
                let own: Vec<usize> = part.collect();
                collector.add(&whole.0.select(&own), &whole.1.select(&own));
            }
            assert_eq!(collector.finish(), Fingerprint::of(&whole.0, &whole.1));
        }
    }

    /// Some rows of some, then some of others.
    fn joined(parts: &[(&(Assigned, Features), &[usize])]) -> (Assigned, Features) {
        let mut out = parts[0].0.0.select(parts[0].1);
        let mut x: Vec<f64> = vec![];
        for (k, ((assigned, features), own)) in parts.iter().enumerate() {
            let Features::Dense(dense) = features else { panic!("dense rows only") };
            own.iter().for_each(|&i| x.extend(dense.row(i)));
            if k > 0 {
                out.t.extend(own.iter().map(|&i| assigned.t[i]));
                out.y.extend(own.iter().map(|&i| assigned.y[i]));
            }
        }
        let n = out.t.len();
        (out, Features::Dense(Dense::new(n, 2, x).unwrap()))
    }

    #[test]
    fn the_training_rows_are_known_in_any_order_and_others_are_not() {
        let (train, other) = (rows(500, None, 1), rows(500, None, 2));
        let print = Fingerprint::of(&train.0, &train.1);
        assert_eq!(print.recognise(&train.0, &train.1), Recognition::Exact);
        let backwards: Vec<usize> = (0..500).rev().collect();
        let turned = joined(&[(&train, &backwards)]);
        assert_eq!(print.recognise(&turned.0, &turned.1), Recognition::Exact);
        assert_eq!(print.recognise(&other.0, &other.1), Recognition::New);
        // A row twice, or one less, is another table, whose rows are known nevertheless.
        let mut twice = backwards.clone();
        twice[0] = 0;
        let twice = joined(&[(&train, &twice)]);
        assert_eq!(print.recognise(&twice.0, &twice.1), Recognition::Some((0..500).collect()));
        let (some, new): (Vec<usize>, Vec<usize>) = ((0..40).collect(), (0..300).collect());
        let mixed = joined(&[(&train, &some), (&other, &new)]);
        let Recognition::Some(known) = print.recognise(&mixed.0, &mixed.1) else { panic!("some rows are known") };
        // A filter may take a new row for a known one, 0.14 of these 300 by theory.
        assert!(known.starts_with(&some) && known.len() <= some.len() + 2, "{known:?}");
        // Another outcome or arm is another person.
        let mut changed = train.0.clone();
        changed.y.iter_mut().for_each(|y| *y += 1.0);
        assert_eq!(print.recognise(&changed, &train.1), Recognition::New);
        let mut changed = train.0.clone();
        changed.t.iter_mut().for_each(|t| *t = 1 - *t);
        assert_eq!(print.recognise(&changed, &train.1), Recognition::New);
        // Other weights make other scores.
        let mut weighted = train.0.clone();
        weighted.weight = Some(vec![2.0; 500]);
        assert_eq!(print.recognise(&weighted, &train.1), Recognition::Some((0..500).collect()));
    }

    #[test]
    fn false_matches_are_as_rare_as_said() {
        let (train, other) = (rows(20_000, None, 3), rows(200_000, None, 4));
        let print = Fingerprint::of(&train.0, &train.1);
        assert_eq!(print.rows.bits.len(), 40_000);
        let hashes = row_hashes(&other.0, &feature_hashes(&other.1));
        let found = hashes.iter().filter(|&&h| print.rows.contains(h)).count() as f64 / 200_000.0;
        // 0.00046 by theory; its standard error here is 0.00005.
        assert!((0.000_3..0.000_65).contains(&found), "{found}");
        let known = row_hashes(&train.0, &feature_hashes(&train.1));
        assert!(known.iter().all(|&h| print.rows.contains(h)), "a training row was forgotten");
    }

    #[test]
    fn equal_rows_by_chance_are_not_taken_for_training_rows() {
        // Two features and an outcome of five values each: 250 kinds of rows, which 1000 rows nearly exhaust.
        let train = rows(1000, Some(5.0), 5);
        let print = Fingerprint::of(&train.0, &train.1);
        assert!(print.rows.facts.twins > 0.85, "{}", print.rows.facts.twins);
        let new = (10..60).filter(|&seed| {
            let other = rows(300, Some(5.0), seed);
            print.recognise(&other.0, &other.1) == Recognition::New
        });
        assert!(new.count() >= 48, "new rows were taken for training rows");
        assert_eq!(print.recognise(&train.0, &train.1), Recognition::Exact);
        // Most of the training rows are more than chance, but single rows cannot be recognised.
        let part = joined(&[(&train, &(0..900).collect::<Vec<_>>())]);
        assert!(matches!(print.recognise(&part.0, &part.1), Recognition::Unclear(_)));
        // Features alone tell nothing here.
        assert_eq!(print.learned_from(print.feature_matches(&train.1)), 0);
    }

    #[test]
    fn copies_in_the_training_rows_are_not_chance() {
        let base = rows(400, None, 6);
        let mut rng = Seed(7).rng();
        let drawn: Vec<usize> = (0..400).map(|_| ((rng.uniform() * 400.0) as usize).min(399)).collect();
        let bootstrap = joined(&[(&base, &drawn)]);
        let print = Fingerprint::of(&bootstrap.0, &bootstrap.1);
        assert_eq!(print.rows.facts.twins, 0.0);
        let known: Vec<usize> = (0..400).filter(|i| drawn.contains(i)).collect();
        assert_eq!(print.recognise(&base.0, &base.1), Recognition::Some(known.clone()));
        let found = print.feature_matches(&base.1);
        assert_eq!((found.rows, print.learned_from(found)), (400, known.len()));
    }

    #[test]
    fn dense_sparse_and_single_precision_rows_are_the_same() {
        let dense = Features::Dense(Dense::new(2, 3, vec![0.1, 0.0, -2.0, -0.0, 3.5, 0.0]).unwrap());
        let single = Dense::new(2, 3, vec![f64::from(0.1_f32), 0.0, -2.0, 0.0, 3.5, 0.0]).unwrap();
        let sparse = Csr::new(2, 3, vec![0, 2, 4], vec![0, 2, 0, 1], vec![0.1, -2.0, 0.0, 3.5]).unwrap();
        let expected = feature_hashes(&dense);
        assert_eq!(feature_hashes(&Features::Dense(single)), expected);
        assert_eq!(feature_hashes(&Features::Sparse(sparse)), expected);
        let swapped = Features::Dense(Dense::new(2, 3, vec![0.0, 0.1, -2.0, 3.5, 0.0, 0.0]).unwrap());
        assert!(feature_hashes(&swapped).iter().zip(&expected).all(|(a, b)| a != b));
        assert_eq!(arm_hash("1"), arm_hash("1.0"));
        assert_eq!(arm_hash("TRUE"), arm_hash("1"));
        assert!(arm_hash("drug") != arm_hash("placebo") && arm_hash("0") != arm_hash("1"));
    }

    #[test]
    fn more_rows_than_a_filter_holds_are_sampled() {
        let mut rng = Seed(8).rng();
        let n = 2 * MOST_ROWS + MOST_ROWS / 2;
        let hashes: Vec<u64> = (0..n).map(|_| mix(rng.normal().to_bits())).collect();
        let filter = Filter::new(hashes.clone(), true);
        assert_eq!(filter.facts.skipped_bits, 2);
        assert!(filter.bits.len() <= 2 * MOST_ROWS);
        let held = hashes.iter().filter(|&&h| filter.holds(h)).count();
        assert_eq!(hashes.iter().filter(|&&h| filter.contains(h)).count(), held);
        assert!((held as f64 / n as f64 - 0.25).abs() < 0.002);
        assert!(filter.beyond_chance(1000, 1000) && !filter.beyond_chance(1000, 1));
    }

    #[test]
    fn it_comes_back_from_its_state_and_damage_is_refused() {
        let train = rows(100, None, 9);
        let print = Fingerprint::of(&train.0, &train.1);
        let state = print.state().unwrap();
        assert_eq!(Fingerprint::load(&state).unwrap(), print);
        let mut absent = state.clone();
        absent.tensors.remove("rows");
        let mut empty = state.clone();
        empty.tensors.insert("features".to_owned(), Tensor::U8(vec![0], vec![]));
        let mut wrong = state.clone();
        wrong.json["rows"]["twins"] = 2.0.into();
        let mut far = state.clone();
        far.json["features"]["skipped_bits"] = 64.into();
        let mut foreign = state.clone();
        foreign.json["digest"] = "none".into();
        for damaged in [absent, empty, wrong, far, foreign] {
            assert!(Fingerprint::load(&damaged).is_err(), "{:?}", damaged.json);
        }
    }
}
