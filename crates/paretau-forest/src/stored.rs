//! Forests over more rows than memory holds ([`paretau_core::StoredUnits`]). A tree draws units as other trees draw rows, and reads
//! those that it drew: of the causal forest, whose bins, centres and kind of trees come from the rows that were seen first, and of
//! forests of means, the base learner of meta-learners.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paretau_core::{
    CodedRows, Coding, Column, Design, Error, Event, Features, FitContext, FittedModel, FittedRegressor, NewRows,
    Observer, Params, Result, StoredUnits, Target, UnitEstimator, UnitFit, UnitRegressor, UnitStart, UnitTask, resolve,
    tree_rows,
};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::causal_forest::{CausalForest, CausalForestConfig, PARAMS, Start};
use crate::causal_model::CausalForestModel;
use crate::codes::{Cells, Codes};
use crate::forest::{BinnedRows, Forest, GrowContext, InBag};
use crate::leaf::moments_width;
use crate::mean_forest::MeanForest;
use crate::recipes;
use crate::regression::{ForestRegressor, RegressionForest};
use crate::rows::{CausalRows, two_arms};
use crate::sample::{Sampler, Sampling, TreeSample, Units, is_set};
use crate::split::MAX_ROWS;
use crate::tree::INDEX;

/// Bins of a column, at most: the code of missing values must fit a byte even where the first rows miss none.
const MOST_BINS: usize = 255;
/// Trees that are held before they join the forest.
const MOST_WAITING: usize = 64;
/// Numbers per row of a causal forest that is not weighted: residuals of treatment and outcome. A row's weight stands behind them.
const RESIDUALS: usize = 2;

