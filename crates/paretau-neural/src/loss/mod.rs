//! Losses and penalties, each with its derivative: one file each.

pub mod balance;
pub mod independence;
pub mod outcome;
pub mod propensity;
pub mod separation;
pub mod targeted;

pub use balance::{Balance, BalanceWork, Penalty};
pub use outcome::OutcomeLoss;
