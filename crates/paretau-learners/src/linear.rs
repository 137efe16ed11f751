//! Effects by ridge regression: `lr-1`, one model with the treatment as an unpenalised column, and `lr-2`, one model
//! per arm.
//!
//! Both are linear in the features also when the outcome is binary (a linear probability model): expected outcomes
//! are not clipped to [0, 1], because clipping would bias the effect, which is what they are for.

use paretau_core::{
    Abilities, CodedRows, Column, ConfigEntry, Design, Diagnostics, Effects, Error, Estimator, EstimatorInfo, Family,
    Features, FitContext, FittedModel, Handles, Importance, NewRows, ParamKind, ParamSpec, Result, Seed, State,
    StoredUnits, Toolbox, UnitEstimator, UnitStart, Want,
};
use paretau_nuisance::two_arms;
use serde::{Deserialize, Serialize};

use crate::ridge::Rows;
use crate::ridge_parts::{Part, Parts, fit_parts};
use crate::view::View;
use crate::{Ridge, RidgeOptions, RidgeTask};

/// Whether the arms share their coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinearArms {
    /// One model; the effect is the coefficient of the treatment, the same for all rows.
    Shared,
    /// One model per arm; the effect is the difference of their predictions.
    Separate,
}

/// Parameters of the linear estimators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {
    /// One model, or one per arm.
    pub arms: LinearArms,
    /// Ridge penalty on standardised features; `None` chooses by cross-validation.
    pub penalty: Option<f64>,
    /// Folds of the choice; `None` is exact leave-one-out (5 folds with groups).
    pub folds: Option<usize>,
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "arms",
        ParamKind::Choice(&["shared", "separate"]),
        "`shared`: one model, treatment as an unpenalised column, a constant effect; `separate`: one model per arm",
    ),
    ParamSpec::new(
        "penalty",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }),
        "ridge penalty on standardised features, per unit of row weight; auto chooses by cross-validation",
    ),
    ParamSpec::new(
        "folds",
        ParamKind::Auto(&ParamKind::Int { min: 2, max: 100 }),
        "folds for choosing the penalty; auto is exact leave-one-out, or 5 folds of whole groups",
    ),
];

const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };

/// `lr-1`: ridge with the treatment as an unpenalised column.
pub const LR_1: ConfigEntry<LinearConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "lr-1",
        aliases: &["LR-1", "LR1"],
        family: Family::Linear,
        class: "LinearEffect",
        summary: "Ridge regression with the treatment as a column: one effect for everyone",
        reference: "Hoerl and Kennard (1970)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || LinearConfig { arms: LinearArms::Shared, penalty: None, folds: None },
    build: |config, ctx| Ok(Box::new(LinearEstimator { name: ctx.name, config })),
    load,
};

/// `lr-2`: one ridge per arm.
pub const LR_2: ConfigEntry<LinearConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "lr-2",
        aliases: &["LR-2", "LR2"],
        family: Family::Linear,
        class: "LinearEffect",
        summary: "One ridge regression per arm: the effect is linear in the features",
        reference: "Hoerl and Kennard (1970)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || LinearConfig { arms: LinearArms::Separate, penalty: None, folds: None },
    build: |config, ctx| Ok(Box::new(LinearEstimator { name: ctx.name, config })),
    load,
};

#[derive(Debug)]
struct LinearEstimator {
    name: &'static str,
    config: LinearConfig,
}

