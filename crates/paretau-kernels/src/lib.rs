//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products

pub mod argsort;
pub mod arm_mean;
pub mod error;
pub mod ess;
pub mod fallback;
pub mod gpd;
pub mod gpd_fit;
pub mod isotonic;
pub mod parallel;
pub mod product;
pub mod real;
pub mod simd;
pub mod pareto;
pub mod per_arm;
pub mod psis;
pub mod soft_pareto;
pub mod soft_pareto_options;
pub mod soft_rank;
pub mod step;
pub mod weights;

pub use error::KernelError;
