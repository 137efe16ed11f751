//! What was asked, and the answer in a sentence; then what to be careful about.

use std::fmt::Write as _;

use paretau_core::Result;

use super::forest::{Forest, Line};
use super::{Section, groups, unit};
use crate::html::{code, escape, prose};
use crate::number::{Unit, count, percent};
use crate::paint::Paint;
use crate::plot::{Key, Shape};
use crate::records::{Average, Interval, ModelRecords, Question};

/// The question, as the page's heading, unless there is a title.
pub(crate) fn title(records: &ModelRecords) -> String {
    let Question { treatment, outcome, .. } = &records.question;
    records.options.title.as_deref().map_or_else(
        || format!("What does {} do to {}?", records.options.term(treatment), records.options.term(outcome)),
        escape,
    )
}

/// The answer, the warnings, and the averages.
pub(crate) fn answer(records: &ModelRecords) -> Result<Section> {
    let unit = unit(records);
    let mut html = String::new();
    match (records.averages.first(), &records.scope) {
        (Some(average), scope) => {
            let whom = (scope.is_some() || records.asked).then(|| people(average));
            let _ = write!(html, "<p class=\"lead\">{}</p>", sentence(records, whom, average.effect, unit));
            if let Some(reason) = scope.as_ref().filter(|_| records.asked) {
                let _ = write!(
                    html,
                    "<p>This average was asked for, but these data hold little information about it: {}.</p>",
                    escape(reason)
                );
            } else if let Some(reason) = scope {
                let _ = write!(
                    html,
                    "<p>An average over everybody would rest on extrapolation: {}. The answer is about {}.</p>",
                    prose(reason),
                    escape(people(average))
                );
            }
        }
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("too few people carry it");
            let _ = write!(html, "<p class=\"lead\">No average effect is reported: {}.</p>", escape(reason));
        }
    }
    html += &warnings(records);
    if let Some(second) = records.second_opinion {
        let _ = write!(
            html,
            "<p>Second opinion on the average over everyone{} (targeted): {} (95 % interval {} to {}).</p>",
            if records.further_arms.is_empty() { "" } else { " in these two arms" },
            escape(&unit.words(second.value)),
            unit.show(second.lo),
            unit.show(second.hi)
        );
    }
    html += &records.more.iter().map(|line| format!("<p>{}</p>", prose(line))).collect::<String>();
    let chart = if records.averages.is_empty() { String::new() } else { averages(records, unit)? };
    let _ = write!(html, "<div class=\"pair\"><div>{}</div>{chart}</div>", context(records, unit));
    html += &groups::arms(records, unit)?;
    html += &groups::asked(records, unit)?;
    html += &groups::projection(records, unit);
    Ok(Section { id: "answer", heading: "The answer", html })
}

/// Whom an average is about, in a sentence; the charts have short names.
fn people(average: &Average) -> &str {
    if average.of == "the comparable" { "people who could have been in either arm" } else { &average.of }
}

/// The average effect in a sentence that says no more than the interval does, nor than the warnings allow.
fn sentence(records: &ModelRecords, whom: Option<&str>, effect: Interval, unit: Unit<'_>) -> String {
    let (question, options) = (&records.question, &records.options);
    let whom = whom.map_or_else(|| "On average".to_owned(), |whom| format!("Among {}, on average", escape(whom)));
    let Question { treatment, outcome, arms, .. } = question;
    // Two arms in the reader's words say what is done; codes need the column's name.
    let named = arms.iter().all(|arm| options.labels.values().any(|label| label == arm));
    let column = if named { String::new() } else { format!("{} = ", options.term(treatment)) };
    let change = format!("{column}{} instead of {}", options.term(&arms[1]), options.term(&arms[0]));
    let what = options.term(outcome);
    // In the reader's words an outcome is something that happens or does not.
    let in_words = options.labels.values().any(|label| label == outcome);
    let what = match (question.binary, in_words) {
        (true, true) => format!("the share with {what}"),
        (true, false) => format!("the share with {what} = 1"),
        (false, _) => what,
    };
    let interval = |lo: f64, hi: f64| format!("95 % interval {} to {}", unit.show(lo), unit.show(hi));
    // What may be wrong altogether is not announced as a fact.
    let doubt =
        if records.n_serious > 0 { " Do not rely on this before you have read the warnings below." } else { "" };
    if effect.lo > 0.0 || effect.hi < 0.0 {
        // "Lowers by 3 (2 to 4)": sizes, not signed effects.
        let (lo, hi) = if effect.lo > 0.0 { (effect.lo, effect.hi) } else { (-effect.hi, -effect.lo) };
        let verb = match (effect.lo > 0.0, records.n_serious > 0) {
            (true, false) => "raises",
            (false, false) => "lowers",
            (true, true) => "seems to raise",
            (false, true) => "seems to lower",
        };
        return format!(
            "{whom}, {change} {verb} {what} by <strong>{}</strong> ({}).{}{doubt}",
            escape(&unit.words(effect.value.abs())),
            interval(lo, hi),
            direction(options.lower_is_better, effect.lo > 0.0)
        );
    }
    let interval = interval(effect.lo, effect.hi);
    format!(
        "{whom}, the effect of {change} on {what} is <strong>{}</strong>, but the data do not settle its direction: \
         no effect at all lies within the {interval}.{doubt}",
        escape(&unit.words(effect.value))
    )
}

