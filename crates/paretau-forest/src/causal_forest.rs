//! `causal-forest`, after grf: local centering out of bag, honest trees in little bags, treatment-aware splits, effects
//! from averaged moments. What grf leaves to the user is chosen on rows that the parts have not seen: how outcome and
//! treatment are centred ([`crate::centre`]), and whether trees are honest and how they split ([`crate::choose`]).

use paretau_core::{
    Abilities, BaseEntry, ConfigEntry, Design, Diagnostics, Error, Estimator, EstimatorInfo, Event, Family, FitContext,
    FittedModel, Handles, ParamKind, ParamSpec, Result, SearchRange, Toolbox, UnitEstimator,
};
use paretau_kernels::numeric::weighted_mean;
use serde::{Deserialize, Serialize};

use crate::arms::{ArmsForest, ArmsForestModel};
use crate::causal_model::{CausalForestModel, Facts, Nuisance, out_of_bag};
use crate::centre::{Centering, FittedCentre};
use crate::choose::{Shape, Trial};
use crate::dml::Criterion;
use crate::forest::{BinnedRows, Forest, GrowContext, InBag};
use crate::grow::{Candidates, Growth};
use crate::importance::importance;
use crate::input::{self, binned_rows};
use crate::recipes::{self, CausalRule};
use crate::rows::{CausalRows, two_arms};
use crate::sample::{Sampler, Sampling, Units};
use crate::split::{Balance, Treatment, Variance};
use crate::summary::{Centred, describe};

/// Parameters of a causal forest.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `n_estimators` | 2000 | trees; intervals need many |
/// | `n_nuisance` | a quarter of the trees, 50 to 100 | trees of each centering forest |
/// | `max_samples` | 0.5 | share of the rows a tree sees; at most 0.5 with bags |
/// | `max_features` | min(⌈√p + 20⌉, p) | columns tried at a node, on average |
/// | `min_node_size` | 5 | least rows with little and with much treatment on each side of a split |
/// | `honest` | chosen out of bag | part of a tree's rows choose splits, the others fill leaves |
/// | `honest_share` | 0.5 | the part that chooses splits |
/// | `criterion` | chosen out of bag | `het`: splits by gradient labels; `mse`: effects fitted anew in each child |
/// | `alpha` | 0.05 | least share of the parent's treatment variation on each side |
/// | `imbalance_penalty` | 0 | penalty on uneven splits |
/// | `stabilize_splits` | true | count treatment, not rows, in the two rules above |
/// | `subforest_size` | 2 | trees per bag; 1 gives no standard errors |
/// | `max_bins` | 256 | bins per column |
/// | `exact` | false | every distinct value its own bin (slow; for checking) |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CausalForestConfig {
    /// Number of trees.
    pub n_estimators: usize,
    /// Trees of each centering forest.
    pub n_nuisance: Option<usize>,
    /// Share of the rows a tree sees.
    pub max_samples: f64,
    /// Columns tried at a node, on average.
    pub max_features: Option<usize>,
    /// Least rows of each kind of treatment on each side.
    pub min_node_size: usize,
    /// Whether some rows choose splits and others fill leaves; `None` compares both out of bag.
    pub honest: Option<bool>,
    /// Share of a tree's rows that choose splits.
    pub honest_share: f64,
    /// How a split is scored; `None` compares both out of bag.
    pub criterion: Option<Criterion>,
    /// Least share of the parent's treatment variation on each side.
    pub alpha: f64,
    /// Penalty on uneven splits.
    pub imbalance_penalty: f64,
    /// Whether the split rules count treatment rather than rows.
    pub stabilize_splits: bool,
    /// Trees per bag.
    pub subforest_size: usize,
    /// Bins per column.
    pub max_bins: usize,
    /// Every distinct value its own bin.
    pub exact: bool,
}

impl Default for CausalForestConfig {
    fn default() -> Self {
        Self {
            n_estimators: 2000,
            n_nuisance: None,
            max_samples: 0.5,
            max_features: None,
            min_node_size: 5,
            honest: None,
            honest_share: 0.5,
            criterion: None,
            alpha: 0.05,
            imbalance_penalty: 0.0,
            stabilize_splits: true,
            subforest_size: 2,
            max_bins: 256,
            exact: false,
        }
    }
}

