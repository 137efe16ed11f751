//! The one training loop: stages made of phases, early stopping, divergence answered, checkpoints.

mod checkpoint;
mod plan;
mod progress;
mod run;

pub use checkpoint::Keeper;
pub use plan::{Keep, PhaseRates, Plan, Stage};
pub use progress::Progress;
pub use run::{Run, Trained};
