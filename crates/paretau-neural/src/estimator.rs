//! The estimator: chooses what the data must choose on validation rows, trains the members, reports.

use paretau_core::{
    Design, Diagnostics, Effects, Error, Estimator, Event, FitContext, FittedModel, OutcomeKind, Result, Seed,
};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;

use crate::config::{NetConfig, Network};
use crate::data::{Batches, Sample};
use crate::fitted::NetModel;
use crate::model::RepNet;
use crate::predictor::{MemberInfo, Predictor};
use crate::settings::{Choice, Size};
use crate::splits::{Parts, windows};
use crate::train::{Keeper, Run, Trained};

/// A neural estimator with checked parameters.
#[derive(Debug, Clone)]
pub struct NetEstimator {
    config: NetConfig,
}

/// A trained member with what its training reported.
pub(crate) struct Member {
    pub(crate) predictor: Predictor,
    pub(crate) trained: Trained<f32>,
}

impl NetEstimator {
    /// Checks the configuration.
    pub fn new(config: NetConfig) -> Result<Self> {
        config.check()?;
        Ok(Self { config })
    }

    /// Its configuration.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Fits and returns the model as its own type.
    pub fn fit_nets(&self, design: &Design, ctx: &FitContext<'_>) -> Result<NetModel> {
        if design.n_arms() != 2 {
            return Err(Error::Unsupported {
                estimator: "neural".into(),
                message: format!("takes two arms, the data have {}; compare one arm with the control", design.n_arms()),
            });
        }
        let config = &self.config;
        let keeper = Keeper::new(ctx, request(config, design, ctx))?;
        let parts = windows(design, ctx.valid_share, config.members, ctx.seed);
        let size = Size { n: parts[0].train.len(), d: design.x().n_cols(), outcome: design.outcome() };
        let candidates = config.candidates(size);
        let n_runs = candidates.len() + config.members - 1;
        ctx.event(&Event::Stage { name: "training networks".into(), total: Some(n_runs as u64) });

        // The first member is trained once for every candidate; the best of them stays the first member.
        let threads = rayon::current_num_threads();
        let inside = |runs: usize| if runs >= threads { Parallelism::None } else { Parallelism::Rayon };
        let tried = run_all(candidates.len(), |k| {
            let name = format!("candidate{k}");
            let job = Job { choice: candidates[k], parts: &parts[0], member: 0, parallelism: inside(candidates.len()) };
            self.member(design, &job, &name, (ctx, &keeper))
        })?;
        let scores: Vec<f64> = tried.iter().map(|m| m.trained.score).collect();
        let chosen = (0..scores.len()).min_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
        let choice = candidates[chosen];
        let rest = run_all(config.members - 1, |k| {
            let name = format!("member{}", k + 1);
            let job = Job { choice, parts: &parts[k + 1], member: k + 1, parallelism: inside(config.members - 1) };
            self.member(design, &job, &name, (ctx, &keeper))
        })?;
        let mut members: Vec<Member> = tried.into_iter().skip(chosen).take(1).collect();
        members.extend(rest);
        self.report(design, members, &parts, choice)
    }

    fn member(
        &self,
        design: &Design,
        job: &Job<'_>,
        name: &str,
        (ctx, keeper): (&FitContext<'_>, &Keeper<'_>),
    ) -> Result<Member> {
        ctx.check_interrupt()?;
        let Job { choice, parts, member, parallelism } = *job;
        let seed: Seed = ctx.seed.named("member").indexed(member as u64);
        let (sample, scaler, scale) = Sample::<f32>::new(design, &parts.train)?;
        let size = Size { n: parts.train.len(), d: design.x().n_cols(), outcome: design.outcome() };
        let plan = self.config.plan(size, choice);
        let (spec, objective) = (self.config.spec(size, choice), self.config.objective(size, choice));
        let capacity = Batches::new(&sample.t, &parts.train, plan.batch, seed).largest();
        let fluctuates = objective.targeted > 0.0;
        let mut model = RepNet::new(spec.clone(), objective, &sample, capacity)?;
        let valid = if parts.valid.is_empty() { &parts.train } else { &parts.valid };
        let run = Run {
            sample: &sample,
            train: &parts.train,
            valid,
            plan: &plan,
            seed,
            name: name.to_owned(),
            member,
            parallelism,
        };
        let trained = run.train(&mut model, ctx, keeper)?;
        let tells_e = matches!(self.config.network, Network::Disentangled | Network::Dragon);
        let clamps = scaler.clamps;
        let info = MemberInfo { spec, fluctuates, scale, outcome: design.outcome(), tells_e, clamps };
        let predictor = Predictor::new(info, scaler, trained.params.clone())?;
        Ok(Member { predictor, trained })
    }

