//! Knowing the training rows again without keeping them: a compact fingerprint that travels in the model file.
//!
//! Each row is hashed as the model reads it: its encoded features (so neither the order of the columns nor the format of the
//! file matters, and numbers are compared in single precision, as which they may have been stored), its arm and its outcome.
//! Bloom filters over the hashes tell which rows of a table were learned from, a sum over them whether a table has exactly
//! the training rows.
//!
//! Rows of a few discrete values have twins by chance. How often is estimated by how many training rows have one, unless some
//! column is nearly different in every row: then twins are copies.

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
    /// About so many are, but it cannot be told which.
    Unclear(usize),
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
        let looked_at = spread_over(rows.len());
        let cells = |of: &[u64]| distinct(looked_at.iter().map(|&i| of[i]));
        let widest = widest_column(x, &looked_at);
        let outcomes = distinct(looked_at.iter().map(|&i| u64::from(bits(assigned.y[i]))));
        // A column that differs between half of the distinct rows tells rows apart: equal rows are then copies.
        let tells_apart = |widest: usize, of: &[u64]| 2 * widest >= cells(of);
        let rows_told = tells_apart(widest.max(outcomes), &rows);
        let features_told = tells_apart(widest, &features);
        Self {
            digest: Digest::of(assigned, &rows),
            rows: Filter::new(rows, rows_told),
            features: Filter::new(features, features_told),
        }
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

impl Filter {
    fn new(mut hashes: Vec<u64>, told_apart: bool) -> Self {
        let n = hashes.len();
        hashes.sort_unstable();
        let twins = hashes.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|&len| len > 1).sum::<usize>();
        let twins = if told_apart || n == 0 { 0.0 } else { twins as f64 / n as f64 };
        hashes.dedup();
        let mut filter = Self { facts: FilterFacts { skipped_bits: 0, twins }, bits: vec![] };
        while hashes.len() > MOST_ROWS {
            filter.facts.skipped_bits += 1;
            hashes.retain(|&h| filter.holds(h));
        }
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
        self.facts.skipped_bits == 0 || hash >> (64 - self.facts.skipped_bits) == 0
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
            _ => Err(Error::bad_model("its fingerprint of the training rows is damaged; copy it again or fit anew")),
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
