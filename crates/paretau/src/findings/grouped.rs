//! Feature columns as a few groups of rows each, with words for every group: what subgroups and the tree are made of.

use paretau_data::{ColumnData, SparseBlock, Table, TableColumn, Text};
use paretau_kernels::numeric::mean;

/// Levels of a text column that are groups of their own, the commonest.
const LEVELS: usize = 12;
/// Thresholds of a column of numbers.
const THRESHOLDS: usize = 15;
/// Columns with at most so many different numbers are grouped number by number.
const FEW: usize = 6;

/// A column in groups.
pub(super) struct Grouped {
    pub(super) name: String,
    pub(super) kind: GroupKind,
    /// Group of each row; [`Grouped::MISSING`] without a value.
    pub(super) codes: Vec<u8>,
    /// Variance of the effect between groups.
    between: f64,
}

/// What the groups of a column are.
pub(super) enum GroupKind {
    /// Rising numbers: group k holds values up to threshold k and above the one before.
    Thresholds(Vec<Threshold>),
    /// Named levels without an order.
    Levels(Vec<String>),
}

/// A bound of a group with its words.
#[derive(Clone)]
pub(super) struct Threshold {
    value: f64,
    pub(super) words: String,
    /// Share of the rows at or below it.
    pub(super) share: f64,
    /// Whether its group is this one value.
    pub(super) single: bool,
}

impl Grouped {
    /// The group of rows without a value.
    pub(super) const MISSING: u8 = u8::MAX;

    /// The columns of a table that tell the effects apart best, best first, ties in the table's order.
    pub(super) fn of(table: &Table, tau: &[f64], most: usize) -> Vec<Self> {
        let mut all: Vec<Self> = table.columns().iter().filter_map(|c| Self::column(c, tau)).collect();
        if let Some(block) = table.sparse() {
            all.extend(Self::sparse(block, tau));
        }
        all.sort_by(|a, b| b.between.total_cmp(&a.between));
        all.truncate(most);
        all
    }

    /// Number of groups, rows without a value apart.
    pub(super) fn n_groups(&self) -> usize {
        match &self.kind {
            // Above the last threshold there is one more.
            GroupKind::Thresholds(t) => t.len() + 1,
            GroupKind::Levels(levels) => levels.len(),
        }
    }

    fn new(name: &str, kind: GroupKind, codes: Vec<u8>, tau: &[f64]) -> Option<Self> {
        let mut own = Self { name: name.to_owned(), kind, codes, between: 0.0 };
        own.between = own.variance_between(tau);
        (own.n_groups() > 1).then_some(own)
    }

    fn variance_between(&self, tau: &[f64]) -> f64 {
        let mut sums = vec![(0.0, 0.0); 256];
        for (&code, v) in self.codes.iter().zip(tau) {
            sums[usize::from(code)].0 += 1.0;
            sums[usize::from(code)].1 += v;
        }
        let n = tau.len() as f64;
        let mean = mean(tau);
        sums.iter().filter(|s| s.0 > 0.0).map(|(k, s)| k * (s / k - mean).powi(2)).sum::<f64>() / n
    }

    fn column(column: &TableColumn, tau: &[f64]) -> Option<Self> {
        match &column.data {
            ColumnData::Text(text) => Self::text(&column.name, text, tau),
            ColumnData::Number(values) => Self::numbers(column, &values.contiguous(), tau),
        }
    }

