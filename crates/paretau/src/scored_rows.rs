//! Questions to rows that have doubly robust scores: on what does the effect depend (best linear projection), are the
//! predictions calibrated, does treating by them pay (rank-weighted averages and the targeting curve)?
//!
//! The rows are those of a fit, as long as its model has not been saved and read again, or rows that were kept aside.

use paretau_core::{Error, FitContext, Observer, Result, Seed};
use paretau_data::{ColumnData, RoleSpec, Table, TableColumn, assign};
use paretau_eval::{Calibration, EffectGroup, TocBand, calibration, effect_groups, rate, toc_band};
use paretau_nuisance::inference::normal_tail;
use paretau_nuisance::ols::ols;
use paretau_nuisance::{Nuisance, Observed, Score, same_length};
use serde::{Deserialize, Serialize};

use crate::about::Estimate;
use crate::evaluate::compared_arm;
use crate::fingerprint::Recognition;
use crate::model::Model;
use crate::nuisances::{Yardstick, yardstick};

/// Levels of one text column that a projection takes.
const MOST_LEVELS: usize = 50;

/// Rows of two arms with doubly robust scores and, where there are any, predictions by models that did not see them.
#[derive(Debug, Clone)]
pub struct ScoredRows {
    pub(crate) t: Vec<u8>,
    pub(crate) y: Vec<f64>,
    pub(crate) weight: Option<Vec<f64>>,
    pub(crate) clusters: Option<Vec<u32>>,
    pub(crate) nuisance: Nuisance,
    pub(crate) scores: Vec<f64>,
    /// Predicted effects that were made without the row; absent when the estimator has none for its training rows.
    pub(crate) tau: Option<Vec<f64>>,
    /// Whether these are the rows of the fit, so that such predictions were made from all rows but a few.
    pub(crate) of_training: bool,
    /// Where each row stands in the table.
    pub(crate) rows: Vec<usize>,
    /// Rows of that table.
    pub(crate) n_rows: usize,
    pub(crate) seed: Seed,
}

/// A coefficient with its 95 % interval and its two-sided p-value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// What it belongs to: `intercept`, a column, or `column=level`.
    pub name: String,
    /// The number with its interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Probability of a number as far from 0 if it were 0.
    pub p: f64,
}

/// Does treating those of the highest priority first pay?
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Area under the targeting curve.
    pub autoc: Score,
    /// The same, weighted by the share treated.
    pub qini: Score,
    /// The curve.
    pub toc: Vec<TocBand>,
    /// Whether errors hold on one side only: of the fit's own rows a row's outcome is missing from its own prediction, which
    /// draws the ranking's gain down, so that only lower limits are to be read.
    pub one_sided: bool,
}

impl ScoredRows {
    /// Rows that the model did not learn from, scored by nuisances that are cross-fitted on them.
    pub fn of_new_rows(
        model: &Model,
        table: Table,
        roles: &RoleSpec,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let n_rows = table.n_rows();
        let assigned = assign(table, roles)?;
        if !matches!(model.recognise(&assigned)?, Recognition::New) {
            return Err(Error::unfit(
                "the model learned from some of these rows, so its predictions for them flatter it: give rows that were kept \
                 aside before the fit",
            ));
        }
        let arm = compared_arm(model, &assigned)?;
        let tau = model.contrasts(&assigned.features)?.swap_remove(arm).tau;
        let Yardstick { design, nuisance, scores } = yardstick(&assigned, &FitContext::new(seed, observer))?;
        Ok(Self {
            t: design.t().to_vec(),
            y: design.y().to_vec(),
            weight: design.weight().map(<[f64]>::to_vec),
            clusters: design.groups().map(<[u32]>::to_vec),
            nuisance,
            scores,
            tau: Some(tau),
            of_training: false,
            rows: assigned.rows.clone(),
            n_rows,
            seed,
        })
    }

