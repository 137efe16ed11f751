//! Meta-learners over rows outside of memory ([`paretau_core::StoredUnits`]): both arms' outcomes and the propensity of every row by
//! trees that have not seen it, a part of the rows at a time. What a learner cannot learn from units (the logistic regression of
//! the propensity) it learns from the rows that were seen first, which are a random part of all.

use paretau_core::{
    CodedRows, Coding, Column, Design, Error, FitContext, FittedRegressor, Fold, NewRows, Regressor, Result,
    StoredUnits, Target, UnitFit, UnitOutcomes, UnitRegressor, UnitScratch, UnitTask, numbers_of,
};
use paretau_nuisance::{Calibrator, CrossFit, CrossTask, HeldOut, cross_fit};
use rayon::prelude::*;

use super::base_learner::{BaseLearner, able_to_fit};
use super::model::BaseModels;
use super::setup::{outcome_target, stage, treatment};

/// Where a row's arm is among its numbers.
const ARM: usize = 0;
/// Where its outcome is.
const OUTCOME: usize = 1;

/// The learner over units, for what was checked to have one.
pub(super) fn over_units(learner: &dyn Regressor) -> Result<&dyn UnitRegressor> {
    learner
        .over_units()
        .ok_or_else(|| Error::internal("a meta-learner over blocks", "its base learns from tables only"))
}

/// What is taken from the rows that were seen first.
#[derive(Debug)]
pub(super) struct FirstRows {
    coding: Box<dyn Coding>,
    /// Propensities that do not learn from units; `None` for those that do.
    propensities: Vec<Option<CrossFit>>,
    /// Where a row's weight is among its numbers, and its propensity if that is known by design.
    weight: Option<usize>,
    known: Option<usize>,
    n_numbers: usize,
}

impl FirstRows {
    /// Learns how rows are coded, as `base` reads them, and the propensities.
    pub(super) fn learn(
        design: &Design,
        base: &dyn Regressor,
        propensity: &[BaseLearner],
        (folds, held_out): (&[Fold], HeldOut),
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let coding = over_units(base)?.coding(design.x(), design.columns())?;
        let ctx = ctx.with_seed(ctx.seed.named("propensity"));
        let t = treatment(design);
        let task = CrossTask::of(design, &t, Target::Probability);
        let fit = |(index, candidate): (usize, &&BaseLearner)| -> Result<Option<CrossFit>> {
            if candidate.learner.over_units().is_some() {
                return Ok(None);
            }
            let seed = ctx.seed.indexed(index as u64);
            Ok(Some(cross_fit(&task, candidate.learner.as_ref(), folds, held_out, &ctx.with_seed(seed))?))
        };
        let propensities: Vec<Option<CrossFit>> =
            able_to_fit(propensity, design).iter().enumerate().map(fit).collect::<Result<_>>()?;
        let mut n_numbers = 2;
        let mut place = |there: bool| {
            n_numbers += usize::from(there);
            there.then_some(n_numbers - 1)
        };
        let (weight, known) = (place(design.weight().is_some()), place(design.propensity().is_some()));
        let n_numbers = n_numbers + propensities.iter().flatten().count();
        Ok(Self { coding, propensities, weight, known, n_numbers })
    }

    /// Rows as they lie in units: arm, outcome, weight and known propensity if there are any, propensities, codes.
    pub(super) fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        let mut numbers = vec![rows.t.iter().map(|&t| f64::from(t)).collect(), rows.y.to_vec()];
        numbers.extend(rows.weight.map(<[f64]>::to_vec));
        numbers.extend(rows.e.map(<[f64]>::to_vec));
        for fitted in self.propensities.iter().flatten() {
            let mut e = fitted.model.predict(rows.x)?;
            rows.known.iter().for_each(|&(here, there)| e[here] = fitted.held_out[there]);
            numbers.push(e);
        }
        if numbers.len() != self.n_numbers {
            return Err(Error::internal("coding rows", "weights or propensities are in some blocks only"));
        }
        Ok(CodedRows { n_rows: rows.y.len(), numbers, codes: self.coding.code(rows.x)? })
    }

    /// Where the propensity of a candidate is among a row's numbers.
    fn place_of(&self, index: usize) -> Option<usize> {
        self.propensities[index].as_ref()?;
        let after = self.propensities[index..].iter().flatten().count();
        Some(self.n_numbers - after)
    }
}

/// The rows of all units, and how they were coded.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllUnits<'a> {
    pub(super) units: &'a StoredUnits<'a>,
    pub(super) first: &'a FirstRows,
    pub(super) columns: &'a [Column],
}

