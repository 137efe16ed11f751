//! How one feature column becomes numbers. Everything is learnt from training rows and stored with the model.

use std::collections::BTreeMap;

use paretau_core::{Column, ColumnKind};
use serde::{Deserialize, Serialize};

use super::EncoderPolicy;
use crate::fold::{Lookup, joined};
use crate::numbers::Numbers;
use crate::table::Text;

/// The transform of one column; each produces a fixed list of output columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub(super) enum Encoding {
    /// The number itself; `fill` (the training median) where missing, unless missing values may stay.
    Number {
        fill: f64,
        keep_missing: bool,
        /// Whether a second output marks missing cells.
        indicator: bool,
    },
    /// One indicator per level, then one for the pooled rest, then one for missing cells, where training had any.
    OneHot { levels: Vec<String>, other: bool, missing: bool },
    /// A code: levels in order, then the pooled rest, then missing cells (where they may not stay).
    Codes { levels: Vec<String>, other: bool, missing: bool, keep_missing: bool },
    /// Share of the training rows that have the same level; 0 for levels not kept. Uses no outcome, so that
    /// nothing leaks.
    Frequency { shares: BTreeMap<String, f64>, missing: f64 },
}

/// What happened to a cell on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Plain,
    /// Missing, though no training row was, or imputed.
    Imputed,
    /// A level that training rows did not have.
    Unseen,
}

/// Levels kept for frequency coding; more would make the model file large for no gain.
const MAX_FREQUENCIES: usize = 2000;

impl Encoding {
    /// Whether it keeps no level of a text: almost every cell had its own.
    pub(super) fn has_no_levels(&self) -> bool {
        matches!(self, Self::OneHot { levels, other: true, .. } | Self::Codes { levels, other: true, .. } if levels.is_empty())
    }

    /// Learns the encoding of numbers.
    pub(super) fn of_numbers(values: impl Iterator<Item = f64>, policy: &EncoderPolicy) -> Self {
        let mut n_missing = 0;
        let mut present: Vec<f64> = values
            .filter(|v| {
                n_missing += usize::from(v.is_nan());
                !v.is_nan()
            })
            .collect();
        Self::of_median(median(&mut present), n_missing, policy)
    }

    /// The encoding of numbers with that median and so many gaps.
    pub(super) fn of_median(fill: f64, n_missing: usize, policy: &EncoderPolicy) -> Self {
        Self::Number { fill, keep_missing: policy.missing, indicator: n_missing > 0 && !policy.missing }
    }

    /// Learns the encoding of text in the given rows.
    pub(super) fn of_text(text: &Text, rows: &[usize], policy: &EncoderPolicy) -> Self {
        let mut counts = vec![0_usize; text.levels.len()];
        let mut n_missing = 0;
        for &i in rows {
            match text.codes[i] {
                Text::MISSING => n_missing += 1,
                code => counts[code as usize] += 1,
            }
        }
        Self::of_counts(&text.levels, counts, (n_missing, rows.len()), policy)
    }

    /// The encoding of texts that occur so often, with so many missing cells among so many rows.
    pub(super) fn of_counts(
        levels: &[String],
        mut counts: Vec<usize>,
        (n_missing, n_rows): (usize, usize),
        policy: &EncoderPolicy,
    ) -> Self {
        let stands = joined(levels, &counts);
        for (k, &stand) in stands.iter().enumerate().filter(|(k, stand)| k != *stand) {
            counts[stand] += std::mem::take(&mut counts[k]);
        }
        let fewest = policy.fewest(n_rows);
        let texts = levels;
        let named = |least: usize| {
            let mut levels: Vec<String> =
                counts.iter().zip(texts).filter(|(c, _)| **c >= least).map(|(_, l)| l.clone()).collect();
            // Sorted, so that the order of rows has no say in the columns.
            levels.sort_unstable();
            levels
        };
        let levels = named(fewest);
        let other = counts.iter().any(|&c| c > 0 && c < fewest);
        let missing = n_missing > 0;
        let limit = if policy.categories { policy.max_levels * 8 } else { policy.max_levels };
        if levels.len() > limit {
            let share = |count: usize| count as f64 / n_rows.max(1) as f64;
            let mut common: Vec<(usize, &String)> =
                counts.iter().copied().zip(texts).filter(|(c, _)| *c >= fewest).collect();
            common.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            common.truncate(MAX_FREQUENCIES);
            let shares = common.into_iter().map(|(c, level)| (level.clone(), share(c))).collect();
            return Self::Frequency { shares, missing: share(n_missing) };
        }
        if policy.categories {
            Self::Codes { levels, other, missing: missing && !policy.missing, keep_missing: policy.missing }
        } else {
            Self::OneHot { levels, other, missing }
        }
    }

    /// Names and kinds of the output columns.
    pub(super) fn columns(&self, name: &str) -> Vec<Column> {
        let numeric = |name: String| Column { name, kind: ColumnKind::Numeric };
        match self {
            Self::Number { indicator, .. } => {
                let mark = indicator.then(|| numeric(format!("{name}__missing")));
                std::iter::once(numeric(name.to_owned())).chain(mark).collect()
            }
            Self::OneHot { levels, other, missing } => {
                let mut out: Vec<Column> = levels.iter().map(|level| numeric(format!("{name}={level}"))).collect();
                // A level that is called `other` keeps its name; the pool then takes another one.
                let pool = if levels.iter().any(|l| l == "other") { "other levels" } else { "other" };
                out.extend(other.then(|| numeric(format!("{name}={pool}"))));
                out.extend(missing.then(|| numeric(format!("{name}__missing"))));
                if out.len() == 2 {
                    // The second of two complementary indicators says nothing new.
                    out.remove(0);
                }
                out
            }
            Self::Codes { levels, other, missing, .. } => {
                let levels = levels.len() as u32 + u32::from(*other) + u32::from(*missing);
                vec![Column { name: name.to_owned(), kind: ColumnKind::Categorical { levels: levels.max(1) } }]
            }
            Self::Frequency { .. } => vec![numeric(format!("{name}__frequency"))],
        }
    }

