//! The base learner `stack`: a convex mixture of other base learners, with the weights that predict held-out rows best.
//!
//! No learner is good on all data: a line is blind to curves, trees are slow on lines. Each member predicts every row without
//! having seen it, by its own held-out predictions or by cross-fitting, and the mixture with the lowest loss is kept. The same
//! mixture of the held-out predictions is offered to whoever cross-fits with it.

use paretau_core::{
    BaseEntry, Error, Features, FitContext, FittedRegressor, Handles, ParamKind, ParamSpec, Params, RegressionTask,
    Regressor, Result, State, Target, resolve,
};
use paretau_nuisance::folds::folds;
use paretau_nuisance::{CrossTask, convex, fit_all, fit_folds, fold_count};
use serde::{Deserialize, Serialize};

use crate::registry::BASES;

/// Members whose weight is below this are left out, and the others' weights fill their place.
const LEAST_WEIGHT: f64 = 0.01;
/// Members of every stack.
const MEMBERS: &[&str] = &["ridge", "forest", "boosting"];
/// A further member on request.
const NET: &str = "mlp";

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StackConfig {
    folds: usize,
    net: bool,
    noisy: bool,
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "folds",
        ParamKind::Int { min: 2, max: 100 },
        "Folds of cross-fitting for members without held-out predictions of their own.",
    ),
    ParamSpec::new("net", ParamKind::Bool, "Whether the net `mlp` is a member too; slow."),
    ParamSpec::new(
        "noisy",
        ParamKind::Bool,
        "Whether members take the parameters that they recommend where targets are mostly noise.",
    ),
];

/// Entry of the base learner `stack`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackBase;

/// The entry for the list of base learners.
pub(crate) const STACK: StackBase = StackBase;

