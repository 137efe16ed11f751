//! Do effects differ between people, as far as the predictions can tell? One test, in one line.

use paretau_nuisance::Score;
use serde::{Deserialize, Serialize};

/// Level of the test.
const LEVEL: f64 = 0.05;

/// The answer: a one-sided test of the calibration regression's slope. If effects do not differ, or the predictions cannot
/// tell whose effect is larger, predictions for rows that were not learned from have no slope.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Heterogeneity {
    /// Probability of a slope as large as the one seen if predictions carried no information; absent when they are all the same.
    pub p: Option<f64>,
    /// Whether that is below 0.05.
    pub differ: bool,
}

impl Heterogeneity {
    /// From the slope of the calibration regression, where there is one.
    pub fn of(slope: Option<Score>) -> Self {
        let p = slope.and_then(|slope| slope.p_above_zero());
        Self { p, differ: p.is_some_and(|p| p < LEVEL) }
    }

    /// In a line.
    pub fn in_words(&self) -> String {
        match self.p {
            None => "the predicted effect is the same for everyone, so whether effects differ is not tested".to_owned(),
            Some(p) if self.differ => {
                format!("effects differ between people: {} (calibration test, one-sided)", p_words(p))
            }
            Some(p) => format!(
                "no evidence that effects differ between people as predicted: {} (calibration test, one-sided)",
                p_words(p)
            ),
        }
    }
}

fn p_words(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_follows_the_slope() {
        let of = |value: f64| Heterogeneity::of(Some(Score::new(value, Some(0.5))));
        // One-sided tails of the normal distribution at 1.96, 1 and -2.
        assert!((of(0.98).p.unwrap_or(0.0) - 0.025).abs() < 1e-4 && of(0.98).differ);
        assert_eq!(of(0.98).in_words(), "effects differ between people: p = 0.025 (calibration test, one-sided)");
        assert!(of(5.0).in_words().contains("p < 0.001"));
        assert!((of(0.5).p.unwrap_or(0.0) - 0.1587).abs() < 1e-4 && !of(0.5).differ);
        assert!(of(0.5).in_words().starts_with("no evidence"));
        assert!(!of(-1.0).differ);
        assert_eq!(Heterogeneity::of(None), Heterogeneity { p: None, differ: false });
        assert!(Heterogeneity::of(None).in_words().contains("same for everyone"));
    }
}
