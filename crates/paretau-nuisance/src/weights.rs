//! Weights by propensity, computed once and handed on: inverse or balancing, smoothed, clipped or trimmed.
//!
//! For a row of arm `t` with propensity `e`, `e_t = P(t | x)` and `P(t)` the arm's share of the rows,
//!
//! - the inverse weight is `1/e_t`, which makes each arm look like all rows;
//! - the balancing weight is `1 + P(t)/P(1-t) (1/e_t - 1)`, which does so up to the arm's size.
//!
//! Poor overlap makes either wild. Whatever a [`Rule`] does about it is counted in [`Extreme`]; nothing is held within
//! bounds silently. The fitted tail is kept in a [`WeightMap`], by which rows to predict are weighted one by one as the
//! training rows were, whatever batch they come in.

use paretau_core::{Error, Result};
use paretau_kernels::KernelError;
use paretau_kernels::fallback::TailFit;
use paretau_kernels::numeric::{logit, sigmoid};
use paretau_kernels::pareto::{HardPareto, TailMap};
use paretau_kernels::per_arm::PerArm;
use paretau_kernels::psis::{Psis, TailRule};
use paretau_kernels::weights::MAX_EXPONENT;
pub use paretau_kernels::weights::Pooling;
use serde::{Deserialize, Serialize};

use crate::rows::same_length;

/// Propensities nearer to 0 or 1 than this are beyond the bound, where no other bound is asked for.
pub const BOUND: f64 = 0.01;

/// Propensities below this count as this in [`Rule::Psis`], which takes their logarithm; [`Extreme::floored`] counts how
/// many.
pub const LEAST_PROPENSITY: f64 = 1e-12;

/// No balancing weight is larger, so that sums of weights are finite; [`Extreme::capped`] counts how many would be.
pub const LARGEST_WEIGHT: f64 = f64::MAX / 1e6;

/// What weights are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `1/e_t`.
    Inverse,
    /// `1 + P(t)/P(1-t) (1/e_t - 1)`.
    Balancing,
}

/// What to do about propensities near 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Hold the propensity within bounds.
    Clip,
    /// Leave out the rows beyond the bounds: their weight is 0.
    Trim,
    /// Replace the largest weights by quantiles of a generalised Pareto tail fitted to them. With a bound, propensities
    /// are held within it first, and no weight goes beyond its inverse. Weights whose tail cannot be fitted (fewer than
    /// 25 rows, equal weights) are left as they are.
    Pareto,
    /// Pareto smoothing as `loo` and ArviZ do it, within each arm, then scaled so that each arm's weights sum to the
    /// number of all rows. For training rows only.
    Psis,
    /// Nothing.
    Raw,
}

impl Rule {
    /// The words for parameters.
    pub const CHOICES: &'static [&'static str] = &["clip", "trim", "pareto"];
}

/// How to weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightOptions {
    /// What weights are of.
    pub kind: Kind,
    /// What to do about poor overlap.
    pub rule: Rule,
    /// Lowest propensity (and one minus the highest) of clipping and trimming, above 0 and below 1/2; in Pareto
    /// smoothing, where propensities are held before. `None` is no bound.
    pub bound: Option<f64>,
    /// Whether the tail is fitted over all rows or within each arm.
    pub pooling: Pooling,
}

/// How many rows were extreme, so that what was done about them can be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extreme {
    /// Rows whose propensity is beyond the bound; under [`Rule::Trim`] they have weight 0 and take no part.
    pub beyond: usize,
    /// Rows whose raw weight was held at [`LARGEST_WEIGHT`].
    pub capped: usize,
    /// Rows whose propensity was raised to [`LEAST_PROPENSITY`].
    pub floored: usize,
}

/// Weights of some rows, before and after the rule, with all that is needed to weight new rows alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// What they are of.
    pub kind: Kind,
    /// As the propensities give them.
    pub raw: Vec<f64>,
    /// After the rule: what estimates use. Rows that the rule leaves out have 0.
    pub smooth: Vec<f64>,
    /// What became of the tail of each arm; the same twice when the tail is pooled. `None` without smoothing.
    pub fits: [Option<TailFit>; 2],
    /// How many rows were extreme.
    pub extreme: Extreme,
    /// Weights new rows as these were.
    pub map: WeightMap,
}

