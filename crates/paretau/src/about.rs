//! Facts about a fit that travel in the model file: what was asked, what came out, how far it can be trusted.

use paretau_core::{Diagnostics, Error, OutcomeKind, Result, Seed, Warning};
use paretau_data::{BlockFacts, Reading, RoleSpec};
use paretau_nuisance::inference::{normal_quantile, student_quantile};
use paretau_nuisance::{Estimand, OverlapReport, Ratios, Score};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::groups::GroupEffects;
use crate::nuisances::NuisanceReport;
use crate::scored_rows::Coefficient;

/// Everything a model knows about its own making.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// Registry name.
    pub estimator: String,
    /// All parameters, defaults included.
    pub params: Value,
    /// Which columns played which role.
    pub roles: RoleSpec,
    /// The arms, the control first; effects are against it.
    pub arms: Vec<Arm>,
    /// Kind of outcome.
    pub outcome: OutcomeKind,
    /// Training rows of all arms.
    pub n_rows: usize,
    /// Feature columns after encoding.
    pub n_features: usize,
    /// Effects of the groups that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupEffects>,
    /// Best linear projection of the effect on the columns that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Vec<Coefficient>>,
    /// What the fit had to say.
    pub diagnostics: Diagnostics,
    /// What to be careful about, most important first: all of it, the overlap's and the estimator's included.
    pub warnings: Vec<Warning>,
    /// What was done to the data.
    pub notes: Vec<String>,
    /// Version of paretau that fitted it.
    pub version: String,
    /// Seed.
    pub seed: Seed,
    /// Share of rows held out by estimators with early stopping.
    pub valid_share: f64,
    /// Name of the data file, without its folder; absent for data made in memory.
    #[serde(default)]
    pub source: Option<String>,
    /// How the data file was read, so that new files are read alike.
    #[serde(default, skip_serializing_if = "Reading::is_plain")]
    pub reading: Reading,
    /// How the rows were dealt to blocks, where the fit did not hold them all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockFacts>,
}

impl About {
    /// Training rows of the control and the first treated arm, and of the latter alone.
    pub fn rows_compared(&self) -> (usize, usize) {
        let rows = |k: usize| self.arms.get(k).map_or(0, |arm| arm.n_rows);
        (rows(0) + rows(1), rows(1))
    }

    /// Values of the treatment column that mean control and treated.
    pub fn pair(&self) -> [&str; 2] {
        [0, 1].map(|k| self.arms.get(k).map_or("", |arm| arm.name.as_str()))
    }

    /// Average effects of an arm; 1 is the first treated one.
    pub fn averages_of(&self, arm: usize) -> Option<&Averages> {
        Some(&self.against_control(arm)?.averages)
    }

    /// How far an arm overlaps with the control.
    pub fn overlap_of(&self, arm: usize) -> Option<&OverlapReport> {
        Some(&self.against_control(arm)?.overlap)
    }

    fn against_control(&self, arm: usize) -> Option<&AgainstControl> {
        self.arms.get(arm)?.against_control.as_ref()
    }

    /// The treated arms, with their numbers and what is known of each against the control.
    pub fn treated(&self) -> impl Iterator<Item = (usize, &Arm, &AgainstControl)> {
        self.arms.iter().enumerate().filter_map(|(k, arm)| Some((k, arm, arm.against_control.as_ref()?)))
    }

    /// Numbers of the treated arms.
    pub fn treated_arms(&self) -> std::ops::Range<usize> {
        1..self.arms.len()
    }

    /// Whether the list of arms is whole: the control, then treated arms that are compared with it.
    pub(crate) fn check(&self) -> Result<()> {
        let compared = self.arms.iter().map(|arm| arm.against_control.is_some());
        if self.arms.len() > 1 && compared.enumerate().all(|(k, is_compared)| is_compared == (k > 0)) {
            return Ok(());
        }
        Err(Error::bad_model("its arms are not a control and what is known of others against it"))
    }

    /// The facts as a JSON document. What is known of the first treated arm, for most fits the only one, stands at the top
    /// as well (`n_treated`, `averages`, `overlap`, `nuisances`), and each arm's average over everyone as `ate`.
    pub fn document(&self) -> Result<Value> {
        let fault = |e: serde_json::Error| Error::internal("describing a fit", e.to_string());
        let mut document = serde_json::to_value(self).map_err(fault)?;
        for (k, arm, own) in self.treated() {
            if let Some(ate) = own.averages.ate {
                document["arms"][k]["ate"] = serde_json::to_value(ate).map_err(fault)?;
            }
            if k == 1 {
                document["n_treated"] = arm.n_rows.into();
                for name in ["averages", "overlap", "nuisances"] {
                    document[name] = document["arms"][k][name].clone();
                }
            }
        }
        Ok(document)
    }