    /// Encodes a number.
    pub(super) fn number(&self, value: f64, out: &mut [f64]) -> Fate {
        let Self::Number { fill, keep_missing, indicator } = self else { return Fate::Unseen };
        let missing = value.is_nan();
        out[0] = if missing && !keep_missing { *fill } else { value };
        if *indicator {
            out[1] = f64::from(u8::from(missing));
        }
        if missing && !keep_missing { Fate::Imputed } else { Fate::Plain }
    }

    /// Whether these numbers stay as they are.
    pub(super) fn keeps(&self, values: &Numbers) -> bool {
        match self {
            Self::Number { keep_missing, indicator, .. } => {
                !indicator && (*keep_missing || !values.iter().any(|v| v.is_nan()))
            }
            _ => false,
        }
    }

    /// Encodes a text as [`Self::lookup`] spells it, `None` where missing.
    pub(super) fn text(&self, level: Option<&str>, out: &mut [f64]) -> Fate {
        match self {
            Self::Number { .. } => Fate::Unseen,
            Self::OneHot { levels, other, missing } => {
                let known = level.and_then(|l| levels.iter().position(|k| k == l));
                let (place, fate) = match (level, known) {
                    (None, _) if *missing => (Some(levels.len() + usize::from(*other)), Fate::Plain),
                    (None, _) => (None, Fate::Imputed),
                    (Some(_), Some(place)) => (Some(place), Fate::Plain),
                    // Which rare levels training pooled is not stored, so that all of them count as unseen here.
                    (Some(_), None) => (other.then_some(levels.len()), Fate::Unseen),
                };
                let total = levels.len() + usize::from(*other) + usize::from(*missing);
                let skipped = usize::from(total == 2);
                out.fill(0.0);
                if let Some(place) = place.and_then(|p| p.checked_sub(skipped)) {
                    out[place] = 1.0;
                }
                fate
            }
            Self::Codes { levels, other, missing, keep_missing } => {
                let (code, fate) = match level {
                    None if *keep_missing => (f64::NAN, Fate::Plain),
                    None if *missing => ((levels.len() + usize::from(*other)) as f64, Fate::Plain),
                    None => (pool(levels, *other), Fate::Imputed),
                    Some(level) => match levels.binary_search_by(|k| k.as_str().cmp(level)) {
                        Ok(code) => (code as f64, Fate::Plain),
                        Err(_) if !other && *keep_missing => (f64::NAN, Fate::Unseen),
                        Err(_) => (pool(levels, *other), Fate::Unseen),
                    },
                };
                out[0] = code;
                fate
            }
            Self::Frequency { shares, missing } => {
                let (share, fate) = match level {
                    None => (*missing, if *missing > 0.0 { Fate::Plain } else { Fate::Imputed }),
                    Some(level) => shares.get(level).map_or((0.0, Fate::Unseen), |&s| (s, Fate::Plain)),
                };
                out[0] = share;
                fate
            }
        }
    }

    /// The levels that it knows, to look texts up in.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        match self {
            Self::OneHot { levels, .. } | Self::Codes { levels, .. } => Lookup::new(levels.iter().map(String::as_str)),
            Self::Frequency { shares, .. } => Lookup::new(shares.keys().map(String::as_str)),
            Self::Number { .. } => Lookup::new(std::iter::empty()),
        }
    }

    /// Whether missing numbers stay missing.
    pub(super) fn keeps_missing(&self) -> bool {
        matches!(self, Self::Number { keep_missing: true, .. })
    }

    /// Whether each output of texts that occur so often, with so many missing cells, is not the same in every row.
    pub(super) fn varying(&self, texts: &[String], counts: &[usize], n_missing: usize) -> Vec<bool> {
        let n_rows = counts.iter().sum::<usize>() + n_missing;
        let lookup = self.lookup();
        let mut outputs = vec![0.0; self.columns("").len()];
        // How many rows each output has at its first value, which is that of the first text.
        let mut first: Option<Vec<f64>> = None;
        let mut same = vec![0_usize; outputs.len()];
        let cells = texts.iter().zip(counts).map(|(text, &n)| (Some(lookup.of(text)), n));
        for (text, n) in cells.chain([(None, n_missing)]).filter(|(_, n)| *n > 0) {
            self.text(text, &mut outputs);
            let first = first.get_or_insert_with(|| outputs.clone());
            for j in 0..outputs.len() {
                same[j] += if outputs[j].to_bits() == first[j].to_bits() { n } else { 0 };
            }
        }
        same.into_iter().map(|n| n < n_rows).collect()
    }

    /// Whether it takes text.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Self::Number { .. })
    }
}

/// The code of cells that have none of their own: the pooled rest, or the first level for want of one.
fn pool(levels: &[String], other: bool) -> f64 {
    if other { levels.len() as f64 } else { 0.0 }
}

/// The median, 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *upper;
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    lower + (upper - lower) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), 0.0);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
