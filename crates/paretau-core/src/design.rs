//! A design: all that an estimator may see. Potential outcomes are not in it, by construction.

use serde::{Deserialize, Serialize};

use crate::{Column, Error, Features, Result};

/// Whether the outcome is a number or a yes/no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// Any real number.
    Continuous,
    /// 0 or 1; expected outcomes are probabilities.
    Binary,
}

/// Features, treatment and outcome of the rows to learn from, with optional row weights, known
/// propensities and groups.
#[derive(Debug, Clone)]
pub struct Design {
    x: Features,
    columns: Vec<Column>,
    t: Vec<u8>,
    n_arms: usize,
    y: Vec<f64>,
    outcome: OutcomeKind,
    weight: Option<Vec<f64>>,
    propensity: Option<Vec<f64>>,
    groups: Option<Vec<u32>>,
}

impl Design {
    /// A checked design with two arms: lengths agree, `y` is finite, `t` is 0 or 1 and both arms occur.
    pub fn new(x: Features, t: Vec<u8>, y: Vec<f64>) -> Result<Self> {
        Self::with_arms(x, t, y, 2)
    }

    /// A checked design with `n_arms` arms coded `0..n_arms`, arm 0 being the control.
    pub fn with_arms(x: Features, t: Vec<u8>, y: Vec<f64>, n_arms: usize) -> Result<Self> {
        let n = x.n_rows();
        if n == 0 {
            return Err(Error::unfit("there are no rows to learn from"));
        }
        if x.n_cols() == 0 {
            return Err(Error::unfit("there are no feature columns; name at least one"));
        }
        check_length("treatment", n, t.len())?;
        check_length("outcome", n, y.len())?;
        check_finite("outcome", &y, "remove the row or mend the outcome")?;
        if let Some((row, col, value)) = x.first_infinite() {
            return Err(Error::NonFinite {
                what: format!("feature column {}", col + 1),
                row: row + 1,
                value,
                remedy: "replace infinities by a number or leave the cell empty (missing)",
            });
        }
        for arm in 0..n_arms {
            if !t.iter().any(|&a| usize::from(a) == arm) {
                return Err(Error::unfit(format!(
                    "no row has treatment {arm}: the effect needs rows of every arm; check the treatment column"
                )));
            }
        }
        if let Some(row) = t.iter().position(|&a| usize::from(a) >= n_arms) {
            return Err(Error::unfit(format!(
                "treatment: row {} holds {}, but there are {n_arms} arms",
                row + 1,
                t[row]
            )));
        }
        let columns = Column::numbered(x.n_cols());
        let outcome =
            if y.iter().all(|&v| v == 0.0 || v == 1.0) { OutcomeKind::Binary } else { OutcomeKind::Continuous };
        Ok(Self { x, columns, t, n_arms, y, outcome, weight: None, propensity: None, groups: None })
    }

    /// Names and kinds of the feature columns.
    pub fn named(mut self, columns: Vec<Column>) -> Result<Self> {
        check_length("column names", self.x.n_cols(), columns.len())?;
        self.columns = columns;
        Ok(self)
    }

    /// Row weights: finite, not negative, not all zero within an arm.
    pub fn weighted(mut self, weight: Vec<f64>) -> Result<Self> {
        check_length("row weights", self.n_rows(), weight.len())?;
        check_finite("row weights", &weight, "give every row a number of 0 or more")?;
        if let Some(row) = weight.iter().position(|&w| w < 0.0) {
            return Err(Error::unfit(format!("row weights: row {} holds {}, which is negative", row + 1, weight[row])));
        }
        for arm in 0..self.n_arms {
            if !self.t.iter().zip(&weight).any(|(&a, &w)| usize::from(a) == arm && w > 0.0) {
                return Err(Error::unfit(format!("row weights: every row of treatment {arm} has weight 0")));
            }
        }
        self.weight = Some(weight);
        Ok(self)
    }

    /// Propensities known from the study's design, strictly between 0 and 1.
    pub fn with_propensity(mut self, propensity: Vec<f64>) -> Result<Self> {
        check_length("propensity", self.n_rows(), propensity.len())?;
        if let Some(row) = propensity.iter().position(|e| !(*e > 0.0 && *e < 1.0)) {
            return Err(Error::unfit(format!(
                "propensity: row {} holds {}; known propensities lie strictly between 0 and 1",
                row + 1,
                propensity[row]
            )));
        }
        self.propensity = Some(propensity);
        Ok(self)
    }

