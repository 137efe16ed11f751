//! `causal-forest-dml`, after EconML: residuals by cross-fitting any base learner, then a forest of bags of four trees
//! whose splits re-estimate the effect in each child.

use paretau_core::{
    Abilities, BaseEntry, BaseSpec, ConfigEntry, Design, Diagnostics, Effects, Error, Estimator, EstimatorInfo, Event,
    Family, Features, FitContext, FittedModel, Handles, ParamKind, ParamSpec, RegressionTask, Result, SearchRange,
    Target, Toolbox,
};
use paretau_nuisance::folds::folds;
use paretau_nuisance::{CrossTask, fit_folds};
use serde::{Deserialize, Serialize};

use crate::causal_forest::{overall, residuals, warn_unseen};
use crate::causal_model::{CausalForestModel, Facts, FoldModels, Nuisance, out_of_bag};
use crate::forest::GrowContext;
use crate::grow::{Candidates, Growth};
use crate::importance::importance;
use crate::input::{self, binned_rows};
use crate::recipes::{self, CausalRule};
use crate::rows::{CausalRows, two_arms};
use crate::sample::{Sampler, Sampling, Units};
use crate::split::Balance;
use crate::summary::{Centred, describe};

/// How a split is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Decrease of the residual sum of squares, the effect fitted anew on each side.
    Mse,
    /// Difference of the effects by gradient labels.
    Het,
}

/// Parameters of a causal forest on cross-fitted residuals. Defaults are EconML's, but for the number of trees, of
/// which it grows 100: too few for steady intervals, and ours are cheap.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `n_estimators` | 500 | trees |
/// | `model_y`, `model_t` | `forest` | base learners of the outcome and of the treatment |
/// | `cv` | 2 | folds of the cross-fitting |
/// | `criterion` | `mse` | how a split is scored |
/// | `max_samples` | 0.45 | share of the rows a tree sees |
/// | `max_features` | all | columns tried at a node |
/// | `min_samples_split` | 10 | smaller nodes are not split |
/// | `min_samples_leaf` | 5 | least rows of either half on each side |
/// | `min_balancedness_tol` | 0.45 | a side may hold this much less than half of the rows |
/// | `max_depth` | no limit | deepest level |
/// | `honest` | true | half of a tree's rows choose splits, the others fill leaves |
/// | `subforest_size` | 4 | trees per bag |
/// | `max_bins` | 256 | bins per column |
/// | `exact` | false | every distinct value its own bin (slow; for checking) |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CausalForestDmlConfig {
    /// Number of trees.
    pub n_estimators: usize,
    /// Base learner of the outcome.
    pub model_y: BaseSpec,
    /// Base learner of the treatment.
    pub model_t: BaseSpec,
    /// Folds of the cross-fitting.
    pub cv: usize,
    /// How a split is scored.
    pub criterion: Criterion,
    /// Share of the rows a tree sees.
    pub max_samples: f64,
    /// Columns tried at a node.
    pub max_features: Option<usize>,
    /// Smaller nodes are not split.
    pub min_samples_split: usize,
    /// Least rows of either half on each side.
    pub min_samples_leaf: usize,
    /// How much less than half of the rows a side may hold.
    pub min_balancedness_tol: f64,
    /// Deepest level.
    pub max_depth: Option<usize>,
    /// Whether half of a tree's rows choose splits and the others fill leaves.
    pub honest: bool,
    /// Trees per bag.
    pub subforest_size: usize,
    /// Bins per column.
    pub max_bins: usize,
    /// Every distinct value its own bin.
    pub exact: bool,
}

