//! A forest plot: estimates with intervals, one per line, on an axis that a few wide intervals cannot stretch.

use crate::axis::Axis;
use crate::html::escape;
use crate::number::Unit;
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot};
use crate::records::Interval;

/// Intervals so many times wider than the median one do not stretch the axis.
const WIDE: f64 = 6.0;
/// Lines of a chart; the table has the others.
const MOST_LINES: usize = 48;

/// A line of the chart.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: String,
    /// Nothing for a heading and for what could not be estimated.
    pub(super) effect: Option<Interval>,
    /// A second number, drawn as a ring.
    pub(super) ring: Option<f64>,
    pub(super) paint: Paint,
    pub(super) tip: String,
}

impl Line {
    /// A heading above lines that belong together.
    pub(super) fn heading(name: &str) -> Self {
        Self { name: format!("{name}:"), effect: None, ring: None, paint: Paint::Text, tip: String::new() }
    }
}

/// The chart.
#[derive(Debug)]
pub(super) struct Forest<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) axis: String,
    pub(super) lines: Vec<Line>,
    pub(super) legend: Vec<Key>,
    pub(super) unit: Unit<'a>,
}

impl Forest<'_> {
    /// The chart, and a sentence about what lies beyond its axis or its last line; empty when nothing does.
    pub(super) fn plot(mut self) -> (Plot, String) {
        let left_out = self.lines.len().saturating_sub(MOST_LINES);
        self.lines.truncate(MOST_LINES);
        let unit = self.unit;
        let (lo, hi) = limits(&self.lines, unit.scale);
        let x = Axis::over(self.axis, [lo, hi]);
        let inside = |v: f64| (v * unit.scale).clamp(x.range.start, x.range.end);
        let beyond = |v: f64| v * unit.scale < x.range.start || v * unit.scale > x.range.end;
        let mut marks = vec![Mark::Across { x: 0.0, paint: Paint::Axis }];
        let (mut cut, mut words) = (vec![], vec![]);
        for (k, line) in self.lines.iter().enumerate() {
            let y = k as f64;
            if let Some(ring) = line.ring {
                marks.push(Mark::Dot {
                    at: (inside(ring), y),
                    paint: Paint::Muted,
                    hollow: true,
                    tip: line.tip.clone(),
                });
            }
            let Some(effect) = line.effect else { continue };
            let shown = format!("{} ({} to {})", unit.show(effect.value), unit.show(effect.lo), unit.show(effect.hi));
            words.push(format!("{}: {shown}", line.name));
            if beyond(effect.lo) || beyond(effect.hi) {
                cut.push(format!("{}, {shown}", line.name));
            }
            let points = vec![(inside(effect.lo), y), (inside(effect.hi), y)];
            marks.push(Mark::Line { points, paint: line.paint, width: 2.5, tip: line.tip.clone() });
            let at = (inside(effect.value), y);
            marks.push(Mark::Dot { at, paint: line.paint, hollow: beyond(effect.value), tip: line.tip.clone() });
        }
        let mut note = String::new();
        if !cut.is_empty() {
            note += &format!("Cut at the edge of the chart: {}. ", escape(&cut.join("; ")));
        }
        if left_out > 0 {
            note += &format!("{left_out} further lines are in the table. ");
        }
        let plot = Plot {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            alternative: format!("Estimates with 95 % intervals. {}.", words.join("; ")),
            x,
            y: Axis::of_names(self.lines.len()),
            names: Some(self.lines.iter().map(|line| line.name.clone()).collect()),
            legend: self.legend,
            marks,
            height: 52 + (if self.lines.len() < 7 { 30 } else { 20 }) * self.lines.len() as u32,
        };
        (plot, note.trim_end().to_owned())
    }
}

/// The range of a chart: 0, and every interval that is not far wider than the others.
fn limits(lines: &[Line], scale: f64) -> (f64, f64) {
    let effects = || lines.iter().filter_map(|line| line.effect);
    let mut widths: Vec<f64> = effects().map(|e| e.hi - e.lo).filter(|w| w.is_finite()).collect();
    widths.sort_by(f64::total_cmp);
    // Of an even number the smaller one: of two intervals the wide one is cut.
    let median = widths.get(widths.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    let usual = effects().filter(|e| e.hi - e.lo <= WIDE * median);
    let ends = usual.flat_map(|e| [e.lo, e.hi]).chain(lines.iter().filter_map(|line| line.ring));
    ends.chain([0.0]).fold((0.0, 0.0), |(lo, hi): (f64, f64), v| (lo.min(v * scale), hi.max(v * scale)))
}

/// A level in few letters: `above 31, at most 45` is `31 to 45`.
pub(super) fn brief(level: &str) -> String {
    let both = level.strip_prefix("above ").and_then(|rest| rest.split_once(", at most "));
    match (both, level.strip_prefix("at most "), level.strip_prefix("above ")) {
        (Some((from, to)), _, _) => format!("> {from}, ≤ {to}"),
        (None, Some(to), _) => format!("≤ {to}"),
        (None, None, Some(from)) => format!("> {from}"),
        _ => level.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: f64, half: f64) -> Line {
        let effect = Some(Interval { value, lo: value - half, hi: value + half });
        Line { name: name.to_owned(), effect, ring: None, paint: Paint::Main, tip: name.to_owned() }
    }

    fn forest(lines: Vec<Line>) -> (Plot, String) {
        let unit = Unit::new(false, 1.0, "kg");
        Forest { id: "f", title: "t", axis: "effect".to_owned(), lines, legend: vec![], unit }.plot()
    }

    #[test]
    fn a_wide_interval_is_cut_and_named() {
        let lines = vec![line("a", 1.0, 0.5), line("b", 2.0, 0.6), Line::heading("h"), line("c", 900.0, 5000.0)];
        let (plot, note) = forest(lines);
        assert!(plot.x.range.end < 4.0 && plot.x.range.start < 0.01, "{:?}", plot.x.range);
        assert!(note.contains("c, 900.0") && !note.contains("a,"), "{note}");
        let ends = plot.marks.iter().all(|mark| match mark {
            Mark::Line { points, .. } => points.iter().all(|p| p.0 <= plot.x.range.end && p.0 >= plot.x.range.start),
            _ => true,
        });
        assert!(ends, "nothing is drawn outside");
    }

    #[test]
    fn equal_intervals_are_all_shown() {
        let (_, note) = forest(vec![line("a", 1.0, 0.5), line("b", -2.0, 0.6)]);
        assert_eq!(note, "");
        let (_, note) = forest((0..60).map(|k| line(&k.to_string(), 1.0, 0.5)).collect());
        assert!(note.contains("12 further lines"), "{note}");
    }

    #[test]
    fn levels_are_short() {
        assert_eq!(brief("above 31, at most 45"), "> 31, ≤ 45");
        assert_eq!(brief("at most 31"), "≤ 31");
        assert_eq!(brief("north"), "north");
    }
}
