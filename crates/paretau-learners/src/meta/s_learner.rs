//! S-learner: a single outcome model that reads the treatment as one more column.

use paretau_core::{
    Column, ColumnKind, ConfigEntry, Csr, Dense, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family,
    Features, FitContext, FittedModel, ParamSpec, Result,
};
use paretau_nuisance::{CrossTask, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::model::{MetaModel, Parts, Recipe, load};
use super::setup::{BASE, BASE_PARAMS, HANDLES, Tool, no_empty_column, outcome_target, stage, treatment};

pub(super) const PARTS: &[&str] = &["mu"];
const NAME: &str = "s-learner";

/// Parameters of the S-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SConfig {
    /// Base learner.
    pub base: String,
    /// Its parameters.
    pub base_params: String,
}

const PARAMS: &[ParamSpec] = &[BASE, BASE_PARAMS];

/// `s-learner`.
pub const S_LEARNER: ConfigEntry<SConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &["SL"],
        family: Family::MetaLearner,
        class: "SLearner",
        summary: "One outcome model with the treatment as a column",
        reference: "Künzel, Sekhon, Bickel and Yu (2019)",
        handles: HANDLES,
    },
    params: PARAMS,
    preset: || SConfig { base: "forest".into(), base_params: String::new() },
    build: |config, tools| Ok(Box::new(SLearner { tool: Tool::new(NAME, &config.base, &config.base_params, tools)? })),
    load,
};

#[derive(Debug)]
struct SLearner {
    tool: Tool,
}

impl Estimator for SLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, NAME)?;
        no_empty_column(design)?;
        let x = with_column(design.x(), &treatment(design))?;
        let mut columns = design.columns().to_vec();
        // A name of its own, whatever the data call their columns.
        let name = std::iter::successors(Some("treatment".to_owned()), |n| Some(format!("{n}_")))
            .find(|n| columns.iter().all(|c| c.name != *n))
            .unwrap_or_default();
        columns.push(Column { name, kind: ColumnKind::Numeric });
        let task = CrossTask {
            x: &x,
            columns: &columns,
            y: design.y(),
            weight: design.weight(),
            groups: design.groups(),
            target: outcome_target(design),
            learn_from: None,
            most_rows: None,
        };
        let fitted = fit_all(&task, self.tool.learner.as_ref(), &stage(ctx, "outcomes")?)?;
        let mut parts = Parts::default();
        parts.add("mu", &self.tool.base, fitted.model);
        Ok(Box::new(MetaModel {
            recipe: Recipe::S,
            parts,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out: None,
        }))
    }
}

pub(super) fn effects(parts: &Parts, x: &Features) -> Result<Effects> {
    let at = |arm: f64| parts.predict("mu", &with_column(x, &vec![arm; x.n_rows()])?);
    Ok(Effects::from_outcomes(at(0.0)?, at(1.0)?))
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