impl Estimator for LinearEstimator {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        ctx.check_interrupt()?;
        let options = RidgeOptions { penalty: self.config.penalty, folds: self.config.folds };
        let mut diagnostics = Diagnostics::default();
        let (models, sizes) = match self.config.arms {
            LinearArms::Shared => {
                let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
                let task = RidgeTask {
                    x: design.x(),
                    y: design.y(),
                    free: Some(&t),
                    weight: design.weight(),
                    groups: design.groups(),
                };
                let model = Ridge::fit_watched(&task, &options, ctx.seed, &|| ctx.check_interrupt())?;
                note(&mut diagnostics, "", &model);
                (vec![model.clone()], model.standardised())
            }
            LinearArms::Separate => {
                crate::design_matrix::refuse_missing(design.x(), "ridge regression")?;
                let models = [0, 1]
                    .into_iter()
                    .map(|arm| {
                        let rows = design.rows_of_arm(arm);
                        let pick = |v: &[f64]| -> Vec<f64> { rows.iter().map(|&i| v[i]).collect() };
                        let (y, weight) = (pick(design.y()), design.weight().map(pick));
                        let groups: Option<Vec<u32>> =
                            design.groups().map(|groups| rows.iter().map(|&i| groups[i]).collect());
                        let x = View::of(design.x(), &rows);
                        let part = Rows { x, y: &y, free: None, weight: weight.as_deref(), groups: groups.as_deref() };
                        let seed = ctx.seed.named("arm").indexed(u64::from(arm));
                        Ridge::fit_view(&part, &options, seed, &|| ctx.check_interrupt())
                    })
                    .collect::<Result<Vec<_>>>()?;
                note(&mut diagnostics, "_control", &models[0]);
                note(&mut diagnostics, "_treated", &models[1]);
                let sizes = differences(&models);
                (models, sizes)
            }
        };
        Ok(Box::new(LinearModel::new(self.config.arms, models, &sizes, diagnostics, design.columns())))
    }

    fn over_units(&self) -> Option<&dyn UnitEstimator> {
        Some(self)
    }
}

/// What moves the effect: the difference of the arms' coefficients, in pooled standard deviations.
fn differences(models: &[Ridge]) -> Vec<f64> {
    (0..models[0].coef.len())
        .map(|j| {
            let sd = f64::midpoint(models[0].sd[j].powi(2), models[1].sd[j].powi(2));
            (models[1].coef[j] - models[0].coef[j]) * sd.sqrt()
        })
        .collect()
}

/// Feature columns of rows that are kept outside of memory, at most: eight bytes per cell, and their products in memory.
const MOST_COLUMNS: usize = 1000;
/// Where a row's arm and its weight are among its numbers: the outcome stands between them, features behind them.
const ARM: usize = 0;
const WEIGHT: usize = 2;

impl UnitEstimator for LinearEstimator {
    fn start<'a>(&'a self, design: &Design, _: &FitContext<'_>) -> Result<Box<dyn UnitStart + 'a>> {
        two_arms(design, self.name)?;
        Ok(Box::new(LinearStart { config: &self.config, n_features: design.x().n_cols() }))
    }

    fn tree_rows(&self, _: usize, _: usize) -> Option<usize> {
        None
    }

    fn most_columns(&self) -> Option<usize> {
        Some(MOST_COLUMNS)
    }
}

/// Lines over rows outside of memory, which are exact: nothing is taken from the rows that were seen first.
struct LinearStart<'a> {
    config: &'a LinearConfig,
    n_features: usize,
}

impl LinearStart<'_> {
    /// The ridge regression of the rows of one arm, or of all with the treatment as a free column.
    fn ridge(
        &self,
        arm: Option<u8>,
        design: &Design,
        units: &StoredUnits<'_>,
        (ctx, seed): (&FitContext<'_>, Seed),
    ) -> Result<Ridge> {
        let n_numbers = WEIGHT + 1 + self.n_features;
        let read = |unit: usize| -> Result<Part> {
            let mut lists = units.unit(unit, n_numbers, 0)?.numbers;
            if let Some(arm) = arm {
                let kept: Vec<bool> = lists[ARM].iter().map(|t| *t == f64::from(arm)).collect();
                for list in &mut lists {
                    let mut kept = kept.iter();
                    list.retain(|_| kept.next() == Some(&true));
                }
            }
            let x = lists.split_off(WEIGHT + 1);
            let [t, y, w] = <[Vec<f64>; 3]>::try_from(lists)
                .map_err(|_| Error::internal("lines over blocks", "a row has other numbers than were written"))?;
            Ok(Part { x, free: arm.is_none().then_some(t), y, w })
        };
        let (n, grouped) = (units.rows.len(), design.groups().is_some());
        let parts = Parts { n, n_features: self.n_features, read: &read, grouped };
        fit_parts(&parts, &RidgeOptions { penalty: self.config.penalty, folds: self.config.folds }, ctx, seed)
    }
}

