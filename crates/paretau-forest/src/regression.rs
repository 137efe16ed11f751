//! Regression and probability forests, as a public type and as the base learner `forest`.

use std::convert::Infallible;

use paretau_core::{
    BaseEntry, Column, Event, Features, FitContext, FittedRegressor, Handles, Importance, ParamKind, ParamSpec, Params,
    RegressionTask, Regressor, Result, State, Target, UnitRegressor, resolve,
};
use paretau_kernels::numeric::weighted_mean;
use serde::{Deserialize, Serialize};

use crate::bins::Bins;
use crate::codes::{Cells, Codes};
use crate::forest::{GrowContext, InBag};
use crate::grow::{Candidates, Growth};
use crate::importance::importance;
use crate::input::{self, binned_rows};
use crate::mean_forest::MeanForest;
use crate::sample::{Sampler, Sampling, Units};
use crate::split::Variance;

/// Parameters of a regression or probability forest.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `n_estimators` | 200 | trees |
/// | `max_samples` | 0.632 | share of the rows a tree sees, drawn without replacement |
/// | `max_features` | a third of the columns, at most 200 (probability: square root) | columns tried at a node |
/// | `min_node_size` | 5 | nodes of at most this many rows are leaves |
/// | `honest` | false | half of a tree's rows choose splits, the others fill leaves |
/// | `max_depth` | no limit | deepest level |
/// | `max_bins` | 256 | bins per column, one of them for missing values |
/// | `exact` | false | every distinct value its own bin (slow; for checking) |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForestConfig {
    /// Number of trees.
    pub n_estimators: usize,
    /// Share of the rows a tree sees.
    pub max_samples: f64,
    /// Columns tried at a node.
    pub max_features: Option<usize>,
    /// Nodes of at most this many rows are leaves.
    pub min_node_size: usize,
    /// Whether half of a tree's rows choose splits and the others fill leaves.
    pub honest: bool,
    /// Deepest level.
    pub max_depth: Option<usize>,
    /// Bins per column.
    pub max_bins: usize,
    /// Every distinct value its own bin.
    pub exact: bool,
}

impl Default for ForestConfig {
    fn default() -> Self {
        Self {
            n_estimators: 200,
            max_samples: 0.632,
            max_features: None,
            min_node_size: 5,
            honest: false,
            max_depth: None,
            max_bins: 256,
            exact: false,
        }
    }
}

/// Of very many columns, as in texts, no more are tried at a node unless asked for.
const MOST_TRIED: usize = 200;

/// Specifications of [`ForestConfig`]'s fields.
const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("n_estimators", input::COUNT, "Number of trees."),
    ParamSpec::new(
        "max_samples",
        ParamKind::Float { min: 0.01, max: 1.0 },
        "Share of the rows a tree sees, drawn without replacement; 1 leaves nothing out of bag.",
    ),
    ParamSpec::new(
        "max_features",
        ParamKind::Auto(&input::COUNT),
        "Columns tried at a node; auto is a third of them but at most 200, for probabilities their square root.",
    ),
    ParamSpec::new("min_node_size", input::COUNT, "Nodes of at most this many rows are not split further."),
    ParamSpec::new(
        "honest",
        ParamKind::Bool,
        "Half of a tree's rows choose the splits, the other half fill the leaves.",
    ),
    ParamSpec::new("max_depth", ParamKind::Auto(&input::COUNT), "Deepest level; auto is no limit."),
    ParamSpec::new("max_bins", input::BINS, "Bins per column, one of them for missing values."),
    ParamSpec::new("exact", ParamKind::Bool, "Give every distinct value its own bin; slow, for checking."),
];

/// A forest learner with checked parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForestRegressor {
    pub(crate) config: ForestConfig,
}

impl ForestRegressor {
    /// A learner with these parameters, which are checked.
    pub fn new(config: ForestConfig) -> Result<Self> {
        Ok(Self { config: input::checked("forest", PARAMS, &config)? })
    }

