//! Scoring a fitted model on rows, with the truth when there is one and without it always.
//!
//! Scores without the truth need nuisances: expected outcomes and propensities by models that saw neither the row
//! nor the effects being scored. They are cross-fitted on the rows to score on, by the stack of learners that every average
//! stands on, so that every model is scored by the same yardstick.
//!
//! Predictions of rows that the model learned from flatter it. Such rows are known by the model's fingerprint: scores of
//! exactly the training rows are those of held-out predictions, computed at the fit; else such rows are left out or refused.

use std::collections::BTreeMap;

use paretau_core::{Error, FitContext, Observer, Result, Seed, Silent};
use paretau_data::{Assigned, RoleSpec, Table, assign};
use paretau_eval::{Evidence, Heterogeneity, METRICS, NamedScore};
use paretau_nuisance::{Observed, Score};
use serde::{Deserialize, Serialize};

use crate::assessment::Weighted;
use crate::fingerprint::Recognition;
use crate::model::Model;
use crate::nuisances::{Yardstick, yardstick};

/// New rows that are scored when others of the table were learned from; with fewer, the table is refused.
const LEAST_NEW_ROWS: usize = 100;
/// Those of each arm.
const LEAST_NEW_ROWS_PER_ARM: usize = 10;

/// Scores whose sign is the question. Of out-of-bag predictions they lie a standard error too low where effects do not differ
/// (experiments/coverage, null_tests.md): a row's outcome is missing from its own prediction, so that the two go against each
/// other. "Above" is a statement that this cannot bring about; "below" is not.
const LEANING: [&str; 4] = ["autoc", "qini", "auuc", "calibration"];
/// Level of their limits.
const LEVEL: f64 = 0.95;

/// How to score.
#[derive(Clone, Copy)]
pub struct EvaluateOptions<'a> {
    /// Source of all randomness.
    pub seed: Seed,
    /// What to do about rows that the model learned from.
    pub in_sample: InSample,
    /// Hears of progress.
    pub observer: &'a dyn Observer,
}

/// What to do about rows that a model learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InSample {
    /// Score held-out predictions of them or leave them out; refuse when neither can be done.
    #[default]
    Never,
    /// The same, but score the model's predictions of them instead of refusing. The scores are labelled.
    IfNeeded,
    /// Score the model's predictions of all rows. The scores are labelled.
    Always,
}

impl Default for EvaluateOptions<'_> {
    fn default() -> Self {
        Self { seed: Seed(0), in_sample: InSample::default(), observer: &Silent }
    }
}

/// What kind of predictions were scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Of rows that the model did not learn from.
    NewRows,
    /// Of the training rows, each by parts of the model that did not see it: out of bag, or held out.
    OutOfBag,
    /// Of rows some of which the model learned from: they flatter.
    InSample,
}

/// Scores of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// All metrics that the rows allow.
    pub scores: Vec<NamedScore>,
    /// One-sided 95 % lower limits of scores that have no standard error because an interval of two sides would mislead.
    pub at_least: BTreeMap<&'static str, f64>,
    /// Whether effects differ between people, as far as the predictions tell.
    pub heterogeneity: Heterogeneity,
    /// What kind of predictions were scored.
    pub basis: Basis,
    /// Rows that were scored.
    pub n_rows: usize,
    /// Rows of the table that the model learned from; left out unless the basis says otherwise.
    pub learned_from: usize,
    /// What the reader of the scores should know.
    pub notes: Vec<String>,
}

/// Scores of held-out predictions of the training rows, computed at the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldOutScores {
    n_rows: usize,
    scores: BTreeMap<String, Score>,
}

impl HeldOutScores {
    /// The scores of predictions for rows that were made without them.
    pub(crate) fn of(weighted: &Weighted<'_>, seed: Seed) -> Result<Self> {
        let rows = weighted.rows()?;
        let dr_scores = weighted.nuisance.scores(&rows, &weighted.weights.smooth);
        let found = paretau_eval::evaluate(&Evidence {
            tau: &weighted.pair.effects.tau,
            rows: Some(rows),
            nuisance: Some(&weighted.nuisance),
            scores: Some(&dr_scores),
            truth: weighted.pair.assigned.oracle.as_ref(),
            encoders: None,
            seed,
        })?;
        let scores = found.into_iter().map(|named| (named.name.to_owned(), named.score)).collect();
        Ok(Self { n_rows: rows.len(), scores })
    }

    /// What is known about the training rows.
    fn evaluation(&self, assigned: &Assigned) -> Evaluation {
        let mut notes = vec![format!(
            "these are the {} rows that the model learned from: the scores are those of its out-of-bag predictions (each row's by \
             parts that did not see it), computed at the fit",
            self.n_rows
        )];
        if assigned.oracle.is_some() && !self.scores.contains_key("pehe") {
            notes.push(
                "errors against the truth are not among them, because `fit` was not given --truth; score rows that were kept \
                 aside for these"
                    .to_owned(),
            );
        }
        let named = |name| self.scores.get(name).map(|&score| NamedScore { name, score });
        let mut scores: Vec<NamedScore> = METRICS.iter().filter_map(|metric| named(metric.name)).collect();
        let slope = slope(&scores);
        let leaning = scores.iter_mut().filter(|named| LEANING.contains(&named.name));
        let limited = leaning.filter_map(|named| {
            let limit = named.score.lower_limit(LEVEL)?;
            named.score = Score::plain(named.score.value);
            Some((named.name, limit))
        });
        let at_least: BTreeMap<_, _> = limited.collect();
        if !at_least.is_empty() {
            notes.push(format!(
                "an out-of-bag prediction never saw the row's own outcome, which biases {} downwards: they have a one-sided 95 % lower limit instead of an error; for an interval, score rows that were kept aside",
                METRICS.iter().map(|m| m.name).filter(|name| at_least.contains_key(name)).collect::<Vec<_>>().join(", ")
            ));
        }
        let counts = (self.n_rows, self.n_rows);
        Evaluation { at_least, ..Evaluation::with_slope(scores, slope, Basis::OutOfBag, counts, notes) }
    }
}

