//! How the cells of one column are written: decimal mark, thousands separator, unit, order of day and month.

use serde::{Deserialize, Serialize};

use crate::calendar::{DateOrder, parse_date};

/// How the cells of a column are written. Stored with a model, so that new files are read alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notation {
    /// Decimal mark, a point or a comma.
    pub decimal: char,
    /// What stands between groups of three digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// Unit before or behind every number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Order of day, month and year, where the column holds dates that are not ISO dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateOrder>,
    /// Whether a cell that is no number counts as missing (`--numeric`).
    pub lenient: bool,
}

impl Default for Notation {
    fn default() -> Self {
        Self { decimal: '.', thousands: None, unit: None, dates: None, lenient: false }
    }
}

impl Notation {
    /// The number or date that a cell stands for under this notation.
    pub(crate) fn value(&self, cell: &str) -> Option<f64> {
        if let Some(order) = self.dates {
            return parse_date(cell, order);
        }
        let parts = Parts::of(cell)?;
        if !parts.unit.is_empty() && !self.unit.as_deref().is_some_and(|unit| same_unit(unit, parts.unit)) {
            return None;
        }
        parts.number(self.decimal, self.thousands)
    }

    /// The notation in words, without what is usual.
    pub(crate) fn in_words(&self) -> String {
        let mut words = vec![];
        if let Some(order) = self.dates {
            words.push(format!("dates are written {}", order.in_words()));
        }
        if self.decimal == ',' {
            words.push("the decimal mark is a comma".to_owned());
        }
        if let Some(mark) = self.thousands {
            let mark = if mark == ' ' { "a blank".to_owned() } else { format!("`{mark}`") };
            words.push(format!("{mark} separates thousands"));
        }
        if let Some(unit) = &self.unit {
            words.push(format!("the unit `{unit}` is left off"));
        }
        words.join(", ")
    }
}

/// Words that mean a missing cell in a column of numbers or dates. Among texts they may be an answer of their own
/// (`None` of several options), which is why they are not missing everywhere.
const MISSING_AMONG_NUMBERS: [&str; 14] = [
    "none",
    "<na>",
    "(null)",
    "\\n",
    "#na",
    "n.a.",
    "n.a",
    "nil",
    "1.#ind",
    "-1.#ind",
    "1.#qnan",
    "-1.#qnan",
    "1.#nan",
    "-nan(ind)",
];

/// Whether a cell of a column of numbers or dates stands for nothing.
pub(crate) fn is_missing_among_numbers(cell: &[u8]) -> bool {
    MISSING_AMONG_NUMBERS.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a cell is one of the marks that mean missing in this file, compared without case.
pub(crate) fn is_mark(marks: &[String], cell: &[u8]) -> bool {
    marks.iter().any(|mark| cell.eq_ignore_ascii_case(mark.trim().as_bytes()))
}

/// Currencies, which may stand before or behind a number.
const CURRENCIES: [&str; 29] = [
    "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₪", "฿", "US$", "R$", "C$", "A$", "USD", "EUR", "GBP", "JPY", "CHF",
    "CAD", "AUD", "INR", "CNY", "RMB", "SEK", "NOK", "DKK", "PLN", "BRL",
];

/// Units that are known by name; one of them in most cells of a column makes the others stand out.
const UNITS: [&str; 65] = [
    "%", "‰", "kr", "Fr.", "kg", "g", "mg", "µg", "μg", "ug", "t", "lb", "lbs", "oz", "st", "km", "m", "cm", "mm",
    "µm", "nm", "mi", "ft", "in", "yd", "l", "dl", "ml", "µl", "mmHg", "mm Hg", "kPa", "bpm", "mmol/l", "mg/dl",
    "g/dl", "g/l", "kg/m2", "kg/m²", "m2", "m²", "°C", "°F", "°", "K", "years", "year", "yrs", "yr", "y", "months",
    "weeks", "days", "d", "hours", "h", "min", "s", "ms", "kcal", "kWh", "km/h", "minutes", "seconds", "percent",
];

/// Whether a unit is known by name.
pub(crate) fn is_known_unit(unit: &str) -> bool {
    CURRENCIES.iter().chain(&UNITS).any(|known| same_unit(known, unit))
}

/// Whether two units are the same, written alike or not: `KG` and `kg`, `1 day` and `2 days`, `$` and `USD`.
pub(crate) fn same_unit(a: &str, b: &str) -> bool {
    a == b || usual_unit(a) == usual_unit(b)
}

/// A unit in small letters, in the singular, and by the commonest of its names.
fn usual_unit(unit: &str) -> String {
    let lower = unit.to_lowercase();
    let singular =
        lower.strip_suffix('s').filter(|rest| rest.len() >= 2 && rest.bytes().all(|b| b.is_ascii_lowercase()));
    match singular.unwrap_or(&lower) {
        "percent" | "pct" => "%",
        "usd" | "us$" => "$",
        "eur" => "€",
        "gbp" => "£",
        "ug" | "μg" => "µg",
        "yr" => "year",
        other => other,
    }
    .to_owned()
}

/// A cell taken apart: sign, unit, and the digits with their marks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts<'a> {
    negative: bool,
    pub(crate) unit: &'a str,
    digits: &'a str,
}

