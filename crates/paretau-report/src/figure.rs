//! Figures of a study: panels of lines with bands, or of methods in rows; drawn into a page, or as SVG and PNG files that
//! stand alone. Series differ by colour, by dashes and by symbols, so that print in grey can be read.

use std::fmt::Write as _;

use paretau_core::Result;
use plotters::drawing::IntoDrawingArea as _;
use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::html::escape;
use crate::ink::{FINE, Ink, Piece, Side};
use crate::number::{count, significant};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape, draw_legend, legend_height, legend_rows, text_width};
use crate::raster;
use crate::svg::{self, Look};

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows, in a line.
    pub title: String,
    /// What marks and bands mean.
    pub caption: String,
    /// Its panels, in reading order.
    pub panels: Vec<Panel>,
}

/// One chart of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis counts.
    pub x_label: String,
    /// What the vertical axis counts; a panel of rows has none.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// What is drawn.
    pub content: Content,
}

/// What a panel draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Lines with bands.
    Lines(Vec<FigureLine>),
    /// Names from top to bottom, each with a number and its interval.
    Rows(Vec<FigureRow>),
}

/// A line of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureLine {
    /// Its name in the legend.
    pub name: String,
    /// The number that decides its looks, the same in all panels.
    pub series: u8,
    /// Its points, from left to right.
    pub points: Vec<FigurePoint>,
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FigurePoint {
    /// Place on the horizontal axis.
    pub x: f64,
    /// The number.
    pub y: f64,
    /// Its band.
    pub band: Option<(f64, f64)>,
    /// Values that the number is the mean of; 0 when it is no mean.
    pub n: usize,
}

/// A row of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureRow {
    /// Its name.
    pub name: String,
    /// The mean; absent when nothing was finished.
    pub mean: Option<f64>,
    /// The mean's interval.
    pub interval: Option<(f64, f64)>,
    /// The single values.
    pub values: Vec<f64>,
    /// A published mean and its standard deviation.
    pub published: Option<(f64, f64)>,
}

/// Lines in a panel whose bands can still be told apart; more get a whisker at each point.
const MOST_BANDS: usize = 4;
/// Points of a line that all have a symbol; longer lines have a few along their way.
const MOST_SYMBOLS: usize = 15;
/// Symbols of a longer one.
const FEW_SYMBOLS: usize = 6;
/// Looks of published numbers among rows: a hollow diamond.
const PUBLISHED: u8 = 8;
const MARGIN: u32 = 14;
const GAP: u32 = 18;

