//! A drawing backend that writes SVG whose colours are names, so that one picture serves light, dark and print.
//!
//! The library places everything at whole pixels; the backend claims to be ten times as large and divides, so that curves
//! are smooth. Shapes drawn between [`Ink::begin_mark`] and [`Ink::end_mark`] are one mark with words of its own.

use std::convert::Infallible;
use std::fmt::Write as _;

use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

use crate::html::escape;

/// Units of the library in a pixel of the page.
pub(crate) const FINE: u32 = 10;

/// A colour by its meaning; the style sheet says what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Text,
    Muted,
    Grid,
    Axis,
    Main,
    Band,
    Control,
    Treated,
    Before,
    After,
    Limit,
    Surface,
    /// Nothing to be seen, but something to be pointed at.
    Hit,
}

impl Paint {
    const ALL: [Self; 13] = [
        Self::Text,
        Self::Muted,
        Self::Grid,
        Self::Axis,
        Self::Main,
        Self::Band,
        Self::Control,
        Self::Treated,
        Self::Before,
        Self::After,
        Self::Limit,
        Self::Surface,
        Self::Hit,
    ];

    /// The name in style classes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Axis => "axis",
            Self::Main => "main",
            Self::Band => "band",
            Self::Control => "control",
            Self::Treated => "treated",
            Self::Before => "before",
            Self::After => "after",
            Self::Limit => "limit",
            Self::Surface => "surface",
            Self::Hit => "hit",
        }
    }

    /// The colour that carries the name through the library.
    pub(crate) fn rgb(self) -> RGBColor {
        RGBColor(self as u8, 0, 0)
    }

    fn of(color: BackendColor) -> Self {
        Self::ALL.into_iter().find(|paint| *paint as u8 == color.rgb.0).unwrap_or(Self::Text)
    }
}

/// The backend: collects SVG elements.
#[derive(Debug)]
pub(crate) struct Ink<'a> {
    size: (u32, u32),
    out: &'a mut String,
}

type Done = Result<(), DrawingErrorKind<Infallible>>;

impl<'a> Ink<'a> {
    /// A canvas of so many pixels.
    pub(crate) fn new(out: &'a mut String, width: u32, height: u32) -> Self {
        Self { size: (width * FINE, height * FINE), out }
    }

    /// What is drawn from now on is one mark, and this is what it says.
    pub(crate) fn begin_mark(&mut self, words: &str) {
        let _ = write!(self.out, "<g class=\"mark\"><title>{}</title>", escape(words));
    }

    /// The mark is complete.
    pub(crate) fn end_mark(&mut self) {
        self.out.push_str("</g>");
    }

    fn stroke(style: &impl BackendStyle) -> String {
        let color = style.color();
        let mut out = format!("class=\"s-{}\"", Paint::of(color).name());
        let width = f64::from(style.stroke_width()) / f64::from(FINE);
        if style.stroke_width() != FINE {
            let _ = write!(out, " stroke-width=\"{}\"", short(width));
        }
        out
    }
}

/// A length in pixels with at most one decimal.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

fn px(units: i32) -> String {
    short(f64::from(units) / f64::from(FINE))
}

fn points(path: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut out = String::new();
    for (k, (x, y)) in path.into_iter().enumerate() {
        let _ = write!(out, "{}{} {}", if k == 0 { "M" } else { "L" }, px(x), px(y));
    }
    out
}

impl DrawingBackend for Ink<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Done {
        self.draw_rect((x, y), (x + FINE as i32, y + FINE as i32), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Done {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Done {
        if style.color().alpha > 0.0 {
            let _ = write!(self.out, "<path {} d=\"{}\"/>", Self::stroke(style), points(path));
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> Done {
        if style.color().alpha == 0.0 {
            return Ok(());
        }
        let paint = if fill { format!("class=\"f-{}\"", Paint::of(style.color()).name()) } else { Self::stroke(style) };
        let (x, y) = (a.0.min(b.0), a.1.min(b.1));
        let (w, h) = ((a.0 - b.0).abs(), (a.1 - b.1).abs());
        let _ = write!(
            self.out,
            "<rect {paint} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            px(x),
            px(y),
            px(w),
            px(h)
        );
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Done {
        let paint = if fill { format!("class=\"f-{}\"", Paint::of(style.color()).name()) } else { Self::stroke(style) };
        let _ = write!(self.out, "<circle {paint} cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(x), px(y), px(radius as i32));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, vert: I, style: &S) -> Done {
        let name = Paint::of(style.color()).name();
        let _ = write!(self.out, "<path class=\"f-{name}\" d=\"{}Z\"/>", points(vert));
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Done {
        let size = style.size() / f64::from(FINE);
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        // Baselines by hand: programs that read the downloaded file know no `dominant-baseline`.
        let drop = match style.anchor().v_pos {
            VPos::Top => 0.8 * size,
            VPos::Center => 0.35 * size,
            VPos::Bottom => -0.2 * size,
        };
        let turn = match style.transform() {
            FontTransform::None => 0,
            FontTransform::Rotate90 => 90,
            FontTransform::Rotate180 => 180,
            FontTransform::Rotate270 => 270,
        };
        let place = if turn == 0 {
            format!("x=\"{}\" y=\"{}\"", px(x), short(f64::from(y) / f64::from(FINE) + drop))
        } else {
            format!("transform=\"translate({} {}) rotate({turn})\" y=\"{}\"", px(x), px(y), short(drop))
        };
        let name = Paint::of(style.color()).name();
        let _ = write!(self.out, "<text class=\"f-{name}\" {place}{anchor}>{}</text>", escape(text));
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok(((0.56 * style.size() * text.chars().count() as f64) as u32, style.size() as u32))
    }
}
