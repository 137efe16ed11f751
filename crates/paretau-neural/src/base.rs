//! The base learner `mlp`: a plain net, or the mean of a few, for meta-learners.

use paretau_core::{
    BaseEntry, Error, Features, FitContext, FittedRegressor, Handles, OutcomeKind, ParamKind, ParamSpec, Params,
    RegressionTask, Regressor, Result, State, Target, Tensor, resolve,
};
use paretau_kernels::parallel::Parallelism;
use serde::{Deserialize, Serialize};

use crate::data::{Batches, OutcomeScale, Pieces, Sample, Scaler, Table};
use crate::engine::Activation;
use crate::estimator::{inside, run_all};
use crate::loss::OutcomeLoss;
use crate::loss::outcome::sigmoid;
use crate::model::{PlainNet, PlainSpec};
use crate::plain::PlainPredictor;
use crate::splits::windows;
use crate::train::{Keep, Keeper, PhaseRates, Plan, Run, Stage};

/// Parameters of the base learner `mlp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpConfig {
    /// Hidden units, layer by layer.
    pub hidden: Vec<usize>,
    /// Activation of hidden units.
    pub activation: Activation,
    /// Share of hidden units dropped in training.
    pub dropout: f64,
    /// L2 strength; 4 over the number of training rows if `None`.
    pub l2: Option<f64>,
    /// Learning rate.
    pub rate: f64,
    /// Rows of a mini-batch.
    pub batch: usize,
    /// Mini-batches at most.
    pub max_steps: usize,
    /// Mini-batches without improvement before stopping.
    pub patience: usize,
    /// Nets averaged.
    pub members: usize,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self {
            hidden: vec![64, 64],
            activation: Activation::Elu,
            dropout: 0.1,
            l2: None,
            rate: 2e-3,
            batch: 128,
            max_steps: 3000,
            patience: 300,
            members: 2,
        }
    }
}

const SPECS: &[ParamSpec] = &[
    ParamSpec::new("hidden", ParamKind::IntList { min: 1, max: 4096 }, "Hidden units, layer by layer."),
    ParamSpec::new(
        "activation",
        ParamKind::Choice(&["elu", "tanh", "softplus", "leaky-relu", "linear"]),
        "Activation of hidden units.",
    ),
    ParamSpec::new("dropout", ParamKind::Float { min: 0.0, max: 0.9 }, "Share of hidden units dropped in training."),
    ParamSpec::new(
        "l2",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }),
        "L2 strength on weights; auto is 4 over the number of training rows.",
    ),
    ParamSpec::new("rate", ParamKind::Float { min: 1e-12, max: 1.0 }, "Learning rate."),
    ParamSpec::new("batch", ParamKind::Int { min: 2, max: 1_000_000 }, "Rows of a mini-batch."),
    ParamSpec::new("max_steps", ParamKind::Int { min: 1, max: 100_000_000 }, "Mini-batches at most."),
    ParamSpec::new(
        "patience",
        ParamKind::Int { min: 1, max: 100_000_000 },
        "Mini-batches without improvement on validation rows before stopping.",
    ),
    ParamSpec::new("members", ParamKind::Int { min: 1, max: 100 }, "Nets averaged."),
];

/// The entry of the base learner `mlp`.
#[derive(Debug, Clone, Copy)]
pub struct MlpBase;

