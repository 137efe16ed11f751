//! A causal forest over more rows than memory holds. Bins, centres and the kind of the trees come from some of the rows; then
//! all rows are coded, a part at a time, and lie in units outside of memory, a byte per cell and two numbers per row. A tree
//! draws units as other trees draw rows, and reads those that it drew.
//!
//! Rows are dealt to units at random before, so that a random set of units is a random set of rows. Half-samples, honest parts and
//! what a tree has not seen are all made of whole units: what is said about bags, and with groups that lie in one unit each what
//! is said about groups, holds as it does for rows.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use paretau_core::{Design, Error, Event, Features, FitContext, Observer, Params, Result, resolve};
use rayon::prelude::*;

use crate::causal_forest::{CausalForest, CausalForestConfig, PARAMS, Start};
use crate::causal_model::CausalForestModel;
use crate::codes::{Cells, Codes};
use crate::forest::{BinnedRows, Forest, GrowContext, InBag};
use crate::leaf::moments_width;
use crate::recipes;
use crate::rows::{CausalRows, two_arms};
use crate::sample::{Sampler, TreeSample, Units, is_set};
use crate::split::MAX_ROWS;
use crate::tree::INDEX;

/// Rows up to which a tree sees as large a share of them as in an ordinary fit.
const NEAR: usize = 100_000;
/// Bins of a column, at most: the code of missing values must fit a byte even where the first rows miss none.
const MOST_BINS: usize = 255;
/// Trees that are held before they join the forest.
const MOST_WAITING: usize = 64;

/// Rows that a tree sees of `n`: the share `max_samples` of them up to the larger of `memory` and 100 000 rows, beyond that
/// the share of √(n · that number), so that trees go on growing with the rows and the time for all of them grows less than the rows.
pub fn tree_rows(n: usize, max_samples: f64, memory: usize) -> usize {
    let near = memory.max(NEAR);
    let of = if n <= near { n as f64 } else { (n as f64).sqrt() * (near as f64).sqrt() };
    (max_samples * of) as usize
}

/// A causal forest whose trees are still to be grown, on rows that lie in units.
#[derive(Debug)]
pub struct StoredForest {
    forest: CausalForest,
    start: Start,
    treatment: Vec<f64>,
}

/// Rows to be coded.
#[derive(Debug, Clone, Copy)]
pub struct NewRows<'a> {
    /// Features.
    pub x: &'a Features,
    /// Arm of each row, 0 or 1.
    pub t: &'a [u8],
    /// Outcome.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Propensities, where the study's design tells them.
    pub e: Option<&'a [f64]>,
    /// Rows that the forest started with: their place here and there.
    pub known: &'a [(usize, usize)],
}

/// Rows as trees read them.
#[derive(Debug)]
pub struct CodedRows {
    /// Codes, column after column.
    cells: Vec<u8>,
    /// Treatment and outcome residual.
    zy: Vec<[f64; 2]>,
    weight: Option<Vec<f64>>,
}

impl CodedRows {
    /// Some neighbouring rows as bytes: residuals, weights if there are any, codes column after column.
    pub fn to_bytes(&self, rows: Range<usize>) -> Vec<u8> {
        let (n, width) = (self.zy.len(), self.cells.len() / self.zy.len().max(1));
        let mut out = Vec::with_capacity(rows.len() * (24 + width));
        self.zy[rows.clone()].iter().flatten().for_each(|v| out.extend(v.to_le_bytes()));
        self.weight.iter().flat_map(|w| &w[rows.clone()]).for_each(|v| out.extend(v.to_le_bytes()));
        (0..width).for_each(|j| out.extend(&self.cells[j * n + rows.start..j * n + rows.end]));
        out
    }
}

/// Units of coded rows outside of memory.
pub struct StoredUnits<'a> {
    /// Rows of each unit; none is empty.
    pub rows: &'a [usize],
    /// Gives the bytes of a unit's rows, as [`CodedRows::to_bytes`] made them.
    pub read: &'a (dyn Fn(usize) -> Result<Vec<u8>> + Sync),
    /// The unit of each row that the forest started with.
    pub known: &'a [u32],
    /// Rows that a tree should see.
    pub tree_rows: usize,
}

impl std::fmt::Debug for StoredUnits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredUnits").field("units", &self.rows.len()).finish_non_exhaustive()
    }
}