impl Default for CausalForestDmlConfig {
    fn default() -> Self {
        Self {
            n_estimators: 500,
            model_y: "forest".into(),
            model_t: "forest".into(),
            cv: 2,
            criterion: Criterion::Mse,
            max_samples: 0.45,
            max_features: None,
            min_samples_split: 10,
            min_samples_leaf: 5,
            min_balancedness_tol: 0.45,
            max_depth: None,
            honest: true,
            subforest_size: 4,
            max_bins: 256,
            exact: false,
        }
    }
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("n_estimators", input::COUNT, "Number of trees, a multiple of subforest_size."),
    ParamSpec::new("model_y", ParamKind::Base, "Base learner of the outcome; its parameters are `model_y.KEY`."),
    ParamSpec::new("model_t", ParamKind::Base, "Base learner of the treatment; its parameters are `model_t.KEY`."),
    ParamSpec::new("cv", ParamKind::Int { min: 2, max: 50 }, "Folds of the cross-fitting."),
    ParamSpec::new(
        "criterion",
        ParamKind::Choice(&["mse", "het"]),
        "Score splits by the squared error with effects fitted anew, or by gradient labels.",
    ),
    ParamSpec::new(
        "max_samples",
        ParamKind::Float { min: 0.01, max: 0.5 },
        "Share of the rows a tree sees, drawn from its bag's half-sample.",
    )
    .searched(SearchRange::Between(0.2, 0.5)),
    ParamSpec::new("max_features", ParamKind::Auto(&input::COUNT), "Columns tried at a node; auto is all."),
    ParamSpec::new("min_samples_split", input::COUNT, "Smaller nodes are not split."),
    ParamSpec::new(
        "min_samples_leaf",
        input::COUNT,
        "Least growing rows, and least honest rows, on each side of a split.",
    ),
    ParamSpec::new(
        "min_balancedness_tol",
        ParamKind::Float { min: 0.0, max: 0.5 },
        "How much less than half of a node's rows a side may hold.",
    ),
    ParamSpec::new("max_depth", ParamKind::Auto(&input::COUNT), "Deepest level; auto is no limit."),
    ParamSpec::new(
        "honest",
        ParamKind::Bool,
        "Half of a tree's rows choose the splits, the other half fill the leaves.",
    ),
    ParamSpec::new("subforest_size", ParamKind::Int { min: 2, max: 64 }, "Trees per little bag."),
    ParamSpec::new("max_bins", input::BINS, "Bins per column, one of them for missing values."),
    ParamSpec::new("exact", ParamKind::Bool, "Give every distinct value its own bin; slow, for checking."),
];

const NAME: &str = "causal-forest-dml";

/// `causal-forest-dml` in the registry.
pub const CAUSAL_FOREST_DML: ConfigEntry<CausalForestDmlConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &["CF DML", "CausalForestDML"],
        family: Family::Forest,
        class: "CausalForestDML",
        summary: "Causal forest on cross-fitted residuals, effects fitted anew in every child",
        reference: "Oprescu, Syrgkanis and Wu 2019, Orthogonal random forest, ICML; as in EconML's CausalForestDML",
        handles: Handles { missing: true, sparse: true, categories: true, many_arms: false },
        abilities: Abilities { intervals: true, ..Abilities::NONE },
    },
    params: PARAMS,
    preset: CausalForestDmlConfig::default,
    build: |config, ctx| Ok(Box::new(CausalForestDml::new(&config, ctx.tools)?)),
    load: |state, tools| Ok(Box::new(CausalForestModel::load(state, tools)?)),
};

/// A causal forest on cross-fitted residuals, with checked parameters.
#[derive(Clone)]
pub struct CausalForestDml {
    config: CausalForestDmlConfig,
    model_y: &'static dyn BaseEntry,
    model_t: &'static dyn BaseEntry,
}

impl std::fmt::Debug for CausalForestDml {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CausalForestDml").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Cross-fitted predictions of the training rows, and the models of all folds.
struct CrossFit {
    values: Vec<f64>,
    models: FoldModels,
}

impl CausalForestDml {
    /// A forest with these parameters and the base learners they name.
    pub fn new(config: &CausalForestDmlConfig, tools: &Toolbox) -> Result<Self> {
        let config = input::checked(NAME, PARAMS, config)?;
        if !config.n_estimators.is_multiple_of(config.subforest_size.max(1)) {
            return Err(Error::BadParameter {
                owner: NAME.into(),
                name: "n_estimators".into(),
                value: config.n_estimators.to_string(),
                expected: format!("a multiple of subforest_size, which is {}", config.subforest_size),
            });
        }
        // Built here only to be checked: a slip in a parameter should not wait for the data.
        tools.regressor("model_y", &config.model_y)?;
        tools.regressor("model_t", &config.model_t)?;
        let (model_y, model_t) = (tools.base(&config.model_y.name)?, tools.base(&config.model_t.name)?);
        Ok(Self { config, model_y, model_t })
    }

