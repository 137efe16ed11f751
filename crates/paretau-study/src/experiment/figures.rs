//! Records as a figure: lines over a parameter of the data, with bands, or methods in rows with intervals.

use paretau_core::{Error, Result};
use paretau_eval::Metric;
use paretau_report::{Content, Figure, FigureLine, FigurePoint, FigureRow, Panel};
use serde::{Deserialize, Serialize};

use super::compare::{bootstrap, by_realisation};
use super::plan::{DataSpec, Method, Plan};
use super::records::Record;
use super::tables::{summary, values};

/// Scores that differ by more than this ratio are shown on a logarithmic axis.
const WIDE_RATIO: f64 = 15.0;
/// Realisations from which an interval of their mean can be drawn.
const ENOUGH: usize = 5;
/// Data sets that get a panel of rows.
const MOST_PANELS: usize = 12;

/// What a plan's figure shows; without one, methods in rows by the plan's first metric, one panel per data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Parameter of the data sets along the horizontal axis.
    pub x: String,
    /// What the horizontal axis counts.
    pub x_label: String,
    /// Parameter of the data sets that gets a panel for each value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What is shown, one panel per entry.
    pub panels: Vec<PanelSpec>,
}

/// A panel of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelSpec {
    /// Metric.
    pub metric: String,
    /// Title.
    pub title: String,
    /// What the vertical axis counts; the metric's name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_label: Option<String>,
    /// Whether the vertical axis is logarithmic.
    #[serde(default)]
    pub log: bool,
}

impl FigureSpec {
    /// Refuses parameters that the plan does not have.
    pub(super) fn check(&self, data: &[DataSpec]) -> Result<()> {
        for panel in &self.panels {
            Metric::named(&panel.metric)?;
        }
        for name in [Some(&self.x), self.by.as_ref()].into_iter().flatten() {
            if let Some(without) = data.iter().find(|data| parameter(data, name).is_none()) {
                return Err(Error::unfit(format!(
                    "the figure is drawn over the parameter `{name}`, which data `{}` does not set to a number",
                    without.name
                )));
            }
        }
        Ok(())
    }
}

fn parameter(data: &DataSpec, name: &str) -> Option<f64> {
    data.params.0.get(name).and_then(serde_json::Value::as_f64)
}

/// The figure of a plan's records. It has no panels when there is nothing to show.
pub fn figure(plan: &Plan, records: &[&Record]) -> Figure {
    let failed = records.iter().filter(|record| record.error.is_some()).count();
    let missing = if failed > 0 {
        format!(" {failed} of {} runs failed and have no mark.", records.len())
    } else {
        String::new()
    };
    match &plan.figure {
        Some(spec) => Figure {
            title: plan.summary.clone(),
            caption: format!(
                "Means over realisations and seeds; {} one standard deviation either way.{missing}",
                if plan.methods.len() <= 4 { "bands are" } else { "whiskers are" }
            ),
            panels: lines(plan, spec, records),
        },
        None => Figure {
            title: plan.summary.clone(),
            caption: format!(
                "Means over realisations with 95 % bootstrap intervals, from {ENOUGH} realisations on; errors of one \
                 realisation go together, so that methods are compared by the paired differences, not by whether \
                 intervals overlap.{missing}"
            ),
            panels: rows(plan, records),
        },
    }
}

fn lines(plan: &Plan, spec: &FigureSpec, records: &[&Record]) -> Vec<Panel> {
    let mut values_of_by: Vec<Option<f64>> = vec![];
    for data in &plan.data {
        let value = spec.by.as_ref().and_then(|by| parameter(data, by));
        if !values_of_by.contains(&value) {
            values_of_by.push(value);
        }
    }
    let mut panels = vec![];
    for by in values_of_by {
        for panel in &spec.panels {
            let in_panel = |data: &&DataSpec| by.is_none() || spec.by.as_ref().and_then(|b| parameter(data, b)) == by;
            let own: Vec<&DataSpec> = plan.data.iter().filter(in_panel).collect();
            let lines: Vec<FigureLine> = plan
                .methods
                .iter()
                .enumerate()
                .map(|(k, method)| FigureLine {
                    name: method.label().to_owned(),
                    series: (k % 10) as u8,
                    points: points(&own, &spec.x, method, &panel.metric, records),
                })
                .filter(|line| !line.points.is_empty())
                .collect();
            if lines.is_empty() {
                continue;
            }
            let title = match (by, &spec.by) {
                (Some(value), Some(name)) => format!("{}{name} = {value}", separated(&panel.title)),
                _ => panel.title.clone(),
            };
            panels.push(Panel {
                title,
                x_label: spec.x_label.clone(),
                y_label: panel.y_label.clone().unwrap_or_else(|| panel.metric.clone()),
                log_x: false,
                log_y: panel.log,
                content: Content::Lines(lines),
            });
        }
    }
    panels
}

fn separated(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!("{title}, ") }
}

fn points(data: &[&DataSpec], x: &str, method: &Method, metric: &str, records: &[&Record]) -> Vec<FigurePoint> {
    let mut points: Vec<FigurePoint> = data
        .iter()
        .filter_map(|data| {
            let own: Vec<&Record> = of(records, data, method);
            let s = summary(&values(&own, metric))?;
            let band = (s.n > 1).then_some((s.mean - s.sd, s.mean + s.sd));
            Some(FigurePoint { x: parameter(data, x)?, y: s.mean, band, n: s.n })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn of<'r>(records: &[&'r Record], data: &DataSpec, method: &Method) -> Vec<&'r Record> {
    let mine = |r: &&&Record| r.cell.data.name == data.name && r.cell.method.label() == method.label();
    records.iter().filter(mine).copied().collect()
}

fn rows(plan: &Plan, records: &[&Record]) -> Vec<Panel> {
    let Some(metric) = plan.first_metric(records) else { return vec![] };
    let mut panels = vec![];
    for data in plan.data.iter().take(MOST_PANELS) {
        let rows: Vec<FigureRow> = plan
            .methods
            .iter()
            .map(|method| {
                let values: Vec<f64> = by_realisation(&of(records, data, method), &metric);
                let published = plan.published.iter().find(|p| p.method == method.label());
                FigureRow {
                    name: method.label().to_owned(),
                    mean: summary(&values).map(|s| s.mean),
                    interval: (values.len() >= ENOUGH).then(|| bootstrap(&values)),
                    published: published.filter(|_| plan.metrics.first() == Some(&metric)).map(|p| (p.mean, p.sd)),
                    values,
                }
            })
            .collect();
        let shown: Vec<f64> =
            rows.iter().flat_map(|row| row.values.iter().copied().chain(row.published.map(|p| p.0))).collect();
        if rows.iter().all(|row| row.mean.is_none()) {
            continue;
        }
        let (lo, hi) = shown.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        panels.push(Panel {
            title: data.name.clone(),
            x_label: metric.clone(),
            y_label: String::new(),
            log_x: lo > 0.0 && hi / lo > WIDE_RATIO,
            log_y: false,
            content: Content::Rows(rows),
        });
    }
    panels
}
