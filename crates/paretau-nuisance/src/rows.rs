//! The rows that nuisances, averages and metrics are about, and small questions to a design that several stages ask.

use paretau_core::{Design, Error, Event, FitContext, OutcomeKind, Result, Target};

/// Observed treatment and outcome of the rows to score on.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Arm, 0 or 1.
    pub t: &'a [u8],
    /// Outcome.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups: rows of one group are not independent, so standard errors are clustered by them.
    pub groups: Option<&'a [u32]>,
}

impl<'a> Observed<'a> {
    /// Unweighted, ungrouped rows.
    pub fn new(t: &'a [u8], y: &'a [f64]) -> Result<Self> {
        let rows = Self { t, y, weight: None, groups: None };
        rows.check()?;
        Ok(rows)
    }

    /// The rows of a design with two arms.
    pub fn of(design: &'a Design) -> Result<Self> {
        if design.n_arms() != 2 {
            return Err(Error::unfit(format!("metrics compare two arms, the data have {}", design.n_arms())));
        }
        Ok(Self { t: design.t(), y: design.y(), weight: design.weight(), groups: design.groups() })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
    }

    /// Weight of row `i`.
    pub fn w(&self, i: usize) -> f64 {
        self.weight.map_or(1.0, |w| w[i])
    }

    /// Sum of the weights.
    pub fn total_weight(&self) -> f64 {
        (0..self.len()).map(|i| self.w(i)).sum()
    }

    /// Checks lengths and arms.
    pub fn check(&self) -> Result<()> {
        let n = self.t.len();
        if n == 0 {
            return Err(Error::unfit("there are no rows to score on"));
        }
        same_length("outcome", n, self.y.len())?;
        if let Some(w) = self.weight {
            same_length("row weights", n, w.len())?;
        }
        if let Some(g) = self.groups {
            same_length("groups", n, g.len())?;
        }
        for arm in [0, 1] {
            if !self.t.contains(&arm) {
                return Err(Error::unfit(format!("no row to score on has treatment {arm}")));
            }
        }
        match self.t.iter().position(|&a| a > 1) {
            None => Ok(()),
            Some(i) => Err(Error::unfit(format!("treatment: row {} holds {}, not 0 or 1", i + 1, self.t[i]))),
        }
    }
}

/// An error that names the vector whose length is wrong.
pub fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::LengthMismatch { what, expected, found }) }
}

/// Refuses a design that does not have exactly two arms.
pub fn two_arms(design: &Design, estimator: &str) -> Result<()> {
    if design.n_arms() == 2 {
        return Ok(());
    }
    Err(Error::Unsupported {
        estimator: estimator.to_owned(),
        message: format!("compares two arms, the data have {}; choose two with the treated value", design.n_arms()),
    })
}

/// What an outcome model predicts: probabilities for binary outcomes, means otherwise.
pub fn outcome_target(design: &Design) -> Target {
    match design.outcome() {
        OutcomeKind::Binary => Target::Probability,
        OutcomeKind::Continuous => Target::Mean,
    }
}

/// Announces a stage and derives its seed.
pub fn stage<'a>(ctx: &FitContext<'a>, name: &str) -> Result<FitContext<'a>> {
    ctx.check_interrupt()?;
    ctx.event(&Event::Stage { name: format!("fitting {name}"), total: None });
    Ok(ctx.with_seed(ctx.seed.named(name)))
}
