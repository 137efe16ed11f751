//! Average effects by augmented inverse propensity weighting, with standard errors clustered by groups.
//!
//! Inverse weights come in ready-made (clipped, trimmed, Pareto-smoothed), so that one treatment of poor overlap
//! serves scores, averages and diagnostics alike; a weight of 0 leaves its row out.

use std::borrow::Cow;

use paretau_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::bands::Influenced;
use crate::inference::Score;
use crate::nuisances::Nuisance;
use crate::rows::{Observed, same_length};
use crate::scores::doubly_robust_score;

/// Whose average effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimand {
    /// Everyone (ATE).
    All,
    /// Those who were treated (ATT).
    Treated,
    /// Those who were not (ATC).
    Controls,
    /// Everyone, weighted by e(1 - e): those who could well have been in either arm. Needs no inverse weights, so poor
    /// overlap cannot hurt it.
    Overlap,
}

impl Estimand {
    /// All of them, with the usual abbreviations.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("ate", Self::All), ("att", Self::Treated), ("atc", Self::Controls), ("ato", Self::Overlap)];
}

/// An average effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AverageEffect {
    /// Whose.
    pub estimand: Estimand,
    /// The estimate and its standard error.
    #[serde(flatten)]
    pub score: Score,
    /// Rows that took part.
    pub n: usize,
}

/// The average effect of the rows, by nuisances that did not see them and inverse weights `1/P(t | x)`.
///
/// - all: mean of `mu1 - mu0 + w (2t - 1)(y - mu_t)`;
/// - treated: `Σ [t (y - mu0) - (1 - t)(w - 1)(y - mu0)] / Σ t`, and controls the other way round;
/// - overlap: slope of `y - m` on `t - e`.
pub fn average_effect(
    rows: &Observed<'_>,
    nuisance: &Nuisance,
    inverse_weights: &[f64],
    estimand: Estimand,
) -> Result<AverageEffect> {
    rows.check()?;
    let n = rows.len();
    nuisance.check(n)?;
    same_length("inverse weights", n, inverse_weights.len())?;
    let all: Vec<usize> = (0..n).collect();
    let average = average_of_rows(rows, nuisance, inverse_weights, estimand, &all)?;
    let mut influence = vec![0.0; n];
    average.rows.iter().zip(&average.influence).for_each(|(&i, psi)| influence[i] = *psi);
    let score = Score::of_influence(average.score.value, &influence, rows.groups);
    let score = average.score.df.map_or(score, |df| score.with_most_df(df));
    if score.finite().is_none() {
        return Err(overflow());
    }
    Ok(AverageEffect { estimand, score, n: average.rows.len() })
}

/// The average effect of some of the rows, with their influence on it. Lengths have been checked.
pub fn average_of_rows<'s>(
    rows: &Observed<'_>,
    nuisance: &Nuisance,
    inverse_weights: &[f64],
    estimand: Estimand,
    subset: &'s [usize],
) -> Result<Influenced<'s>> {
    // Each row adds `gain` to the numerator and `size` to the denominator of the estimate.
    let part = |i: usize| -> (f64, f64) {
        let (t, y, iw) = (f64::from(rows.t[i]), rows.y[i], inverse_weights[i]);
        let (mu0, mu1) = (nuisance.mu0[i], nuisance.mu1[i]);
        match estimand {
            Estimand::All => (doubly_robust_score(rows.t[i], y, (mu0, mu1), iw), 1.0),
            Estimand::Treated => ((y - mu0) * if rows.t[i] == 1 { 1.0 } else { 1.0 - iw }, t),
            Estimand::Controls => ((y - mu1) * if rows.t[i] == 0 { -1.0 } else { iw - 1.0 }, 1.0 - t),
            Estimand::Overlap => {
                let gap = t - nuisance.e[i];
                (gap * (y - nuisance.m[i]), gap * gap)
            }
        }
    };
    let counts = |i: usize| estimand == Estimand::Overlap || inverse_weights[i] > 0.0;
    let kept: Cow<'s, [usize]> = if subset.iter().all(|&i| counts(i)) {
        Cow::Borrowed(subset)
    } else {
        subset.iter().copied().filter(|&i| counts(i)).collect()
    };
    let (mut gain, mut size) = (0.0, 0.0);
    for &i in kept.iter() {
        let (g, s) = part(i);
        gain += rows.w(i) * g;
        size += rows.w(i) * s;
    }
    if size.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return Err(Error::unfit("no row is left to average over; trim less or choose another estimand"));
    }
    let value = gain / size;
    let influence = kept
        .iter()
        .map(|&i| {
            let (g, s) = part(i);
            rows.w(i) * (g - s * value) / size
        })
        .collect();
    // A handful of influences shows less of its kurtosis than there is: as with the means of two samples, an error has no more
    // degrees of freedom than the smaller arm, here in effective rows.
    let effective = effective_rows(rows, nuisance, inverse_weights, estimand, &kept);
    let mut average = Influenced::new(value, kept, influence, rows.groups);
    average.score = average.score.with_most_df(effective[0].min(effective[1]) - 1.0);
    if average.score.finite().is_none() {
        return Err(overflow());
    }
    Ok(average)
}

fn overflow() -> Error {
    Error::Numeric { what: "the average effect", message: "the weights overflow".into() }
}

