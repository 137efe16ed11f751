//! Pieces of HTML: escaped text, tables that sort, folded parts.

use std::fmt::Write as _;

use paretau_core::is_deceptive;

/// Text that cannot be mistaken for markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in HTML.
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            // Marks that turn the text around them, and letters that cannot be seen, are spelled out.
            c if is_deceptive(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A sentence with names in backticks, which become code.
pub(crate) fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return escape(text);
    }
    pieces.iter().enumerate().map(|(k, piece)| if k % 2 == 1 { code(piece) } else { escape(piece) }).collect()
}

/// A command, whose flags stay whole where it goes over several lines.
pub(crate) fn command(text: &str) -> String {
    let word = |word: &str| {
        if word.starts_with("--") { format!("<span class=\"flag\">{}</span>", escape(word)) } else { escape(word) }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A name from the data, as code.
pub(crate) fn code(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

/// Rows of a table that may stand beside a chart.
const SHORT: usize = 30;

/// A cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    html: String,
    /// What the table sorts by; text when absent.
    order: Option<f64>,
}

impl Cell {
    /// Words.
    pub(crate) fn text(text: &str) -> Self {
        Self { html: escape(text), order: None }
    }

    /// Markup that is already escaped.
    pub(crate) fn html(html: String) -> Self {
        Self { html, order: None }
    }

    /// A number that is shown in some way.
    pub(crate) fn number(value: f64, shown: &str) -> Self {
        Self { html: escape(shown), order: Some(value) }
    }

    /// A number that there is not.
    pub(crate) fn none() -> Self {
        Self { html: "–".to_owned(), order: Some(f64::MAX) }
    }
}

/// A table with a caption. Columns whose cells are numbers are aligned to the right; every column can be sorted.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) caption: &'a str,
    pub(crate) header: &'a [&'a str],
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table<'_> {
    pub(crate) fn html(&self) -> String {
        let numeric: Vec<bool> = (0..self.header.len())
            .map(|j| !self.rows.is_empty() && self.rows.iter().all(|row| row[j].order.is_some()))
            .collect();
        let class = |j: usize| if numeric[j] { " class=\"num\"" } else { "" };
        let mut out = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"sortable\"><caption>{}</caption><thead><tr>",
            escape(self.caption),
            escape(self.caption)
        );
        for (j, name) in self.header.iter().enumerate() {
            let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(j), escape(name));
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (j, cell) in row.iter().enumerate() {
                let order = match cell.order {
                    Some(value) if numeric[j] => format!(" data-v=\"{value}\""),
                    _ => String::new(),
                };
                let (open, close) = if j == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
                let _ = write!(out, "<{open}{}{order}>{}</{close}>", class(j), cell.html);
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        out
    }

    /// The table, folded away under a line when it is long.
    pub(crate) fn beside(&self, line: &str) -> String {
        if self.rows.len() > SHORT { self.folded(line) } else { format!("<div>{}</div>", self.html()) }
    }

    /// The table folded away under a line.
    pub(crate) fn folded(&self, line: &str) -> String {
        format!("<details><summary>{}</summary>{}</details>", escape(line), self.html())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(escape("<b>&\"'\u{1}"), "&lt;b&gt;&amp;&quot;&#39;\u{fffd}");
        assert_eq!(escape("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        let table = Table {
            caption: "c",
            header: &["name", "n"],
            rows: vec![vec![Cell::text("<script>"), Cell::number(2.0, "2")]],
        };
        let html = table.html();
        assert!(!html.contains("<script>") && html.contains("data-v=\"2\"") && html.contains("class=\"num\""));
    }
}
