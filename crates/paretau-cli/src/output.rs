//! Results on stdout: a JSON document, or lines and tables for people.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Result;
use paretau::data::{ColumnData, Table};
pub(crate) use paretau::four_digits as number;
use paretau::printable;
use serde_json::Value;

use crate::terminal::{self, Stream};

/// Prints one JSON document.
pub(crate) fn json(value: &Value) -> Result<()> {
    print(&printable_json(&serde_json::to_string_pretty(value)?))
}

/// A path in a JSON document. Names of files need not be text; what stands for their other bytes is a mark.
pub(crate) fn path(path: &Path) -> Value {
    Value::from(path.to_string_lossy())
}

/// JSON in which what would steer a terminal is escaped.
pub(crate) fn printable_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let mut letter = [0; 4];
        let plain: &str = c.encode_utf8(&mut letter);
        if c == '\n' || printable(plain) == plain {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}"));
        }
    }
    out
}

/// Prints lines for people, in the width and the colours of the terminal. Names and cells of files may be in them, so that
/// whatever steers a terminal is spelled out.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut spelled = text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
    if let Some(hint) = crate::glossary::hint(&spelled) {
        spelled = format!("{}\n{hint}", spelled.trim_end());
    }
    let fitted = terminal::width().map_or_else(|| spelled.clone(), |width| terminal::fitted(&spelled, width));
    print(&if terminal::has_colours(Stream::Out) { terminal::coloured(&fitted) } else { fitted })
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()?;
    Ok(())
}

/// Numbers the rows of a document as messages do, from 1: programs and people mean the same row.
pub(crate) fn rows_from_one(document: &mut Value) {
    match document {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::Array(rows) if key == "rows_at_risk" => {
                        rows.iter_mut().for_each(|row| *row = Value::from(row.as_u64().map_or(0, |row| row + 1)));
                    }
                    other => rows_from_one(other),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(rows_from_one),
        _ => {}
    }
}

/// A JSON document on stdout that holds the rows of a table, written batch by batch.
pub(crate) struct JsonRows {
    out: BufWriter<std::io::Stdout>,
    empty: bool,
}

impl JsonRows {
    /// Starts the document; the rows are the objects of the array `key`.
    pub(crate) fn start(key: &str) -> Result<Self> {
        let mut out = BufWriter::new(std::io::stdout());
        write!(out, "{{{}:[", Value::from(key))?;
        Ok(Self { out, empty: true })
    }

    /// Adds rows. Missing cells are null.
    pub(crate) fn batch(&mut self, rows: &Table) -> Result<()> {
        for i in 0..rows.n_rows() {
            let cells = rows.columns().iter().map(|column| {
                let value = match &column.data {
                    ColumnData::Number(values) if !column.is_date => Value::from(values[i]),
                    _ => Value::from(column.cell(i)),
                };
                (column.name.clone(), value)
            });
            let row = Value::Object(cells.collect());
            write!(self.out, "{}{row}", if self.empty { "\n" } else { ",\n" })?;
            self.empty = false;
        }
        Ok(())
    }

    /// Ends the array and adds further fields.
    pub(crate) fn finish(mut self, more: &[(&str, Value)]) -> Result<()> {
        write!(self.out, "\n]")?;
        for (key, value) in more {
            write!(self.out, ",{}:{value}", Value::from(*key))?;
        }
        writeln!(self.out, "}}")?;
        self.out.flush()?;
        Ok(())
    }
}

/// A table with aligned columns, numbers to the right, that fits the terminal where there is one.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    table_within(header, rows, terminal::width())
}

/// Letters of a cell that are shown: the longest one sets the width of its column.
const MOST_LETTERS: usize = 1000;
/// Text columns are never made narrower than this.
const LEAST_COLUMN: usize = 10;