    fn report(&self, design: &Design, members: Vec<Member>, parts: &[Parts], choice: Choice) -> Result<NetModel> {
        let mut diagnostics = Diagnostics::default();
        diagnostics.note("dropout", choice.dropout);
        diagnostics.note("l2", choice.l2);
        diagnostics.note("gamma", choice.gamma);
        let _ = self;
        let (mut fits, mut left) = (0.0, 0.0);
        for m in &members {
            diagnostics.history.extend(m.trained.history.iter().cloned());
            fits += m.trained.totals.get("tail_fits").copied().unwrap_or(0.0);
            left += m.trained.totals.get("tail_fits_left").copied().unwrap_or(0.0);
        }
        if fits > 0.0 {
            diagnostics.note("tail_fits_left_share", left / fits);
        }
        let mut model =
            NetModel { members: members.into_iter().map(|m| m.predictor).collect(), diagnostics, held_out: None };
        model.held_out = held_out(&model, design, parts)?;
        let _ = OutcomeKind::Binary;
        Ok(model)
    }
}

/// Effects of every row by the members that held it out, when every row was held out by one.
fn held_out(model: &NetModel, design: &Design, parts: &[Parts]) -> Result<Option<Effects>> {
    let n = design.n_rows();
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (k, part) in parts.iter().enumerate() {
        part.valid.iter().for_each(|&i| holders[i].push(k));
    }
    if holders.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let mut out = Effects { mu0: vec![0.0; n], mu1: vec![0.0; n], tau: vec![0.0; n], e: None, se: None };
    let mut e = vec![0.0; n];
    let mut tells_e = true;
    for (k, part) in parts.iter().enumerate() {
        let said = model.predict(&[&model.members[k]], design.x(), &part.valid)?;
        for (place, &i) in part.valid.iter().enumerate() {
            let share = 1.0 / holders[i].len() as f64;
            out.mu0[i] += share * said.mu0[place];
            out.mu1[i] += share * said.mu1[place];
            out.tau[i] += share * said.tau[place];
            match &said.e {
                Some(values) => e[i] += share * values[place],
                None => tells_e = false,
            }
        }
    }
    out.e = tells_e.then_some(e);
    Ok(Some(out))
}

#[derive(Clone, Copy)]
struct Job<'a> {
    choice: Choice,
    parts: &'a Parts,
    member: usize,
    parallelism: Parallelism,
}

/// Runs `n` jobs side by side; the first error wins.
fn run_all<R: Send>(n: usize, f: impl Fn(usize) -> Result<R> + Send + Sync) -> Result<Vec<R>> {
    let all: Vec<Result<R>> = (0..n).into_par_iter().with_max_len(1).map(f).collect();
    all.into_iter().collect()
}

/// What a checkpoint must have been asked for to be taken up.
fn request(config: &NetConfig, design: &Design, ctx: &FitContext<'_>) -> serde_json::Value {
    serde_json::json!({
        "config": config,
        "rows": design.n_rows(),
        "columns": design.x().n_cols(),
        "seed": ctx.seed,
        "valid_share": ctx.valid_share,
        "sum": design.y().iter().sum::<f64>(),
    })
}

impl Estimator for NetEstimator {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        Ok(Box::new(self.fit_nets(design, ctx)?))
    }
}
