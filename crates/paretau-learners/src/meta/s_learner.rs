//! S-learner: a single outcome model that reads the treatment as one more column.

use paretau_core::{
    Abilities, BaseSpec, Column, ColumnKind, ConfigEntry, Csr, Dense, Design, Diagnostics, Effects, Estimator,
    EstimatorInfo, Family, Features, FitContext, FittedModel, ParamSpec, RegressionTask, Result,
};
use paretau_nuisance::{CrossTask, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::BaseLearner;
use super::model::{BaseModels, MetaModel, Recipe, load};
use super::setup::{BASE, HANDLES, no_empty_column, outcome_target, stage, treatment};

/// Parameters of the S-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SConfig {
    /// Base learner.
    pub base: BaseSpec,
}

const PARAMS: &[ParamSpec] = &[BASE];

/// `s-learner`.
pub const S_LEARNER: ConfigEntry<SConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "s-learner",
        aliases: &["SL"],
        family: Family::MetaLearner,
        class: "SLearner",
        summary: "One outcome model with the treatment as a column",
        reference: "Künzel, Sekhon, Bickel and Yu (2019)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || SConfig { base: "forest".into() },
    build: |config, ctx| {
        Ok(Box::new(SLearner { name: ctx.name, outcome: BaseLearner::new(ctx, "base", &config.base)? }))
    },
    load: |state, tools| load(&SRecipe, state, tools),
};

#[derive(Debug)]
struct SLearner {
    name: &'static str,
    outcome: BaseLearner,
}

impl Estimator for SLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        let x = with_column(design.x(), &treatment(design))?;
        let mut columns = design.columns().to_vec();
        // A name of its own, whatever the data call their columns.
        let name = std::iter::successors(Some("treatment".to_owned()), |n| Some(format!("{n}_")))
            .find(|n| columns.iter().all(|c| c.name != *n))
            .unwrap_or_default();
        columns.push(Column { name, kind: ColumnKind::Numeric });
        let task = CrossTask::of(design, design.y(), outcome_target(design));
        let task = CrossTask::new(RegressionTask { x: &x, columns: &columns, ..task.rows });
        let fitted = fit_all(&task, self.outcome.learner.as_ref(), &stage(ctx, "outcomes")?)?;
        let mut models = BaseModels::default();
        models.add("mu", &self.outcome.base, fitted.model);
        Ok(Box::new(MetaModel {
            recipe: &SRecipe,
            models,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out: None,
        }))
    }
}

/// How the fitted models answer.
#[derive(Debug)]
struct SRecipe;

impl Recipe for SRecipe {
    fn name(&self) -> &'static str {
        "s"
    }

    fn models(&self) -> &'static [&'static str] {
        &["mu"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        let at = |arm: f64| models.predict("mu", &with_column(x, &vec![arm; x.n_rows()])?);
        Ok(Effects::from_outcomes(at(0.0)?, at(1.0)?))
    }
}

/// The features with one more column at the end.
fn with_column(x: &Features, column: &[f64]) -> Result<Features> {
    let (n, d) = (x.n_rows(), x.n_cols());
    match x {
        Features::Dense(m) => {
            let mut values = Vec::with_capacity(n * (d + 1));
            for (i, v) in column.iter().enumerate() {
                values.extend_from_slice(m.row(i));
                values.push(*v);
            }
            Ok(Features::Dense(Dense::new(n, d + 1, values)?))
        }
        Features::Sparse(m) => {
            let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for (i, v) in column.iter().enumerate() {
                let (cols, stored) = m.row(i);
                indices.extend_from_slice(cols);
                values.extend_from_slice(stored);
                if *v != 0.0 {
                    indices.push(d as u32);
                    values.push(*v);
                }
                indptr.push(indices.len());
            }
            Ok(Features::Sparse(Csr::new(n, d + 1, indptr, indices, values)?))
        }
    }
}
