//! A causal forest for several arms: all contrasts with the control at once, in one forest.

use paretau_core::{
    Design, Diagnostics, Effects, Error, Event, Features, FitContext, FittedModel, Result, State, Toolbox, Want,
};
use paretau_kernels::numeric::weighted_mean;
use serde::{Deserialize, Serialize};

use crate::bins::Bins;
use crate::causal_forest::{CausalForest, CausalForestConfig, warn_unseen};
use crate::causal_model::inside;
use crate::centre::Centre;
use crate::effect::{Slopes, slopes};
use crate::forest::{Forest, GrowContext};
use crate::importance::importance;
use crate::input::{self, binned_rows};
use crate::leaf::moments_width;
use crate::recipes;
use crate::relabel::Arms;
use crate::rows::CausalRows;
use crate::sample::{Sampler, Units};
use crate::solve::MAX_DIM;
use crate::split::ArmsRule;

/// The part of a state by which a forest for several arms is known.
const FACTS: &str = "arms";

/// A causal forest for several arms: the effect of every arm against the first, with standard errors.
///
/// ```
/// use paretau_core::{Dense, Design, Features, FitContext, FittedModel, Seed, Want};
/// use paretau_forest::{ArmsForest, CausalForestConfig};
///
/// # fn main() -> paretau_core::Result<()> {
/// let n = 300;
/// let x: Vec<f64> = (0..2 * n).map(|i| f64::from((i * 37 % 101) as u8)).collect();
/// let arm: Vec<u8> = (0..n).map(|i| (i * 7 % 3) as u8).collect();
/// let y: Vec<f64> = (0..n).map(|i| 0.01 * x[2 * i] + [0.0, 1.0, -2.0][usize::from(arm[i])]).collect();
/// let design = Design::with_arms(Features::Dense(Dense::new(n, 2, x)?), arm, y, 3)?;
/// let config = CausalForestConfig { n_estimators: 100, ..CausalForestConfig::default() };
/// let model = ArmsForest::new(config)?.fit(&design, &FitContext::silent(Seed(1)))?;
/// let effects = model.predict(design.x(), Want::Everything)?;
/// assert_eq!(effects.len(), 2);
/// let mean = |tau: &[f64]| tau.iter().sum::<f64>() / tau.len() as f64;
/// assert!((mean(&effects[0].tau) - 1.0).abs() < 0.3 && (mean(&effects[1].tau) + 2.0).abs() < 0.3);
/// # Ok(())
/// # }
/// ```
///
/// Parameters are checked; they are those of [`CausalForestConfig`], where
/// `stabilize_splits` is always on, `imbalance_penalty` and `criterion` have no part, and `honest` is true unless set
/// otherwise.
#[derive(Debug, Clone, Copy)]
pub struct ArmsForest {
    single: CausalForest,
}

/// A fitted causal forest for several arms.
#[derive(Debug)]
pub struct ArmsForestModel {
    forest: Forest,
    m: Centre,
    e: Vec<Centre>,
    facts: Facts,
    diagnostics: Diagnostics,
    held_out: Option<Vec<Effects>>,
}

/// Small facts of a forest for several arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Facts {
    /// Each arm's effect over all rows, for rows that no tree can predict.
    overall: Vec<f64>,
    /// Training rows.
    n_rows: usize,
}

impl From<CausalForest> for ArmsForest {
    /// The forest with the same parameters and tools.
    fn from(single: CausalForest) -> Self {
        Self { single }
    }
}

impl ArmsForest {
    /// A forest with these parameters.
    pub fn new(config: CausalForestConfig) -> Result<Self> {
        Ok(CausalForest::new(config)?.into())
    }