    /// An arm and the control in words, for fits with several arms: what lines and warnings about it begin with.
    pub fn comparison(&self, arm: usize) -> String {
        let name = |k: usize| self.arms.get(k).map_or("", |arm| arm.name.as_str());
        comparison(name(arm), name(0))
    }

    /// The arms beyond control and treated.
    pub fn further_arms(&self) -> &[Arm] {
        self.arms.get(2..).unwrap_or_default()
    }
}

/// An arm of the treatment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its value in the treatment column.
    pub name: String,
    /// Its training rows.
    pub n_rows: usize,
    /// What is known of it against the control; absent for the control itself.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub against_control: Option<AgainstControl>,
}

/// What is known of a treated arm and the control, over the rows of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgainstControl {
    /// Average effects.
    pub averages: Averages,
    /// Overlap, weights and their tail.
    pub overlap: OverlapReport,
    /// Who predicts outcomes and treatment, and how well.
    pub nuisances: NuisanceReport,
}

/// A treated arm and the control in words.
pub(crate) fn comparison(arm: &str, control: &str) -> String {
    format!("arm `{arm}` against `{control}`")
}

/// A number with its standard error and 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Estimate {
    /// The interval that covers with probability `level`. The degrees of freedom are those of the 95 % interval.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        // The same bits as are written elsewhere.
        if (level - 0.95).abs() < 1e-12 {
            return (self.lo, self.hi);
        }
        let wide = if self.se > 0.0 { (self.hi - self.lo) / (2.0 * self.se) } else { 0.0 };
        let df = if wide > normal_quantile(0.975) * (1.0 + 1e-9) {
            let (mut low, mut high) = (0.5_f64, 1e6_f64);
            for _ in 0..200 {
                let middle = (low * high).sqrt();
                if student_quantile(0.975, middle) > wide { low = middle } else { high = middle }
            }
            Some((low * high).sqrt())
        } else {
            None
        };
        let score = Score { value: self.value, se: Some(self.se), df };
        score.interval(level).unwrap_or((self.lo, self.hi))
    }

    pub(crate) fn from_score(score: Score) -> Result<Self> {
        match (score.se, score.interval(0.95)) {
            (Some(se), Some((lo, hi))) => Ok(Self { value: score.value, se, lo, hi }),
            _ => Err(Error::Numeric { what: "the average effect", message: "it has no standard error".into() }),
        }
    }
}

/// Average effects over the training rows, doubly robust with Pareto-smoothed weights. The nuisances belong to the data, so
/// that these numbers do not hang on the estimator. An average that too few rows carry is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Averages {
    /// Over all rows.
    pub ate: Option<Estimate>,
    /// Over the treated rows.
    pub att: Option<Estimate>,
    /// Over the rows without treatment.
    pub atc: Option<Estimate>,
    /// Over those who could well have been in either arm, weighted by e(1 - e).
    pub ato: Option<Estimate>,
    /// Which of them the data can speak about best: `ate`, or `ato` where the arms hardly overlap; absent when there is none.
    pub headline: Option<Population>,
    /// Why it is not `ate`; or, where an average was asked for by name, why the data cannot speak about it.
    pub reason: Option<String>,
    /// Which one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Population>,
    /// The averages that rest on extrapolation: nobody knows how often their intervals hold the truth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extrapolated: Vec<Extrapolated>,
    /// A second opinion on `ate`: targeted maximum likelihood by the same nuisances and weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targeted: Option<Estimate>,
    /// Ratios of the outcome's probabilities, where it is yes/no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratios: Option<RatioEstimates>,
}

/// An average about which the data hold little information.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extrapolated {
    /// Over whom it is taken.
    pub population: Population,
    /// Why.
    pub reason: String,
}

/// Probabilities of a yes/no outcome, had everybody been in either arm, and their ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimates {
    /// Probability without treatment.
    pub control: Estimate,
    /// Probability with treatment.
    pub treated: Estimate,
    /// Risk ratio, treated over control; its interval comes from the logarithm.
    pub risk_ratio: Option<Estimate>,
    /// Odds ratio.
    pub odds_ratio: Option<Estimate>,
}

