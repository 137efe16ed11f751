//! A causal forest for several arms: all contrasts with the control at once, in one forest.

use paretau_core::{Design, Effects, Error, Event, Features, FitContext, Importance, Result, State};

use crate::bins::Bins;
use crate::causal_forest::{CausalForest, CausalForestConfig};
use crate::effect::{Slopes, slopes};
use crate::forest::Forest;
use crate::importance::importance;
use crate::input::{self, ground};
use crate::leaf::moments_width;
use crate::mean_forest::{MeanForest, weighted_mean};
use crate::recipes::{self, Kitchen};
use crate::relabel::Arms;
use crate::rows::CausalRows;
use crate::sample::{Sampler, Units};
use crate::solve::MAX_DIM;
use crate::split::ArmsRule;

/// Nodes of at most this many rows are leaves of the centering forests.
const LEAVES: usize = 5;

/// A causal forest for several arms: the effect of every arm against the first, with standard errors.
///
/// ```
/// use paretau_core::{Dense, Design, Features, FitContext, Seed};
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
/// let effects = model.effects(design.x())?;
/// assert_eq!(effects.len(), 2);
/// let mean = |tau: &[f64]| tau.iter().sum::<f64>() / tau.len() as f64;
/// assert!((mean(&effects[0].tau) - 1.0).abs() < 0.3 && (mean(&effects[1].tau) + 2.0).abs() < 0.3);
/// # Ok(())
/// # }
/// ```
///
/// Parameters are checked; they are those of [`CausalForestConfig`], where
/// `stabilize_splits` is always on, `imbalance_penalty` and `criterion` have no part, and `honest` is true unless said
/// otherwise.
#[derive(Debug, Clone, Copy)]
pub struct ArmsForest {
    single: CausalForest,
    config: CausalForestConfig,
}

/// A fitted causal forest for several arms.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmsForestModel {
    forest: Forest,
    m: MeanForest,
    e: Vec<MeanForest>,
    overall: Vec<f64>,
    importance: Vec<Importance>,
    held_out: Option<Vec<Effects>>,
}

impl ArmsForest {
    /// A forest with these parameters.
    pub fn new(config: CausalForestConfig) -> Result<Self> {
        Ok(Self { single: CausalForest::new(config)?, config })
    }

    /// Fits a design with two or more arms.
    pub fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<ArmsForestModel> {
        let (n, dim, config) = (design.n_rows(), design.n_arms() - 1, &self.config);
        if dim > MAX_DIM {
            return Err(Error::unfit(format!(
                "a forest compares at most {} arms, the data have {}; combine or leave out arms",
                MAX_DIM + 1,
                dim + 1
            )));
        }
        let indicator = |arm: usize| -> Vec<f64> {
            design.t().iter().map(|&t| f64::from(u8::from(usize::from(t) == arm))).collect()
        };
        let first = indicator(1);
        let rows = CausalRows { e_hat: None, ..CausalRows::of_design(design, &first) };
        rows.check()?;
        let ground = ground(rows.x, rows.columns, config.max_bins, config.exact)?;
        let units = Units::new(n, rows.groups);
        let centrer = self.single.centrer(&ground, &units, &rows, ctx);
        let (m, m_hat) = centrer.forest(rows.y, LEAVES, &ctx.with_seed(ctx.seed.named("outcome")))?;
        let (mut e, mut e_hat, mut z) = (Vec::new(), vec![0.0; n * dim], vec![0.0; n * dim]);
        for k in 0..dim {
            let arm = indicator(k + 1);
            let seed = ctx.seed.named(&format!("arm {}", k + 1));
            let (forest, held_out) = centrer.forest(&arm, LEAVES, &ctx.with_seed(seed))?;
            for i in 0..n {
                e_hat[i * dim + k] = held_out[i];
                z[i * dim + k] = arm[i] - held_out[i];
            }
            e.push(forest);
        }
        let mut y: Vec<f64> = rows.y.iter().zip(&m_hat).map(|(y, m)| y - m).collect();
        let level = weighted_mean(&y, rows.weight);
        y.iter_mut().for_each(|v| *v -= level);
        let sampling = self.single.sampling(config.honest.unwrap_or(true));
        let sampler = Sampler { sampling, units: units.clone(), seed: ctx.seed.named("causal") };
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(config.n_estimators as u64) });
        let kitchen = Kitchen {
            ground: &ground,
            growth: self.single.growth(rows.x.n_cols()),
            sampler: &sampler,
            n_trees: config.n_estimators,
            weight: rows.weight,
            ctx,
        };
        let labels = Arms { z: &z, y: &y, weight: rows.weight, dim };
        let rule = ArmsRule { dim, min_node_size: config.min_node_size as f64, alpha: config.alpha };
        let (forest, in_bag) = recipes::arms(&kitchen, rule, labels)?;
        let found = forest.map_blocks_out_of_bag(&ground.codes, &in_bag, |block| slopes(block, dim));
        let overall = (0..dim).map(|k| mean_tau(&found, k)).collect();
        let mut model =
            ArmsForestModel { importance: importance(&forest, rows.columns), forest, m, e, overall, held_out: None };
        model.held_out = Some(model.assemble(&found, &m_hat, &e_hat));
        Ok(model)
    }
}

