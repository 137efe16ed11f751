//! Nuisances, and what is made of them: folds, cross-fitting, propensities, weights, doubly robust scores, average
//! effects, overlap and balance.
//!
//! Learners, forests, networks and metrics stand on this crate, so that each of these ideas is written once:
//!
//! - [`folds`]: how rows are assigned to folds, arms and groups kept;
//! - [`crossfit`]: the only loop over folds that fits models;
//! - [`nuisances`]: expected outcomes and propensity of every row by models that did not see it;
//! - [`stack`] and [`convex`]: the same as mixtures of several learners, which belong to the data and not to an estimator;
//! - [`platt`]: calibration of probabilities with two numbers;
//! - [`propensity`]: the best of several propensity models, and its calibration;
//! - [`weights`]: inverse and balancing weights, smoothed, clipped or trimmed, with a map for new rows;
//! - [`scores`]: the doubly robust score and the residuals of the R-loss;
//! - [`average`] and [`inference`]: average effects, standard errors clustered by groups;
//! - [`hidden_cause`] and [`marginal_sensitivity`]: what an unobserved common cause could do to an average;
//! - [`overlap`] and [`balance`]: how far the arms are apart; [`extrapolation`]: whose average that leaves out of reach;
//! - [`ols`]: least squares with robust errors.

pub mod average;
pub mod balance;
pub mod bands;
mod calibrate;
pub mod convex;
pub mod crossfit;
pub mod extrapolation;
pub mod folds;
pub mod group_effects;
pub mod hidden_cause;
pub mod inference;
pub mod marginal_sensitivity;
pub mod nuisances;
pub mod ols;
pub mod overlap;
pub mod platt;
pub mod propensity;
pub mod ratios;
mod rows;
pub mod scores;
pub mod stack;
pub mod tmle;
pub mod weights;

pub use average::{AverageEffect, Estimand, average_effect, average_of_rows, effective_rows};
pub use balance::{FeatureBalance, IMBALANCE, balance};
pub use bands::{Band, Influenced};
pub use crossfit::{CrossFit, CrossTask, FoldFits, HeldOut, cross_fit, cross_predict, fit_all, fit_folds};
pub use extrapolation::extrapolation;
pub use folds::{design_folds, fold_count, folds_up_to};
pub use group_effects::{GroupEstimate, RowEvidence, group_estimates};
pub use hidden_cause::{Benchmark, BiasBounds, EValue, OmittedBias, e_value};
pub use inference::Score;
pub use marginal_sensitivity::{MarginalBounds, MarginalSensitivity};
pub use nuisances::{Nuisance, NuisanceFit, NuisancePlan};
pub use overlap::{ArmOverlap, LEAST_EFFECTIVE_ROWS, OverlapOptions, OverlapReport, PropensityBin, overlap_report};
pub use platt::LogitMap;
pub use propensity::{Calibrator, PropensityChoice};
pub use ratios::{Ratios, ratios};
pub use rows::{Observed, outcome_target, same_length, stage, two_arms};
pub use stack::{
    ArmStack, Candidate, OutcomeStack, PropensityStack, Share, StackPlan, StackReport, StackedNuisances,
    stack_nuisances,
};
pub use tmle::targeted_average;
pub use weights::{Extreme, Kind, Rule, WeightMap, WeightOptions, Weights};