    /// Fits a design with two or more arms.
    pub fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<ArmsForestModel> {
        let (n, dim, config) = (design.n_rows(), design.n_arms() - 1, &self.single.config);
        if dim > MAX_DIM {
            return Err(Error::unfit(format!(
                "a forest compares at most {} arms, the data have {}; combine or leave out arms",
                MAX_DIM + 1,
                dim + 1
            )));
        }
        if dim > 1 && design.propensity().is_some() {
            return Err(Error::unfit(format!(
                "propensity: one propensity per row says nothing about {} arms; leave the column out, or compare two arms",
                dim + 1
            )));
        }
        let indicator = |arm: usize| -> Vec<f64> {
            design.t().iter().map(|&t| f64::from(u8::from(usize::from(t) == arm))).collect()
        };
        let first = indicator(1);
        let rows = CausalRows { e_hat: None, ..CausalRows::of_design(design, &first) };
        rows.check()?;
        let binned = binned_rows(rows.x, rows.columns, config.max_bins, config.exact)?;
        let units = Units::new(n, rows.groups);
        let centering = self.single.centering(&binned, &units, &rows, ctx);
        let m = centering.fit(rows.y, "outcome")?;
        let (mut e, mut e_hat, mut z) = (Vec::new(), vec![0.0; n * dim], vec![0.0; n * dim]);
        for k in 0..dim {
            let arm = indicator(k + 1);
            let fitted = centering.fit(&arm, &format!("choice of arm {}", k + 1))?;
            for i in 0..n {
                e_hat[i * dim + k] = fitted.held_out[i];
                z[i * dim + k] = arm[i] - fitted.held_out[i];
            }
            e.push(fitted.centre);
        }
        let mut y: Vec<f64> = rows.y.iter().zip(&m.held_out).map(|(y, m)| y - m).collect();
        let level = weighted_mean(&y, rows.weight);
        y.iter_mut().for_each(|v| *v -= level);
        let sampling = self.single.sampling(config.honest.unwrap_or(true));
        let sampler = Sampler { sampling, units: units.clone(), seed: ctx.seed.named("causal") };
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(config.n_estimators as u64) });
        let context = GrowContext {
            binned: &binned,
            growth: self.single.growth(rows.x.n_cols()),
            sampler: &sampler,
            n_trees: config.n_estimators,
            weight: rows.weight,
            ctx,
        };
        let labels = Arms { z: &z, y: &y, weight: rows.weight, dim };
        let rule = ArmsRule { dim, min_node_size: config.min_node_size as f64, alpha: config.alpha };
        let (forest, in_bag) = recipes::arms(&context, rule, labels)?;
        let found = forest.map_blocks_out_of_bag(
            &binned.codes,
            &in_bag,
            || ctx.check_interrupt(),
            |block| slopes(block, dim),
        )?;
        let facts = Facts { overall: (0..dim).map(|k| mean_tau(&found, k)).collect(), n_rows: n };
        let mut diagnostics = Diagnostics { importance: importance(&forest, rows.columns), ..Diagnostics::default() };
        warn_unseen(found.iter().filter(|s| s.is_none()).count(), &mut diagnostics);
        diagnostics.note("centering_r2_outcome", m.explained);
        let mut model = ArmsForestModel { forest, m: m.centre, e, facts, diagnostics, held_out: None };
        model.held_out = Some(model.assemble(&found, &m.held_out, &e_hat));
        Ok(model)
    }
}

fn mean_tau(found: &[Option<Slopes>], contrast: usize) -> f64 {
    let known: Vec<f64> = found.iter().flatten().map(|s| s.tau[contrast]).collect();
    if known.is_empty() { 0.0 } else { weighted_mean(&known, None) }
}

impl ArmsForestModel {
    /// Whether the state is one of a forest for several arms.
    pub(crate) fn is_in(state: &State) -> bool {
        state.json.get(FACTS).is_some()
    }