pub(crate) const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("n_estimators", input::COUNT, "Number of trees; intervals need many."),
    ParamSpec::new(
        "n_nuisance",
        ParamKind::Auto(&input::COUNT),
        "Trees of each centering forest; auto is a quarter of the trees, at least 50 and at most 100.",
    ),
    ParamSpec::new(
        "max_samples",
        ParamKind::Float { min: 0.01, max: 1.0 },
        "Share of the rows a tree sees, drawn without replacement; at most 0.5 with bags.",
    )
    .searched(SearchRange::Between(0.2, 0.5)),
    ParamSpec::new(
        "max_features",
        ParamKind::Auto(&input::COUNT),
        "Columns tried at a node, on average; auto is the square root of their number plus 20.",
    ),
    ParamSpec::new(
        "min_node_size",
        input::COUNT,
        "Least rows with little and with much treatment on each side of a split.",
    )
    .searched(SearchRange::WholeRatio(2.0, 50.0)),
    ParamSpec::new(
        "honest",
        ParamKind::Auto(&ParamKind::Bool),
        "Some of a tree's rows choose the splits, the others fill the leaves; auto is true unless a small forest \
               without is clearly better out of bag.",
    ),
    ParamSpec::new(
        "honest_share",
        ParamKind::Float { min: 0.1, max: 0.9 },
        "Share of a tree's rows that choose the splits, in honest trees.",
    )
    .searched(SearchRange::Between(0.3, 0.7)),
    ParamSpec::new(
        "criterion",
        ParamKind::Auto(&ParamKind::Choice(&["mse", "het"])),
        "Score splits by gradient labels (het) or by the squared error with effects fitted anew (mse); auto is \
               het unless a small forest by mse is clearly better out of bag.",
    ),
    ParamSpec::new(
        "alpha",
        ParamKind::Float { min: 0.0, max: 0.25 },
        "Least share of the parent's treatment variation on each side of a split.",
    )
    .searched(SearchRange::Between(0.0, 0.2)),
    ParamSpec::new("imbalance_penalty", ParamKind::Float { min: 0.0, max: f64::INFINITY }, "Penalty on uneven splits."),
    ParamSpec::new("stabilize_splits", ParamKind::Bool, "Split rules count treatment variation rather than rows."),
    ParamSpec::new(
        "subforest_size",
        ParamKind::Int { min: 1, max: 64 },
        "Trees per little bag; 1 gives no standard errors.",
    ),
    ParamSpec::new("max_bins", input::BINS, "Bins per column, one of them for missing values."),
    ParamSpec::new("exact", ParamKind::Bool, "Give every distinct value its own bin; slow, for checking."),
];

/// `causal-forest` in the registry.
pub const CAUSAL_FOREST: ConfigEntry<CausalForestConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &["CF", "grf"],
        family: Family::Forest,
        class: "CausalForest",
        summary: "Honest causal forest with local centering and little-bags standard errors",
        reference: "Athey, Tibshirani and Wager 2019, Generalized random forests, Annals of Statistics 47(2)",
        handles: Handles { missing: true, sparse: true, categories: true, many_arms: true },
        abilities: Abilities { intervals: true, ..Abilities::NONE },
    },
    params: PARAMS,
    preset: CausalForestConfig::default,
    build: |config, ctx| Ok(Box::new(CausalForest::new(config)?.with_tools(ctx.tools))),
    load: |state, tools| {
        if ArmsForestModel::is_in(state) {
            return Ok(Box::new(ArmsForestModel::load(state, tools)?));
        }
        Ok(Box::new(CausalForestModel::load(state, tools)?))
    },
};

const NAME: &str = "causal-forest";

/// A causal forest with checked parameters.
#[derive(Clone, Copy)]
pub struct CausalForest {
    pub(crate) config: CausalForestConfig,
    linear: Option<&'static dyn BaseEntry>,
}

/// What is found before the trees are grown.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) binned: BinnedRows,
    units: Units,
    /// What outcome and treatment are centred by.
    pub(crate) m: FittedCentre,
    pub(crate) e: FittedCentre,
    /// The mean of the outcome residuals, which is taken out.
    pub(crate) level: f64,
    /// Treatment and outcome residual of each row.
    pub(crate) zy: Vec<[f64; 2]>,
    pub(crate) min_variance: f64,
    /// The slope over all rows.
    overall: f64,
    /// The kind of the trees.
    pub(crate) shape: Shape,
}

impl std::fmt::Debug for CausalForest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CausalForest").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The base learner that is tried beside forests when outcome and treatment are centred.
const LINEAR: &str = "ridge";

