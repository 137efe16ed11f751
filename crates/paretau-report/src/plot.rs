//! A chart as a description, and its picture: axes and scales by the library, every mark with words of its own.
//!
//! Each chart is drawn twice, for wide and for narrow pages, so that its letters never shrink below reading size; the style
//! sheet shows the one that fits.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::ops::Range;

use paretau_core::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Polygon, Rectangle};
use plotters::prelude::ChartBuilder;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, ShapeStyle, TextStyle};
use plotters_backend::{BackendCoord, DrawingBackend as _, DrawingErrorKind};

use crate::axis::Axis;
use crate::html::escape;
use crate::ink::{FINE, Ink, Piece};
use crate::paint::{Paint, dashed, line_of};
use crate::svg::{self, Look};

/// Size of all letters, in pixels.
const LETTERS: u32 = 12;
/// Width of a letter over their size, on average and generously.
const LETTER_WIDTH: f64 = 0.6;
const WIDE: u32 = 560;
const NARROW: u32 = 340;

/// Something drawn at data coordinates. `tip` is what it says when pointed at.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Bar {
        x: (f64, f64),
        y: (f64, f64),
        paint: Paint,
        tip: String,
    },
    Dot {
        at: (f64, f64),
        paint: Paint,
        hollow: bool,
        tip: String,
    },
    Line {
        points: Vec<(f64, f64)>,
        paint: Paint,
        width: f64,
        tip: String,
    },
    Band {
        points: Vec<(f64, f64, f64)>,
        paint: Paint,
    },
    /// A line across the whole chart at some x.
    Across {
        x: f64,
        paint: Paint,
    },
    /// A line along the whole chart at some y.
    Along {
        y: f64,
        paint: Paint,
    },
    /// A line of a figure, told apart by colour and dashes.
    Curve {
        points: Vec<(f64, f64)>,
        series: u8,
        tip: String,
    },
    /// The band around such a line.
    Shade {
        points: Vec<(f64, f64, f64)>,
        series: u8,
    },
    /// A line from one value to another at some x.
    Whisker {
        x: f64,
        y: (f64, f64),
        series: u8,
    },
    /// A point of a figure, told apart by colour and shape.
    Symbol {
        at: (f64, f64),
        series: u8,
        tip: String,
    },
    /// A small dot that says nothing.
    Speck {
        at: (f64, f64),
        paint: Paint,
    },
    /// A column of the chart that can be pointed at.
    Hit {
        x: (f64, f64),
        tip: String,
    },
}

impl Mark {
    /// The mark with every coordinate where it has a place in pixels; `None` if nothing of it has one.
    fn placed(&self, x_axis: &Axis, y_axis: &Axis) -> Option<Self> {
        let point = |at: (f64, f64)| Some((x_axis.placed(at.0)?, y_axis.placed(at.1)?));
        let points = |all: &mut Vec<(f64, f64)>| *all = all.iter().filter_map(|&at| point(at)).collect();
        let bands = |all: &mut Vec<(f64, f64, f64)>| {
            *all = all
                .iter()
                .filter_map(|&(x, lo, hi)| Some((x_axis.placed(x)?, y_axis.placed(lo)?, y_axis.placed(hi)?)))
                .collect();
        };
        let mut mark = self.clone();
        match &mut mark {
            Self::Bar { x, y, .. } => {
                *x = (x_axis.placed(x.0)?, x_axis.placed(x.1)?);
                *y = (y_axis.placed(y.0)?, y_axis.placed(y.1)?);
            }
            Self::Dot { at, .. } | Self::Symbol { at, .. } | Self::Speck { at, .. } => *at = point(*at)?,
            Self::Line { points: all, .. } | Self::Curve { points: all, .. } => points(all),
            Self::Band { points: all, .. } | Self::Shade { points: all, .. } => bands(all),
            Self::Across { x, .. } => *x = x_axis.placed(*x)?,
            Self::Along { y, .. } => *y = y_axis.placed(*y)?,
            Self::Whisker { x, y, .. } => {
                *x = x_axis.placed(*x)?;
                *y = (y_axis.placed(y.0)?, y_axis.placed(y.1)?);
            }
            Self::Hit { x, .. } => *x = (x_axis.placed(x.0)?, x_axis.placed(x.1)?),
        }
        Some(mark)
    }
}

