//! Objectives of a search: losses on rows that its fit did not see, none of which needs the truth.

use paretau_core::{Effects, Error, FitContext, Observer, Result, Seed};
use paretau_data::Assigned;
use serde::{Deserialize, Serialize};

use paretau::yardstick;

/// A loss on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Mean squared error of the outcome predicted for the arm that each row was in.
    Factual,
    /// Mean squared distance of the effect from cross-fitted doubly robust scores.
    Dr,
    /// The R-loss: mean squared residual of outcome and treatment, cross-fitted, explained by the effect.
    R,
}

impl Objective {
    const ALL: [Self; 3] = [Self::Factual, Self::Dr, Self::R];

    /// Its name in plans and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Factual => "factual",
            Self::Dr => "dr",
            Self::R => "r",
        }
    }
}

impl std::str::FromStr for Objective {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|objective| objective.name() == text);
        found.ok_or_else(|| Error::unknown_name("objective", text, Self::ALL.map(Self::name)))
    }
}

/// An objective with what it needs of the rows, computed once for all trials.
pub(super) struct HeldOutLoss {
    rows: Rows,
    t: Vec<u8>,
    weight: Vec<f64>,
}

enum Rows {
    Factual { y: Vec<f64> },
    Dr { scores: Vec<f64> },
    R { y_residual: Vec<f64>, t_residual: Vec<f64> },
}

impl HeldOutLoss {
    pub(super) fn new(objective: Objective, rows: &Assigned, seed: Seed, observer: &dyn Observer) -> Result<Self> {
        let t = rows.t.clone();
        let weight = rows.weight.clone().unwrap_or_else(|| vec![1.0; t.len()]);
        let rows = match objective {
            Objective::Factual => Rows::Factual { y: rows.y.clone() },
            Objective::Dr => Rows::Dr { scores: yardstick(rows, &FitContext::new(seed, observer))?.scores },
            Objective::R => {
                let nuisance = yardstick(rows, &FitContext::new(seed, observer))?.nuisance;
                Rows::R {
                    y_residual: rows.y.iter().zip(&nuisance.m).map(|(y, m)| y - m).collect(),
                    t_residual: t.iter().zip(&nuisance.e).map(|(&t, e)| f64::from(t) - e).collect(),
                }
            }
        };
        Ok(Self { rows, t, weight })
    }

    /// The mean loss of predictions for the given rows.
    pub(super) fn mean(&self, effects: &Effects, held_out: &[usize]) -> Result<f64> {
        let (mut total, mut weights) = (0.0, 0.0);
        for (k, &i) in held_out.iter().enumerate() {
            let error = match &self.rows {
                Rows::Factual { y } => y[i] - if self.t[i] == 1 { effects.mu1[k] } else { effects.mu0[k] },
                Rows::Dr { scores } => scores[i] - effects.tau[k],
                Rows::R { y_residual, t_residual } => y_residual[i] - t_residual[i] * effects.tau[k],
            };
            total += self.weight[i] * error * error;
            weights += self.weight[i];
        }
        let loss = total / weights;
        if loss.is_finite() {
            Ok(loss)
        } else {
            Err(Error::Numeric { what: "the objective of a trial", message: "the loss is not finite".into() })
        }
    }
}