impl UnitStart for LinearStart<'_> {
    fn code(&self, rows: &NewRows<'_>) -> Result<CodedRows> {
        crate::design_matrix::refuse_missing(rows.x, "ridge regression")?;
        let n = rows.y.len();
        let mut numbers = vec![rows.t.iter().map(|&t| f64::from(t)).collect(), rows.y.to_vec()];
        numbers.push(rows.weight.map_or_else(|| vec![1.0; n], <[f64]>::to_vec));
        numbers.resize(WEIGHT + 1 + self.n_features, vec![0.0; n]);
        let mut row = vec![0.0; self.n_features];
        for i in 0..n {
            rows.x.copy_row(i, &mut row);
            numbers[WEIGHT + 1..].iter_mut().zip(&row).for_each(|(list, v)| list[i] = *v);
        }
        Ok(CodedRows { n_rows: n, numbers, codes: vec![] })
    }

    fn fit(
        self: Box<Self>,
        design: &Design,
        units: &StoredUnits<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<Box<dyn FittedModel>> {
        let mut diagnostics = Diagnostics::default();
        let (models, sizes) = match self.config.arms {
            LinearArms::Shared => {
                let model = self.ridge(None, design, units, (ctx, ctx.seed))?;
                note(&mut diagnostics, "", &model);
                (vec![model.clone()], model.standardised())
            }
            LinearArms::Separate => {
                let of = |arm: u8| {
                    let seed = ctx.seed.named("arm").indexed(u64::from(arm));
                    self.ridge(Some(arm), design, units, (ctx, seed))
                };
                let models = vec![of(0)?, of(1)?];
                note(&mut diagnostics, "_control", &models[0]);
                note(&mut diagnostics, "_treated", &models[1]);
                let sizes = differences(&models);
                (models, sizes)
            }
        };
        Ok(Box::new(LinearModel::new(self.config.arms, models, &sizes, diagnostics, design.columns())))
    }
}

fn note(diagnostics: &mut Diagnostics, suffix: &str, model: &Ridge) {
    diagnostics.note(&format!("penalty{suffix}"), model.penalty);
    if let Some(r2) = model.r2 {
        diagnostics.note(&format!("r2_cv{suffix}"), r2);
    }
}

#[derive(Debug)]
struct LinearModel {
    arms: LinearArms,
    /// One shared model, or control and treated.
    models: Vec<Ridge>,
    diagnostics: Diagnostics,
}

impl LinearModel {
    /// The model, whose features count by the size of what they move.
    fn new(
        arms: LinearArms,
        models: Vec<Ridge>,
        sizes: &[f64],
        mut diagnostics: Diagnostics,
        columns: &[Column],
    ) -> Self {
        let total: f64 = sizes.iter().map(|s: &f64| s.abs()).sum();
        if total > 0.0 {
            let share = |(column, s): (&Column, &f64)| Importance { name: column.name.clone(), share: s.abs() / total };
            diagnostics.importance = columns.iter().zip(sizes).map(share).collect();
        }
        Self { arms, models, diagnostics }
    }
}

impl FittedModel for LinearModel {
    fn n_features(&self) -> usize {
        self.models[0].coef.len()
    }

    fn predict(&self, x: &Features, _: Want) -> Result<Vec<Effects>> {
        self.check_columns(x)?;
        crate::design_matrix::refuse_missing(x, "ridge regression")?;
        let mu0 = self.models[0].predict(x);
        Ok(vec![match self.arms {
            LinearArms::Shared => {
                let effect = self.models[0].free;
                let mu1 = mu0.iter().map(|m| m + effect).collect();
                // Exactly constant, which the difference of two rounded sums is not.
                Effects { tau: vec![effect; mu0.len()], ..Effects::from_outcomes(mu0, mu1) }
            }
            LinearArms::Separate => Effects::from_outcomes(mu0, self.models[1].predict(x)),
        }])
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved {
            arms: self.arms,
            n_features: self.n_features(),
            diagnostics: self.diagnostics.clone(),
        })?;
        for (k, model) in self.models.iter().enumerate() {
            model.put(&mut state, &k.to_string());
        }
        Ok(state)
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    arms: LinearArms,
    n_features: usize,
    diagnostics: Diagnostics,
}

fn load(state: &State, _: &Toolbox) -> Result<Box<dyn FittedModel>> {
    let saved: Saved = state.parse()?;
    let n_models = match saved.arms {
        LinearArms::Shared => 1,
        LinearArms::Separate => 2,
    };
    let models =
        (0..n_models).map(|k: usize| Ridge::get(state, &k.to_string(), saved.n_features)).collect::<Result<_>>()?;
    Ok(Box::new(LinearModel { arms: saved.arms, models, diagnostics: saved.diagnostics }))
}
