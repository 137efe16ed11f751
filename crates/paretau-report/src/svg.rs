//! Pieces as SVG elements: with style classes for pages, with colours of their own for files.

use std::fmt::Write as _;

use plotters_backend::BackendCoord;

use crate::html::escape;
use crate::ink::{FINE, Piece, Side};
use crate::paint::{Paint, SHADE, dashes};

/// Where the elements will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// In a page, whose style sheet knows the classes and the size of letters.
    Page,
    /// In a file of their own.
    File,
}

/// The elements of the pieces.
pub(crate) fn elements(pieces: &[Piece], look: Look) -> String {
    let mut out = String::new();
    for piece in pieces {
        write(&mut out, piece, look);
    }
    out
}

fn write(out: &mut String, piece: &Piece, look: Look) {
    let _ = match piece {
        Piece::Begin(words) => write!(out, "<g class=\"mark\"><title>{}</title>", escape(words)),
        Piece::End => write!(out, "</g>"),
        Piece::Line { points, paint, width, dash } => {
            let mut style = stroke(*paint, *width, look);
            if !dashes(*dash).is_empty() {
                let lengths: Vec<String> = dashes(*dash).iter().map(|d| short(f64::from(*d))).collect();
                let _ = write!(style, " stroke-dasharray=\"{}\"", lengths.join(" "));
            }
            write!(out, "<path {style} d=\"{}\"/>", path(points))
        }
        Piece::Area { points, paint } => write!(out, "<path {} d=\"{}Z\"/>", fill(*paint, look), path(points)),
        Piece::Rect { corner: (x, y), size: (w, h), paint, outline } => {
            let style = style(*paint, *outline, look);
            write!(out, "<rect {style} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", px(*x), px(*y), px(*w), px(*h))
        }
        Piece::Disc { center: (x, y), radius, paint, outline } => {
            let style = style(*paint, *outline, look);
            write!(out, "<circle {style} cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(*x), px(*y), px(*radius as i32))
        }
        Piece::Words { at: (x, y), text, paint, size, side, drop, turn } => {
            let anchor = match side {
                Side::Start => "",
                Side::Middle => " text-anchor=\"middle\"",
                Side::End => " text-anchor=\"end\"",
            };
            let place = if *turn == 0 {
                format!("x=\"{}\" y=\"{}\"", px(*x), short(f64::from(*y) / f64::from(FINE) + drop))
            } else {
                format!("transform=\"translate({} {}) rotate({turn})\" y=\"{}\"", px(*x), px(*y), short(*drop))
            };
            let size = match look {
                Look::Page => String::new(),
                Look::File => format!(" font-size=\"{}\"", short(*size)),
            };
            write!(out, "<text {} {place}{anchor}{size}>{}</text>", fill(*paint, look), escape(text))
        }
    };
}

fn style(paint: Paint, outline: Option<u32>, look: Look) -> String {
    outline.map_or_else(|| fill(paint, look), |width| stroke(paint, width, look))
}

fn fill(paint: Paint, look: Look) -> String {
    match (look, paint) {
        (Look::Page, _) => format!("class=\"f-{}\"", paint.name()),
        (Look::File, Paint::Shade(_)) => format!("fill=\"{}\" fill-opacity=\"{SHADE}\"", paint.on_paper()),
        (Look::File, _) => format!("fill=\"{}\"", paint.on_paper()),
    }
}

fn stroke(paint: Paint, width: u32, look: Look) -> String {
    let mut out = match look {
        Look::Page => format!("class=\"s-{}\"", paint.name()),
        Look::File => format!("fill=\"none\" stroke=\"{}\" stroke-linejoin=\"round\"", paint.on_paper()),
    };
    if width != FINE {
        let _ = write!(out, " stroke-width=\"{}\"", short(f64::from(width) / f64::from(FINE)));
    }
    out
}

/// A length in pixels with at most one decimal.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

fn px(units: i32) -> String {
    short(f64::from(units) / f64::from(FINE))
}

fn path(points: &[BackendCoord]) -> String {
    let mut out = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{} {}", if k == 0 { "M" } else { "L" }, px(*x), px(*y));
    }
    out
}