impl BaseEntry for StackBase {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn summary(&self) -> &'static str {
        "Convex mixture of ridge, forest and boosting by held-out loss, of a net too on request"
    }

    fn handles(&self) -> Handles {
        // What all members take.
        Handles { missing: false, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_noisy_targets(&self) -> Params {
        Params::none().with("noisy", true)
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        let config: StackConfig =
            resolve("stack", PARAMS, &StackConfig { folds: 5, net: false, noisy: false }, params)?;
        let names = MEMBERS.iter().copied().chain(config.net.then_some(NET));
        let members = names.map(|name| {
            let base = base(name)?;
            let params = if config.noisy { base.for_noisy_targets() } else { Params::none() };
            Ok((name, base.build(&params)?))
        });
        Ok(Box::new(StackRegressor { folds: config.folds, members: members.collect::<Result<_>>()? }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let saved: Saved = state.nested("stack")?.parse()?;
        let total: f64 = saved.weights.iter().map(|(_, weight)| weight).sum();
        if saved.weights.is_empty() || (total - 1.0).abs() > 1e-6 || saved.weights.iter().any(|(_, w)| *w < 0.0) {
            return Err(Error::bad_model("the weights of a stack do not sum to one"));
        }
        let member = |(name, weight): &(String, f64)| -> Result<_> {
            let base = base(name).map_err(|e| Error::bad_model(e.to_string()))?;
            Ok((base.name(), *weight, base.load(&state.nested(name)?)?))
        };
        let members = saved.weights.iter().map(member).collect::<Result<_>>()?;
        Ok(Box::new(FittedStack { members, held_out: vec![] }))
    }
}

/// The base learner of that name, which is not a stack itself: a stack in a damaged file must not lead to another without end.
fn base(name: &str) -> Result<&'static dyn BaseEntry> {
    let mut others = BASES.iter().filter(|base| base.name() != STACK.name());
    let known = || BASES.iter().map(|base| base.name()).filter(|name| *name != STACK.name());
    others.find(|base| base.name() == name).copied().ok_or_else(|| Error::unknown_name("base learner", name, known()))
}

#[derive(Debug)]
struct StackRegressor {
    folds: usize,
    members: Vec<(&'static str, Box<dyn Regressor>)>,
}

impl Regressor for StackRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let strata: Vec<u8> = match task.target {
            Target::Probability => task.y.iter().map(|&y| u8::from(y > 0.5)).collect(),
            Target::Mean => vec![0; task.y.len()],
        };
        let count = fold_count(&strata, task.groups, self.folds);
        let parts = match count {
            Some(count) => folds(&strata, task.groups, count, ctx.seed.named("folds"))?,
            None => vec![],
        };
        let cross = CrossTask::new(*task);
        let (mut models, mut predictions) = (vec![], vec![]);
        for (name, learner) in &self.members {
            let ctx = ctx.with_seed(ctx.seed.named(name));
            let full = fit_all(&cross, learner.as_ref(), &ctx)?;
            let held_out = match full.held_out {
                Some(own) => own,
                // Too few rows to hold any out: nothing to choose by, and the first member, the simplest, is all there is.
                None if parts.is_empty() => {
                    return Ok(Box::new(FittedStack { members: vec![(*name, 1.0, full.model)], held_out: vec![] }));
                }
                None => fit_folds(&cross, learner.as_ref(), &parts, ctx.seed.named("fold"), &ctx)?.held_out,
            };
            models.push((*name, full.model));
            predictions.push(held_out);
        }
        let views: Vec<&[f64]> = predictions.iter().map(Vec::as_slice).collect();
        let mut weights = match task.target {
            Target::Mean => convex::least_squares(&views, task.y, task.weight)?,
            Target::Probability => convex::log_loss(&views, task.y, task.weight)?,
        };
        weights.iter_mut().filter(|w| **w < LEAST_WEIGHT).for_each(|w| *w = 0.0);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let mixed = |i: usize| weights.iter().zip(&views).map(|(weight, p)| weight * p[i]).sum();
        let held_out = (0..task.y.len()).map(mixed).collect();
        let members = models.into_iter().zip(&weights).map(|((name, model), &weight)| (name, weight, model));
        Ok(Box::new(FittedStack { members: members.filter(|(_, weight, _)| *weight > 0.0).collect(), held_out }))
    }
}

/// A fitted mixture: names, weights that sum to one, models.
#[derive(Debug)]
struct FittedStack {
    members: Vec<(&'static str, f64, Box<dyn FittedRegressor>)>,
    held_out: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    weights: Vec<(String, f64)>,
}

impl FittedRegressor for FittedStack {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let mut mixed = vec![0.0; x.n_rows()];
        for (_, weight, model) in &self.members {
            mixed.iter_mut().zip(model.predict(x)?).for_each(|(sum, p)| *sum += weight * p);
        }
        Ok(mixed)
    }

    fn held_out(&self) -> Option<&[f64]> {
        (!self.held_out.is_empty()).then_some(&self.held_out)
    }

    fn state(&self) -> Result<State> {
        let weights = self.members.iter().map(|(name, weight, _)| ((*name).to_owned(), *weight)).collect();
        let mut state = State::default();
        state.nest("stack", State::new(&Saved { weights })?);
        for (name, _, model) in &self.members {
            state.nest(name, model.state()?);
        }
        Ok(state)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::{Column, Dense, Seed};

    fn error(p: &[f64], y: &[f64]) -> f64 {
        p.iter().zip(y).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / y.len() as f64
    }

    /// A line plus a step: neither lines nor trees alone are best.
    fn rows(n: usize, seed: u64) -> (Features, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let x: Vec<f64> = (0..n * 3).map(|_| rng.normal()).collect();
        let y = x.chunks(3).map(|x| 2.0 * x[0] + if x[1] > 0.0 { 2.0 } else { 0.0 } + 0.5 * rng.normal()).collect();
        (Features::Dense(Dense::new(n, 3, x).unwrap()), y)
    }

    fn fit(x: &Features, y: &[f64], target: Target, base: &dyn BaseEntry) -> Box<dyn FittedRegressor> {
        let columns = Column::numbered(x.n_cols());
        let task = RegressionTask { x, columns: &columns, y, weight: None, groups: None, target };
        base.build(&Params::none()).unwrap().fit(&task, &FitContext::silent(Seed(1))).unwrap()
    }

    #[test]
    fn a_stack_is_no_worse_than_its_members_and_comes_back() {
        let (x, y) = rows(600, 1);
        let (fresh, truth) = rows(4000, 2);
        let model = fit(&x, &y, Target::Mean, &STACK);
        let predicted = model.predict(&fresh).unwrap();
        for name in MEMBERS {
            let member = fit(&x, &y, Target::Mean, base(name).unwrap());
            let (own, mixed) = (error(&member.predict(&fresh).unwrap(), &truth), error(&predicted, &truth));
            assert!(mixed < 1.02 * own, "{name}: {mixed} {own}");
        }
        let held_out = error(model.held_out().unwrap(), &y);
        assert!((held_out / error(&predicted, &truth) - 1.0).abs() < 0.25, "{held_out}");
        let back = STACK.load(&model.state().unwrap()).unwrap();
        assert_eq!(back.predict(&fresh).unwrap(), predicted);
    }

    #[test]
    fn mixtures_of_probabilities_are_probabilities() {
        let (x, y) = rows(400, 3);
        let classes: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 1.0))).collect();
        let p = fit(&x, &classes, Target::Probability, &STACK).predict(&x).unwrap();
        assert!(p.iter().all(|p| *p > 0.0 && *p < 1.0));
        let right = p.iter().zip(&classes).filter(|(p, y)| (**p > 0.5) == (**y > 0.5)).count();
        assert!(right > 340, "{right}");
    }

    #[test]
    fn a_stack_within_a_stack_is_refused() {
        let (x, y) = rows(100, 4);
        let mut state = fit(&x, &y, Target::Mean, &STACK).state().unwrap();
        state.nest("stack", State::new(&Saved { weights: vec![("stack".into(), 1.0)] }).unwrap());
        assert!(STACK.load(&state).unwrap_err().to_string().contains("unknown base learner"));
    }
}
