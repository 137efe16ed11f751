//! What was asked, and the answer in a sentence; then what to be careful about.

use std::fmt::Write as _;

use paretau_core::Result;

use super::{Section, unit};
use crate::axis::Axis;
use crate::html::{code, escape};
use crate::number::{Unit, count, percent};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{Interval, ModelRecords, Question};

/// The question, as the page's title.
pub(crate) fn title(question: &Question) -> String {
    format!("What does {} do to {}?", code(&question.treatment), code(&question.outcome))
}

/// The answer, the warnings, and the averages.
pub(crate) fn answer(records: &ModelRecords) -> Result<Section> {
    let unit = unit(records);
    let mut html = String::new();
    match (records.averages.first(), &records.scope) {
        (Some(average), scope) => {
            let whom = scope.is_some().then_some(average.of.as_str());
            let _ = write!(html, "<p class=\"lead\">{}</p>", sentence(&records.question, whom, average.effect, unit));
            if let Some(reason) = scope {
                let _ = write!(
                    html,
                    "<p>An average over everybody would rest on extrapolation: {}. The answer is about {}.</p>",
                    escape(reason),
                    escape(&average.of)
                );
            }
        }
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("too few people carry it");
            let _ = write!(html, "<p class=\"lead\">No average effect is reported: {}.</p>", escape(reason));
        }
    }
    html += &further_arms(records, unit);
    html += &warnings(&records.warnings);
    let chart =
        if records.averages.is_empty() { String::new() } else { averages(records, unit).html(&meanings(records))? };
    let _ = write!(html, "<div class=\"pair\"><div>{}</div>{chart}</div>", context(records, unit));
    Ok(Section { id: "answer", heading: "The answer", html })
}

/// The average effect in a sentence that says no more than the interval does.
fn sentence(question: &Question, whom: Option<&str>, effect: Interval, unit: Unit) -> String {
    let whom = whom.map_or_else(|| "On average".to_owned(), |whom| format!("Among {}, on average", escape(whom)));
    let Question { treatment, outcome, arms, .. } = question;
    let change = format!("{} = {} instead of {}", code(treatment), code(&arms[1]), code(&arms[0]));
    let what = if question.binary { format!("the share with {} = 1", code(outcome)) } else { code(outcome) };
    let interval = |lo: f64, hi: f64| format!("95 % interval {} to {}", unit.show(lo), unit.show(hi));
    if effect.lo > 0.0 || effect.hi < 0.0 {
        // "Lowers by 3 (2 to 4)": sizes, not signed effects.
        let (verb, lo, hi) =
            if effect.lo > 0.0 { ("raises", effect.lo, effect.hi) } else { ("lowers", -effect.hi, -effect.lo) };
        return format!(
            "{whom}, {change} {verb} {what} by <strong>{}</strong> ({}).",
            escape(&unit.words(effect.value.abs())),
            interval(lo, hi)
        );
    }
    let interval = interval(effect.lo, effect.hi);
    format!(
        "{whom}, the effect of {change} on {what} is <strong>{}</strong>, but the data do not settle its direction: \
         no effect at all lies within the {interval}.",
        escape(&unit.words(effect.value))
    )
}

/// The arms that the rest of the page is silent about.
fn further_arms(records: &ModelRecords, unit: Unit) -> String {
    if records.further_arms.is_empty() {
        return String::new();
    }
    let [control, treated] = records.question.arms.each_ref().map(|arm| code(arm));
    let items = records.further_arms.iter().map(|arm| {
        let Interval { value, lo, hi } = arm.effect;
        format!(
            "<li>{} ({} people): {}, 95 % interval {} to {}</li>",
            code(&arm.name),
            count(arm.n_rows),
            escape(&unit.words(value)),
            unit.show(lo),
            unit.show(hi)
        )
    });
    format!(
        "<p>This page is about {treated} against {control} and the people in these two arms. The further arms against {control}, on \
         average:</p><ul>{}</ul>",
        items.collect::<String>()
    )
}

