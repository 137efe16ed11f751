//! Intervals of single rows, of two kinds: of the conditional effect (where the mean effect of people with these features
//! lies) and of the individual effect (where one person's own effect lies, which is far wider).

pub(crate) mod calibration;
mod half_samples;
mod individual;

use paretau_core::{
    Effects, Error, EstimatorEntry, Features, FitContext, FittedRegressor, RegressionTask, Result, State, Target,
};
use paretau_nuisance::{Observed, OutcomeStack};
use serde::{Deserialize, Serialize};

pub(crate) use self::half_samples::{FarHalves, HALVES_TASK, HalvesTask, Replicates, perform_halves, replicate};
use self::individual::Individual;
use crate::assessment::Weighted;
use crate::registry::TOOLBOX;

/// What an interval of a row covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IntervalKind {
    /// The conditional effect: the mean effect of everyone with the row's features.
    #[default]
    Conditional,
    /// The individual effect: the difference of the row's own two potential outcomes.
    Individual,
}

impl IntervalKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Conditional, Self::Individual];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conditional => "conditional",
            Self::Individual => "individual",
        }
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::unknown_name("kind of interval", name, Self::ALL.map(Self::name)))
    }

    /// What it covers and how sure that is, in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Conditional => {
                "lo and hi are approximate pointwise confidence intervals of the conditional effect (the mean effect of people \
                 with these features), widened by the bias that held-out scores show; a share of the rows near the level, not \
                 every single row, is covered"
            }
            Self::Individual => {
                "lo and hi are conformal intervals of the individual effect (one person's outcome with treatment less the one \
                 without); over people like the training rows they cover at least about the level, if no confounder is missing"
            }
        }
    }
}

/// Estimators whose intervals of the conditional effect may be made from refits: those for which `experiments/person_intervals`
/// says how often they hold the truth.
pub(crate) const MEASURED: &[&str] = &["lr-2", "t-learner", "x-learner"];

/// Whether intervals of the conditional effect may be made from refits of an estimator.
pub(crate) fn refits_are_measured(entry: &dyn EstimatorEntry) -> bool {
    MEASURED.contains(&entry.info().name)
}

/// The base learner of the spread.
const SPREAD: &str = "forest";
/// Trees of the spread's forest: enough for a smooth function, few enough for a small file.
const TREES: usize = 100;
/// Rows of its nodes: variances from a few refits are noisy.
const NODE: usize = 20;

/// Spread of predictions as a function of the features.
#[derive(Debug)]
struct Spread {
    /// Logarithm of the variance.
    model: Box<dyn FittedRegressor>,
    /// What is added to it, so that variances have the right mean.
    offset: f64,
}

impl Spread {
    fn fit(x: &Features, rows: &Weighted<'_>, variance: &[f64], ctx: &FitContext<'_>) -> Result<Self> {
        let mean = variance.iter().sum::<f64>() / variance.len() as f64;
        // Constant effects have no spread; logarithms need some.
        let floor = (1e-6 * mean).max(f64::MIN_POSITIVE);
        let y: Vec<f64> = variance.iter().map(|v| v.max(floor).ln()).collect();
        let learner = TOOLBOX
            .base(SPREAD)?
            .build(&paretau_core::Params::none().with("n_estimators", TREES).with("min_node_size", NODE))?;
        let design = &rows.pair.design;
        let task = RegressionTask {
            x,
            columns: &paretau_core::Column::numbered(x.n_cols()),
            y: &y,
            weight: design.weight(),
            groups: design.groups(),
            target: Target::Mean,
        };
        let model = learner.fit(&task, &ctx.with_seed(ctx.seed.named("spread")))?;
        let predicted = match model.held_out() {
            Some(held_out) if held_out.iter().all(|v| v.is_finite()) => held_out.to_vec(),
            _ => model.predict(x)?,
        };
        // A mean of logarithms is below the logarithm of the mean.
        let ratio = (0..y.len()).map(|i| variance[i].max(floor) / predicted[i].exp()).sum::<f64>() / y.len() as f64;
        Ok(Self { model, offset: if ratio > 0.0 && ratio.is_finite() { ratio.ln() } else { 0.0 } })
    }

    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        Ok(self.model.predict(x)?.into_iter().map(|log| (0.5 * (log + self.offset)).exp()).collect())
    }
}

/// Standard errors of one arm's conditional effects.
#[derive(Debug)]
struct Confidence {
    /// The refits' spread; `None` where the estimator tells its own.
    spread: Option<Spread>,
    /// Root of the mean squared bias, which is added in squares.
    bias: f64,
}

/// What a model knows about the uncertainty of single rows.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// Per treated arm; absent where none were made.
    confidence: Vec<Option<Confidence>>,
    individual: Option<Individual>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    /// Per treated arm: bias and, where refits were made, the spread's offset.
    confidence: Vec<Option<(f64, Option<f64>)>>,
    individual: bool,
}

