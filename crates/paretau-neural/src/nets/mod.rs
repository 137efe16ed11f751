//! The kinds of nets, one file each: a configuration, its parameters, its registry entries, and what sets it apart in shape,
//! losses and training. Everything else is common to all of them and asks the kind through [`NetKind`].

pub mod disentangled;
pub mod dragon;
pub mod ganite;
pub mod shared;
pub mod two_step;

use std::fmt::Debug;
use std::ops::Range;

use paretau_core::{
    Abilities, BuildContext, Estimator, EstimatorEntry, EstimatorInfo, Family, FitContext, FittedModel, Handles,
    Result, Seed, State, Toolbox,
};
use serde::Serialize;

use crate::config::{SettingsName, TrainingConfig};
use crate::data::{Sample, Scaler};
use crate::estimator::NetEstimator;
use crate::fitted::NetModel;
use crate::member::Job;
use crate::model::{Objective, RepNet, RepSpec};
use crate::plain::PlainPredictor;
use crate::second_stage::{self, SecondStage};
use crate::settings::{BLOCK, Choice, Widths};
use crate::train::{Keeper, Plan, Run, Trained};

/// All neural estimators; the first of a class is the class's default.
pub const ENTRIES: &[&'static dyn EstimatorEntry] = &[
    &shared::TARNET,
    &shared::CFR_MMD,
    &shared::CFR_WASS,
    &dragon::DRAGONNET,
    &ganite::GANITE,
    &disentangled::DRCFR,
    &disentangled::DRCFR_NORM,
    &disentangled::DRCFR_TRUNC,
    &disentangled::DRCFR_IGNORE,
    &two_step::PSW,
    &disentangled::DPSW_NORM,
    &disentangled::DPSW,
    &disentangled::DPSW_DR,
];

/// A kind of net with its parameters.
pub(crate) trait NetKind: Debug + Send + Sync {
    /// Sizes and training parameters.
    fn training(&self) -> &TrainingConfig;

    /// The named set that fills in what is auto.
    fn settings(&self) -> SettingsName {
        SettingsName::Default
    }

    /// Refuses parameters that make no sense together; `owner` is the estimator's name.
    fn check(&self, owner: &str) -> Result<()> {
        self.training().check(owner)
    }

    /// Units where the parameters leave them open.
    fn widths(&self) -> Widths;

    /// How encoders, propensity net and heads are put together; `propensity` are the units of the propensity net.
    fn arrangement(&self, propensity: Vec<usize>) -> Arrangement;

    /// The training plan: `plan` trains everything in one phase, [`OUTCOME`](crate::model::repnet::OUTCOME).
    fn plan(&self, plan: Plan) -> Plan {
        plan
    }

    /// Epochs per block, by which a paper's settings count how long they train.
    fn block(&self) -> usize {
        BLOCK
    }

    /// Tempering exponent of the weights; `None` leaves it to the data, 0 stands for none.
    fn gamma(&self) -> Option<f64> {
        Some(0.0)
    }

    /// Whether the outcome loss is weighted by a propensity that is learnt along with it.
    fn learns_weights(&self) -> bool {
        false
    }

    /// Whether a run can be put aside and taken up again, and what it has reached by then says how good it will be: not where a first
    /// step is trained beforehand or a stage has no score.
    fn can_pause(&self) -> bool {
        true
    }

    /// Whether there is a propensity net.
    fn has_propensity(&self) -> bool {
        false
    }

    /// Whether the nets have a fluctuation parameter for targeted regularisation.
    fn fluctuates(&self) -> bool {
        false
    }

    /// What the fitted nets can report about the features.
    fn feature_report(&self) -> FeatureReport {
        FeatureReport::None
    }

    /// A propensity net trained before the outcome nets, if the kind has one; it may fix row weights in `sample`.
    fn first_step(
        &self,
        _job: &Job<'_>,
        _sample: &mut Sample<f32>,
        _at: FirstStep<'_>,
    ) -> Result<Option<PlainPredictor>> {
        Ok(None)
    }

    /// Trains the nets: what training reported, and the parameters that prediction needs.
    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)>;
}

/// Where interrupts are heard and checkpoints are kept.
pub(crate) type Keeping<'a> = (&'a FitContext<'a>, &'a Keeper<'a>);

/// What training needs to know of the nets.
pub(crate) struct NetJob {
    pub(crate) spec: RepSpec,
    pub(crate) choice: Choice,
    /// Rows of the largest mini-batch.
    pub(crate) capacity: usize,
}

/// What a first step needs beside its job and rows.
pub(crate) struct FirstStep<'a> {
    pub(crate) scaler: &'a Scaler,
    pub(crate) seed: Seed,
    pub(crate) name: &'a str,
    pub(crate) keeping: Keeping<'a>,
}

/// How encoders, propensity net and heads are put together.
#[derive(Debug)]
pub(crate) struct Arrangement {
    /// Number of encoders.
    pub(crate) groups: usize,
    /// Hidden units of the propensity net and the encoders it reads.
    pub(crate) propensity: Option<(Vec<usize>, Range<usize>)>,
    /// Encoders that the heads read.
    pub(crate) head_reads: Range<usize>,
    /// The encoder that the balance penalty looks at.
    pub(crate) balanced: usize,
}

impl Arrangement {
    /// What outcomes need of it: no propensity, nor encoders that the heads do not read.
    pub(crate) fn of_outcomes(self) -> Self {
        let Self { head_reads, balanced, .. } = self;
        let groups = head_reads.len();
        Self { groups, propensity: None, head_reads: 0..groups, balanced: balanced.saturating_sub(head_reads.start) }
    }

    /// One encoder that both heads read.
    pub(crate) fn one_encoder() -> Self {
        Self { groups: 1, propensity: None, head_reads: 0..1, balanced: 0 }
    }
}

/// What fitted nets can report about the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeatureReport {
    /// The role of each feature.
    Roles,
    /// How strongly the one encoder reads each feature.
    Reading,
    /// Nothing.
    None,
}

/// Trains a representation net.
pub(crate) fn train_representations(
    nets: NetJob,
    objective: Objective,
    run: &Run<'_, f32>,
    (ctx, keeper): Keeping<'_>,
) -> Result<(Trained<f32>, Vec<f32>)> {
    let mut model = RepNet::new(nets.spec, objective, run.sample, nets.capacity)?;
    let trained = run.train(&mut model, ctx, keeper)?;
    let params = trained.params.clone();
    Ok((trained, params))
}

/// What the registry says about a neural estimator.
const fn info(
    name: &'static str,
    (aliases, class): (&'static [&'static str], &'static str),
    (summary, reference): (&'static str, &'static str),
) -> EstimatorInfo {
    let handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };
    let abilities = Abilities { early_stopping: true, checkpoints: true, intervals: false };
    EstimatorInfo { name, aliases, family: Family::Neural, class, summary, reference, handles, abilities }
}

/// The entry's estimator with these parameters.
fn build<K: NetKind + Serialize + 'static>(config: K, entry: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let second = config.training().second_stage.clone();
    let nets = NetEstimator::new(entry.name, config)?;
    match SecondStage::learner(&second, entry)? {
        None => Ok(Box::new(nets)),
        Some((base, regressor)) => Ok(Box::new(SecondStage::new(nets, base, regressor))),
    }
}

fn load(state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    if second_stage::is_second(state) {
        return second_stage::load(state, tools);
    }
    Ok(Box::new(NetModel::load(state)?))
}
