//! Whom to treat: a shallow tree chosen by doubly robust scores, what it is worth on rows that did not choose it, and the
//! same for the model's own predictions.

use paretau_core::{Error, FitContext, Observer, Result, Seed};
use paretau_data::{Assigned, RoleSpec, Table, assign, assign_all_arms};
use paretau_eval::{
    CrossFitted, PolicyOptions, PolicyTask, PolicyTree, PolicyValue, TocBand, cross_fitted_tree, policy_tree,
    policy_value, toc_band,
};
use paretau_nuisance::{Observed, Score, Weights, design_folds};
use serde::Serialize;

use crate::model::Model;
use crate::nuisances::{self, HANDLES};
use crate::prepared::Prepared;
use crate::scale;

/// Blocks of the sequential valuation.
const BLOCKS: usize = 6;
/// Points of the targeting curve.
const CURVE: usize = 10;

/// What treating a row costs, in units of the outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cost {
    /// Nothing.
    #[default]
    None,
    /// The same for every row.
    Number(f64),
    /// A column of the table.
    Column(String),
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRequest {
    /// Cost of treating a row.
    pub cost: Cost,
    /// Largest share that may be treated.
    pub budget: Option<f64>,
    /// Depth of the tree.
    pub depth: usize,
    /// Whether smaller outcomes are better.
    pub lower_is_better: bool,
}

impl PolicyRequest {
    /// Depth of the tree when nothing else is asked for.
    pub const DEPTH: usize = 2;
}

/// A policy and what it is worth.
#[derive(Debug, Clone, Serialize)]
pub struct NamedPolicy {
    /// `tree`, `model` or `everyone`.
    pub name: &'static str,
    /// What it gains, measured on the valued rows.
    #[serde(flatten)]
    pub value: PolicyValue,
}

/// Whom to treat.
#[derive(Debug, Clone, Serialize)]
pub struct Policy {
    /// Names of the arms, the control first.
    pub arms: Vec<String>,
    /// Rows that the tree was chosen on.
    pub n_rows: usize,
    /// Rows that the values were measured on.
    pub n_valued: usize,
    /// The tree, chosen on all rows.
    pub tree: PolicyTree,
    /// Names of the tree's columns.
    pub columns: Vec<String>,
    /// The tree in words.
    pub words: Vec<String>,
    /// Share of all rows that the tree treats.
    pub share_treated: f64,
    /// What policies are worth. The model's own choice is not among them where the model learned from some of the rows.
    pub policies: Vec<NamedPolicy>,
    /// Targeting curve of the model's ranking: gain of the first share over the mean gain. Empty where the model learned from some
    /// of the rows.
    pub targeting: Vec<TocBand>,
    /// What to know.
    pub notes: Vec<String>,
    /// The recommended arm of each row that was used.
    #[serde(skip)]
    pub recommended: Vec<usize>,
    /// The rows of the table that were used.
    #[serde(skip)]
    pub rows: Vec<usize>,
}