impl AllUnits<'_> {
    fn rows(&self, unit: usize) -> Result<CodedRows> {
        self.units.unit(unit, self.first.n_numbers, self.columns.len())
    }

    /// Does something with the rows of every unit of `0..n`, some of them at a time, and hands over the results in order.
    pub(super) fn each<T: Send>(
        &self,
        n: usize,
        make: impl Fn(usize, &CodedRows) -> Result<T> + Sync,
        mut take: impl FnMut(usize, &CodedRows, T) -> Result<()>,
    ) -> Result<()> {
        let batch = 4 * rayon::current_num_threads();
        for first in (0..n).step_by(batch) {
            let made: Vec<(CodedRows, T)> = (first..(first + batch).min(n))
                .into_par_iter()
                .map(|unit| {
                    let rows = self.rows(unit)?;
                    let made = make(unit, &rows)?;
                    Ok((rows, made))
                })
                .collect::<Result<_>>()?;
            for (unit, (rows, made)) in (first..).zip(made) {
                take(unit, &rows, made)?;
            }
        }
        Ok(())
    }

    /// Fits a base learner, with the seed of an ordinary fit.
    pub(super) fn fit(
        &self,
        learner: &dyn Regressor,
        (target, growing): (Target, bool),
        y: &UnitOutcomes<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn UnitFit>> {
        let Self { units, first, columns } = *self;
        let FirstRows { coding, weight, n_numbers, .. } = first;
        let (coding, n_numbers, weight) = (coding.as_ref(), *n_numbers, *weight);
        let task = UnitTask { units, coding, columns, n_numbers, weight, y, target, growing };
        over_units(learner)?.fit_units(&task, &ctx.with_seed(ctx.seed.named("full")))
    }
}

/// The arms of rows.
pub(super) fn arms(rows: &CodedRows) -> Vec<u8> {
    rows.numbers[ARM].iter().map(|&t| u8::from(t > 0.5)).collect()
}

/// The outcomes of rows.
pub(super) fn outcomes(rows: &CodedRows) -> &[f64] {
    &rows.numbers[OUTCOME]
}

/// `y` of the rows of one arm; the others are not learned from.
pub(super) fn of_arm(rows: &CodedRows, arm: u8, y: &[f64]) -> Vec<f64> {
    arms(rows).iter().zip(y).map(|(&t, &y)| if t == arm { y } else { f64::NAN }).collect()
}

impl FirstRows {
    /// The weight of a row.
    pub(super) fn weight(&self, rows: &CodedRows, i: usize) -> f64 {
        self.weight.map_or(1.0, |k| rows.numbers[k][i])
    }
}

/// Nuisances of a unit's rows by models that have not seen them.
pub(super) struct UnitNuisance {
    pub(super) mu: [Vec<f64>; 2],
    pub(super) e: Vec<f64>,
}

/// Nuisances of all rows.
pub(super) struct UnitNuisances {
    mu: [Box<dyn UnitFit>; 2],
    /// Both arms' outcomes, then the propensities of candidates that learn from units.
    held: Box<dyn UnitScratch>,
    /// The model of the propensity, unless it is one of the first rows'.
    e_forest: Option<Box<dyn FittedRegressor>>,
    pub(super) log_loss: f64,
    pub(super) index: usize,
    /// Where the propensity is: among a row's numbers, or in `held`.
    in_numbers: Option<usize>,
    in_held: usize,
    calibration: Option<Calibrator>,
}