/// All metrics that the rows allow, by predictions that were made without the rows; where there are none, an error names the
/// remedy.
pub fn evaluate(model: &Model, table: Table, roles: &RoleSpec, options: &EvaluateOptions<'_>) -> Result<Evaluation> {
    let assigned = assign(table, roles)?;
    let n_rows = assigned.t.len();
    let recognition = model.recognise(&assigned)?;
    let learned_from = recognition.n_known(n_rows);
    let counts = (n_rows, learned_from);
    let arm = compared_arm(model, &assigned)?;
    let in_sample = || {
        let note = format!(
            "{learned_from} of {n_rows} rows were learned from: these scores are in-sample and flatter the model"
        );
        Ok(Evaluation::new(score(model, &assigned, arm, options)?, Basis::InSample, counts, vec![note]))
    };
    let refuse = |more: &str| match options.in_sample {
        InSample::Never => Err(refusal(model, counts, more)),
        InSample::IfNeeded | InSample::Always => in_sample(),
    };
    match recognition {
        Recognition::New => Ok(Evaluation::new(score(model, &assigned, arm, options)?, Basis::NewRows, counts, vec![])),
        _ if options.in_sample == InSample::Always => in_sample(),
        // Those of the fit are about the first treated arm.
        Recognition::Exact => match model.held_out_scores().filter(|_| arm == 0) {
            Some(held_out) => Ok(held_out.evaluation(&assigned)),
            None => refuse(""),
        },
        Recognition::Some(rows) => {
            let mut is_new = vec![true; n_rows];
            rows.iter().for_each(|&i| is_new[i] = false);
            let new: Vec<usize> = (0..n_rows).filter(|&i| is_new[i]).collect();
            let of_arm = |arm: u8| new.iter().filter(|&&i| assigned.t[i] == arm).count();
            let [control, treated] = [of_arm(0), of_arm(1)];
            if new.len() < LEAST_NEW_ROWS || control.min(treated) < LEAST_NEW_ROWS_PER_ARM {
                return refuse(&format!(
                    "; {} others are left ({treated} treated), of which {LEAST_NEW_ROWS} are needed",
                    new.len()
                ));
            }
            let note = format!("{learned_from} of {n_rows} rows were learned from and are left out of the scores");
            let scores = score(model, &assigned.select(&new), arm, options)?;
            Ok(Evaluation::new(scores, Basis::NewRows, (new.len(), learned_from), vec![note]))
        }
        Recognition::Unclear(_) => refuse(", and which ones is not known"),
    }
}

impl Evaluation {
    fn new(scores: Vec<NamedScore>, basis: Basis, (n_rows, learned_from): (usize, usize), notes: Vec<String>) -> Self {
        let slope = slope(&scores);
        Self::with_slope(scores, slope, basis, (n_rows, learned_from), notes)
    }

    fn with_slope(
        scores: Vec<NamedScore>,
        slope: Option<Score>,
        basis: Basis,
        (n_rows, learned_from): (usize, usize),
        notes: Vec<String>,
    ) -> Self {
        let heterogeneity = Heterogeneity::of(slope);
        Self { heterogeneity, scores, at_least: BTreeMap::new(), basis, n_rows, learned_from, notes }
    }
}

/// The slope of the calibration regression.
fn slope(scores: &[NamedScore]) -> Option<Score> {
    scores.iter().find(|named| named.name == "calibration").map(|named| named.score)
}

/// Scores of the model's predictions for rows, whatever they are.
fn score(model: &Model, assigned: &Assigned, arm: usize, options: &EvaluateOptions<'_>) -> Result<Vec<NamedScore>> {
    let tau = model.contrasts(&assigned.features)?.swap_remove(arm).tau;
    let Yardstick { design, nuisance, scores } = yardstick(assigned, &FitContext::new(options.seed, options.observer))?;
    paretau_eval::evaluate(&Evidence {
        tau: &tau,
        rows: Some(Observed::of(&design)?),
        nuisance: Some(&nuisance),
        scores: Some(&scores),
        truth: assigned.oracle.as_ref(),
        encoders: None,
        seed: options.seed,
    })
}

/// Which of the model's treated arms, counted from 0, the rows compare with its control. Tables that spell the arms of a model
/// with one treated arm in another way are taken at their word.
pub(crate) fn compared_arm(model: &Model, assigned: &Assigned) -> Result<usize> {
    let arms = &model.about().arms;
    let name = |k: usize| assigned.arms.get(k).map_or("", String::as_str);
    if arms.len() == 2 {
        return Ok(0);
    }
    let arm = arms[1..].iter().position(|arm| arm.name == name(1)).filter(|_| arms[0].name == name(0));
    arm.ok_or_else(|| {
        Error::unfit(format!("the rows compare `{}` with `{}`, which the model does not", name(1), name(0)))
    })
}

/// Scores of these rows would flatter.
fn refusal(model: &Model, (n_rows, learned_from): (usize, usize), more: &str) -> Error {
    Error::unfit(format!(
        "{learned_from} of the {n_rows} rows were learned from by this `{}` model{more}: scores of its predictions for them would \
         flatter it; score rows that were kept aside before the fit (`paretau compare` does so by itself), or ask for in-sample \
         scores with --in-sample",
        model.about().estimator
    ))
}
