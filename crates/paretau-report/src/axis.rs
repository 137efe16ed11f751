//! An axis: its words, its range, its ticks.

use std::ops::Range;

use plotters::coord::combinators::{BindKeyPoints, LogCoord, WithKeyPoints};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::IntoLogRange;

use crate::number;

/// An axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) range: Range<f64>,
    pub(crate) log: bool,
    pub(crate) format: fn(f64) -> String,
    /// Where the ticks are, of a linear axis; the library's choice when there are none.
    pub(crate) ticks: Vec<f64>,
}

impl Axis {
    /// A linear axis over all the values, with some air at both ends.
    pub(crate) fn over(label: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let (lo, hi) = ends(values);
        // Values that differ in their last digits only are one value: ticks between them would have no digits left.
        let size = lo.abs().max(hi.abs());
        let air = if hi - lo > (1e-9 * size).max(LEAST) { 0.04 * (hi - lo) } else { 0.5 * size.max(1e-6) };
        Self { label: label.into(), range: lo - air..hi + air, log: false, format: number::tick, ticks: vec![] }
    }

    /// A linear axis from 0 to above the largest value.
    pub(crate) fn from_zero(label: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let (_, hi) = ends(values);
        let top = if hi > LEAST { 1.06 * hi } else { 1.0 };
        Self { label: label.into(), range: 0.0..top, log: false, format: number::tick, ticks: vec![] }
    }

    /// A logarithmic axis over all the values, which are positive.
    pub(crate) fn logarithmic(label: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let (lo, hi) = ends(values.into_iter().filter(|v| *v > 0.0).map(|v| v.max(1.0 / MOST)));
        let (lo, hi) = if lo > 0.0 { (lo, hi.max(lo)) } else { (1.0, 10.0) };
        Self {
            label: label.into(),
            range: lo / 1.12..(hi * 1.12).max(lo * 2.0),
            log: true,
            format: number::tick,
            ticks: vec![],
        }
    }

    /// An axis of shares, from 0 to 1.
    pub(crate) fn of_shares(label: impl Into<String>, format: fn(f64) -> String) -> Self {
        Self { label: label.into(), range: 0.0..1.0, log: false, format, ticks: vec![] }
    }

    /// The axis of a chart with names in place of a scale, from the top.
    pub(crate) fn of_names(n: usize) -> Self {
        Self { label: String::new(), range: n as f64 - 0.4..-0.6, log: false, format: |_| String::new(), ticks: vec![] }
    }

    /// A linear axis with ticks at these values and at no others, unless they are too many.
    pub(crate) fn at(label: impl Into<String>, values: Vec<f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|v| v.abs() <= MOST).collect();
        let few = values.len() <= 9;
        Self { ticks: if few { values.clone() } else { vec![] }, ..Self::over(label, values) }
    }

    /// The linear scale with its given ticks.
    pub(crate) fn marked_scale(&self) -> Marked {
        Marked { scale: self.range.clone().into(), ticks: self.ticks.clone() }
    }

    /// The logarithmic scale with its ticks.
    pub(crate) fn log_scale(&self) -> WithKeyPoints<LogCoord<f64>> {
        self.range.clone().log_scale().with_key_points(self.log_ticks())
    }

    /// Powers of ten, and 2, 5 and so on where powers alone would be too few.
    pub(crate) fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.range.end / self.range.start).log10();
        let steps: &[f64] = match decades {
            d if d < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            d if d < 2.0 => &[1.0, 2.0, 5.0],
            d if d < 3.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let powers = self.range.start.log10().floor() as i32..=self.range.end.log10().ceil() as i32;
        let stride = (decades / 7.0).ceil().max(1.0) as usize;
        powers
            .step_by(stride)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|tick| self.range.contains(tick))
            .collect()
    }

    /// The words of a tick; what rounding makes of 0 is 0.
    pub(crate) fn tick(&self, value: f64) -> String {
        let size = (self.range.end - self.range.start).abs();
        (self.format)(if !self.log && value.abs() < 1e-9 * size { 0.0 } else { value })
    }

    /// The value where it has a place in pixels, else the nearest that has one; `None` for what is no number.
    pub(crate) fn placed(&self, value: f64) -> Option<f64> {
        let (lo, hi) = (self.range.start.min(self.range.end), self.range.start.max(self.range.end));
        let (least, most) =
            if self.log { (lo / OUTSIDE, hi * OUTSIDE) } else { (lo - OUTSIDE * (hi - lo), hi + OUTSIDE * (hi - lo)) };
        (!value.is_nan()).then(|| value.max(least).min(most))
    }

    pub(crate) fn shown(self, format: fn(f64) -> String) -> Self {
        Self { format, ..self }
    }
}

/// A linear scale with given ticks.
pub(crate) struct Marked {
    scale: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Light lines between the ticks are drawn nowhere.
        if hint.weight().allow_light_points() { vec![] } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.scale.range()
    }
}

/// Sizes that a scale can bear: beyond them, the length of a range overflows or has no digits left, and whoever walks
/// along it step by step never arrives.
const MOST: f64 = 1e300;
const LEAST: f64 = 1e-200;

/// Lengths of the range that a mark may lie outside of it; further out it would have no place in whole pixels.
const OUTSIDE: f64 = 1e4;

fn ends(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) = values
        .into_iter()
        .filter(|v| v.is_finite())
        .map(|v| v.clamp(-MOST, MOST))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    if lo <= hi { (lo, hi) } else { (0.0, 1.0) }
}
