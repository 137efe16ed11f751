//! What a page is made from: plain facts, no rows and no models.

use paretau_core::{FeatureRole, Importance};
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::options::PageOptions;

/// Everything on the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRecords {
    /// What was asked.
    pub question: Question,
    /// Average effects, the one that the data can speak about best first.
    pub averages: Vec<Average>,
    /// Why that is not the average over everybody, or why there is none.
    #[serde(default)]
    pub scope: Option<String>,
    /// Whether the first average was asked for by name.
    #[serde(default)]
    pub asked: bool,
    /// Another estimate of the average over everybody, by targeted maximum likelihood.
    #[serde(default)]
    pub second_opinion: Option<Interval>,
    /// What else is known about the average over everybody, such as ratios; each in a sentence.
    #[serde(default)]
    pub more: Vec<String>,
    /// Effects of the groups that were asked for.
    #[serde(default)]
    pub groups: Vec<AskedGroup>,
    /// Best linear projection of the effect on the columns that were asked for, the intercept first.
    #[serde(default)]
    pub projection: Vec<(String, Interval)>,
    /// The arms besides the two that the page is about.
    #[serde(default)]
    pub further_arms: Vec<FurtherArm>,
    /// What to be careful about, most important first.
    pub warnings: Vec<String>,
    /// What was done to the data.
    pub notes: Vec<String>,
    /// What the fit found about its training rows; models of early versions have none.
    pub findings: Option<Findings>,
    /// Overlap of each treated arm with the control, in the arms' order.
    pub overlap: Vec<OverlapSummary>,
    /// Importance of the features, when the estimator reports it.
    pub importance: Vec<Importance>,
    /// How strongly a net with one encoder reads each feature.
    pub reading: Vec<Importance>,
    /// Roles of the features, when the estimator reports them.
    pub roles: Vec<FeatureRole>,
    /// Training curves, when there was training.
    pub training: Vec<Curve>,
    /// Numbers from the fit, by name.
    pub numbers: Vec<(String, f64)>,
    /// Who takes part, when the estimator is a mixture of others.
    #[serde(default)]
    pub mixture: Option<Mixture>,
    /// How the model was made.
    pub making: Making,
    /// How many of the warnings, the first ones, say that the answer may be wrong altogether.
    #[serde(default)]
    pub n_serious: usize,
    /// What the reader's words are.
    #[serde(default)]
    pub options: PageOptions,
}

/// A mixture of estimators with what it was chosen by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Everyone who was considered, largest share first.
    pub candidates: Vec<MixtureCandidate>,
    /// The mixture's doubly robust loss on rows that neither fits nor weights saw.
    pub dr_loss: f64,
    /// Its R-loss there.
    pub r_loss: f64,
    /// Shares and losses in a sentence.
    pub words: String,
}

/// One estimator that a mixture was chosen from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureCandidate {
    /// What it is called.
    pub label: String,
    /// Its share, 0 when it was not taken.
    pub share: f64,
    /// Doubly robust loss on rows that it did not see.
    pub dr_loss: f64,
    /// R-loss there.
    pub r_loss: f64,
}

/// What was asked of which data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Treatment column.
    pub treatment: String,
    /// Values of the treatment column that mean control and treated.
    pub arms: [String; 2],
    /// Outcome column.
    pub outcome: String,
    /// Whether the outcome is 0 or 1, so that effects are differences of probabilities.
    pub binary: bool,
    /// Rows.
    pub n_rows: usize,
    /// Treated ones among them.
    pub n_treated: usize,
    /// Features after encoding.
    pub n_features: usize,
    /// Estimator's name.
    pub estimator: String,
    /// What the estimator does, in a sentence.
    pub summary: String,
    /// Where the method comes from.
    pub reference: String,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// The average effect of some people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// Of whom, in two or three words.
    pub of: String,
    /// What that means, in a sentence.
    pub meaning: String,
    /// How much.
    pub effect: Interval,
}

/// An arm besides the two that the page is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FurtherArm {
    /// Its value in the treatment column.
    pub name: String,
    /// Its rows.
    pub n_rows: usize,
    /// Over whom the average is taken, where that is not everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Its average effect against the control; absent where the data cannot carry one.
    pub effect: Option<Interval>,
    /// Why it is absent, or why it is not taken over everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a fit found about its training rows, in summaries that are small however many rows there were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Difference of the arms' mean outcomes, nothing adjusted for.
    pub raw_difference: Interval,
    /// The predicted effects.
    pub effects: EffectSummary,
    /// Rows of similar predicted effect, lowest first.
    pub groups: Vec<EffectGroup>,
    /// Effects within levels of the features that tell effects apart best.
    pub subgroups: Vec<Subgroup>,
    /// Effects along those of these features that are numbers.
    #[serde(default)]
    pub curves: Vec<FeatureCurve>,
    /// What treating some people first, by predicted effect, gains over treating people at random; empty where predictions
    /// have seen the outcomes.
    #[serde(default)]
    pub targeting: Vec<TargetPoint>,
    /// A small tree that sums up the predicted effects; absent when the effect does not vary.
    pub tree: Option<EffectTree>,
    /// Weights and balance of each treated arm and the control, in the arms' order.
    pub arms: Vec<ArmFindings>,
}