/// A causal forest whose trees are still to be grown, on rows that lie in units.
#[derive(Debug)]
struct StoredForest {
    forest: CausalForest,
    start: Start,
    treatment: Vec<f64>,
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
#[derive(Default)]
struct Gathered {
    cells: Vec<u8>,
    numbers: Vec<Vec<f64>>,
    n_grow: usize,
}

/// A tree by itself, and the units that it has seen.
type OneTree = (Forest, Vec<u64>);

/// Grows trees of units one by one and puts them together; gives the units that each has seen.
fn grow_trees(
    n_trees: usize,
    mut forest: Forest,
    ctx: &FitContext<'_>,
    tree: impl Fn(usize, &FitContext<'_>) -> Result<OneTree> + Sync,
) -> Result<(Forest, Vec<Vec<u64>>)> {
    let (done, quiet) = (AtomicU64::new(0), Quiet(ctx.observer));
    let mut seen = Vec::with_capacity(n_trees);
    let batch = (rayon::current_num_threads() * 4).clamp(4, MOST_WAITING);
    for first in (0..n_trees).step_by(batch) {
        let grown: Vec<OneTree> = (first..(first + batch).min(n_trees))
            .into_par_iter()
            .with_max_len(1)
            .map(|k| {
                ctx.check_interrupt()?;
                let grown = tree(k, &FitContext { observer: &quiet, ..*ctx })?;
                ctx.event(&Event::Progress { done: done.fetch_add(1, Ordering::Relaxed) + 1 });
                Ok(grown)
            })
            .collect::<Result<_>>()?;
        for (k, (own, marks)) in (first..).zip(grown) {
            if forest.nodes.len() + own.nodes.len() >= INDEX as usize {
                return Err(Error::unfit(format!(
                    "the forest has more than {INDEX} nodes after {k} of {n_trees} trees; use fewer trees (n_estimators) or \
                     larger leaves (min_node_size)"
                )));
            }
            forest.append(&own);
            seen.push(marks);
        }
    }
    Ok((forest, seen))
}

/// Puts the rows of drawn units side by side. `unit` gives a unit's rows; what it leaves out is left out.
fn gather(drawn: &TreeSample, mut unit: impl FnMut(u32) -> Result<CodedRows>) -> Result<Gathered> {
    let mut parts = Vec::with_capacity(drawn.grow.len() + drawn.honest.len());
    let mut n_grow = 0;
    for (k, &number) in drawn.grow.iter().chain(&drawn.honest).enumerate() {
        let rows = unit(number)?;
        n_grow += if k < drawn.grow.len() { rows.n_rows } else { 0 };
        parts.push(rows);
    }
    let n: usize = parts.iter().map(|part| part.n_rows).sum();
    if n > MAX_ROWS {
        return Err(Error::unfit(format!(
            "a tree takes at most {MAX_ROWS} rows, it drew {n}; use a smaller max_samples"
        )));
    }
    let Some(first) = parts.iter().find(|part| part.n_rows > 0) else { return Ok(Gathered::default()) };
    let (n_numbers, width) = (first.numbers.len(), first.codes.len() / first.n_rows);
    let mut cells = vec![0_u8; n * width];
    let mut numbers = vec![Vec::with_capacity(n); n_numbers];
    let mut at = 0;
    for part in parts.into_iter().filter(|part| part.n_rows > 0) {
        numbers.iter_mut().zip(&part.numbers).for_each(|(all, own)| all.extend(own));
        for (column, codes) in cells.chunks_exact_mut(n).zip(part.codes.chunks_exact(part.n_rows)) {
            column[at..at + part.n_rows].copy_from_slice(codes);
        }
        at += part.n_rows;
    }
    Ok(Gathered { cells, numbers, n_grow })
}

/// How trees draw so many units of `n` rows, of which one should see `size`.
fn sampling_of(sampling: Sampling, size: usize, n: usize) -> Sampling {
    Sampling { fraction: sampling.fraction.min(size as f64 / n.max(1) as f64), ..sampling }
}

/// The codes of rows by bins whose codes fit a byte.
fn byte_codes(x: &Features, bins: &Bins) -> Result<Vec<u8>> {
    match Codes::new(x, bins, false).cells {
        Cells::Byte(cells) => Ok(cells),
        Cells::Wide(_) => Err(Error::internal("coding rows", "a code does not fit a byte")),
    }
}

impl CausalForest {
    /// The forest with parameters by name.
    pub fn of_params(params: &Params) -> Result<Self> {
        Self::new(resolve(crate::CAUSAL_FOREST.info.name, PARAMS, &CausalForestConfig::default(), params)?)
    }

    /// Learns bins, centres and the kind of the trees from some of the rows, which must be a random part of all.
    fn start_stored(&self, design: &Design, ctx: &FitContext<'_>) -> Result<StoredForest> {
        let treatment = two_arms(design, crate::CAUSAL_FOREST.info.name)?;
        let max_bins = self.config.max_bins.min(MOST_BINS);
        let start = self.start(&CausalRows::of_design(design, &treatment), max_bins, ctx)?;
        Ok(StoredForest { forest: *self, start, treatment })
    }
}

impl UnitEstimator for CausalForest {
    fn start<'a>(&'a self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn UnitStart + 'a>> {
        Ok(Box::new(self.start_stored(design, ctx)?))
    }

    fn tree_rows(&self, n: usize, near: usize) -> Option<usize> {
        Some(tree_rows(n, self.config.max_samples, near))
    }
}

impl UnitStart for StoredForest {
    /// Codes, residuals and weights of rows. Those that the forest started with are centred as they were there, without having
    /// been seen.
    fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        let Start { binned, m, e, level, .. } = &self.start;
        let (mut m_hat, mut e_hat) = (m.centre.predict(rows.x)?, e.centre.predict(rows.x)?);
        for &(here, there) in rows.known {
            (m_hat[here], e_hat[here]) = (m.held_out[there], e.held_out[there]);
        }
        let e_hat = rows.e.unwrap_or(&e_hat);
        let z: Vec<f64> = rows.t.iter().zip(e_hat).map(|(t, e)| f64::from(*t) - e).collect();
        let y: Vec<f64> = rows.y.iter().zip(&m_hat).map(|(y, m)| y - m - level).collect();
        if let Some(i) = z.iter().zip(&y).position(|(z, y)| !(z.is_finite() && y.is_finite())) {
            return Err(Error::unfit(format!(
                "row {} of a block: treatment or outcome less what is expected is not a number",
                i + 1
            )));
        }
        let numbers = [z, y].into_iter().chain(rows.weight.map(<[f64]>::to_vec)).collect();
        Ok(CodedRows { n_rows: rows.y.len(), numbers, codes: byte_codes(rows.x, &binned.bins)? })
    }