impl Weights {
    /// Weights from propensities and arms. Inverse weights need propensities strictly between 0 and 1.
    pub fn new(e: &[f64], t: &[u8], options: &WeightOptions) -> Result<Self> {
        check(e, t, options)?;
        let treated = t.iter().map(|&t| f64::from(t)).sum::<f64>();
        let mut map = WeightMap {
            kind: options.kind,
            rule: options.rule,
            bound: options.bound,
            share: treated / t.len() as f64,
            tails: [TailMap::identity(), TailMap::identity()],
        };
        if options.rule == Rule::Psis {
            return Ok(psis(e, t, map));
        }
        let mut extreme = Extreme::default();
        let raw: Vec<f64> = e
            .iter()
            .zip(t)
            .map(|(&e, &t)| {
                let w = map.raw(e, t);
                extreme.capped += usize::from(w >= LARGEST_WEIGHT);
                w
            })
            .collect();
        extreme.beyond = map.bound.map_or(0, |bound| e.iter().filter(|e| **e < bound || **e > 1.0 - bound).count());
        let held: Vec<f64> = e.iter().zip(t).map(|(&e, &t)| map.held(e, t)).collect();
        let mut fits = [None, None];
        let smooth = if map.rule == Rule::Pareto {
            let mut smooth = vec![0.0; held.len()];
            if options.pooling == Pooling::Pooled {
                let mut smoother = HardPareto::default();
                let fit = smoother.forward(&held, &mut smooth).map_err(|e| numeric(&e))?;
                (fits, map.tails) = ([Some(fit); 2], [smoother.tail_map(), smoother.tail_map()]);
            } else {
                let mut smoother = PerArm::new([HardPareto::default(), HardPareto::default()]);
                fits = smoother.forward(&held, t, &mut smooth).map_err(|e| numeric(&e))?.map(Some);
                map.tails = [0, 1].map(|arm| smoother.arms()[arm].tail_map());
            }
            smooth.iter_mut().for_each(|w| *w = map.below_bound(*w));
            smooth
        } else {
            held
        };
        if map.rule == Rule::Trim {
            for arm in [0, 1] {
                if !smooth.iter().zip(t).any(|(w, &a)| a == arm && *w > 0.0) {
                    return Err(Error::unfit(format!(
                        "trimming at propensity {} leaves no row of treatment {arm}: the arms hardly overlap; \
                         use a smaller `clip`, or `overlap = pareto`",
                        map.bound.unwrap_or_default()
                    )));
                }
            }
        }
        Ok(Self { kind: map.kind, raw, smooth, fits, extreme, map })
    }

    /// The inverse weights that averages, scores and pages stand on: Pareto-smoothed within each arm, none above that of a
    /// propensity at [`BOUND`].
    pub fn smoothed_inverse(e: &[f64], t: &[u8]) -> Result<Self> {
        Self::inverse(e, t, Rule::Pareto, BOUND)
    }

    /// Inverse weights by a rule with a bound, tails within each arm.
    pub fn inverse(e: &[f64], t: &[u8], rule: Rule, bound: f64) -> Result<Self> {
        Self::new(e, t, &WeightOptions { kind: Kind::Inverse, rule, bound: Some(bound), pooling: Pooling::PerArm })
    }

    /// Balancing weights, Pareto-smoothed with one tail of all rows, without a bound.
    pub fn balancing(e: &[f64], t: &[u8]) -> Result<Self> {
        let (kind, rule) = (Kind::Balancing, Rule::Pareto);
        Self::new(e, t, &WeightOptions { kind, rule, bound: None, pooling: Pooling::Pooled })
    }

    /// Per arm, whether a Pareto tail was fitted.
    pub fn smoothed(&self) -> [bool; 2] {
        self.fits.map(|fit| fit.is_some_and(|fit| fit.is_smoothed()))
    }

