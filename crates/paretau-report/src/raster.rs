//! Pieces as pixels: shapes by an anti-aliasing rasteriser, letters from the outlines of a font that travels with us, so that
//! a picture is the same wherever it is made, with no font installed.

use paretau_core::{Error, Result};
use plotters_backend::BackendCoord;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Colour, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::ink::{FINE, Piece, Side};
use crate::paint::{Paint, SHADE, dashes};

/// Latin, Greek and a few signs of DejaVu Sans; `font/LICENSE` is its licence.
const FONT: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// Dots in a pixel of the page: enough for print at half a page's width.
const SCALE: f32 = 2.0;

/// A PNG file of the pieces on white.
pub(crate) fn png(pieces: &[Piece], width: u32, height: u32) -> Result<Vec<u8>> {
    let wrong = |message: String| Error::Numeric { what: "drawing a picture", message };
    let face = Face::parse(FONT, 0).map_err(|e| wrong(e.to_string()))?;
    let size = |pixels: u32| (pixels as f32 * SCALE).ceil() as u32;
    let mut canvas = Pixmap::new(size(width), size(height)).ok_or_else(|| wrong("it has no size".to_owned()))?;
    canvas.fill(Color::WHITE);
    for piece in pieces {
        draw(&mut canvas, piece, &face);
    }
    canvas.encode_png().map_err(|e| wrong(e.to_string()))
}

/// A shape without a size is nothing to be drawn.
fn draw(canvas: &mut Pixmap, piece: &Piece, face: &Face<'_>) {
    match piece {
        Piece::Line { points, paint, width, dash } => {
            if let Some(path) = polygon(points, false) {
                stroke(canvas, &path, *paint, *width, *dash);
            }
        }
        Piece::Area { points, paint } => {
            if let Some(path) = polygon(points, true) {
                fill(canvas, &path, *paint);
            }
        }
        Piece::Rect { corner, size, paint, outline } => {
            let rect = Rect::from_xywh(dots(corner.0), dots(corner.1), dots(size.0), dots(size.1));
            if let Some(rect) = rect {
                shape(canvas, &PathBuilder::from_rect(rect), *paint, *outline);
            }
        }
        Piece::Disc { center, radius, paint, outline } => {
            let circle = PathBuilder::from_circle(dots(center.0), dots(center.1), dots(*radius as i32));
            if let Some(path) = circle {
                shape(canvas, &path, *paint, *outline);
            }
        }
        Piece::Words { at, text, paint, size, side, drop, turn } => {
            let per_unit = *size as f32 * SCALE / f32::from(face.units_per_em());
            let glyphs: Vec<GlyphId> = text.chars().map(|c| glyph(face, c)).collect();
            let advance = |id: GlyphId| f32::from(face.glyph_hor_advance(id).unwrap_or(0)) * per_unit;
            let length: f32 = glyphs.iter().map(|id| advance(*id)).sum();
            let mut pen = match side {
                Side::Start => 0.0,
                Side::Middle => -length / 2.0,
                Side::End => -length,
            };
            let place =
                Transform::from_rotate(f32::from(*turn)).post_concat(Transform::from_translate(dots(at.0), dots(at.1)));
            for id in glyphs {
                let mut outline = Outline(PathBuilder::new());
                if face.outline_glyph(id, &mut outline).is_some()
                    && let Some(path) = outline.0.finish()
                {
                    // Fonts count upwards.
                    let letter = Transform::from_scale(per_unit, -per_unit)
                        .post_concat(Transform::from_translate(pen, *drop as f32 * SCALE))
                        .post_concat(place);
                    canvas.fill_path(&path, &colour(*paint), FillRule::Winding, letter, None);
                }
                pen += advance(id);
            }
        }
        Piece::Begin(_) | Piece::End => {}
    }
}

fn dots(units: i32) -> f32 {
    units as f32 / FINE as f32 * SCALE
}

/// The character's outline, or that of the sign for characters that are not there.
fn glyph(face: &Face<'_>, c: char) -> GlyphId {
    face.glyph_index(c).or_else(|| face.glyph_index('\u{fffd}')).unwrap_or_default()
}