    /// How nodes are split.
    pub(crate) const SPLIT: Variance = Variance { min_rows: 1.0, alpha: 0.0, imbalance_penalty: 0.0 };

    /// How trees are grown on so many columns.
    pub(crate) fn growth(&self, p: usize, target: Target) -> Growth {
        let usual = match target {
            Target::Mean => p.div_ceil(3).min(MOST_TRIED),
            Target::Probability => (p as f64).sqrt().ceil() as usize,
        };
        Growth {
            candidates: Candidates::Fixed(self.config.max_features.unwrap_or(usual).min(p)),
            min_node_size: self.config.min_node_size,
            max_depth: self.config.max_depth.unwrap_or(usize::MAX),
            halfway: true,
        }
    }

    /// How rows are drawn for trees.
    pub(crate) fn sampling(&self) -> Sampling {
        let config = &self.config;
        Sampling { fraction: config.max_samples, bag: 1, honest: config.honest.then_some(0.5) }
    }

    /// Fits the forest, with its out-of-bag predictions.
    pub fn fit_forest(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<RegressionForest> {
        let config = &self.config;
        input::check_regression(task)?;
        let n = task.x.n_rows();
        let binned = binned_rows(task.x, task.columns, config.max_bins, config.exact)?;
        let growth = self.growth(task.x.n_cols(), task.target);
        let sampling = self.sampling();
        let sampler = Sampler { sampling, units: Units::new(n, task.groups), seed: ctx.seed };
        ctx.event(&Event::Stage { name: "growing a forest".into(), total: Some(config.n_estimators as u64) });
        let context = GrowContext {
            binned: &binned,
            growth,
            sampler: &sampler,
            n_trees: config.n_estimators,
            weight: task.weight,
            ctx,
        };
        let (means, held_out) = MeanForest::fit(&context, Self::SPLIT, task.y)?;
        let mut out = RegressionForest {
            importance: importance(&means.forest, task.columns),
            means,
            target: task.target.into(),
            n_rows: n,
            n_unseen: held_out.n_unseen,
            oob_error: None,
            held_out: held_out.values,
        };
        out.finish(task);
        Ok(out)
    }
}

impl Regressor for ForestRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        Ok(Box::new(self.fit_forest(task, ctx)?))
    }

    fn over_units(&self) -> Option<&dyn UnitRegressor> {
        // Rows of units are held out by trees that have not drawn them.
        (!self.config.exact && self.config.max_samples < 1.0).then_some(self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Mean,
    Probability,
}

impl From<Target> for Kind {
    fn from(target: Target) -> Self {
        match target {
            Target::Mean => Self::Mean,
            Target::Probability => Self::Probability,
        }
    }
}

/// A fitted regression or probability forest.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionForest {
    means: MeanForest,
    target: Kind,
    n_rows: usize,
    n_unseen: usize,
    importance: Vec<Importance>,
    held_out: Vec<f64>,
    oob_error: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Facts {
    target: Kind,
    n_rows: usize,
    importance: Vec<Importance>,
    oob_error: Option<f64>,
}

impl RegressionForest {
    /// Predictions of the training rows by the trees that have not seen them; a row that every tree has seen gets
    /// the overall mean.
    pub fn out_of_bag(&self) -> &[f64] {
        &self.held_out
    }

    /// Rows that every tree has seen.
    pub fn n_unseen(&self) -> usize {
        self.n_unseen
    }

    /// Mean squared error out of bag; nothing when no row is out of bag.
    pub fn oob_error(&self) -> Option<f64> {
        self.oob_error
    }

    /// Each column's share of the splits, those near the root counting most.
    pub fn importance(&self) -> &[Importance] {
        &self.importance
    }

    fn finish(&mut self, task: &RegressionTask<'_>) {
        let squares: Vec<f64> = task.y.iter().zip(&self.held_out).map(|(y, m)| (y - m).powi(2)).collect();
        self.oob_error = (self.n_unseen < self.n_rows).then(|| weighted_mean(&squares, task.weight));
        let held_out = std::mem::take(&mut self.held_out);
        self.held_out = held_out.into_iter().map(|m| self.shown(m)).collect();
    }

    /// The forest that was grown on `n_rows` rows of units.
    pub(crate) fn of_units(means: MeanForest, target: Target, n_rows: usize, columns: &[Column]) -> Self {
        let importance = importance(&means.forest, columns);
        Self { importance, means, target: target.into(), n_rows, n_unseen: 0, oob_error: None, held_out: vec![] }
    }

    /// Predictions of coded rows by the trees that have not seen them.
    pub(crate) fn unseen(&self, n_rows: usize, codes: Vec<u8>, in_bag: &InBag) -> Vec<f64> {
        let codes = Codes::of_cells(n_rows, Cells::Byte(codes), &self.means.forest.bins);
        let means = match self.means.out_of_bag(&codes, in_bag, || Ok::<(), Infallible>(())) {
            Ok(found) => found.values,
            Err(never) => match never {},
        };
        means.into_iter().map(|m| self.shown(m)).collect()
    }

    /// Probabilities are drawn in by half a row, so that none is 0 or 1.
    fn shown(&self, mean: f64) -> f64 {
        match self.target {
            Kind::Mean => mean,
            Kind::Probability => (mean.clamp(0.0, 1.0) * self.n_rows as f64 + 0.5) / (self.n_rows as f64 + 1.0),
        }
    }

    fn load(state: &State) -> Result<Self> {
        let Facts { target, n_rows, importance, oob_error } = state.nested("facts")?.parse()?;
        let bins = Bins::load(&state.nested("bins")?)?;
        let means = MeanForest::load(&state.nested("means")?, &bins)?;
        Ok(Self { means, target, n_rows, n_unseen: 0, importance, held_out: vec![], oob_error })
    }
}

impl FittedRegressor for RegressionForest {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        input::check_columns(self.means.forest.bins.n_cols(), x)?;
        Ok(self.means.predict(x).into_iter().map(|m| self.shown(m)).collect())
    }

    fn held_out(&self) -> Option<&[f64]> {
        (!self.held_out.is_empty() && self.n_unseen < self.n_rows).then_some(&self.held_out)
    }

    fn state(&self) -> Result<State> {
        let facts = Facts {
            target: self.target,
            n_rows: self.n_rows,
            importance: self.importance.clone(),
            oob_error: self.oob_error,
        };
        let mut state = State::default();
        state.nest("facts", State::new(&facts)?);
        state.nest("bins", self.means.forest.bins.state()?);
        state.nest("means", self.means.state()?);
        Ok(state)
    }
}

