//! Average effects of the groups that a user asks for: the levels of a column, numbers in quantile bins, rows without a value
//! as a group of their own.

use paretau_core::{Error, Result, Seed};
use paretau_data::{ColumnData, RoleSpec, Table, TableColumn, Text};
use paretau_kernels::numeric::shortest_between;
use paretau_nuisance::{GroupEstimate, Nuisance, Observed, RowEvidence, group_estimates};
use serde::{Deserialize, Serialize};

use crate::about::{Estimate, Population};
use crate::scored_rows::ScoredRows;

/// Quantile bins of a column with many different numbers.
const BINS: usize = 4;
/// A column with at most so many different numbers is taken number by number.
const FEW: usize = 8;
/// Levels of a text column that are groups of their own, the commonest; the others are one group.
const LEVELS: usize = 20;

/// Effects of the groups that were asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupEffects {
    /// Whose effect is averaged within each group: the headline's population.
    pub estimand: Population,
    /// The groups, in the order of the columns that were named.
    pub groups: Vec<GroupEffect>,
}

/// A group with its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupEffect {
    /// Column.
    pub column: String,
    /// Which of its values, e.g. `north`, `above 31, at most 45`, `missing`.
    pub level: String,
    /// Rows of the control arm and of the treated arm.
    pub n: [usize; 2],
    /// Effective ones among them.
    pub effective: [f64; 2],
    /// The average effect with its own 95 % interval; absent where too few rows carry it.
    pub effect: Option<Estimate>,
    /// Ends of the band that holds the effects of all groups at once with probability 95 %.
    pub band: Option<(f64, f64)>,
    /// Why there is no effect.
    pub reason: Option<String>,
}

impl GroupEffect {
    pub(crate) fn new(column: &str, level: &str, found: &GroupEstimate) -> Self {
        let effect = found.effect.as_ref().ok();
        Self {
            column: column.to_owned(),
            level: level.to_owned(),
            n: found.n,
            effective: found.effective,
            effect: effect.map(|e| Estimate {
                value: e.score.value,
                se: e.score.se.unwrap_or_default(),
                lo: e.interval.0,
                hi: e.interval.1,
            }),
            band: effect.map(|e| e.band),
            reason: found.effect.as_ref().err().cloned(),
        }
    }
}

/// A column's values as groups of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partition {
    column: String,
    /// What each group is called, and its rows.
    levels: Vec<(String, Vec<usize>)>,
}

/// The columns that groups are asked by, or that effects are projected on. They need not be features, but an effect does not
/// depend on treatment and outcome.
pub(crate) fn columns(table: &Table, roles: &RoleSpec, by: &[String]) -> Result<Vec<TableColumn>> {
    by.iter()
        .map(|name| {
            if *name == roles.treatment || *name == roles.outcome {
                let role = if *name == roles.treatment { "treatment" } else { "outcome" };
                return Err(Error::unfit(format!(
                    "effects by `{name}`: that is the {role}; name a column that was known before the treatment"
                )));
            }
            table
                .column(name)
                .cloned()
                .ok_or_else(|| Error::unknown_name("column", name, table.columns().iter().map(|c| c.name.as_str())))
        })
        .collect()
}

/// The groups of columns among the rows that take part.
pub(crate) fn partitions(columns: &[TableColumn], rows: &[usize]) -> Vec<Partition> {
    columns.iter().map(|column| Partition::of(&column.select(rows))).collect()
}

impl Partition {
    /// The groups of a column.
    pub(crate) fn of(column: &TableColumn) -> Self {
        let mut levels = match &column.data {
            ColumnData::Text(text) => text_levels(text),
            ColumnData::Number(values) => number_levels(column, &values.contiguous()),
        };
        levels.retain(|(_, rows)| !rows.is_empty());
        Self { column: column.name.clone(), levels }
    }
}