impl BaseEntry for MlpBase {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn summary(&self) -> &'static str {
        "A feed-forward net with early stopping, or the mean of a few"
    }

    fn handles(&self) -> Handles {
        Handles { missing: false, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        SPECS
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        Ok(Box::new(Mlp { config: resolve("mlp", SPECS, &MlpConfig::default(), params)? }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let about: About = state.parse()?;
        let mut members = Vec::new();
        for k in 0..about.members {
            let get = |name: &str| state.f64(&format!("{name}{k}"), &[about.d]).map(<[f64]>::to_vec);
            let scaler =
                Scaler { mean: get("mean")?, scale: get("scale")?, clamps: about.clamps, pieces: Pieces::default() };
            let Some(Tensor::F32(_, params)) = state.tensors.get(&format!("params{k}")) else {
                return Err(Error::bad_model("a net's parameters are missing"));
            };
            members.push(PlainPredictor::new(about.hidden.clone(), &about.spec(), scaler, params.clone())?);
        }
        if members.is_empty() || about.scales.len() != members.len() {
            return Err(Error::bad_model("the nets of an mlp are missing"));
        }
        Ok(Box::new(FittedMlp { about, members }))
    }
}

#[derive(Debug)]
struct Mlp {
    config: MlpConfig,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct About {
    d: usize,
    hidden: Vec<usize>,
    activation: Activation,
    probability: bool,
    clamps: bool,
    members: usize,
    scales: Vec<OutcomeScale>,
}

impl About {
    fn spec(&self) -> PlainSpec {
        PlainSpec {
            d: self.d,
            hidden: self.hidden.clone(),
            activation: self.activation,
            dropout: 0.0,
            loss: if self.probability { OutcomeLoss::Logistic } else { OutcomeLoss::Squared },
        }
    }
}

#[derive(Debug)]
struct FittedMlp {
    about: About,
    members: Vec<PlainPredictor>,
}

impl Mlp {
    fn plan(&self, n: usize) -> Plan {
        let stage = Stage {
            name: "training",
            phases: vec![0],
            block: None,
            max_steps: self.config.max_steps as u64,
            min_steps: self.config.patience.min(self.config.max_steps) as u64,
            patience: self.config.patience as u64,
            later_patience: self.config.patience as u64,
            settle: 0,
            drops: 1,
            drop_factor: 0.3,
            keep: Keep::Best,
        };
        Plan {
            stages: vec![stage],
            rates: vec![PhaseRates { rate: self.config.rate, l2: self.config.l2.unwrap_or(4.0 / n.max(1) as f64) }],
            batch: self.config.batch,
            clip: 10.0,
            half_life: 0.0,
            sgd: false,
            evaluate_every: 20,
        }
    }
}

impl Regressor for Mlp {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let config = &self.config;
        let probability = task.target == Target::Probability;
        // Probabilities: batches and validation rows are stratified by the label.
        let strata: Vec<u8> = task.y.iter().map(|&y| u8::from(probability && y > 0.5)).collect();
        let seed = ctx.seed.named("mlp");
        let parts = windows(&strata, task.groups, ctx.valid_share, (config.members, seed));
        let d = task.x.n_cols();
        let spec = PlainSpec {
            d,
            hidden: config.hidden.clone(),
            activation: config.activation,
            dropout: config.dropout,
            loss: if probability { OutcomeLoss::Logistic } else { OutcomeLoss::Squared },
        };
        let quiet = FitContext { checkpoint: None, ..*ctx };
        let keeper = Keeper::new(&quiet, serde_json::Value::Null)?;
        let parallelism: Parallelism = inside(config.members);
        let fitted = run_all(config.members, |k| {
            let (train, valid) = (&parts[k].train, &parts[k].valid);
            let scaler = Scaler::fit(task.x, train);
            let kind = if probability { OutcomeKind::Binary } else { OutcomeKind::Continuous };
            let scale = OutcomeScale::fit(task.y, train, kind);
            let sample = Sample {
                table: Table::new(task.x, &scaler)?,
                t: strata.clone(),
                y: task.y.iter().map(|y| ((y - scale.mean) / scale.sd) as f32).collect(),
                weight: row_weights(task.weight, task.y.len()),
                known_logit: None,
                fixed: None,
                outcome: kind,
                treated: 0.5,
            };
            let plan = self.plan(train.len());
            let seed = seed.indexed(k as u64);
            let capacity = Batches::new(&sample.t, train, plan.batch, seed).largest();
            let mut model = PlainNet::new(spec.clone(), &sample, capacity);
            let run = Run {
                sample: &sample,
                train,
                valid: if valid.is_empty() { train } else { valid },
                plan: &plan,
                seed,
                name: format!("mlp{k}"),
                member: k,
                parallelism,
                start: None,
                pause: None,
            };
            let trained = run.train(&mut model, &quiet, &keeper)?;
            Ok((PlainPredictor::new(spec.hidden.clone(), &spec, scaler, trained.params)?, scale))
        })?;
        let (members, scales): (Vec<_>, Vec<_>) = fitted.into_iter().unzip();
        let about = About {
            d,
            hidden: config.hidden.clone(),
            activation: config.activation,
            probability,
            clamps: members.first().is_none_or(PlainPredictor::clamps),
            members: members.len(),
            scales,
        };
        Ok(Box::new(FittedMlp { about, members }))
    }
}

/// Weights with mean one.
fn row_weights(weight: Option<&[f64]>, n: usize) -> Vec<f32> {
    match weight {
        None => vec![1.0; n],
        Some(w) => {
            let mean = w.iter().sum::<f64>() / n.max(1) as f64;
            let mean = if mean > 0.0 { mean } else { 1.0 };
            w.iter().map(|v| (v / mean) as f32).collect()
        }
    }
}

impl FittedRegressor for FittedMlp {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        if x.n_cols() != self.about.d {
            return Err(Error::SchemaMismatch {
                message: format!("the net was fitted on {} columns, the data have {}", self.about.d, x.n_cols()),
            });
        }
        let mut mean = vec![0.0; x.n_rows()];
        for (member, scale) in self.members.iter().zip(&self.about.scales) {
            for (m, h) in mean.iter_mut().zip(member.outputs(x)?) {
                // Strictly inside (0, 1), as probabilities are promised to be.
                let value =
                    if self.about.probability { sigmoid(h).clamp(1e-9, 1.0 - 1e-9) } else { scale.mean + scale.sd * h };
                *m += value / self.members.len() as f64;
            }
        }
        match mean.iter().position(|v| !v.is_finite()) {
            None => Ok(mean),
            Some(row) => Err(Error::Numeric {
                what: "predicting with an mlp",
                message: format!("the prediction of row {} is not finite; are its features?", row + 1),
            }),
        }
    }

    fn state(&self) -> Result<State> {
        let mut state = State::new(&self.about)?;
        for (k, member) in self.members.iter().enumerate() {
            member.put(&mut state, &format!("params{k}"));
            member.put_scaler(&mut state, &k.to_string());
        }
        Ok(state)
    }
}
