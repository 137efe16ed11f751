//! Colours by their meaning. Pages name them and leave the looks to the style sheet; files that stand alone get the style
//! sheet's light colours.

use plotters::style::RGBColor;
use plotters_backend::BackendColor;

/// Series of a figure that can be told apart.
pub(crate) const SERIES: u8 = 10;

/// A colour by its meaning.
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
    /// A line of a figure, by its number.
    Series(u8),
    /// The band around it.
    Shade(u8),
}

/// Numbers that carry series and shades through the library's colours.
const FIRST_SERIES: u8 = 64;
const FIRST_SHADE: u8 = 128;

const PLAIN: [(Paint, &str, &str); 13] = [
    (Paint::Text, "text", "#1b2330"),
    (Paint::Muted, "muted", "#566072"),
    (Paint::Grid, "grid", "#d8dde5"),
    (Paint::Axis, "axis", "#566072"),
    (Paint::Main, "main", "#3558b0"),
    (Paint::Band, "band", "#c9d5f3"),
    (Paint::Control, "control", "#b4540f"),
    (Paint::Treated, "treated", "#1d6fb8"),
    (Paint::Before, "before", "#8a6100"),
    (Paint::After, "after", "#0f7a5c"),
    (Paint::Limit, "limit", "#b3261e"),
    (Paint::Surface, "surface", "#ffffff"),
    (Paint::Hit, "hit", "none"),
];

/// Class of a series, class of its band, colour. Dark and light ones alternate, so that neighbours differ in grey too.
const COLOURED: [(&str, &str, &str); SERIES as usize] = [
    ("series-0", "shade-0", "#12356f"),
    ("series-1", "shade-1", "#d06a14"),
    ("series-2", "shade-2", "#0c6b51"),
    ("series-3", "shade-3", "#a3479b"),
    ("series-4", "shade-4", "#7a1f1a"),
    ("series-5", "shade-5", "#2e8bb5"),
    ("series-6", "shade-6", "#4d3a8e"),
    ("series-7", "shade-7", "#8f7a00"),
    ("series-8", "shade-8", "#2b2f36"),
    ("series-9", "shade-9", "#c04e72"),
];

/// How much of a band covers what is behind it.
pub(crate) const SHADE: f32 = 0.16;

impl Paint {
    /// The name in style classes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Series(k) => COLOURED[usize::from(k % SERIES)].0,
            Self::Shade(k) => COLOURED[usize::from(k % SERIES)].1,
            plain => PLAIN.iter().find(|row| row.0 == plain).map_or("text", |row| row.1),
        }
    }

    /// The colour on white paper, as in `#1b2330`; `none` for what is not to be seen.
    pub(crate) fn on_paper(self) -> &'static str {
        match self {
            Self::Series(k) | Self::Shade(k) => COLOURED[usize::from(k % SERIES)].2,
            plain => PLAIN.iter().find(|row| row.0 == plain).map_or("#1b2330", |row| row.2),
        }
    }

    /// The colour that carries the name through the library.
    pub(crate) fn rgb(self) -> RGBColor {
        let code = match self {
            Self::Series(k) => FIRST_SERIES + k % SERIES,
            Self::Shade(k) => FIRST_SHADE + k % SERIES,
            plain => PLAIN.iter().position(|row| row.0 == plain).unwrap_or(0) as u8,
        };
        RGBColor(code, 0, 0)
    }

    /// The name that a colour carries.
    pub(crate) fn of(color: BackendColor) -> Self {
        match color.rgb.0 {
            code @ FIRST_SHADE.. => Self::Shade(code - FIRST_SHADE),
            code @ FIRST_SERIES.. => Self::Series(code - FIRST_SERIES),
            code => PLAIN.get(usize::from(code)).map_or(Self::Text, |row| row.0),
        }
    }
}

/// Lengths of strokes and gaps by which lines differ without colour, in pixels; the first is a whole line.
const DASHES: [&[f32]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[9.0, 2.5, 2.0, 2.5]];

/// The dashes of a kind of line.
pub(crate) fn dashes(kind: u8) -> &'static [f32] {
    DASHES[usize::from(kind) % DASHES.len()]
}

/// The kind of line of a series.
pub(crate) fn line_of(series: u8) -> u8 {
    series % DASHES.len() as u8
}

/// The same colour, for a line of some kind.
pub(crate) fn dashed(paint: Paint, kind: u8) -> RGBColor {
    let RGBColor(code, ..) = paint.rgb();
    RGBColor(code, kind, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::Color as _;

    #[test]
    fn paints_come_back_from_the_library() {
        let series = (0..SERIES).flat_map(|k| [Paint::Series(k), Paint::Shade(k)]);
        for paint in PLAIN.iter().map(|row| row.0).chain(series) {
            assert_eq!(Paint::of(paint.rgb().to_backend_color()), paint);
        }
    }

    #[test]
    fn files_and_pages_have_the_same_light_colours() {
        let css = include_str!("page.css");
        let light = css.split("@media").next().unwrap_or_default();
        for (k, (name, _, hex)) in COLOURED.iter().enumerate() {
            assert!(light.contains(&format!("--{name}: {hex}")), "{name}");
            assert!(css.contains(&format!(".s-{name} ")) && css.contains(&format!(".f-shade-{k} ")), "{name}");
        }
        for (paint, name, hex) in PLAIN {
            let variable = match paint {
                Paint::Grid => "line",
                Paint::Axis => "muted",
                Paint::Hit => continue,
                _ => name,
            };
            assert!(light.contains(&format!("--{variable}: {hex}")), "{name}");
        }
    }
}