/// Finds a policy for the rows of a table and values it.
pub fn policy(
    model: &Model,
    table: Table,
    roles: &RoleSpec,
    request: &PolicyRequest,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Policy> {
    if let Some(budget) = request.budget.filter(|b| !(0.0..=1.0).contains(b)) {
        return Err(Error::unfit(format!("the budget is a share from 0 to 1, not {budget}")));
    }
    let cost = costs(&table, &request.cost)?;
    let several = model.about().arms.len() > 2;
    let mut roles = roles.clone();
    if let Cost::Column(name) = &request.cost
        && !model.encoder().fields().iter().any(|field| field.name == *name)
    {
        roles.ignore.push(name.clone());
    }
    let assigned = if several { assign_all_arms(table, &roles)? } else { assign(table, &roles)? };
    let cost: Vec<f64> = match cost {
        None => vec![0.0; assigned.t.len()],
        Some(cost) => assigned.rows.iter().map(|&i| cost[i]).collect(),
    };
    if let Some(k) = cost.iter().position(|c| !c.is_finite()) {
        return Err(Error::unfit(format!(
            "the cost of row {} is missing; give every row a number",
            assigned.rows[k] + 1
        )));
    }
    let learned_from = model.recognise(&assigned)?.n_known(assigned.t.len());
    let ctx = FitContext::new(seed, observer);
    let sign = if request.lower_is_better { -1.0 } else { 1.0 };
    let prepared = Prepared::encode(assigned, HANDLES)?;
    let gains: Vec<Vec<f64>> = (arm_gains(&prepared, &ctx)?.into_iter())
        .map(|gains| gains.iter().zip(&cost).map(|(g, c)| sign * g - c).collect())
        .collect();
    let Prepared { assigned, design, .. } = &prepared;
    let n = design.n_rows();
    let min_leaf = (n / 100).max(1);
    let options = PolicyOptions { depth: request.depth, min_leaf, budget: request.budget };
    let task = PolicyTask { x: design.x(), gains: &gains, weight: design.weight() };
    let folds = design_folds(design, BLOCKS, seed.named("policy"))?;
    let CrossFitted { rows, arms, constant } = cross_fitted_tree(&task, &folds, &options)?;
    let all: Vec<usize> = (0..n).collect();
    let tree = policy_tree(&task, &all, &options)?;
    let recommended = tree.arms(design.x(), &all);
    let value = |arms: &[usize]| policy_value(&task, design.groups(), &rows, (arms, &constant));
    let benefit = predicted_gains(model, assigned, sign, &cost)?;
    let by_model = model_policy(&benefit, &task, request.budget);
    let pick = |arms: &[usize]| -> Vec<usize> { rows.iter().map(|&i| arms[i]).collect() };
    let mut policies = vec![
        NamedPolicy { name: "tree", value: value(&arms) },
        NamedPolicy { name: "model", value: value(&pick(&by_model)) },
        NamedPolicy { name: "everyone", value: value(&vec![1; rows.len()]) },
    ];
    let mut notes = prepared.notes();
    notes.push(format!("values are measured on {} of {n} rows, by trees that were chosen on other rows", rows.len()));
    // A choice by predictions of rows that were learned from looks better than it is, even on pure noise.
    if learned_from > 0 {
        policies.retain(|policy| policy.name != "model");
        notes.push(format!(
            "{learned_from} of {n} rows were learned from by this model: what its own choice and ranking are worth cannot be measured \
             on them; give rows that were kept aside before the fit"
        ));
    }
    if several && assigned.propensity.is_some() {
        notes.push("known propensities are not used with several arms".to_owned());
    }
    // The ranking needs two arms for its rows; with several, treated by any arm counts as treated.
    let t: Vec<u8> = design.t().iter().map(|t| u8::from(*t > 0)).collect();
    let observed = Observed { t: &t, y: design.y(), weight: design.weight(), groups: design.groups() };
    let targeting = if learned_from > 0 { vec![] } else { toc_band(&observed, &gains[0], &benefit[0], CURVE, seed) };
    let columns: Vec<String> = design.columns().iter().map(|c| c.name.clone()).collect();
    let mut words = vec![];
    describe(&tree, &columns, &assigned.arms, 0, &mut words);
    let treated = |i: &usize| design.weight().map_or(1.0, |w| w[*i]);
    let share =
        all.iter().filter(|&&i| recommended[i] > 0).map(treated).sum::<f64>() / all.iter().map(treated).sum::<f64>();
    Ok(Policy {
        arms: assigned.arms.clone(),
        n_rows: n,
        n_valued: rows.len(),
        tree,
        columns,
        words,
        share_treated: share,
        policies,
        targeting,
        notes,
        recommended,
        rows: assigned.rows.clone(),
    })
}

fn costs(table: &Table, cost: &Cost) -> Result<Option<Vec<f64>>> {
    match cost {
        Cost::None => Ok(None),
        Cost::Number(c) if !c.is_finite() => Err(Error::unfit("the cost is not a finite number")),
        Cost::Number(c) => Ok(Some(vec![*c; table.n_rows()])),
        Cost::Column(name) => match &table.require(name)?.data {
            paretau_data::ColumnData::Number(values) => Ok(Some(values.contiguous().into_owned())),
            paretau_data::ColumnData::Text(_) => {
                Err(table.error(Some(name), None, "holds text; a cost is a number per row"))
            }
        },
    }
}

/// Doubly robust gains of each treated arm over the control, for every row: with two arms the usual scores, with several
/// each arm's score from nuisances of that arm against all others.
fn arm_gains(prepared: &Prepared, ctx: &FitContext<'_>) -> Result<Vec<Vec<f64>>> {
    let Prepared { assigned, design, .. } = prepared;
    scale::refuse_extremes(assigned, design, None)?;
    let n_arms = design.n_arms();
    let stack = |design: &paretau_core::Design| -> Result<_> {
        let nuisance = nuisances::of_design(design, ctx)?.nuisance;
        let smooth = Weights::smoothed_inverse(&nuisance.e, design.t())?.smooth;
        Ok((nuisance, smooth))
    };
    if n_arms == 2 {
        let (nuisance, weights) = stack(design)?;
        return Ok(vec![nuisance.scores(&Observed::of(design)?, &weights)]);
    }
    let mut levels = vec![];
    for arm in 0..n_arms {
        let t: Vec<u8> = assigned.t.iter().map(|t| u8::from(usize::from(*t) == arm)).collect();
        let arms = vec!["other".to_owned(), assigned.arms[arm].clone()];
        let against = Assigned { t: t.clone(), arms, propensity: None, ..assigned.clone() };
        let design = against.design(design.x().clone(), design.columns().to_vec())?;
        let (nuisance, weights) = stack(&design)?;
        let score = |i: usize| nuisance.mu1[i] + f64::from(t[i]) * weights[i] * (design.y()[i] - nuisance.mu1[i]);
        levels.push((0..t.len()).map(score).collect::<Vec<f64>>());
    }
    let control = levels.remove(0);
    Ok(levels.into_iter().map(|arm| arm.iter().zip(&control).map(|(a, c)| a - c).collect()).collect())
}

/// What the model expects each arm to gain in each row, in the order of the table's arms.
fn predicted_gains(model: &Model, assigned: &Assigned, sign: f64, cost: &[f64]) -> Result<Vec<Vec<f64>>> {
    let predictions = model.predict(&assigned.features)?;
    let names: Vec<&str> = model.about().arms.iter().skip(1).map(|arm| arm.name.as_str()).collect();
    (assigned.arms[1..].iter().enumerate())
        .map(|(k, arm)| {
            let place = if assigned.arms.len() == 2 { Some(0) } else { names.iter().position(|name| name == arm) };
            let effects = place.and_then(|place| predictions.arms.get(place)).ok_or_else(|| {
                Error::unfit(format!(
                    "the model knows no arm `{arm}` (number {}); it knows {}",
                    k + 1,
                    names.join(", ")
                ))
            })?;
            Ok(effects.tau.iter().zip(cost).map(|(tau, c)| sign * tau - c).collect())
        })
        .collect()
}

/// Treats those whose best predicted gain is above 0, the largest first while the budget lasts.
fn model_policy(benefit: &[Vec<f64>], task: &PolicyTask<'_>, budget: Option<f64>) -> Vec<usize> {
    let n = benefit[0].len();
    let best = |i: usize| (1..benefit.len()).fold(0, |a, b| if benefit[b][i] > benefit[a][i] { b } else { a });
    let weight = |i: usize| task.weight.map_or(1.0, |w| w[i]);
    let mut order: Vec<usize> = (0..n).filter(|&i| benefit[best(i)][i] > 0.0).collect();
    order.sort_by(|&a, &b| benefit[best(b)][b].total_cmp(&benefit[best(a)][a]).then(a.cmp(&b)));
    let mut left = budget.unwrap_or(1.0) * (0..n).map(weight).sum::<f64>() * (1.0 + 1e-12);
    let mut arms = vec![0; n];
    for i in order {
        left -= weight(i);
        if left < 0.0 {
            break;
        }
        arms[i] = best(i) + 1;
    }
    arms
}

/// The tree as indented lines with the columns' names.
fn describe(tree: &PolicyTree, columns: &[String], arms: &[String], depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match tree {
        PolicyTree::Leaf { arm, rows, gains } => {
            let decision = match (*arm, arms.len()) {
                (0, _) => "do not treat".to_owned(),
                (_, 2) => "treat".to_owned(),
                (arm, _) => format!("give {}", arms[arm]),
            };
            let best = gains.iter().skip(1).copied().fold(f64::NEG_INFINITY, f64::max);
            lines.push(format!("{indent}{decision} ({rows} rows, gain per treated row {})", crate::four_digits(best)));
        }
        PolicyTree::Split { column, threshold, left, right } => {
            let name = &columns[*column];
            // Indicators are 0 or 1: their question is yes or no.
            let (yes, no) = if let Some((name, level)) = name.split_once('=').filter(|_| (0.0..1.0).contains(threshold))
            {
                (format!("{name} is not {level}"), format!("{name} is {level}"))
            } else if let Some(name) = name.strip_suffix("__missing") {
                (format!("{name} is given"), format!("{name} is missing"))
            } else {
                let shown = threshold.to_string();
                (format!("{name} at most {shown}"), format!("{name} above {shown}"))
            };
            lines.push(format!("{indent}{yes}:"));
            describe(left, columns, arms, depth + 1, lines);
            lines.push(format!("{indent}{no}:"));
            describe(right, columns, arms, depth + 1, lines);
        }
    }
}

impl Policy {
    /// Whether the tree gains over the best single decision, in words.
    pub fn in_words(&self) -> String {
        let Some(tree) = self.policies.iter().find(|p| p.name == "tree") else { return String::new() };
        let gain: Score = tree.value.over_best_constant;
        match gain.interval(0.95) {
            Some((lo, _)) if lo > 0.0 => {
                "the tree gains over one decision for all, on rows that did not choose it".to_owned()
            }
            Some((_, hi)) if hi < 0.0 => "the tree loses against one decision for all: do not use it".to_owned(),
            _ => "these rows do not show that the tree gains over one decision for all".to_owned(),
        }
    }
}
