//! A fitted model with everything that travels with it: encoder, propensity, facts about the fit.

use std::borrow::Cow;
use std::path::Path;

use paretau_core::{Effects, Error, EstimatorEntry, Features, FittedModel, OutcomeKind, Result, State, Toolbox, Want};
use paretau_data::{Assigned, Encoder, Table, TransformReport, arms_of};
use paretau_nuisance::inference::normal_quantile;
use paretau_report::Findings;
use serde::{Deserialize, Serialize};

use crate::about::{About, Estimate, Population};
use crate::blocks::BlockMean;
use crate::contrasts::Contrasts;
use crate::evaluate::HeldOutScores;
use crate::fingerprint::{FeatureMatches, Fingerprint, Recognition};
use crate::groups::{GroupEffects, TrainingEvidence};
use crate::intervals::{self, Intervals, REMEDY};
use crate::propensity_weights::{PropensityWeights, RowWeights};
use crate::scored_rows::ScoredRows;
use crate::{model_file, registry};

/// A fitted model.
pub struct Model {
    entry: &'static dyn EstimatorEntry,
    about: About,
    encoder: Encoder,
    fitted: Box<dyn FittedModel>,
    propensity_weights: PropensityWeights,
    findings: Option<Findings>,
    training: TrainingRows,
}

/// What a model keeps of its training rows: how to know them again, how well they were predicted held out, and how
/// uncertain predictions of single rows are.
pub(crate) struct TrainingRows {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) held_out_scores: Option<HeldOutScores>,
    pub(crate) intervals: Intervals,
    /// For further questions about each treated arm, as long as the model has not been saved and read again.
    pub(crate) evidence: Vec<TrainingEvidence>,
    /// Effects of the training rows by parts that did not see them, one per treated arm, under the same proviso.
    pub(crate) held_out: Option<Vec<Vec<f64>>>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("about", &self.about).finish_non_exhaustive()
    }
}

/// What a model says about some rows.
#[derive(Debug, Clone)]
pub struct Predictions {
    /// Expected outcomes and effects, one per treated arm, in the order of [`About::arms`] behind the control.
    pub arms: Vec<Effects>,
    /// Propensities, one vector per treated arm: its probability among its rows and the control's, by the stack of learners
    /// that belongs to the data.
    pub e: Vec<Vec<f64>>,
    /// Arm of each row, where the table has the treatment column: its place in [`About::arms`]; `None` for other values or
    /// missing cells.
    pub t: Option<Vec<Option<u8>>>,
    /// Weights, one set per treated arm, of its rows and the control's; not a number for the others.
    pub weights: Option<Vec<RowWeights>>,
    /// Rows with the features of rows that the model learned from.
    pub feature_matches: FeatureMatches,
    /// What had to be done to the rows before they could be predicted.
    pub report: TransformReport,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    about: About,
    encoder: Encoder,
    #[serde(default)]
    findings: Option<Findings>,
    held_out_scores: Option<HeldOutScores>,
}

impl Model {
    pub(crate) fn new(
        entry: &'static dyn EstimatorEntry,
        about: About,
        encoder: Encoder,
        fitted: Box<dyn FittedModel>,
        propensity_weights: PropensityWeights,
        findings: Option<Findings>,
        training: TrainingRows,
    ) -> Self {
        Self { entry, about, encoder, fitted, propensity_weights, findings, training }
    }

    /// Average effects of the groups that some columns make of the training rows. The columns have a cell for every row of
    /// the table of the fit. A model that was read from a file knows no rows, only the groups that were asked for at the fit.
    pub fn group_effects(&self, by: &Table) -> Result<GroupEffects> {
        self.group_effects_of(by, 1)
    }

    /// The same for another arm than the first treated one; arms count from 1 behind the control.
    pub fn group_effects_of(&self, by: &Table, arm: usize) -> Result<GroupEffects> {
        self.evidence(arm, "ask for the groups when it is fitted (--by)")?.group_effects(by)
    }

    /// The training rows of the control and an arm (1 is the first treated one) with their doubly robust scores.
    pub fn scored_rows(&self, arm: usize) -> Result<ScoredRows> {
        Ok(self.evidence(arm, "ask before it is saved, or with rows that were kept aside")?.scored_rows())
    }

    fn evidence(&self, arm: usize, remedy: &str) -> Result<&TrainingEvidence> {
        self.check_arm(arm)?;
        self.training.evidence.get(arm - 1).ok_or_else(|| {
            Error::unfit(format!("the model was read from a file, which keeps no training rows: {remedy}"))
        })
    }

    /// Effects of the training rows by parts of the model that did not see them, one vector per treated arm; `None` when the
    /// estimator has none or the model was read from a file.
    pub fn held_out_effects(&self) -> Option<&[Vec<f64>]> {
        self.training.held_out.as_deref()
    }

    /// The average effect of an arm (1 is the first treated one) against the control over a population.
    pub fn average(&self, population: Population, arm: usize) -> Result<Estimate> {
        self.check_arm(arm)?;
        self.about.averages_of(arm).ok_or_else(|| Error::bad_model("an arm has no averages"))?.of(population)
    }