    /// Groups (clusters): rows of one group are never split between folds.
    pub fn grouped(mut self, groups: Vec<u32>) -> Result<Self> {
        check_length("groups", self.n_rows(), groups.len())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// Overrides the detected kind of outcome; binary is refused unless all outcomes are 0 or 1.
    pub fn with_outcome(mut self, outcome: OutcomeKind) -> Result<Self> {
        if outcome == OutcomeKind::Binary
            && let Some(row) = self.y.iter().position(|&v| v != 0.0 && v != 1.0)
        {
            return Err(Error::unfit(format!(
                "outcome: row {} holds {}, but a binary outcome is 0 or 1",
                row + 1,
                self.y[row]
            )));
        }
        self.outcome = outcome;
        Ok(self)
    }

    /// The rows of the control and of one other arm, which is then the only treated one.
    pub fn pair(&self, arm: u8) -> Result<Self> {
        if self.n_arms > 2 && self.propensity.is_some() {
            return Err(Error::unfit(format!(
                "propensity: one number per row cannot say how likely each of {} arms was; leave the column out, or compare two \
                 arms",
                self.n_arms
            )));
        }
        let rows: Vec<usize> = (0..self.n_rows()).filter(|&i| self.t[i] == 0 || self.t[i] == arm).collect();
        let t = rows.iter().map(|&i| u8::from(self.t[i] == arm)).collect();
        let y = rows.iter().map(|&i| self.y[i]).collect();
        let mut out = Self::new(self.x.select(&rows), t, y)?;
        out.columns.clone_from(&self.columns);
        out.outcome = self.outcome;
        out.weight = self.weight.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect());
        out.propensity.clone_from(&self.propensity);
        out.groups = self.groups.as_ref().map(|g| rows.iter().map(|&i| g[i]).collect());
        Ok(out)
    }

    /// The given rows as a design of their own; both arms must occur among them.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&i| values[i]).collect()
        }
        let mut out = Self::with_arms(self.x.select(rows), pick(&self.t, rows), pick(&self.y, rows), self.n_arms)?;
        out.columns.clone_from(&self.columns);
        out.outcome = self.outcome;
        out.weight = self.weight.as_ref().map(|w| pick(w, rows));
        out.propensity = self.propensity.as_ref().map(|e| pick(e, rows));
        out.groups = self.groups.as_ref().map(|g| pick(g, rows));
        Ok(out)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.y.len()
    }

    /// Number of arms, the control included.
    pub fn n_arms(&self) -> usize {
        self.n_arms
    }

    /// Features.
    pub fn x(&self) -> &Features {
        &self.x
    }

    /// Names and kinds of the feature columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Arm of each row; with two arms 1 is treated.
    pub fn t(&self) -> &[u8] {
        &self.t
    }

    /// Observed outcomes.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// Kind of outcome.
    pub fn outcome(&self) -> OutcomeKind {
        self.outcome
    }

    /// Row weights, when given.
    pub fn weight(&self) -> Option<&[f64]> {
        self.weight.as_deref()
    }

    /// Known propensities, when given.
    pub fn propensity(&self) -> Option<&[f64]> {
        self.propensity.as_deref()
    }

    /// Groups, when given.
    pub fn groups(&self) -> Option<&[u32]> {
        self.groups.as_deref()
    }

    /// Indices of the rows of one arm.
    pub fn rows_of_arm(&self, arm: u8) -> Vec<usize> {
        (0..self.n_rows()).filter(|&i| self.t[i] == arm).collect()
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::LengthMismatch { what, expected, found }) }
}

fn check_finite(what: &str, values: &[f64], remedy: &'static str) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::NonFinite { what: what.to_owned(), row: i + 1, value: values[i], remedy }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Dense;

    fn x(n: usize) -> Features {
        Features::Dense(Dense::new(n, 1, (0..n).map(|i| i as f64).collect()).unwrap())
    }

    #[test]
    fn refuses_what_no_estimator_could_use() {
        assert!(Design::new(x(3), vec![1, 1, 1], vec![0.0; 3]).unwrap_err().to_string().contains("treatment 0"));
        assert!(Design::new(x(3), vec![0, 1, 2], vec![0.0; 3]).unwrap_err().to_string().contains("row 3"));
        assert!(Design::new(x(3), vec![0, 1], vec![0.0; 3]).unwrap_err().to_string().contains("treatment has 2"));
        assert!(Design::new(x(2), vec![0, 1], vec![0.0, f64::NAN]).unwrap_err().to_string().contains("row 2"));
        assert!(Design::new(x(0), vec![], vec![]).is_err());
        let ok = Design::new(x(2), vec![0, 1], vec![0.5, 2.0]).unwrap();
        assert!(ok.clone().with_propensity(vec![0.0, 0.5]).is_err());
        assert!(ok.clone().weighted(vec![0.0, 1.0]).is_err());
        assert_eq!(ok.outcome(), OutcomeKind::Continuous);
    }

    #[test]
    fn selecting_keeps_everything_aligned() {
        let design = Design::new(x(4), vec![0, 1, 0, 1], vec![0.0, 1.0, 2.0, 3.0])
            .unwrap()
            .weighted(vec![1.0, 2.0, 3.0, 4.0])
            .unwrap();
        let part = design.select(&[3, 0]).unwrap();
        assert_eq!((part.t(), part.y(), part.weight().unwrap()), (&[1, 0][..], &[3.0, 0.0][..], &[4.0, 1.0][..]));
    }
}