impl Intervals {
    /// Adds the next treated arm: `own` are the estimator's held-out predictions, where it has them with standard errors.
    pub(crate) fn add_arm(
        &mut self,
        weighted: &Weighted<'_>,
        x: &Features,
        (replicates, own): (Option<&Replicates>, Option<&Effects>),
        ctx: &FitContext<'_>,
    ) -> Result<()> {
        let rows: Observed<'_> = weighted.rows()?;
        let scores = weighted.nuisance.scores(&rows, &weighted.weights.smooth);
        let bias = |tau: &[f64]| calibration::bias(&rows, (&scores, tau), x, ctx.seed);
        let confidence = match (replicates, own) {
            (Some(found), _) => Some(Confidence {
                bias: bias(&found.tau)?,
                spread: Some(Spread::fit(x, weighted, &found.variance, ctx)?),
            }),
            (None, Some(own)) if own.se.is_some() => Some(Confidence { bias: bias(&own.tau)?, spread: None }),
            _ => None,
        };
        self.confidence.push(confidence);
        Ok(())
    }

    /// Intervals of one treated arm whose standard errors are the estimator's own, with a bias that was measured elsewhere.
    pub(crate) fn of_bias(bias: Option<f64>) -> Self {
        Self { confidence: vec![bias.map(|bias| Confidence { spread: None, bias })], individual: None }
    }

    /// Adds intervals of the individual effect.
    pub(crate) fn add_individual(&mut self, stack: OutcomeStack, weighted: &Weighted<'_>) {
        self.individual =
            Some(Individual::new(stack, &weighted.pair.design, &weighted.nuisance, &weighted.weights.smooth));
    }

    /// Standard errors of an arm's conditional effects, the bias included, from the estimator's own; none where none were
    /// measured.
    pub(crate) fn errors(&self, arm: usize, own: Option<Vec<f64>>, x: &Features) -> Result<Option<Vec<f64>>> {
        let Some(Some(Confidence { spread, bias })) = self.confidence.get(arm) else { return Ok(None) };
        let spread = match spread {
            Some(spread) => Some(spread.predict(x)?),
            None => own,
        };
        Ok(spread.map(|spread| spread.into_iter().map(|se| se.hypot(*bias)).collect()))
    }

    /// Whether errors of an arm need the features that the nuisances read.
    pub(crate) fn reads_features(&self) -> bool {
        self.confidence.iter().flatten().any(|arm| arm.spread.is_some())
    }

    /// Intervals of the individual effects of rows.
    pub(crate) fn individual(&self, x: &Features, level: f64, estimator: &str) -> Result<(Vec<f64>, Vec<f64>)> {
        let individual = self.individual.as_ref().ok_or_else(|| Error::Unsupported {
            estimator: estimator.to_owned(),
            message: if self.confidence.len() > 1 {
                "gives no intervals of individual effects with several arms; fit one treated value at a time".to_owned()
            } else {
                format!("was fitted without what intervals of individual effects need; fit again with {REMEDY}")
            },
        })?;
        individual.interval(x, level)
    }

    pub(crate) fn state(&self) -> Result<State> {
        let saved = |arm: &Option<Confidence>| arm.as_ref().map(|c| (c.bias, c.spread.as_ref().map(|s| s.offset)));
        let mut state = State::new(&Saved {
            confidence: self.confidence.iter().map(saved).collect(),
            individual: self.individual.is_some(),
        })?;
        for (k, arm) in self.confidence.iter().enumerate() {
            if let Some(Confidence { spread: Some(spread), .. }) = arm {
                state.nest(&format!("spread{k}"), spread.model.state()?);
            }
        }
        if let Some(individual) = &self.individual {
            state.nest("individual_models", individual.state()?);
        }
        Ok(state)
    }

    pub(crate) fn load(state: &State) -> Result<Self> {
        let Saved { confidence, individual } = state.parse()?;
        let arm = |(k, arm): (usize, Option<(f64, Option<f64>)>)| -> Result<Option<Confidence>> {
            let Some((bias, offset)) = arm else { return Ok(None) };
            if !(bias >= 0.0 && bias.is_finite() && offset.is_none_or(f64::is_finite)) {
                return Err(Error::bad_model("the errors of its effects are not usable numbers"));
            }
            let load = |offset| -> Result<Spread> {
                let model = TOOLBOX.base(SPREAD)?.load(&state.nested(&format!("spread{k}"))?)?;
                Ok(Spread { model, offset })
            };
            Ok(Some(Confidence { spread: offset.map(load).transpose()?, bias }))
        };
        let confidence = confidence.into_iter().enumerate().map(arm).collect::<Result<_>>()?;
        let individual = if individual { Some(Individual::load(&state.nested("individual_models")?)?) } else { None };
        Ok(Self { confidence, individual })
    }
}

/// How intervals come to be there.
pub(crate) const REMEDY: &str = "`fit --intervals 40` (in Python `fit(..., intervals=40)`)";
