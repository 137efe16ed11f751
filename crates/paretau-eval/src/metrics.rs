//! The list of metrics. The command line, Python and the docs iterate it, so a metric added here appears everywhere.

use paretau_core::{FeatureRole, Oracle, Result, Seed};
use paretau_kernels::numeric;
use paretau_nuisance::inference::{Score, mean};
use paretau_nuisance::{Nuisance, Observed, same_length};
use serde::Serialize;

use crate::{Third, auuc, calibration, encoder_difference, losses, rate, truth};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Lower.
    Lower,
    /// Higher.
    Higher,
    /// Nearer to 1.
    NearOne,
    /// It describes, it does not rank.
    Neither,
}

/// What a metric needs beside predicted effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Nothing.
    Effects,
    /// Observed treatment and outcome.
    Rows,
    /// Nuisance predictions too.
    Nuisance,
    /// The truth of a simulation.
    Truth,
    /// What the encoders read, where the features' roles are known by thirds.
    Encoders,
}

/// Everything a metric may look at. Parts that are not known are `None`, and metrics that need them are left out.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Predicted effects.
    pub tau: &'a [f64],
    /// Observed rows.
    pub rows: Option<Observed<'a>>,
    /// Nuisance predictions.
    pub nuisance: Option<&'a Nuisance>,
    /// Doubly robust scores, from [`Nuisance::scores`].
    pub scores: Option<&'a [f64]>,
    /// The truth.
    pub truth: Option<&'a Oracle>,
    /// What the encoders read of features whose first third are instruments, second confounders, last adjusters.
    pub encoders: Option<&'a [FeatureRole]>,
    /// Seed of half-sampling.
    pub seed: Seed,
}

/// A metric in the list.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What it needs.
    pub needs: Needs,
    compute: fn(&Evidence<'_>) -> Result<Option<Score>>,
}

impl Metric {
    /// The metric, or `None` when the evidence does not allow it (no truth, a constant effect).
    pub fn score(&self, evidence: &Evidence<'_>) -> Result<Option<Score>> {
        Ok((self.compute)(evidence)?.and_then(Score::finite))
    }

    /// The metric of that name.
    pub fn named(name: &str) -> Result<&'static Self> {
        METRICS
            .iter()
            .find(|m| m.name == name)
            .ok_or_else(|| paretau_core::Error::unknown_name("metric", name, METRICS.iter().map(|m| m.name)))
    }
}

/// A metric's result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NamedScore {
    /// Which metric.
    pub name: &'static str,
    /// The number.
    #[serde(flatten)]
    pub score: Score,
}

/// All metrics that the evidence allows, in the order of [`METRICS`].
pub fn evaluate(evidence: &Evidence<'_>) -> Result<Vec<NamedScore>> {
    check(evidence)?;
    let mut out = Vec::new();
    for metric in METRICS {
        if let Some(score) = metric.score(evidence)? {
            out.push(NamedScore { name: metric.name, score });
        }
    }
    Ok(out)
}

