//! paretau: heterogeneous treatment effects with Pareto-smoothed weights.
//!
//! The front door: the [`registry`] of estimators, [`fit`](fit()) from a table to a [`Model`], the model file, and the
//! names of the lower crates that a caller needs. A table of rows and the roles of its columns become a model that
//! predicts each row's effect, tells how far it can be trusted, and is saved as one file:
//!
//! ```
//! use paretau::data::RoleSpec;
//! use paretau::data::simulate::{TrialConfig, trial};
//! use paretau::forest::{CAUSAL_FOREST, CausalForestConfig};
//! use paretau::{ConfiguredEstimator, Model, Population, Seed};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 400 rows of a simulated trial: treatment `t`, outcome `y`, features, and the truth in `mu0`, `mu1` and `e`.
//! let table = trial(&TrialConfig { n: 400, ..TrialConfig::default() }, Seed(1))?.table()?;
//! let roles = RoleSpec {
//!     truth: Some(("mu0".into(), "mu1".into())), // kept for scoring; no estimator sees it
//!     ignore: vec!["e".into()],
//!     ..RoleSpec::new("t", "y")
//! };
//!
//! let config = CausalForestConfig { n_estimators: 100, ..CausalForestConfig::default() };
//! let model = ConfiguredEstimator::new(&CAUSAL_FOREST, config)?.with_seed(Seed(1)).fit(table.clone(), &roles)?;
//!
//! let ate = model.average(Population::Ate, 1)?; // of the first treated arm against the control
//! assert!(ate.lo < ate.value && ate.value < ate.hi);
//! let predictions = model.predict(&table)?;
//! assert_eq!(predictions.arms[0].tau.len(), 400);
//!
//! let again = Model::from_bytes(&model.to_bytes()?)?;
//! assert_eq!(again.predict(&table)?.arms, predictions.arms);
//! # Ok(())
//! # }
//! ```
//!
//! Two ways lead to a model. With [`ConfiguredEstimator`] an estimator's parameters are the fields of its configuration
//! type, and a wrong name does not compile; with [`fit`](fit()) and [`FitOptions`] estimator and parameters are names, as
//! on the command line. Both take any entry of the registry and give the same model.
//!
//! Plans of experiments and searches for parameters are in the crate `paretau-study`; who writes an estimator works with
//! `paretau-core`.

mod about;
mod assessment;
pub mod auto;
mod averages;
mod blocks;
mod compare;
mod configured;
mod contrasts;
mod describe;
mod diagnose;
mod effect_rows;
mod evaluate;
mod findings;
mod fingerprint;
mod fit;
mod groups;
pub mod identity;
mod intervals;
mod model;
pub mod model_file;
mod nuisances;
mod observers;
mod policy;
mod prepared;
mod propensity_weights;
mod refute;
pub mod registry;
mod report;
mod roles_test;
mod scale;
mod scored_rows;
mod sensitivity;
pub mod shapley;
mod stack_base;
mod summary;
pub mod task;
mod threads;
mod treatment_copy;
mod warnings;

pub use about::{About, AgainstControl, Arm, Averages, Estimate, Extrapolated, Population, RatioEstimates};
pub use blocks::{BlockOptions, fit_in_blocks};
pub use compare::{CompareOptions, ComparedRow, Comparison, compare, compare_on};
pub use configured::ConfiguredEstimator;
pub use contrasts::Contrasts;
pub use describe::{Description, ParamDescription, describe};
pub use diagnose::{Diagnosis, diagnose};
pub use effect_rows::{effect_fields, effect_rows, score_stream};
pub use evaluate::{Basis, EvaluateOptions, Evaluation, InSample, evaluate};
pub use fingerprint::{FeatureMatches, Fingerprint, Recognition};
pub use fit::{FitOptions, fit, fit_on};
pub use groups::{GroupEffect, GroupEffects};
pub use intervals::IntervalKind;
pub use model::{Model, Predictions};
pub use nuisances::{NuisanceReport, Yardstick, yardstick};
pub use policy::{Cost, NamedPolicy, Policy, PolicyRequest, policy};
pub use prepared::{ArmsWanted, Prepared};
pub use propensity_weights::{PropensityWeights, RowWeights};
pub use refute::{CHECKS, Check, CheckResult, Refutation, RefuteRequest, refute};
pub use registry::{DEFAULT_ESTIMATOR, TOOLBOX, find};
pub use report::{records, report, report_with};
pub use roles_test::{RolesOptions, TestedRole, TestedRoles, test_roles};
pub use scored_rows::{Coefficient, Ranked, ScoredRows};
pub use sensitivity::{FeatureBenchmark, Sensitivity, SensitivityRequest, sensitivity};
pub use summary::{alike, four_digits};
pub use threads::with_threads;

// The vocabulary of tables, estimators and results.
pub use paretau_core::{
    Abilities, CheckpointStore, Column, ColumnKind, ConfigEntry, Csr, DEFAULT_VALID_SHARE, Dense, Design, Diagnostics,
    Effects, Error, ErrorKind, Estimator, EstimatorEntry, EstimatorInfo, Event, Family, FeatureRole, Features,
    FitContext, FittedModel, Handles, Importance, Interrupt, Observer, Oracle, OutcomeKind, ParamKind, ParamSpec,
    Params, Result, Rng, Role, SearchRange, Seed, Severity, Silent, Split, State, Tensor, Toolbox, Want, Warning,
    param_text, parameter_of, printable, set_pairs,
};
pub use paretau_report::{Findings, ModelRecords, PageOptions};

// The crates below, each under its own name: entries stand beside their configuration types.
pub use paretau_data as data;
pub use paretau_eval as eval;
pub use paretau_forest as forest;
pub use paretau_kernels as kernels;
pub use paretau_learners as learners;
pub use paretau_neural as neural;
pub use paretau_nuisance as nuisance;
