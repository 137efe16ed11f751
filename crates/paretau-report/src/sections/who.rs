//! How effects differ between people: their distribution, groups, subgroups and a small tree.

use std::fmt::Write as _;

use paretau_core::Result;

use super::answer::axis_label;
use super::{Section, unit};
use crate::axis::Axis;
use crate::html::{Cell, Table, code, escape};
use crate::number::{Unit, count, percent};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{EffectNode, EffectSummary, Findings, Interval, ModelRecords, Question};

pub(crate) fn who(records: &ModelRecords) -> Result<Option<Section>> {
    let Some(findings) = &records.findings else { return Ok(None) };
    let unit = unit(records);
    let question = &records.question;
    let effects = &findings.effects;
    let mut html = format!("<p>{}</p>", escape(provenance(effects)));
    if effects.sd <= 0.0 {
        html += "<p>The model predicts the same effect for everybody, so there is nobody to tell apart.</p>";
        return Ok(Some(Section { id: "who", heading: "Who benefits", html }));
    }
    html += "<div class=\"pair\">";
    html += &histogram(question, effects, unit).html("")?;
    html += &sorted(question, effects, unit).html(&sure(effects))?;
    html += "</div><div class=\"pair\">";
    if findings.groups.len() > 1 {
        html += &groups(question, findings, unit).html(&agreement(findings))?;
    } else if !effects.held_out {
        html += "<div><h3>Does the ranking hold?</h3><p>These people cannot tell: the model learnt from them. \
                 <code>paretau evaluate</code> on other rows shows.</p></div>";
    }
    html += &tree(findings, unit);
    html += "</div>";
    html += &subgroups(findings, unit);
    Ok(Some(Section { id: "who", heading: "Who benefits", html }))
}

fn provenance(effects: &EffectSummary) -> &'static str {
    if effects.held_out {
        "Each person's effect is predicted by models that had not seen that person."
    } else {
        "Effects are predicted for the people the model learnt from, so they differ a little more than they would for new people."
    }
}

fn histogram(question: &Question, effects: &EffectSummary, unit: Unit) -> Plot {
    let total: usize = effects.histogram.iter().map(|b| b.n).sum::<usize>().max(1);
    let share = |n: usize| n as f64 / total as f64;
    let mut marks: Vec<Mark> = effects
        .histogram
        .iter()
        .map(|bin| Mark::Bar {
            x: (bin.from * unit.scale, bin.to * unit.scale),
            y: (0.0, share(bin.n)),
            paint: Paint::Main,
            tip: format!(
                "{} people ({}) with an effect from {} to {}",
                count(bin.n),
                percent(share(bin.n)),
                unit.show(bin.from),
                unit.show(bin.to)
            ),
        })
        .collect();
    let edges = effects.histogram.iter().flat_map(|b| [b.from, b.to]).map(|v| v * unit.scale);
    let x = Axis::over(axis_label(question), edges);
    let mut legend = vec![Key::new(Paint::Limit, Shape::Line, "mean")];
    if x.range.contains(&0.0) {
        marks.push(Mark::Across { x: 0.0, paint: Paint::Text });
        legend.push(Key::new(Paint::Text, Shape::Line, "no effect"));
    }
    marks.push(Mark::Across { x: effects.mean * unit.scale, paint: Paint::Limit });
    Plot {
        id: "effects-histogram".to_owned(),
        title: "How effects are distributed".to_owned(),
        alternative: format!(
            "Histogram of the predicted effects: mean {}, standard deviation {}, {} of people above zero.",
            unit.show(effects.mean),
            unit.show(effects.sd),
            percent(effects.above_zero)
        ),
        x,
        y: Axis::from_zero("share of people", effects.histogram.iter().map(|b| share(b.n))).shown(percent_tick),
        names: None,
        legend,
        marks,
        height: 270,
    }
}

fn percent_tick(value: f64) -> String {
    format!("{} %", crate::number::tick(100.0 * value.abs()))
}

