//! Training one member: the nets of its kind, its own scales, its own validation rows.

use paretau_core::{Design, FitContext, OutcomeKind, Result, Seed};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::weights::{Pooling, Weigher, Weighting};

use crate::config::{NetConfig, Network};
use crate::data::{Batches, Sample, Scaler};
use crate::error::failed;
use crate::loss::OutcomeLoss;
use crate::model::{Ganite, PlainNet, PlainSpec, RepNet};
use crate::plain::PlainPredictor;
use crate::predictor::{MemberInfo, Predictor};
use crate::settings::{Choice, Size};
use crate::splits::Parts;
use crate::train::{Keeper, Run, Trained};

/// A trained member with what its training reported.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) predictor: Predictor,
    pub(crate) trained: Trained<f32>,
}

/// What a member is trained on and with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) config: &'a NetConfig,
    pub(crate) design: &'a Design,
    pub(crate) parts: &'a Parts,
    pub(crate) choice: Choice,
    pub(crate) member: usize,
    pub(crate) parallelism: Parallelism,
}

impl Job<'_> {
    /// Rows that stop training: the validation rows, or the training rows where there are none.
    fn stop_by(&self) -> &[usize] {
        if self.parts.valid.is_empty() { &self.parts.train } else { &self.parts.valid }
    }

    /// Trains the member.
    pub(crate) fn train(&self, name: &str, (ctx, keeper): (&FitContext<'_>, &Keeper<'_>)) -> Result<Member> {
        ctx.check_interrupt()?;
        let Self { config, design, parts, choice, member, parallelism } = *self;
        let seed: Seed = ctx.seed.named("member").indexed(member as u64);
        let (mut sample, scaler, scale) = Sample::<f32>::new(design, &parts.train)?;
        let size = Size { n: parts.train.len(), d: design.x().n_cols(), outcome: design.outcome() };
        let plan = config.plan(size, choice);
        let (spec, objective) = (config.spec(size, choice), config.objective(size, choice));
        let capacity = Batches::new(&sample.t, &parts.train, plan.batch, seed).largest();
        let mut info = MemberInfo {
            spec: spec.clone(),
            fluctuates: objective.targeted > 0.0,
            scale,
            outcome: design.outcome(),
            tells_e: spec.propensity.is_some(),
            clamps: scaler.clamps,
            first_step: None,
        };
        let mut first = None;
        if config.network == Network::TwoStep {
            let step = self.first_step(&mut sample, &scaler, seed, name, (ctx, keeper))?;
            info.first_step = Some(step.hidden.clone());
            first = Some(step);
        }
        let run = Run {
            sample: &sample,
            train: &parts.train,
            valid: self.stop_by(),
            plan: &plan,
            seed,
            name: name.to_owned(),
            member,
            parallelism,
        };
        let (trained, params) = if config.network == Network::Ganite {
            let mut model = Ganite::new(spec, (config.alpha, config.beta), &sample, capacity);
            let trained = run.train(&mut model, ctx, keeper)?;
            let params = trained.params[model.inference_range()].to_vec();
            (trained, params)
        } else {
            let mut model = RepNet::new(spec, objective, &sample, capacity)?;
            let trained = run.train(&mut model, ctx, keeper)?;
            let params = trained.params.clone();
            (trained, params)
        };
        let predictor = Predictor::new(info, scaler, params, first)?;
        Ok(Member { predictor, trained })
    }

    /// A propensity net on the features, whose Pareto-smoothed weights are then fixed for the outcome nets.
    fn first_step(
        &self,
        sample: &mut Sample<f32>,
        scaler: &Scaler,
        seed: Seed,
        name: &str,
        keeping: (&FitContext<'_>, &Keeper<'_>),
    ) -> Result<PlainPredictor> {
        let Self { config, design, parts, choice, .. } = *self;
        let (first, _) = self.propensity_net(sample, scaler, seed, name, keeping)?;
        let logits = match &sample.known_logit {
            Some(known) => known.clone(),
            None => first.outputs(design.x())?,
        };
        let mut fixed = vec![1.0_f32; sample.t.len()];
        let mut weigher = Weigher::new(config.weighting(), Pooling::Pooled, choice.gamma).map_err(failed)?;
        let scheme = config.weighting();
        for rows in [&parts.train, &parts.valid] {
            let t: Vec<u8> = rows.iter().map(|&i| sample.t[i]).collect();
            if !(t.contains(&0) && t.contains(&1)) || matches!(scheme, Weighting::Uniform) {
                continue;
            }
            let logits: Vec<f64> = rows.iter().map(|&i| logits[i]).collect();
            let mut w = vec![0.0; rows.len()];
            weigher.forward(&logits, &t, sample.treated, &mut w).map_err(failed)?;
            // On a scale of one, so that the learning rate means the same with and without weights.
            let mean = w.iter().sum::<f64>() / w.len() as f64;
            rows.iter().zip(&w).for_each(|(&i, w)| fixed[i] = (w / mean) as f32);
        }
        sample.fixed = Some(fixed);
        Ok(first)
    }

    /// A propensity net that reads the features themselves, for judging and not for training, with its validation loss.
    pub(crate) fn judge(&self, name: &str, keeping: (&FitContext<'_>, &Keeper<'_>)) -> Result<(PlainPredictor, f64)> {
        let seed = keeping.0.seed.named("judge").indexed(self.member as u64);
        let (mut sample, scaler, _) = Sample::<f32>::new(self.design, &self.parts.train)?;
        self.propensity_net(&mut sample, &scaler, seed, name, keeping)
    }

    fn propensity_net(
        &self,
        sample: &mut Sample<f32>,
        scaler: &Scaler,
        seed: Seed,
        name: &str,
        (ctx, keeper): (&FitContext<'_>, &Keeper<'_>),
    ) -> Result<(PlainPredictor, f64)> {
        let Self { config, design, parts, choice, member, parallelism } = *self;
        let size = Size { n: parts.train.len(), d: design.x().n_cols(), outcome: OutcomeKind::Binary };
        let spec = PlainSpec {
            d: size.d,
            hidden: config.propensity_widths(),
            activation: config.activation,
            dropout: choice.dropout,
            loss: OutcomeLoss::Logistic,
        };
        let outcomes = std::mem::replace(&mut sample.y, sample.t.iter().map(|&t| f32::from(t)).collect());
        let plan = config.plain_plan(size, choice);
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
        };
        let trained = run.train(&mut model, ctx, keeper)?;
        sample.y = outcomes;
        let net = PlainPredictor::new(spec.hidden.clone(), &spec, scaler.clone(), trained.params)?;
        Ok((net, trained.score))
    }
}
