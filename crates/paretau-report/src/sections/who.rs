//! How effects differ between people: their distribution, groups, subgroups and a small tree.

use std::fmt::Write as _;

use paretau_core::Result;

use super::answer::axis_label;
use super::groups::subgroups;
use super::{Section, along, unit};
use crate::axis::Axis;
use crate::html::escape;
use crate::number::{Unit, count, people, percent};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{EffectNode, EffectSummary, Findings, Interval, ModelRecords};

pub(crate) fn who(records: &ModelRecords) -> Result<Option<Section>> {
    let Some(findings) = &records.findings else { return Ok(None) };
    let unit = unit(records);
    let effects = &findings.effects;
    // Who benefits is known only where it is known what a benefit is.
    let heading =
        if records.options.lower_is_better.is_some() { "Who benefits" } else { "How effects differ between people" };
    let mut html = format!("<p>{}</p>", escape(provenance(effects)));
    if effects.sd <= 0.0 {
        html += "<p>The model predicts the same effect for everybody, so there is nobody to tell apart.</p>";
        return Ok(Some(Section { id: "who", heading, html }));
    }
    if records.scope.is_some() && !records.asked {
        html += "<p>Nobody in the other arm is comparable to many of these people: what is predicted for them is extrapolated, and its \
                 mean is not the answer above.</p>";
    }
    html += "<div class=\"pair\">";
    html += &histogram(records, effects, unit).html(&outside(effects, unit))?;
    let (plot, cut) = sorted(records, effects, unit);
    html += &plot.html(&format!("{}{cut}", sure(effects)))?;
    html += "</div><div class=\"pair\">";
    if findings.groups.len() > 1 {
        html += &groups(records, findings, unit).html(&agreement(findings))?;
    } else if !effects.held_out {
        html += "<div><h3>Does the ranking hold?</h3><p>These people cannot show it: the model learned from them. \
                 <code>paretau evaluate</code> on other rows does.</p></div>";
    }
    // Gains are measured over everybody: where that is extrapolation, they would contradict the answer.
    if records.scope.is_none() || records.asked {
        html += &along::targeting(records, &findings.targeting, unit)?;
    } else if !findings.targeting.is_empty() {
        html += "<div><h3>What choosing by predicted effect gains</h3><p>Not shown: like an average over everybody, it would rest \
                 on extrapolation.</p></div>";
    }
    html += &tree(records, findings, unit);
    html += "</div>";
    html += &along::curves(records, &findings.curves, unit)?;
    html += &subgroups(records, &findings.subgroups, unit)?;
    Ok(Some(Section { id: "who", heading, html }))
}

fn provenance(effects: &EffectSummary) -> &'static str {
    if effects.held_out {
        "Each person's effect is predicted by models that were fitted without that person."
    } else {
        "Effects are predicted for the people the model learned from, so they differ a little more than they would for new people."
    }
}

/// What the histogram leaves out.
fn outside(effects: &EffectSummary, unit: Unit<'_>) -> String {
    let [below, above] = effects.outside;
    let ends = (effects.histogram.first(), effects.histogram.last(), effects.sorted.first(), effects.sorted.last());
    let (Some(first), Some(last), Some(least), Some(most)) = ends else { return String::new() };
    let mut parts = vec![];
    if below > 0 {
        parts.push(format!("{} below {} (down to {})", people(below), unit.show(first.from), unit.show(least.tau)));
    }
    if above > 0 {
        parts.push(format!("{} above {} (up to {})", people(above), unit.show(last.to), unit.show(most.tau)));
    }
    if parts.is_empty() { String::new() } else { format!("Not drawn: {}.", parts.join(", ")) }
}

fn histogram(records: &ModelRecords, effects: &EffectSummary, unit: Unit<'_>) -> Plot {
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
                "{} ({}) with an effect from {} to {}",
                people(bin.n),
                percent(share(bin.n)),
                unit.show(bin.from),
                unit.show(bin.to)
            ),
        })
        .collect();
    let edges = effects.histogram.iter().flat_map(|b| [b.from, b.to]).map(|v| v * unit.scale);
    let x = Axis::over(axis_label(records), edges);
    let mut legend = vec![Key::new(Paint::Limit, Shape::Line, "mean of the predictions")];
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

