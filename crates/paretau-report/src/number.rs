//! Numbers for people: as many digits as they can bear, proper minus signs, thin spaces in long ones.

/// A number with so many decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, part) = text.split_once('.').map_or((text.as_str(), None), |(w, p)| (w, Some(p)));
    let mut out = String::new();
    // What rounds to nothing has no sign.
    if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('\u{2212}');
    }
    for (k, c) in whole.chars().enumerate() {
        if k > 0 && whole.len() > 4 && (whole.len() - k).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    if let Some(part) = part {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// A count.
pub(crate) fn count(value: usize) -> String {
    fixed(value as f64, 0)
}

/// So many people.
pub(crate) fn people(n: usize) -> String {
    if n == 1 { "1 person".to_owned() } else { format!("{} people", count(n)) }
}

/// A number with about so many significant digits.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&size) {
        let text = format!("{value:.*e}", (digits - 1).max(0) as usize);
        return text.replace('-', "\u{2212}");
    }
    fixed(value, (digits - 1 - size.log10().floor() as i32).clamp(0, 8) as usize)
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let decimals = usize::from(share > 0.0 && share < 0.01 || share < 1.0 && share > 0.99);
    format!("{} %", fixed(100.0 * share, decimals))
}

/// A tick of an axis: no digits beyond those that are there.
pub(crate) fn tick(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:e}").replace('-', "\u{2212}");
    }
    let text = fixed(value, 6);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

/// How effects are written: differences of probabilities in percentage points, others in the outcome's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit<'a> {
    /// What effects are multiplied by.
    pub(crate) scale: f64,
    /// Decimals that suit the uncertainty of the average effect.
    pub(crate) decimals: usize,
    /// The unit's name; may be empty.
    pub(crate) name: &'a str,
}

impl<'a> Unit<'a> {
    /// The unit of outcomes that are 0 or 1, or of others; `width` is the width of a typical interval.
    pub(crate) fn new(binary: bool, width: f64, name: &'a str) -> Self {
        let scale = if binary { 100.0 } else { 1.0 };
        let width = (width * scale).abs();
        let decimals =
            if width > 0.0 && width.is_finite() { (1 - width.log10().floor() as i32).clamp(0, 6) } else { 3 };
        Self { scale, decimals: decimals as usize, name: if binary { "percentage points" } else { name } }
    }

    /// An effect.
    pub(crate) fn show(self, value: f64) -> String {
        fixed(value * self.scale, self.decimals)
    }

    /// An effect with the unit's name.
    pub(crate) fn words(self, value: f64) -> String {
        let number = self.show(value);
        match self.name {
            "" => number,
            // Signs of currencies stand before the amount and behind its sign.
            name if name.ends_with(['$', '€', '£', '¥', '₹']) => match number.strip_prefix('\u{2212}') {
                Some(amount) => format!("\u{2212}{name}{amount}"),
                None => format!("{name}{number}"),
            },
            name => format!("{number} {name}"),
        }
    }

    /// What follows a word such as "effects": `, in kg`; nothing without a unit.
    pub(crate) fn after(self, mark: &str) -> String {
        if self.name.is_empty() { String::new() } else { format!("{mark}{}", self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(fixed(-0.004, 2), "0.00");
        assert_eq!(fixed(-12345.678, 1), "\u{2212}12\u{202f}345.7");
        assert_eq!(fixed(1234.0, 0), "1234");
        assert_eq!(significant(0.012345, 2), "0.012");
        assert_eq!(significant(5e-7, 2), "5.0e\u{2212}7");
        assert_eq!(tick(0.300_000_000_000_4), "0.3");
        assert_eq!(tick(-20.0), "\u{2212}20");
        assert_eq!(percent(0.0042), "0.4 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(Unit::new(false, 1.8, "kg").words(3.4567), "3.5 kg");
        assert_eq!(Unit::new(false, 1.8, "$").words(-3.4567), "\u{2212}$3.5");
        assert_eq!(Unit::new(false, 1.8, "").show(3.4567), "3.5");
        assert_eq!(Unit::new(true, 0.018, "kg").words(0.034), "3.4 percentage points");
        assert_eq!(Unit::new(false, 0.9, "kg").words(-3.44), "\u{2212}3.44 kg");
        assert_eq!(people(1) + ", " + &people(1200), "1 person, 1200 people");
    }
}