/// A line of the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) paint: Paint,
    pub(crate) shape: Shape,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Square,
    Dot,
    Ring,
    Line,
    /// Line and symbol of a series.
    Series(u8),
    /// Its symbol alone.
    Symbol(u8),
    Speck,
}

impl Key {
    pub(crate) fn new(paint: Paint, shape: Shape, text: impl Into<String>) -> Self {
        Self { paint, shape, text: text.into() }
    }

    /// The key of a figure's series.
    pub(crate) fn series(series: u8, text: impl Into<String>) -> Self {
        Self::new(Paint::Series(series), Shape::Series(series), text)
    }

    /// Pixels that its sign takes beyond those of a plain one: dashes need some length to be seen.
    fn width(&self) -> u32 {
        if matches!(self.shape, Shape::Series(_)) { 16 } else { 0 }
    }
}

/// A chart.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    /// A short name without spaces, for links and downloads.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What there is to see, for those who cannot see it.
    pub(crate) alternative: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Names at y = 0, 1, 2, … from the top, in place of a scale.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) legend: Vec<Key>,
    pub(crate) marks: Vec<Mark>,
    /// Height in pixels on a wide page, axes included.
    pub(crate) height: u32,
}

impl Plot {
    /// The figure: heading, both pictures, and what `below` adds.
    pub(crate) fn html(&self, below: &str) -> Result<String> {
        let mut out = format!("<figure id=\"{}\"><h3>{}</h3>", self.id, escape(&self.title));
        for (width, class) in [(WIDE, "wide"), (NARROW, "narrow")] {
            out += &self.svg(width, class)?;
        }
        if !below.is_empty() {
            let _ = write!(out, "<figcaption>{below}</figcaption>");
        }
        out += "</figure>";
        Ok(out)
    }

    fn svg(&self, width: u32, class: &str) -> Result<String> {
        let (pieces, height) = self.pieces(width)?;
        let id = format!("{}-{class}", self.id);
        let mut out = format!(
            "<svg class=\"chart {class}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title>\
             <desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.alternative)
        );
        out += &svg::elements(&pieces, Look::Page);
        out += "</svg>";
        Ok(out)
    }

    /// What is drawn on so many pixels of width, and the height it takes.
    pub(crate) fn pieces(&self, width: u32) -> Result<(Vec<Piece>, u32)> {
        let legend = legend_rows(&self.legend, width);
        let top = legend_height(&legend);
        let height = if self.names.is_none() && width <= NARROW { self.height.min(280) } else { self.height } + top;
        let size = (width, height);
        let (x, y) = (&self.x, &self.y);
        let drawn = match (x.log, x.ticks.is_empty(), y.log) {
            (true, _, false) => self.draw(x.log_scale(), y.range.clone(), &legend, top, size),
            (true, _, true) => self.draw(x.log_scale(), y.log_scale(), &legend, top, size),
            (false, true, false) => self.draw(x.range.clone(), y.range.clone(), &legend, top, size),
            (false, true, true) => self.draw(x.range.clone(), y.log_scale(), &legend, top, size),
            (false, false, false) => self.draw(x.marked_scale(), y.range.clone(), &legend, top, size),
            (false, false, true) => self.draw(x.marked_scale(), y.log_scale(), &legend, top, size),
        };
        let pieces = drawn.map_err(|e| Error::Numeric { what: "drawing a chart", message: e.to_string() })?;
        Ok((pieces, height))
    }