    fn observed(&self) -> Observed<'_> {
        Observed { t: &self.t, y: &self.y, weight: self.weight.as_deref(), groups: self.clusters.as_deref() }
    }

    /// The doubly robust score of each row.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Where each row stands in the table that it came from.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    fn predictions(&self) -> Result<&[f64]> {
        self.tau.as_deref().ok_or_else(|| {
            Error::unfit(
                "this estimator has no predictions of its training rows that were made without them, and others would flatter \
                 it: ask with rows that were kept aside before the fit",
            )
        })
    }

    /// Best linear projection of the effect on a constant and some columns: least squares of the doubly robust scores with
    /// HC3 (or clustered) errors. Text becomes indicators against its commonest level. The columns have a cell for every row
    /// of the table.
    pub fn best_linear_projection(&self, columns: Option<&Table>) -> Result<Vec<Coefficient>> {
        let mut named = vec![("intercept".to_owned(), vec![1.0; self.scores.len()])];
        if let Some(table) = columns {
            same_length("columns of the projection", self.n_rows, table.n_rows())?;
            if table.sparse().is_some() {
                return Err(Error::unfit("a projection on sparse columns is not offered; name a few columns"));
            }
            for column in table.columns() {
                named.extend(numbers(&column.select(&self.rows), &self.rows)?);
            }
        }
        if named.len() * 2 > self.scores.len() {
            return Err(Error::unfit(format!(
                "a projection on {} columns needs more than {} rows; name fewer columns",
                named.len(),
                2 * named.len()
            )));
        }
        let (names, design): (Vec<String>, Vec<Vec<f64>>) = named.into_iter().unzip();
        let rows = self.observed();
        let w: Vec<f64> = (0..rows.len()).map(|i| rows.w(i)).collect();
        let found = ols(&design, &self.scores, &w, rows.groups).ok_or_else(|| {
            Error::unfit(
                "the columns of the projection determine each other, or one is the same in every row; leave some out",
            )
        })?;
        let coefficient = |(name, score): (String, Score)| {
            let estimate = Estimate::from_score(score)?;
            let p = if estimate.se > 0.0 { 2.0 * normal_tail((estimate.value / estimate.se).abs()) } else { 1.0 };
            Ok(Coefficient { name, estimate, p })
        };
        names.into_iter().zip(found).map(coefficient).collect()
    }

    /// The calibration regression of the predictions.
    pub fn calibration(&self) -> Result<Calibration> {
        Ok(calibration(&self.observed(), &self.nuisance, self.predictions()?))
    }

    /// Rows in up to `k` groups of similar predicted effect: what was predicted and what was seen.
    pub fn calibration_groups(&self, k: usize) -> Result<Vec<EffectGroup>> {
        Ok(effect_groups(&self.observed(), &self.scores, self.predictions()?, k.clamp(1, 1000)))
    }

    /// Rank-weighted averages and the targeting curve at `points` shares: of the predictions, or of priorities that have a
    /// number for every row of the table and were made without the outcomes of the rows.
    pub fn rank(&self, priorities: Option<&[f64]>, points: usize) -> Result<Ranked> {
        let own: Vec<f64>;
        let priority: &[f64] = match priorities {
            None => self.predictions()?,
            Some(given) => {
                same_length("priorities", self.n_rows, given.len())?;
                if let Some(row) = self.rows.iter().find(|&&i| !given[i].is_finite()) {
                    return Err(Error::unfit(format!("priorities: row {} is not a finite number", row + 1)));
                }
                own = self.rows.iter().map(|&i| given[i]).collect();
                &own
            }
        };
        let rows = self.observed();
        let (autoc, qini) = rate(&rows, &self.scores, priority, self.seed);
        let toc = toc_band(&rows, &self.scores, priority, points.clamp(2, 1000), self.seed);
        Ok(Ranked { autoc, qini, toc, one_sided: self.of_training && priorities.is_none() })
    }
}