fn sorted(question: &Question, effects: &EffectSummary, unit: Unit) -> Plot {
    let points: Vec<(f64, f64)> = effects.sorted.iter().map(|s| (s.share, s.tau * unit.scale)).collect();
    let band: Vec<(f64, f64, f64)> = effects
        .sorted
        .iter()
        .filter_map(|s| s.band.map(|(lo, hi)| (s.share, lo * unit.scale, hi * unit.scale)))
        .collect();
    let heights = points.iter().map(|p| p.1).chain(band.iter().flat_map(|b| [b.1, b.2])).chain([0.0]);
    let y = Axis::over(if question.binary { "effect, percentage points" } else { "effect" }, heights);
    let mut marks = vec![];
    let mut legend = vec![Key::new(Paint::Main, Shape::Line, "predicted effect")];
    if band.len() == points.len() {
        marks.push(Mark::Band { points: band, paint: Paint::Band });
        legend.push(Key::new(Paint::Band, Shape::Square, "95 % interval"));
    }
    marks.push(Mark::Along { y: 0.0, paint: Paint::Text });
    marks.push(Mark::Line { points, paint: Paint::Main, width: 2.2, tip: String::new() });
    let half = 0.5 / effects.sorted.len().max(2) as f64;
    for s in &effects.sorted {
        let interval = s
            .band
            .map_or_else(String::new, |(lo, hi)| format!(", 95 % interval {} to {}", unit.show(lo), unit.show(hi)));
        let tip = format!("{} of people have an effect below {}{interval}", percent(s.share), unit.words(s.tau));
        marks.push(Mark::Hit { x: ((s.share - half).max(0.0), (s.share + half).min(1.0)), tip });
    }
    let ends = (effects.sorted.first().map_or(0.0, |s| s.tau), effects.sorted.last().map_or(0.0, |s| s.tau));
    Plot {
        id: "effects-sorted".to_owned(),
        title: "Everybody's effect, sorted".to_owned(),
        alternative: format!(
            "Predicted effects in rising order, from {} to {}{}.",
            unit.show(ends.0),
            unit.show(ends.1),
            if effects.sorted.iter().any(|s| s.band.is_some()) { ", with 95 % intervals" } else { "" }
        ),
        x: Axis::of_shares("share of people with a smaller effect", percent_tick),
        y,
        names: None,
        legend,
        marks,
        height: 270,
    }
}

fn sure(effects: &EffectSummary) -> String {
    match (effects.surely_above, effects.surely_below) {
        (Some(above), Some(below)) => format!(
            "For {} of people the whole interval lies above zero, for {} below it; for the others the direction is open.",
            percent(above),
            percent(below)
        ),
        _ => "This estimator gives no interval for each person; forests and ensembles do.".to_owned(),
    }
}

fn groups(question: &Question, findings: &Findings, unit: Unit) -> Plot {
    let at = |v: f64| v * unit.scale;
    let all: Vec<f64> =
        findings.groups.iter().flat_map(|g| [g.predicted, g.seen.lo, g.seen.hi]).map(|v| v * unit.scale).collect();
    let (lo, hi) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    let x = Axis::over("predicted effect, mean of the group", findings.groups.iter().map(|g| at(g.predicted)));
    let line = (x.range.start.max(lo), x.range.end.min(hi.max(x.range.end)));
    let mut marks = vec![
        Mark::Along { y: 0.0, paint: Paint::Axis },
        Mark::Line {
            points: vec![(line.0, line.0), (line.1, line.1)],
            paint: Paint::Muted,
            width: 1.2,
            tip: String::new(),
        },
    ];
    for (k, group) in findings.groups.iter().enumerate() {
        let tip = format!(
            "group {} of {}: {} people, predicted {}, seen {} ({} to {})",
            k + 1,
            findings.groups.len(),
            count(group.n),
            unit.show(group.predicted),
            unit.show(group.seen.value),
            unit.show(group.seen.lo),
            unit.show(group.seen.hi)
        );
        let x = at(group.predicted);
        let ends = vec![(x, at(group.seen.lo)), (x, at(group.seen.hi))];
        marks.push(Mark::Line { points: ends, paint: Paint::Main, width: 2.2, tip: tip.clone() });
        marks.push(Mark::Dot { at: (x, at(group.seen.value)), paint: Paint::Main, hollow: false, tip });
    }
    let summary: Vec<String> = findings
        .groups
        .iter()
        .map(|g| format!("predicted {}, seen {}", unit.show(g.predicted), unit.show(g.seen.value)))
        .collect();
    Plot {
        id: "effect-groups".to_owned(),
        title: "Does the ranking hold?".to_owned(),
        alternative: format!(
            "People in groups by predicted effect, with what was seen in each: {}.",
            summary.join("; ")
        ),
        x,
        y: Axis::over(
            if question.binary { "seen, percentage points" } else { "effect seen" },
            all.iter().copied().chain([0.0, line.0, line.1]),
        ),
        names: None,
        legend: vec![
            Key::new(Paint::Main, Shape::Dot, "seen, with 95 % interval"),
            Key::new(Paint::Muted, Shape::Line, "as predicted"),
        ],
        marks,
        height: 270,
    }
}