impl<'a> Parts<'a> {
    /// Takes a cell apart; `None` if it cannot be a number with a unit in any notation.
    pub(crate) fn of(cell: &'a str) -> Option<Self> {
        // Spreadsheets keep a number as text behind an apostrophe; some programs quote with apostrophes.
        let cell = cell.trim();
        let quoted = [('\'', '\''), ('“', '”'), ('„', '“'), ('‘', '’')]
            .iter()
            .find_map(|&(open, close)| cell.strip_prefix(open)?.strip_suffix(close));
        let mut rest = quoted.unwrap_or(cell).trim_start_matches('\'').trim();
        let mut negative = false;
        // Accountants write negative amounts in brackets.
        if let Some(inner) = rest.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
            (rest, negative) = (inner.trim(), true);
        }
        let signed = |text: &'a str| {
            let plain = text.strip_prefix(['-', '−', '–']);
            (plain.or_else(|| text.strip_prefix('+')).unwrap_or(text), plain.is_some())
        };
        let (after_sign, minus) = signed(rest);
        let start = after_sign.find(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '−' | '+' | '('))?;
        let prefix = after_sign[..start].trim();
        let is_currency = |text: &str| CURRENCIES.iter().any(|known| same_unit(known, text));
        if !prefix.is_empty() && !is_currency(prefix) {
            return None;
        }
        let (number, mut second) =
            if prefix.is_empty() { (&after_sign[start..], false) } else { signed(&after_sign[start..]) };
        // The brackets around the digits alone: `$(3.50)`, `(3,50) €`.
        let bracketed = number.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let (number, behind) = match bracketed {
            Some(_) if second || number.contains(char::is_alphabetic) => return None,
            Some((inner, behind)) => (inner.trim(), behind),
            None => (number, ""),
        };
        second |= bracketed.is_some();
        if usize::from(negative) + usize::from(minus) + usize::from(second) > 1 {
            return None;
        }
        let end = digits_end(number);
        let (digits, mut suffix) = (number[..end].trim_end(), number[end..].trim());
        if bracketed.is_some() {
            if !suffix.is_empty() {
                return None;
            }
            suffix = behind.trim();
        }
        // Accounting programs write the minus behind the amount, before or behind the currency; `3-` is a grade or a range
        // without an end.
        let is_amount = digits.len() > 1 && !(negative || minus || second);
        let before_minus = suffix.strip_suffix(['-', '−']);
        let behind_minus = suffix.strip_prefix(['-', '−']).filter(|unit| is_currency(unit.trim()));
        if let Some(unit) = before_minus.or(behind_minus).filter(|_| is_amount) {
            (suffix, negative) = (unit.trim(), true);
        }
        if digits.is_empty() || (!prefix.is_empty() && !suffix.is_empty()) || !is_unit(suffix) {
            return None;
        }
        Some(Self {
            negative: negative || minus || second,
            unit: if prefix.is_empty() { suffix } else { prefix },
            digits,
        })
    }

    /// The number under a decimal mark and a thousands separator; `None` if the digits do not fit them.
    pub(crate) fn number(&self, decimal: char, thousands: Option<char>) -> Option<f64> {
        let (mantissa, exponent) = match self.digits.find(['e', 'E']) {
            Some(at) => (&self.digits[..at], &self.digits[at..]),
            None => (self.digits, ""),
        };
        let (whole, fraction) = mantissa.split_once(decimal).unwrap_or((mantissa, ""));
        let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !are_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let whole = match thousands {
            // Thousands are not separated in a number with an exponent.
            Some(mark) if exponent.is_empty() && whole.contains(|c| same_mark(c, mark)) => ungrouped(whole, mark)?,
            _ if are_digits(whole) => whole.to_owned(),
            _ => return None,
        };
        let spelled = format!("{}{whole}.{fraction}{exponent}", if self.negative { "-" } else { "" });
        fast_float2::parse::<f64, _>(spelled.as_bytes()).ok().filter(|value| value.is_finite())
    }

    /// Whether the digits have this mark.
    pub(crate) fn has(&self, mark: char) -> bool {
        self.digits.contains(mark)
    }
}

