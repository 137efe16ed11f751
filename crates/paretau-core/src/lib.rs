//! The vocabulary of paretau: what a design, an estimator, an effect, a parameter and an error are.
//!
//! No algorithm lives here. Every other crate speaks in these types, so that an estimator written
//! in one crate can be listed, fitted, saved and scored by code that has never heard of it.
//!
//! Data flows one way: a [`Design`] (no potential outcomes in it) goes into [`Estimator::fit`], which
//! returns a [`FittedModel`], another type, so that "not fitted yet" cannot occur. The truth, where a
//! simulation knows it, is kept apart in an [`Oracle`], which `fit` cannot receive.

mod base_spec;
mod design;
mod diagnostics;
mod effects;
mod entry;
mod error;
mod estimator;
mod features;
mod hex;
mod names;
mod observe;
mod oracle;
mod param_text;
mod params;
mod printable;
mod regressor;
mod seed;
mod split;
mod state;
mod units;

pub use base_spec::BaseSpec;
pub use design::{Design, OutcomeKind};
pub use diagnostics::{Diagnostics, FeatureRole, Importance, Role, Severity, Warning};
pub use effects::Effects;
pub use entry::{
    Abilities, BuildContext, ConfigEntry, EstimatorEntry, EstimatorInfo, Family, Handles, LoadFn, Toolbox,
};
pub use error::{Error, ErrorKind, Result};
pub use estimator::{CheckpointStore, DEFAULT_VALID_SHARE, Estimator, FitContext, FittedModel, Want};
pub use features::{Column, ColumnKind, Csr, Dense, Features};
pub use hex::hex;
pub use names::nearest;
pub use observe::{Event, Interrupt, Observer, Silent};
pub use oracle::Oracle;
pub use param_text::param_text;
pub use params::{ParamKind, ParamSpec, Params, SearchRange, parameter_of, resolve, set_pairs};
pub use printable::{is_deceptive, printable};
pub use regressor::{BaseEntry, FittedRegressor, RegressionTask, Regressor, Target};
pub use seed::{Rng, Seed};
pub use split::{Fold, Split, folds};
pub use state::{State, Tensor};
pub use units::{
    CodedRows, Coding, NewRows, StoredUnits, UnitEstimator, UnitFit, UnitOutcomes, UnitRegressor, UnitScratch,
    UnitStart, UnitTask, near_rows, numbers_of, tree_rows,
};