fn text_levels(text: &Text) -> Vec<(String, Vec<usize>)> {
    let mut rows: Vec<Vec<usize>> = vec![vec![]; text.levels.len()];
    let mut missing = vec![];
    for (i, &code) in text.codes.iter().enumerate() {
        match rows.get_mut(code as usize) {
            Some(own) => own.push(i),
            None => missing.push(i),
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| rows[b].len().cmp(&rows[a].len()).then_with(|| text.levels[a].cmp(&text.levels[b])));
    let rest = order.split_off(order.len().min(LEVELS));
    let mut out: Vec<(String, Vec<usize>)> =
        order.into_iter().map(|l| (text.levels[l].clone(), std::mem::take(&mut rows[l]))).collect();
    let mut others: Vec<usize> = rest.into_iter().flat_map(|l| std::mem::take(&mut rows[l])).collect();
    others.sort_unstable();
    out.push(("any other".to_owned(), others));
    out.push(("missing".to_owned(), missing));
    out
}

fn number_levels(column: &TableColumn, values: &[f64]) -> Vec<(String, Vec<usize>)> {
    let missing: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_nan()).collect();
    let mut order: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let cell = |row: usize| column.cell(row).unwrap_or_default();
    // The last row of each different value.
    let ends = |k: usize| k + 1 == order.len() || values[order[k]] != values[order[k + 1]];
    let different: Vec<usize> = (0..order.len()).filter(|&k| ends(k)).take(FEW + 1).collect();
    let few = different.len() <= FEW;
    let cuts: Vec<usize> = if few {
        different
    } else {
        let mut cuts: Vec<usize> = vec![];
        for bin in 1..=BINS {
            // A value is never divided: the bin ends with the last row that has it.
            let mut end = (bin * order.len()).div_ceil(BINS) - 1;
            while !ends(end) {
                end += 1;
            }
            if cuts.last() != Some(&end) {
                cuts.push(end);
            }
        }
        cuts
    };
    // Between two bins, the shortest number that divides them: nobody reads sixteen digits.
    let bound = |end: usize| match order.get(end + 1) {
        Some(&next) if !few && !column.is_date => shortest_between(values[order[end]], values[next]),
        _ => cell(order[end]),
    };
    let (mut out, mut start) = (vec![], 0);
    for (k, &end) in cuts.iter().enumerate() {
        let mut rows = order[start..=end].to_vec();
        rows.sort_unstable();
        let upper = bound(end);
        let below = (start > 0).then(|| bound(start - 1));
        let last = k + 1 == cuts.len();
        let words = match below {
            _ if few => upper,
            None if last => "any".to_owned(),
            None => format!("at most {upper}"),
            Some(below) if last => format!("above {below}"),
            Some(below) => format!("above {below}, at most {upper}"),
        };
        out.push((words, rows));
        start = end + 1;
    }
    out.push(("missing".to_owned(), missing));
    out
}

impl GroupEffects {
    /// Effects of all groups of all columns, with one band over them.
    pub(crate) fn of(evidence: &RowEvidence<'_>, population: Population, by: &[Partition], seed: Seed) -> Result<Self> {
        let evidence = RowEvidence { estimand: population.estimand(), ..*evidence };
        let named: Vec<(&str, &str)> =
            by.iter().flat_map(|p| p.levels.iter().map(|(level, _)| (p.column.as_str(), level.as_str()))).collect();
        let rows: Vec<Vec<usize>> = by.iter().flat_map(|p| p.levels.iter().map(|(_, rows)| rows.clone())).collect();
        let found = group_estimates(&evidence, &rows, rows.len(), seed.named("group effects"))?;
        let groups = named.iter().zip(&found).map(|((column, level), e)| GroupEffect::new(column, level, e)).collect();
        Ok(Self { estimand: population, groups })
    }
}

/// What averages of the training rows need. It stays in memory and never goes into a model file.
#[derive(Debug, Clone)]
pub(crate) struct TrainingEvidence {
    t: Vec<u8>,
    y: Vec<f64>,
    weight: Option<Vec<f64>>,
    clusters: Option<Vec<u32>>,
    nuisance: Nuisance,
    inverse_weights: Vec<f64>,
    /// Predicted effects that were made without the row, where there are any.
    tau: Option<Vec<f64>>,
    population: Population,
    /// Where each row stands in the table of the fit.
    rows: Vec<usize>,
    /// Rows of that table.
    n_rows: usize,
    seed: Seed,
}

