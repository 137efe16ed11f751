//! What is known about the terminal: its width, whether it shows colours, and text that fits it.

use std::io::IsTerminal as _;

use terminal_size::{Width, terminal_size};

/// Lines are never made narrower than this.
const LEAST_WIDTH: usize = 40;

/// Columns that lines should fit: what `COLUMNS` says, else the terminal's; `None` where output goes to a file or a program.
pub(crate) fn width() -> Option<usize> {
    width_of(std::io::stdout().is_terminal())
}

fn width_of(is_terminal: bool) -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let width = match given {
        Some(columns) => Some(columns),
        None if is_terminal => terminal_size().map(|(Width(columns), _)| usize::from(columns)),
        None => None,
    };
    width.filter(|columns| *columns > 0).map(|columns: usize| columns.max(LEAST_WIDTH))
}

/// A text for stderr as it is shown there: it fits the width, and on a terminal it has its colours.
pub(crate) fn for_stderr(text: &str) -> String {
    let width = width_of(std::io::stderr().is_terminal());
    let fitted = width.map_or_else(|| text.to_owned(), |width| fitted(text, width));
    if has_colours(Stream::Err) { coloured(&fitted) } else { fitted }
}

/// A name cut so that so many columns of stderr's terminal are left beside it.
pub(crate) fn cut(name: &str, rest: usize) -> String {
    let width = terminal_size().map_or(80, |(Width(columns), _)| usize::from(columns));
    let room = width.saturating_sub(rest).max(12);
    if name.chars().count() <= room { name.to_owned() } else { name.chars().take(room - 1).chain(['…']).collect() }
}

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Whether colours are shown: on a terminal, unless `NO_COLOR` is set; always where `CLICOLOR_FORCE` asks for them.
pub(crate) fn has_colours(stream: Stream) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    if set("NO_COLOR") {
        return false;
    }
    let terminal = match stream {
        Stream::Out => std::io::stdout().is_terminal(),
        Stream::Err => std::io::stderr().is_terminal(),
    };
    set("CLICOLOR_FORCE") || (terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"))
}

/// How a word looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Heading,
    Warning,
    Error,
}

/// A text in its colours.
pub(crate) fn painted(text: &str, look: Look) -> String {
    let code = match look {
        Look::Heading => "1",
        Look::Warning => "1;33",
        Look::Error => "1;31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Lines for people in colours: headings of tables, and the word that a warning begins with.
pub(crate) fn coloured(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &&str| line.contains('-') && line.chars().all(|c| c == '-' || c == ' ');
    let mut headings = vec![false; lines.len()];
    // The heading of a table may take several lines; it ends with the rule and begins behind an empty or a long line.
    for (k, _) in lines.iter().enumerate().filter(|(_, line)| is_rule(line)) {
        let width = lines[k].chars().count();
        let fits = |line: &str| !line.trim().is_empty() && line.chars().count() <= width && !line.ends_with(['.', ':']);
        for above in (0..k).rev().take(3).take_while(|&j| fits(lines[j]) && !is_rule(&lines[j])) {
            headings[above] = true;
            // Only wrapped headings have further lines, which begin with the same blank as cells below the first.
            if !lines[above].starts_with(' ') {
                break;
            }
        }
    }
    let line = |(line, heading): (&&str, &bool)| match line.trim_start().strip_prefix("warning:") {
        Some(rest) => {
            let indent = &line[..line.len() - line.trim_start().len()];
            format!("{indent}{}{rest}", painted("warning:", Look::Warning))
        }
        None if *heading => painted(line, Look::Heading),
        None => (*line).to_owned(),
    };
    lines.iter().zip(&headings).map(line).collect::<Vec<_>>().join("\n")
}

/// A text cut between words into lines of at most so many characters; a word that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut line = String::new();
    let mut words: Vec<String> = vec![];
    for word in text.split(' ') {
        match words.last_mut() {
            // `95 %` is one word.
            Some(number) if word.starts_with('%') => *number = format!("{number} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        let needed = line.chars().count() + usize::from(!line.is_empty()) + word.chars().count();
        if !line.is_empty() && needed > width {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Lines of prose that fit the width; what follows in a paragraph is indented by two more blanks than its beginning. Lines
/// of tables have been made to fit already.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let fit = |line: &str| -> String {
        // Several blanks in a row are a table's.
        let inner = line.trim_start();
        if line.chars().count() <= width || inner.contains("   ") || inner.is_empty() {
            return line.to_owned();
        }
        let indent = &line[..line.len() - inner.len()];
        let hanging = format!("{indent}  ");
        let lines = wrapped(inner, width.saturating_sub(hanging.chars().count()).max(LEAST_WIDTH / 2));
        let prefix = |k: usize| if k == 0 { indent } else { hanging.as_str() };
        lines.iter().enumerate().map(|(k, part)| format!("{}{part}", prefix(k))).collect::<Vec<_>>().join("\n")
    };
    text.lines().map(fit).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable x", 4), ["unbreakable", "x"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("ridge 95 %, lasso", 8), ["ridge", "95 %,", "lasso"]);
        let long = "warning: ".to_owned() + &"word ".repeat(30);
        for line in fitted(long.trim_end(), 60).lines() {
            assert!(line.chars().count() <= 60, "{line}");
        }
        assert_eq!(fitted("short", 40), "short");
    }

    #[test]
    fn headings_and_warnings_are_coloured() {
        let text = "3 rows\nname   n\n----  --\na      1\nwarning: look";
        let lines: Vec<String> = coloured(text).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "3 rows");
        assert!(lines[1].starts_with("\u{1b}[1mname") && lines[4].starts_with("\u{1b}[1;33mwarning:"), "{lines:?}");
        assert_eq!(lines[3], "a      1");
    }
}
