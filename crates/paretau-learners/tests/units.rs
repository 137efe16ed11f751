//! Meta-learners over rows outside of memory: the bits of an ordinary fit whose trees draw the same parts of the rows.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use paretau_core::{
    Dense, Design, Effects, EstimatorEntry, Features, FitContext, FittedModel, NewRows, OutcomeKind, Params, Result,
    Seed, StoredUnits, Toolbox, UnitScratch, Want,
};
use paretau_forest::{BOOSTING, FOREST};
use paretau_learners::{DR_LEARNER, LR_1, LR_2, RIDGE, X_LEARNER};

const TOOLS: Toolbox = Toolbox { bases: &[&RIDGE, &FOREST, &BOOSTING] };
const N: usize = 1500;
/// Rows of a unit.
const SIZE: usize = 25;

/// Confounded rows with an effect along the first column, whose groups are the units that they lie in. Columns have few values, so
/// that bins are the same whether they are those of all rows or, as in an ordinary fit, those of an arm.
fn design(binary: bool, weighted: bool) -> Design {
    let mut rng = Seed(3).rng();
    let x: Vec<f64> = (0..N * 4).map(|_| (2.0 * rng.normal()).round().clamp(-3.0, 3.0) / 2.0).collect();
    let t: Vec<u8> = (0..N).map(|i| u8::from(rng.bernoulli(1.0 / (1.0 + (-x[4 * i + 1]).exp())))).collect();
    let y: Vec<f64> = (0..N)
        .map(|i| x[4 * i + 1] + x[4 * i] * f64::from(t[i]) + rng.normal())
        .map(|y| if binary { f64::from(u8::from(y > 0.0)) } else { y })
        .collect();
    let design = Design::new(Features::Dense(Dense::new(N, 4, x).unwrap()), t, y).unwrap();
    let design = design.grouped((0..N as u32).map(|i| i / SIZE as u32).collect()).unwrap();
    let design = if binary { design.with_outcome(OutcomeKind::Binary).unwrap() } else { design };
    let weight = (0..N).map(|i| 1.0 + (i % 3) as f64).collect();
    if weighted { design.weighted(weight).unwrap() } else { design }
}

/// The parameters of quick forests whose codes fit a byte with one to spare.
fn quick() -> Params {
    let params = Params::none().with("base.n_estimators", 30).with("base.max_bins", 255);
    params.with("base", "forest")
}

struct Kept(Mutex<Vec<Vec<u8>>>);

impl UnitScratch for Kept {
    fn add(&self, unit: usize, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap()[unit].extend(bytes);
        Ok(())
    }

    fn read(&self, unit: usize) -> Result<Vec<u8>> {
        Ok(self.0.lock().unwrap()[unit].clone())
    }
}

/// The model over units, of which the first `known` rows are seen first.
fn over_units(entry: &dyn EstimatorEntry, params: &Params, design: &Design, known: usize) -> Box<dyn FittedModel> {
    let estimator = entry.build(params, &TOOLS).unwrap();
    let method = estimator.over_units().unwrap();
    let ctx = FitContext::silent(Seed(8));
    let first = design.select(&(0..known).collect::<Vec<_>>()).unwrap();
    let start = method.start(&first, &ctx).unwrap();
    let same: Vec<(usize, usize)> = (0..known).map(|i| (i, i)).collect();
    let (x, t, y, weight) = (design.x(), design.t(), design.y(), design.weight());
    let coded = start.code(&NewRows { x, t, y, weight, e: None, known: &same }).unwrap();
    let bytes: Vec<Vec<u8>> = (0..N / SIZE).map(|k| coded.to_bytes(SIZE * k..SIZE * (k + 1))).collect();
    let unit: Vec<u32> = (0..known as u32).map(|i| i / SIZE as u32).collect();
    let read = |k: usize| Ok(bytes[k].clone());
    let scratch = || -> Result<Box<dyn UnitScratch>> { Ok(Box::new(Kept(Mutex::new(vec![vec![]; N / SIZE])))) };
    let units = StoredUnits { rows: &[SIZE; N / SIZE], read: &read, known: &unit, near: N, scratch: &scratch };
    start.fit(&first, &units, &ctx).unwrap()
}

fn predicted(model: &dyn FittedModel, design: &Design) -> Effects {
    model.predict(design.x(), Want::Everything).unwrap().remove(0)
}

#[test]
fn all_rows_known_give_the_bits_of_an_ordinary_fit() {
    let learners: [&dyn EstimatorEntry; 2] = [&DR_LEARNER, &X_LEARNER];
    for entry in learners {
        for (what, design, params) in [
            ("plain", design(false, false), quick()),
            ("binary, weighted", design(true, true), quick().with("propensity_base", "forest")),
            ("calibrated", design(false, true), quick().with("calibrate", true)),
        ] {
            let ordinary = entry.build(&params, &TOOLS).unwrap().fit(&design, &FitContext::silent(Seed(8))).unwrap();
            let found = over_units(entry, &params, &design, N);
            let what = format!("{} {what}", entry.info().name);
            assert!(predicted(found.as_ref(), &design) == predicted(ordinary.as_ref(), &design), "{what}");
            assert!(found.held_out() == ordinary.held_out() && found.held_out().is_some(), "{what}: held out");
            assert_eq!(found.diagnostics().numbers, ordinary.diagnostics().numbers, "{what}");
            // What is saved is read like any model of its kind.
            let loaded = entry.load(&found.state().unwrap(), &TOOLS).unwrap();
            assert!(predicted(loaded.as_ref(), &design) == predicted(found.as_ref(), &design), "{what}: loaded");
        }
    }
}