    fn draw<X, Y>(
        &self,
        x: X,
        y: Y,
        legend: &[Vec<(u32, &Key)>],
        top: u32,
        (width, height): (u32, u32),
    ) -> Result<Vec<Piece>, DrawingAreaErrorKind<Infallible>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let mut out = vec![];
        {
            let root = Ink::new(&mut out, width, height).into_drawing_area();
            draw_legend(&root, legend)?;
            let most = (width * 9 / 20).saturating_sub(10);
            let names: Option<Vec<String>> =
                self.names.as_ref().map(|names| names.iter().map(|n| shortened(n, most)).collect());
            let left = match &names {
                Some(names) => names.iter().map(|n| text_width(n)).max().unwrap_or(0) + 10,
                None => self.scale_width(),
            };
            let y_words = if self.names.is_none() && !self.y.label.is_empty() { 18 } else { 0 };
            let mut chart = ChartBuilder::on(&root)
                .margin_top(top * FINE)
                .margin_right(22 * FINE)
                .margin_left((2 + y_words) * FINE)
                .x_label_area_size(38 * FINE)
                .y_label_area_size(left * FINE)
                .build_cartesian_2d(x, y)?;
            let grid = stroke(Paint::Grid, 1.0);
            let nothing = Paint::Grid.rgb().mix(0.0);
            let mut mesh = chart.configure_mesh();
            let show_x = |v: &f64| self.x.tick(*v);
            let show_y = |v: &f64| self.y.tick(*v);
            mesh.bold_line_style(grid)
                .light_line_style(nothing)
                .axis_style(stroke(Paint::Axis, 1.0))
                .label_style(letters(Paint::Muted))
                .x_labels(self.x_labels(width.saturating_sub(left + y_words + 24), width))
                .y_labels(if width <= NARROW { 5 } else { 6 })
                .x_label_formatter(&show_x)
                .y_label_formatter(&show_y)
                .set_all_tick_mark_size(4 * FINE as i32);
            if self.names.is_some() {
                mesh.disable_y_mesh().disable_y_axis().y_labels(0);
            }
            mesh.draw()?;
            for mark in self.marks.iter().filter_map(|mark| mark.placed(&self.x, &self.y)) {
                draw_mark(&chart, &mark, &self.x.range, &self.y.range)?;
            }
            let place = |at: (f64, f64)| chart.backend_coord(&at);
            let (left_edge, base) = place((self.x.range.start, self.y.range.start));
            let (right_edge, ceiling) = place((self.x.range.end, self.y.range.end));
            for (k, name) in names.iter().flatten().enumerate() {
                let (_, y) = place((self.x.range.start, k as f64));
                let style = letters(Paint::Text).pos(Pos::new(HPos::Right, VPos::Center));
                root.draw_text(name, &style, (left_edge - 6 * FINE as i32, y))?;
            }
            let style = letters(Paint::Muted).pos(Pos::new(HPos::Center, VPos::Bottom));
            let label = shortened(&fitting(&self.x.label, width - 8), width - 8);
            let half = (text_width(&label) * FINE) as i32 / 2 + 4 * FINE as i32;
            let middle = i32::midpoint(left_edge, right_edge).min((width * FINE) as i32 - half).max(half);
            root.draw_text(&label, &style, (middle, (height * FINE) as i32 - 2 * FINE as i32))?;
            if y_words > 0 {
                let font =
                    ("sans-serif", LETTERS * FINE).into_font().transform(plotters::style::FontTransform::Rotate270);
                let pos = Pos::new(HPos::Center, VPos::Top);
                let style = TextStyle { font, color: Paint::Muted.rgb().to_backend_color(), pos };
                root.draw_text(&self.y.label, &style, (2 * FINE as i32, i32::midpoint(base, ceiling)))?;
            }
            root.present()?;
        }
        Ok(out)
    }

    /// How many numbers the x axis can bear without their running into each other.
    fn x_labels(&self, room: u32, width: u32) -> usize {
        let most = if width <= NARROW { 5 } else { 9 };
        let Range { start, end } = self.x.range;
        let step = 10_f64.powf(((end - start).abs() / 8.0).log10().floor());
        let rounded = |v: f64| if step > 0.0 && step.is_finite() { (v / step).round() * step } else { v };
        let widest = [start, end].map(|v| text_width(&self.x.tick(rounded(v)))).into_iter().max().unwrap_or(0);
        // The library may draw up to twice as many numbers as are asked for.
        ((room / (widest + 14)) as usize * 2 / 3).clamp(3, most)
    }

    /// Room for the y axis's numbers.
    fn scale_width(&self) -> u32 {
        let Range { start, end } = self.y.range;
        let size = (end - start).abs();
        // Ticks have the digits of the step, which is about a sixth of the range.
        let step = 10_f64.powf((size / 5.0).log10().floor());
        let samples = if self.y.log {
            self.y.log_ticks()
        } else {
            vec![(start / step).round() * step, (end / step).round() * step]
        };
        let widest = samples.iter().map(|v| text_width(&(self.y.format)(*v))).max().unwrap_or(0);
        widest.clamp(14, 70) + 12
    }
}

/// The keys of a legend in rows that fit, each with its place from the left.
pub(crate) fn legend_rows(keys: &[Key], width: u32) -> Vec<Vec<(u32, &Key)>> {
    let mut rows: Vec<Vec<(u32, &Key)>> = vec![];
    let mut at = u32::MAX;
    for key in keys {
        let own = 38 + key.width() + text_width(&key.text);
        if at.saturating_add(own) > width {
            rows.push(vec![]);
            at = 4;
        }
        if let Some(row) = rows.last_mut() {
            row.push((at, key));
        }
        at += own;
    }
    rows
}

