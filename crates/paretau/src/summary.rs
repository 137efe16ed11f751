//! A fitted model in a few lines of text: what `paretau fit` prints and Python's `summary()` returns.

use paretau_core::Role;

use crate::about::{About, Averages, Estimate, Population};
use crate::groups::GroupEffects;
use crate::model::Model;
use crate::scored_rows::Coefficient;

/// Features of one role that are named.
const MOST_NAMED: usize = 8;

impl Model {
    /// The facts of the fit in a few lines: rows, average effects, overlap, what encoders read, warnings.
    pub fn summary(&self) -> String {
        let about = self.about();
        let (n_rows, n_treated) = about.rows_compared();
        let n_features = match about.n_features {
            1 => "1 feature".to_owned(),
            n => format!("{n} features"),
        };
        let several = !about.further_arms().is_empty();
        let mut lines = vec![if several {
            let (rows, arms) = (about.n_rows, about.arms.len());
            format!("{}: {rows} rows in {arms} arms, {n_features} after encoding", about.estimator)
        } else {
            format!("{}: {n_rows} rows ({n_treated} treated), {n_features} after encoding", about.estimator)
        }];
        for (k, arm, found) in about.treated() {
            if several {
                let rows = about.arms[0].n_rows + arm.n_rows;
                lines.push(format!("{} ({rows} rows of both):", about.comparison(k)));
            }
            lines.push(headline(about, &found.averages));
            lines.extend(other_averages(&found.averages));
            lines.extend(found.averages.more_in_words(several));
            if k == 1 {
                lines.extend(about.groups.iter().flat_map(group_lines));
                lines.extend(about.projection.iter().flat_map(|found| projection_lines(found)));
            }
            lines.push(found.nuisances.in_words());
            if k == 1 {
                lines.extend(crate::auto::mixture(&about.diagnostics).map(|mixture| mixture.words));
            }
            lines.extend(found.overlap.in_words());
        }
        let roles =
            [(Role::Confounder, "confounders"), (Role::Instrument, "instruments"), (Role::Adjuster, "adjusters")];
        lines.extend(roles.into_iter().filter_map(|(role, label)| self.features_of(role, label)));
        lines.extend(about.warnings.iter().map(|warning| format!("warning: {}", warning.message)));
        lines.join("\n")
    }

    /// The features that a net's encoders gave a role.
    fn features_of(&self, role: Role, label: &str) -> Option<String> {
        let roles = self.about().diagnostics.roles.iter();
        let names: Vec<&str> = roles.filter(|found| found.role == role).map(|found| found.name.as_str()).collect();
        let more = names.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = names[..names.len().min(MOST_NAMED)].join(", ");
        (!names.is_empty()).then(|| format!("{label}: {shown}{more}"))
    }
}

/// The averages beside the headline: those that the data can speak about with their intervals, the others without one.
fn other_averages(averages: &Averages) -> Vec<String> {
    let found = |p: Population| averages.of(p).ok().filter(|_| Some(p) != averages.headline).map(|e| (p, e));
    let (extrapolated, carried): (Vec<_>, Vec<_>) =
        Population::ALL.into_iter().filter_map(found).partition(|(p, _)| averages.extrapolates(*p).is_some());
    let carried: Vec<String> =
        carried.iter().map(|(p, e)| format!("over {} {}", p.words(), with_interval(e))).collect();
    let bare: Vec<String> =
        extrapolated.iter().map(|(p, e)| format!("over {} {}", p.words(), four_digits(e.value))).collect();
    let mut lines: Vec<String> = if carried.is_empty() { vec![] } else { vec![carried.join("; ")] };
    if let Some((first, _)) = extrapolated.first() {
        let reason = averages.extrapolates(*first).unwrap_or_default();
        lines.push(format!("extrapolated, so without an interval: {} ({reason})", bare.join("; ")));
    }
    lines
}

/// The average that the data can speak about, and why it is not the one over everyone.
fn headline(about: &About, averages: &Averages) -> String {
    let what = format!("of `{}` on `{}`", about.roles.treatment, about.roles.outcome);
    let reason = averages.reason.as_deref().unwrap_or("too few rows carry it");
    match averages.headline() {
        None => format!("no average effect {what} is reported: {reason}"),
        Some((population, e)) => {
            let [value, lo, hi] = alike([e.value, e.lo, e.hi]);
            match population {
                asked if averages.asked.is_some() => {
                    let over =
                        if asked == Population::Ate { String::new() } else { format!(" over {}", asked.words()) };
                    let but = averages.reason.as_deref().map_or_else(String::new, |reason| {
                        format!("; asked for, but the data hold little information about it: {reason}")
                    });
                    format!("average effect {what}{over}: {value} (95 % interval {lo} to {hi}){but}")
                }
                Population::Ate => format!("average effect {what}: {value} (95 % interval {lo} to {hi})"),
                other => format!(
                    "average effect {what} over {}: {value} (95 % interval {lo} to {hi}); not over everyone, because {reason}",
                    other.words()
                ),
            }
        }
    }
}

