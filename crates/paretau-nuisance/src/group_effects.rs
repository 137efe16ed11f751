//! Average effects of groups of rows: doubly robust, by the same nuisances and weights as the average over everyone, with
//! 95 % intervals of each group and a band that holds all of them at once. A group that too few effective rows carry gets no
//! estimate, but the reason.

use paretau_core::{Result, Seed};

use crate::average::{Estimand, average_of_rows, effective_rows};
use crate::bands::{Band, Influenced};
use crate::inference::{Score, normal_quantile};
use crate::nuisances::Nuisance;
use crate::overlap::LEAST_EFFECTIVE_ROWS;
use crate::rows::Observed;

/// Level of intervals and bands.
const LEVEL: f64 = 0.95;

/// What is known about the rows of two arms: all that averages of some of them need.
#[derive(Debug, Clone, Copy)]
pub struct RowEvidence<'a> {
    /// Treatment, outcome, row weights and clusters.
    pub rows: &'a Observed<'a>,
    /// Expected outcomes and propensities by models that did not see the row.
    pub nuisance: &'a Nuisance,
    /// Inverse weights of the arm that each row received.
    pub inverse_weights: &'a [f64],
    /// Whose effect is averaged within a group.
    pub estimand: Estimand,
}

/// The effect of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupEstimate {
    /// Rows of the control arm, of the treated arm.
    pub n: [usize; 2],
    /// Effective ones among them.
    pub effective: [f64; 2],
    /// The estimate, its 95 % interval, and its part of the 95 % band over all groups; or why there is none.
    pub effect: std::result::Result<BandedScore, String>,
}

/// An estimate with its own interval and its part of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandedScore {
    /// The estimate.
    pub score: Score,
    /// Its own 95 % interval.
    pub interval: (f64, f64),
    /// Its part of the band that holds all groups' effects at once with probability 95 %.
    pub band: (f64, f64),
}

/// Rows per arm, counted and effective.
type ArmRows = ([usize; 2], [f64; 2]);

impl RowEvidence<'_> {
    /// The average of a group with its rows' influence, or why there is none.
    fn average<'g>(&self, group: &'g [usize]) -> Result<(ArmRows, std::result::Result<Influenced<'g>, String>)> {
        let n = [0, 1].map(|arm| group.iter().filter(|&&i| self.rows.t[i] == arm).count());
        let effective = effective_rows(self.rows, self.nuisance, self.inverse_weights, self.estimand, group);
        for (arm, name) in ["untreated", "treated"].into_iter().enumerate() {
            if effective[arm] < LEAST_EFFECTIVE_ROWS {
                let few = if n[arm] == 0 {
                    format!("no {name} rows")
                } else {
                    format!(
                        "{} {name} row{} ({:.1} effective)",
                        n[arm],
                        if n[arm] == 1 { "" } else { "s" },
                        effective[arm]
                    )
                };
                return Ok((
                    (n, effective),
                    Err(format!("{few}, at least {LEAST_EFFECTIVE_ROWS} effective ones are needed")),
                ));
            }
        }
        let average = average_of_rows(self.rows, self.nuisance, self.inverse_weights, self.estimand, group)?;
        let known = average.score.se.is_some_and(|se| se > 0.0);
        let average = if known { Ok(average) } else { Err("its error cannot be estimated".to_owned()) };
        Ok(((n, effective), average))
    }
}

