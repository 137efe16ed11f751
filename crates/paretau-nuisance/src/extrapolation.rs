//! Whose average effect the data cannot speak about, because too few comparable people received the other treatment.
//!
//! The average over everyone asks it of both arms, and [`OverlapReport::extrapolates`] answers. The average over the treated asks
//! only whether the untreated rows can stand for them, and the one over the untreated the reverse: the weights are then the odds
//! of the other arm. The overlap-weighted average asks nothing.

use paretau_core::Result;
use paretau_kernels::psis::khat_threshold;

use crate::average::{Estimand, effective_rows};
use crate::nuisances::Nuisance;
use crate::overlap::{HARDLY_ANY_LOSS, LEAST_SHARE, MOST_BEYOND, OverlapReport, khat};
use crate::rows::Observed;

/// Why an average would rest on extrapolation; `None` when it does not. `inverse_weights` are the smoothed ones.
pub fn extrapolation(
    rows: &Observed<'_>,
    nuisance: &Nuisance,
    inverse_weights: &[f64],
    report: &OverlapReport,
    estimand: Estimand,
) -> Result<Option<String>> {
    let (target, names) = match estimand {
        Estimand::All => return Ok(report.extrapolates()),
        Estimand::Overlap => return Ok(None),
        Estimand::Treated => (1, ["treated", "untreated"]),
        Estimand::Controls => (0, ["untreated", "treated"]),
    };
    let bound = report.held.bound;
    // The probability of the arm that stands for the others.
    let other = |i: usize| if target == 1 { 1.0 - nuisance.e[i] } else { nuisance.e[i] };
    let own: Vec<usize> = (0..rows.len()).filter(|&i| rows.t[i] == target).collect();
    let standing: Vec<usize> = (0..rows.len()).filter(|&i| rows.t[i] != target).collect();
    let beyond = own.iter().filter(|&&i| other(i) < bound).count() as f64 / own.len().max(1) as f64;
    if beyond > MOST_BEYOND {
        return Ok(Some(format!(
            "{:.0} % of the {} rows had a probability below {bound} of being {}, so that hardly anyone is comparable to them",
            100.0 * beyond,
            names[0],
            names[1]
        )));
    }
    let effective = effective_rows(rows, nuisance, inverse_weights, estimand, &standing)[usize::from(1 - target)];
    // Rows that stand for fewer people than they are need not all be of use.
    let fewer = own.len().min(standing.len()) as f64;
    if effective < LEAST_SHARE * fewer {
        return Ok(Some(format!(
            "the effective sample size of the {} rows that stand for them is {effective:.0} of {}",
            names[1],
            standing.len()
        )));
    }
    // The rows that would weigh most are the rarest. A draw that happens to have none of them looks well in its weights, and its
    // average is off all the same; what the propensities of all rows let one expect does not hang on that luck.
    let expected = expected_effective(rows, bound, other);
    if expected < LEAST_SHARE * fewer {
        return Ok(Some(format!(
            "by the propensities, the effective sample size of the {} rows that stand for them is expected to be {expected:.0} of {}, \
             though those at hand happen to weigh more evenly",
            names[1],
            standing.len()
        )));
    }
    let odds: Vec<f64> = standing.iter().map(|&i| rows.w(i) * (1.0 - other(i)) / other(i).max(1e-12)).collect();
    let (sum, squares) = odds.iter().fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
    let limit = khat_threshold(standing.len()).max(0.0);
    let heavy = khat(&odds)?.filter(|k| *k > limit && sum * sum < HARDLY_ANY_LOSS * odds.len() as f64 * squares);
    Ok(heavy.map(|k| {
        format!(
            "the weights of the {} rows that stand for them have a heavy tail (k-hat {k:.2}, above {limit:.2})",
            names[1]
        )
    }))
}

/// The effective sample size to be expected of the rows of an arm that stand for the others: `(Σ p̄)² / Σ p̄² / p` over all rows,
/// with `p` the probability of that arm, held at the bound of the weights, and `p̄` that of the other.
fn expected_effective(rows: &Observed<'_>, bound: f64, p: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for i in 0..rows.len() {
        let p = p(i).clamp(bound, 1.0 - bound);
        sum += rows.w(i) * (1.0 - p);
        squares += (rows.w(i) * (1.0 - p)).powi(2) / p;
    }
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;
    use crate::overlap::{OverlapOptions, overlap_report};
    use crate::weights::Weights;

    fn reasons(e: &[f64], seed: u64) -> [Option<String>; 4] {
        let mut rng = Seed(seed).rng();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let y = vec![0.0; e.len()];
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(y.clone(), y.clone(), e.to_vec());
        let weights = Weights::smoothed_inverse(e, &t).unwrap();
        let report = overlap_report(e, &weights, (&t, None), &OverlapOptions::default()).unwrap();
        [Estimand::All, Estimand::Treated, Estimand::Controls, Estimand::Overlap]
            .map(|estimand| extrapolation(&rows, &nuisance, &weights.smooth, &report, estimand).unwrap())
    }

    #[test]
    fn each_average_is_asked_about_its_own_people() {
        let mut rng = Seed(8).rng();
        let x: Vec<f64> = (0..3000).map(|_| rng.normal()).collect();
        let fair: Vec<f64> = x.iter().map(|x| 1.0 / (1.0 + (-0.7 * x).exp())).collect();
        assert_eq!(reasons(&fair, 1), [const { None }; 4]);
        let apart: Vec<f64> = x.iter().map(|x| 1.0 / (1.0 + (-8.0 * x).exp())).collect();
        let found = reasons(&apart, 2);
        assert!(found[..3].iter().all(Option::is_some) && found[3].is_none(), "{found:?}");
        // Many who had no chance of treatment, and treated people who had every chance of none: as in a small programme.
        let programme: Vec<f64> = x.iter().map(|x| 0.3 / (1.0 + (-6.0 * (x - 0.5)).exp())).collect();
        let found = reasons(&programme, 3);
        assert!(found[0].is_some() && found[1].is_none() && found[2].is_some(), "{found:?}");
    }

    #[test]
    fn a_lucky_draw_of_weights_does_not_hide_the_lack_of_people() {
        // Propensities that leave hardly anyone to stand for the untreated, and a draw without the treated rows that would weigh
        // most: what is at hand weighs evenly.
        let mut rng = Seed(9).rng();
        let e: Vec<f64> = (0..2000).map(|_| 1.0 / (1.0 + (-2.5 * rng.normal()).exp())).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(*e > 0.25 && rng.bernoulli(*e))).collect();
        let y = vec![0.0; e.len()];
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(y.clone(), y.clone(), e.clone());
        let weights = Weights::smoothed_inverse(&e, &t).unwrap();
        let report = overlap_report(&e, &weights, (&t, None), &OverlapOptions::default()).unwrap();
        let standing: Vec<usize> = (0..2000).filter(|&i| t[i] == 1).collect();
        let at_hand = effective_rows(&rows, &nuisance, &weights.smooth, Estimand::Controls, &standing)[1];
        assert!(at_hand > 0.3 * standing.len() as f64, "{at_hand} of {}", standing.len());
        let found = extrapolation(&rows, &nuisance, &weights.smooth, &report, Estimand::Controls).unwrap();
        assert!(found.is_some_and(|reason| !reason.contains("k-hat")));
    }
}