#[test]
fn rows_that_weights_leave_out_are_not_learned_from() {
    let design = design(false, false);
    let params = quick().with("overlap", "trim").with("clip", 0.2);
    let ordinary = DR_LEARNER.build(&params, &TOOLS).unwrap().fit(&design, &FitContext::silent(Seed(8))).unwrap();
    let found = over_units(&DR_LEARNER, &params, &design, N);
    assert!(ordinary.diagnostics().numbers["rows_beyond_clip"] > 100.0);
    assert!(predicted(found.as_ref(), &design) == predicted(ordinary.as_ref(), &design));
}

#[test]
fn a_model_that_saw_a_part_first_learns_from_all_rows() {
    let design = design(false, false);
    let Features::Dense(x) = design.x() else { panic!("dense") };
    let truth: Vec<f64> = (0..N).map(|i| x.get(i, 0)).collect();
    let error = |effects: &Effects| {
        let squares = effects.tau.iter().zip(&truth).map(|(a, b)| (a - b).powi(2));
        (squares.sum::<f64>() / N as f64).sqrt()
    };
    let part = design.select(&(0..N / 5).collect::<Vec<_>>()).unwrap();
    let learners: [&dyn EstimatorEntry; 2] = [&DR_LEARNER, &X_LEARNER];
    // Leaves that average noise out, so that more rows tell.
    let params = quick().with("base.min_node_size", 40);
    for entry in learners {
        let fit =
            |design: &Design| entry.build(&params, &TOOLS).unwrap().fit(design, &FitContext::silent(Seed(8))).unwrap();
        let [whole, alone] = [&design, &part].map(|rows| error(&predicted(fit(rows).as_ref(), &design)));
        let found = over_units(entry, &params, &design, N / 5);
        assert_eq!(found.held_out().unwrap()[0].tau.len(), N / 5);
        let blocks = error(&predicted(found.as_ref(), &design));
        assert!(blocks < 1.15 * whole && blocks < 0.9 * alone, "{}: {blocks} {whole} {alone}", entry.info().name);
    }
}

#[test]
fn other_bases_and_folds_do_not_learn_from_units() {
    let learns =
        |entry: &dyn EstimatorEntry, params: Params| entry.build(&params, &TOOLS).unwrap().over_units().is_some();
    assert!(learns(&DR_LEARNER, Params::none()) && learns(&X_LEARNER, Params::none()));
    for params in [
        Params::none().with("base", "ridge"),
        Params::none().with("effect_base", "boosting"),
        Params::none().with("base", "forest").with("base.exact", true),
        Params::none().with("base", "forest").with("base.max_samples", 1.0),
    ] {
        assert!(!learns(&DR_LEARNER, params.clone()) && !learns(&X_LEARNER, params));
    }
    assert!(!learns(&DR_LEARNER, Params::none().with("cross_fit", "folds")));
}

#[test]
fn lines_are_those_of_all_rows() {
    let lines: [&dyn EstimatorEntry; 2] = [&LR_1, &LR_2];
    for entry in lines {
        for weighted in [false, true] {
            let grouped = design(false, weighted);
            let alone = |design: &Design| {
                let (x, t, y) = (design.x().clone(), design.t().to_vec(), design.y().to_vec());
                let alone = Design::new(x, t, y).unwrap();
                design.weight().map_or(alone.clone(), |weight| alone.weighted(weight.to_vec()).unwrap())
            };
            let rows = alone(&grouped);
            // Leave-one-out, a given penalty, and every part a fold.
            for (params, rows) in [
                (Params::none(), &rows),
                (Params::none().with("penalty", 0.3), &rows),
                (Params::none().with("folds", N / SIZE), &grouped),
            ] {
                let ordinary = entry.build(&params, &TOOLS).unwrap().fit(rows, &FitContext::silent(Seed(8))).unwrap();
                let found = over_units(entry, &params, rows, N / 5);
                let (found_here, expected) = (predicted(found.as_ref(), rows), predicted(ordinary.as_ref(), rows));
                for (a, b) in found_here.tau.iter().zip(&expected.tau).chain(found_here.mu0.iter().zip(&expected.mu0)) {
                    assert!((a - b).abs() < 1e-9, "{} {weighted}: {a} {b}", entry.info().name);
                }
                let numbers = |model: &dyn FittedModel| model.diagnostics().numbers.clone();
                for (name, value) in numbers(ordinary.as_ref()) {
                    let own = numbers(found.as_ref())[&name];
                    assert!((own - value).abs() < 1e-9 * value.abs().max(1e-3), "{name}: {own} {value}");
                }
            }
            // Groups lie in parts, so that folds are of whole groups.
            let folds = over_units(entry, &Params::none().with("folds", 5), &rows, N);
            let groups = over_units(entry, &Params::none(), &grouped, N);
            assert!(predicted(folds.as_ref(), &rows) == predicted(groups.as_ref(), &rows));
        }
    }
}
