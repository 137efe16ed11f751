//! `paretau check`: how a data file is understood, column by column, before anything is done with it.

use anyhow::Result;
use paretau::data::{ColumnProfile, profile};
use serde_json::json;

use crate::args::{CheckArgs, Common};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &CheckArgs, common: &Common) -> Result<()> {
    let progress = Progress::new(common.quiet);
    let table = data::table(&args.data, None, &progress)?;
    let columns = profile(&table, &data::named_roles(&args.data.roles))?;
    drop(progress);
    if common.json {
        return output::json(&json!({ "rows": table.n_rows(), "notes": table.notes, "columns": columns }));
    }
    let rows: Vec<Vec<String>> = columns.iter().map(row).collect();
    let count = |n: usize, of: &str| if n == 1 { format!("1 {of}") } else { format!("{n} {of}s") };
    let mut lines = vec![format!("{}, {}", count(table.n_rows(), "row"), count(columns.len(), "column"))];
    lines.extend(table.notes.iter().cloned());
    lines.push(output::table(&["column", "kind", "range", "missing", "distinct", "role"], &rows));
    let odd = columns.iter().flat_map(|c| c.oddities.iter().map(move |what| format!("`{}`: {what}", c.name)));
    let odd: Vec<String> = odd.collect();
    if !odd.is_empty() {
        lines.push(String::new());
        lines.extend(odd);
    }
    output::text(&lines.join("\n"))
}

fn row(column: &ColumnProfile) -> Vec<String> {
    vec![
        column.name.clone(),
        column.kind.to_owned(),
        column.range.clone(),
        column.missing.to_string(),
        column.distinct.to_string(),
        column.role.clone(),
    ]
}