    /// The model back from its state.
    pub fn load(state: &State, tools: &Toolbox) -> Result<Self> {
        let facts: Facts = state.nested(FACTS)?.parse()?;
        let bins = Bins::load(&state.nested("bins")?)?;
        let forest = Forest::load(&state.nested("forest")?, bins.clone())?;
        let dim = facts.overall.len();
        if dim == 0 || dim > MAX_DIM || forest.width != moments_width(dim) {
            return Err(Error::bad_model("the number of arms does not fit the forest"));
        }
        if facts.overall.iter().any(|tau| !tau.is_finite()) {
            return Err(Error::bad_model("an arm's effect over all rows is not a number"));
        }
        let e =
            (0..dim).map(|k| Centre::load(&state.nested(&format!("e{k}"))?, &bins, tools)).collect::<Result<_>>()?;
        let m = Centre::load(&state.nested("m")?, &bins, tools)?;
        Ok(Self { forest, m, e, facts, diagnostics: state.nested("diagnostics")?.parse()?, held_out: None })
    }

    fn slopes(&self, x: &Features) -> Result<Vec<Option<Slopes>>> {
        input::check_columns(self.n_features(), x)?;
        let dim = self.e.len();
        Ok(self.forest.map_blocks(x, |block| slopes(block, dim)))
    }

    /// An arm's effect and its error, without outcomes. A row about which nothing is known is at least as uncertain as any other.
    fn contrast_of(&self, found: &[Option<Slopes>], k: usize) -> Effects {
        let variance = |s: &Option<Slopes>| s.and_then(|s| s.variance).map(|v| v[k]);
        let widest = found.iter().filter_map(variance).fold(f64::NEG_INFINITY, f64::max);
        Effects {
            tau: found.iter().map(|s| s.map_or(self.facts.overall[k], |s| s.tau[k])).collect(),
            se: (widest >= 0.0).then(|| found.iter().map(|s| variance(s).unwrap_or(widest).sqrt()).collect()),
            ..Effects::default()
        }
    }

    /// The control's outcome is m − Σ eₖτₖ, an arm's that plus its effect.
    fn assemble(&self, found: &[Option<Slopes>], m: &[f64], e_hat: &[f64]) -> Vec<Effects> {
        let dim = self.e.len();
        let contrasts: Vec<Effects> = (0..dim).map(|k| self.contrast_of(found, k)).collect();
        let e = |i: usize| &e_hat[i * dim..(i + 1) * dim];
        let mu0: Vec<f64> = (0..m.len())
            .map(|i| m[i] - e(i).iter().zip(&contrasts).map(|(e, contrast)| e * contrast.tau[i]).sum::<f64>())
            .collect();
        let among_two = |i: usize, k: usize| {
            let (own, control) = (e(i)[k].max(0.0), (1.0 - e(i).iter().sum::<f64>()).max(0.0));
            inside(if own + control > 0.0 { own / (own + control) } else { 0.5 }, self.facts.n_rows)
        };
        contrasts
            .into_iter()
            .enumerate()
            .map(|(k, Effects { tau, se, .. })| Effects {
                mu1: mu0.iter().zip(&tau).map(|(mu, tau)| mu + tau).collect(),
                mu0: mu0.clone(),
                e: Some((0..m.len()).map(|i| among_two(i, k)).collect()),
                tau,
                se,
            })
            .collect()
    }
}

impl FittedModel for ArmsForestModel {
    fn n_features(&self) -> usize {
        self.forest.bins.n_cols()
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        let (found, dim) = (self.slopes(x)?, self.e.len());
        if want == Want::Effect {
            return Ok((0..dim).map(|k| self.contrast_of(&found, k)).collect());
        }
        let mut e_hat = vec![0.0; x.n_rows() * dim];
        for (k, centre) in self.e.iter().enumerate() {
            centre.predict(x)?.into_iter().enumerate().for_each(|(i, e)| e_hat[i * dim + k] = e);
        }
        Ok(self.assemble(&found, &self.m.predict(x)?, &e_hat))
    }

    fn n_treated_arms(&self) -> usize {
        self.e.len()
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest(FACTS, State::new(&self.facts)?);
        state.nest("diagnostics", State::new(&self.diagnostics)?);
        state.nest("bins", self.forest.bins.state()?);
        state.nest("forest", self.forest.state()?);
        state.nest("m", self.m.state()?);
        self.e.iter().enumerate().try_for_each(|(k, e)| e.state().map(|s| state.nest(&format!("e{k}"), s)))?;
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_deref()
    }
}