    /// The weights in use times the rows' own: what averages stand on.
    pub fn times(&self, row_weight: Option<&[f64]>) -> Vec<f64> {
        match row_weight {
            Some(own) => self.smooth.iter().zip(own).map(|(w, own)| w * own).collect(),
            None => self.smooth.clone(),
        }
    }
}

/// Weights rows one by one as a batch of training rows was weighted.
///
/// The fields are plain so that a model file can store them.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightMap {
    /// What weights are of.
    pub kind: Kind,
    /// What is done about poor overlap.
    pub rule: Rule,
    /// The bound of the rule.
    pub bound: Option<f64>,
    /// Share of treated rows among the training rows.
    pub share: f64,
    /// Tail of arm 0 and of arm 1; the same twice when it was fitted over all rows.
    pub tails: [TailMap; 2],
}

impl WeightMap {
    /// The map of Pareto-smoothed balancing weights with one tail of all rows.
    pub fn balancing(share: f64, tail: TailMap) -> Self {
        Self { kind: Kind::Balancing, rule: Rule::Pareto, bound: None, share, tails: [tail.clone(), tail] }
    }

    /// The weight of a row of known arm before the rule.
    pub fn raw(&self, e: f64, t: u8) -> f64 {
        match self.kind {
            Kind::Inverse => inverse(logit(e), t),
            Kind::Balancing => balancing(e, t, self.share),
        }
    }

    /// The weight of a row of known arm after the rule.
    pub fn weight(&self, e: f64, t: u8) -> Result<f64> {
        let held = self.held(e, t);
        if self.rule != Rule::Pareto {
            return Ok(held);
        }
        let smooth = self.tails[usize::from(t.min(1))].smooth(held).map_err(|e| numeric(&e))?;
        Ok(self.below_bound(smooth))
    }

    /// The weight with its propensity held within the bound; 0 where the rule leaves the row out.
    fn held(&self, e: f64, t: u8) -> f64 {
        let Some(bound) = self.bound else { return self.raw(e, t) };
        let (lo, hi) = (bound, 1.0 - bound);
        match (self.rule, self.kind) {
            (Rule::Trim, _) => {
                let sign = if t == 1 { 1.0 } else { -1.0 };
                if (lo..=hi).contains(&sigmoid(sign * logit(e))) { self.raw(e, t) } else { 0.0 }
            }
            (Rule::Clip, Kind::Inverse) => inverse(logit(e).clamp(logit(lo), logit(hi)), t),
            // A fit by moments would follow a single propensity of 1e-9, and lift the whole tail with it.
            (Rule::Pareto, Kind::Inverse) => {
                let limit = -logit(bound);
                inverse(logit(e).clamp(-limit, limit), t)
            }
            (Rule::Clip | Rule::Pareto, Kind::Balancing) => balancing(e.clamp(lo, hi), t, self.share),
            (Rule::Psis | Rule::Raw, _) => self.raw(e, t),
        }
    }

    /// A smoothed inverse weight, no larger than the bound's.
    fn below_bound(&self, w: f64) -> f64 {
        match (self.bound, self.kind) {
            (Some(bound), Kind::Inverse) => w.min(1.0 / bound),
            _ => w,
        }
    }
}

/// `1/e_t` from the logit, as the kernels weight batches: with equal shares the balancing weight is the inverse one.
fn inverse(logit: f64, t: u8) -> f64 {
    let sign = if t == 1 { 1.0 } else { -1.0 };
    1.0 + (sign * (0.0 - logit)).min(MAX_EXPONENT).exp()
}

fn balancing(e: f64, t: u8, share: f64) -> f64 {
    let odds = share / (1.0 - share);
    let w = if t == 1 { 1.0 + odds * (1.0 - e) / e } else { 1.0 + e / (1.0 - e) / odds };
    w.min(LARGEST_WEIGHT)
}

