//! A trained net reduced to what prediction needs: Δ, Υ and the heads, and beside them Γ and the propensity net for `e`.

use paretau_core::{Error, Features, OutcomeKind, Result, State, Tensor, Want};
use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef};
use serde::{Deserialize, Serialize};

use crate::data::{Centres, OutcomeScale, Pieces, Rows, Scaler};
use crate::engine::{Input, Layout, Mode, Net, NetWork};
use crate::error::failed;
use crate::loss::OutcomeLoss;
use crate::loss::outcome::sigmoid;
use crate::model::{Nets, PlainSpec, RepSpec};
use crate::plain::{PlainPredictor, PlainWork};
use crate::weigh::propensity;

/// One member's answer for a block of rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) mu0: Vec<f64>,
    pub(crate) mu1: Vec<f64>,
    pub(crate) e: Vec<f64>,
}

/// What a member's state holds beside its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemberInfo {
    pub(crate) spec: RepSpec,
    pub(crate) fluctuates: bool,
    pub(crate) scale: OutcomeScale,
    pub(crate) outcome: OutcomeKind,
    /// Whether the propensity of the net answers for `e`.
    #[serde(rename = "tells_e")]
    pub(crate) gives_propensity: bool,
    /// Whether far-out features are held back.
    pub(crate) clamps: bool,
    /// Piecewise inputs beside the features.
    #[serde(default)]
    pub(crate) pieces: usize,
    /// Hidden units of a propensity net of its own, trained before.
    pub(crate) first_step: Option<Vec<usize>>,
}

/// A trained member.
#[derive(Debug, Clone)]
pub(crate) struct Predictor {
    pub(crate) info: MemberInfo,
    pub(crate) scaler: Scaler,
    columns: Centres<f32>,
    pub(crate) nets: Nets,
    pub(crate) params: Vec<f32>,
    /// The encoders that the heads read, by themselves: a third of the work is Γ's, which only the propensity needs.
    outcome_encoders: (Net, Vec<f32>),
    first: Option<PlainPredictor>,
}

/// Buffers for blocks of rows.
#[derive(Debug)]
pub(crate) struct PredictWork {
    rows: Rows<f32>,
    encoded: NetWork<f32>,
    propensity: Option<NetWork<f32>>,
    answered: NetWork<f32>,
    first: Option<PlainWork>,
}

impl Predictor {
    pub(crate) fn new(
        info: MemberInfo,
        scaler: Scaler,
        params: Vec<f32>,
        first: Option<PlainPredictor>,
    ) -> Result<Self> {
        let nets = Nets::new(&info.spec, info.fluctuates);
        let sound = scaler.width() == info.spec.d && scaler.scale.len() == scaler.mean.len();
        if nets.layout.len() != params.len() || !sound {
            return Err(Error::bad_model("a member's parameters do not fit its shape"));
        }
        if !nets.layout.admits(&params) {
            return Err(Error::bad_model("a member's parameters are not finite, or a variance is negative"));
        }
        let outcome_encoders = nets.encoders.extract(&params, info.spec.head_reads.clone(), &mut Layout::default());
        Ok(Self { columns: Centres::new(&scaler), info, scaler, nets, params, outcome_encoders, first })
    }

    /// Feature columns.
    pub(crate) fn n_features(&self) -> usize {
        self.scaler.mean.len()
    }

    /// The same net with another net's propensity.
    pub(crate) fn with_propensity_net(mut self, net: PlainPredictor) -> Self {
        self.info.gives_propensity = false;
        self.info.first_step = Some(net.hidden.clone());
        self.first = Some(net);
        self
    }

    pub(crate) fn work(&self, capacity: usize, wanted: Want) -> PredictWork {
        let with_propensity = wanted == Want::Everything;
        let own = self.nets.propensity.as_ref().filter(|_| with_propensity && self.info.gives_propensity);
        let encoders = if own.is_some() { &self.nets.encoders } else { &self.outcome_encoders.0 };
        PredictWork {
            rows: Rows::default(),
            encoded: encoders.work(capacity, false),
            propensity: own.map(|net| net.work(capacity, false)),
            answered: self.nets.heads[0].work(capacity, false),
            first: self.first.as_ref().filter(|_| with_propensity).map(|p| p.work(capacity)),
        }
    }