/// Whether a change is welcome, where the reader has named the better direction.
fn direction(lower_is_better: Option<bool>, raises: bool) -> &'static str {
    match (lower_is_better, raises) {
        (None, _) => "",
        (Some(true), true) => " Lower is better here, so this is harm.",
        (Some(true), false) => " Lower is better here, so this is an improvement.",
        (Some(false), true) => " Higher is better here, so this is an improvement.",
        (Some(false), false) => " Higher is better here, so this is harm.",
    }
}

/// Over whom the estimates of groups are, with a blank before it; nothing where that is everybody.
pub(super) fn over(records: &ModelRecords) -> String {
    let own = records.averages.first().filter(|average| average.of != "everybody");
    own.map_or_else(String::new, |average| format!(" over {}", escape(people(average))))
}

/// What surrounds the answer: the plain difference, the spread of the effects, the condition on which it stands.
fn context(records: &ModelRecords, unit: Unit<'_>) -> String {
    let question = &records.question;
    let mut out = String::from("<p>");
    if let (Some(findings), Some(average)) = (&records.findings, records.averages.first()) {
        let plain = findings.raw_difference;
        let _ = write!(
            out,
            "Without any adjustment the arms differ by {}; taking {} into account, the average effect on {} is {}. ",
            escape(&unit.words(plain.value)),
            if question.n_features == 1 {
                "1 feature".to_owned()
            } else {
                format!("{} features", count(question.n_features))
            },
            escape(people(average)),
            unit.show(average.effect.value),
        );
        let at = |share: f64| {
            let nearest = |s: &&crate::records::SortedEffect| (s.share - share).abs();
            findings.effects.sorted.iter().min_by(|a, b| nearest(a).total_cmp(&nearest(b))).map_or(0.0, |s| s.tau)
        };
        if findings.effects.sd > 0.0 {
            let _ = write!(
                out,
                "For nine people in ten, the predicted effect lies between {} and {}; for {} it is above zero. ",
                unit.show(at(0.05)),
                unit.show(at(0.95)),
                percent(findings.effects.above_zero)
            );
        } else {
            let _ = write!(out, "The model predicts the same effect for everybody. ");
        }
    }
    out += "This is cause and effect only if the features hold everything that drives both who is treated and the outcome.</p>";
    let _ = write!(
        out,
        "<dl class=\"facts\"><div><dt>People</dt><dd>{}</dd></div><div><dt>of them treated</dt><dd>{} ({})</dd></div>\
         <div><dt>Features</dt><dd>{}</dd></div><div><dt>Estimator</dt><dd>{}</dd></div></dl>",
        count(question.n_rows),
        count(question.n_treated),
        percent(question.n_treated as f64 / question.n_rows.max(1) as f64),
        count(question.n_features),
        code(&question.estimator)
    );
    out
}

fn warnings(records: &ModelRecords) -> String {
    if records.warnings.is_empty() {
        return "<div class=\"notice calm\"><h3>No warnings from these checks</h3><p>They look at the overlap, the weights, \
                the balance and the fit. None of them can see a cause that is not among the features.</p></div>"
            .to_owned();
    }
    let items = records.warnings.iter().enumerate().map(|(k, warning)| {
        let serious = if k < records.n_serious { "<b>Serious.</b> " } else { "" };
        format!("<li>{serious}{}</li>", prose(warning))
    });
    format!("<div class=\"notice\"><h3>Before you rely on it</h3><ul>{}</ul></div>", items.collect::<String>())
}

/// The averages as a chart.
fn averages(records: &ModelRecords, unit: Unit<'_>) -> Result<String> {
    let mut rows: Vec<(&str, Interval, Paint)> =
        records.averages.iter().map(|a| (a.of.as_str(), a.effect, Paint::Main)).collect();
    let mut legend = vec![];
    if let Some(findings) = &records.findings {
        rows.push(("not adjusted", findings.raw_difference, Paint::Before));
        legend = vec![
            Key::new(Paint::Main, Shape::Dot, "adjusted, doubly robust"),
            Key::new(Paint::Before, Shape::Dot, "plain difference of the arms"),
        ];
    }
    let lines = rows.into_iter().map(|(of, effect, paint)| Line {
        name: of.to_owned(),
        effect: Some(effect),
        ring: None,
        paint,
        tip: format!("{of}: {}", groups::interval_words(effect, unit)),
    });
    let forest = Forest {
        id: "averages",
        title: "Average effects with 95 % intervals",
        axis: axis_label(records),
        lines: lines.collect(),
        legend,
        unit,
    };
    let (plot, note) = forest.plot();
    plot.html(format!("{} {note}", meanings(records)).trim_end())
}