    fn cross_fit(
        &self,
        (base, spec): (&'static dyn BaseEntry, &BaseSpec),
        rows: &CausalRows<'_>,
        design: &Design,
        target: Target,
        ctx: &FitContext<'_>,
    ) -> Result<CrossFit> {
        if rows.x.has_missing() && !base.handles().missing {
            return Err(Error::Unsupported {
                estimator: NAME.into(),
                message: format!(
                    "cannot use `{}` here: the features have missing values, which it does not take; use `forest`",
                    base.name()
                ),
            });
        }
        let y = if target == Target::Probability { rows.treatment } else { rows.y };
        let learner = base.build(&spec.params)?;
        let parts = folds(design.t(), design.groups(), self.config.cv, ctx.seed.named("cross-fit"))?;
        let task = CrossTask::new(RegressionTask {
            x: rows.x,
            columns: rows.columns,
            y,
            weight: rows.weight,
            groups: rows.groups,
            target,
        });
        let seeds = ctx.seed.named(if target == Target::Probability { "model_t" } else { "model_y" });
        let fits = fit_folds(&task, learner.as_ref(), &parts, seeds, ctx)?;
        Ok(CrossFit { values: fits.held_out, models: FoldModels { base: base.name().to_owned(), models: fits.models } })
    }

    fn fit_model(&self, design: &Design, ctx: &FitContext<'_>) -> Result<CausalForestModel> {
        let treatment = two_arms(design, NAME)?;
        let rows = &CausalRows::of_design(design, &treatment);
        rows.check()?;
        let config = &self.config;
        ctx.event(&Event::Stage { name: "cross-fitting outcome and treatment".into(), total: None });
        let m = self.cross_fit((self.model_y, &config.model_y), rows, design, Target::Mean, ctx)?;
        let e = self.cross_fit((self.model_t, &config.model_t), rows, design, Target::Probability, ctx)?;
        let e_hat = rows.e_hat.unwrap_or(&e.values);
        let zy = residuals(rows, &m.values, e_hat);
        let binned = binned_rows(rows.x, rows.columns, config.max_bins, config.exact)?;
        let sampling =
            Sampling { fraction: config.max_samples, bag: config.subforest_size, honest: config.honest.then_some(0.5) };
        let units = Units::new(design.n_rows(), rows.groups);
        let sampler = Sampler { sampling, units, seed: ctx.seed.named("causal") };
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(config.n_estimators as u64) });
        let context = GrowContext {
            binned: &binned,
            growth: self.growth(rows.x),
            sampler: &sampler,
            n_trees: config.n_estimators,
            weight: rows.weight,
            ctx,
        };
        let (forest, in_bag) = recipes::causal(&context, self.rule(), &zy, 1e-10 * rows.treatment_variance())?;
        let slopes = out_of_bag(&forest, &binned, &in_bag, ctx)?;
        let facts = Facts { binary: true, overall: overall(&zy, rows.weight), n_rows: design.n_rows() };
        let held_out: Effects = CausalForestModel::assemble(&slopes, &m.values, e_hat, &facts);
        let mut diagnostics = Diagnostics { importance: importance(&forest, rows.columns), ..Diagnostics::default() };
        describe(rows, Centred { m: &m.values, e: e_hat }, &held_out, &mut diagnostics);
        warn_unseen(slopes.iter().filter(|s| s.is_none()).count(), &mut diagnostics);
        let nuisance = Nuisance::Folds { m: m.models, e: e.models };
        Ok(CausalForestModel { forest, nuisance, facts, diagnostics, held_out: Some(held_out) })
    }

    fn growth(&self, x: &Features) -> Growth {
        Growth {
            candidates: Candidates::Fixed(self.config.max_features.unwrap_or(x.n_cols())),
            min_node_size: self.config.min_samples_split.saturating_sub(1),
            max_depth: self.config.max_depth.unwrap_or(usize::MAX),
            halfway: true,
        }
    }

    fn rule(&self) -> CausalRule {
        let balance = Balance {
            min_rows: self.config.min_samples_leaf as f64,
            min_share: 0.5 - self.config.min_balancedness_tol,
            honest: self.config.honest,
        };
        match self.config.criterion {
            Criterion::Mse => CausalRule::Exact(balance),
            Criterion::Het => CausalRule::Heterogeneity(balance),
        }
    }
}

impl Estimator for CausalForestDml {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        Ok(Box::new(self.fit_model(design, ctx)?))
    }
}