/// Weights by [`Rule::Psis`].
fn psis(e: &[f64], t: &[u8], map: WeightMap) -> Weights {
    let n = e.len();
    let mut weights = Weights {
        kind: map.kind,
        raw: e.iter().zip(t).map(|(&e, &t)| map.raw(e, t)).collect(),
        smooth: vec![0.0; n],
        fits: [None, None],
        extreme: Extreme::default(),
        map,
    };
    let mut psis = Psis::default();
    for arm in 0..2_u8 {
        let rows: Vec<usize> = (0..n).filter(|&i| t[i] == arm).collect();
        let received = |i: usize| if arm == 1 { e[i] } else { 1.0 - e[i] };
        weights.extreme.floored += rows.iter().filter(|&&i| received(i) < LEAST_PROPENSITY).count();
        let logs: Vec<f64> = rows.iter().map(|&i| -received(i).max(LEAST_PROPENSITY).ln()).collect();
        let mut smooth = logs.clone();
        // Too few rows for a tail: the weights stay as they are.
        let _ = psis.smooth_unnormalised(&logs, 1.0, TailRule::Loo, &mut smooth);
        let v: Vec<f64> = smooth.iter().map(|l| l.exp()).collect();
        let own = rows.len() as f64 / n as f64;
        let mean = v.iter().sum::<f64>() / v.len().max(1) as f64;
        rows.iter().zip(&v).for_each(|(&i, v)| weights.smooth[i] = v / (mean * own));
    }
    weights
}

fn check(e: &[f64], t: &[u8], options: &WeightOptions) -> Result<()> {
    same_length("propensity", t.len(), e.len())?;
    if t.is_empty() {
        return Err(Error::unfit("there are no rows to weight"));
    }
    let open = options.kind == Kind::Inverse && options.rule != Rule::Psis;
    let fine = |e: f64| if open { e > 0.0 && e < 1.0 } else { (0.0..=1.0).contains(&e) };
    if let Some(i) = e.iter().position(|e| !fine(*e)) {
        let range = if open { "strictly between 0 and 1" } else { "between 0 and 1" };
        return Err(Error::unfit(format!("propensity: row {} holds {}, not {range}", i + 1, e[i])));
    }
    if let Some(i) = t.iter().position(|t| *t > 1) {
        return Err(Error::unfit(format!("treatment: row {} holds {}, not 0 or 1", i + 1, t[i])));
    }
    match options.bound {
        Some(bound) if !(bound > 0.0 && bound < 0.5) => Err(Error::BadParameter {
            owner: "weights".into(),
            name: "bound".into(),
            value: bound.to_string(),
            expected: "a number above 0 and below 0.5".into(),
        }),
        None if matches!(options.rule, Rule::Clip | Rule::Trim) => Err(Error::BadParameter {
            owner: "weights".into(),
            name: "bound".into(),
            value: "none".into(),
            expected: "a number above 0 and below 0.5, to clip or trim by".into(),
        }),
        _ => Ok(()),
    }
}