/// The base learner `forest`.
#[derive(Debug, Clone, Copy)]
pub struct ForestBase;

/// The base learner `forest` for the list of base learners.
pub const FOREST: ForestBase = ForestBase;

impl BaseEntry for ForestBase {
    fn name(&self) -> &'static str {
        "forest"
    }

    fn summary(&self) -> &'static str {
        "Random forest on binned columns: regression for means, probability forest for 0/1 outcomes"
    }

    fn handles(&self) -> Handles {
        Handles { missing: true, sparse: true, categories: true, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_noisy_targets(&self) -> Params {
        // Values of single rows are mostly noise, which leaves must average out; the few columns that matter are found where all
        // are tried.
        Params::none().with("honest", true).with("min_node_size", 20).with("max_features", MOST_TRIED)
    }

    fn for_nuisances(&self, n_rows: usize) -> Option<Params> {
        // Trees need no more rows than this to predict well, and time would grow with every row.
        const MOST_ROWS: f64 = 50_000.0;
        let usual = ForestConfig::default().max_samples;
        Some(Params::none().with("max_samples", usual.min(MOST_ROWS / n_rows as f64).max(0.01)))
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        let config = resolve("forest", PARAMS, &ForestConfig::default(), params)?;
        Ok(Box::new(ForestRegressor { config }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        Ok(Box::new(RegressionForest::load(state)?))
    }
}