/// What surrounds the answer: the plain difference, the spread of the effects, the condition on which it stands.
fn context(records: &ModelRecords, unit: Unit) -> String {
    let question = &records.question;
    let mut out = String::from("<p>");
    if let (Some(findings), Some(average)) = (&records.findings, records.averages.first()) {
        let plain = findings.raw_difference;
        let _ = write!(
            out,
            "Without any adjustment the arms differ by {}; taking {} features into account makes it {}. ",
            escape(&unit.words(plain.value)),
            count(question.n_features),
            unit.show(average.effect.value),
        );
        let at = |share: f64| {
            let nearest = |s: &&crate::records::SortedEffect| (s.share - share).abs();
            findings.effects.sorted.iter().min_by(|a, b| nearest(a).total_cmp(&nearest(b))).map_or(0.0, |s| s.tau)
        };
        if findings.effects.sd > 0.0 {
            let _ = write!(
                out,
                "For nine people in ten the predicted effect lies between {} and {}; for {} it is above zero. ",
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

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return "<div class=\"notice calm\"><h3>No warnings from these checks</h3><p>They look at the overlap, the weights, \
                the balance and the fit. None of them can see a cause that is not among the features.</p></div>"
            .to_owned();
    }
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>", escape(w))).collect();
    format!("<div class=\"notice\"><h3>Before you rely on it</h3><ul>{items}</ul></div>")
}

fn averages(records: &ModelRecords, unit: Unit) -> Plot {
    let mut rows: Vec<(String, Interval, Paint)> =
        records.averages.iter().map(|a| (a.of.clone(), a.effect, Paint::Main)).collect();
    if let Some(findings) = &records.findings {
        rows.push(("not adjusted".to_owned(), findings.raw_difference, Paint::Before));
    }
    let scaled = |v: f64| v * unit.scale;
    let values = rows.iter().flat_map(|(_, e, _)| [e.lo, e.hi]).chain([0.0]).map(scaled);
    let mut marks = vec![Mark::Across { x: 0.0, paint: Paint::Axis }];
    for (k, (of, effect, paint)) in rows.iter().enumerate() {
        let y = k as f64;
        let tip = format!(
            "{of}: {}, 95 % interval {} to {}",
            unit.words(effect.value),
            unit.show(effect.lo),
            unit.show(effect.hi)
        );
        let ends = vec![(scaled(effect.lo), y), (scaled(effect.hi), y)];
        marks.push(Mark::Line { points: ends, paint: *paint, width: 2.5, tip: tip.clone() });
        marks.push(Mark::Dot { at: (scaled(effect.value), y), paint: *paint, hollow: false, tip });
    }
    let summary: Vec<String> = rows
        .iter()
        .map(|(of, e, _)| format!("{of}: {} ({} to {})", unit.show(e.value), unit.show(e.lo), unit.show(e.hi)))
        .collect();
    Plot {
        id: "averages".to_owned(),
        title: "Average effects with 95 % intervals".to_owned(),
        alternative: format!("Points with intervals. {}.", summary.join("; ")),
        x: Axis::over(axis_label(&records.question), values),
        y: Axis::of_names(rows.len()),
        names: Some(rows.iter().map(|r| r.0.clone()).collect()),
        legend: if records.findings.is_some() {
            vec![
                Key::new(Paint::Main, Shape::Dot, "adjusted, doubly robust"),
                Key::new(Paint::Before, Shape::Dot, "plain difference of the arms"),
            ]
        } else {
            vec![]
        },
        marks,
        height: 52 + 34 * rows.len() as u32,
    }
}

/// What an axis of effects is called.
pub(super) fn axis_label(question: &Question) -> String {
    if question.binary {
        format!("effect on {}, percentage points", question.outcome)
    } else {
        format!("effect on {}", question.outcome)
    }
}

fn meanings(records: &ModelRecords) -> String {
    let items: Vec<String> =
        records.averages.iter().map(|a| format!("<b>{}</b>: {}", escape(&a.of), escape(&a.meaning))).collect();
    items.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_no_more_than_the_interval() {
        let question = Question {
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
        };
        let say = |value, lo, hi| sentence(&question, None, Interval { value, lo, hi }, Unit::new(false, hi - lo));
        assert!(say(3.4, 2.5, 4.3).contains("raises <code>weight</code> by <strong>3.4</strong>"));
        assert!(
            say(-3.4, -4.3, -2.5)
                .contains("lowers <code>weight</code> by <strong>3.4</strong> (95 % interval 2.5 to 4.3)")
        );
        assert!(say(0.4, -0.5, 1.3).contains("do not settle its direction"));
        let yes_no = Question { binary: true, ..question };
        let text = sentence(&yes_no, None, Interval { value: 0.045, lo: 0.04, hi: 0.05 }, Unit::new(true, 0.01));
        assert!(text.contains("the share with <code>weight</code> = 1 by <strong>4.5 percentage points"), "{text}");
    }
}