/// What weighting does to a treated arm and the control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmFindings {
    /// Inverse propensity weights of the control arm and of the treated arm.
    pub weights: [ArmWeights; 2],
    /// Balance of the features, worst before weighting first.
    pub balance: Vec<Balance>,
    /// Features whose balance was looked at; more than are listed when there are very many.
    pub n_balanced: usize,
}

/// The distribution of the predicted effects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectSummary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Share of rows with an effect above 0.
    pub above_zero: f64,
    /// Share of rows whose whole interval lies above 0; absent without intervals.
    pub surely_above: Option<f64>,
    /// Share of rows whose whole interval lies below 0.
    pub surely_below: Option<f64>,
    /// Whether each row was predicted by models that had not seen it.
    pub held_out: bool,
    /// Equal bins over the effects, outliers apart.
    pub histogram: Vec<Bin>,
    /// Rows below the first bin and above the last.
    #[serde(default)]
    pub outside: [usize; 2],
    /// Effects at equally spaced shares of the rows, lowest first.
    pub sorted: Vec<SortedEffect>,
}

/// Rows of one arm or of all in a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower end.
    pub from: f64,
    /// Upper end.
    pub to: f64,
    /// Rows.
    pub n: usize,
}

/// One point of the sorted effects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SortedEffect {
    /// Share of rows with a smaller effect.
    pub share: f64,
    /// The effect there.
    pub tau: f64,
    /// Its mean 95 % interval thereabouts, where the estimator gives one.
    pub band: Option<(f64, f64)>,
}

/// Rows of similar predicted effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EffectGroup {
    /// Rows.
    pub n: usize,
    /// Mean predicted effect.
    pub predicted: f64,
    /// Doubly robust estimate for the same rows.
    pub seen: Interval,
}

/// Rows that share a level of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subgroup {
    /// Feature.
    pub feature: String,
    /// Which rows, e.g. `female` or `31 to 45`.
    pub level: String,
    /// Rows.
    pub n: usize,
    /// Treated ones among them.
    pub n_treated: usize,
    /// Mean predicted effect.
    pub predicted: f64,
    /// Doubly robust estimate, its interval widened so that those of all subgroups that were looked at hold at once; absent
    /// where too few rows carry it.
    pub seen: Option<Interval>,
    /// Why it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The effect along a feature that is a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureCurve {
    /// Feature.
    pub feature: String,
    /// Rows of neighbouring values, lowest first.
    pub points: Vec<CurvePoint>,
}

/// Rows of neighbouring values of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Median of their values.
    pub at: f64,
    /// Which rows, e.g. `above 31, at most 45`.
    pub level: String,
    /// Rows.
    pub n: usize,
    /// Mean predicted effect.
    pub predicted: f64,
    /// Doubly robust estimate, its interval part of a band over all points of all features that were looked at; absent where
    /// too few rows carry it.
    pub seen: Option<Interval>,
}

/// A point of the targeting curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetPoint {
    /// Share of the rows, those with the largest predicted effects.
    pub share: f64,
    /// Their average effect less that of all rows, doubly robust.
    pub gain: f64,
    /// Standard error; absent where there is none.
    pub se: Option<f64>,
}

/// The average effect of a group that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedGroup {
    /// Column.
    pub column: String,
    /// Which of its values.
    pub level: String,
    /// Rows of the control arm and of the treated arm.
    pub n: [usize; 2],
    /// Effective ones among them.
    pub effective: [f64; 2],
    /// The effect with its own 95 % interval; absent where too few rows carry it.
    pub effect: Option<Interval>,
    /// Ends of the 95 % band over all groups.
    pub band: Option<(f64, f64)>,
    /// Why there is no effect.
    pub reason: Option<String>,
}

/// A tree over the predicted effects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectTree {
    /// Share of the predicted effects' variance that the tree's leaves account for.
    pub explained: f64,
    /// Rows that chose the questions, and rows that had no say in them, on which effects are seen.
    #[serde(default)]
    pub rows: [usize; 2],
    /// The root.
    pub root: EffectNode,
}

/// A node of the tree with the rows that reach it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectNode {
    /// Rows.
    pub n: usize,
    /// Mean predicted effect.
    pub predicted: f64,
    /// Doubly robust estimate from rows that did not choose the questions, its interval widened so that those of all nodes
    /// hold at once; absent where too few rows carry it.
    pub seen: Option<Interval>,
    /// How the rows divide; nothing at a leaf.
    pub split: Option<Box<EffectSplit>>,
}

/// A question with its two answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectSplit {
    /// Condition of the first branch, e.g. `age at most 45`.
    pub yes: String,
    /// Condition of the other.
    pub no: String,
    /// Rows that fulfil it.
    pub left: EffectNode,
    /// The others, missing values included where `no` says so.
    pub right: EffectNode,
}

/// Weights of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmWeights {
    /// Weights at some ranks, the largest first; ranks are spaced by ratio.
    pub ranks: Vec<WeightRank>,
    /// The generalised Pareto distribution fitted to the largest weights, when one could be fitted.
    pub tail: Option<Tail>,
}