    fn text(name: &str, text: &Text, tau: &[f64]) -> Option<Self> {
        let mut counts = vec![0_usize; text.levels.len()];
        text.codes.iter().filter(|&&c| c != Text::MISSING).for_each(|&c| counts[c as usize] += 1);
        let mut order: Vec<usize> = (0..counts.len()).filter(|&l| counts[l] > 0).collect();
        order.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| text.levels[a].cmp(&text.levels[b])));
        let rest = order.split_off(order.len().min(LEVELS));
        let mut names: Vec<String> = order.iter().map(|&l| text.levels[l].clone()).collect();
        let mut code_of = vec![order.len() as u8; text.levels.len()];
        order.iter().enumerate().for_each(|(k, &l)| code_of[l] = k as u8);
        if !rest.is_empty() {
            names.push("any other".to_owned());
        }
        let codes = text.codes.iter().map(|&c| code_of.get(c as usize).copied().unwrap_or(Self::MISSING)).collect();
        Self::new(name, GroupKind::Levels(names), codes, tau)
    }

    fn numbers(column: &TableColumn, values: &[f64], tau: &[f64]) -> Option<Self> {
        let mut order: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
        let mut firsts: Vec<usize> = vec![];
        for &row in &order {
            if firsts.last().is_none_or(|&last| values[last] != values[row]) {
                firsts.push(row);
                if firsts.len() > FEW {
                    break;
                }
            }
        }
        let cell = |row: usize| column.cell(row).unwrap_or_default();
        if firsts.len() <= 2 {
            let names: Vec<String> = firsts.iter().map(|&row| cell(row)).collect();
            let code = |v: &f64| firsts.iter().position(|&row| values[row] == *v).map_or(Self::MISSING, |k| k as u8);
            return Self::new(&column.name, GroupKind::Levels(names), values.iter().map(code).collect(), tau);
        }
        let few = firsts.len() <= FEW;
        let bounds: Vec<(f64, String)> =
            if few {
                // The largest value needs no threshold: it is what lies above the last.
                firsts.iter().map(|&row| (values[row], cell(row))).take(firsts.len() - 1).collect()
            } else {
                let quantile = |k: usize| order[(k * (order.len() - 1)) / (THRESHOLDS + 1)];
                (1..=THRESHOLDS)
                    .map(|k| {
                        if column.is_date {
                            (values[quantile(k)], cell(quantile(k)))
                        } else {
                            round(values[quantile(k)])
                        }
                    })
                    .collect()
            };
        let largest = order.last().map_or(f64::NAN, |&row| values[row]);
        let mut thresholds: Vec<Threshold> = vec![];
        for (value, words) in bounds {
            if value < largest && thresholds.last().is_none_or(|last| last.value < value) {
                let below = order.partition_point(|&row| values[row] <= value);
                let share = below as f64 / order.len() as f64;
                thresholds.push(Threshold { value, words, share, single: few });
            }
        }
        if few {
            // So that the last group has its words too.
            let last = firsts.last().map_or_else(String::new, |&row| cell(row));
            thresholds.push(Threshold { value: f64::INFINITY, words: last, share: 1.0, single: true });
        }
        let code =
            |v: &f64| if v.is_nan() { Self::MISSING } else { thresholds.partition_point(|t| t.value < *v) as u8 };
        let codes = values.iter().map(code).collect();
        Self::new(&column.name, GroupKind::Thresholds(thresholds), codes, tau)
    }

    /// Sparse columns: present or not. Only those that tell the effects apart are worth spelling out.
    fn sparse(block: &SparseBlock, tau: &[f64]) -> Vec<Self> {
        let d = block.names.len();
        let n = tau.len();
        let (mut count, mut sum) = (vec![0.0; d], vec![0.0; d]);
        for (i, v) in tau.iter().enumerate() {
            for (&j, _) in block.values.row(i).0.iter().zip(block.values.row(i).1).filter(|(_, x)| **x != 0.0) {
                count[j as usize] += 1.0;
                sum[j as usize] += v;
            }
        }
        let total: f64 = tau.iter().sum();
        let between = |j: usize| {
            let (with, without) = (count[j], n as f64 - count[j]);
            if with < 1.0 || without < 1.0 {
                0.0
            } else {
                with * without * (sum[j] / with - (total - sum[j]) / without).powi(2)
            }
        };
        let mut order: Vec<usize> = (0..d).collect();
        order.sort_by(|&a, &b| between(b).total_cmp(&between(a)).then(a.cmp(&b)));
        order.truncate(super::MOST_FEATURES);
        order
            .into_iter()
            .filter_map(|j| {
                let codes = (0..n)
                    .map(|i| {
                        let (indices, values) = block.values.row(i);
                        u8::from(indices.binary_search(&(j as u32)).is_ok_and(|k| values[k] != 0.0))
                    })
                    .collect();
                let names = vec!["0".to_owned(), "not 0".to_owned()];
                Self::new(&block.names[j], GroupKind::Levels(names), codes, tau)
            })
            .collect()
    }
}

/// A number cut to three digits, with its words: conditions that are shown are the ones that were applied.
fn round(value: f64) -> (f64, String) {
    if value == 0.0 || !value.is_finite() {
        return (value, format!("{value}"));
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    if digits <= 0 {
        let whole = value.round();
        return (whole, format!("{whole}"));
    }
    let text = format!("{value:.*}", digits.min(300) as usize);
    let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
    (text.parse().unwrap_or(value), text)
}
