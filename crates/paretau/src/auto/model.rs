//! The fitted `auto`: members, each an estimator's model of its own, and their weights.

use paretau_core::{Diagnostics, Effects, Error, Features, FittedModel, Result, State, Toolbox, Want};
use serde::{Deserialize, Serialize};

use crate::registry;

use super::NAME;

/// One member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) facts: MemberFacts,
    pub(super) model: Box<dyn FittedModel>,
}

/// What is saved of a member beside its model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MemberFacts {
    /// Registry name.
    pub(super) name: String,
    /// Its share, from 0 to 1.
    pub(super) weight: f64,
    /// For the member that gives everyone the same effect: that effect. Its model tells the mean outcome.
    pub(super) constant: Option<Constant>,
}

/// One effect for everyone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Constant {
    pub(super) effect: f64,
    /// Share of treated rows.
    pub(super) treated: f64,
    /// Whether outcomes are probabilities.
    pub(super) binary: bool,
}

impl Constant {
    /// Both outcomes around the model's mean outcome, the effect apart.
    fn around(self, effects: &Effects) -> Effects {
        let Self { effect, treated, binary } = self;
        let n = effects.tau.len();
        let tau = vec![effect; n];
        if effects.mu0.len() != n || effects.mu1.len() != n {
            return Effects { tau, ..Effects::default() };
        }
        let mu0: Vec<f64> = (0..n)
            .map(|i| {
                let mean = effects.mu0[i] + treated * (effects.mu1[i] - effects.mu0[i]);
                let mu0 = mean - treated * effect;
                if binary { mu0.min(1.0 - effect).max(-effect).clamp(0.0, 1.0) } else { mu0 }
            })
            .collect();
        let mu1 = mu0.iter().map(|v| v + effect).collect();
        Effects { mu0, mu1, tau, e: None, se: None }
    }
}

impl Member {
    pub(super) fn predict(&self, x: &Features, want: Want) -> Result<Effects> {
        // One model for all: the propensity is not a member's business.
        let want = want.min(Want::Outcomes);
        let mut arms = self.model.predict(x, want)?;
        if arms.is_empty() {
            return Err(Error::bad_model("a member has no arms"));
        }
        let effects = arms.swap_remove(0);
        Ok(match self.facts.constant {
            Some(constant) => constant.around(&effects),
            None => effects,
        })
    }
}

/// Weighted means of members' predictions, in the members' order.
pub(super) fn mixed<'a>(parts: impl Iterator<Item = (f64, &'a Effects)>, want: Want) -> Effects {
    let mut sum: Option<Effects> = None;
    let add = |into: &mut Vec<f64>, weight: f64, from: &[f64]| {
        into.iter_mut().zip(from).for_each(|(sum, v)| *sum += weight * v);
    };
    for (weight, effects) in parts {
        let n = effects.tau.len();
        let outcomes = if want == Want::Effect { 0 } else { n };
        let sum = sum.get_or_insert_with(|| Effects {
            mu0: vec![0.0; outcomes],
            mu1: vec![0.0; outcomes],
            tau: vec![0.0; n],
            e: None,
            se: None,
        });
        add(&mut sum.mu0, weight, &effects.mu0);
        add(&mut sum.mu1, weight, &effects.mu1);
        add(&mut sum.tau, weight, &effects.tau);
    }
    sum.unwrap_or_default()
}

/// A fitted `auto`.
#[derive(Debug)]
pub(super) struct AutoModel {
    pub(super) members: Vec<Member>,
    pub(super) n_features: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) held_out: Option<Vec<Effects>>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    members: Vec<MemberFacts>,
    n_features: usize,
    diagnostics: Diagnostics,
}

fn part(k: usize) -> String {
    format!("member{k}")
}

impl FittedModel for AutoModel {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        self.check_columns(x)?;
        let predicted = self.members.iter().map(|m| m.predict(x, want)).collect::<Result<Vec<_>>>()?;
        let weights = self.members.iter().map(|m| m.facts.weight);
        Ok(vec![mixed(weights.zip(&predicted), want)])
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved {
            members: self.members.iter().map(|m| m.facts.clone()).collect(),
            n_features: self.n_features,
            diagnostics: self.diagnostics.clone(),
        })?;
        for (k, member) in self.members.iter().enumerate() {
            state.nest(&part(k), member.model.state()?);
        }
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_deref()
    }
}

/// A fitted `auto` from its state.
pub(super) fn load(state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    let Saved { members, n_features, diagnostics } = state.parse()?;
    let total: f64 = members.iter().map(|m| m.weight).sum();
    if members.iter().any(|m| !(0.0..=1.0).contains(&m.weight)) || (total - 1.0).abs() > 1e-6 {
        return Err(Error::bad_model("the shares of its members are no shares"));
    }
    let members = members.into_iter().enumerate().map(|(k, facts)| {
        if facts.constant.is_some_and(|c| !c.effect.is_finite() || !(0.0..=1.0).contains(&c.treated)) {
            return Err(Error::bad_model("its constant effect is not a number"));
        }
        let entry = registry::find(&facts.name)
            .ok()
            .filter(|entry| entry.info().name != NAME)
            .ok_or_else(|| Error::bad_model(format!("its member `{}` is not part of this version", facts.name)))?;
        let model = entry.load(&state.nested(&part(k))?, tools)?;
        if model.n_features() != n_features || model.n_treated_arms() != 1 {
            return Err(Error::bad_model(format!("its member `{}` was fitted on other data", facts.name)));
        }
        Ok(Member { facts, model })
    });
    let members = members.collect::<Result<Vec<_>>>()?;
    Ok(Box::new(AutoModel { members, n_features, diagnostics, held_out: None }))
}