impl Figure {
    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.panels.is_empty()
    }

    /// The figure as an SVG file that stands alone.
    pub fn svg(&self) -> Result<String> {
        let (pieces, width, height) = self.pieces()?;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<title>{}</title><desc>{}</desc>\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>",
            escape(&self.title),
            escape(&self.alternative())
        );
        let _ = writeln!(out, "{}\n</svg>", svg::elements(&pieces, Look::File));
        Ok(out)
    }

    /// The figure as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>> {
        let (pieces, width, height) = self.pieces()?;
        raster::png(&pieces, width, height)
    }

    /// The figure as a part of a page: one chart per panel.
    pub(crate) fn html(&self, id: &str) -> Result<String> {
        let mut out = format!("<p class=\"muted\">{}</p><div class=\"pair\">", escape(&self.caption));
        for (k, panel) in self.panels.iter().enumerate() {
            out += &panel.plot(&format!("{id}-{}", k + 1)).html("")?;
        }
        out += "</div>";
        Ok(out)
    }

    /// What there is to see, in words.
    fn alternative(&self) -> String {
        let panels: Vec<String> =
            self.panels.iter().map(|panel| format!("{}: {}", panel.title, panel.alternative())).collect();
        panels.join(" ")
    }

    fn pieces(&self) -> Result<(Vec<Piece>, u32, u32)> {
        let columns: u32 = match self.panels.len() {
            0 | 1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        let own = match columns {
            1 => 620,
            2 => 470,
            _ => 400,
        };
        let width = 2 * MARGIN + columns * own + (columns - 1) * GAP;
        let mut plots: Vec<Plot> = self.panels.iter().map(|panel| panel.plot("p")).collect();
        // One legend for all panels where none has a key that the longest has not.
        let keys: Vec<Key> =
            plots.iter().map(|plot| &plot.legend).max_by_key(|keys| keys.len()).cloned().unwrap_or_default();
        let shared = plots.iter().all(|plot| plot.legend.iter().all(|key| keys.contains(key)));
        let mut out = vec![];
        let mut y = MARGIN;
        for line in wrapped(&self.title, width - 2 * MARGIN, 15.0) {
            out.push(words((MARGIN, y), line, Paint::Text, 15.0));
            y += 21;
        }
        y += 3;
        if shared {
            plots.iter_mut().for_each(|plot| plot.legend.clear());
            let rows = legend_rows(&keys, width - 2 * MARGIN);
            let mut legend = vec![];
            let height = legend_height(&rows);
            {
                let root = Ink::new(&mut legend, width - 2 * MARGIN, height).into_drawing_area();
                draw_legend(&root, &rows)
                    .map_err(|e| paretau_core::Error::Numeric { what: "drawing a legend", message: e.to_string() })?;
            }
            out.extend(legend.into_iter().map(|piece| piece.moved(units((MARGIN, y)))));
            y += height + 4;
        }
        for (k, row) in plots.chunks(columns as usize).enumerate() {
            let mut tallest = 0;
            for (j, plot) in row.iter().enumerate() {
                let left = MARGIN + j as u32 * (own + GAP);
                let number = k * columns as usize + j;
                let title = if plots.len() > 1 {
                    format!("({}) {}", char::from(b'a' + (number % 26) as u8), plot.title)
                } else {
                    plot.title.clone()
                };
                out.push(words((left, y), title, Paint::Text, 13.0));
                let (pieces, height) = plot.pieces(own)?;
                out.extend(pieces.into_iter().map(|piece| piece.moved(units((left, y + 18)))));
                tallest = tallest.max(height + 18);
            }
            y += tallest + 12;
        }
        for line in wrapped(&self.caption, width - 2 * MARGIN, 11.0) {
            out.push(words((MARGIN, y), line, Paint::Muted, 11.0));
            y += 16;
        }
        Ok((out, width, y + MARGIN / 2))
    }
}

fn units((x, y): (u32, u32)) -> (i32, i32) {
    ((x * FINE) as i32, (y * FINE) as i32)
}

fn words(at: (u32, u32), text: String, paint: Paint, size: f64) -> Piece {
    Piece::Words { at: units(at), text, paint, size, side: Side::Start, drop: 0.8 * size, turn: 0 }
}

