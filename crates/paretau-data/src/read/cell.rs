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
    cell.is_empty() || cell == b"." || is_missing_word(cell)
}

fn is_missing_word(cell: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"na", b"nan", b"n/a", b"null", b"#n/a"];
    cell.len() <= 4 && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The cell without spaces around it.
pub(crate) fn trim(cell: &[u8]) -> &[u8] {
    match cell {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t' | b'\r'] => cell.trim_ascii(),
        _ => cell,
    }
}

fn number(cell: &[u8]) -> Option<f64> {
    short_decimal(cell).or_else(|| std::str::from_utf8(cell).ok()?.parse().ok())
}

/// Plain decimals of up to 15 digits, the commonest cells of all. Both the digits and the power of ten are exact
/// floats then, so that one division rounds rightly (Clinger 1990); everything else is left to the full parser.
fn short_decimal(cell: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    if digits.len() > 16 || !digits.first()?.is_ascii_digit() {
        return None;
    }
    let (mut whole, mut n_digits, mut point) = (0_u64, 0_usize, None);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u64::from(byte - b'0');
                n_digits += 1;
            }
            b'.' if point.is_none() => point = Some(n_digits),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |at| n_digits - at);
    let value = whole as f64 / POWERS.get(decimals)?;
    (n_digits <= 15).then_some(if negative { -value } else { value })
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
    }

    #[test]
    fn short_decimals_agree_with_the_full_parser() {
        let mut rng = paretau_core::Seed(3).rng();
        for _ in 0..20_000 {
            let digits = rng.below(1_000_000_000_000_000);
            let text = match rng.below(4) {
                0 => format!("{digits}"),
                1 => format!("-{}.{}", digits % 1000, digits % 100_000),
                2 => format!("{:.3}", digits as f64 / 1e9),
                _ => format!("0.{digits}"),
            };
            let want: f64 = text.parse().unwrap_or(f64::NAN);
            if let Some(value) = short_decimal(text.as_bytes()) {
                assert_eq!(value.to_bits(), want.to_bits(), "{text}");
            }
        }
        for text in ["", "-", ".", "1.2.3", "1e5", "+5", "1_000", "12345678901234567"] {
            assert_eq!(short_decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(short_decimal(b"-0.0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(short_decimal(b"5."), Some(5.0));
    }
}