    /// Answers for rows of `x`, at most as many as `work` holds.
    pub(crate) fn answer(&self, x: &Features, rows: &[usize], work: &mut PredictWork) -> Result<Answer> {
        let picked = rows;
        let rows = rows.iter().copied();
        match x {
            Features::Sparse(m) if !self.scaler.clamps => work.rows.take_sparse(m, &self.scaler, rows.clone()),
            _ => work.rows.take_dense(x, &self.scaler, rows.clone()),
        }
        let sparse = matches!(x, Features::Sparse(_)) && !self.scaler.clamps;
        let mut answer = self.run(sparse, rows.len(), work).map_err(failed)?;
        if let (Some(first), Some(work)) = (&self.first, &mut work.first) {
            answer.e.extend(first.answer(x, picked, work)?.iter().map(|l| propensity(*l)));
        }
        Ok(answer)
    }

    fn run(&self, sparse: bool, n: usize, work: &mut PredictWork) -> Result<Answer, KernelError> {
        let r = self.info.spec.representation;
        let head_reads = &self.info.spec.head_reads;
        let (encoders, params, reads) = if work.propensity.is_some() {
            (&self.nets.encoders, &self.params, head_reads.clone())
        } else {
            (&self.outcome_encoders.0, &self.outcome_encoders.1, 0..head_reads.len())
        };
        let width = encoders.outputs();
        let input =
            if sparse { work.rows.sparse_input(&self.columns)? } else { work.rows.dense_input(self.info.spec.d)? };
        encoders.forward(params, input, (n, Mode::Evaluation), &mut work.encoded, Parallelism::None)?;
        let z = work.encoded.output();
        let mut answer = Answer::default();
        let OutcomeScale { mean, sd } = self.info.scale;
        for (arm, head) in self.nets.heads.iter().enumerate() {
            let view = MatRef::strided(&z[reads.start * r..], (n, reads.len() * r), (width, 1))?;
            head.forward(
                &self.params,
                Input::Dense(view),
                (n, Mode::Evaluation),
                &mut work.answered,
                Parallelism::None,
            )?;
            let out = work.answered.output().iter().map(|h| {
                let h = f64::from(*h);
                if self.info.outcome == OutcomeKind::Binary { sigmoid(h) } else { mean + sd * h }
            });
            if arm == 0 { answer.mu0.extend(out) } else { answer.mu1.extend(out) }
        }
        if let (Some(net), Some(buffer), Some((_, reads))) =
            (&self.nets.propensity, &mut work.propensity, &self.info.spec.propensity)
        {
            let view = MatRef::strided(&z[reads.start * r..], (n, reads.len() * r), (width, 1))?;
            net.forward(&self.params, Input::Dense(view), (n, Mode::Evaluation), buffer, Parallelism::None)?;
            answer.e.extend(buffer.output().iter().map(|l| propensity(*l)));
        }
        Ok(answer)
    }

    pub(crate) fn state(&self) -> Result<State> {
        let mut state = State::new(&self.info)?;
        let d = self.n_features();
        state.put_f64("mean", &[d], self.scaler.mean.clone());
        state.put_f64("scale", &[d], self.scaler.scale.clone());
        self.scaler.pieces.put(&mut state);
        state.tensors.insert("params".to_owned(), Tensor::F32(vec![self.params.len()], self.params.clone()));
        if let Some(first) = &self.first {
            first.put(&mut state, "first_params");
        }
        Ok(state)
    }

    pub(crate) fn from_state(state: &State) -> Result<Self> {
        let info: MemberInfo = state.parse()?;
        let Some(d) = info.spec.d.checked_sub(info.pieces) else {
            return Err(Error::bad_model("a net's piecewise inputs make no sense"));
        };
        let scaler = Scaler {
            mean: state.f64("mean", &[d])?.to_vec(),
            scale: state.f64("scale", &[d])?.to_vec(),
            clamps: info.clamps,
            pieces: Pieces::read(state, info.pieces, d)?,
        };
        let Some(Tensor::F32(_, params)) = state.tensors.get("params") else {
            return Err(Error::bad_model("a member's parameters are missing"));
        };
        info.spec.check()?;
        let first = match &info.first_step {
            None => None,
            Some(hidden) => {
                let Some(Tensor::F32(_, params)) = state.tensors.get("first_params") else {
                    return Err(Error::bad_model("a member's propensity net is missing"));
                };
                let spec = PlainSpec {
                    d: info.spec.d,
                    hidden: hidden.clone(),
                    activation: info.spec.activation,
                    dropout: 0.0,
                    loss: OutcomeLoss::Logistic,
                };
                Some(PlainPredictor::new(hidden.clone(), &spec, scaler.clone(), params.clone())?)
            }
        };
        Self::new(info, scaler, params.clone(), first)
    }

