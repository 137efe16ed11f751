//! Intervals of single rows, of two kinds: of the conditional effect (where the mean effect of people with these features
//! lies) and of the individual effect (where one person's own effect lies, which is far wider).

pub(crate) mod calibration;
pub(crate) mod companion;
mod half_samples;
mod individual;
mod measured;

use paretau_core::{Effects, Error, Features, FitContext, FittedRegressor, RegressionTask, Result, State, Target};
use paretau_kernels::numeric::mean;
use paretau_nuisance::{Observed, OutcomeStack};
use serde::{Deserialize, Serialize};

use self::calibration::{Bias, LINE, Trend};
pub(crate) use self::half_samples::{FarHalves, HALVES_TASK, HalvesTask, Replicates, perform_halves, replicate};
use self::individual::Individual;
pub(crate) use self::measured::{companion_is_measured, refits_are_measured, with_intervals};
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
                 every single row, is covered. In simulations 95 % intervals held 90 % of all rows or more, but of the tenth with \
                 the most extreme effects as few as half: do not rely on single rows at the top or bottom of the list"
            }
            Self::Individual => {
                "lo and hi are conformal intervals of the individual effect (one person's outcome with treatment less the one \
                 without); over people like the training rows they cover at least about the level, if no confounder is missing"
            }
        }
    }
}

/// The base learner of the spread.
const SPREAD: &str = "forest";
/// Trees of the spread's forest: enough for a smooth function, few enough for a small file.
const TREES: usize = 100;
/// Rows of its nodes, at least: variances from a few refits are noisy.
const NODE: usize = 20;
/// Nodes of a tree, about, at most: a variance need not be known as finely as an effect, and files stay small.
const MOST_NODES: usize = 500;

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
        let mean = mean(variance);
        // Constant effects have no spread; logarithms need some.
        let floor = (1e-6 * mean).max(f64::MIN_POSITIVE);
        let y: Vec<f64> = variance.iter().map(|v| v.max(floor).ln()).collect();
        let learner = TOOLBOX.base(SPREAD)?.build(
            &paretau_core::Params::none()
                .with("n_estimators", TREES)
                .with("min_node_size", NODE.max(x.n_rows() / MOST_NODES)),
        )?;
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
    /// What predictions miss systematically, which is added in squares.
    bias: Bias,
}

/// What standard errors of one arm's effects are made from.
pub(crate) enum Evidence<'a> {
    /// Refits on half-samples.
    Refits(&'a Replicates),
    /// The estimator's own held-out predictions, perhaps with standard errors.
    Own(&'a Effects),
    /// Its held-out predictions, and variances of a forest's beside it.
    Companion {
        /// The estimator's own.
        held_out: &'a Effects,
        /// The forest's.
        variance: &'a [f64],
    },
    /// Nothing.
    None,
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
    /// Per treated arm.
    confidence: Vec<Option<SavedArm>>,
    individual: bool,
}

#[derive(Serialize, Deserialize)]
struct SavedArm {
    /// Bias of all rows.
    bias: f64,
    /// Centre and slope of the bias that grows along a direction.
    trend: Option<(f64, f64)>,
    /// Where refits were made, the spread's offset.
    spread: Option<f64>,
}

impl Intervals {
    /// Adds the next treated arm.
    pub(crate) fn add_arm(
        &mut self,
        weighted: &Weighted<'_>,
        x: &Features,
        from: Evidence<'_>,
        ctx: &FitContext<'_>,
    ) -> Result<()> {
        let rows: Observed<'_> = weighted.rows()?;
        let scores = weighted.nuisance.scores(&rows, &weighted.weights.smooth);
        let bias = |tau: &[f64]| Bias::of(&rows, (&scores, tau), x, ctx);
        let spread = |variance: &[f64]| Spread::fit(x, weighted, variance, ctx);
        let confidence = match from {
            Evidence::Refits(found) => {
                Some(Confidence { bias: bias(&found.tau)?, spread: Some(spread(&found.variance)?) })
            }
            Evidence::Own(own) if own.se.is_some() => Some(Confidence { bias: bias(&own.tau)?, spread: None }),
            Evidence::Companion { held_out, variance } => {
                Some(Confidence { bias: bias(&held_out.tau)?, spread: Some(spread(variance)?) })
            }
            Evidence::Own(_) | Evidence::None => None,
        };
        self.confidence.push(confidence);
        Ok(())
    }

    /// Intervals of one treated arm whose standard errors are the estimator's own, with a bias that was measured elsewhere.
    pub(crate) fn of_bias(bias: Option<f64>) -> Self {
        let own = |spread: f64| Confidence { spread: None, bias: Bias { spread, trend: None } };
        Self { confidence: vec![bias.map(own)], individual: None }
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
        let Some(spread) = spread else { return Ok(None) };
        Ok(Some(spread.into_iter().zip(bias.at(x)?).map(|(se, bias)| se.hypot(bias)).collect()))
    }

    /// Whether errors of an arm need the features that the nuisances read.
    pub(crate) fn reads_features(&self) -> bool {
        self.confidence.iter().flatten().any(|arm| arm.spread.is_some() || arm.bias.trend.is_some())
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
        let saved = |arm: &Option<Confidence>| {
            arm.as_ref().map(|Confidence { spread, bias }| SavedArm {
                bias: bias.spread,
                trend: bias.trend.as_ref().map(|trend| (trend.centre, trend.slope)),
                spread: spread.as_ref().map(|spread| spread.offset),
            })
        };
        let mut state = State::new(&Saved {
            confidence: self.confidence.iter().map(saved).collect(),
            individual: self.individual.is_some(),
        })?;
        for (k, arm) in self.confidence.iter().enumerate() {
            if let Some(Confidence { spread: Some(spread), .. }) = arm {
                state.nest(&format!("spread{k}"), spread.model.state()?);
            }
            if let Some(Confidence { bias: Bias { trend: Some(trend), .. }, .. }) = arm {
                state.nest(&format!("trend{k}"), trend.model.state()?);
            }
        }
        if let Some(individual) = &self.individual {
            state.nest("individual_models", individual.state()?);
        }
        Ok(state)
    }

    pub(crate) fn load(state: &State) -> Result<Self> {
        let Saved { confidence, individual } = state.parse()?;
        let arm = |(k, arm): (usize, Option<SavedArm>)| -> Result<Option<Confidence>> {
            let Some(SavedArm { bias, trend, spread }) = arm else { return Ok(None) };
            let sound = |v: f64| v >= 0.0 && v.is_finite();
            let usable = trend.is_none_or(|(centre, slope)| centre.is_finite() && sound(slope));
            if !(sound(bias) && usable && spread.is_none_or(f64::is_finite)) {
                return Err(Error::bad_model("the errors of its effects are not usable numbers"));
            }
            let model = |base: &str, name: &str| TOOLBOX.base(base)?.load(&state.nested(&format!("{name}{k}"))?);
            let trend =
                trend.map(|(centre, slope)| Ok(Trend { model: model(LINE, "trend")?, centre, slope })).transpose()?;
            let spread = spread.map(|offset| Ok(Spread { model: model(SPREAD, "spread")?, offset })).transpose()?;
            Ok(Some(Confidence { spread, bias: Bias { spread: bias, trend } }))
        };
        let confidence = confidence.into_iter().enumerate().map(arm).collect::<Result<_>>()?;
        let individual = if individual { Some(Individual::load(&state.nested("individual_models")?)?) } else { None };
        Ok(Self { confidence, individual })
    }
}

/// How intervals come to be there.
pub(crate) const REMEDY: &str = "`fit --intervals 40` (in Python `fit(..., intervals=40)`)";