fn agreement(findings: &Findings) -> String {
    let (Some(first), Some(last)) = (findings.groups.first(), findings.groups.last()) else { return String::new() };
    let apart = last.seen.lo > first.seen.hi;
    let order = last.seen.value > first.seen.value;
    let how = match (apart, order) {
        (true, _) => "The people with the largest predicted effects gain clearly more than those with the smallest.",
        (false, true) => {
            "The people with the largest predicted effects gain more than those with the smallest, but not beyond doubt."
        }
        (false, false) => {
            "The people with the largest predicted effects do not gain more than the others: do not choose people by these \
             predictions."
        }
    };
    format!("People in groups of equal size by predicted effect; what was seen is a doubly robust estimate. {how}")
}

fn tree(findings: &Findings, unit: Unit) -> String {
    let Some(tree) = &findings.tree else { return String::new() };
    let [choosing, seeing] = tree.rows;
    let how = if tree.root.split.is_some() {
        format!(
            "Questions were chosen on {} people; in brackets is what was seen in the {} others, who had no say in them, with \
             intervals that hold for all groups of the tree at once (95 %). The questions account for {} of the \
             differences between predicted effects.",
            count(choosing),
            count(seeing),
            percent(tree.explained)
        )
    } else {
        format!("Among {} people no question tells effects apart beyond chance.", count(choosing))
    };
    let mut out = format!("<figure id=\"tree\" class=\"tree\"><h3>The effect as a small tree</h3><p>{how}</p><ul>");
    match &tree.root.split {
        Some(split) => {
            branch(&mut out, &split.yes, &split.left, unit);
            branch(&mut out, &split.no, &split.right, unit);
        }
        None => branch(&mut out, "everybody", &tree.root, unit),
    }
    out += "</ul></figure>";
    out
}

fn branch(out: &mut String, condition: &str, node: &EffectNode, unit: Unit) {
    let _ = write!(
        out,
        "<li><span class=\"if\">{}</span> <span class=\"then\"><b>{}</b> <span class=\"seen\">[{}]</span> \
         <span class=\"n\">{} people</span></span>",
        escape(condition),
        unit.show(node.predicted),
        node.seen.map_or_else(|| "too few to see".to_owned(), |seen| interval(seen, unit)),
        count(node.n)
    );
    if let Some(split) = &node.split {
        out.push_str("<ul>");
        branch(out, &split.yes, &split.left, unit);
        branch(out, &split.no, &split.right, unit);
        out.push_str("</ul>");
    }
    out.push_str("</li>");
}

fn interval(seen: Interval, unit: Unit) -> String {
    format!("{}; {} to {}", unit.show(seen.value), unit.show(seen.lo), unit.show(seen.hi))
}

fn subgroups(findings: &Findings, unit: Unit) -> String {
    if findings.subgroups.is_empty() {
        return String::new();
    }
    let shown = |v: f64| Cell::number(v, &unit.show(v));
    let table = Table {
        caption: "Effects within subgroups",
        header: &["feature", "subgroup", "predicted", "seen", "from", "to", "people", "treated"],
        rows: findings
            .subgroups
            .iter()
            .map(|s| {
                vec![
                    Cell::html(code(&s.feature)),
                    Cell::text(&s.level),
                    shown(s.predicted),
                    s.seen.map_or_else(|| Cell::text("too few rows"), |seen| shown(seen.value)),
                    s.seen.map_or_else(Cell::none, |seen| shown(seen.lo)),
                    s.seen.map_or_else(Cell::none, |seen| shown(seen.hi)),
                    Cell::number(s.n as f64, &count(s.n)),
                    Cell::number(
                        s.n_treated as f64 / s.n.max(1) as f64,
                        &percent(s.n_treated as f64 / s.n.max(1) as f64),
                    ),
                ]
            })
            .collect(),
    };
    format!(
        "<h3>Subgroups</h3><p>The features that tell predicted effects apart best{}. “Seen” is a doubly robust estimate. \
         The intervals are wide enough to hold for all subgroups of all features that were looked at, at once (95 %).</p>{}",
        if unit.suffix.is_empty() { String::new() } else { format!("; effects in{}", unit.suffix) },
        table.html()
    )
}
