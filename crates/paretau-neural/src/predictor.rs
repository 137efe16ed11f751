//! A trained net reduced to what prediction needs: Δ, Υ and the heads, and beside them Γ and the propensity net for `e`.

use paretau_core::{Error, Features, OutcomeKind, Result, State, Tensor};
use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::MatRef;
use serde::{Deserialize, Serialize};

use crate::data::{Centres, OutcomeScale, Rows, Scaler};
use crate::engine::{Input, NetWork};
use crate::error::failed;
use crate::loss::outcome::sigmoid;
use crate::model::RepSpec;
use crate::model::repnet::Nets;

/// One member's answer for a block of rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) mu0: Vec<f64>,
    pub(crate) mu1: Vec<f64>,
    pub(crate) e: Vec<f64>,
}

/// What a member's state says beside its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemberInfo {
    pub(crate) spec: RepSpec,
    pub(crate) fluctuates: bool,
    pub(crate) scale: OutcomeScale,
    pub(crate) outcome: OutcomeKind,
    /// Whether the propensity of the net answers for `e`.
    pub(crate) tells_e: bool,
    /// Whether far-out features are held back.
    pub(crate) clamps: bool,
}

/// A trained member.
#[derive(Debug, Clone)]
pub(crate) struct Predictor {
    pub(crate) info: MemberInfo,
    pub(crate) scaler: Scaler,
    columns: Centres<f32>,
    pub(crate) nets: Nets,
    pub(crate) params: Vec<f32>,
}

/// Buffers for blocks of rows.
#[derive(Debug)]
pub(crate) struct PredictWork {
    rows: Rows<f32>,
    encoded: NetWork<f32>,
    judged: Option<NetWork<f32>>,
    answered: NetWork<f32>,
}

impl Predictor {
    pub(crate) fn new(info: MemberInfo, scaler: Scaler, params: Vec<f32>) -> Result<Self> {
        let nets = Nets::new(&info.spec, info.fluctuates);
        if nets.layout.len() != params.len() || scaler.mean.len() != info.spec.d || scaler.scale.len() != info.spec.d {
            return Err(Error::bad_model("a member's parameters do not fit its shape"));
        }
        if params.iter().any(|p| !p.is_finite()) {
            return Err(Error::bad_model("a member's parameters are not finite"));
        }
        Ok(Self { columns: Centres::new(&scaler), info, scaler, nets, params })
    }

    pub(crate) fn work(&self, capacity: usize) -> PredictWork {
        PredictWork {
            rows: Rows::default(),
            encoded: self.nets.encoders.work(capacity, false),
            judged: self.nets.propensity.as_ref().filter(|_| self.info.tells_e).map(|net| net.work(capacity, false)),
            answered: self.nets.heads[0].work(capacity, false),
        }
    }

    /// Answers for rows of `x`, at most as many as `work` holds.
    pub(crate) fn answer(&self, x: &Features, rows: &[usize], work: &mut PredictWork) -> Result<Answer> {
        let rows = rows.iter().copied();
        match x {
            Features::Sparse(m) if !self.scaler.clamps => work.rows.take_sparse(m, &self.scaler, rows.clone()),
            _ => work.rows.take_dense(x, &self.scaler, rows.clone()),
        }
        self.run(matches!(x, Features::Sparse(_)) && !self.scaler.clamps, rows.len(), work).map_err(failed)
    }

    fn run(&self, sparse: bool, n: usize, work: &mut PredictWork) -> Result<Answer, KernelError> {
        let r = self.info.spec.representation;
        let width = self.nets.encoders.outputs();
        let input =
            if sparse { work.rows.sparse_input(&self.columns)? } else { work.rows.dense_input(self.info.spec.d)? };
        self.nets.encoders.forward(&self.params, input, (n, None), &mut work.encoded, Parallelism::None)?;
        let z = work.encoded.output();
        let reads = &self.info.spec.head_reads;
        let mut answer = Answer::default();
        let OutcomeScale { mean, sd } = self.info.scale;
        for (arm, head) in self.nets.heads.iter().enumerate() {
            let view = MatRef::strided(&z[reads.start * r..], (n, reads.len() * r), (width, 1))?;
            head.forward(&self.params, Input::Dense(view), (n, None), &mut work.answered, Parallelism::None)?;
            let out = work.answered.output().iter().map(|h| {
                let h = f64::from(*h);
                if self.info.outcome == OutcomeKind::Binary { sigmoid(h) } else { mean + sd * h }
            });
            if arm == 0 { answer.mu0.extend(out) } else { answer.mu1.extend(out) }
        }
        if let (Some(net), Some(judged), Some((_, reads))) =
            (&self.nets.propensity, &mut work.judged, &self.info.spec.propensity)
        {
            let view = MatRef::strided(&z[reads.start * r..], (n, reads.len() * r), (width, 1))?;
            net.forward(&self.params, Input::Dense(view), (n, None), judged, Parallelism::None)?;
            answer.e.extend(judged.output().iter().map(|l| sigmoid(f64::from(*l))));
        }
        Ok(answer)
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::new(&self.info)?;
        let d = self.info.spec.d;
        state.put_f64("mean", &[d], self.scaler.mean.clone());
        state.put_f64("scale", &[d], self.scaler.scale.clone());
        state.tensors.insert("params".to_owned(), Tensor::F32(vec![self.params.len()], self.params.clone()));
        Ok(state)
    }

    pub(crate) fn from_state(state: &State) -> Result<Self> {
        let info: MemberInfo = state.parse()?;
        let d = info.spec.d;
        let scaler = Scaler {
            mean: state.f64("mean", &[d])?.to_vec(),
            scale: state.f64("scale", &[d])?.to_vec(),
            clamps: info.clamps,
        };
        let Some(Tensor::F32(_, params)) = state.tensors.get("params") else {
            return Err(Error::bad_model("a member's parameters are missing"));
        };
        info.spec.check()?;
        Self::new(info, scaler, params.clone())
    }
}
