//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products.
//!
//! Every kernel writes into memory of its caller and keeps what its derivative needs (its tape) in a struct that can
//! be used again, so that a steady-state call allocates nothing. Nothing here knows about estimators or files.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod argsort;
pub mod arm_mean;
pub mod arms;
pub mod balance;
pub mod discrepancy;
pub mod distributions;
pub mod error;
pub mod ess;
pub mod fallback;
pub mod gpd;
pub mod gpd_fit;
pub mod isotonic;
mod lanes;
pub mod mmd;
pub mod numeric;
pub mod parallel;
pub mod pareto;
pub mod per_arm;
pub mod product;
pub mod psis;
pub mod real;
pub mod simd;
pub mod sinkhorn;
pub mod soft_pareto;
pub mod soft_pareto_options;
pub mod soft_rank;
pub mod sparse;
pub mod step;
#[cfg(test)]
mod testing;
pub mod weights;

pub use error::KernelError;
