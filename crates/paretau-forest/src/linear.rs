//! A linear base learner for centering, cross-fitted: where outcome or treatment follow the features smoothly, a line
//! predicts better than a forest's steps. It comes through the toolbox; forests do not know how it is fitted.

use std::borrow::Cow;

use paretau_core::{
    BaseEntry, Column, ColumnKind, Dense, Features, FitContext, Params, RegressionTask, Result, State, Target, Toolbox,
};
use paretau_nuisance::folds::folds;
use paretau_nuisance::{CrossTask, FoldFits, fit_folds};
use serde::{Deserialize, Serialize};

use crate::causal_model::FoldModels;
use crate::rows::CausalRows;

/// Folds of the cross-fitting.
const FOLDS: usize = 5;
/// A line needs no more rows than this; more would cost time and change little.
const MOST_ROWS: usize = 20_000;
/// Columns, levels counted one by one, beyond which no line is tried: the work grows with their square.
const MOST_COLUMNS: usize = 300;

/// How the features become numbers without gaps: missing values become the column's mean, levels become indicators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Expansion(Vec<Expanded>);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Expanded {
    Number { mean: f64 },
    Levels { count: u32 },
}

impl Expansion {
    fn fit(x: &Features, columns: &[Column]) -> Self {
        let (mut sums, mut counts) = (vec![0.0; x.n_cols()], vec![0.0; x.n_cols()]);
        let mut row = vec![0.0; x.n_cols()];
        for i in 0..x.n_rows() {
            x.copy_row(i, &mut row);
            for (j, v) in row.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                sums[j] += v;
                counts[j] += 1.0;
            }
        }
        let mean = |j: usize| if counts[j] > 0.0 { sums[j] / counts[j] } else { 0.0 };
        Self(
            columns
                .iter()
                .enumerate()
                .map(|(j, column)| match column.kind {
                    ColumnKind::Numeric => Expanded::Number { mean: mean(j) },
                    ColumnKind::Categorical { levels } => Expanded::Levels { count: levels },
                })
                .collect(),
        )
    }

    fn width(&self) -> usize {
        self.0.iter().map(|c| if let Expanded::Levels { count } = c { *count as usize } else { 1 }).sum()
    }

    fn apply<'a>(&self, x: &'a Features) -> Result<Cow<'a, Features>> {
        let plain = self.0.iter().all(|c| matches!(c, Expanded::Number { .. }));
        if plain && !x.has_missing() {
            return Ok(Cow::Borrowed(x));
        }
        let mut values = Vec::with_capacity(x.n_rows() * self.width());
        let mut row = vec![0.0; x.n_cols()];
        for i in 0..x.n_rows() {
            x.copy_row(i, &mut row);
            for (&v, column) in row.iter().zip(&self.0) {
                match *column {
                    Expanded::Number { mean } => values.push(if v.is_nan() { mean } else { v }),
                    Expanded::Levels { count } => {
                        values.extend((0..count).map(|level| f64::from(u8::from(v == f64::from(level)))));
                    }
                }
            }
        }
        Ok(Cow::Owned(Features::Dense(Dense::new(x.n_rows(), self.width(), values)?)))
    }
}

/// Linear models, one per fold; their mean speaks for new rows.
#[derive(Debug)]
pub(crate) struct Linear {
    expansion: Expansion,
    models: FoldModels,
}

impl Linear {
    /// Cross-fits the base learner; gives back what it says of the training rows, each by a model that has not seen
    /// it. Nothing where it cannot be fitted: too many columns, or too few rows of a kind.
    pub(crate) fn cross_fit(
        base: &'static dyn BaseEntry,
        rows: &CausalRows<'_>,
        y: &[f64],
        ctx: &FitContext<'_>,
    ) -> Result<Option<(Self, Vec<f64>)>> {
        // Counted before anything of that size is made: sparse features may have very many columns.
        if rows.x.n_cols() > MOST_COLUMNS {
            return Ok(None);
        }
        let expansion = Expansion::fit(rows.x, rows.columns);
        if expansion.width() > MOST_COLUMNS {
            return Ok(None);
        }
        let binary = y.iter().all(|&v| v == 0.0 || v == 1.0);
        let target = if binary { Target::Probability } else { Target::Mean };
        let strata: Vec<u8> = y.iter().map(|&v| u8::from(binary && v == 1.0)).collect();
        let Ok(parts) = folds(&strata, rows.groups, FOLDS, ctx.seed.named("linear")) else { return Ok(None) };
        let x = expansion.apply(rows.x)?;
        let columns = Column::numbered(expansion.width());
        let learner = base.build(&Params::none())?;
        let task =
            RegressionTask { x: x.as_ref(), columns: &columns, y, weight: rows.weight, groups: rows.groups, target };
        let task = CrossTask { most_rows: Some(MOST_ROWS), ..CrossTask::new(task) };
        // What cannot be fitted by a line, such as a fold with one class, is left to the forests.
        let Ok(fits) = fit_folds(&task, learner.as_ref(), &parts, ctx.seed.named("linear"), ctx) else {
            ctx.check_interrupt()?;
            return Ok(None);
        };
        let FoldFits { held_out: values, models } = fits;
        if values.iter().any(|v| !v.is_finite()) {
            return Ok(None);
        }
        let models = FoldModels { base: base.name().to_owned(), models };
        Ok(Some((Self { expansion, models }, values)))
    }

    pub(crate) fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        self.models.predict(self.expansion.apply(x)?.as_ref())
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest("expansion", State::new(&self.expansion)?);
        state.nest("models", self.models.state()?);
        Ok(state)
    }

    pub(crate) fn load(state: &State, tools: &Toolbox) -> Result<Self> {
        let expansion = state.nested("expansion")?.parse()?;
        Ok(Self { expansion, models: FoldModels::load(&state.nested("models")?, tools)? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gaps_become_means_and_levels_become_indicators() {
        let mut columns = Column::numbered(2);
        columns[1].kind = ColumnKind::Categorical { levels: 3 };
        let x = Features::Dense(Dense::new(3, 2, vec![1.0, 0.0, f64::NAN, 2.0, 3.0, f64::NAN]).unwrap());
        let expansion = Expansion::fit(&x, &columns);
        let Features::Dense(out) = expansion.apply(&x).unwrap().into_owned() else { unreachable!() };
        assert_eq!(out.values(), [1.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0]);
    }
}
