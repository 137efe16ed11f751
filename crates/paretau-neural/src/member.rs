//! Training one member: the nets of its kind, its own scales, its own validation rows.

use paretau_core::{Design, Result};
use paretau_kernels::parallel::Parallelism;

use crate::data::{Batches, Sample};
use crate::loss::OutcomeLoss;
use crate::model::{Nets, PlainNet, PlainSpec};
use crate::nets::{FirstStep, Keeping, NetJob, NetKind};
use crate::plain::PlainPredictor;
use crate::predictor::{MemberInfo, Predictor};
use crate::settings::{Choice, Size};
use crate::splits::TrainValid;
use crate::train::{Run, Trained};

/// A trained member with what its training reported.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) predictor: Predictor,
    pub(crate) trained: Trained<f32>,
}

/// What a member is trained on and with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) kind: &'a dyn NetKind,
    pub(crate) design: &'a Design,
    pub(crate) parts: &'a TrainValid,
    pub(crate) choice: Choice,
    pub(crate) member: usize,
    pub(crate) parallelism: Parallelism,
    /// The nets to go on from; none begins at random.
    pub(crate) from: Option<&'a Predictor>,
    /// Mini-batches after which training is put aside.
    pub(crate) pause: Option<u64>,
}

impl Job<'_> {
    /// Rows that stop training: the validation rows, or the training rows where there are none.
    fn stop_by(&self) -> &[usize] {
        if self.parts.valid.is_empty() { &self.parts.train } else { &self.parts.valid }
    }

    pub(crate) fn size(&self) -> Size {
        Size { n: self.parts.train.len(), d: self.design.x().n_cols() }
    }

    /// Trains the member.
    pub(crate) fn train(&self, name: &str, keeping: Keeping<'_>) -> Result<Member> {
        let (ctx, _) = keeping;
        ctx.check_interrupt()?;
        let Self { kind, design, parts, choice, member, parallelism, from, pause } = *self;
        let seed = ctx.seed.named("member").indexed(member as u64);
        let (mut sample, scaler, scale) = Sample::<f32>::with_pieces(design, &parts.train, choice.bins)?;
        let plan = kind.training_plan(self.size(), choice);
        let spec = kind.spec(Size { d: scaler.width(), ..self.size() }, choice);
        let capacity = Batches::new(&sample.t, &parts.train, plan.batch, seed).largest();
        let first = kind.first_step(self, &mut sample, FirstStep { scaler: &scaler, seed, name, keeping })?;
        let info = MemberInfo {
            spec: spec.clone(),
            fluctuates: kind.fluctuates(),
            scale,
            outcome: design.outcome(),
            gives_propensity: spec.propensity.is_some(),
            clamps: scaler.clamps,
            pieces: scaler.pieces.len(),
            first_step: first.as_ref().map(|net| net.hidden.clone()),
        };
        let start = from.map(|other| {
            let nets = Nets::new(&spec, kind.fluctuates());
            let mut start = nets.layout.initial(seed);
            nets.take_outcomes(&mut start, &spec, (&other.nets, &other.info.spec, &other.params));
            start
        });
        let run = Run {
            sample: &sample,
            train: &parts.train,
            valid: self.stop_by(),
            plan: &plan,
            seed,
            name: name.to_owned(),
            member,
            parallelism,
            start,
            pause,
        };
        let (trained, params) = kind.train(NetJob { spec, choice, capacity }, &run, keeping)?;
        let predictor = Predictor::new(info, scaler, params, first)?;
        Ok(Member { predictor, trained })
    }

    /// A propensity net that reads the features themselves and takes no part in training, with its validation loss (until the pause,
    /// if there is one).
    pub(crate) fn separate_propensity_net(&self, name: &str, keeping: Keeping<'_>) -> Result<(PlainPredictor, f64)> {
        // The stream's name is older than the function's; another one would give other nets.
        let seed = keeping.0.seed.named("judge").indexed(self.member as u64);
        let (mut sample, scaler, _) = Sample::<f32>::with_pieces(self.design, &self.parts.train, self.choice.bins)?;
        self.train_propensity_net(&mut sample, FirstStep { scaler: &scaler, seed, name, keeping })
    }

    /// Trains a propensity net on the features, with its validation loss (until the pause, if there is one).
    pub(crate) fn train_propensity_net(
        &self,
        sample: &mut Sample<f32>,
        FirstStep { scaler, seed, name, keeping: (ctx, keeper) }: FirstStep<'_>,
    ) -> Result<(PlainPredictor, f64)> {
        let Self { kind, parts, choice, member, parallelism, pause, .. } = *self;
        let spec = PlainSpec {
            d: scaler.width(),
            hidden: kind.widths().propensity,
            activation: kind.training().activation,
            dropout: choice.dropout,
            loss: OutcomeLoss::Logistic,
        };
        let outcomes = std::mem::replace(&mut sample.y, sample.t.iter().map(|&t| f32::from(t)).collect());
        let plan = kind.propensity_plan(self.size(), choice);
        let capacity = Batches::new(&sample.t, &parts.train, plan.batch, seed).largest();
        let mut model = PlainNet::new(spec.clone(), sample, capacity);
        let run = Run {
            sample,
            train: &parts.train,
            valid: self.stop_by(),
            plan: &plan,
            seed: seed.named("propensity"),
            name: format!("{name}-propensity"),
            member,
            parallelism,
            start: None,
            pause,
        };
        let trained = run.train(&mut model, ctx, keeper)?;
        sample.y = outcomes;
        let score = pause.map_or(trained.score, |step| trained.score_by(step));
        let net = PlainPredictor::new(spec.hidden.clone(), &spec, scaler.clone(), trained.params)?;
        Ok((net, score))
    }
}
