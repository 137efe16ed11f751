//! For which estimators intervals of the conditional effect are offered: those for which `experiments/person_intervals` says how
//! often they hold the truth.

use paretau_core::{EstimatorEntry, ParamKind, ParamSpec};
use serde_json::Value;

/// What intervals of an estimator without standard errors of its own are made from, and for which estimators that was measured.
struct Measured {
    names: &'static [&'static str],
    /// Base learners on which these stood, with whatever parameters.
    bases: &'static [&'static str],
}

/// Refits on half-samples.
const REFITS: Measured =
    Measured { names: &["lr-1", "lr-2", "s-learner", "t-learner", "x-learner"], bases: &["forest", "ridge"] };
/// A causal forest beside the estimator, whose own held-out predictions say what is missed.
const COMPANION: Measured =
    Measured { names: &["auto", "dr-learner", "r-learner", "tarnet", "dpsw-norm"], bases: &["forest"] };

impl Measured {
    /// Whether an estimator with these parameters, as [`EstimatorEntry::resolved`] gives them, is among them.
    fn holds(&self, entry: &dyn EstimatorEntry, params: &Value) -> bool {
        let base_is_measured = |spec: &ParamSpec| match &params[spec.name] {
            Value::Null => true,
            // A second stage that is not there.
            base if base == "none" => true,
            base => base.as_str().or_else(|| base["name"].as_str()).is_some_and(|name| self.bases.contains(&name)),
        };
        // The propensity's learner has hardly a say in the effects.
        let mut bases = entry.params().iter().filter(|spec| is_base(spec.kind) && spec.name != "propensity_base");
        self.names.contains(&entry.info().name) && bases.all(base_is_measured)
    }
}

/// Whether intervals may be made from refits of an estimator with these parameters.
pub(crate) fn refits_are_measured(entry: &dyn EstimatorEntry, params: &Value) -> bool {
    REFITS.holds(entry, params)
}

/// Whether a causal forest beside an estimator with these parameters may say how uncertain its effects are.
pub(crate) fn companion_is_measured(entry: &dyn EstimatorEntry, params: &Value) -> bool {
    COMPANION.holds(entry, params)
}

/// Which have intervals at all, in words.
pub(crate) fn with_intervals() -> String {
    let over = |of: &Measured| format!("{} (over {})", of.names.join(", "), of.bases.join(" and "));
    format!("causal-forest, causal-forest-dml, {}, and after refits {}", over(&COMPANION), over(&REFITS))
}

fn is_base(kind: ParamKind) -> bool {
    match kind {
        ParamKind::Base => true,
        ParamKind::Auto(inner) => is_base(*inner),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Params;

    use super::*;
    use crate::registry::find;

    #[test]
    fn intervals_are_offered_where_they_were_measured() {
        let resolved =
            |name: &str, params: Params| (find(name).unwrap(), find(name).unwrap().resolved(&params).unwrap());
        let refitted = |name: &str, params: Params| {
            let (entry, params) = resolved(name, params);
            refits_are_measured(entry, &params)
        };
        let beside = |name: &str, params: Params| {
            let (entry, params) = resolved(name, params);
            companion_is_measured(entry, &params)
        };
        let with = |name: &str, value: &str| Params::none().with(name, value);
        assert!(refitted("lr-2", Params::none()) && refitted("t-learner", Params::none()));
        assert!(
            refitted("x-learner", with("base", "ridge")) && refitted("x-learner", with("propensity_base", "boosting"))
        );
        assert!(!refitted("t-learner", with("base", "boosting")) && !refitted("x-learner", with("effect_base", "mlp")));
        assert!(!refitted("dr-learner", Params::none()) && !refitted("auto", Params::none()));
        assert!(beside("tarnet", Params::none()) && !beside("tarnet", with("second_stage", "ridge")));
        assert!(beside("auto", Params::none()) && beside("auto", with("effort", "quick")));
        assert!(beside("dr-learner", Params::none()) && !beside("dr-learner", with("base", "ridge")));
        assert!(!beside("lr-2", Params::none()) && !beside("ganite", Params::none()));
    }

    /// What is offered has lines in the committed tables, and its 95 % intervals hold 90 % of the rows on average over the processes.
    #[test]
    fn the_tables_speak_of_every_estimator_with_intervals() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/person_intervals");
        for (table, names) in [
            ("table.md", [&["causal-forest", "causal-forest-dml"], REFITS.names].concat()),
            ("unasked/table.md", COMPANION.names.to_vec()),
        ] {
            let text = std::fs::read_to_string(format!("{folder}/{table}")).unwrap();
            let lines = text.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
            let lines: Vec<Vec<&str>> = lines.filter(|cells| cells.len() > 5).collect();
            for name in names {
                let own = lines.iter().filter(|cells| cells[2].split(':').next() == Some(name));
                let covered: Vec<f64> = own.map(|cells| cells[4].parse().unwrap()).collect();
                let mean = covered.iter().sum::<f64>() / covered.len() as f64;
                assert!(covered.len() >= 3 && mean >= 90.0, "{name}: {covered:?}");
            }
        }
    }
}
