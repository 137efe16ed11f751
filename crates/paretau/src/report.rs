//! From a model to the records of its report, and to the page.

use paretau_core::{DEFAULT_VALID_SHARE, Error, OutcomeKind, Result, Severity, set_pairs};
use paretau_nuisance::{ArmOverlap, OverlapReport};
use paretau_report::{
    AskedGroup, Average, Bin, Curve, FurtherArm, Interval, Making, ModelRecords, OverlapSummary, PageOptions, Param,
    Question,
};

use crate::about::{About, Arm, Averages, Estimate, Population};
use crate::groups::GroupEffect;
use crate::model::Model;

/// One self-contained HTML page about a model, in the names of the data.
pub fn report(model: &Model) -> Result<String> {
    report_with(model, PageOptions::default())
}

/// One self-contained HTML page about a model, in the reader's words.
pub fn report_with(model: &Model, options: PageOptions) -> Result<String> {
    check_options(model, &options)?;
    paretau_report::render(&ModelRecords { options, ..records(model) })
}

/// Refuses labels of columns that the model does not know and a unit where effects are percentage points.
fn check_options(model: &Model, options: &PageOptions) -> Result<()> {
    let about = model.about();
    let mut known: Vec<&str> = vec![&about.roles.treatment, &about.roles.outcome];
    let fields = model.encoder().fields();
    known.extend(fields.iter().map(|field| field.name.as_str()));
    known.extend(about.groups.iter().flat_map(|found| found.groups.iter().map(|group| group.column.as_str())));
    for key in options.labels.keys() {
        let column = key.split_once(':').map_or(key.as_str(), |(column, _)| column);
        // A column may have a colon in its name.
        if !known.contains(&key.as_str()) && !known.contains(&column) {
            return Err(Error::unknown_name("column", column, known));
        }
    }
    if options.unit.is_some() && about.outcome == OutcomeKind::Binary {
        return Err(Error::unfit(format!(
            "`{}` is yes or no, so its effects are in percentage points and take no other unit",
            about.roles.outcome
        )));
    }
    Ok(())
}

/// Everything that the page about a model shows.
pub fn records(model: &Model) -> ModelRecords {
    let about = model.about();
    let info = model.entry().info();
    let mixture = crate::auto::mixture(&about.diagnostics);
    let averages = about.averages_of(1);
    ModelRecords {
        question: Question {
            treatment: about.roles.treatment.clone(),
            arms: about.pair().map(str::to_owned),
            outcome: about.roles.outcome.clone(),
            binary: about.outcome == OutcomeKind::Binary,
            n_rows: about.rows_compared().0,
            n_treated: about.rows_compared().1,
            n_features: about.n_features,
            estimator: about.estimator.clone(),
            summary: info.summary.to_owned(),
            reference: info.reference.to_owned(),
        },
        averages: averages.map_or_else(Vec::new, shown_averages),
        scope: averages.and_then(|found| found.reason.clone()),
        asked: averages.is_some_and(|found| found.asked.is_some()),
        second_opinion: averages.and_then(second_opinion),
        more: averages.map_or_else(Vec::new, |averages| more(averages, !about.further_arms().is_empty())),
        groups: about.groups.iter().flat_map(|found| found.groups.iter().map(asked_group)).collect(),
        projection: about.projection.iter().flatten().map(|c| (c.name.clone(), interval(c.estimate))).collect(),
        further_arms: about.treated().skip(1).map(|(_, arm, found)| further_arm(arm, &found.averages)).collect(),
        warnings: about.warnings.iter().map(|w| sentence(&w.message)).collect(),
        notes: about.notes.clone(),
        findings: model.findings().cloned(),
        overlap: about.treated().map(|(_, arm, found)| overlap(arm, &found.overlap)).collect(),
        importance: about.diagnostics.importance.clone(),
        reading: about.diagnostics.reading.clone(),
        roles: about.diagnostics.roles.clone(),
        training: training(about),
        numbers: numbers(about, mixture.is_some()),
        mixture,
        making: Making {
            version: about.version.clone(),
            seed: about.seed.0,
            params: params(model),
            command: command(model),
        },
        n_serious: about.warnings.iter().filter(|w| w.severity() == Severity::Serious).count(),
        options: PageOptions::default(),
    }
}

/// Numbers of the fit without those that the table of a mixture shows.
fn numbers(about: &About, mixture: bool) -> Vec<(String, f64)> {
    let shown = about.diagnostics.numbers.iter().filter(|(name, _)| !(mixture && crate::auto::belongs(name)));
    shown.map(|(name, value)| (name.clone(), *value)).collect()
}

/// Whether the page's answer is about everyone. Beside an answer about others, numbers that rest on extrapolation would
/// contradict it.
fn is_about_everyone(averages: &Averages) -> bool {
    averages.headline == Some(Population::Ate)
}

