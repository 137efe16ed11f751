//! What the model reads from the features: their roles, their importance, or how strongly a net reads them.

use paretau_core::{FeatureRole, Importance, Result, Role};

use super::Section;
use crate::axis::Axis;
use crate::html::{Cell, Table};
use crate::number::{count, fixed, percent};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::ModelRecords;

/// Features in a chart; the table has more.
const SHOWN: usize = 20;
/// Features in a table.
const LISTED: usize = 300;

pub(crate) fn features(records: &ModelRecords) -> Result<Option<Section>> {
    let mut html = String::new();
    if !records.roles.is_empty() {
        html += &roles(records)?;
    }
    if !records.importance.is_empty() {
        html += &shares(records, &records.importance, IMPORTANCE)?;
    }
    if !records.reading.is_empty() {
        html += &shares(records, &records.reading, READING)?;
    }
    Ok((!html.is_empty()).then_some(Section { id: "features", heading: "What the features do", html }))
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Instrument => "instrument",
        Role::Confounder => "confounder",
        Role::Adjuster => "adjuster",
        Role::None => "none",
    }
}

/// A role with its colour and its reading strength.
type Kind = (&'static str, Paint, fn(&FeatureRole) -> f64);

fn roles(records: &ModelRecords) -> Result<String> {
    let all = &records.roles;
    let strongest = |r: &FeatureRole| r.instrument.max(r.confounder).max(r.adjuster);
    let mut order: Vec<&FeatureRole> = all.iter().collect();
    order.sort_by(|a, b| strongest(b).total_cmp(&strongest(a)).then_with(|| a.name.cmp(&b.name)));
    let shown = &order[..order.len().min(SHOWN)];
    let kinds: [Kind; 3] = [
        ("instrument", Paint::Treated, |r| r.instrument),
        ("confounder", Paint::Limit, |r| r.confounder),
        ("adjuster", Paint::After, |r| r.adjuster),
    ];
    let mut marks = vec![];
    for (k, r) in shown.iter().enumerate() {
        let strengths = kinds.map(|(_, _, pick)| pick(r));
        let ends = strengths.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
        let y = k as f64;
        marks.push(Mark::Line {
            points: vec![(ends.0, y), (ends.1, y)],
            paint: Paint::Grid,
            width: 1.6,
            tip: String::new(),
        });
        for ((name, paint, _), strength) in kinds.iter().zip(strengths) {
            let tip = format!("{}: read {} times the mean strength as {name}", r.name, fixed(strength, 2));
            marks.push(Mark::Dot { at: (strength, y), paint: *paint, hollow: false, tip });
        }
    }
    let tally = |role: Role| all.iter().filter(|r| r.role == role).count();
    let plot = Plot {
        id: "roles".to_owned(),
        title: if all.len() > shown.len() {
            format!("The {} features read most", shown.len())
        } else {
            "How strongly each part of the net reads each feature".to_owned()
        },
        alternative: format!(
            "Reading strength of each feature as instrument, confounder and adjuster. {} instruments, {} confounders, {} adjusters.",
            tally(Role::Instrument),
            tally(Role::Confounder),
            tally(Role::Adjuster)
        ),
        x: Axis::from_zero("reading strength, 1 is the mean", shown.iter().map(|r| strongest(r))),
        y: Axis::of_names(shown.len()),
        names: Some(shown.iter().map(|r| r.name.clone()).collect()),
        legend: kinds.iter().map(|(name, paint, _)| Key::new(*paint, Shape::Dot, *name)).collect(),
        marks,
        height: 48 + 20 * shown.len() as u32,
    };
    let table = Table {
        caption: "Roles of the features",
        header: &["feature", "role", "agreement", "instrument", "confounder", "adjuster"],
        rows: order
            .iter()
            .take(LISTED)
            .map(|r| {
                let strength = |v: f64| Cell::number(v, &fixed(v, 2));
                vec![
                    Cell::html(records.options.term(&r.name)),
                    Cell::text(role_name(r.role)),
                    Cell::number(r.score, &percent(r.score)),
                    strength(r.instrument),
                    strength(r.confounder),
                    strength(r.adjuster),
                ]
            })
            .collect(),
    };
    Ok(format!(
        "<p>The model labels {} features as instruments (they move the treatment only), {} as confounders (treatment and outcome) \
         and {} as adjusters (the outcome only); {} are hardly read. Labels describe this model; they prove nothing about causes.</p><div class=\"pair\">{}{}</div>",
        count(tally(Role::Instrument)),
        count(tally(Role::Confounder)),
        count(tally(Role::Adjuster)),
        count(tally(Role::None)),
        plot.html("")?,
        table.beside("All numbers")
    ))
}

/// Words around shares of features.
struct ShareTable {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    caption: &'static str,
    column: &'static str,
}

const IMPORTANCE: ShareTable = ShareTable {
    id: "importance",
    title: "What the model tells effects apart by",
    axis: "share of the importance",
    caption: "Importance of the features",
    column: "importance",
};

const READING: ShareTable = ShareTable {
    id: "reading",
    title: "What the net reads",
    axis: "share of the first layer's weights",
    caption: "How strongly the net reads the features",
    column: "reading",
};

fn shares(records: &ModelRecords, all: &[Importance], text: ShareTable) -> Result<String> {
    let mut order: Vec<&Importance> = all.iter().collect();
    order.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    let shown = &order[..order.len().min(SHOWN)];
    let marks = shown
        .iter()
        .enumerate()
        .map(|(k, i)| Mark::Bar {
            x: (0.0, i.share),
            y: (k as f64 - 0.34, k as f64 + 0.34),
            paint: Paint::Main,
            tip: format!("{}: {}", i.name, percent(i.share)),
        })
        .collect();
    let plot = Plot {
        id: text.id.to_owned(),
        title: text.title.to_owned(),
        alternative: format!(
            "{}, largest first: {}.",
            text.caption,
            shown.iter().take(5).map(|i| format!("{} {}", i.name, percent(i.share))).collect::<Vec<_>>().join(", ")
        ),
        x: Axis::from_zero(text.axis, shown.iter().map(|i| i.share))
            .shown(|v| format!("{} %", crate::number::tick(100.0 * v))),
        y: Axis::of_names(shown.len()),
        names: Some(shown.iter().map(|i| i.name.clone()).collect()),
        legend: vec![],
        marks,
        height: 48 + 20 * shown.len() as u32,
    };
    let table = Table {
        caption: text.caption,
        header: &["feature", text.column],
        rows: order
            .iter()
            .take(LISTED)
            .map(|i| {
                vec![
                    Cell::html(records.options.term(&i.name)),
                    Cell::number(i.share, &format!("{} %", fixed(100.0 * i.share, 1))),
                ]
            })
            .collect(),
    };
    Ok(format!("<div class=\"pair\">{}{}</div>", plot.html("")?, table.beside("All numbers")))
}