impl UnitNuisances {
    /// Fits outcomes and propensities on all rows that they may learn from.
    pub(super) fn fit(
        all: &AllUnits<'_>,
        design: &Design,
        (outcome, propensity, calibrate): (&BaseLearner, &[BaseLearner], bool),
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let target = outcome_target(design);
        let of = |arm: u8, label: &str| {
            let y = |_: usize, rows: &CodedRows| Ok(of_arm(rows, arm, outcomes(rows)));
            all.fit(outcome.learner.as_ref(), (target, false), &y, &stage(ctx, label)?)
        };
        let mu = [of(0, "control outcomes")?, of(1, "treated outcomes")?];
        let candidates = able_to_fit(propensity, design);
        let ctx = stage(ctx, "propensity")?;
        let treated = |_: usize, rows: &CodedRows| Ok(rows.numbers[ARM].clone());
        let mut forests: Vec<(usize, Box<dyn UnitFit>)> = vec![];
        for (index, candidate) in candidates.iter().enumerate().filter(|(k, _)| all.first.propensities[*k].is_none()) {
            let ctx = ctx.with_seed(ctx.seed.indexed(index as u64));
            let fitted = all.fit(candidate.learner.as_ref(), (Target::Probability, false), &treated, &ctx)?;
            forests.push((index, fitted));
        }
        let held = (all.units.scratch)()?;
        let (mut losses, mut total) = (vec![0.0; candidates.len()], 0.0);
        let predict = |unit: usize, rows: &CodedRows| -> Result<Vec<Vec<f64>>> {
            let mut out = Vec::with_capacity(2 + forests.len());
            for (arm, fitted) in (0..).zip(&mu) {
                out.push(fitted.held_out(unit, rows, &of_arm(rows, arm, outcomes(rows)))?);
            }
            for (_, fitted) in &forests {
                out.push(fitted.held_out(unit, rows, &rows.numbers[ARM])?);
            }
            Ok(out)
        };
        all.each(all.units.rows.len(), predict, |unit, rows, numbers| {
            let mut own = numbers[2..].iter();
            for (index, loss) in losses.iter_mut().enumerate() {
                let e = match all.first.place_of(index) {
                    Some(k) => Some(&rows.numbers[k]),
                    None => own.next(),
                };
                for (i, (&e, &t)) in e.into_iter().flatten().zip(&arms(rows)).enumerate() {
                    *loss -= all.first.weight(rows, i) * if t == 1 { e.ln() } else { (-e).ln_1p() };
                }
            }
            (0..rows.n_rows).for_each(|i| total += all.first.weight(rows, i));
            held.add(unit, &numbers.iter().flatten().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        })?;
        let Some(index) = (0..losses.len()).reduce(|a, b| if losses[b] < losses[a] { b } else { a }) else {
            return Err(Error::Numeric { what: "fitting the propensity", message: "no learner was named".into() });
        };
        let in_held = 2 + forests.iter().position(|(k, _)| *k == index).unwrap_or_default();
        let mut out = Self {
            mu,
            held,
            e_forest: forests.into_iter().find(|(k, _)| *k == index).map(|(_, fitted)| fitted.into_model()),
            log_loss: losses[index] / total,
            index,
            in_numbers: all.first.place_of(index),
            in_held,
            calibration: None,
        };
        if calibrate {
            out.calibrate(all)?;
        }
        Ok(out)
    }

    /// Calibrates the propensity on the rows that were seen first.
    fn calibrate(&mut self, all: &AllUnits<'_>) -> Result<()> {
        let (mut e, mut t, mut weight) = (vec![], vec![], vec![]);
        for unit in 0..all.units.n_known() {
            let rows = all.rows(unit)?;
            e.extend(self.estimated(unit, &rows)?.1);
            t.extend(&rows.numbers[ARM]);
            weight.extend(all.first.weight.map(|k| rows.numbers[k].clone()));
        }
        let weight = weight.concat();
        self.calibration = Some(Calibrator::fit(&e, &t, (!weight.is_empty()).then_some(&weight))?);
        Ok(())
    }

    /// Outcomes and estimated propensities of a unit's rows, not calibrated.
    fn estimated(&self, unit: usize, rows: &CodedRows) -> Result<([Vec<f64>; 2], Vec<f64>)> {
        let bytes = self.held.read(unit)?;
        let list = |k: usize| numbers_of(&bytes[8 * k * rows.n_rows..8 * (k + 1) * rows.n_rows]);
        let e = self.in_numbers.map_or_else(|| list(self.in_held), |k| rows.numbers[k].clone());
        Ok(([list(0), list(1)], e))
    }

    /// Nuisances of a unit's rows; a propensity that is known by design is taken as it is.
    pub(super) fn of_unit(&self, first: &FirstRows, unit: usize, rows: &CodedRows) -> Result<UnitNuisance> {
        let (mu, mut e) = self.estimated(unit, rows)?;
        if let Some(map) = &self.calibration {
            e.iter_mut().for_each(|e| *e = map.apply(*e));
        }
        let e = first.known.map_or(e, |k| rows.numbers[k].clone());
        Ok(UnitNuisance { mu, e })
    }

    /// The models of both arms' outcomes and of the propensity, which may be one of the first rows'.
    pub(super) fn into_models(
        self,
        mut first: FirstRows,
        (outcome, propensity): (&BaseLearner, &BaseLearner),
        models: &mut BaseModels,
    ) -> Result<()> {
        let of_first = first.propensities[self.index].take().map(|fitted| fitted.model);
        let Some(e) = self.e_forest.or(of_first) else {
            return Err(Error::internal("a meta-learner over blocks", "there is no propensity"));
        };
        for (name, fitted) in ["mu0", "mu1"].into_iter().zip(self.mu) {
            models.add(name, &outcome.base, fitted.into_model());
        }
        models.add_calibrated("e", &propensity.base, e, self.calibration);
        Ok(())
    }
}