/// A column as numbers: itself, or an indicator of each level but the commonest. `rows` are where its cells stand in the table.
fn numbers(column: &TableColumn, rows: &[usize]) -> Result<Vec<(String, Vec<f64>)>> {
    let missing = |row: usize| {
        Error::unfit(format!(
            "column `{}` of the projection has no value in row {}; fill it in or leave the column out",
            column.name,
            rows[row] + 1
        ))
    };
    match &column.data {
        ColumnData::Number(values) => match values.iter().position(|v| !v.is_finite()) {
            Some(row) => Err(missing(row)),
            None => Ok(vec![(column.name.clone(), values.contiguous().into_owned())]),
        },
        ColumnData::Text(text) => {
            let mut counts = vec![0_usize; text.levels.len()];
            for (row, &code) in text.codes.iter().enumerate() {
                *counts.get_mut(code as usize).ok_or_else(|| missing(row))? += 1;
            }
            let used: Vec<usize> = (0..counts.len()).filter(|&l| counts[l] > 0).collect();
            if used.len() > MOST_LEVELS {
                return Err(Error::unfit(format!(
                    "column `{}` of the projection has {} levels, more than {MOST_LEVELS}; join some or leave it out",
                    column.name,
                    used.len()
                )));
            }
            // The first of the commonest stands for the intercept.
            let commonest = used.iter().copied().rev().max_by_key(|&l| counts[l]);
            let indicator = |level: usize| {
                let own = text.codes.iter().map(|&code| f64::from(u8::from(code as usize == level))).collect();
                (format!("{}={}", column.name, text.levels[level]), own)
            };
            Ok(used.into_iter().filter(|&l| Some(l) != commonest).map(indicator).collect())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_data::Text;

    use super::*;

    fn rows() -> ScoredRows {
        let n = 200;
        let mut rng = Seed(4).rng();
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        ScoredRows {
            t: (0..n).map(|i| u8::from(i % 2 == 0)).collect(),
            y: vec![0.0; n],
            weight: None,
            clusters: None,
            nuisance: Nuisance::from_arms(vec![0.0; n], vec![0.0; n], vec![0.5; n]),
            scores: x.iter().map(|v| 2.0 + 3.0 * v + 0.1 * rng.normal()).collect(),
            tau: None,
            of_training: true,
            // The table has a row in front that was left out.
            rows: (1..=n).collect(),
            n_rows: n + 1,
            seed: Seed(0),
        }
    }

    #[test]
    fn projections_are_least_squares_of_the_scores() {
        let rows = rows();
        let mut rng = Seed(4).rng();
        let mut x = vec![f64::NAN];
        x.extend((0..200).map(|_| rng.normal()));
        let table = Table::new(vec![TableColumn::number("x", x)]).unwrap();
        let found = rows.best_linear_projection(Some(&table)).unwrap();
        assert_eq!(found.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["intercept", "x"]);
        assert!((found[0].estimate.value - 2.0).abs() < 0.03 && (found[1].estimate.value - 3.0).abs() < 0.03);
        assert!(found[1].p < 1e-10 && found[1].estimate.lo < 3.03 && found[1].estimate.hi > 2.97);
        let mean = rows.scores.iter().sum::<f64>() / 200.0;
        assert!((rows.best_linear_projection(None).unwrap()[0].estimate.value - mean).abs() < 1e-12);
        assert!(rows.calibration().unwrap_err().to_string().contains("kept aside"));
    }

    #[test]
    fn text_is_told_from_its_commonest_level_and_gaps_are_refused() {
        let text = Text::from_cells(["b", "a", "b", "c"].map(Some));
        let found = numbers(&TableColumn::text("town", text), &[0, 1, 2, 3]).unwrap();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["town=a", "town=c"]);
        assert_eq!(found[1].1, [0.0, 0.0, 0.0, 1.0]);
        let gap = Text::from_cells([Some("b"), None]);
        assert!(numbers(&TableColumn::text("town", gap), &[4, 7]).unwrap_err().to_string().contains("row 8"));
    }

    #[test]
    fn a_ranking_by_the_effect_pays_and_one_at_random_does_not() {
        let rows = rows();
        let mut priorities = vec![0.0];
        priorities.extend(&rows.scores);
        let found = rows.rank(Some(&priorities), 10).unwrap();
        assert!(found.autoc.value > 4.0 * found.autoc.se.unwrap() && found.qini.value > 0.0 && found.toc.len() == 10);
        assert!(!found.one_sided);
        priorities[7] = f64::NAN;
        assert!(rows.rank(Some(&priorities), 10).unwrap_err().to_string().contains("row 8"));
        assert!(rows.rank(Some(&priorities[1..]), 10).is_err());
    }
}
