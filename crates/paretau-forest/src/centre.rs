//! What outcome or treatment are expected to be at a row: their mean, a forest with small or with large leaves, a line,
//! or a forest of what a line leaves over; whichever is closest to rows that it has not seen.

use paretau_core::{BaseEntry, Error, Event, Features, FitContext, Result, State, Toolbox};
use paretau_kernels::numeric::weighted_mean;
use serde::{Deserialize, Serialize};

use crate::bins::Bins;
use crate::forest::{BinnedRows, GrowContext};
use crate::grow::{Candidates, Growth};
use crate::linear::Linear;
use crate::mean_forest::MeanForest;
use crate::rows::CausalRows;
use crate::sample::{Sampler, Sampling, Units};
use crate::split::Variance;

/// Share of the rows that a centering tree sees.
const SAMPLE: f64 = 0.5;
/// Nodes of at most this many rows are leaves: small for what varies steeply, large where noise prevails.
const NODES: [usize; 2] = [5, 50];
/// With more rows than this, large leaves are small enough; small ones would cost much time and memory.
const MANY_ROWS: usize = 50_000;
/// A forest of what a line leaves over is grown only when the line explains at least this share of the variance.
const LEAST_EXPLAINED: f64 = 0.02;

/// An expected value: the sum of its parts.
#[derive(Debug)]
pub(crate) struct Centre {
    /// The mean, where nothing better was found.
    pub(crate) level: f64,
    pub(crate) linear: Option<Linear>,
    pub(crate) forest: Option<MeanForest>,
    /// Whether the target is 0 or 1, so that nothing beyond may be expected.
    pub(crate) binary: bool,
}

/// An expected value, and its predictions of the training rows by parts that have not seen them.
#[derive(Debug)]
pub(crate) struct FittedCentre {
    pub(crate) centre: Centre,
    pub(crate) held_out: Vec<f64>,
    /// Share of the variance of unseen rows that it explains.
    pub(crate) explained: f64,
}

/// What centering needs beside the rows.
pub(crate) struct Centering<'a> {
    pub(crate) binned: &'a BinnedRows,
    pub(crate) units: &'a Units,
    pub(crate) rows: &'a CausalRows<'a>,
    /// A linear base learner, where there is one.
    pub(crate) linear: Option<&'static dyn BaseEntry>,
    pub(crate) n_trees: usize,
    pub(crate) ctx: &'a FitContext<'a>,
}

impl Centering<'_> {
    /// Fits the expected value of `target` and chooses its kind.
    pub(crate) fn fit(&self, target: &[f64], what: &str) -> Result<FittedCentre> {
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
        let level = weighted_mean(target, rows.weight);
        let constant = vec![level; target.len()];
        let total = error(&constant);
        let mut best = (total, constant, Centre { level, linear: None, forest: None, binary });
        let nodes = if target.len() > MANY_ROWS { &NODES[1..] } else { &NODES[..] };
        let mut leaves = (f64::INFINITY, nodes[0]);
        for &node in nodes {
            let (forest, held_out) = self.forest(target, node, ctx)?;
            let found = error(&held_out);
            if found < leaves.0 {
                leaves = (found, node);
            }
            if found < best.0 {
                best = (found, held_out, Centre { level: 0.0, linear: None, forest: Some(forest), binary });
            }
        }
        if let Some(base) = self.linear
            && let Some((linear, line)) = Linear::cross_fit(base, rows, target, ctx)?
        {
            let line_error = error(&line);
            let rest = if line_error < (1.0 - LEAST_EXPLAINED) * total {
                let left: Vec<f64> = target.iter().zip(&line).map(|(y, v)| y - v).collect();
                let (forest, more) = self.forest(&left, leaves.1, &ctx.with_seed(ctx.seed.named("rest")))?;
                Some((forest, inside(line.iter().zip(&more).map(|(a, b)| a + b).collect())))
            } else {
                None
            };
            let both_error = rest.as_ref().map_or(f64::INFINITY, |(_, both)| error(both));
            if line_error.min(both_error) < best.0 {
                best = match rest {
                    Some((forest, both)) if both_error < line_error => {
                        (both_error, both, Centre { level: 0.0, linear: Some(linear), forest: Some(forest), binary })
                    }
                    _ => (line_error, line, Centre { level: 0.0, linear: Some(linear), forest: None, binary }),
                };
            }
        }
        let explained = if total > 0.0 { 1.0 - best.0 / total } else { 0.0 };
        Ok(FittedCentre { centre: best.2, held_out: best.1, explained })
    }

    /// A forest of means that is not honest: its trees predict rows they have not seen, which is all that centering
    /// asks, and honest halves would see too few rows to follow a steep outcome.
    pub(crate) fn forest(
        &self,
        target: &[f64],
        min_node_size: usize,
        ctx: &FitContext<'_>,
    ) -> Result<(MeanForest, Vec<f64>)> {
        let p = self.rows.x.n_cols();
        let candidates = Candidates::Fixed(p.div_ceil(3));
        let growth = Growth { candidates, min_node_size, max_depth: usize::MAX, halfway: true };
        let sampling = Sampling { fraction: SAMPLE, bag: 1, honest: None };
        let sampler = Sampler { sampling, units: self.units.clone(), seed: ctx.seed };
        let context = GrowContext {
            binned: self.binned,
            growth,
            sampler: &sampler,
            n_trees: self.n_trees,
            weight: self.rows.weight,
            ctx,
        };
        let split = Variance { min_rows: 1.0, alpha: 0.0, imbalance_penalty: 0.0 };
        let (forest, held_out) = MeanForest::fit(&context, split, target)?;
        Ok((forest, held_out.values))
    }
}

#[derive(Serialize, Deserialize)]
struct Facts {
    level: f64,
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
        out.iter_mut().for_each(|v| *v += self.level);
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
        let (linear, forest) = (self.linear.is_some(), self.forest.is_some());
        let facts = Facts { level: self.level, binary: self.binary, linear, forest };
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
        let Facts { level, binary, linear, forest } = state.nested("centre")?.parse()?;
        if !level.is_finite() {
            return Err(Error::bad_model("an expected value is not finite"));
        }
        let linear = if linear { Some(Linear::load(&state.nested("linear")?, tools)?) } else { None };
        let forest = if forest { Some(MeanForest::load(&state.nested("forest")?, bins)?) } else { None };
        Ok(Self { level, linear, forest, binary })
    }
}
