//! Average effects of arms, of groups that were asked for, and of subgroups that were found: forest plots with their tables.

use paretau_core::Result;

use super::answer::{axis_label, over};
use super::forest::{Forest, Line, brief};
use crate::html::{Cell, Table, escape};
use crate::number::{Unit, count, fixed, people, percent};
use crate::paint::Paint;
use crate::plot::{Key, Shape};
use crate::records::{AskedGroup, Interval, ModelRecords, Subgroup};

/// Every arm against the control; nothing when there are two.
pub(super) fn arms(records: &ModelRecords, unit: Unit<'_>) -> Result<String> {
    if records.further_arms.is_empty() {
        return Ok(String::new());
    }
    let question = &records.question;
    let [control, treated] = &question.arms;
    // The page's own pair first, by the average that heads the page.
    let own = records.averages.first();
    let over = own.filter(|a| a.of != "everybody").map_or_else(String::new, |a| format!(", over {}", a.of));
    let own = (format!("{treated}{over}"), question.n_treated, own.map(|a| a.effect));
    let further = records.further_arms.iter().map(|arm| {
        let over = arm.over.as_ref().map_or_else(String::new, |over| format!(", over {over}"));
        (format!("{}{over}", arm.name), arm.n_rows, arm.effect)
    });
    let all: Vec<(String, usize, Option<Interval>)> = std::iter::once(own).chain(further).collect();
    let lines = all.iter().map(|(name, n, effect)| Line {
        name: if effect.is_some() { name.clone() } else { format!("{name} (no average)") },
        effect: *effect,
        ring: None,
        paint: Paint::Main,
        tip: effect.map_or_else(String::new, |effect| {
            format!("{name} against {control}, {}: {}", people(*n), interval_words(effect, unit))
        }),
    });
    let forest = Forest {
        id: "arms",
        title: "Every arm against the control",
        axis: axis_label(records),
        lines: lines.collect(),
        legend: vec![],
        unit,
    };
    let shown = |v: Option<f64>| v.map_or_else(Cell::none, |v| Cell::number(v, &unit.show(v)));
    let table = Table {
        caption: "Average effects of the arms",
        header: &["arm", "effect", "from", "to", "people"],
        rows: all
            .iter()
            .map(|(name, n, effect)| {
                let name = Cell::html(records.options.term(name));
                let [value, lo, hi] = [effect.map(|e| e.value), effect.map(|e| e.lo), effect.map(|e| e.hi)].map(shown);
                vec![name, value, lo, hi, Cell::number(*n as f64, &count(*n))]
            })
            .collect(),
    };
    let reasons: String = records
        .further_arms
        .iter()
        .filter_map(|arm| {
            let reason = escape(arm.reason.as_ref()?);
            let what = if arm.effect.is_some() { "Not over everyone for" } else { "No average for" };
            Some(format!("<p>{what} {}: {reason}.</p>", records.options.term(&arm.name)))
        })
        .collect();
    let (plot, note) = forest.plot();
    Ok(format!(
        "<h3>All arms</h3><p>Average effects against {0}{1}. Overlap, weights and balance below are those of every arm; the rest \
         of this page is about {2} against {0} and the people in these two arms.</p>{reasons}<div class=\"pair\">{3}{4}</div>",
        records.options.term(control),
        unit.after(", in "),
        records.options.term(treated),
        plot.html(&note)?,
        table.beside("All numbers")
    ))
}

/// The groups that were asked for.
pub(super) fn asked(records: &ModelRecords, unit: Unit<'_>) -> Result<String> {
    if records.groups.is_empty() {
        return Ok(String::new());
    }
    let mut lines = vec![];
    let mut column = None;
    for group in &records.groups {
        if column != Some(&group.column) {
            lines.push(Line::heading(&group.column));
            column = Some(&group.column);
        }
        let band = group.band.map_or_else(String::new, |(lo, hi)| {
            format!("; band over all groups {} to {}", unit.show(lo), unit.show(hi))
        });
        let n = people(group.n[0] + group.n[1]);
        lines.push(Line {
            name: if group.effect.is_some() {
                brief(&group.level)
            } else {
                format!("{} (too few)", brief(&group.level))
            },
            effect: group.effect,
            ring: None,
            paint: Paint::Main,
            tip: group.effect.map_or_else(String::new, |effect| {
                format!("{} {}, {n}: {}{band}", group.column, group.level, interval_words(effect, unit))
            }),
        });
    }
    let forest = Forest {
        id: "asked-groups",
        title: "Average effects of the groups",
        axis: axis_label(records),
        lines,
        legend: vec![Key::new(Paint::Main, Shape::Dot, "estimate with its own 95 % interval")],
        unit,
    };
    let (plot, note) = forest.plot();
    Ok(format!(
        "<h3>Groups that were asked for</h3><p>Doubly robust averages{}{}. Each interval holds its own group’s effect with 95 % \
         probability, the band all of them at once: compare groups by the band.</p><div class=\"pair\">{}{}</div>",
        over(records),
        unit.after(", in "),
        plot.html(&note)?,
        asked_table(records, unit)
    ))
}