impl TrainingEvidence {
    pub(crate) fn new(
        evidence: &RowEvidence<'_>,
        tau: Option<&[f64]>,
        population: Population,
        rows: (&[usize], usize),
        seed: Seed,
    ) -> Self {
        let own = evidence.rows;
        Self {
            t: own.t.to_vec(),
            y: own.y.to_vec(),
            weight: own.weight.map(<[f64]>::to_vec),
            clusters: own.groups.map(<[u32]>::to_vec),
            nuisance: evidence.nuisance.clone(),
            inverse_weights: evidence.inverse_weights.to_vec(),
            tau: tau.map(<[f64]>::to_vec),
            population,
            rows: rows.0.to_vec(),
            n_rows: rows.1,
            seed,
        }
    }

    /// Effects of the groups of some columns that have a cell for every row of the fit's table.
    pub(crate) fn group_effects(&self, by: &Table) -> Result<GroupEffects> {
        let (expected, found) = (self.n_rows, by.n_rows());
        if expected != found {
            return Err(Error::LengthMismatch { what: "columns of groups", expected, found });
        }
        let observed = self.observed();
        let evidence = RowEvidence {
            rows: &observed,
            nuisance: &self.nuisance,
            inverse_weights: &self.inverse_weights,
            estimand: self.population.estimand(),
        };
        GroupEffects::of(&evidence, self.population, &partitions(by.columns(), &self.rows), self.seed)
    }

    fn observed(&self) -> Observed<'_> {
        Observed { t: &self.t, y: &self.y, weight: self.weight.as_deref(), groups: self.clusters.as_deref() }
    }

    /// The rows with their doubly robust scores.
    pub(crate) fn scored_rows(&self) -> ScoredRows {
        ScoredRows {
            t: self.t.clone(),
            y: self.y.clone(),
            weight: self.weight.clone(),
            clusters: self.clusters.clone(),
            scores: self.nuisance.scores(&self.observed(), &self.inverse_weights),
            nuisance: self.nuisance.clone(),
            tau: self.tau.clone(),
            of_training: true,
            rows: self.rows.clone(),
            n_rows: self.n_rows,
            seed: self.seed,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sizes(partition: &Partition) -> Vec<(&str, usize)> {
        partition.levels.iter().map(|(name, rows)| (name.as_str(), rows.len())).collect()
    }

    #[test]
    fn columns_become_groups_that_hold_each_row_once() {
        let age: Vec<f64> = (0..101).map(|i| if i == 100 { f64::NAN } else { f64::from(i) }).collect();
        let found = Partition::of(&TableColumn::number("age", age));
        assert_eq!(
            sizes(&found),
            [
                ("at most 24", 25),
                ("above 24, at most 49", 25),
                ("above 49, at most 74", 25),
                ("above 74", 25),
                ("missing", 1)
            ]
        );
        let found = Partition::of(&TableColumn::number("few", vec![1.0, 0.0, 1.0, f64::NAN]));
        assert_eq!(sizes(&found), [("0", 1), ("1", 2), ("missing", 1)]);
        let cells = ["b", "a", "b", ""].map(|c| (!c.is_empty()).then_some(c));
        let found = Partition::of(&TableColumn::text("town", Text::from_cells(cells)));
        assert_eq!(sizes(&found), [("b", 2), ("a", 1), ("missing", 1)]);
    }

    #[test]
    fn a_value_is_never_divided_between_bins() {
        let mut values: Vec<f64> = (0..20).map(f64::from).collect();
        values.extend(vec![3.0; 60]);
        let found = Partition::of(&TableColumn::number("x", values.clone()));
        let mut all: Vec<usize> = found.levels.iter().flat_map(|(_, rows)| rows.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..80).collect::<Vec<_>>());
        let with_three = found.levels.iter().filter(|(_, rows)| rows.iter().any(|&i| values[i] == 3.0)).count();
        assert_eq!(with_three, 1, "{:?}", sizes(&found));
    }
}
