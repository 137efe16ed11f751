//! Results on stdout: a JSON document, or lines and tables for people.

use std::io::{BufWriter, Write as _};

use anyhow::Result;
use paretau::data::{ColumnData, Table};
pub(crate) use paretau::four_digits as number;
use paretau::printable;
use serde_json::Value;

/// Prints one JSON document.
pub(crate) fn json(value: &Value) -> Result<()> {
    text(&serde_json::to_string_pretty(value)?)
}

/// Prints lines. Names and cells of files may be in them, so that whatever steers a terminal is spelled out.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in text.trim_end().split('\n') {
        writeln!(out, "{}", printable(line))?;
    }
    out.flush()?;
    Ok(())
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

/// A table with aligned columns; numbers to the right.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    // Before the widths are taken.
    let spelled = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect::<Vec<_>>();
    let rows = &rows.iter().map(spelled).collect::<Vec<_>>();
    let width =
        |j: usize| rows.iter().map(|r| r[j].chars().count()).chain([header[j].chars().count()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let numeric: Vec<bool> = (0..header.len())
        .map(|j| {
            rows.iter().all(|r| r[j].is_empty() || r[j].starts_with(|c: char| c.is_ascii_digit() || "+-−".contains(c)))
        })
        .collect();
    let line = |cells: &[String]| -> String {
        let padded: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(j, cell)| {
                let gap = " ".repeat(widths[j].saturating_sub(cell.chars().count()));
                if numeric[j] { format!("{gap}{cell}") } else { format!("{cell}{gap}") }
            })
            .collect();
        padded.join("  ").trim_end().to_owned()
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
        assert_eq!(shown, "name\n----------------\n\\u{1b}[31m\\u{202e}");
    }
}
