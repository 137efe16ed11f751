//! Text from data, shown to people: what would steer a terminal or deceive the eye is spelled out.

use std::borrow::Cow;

/// Whether a character shows nothing of itself but changes how the text around it looks: marks of writing direction,
/// and letters without width.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line, with control characters (terminal escapes among them) and deceptive ones spelled out. Names
/// and values from a file go through this on their way to a terminal.
///
/// ```
/// assert_eq!(paretau_core::printable("a\u{1b}[31m\u{202e}b"), "a\\u{1b}[31m\\u{202e}b");
/// assert_eq!(paretau_core::printable("Größe in °C"), "Größe in °C");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() || is_deceptive(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if c.is_control() => out.extend(c.escape_debug()),
            c if is_deceptive(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}