    /// Why an arm's average over a population rests on extrapolation; `None` when it does not.
    pub fn extrapolates(&self, population: Population, arm: usize) -> Result<Option<&str>> {
        self.check_arm(arm)?;
        Ok(self.about.averages_of(arm).and_then(|averages| averages.extrapolates(population)))
    }

    fn check_arm(&self, arm: usize) -> Result<()> {
        if (1..self.about.arms.len()).contains(&arm) {
            return Ok(());
        }
        Err(Error::unfit(format!(
            "there is no arm {arm}: the model compares {} with the control",
            self.about.arms.len() - 1
        )))
    }

    /// The estimator it came from.
    pub fn entry(&self) -> &'static dyn EstimatorEntry {
        self.entry
    }

    /// Facts about the fit.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What the fit found about its training rows.
    pub fn findings(&self) -> Option<&Findings> {
        self.findings.as_ref()
    }

    /// How far rows are those that the model learned from.
    pub fn recognise(&self, assigned: &Assigned) -> Result<Recognition> {
        let (x, _) = self.encoder.transform(&assigned.features)?;
        Ok(self.training.fingerprint.recognise(assigned, &x))
    }

    /// How many rows were learned from, as far as their features tell; 0 where features do not tell rows apart.
    pub fn learned_from(&self, found: FeatureMatches) -> usize {
        self.training.fingerprint.learned_from(found)
    }

    pub(crate) fn held_out_scores(&self) -> Option<&HeldOutScores> {
        self.training.held_out_scores.as_ref()
    }

    /// How tables become features.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Predicts every row of a table that has the model's feature columns; the treatment column is optional.
    pub fn predict(&self, table: &Table) -> Result<Predictions> {
        let (x, report) = self.encoder.transform(table)?;
        let features = self.propensity_weights.features(table, &x)?;
        let arms = self.fitted.predict(&x, Want::Everything)?.into_iter().enumerate();
        let arms =
            arms.map(|(k, arm)| self.checked(self.with_errors(k, arm, &features)?)).collect::<Result<Vec<_>>>()?;
        let e = self.propensity_weights.propensities(&features)?;
        let names: Vec<&str> = self.about.arms.iter().map(|arm| arm.name.as_str()).collect();
        let t = table.column(&self.about.roles.treatment).map(|column| arms_of(column, &names));
        let weights = t.as_ref().map(|t| self.propensity_weights.weights(&e, t)).transpose()?;
        let feature_matches = self.training.fingerprint.feature_matches(&x);
        Ok(Predictions { arms, e, t, weights, feature_matches, report })
    }

    /// Outcomes and effects of every row, without propensities and weights: the fast way when only effects are wanted.
    pub fn effects(&self, table: &Table) -> Result<(Effects, TransformReport)> {
        let (x, report) = self.encoder.transform(table)?;
        Ok((self.first(table, &x, Want::Outcomes)?, report))
    }

    /// The effect of every row and its error, nothing else: the fastest way.
    pub fn contrast(&self, table: &Table) -> Result<(Effects, TransformReport)> {
        let (x, report) = self.encoder.transform(table)?;
        Ok((self.first(table, &x, Want::Effect)?, report))
    }

    /// The effects of every row and their errors for each treated arm, nothing else.
    pub fn contrasts(&self, table: &Table) -> Result<Vec<Effects>> {
        let (x, _) = self.encoder.transform(table)?;
        let features = if self.training.intervals.reads_features() {
            self.propensity_weights.features(table, &x)?
        } else {
            Cow::Borrowed(&x)
        };
        let arms = self.fitted.predict(&x, Want::Effect)?.into_iter().enumerate();
        arms.map(|(k, arm)| finite(self.with_errors(k, arm, &features)?)).collect()
    }

    /// The first treated arm's predictions with their measured errors.
    fn first(&self, table: &Table, x: &Features, want: Want) -> Result<Effects> {
        let arm = first(self.fitted.predict(x, want)?)?;
        if self.training.intervals.reads_features() {
            let features = self.propensity_weights.features(table, x)?;
            return self.checked(self.with_errors(0, arm, &features)?);
        }
        self.checked(self.with_errors(0, arm, x)?)
    }

    /// Predictions that are numbers; expected outcomes that are probabilities lie between 0 and 1, whatever a line says. The
    /// effect stays as the estimator predicts it.
    fn checked(&self, effects: Effects) -> Result<Effects> {
        let mut effects = finite(effects)?;
        if self.about.outcome == OutcomeKind::Binary {
            effects.mu0.iter_mut().chain(&mut effects.mu1).for_each(|mu| *mu = mu.clamp(0.0, 1.0));
        }
        Ok(effects)
    }

    /// Predictions with standard errors that were measured, or with none.
    fn with_errors(&self, arm: usize, mut effects: Effects, features: &Features) -> Result<Effects> {
        effects.se = self.training.intervals.errors(arm, effects.se.take(), features)?;
        Ok(effects)
    }

    /// Ends of approximate pointwise confidence intervals of the conditional effects `tau`, whose standard errors `se` are
    /// those of this model's predictions; [`IntervalKind::words`] tells what they cover.
    pub fn interval(&self, tau: &[f64], se: Option<&[f64]>, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let se = se.ok_or_else(|| Error::Unsupported {
            estimator: self.about.estimator.clone(),
            message: if intervals::refits_are_measured(self.entry, &self.about.params)
                || intervals::companion_is_measured(self.entry, &self.about.params)
            {
                format!(
                    "gives no intervals of each row's effect as it was fitted; fit again with {REMEDY}, or fit `auto` or `causal-forest`"
                )
            } else {
                "gives no intervals of each row's conditional effect: how often they would cover has not been measured; fit \
                 `auto` or `causal-forest`, or ask for the individual effect (`--kind individual`)"
                    .to_owned()
            },
        })?;
        let z = normal_quantile(f64::midpoint(1.0, level));
        let ends = |sign: f64| tau.iter().zip(se).map(|(tau, se)| tau + sign * z * se).collect();
        Ok((ends(-1.0), ends(1.0)))
    }

    /// Ends of conformal intervals of the individual effects of a table's rows.
    pub fn individual_interval(&self, table: &Table, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let (x, _) = self.encoder.transform(table)?;
        let features = self.propensity_weights.features(table, &x)?;
        self.training.intervals.individual(&features, level, &self.about.estimator)
    }

    /// The whole model as one state.
    pub fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved {
            about: self.about.clone(),
            encoder: self.encoder.clone(),
            findings: self.findings.clone(),
            held_out_scores: self.training.held_out_scores.clone(),
        })?;
        state.nest("fitted", self.fitted.state()?);
        state.nest("propensity", self.propensity_weights.state()?);
        state.nest("fingerprint", self.training.fingerprint.state()?);
        state.nest("intervals", self.training.intervals.state()?);
        Ok(state)
    }

    /// A model from its state.
    pub fn from_state(state: &State) -> Result<Self> {
        Self::from_state_with(state, &registry::TOOLBOX)
    }

    /// A model from its state, with base learners that need not be the registry's.
    pub fn from_state_with(state: &State, tools: &Toolbox) -> Result<Self> {
        let Saved { about, encoder, findings, held_out_scores } = state.parse()?;
        encoder.check()?;
        about.check()?;
        let entry = registry::find(&about.estimator).map_err(|_| {
            Error::bad_model(format!("its estimator `{}` is not part of this version", about.estimator))
        })?;
        let nested = state.nested("fitted")?;
        let fitted = if let Some(blocks) = about.blocks.as_ref().filter(|blocks| blocks.forest.is_none()) {
            BlockMean::load(entry, blocks.n_blocks(), &nested, tools)?
        } else if about.arms.len() > 2 && !entry.info().handles.many_arms {
            Contrasts::load(entry, &nested, tools)?
        } else {
            entry.load(&nested, tools)?
        };
        if fitted.n_features() != encoder.columns().len() {
            return Err(Error::bad_model("its encoder and its estimator disagree about the number of columns"));
        }
        if fitted.n_treated_arms() + 1 != about.arms.len() {
            return Err(Error::bad_model("its description and its estimator disagree about the number of arms"));
        }
        let propensity_weights = PropensityWeights::load(&state.nested("propensity")?, encoder.columns().len())?;
        if propensity_weights.n_arms() + 1 != about.arms.len() {
            return Err(Error::bad_model("its description and its propensities disagree about the number of arms"));
        }
        let training = TrainingRows {
            fingerprint: Fingerprint::load(&state.nested("fingerprint")?)?,
            held_out_scores,
            intervals: Intervals::load(&state.nested("intervals")?)?,
            evidence: vec![],
            held_out: None,
        };
        Ok(Self { entry, about, encoder, fitted, propensity_weights, findings, training })
    }

    /// The bytes of the model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        model_file::to_bytes(&self.state()?)
    }

    /// A model from its file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with(bytes, &registry::TOOLBOX)
    }

    /// The same with base learners that need not be the registry's.
    pub fn from_bytes_with(bytes: &[u8], tools: &Toolbox) -> Result<Self> {
        Self::from_state_with(&model_file::from_bytes(bytes)?, tools)
    }

    /// Writes the model to a file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        paretau_data::write_atomically(path, &self.to_bytes()?)
    }

    /// Reads a model file.
    pub fn load(path: &Path) -> Result<Self> {
        let state = model_file::read(path)?;
        Self::from_state(&state).map_err(|error| match error {
            Error::BadModel { message } => Error::File { path: path.to_path_buf(), column: None, row: None, message },
            other => other,
        })
    }
}

/// The first treated arm's predictions.
fn first(mut arms: Vec<Effects>) -> Result<Effects> {
    if arms.is_empty() { Err(Error::bad_model("it has no arms")) } else { Ok(arms.swap_remove(0)) }
}

/// Effects, or an error when one of them is not a number.
fn finite(effects: Effects) -> Result<Effects> {
    if effects.is_finite() { Ok(effects) } else { Err(not_finite()) }
}

fn not_finite() -> Error {
    Error::Numeric {
        what: "prediction",
        message: "an effect is not finite; the row lies too far from everything the model learned from".to_owned(),
    }
}