/// The chart, and a sentence about what its axis cuts off.
fn sorted(records: &ModelRecords, effects: &EffectSummary, unit: Unit<'_>) -> (Plot, String) {
    /// The share at either end that does not stretch the axis.
    const ENDS: f64 = 0.015;
    let inner = effects.sorted.iter().filter(|s| s.share > ENDS && s.share < 1.0 - ENDS);
    let heights = inner.flat_map(|s| [Some(s.tau), s.band.map(|b| b.0), s.band.map(|b| b.1)]).flatten();
    let (lo, hi) = heights.fold((0.0, 0.0), |(lo, hi): (f64, f64), v| (lo.min(v), hi.max(v)));
    // The ends may reach half as far again.
    let (lo, hi) = (lo - 0.5 * (hi - lo), hi + 0.5 * (hi - lo));
    let whole = effects.sorted.iter().flat_map(|s| [Some(s.tau), s.band.map(|b| b.0), s.band.map(|b| b.1)]).flatten();
    let scale = unit.scale;
    let y = Axis::over(
        match (records.question.binary, &records.options.unit) {
            (true, _) => "effect, percentage points".to_owned(),
            (false, Some(unit)) => format!("effect, {unit}"),
            (false, None) => "effect".to_owned(),
        },
        whole.clone().map(|v| v.clamp(lo, hi) * scale).chain([0.0]),
    );
    let inside = |v: f64| (v * scale).clamp(y.range.start, y.range.end);
    let cut = if whole.clone().any(|v| v < lo || v > hi) {
        let (least, most) = whole.fold((0.0, 0.0), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
        format!(
            " The axis is cut at the ends; effects and intervals reach from {} to {}.",
            unit.show(least),
            unit.show(most)
        )
    } else {
        String::new()
    };
    let points: Vec<(f64, f64)> = effects.sorted.iter().map(|s| (s.share, inside(s.tau))).collect();
    let band: Vec<(f64, f64, f64)> =
        effects.sorted.iter().filter_map(|s| s.band.map(|(lo, hi)| (s.share, inside(lo), inside(hi)))).collect();
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
    let plot = Plot {
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
    };
    (plot, cut)
}

fn sure(effects: &EffectSummary) -> String {
    match (effects.surely_above, effects.surely_below) {
        (Some(above), Some(below)) => format!(
            "For {} of people the whole interval lies above zero, for {} below it; for the others the direction is open.",
            percent(above),
            percent(below)
        ),
        _ => {
            "As it was fitted, this estimator gives no interval for each person; auto and causal-forest do.".to_owned()
        }
    }
}

fn groups(records: &ModelRecords, findings: &Findings, unit: Unit<'_>) -> Plot {
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
            "group {} of {}: {}, predicted {}, estimated {} ({} to {})",
            k + 1,
            findings.groups.len(),
            people(group.n),
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
        .map(|g| format!("predicted {}, estimated {}", unit.show(g.predicted), unit.show(g.seen.value)))
        .collect();
    Plot {
        id: "effect-groups".to_owned(),
        title: "Does the ranking hold?".to_owned(),
        alternative: format!(
            "People in groups by predicted effect, with the effect estimated from the data in each: {}.",
            summary.join("; ")
        ),
        x,
        y: Axis::over(
            if records.question.binary { "estimated, percentage points" } else { "estimated effect" },
            all.iter().copied().chain([0.0, line.0, line.1]),
        ),
        names: None,
        legend: vec![
            Key::new(Paint::Main, Shape::Dot, "estimated from the data, with 95 % interval"),
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
        (true, _) => {
            "The effect is clearly larger among the people with the largest predicted effects than among those with the smallest."
        }
        (false, true) => {
            "The effect is larger among the people with the largest predicted effects than among those with the smallest, but \
             their intervals overlap."
        }
        (false, false) => {
            "The effect is no larger among the people with the largest predicted effects than among those with the smallest: do \
             not choose people by these predictions."
        }
    };
    format!(
        "People in groups of about equal size by predicted effect; estimates from the data are doubly robust. {how}"
    )
}

fn tree(records: &ModelRecords, findings: &Findings, unit: Unit<'_>) -> String {
    let Some(tree) = &findings.tree else { return String::new() };
    let [choosing, seeing] = tree.rows;
    let Some(split) = &tree.root.split else {
        // The average of everybody has its place in the answer, under its name; a second one beside it would need explaining.
        return format!(
            "<figure id=\"tree\" class=\"tree\"><h3>The effect as a small tree</h3><p>Among {} no question tells effects apart \
             beyond chance, so there is no tree: the average effect is the best answer.</p></figure>",
            people(choosing)
        );
    };
    let how = format!(
        "The questions were chosen on {}. In brackets are the estimates from the {} others{}, with intervals that hold for \
             all groups of the tree at once (95 %). The tree accounts for {} of the variance of the predicted effects.",
        people(choosing),
        count(seeing),
        super::answer::over(records),
        percent(tree.explained)
    );
    let mut out = format!("<figure id=\"tree\" class=\"tree\"><h3>The effect as a small tree</h3><p>{how}</p><ul>");
    branch(&mut out, &split.yes, &split.left, unit);
    branch(&mut out, &split.no, &split.right, unit);
    out += "</ul></figure>";
    out
}

fn branch(out: &mut String, condition: &str, node: &EffectNode, unit: Unit<'_>) {
    let _ = write!(
        out,
        "<li><span class=\"if\">{}</span> <span class=\"then\"><b>{}</b> <span class=\"seen\">[{}]</span> \
         <span class=\"n\">{}</span></span>",
        escape(condition),
        unit.show(node.predicted),
        node.seen.map_or_else(|| "too few to estimate".to_owned(), |seen| interval(seen, unit)),
        people(node.n)
    );
    if let Some(split) = &node.split {
        out.push_str("<ul>");
        branch(out, &split.yes, &split.left, unit);
        branch(out, &split.no, &split.right, unit);
        out.push_str("</ul>");
    }
    out.push_str("</li>");
}

fn interval(seen: Interval, unit: Unit<'_>) -> String {
    format!("{}; {} to {}", unit.show(seen.value), unit.show(seen.lo), unit.show(seen.hi))
}
