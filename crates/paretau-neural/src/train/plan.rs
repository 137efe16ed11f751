//! How long, how fast and in which order a model is trained.

/// A stretch of training with its own stopping.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// For people.
    pub name: &'static str,
    /// Phases, in the order in which they take their steps.
    pub phases: Vec<usize>,
    /// Epochs that one phase has to itself before the next takes over; `None` when every phase steps on every mini-batch.
    pub block: Option<u64>,
    /// Mini-batches at most.
    pub max_steps: u64,
    /// Mini-batches at least.
    pub min_steps: u64,
    /// Mini-batches without improvement before the rate drops for the first time, or before stopping.
    pub patience: u64,
    /// The same once the rate has dropped: smaller steps show sooner whether they lead anywhere.
    pub later_patience: u64,
    /// Mini-batches before the validation score counts: a run that begins where another ended must first go its own way.
    pub settle: u64,
    /// How often a stage that no longer improves goes back to its best parameters with a lower rate before it stops.
    pub drops: u32,
    /// What the rate is multiplied by then.
    pub drop_factor: f64,
    /// Which parameters the stage ends with.
    pub keep: Keep,
}

impl Stage {
    /// Divides the shortest length and the patience, where they are open, by `times`.
    pub(crate) fn shorten(&mut self, [length, patience]: [bool; 2], times: u64) {
        if length {
            self.min_steps = self.min_steps.div_ceil(times);
        }
        if patience {
            self.patience = self.patience.div_ceil(times);
            self.later_patience = self.later_patience.div_ceil(times);
        }
    }
}

/// Which parameters a stage ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those of the best validation score.
    Best,
    /// The mean over the second half of its mini-batches: a game has no score to stop by and circles round its equilibrium.
    Mean,
}

/// How fast a phase moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseRates {
    /// Learning rate.
    pub rate: f64,
    /// L2 strength.
    pub l2: f64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Stages, one after the other.
    pub stages: Vec<Stage>,
    /// Rates by phase.
    pub rates: Vec<PhaseRates>,
    /// Rows of a mini-batch.
    pub batch: usize,
    /// Longest gradient; longer ones are shortened to it. 0 for any.
    pub clip: f64,
    /// Steps in which the learning rate halves; 0 for never.
    pub half_life: f64,
    /// Plain gradient descent with momentum instead of Adam.
    pub sgd: bool,
    /// Mini-batches between two looks at the validation rows, at least.
    pub evaluate_every: u64,
}