fn mean_tau(found: &[Option<Slopes>], contrast: usize) -> f64 {
    let known: Vec<f64> = found.iter().flatten().map(|s| s.tau[contrast]).collect();
    if known.is_empty() { 0.0 } else { weighted_mean(&known, None) }
}

impl ArmsForestModel {
    /// Effects of every arm against the control, in the arms' order: `effects(x)[k]` is arm `k + 1`.
    pub fn effects(&self, x: &Features) -> Result<Vec<Effects>> {
        input::check_columns(self.forest.bins.n_cols(), x)?;
        let dim = self.e.len();
        let found = self.forest.map_blocks(x, |block| slopes(block, dim));
        let mut e_hat = vec![0.0; x.n_rows() * dim];
        for (k, forest) in self.e.iter().enumerate() {
            forest.predict(x).into_iter().enumerate().for_each(|(i, e)| e_hat[i * dim + k] = e);
        }
        Ok(self.assemble(&found, &self.m.predict(x), &e_hat))
    }

    /// Effects of the training rows from trees that have not seen them. Not part of the saved state.
    pub fn held_out_effects(&self) -> Option<&[Effects]> {
        self.held_out.as_deref()
    }

    /// Each column's share of the splits, those near the root counting most.
    pub fn importance(&self) -> &[Importance] {
        &self.importance
    }

    /// Everything needed to bring the model back.
    pub fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest("overall", State::new(&self.overall)?);
        state.nest("importance", State::new(&self.importance)?);
        state.nest("bins", self.forest.bins.state()?);
        state.nest("forest", self.forest.state()?);
        state.nest("m", self.m.state()?);
        self.e.iter().enumerate().try_for_each(|(k, e)| e.state().map(|s| state.nest(&format!("e{k}"), s)))?;
        Ok(state)
    }

    /// The model back from its state.
    pub fn load(state: &State) -> Result<Self> {
        let overall: Vec<f64> = state.nested("overall")?.parse()?;
        let bins = Bins::load(&state.nested("bins")?)?;
        let forest = Forest::load(&state.nested("forest")?, bins.clone())?;
        let dim = overall.len();
        if dim == 0 || dim > MAX_DIM || forest.width != moments_width(dim) {
            return Err(Error::bad_model("the number of arms does not fit the forest"));
        }
        let e = (0..dim).map(|k| MeanForest::load(&state.nested(&format!("e{k}"))?, &bins)).collect::<Result<_>>()?;
        let m = MeanForest::load(&state.nested("m")?, &bins)?;
        Ok(Self { forest, m, e, overall, importance: state.nested("importance")?.parse()?, held_out: None })
    }

    /// The control's outcome is m − Σ eₖτₖ, an arm's that plus its effect.
    fn assemble(&self, found: &[Option<Slopes>], m: &[f64], e_hat: &[f64]) -> Vec<Effects> {
        let dim = self.overall.len();
        let tau = |i: usize, k: usize| found[i].map_or(self.overall[k], |s| s.tau[k]);
        let mu0: Vec<f64> =
            (0..m.len()).map(|i| m[i] - (0..dim).map(|k| e_hat[i * dim + k] * tau(i, k)).sum::<f64>()).collect();
        (0..dim)
            .map(|k| {
                let mut out =
                    Effects::from_outcomes(mu0.clone(), mu0.iter().enumerate().map(|(i, mu)| mu + tau(i, k)).collect());
                out.tau = (0..m.len()).map(|i| tau(i, k)).collect();
                let variance = |s: &Option<Slopes>| s.and_then(|s| s.variance).map(|v| v[k]);
                let widest = found.iter().filter_map(variance).fold(f64::NEG_INFINITY, f64::max);
                out.se = (widest >= 0.0).then(|| found.iter().map(|s| variance(s).unwrap_or(widest).sqrt()).collect());
                out
            })
            .collect()
    }
}