fn check(evidence: &Evidence<'_>) -> Result<()> {
    let n = evidence.tau.len();
    if let Some(i) = evidence.tau.iter().position(|v| !v.is_finite()) {
        return Err(paretau_core::Error::NonFinite {
            what: "predicted effects".into(),
            row: i + 1,
            value: evidence.tau[i],
            remedy: "effects to score must be finite",
        });
    }
    if let Some(rows) = evidence.rows {
        rows.check()?;
        same_length("predicted effects", rows.len(), n)?;
    }
    if let Some(nuisance) = evidence.nuisance {
        nuisance.check(n)?;
    }
    if let Some(scores) = evidence.scores {
        same_length("doubly robust scores", n, scores.len())?;
    }
    Ok(())
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "pehe",
        summary: "root mean squared error of the effect against the truth",
        better: Better::Lower,
        needs: Needs::Truth,
        compute: |e| e.truth.map(|truth| truth::pehe(e.tau, truth)).transpose(),
    },
    Metric {
        name: "pehe_rel",
        summary: "pehe over the standard deviation of the true effect; 1 is as good as the average effect",
        better: Better::Lower,
        needs: Needs::Truth,
        compute: |e| e.truth.map_or(Ok(None), |truth| truth::pehe_rel(e.tau, truth)),
    },
    Metric {
        name: "ate",
        summary: "mean predicted effect",
        better: Better::Neither,
        needs: Needs::Effects,
        compute: |e| Ok((!e.tau.is_empty()).then(|| Score::plain(numeric::mean(e.tau)))),
    },
    Metric {
        name: "ate_error",
        summary: "absolute error of the mean predicted effect against the truth",
        better: Better::Lower,
        needs: Needs::Truth,
        compute: |e| e.truth.map(|truth| truth::ate_error(e.tau, truth)).transpose(),
    },
    Metric {
        name: "dr_score",
        summary: "mean squared distance of the effect from doubly robust scores",
        better: Better::Lower,
        needs: Needs::Nuisance,
        compute: |e| Ok(e.rows.zip(e.scores).map(|(rows, scores)| mean(&rows, &losses::dr_losses(e.tau, scores)))),
    },
    Metric {
        name: "r_score",
        summary: "mean squared error of outcome residuals explained by treatment residuals times the effect",
        better: Better::Lower,
        needs: Needs::Nuisance,
        compute: |e| {
            Ok(e.rows.zip(e.nuisance).map(|(rows, nuisance)| mean(&rows, &losses::r_losses(&rows, nuisance, e.tau))))
        },
    },
    Metric {
        name: "t_score",
        summary: "mean squared distance of the effect from the nuisance models' own difference",
        better: Better::Lower,
        needs: Needs::Nuisance,
        compute: |e| Ok(e.rows.zip(e.nuisance).map(|(rows, nuisance)| mean(&rows, &losses::t_losses(nuisance, e.tau)))),
    },
    Metric {
        name: "autoc",
        summary: "gain from treating by predicted effect, averaged over the ranking (weighs the very top)",
        better: Better::Higher,
        needs: Needs::Nuisance,
        compute: |e| Ok(e.rows.zip(e.scores).map(|(rows, scores)| rate(&rows, scores, e.tau, e.seed).0)),
    },
    Metric {
        name: "qini",
        summary: "gain from treating by predicted effect, weighted by the share treated",
        better: Better::Higher,
        needs: Needs::Nuisance,
        compute: |e| Ok(e.rows.zip(e.scores).map(|(rows, scores)| rate(&rows, scores, e.tau, e.seed).1)),
    },
    Metric {
        name: "auuc",
        summary: "area under the uplift curve of raw outcomes; for randomised data",
        better: Better::Higher,
        needs: Needs::Rows,
        compute: |e| Ok(e.rows.map(|rows| auuc(&rows, e.tau, e.seed))),
    },
    Metric {
        name: "calibration",
        summary: "slope of the estimated effect on the predicted one around its mean; 1 is calibrated, above 0 distinguishes rows",
        better: Better::NearOne,
        needs: Needs::Nuisance,
        compute: |e| {
            Ok(e.rows.zip(e.nuisance).and_then(|(rows, nuisance)| calibration(&rows, nuisance, e.tau).heterogeneity))
        },
    },
    Metric {
        name: "calibration_mean",
        summary: "slope of the estimated effect on the mean predicted effect; 1 is calibrated",
        better: Better::NearOne,
        needs: Needs::Nuisance,
        compute: |e| Ok(e.rows.zip(e.nuisance).and_then(|(rows, nuisance)| calibration(&rows, nuisance, e.tau).mean)),
    },
    Metric {
        name: "encoder_instrument",
        summary: "how much more the instrument encoder reads instruments than other features; 1 is twice as much",
        better: Better::Higher,
        needs: Needs::Encoders,
        compute: |e| Ok(encoder(e, Third::Instrument)),
    },
    Metric {
        name: "encoder_confounder",
        summary: "how much more the confounder encoder reads confounders than other features; 1 is twice as much",
        better: Better::Higher,
        needs: Needs::Encoders,
        compute: |e| Ok(encoder(e, Third::Confounder)),
    },
    Metric {
        name: "encoder_adjuster",
        summary: "how much more the adjuster encoder reads adjusters than other features; 1 is twice as much",
        better: Better::Higher,
        needs: Needs::Encoders,
        compute: |e| Ok(encoder(e, Third::Adjuster)),
    },
];