/// The beginning of a cell that is too long to be shown.
fn clipped(cell: &str) -> String {
    match cell.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

/// The table in so many columns of letters: cells of text are wrapped between words, the first column stays whole.
fn table_within(header: &[&str], rows: &[Vec<String>], most: Option<usize>) -> String {
    // Before the widths are taken.
    let spelled = |row: &Vec<String>| row.iter().map(|cell| clipped(&printable(cell))).collect::<Vec<_>>();
    let rows = &rows.iter().map(spelled).collect::<Vec<_>>();
    let n = header.len();
    let letters = |text: &str| text.chars().count();
    let longest_word = |text: &str| text.split(' ').map(letters).max().unwrap_or(0);
    let cells = |j: usize| rows.iter().map(move |row| row[j].as_str()).chain([header[j]]);
    let mut widths: Vec<usize> = (0..n).map(|j| cells(j).map(letters).max().unwrap_or(0)).collect();
    let numeric: Vec<bool> = (0..n)
        .map(|j| {
            rows.iter().all(|r| r[j].is_empty() || r[j].starts_with(|c: char| c.is_ascii_digit() || "+-−".contains(c)))
        })
        .collect();
    // The header may be wrapped too, so that a column of short numbers under long words can shrink.
    let least = |j: usize| match j {
        0 => cells(0).map(letters).max().unwrap_or(0),
        _ if numeric[j] => cells(j).map(longest_word).max().unwrap_or(0),
        _ => cells(j).map(longest_word).max().unwrap_or(0).max(LEAST_COLUMN),
    };
    if let Some(most) = most {
        let gaps = 2 * n.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > most {
            // The widest column that can give way does, letter by letter.
            let gives = (1..n).filter(|&j| widths[j] > least(j)).max_by_key(|&j| widths[j]);
            match gives {
                Some(j) => widths[j] -= 1,
                None => break,
            }
        }
    }
    let line = |cells: &[String]| -> String {
        let parts: Vec<Vec<String>> =
            cells.iter().zip(&widths).map(|(cell, &width)| terminal::wrapped(cell, width.max(1))).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(1);
        let row = |k: usize| {
            let padded = parts.iter().enumerate().map(|(j, part)| {
                let text = part.get(k).map_or("", String::as_str);
                let gap = " ".repeat(widths[j].saturating_sub(letters(text)));
                if numeric[j] { format!("{gap}{text}") } else { format!("{text}{gap}") }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    };
    let head = line(&header.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>());
    let rule = widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>().join("  ");
    [head, rule].into_iter().chain(rows.iter().map(|r| line(r))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let shown = table(&["name", "n"], &[vec!["a".into(), "1".into()], vec!["long".into(), "20".into()]]);
        assert_eq!(shown, "name   n\n----  --\na      1\nlong  20");
        let shown = table(&["name"], &[vec!["\u{1b}[31m\u{202e}".into()]]);
        assert_eq!(shown, "name\n------------------\n\\u{1b}[31m\\u{202e}");
    }

    #[test]
    fn tables_fit_and_names_stay_whole() {
        let row = |name: &str, words: &str| vec![name.to_owned(), "12.5".to_owned(), words.to_owned()];
        let rows =
            [row("a_name_that_is_quite_long", "words that go on and on until the line is far too long"), row("b", "")];
        let shown = table_within(&["name", "effective sample size", "what it means"], &rows, Some(60));
        assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
        assert!(shown.contains("a_name_that_is_quite_long") && shown.contains("12.5"), "{shown}");
        assert!(shown.lines().count() > 5, "{shown}");
        let whole = table_within(&["name", "n", "w"], &rows, None);
        assert_eq!(whole.lines().count(), 4);
    }

    #[test]
    fn rows_are_numbered_from_one() {
        let mut document = serde_json::json!({ "overlap": { "rows_at_risk": [0, 7] }, "other": [0] });
        rows_from_one(&mut document);
        assert_eq!(document, serde_json::json!({ "overlap": { "rows_at_risk": [1, 8] }, "other": [0] }));
    }
}