fn polygon(points: &[BackendCoord], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (k, (x, y)) in points.iter().enumerate() {
        if k == 0 { path.move_to(dots(*x), dots(*y)) } else { path.line_to(dots(*x), dots(*y)) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn colour(paint: Paint) -> Colour<'static> {
    let part = |at: usize| paint.on_paper().get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let mut out = Colour { anti_alias: true, ..Colour::default() };
    let alpha = if matches!(paint, Paint::Shade(_)) { SHADE } else { 1.0 };
    match (part(1), part(3), part(5)) {
        (Some(r), Some(g), Some(b)) => out.set_color_rgba8(r, g, b, (255.0 * alpha) as u8),
        // What is only to be pointed at is not to be seen.
        _ => out.set_color_rgba8(0, 0, 0, 0),
    }
    out
}

fn shape(canvas: &mut Pixmap, path: &Path, paint: Paint, outline: Option<u32>) {
    match outline {
        Some(width) => stroke(canvas, path, paint, width, 0),
        None => fill(canvas, path, paint),
    }
}

fn fill(canvas: &mut Pixmap, path: &Path, paint: Paint) {
    canvas.fill_path(path, &colour(paint), FillRule::Winding, Transform::identity(), None);
}

fn stroke(canvas: &mut Pixmap, path: &Path, paint: Paint, width: u32, dash: u8) {
    let lengths: Vec<f32> = dashes(dash).iter().map(|d| d * SCALE).collect();
    let stroke = Stroke {
        width: dots(width as i32),
        line_cap: LineCap::Butt,
        line_join: LineJoin::Round,
        dash: if lengths.is_empty() { None } else { StrokeDash::new(lengths, 0.0) },
        ..Stroke::default()
    };
    canvas.stroke_path(path, &colour(paint), &stroke, Transform::identity(), None);
}

/// Hands a letter's outline on.
struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pixels(pieces: &[Piece]) -> Pixmap {
        Pixmap::decode_png(&png(pieces, 60, 40).unwrap()).unwrap()
    }

    fn words(text: &str, turn: u16) -> Piece {
        let (text, paint) = (text.to_owned(), Paint::Text);
        Piece::Words { at: (300, 200), text, paint, size: 12.0, side: Side::Middle, drop: 4.0, turn }
    }

    /// Width and height of what is not white.
    fn extent(map: &Pixmap) -> (u32, u32) {
        let dark: Vec<(u32, u32)> = (0..map.height())
            .flat_map(|y| (0..map.width()).map(move |x| (x, y)))
            .filter(|(x, y)| map.pixel(*x, *y).unwrap().red() < 128)
            .collect();
        let span = |values: Vec<u32>| values.iter().max().unwrap() - values.iter().min().unwrap() + 1;
        (span(dark.iter().map(|p| p.0).collect()), span(dark.iter().map(|p| p.1).collect()))
    }

    #[test]
    fn shapes_have_their_colour_and_place() {
        let paint = Paint::Limit;
        let map = pixels(&[Piece::Rect { corner: (100, 100), size: (200, 100), paint, outline: None }]);
        assert_eq!((map.width(), map.height()), (120, 80));
        let at = |x, y| {
            let p = map.pixel(x, y).unwrap();
            format!("#{:02x}{:02x}{:02x}", p.red(), p.green(), p.blue())
        };
        assert_eq!((at(40, 30).as_str(), at(10, 10).as_str()), (paint.on_paper(), "#ffffff"));
        let hidden = pixels(&[Piece::Rect { corner: (0, 0), size: (600, 400), paint: Paint::Hit, outline: None }]);
        assert!(hidden.pixels().iter().all(|p| p.red() == 255));
    }

    #[test]
    fn letters_are_drawn_and_turned() {
        let (w, h) = extent(&pixels(&[words("pehe", 0)]));
        assert!(w > 2 * h && (40..80).contains(&w), "{w} {h}");
        let (turned_w, turned_h) = extent(&pixels(&[words("pehe", 270)]));
        assert!(turned_h.abs_diff(w) < 3 && turned_w.abs_diff(h) < 3, "{turned_w} {turned_h}");
        // What the font has not is shown as the sign for it, not left out.
        assert!(extent(&pixels(&[words("\u{4e00}", 0)])).0 > 5);
        let face = Face::parse(FONT, 0).unwrap();
        for c in "AZaz09−–…ετΓΔΥκ±×≥é \u{202f}".chars() {
            assert!(face.glyph_index(c).is_some(), "{c:?}");
        }
    }

    #[test]
    fn dashes_leave_gaps() {
        let line = |dash| {
            let points = vec![(0, 200), (600, 200)];
            let map = pixels(&[Piece::Line { points, paint: Paint::Text, width: 20, dash }]);
            (0..map.width()).filter(|x| map.pixel(*x, 40).unwrap().red() < 128).count()
        };
        assert_eq!(line(0), 120);
        assert!((30..100).contains(&line(1)) && (30..100).contains(&line(2)) && line(1) != line(2));
    }
}
