//! Do the arms overlap? Propensities by arm, tails of the inverse weights, effective sample sizes, rows at risk, and
//! what all that means in words.

use paretau_core::{Error, Result, Warning};
use paretau_kernels::KernelError;
use paretau_kernels::ess::ess;
use paretau_kernels::psis::{Psis, TailRule, khat_threshold};
use serde::{Deserialize, Serialize};

use crate::rows::same_length;
use crate::weights::{Rule, Weights};

/// Bins of the propensity histogram.
const BINS: usize = 20;

/// Effective rows in either arm below which no average is reported.
pub const LEAST_EFFECTIVE_ROWS: f64 = 10.0;

/// Weights that leave so large a share of an arm's rows effective do no harm.
pub(crate) const HARDLY_ANY_LOSS: f64 = 0.8;

/// The average over everyone is not the headline any more when smoothed weights leave less than this share of an arm's rows
/// effective, or more than that share of all rows lies beyond the bound of the weights.
pub(crate) const LEAST_SHARE: f64 = 0.2;
pub(crate) const MOST_BEYOND: f64 = 0.02;

/// Rows of an arm below which the tail of its weights cannot be assessed, and below which a rare arm is worth a word.
const LEAST_ROWS: usize = 25;
const FEW_ROWS: usize = 100;

/// Share of the rows that the features tell apart, up to which many rows at risk only mean that an arm is rare.
const MOST_APART: f64 = 0.05;

/// What counts as a risk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverlapOptions {
    /// Propensities are truncated to `[bound, 1 - bound]` for the truncated weights (Crump et al. 2009: 0.1).
    pub truncate: f64,
    /// Rows with a propensity below this, or above one minus this, are at risk.
    pub risk: f64,
}

impl Default for OverlapOptions {
    fn default() -> Self {
        Self { truncate: 0.1, risk: 0.05 }
    }
}

/// Rows of each arm whose propensity lies in a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PropensityBin {
    /// Lower end.
    pub from: f64,
    /// Upper end.
    pub to: f64,
    /// Rows without treatment.
    pub control: usize,
    /// Rows with treatment.
    pub treated: usize,
}

/// The weights of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArmOverlap {
    /// Rows.
    pub n: usize,
    /// Shape of the weights' tail by the fit that `loo` and ArviZ use; `None` when the tail is too short or flat.
    pub khat: Option<f64>,
    /// Above this k-hat, weighted averages of so many rows are unreliable.
    pub khat_threshold: f64,
    /// Effective sample size of the raw weights.
    pub ess_raw: f64,
    /// Of the truncated weights.
    pub ess_truncated: f64,
    /// Of the smoothed weights.
    pub ess_smoothed: f64,
    /// Largest raw weight.
    pub max_raw: f64,
    /// Largest smoothed weight.
    pub max_smoothed: f64,
    /// Whether a Pareto tail could be fitted, or the weights were left as they are.
    pub smoothed: bool,
    /// Rows at risk.
    pub at_risk: usize,
}

impl ArmOverlap {
    /// Whether the tail is known to be too heavy, and weighting costs rows: k-hat describes the shape of a tail and not its
    /// size, and weights that hardly differ cannot mislead, whatever their tail looks like.
    pub fn unreliable(&self) -> bool {
        self.khat.is_some_and(|k| k > self.khat_threshold) && self.ess_raw < HARDLY_ANY_LOSS * self.n as f64
    }
}

/// Everything about overlap that a user should see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapReport {
    /// Propensities by arm.
    pub histogram: Vec<PropensityBin>,
    /// Control arm, treated arm.
    pub arms: [ArmOverlap; 2],
    /// Lowest and highest propensity.
    pub range: (f64, f64),
    /// Rows whose propensity is beyond the risk bound, most extreme first.
    pub rows_at_risk: Vec<usize>,
    /// Rows whose weights were held at a largest one.
    #[serde(default)]
    pub held: Held,
    /// In words, most important first.
    pub warnings: Vec<Warning>,
}

/// How many rows have a propensity beyond the bound of the weights, and which bound that is: no weight is larger than its
/// inverse.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Rows.
    pub n: usize,
    /// Lowest propensity that weights take at its word.
    pub bound: f64,
}