/// Room that a legend takes above a chart.
pub(crate) fn legend_height(rows: &[Vec<(u32, &Key)>]) -> u32 {
    22 * rows.len() as u32 + if rows.is_empty() { 6 } else { 8 }
}

/// Pixels that a text takes, about.
pub(crate) fn text_width(text: &str) -> u32 {
    (text.chars().count() as f64 * f64::from(LETTERS) * LETTER_WIDTH).ceil() as u32
}

/// The label of an axis without the column that it names where it is too long: `effect on deaths, percentage points` is then
/// `effect, percentage points`.
fn fitting(label: &str, pixels: u32) -> String {
    match (label.split_once(" on "), label.rsplit_once(", ")) {
        (Some((what, _)), Some((_, unit))) if text_width(label) > pixels => format!("{what}, {unit}"),
        _ => label.to_owned(),
    }
}

/// The text cut to so many pixels.
fn shortened(text: &str, pixels: u32) -> String {
    if text_width(text) <= pixels {
        return text.to_owned();
    }
    let most = (f64::from(pixels) / (f64::from(LETTERS) * LETTER_WIDTH)) as usize;
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn stroke(paint: Paint, width: f64) -> ShapeStyle {
    paint.rgb().stroke_width((width * f64::from(FINE)) as u32)
}

fn letters(paint: Paint) -> TextStyle<'static> {
    let font = ("sans-serif", LETTERS * FINE).into_font();
    TextStyle { font, color: paint.rgb().to_backend_color(), pos: Pos::default() }
}

pub(crate) type Root<'a> = DrawingArea<Ink<'a>, Shift>;
pub(crate) type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;

pub(crate) fn draw_legend(root: &Root<'_>, rows: &[Vec<(u32, &Key)>]) -> Drawn {
    let units = |pixels: u32| (pixels * FINE) as i32;
    for (k, row) in rows.iter().enumerate() {
        let y = units(22 * k as u32 + 11);
        for (x, key) in row {
            let x = units(*x);
            let (five, middle) = (units(5), x + units(7));
            match key.shape {
                Shape::Square => {
                    let style = key.paint.rgb().filled();
                    root.draw(&Rectangle::new([(middle - five, y - five), (middle + five, y + five)], style))?;
                }
                Shape::Dot => root.draw(&Circle::new((middle, y), 45, key.paint.rgb().filled()))?,
                Shape::Ring => root.draw(&Circle::new((middle, y), 40, stroke(key.paint, 1.8)))?,
                Shape::Line => {
                    root.draw(&PathElement::new(vec![(x, y), (x + units(14), y)], stroke(key.paint, 2.0)))?;
                }
                Shape::Series(series) => {
                    let ends = vec![(x, y), (x + units(30), y)];
                    root.draw(&PathElement::new(ends, curve(series)))?;
                    root.draw(&Symbol { at: (x + units(15), y), series })?;
                }
                Shape::Symbol(series) => root.draw(&Symbol { at: (middle, y), series })?,
                Shape::Speck => root.draw(&Circle::new((middle, y), SPECK, key.paint.rgb().filled()))?,
            }
            let style = letters(Paint::Text).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw_text(&key.text, &style, (x + units(19 + key.width()), y))?;
        }
    }
    Ok(())
}

/// Radius of a small dot.
const SPECK: u32 = 20;

/// The line of a series.
fn curve(series: u8) -> ShapeStyle {
    dashed(Paint::Series(series), line_of(series)).stroke_width(FINE * 9 / 5)
}

/// A small shape that differs from series to series.
struct Symbol<C> {
    at: C,
    series: u8,
}

