//! What a cell of a text file says: nothing, a number, yes or no, a date, or a text.

/// The meaning of a cell on its own; a column's kind follows from all its cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Missing,
    Number(f64),
    /// `inf` and numbers too large for 64 bits.
    Infinite,
    Bool(bool),
    Date(f64),
    Text,
}

/// Cells longer than this are a sign of an unclosed quote or of a file that is not a table.
pub(crate) const MAX_CELL: usize = 1 << 20;

/// Reads a cell that has been trimmed.
pub(crate) fn classify(cell: &[u8]) -> Cell {
    let Some(&first) = cell.first() else { return Cell::Missing };
    // The first byte settles most cells, so that categories never pay for a failed number.
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            if cell == b"." {
                return Cell::Missing;
            }
            match number(cell) {
                Some(value) if value.is_finite() => Cell::Number(value),
                Some(value) if value.is_infinite() => Cell::Infinite,
                Some(_) => Cell::Missing,
                None => crate::calendar::parse_iso(cell).map_or(Cell::Text, Cell::Date),
            }
        }
        b'n' | b'N' | b'#' if is_missing_word(cell) => Cell::Missing,
        b't' | b'T' if cell.eq_ignore_ascii_case(b"true") => Cell::Bool(true),
        b'f' | b'F' if cell.eq_ignore_ascii_case(b"false") => Cell::Bool(false),
        b'i' | b'I' if cell.eq_ignore_ascii_case(b"inf") || cell.eq_ignore_ascii_case(b"infinity") => Cell::Infinite,
        _ => Cell::Text,
    }
}

/// Whether a trimmed cell stands for nothing.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    // A signed `nan` is missing among numbers, so that it must be missing among texts: what a cell says cannot depend on
    // the cells that stood before it.
    let unsigned = cell.strip_prefix(b"-").or_else(|| cell.strip_prefix(b"+")).unwrap_or_default();
    cell.is_empty() || cell == b"." || is_missing_word(cell) || unsigned.eq_ignore_ascii_case(b"nan")
}

fn is_missing_word(cell: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"na", b"nan", b"n/a", b"null", b"#n/a"];
    cell.len() <= 4 && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The cell without blanks around it: those of all widths, as spreadsheets and web pages leave them, those without a width
/// and marks of byte order included. `="007"`, with which spreadsheets keep a text from becoming a number, is what it quotes.
pub(crate) fn trim(cell: &[u8]) -> &[u8] {
    match cell {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t' | b'\r'] => trim(cell.trim_ascii()),
        // U+00A0, U+2000 to U+200F, U+202F, U+2060, U+3000, U+FEFF.
        [0xc2, 0xa0, rest @ ..]
        | [rest @ .., 0xc2, 0xa0]
        | [0xe2, 0x80, 0x80..=0x8f | 0xaf, rest @ ..]
        | [rest @ .., 0xe2, 0x80, 0x80..=0x8f | 0xaf]
        | [0xe2, 0x81, 0xa0, rest @ ..]
        | [rest @ .., 0xe2, 0x81, 0xa0]
        | [0xe3, 0x80, 0x80, rest @ ..]
        | [rest @ .., 0xe3, 0x80, 0x80]
        | [0xef, 0xbb, 0xbf, rest @ ..]
        | [rest @ .., 0xef, 0xbb, 0xbf] => trim(rest),
        [b'=', b'"', inner @ .., b'"'] if !inner.contains(&b'"') => trim(inner),
        _ => cell,
    }
}

/// The finite number that a text starts with, and its length. The digits are read as `str::parse` reads them, to the
/// last bit, but without a look for the cell's end or for UTF-8 beforehand.
#[inline]
pub(crate) fn number_at(text: &[u8]) -> Option<(f64, usize)> {
    match text {
        [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] => {
            fast_float2::parse_partial(text).ok().filter(|(value, _): &(f64, usize)| value.is_finite())
        }
        _ => None,
    }
}