impl OverlapReport {
    /// Why an average over everyone would rest on extrapolation; `None` when it does not.
    pub fn extrapolates(&self) -> Option<String> {
        let n: usize = self.arms.iter().map(|arm| arm.n).sum();
        let beyond = self.held.n as f64 / n.max(1) as f64;
        if beyond > MOST_BEYOND {
            let (bound, percent) = (self.held.bound, 100.0 * beyond);
            return Some(format!(
                "{percent:.0} % of the rows have a propensity below {bound} or above {}, so that hardly anyone in the \
                 other arm is comparable to them",
                1.0 - bound
            ));
        }
        for (arm, name) in self.arms.iter().zip(["untreated", "treated"]) {
            if arm.ess_smoothed < LEAST_SHARE * arm.n as f64 {
                return Some(format!(
                    "the effective sample size of the {name} rows is {:.0} of {}",
                    arm.ess_smoothed, arm.n
                ));
            }
            if arm.unreliable() {
                return Some(format!(
                    "the weights of the {name} rows have a heavy tail (k-hat {:.2}, above {:.2})",
                    arm.khat.unwrap_or_default(),
                    arm.khat_threshold
                ));
            }
        }
        None
    }

    /// The report in a few lines, without its warnings.
    pub fn in_words(&self) -> Vec<String> {
        let (low, high) = self.range;
        let (low, high) = (format!("{low:.3}"), format!("{high:.3}"));
        let range =
            if low == high { format!("propensities of {low}") } else { format!("propensities from {low} to {high}") };
        let mut lines = vec![range];
        for (name, arm) in ["control", "treated"].into_iter().zip(&self.arms) {
            let khat =
                arm.khat.map_or("no tail".to_owned(), |k| format!("k-hat {k:.2} (limit {:.2})", arm.khat_threshold));
            lines.push(format!(
                "{name}: {} {}, {khat}; effective sample size {:.0} with raw weights, {:.0} truncated, {:.0} smoothed",
                arm.n,
                if arm.n == 1 { "row" } else { "rows" },
                arm.ess_raw,
                arm.ess_truncated,
                arm.ess_smoothed
            ));
        }
        let Held { n, bound } = self.held;
        if n > 0 {
            lines.push(format!(
                "{n} row{} a propensity below {bound} or above {}: no weight is larger than {:.0}",
                if n == 1 { " has" } else { "s have" },
                1.0 - bound,
                1.0 / bound
            ));
        }
        lines
    }
}

/// The report about the inverse weights that averages use, from propensities strictly between 0 and 1. Where rows have
/// weights of their own, averages stand on the products of both, and so do k-hat and the effective sizes.
pub fn overlap_report(
    e: &[f64],
    weights: &Weights,
    (t, row_weight): (&[u8], Option<&[f64]>),
    options: &OverlapOptions,
) -> Result<OverlapReport> {
    same_length("propensity", t.len(), e.len())?;
    same_length("weights", t.len(), weights.smooth.len())?;
    if let Some(row_weight) = row_weight {
        same_length("row weights", t.len(), row_weight.len())?;
    }
    let truncated = Weights::inverse(e, t, Rule::Clip, options.truncate)?.smooth;
    let (raw, smooth, fitted) = (&weights.raw, &weights.smooth, weights.smoothed());
    let (mut arms, mut khat_alone) = (Vec::with_capacity(2), Vec::with_capacity(2));
    for arm in [0_u8, 1] {
        let pick = |w: &[f64]| -> Vec<f64> { w.iter().zip(t).filter(|(_, a)| **a == arm).map(|(w, _)| *w).collect() };
        let (own_raw, own_smooth) = (pick(raw), pick(smooth));
        let own_rows = row_weight.map(pick);
        let counted = |w: Vec<f64>| match &own_rows {
            Some(rows) => w.iter().zip(rows).map(|(w, row)| w * row).collect(),
            None => w,
        };
        let khat = khat(&counted(own_raw.clone()))?;
        let alone = if own_rows.is_some() { self::khat(&own_raw)? } else { khat };
        let largest = |w: &[f64]| w.iter().copied().fold(0.0, f64::max);
        arms.push(ArmOverlap {
            n: own_raw.len(),
            khat,
            khat_threshold: khat_threshold(own_raw.len()).max(0.0),
            ess_raw: ess(&counted(own_raw.clone())).map_err(|e| kernel(&e))?,
            ess_truncated: ess(&counted(pick(&truncated))).map_err(|e| kernel(&e))?,
            ess_smoothed: ess(&counted(own_smooth.clone())).map_err(|e| kernel(&e))?,
            max_raw: largest(&own_raw),
            max_smoothed: largest(&own_smooth),
            smoothed: fitted[usize::from(arm)],
            at_risk: pick(e).iter().filter(|e| risky(**e, options.risk)).count(),
        });
        khat_alone.push(alone);
    }
    let arms = [arms[0], arms[1]];
    let mut rows_at_risk: Vec<usize> = (0..e.len()).filter(|&i| risky(e[i], options.risk)).collect();
    rows_at_risk.sort_by(|&a, &b| e[a].min(1.0 - e[a]).total_cmp(&e[b].min(1.0 - e[b])).then(a.cmp(&b)));
    let range = e.iter().fold((1.0_f64, 0.0_f64), |(lo, hi), e| (lo.min(*e), hi.max(*e)));
    let share = t.iter().filter(|t| **t == 1).count() as f64 / t.len().max(1) as f64;
    let apart = e.iter().filter(|e| told_apart(**e, share, options.risk)).count();
    let warnings = overlap_warnings(&arms, &khat_alone, (rows_at_risk.len(), apart, e.len()), options);
    let held = Held { n: weights.extreme.beyond, bound: weights.map.bound.unwrap_or(0.0) };
    Ok(OverlapReport { histogram: histogram(e, t), arms, range, rows_at_risk, held, warnings })
}

