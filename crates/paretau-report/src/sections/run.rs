//! The scores of an experiment's run: a chart a data set, and all numbers.

use paretau_core::Result;

use super::Section;
use crate::html::{Cell, Table, code, escape};
use crate::ink::Paint;
use crate::number::{count, significant};
use crate::plot::{Axis, Key, Mark, Plot, Shape};
use crate::records::{RunRecords, RunScore};

/// Metrics worth a chart, the first that was scored; the others are in the table.
const CHARTED: [&str; 5] = ["pehe_rel", "pehe", "r_score", "dr_score", "qini"];
/// Data sets that get a chart.
const MOST_CHARTS: usize = 12;

pub(crate) fn run(records: &RunRecords) -> Result<Vec<Section>> {
    let data = in_order(records.scores.iter().map(|s| s.data.as_str()));
    let mut parts = vec![];
    let scored = |name: &str| records.scores.iter().any(|s| s.metric == name);
    if let Some(metric) = CHARTED.into_iter().find(|name| scored(name)) {
        let mut html = format!(
            "<p>{} on test rows: the mean over realisations and seeds, with a line of one standard deviation either way.</p>\
             <div class=\"pair\">",
            code(metric)
        );
        for (k, name) in data.iter().take(MOST_CHARTS).enumerate() {
            let own: Vec<&RunScore> = records.scores.iter().filter(|s| s.data == *name && s.metric == metric).collect();
            if !own.is_empty() {
                html += &chart(k, name, metric, &own).html("")?;
            }
        }
        html += "</div>";
        parts.push(Section { id: "scores", heading: "At a glance", html });
    }
    if !records.failures.is_empty() {
        let items: String = records.failures.iter().map(|f| format!("<li>{}</li>", escape(f))).collect();
        let html = format!("<div class=\"notice\"><h3>What failed</h3><ul>{items}</ul></div>");
        parts.push(Section { id: "failures", heading: "Failures", html });
    }
    parts.push(Section { id: "numbers", heading: "All numbers", html: table(&records.scores).html() });
    Ok(parts)
}

fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = vec![];
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

fn chart(k: usize, data: &str, metric: &str, scores: &[&RunScore]) -> Plot {
    let mut marks = vec![];
    for (y, score) in scores.iter().enumerate() {
        let y = y as f64;
        let spread = score.sd.unwrap_or(0.0);
        let tip = format!(
            "{}: {} ± {} over {} runs",
            score.method,
            significant(score.mean, 3),
            significant(spread, 2),
            count(score.n)
        );
        if spread > 0.0 {
            let points = vec![(score.mean - spread, y), (score.mean + spread, y)];
            marks.push(Mark::Line { points, paint: Paint::Main, width: 2.2, tip: tip.clone() });
        }
        marks.push(Mark::Dot { at: (score.mean, y), paint: Paint::Main, hollow: false, tip });
    }
    let ends = scores.iter().flat_map(|s| {
        let spread = s.sd.unwrap_or(0.0);
        [s.mean - spread, s.mean + spread]
    });
    let told: Vec<String> = scores.iter().map(|s| format!("{} {}", s.method, significant(s.mean, 3))).collect();
    Plot {
        id: format!("run-{}", k + 1),
        title: data.to_owned(),
        alternative: format!("{metric} of each method: {}.", told.join(", ")),
        x: Axis::over(metric, ends),
        y: Axis { label: String::new(), range: scores.len() as f64 - 0.4..-0.6, log: false, format: |_| String::new() },
        names: Some(scores.iter().map(|s| s.method.clone()).collect()),
        legend: vec![Key::new(Paint::Main, Shape::Dot, "mean and standard deviation")],
        marks,
        height: 52 + 24 * scores.len() as u32,
    }
}

fn table(scores: &[RunScore]) -> Table<'static> {
    Table {
        caption: "Mean and standard deviation over realisations and seeds",
        header: &["data", "method", "metric", "mean", "sd", "runs"],
        rows: scores
            .iter()
            .map(|s| {
                vec![
                    Cell::text(&s.data),
                    Cell::html(code(&s.method)),
                    Cell::html(code(&s.metric)),
                    Cell::number(s.mean, &significant(s.mean, 4)),
                    s.sd.map_or_else(Cell::none, |sd| Cell::number(sd, &significant(sd, 3))),
                    Cell::number(s.n as f64, &count(s.n)),
                ]
            })
            .collect(),
    }
}