fn asked_table(records: &ModelRecords, unit: Unit<'_>) -> String {
    let range = |ends: Option<(f64, f64)>| {
        ends.map_or_else(Cell::none, |(lo, hi)| Cell::number(lo, &format!("{} to {}", unit.show(lo), unit.show(hi))))
    };
    let rows_of = |g: &AskedGroup, arm: usize| {
        Cell::number(g.n[arm] as f64, &format!("{} ({})", count(g.n[arm]), fixed(g.effective[arm], 0)))
    };
    let row = |g: &AskedGroup| {
        let effect = match (&g.effect, &g.reason) {
            (Some(effect), _) => Cell::number(effect.value, &unit.show(effect.value)),
            (None, reason) => Cell::text(reason.as_deref().unwrap_or("too few people")),
        };
        vec![
            Cell::html(format!("{}: {}", records.options.term(&g.column), escape(&brief(&g.level)))),
            effect,
            range(g.effect.map(|e| (e.lo, e.hi))),
            range(g.band),
            rows_of(g, 0),
            rows_of(g, 1),
        ]
    };
    let header = ["group", "effect", "95 % interval", "band", "control", "treated"];
    let rows = records.groups.iter().map(row).collect();
    let table =
        Table { caption: "Average effects of groups; people (effective sample size) per arm", header: &header, rows };
    table.beside("All numbers of the groups")
}

/// On what the effect depends, as far as a line can say.
pub(super) fn projection(records: &ModelRecords, unit: Unit<'_>) -> String {
    if records.projection.is_empty() {
        return String::new();
    }
    let shown = |v: f64| Cell::number(v, &unit.show(v));
    let row = |(name, effect): &(String, Interval)| {
        vec![Cell::html(records.options.term(name)), shown(effect.value), shown(effect.lo), shown(effect.hi)]
    };
    let table = Table {
        caption: "Best linear projection of the effect",
        header: &["column", "effect per unit", "from", "to"],
        rows: records.projection.iter().map(row).collect(),
    };
    format!(
        "<h3>On what the effect depends</h3><p>The best linear projection of the effect on the columns that were asked for, by \
         doubly robust scores{}: by how much the effect differs when a column is larger by one, the others held; the intercept is \
         the effect where all of them are 0. Intervals of 95 %.</p>{}",
        unit.after(", in "),
        table.html()
    )
}

/// Subgroups of the features that tell predicted effects apart best.
pub(super) fn subgroups(records: &ModelRecords, found: &[Subgroup], unit: Unit<'_>) -> Result<String> {
    if found.is_empty() {
        return Ok(String::new());
    }
    let mut lines = vec![];
    let mut feature = None;
    for group in found {
        if feature != Some(&group.feature) {
            lines.push(Line::heading(&group.feature));
            feature = Some(&group.feature);
        }
        let estimate = group.seen.map_or_else(
            || "too few to estimate from the data".to_owned(),
            |seen| format!("estimated {}", interval_words(seen, unit)),
        );
        lines.push(Line {
            name: brief(&group.level),
            effect: group.seen,
            ring: Some(group.predicted),
            paint: Paint::Main,
            tip: format!(
                "{} {}, {}: predicted {}, {estimate}",
                group.feature,
                group.level,
                people(group.n),
                unit.show(group.predicted)
            ),
        });
    }
    let forest = Forest {
        id: "subgroups",
        title: "Effects within subgroups",
        axis: axis_label(records),
        lines,
        legend: vec![
            Key::new(Paint::Main, Shape::Dot, "estimated from the data"),
            Key::new(Paint::Muted, Shape::Ring, "mean prediction"),
        ],
        unit,
    };
    let (plot, note) = forest.plot();
    Ok(format!(
        "<h3>Subgroups</h3><p>The features that tell predicted effects apart best{}. Estimates from the data are doubly robust averages{}; \
         their intervals are wide enough to hold for all subgroups of all features that were examined, at once (95 %).</p>\
         <div class=\"pair\">{}{}</div>",
        unit.after("; effects in "),
        over(records),
        plot.html(&note)?,
        subgroup_table(records, found, unit)
    ))
}

fn subgroup_table(records: &ModelRecords, found: &[Subgroup], unit: Unit<'_>) -> String {
    let row = |s: &Subgroup| {
        let share = s.n_treated as f64 / s.n.max(1) as f64;
        vec![
            Cell::html(records.options.term(&s.feature)),
            Cell::text(&s.level),
            Cell::number(s.predicted, &unit.show(s.predicted)),
            s.seen.map_or_else(
                || Cell::text("too few people"),
                |seen| {
                    let ends = format!("{} ({} to {})", unit.show(seen.value), unit.show(seen.lo), unit.show(seen.hi));
                    Cell::number(seen.value, &ends)
                },
            ),
            Cell::number(s.n as f64, &count(s.n)),
            Cell::number(share, &percent(share)),
        ]
    };
    let header = ["feature", "subgroup", "predicted", "estimated", "people", "treated"];
    Table { caption: "Effects within subgroups", header: &header, rows: found.iter().map(row).collect() }
        .beside("All numbers of the subgroups")
}

/// An effect with its interval, as words beside a mark.
pub(super) fn interval_words(effect: Interval, unit: Unit<'_>) -> String {
    format!("{}, 95 % interval {} to {}", unit.words(effect.value), unit.show(effect.lo), unit.show(effect.hi))
}