/// The targeted estimate of the average over everyone.
fn second_opinion(averages: &Averages) -> Option<Interval> {
    averages.targeted.filter(|_| is_about_everyone(averages)).map(interval)
}

/// What else is known about the average over everyone, which are the people of two arms where there are `several`.
fn more(averages: &Averages, several: bool) -> Vec<String> {
    if !is_about_everyone(averages) {
        return vec![];
    }
    let averages = Averages { targeted: None, ..averages.clone() };
    averages.more_in_words(several).iter().map(|line| sentence(line)).collect()
}

fn interval(e: Estimate) -> Interval {
    Interval { value: e.value, lo: e.lo, hi: e.hi }
}

fn asked_group(group: &GroupEffect) -> AskedGroup {
    AskedGroup {
        column: group.column.clone(),
        level: group.level.clone(),
        n: group.n,
        effective: group.effective,
        effect: group.effect.map(interval),
        band: group.band,
        reason: group.reason.clone(),
    }
}

fn further_arm(arm: &Arm, averages: &Averages) -> FurtherArm {
    let headline = averages.headline();
    FurtherArm {
        name: arm.name.clone(),
        n_rows: arm.n_rows,
        over: headline.filter(|(over, _)| *over != Population::Ate).map(|(over, _)| over.words().to_owned()),
        effect: headline.map(|(_, effect)| interval(effect)),
        reason: averages.reason.clone(),
    }
}

/// The averages that the data can speak about, the headline first. Others would contradict it.
fn shown_averages(found: &Averages) -> Vec<Average> {
    let mut all: Vec<(Population, Estimate)> = (Population::ALL.into_iter())
        .filter(|p| found.headline == Some(*p) || found.extrapolates(*p).is_none())
        .filter_map(|p| Some((p, found.of(p).ok()?)))
        .collect();
    all.sort_by_key(|(p, _)| Some(*p) != found.headline);
    let meaning = |population: Population| match population {
        Population::Ate => ("everybody", "the average effect (ATE)"),
        Population::Att => ("the treated", "the average effect on those who were treated (ATT)"),
        Population::Atc => ("the untreated", "the average effect that those without treatment would have had (ATC)"),
        Population::Ato => (
            "the comparable",
            "those who could well have been in either arm count most (overlap-weighted, ATO); least hurt by poor overlap",
        ),
    };
    all.into_iter()
        .map(|(population, estimate)| {
            let (of, meaning) = meaning(population);
            Average { of: of.to_owned(), meaning: meaning.to_owned(), effect: interval(estimate) }
        })
        .collect()
}

/// The text with a capital first letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let whole = format!("{first}{}", letters.as_str());
    if whole.ends_with(['.', '!', '?']) { whole } else { whole + "." }
}

fn overlap(treated: &Arm, report: &OverlapReport) -> OverlapSummary {
    let arm = |a: &ArmOverlap| paretau_report::ArmOverlap {
        n: a.n,
        khat: a.khat,
        khat_limit: a.khat_threshold,
        effective: [a.ess_raw, a.ess_truncated, a.ess_smoothed],
        max_raw: a.max_raw,
        max_smoothed: a.max_smoothed,
        at_risk: a.at_risk,
    };
    OverlapSummary {
        arm: treated.name.clone(),
        control: report.histogram.iter().map(|b| Bin { from: b.from, to: b.to, n: b.control }).collect(),
        treated: report.histogram.iter().map(|b| Bin { from: b.from, to: b.to, n: b.treated }).collect(),
        range: report.range,
        arms: [arm(&report.arms[0]), arm(&report.arms[1])],
    }
}

/// The validation objective of each member and stage, with the step that was kept.
fn training(about: &About) -> Vec<Curve> {
    let history = &about.diagnostics.history;
    let number =
        |look: &std::collections::BTreeMap<String, f64>, name: &str| look.get(name).copied().unwrap_or(0.0) as usize;
    let stages = history.iter().map(|look| number(look, "stage")).max().unwrap_or(0) + 1;
    let has_propensity = history.iter().any(|look| look.contains_key("valid_cross_entropy"));
    let mut out = vec![];
    for (measure, title, axis) in measures(has_propensity) {
        let mut curves: Vec<(usize, Curve)> = vec![];
        for look in history {
            let (Some(&step), Some(&value)) = (look.get("step"), look.get(measure)) else { continue };
            let (member, stage) = (number(look, "member"), number(look, "stage"));
            // A member may be several nets, trained one after the other: steps that start anew are another net's.
            let goes_on = |c: &Curve| c.points.last().is_none_or(|last| last.0 < step);
            let own = curves.iter().rposition(|(s, c)| *s == stage && c.member == member);
            let curve = match own.filter(|at| goes_on(&curves[*at].1)) {
                Some(at) => &mut curves[at].1,
                None => {
                    let name = if stages > 1 { format!("{title}, stage {}", stage + 1) } else { title.to_owned() };
                    curves.push((stage, Curve { name, axis: axis.to_owned(), member, points: vec![], kept: None }));
                    let last = curves.len() - 1;
                    &mut curves[last].1
                }
            };
            curve.points.push((step, value));
            if look.get("best") == Some(&1.0) {
                curve.kept = Some(step);
            }
        }
        out.extend(curves.into_iter().map(|(_, curve)| curve));
    }
    out
}