/// Hears of nothing, but hears of the wish to stop.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn event(&self, _: &Event) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// Rows of one tree side by side: those that choose splits first.
struct Gathered {
    codes: Codes,
    zy: Vec<[f64; 2]>,
    weight: Option<Vec<f64>>,
    n_grow: usize,
}

impl CausalForest {
    /// The forest with parameters by name.
    pub fn of_params(params: &Params) -> Result<Self> {
        Self::new(resolve(crate::CAUSAL_FOREST.info.name, PARAMS, &CausalForestConfig::default(), params)?)
    }

    /// Its parameters.
    pub fn config(&self) -> &CausalForestConfig {
        &self.config
    }

    /// Learns bins, centres and the kind of the trees from some of the rows, which must be a random part of all.
    pub fn start_stored(&self, design: &Design, ctx: &FitContext<'_>) -> Result<StoredForest> {
        let treatment = two_arms(design, crate::CAUSAL_FOREST.info.name)?;
        let max_bins = self.config.max_bins.min(MOST_BINS);
        let start = self.start(&CausalRows::of_design(design, &treatment), max_bins, ctx)?;
        Ok(StoredForest { forest: *self, start, treatment })
    }
}

impl StoredForest {
    /// Codes and residuals of rows. Those that the forest started with are centred as they were there, without having been seen.
    pub fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        let Start { binned, m, e, level, .. } = &self.start;
        let (mut m_hat, mut e_hat) = (m.centre.predict(rows.x)?, e.centre.predict(rows.x)?);
        for &(here, there) in rows.known {
            (m_hat[here], e_hat[here]) = (m.held_out[there], e.held_out[there]);
        }
        let e_hat = rows.e.unwrap_or(&e_hat);
        let z = rows.t.iter().zip(e_hat).map(|(t, e)| f64::from(*t) - e);
        let zy: Vec<[f64; 2]> = z.zip(rows.y.iter().zip(&m_hat)).map(|(z, (y, m))| [z, y - m - level]).collect();
        if let Some(i) = zy.iter().position(|row| row.iter().any(|v| !v.is_finite())) {
            return Err(Error::unfit(format!(
                "row {} of a block: treatment or outcome less what is expected is not a number",
                i + 1
            )));
        }
        let Cells::Byte(cells) = Codes::new(rows.x, &binned.bins, false).cells else {
            return Err(Error::internal("coding rows", "a code does not fit a byte"));
        };
        Ok(CodedRows { cells, zy, weight: rows.weight.map(<[f64]>::to_vec) })
    }

    /// Grows the trees; `design` holds the rows that the forest started with.
    pub fn grow(self, design: &Design, units: &StoredUnits<'_>, ctx: &FitContext<'_>) -> Result<CausalForestModel> {
        let config = &self.forest.config;
        let shape = self.start.shape;
        let n: usize = units.rows.iter().sum();
        let mut sampling = self.forest.sampling(shape.honest);
        sampling.fraction = sampling.fraction.min(units.tree_rows as f64 / n.max(1) as f64);
        if units.rows.len() < 8 {
            return Err(Error::unfit(format!(
                "groups: the rows lie in {} parts that are drawn together; a forest needs at least 8",
                units.rows.len()
            )));
        }
        let sampler = Sampler { sampling, units: Units::Rows(units.rows.len()), seed: ctx.seed.named("causal") };
        let n_trees = config.n_estimators;
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(n_trees as u64) });
        let (done, quiet) = (AtomicU64::new(0), Quiet(ctx.observer));
        let mut forest = Forest::empty(self.start.binned.bins.clone(), moments_width(1), sampling.bag);
        let mut in_bag = InBag::none(design.n_rows(), n_trees);
        let batch = (rayon::current_num_threads() * 4).clamp(4, MOST_WAITING);
        for first in (0..n_trees).step_by(batch) {
            let grown: Vec<(Forest, Vec<u64>)> = (first..(first + batch).min(n_trees))
                .into_par_iter()
                .with_max_len(1)
                .map(|tree| {
                    ctx.check_interrupt()?;
                    let quiet = FitContext { observer: &quiet, ..*ctx };
                    let grown = self.tree(tree, &sampler, (design, units), &quiet)?;
                    ctx.event(&Event::Progress { done: done.fetch_add(1, Ordering::Relaxed) + 1 });
                    Ok(grown)
                })
                .collect::<Result<_>>()?;
            for (tree, (own, marks)) in (first..).zip(grown) {
                if forest.nodes.len() + own.nodes.len() >= INDEX as usize {
                    return Err(Error::unfit(format!(
                        "the forest has more than {INDEX} nodes after {tree} of {n_trees} trees; use fewer trees (n_estimators) or \
                         larger leaves (min_node_size)"
                    )));
                }
                forest.append(&own);
                let known = units.known.iter().enumerate().filter(|(_, unit)| is_set(&marks, **unit as usize));
                known.for_each(|(row, _)| in_bag.mark(tree, row));
            }
        }
        let rows = CausalRows::of_design(design, &self.treatment);
        let mut model = self.forest.model(self.start, &rows, forest, &in_bag);
        model.facts.n_rows = n;
        model.diagnostics.note("rows_per_tree", (n as f64 * sampling.fraction).floor());
        Ok(model)
    }

    /// One tree, and the units that it has seen.
    fn tree(
        &self,
        tree: usize,
        sampler: &Sampler,
        (design, units): (&Design, &StoredUnits<'_>),
        ctx: &FitContext<'_>,
    ) -> Result<(Forest, Vec<u64>)> {
        let mut drawn = TreeSample::default();
        let mut marks = vec![0; units.rows.len().div_ceil(64)];
        let rng = sampler.draw(tree, &mut drawn, &mut marks);
        let Gathered { codes, zy, weight, n_grow } = self.gather(&drawn, units, design.weight().is_some())?;
        let n = zy.len();
        if n > MAX_ROWS {
            return Err(Error::unfit(format!(
                "a tree takes at most {MAX_ROWS} rows, it drew {n}; use a smaller max_samples"
            )));
        }
        let given = Units::Drawn { n_grow, n, rng: Box::new(rng) };
        let binned = BinnedRows { bins: self.start.binned.bins.clone(), codes: codes.into() };
        let context = GrowContext {
            binned: &binned,
            growth: self.forest.growth(design.x().n_cols()),
            sampler: &Sampler { units: given, ..sampler.clone() },
            n_trees: 1,
            weight: weight.as_deref(),
            ctx,
        };
        let rule = self.forest.rule(self.start.shape);
        Ok((recipes::causal(&context, rule, &zy, self.start.min_variance)?.0, marks))
    }

    /// Reads the rows of the drawn units.
    fn gather(&self, drawn: &TreeSample, units: &StoredUnits<'_>, weighted: bool) -> Result<Gathered> {
        let bins = &self.start.binned.bins;
        let count = |own: &[u32]| -> usize { own.iter().map(|&unit| units.rows[unit as usize]).sum() };
        let (n_grow, width) = (count(&drawn.grow), bins.n_cols());
        let n = n_grow + count(&drawn.honest);
        let mut cells = vec![0_u8; n * width];
        let mut zy = Vec::with_capacity(n);
        let mut weight = weighted.then(|| Vec::with_capacity(n));
        for &unit in drawn.grow.iter().chain(&drawn.honest) {
            let (own, at) = (units.rows[unit as usize], zy.len());
            let bytes = (units.read)(unit as usize)?;
            if bytes.len() != own * (16 + 8 * usize::from(weighted) + width) {
                return Err(Error::internal("rows outside of memory", "a unit has another length than was written"));
            }
            let (residuals, rest) = bytes.split_at(16 * own);
            let (weights, codes) = rest.split_at(8 * own * usize::from(weighted));
            zy.extend(numbers(residuals).as_chunks::<2>().0);
            if let Some(weight) = &mut weight {
                weight.extend(numbers(weights));
            }
            for (column, codes) in cells.chunks_exact_mut(n).zip(codes.chunks_exact(own.max(1))) {
                column[at..at + own].copy_from_slice(codes);
            }
        }
        Ok(Gathered { codes: Codes::of_cells(n, Cells::Byte(cells), bins), zy, weight, n_grow })
    }
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::{Dense, Seed};

    const N: usize = 1500;

    /// A trial in which the effect grows along the first column; rows lie in 60 units of 25.
    fn design(weighted: bool) -> Design {
        let mut rng = Seed(3).rng();
        let x: Vec<f64> = (0..N * 4).map(|_| rng.normal()).collect();
        let t: Vec<u8> = (0..N).map(|_| u8::from(rng.bernoulli(0.4))).collect();
        let y = (0..N).map(|i| x[4 * i + 1] + x[4 * i] * f64::from(t[i]) + rng.normal()).collect();
        let design = Design::new(Features::Dense(Dense::new(N, 4, x).unwrap()), t, y).unwrap();
        let weight = (0..N).map(|i| 1.0 + (i % 3) as f64).collect();
        if weighted { design.weighted(weight).unwrap() } else { design }
    }

    fn forest() -> CausalForest {
        CausalForest::of_params(&Params::none().with("n_estimators", 40)).unwrap()
    }

    /// The forest that is grown from units.
    fn stored(design: &Design, tree_rows: usize) -> Result<CausalForestModel> {
        let ctx = FitContext::silent(Seed(8));
        let start = forest().start_stored(design, &ctx)?;
        let own = |k: usize| (25 * k..25 * (k + 1)).collect::<Vec<_>>();
        let known: Vec<(usize, usize)> = (0..N).map(|i| (i, i)).collect();
        let (x, t, y, weight) = (design.x(), design.t(), design.y(), design.weight());
        let coded = start.code(&NewRows { x, t, y, weight, e: None, known: &known })?;
        let bytes: Vec<Vec<u8>> = (0..N / 25).map(|k| coded.to_bytes(own(k)[0]..own(k)[24] + 1)).collect();
        let unit: Vec<u32> = (0..N as u32).map(|i| i / 25).collect();
        let read = |k: usize| Ok(bytes[k].clone());
        start.grow(design, &StoredUnits { rows: &[25; N / 25], read: &read, known: &unit, tree_rows }, &ctx)
    }

    #[test]
    fn trees_from_units_are_those_of_an_ordinary_fit_that_draws_units() {
        for weighted in [false, true] {
            let design = design(weighted);
            let ctx = FitContext::silent(Seed(8));
            let start = forest().start_stored(&design, &ctx).unwrap();
            let found = stored(&design, N).unwrap();
            let treatment = two_arms(&design, "").unwrap();
            let unit: Vec<u32> = (0..N as u32).map(|i| i / 25).collect();
            let rows = CausalRows {
                groups: Some(&unit),
                y_hat: Some(&start.start.m.held_out),
                e_hat: Some(&start.start.e.held_out),
                ..CausalRows::of_design(&design, &treatment)
            };
            let mut whole = forest();
            let shape = start.start.shape;
            (whole.config.honest, whole.config.criterion) = (Some(shape.honest), Some(shape.criterion));
            whole.config.max_bins = MOST_BINS;
            let expected = whole.fit_rows(&rows, &ctx).unwrap();
            assert!(found.forest == expected.forest, "weighted: {weighted}");
            assert_eq!(found.held_out, expected.held_out);
        }
    }

    #[test]
    fn smaller_trees_see_fewer_rows_and_threads_have_no_say() {
        let design = design(false);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| stored(&design, 300)).unwrap()
        };
        let (one, three) = (on(1), on(3));
        assert!(one.forest == three.forest && one.held_out == three.held_out);
        assert_eq!(one.diagnostics.numbers["rows_per_tree"], 300.0);
        assert!(one.forest.nodes.len() < stored(&design, N).unwrap().forest.nodes.len() * 3 / 4);
    }

    #[test]
    fn an_error_while_rows_are_read_is_passed_on() {
        let design = design(false);
        let ctx = FitContext::silent(Seed(8));
        let start = forest().start_stored(&design, &ctx).unwrap();
        let read = |_: usize| Err(Error::unfit("the disk is gone"));
        let units = StoredUnits { rows: &[25; N / 25], read: &read, known: &[0; N], tree_rows: N };
        assert!(start.grow(&design, &units, &ctx).unwrap_err().to_string().contains("the disk is gone"));
        let start = forest().start_stored(&design, &ctx).unwrap();
        let read = |_: usize| Ok(vec![0; 7]);
        let units = StoredUnits { read: &read, ..units };
        assert!(start.grow(&design, &units, &ctx).unwrap_err().to_string().contains("another length"));
    }

    #[test]
    fn trees_grow_with_the_rows_but_less_than_these() {
        assert_eq!(tree_rows(80_000, 0.5, 10_000), 40_000);
        assert_eq!(tree_rows(100_000, 0.5, 10_000), 50_000);
        assert_eq!(tree_rows(10_000_000, 0.5, 10_000), 500_000);
        assert_eq!(tree_rows(10_000_000, 0.5, 10_000_000), 5_000_000);
        assert_eq!(tree_rows(1_000_000_000, 0.5, 0), 5_000_000);
    }
}
