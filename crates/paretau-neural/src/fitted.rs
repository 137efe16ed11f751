//! A fitted ensemble of nets.

use paretau_core::{Diagnostics, Effects, Error, Features, FittedModel, Result, State};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::predictor::{Answer, Predictor};

/// Rows a task predicts.
const BLOCK: usize = 512;

/// The members of a fitted ensemble with what the fit had to say.
#[derive(Debug)]
pub struct NetModel {
    pub(crate) members: Vec<Predictor>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) held_out: Option<Effects>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    members: usize,
    diagnostics: Diagnostics,
}

impl NetModel {
    /// Brings a model back.
    pub fn load(state: &State) -> Result<Self> {
        let Description { members, diagnostics } = state.nested("about")?.parse()?;
        let members = (0..members)
            .map(|k| Predictor::from_state(&state.nested(&format!("member{k}"))?))
            .collect::<Result<Vec<_>>>()?;
        if members.is_empty() || members.iter().any(|m| m.info.spec.d != members[0].info.spec.d) {
            return Err(Error::bad_model("the members do not agree on their number of features"));
        }
        Ok(Self { members, diagnostics, held_out: None })
    }
}

/// Effects by the given members; the spread between them as standard error when there are several.
pub(crate) fn predict(members: &[&Predictor], x: &Features, rows: &[usize]) -> Result<Effects> {
    let blocks: Vec<&[usize]> = rows.chunks(BLOCK).collect();
    let parts: Vec<Result<Effects>> = blocks
        .par_iter()
        .map_init(
            || members.iter().map(|m| m.work(BLOCK)).collect::<Vec<_>>(),
            |work, rows| {
                let answers = members.iter().zip(work).map(|(m, w)| m.answer(x, rows, w));
                Ok(combine(&answers.collect::<Result<Vec<_>>>()?))
            },
        )
        .collect();
    let mut all = Effects::default();
    let mut e = Vec::new();
    let mut se = Vec::new();
    for part in parts {
        let part = part?;
        all.mu0.extend(part.mu0);
        all.mu1.extend(part.mu1);
        all.tau.extend(part.tau);
        e.extend(part.e.unwrap_or_default());
        se.extend(part.se.unwrap_or_default());
    }
    all.e = (e.len() == rows.len() && !rows.is_empty()).then_some(e);
    all.se = (se.len() == rows.len() && !rows.is_empty()).then_some(se);
    if !all.is_finite() {
        return Err(Error::Numeric {
            what: "predicting effects",
            message: "an effect is not finite; the rows lie far outside those the model was fitted on".to_owned(),
        });
    }
    Ok(all)
}

fn combine(answers: &[Answer]) -> Effects {
    let (k, n) = (answers.len() as f64, answers.first().map_or(0, |a| a.mu0.len()));
    let mean = |pick: &dyn Fn(&Answer) -> &[f64]| -> Vec<f64> {
        (0..n).map(|i| answers.iter().map(|a| pick(a)[i]).sum::<f64>() / k).collect()
    };
    let mut effects = Effects::from_outcomes(mean(&|a| &a.mu0), mean(&|a| &a.mu1));
    if answers.iter().all(|a| a.e.len() == n) {
        effects.e = Some(mean(&|a| &a.e));
    }
    if answers.len() > 1 {
        let spread = |i: usize| {
            let squares = answers.iter().map(|a| (a.mu1[i] - a.mu0[i] - effects.tau[i]).powi(2)).sum::<f64>();
            (squares / (k - 1.0)).sqrt()
        };
        effects.se = Some((0..n).map(spread).collect());
    }
    effects
}

impl FittedModel for NetModel {
    fn n_features(&self) -> usize {
        self.members[0].info.spec.d
    }

    fn effects(&self, x: &Features) -> Result<Effects> {
        self.check_columns(x)?;
        let rows: Vec<usize> = (0..x.n_rows()).collect();
        predict(&self.members.iter().collect::<Vec<_>>(), x, &rows)
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        let about = Description { members: self.members.len(), diagnostics: self.diagnostics.clone() };
        state.nest("about", State::new(&about)?);
        for (k, member) in self.members.iter().enumerate() {
            state.nest(&format!("member{k}"), member.state()?);
        }
        Ok(state)
    }

    fn held_out_effects(&self) -> Option<&Effects> {
        self.held_out.as_ref()
    }
}