    fn fit(
        self: Box<Self>,
        design: &Design,
        units: &StoredUnits<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn FittedModel>> {
        Ok(Box::new(self.grow(design, units, ctx)?))
    }
}

impl StoredForest {
    /// Grows the trees; `design` holds the rows that the forest started with.
    fn grow(self, design: &Design, units: &StoredUnits<'_>, ctx: &FitContext<'_>) -> Result<CausalForestModel> {
        let config = &self.forest.config;
        let shape = self.start.shape;
        let n = units.n_rows();
        let size = tree_rows(n, config.max_samples, units.near);
        let sampling = sampling_of(self.forest.sampling(shape.honest), size, n);
        if units.rows.len() < 8 {
            return Err(Error::unfit(format!(
                "groups: the rows lie in {} parts that are drawn together; a forest needs at least 8",
                units.rows.len()
            )));
        }
        let sampler = Sampler { sampling, units: Units::Rows(units.rows.len()), seed: ctx.seed.named("causal") };
        let n_trees = config.n_estimators;
        ctx.event(&Event::Stage { name: "growing the causal forest".into(), total: Some(n_trees as u64) });
        let empty = Forest::empty(self.start.binned.bins.clone(), moments_width(1), sampling.bag);
        let (forest, seen) =
            grow_trees(n_trees, empty, ctx, |tree, quiet| self.tree(tree, &sampler, (design, units), quiet))?;
        let mut in_bag = InBag::none(design.n_rows(), n_trees);
        for (tree, marks) in seen.iter().enumerate() {
            let known = units.known.iter().enumerate().filter(|(_, unit)| is_set(marks, **unit as usize));
            known.for_each(|(row, _)| in_bag.mark(tree, row));
        }
        let rows = CausalRows::of_design(design, &self.treatment);
        let mut model = self.forest.model(self.start, &rows, (forest, &in_bag), ctx)?;
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
    ) -> Result<OneTree> {
        let mut drawn = TreeSample::default();
        let mut marks = vec![0; units.rows.len().div_ceil(64)];
        let rng = sampler.draw(tree, &mut drawn, &mut marks);
        let bins = &self.start.binned.bins;
        let n_numbers = RESIDUALS + usize::from(design.weight().is_some());
        let Gathered { cells, numbers, n_grow } =
            gather(&drawn, |unit| units.unit(unit as usize, n_numbers, bins.n_cols()))?;
        let zy: Vec<[f64; 2]> = numbers[0].iter().zip(&numbers[1]).map(|(z, y)| [*z, *y]).collect();
        let n = zy.len();
        let given = Units::Drawn { n_grow, n, rng: Box::new(rng) };
        let codes = Codes::of_cells(n, Cells::Byte(cells), bins);
        let binned = BinnedRows { bins: bins.clone(), codes: codes.into() };
        let context = GrowContext {
            binned: &binned,
            growth: self.forest.growth(design.x().n_cols()),
            sampler: &Sampler { units: given, ..sampler.clone() },
            n_trees: 1,
            weight: numbers.get(RESIDUALS).map(Vec::as_slice),
            ctx,
        };
        let rule = self.forest.rule(self.start.shape);
        Ok((recipes::causal(&context, rule, &zy, self.start.min_variance)?.0, marks))
    }
}

/// Bins of a forest of means as a way to code rows.
#[derive(Debug)]
struct BinCoding(Arc<Bins>);

impl Coding for BinCoding {
    fn code(&self, x: &Features) -> Result<Vec<u8>> {
        byte_codes(x, &self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A forest of means, and which units each of its trees has seen.
#[derive(Debug)]
struct MeansOfUnits {
    model: RegressionForest,
    /// Units that hold rows to learn from, ascending: trees draw from these.
    present: Vec<usize>,
    seen: Vec<Vec<u64>>,
}

/// What trees of means need of all rows beforehand.
#[derive(Default)]
struct Counted {
    present: Vec<usize>,
    n: usize,
    sum: f64,
    weight: f64,
    /// Whether there are rows with outcome 0, with outcome 1, and with another one.
    outcomes: [bool; 3],
}

impl Counted {
    fn of(task: &UnitTask<'_>) -> Result<Self> {
        let mut out = Self::default();
        for unit in 0..task.units.rows.len() {
            let (rows, y) = task.unit(unit)?;
            let before = out.n;
            for (i, y) in y.iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                if !y.is_finite() {
                    return Err(Error::unfit(format!("outcome: a row of the blocks holds {y}; mend the value")));
                }
                let w = task.weight.map_or(1.0, |k| rows.numbers[k][i]);
                out.n += 1;
                out.sum += w * y;
                out.weight += w;
                out.outcomes[if *y == 0.0 {
                    0
                } else if *y == 1.0 {
                    1
                } else {
                    2
                }] = true;
            }
            if out.n > before {
                out.present.push(unit);
            }
        }
        out.check(task.target)?;
        Ok(out)
    }

    fn check(&self, target: Target) -> Result<()> {
        if self.present.len() < 2 || self.weight <= 0.0 {
            return Err(Error::unfit(format!(
                "{} rows with weight to learn from in {} parts of the rows; a forest needs at least 2 parts",
                self.n,
                self.present.len()
            )));
        }
        if target == Target::Probability && self.outcomes != [true, true, false] {
            return Err(Error::unfit("outcome: a probability forest needs rows with 0 and rows with 1, and no others"));
        }
        Ok(())
    }
}

impl UnitRegressor for ForestRegressor {
    fn coding(&self, x: &Features, columns: &[Column]) -> Result<Box<dyn Coding>> {
        Ok(Box::new(BinCoding(Arc::new(Bins::fit(x, columns, self.config.max_bins.min(MOST_BINS))?))))
    }

    fn max_samples(&self) -> f64 {
        self.config.max_samples
    }

    fn fit_units(&self, task: &UnitTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn UnitFit>> {
        let Some(BinCoding(bins)) = task.coding.as_any().downcast_ref() else {
            return Err(Error::internal("a forest over blocks", "rows were coded by another learner"));
        };
        let Counted { present, n, sum, weight, .. } = Counted::of(task)?;
        let offset = sum / weight;
        let sampling = sampling_of(self.sampling(), task.tree_rows(n, self.config.max_samples), n);
        let sampler = Sampler { sampling, units: Units::Rows(present.len()), seed: ctx.seed };
        let n_trees = self.config.n_estimators;
        ctx.event(&Event::Stage { name: "growing a forest".into(), total: Some(n_trees as u64) });
        let growth = self.growth(bins.n_cols(), task.target);
        let tree = |tree: usize, quiet: &FitContext<'_>| -> Result<OneTree> {
            let mut drawn = TreeSample::default();
            let mut marks = vec![0; present.len().div_ceil(64)];
            let rng = sampler.draw(tree, &mut drawn, &mut marks);
            let Gathered { cells, numbers, n_grow } =
                gather(&drawn, |unit| learned_from(task, present[unit as usize]))?;
            let centred: Vec<f64> = numbers[0].iter().map(|y| y - offset).collect();
            let n = centred.len();
            let codes = Codes::of_cells(n, Cells::Byte(cells), bins);
            let binned = BinnedRows { bins: bins.clone(), codes: codes.into() };
            let context = GrowContext {
                binned: &binned,
                growth,
                sampler: &Sampler { units: Units::Drawn { n_grow, n, rng: Box::new(rng) }, ..sampler.clone() },
                n_trees: 1,
                weight: numbers.get(1).map(Vec::as_slice),
                ctx: quiet,
            };
            Ok((recipes::regression(&context, Self::SPLIT, &centred)?.0, marks))
        };
        let (forest, seen) = grow_trees(n_trees, Forest::empty(bins.clone(), 1, 1), ctx, tree)?;
        let means = MeanForest { forest, offset };
        let model = RegressionForest::of_units(means, task.target, n, task.columns);
        Ok(Box::new(MeansOfUnits { model, present, seen }))
    }
}

/// The rows of a unit that may be learned from: their outcomes, weights if there are any, and codes.
fn learned_from(task: &UnitTask<'_>, unit: usize) -> Result<CodedRows> {
    let (rows, y) = task.unit(unit)?;
    let kept: Vec<usize> = (0..y.len()).filter(|&i| !y[i].is_nan()).collect();
    let pick = |list: &[f64]| -> Vec<f64> { kept.iter().map(|&i| list[i]).collect() };
    let numbers = [y.as_slice()].into_iter().chain(task.weight.map(|k| rows.numbers[k].as_slice())).map(pick).collect();
    let columns = rows.codes.chunks_exact(rows.n_rows.max(1));
    let codes = columns.flat_map(|column| kept.iter().map(|&i| column[i])).collect();
    Ok(CodedRows { n_rows: kept.len(), numbers, codes })
}

impl UnitFit for MeansOfUnits {
    fn held_out(&self, unit: usize, rows: &CodedRows, y: &[f64]) -> Result<Vec<f64>> {
        let mut in_bag = InBag::none(rows.n_rows, self.seen.len());
        if let Ok(place) = self.present.binary_search(&unit) {
            for (tree, _) in self.seen.iter().enumerate().filter(|(_, marks)| is_set(marks, place)) {
                y.iter().enumerate().filter(|(_, y)| !y.is_nan()).for_each(|(row, _)| in_bag.mark(tree, row));
            }
        }
        Ok(self.model.unseen(rows.n_rows, rows.codes.clone(), &in_bag))
    }

    fn into_model(self: Box<Self>) -> Box<dyn FittedRegressor> {
        Box::new(self.model)
    }
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

    fn no_scratch() -> Result<Box<dyn paretau_core::UnitScratch>> {
        Err(Error::unfit("nothing is kept"))
    }

    /// All rows in units of 25.
    fn units(read: &(dyn Fn(usize) -> Result<Vec<u8>> + Sync), near: usize) -> StoredUnits<'_> {
        static UNIT_OF: [u32; N] = {
            let mut unit = [0; N];
            let mut i = 0;
            while i < N {
                unit[i] = i as u32 / 25;
                i += 1;
            }
            unit
        };
        StoredUnits { rows: &[25; N / 25], read, known: &UNIT_OF, near, scratch: &no_scratch }
    }

    /// The forest that is grown from units.
    fn stored(design: &Design, near: usize) -> Result<CausalForestModel> {
        let ctx = FitContext::silent(Seed(8));
        let start = forest().start_stored(design, &ctx)?;
        let own = |k: usize| (25 * k..25 * (k + 1)).collect::<Vec<_>>();
        let known: Vec<(usize, usize)> = (0..N).map(|i| (i, i)).collect();
        let (x, t, y, weight) = (design.x(), design.t(), design.y(), design.weight());
        let coded = start.code(&NewRows { x, t, y, weight, e: None, known: &known })?;
        let bytes: Vec<Vec<u8>> = (0..N / 25).map(|k| coded.to_bytes(own(k)[0]..own(k)[24] + 1)).collect();
        let read = |k: usize| Ok(bytes[k].clone());
        start.grow(design, &units(&read, near), &ctx)
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
            pool.install(|| stored(&design, 240)).unwrap()
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
        assert!(start.grow(&design, &units(&read, N), &ctx).unwrap_err().to_string().contains("the disk is gone"));
        let start = forest().start_stored(&design, &ctx).unwrap();
        let read = |_: usize| Ok(vec![0; 7]);
        assert!(start.grow(&design, &units(&read, N), &ctx).unwrap_err().to_string().contains("another length"));
    }
}