impl<'a, C> PointCollection<'a, C> for &'a Symbol<C> {
    type Point = &'a C;
    type IntoIter = std::iter::Once<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<'b, C> Drawable<Ink<'b>> for Symbol<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut points: I,
        ink: &mut Ink<'b>,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let Some((x, y)) = points.next() else { return Ok(()) };
        let corners: &[(i32, i32)] = match self.series % 5 {
            0 => &[],
            1 => &[(-38, -38), (38, -38), (38, 38), (-38, 38)],
            2 => &[(0, -52), (48, 34), (-48, 34)],
            3 => &[(0, -54), (54, 0), (0, 54), (-54, 0)],
            _ => &[(0, 52), (48, -34), (-48, -34)],
        };
        let ring = || corners.iter().map(|(dx, dy)| (x + dx, y + dy));
        let (paint, hollow) = (Paint::Series(self.series), self.series >= 5);
        let inside = if hollow { Paint::Surface } else { paint }.rgb().filled();
        let edge = stroke(paint, 1.6);
        if corners.is_empty() {
            ink.draw_circle((x, y), 43, &inside, true)?;
            return if hollow { ink.draw_circle((x, y), 43, &edge, false) } else { Ok(()) };
        }
        ink.fill_polygon(ring(), &inside)?;
        if hollow { ink.draw_path(ring().chain(ring().take(2)), &edge) } else { Ok(()) }
    }
}

/// An element of no size that shows the backend where a mark begins, with its words, or ends.
enum Bracket<'t> {
    Begin(&'t str),
    End,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Bracket<'_> {
    type Point = &'a (f64, f64);
    type IntoIter = std::iter::Empty<&'a (f64, f64)>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
}

impl<'b> Drawable<Ink<'b>> for Bracket<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        _: I,
        backend: &mut Ink<'b>,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        match self {
            Self::Begin(words) => backend.begin_mark(words),
            Self::End => backend.end_mark(),
        }
        Ok(())
    }
}

type Chart<'a, 'b, X, Y> = plotters::chart::ChartContext<'a, Ink<'b>, plotters::coord::cartesian::Cartesian2d<X, Y>>;

fn draw_mark<X: Ranged<ValueType = f64>, Y: Ranged<ValueType = f64>>(
    chart: &Chart<'_, '_, X, Y>,
    mark: &Mark,
    x_range: &Range<f64>,
    y_range: &Range<f64>,
) -> Drawn {
    let area = chart.plotting_area();
    let tip = match mark {
        Mark::Bar { tip, .. }
        | Mark::Dot { tip, .. }
        | Mark::Line { tip, .. }
        | Mark::Curve { tip, .. }
        | Mark::Symbol { tip, .. }
        | Mark::Hit { tip, .. } => tip.as_str(),
        _ => "",
    };
    if !tip.is_empty() {
        area.draw(&Bracket::Begin(tip))?;
    }
    match mark {
        Mark::Bar { x, y, paint, .. } => {
            area.draw(&Rectangle::new([(x.0, y.0), (x.1, y.1)], paint.rgb().filled()))?;
        }
        Mark::Dot { at, paint, hollow, .. } => {
            let style = if *hollow { stroke(*paint, 1.8) } else { paint.rgb().filled() };
            area.draw(&Circle::new(*at, if *hollow { 40 } else { 45 }, style))?;
        }
        Mark::Line { points, paint, width, .. } => {
            area.draw(&PathElement::new(points.clone(), stroke(*paint, *width)))?;
        }
        Mark::Band { points, paint } => {
            area.draw(&Polygon::new(ring(points), paint.rgb().filled()))?;
        }
        Mark::Across { x, paint } => {
            let points = vec![(*x, y_range.start), (*x, y_range.end)];
            area.draw(&PathElement::new(points, stroke(*paint, 1.2)))?;
        }
        Mark::Along { y, paint } => {
            let points = vec![(x_range.start, *y), (x_range.end, *y)];
            area.draw(&PathElement::new(points, stroke(*paint, 1.2)))?;
        }
        Mark::Curve { points, series, .. } => {
            area.draw(&PathElement::new(points.clone(), curve(*series)))?;
        }
        Mark::Shade { points, series } => {
            area.draw(&Polygon::new(ring(points), Paint::Shade(*series).rgb().filled()))?;
        }
        Mark::Whisker { x, y, series } => {
            let style = stroke(Paint::Series(*series), 1.2);
            area.draw(&PathElement::new(vec![(*x, y.0), (*x, y.1)], style))?;
        }
        Mark::Symbol { at, series, .. } => area.draw(&Symbol { at: *at, series: *series })?,
        Mark::Speck { at, paint } => area.draw(&Circle::new(*at, SPECK, paint.rgb().filled()))?,
        Mark::Hit { x, .. } => {
            let corners = [(x.0, y_range.start), (x.1, y_range.end)];
            area.draw(&Rectangle::new(corners, Paint::Hit.rgb().filled()))?;
        }
    }
    if !tip.is_empty() {
        area.draw(&Bracket::End)?;
    }
    Ok(())
}