fn encoder(evidence: &Evidence<'_>, third: Third) -> Option<Score> {
    evidence.encoders.and_then(|roles| encoder_difference(roles, third)).map(Score::plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn metrics_follow_the_evidence() {
        let mut rng = Seed(2).rng();
        let n = 3000;
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let t: Vec<u8> = (0..n).map(|i| u8::from(rng.bernoulli(1.0 / (1.0 + (-x[i]).exp())))).collect();
        let e: Vec<f64> = x.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
        let mu1: Vec<f64> = x.iter().map(|v| 2.0 * v).collect();
        let y: Vec<f64> = (0..n).map(|i| if t[i] == 1 { mu1[i] } else { x[i] } + rng.normal()).collect();
        let truth = Oracle::new(x.clone(), mu1.clone()).unwrap();
        let nuisance = Nuisance::from_arms(x.clone(), mu1, e.clone());
        let rows = Observed::new(&t, &y).unwrap();
        let inverse: Vec<f64> = (0..n).map(|i| if t[i] == 1 { 1.0 / e[i] } else { 1.0 / (1.0 - e[i]) }).collect();
        let scores = nuisance.scores(&rows, &inverse);
        let bad: Vec<f64> = x.iter().map(|v| -v).collect();
        let roles = |own: f64| -> Vec<FeatureRole> {
            let read = |j: usize, third: usize| if j == third { own } else { 1.0 };
            (0..3)
                .map(|j| FeatureRole {
                    name: format!("x{j}"),
                    role: paretau_core::Role::None,
                    score: 1.0,
                    instrument: read(j, 0),
                    confounder: read(j, 1),
                    adjuster: read(j, 2),
                })
                .collect()
        };
        let of = |tau: &[f64], own: f64| {
            evaluate(&Evidence {
                tau,
                rows: Some(rows),
                nuisance: Some(&nuisance),
                scores: Some(&scores),
                truth: Some(&truth),
                encoders: Some(&roles(own)),
                seed: Seed(0),
            })
            .unwrap()
        };
        let (good, bad) = (of(&x, 2.0), of(&bad, 0.5));
        // `pehe` 0 included, every metric has a value and every ranking metric prefers the true effect.
        assert_eq!(good.len(), METRICS.len());
        for (metric, (g, b)) in METRICS.iter().zip(good.iter().zip(&bad)) {
            assert_eq!(metric.name, g.name);
            let (g, b) = (g.score.value, b.score.value);
            match metric.better {
                Better::Lower if metric.name != "ate_error" => assert!(g < b, "{}", metric.name),
                Better::Higher => assert!(g > b, "{}", metric.name),
                Better::NearOne if metric.name == "calibration" => assert!((g - 1.0).abs() < (b - 1.0).abs()),
                _ => {}
            }
        }
        let only =
            Evidence { tau: &x, rows: None, nuisance: None, scores: None, truth: None, encoders: None, seed: Seed(0) };
        assert_eq!(evaluate(&only).unwrap().iter().map(|s| s.name).collect::<Vec<_>>(), ["ate"]);
        assert!(evaluate(&Evidence { tau: &[f64::NAN], ..only }).is_err());
        assert_eq!(Metric::named("qini").unwrap().better, Better::Higher);
        assert!(Metric::named("qinni").unwrap_err().to_string().contains("did you mean `qini`"));
    }
}