/// Effects of groups, in their order. The band is over all groups that are given, so whichever of them are looked at
/// afterwards, it holds. Where they were chosen among more, `considered` says how many those were, and the band is
/// Bonferroni's over all of them.
pub fn group_estimates(
    evidence: &RowEvidence<'_>,
    groups: &[Vec<usize>],
    considered: usize,
    seed: Seed,
) -> Result<Vec<GroupEstimate>> {
    let averages = groups.iter().map(|group| evidence.average(group)).collect::<Result<Vec<_>>>()?;
    let carried: Vec<&Influenced<'_>> = averages.iter().filter_map(|(_, average)| average.as_ref().ok()).collect();
    let mut band = Band::of(&carried, evidence.rows.groups, LEVEL, seed);
    if considered > groups.len() {
        band.width = band.width.max(normal_quantile(1.0 - (1.0 - LEVEL) / (2.0 * considered as f64)));
    }
    let banded = |score: Score| -> std::result::Result<BandedScore, String> {
        match (score.interval(LEVEL), band.ends(&score)) {
            (Some(interval), Some(band)) => Ok(BandedScore { score, interval, band }),
            _ => Err("its error cannot be estimated".to_owned()),
        }
    };
    Ok(averages
        .iter()
        .map(|((n, effective), average)| GroupEstimate {
            n: *n,
            effective: *effective,
            effect: average.as_ref().map_err(Clone::clone).and_then(|average| banded(average.score)),
        })
        .collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::inference::clustered_mean;

    #[test]
    fn a_group_is_the_mean_of_its_scores_and_a_small_one_has_a_reason() {
        let mut rng = Seed(8).rng();
        let n = 400;
        let t: Vec<u8> = (0..n).map(|i| u8::from(i % 2 == 1 && i < 300)).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(t[i]) + rng.normal()).collect();
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(vec![0.1; n], vec![0.9; n], vec![0.5; n]);
        let inverse = vec![2.0; n];
        let evidence =
            RowEvidence { rows: &rows, nuisance: &nuisance, inverse_weights: &inverse, estimand: Estimand::All };
        let groups = vec![(0..150).collect::<Vec<_>>(), (150..300).collect(), (300..400).collect()];
        let found = group_estimates(&evidence, &groups, 3, Seed(1)).unwrap();
        let scores = nuisance.scores(&rows, &inverse);
        for k in 0..2 {
            let by_hand = clustered_mean(&scores[150 * k..150 * (k + 1)], None, None);
            let own = found[k].effect.clone().unwrap();
            assert!((own.score.value - by_hand.value).abs() < 1e-12);
            assert!((own.score.se.unwrap() - by_hand.se.unwrap()).abs() < 1e-12);
            assert!(own.band.0 < own.interval.0 && own.interval.1 < own.band.1);
            assert_eq!((found[k].n, found[k].effective), ([75, 75], [75.0, 75.0]));
        }
        assert_eq!(found[2].n, [100, 0]);
        assert!(found[2].effect.clone().unwrap_err().starts_with("no treated rows"));
    }

    #[test]
    fn all_rows_as_one_group_are_the_average() {
        let mut rng = Seed(9).rng();
        let n = 300;
        let e: Vec<f64> = (0..n).map(|_| 0.2 + 0.6 * rng.uniform()).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(t[i]) + rng.normal()).collect();
        let clusters: Vec<u32> = (0..n as u32).map(|i| i / 3).collect();
        let rows = Observed { t: &t, y: &y, weight: None, groups: Some(&clusters) };
        let nuisance = Nuisance::from_arms(vec![0.0; n], vec![1.0; n], e.clone());
        let inverse: Vec<f64> = (0..n).map(|i| if t[i] == 1 { 1.0 / e[i] } else { 1.0 / (1.0 - e[i]) }).collect();
        for &(_, estimand) in Estimand::ALL {
            let evidence = RowEvidence { rows: &rows, nuisance: &nuisance, inverse_weights: &inverse, estimand };
            let one = &group_estimates(&evidence, &[(0..n).collect()], 1, Seed(1)).unwrap()[0];
            let all = crate::average::average_effect(&rows, &nuisance, &inverse, estimand).unwrap();
            let own = one.effect.clone().unwrap();
            assert!((own.score.value - all.score.value).abs() < 1e-12);
            assert!((own.score.se.unwrap() - all.score.se.unwrap()).abs() < 1e-12);
            assert!((own.band.0 - own.interval.0).abs() < 1e-9);
        }
    }
}