/// Where the digits, marks and the exponent of a number end.
fn digits_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut end = 0;
    let mut exponent = false;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        let stays = match c {
            '0'..='9' => true,
            '.' | ',' => !exponent,
            '\'' | '’' => !exponent && next.is_some_and(|c| c.is_ascii_digit()),
            c if c.is_whitespace() => !exponent && next.is_some_and(|c| c.is_ascii_digit()),
            'e' | 'E' if !exponent && at > 0 => {
                let mut ahead = text[at + 1..].chars();
                let first = ahead.next();
                exponent = first.is_some_and(|c| c.is_ascii_digit())
                    || (matches!(first, Some('+' | '-')) && ahead.next().is_some_and(|c| c.is_ascii_digit()));
                exponent
            }
            '+' | '-' => exponent && matches!(text[..at].chars().next_back(), Some('e' | 'E')),
            _ => false,
        };
        if !stays {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

/// Whether what stands behind a number may be a unit: one known by name, or a short word.
fn is_unit(text: &str) -> bool {
    text.is_empty() || is_known_unit(text) || (text.chars().count() <= 6 && text.chars().all(char::is_alphabetic))
}

/// Blanks of all widths are one mark, and both apostrophes are.
fn same_mark(c: char, mark: char) -> bool {
    c == mark || (mark == ' ' && c.is_whitespace()) || (mark == '\'' && c == '’')
}

/// The digits without separators, which must stand between groups of three (or as in India: `12,34,567`).
fn ungrouped(whole: &str, mark: char) -> Option<String> {
    let groups: Vec<&str> = whole.split(|c| same_mark(c, mark)).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let digits = |group: &str, sizes: std::ops::RangeInclusive<usize>| {
        sizes.contains(&group.len()) && group.bytes().all(|b| b.is_ascii_digit())
    };
    let thousands = digits(first, 1..=3) && middle.iter().all(|group| digits(group, 3..=3));
    let indian =
        mark == ',' && !middle.is_empty() && digits(first, 1..=2) && middle.iter().all(|group| digits(group, 2..=2));
    // Nobody writes 0,123 for a hundred and twenty-three.
    ((thousands || indian) && digits(last, 3..=3) && !first.starts_with('0')).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str, decimal: char, thousands: Option<char>) -> Option<f64> {
        Parts::of(cell)?.number(decimal, thousands)
    }

    #[test]
    fn numbers_in_many_notations() {
        for (cell, decimal, thousands, want) in [
            ("1,5", ',', None, Some(1.5)),
            ("-1.234,50", ',', Some('.'), Some(-1234.5)),
            ("1,234.50", '.', Some(','), Some(1234.5)),
            ("1,234,567", '.', Some(','), Some(1_234_567.0)),
            ("12,34,567", '.', Some(','), Some(1_234_567.0)),
            ("1 234,5", ',', Some(' '), Some(1234.5)),
            ("1\u{202f}234", '.', Some(' '), Some(1234.0)),
            ("1’234.5", '.', Some('\''), Some(1234.5)),
            ("(1,234.50)", '.', Some(','), Some(-1234.5)),
            ("'12.5", '.', None, Some(12.5)),
            ("−5", '.', None, Some(-5.0)),
            ("1.234,50-", ',', Some('.'), Some(-1234.5)),
            ("12-", '.', None, Some(-12.0)),
            ("'12.5'", '.', None, Some(12.5)),
            ("'-12.5'", '.', None, Some(-12.5)),
            ("-12-", '.', None, None),
            ("“12.5”", '.', None, Some(12.5)),
            ("12.5”", '.', None, None),
            ("12-18", '.', None, None),
            ("(12", '.', None, None),
            ("12)", '.', None, None),
            ("((12))", '.', None, None),
            ("(a) 12", '.', None, None),
            ("-(12.5)", '.', None, None),
            ("3-", '.', None, None),
            ("1,5e3", ',', None, Some(1500.0)),
            ("1,5e-3", ',', None, Some(0.0015)),
            ("0,123", '.', Some(','), None),
            ("1,23", '.', Some(','), None),
            ("1.2.3", '.', None, None),
            ("1,5", '.', None, None),
            ("12,345.678,9", '.', Some(','), None),
            ("--5", '.', None, None),
            ("18-25", '.', None, None),
            ("65+", '.', None, None),
            ("10:30", '.', None, None),
            ("12/05", '.', None, None),
            ("x1", '.', None, None),
            ("", '.', None, None),
        ] {
            assert_eq!(read(cell, decimal, thousands), want, "{cell}");
        }
    }

    #[test]
    fn units_stand_before_or_behind() {
        for (cell, unit, want) in [
            ("$5", "$", 5.0),
            ("-$5.50", "$", -5.5),
            ("$-5.50", "$", -5.5),
            ("5 €", "€", 5.0),
            ("45%", "%", 45.0),
            ("12.5 kg", "kg", 12.5),
            ("25 kg/m2", "kg/m2", 25.0),
            ("US$ 7", "US$", 7.0),
            ("1e3kg", "kg", 1000.0),
            ("5e", "e", 5.0),
            ("$(3.50)", "$", -3.5),
            ("(3.50) €", "€", -3.5),
            ("3.50- €", "€", -3.5),
            ("3.50-€", "€", -3.5),
            ("3.50 €-", "€", -3.5),
        ] {
            let parts = Parts::of(cell);
            assert_eq!(parts.map(|p| p.unit), Some(unit), "{cell}");
            assert_eq!(parts.and_then(|p| p.number('.', None)), Some(want), "{cell}");
        }
    }

    #[test]
    fn units_have_several_names() {
        for (a, b) in [("lb", "lbs"), ("day", "days"), ("yrs", "years"), ("%", "percent"), ("$", "USD"), ("KG", "kg")] {
            assert!(same_unit(a, b), "{a} and {b}");
        }
        for (a, b) in [("m", "ms"), ("g", "kg"), ("€", "$"), ("cm", "m"), ("l", "lbs")] {
            assert!(!same_unit(a, b), "{a} and {b}");
        }
    }
}
