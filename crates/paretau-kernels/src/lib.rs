//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products

pub mod argsort;
pub mod error;
pub mod fallback;
pub mod isotonic;
pub mod soft_rank;
pub mod step;

pub use error::KernelError;