fn number(cell: &[u8]) -> Option<f64> {
    fast_float2::parse(cell).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_mean_what_analysts_expect() {
        for (text, want) in [
            ("", Cell::Missing),
            ("NA", Cell::Missing),
            ("nan", Cell::Missing),
            ("-nan", Cell::Missing),
            (".", Cell::Missing),
            ("NULL", Cell::Missing),
            ("N/A", Cell::Missing),
            ("0", Cell::Number(0.0)),
            ("007", Cell::Number(7.0)),
            ("123456789", Cell::Number(123456789.0)),
            ("1234567890123", Cell::Number(1234567890123.0)),
            ("-1.5e3", Cell::Number(-1500.0)),
            (".5", Cell::Number(0.5)),
            ("1,5", Cell::Text),
            ("1e999", Cell::Infinite),
            ("-inf", Cell::Infinite),
            ("TRUE", Cell::Bool(true)),
            ("False", Cell::Bool(false)),
            ("1970-01-03", Cell::Date(2.0)),
            ("1970-01", Cell::Text),
            ("north", Cell::Text),
            ("none", Cell::Text),
            ("12abc", Cell::Text),
            ("--5", Cell::Text),
        ] {
            assert_eq!(classify(text.as_bytes()), want, "{text}");
        }
        assert_eq!(trim(b" a b\t"), b"a b");
        assert_eq!(trim("\u{a0} a\u{a0}b \u{a0}".as_bytes()), "a\u{a0}b".as_bytes());
        assert_eq!(trim("\u{feff}\u{200b} 1.5\u{2009}\u{202f}\u{3000}\u{2060}".as_bytes()), b"1.5");
        assert_eq!(trim(b"=\"007\" "), b"007");
        for kept in ["=\"a\"&\"b\"", "=A1", "=\"", "\u{2010}5", "\u{80}"] {
            assert_eq!(trim(kept.as_bytes()), kept.as_bytes(), "{kept}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_parser_reads_them() {
        let mut rng = paretau_core::Seed(3).rng();
        let mut texts: Vec<String> =
            ["", "-", "+", ".", "-.", "1.2.3", "1e5", "+5", "1_000", "5.", ".5", "-0.0", "1e", "e5"]
                .into_iter()
                .chain([
                    "1e+",
                    "0x10",
                    "1e-400",
                    "4.9e-324",
                    "1.7976931348623157e308",
                    "1.7976931348623159e308",
                    "nan",
                    "-NaN",
                ])
                .chain(["inf", "+Infinity", "infin", "-inf", "9007199254740993", "0.1e-5x", "00000000000000000000001"])
                .map(str::to_owned)
                .collect();
        for _ in 0..50_000 {
            let digits = rng.below(1_000_000_000_000_000);
            let any = f64::from_bits((rng.below(1 << 32) as u64) << 32 | rng.below(1 << 32) as u64);
            texts.push(match rng.below(8) {
                0 => format!("{digits}"),
                1 => format!("-{}.{}", digits % 1000, digits % 100_000),
                2 => format!("{:.3}", digits as f64 / 1e9),
                3 => format!("0.{digits}"),
                4 => format!("{any:e}"),
                5 => format!("{}", digits as f64 / 977e12 - 0.3),
                6 => format!("{digits}{digits}.{digits}e-{}", digits % 40),
                _ => format!("{digits}e{}", digits % 330),
            });
        }
        for text in texts {
            let want: Option<f64> = text.parse().ok();
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), want.map(f64::to_bits), "{text}");
            if let Some((value, length)) = number_at(format!("{text},7").as_bytes()).filter(|(_, n)| *n == text.len()) {
                assert_eq!(Some(value.to_bits()), want.map(f64::to_bits), "{text} ({length})");
            }
        }
        assert_eq!(number_at(b"1.25;3"), Some((1.25, 4)));
        assert_eq!(number_at(b"1e999,3"), None);
        assert_eq!(number_at(b" 5"), None);
    }
}
