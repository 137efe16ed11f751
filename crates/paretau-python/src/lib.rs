//! The private module `paretau._paretau`: numpy arrays in, numpy arrays out, and nothing a user calls by hand.
//!
//! Glue only. What a user sees (classes, defaults, warnings, data frames) is pure Python in `python/paretau`; what is
//! computed is in the crates below. Structured facts cross the border as JSON text, numbers as arrays.

// Python hands arguments over by value; that most of ours are only read is no reason to fight it.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod decisions;
mod detach;
mod distances;
mod error;
mod experiment;
mod foreign_base;
mod kernels;
mod metrics;
mod model;
mod registry;
mod scored_rows;
mod shapley;
mod simulate;
mod table;
mod tasks;
mod wording;

use pyo3::prelude::*;

/// The compiled part of paretau.
#[pymodule]
mod _paretau {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::decisions::{compare_estimators, policy, refute, sensitivity, test_roles};
    #[pymodule_export]
    use crate::distances::{mmd_rbf, mmd_rbf_f32, sinkhorn};
    #[pymodule_export]
    use crate::experiment::{compare, run, tune};
    #[pymodule_export]
    use crate::foreign_base::{lend_base, return_base};
    #[pymodule_export]
    use crate::kernels::{
        ess, gpd_fit, khat_threshold, pareto_smooth, pareto_smooth_vjp, psis, soft_pareto, soft_pareto_vjp, soft_rank,
        soft_rank_vjp,
    };
    #[pymodule_export]
    use crate::metrics::metric;
    #[pymodule_export]
    use crate::model::{Model, evaluate, fit, fit_in_blocks};
    #[pymodule_export]
    use crate::registry::{describe, describe_all, list_metrics};
    #[pymodule_export]
    use crate::scored_rows::ScoredRows;
    #[pymodule_export]
    use crate::shapley::tree_shapley;
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::tasks::{TaskData, perform_task};
    #[pymodule_export]
    use crate::wording::in_python;

    // Defaults of functions, from where each is written.
    #[pymodule_export]
    const DEFAULT_BENCHMARKS: usize = paretau::SensitivityRequest::BENCHMARKS;
    #[pymodule_export]
    const DEFAULT_COMPARE_FOLDS: usize = paretau::CompareOptions::FOLDS;
    #[pymodule_export]
    const DEFAULT_DEPTH: usize = paretau::PolicyRequest::DEPTH;
    #[pymodule_export]
    const DEFAULT_FDR: f64 = paretau::RolesOptions::FDR;
    #[pymodule_export]
    const DEFAULT_OBJECTIVE: &str = paretau_study::tune::TuneSpec::OBJECTIVE.name();
    #[pymodule_export]
    const DEFAULT_REPLICATES: usize = paretau::RefuteRequest::REPLICATES;
    #[pymodule_export]
    const DEFAULT_SEARCH: &str = paretau_study::tune::TuneSpec::SEARCH.name();
    #[pymodule_export]
    const DEFAULT_STRENGTH: f64 = paretau::SensitivityRequest::SHARE;
    #[pymodule_export]
    const DEFAULT_TRIALS: usize = paretau_study::tune::TuneSpec::TRIALS;
    #[pymodule_export]
    const DEFAULT_TUNE_FOLDS: usize = paretau_study::tune::TuneSpec::FOLDS;
    #[pymodule_export]
    const DEFAULT_VALID_SHARE: f64 = paretau::DEFAULT_VALID_SHARE;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    #[allow(clippy::unnecessary_wraps, reason = "PyO3 asks for a result")]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::detach::quiet_panics();
        Ok(())
    }
}