/// A kernel's refusal of numbers that we made ourselves is a failure of the computation, not of the user's data.
fn numeric(error: &KernelError) -> Error {
    Error::Numeric { what: "Pareto smoothing of the weights", message: error.to_string() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    fn draw(n: usize) -> (Vec<f64>, Vec<u8>) {
        let mut rng = Seed(3).rng();
        let e: Vec<f64> = (0..n).map(|_| 1.0 / (1.0 + (-3.0 * rng.normal()).exp())).collect();
        let t = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        (e, t)
    }

    #[test]
    fn inverse_weights_clip_trim_and_smooth() {
        let n = 2000;
        let (e, t) = draw(n);
        let raw: Vec<f64> = e.iter().zip(&t).map(|(e, t)| if *t == 1 { 1.0 / e } else { 1.0 / (1.0 - e) }).collect();
        let clip = Weights::inverse(&e, &t, Rule::Clip, 0.05).unwrap();
        for i in 0..n {
            let w = clip.smooth[i];
            assert!((w - raw[i].min(20.0)).abs() < 1e-9 * raw[i] || w < 1.06, "{w} {}", raw[i]);
            assert!((clip.raw[i] / raw[i] - 1.0).abs() < 1e-9);
        }
        let trim = Weights::inverse(&e, &t, Rule::Trim, 0.05).unwrap();
        assert_eq!(trim.smooth.iter().filter(|w| **w == 0.0).count(), trim.extreme.beyond);
        let pareto = Weights::inverse(&e, &t, Rule::Pareto, 1e-4).unwrap();
        assert!(pareto.smooth.iter().all(|w| *w <= 1e4));
        assert_eq!(pareto.smoothed(), [true, true]);
        let changed = pareto.smooth.iter().zip(&raw).filter(|(a, b)| (*a - *b).abs() > 1e-9 * **b).count();
        assert!(changed > 100 && changed < 2 * 134 + 1, "{changed}");
        // A trial: equal weights are left alone.
        let flat = Weights::inverse(&[0.5; 60], &t[..60], Rule::Pareto, 0.01).unwrap();
        assert!(flat.smooth.iter().all(|w| (*w - 2.0).abs() < 1e-12) && flat.smoothed() == [false, false]);
        assert!(Weights::inverse(&[0.001, 0.999], &[0, 1], Rule::Trim, 0.01).is_err());
        assert!(Weights::inverse(&[0.0, 0.5], &[0, 1], Rule::Pareto, 0.01).is_err());
        assert!(Weights::inverse(&[0.4, 0.5], &[0, 1], Rule::Clip, 0.7).is_err());
    }

    #[test]
    fn rows_one_by_one_get_the_weights_of_their_batch() {
        let (e, t) = draw(1000);
        let all = [
            Weights::balancing(&e, &t).unwrap(),
            Weights::inverse(&e, &t, Rule::Pareto, BOUND).unwrap(),
            Weights::inverse(&e, &t, Rule::Clip, 0.05).unwrap(),
            Weights::inverse(&e, &t, Rule::Trim, 0.05).unwrap(),
        ];
        for weights in &all {
            for i in 0..1000 {
                let one = weights.map.weight(e[i], t[i]).unwrap();
                // Weights of several rows at the bound share the middle of their quantiles.
                let tied = weights.map.bound.is_some_and(|b| e[i] < b || e[i] > 1.0 - b);
                assert!(tied || (one / weights.smooth[i] - 1.0).abs() < 1e-9 || one == weights.smooth[i], "{i}");
                assert_eq!(weights.map.raw(e[i], t[i]), weights.raw[i]);
            }
        }
        // The two kinds agree up to the arms' sizes.
        let odds = all[0].map.share / (1.0 - all[0].map.share);
        for i in 0..1000 {
            let of_arm = if t[i] == 1 { odds } else { 1.0 / odds };
            let balancing = 1.0 + of_arm * (all[1].raw[i] - 1.0);
            assert!((balancing / all[0].raw[i] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn nothing_is_bounded_silently() {
        let sure = Weights::balancing(&[0.0, 0.5, 1.0, 0.5], &[1, 0, 1, 0]).unwrap();
        assert_eq!((sure.extreme.capped, sure.raw[0]), (1, LARGEST_WEIGHT));
        let options = WeightOptions { kind: Kind::Inverse, rule: Rule::Psis, bound: None, pooling: Pooling::PerArm };
        let psis = Weights::new(&[0.0, 0.5, 0.25, 0.5], &[1, 0, 1, 0], &options).unwrap();
        assert_eq!(psis.extreme.floored, 1);
        let (e, t) = draw(500);
        let psis = Weights::new(&e, &t, &options).unwrap();
        for arm in [0, 1] {
            let sum: f64 = psis.smooth.iter().zip(&t).filter(|(_, a)| **a == arm).map(|(w, _)| w).sum();
            assert!((sum - 500.0).abs() < 1e-6, "{sum}");
        }
        assert_eq!(psis.times(Some(&[2.0; 500]))[7], 2.0 * psis.smooth[7]);
    }
}