impl CausalForest {
    /// A forest with these parameters; relations between them are checked.
    pub fn new(config: CausalForestConfig) -> Result<Self> {
        let config = input::checked(NAME, PARAMS, &config)?;
        if config.subforest_size > 1 && config.max_samples > 0.5 {
            return Err(bad(
                "max_samples",
                &config.max_samples,
                "at most 0.5 when trees come in bags (subforest_size)",
            ));
        }
        if !config.n_estimators.is_multiple_of(config.subforest_size) {
            return Err(bad("n_estimators", &config.n_estimators, "a multiple of subforest_size"));
        }
        Ok(Self { config, linear: None })
    }

    /// With the linear base learner of the toolbox, if there is one, tried beside forests when outcome and treatment
    /// are centred.
    #[must_use]
    pub fn with_tools(self, tools: &Toolbox) -> Self {
        Self { linear: tools.base(LINEAR).ok(), ..self }
    }

    /// Fits rows whose treatment is any number.
    pub fn fit_rows(&self, rows: &CausalRows<'_>, ctx: &FitContext<'_>) -> Result<CausalForestModel> {
        let start = self.start(rows, self.config.max_bins, ctx)?;
        let config = &self.config;
        let units = start.units.clone();
        let sampler = Sampler { sampling: self.sampling(start.shape.honest), units, seed: ctx.seed.named("causal") };
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(config.n_estimators as u64) });
        let context = GrowContext {
            binned: &start.binned,
            growth: self.growth(rows.x.n_cols()),
            sampler: &sampler,
            n_trees: config.n_estimators,
            weight: rows.weight,
            ctx,
        };
        let (forest, in_bag) = recipes::causal(&context, self.rule(start.shape), &start.zy, start.min_variance)?;
        self.model(start, rows, (forest, &in_bag), ctx)
    }

    /// What is found before the trees of the forest itself are grown.
    pub(crate) fn start(&self, rows: &CausalRows<'_>, max_bins: usize, ctx: &FitContext<'_>) -> Result<Start> {
        rows.check()?;
        let binned = binned_rows(rows.x, rows.columns, max_bins, self.config.exact)?;
        let units = Units::new(rows.x.n_rows(), rows.groups);
        if units.len() < 4 {
            return Err(Error::unfit(format!("groups: a forest needs at least 4 groups, there are {}", units.len())));
        }
        let centering = self.centering(&binned, &units, rows, ctx);
        let (m, e) = (centering.fit(rows.y, "outcome")?, centering.fit(rows.treatment, "treatment")?);
        let (m_hat, e_hat) = (rows.y_hat.unwrap_or(&m.held_out), rows.e_hat.unwrap_or(&e.held_out));
        let level = level(rows, m_hat);
        let zy = residuals(rows, m_hat, e_hat);
        let min_variance = 1e-10 * rows.treatment_variance();
        let overall = overall(&zy, rows.weight);
        let shape = Trial { forest: self, binned: &binned, units: &units, rows, zy: &zy, overall, min_variance, ctx }
            .choose(self.config.honest, self.config.criterion)?;
        Ok(Start { binned, units, m, e, level, zy, min_variance, overall, shape })
    }

    /// The model of a grown forest; `rows` are those that it started with, `in_bag` says which of them each tree has seen.
    pub(crate) fn model(
        &self,
        start: Start,
        rows: &CausalRows<'_>,
        (forest, in_bag): (Forest, &InBag),
        ctx: &FitContext<'_>,
    ) -> Result<CausalForestModel> {
        let Start { binned, m, e, overall, shape, .. } = start;
        let (m_hat, e_hat) = (rows.y_hat.unwrap_or(&m.held_out), rows.e_hat.unwrap_or(&e.held_out));
        let slopes = out_of_bag(&forest, &binned, in_bag, ctx)?;
        let facts = Facts { binary: rows.is_binary(), overall, n_rows: rows.x.n_rows() };
        let held_out = CausalForestModel::assemble(&slopes, m_hat, e_hat, &facts);
        let mut diagnostics = Diagnostics { importance: importance(&forest, rows.columns), ..Diagnostics::default() };
        describe(rows, Centred { m: m_hat, e: e_hat }, &held_out, &mut diagnostics);
        warn_unseen(slopes.iter().filter(|s| s.is_none()).count(), &mut diagnostics);
        diagnostics.note("honest", f64::from(u8::from(shape.honest)));
        if self.config.honest.is_none() && !shape.honest {
            diagnostics.warn(
                "trees-not-honest",
                "trees that use the same rows for splits and for leaves fitted unseen rows better here, so these are used; the standard \
                 errors of their little bags are too small by themselves, and intervals are wider than these by the bias that \
                 held-out scores show. Set honest=true for the errors that the theory is about.",
            );
        }
        diagnostics.note("splits_by_mse", f64::from(u8::from(shape.criterion == Criterion::Mse)));
        diagnostics.note("centering_r2_outcome", m.explained);
        diagnostics.note("centering_r2_treatment", e.explained);
        let nuisance = Nuisance::Centred { m: Box::new(m.centre), e: Box::new(e.centre) };
        Ok(CausalForestModel { forest, nuisance, facts, diagnostics, held_out: Some(held_out) })
    }

    pub(crate) fn growth(&self, p: usize) -> Growth {
        let usual = ((p as f64).sqrt() + 20.0).ceil() as usize;
        Growth {
            candidates: Candidates::Poisson(self.config.max_features.unwrap_or(usual).min(p) as f64),
            min_node_size: self.config.min_node_size,
            max_depth: usize::MAX,
            halfway: false,
        }
    }

    /// How rows are drawn for its trees.
    pub(crate) fn sampling(&self, honest: bool) -> Sampling {
        let CausalForestConfig { max_samples, subforest_size, honest_share, .. } = self.config;
        Sampling { fraction: max_samples, bag: subforest_size, honest: honest.then_some(honest_share) }
    }

    pub(crate) fn rule(&self, shape: Shape) -> CausalRule {
        let CausalForestConfig { min_node_size, alpha, imbalance_penalty, .. } = self.config;
        if shape.criterion == Criterion::Mse {
            let balance = Balance { min_rows: min_node_size as f64, min_share: alpha, honest: shape.honest };
            CausalRule::Exact(balance)
        } else if self.config.stabilize_splits {
            CausalRule::Treatment(Treatment { min_node_size, alpha, imbalance_penalty })
        } else {
            CausalRule::Plain(Variance { min_rows: 1.0, alpha, imbalance_penalty })
        }
    }

    /// What outcome and treatment are centred by.
    pub(crate) fn centering<'a>(
        &self,
        binned: &'a BinnedRows,
        units: &'a Units,
        rows: &'a CausalRows<'a>,
        ctx: &'a FitContext<'a>,
    ) -> Centering<'a> {
        let n_trees = self.config.n_nuisance.unwrap_or((self.config.n_estimators / 4).clamp(50, 100));
        Centering { binned, units, rows, linear: self.linear, n_trees, ctx }
    }

    /// Trees of the final forest, and how many share a bag.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.config.n_estimators, self.config.subforest_size)
    }
}

