//! Whether weighting makes the arms alike, feature by feature.

use paretau_core::Result;

use super::Section;
use crate::axis::Axis;
use crate::html::{Cell, Table};
use crate::number::{count, fixed};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{ArmFindings, Balance, ModelRecords};

/// Differences beyond this many standard deviations are usually called imbalance.
const IMBALANCE: f64 = 0.1;
/// Features in the chart, the most different ones; the table has more.
const SHOWN: usize = 25;

pub(crate) fn balance(records: &ModelRecords) -> Result<Option<Section>> {
    let found: Vec<(usize, &ArmFindings)> = (records.findings.iter())
        .flat_map(|findings| findings.arms.iter().enumerate())
        .filter(|(_, own)| !own.balance.is_empty())
        .collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut html = "<p>Distances between the arms in standard deviations.</p>".to_owned();
    for (k, own) in found {
        html += &super::overlap::arm_heading(records, k);
        html += &of_arm(records, k, own)?;
    }
    Ok(Some(Section { id: "balance", heading: "Are the arms alike?", html }))
}

/// Balance of the `k`-th treated arm and the control.
fn of_arm(records: &ModelRecords, k: usize, findings: &ArmFindings) -> Result<String> {
    let all = &findings.balance;
    let off =
        |pick: fn(&Balance) -> Option<f64>| all.iter().filter(|b| pick(b).is_none_or(|d| d.abs() > IMBALANCE)).count();
    let (before, after) = (off(|b| b.before), off(|b| b.after));
    let listed = if findings.n_balanced > all.len() {
        format!(" Of {} features, the {} that differ most are listed.", count(findings.n_balanced), count(all.len()))
    } else {
        String::new()
    };
    Ok(format!(
        "<p>Before weighting {} beyond 0.1, after weighting {}.{listed}</p><div class=\"pair\">{}{}</div>",
        features(before),
        features(after),
        love(all, k).html("")?,
        table(records, all)
    ))
}

fn features(n: usize) -> String {
    match n {
        0 => "no feature is".to_owned(),
        1 => "one feature is".to_owned(),
        n => format!("{} features are", count(n)),
    }
}

fn love(all: &[Balance], k: usize) -> Plot {
    let shown = &all[..all.len().min(SHOWN)];
    let sizes = shown.iter().flat_map(|b| [b.before, b.after]).flatten().map(f64::abs);
    let mut marks = vec![Mark::Across { x: IMBALANCE, paint: Paint::Limit }];
    for (k, b) in shown.iter().enumerate() {
        let y = k as f64;
        let words = |v: Option<f64>| v.map_or_else(|| "not comparable".to_owned(), |v| fixed(v, 2));
        let tip = format!("{}: {} before weighting, {} after", b.name, words(b.before), words(b.after));
        if let (Some(before), Some(after)) = (b.before, b.after) {
            let points = vec![(before.abs(), y), (after.abs(), y)];
            marks.push(Mark::Line { points, paint: Paint::Grid, width: 1.6, tip: String::new() });
        }
        if let Some(before) = b.before {
            marks.push(Mark::Dot { at: (before.abs(), y), paint: Paint::Before, hollow: true, tip: tip.clone() });
        }
        if let Some(after) = b.after {
            marks.push(Mark::Dot { at: (after.abs(), y), paint: Paint::After, hollow: false, tip });
        }
    }
    let worst =
        shown.first().map_or(String::new(), |b| format!(" The most different feature before weighting is {}.", b.name));
    Plot {
        id: super::overlap::arm_id("balance-plot", k),
        title: if all.len() > shown.len() {
            format!("The {} features that differ most", shown.len())
        } else {
            "Differences before and after weighting".to_owned()
        },
        alternative: format!(
            "Absolute standardised differences of {} features before and after weighting, with a line at 0.1.{worst}",
            shown.len()
        ),
        x: Axis::from_zero("difference in standard deviations", sizes.chain([IMBALANCE])),
        y: Axis::of_names(shown.len()),
        names: Some(shown.iter().map(|b| b.name.clone()).collect()),
        legend: vec![
            Key::new(Paint::Before, Shape::Ring, "before weighting"),
            Key::new(Paint::After, Shape::Dot, "after"),
            Key::new(Paint::Limit, Shape::Line, "0.1"),
        ],
        marks,
        height: 48 + 20 * shown.len() as u32,
    }
}

fn table(records: &ModelRecords, all: &[Balance]) -> String {
    let cell = |v: Option<f64>| v.map_or_else(Cell::none, |v| Cell::number(v, &fixed(v, 3)));
    Table {
        caption: "Standardised differences, treated minus control",
        header: &["feature", "before", "after"],
        rows: all
            .iter()
            .map(|b| vec![Cell::html(records.options.term(&b.name)), cell(b.before), cell(b.after)])
            .collect(),
    }
    .beside("All numbers")
}