impl RatioEstimates {
    pub(crate) fn from_ratios(ratios: &Ratios) -> Result<Self> {
        // On the ratio's own scale the standard error is the logarithm's times the ratio.
        let exponent = |log: Option<Score>| -> Option<Estimate> {
            let log = Estimate::from_score(log?).ok()?;
            let value = log.value.exp();
            let found = Estimate { value, se: value * log.se, lo: log.lo.exp(), hi: log.hi.exp() };
            [found.value, found.se, found.lo, found.hi].iter().all(|v| v.is_finite()).then_some(found)
        };
        Ok(Self {
            control: Estimate::from_score(ratios.control)?,
            treated: Estimate::from_score(ratios.treated)?,
            risk_ratio: exponent(ratios.log_risk_ratio),
            odds_ratio: exponent(ratios.log_odds_ratio),
        })
    }
}

/// Over whom an average is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Population {
    /// Everyone.
    Ate,
    /// The treated.
    Att,
    /// Those without treatment.
    Atc,
    /// Those who could well have been in either arm.
    Ato,
}

impl Population {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ate, Self::Att, Self::Atc, Self::Ato];

    /// The usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ate => "ate",
            Self::Att => "att",
            Self::Atc => "atc",
            Self::Ato => "ato",
        }
    }

    /// The population of that abbreviation.
    pub fn find(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|p| p.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::unknown_name("estimand", name, Self::ALL.map(Self::name)))
    }

    /// In words, as in "the average effect over ...".
    pub fn words(self) -> &'static str {
        match self {
            Self::Ate => "everyone",
            Self::Att => "the treated",
            Self::Atc => "those without treatment",
            Self::Ato => "those who could have been in either arm",
        }
    }

    pub(crate) fn estimand(self) -> Estimand {
        match self {
            Self::Ate => Estimand::All,
            Self::Att => Estimand::Treated,
            Self::Atc => Estimand::Controls,
            Self::Ato => Estimand::Overlap,
        }
    }
}

impl Averages {
    /// The average over a population; an error says why there is none.
    pub fn of(&self, population: Population) -> Result<Estimate> {
        let found = match population {
            Population::Ate => self.ate,
            Population::Att => self.att,
            Population::Atc => self.atc,
            Population::Ato => self.ato,
        };
        found.ok_or_else(|| {
            let reason = self.reason.as_deref().unwrap_or("too few rows carry it");
            Error::unfit(format!("there is no average effect over {}: {reason}", population.words()))
        })
    }

    /// Why an average rests on extrapolation; `None` when it does not.
    pub fn extrapolates(&self, population: Population) -> Option<&str> {
        self.extrapolated.iter().find(|found| found.population == population).map(|found| found.reason.as_str())
    }

    /// The average that the data can speak about best, and over whom.
    pub fn headline(&self) -> Option<(Population, Estimate)> {
        let population = self.headline?;
        Some((population, self.of(population).ok()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_data::simulate::{TrialConfig, trial};

    use super::*;
    use crate::model::Model;

    #[test]
    fn every_treated_arm_stands_in_the_list_with_what_is_known_of_it() {
        let made = trial(&TrialConfig { n: 200, ..TrialConfig::default() }, Seed(1)).unwrap().table().unwrap();
        let roles = RoleSpec { ignore: ["e", "mu0", "mu1"].map(str::to_owned).to_vec(), ..RoleSpec::new("t", "y") };
        let model = crate::fit(made, &roles, &crate::FitOptions::new("lr-2")).unwrap();
        let document = model.about().document().unwrap();
        let [control, treated] = [0, 1].map(|k| &document["arms"][k]);
        assert!(control["averages"].is_null() && treated["ate"] == treated["averages"]["ate"], "{document}");
        for name in ["averages", "overlap", "nuisances"] {
            assert!(document[name].is_object() && document[name] == treated[name], "{name}: {document}");
        }
        assert_eq!(document["n_treated"], treated["n_rows"]);
        for missing in ["averages", "overlap", "nuisances"] {
            let mut state = model.state().unwrap();
            state.json["about"]["arms"][1].as_object_mut().unwrap().remove(missing);
            let error = Model::from_state(&state).unwrap_err().to_string();
            assert!(error.contains("its arms"), "{error}");
        }
    }

    #[test]
    fn an_interval_of_another_level_has_the_same_degrees_of_freedom() {
        for df in [None, Some(7.0), Some(300.0)] {
            let score = Score { value: 1.5, se: Some(0.4), df };
            let estimate = Estimate::from_score(score).unwrap();
            for level in [0.5, 0.9, 0.95, 0.99] {
                let (got, wanted) = (estimate.interval(level), score.interval(level).unwrap());
                assert!(
                    (got.0 - wanted.0).abs() < 1e-6 && (got.1 - wanted.1).abs() < 1e-6,
                    "{df:?} {level}: {got:?} {wanted:?}"
                );
            }
        }
    }
}