/// Effective rows of each arm among some rows: how many equally weighted rows would be worth as much, for what each row
/// counts in the average.
pub fn effective_rows(
    rows: &Observed<'_>,
    nuisance: &Nuisance,
    inverse_weights: &[f64],
    estimand: Estimand,
    subset: &[usize],
) -> [f64; 2] {
    let weight = |i: usize| {
        let (treated, iw) = (rows.t[i] == 1, inverse_weights[i]);
        let counted = match estimand {
            Estimand::All => iw,
            Estimand::Treated => {
                if treated {
                    1.0
                } else {
                    iw - 1.0
                }
            }
            Estimand::Controls => {
                if treated {
                    iw - 1.0
                } else {
                    1.0
                }
            }
            Estimand::Overlap => (f64::from(rows.t[i]) - nuisance.e[i]).abs(),
        };
        counted.max(0.0) * rows.w(i)
    };
    [0, 1].map(|arm| {
        let (mut sum, mut squares) = (0.0, 0.0);
        for &i in subset.iter().filter(|&&i| rows.t[i] == arm) {
            let w = weight(i);
            (sum, squares) = (sum + w, squares + w * w);
        }
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;
    use crate::ols::ols;

    fn inverse(e: &[f64], t: &[u8]) -> Vec<f64> {
        e.iter().zip(t).map(|(e, t)| if *t == 1 { 1.0 / e } else { 1.0 / (1.0 - e) }).collect()
    }

    #[test]
    fn by_hand() {
        let (t, y) = ([1, 0, 1, 0], [4.0, 1.0, 6.0, 2.0]);
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(vec![1.0; 4], vec![3.0; 4], vec![0.5; 4]);
        let iw = inverse(&nuisance.e, &t);
        let of = |estimand| average_effect(&rows, &nuisance, &iw, estimand).unwrap().score.value;
        // Scores: 2 + 2·1, 2 - 0, 2 + 2·3, 2 - 2·1.
        assert!((of(Estimand::All) - (4.0 + 2.0 + 8.0 + 0.0) / 4.0).abs() < 1e-12);
        // (3 + 5 - (0 + 1)) / 2.
        assert!((of(Estimand::Treated) - 3.5).abs() < 1e-12);
        // (2 + 1 + (1 + 3)) / 2.
        assert!((of(Estimand::Controls) - 3.5).abs() < 1e-12);
        // Residuals 2, -1, 4, 0 (m = 2), gaps ±1/2: (1 + .5 + 2 + 0) / 1.
        assert!((of(Estimand::Overlap) - 3.5).abs() < 1e-12);
        let trimmed = average_effect(&rows, &nuisance, &[2.0, 2.0, 0.0, 2.0], Estimand::All).unwrap();
        assert!((trimmed.score.value - 2.0).abs() < 1e-12 && trimmed.n == 3);
    }

    /// One data set with a known average effect of 1 (2 for the treated), nuisances from the other half.
    fn replicate(seed: u64) -> [(f64, Score); 3] {
        let n = 400;
        let mut rng = Seed(seed).rng();
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let e: Vec<f64> = x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let y: Vec<f64> = (0..n).map(|i| x[i] + f64::from(t[i]) * (1.0 + x[i]) + rng.normal()).collect();
        let (mut mu0, mut mu1) = (vec![0.0; n], vec![0.0; n]);
        for half in 0..2 {
            for (arm, mu) in [(0, &mut mu0), (1, &mut mu1)] {
                let learn: Vec<usize> = (0..n).filter(|i| i % 2 != half && t[*i] == arm).collect();
                let columns = [vec![1.0; learn.len()], learn.iter().map(|&i| x[i]).collect()];
                let outcome: Vec<f64> = learn.iter().map(|&i| y[i]).collect();
                let fit = ols(&columns, &outcome, &vec![1.0; learn.len()], None).unwrap();
                (0..n).filter(|i| i % 2 == half).for_each(|i| mu[i] = fit[0].value + fit[1].value * x[i]);
            }
        }
        let iw = inverse(&e, &t);
        let nuisance = Nuisance::from_arms(mu0, mu1, e);
        let rows = Observed::new(&t, &y).unwrap();
        // E[x | treated] = E[x sigmoid(x)] / E[sigmoid(x)] = 2 E[x sigmoid(x)] = 2 E[sigmoid'(x)] = 0.4132.
        [(1.0, Estimand::All), (1.413_241_5, Estimand::Treated), (1.0, Estimand::Overlap)]
            .map(|(truth, estimand)| (truth, average_effect(&rows, &nuisance, &iw, estimand).unwrap().score))
    }

    #[test]
    fn intervals_cover() {
        let mut hits = [0; 3];
        for seed in 0..200 {
            for (k, (truth, score)) in replicate(1000 + seed).into_iter().enumerate() {
                let (lo, hi) = score.interval(0.95).unwrap();
                hits[k] += i32::from(lo <= truth && truth <= hi);
            }
        }
        assert!(hits.iter().all(|h| (180..=198).contains(h)), "{hits:?} of 200");
    }

    #[test]
    fn repeated_rows_need_clustered_errors() {
        let (t, y) = ([1, 0, 1, 0, 1, 0], [4.0, 1.0, 6.0, 2.0, 5.0, 0.0]);
        let nuisance = Nuisance::from_arms(vec![1.0; 6], vec![3.0; 6], vec![0.5; 6]);
        let once = average_effect(&Observed::new(&t, &y).unwrap(), &nuisance, &[2.0; 6], Estimand::All).unwrap();
        let t2 = [t, t].concat();
        let y2 = [y, y].concat();
        let groups: Vec<u32> = (0..12).map(|i| i % 6).collect();
        let rows = Observed { t: &t2, y: &y2, weight: None, groups: Some(&groups) };
        let twice = Nuisance::from_arms(vec![1.0; 12], vec![3.0; 12], vec![0.5; 12]);
        let clustered = average_effect(&rows, &twice, &[2.0; 12], Estimand::All).unwrap();
        assert!((clustered.score.value - once.score.value).abs() < 1e-12);
        assert!((clustered.score.se.unwrap() - once.score.se.unwrap()).abs() < 1e-12);
    }
}