/// What an axis of effects is called.
pub(super) fn axis_label(records: &ModelRecords) -> String {
    let outcome = &records.question.outcome;
    match (records.question.binary, &records.options.unit) {
        (true, _) => format!("effect on {outcome}, percentage points"),
        (false, Some(unit)) => format!("effect on {outcome}, {unit}"),
        (false, None) => format!("effect on {outcome}"),
    }
}

fn meanings(records: &ModelRecords) -> String {
    let item = |a: &Average| {
        let doubt = if a.of == "everybody" && records.scope.is_some() { "; rests on extrapolation here" } else { "" };
        format!("<b>{}</b>: {}{doubt}", escape(&a.of), escape(&a.meaning))
    };
    let items: Vec<String> = records.averages.iter().map(item).collect();
    items.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PageOptions;
    use crate::records::{ArmOverlap, Making, OverlapSummary};

    fn records() -> ModelRecords {
        let arm = ArmOverlap {
            n: 5,
            khat: None,
            khat_limit: 0.7,
            effective: [5.0; 3],
            max_raw: 2.0,
            max_smoothed: 2.0,
            at_risk: 0,
        };
        ModelRecords {
            question: Question {
                treatment: "drug".into(),
                arms: ["no".into(), "yes".into()],
                outcome: "weight".into(),
                binary: false,
                n_rows: 10,
                n_treated: 5,
                n_features: 2,
                estimator: "lr-2".into(),
                summary: String::new(),
                reference: String::new(),
            },
            averages: vec![],
            scope: None,
            asked: false,
            second_opinion: None,
            more: vec![],
            groups: vec![],
            projection: vec![],
            further_arms: vec![],
            warnings: vec![],
            notes: vec![],
            findings: None,
            overlap: vec![OverlapSummary {
                arm: "yes".into(),
                control: vec![],
                treated: vec![],
                range: (0.1, 0.9),
                arms: [arm; 2],
            }],
            importance: vec![],
            reading: vec![],
            roles: vec![],
            training: vec![],
            numbers: vec![],
            mixture: None,
            making: Making { version: String::new(), seed: 0, params: vec![], command: String::new() },
            n_serious: 0,
            options: PageOptions::default(),
        }
    }

    fn say(records: &ModelRecords, value: f64, lo: f64, hi: f64) -> String {
        let name = records.options.unit.as_deref().unwrap_or_default();
        let unit = Unit::new(records.question.binary, hi - lo, name);
        sentence(records, None, Interval { value, lo, hi }, unit)
    }

    #[test]
    fn the_sentence_says_no_more_than_the_interval() {
        let mut records = records();
        assert!(say(&records, 3.4, 2.5, 4.3).contains("raises <code>weight</code> by <strong>3.4</strong>"));
        assert!(
            say(&records, -3.4, -4.3, -2.5)
                .contains("lowers <code>weight</code> by <strong>3.4</strong> (95 % interval 2.5 to 4.3)")
        );
        assert!(say(&records, 0.4, -0.5, 1.3).contains("do not settle its direction"));
        records.question.binary = true;
        let text = say(&records, 0.045, 0.04, 0.05);
        assert!(text.contains("the share with <code>weight</code> = 1 by <strong>4.5 percentage points"), "{text}");
        records.options.labels = [("weight".to_owned(), "overweight".to_owned())].into();
        let text = say(&crate::options::labelled(&records), 0.045, 0.04, 0.05);
        assert!(text.contains("the share with overweight by <strong>4.5 percentage points"), "{text}");
    }

    #[test]
    fn serious_warnings_make_the_answer_a_doubtful_one() {
        let mut records = records();
        records.n_serious = 1;
        let text = say(&records, 3.4, 2.5, 4.3);
        assert!(text.contains("seems to raise") && text.contains("warnings below"), "{text}");
    }

    #[test]
    fn the_readers_words_are_used() {
        let mut records = records();
        records.options.unit = Some("kg".into());
        records.options.lower_is_better = Some(true);
        records.options.labels = [("drug", "The new drug"), ("drug:yes", "taken")]
            .map(|(key, words)| (key.to_owned(), words.to_owned()))
            .into();
        let records = crate::options::labelled(&records);
        let text = say(&records, 3.4, 2.5, 4.3);
        assert!(text.contains("The new drug = taken instead of <code>no</code> raises"), "{text}");
        assert!(text.contains("<strong>3.4 kg</strong>") && text.contains("so this is harm"), "{text}");
        assert_eq!(title(&records), "What does The new drug do to <code>weight</code>?");
    }
}