/// A weight before and after smoothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WeightRank {
    /// 1 for the largest weight.
    pub rank: usize,
    /// Before smoothing.
    pub raw: f64,
    /// After.
    pub smoothed: f64,
}

/// A fitted tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Weights that make the tail.
    pub m: usize,
    /// Where it begins.
    pub from: f64,
    /// Scale.
    pub sigma: f64,
    /// Shape of the fit that smooths.
    pub xi: f64,
}

/// Distance between the arms in one feature, in standard deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Feature.
    pub name: String,
    /// Before weighting; absent when the feature tells the arms apart without varying within them.
    pub before: Option<f64>,
    /// After weighting.
    pub after: Option<f64>,
}

/// Overlap of a treated arm with the control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapSummary {
    /// The treated arm's value in the treatment column.
    pub arm: String,
    /// Propensities of the control rows.
    pub control: Vec<Bin>,
    /// Propensities of the treated rows, in the same bins.
    pub treated: Vec<Bin>,
    /// Lowest and highest propensity.
    pub range: (f64, f64),
    /// Control arm, treated arm.
    pub arms: [ArmOverlap; 2],
}

/// What is known about the weights of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArmOverlap {
    /// Rows.
    pub n: usize,
    /// Shape of the weights' tail; absent when it is too short or flat.
    pub khat: Option<f64>,
    /// Shapes above this are unreliable.
    pub khat_limit: f64,
    /// Effective rows of the raw, truncated and smoothed weights.
    pub effective: [f64; 3],
    /// Largest weight before smoothing.
    pub max_raw: f64,
    /// And after.
    pub max_smoothed: f64,
    /// Rows with a propensity near 0 or 1.
    pub at_risk: usize,
}

/// One training curve: an objective over steps, for one member of an ensemble.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What is shown, as a title.
    pub name: String,
    /// What its axis counts, in a word.
    pub axis: String,
    /// Member of the ensemble, from 0.
    pub member: usize,
    /// Step and value.
    pub points: Vec<(f64, f64)>,
    /// Step whose parameters were kept.
    pub kept: Option<f64>,
}

/// How the model was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Making {
    /// Version of paretau that fitted it.
    pub version: String,
    /// Seed.
    pub seed: u64,
    /// All parameters.
    pub params: Vec<Param>,
    /// Command that makes the same model again.
    pub command: String,
}

/// A parameter of the estimator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Value as it would be typed.
    pub value: String,
    /// The default, as it would be typed.
    pub default: String,
    /// What it does.
    pub help: String,
}

/// What an experiment's run gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecords {
    /// Name of the plan.
    pub name: String,
    /// What it is about, in a line.
    pub summary: String,
    /// What a reader should know, e.g. how the data differ from a publication's; may be empty.
    pub note: String,
    /// Version of paretau that wrote it.
    pub version: String,
    /// Cells of the plan.
    pub cells: usize,
    /// Cells with a record.
    pub done: usize,
    /// Hours of work in all cells together.
    pub hours: f64,
    /// Scores, in the order in which they were first recorded.
    pub scores: Vec<RunScore>,
    /// Cells that failed, with the reason.
    pub failures: Vec<String>,
    /// The figure.
    pub figure: Option<Figure>,
    /// Published numbers beside ours.
    pub published: Vec<RunPublished>,
    /// Methods against each other.
    pub comparison: Option<RunComparison>,
    /// Tails that an illustration fitted.
    pub tails: Vec<RunTail>,
}

/// A tail that an illustration fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunTail {
    /// Which smoothing.
    pub name: String,
    /// Weights that make its tail, softly counted.
    pub tail: f64,
    /// Scale.
    pub sigma: f64,
    /// Shape.
    pub xi: f64,
    /// Largest weight afterwards.
    pub largest: f64,
}

/// A published number beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPublished {
    /// Method.
    pub method: String,
    /// Metric.
    pub metric: String,
    /// Our data.
    pub data: String,
    /// Our mean.
    pub mean: f64,
    /// Our standard deviation; absent for a single value.
    pub sd: Option<f64>,
    /// The publication's data.
    pub published_data: String,
    /// Its mean.
    pub published_mean: f64,
    /// Its standard deviation.
    pub published_sd: f64,
}

/// Methods against each other, within realisations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// Metric, of which less is better.
    pub metric: String,
    /// Realisations that all methods finished.
    pub n: usize,
    /// Mean ranks, best first.
    pub ranks: Vec<(String, f64)>,
    /// The method that the study is about.
    pub hero: String,
    /// It against every other.
    pub pairs: Vec<RunPair>,
}

/// One method against another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPair {
    /// Data set, or `all`.
    pub data: String,
    /// The other method.
    pub against: String,
    /// Ratio of errors, below 1 when the other method's are larger.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// Realisations with the smaller error.
    pub wins: usize,
    /// Realisations.
    pub n: usize,
}

/// One metric of a method on a data set, over realisations and seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunScore {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Metric.
    pub metric: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation; absent for a single value.
    pub sd: Option<f64>,
    /// Values.
    pub n: usize,
}