impl Averages {
    /// What else is known about the average over everyone: the second opinion and, for yes/no outcomes, ratios. Of `several` arms,
    /// those are the people of two of them.
    pub(crate) fn more_in_words(&self, several: bool) -> Vec<String> {
        let whom = if several { "everyone in these two arms" } else { "everyone" };
        let speaks = self.extrapolates(Population::Ate).is_none() || self.asked == Some(Population::Ate);
        let targeted = self
            .targeted
            .filter(|_| speaks)
            .map(|e| format!("second opinion on the average over {whom} (targeted): {}", with_interval(&e)));
        let ratios = self.ratios.filter(|_| speaks).map(|r| {
            let named = |name: &str, e: Option<Estimate>| e.map(|e| format!("{name} {}", with_interval(&e)));
            let parts = [
                Some(format!(
                    "probability of the outcome over {whom} {} % without treatment, {} % with it",
                    four_digits(100.0 * r.control.value),
                    four_digits(100.0 * r.treated.value)
                )),
                named("risk ratio", r.risk_ratio),
                named("odds ratio", r.odds_ratio),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        });
        targeted.into_iter().chain(ratios).collect()
    }
}

/// The groups that were asked for, a line each.
fn group_lines(found: &GroupEffects) -> Vec<String> {
    let over = match found.estimand {
        Population::Ate => String::new(),
        other => format!(" over {}", other.words()),
    };
    let mut lines =
        vec![format!("average effects of groups{over} (95 % interval; band that holds all groups at once):")];
    lines.extend(found.groups.iter().map(|g| {
        let rows = format!(
            "{} untreated and {} treated rows, effective {:.0} and {:.0}",
            g.n[0], g.n[1], g.effective[0], g.effective[1]
        );
        match (&g.effect, g.band) {
            (Some(effect), Some((band_lo, band_hi))) => {
                let [value, lo, hi, band_lo, band_hi] = alike([effect.value, effect.lo, effect.hi, band_lo, band_hi]);
                format!("  {} {}: {value} ({lo} to {hi}); band {band_lo} to {band_hi}; {rows}", g.column, g.level)
            }
            _ => format!("  {} {}: no estimate: {}", g.column, g.level, g.reason.as_deref().unwrap_or("too few rows")),
        }
    }));
    lines
}

/// On what the effect depends, a line per coefficient.
fn projection_lines(found: &[Coefficient]) -> Vec<String> {
    let mut lines = vec!["best linear projection of the effect, doubly robust (95 % interval):".to_owned()];
    lines.extend(found.iter().map(|c| format!("  {}: {}", c.name, with_interval(&c.estimate))));
    lines
}

fn with_interval(estimate: &Estimate) -> String {
    let [value, lo, hi] = alike([estimate.value, estimate.lo, estimate.hi]);
    format!("{value} ({lo} to {hi})")
}

/// Numbers that belong together, as an estimate and its interval do: four significant digits of the largest, and as many decimals
/// for all.
pub fn alike<const N: usize>(values: [f64; N]) -> [String; N] {
    let largest = values.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
    if !(1e-3..1e7).contains(&largest) {
        return values.map(four_digits);
    }
    let decimals = (3 - largest.log10().floor() as i32).clamp(0, 6) as usize;
    values.map(|value| {
        let shown = format!("{value:.decimals$}");
        // Zero has no sign.
        let is_zero = shown.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
        if is_zero { shown.trim_start_matches('-').to_owned() } else { shown }
    })
}

/// A number with four significant digits, in plain notation where that is readable.
pub fn four_digits(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e7).contains(&size) {
        format!("{value:.3e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
        format!("{value:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_belong_together_have_as_many_decimals() {
        assert_eq!(alike([-773.3, -1832.4, 285.44]), ["-773", "-1832", "285"]);
        assert_eq!(alike([2.0267, -0.1243, 4.178]), ["2.027", "-0.124", "4.178"]);
        assert_eq!(alike([0.07615, 0.06961, 0.0827]), ["0.07615", "0.06961", "0.08270"]);
        assert_eq!(alike([-1e-9, -2.0, 2.0]), ["0.000", "-2.000", "2.000"]);
        assert_eq!(alike([1e-9, 0.0, 2e-9]), ["1.000e-9", "0", "2.000e-9"]);
    }

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!(
            [0.0, 1.0, 0.012345, 12345.6, -3.2149, 1e-9].map(four_digits),
            ["0", "1.000", "0.01235", "12346", "-3.215", "1.000e-9"]
        );
    }
}