/// Shape of the tail of the positive weights; `None` when it is too short or flat.
pub(crate) fn khat(w: &[f64]) -> Result<Option<f64>> {
    let logs: Vec<f64> = w.iter().filter(|w| **w > 0.0).map(|w| w.ln()).collect();
    if logs.is_empty() {
        return Ok(None);
    }
    let mut scratch = vec![0.0; logs.len()];
    let khat = Psis::default().smooth_unnormalised(&logs, 1.0, TailRule::Loo, &mut scratch).map_err(|e| kernel(&e))?;
    Ok(Some(khat).filter(|k| k.is_finite()))
}

fn kernel(error: &KernelError) -> Error {
    Error::Numeric { what: "overlap diagnostics", message: error.to_string() }
}

fn risky(e: f64, bound: f64) -> bool {
    e < bound || e > 1.0 - bound
}

/// Whether a row's features, and not only how rare its arm is, put it at risk: its propensity if both arms were as large as each
/// other. In a trial that treats one row in fifty, none are.
fn told_apart(e: f64, share: f64, bound: f64) -> bool {
    let odds = e / (1.0 - e) * (1.0 - share) / share;
    risky(odds / (1.0 + odds), bound)
}

fn histogram(e: &[f64], t: &[u8]) -> Vec<PropensityBin> {
    let mut bins: Vec<PropensityBin> = (0..BINS)
        .map(|k| PropensityBin {
            from: k as f64 / BINS as f64,
            to: (k + 1) as f64 / BINS as f64,
            control: 0,
            treated: 0,
        })
        .collect();
    for (e, &arm) in e.iter().zip(t) {
        let bin = &mut bins[((e * BINS as f64) as usize).min(BINS - 1)];
        if arm == 1 { bin.treated += 1 } else { bin.control += 1 }
    }
    bins
}

