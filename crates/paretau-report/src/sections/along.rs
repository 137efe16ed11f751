//! Effects along features that are numbers, and what treating by predicted effect gains.

use std::fmt::Write as _;

use paretau_core::Result;

use super::answer::axis_label;
use super::groups::interval_words;
use crate::axis::Axis;
use crate::html::escape;
use crate::number::{Unit, people, percent, tick};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{FeatureCurve, ModelRecords, TargetPoint};

/// Intervals so many times wider than the median one do not stretch the axis.
const WIDE: f64 = 4.0;

/// Charts of the effect along each leading feature.
pub(super) fn curves(records: &ModelRecords, curves: &[FeatureCurve], unit: Unit<'_>) -> Result<String> {
    let curves: Vec<&FeatureCurve> = curves.iter().filter(|c| c.points.len() > 2).collect();
    if curves.is_empty() {
        return Ok(String::new());
    }
    let mut html = format!(
        "<h3>The effect along the leading features</h3><p>People in groups of neighbouring values, each at its median. Points \
         are doubly robust estimates from the data{}; their intervals form a band that holds for all points of all features \
         that were examined, at once (95 %). The line is the mean prediction.</p><div class=\"pair\">",
        super::answer::over(records)
    );
    for (k, curve) in curves.iter().enumerate() {
        let (plot, note) = along(k, records, curve, unit);
        html += &plot.html(&note)?;
    }
    Ok(html + "</div>")
}

fn along(k: usize, records: &ModelRecords, curve: &FeatureCurve, unit: Unit<'_>) -> (Plot, String) {
    let scaled = |v: f64| v * unit.scale;
    let mut widths: Vec<f64> = curve.points.iter().filter_map(|p| p.seen).map(|e| e.hi - e.lo).collect();
    widths.sort_by(f64::total_cmp);
    let median = widths.get(widths.len() / 2).copied().unwrap_or(0.0);
    let usual = curve.points.iter().filter_map(|p| p.seen).filter(|e| e.hi - e.lo <= WIDE * median);
    let heights = usual.flat_map(|e| [e.lo, e.hi]).chain(curve.points.iter().map(|p| p.predicted)).chain([0.0]);
    let y = Axis::over(short_axis(records), heights.map(scaled));
    let inside = |v: f64| scaled(v).clamp(y.range.start, y.range.end);
    let mut marks = vec![Mark::Along { y: 0.0, paint: Paint::Text }];
    let line: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.at, inside(p.predicted))).collect();
    let (mut cut, mut words) = (vec![], vec![]);
    for point in &curve.points {
        let Some(seen) = point.seen else { continue };
        let tip = format!(
            "{} {}, {}: predicted {}, estimated {}",
            curve.feature,
            point.level,
            people(point.n),
            unit.show(point.predicted),
            interval_words(seen, unit)
        );
        words.push(format!("at {} {}", tick(point.at), unit.show(seen.value)));
        if scaled(seen.lo) < y.range.start || scaled(seen.hi) > y.range.end {
            cut.push(format!("at {}, {} to {}", tick(point.at), unit.show(seen.lo), unit.show(seen.hi)));
        }
        let ends = vec![(point.at, inside(seen.lo)), (point.at, inside(seen.hi))];
        marks.push(Mark::Line { points: ends, paint: Paint::Main, width: 2.2, tip: tip.clone() });
        marks.push(Mark::Dot { at: (point.at, inside(seen.value)), paint: Paint::Main, hollow: false, tip });
    }
    marks.push(Mark::Line { points: line, paint: Paint::Before, width: 1.8, tip: String::new() });
    let note = if cut.is_empty() {
        String::new()
    } else {
        format!("Intervals cut at the edge of the chart: {}.", escape(&cut.join("; ")))
    };
    let plot = Plot {
        id: format!("along-{}", k + 1),
        title: format!("Effect along {}", curve.feature),
        alternative: format!("Estimated effects {}.", words.join(", ")),
        x: Axis::over(curve.feature.clone(), curve.points.iter().map(|p| p.at)),
        y,
        names: None,
        legend: vec![
            Key::new(Paint::Main, Shape::Dot, "estimated, with band"),
            Key::new(Paint::Before, Shape::Line, "predicted"),
        ],
        marks,
        height: 270,
    };
    (plot, note)
}

/// An axis label that fits beside a chart.
fn short_axis(records: &ModelRecords) -> String {
    match (records.question.binary, &records.options.unit) {
        (true, _) => "effect, percentage points".to_owned(),
        (false, Some(unit)) => format!("effect, {unit}"),
        (false, None) => "effect".to_owned(),
    }
}