impl Estimator for CausalForest {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        if design.n_arms() > 2 {
            return Ok(Box::new(ArmsForest::from(*self).fit(design, ctx)?));
        }
        let treatment = two_arms(design, NAME)?;
        Ok(Box::new(self.fit_rows(&CausalRows::of_design(design, &treatment), ctx)?))
    }

    fn over_units(&self) -> Option<&dyn UnitEstimator> {
        (!self.config.exact).then_some(self)
    }
}

/// The mean of the outcome residuals.
fn level(rows: &CausalRows<'_>, m: &[f64]) -> f64 {
    let y: Vec<f64> = rows.y.iter().zip(m).map(|(y, m)| y - m).collect();
    weighted_mean(&y, rows.weight)
}

/// Treatment and outcome residuals; the outcome's mean is taken out, since leaves keep single precision.
pub(crate) fn residuals(rows: &CausalRows<'_>, m: &[f64], e: &[f64]) -> Vec<[f64; 2]> {
    let level = level(rows, m);
    let y = rows.y.iter().zip(m);
    y.zip(rows.treatment.iter().zip(e)).map(|((y, m), (w, e))| [w - e, y - m - level]).collect()
}

/// The slope over all rows.
pub(crate) fn overall(zy: &[[f64; 2]], weight: Option<&[f64]>) -> f64 {
    let all: Vec<u32> = (0..zy.len() as u32).collect();
    crate::relabel::slope(zy, weight, &all).unwrap_or(0.0)
}

/// Warns of rows without an out-of-bag effect.
pub(crate) fn warn_unseen(n: usize, out: &mut Diagnostics) {
    if n > 0 {
        out.warn(
            "no-out-of-bag-tree",
            format!("{n} training rows were used by every tree and got the overall effect instead; grow more trees"),
        );
    }
}

pub(crate) fn bad(name: &str, value: &dyn std::fmt::Display, expected: &str) -> Error {
    Error::BadParameter {
        owner: NAME.to_owned(),
        name: name.to_owned(),
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}
