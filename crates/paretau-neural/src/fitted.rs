//! A fitted ensemble of nets.

use paretau_core::{Diagnostics, Effects, Error, Features, FittedModel, Result, State, Want};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::predictor::{Answer, PredictWork, Predictor};
use crate::recalibrate::Shift;
use crate::shrink::Shrink;

/// Rows a task predicts.
const BLOCK: usize = 512;

/// One member: nets trained on the same rows by different choices, and what each counts for.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    pub(crate) nets: Vec<(Predictor, f64)>,
}

impl Mixture {
    pub(crate) fn new(nets: Vec<Predictor>, shares: &[f64]) -> Self {
        Self { nets: nets.into_iter().zip(shares.iter().copied()).collect() }
    }

    fn n_features(&self) -> usize {
        self.nets[0].0.n_features()
    }

    /// Buffers: the propensity is asked of the last net alone, whose propensity net knows of no weights.
    fn work(&self, wanted: Want) -> Vec<PredictWork> {
        let last = self.nets.len() - 1;
        let asked = |k: usize| if k == last { wanted } else { Want::Outcomes };
        self.nets.iter().enumerate().map(|(k, (net, _))| net.work(BLOCK, asked(k))).collect()
    }

    /// The nets' answers, averaged by their shares; the propensity is the last one's.
    fn answer(&self, x: &Features, rows: &[usize], work: &mut [PredictWork]) -> Result<Answer> {
        if let [(net, _)] = &self.nets[..] {
            return net.answer(x, rows, &mut work[0]);
        }
        let n = rows.len();
        let mut mixed = Answer { mu0: vec![0.0; n], mu1: vec![0.0; n], e: Vec::new() };
        for ((net, share), work) in self.nets.iter().zip(work) {
            let own = net.answer(x, rows, work)?;
            let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += share * b);
            add(&mut mixed.mu0, &own.mu0);
            add(&mut mixed.mu1, &own.mu1);
            mixed.e = own.e;
        }
        Ok(mixed)
    }
}

/// The members of a fitted ensemble with the diagnostics of the fit.
#[derive(Debug)]
pub struct NetModel {
    pub(crate) members: Vec<Mixture>,
    pub(crate) shift: Shift,
    pub(crate) shrink: Shrink,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) held_out: Option<Effects>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    members: usize,
    /// What each net of a member counts for.
    shares: Vec<f64>,
    shift: Shift,
    shrink: Shrink,
    diagnostics: Diagnostics,
}

impl NetModel {
    /// Brings a model back.
    pub fn load(state: &State) -> Result<Self> {
        let Description { members, shares, shift, shrink, diagnostics } = state.nested("about")?.parse()?;
        let net = |k: usize, c: usize| {
            Predictor::from_state(&state.nested(&format!("member{k}"))?.nested(&format!("net{c}"))?)
        };
        let members = (0..members)
            .map(|k| Ok(Mixture::new((0..shares.len()).map(|c| net(k, c)).collect::<Result<_>>()?, &shares)))
            .collect::<Result<Vec<_>>>()?;
        let total = shares.iter().sum::<f64>();
        if members.is_empty() || shares.iter().any(|s| !(0.0..=1.0).contains(s)) || (total - 1.0).abs() > 1e-9 {
            return Err(Error::bad_model("the members' shares do not add up"));
        }
        let d = members[0].n_features();
        if members.iter().flat_map(|m| &m.nets).any(|(net, _)| net.n_features() != d) {
            return Err(Error::bad_model("the members do not agree on their number of features"));
        }
        if shift.arms.iter().any(|s| !s.is_finite()) || !shrink.is_sound() {
            return Err(Error::bad_model("the corrections of the outcomes are not usable numbers"));
        }
        Ok(Self { members, shift, shrink, diagnostics, held_out: None })
    }

    fn all_rows(&self, x: &Features, wanted: Want) -> Result<Effects> {
        self.check_columns(x)?;
        let rows: Vec<usize> = (0..x.n_rows()).collect();
        let mut all = predict(&self.members, x, &rows, wanted)?;
        self.shift.apply(&mut all);
        self.shrink.apply(&mut all);
        Ok(all)
    }
}

/// Effects by the given members; the spread between them as standard error when there are several.
pub(crate) fn predict(members: &[Mixture], x: &Features, rows: &[usize], wanted: Want) -> Result<Effects> {
    let blocks: Vec<&[usize]> = rows.chunks(BLOCK).collect();
    let parts: Vec<Result<Effects>> = blocks
        .par_iter()
        .map_init(
            || members.iter().map(|m| m.work(wanted)).collect::<Vec<_>>(),
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
        self.members[0].n_features()
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        Ok(vec![self.all_rows(x, want)?])
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        let shares = self.members[0].nets.iter().map(|(_, share)| *share).collect();
        let about = Description {
            members: self.members.len(),
            shares,
            shift: self.shift,
            shrink: self.shrink,
            diagnostics: self.diagnostics.clone(),
        };
        state.nest("about", State::new(&about)?);
        for (k, member) in self.members.iter().enumerate() {
            let mut nets = State::default();
            for (c, (net, _)) in member.nets.iter().enumerate() {
                nets.nest(&format!("net{c}"), net.state()?);
            }
            state.nest(&format!("member{k}"), nets);
        }
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_ref().map(std::slice::from_ref)
    }
}