    /// Mean size of the derivatives of the propensity's logit and of the outcomes with respect to every feature.
    pub(crate) fn input_gradients(&self, x: &Features, rows: &[usize]) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut batch = Rows::<f32>::default();
        batch.take_dense(x, &self.scaler, rows.iter().copied());
        // Pieces move with their column, in units of its standard deviation.
        let per_sd = |(j, slope): (usize, f64)| {
            let scale = self.scaler.scale[j];
            (j, if scale > 0.0 { slope / scale } else { 0.0 })
        };
        let slopes: Vec<Vec<(usize, f64)>> = match x {
            Features::Dense(m) if !self.scaler.pieces.is_empty() => {
                let of_row = |&i: &usize| self.scaler.pieces.slopes(m.row(i)).into_iter().map(per_sd).collect();
                rows.iter().map(of_row).collect()
            }
            _ => vec![Vec::new(); rows.len()],
        };
        self.gradients(&batch, &slopes).map_err(failed)
    }

    fn gradients(&self, batch: &Rows<f32>, slopes: &[Vec<(usize, f64)>]) -> Result<(Vec<f64>, Vec<f64>), KernelError> {
        let (n, columns) = (slopes.len(), self.n_features());
        let (d, r, width) = (self.info.spec.d, self.info.spec.representation, self.nets.encoders.outputs());
        let input = batch.dense_input(d)?;
        let mut encoded = self.nets.encoders.work::<f32>(n, true);
        self.nets.encoders.forward(&self.params, input, (n, Mode::Evaluation), &mut encoded, Parallelism::None)?;
        let mut sizes = [vec![0.0; columns], vec![0.0; columns]];
        let mut own = vec![0.0; columns];
        let outputs: Vec<(&Net, &std::ops::Range<usize>, usize)> = (self.nets.propensity.iter())
            .zip(self.info.spec.propensity.iter())
            .map(|(net, (_, reads))| (net, reads, 0))
            .chain(self.nets.heads.iter().map(|net| (net, &self.info.spec.head_reads, 1)))
            .collect();
        for (net, reads, kind) in outputs {
            let mut work = net.work::<f32>(n, true);
            let view = |z| MatRef::strided(z, (n, reads.len() * r), (width, 1));
            let (z, d_z) = encoded.output_and_gradient();
            let read = Input::Dense(view(&z[reads.start * r..])?);
            net.forward(&self.params, read, (n, Mode::Evaluation), &mut work, Parallelism::None)?;
            work.d_output().fill(1.0);
            d_z.fill(0.0);
            let d_in = MatMut::strided(&mut d_z[reads.start * r..], (n, reads.len() * r), (width, 1))?;
            net.backward(&self.params, read, &mut work, (None, Some((d_in, false))), Parallelism::None)?;
            let mut d_x = vec![0.0_f32; n * d];
            let d_in = Some((MatMut::row_major(&mut d_x, n, d)?, false));
            self.nets.encoders.backward(&self.params, input, &mut encoded, (None, d_in), Parallelism::None)?;
            for (row, slopes) in d_x.chunks_exact(d).zip(slopes) {
                own.iter_mut().zip(row).for_each(|(own, v)| *own = f64::from(*v));
                for (&(j, slope), v) in slopes.iter().zip(&row[columns..]) {
                    own[j] += slope * f64::from(*v);
                }
                for (j, v) in own.iter().enumerate().filter(|(j, _)| self.scaler.scale[*j] > 0.0) {
                    sizes[kind][j] += v.abs() / n as f64;
                }
            }
        }
        let [treatment, outcome] = sizes;
        Ok((treatment, outcome))
    }
}