/// What is shown of a training's history: key, title, axis. Nets with a propensity train it in their first phase.
fn measures(has_propensity: bool) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut out = vec![("valid_objective", "Objective on held-out rows", "objective")];
    if has_propensity {
        out.extend([
            ("train_1", "Loss of outcomes and balance on training rows", "loss"),
            ("valid_cross_entropy", "Cross-entropy of the propensity on held-out rows", "cross-entropy"),
            ("train_0", "Loss of the propensity on training rows", "loss"),
        ]);
    } else {
        out.extend([
            ("train_0", "Loss on training rows, first phase", "loss"),
            ("train_1", "Loss on training rows, second phase", "loss"),
            ("train_2", "Loss on training rows, third phase", "loss"),
        ]);
    }
    out.extend([
        ("weight_max", "Largest weight of a row", "weight"),
        ("khat", "Shape of the weights' tail", "k-hat"),
        ("ess_share", "Effective share of the rows under their weights", "share"),
    ]);
    out
}

/// All parameters with their defaults, as they would be typed.
fn params(model: &Model) -> Vec<Param> {
    let defaults = model.entry().defaults();
    let values = &model.about().params;
    model
        .entry()
        .params()
        .iter()
        .flat_map(|spec| {
            let defaults = set_pairs(spec.name, &defaults[spec.name]);
            let default = move |key: &str| defaults.iter().find(|(name, _)| name == key).map(|(_, text)| text.clone());
            set_pairs(spec.name, &values[spec.name]).into_iter().map(move |(name, value)| Param {
                default: default(&name).unwrap_or_else(|| "the base learner's".to_owned()),
                help: if name == spec.name { spec.help.to_owned() } else { format!("parameter of `{}`", spec.name) },
                name,
                value,
            })
        })
        .collect()
}

/// The command that fits the same model again.
fn command(model: &Model) -> String {
    let about = model.about();
    let roles = &about.roles;
    let mut words = vec!["paretau".to_owned(), "fit".to_owned()];
    words.push(about.source.as_deref().map_or_else(|| "DATA".to_owned(), quoted));
    let mut flag = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    flag("treatment", &roles.treatment);
    flag("outcome", &roles.outcome);
    let list = |columns: &[String]| columns.join(",");
    if let Some(features) = &roles.features {
        flag("features", &list(features));
    }
    if !roles.ignore.is_empty() {
        flag("ignore", &list(&roles.ignore));
    }
    let optional = [
        ("id", &roles.id),
        ("weight", &roles.weight),
        ("propensity", &roles.propensity),
        ("group", &roles.group),
        ("treated-value", &roles.treated_value),
        ("control-value", &roles.control_value),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            flag(name, value);
        }
    }
    if let Some((mu0, mu1)) = &roles.truth {
        flag("truth", &format!("{mu0},{mu1}"));
    }
    if let Some(blocks) = &about.blocks {
        flag("block-rows", &blocks.block_rows.to_string());
    }
    if let Some(groups) = &about.groups {
        let mut by: Vec<&str> = groups.groups.iter().map(|g| g.column.as_str()).collect();
        by.dedup();
        flag("by", &by.join(","));
    }
    if let Some(found) = &about.projection {
        let mut columns: Vec<&str> =
            found.iter().skip(1).map(|c| c.name.split('=').next().unwrap_or_default()).collect();
        columns.dedup();
        flag("projection", &columns.join(","));
    }
    if let Some(asked) = about.averages_of(1).and_then(|found| found.asked) {
        flag("estimand", asked.name());
    }
    flag("estimator", &about.estimator);
    for param in params(model).iter().filter(|p| p.value != p.default) {
        flag("set", &format!("{}={}", param.name, param.value));
    }
    if about.valid_share != DEFAULT_VALID_SHARE {
        flag("valid", &about.valid_share.to_string());
    }
    flag("seed", &about.seed.0.to_string());
    flag("out", "model.paretau");
    words.join(" ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("a,b"), "a,b");
        assert_eq!(quoted("Womens E-Mail"), "'Womens E-Mail'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("x_*"), "'x_*'");
    }

    #[test]
    fn sentences_begin_and_end_as_sentences_do() {
        assert_eq!(sentence("the weights"), "The weights.");
        assert_eq!(sentence("Done."), "Done.");
    }
}