/// The targeting curve; nothing where there is none.
pub(super) fn targeting(records: &ModelRecords, points: &[TargetPoint], unit: Unit<'_>) -> Result<String> {
    /// Standard errors of a 95 % interval.
    const ERRORS: f64 = 1.96;
    let lower = records.options.lower_is_better == Some(true);
    let points: Vec<TargetPoint> = if lower { reversed(points) } else { points.to_vec() };
    let inner: Vec<&TargetPoint> = points.iter().filter(|p| p.share < 1.0 - 1e-9).collect();
    if inner.len() < 3 {
        return Ok(String::new());
    }
    let scaled = |v: f64| v * unit.scale;
    let band: Vec<(f64, f64, f64)> = points
        .iter()
        .filter_map(|p| Some((p.share, scaled(p.gain - ERRORS * p.se?), scaled(p.gain + ERRORS * p.se?))))
        .collect();
    let line: Vec<(f64, f64)> = points.iter().map(|p| (p.share, scaled(p.gain))).collect();
    // The smallest shares are a few people: their band does not stretch the axis.
    let calm = band.iter().filter(|b| b.0 >= 0.1).flat_map(|b| [b.1, b.2]);
    let y = Axis::over(
        if records.question.binary {
            "gain, percentage points".to_owned()
        } else {
            format!("gain{}", unit.after(", "))
        },
        calm.chain(line.iter().map(|p| p.1)).chain([0.0]),
    );
    let (lo, hi) = (y.range.start, y.range.end);
    let cut = band.iter().any(|b| b.1 < lo || b.2 > hi);
    let clamped = band.iter().map(|b| (b.0, b.1.clamp(lo, hi), b.2.clamp(lo, hi))).collect();
    let mut marks = vec![
        Mark::Band { points: clamped, paint: Paint::Band },
        Mark::Along { y: 0.0, paint: Paint::Text },
        Mark::Line { points: line, paint: Paint::Main, width: 2.2, tip: String::new() },
    ];
    let half = 0.5 / points.len() as f64;
    for point in &points {
        let mut tip = format!(
            "the first {} of people: {} above the average of all",
            percent(point.share),
            unit.words(point.gain)
        );
        if let Some(se) = point.se {
            let _ = write!(
                tip,
                ", 95 % interval {} to {}",
                unit.show(point.gain - ERRORS * se),
                unit.show(point.gain + ERRORS * se)
            );
        }
        marks.push(Mark::Hit { x: ((point.share - half).max(0.0), (point.share + half).min(1.0)), tip });
    }
    let which = if lower { "lowest" } else { "largest" };
    let plot = Plot {
        id: "targeting".to_owned(),
        title: "What choosing by predicted effect gains".to_owned(),
        alternative: format!(
            "Gain of treating the people with the {which} predicted effects first: {}.",
            inner
                .iter()
                .filter(|p| ((p.share * 20.0).round() as usize).is_multiple_of(5))
                .map(|p| format!("{} at {}", unit.show(p.gain), percent(p.share)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        x: Axis::of_shares("share treated, best first", |v| format!("{} %", tick(100.0 * v))),
        y,
        names: None,
        legend: vec![
            Key::new(Paint::Main, Shape::Line, "gain per person treated"),
            Key::new(Paint::Band, Shape::Square, "95 % interval"),
        ],
        marks,
        height: 270,
    };
    let note = format!(
        "The average effect among those with the {which} predicted effects, less that of everybody (the targeting curve, \
         doubly robust; {}). Where the band holds 0, choosing gains nothing that the data can show.{}",
        escape(&axis_label(records)),
        if cut { " The band is cut where the share is below 10 %." } else { "" }
    );
    plot.html(&note)
}

/// The same curve for treating the lowest effects first, where lower outcomes are better: the mean of the others follows from
/// that of the first and of all, and a fall counts as a gain.
fn reversed(points: &[TargetPoint]) -> Vec<TargetPoint> {
    let inner = points.iter().rev().filter(|p| p.share < 1.0 - 1e-9);
    let odds = |p: &TargetPoint| p.share / (1.0 - p.share);
    let turned =
        |p: &TargetPoint| TargetPoint { share: 1.0 - p.share, gain: odds(p) * p.gain, se: p.se.map(|se| odds(p) * se) };
    inner.map(turned).chain([TargetPoint { share: 1.0, gain: 0.0, se: Some(0.0) }]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reversed_curve_is_that_of_the_others() {
        // Scores 4, 2, 1, 1 in falling order of prediction: mean 2; the last half has mean 1, which is 1 below all.
        let point = |share, gain| TargetPoint { share, gain, se: None };
        let points = [point(0.25, 2.0), point(0.5, 1.0), point(0.75, 1.0 / 3.0), point(1.0, 0.0)];
        let turned = reversed(&points);
        assert_eq!(turned.iter().map(|p| p.share).collect::<Vec<_>>(), [0.25, 0.5, 0.75, 1.0]);
        let gains: Vec<f64> = turned.iter().map(|p| p.gain).collect();
        assert!(
            (gains[0] - 1.0).abs() < 1e-12 && (gains[1] - 1.0).abs() < 1e-12 && (gains[2] - 2.0 / 3.0).abs() < 1e-12
        );
    }
}