/// Warnings with their remedies, worst first. `khat_alone` are those of the inverse propensities without the rows' own
/// weights.
fn overlap_warnings(
    arms: &[ArmOverlap; 2],
    khat_alone: &[Option<f64>],
    (at_risk, apart, n): (usize, usize, usize),
    options: &OverlapOptions,
) -> Vec<Warning> {
    let mut out = Vec::new();
    let mut warn = |code: &str, message: String| out.push(Warning { code: code.to_owned(), message });
    for ((arm, name), alone) in arms.iter().zip(["untreated", "treated"]).zip(khat_alone) {
        if arm.unreliable() {
            // Smoothing mends tails of propensities, not weights that the user wants rows to have.
            let remedy = if alone.is_some_and(|k| k > arm.khat_threshold) {
                "Prefer Pareto-smoothed weights or the overlap-weighted effect, or leave out the rows at risk."
            } else {
                "It comes from the weight column, which smoothing leaves as it is: check its largest values."
            };
            warn(
                "heavy-tail",
                format!(
                    "The weights of the {name} rows have a heavy tail (k-hat {:.2}, above {:.2}): a few rows decide \
                     what weighting gives. {remedy}",
                    arm.khat.unwrap_or_default(),
                    arm.khat_threshold
                ),
            );
        }
    }
    for (arm, name) in arms.iter().zip(["untreated", "treated"]) {
        if arm.ess_raw < 0.2 * arm.n as f64 {
            warn(
                "small-effective-sample",
                format!(
                    "The {} {name} rows are worth only {:.0} after weighting ({:.0} with smoothed weights).",
                    arm.n, arm.ess_raw, arm.ess_smoothed
                ),
            );
        }
        if arm.n < LEAST_ROWS {
            warn(
                "few-rows",
                match arm.n {
                    1 => format!("There is only 1 {name} row: too few to assess the tail of its weights."),
                    n => format!("There are only {n} {name} rows: too few to assess the tail of their weights."),
                },
            );
        }
    }
    let share = at_risk as f64 / n.max(1) as f64;
    if share > 0.5 && apart as f64 <= MOST_APART * n as f64 {
        let rarer = usize::from(arms[1].n < arms[0].n);
        let ArmOverlap { n: few, .. } = arms[rarer];
        // Of fewer it has been said above, and many rows are enough, however many more the other arm has.
        if (LEAST_ROWS..FEW_ROWS).contains(&few) {
            warn(
                "few-rows",
                format!(
                    "There are only {few} {} rows among {n}: averages hang on them, and so do their intervals.",
                    ["untreated", "treated"][rarer]
                ),
            );
        }
    } else if share > 0.5 {
        warn(
            "arms-hardly-overlap",
            format!(
                "{:.0} % of the rows have a propensity below {} or above {}: the features nearly tell the arms apart, \
                 and effects rest on extrapolation. Arms this different in what was measured may also differ in what was \
                 not; no interval covers that, not even the one over the treated: see `sensitivity`. Check that no feature was \
                 measured after treatment.",
                100.0 * share,
                options.risk,
                1.0 - options.risk
            ),
        );
    } else if share > 0.05 {
        warn(
            "rows-at-risk",
            format!(
                "{at_risk} rows ({:.0} %) have a propensity below {} or above {}: few comparable rows exist in the \
                 other arm, so their effects are uncertain.",
                100.0 * share,
                options.risk,
                1.0 - options.risk
            ),
        );
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    fn report_of(e: &[f64], t: &[u8], row_weight: Option<&[f64]>) -> (OverlapReport, Weights) {
        let weights = Weights::smoothed_inverse(e, t).unwrap();
        (overlap_report(e, &weights, (t, row_weight), &OverlapOptions::default()).unwrap(), weights)
    }

    fn draw(strength: f64, n: usize) -> (Vec<f64>, Vec<u8>) {
        let mut rng = Seed(6).rng();
        let e: Vec<f64> = (0..n).map(|_| 1.0 / (1.0 + (-strength * rng.normal()).exp())).collect();
        let t = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        (e, t)
    }

    #[test]
    fn good_overlap_is_quiet() {
        let (e, t) = draw(0.5, 1000);
        let (report, weights) = report_of(&e, &t, None);
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        assert_eq!(report.histogram.iter().map(|b| b.control + b.treated).sum::<usize>(), 1000);
        for i in 0..1000 {
            let raw = if t[i] == 1 { 1.0 / e[i] } else { 1.0 / (1.0 - e[i]) };
            assert!((weights.raw[i] / raw - 1.0).abs() < 1e-9);
        }
        assert!(report.arms.iter().all(|a| a.ess_raw > 0.8 * a.n as f64 && a.khat.unwrap() < a.khat_threshold));
        // A trial has nothing to fit and nothing to fear.
        let (flat, _) = report_of(&[0.5; 1000], &t, None);
        assert!(flat.warnings.is_empty() && flat.arms[0].khat.is_none() && !flat.arms[0].smoothed);
    }

    #[test]
    fn a_trial_with_estimated_propensities_raises_no_alarm() {
        // Estimated propensities of a trial scatter closely about one half, and a few rows with odd features scatter more:
        // the tail's shape is as heavy as can be, and its size is nothing.
        let mut rng = Seed(3).rng();
        let n = 21_306_u32;
        let e: Vec<f64> = (0..n)
            .map(|_| {
                let odd = 1.0 / rng.uniform().max(1e-3);
                (0.5 + 1e-4 * odd * if rng.bernoulli(0.5) { 1.0 } else { -1.0 }).clamp(0.35, 0.65)
            })
            .collect();
        let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
        let (report, _) = report_of(&e, &t, None);
        let [control, treated] = &report.arms;
        assert!(control.ess_raw + treated.ess_raw > 0.999 * f64::from(n));
        assert!(report.warnings.is_empty() && report.extrapolates().is_none(), "{:?}", report.warnings);
    }

    #[test]
    fn a_rare_arm_is_not_told_apart() {
        // One row in fifty is treated by lot: every propensity is small, and none says anything about its row.
        let codes = |n: usize| -> Vec<String> {
            let mut rng = Seed(4).rng();
            let e: Vec<f64> = (0..n).map(|_| 0.02 + 0.002 * rng.uniform()).collect();
            let t: Vec<u8> = (0..n).map(|i| u8::from(i % 50 == 0)).collect();
            report_of(&e, &t, None).0.warnings.into_iter().map(|w| w.code).collect()
        };
        assert_eq!(codes(50_000), [""; 0]);
        assert_eq!(codes(2000), ["few-rows"]);
        // Where features do tell them apart, that is said.
        let mut rng = Seed(4).rng();
        let e: Vec<f64> = (0..2000).map(|_| 0.5 / (1.0 + (3.0 + 6.0 * rng.normal()).exp())).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let warnings = report_of(&e, &t, None).0.warnings;
        assert!(warnings.iter().any(|w| w.code == "arms-hardly-overlap"), "{warnings:?}");
    }

    #[test]
    fn poor_overlap_gives_warnings() {
        let (e, t) = draw(4.0, 2000);
        let (report, weights) = report_of(&e, &t, None);
        let codes: Vec<&str> = report.warnings.iter().map(|w| w.code.as_str()).collect();
        assert!(codes.contains(&"rows-at-risk") || codes.contains(&"arms-hardly-overlap"), "{codes:?}");
        assert!(report.arms.iter().any(ArmOverlap::unreliable) == codes.contains(&"heavy-tail"));
        for arm in &report.arms {
            assert!(arm.ess_truncated > arm.ess_raw && arm.ess_smoothed > 0.0 && arm.smoothed);
        }
        let worst = report.rows_at_risk[0];
        assert!(e[worst] == report.range.0 || e[worst] == report.range.1);
        assert!(weights.smoothed() == [true; 2] && weights.smooth.iter().all(|w| w.is_finite()));
        assert!(Weights::smoothed_inverse(&[0.0, 0.5], &[0, 1]).is_err());
    }

    #[test]
    fn weights_of_rows_count_in_tails_and_effective_sizes() {
        let (e, t) = draw(0.5, 1000);
        let report = |row_weight: &[f64]| report_of(&e, &t, Some(row_weight)).0;
        let plain = report_of(&e, &t, None).0;
        // Their scale means nothing.
        let doubled = report(&[2.0; 1000]);
        for (a, b) in plain.arms.iter().zip(&doubled.arms) {
            assert!((a.ess_raw - b.ess_raw).abs() < 1e-6 && (a.khat.unwrap() - b.khat.unwrap()).abs() < 1e-9);
        }
        // Rows that count nothing are not there; the propensities' weights are undone by weights that are their inverse.
        let none: Vec<f64> = (0..1000).map(|i| if i % 2 == 0 { 1.0 } else { 0.0 }).collect();
        assert!(report(&none).arms.iter().all(|a| a.ess_raw <= 0.55 * a.n as f64));
        let undone: Vec<f64> = e.iter().zip(&t).map(|(e, t)| if *t == 1 { *e } else { 1.0 - e }).collect();
        assert!(report(&undone).arms.iter().all(|a| (a.ess_raw - a.n as f64).abs() < 1e-6));
        // A few rows that outweigh all others give a warning, which adds that smoothing is no help.
        let heavy: Vec<f64> = (1..=1000).map(|i| (1000.0 / f64::from(i)).powi(2)).collect();
        let overlap = report(&heavy);
        assert!(overlap.arms.iter().all(|a| a.unreliable() && a.ess_raw < 10.0), "{:?}", overlap.arms);
        assert!(overlap.warnings.iter().any(|w| w.message.contains("weight column")), "{:?}", overlap.warnings);
        let weights = Weights::smoothed_inverse(&e, &t).unwrap();
        assert!(overlap_report(&e, &weights, (&t, Some(&[1.0])), &OverlapOptions::default()).is_err());
    }
}
