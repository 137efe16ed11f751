//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products

pub mod error;
pub mod parallel;
pub mod product;
pub mod real;
pub mod simd;
