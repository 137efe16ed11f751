//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod arms;
pub mod balance;
pub mod discrepancy;
pub mod error;
mod lanes;
pub mod mmd;
pub mod parallel;
pub mod product;
pub mod real;
pub mod simd;
pub mod sinkhorn;
pub mod sparse;

#[cfg(test)]
mod testing;