/// The outline of a band: there by its lower ends, back by its upper ones.
fn ring(points: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|p| (p.0, p.1)).chain(points.iter().rev().map(|p| (p.0, p.2))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn plot(x: Axis, y: Axis, at: (f64, f64)) -> Plot {
        Plot {
            id: "p".into(),
            title: "<t>".into(),
            alternative: "words".into(),
            x,
            y,
            names: None,
            legend: vec![Key::new(
                Paint::Main,
                Shape::Dot,
                "a legend that is long enough to need a row of its own, surely",
            )],
            marks: vec![Mark::Dot { at, paint: Paint::Main, hollow: false, tip: "a & b".into() }],
            height: 200,
        }
    }

    #[test]
    fn any_finite_numbers_can_be_drawn() {
        let pairs =
            [(0.0, 0.0), (5.0, 5.0), (5.0, 5.0 + 1e-15), (-3.0, 4.0), (1e-12, 2e-12), (-1e12, 1e12), (1e100, 2e100)];
        for (a, b) in pairs {
            let html = plot(Axis::over("x", [a, b]), Axis::from_zero("y", [b]), (a, b)).html("").unwrap();
            assert!(!html.contains("NaN") && !html.contains("inf"), "{a} {b}");
            assert_eq!(html.matches("class=\"mark\"").count(), 2, "one mark in each of two pictures");
            assert!(html.contains("a &amp; b") && html.contains("&lt;t&gt;"));
        }
        for (a, b) in [(1.0, 1.0), (2.0, 2.1), (1.0, 30.0), (1.0, 1e3), (1.0, 1e9), (1e-300, 1e300), (0.0, -1.0)] {
            let html = plot(Axis::logarithmic("x", [a, b]), Axis::logarithmic("y", [b, a]), (a.max(1.0), 1.0))
                .html("")
                .unwrap();
            assert!(!html.contains("NaN") && !html.contains("inf"), "{a} {b}");
        }
    }

    /// Numbers of every size and kind, the worst of them often.
    fn any_number() -> impl proptest::strategy::Strategy<Value = f64> {
        use proptest::prelude::*;
        let worst = vec![
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            0.0,
            1e308,
            -1e308,
            1e39,
            1.0,
            1.0 + f64::EPSILON,
            1e300,
            1e-300,
        ];
        prop_oneof![proptest::sample::select(worst), any::<f64>()]
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 200, ..Default::default() })]

        #[test]
        fn any_numbers_at_all_give_a_picture_in_bounded_time(
            values in proptest::collection::vec(any_number(), 1..4),
            at in (any_number(), any_number()),
        ) {
            let axes = [
                Axis::over("a", values.clone()),
                Axis::from_zero("a", values.clone()),
                Axis::logarithmic("a", values.clone()),
                Axis::at("a", values.clone()),
            ];
            let begin = std::time::Instant::now();
            for axis in &axes {
                proptest::prop_assert!(axis.range.start.is_finite() && axis.range.end.is_finite(), "{axis:?}");
                proptest::prop_assert!(axis.range.start < axis.range.end, "{axis:?}");
                let mut plot = plot(axis.clone(), axis.clone(), at);
                plot.marks.push(Mark::Line { points: vec![at, (at.1, at.0)], paint: Paint::Main, width: 1.0, tip: String::new() });
                plot.marks.push(Mark::Band { points: vec![(at.0, at.1, at.0); 2], paint: Paint::Main });
                plot.marks.push(Mark::Bar { x: at, y: at, paint: Paint::Main, tip: String::new() });
                plot.marks.push(Mark::Across { x: at.0, paint: Paint::Main });
                let html = plot.html("").unwrap();
                proptest::prop_assert!(!html.contains("NaN") && !html.contains("inf"));
                proptest::prop_assert!(html.len() < 100_000);
            }
            proptest::prop_assert!(begin.elapsed().as_secs() < 10);
        }
    }

    #[test]
    fn logarithmic_axes_have_ticks_enough() {
        for (a, b) in [(1.0, 2.0), (2.0, 2.2), (1.0, 30.0), (1.0, 900.0), (1.0, 1e6)] {
            let axis = Axis::logarithmic("x", [a, b]);
            let ticks = axis.log_ticks();
            assert!((2..=9).contains(&ticks.len()), "{a} to {b}: {ticks:?}");
        }
    }
}
