//! The two types every method is made of: a checked estimator that can fit, and the model it returns.

use std::fmt;

use crate::{Design, Diagnostics, Effects, Error, Event, Features, Observer, Result, Seed, State, UnitEstimator};

/// Share of the rows that estimators with early stopping hold out when nothing else is asked for: the one place where this
/// default is written.
pub const DEFAULT_VALID_SHARE: f64 = 0.2;

/// Where a long fit may leave its state and find it again.
pub trait CheckpointStore: Sync {
    /// The last saved state, if there is one.
    fn load(&self) -> Result<Option<State>>;
    /// Saves a state, replacing the last one atomically.
    fn save(&self, state: &State) -> Result<()>;
}

/// What surrounds a fit: seed, listener, share of rows to hold out, checkpoints.
#[derive(Clone, Copy)]
pub struct FitContext<'a> {
    /// Source of all randomness.
    pub seed: Seed,
    /// Receives events and tells of interruption.
    pub observer: &'a dyn Observer,
    /// Share of the rows that estimators with early stopping hold out for validation.
    pub valid_share: f64,
    /// Checkpoints, when the user asked for them.
    pub checkpoint: Option<&'a dyn CheckpointStore>,
}

impl<'a> FitContext<'a> {
    /// A context with the usual validation share and no checkpoints.
    pub fn new(seed: Seed, observer: &'a dyn Observer) -> Self {
        Self { seed, observer, valid_share: DEFAULT_VALID_SHARE, checkpoint: None }
    }

    /// The same, with nobody listening.
    pub fn silent(seed: Seed) -> FitContext<'static> {
        FitContext::new(seed, &crate::Silent)
    }

    /// The same context with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: Seed) -> FitContext<'a> {
        FitContext { seed, ..*self }
    }

    /// Reports an event.
    pub fn event(&self, event: &Event) {
        self.observer.event(event);
    }

    /// An error if the user asked to stop.
    pub fn check_interrupt(&self) -> Result<()> {
        if self.observer.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl fmt::Debug for FitContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitContext")
            .field("seed", &self.seed)
            .field("valid_share", &self.valid_share)
            .finish_non_exhaustive()
    }
}

/// A method with checked parameters. Only this type fits; making one is where bad parameters are refused.
pub trait Estimator: Send + Sync + fmt::Debug {
    /// Learns from a design.
    ///
    /// Runs in the caller's rayon pool; the result must not depend on the number of its threads.
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>>;

    /// The method for rows outside of memory, where it can learn from such.
    fn over_units(&self) -> Option<&dyn UnitEstimator> {
        None
    }
}

/// What a caller has use for, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Effects and their errors; expected outcomes may be empty.
    Effect,
    /// Expected outcomes too; the propensity may be absent.
    Outcomes,
    /// All of it.
    Everything,
}

/// A fitted model: predicts effects, tells about itself, gives its state away for saving.
pub trait FittedModel: Send + Sync + fmt::Debug {
    /// Number of feature columns it was fitted on.
    fn n_features(&self) -> usize;

    /// Predictions for each row of `x`, which has [`FittedModel::n_features`] columns: one [`Effects`] per treated arm against
    /// the control, in the arms' order. All numbers are finite; a propensity is that of the arm among rows of the arm and
    /// the control. What `want` does not ask for may be left out where it costs time.
    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>>;

    /// Everything about the first treated arm, which is the only one unless the fit had several.
    fn effects(&self, x: &Features) -> Result<Effects> {
        let mut arms = self.predict(x, Want::Everything)?;
        if arms.is_empty() { Err(Error::bad_model("it has no arms")) } else { Ok(arms.swap_remove(0)) }
    }

    /// Number of arms that are compared with the control.
    fn n_treated_arms(&self) -> usize {
        1
    }

    /// What the fit had to say.
    fn diagnostics(&self) -> &Diagnostics;

    /// Everything needed to bring the model back, training rows excluded.
    fn state(&self) -> Result<State>;

    /// Predictions of the training rows from models that did not see them (out of bag, cross-fitted), when the method has
    /// them; one per treated arm, as in [`FittedModel::predict`]. Not part of the saved state.
    fn held_out(&self) -> Option<&[Effects]> {
        None
    }

    /// Checks that `x` has the columns the model was fitted on.
    fn check_columns(&self, x: &Features) -> Result<()> {
        if x.n_cols() == self.n_features() {
            Ok(())
        } else {
            Err(Error::SchemaMismatch {
                message: format!(
                    "the model was fitted on {} feature columns, the data have {}",
                    self.n_features(),
                    x.n_cols()
                ),
            })
        }
    }
}
