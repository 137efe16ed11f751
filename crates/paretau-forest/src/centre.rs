//! What outcome or treatment are expected to be at a row: a forest, a line, or a forest of what a line leaves over;
//! whichever is closest to rows that it has not seen.

use paretau_core::{BaseEntry, Error, Event, Features, FitContext, Result, State, Toolbox};
use serde::{Deserialize, Serialize};

use crate::bins::Bins;
use crate::forest::Ground;
use crate::grow::{Candidates, Growth};
use crate::linear::Linear;
use crate::mean_forest::{MeanForest, weighted_mean};
use crate::recipes::Kitchen;
use crate::rows::CausalRows;
use crate::sample::{Sampler, Sampling, Units};
use crate::split::Variance;

/// Share of the rows that a centering tree sees.
const SAMPLE: f64 = 0.5;
/// Nodes of at most this many rows are leaves.
const NODE: usize = 5;
/// A forest of what a line leaves over is grown only when the line explains at least this share of the variance.
const LEAST_EXPLAINED: f64 = 0.02;

/// An expected value: the sum of its parts.
#[derive(Debug)]
pub(crate) struct Centre {
    pub(crate) linear: Option<Linear>,
    pub(crate) forest: Option<MeanForest>,
    /// Whether the target is 0 or 1, so that nothing beyond may be expected.
    pub(crate) binary: bool,
}

/// An expected value, and what it says of the training rows by parts that have not seen them.
#[derive(Debug)]
pub(crate) struct Centering {
    pub(crate) centre: Centre,
    pub(crate) held_out: Vec<f64>,
    /// Share of the variance of unseen rows that it explains.
    pub(crate) explained: f64,
}

/// What centering needs beside the rows.
pub(crate) struct Centrer<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) units: &'a Units,
    pub(crate) rows: &'a CausalRows<'a>,
    /// A linear base learner, where there is one.
    pub(crate) linear: Option<&'static dyn BaseEntry>,
    pub(crate) n_trees: usize,
    pub(crate) ctx: &'a FitContext<'a>,
}

impl Centrer<'_> {
    /// Fits the expected value of `target` and chooses its kind.
    pub(crate) fn fit(&self, target: &[f64], what: &str) -> Result<Centering> {
        let (rows, ctx) = (self.rows, &self.ctx.with_seed(self.ctx.seed.named(what)));
        ctx.event(&Event::Stage { name: format!("centering the {what}"), total: Some(self.n_trees as u64) });
        let error = |values: &[f64]| {
            let squares: Vec<f64> = values.iter().zip(target).map(|(v, y)| (y - v).powi(2)).collect();
            weighted_mean(&squares, rows.weight)
        };
        let binary = target.iter().all(|&v| v == 0.0 || v == 1.0);
        let inside = |mut values: Vec<f64>| {
            if binary {
                values.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
            }
            values
        };
        let total = error(&vec![weighted_mean(target, rows.weight); target.len()]);
        let (forest, held_out) = self.forest(target, ctx)?;
        let mut best = (error(&held_out), held_out, Centre { linear: None, forest: Some(forest), binary });
        if let Some(base) = self.linear
            && let Some((linear, line)) = Linear::cross_fit(base, rows, target, ctx)?
        {
            let line_error = error(&line);
            let rest = if line_error < (1.0 - LEAST_EXPLAINED) * total {
                let left: Vec<f64> = target.iter().zip(&line).map(|(y, v)| y - v).collect();
                let (forest, more) = self.forest(&left, &ctx.with_seed(ctx.seed.named("rest")))?;
                Some((forest, inside(line.iter().zip(&more).map(|(a, b)| a + b).collect())))
            } else {
                None
            };
            let both_error = rest.as_ref().map_or(f64::INFINITY, |(_, both)| error(both));
            if line_error.min(both_error) < best.0 {
                best = match rest {
                    Some((forest, both)) if both_error < line_error => {
                        (both_error, both, Centre { linear: Some(linear), forest: Some(forest), binary })
                    }
                    _ => (line_error, line, Centre { linear: Some(linear), forest: None, binary }),
                };
            }
        }
        let explained = if total > 0.0 { 1.0 - best.0 / total } else { 0.0 };
        Ok(Centering { centre: best.2, held_out: best.1, explained })
    }

    /// A forest of means that is not honest: its trees predict rows they have not seen, which is all that centering
    /// asks, and honest halves would see too few rows to follow a steep outcome.
    pub(crate) fn forest(&self, target: &[f64], ctx: &FitContext<'_>) -> Result<(MeanForest, Vec<f64>)> {
        let p = self.rows.x.n_cols();
        let growth = Growth {
            candidates: Candidates::Fixed(p.div_ceil(3)),
            min_node_size: NODE,
            max_depth: usize::MAX,
            halfway: true,
        };
        let sampling = Sampling { fraction: SAMPLE, bag: 1, honest: None };
        let sampler = Sampler { sampling, units: self.units.clone(), seed: ctx.seed };
        let kitchen = Kitchen {
            ground: self.ground,
            growth,
            sampler: &sampler,
            n_trees: self.n_trees,
            weight: self.rows.weight,
            ctx,
        };
        let split = Variance { min_rows: 1.0, alpha: 0.0, imbalance_penalty: 0.0 };
        let (forest, held_out) = MeanForest::fit(&kitchen, split, target)?;
        Ok((forest, held_out.values))
    }
}

#[derive(Serialize, Deserialize)]
struct Facts {
    binary: bool,
    linear: bool,
    forest: bool,
}

impl Centre {
    /// What is expected at new rows.
    pub(crate) fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let mut out = match &self.linear {
            Some(linear) => linear.predict(x)?,
            None => vec![0.0; x.n_rows()],
        };
        if let Some(forest) = &self.forest {
            out.iter_mut().zip(forest.predict(x)).for_each(|(sum, v)| *sum += v);
        }
        if self.binary {
            out.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
        }
        Ok(out)
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::default();
        let facts = Facts { binary: self.binary, linear: self.linear.is_some(), forest: self.forest.is_some() };
        state.nest("centre", State::new(&facts)?);
        if let Some(linear) = &self.linear {
            state.nest("linear", linear.state()?);
        }
        if let Some(forest) = &self.forest {
            state.nest("forest", forest.state()?);
        }
        Ok(state)
    }

    /// Whether the state is that of a centre.
    pub(crate) fn is_in(state: &State) -> bool {
        state.json.get("centre").is_some()
    }

    pub(crate) fn load(state: &State, bins: &std::sync::Arc<Bins>, tools: &Toolbox) -> Result<Self> {
        let Facts { binary, linear, forest } = state.nested("centre")?.parse()?;
        if !linear && !forest {
            return Err(Error::bad_model("an expected value has no parts"));
        }
        let linear = if linear { Some(Linear::load(&state.nested("linear")?, tools)?) } else { None };
        let forest = if forest { Some(MeanForest::load(&state.nested("forest")?, bins)?) } else { None };
        Ok(Self { linear, forest, binary })
    }
}