/// The text in lines of so many pixels.
fn wrapped(text: &str, pixels: u32, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            // `text_width` is of letters of 12 pixels, and generous, as single words need it; long lines even out.
            Some(line)
                if 0.93 * f64::from(text_width(line) + text_width(word) + 7) * size / 12.0 <= f64::from(pixels) =>
            {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Panel {
    fn plot(&self, id: &str) -> Plot {
        match &self.content {
            Content::Lines(lines) => self.lines(id, lines),
            Content::Rows(rows) => self.rows(id, rows),
        }
    }

    fn alternative(&self) -> String {
        let summary: Vec<String> = match &self.content {
            Content::Lines(lines) => lines
                .iter()
                .filter_map(|line| {
                    let (first, last) = (line.points.first()?, line.points.last()?);
                    let ends = [first.y, last.y].map(|v| significant(v, 3));
                    Some(format!("{} from {} to {}", line.name, ends[0], ends[1]))
                })
                .collect(),
            Content::Rows(rows) => rows
                .iter()
                .map(|row| {
                    let mean = row.mean.map_or_else(|| "not finished".to_owned(), |mean| significant(mean, 3));
                    format!("{} {mean}", row.name)
                })
                .collect(),
        };
        format!("{}.", summary.join(", "))
    }

    fn lines(&self, id: &str, lines: &[FigureLine]) -> Plot {
        let points = || lines.iter().flat_map(|line| &line.points);
        let mut xs: Vec<f64> = points().map(|p| p.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let ys = points().flat_map(|p| [p.y, p.band.map_or(p.y, |b| b.0), p.band.map_or(p.y, |b| b.1)]);
        let x = if self.log_x { Axis::logarithmic(&self.x_label, xs) } else { Axis::at(&self.x_label, xs) };
        let y = if self.log_y { Axis::logarithmic(&self.y_label, ys) } else { Axis::over(&self.y_label, ys) };
        let lowest = y.range.start;
        let bands = lines.len() <= MOST_BANDS;
        // Whiskers stand side by side, and the outermost ones need room too.
        let step = if bands || self.log_x { 0.0 } else { 0.012 * (x.range.end - x.range.start) };
        let room = step * lines.len() as f64 / 2.0;
        let x = Axis { range: x.range.start - room..x.range.end + room, ..x };
        let mut marks = vec![];
        for line in lines.iter().filter(|_| bands) {
            // A logarithmic axis ends above 0; so does the band.
            let band = |p: &FigurePoint| p.band.map(|(lo, hi)| (p.x, lo.max(lowest), hi));
            let points: Vec<(f64, f64, f64)> = line.points.iter().filter_map(band).collect();
            if points.len() > 1 {
                marks.push(Mark::Shade { points, series: line.series });
            }
        }
        for (k, line) in lines.iter().enumerate() {
            let aside = step * (k as f64 - (lines.len() - 1) as f64 / 2.0);
            let series = line.series;
            let points: Vec<(f64, f64)> = line.points.iter().map(|p| (p.x + aside, p.y)).collect();
            marks.push(Mark::Curve { points, series, tip: line.name.clone() });
            for p in self.symbols(line, k) {
                if let (Some((lo, hi)), true) = (p.band, !bands || line.points.len() == 1) {
                    marks.push(Mark::Whisker { x: p.x + aside, y: (lo.max(lowest), hi), series });
                }
                let spread = p.band.map(|(lo, hi)| format!(" ({} to {})", significant(lo, 3), significant(hi, 3)));
                let over = if p.n > 0 { format!(" over {} runs", count(p.n)) } else { String::new() };
                let tip = format!(
                    "{}, {} {}: {}{}{over}",
                    line.name,
                    self.x_label,
                    significant(p.x, 4),
                    significant(p.y, 3),
                    spread.unwrap_or_default()
                );
                marks.push(Mark::Symbol { at: (p.x + aside, p.y), series, tip });
            }
        }
        Plot {
            id: id.to_owned(),
            title: self.title.clone(),
            alternative: self.alternative(),
            x,
            y,
            names: None,
            legend: lines.iter().map(|line| Key::series(line.series, &line.name)).collect(),
            marks,
            height: 300,
        }
    }

    /// The points of a line that get a symbol: all, or a few at equal distances on the axis, a little aside of those of the
    /// line before.
    fn symbols<'l>(&self, line: &'l FigureLine, k: usize) -> Vec<&'l FigurePoint> {
        let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { return vec![] };
        if line.points.len() <= MOST_SYMBOLS {
            return line.points.iter().collect();
        }
        let place = |x: f64| if self.log_x { x.max(f64::MIN_POSITIVE).ln() } else { x };
        let (from, to) = (place(first.x), place(last.x));
        (0..FEW_SYMBOLS)
            .filter_map(|j| {
                let wanted = from + (to - from) * (j as f64 + 0.25 + 0.12 * (k % 5) as f64) / FEW_SYMBOLS as f64;
                line.points.iter().min_by(|a, b| (place(a.x) - wanted).abs().total_cmp(&(place(b.x) - wanted).abs()))
            })
            .collect()
    }

    fn rows(&self, id: &str, rows: &[FigureRow]) -> Plot {
        let mut marks = vec![];
        let mut ends = vec![];
        for (k, row) in rows.iter().enumerate() {
            let y = k as f64;
            marks.extend(row.values.iter().map(|v| Mark::Speck { at: (*v, y - 0.24), paint: Paint::Before }));
            ends.extend(&row.values);
            if let Some(mean) = row.mean {
                let interval =
                    row.interval.map(|(lo, hi)| format!(" ({} to {})", significant(lo, 3), significant(hi, 3)));
                let runs = row.values.len();
                let tip = format!(
                    "{}: {}{} over {}",
                    row.name,
                    significant(mean, 3),
                    interval.unwrap_or_default(),
                    count(runs)
                );
                if let Some((lo, hi)) = row.interval {
                    let points = vec![(lo, y), (hi, y)];
                    marks.push(Mark::Line { points, paint: Paint::Main, width: 2.4, tip: tip.clone() });
                    ends.extend([lo, hi]);
                }
                marks.push(Mark::Dot { at: (mean, y), paint: Paint::Main, hollow: false, tip });
            }
            if let Some((mean, sd)) = row.published {
                let tip = format!("{}, published: {} ± {}", row.name, significant(mean, 3), significant(sd, 2));
                marks.push(Mark::Symbol { at: (mean, y + 0.3), series: PUBLISHED, tip });
                ends.push(mean);
            }
        }
        let sure = rows.iter().any(|row| row.interval.is_some());
        let mut legend = vec![Key::new(Paint::Main, Shape::Dot, if sure { "mean, 95 % interval" } else { "mean" })];
        if rows.iter().any(|row| row.values.len() > 1) {
            legend.push(Key::new(Paint::Before, Shape::Speck, "each realisation"));
        }
        if rows.iter().any(|row| row.published.is_some()) {
            legend.push(Key::new(Paint::Series(PUBLISHED), Shape::Symbol(PUBLISHED), "published mean, other data"));
        }
        let x = if self.log_x { Axis::logarithmic(&self.x_label, ends) } else { Axis::over(&self.x_label, ends) };
        Plot {
            id: id.to_owned(),
            title: self.title.clone(),
            alternative: self.alternative(),
            x,
            y: Axis::of_names(rows.len()),
            names: Some(rows.iter().map(|row| row.name.clone()).collect()),
            legend,
            marks,
            height: 52 + 26 * rows.len() as u32,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::paint::SERIES;

    fn line(series: u8, n: usize) -> FigureLine {
        let point = |k: usize| {
            let y = 1.0 + f64::from(series) + (k as f64).sin();
            FigurePoint { x: 15.0 + 3.0 * k as f64, y, band: Some((y - 0.4, y + 0.4)), n: 5 }
        };
        FigureLine { name: format!("method <{series}>"), series, points: (0..n).map(point).collect() }
    }

    fn panel(title: &str, content: Content) -> Panel {
        let (x_label, y_label) = ("features".to_owned(), "PEHE".to_owned());
        Panel { title: title.to_owned(), x_label, y_label, log_x: false, log_y: false, content }
    }

    fn figure(panels: Vec<Panel>) -> Figure {
        Figure { title: "A figure".into(), caption: "Bands are one standard deviation.".into(), panels }
    }

    #[test]
    fn series_differ_without_colour() {
        let looks: Vec<(String, String)> = (0..SERIES)
            .map(|k| {
                let text = figure(vec![panel("p", Content::Lines(vec![line(k, 3)]))]).svg().unwrap();
                let dash = text.split("stroke-dasharray=\"").nth(1).map_or("", |rest| rest.split('"').next().unwrap());
                let mark = text.split("<g class=\"mark\">").nth(2).unwrap();
                let shape = mark.split("</title>").nth(1).unwrap();
                // The shape without its colour and place: kinds of elements and numbers of corners.
                let kind = format!("{} {}", shape.matches("<circle").count(), shape.matches('L').count());
                let inside = shape.contains("#ffffff");
                (dash.to_owned(), format!("{kind} {inside}"))
            })
            .collect();
        for (k, own) in looks.iter().enumerate() {
            assert!(!looks[..k].contains(own), "series {k} looks like an earlier one: {looks:?}");
        }
    }

    #[test]
    fn files_stand_alone() {
        let rows = vec![
            FigureRow {
                name: "LR-1".into(),
                mean: Some(2.0),
                interval: Some((1.5, 2.5)),
                values: vec![1.0, 2.0, 3.0],
                published: Some((3.35, 1.28)),
            },
            FigureRow { name: "failed".into(), mean: None, interval: None, values: vec![], published: None },
        ];
        let lines = (0..6).map(|k| line(k, 4)).collect();
        let figure = figure(vec![panel("lines", Content::Lines(lines)), panel("rows", Content::Rows(rows))]);
        let text = figure.svg().unwrap();
        assert!(!text.contains("class=\"s-") && !text.contains("var(--") && !text.contains("NaN"));
        assert!(text.contains("method &lt;3&gt;") && text.contains("(b) rows") && text.contains("published"));
        assert!(text.contains("failed not finished"), "the words name what has no mark");
        let png = figure.png().unwrap();
        assert!(png.starts_with(b"\x89PNG") && png.len() > 5_000);
        assert_eq!(png, figure.png().unwrap());
        let page = figure.html("f").unwrap();
        assert!(page.contains("s-series-3") && page.contains("id=\"f-2\""));
    }

    #[test]
    fn long_words_go_over_several_lines() {
        let lines = wrapped(&"word ".repeat(60), 300, 11.0);
        assert!(lines.len() > 4 && lines.iter().all(|line| line.len() < 60), "{lines:?}");
        assert!(wrapped("", 300, 11.0).is_empty());
    }
}
