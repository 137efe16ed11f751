//! A drawing backend that keeps what is drawn as pieces, so that one picture can become SVG for pages, SVG that stands
//! alone, or pixels.
//!
//! The library places everything at whole pixels; the backend claims to be ten times as large, and whoever writes the
//! pieces divides, so that curves are smooth. Pieces between [`Piece::Begin`] and [`Piece::End`] are one mark with words of
//! its own.

use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

use crate::paint::Paint;

/// Units of the library in a pixel of the page.
pub(crate) const FINE: u32 = 10;

/// Something drawn; lengths are in tenths of a pixel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Line { points: Vec<BackendCoord>, paint: Paint, width: u32, dash: u8 },
    Area { points: Vec<BackendCoord>, paint: Paint },
    Rect { corner: BackendCoord, size: (i32, i32), paint: Paint, outline: Option<u32> },
    Disc { center: BackendCoord, radius: u32, paint: Paint, outline: Option<u32> },
    Words { at: BackendCoord, text: String, paint: Paint, size: f64, side: Side, drop: f64, turn: u16 },
    Begin(String),
    End,
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Start,
    Middle,
    End,
}

impl Piece {
    /// The piece further right and further down.
    pub(crate) fn moved(mut self, (dx, dy): BackendCoord) -> Self {
        let shift = |at: &mut BackendCoord| *at = (at.0 + dx, at.1 + dy);
        match &mut self {
            Self::Line { points, .. } | Self::Area { points, .. } => points.iter_mut().for_each(shift),
            Self::Rect { corner: at, .. } | Self::Disc { center: at, .. } | Self::Words { at, .. } => shift(at),
            Self::Begin(_) | Self::End => {}
        }
        self
    }
}

/// The backend: collects pieces.
#[derive(Debug)]
pub(crate) struct Ink<'a> {
    size: (u32, u32),
    out: &'a mut Vec<Piece>,
}

type Done = Result<(), DrawingErrorKind<Infallible>>;

impl<'a> Ink<'a> {
    /// A canvas of so many pixels.
    pub(crate) fn new(out: &'a mut Vec<Piece>, width: u32, height: u32) -> Self {
        Self { size: (width * FINE, height * FINE), out }
    }

    /// What is drawn from now on is one mark, and this is what it says.
    pub(crate) fn begin_mark(&mut self, words: &str) {
        self.out.push(Piece::Begin(words.to_owned()));
    }

    /// The mark is complete.
    pub(crate) fn end_mark(&mut self) {
        self.out.push(Piece::End);
    }
}

fn outline(style: &impl BackendStyle, fill: bool) -> Option<u32> {
    (!fill).then(|| style.stroke_width())
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
        let color = style.color();
        if color.alpha > 0.0 {
            let points = path.into_iter().collect();
            let (paint, dash) = (Paint::of(color), color.rgb.1);
            self.out.push(Piece::Line { points, paint, width: style.stroke_width(), dash });
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, fill: bool) -> Done {
        if style.color().alpha > 0.0 {
            let corner = (a.0.min(b.0), a.1.min(b.1));
            let size = ((a.0 - b.0).abs(), (a.1 - b.1).abs());
            self.out.push(Piece::Rect { corner, size, paint: Paint::of(style.color()), outline: outline(style, fill) });
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, center: BackendCoord, radius: u32, style: &S, fill: bool) -> Done {
        self.out.push(Piece::Disc { center, radius, paint: Paint::of(style.color()), outline: outline(style, fill) });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, vert: I, style: &S) -> Done {
        self.out.push(Piece::Area { points: vert.into_iter().collect(), paint: Paint::of(style.color()) });
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Done {
        let size = style.size() / f64::from(FINE);
        let side = match style.anchor().h_pos {
            HPos::Left => Side::Start,
            HPos::Center => Side::Middle,
            HPos::Right => Side::End,
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
        let (text, paint) = (text.to_owned(), Paint::of(style.color()));
        self.out.push(Piece::Words { at, text, paint, size, side, drop, turn });
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
