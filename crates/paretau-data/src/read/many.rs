//! Several files as one table: read one after the other and put below each other. Files whose columns do not agree are
//! refused by file and column.

use std::collections::HashMap;

use paretau_core::Result;

use super::parts::{DataFiles, as_kind_of};
use super::{ReadOptions, Watch, limit, read_one};
use crate::interner::Interner;
use crate::table::{ColumnData, Doubt, FilePart, Kind, Source, Table, TableColumn, Text, file_error};

/// Reads all files into one table, in their order.
pub(super) fn read(files: &DataFiles, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    let mut own = files.options_of_a_file(options);
    let kinds = files.kinds(options)?;
    let mut stacked: Option<Stack> = None;
    for part in &files.parts {
        let taken = stacked.as_ref().map_or(0, Stack::bytes);
        own.max_memory = options.max_memory.saturating_sub(taken);
        let table = read_one(&part.path, &own, watch)?;
        if table.sparse().is_some() {
            let message = "holds a sparse matrix, which is read from one file only; put the rows into one file";
            return Err(file_error(&part.path, None, None, message));
        }
        let table = files.with_columns(part, &kinds, table)?;
        match &mut stacked {
            None => stacked = Some(Stack::new(table).with_room(files.parts.len(), options.max_memory)),
            Some(stack) => stack.add(table)?,
        }
    }
    let Some(stack) = stacked else { return Err(file_error(&files.path, None, None, "names no files")) };
    stack.finish(files)
}

/// Columns of the files so far.
struct Stack {
    /// The first file, with the rows of the later ones below its own.
    columns: Vec<TableColumn>,
    interners: HashMap<usize, Interner>,
    first: Table,
    parts: Vec<FilePart>,
    n_rows: usize,
}

impl Stack {
    fn new(table: Table) -> Self {
        let n_rows = table.n_rows();
        let parts = vec![FilePart::of(&table.source, 0)];
        // Notes and what else the table says are kept; its cells are in the columns.
        let mut first = table.select(&[]);
        first.doubts.clone_from(&table.doubts);
        Self { columns: table.into_parts().0, interners: HashMap::new(), first, parts, n_rows }
    }

    /// With room for so many files of about this length, if the memory may be taken: columns that double their room as
    /// they grow would take up to twice what they hold.
    fn with_room(mut self, n_files: usize, max_memory: u64) -> Self {
        let more = self.n_rows.saturating_mul(n_files.saturating_sub(1));
        if limit::table_bytes(self.n_rows.saturating_add(more), self.columns.len()) <= max_memory {
            for column in &mut self.columns {
                match &mut column.data {
                    ColumnData::Number(values) => values.to_mut().reserve_exact(more),
                    ColumnData::Text(text) => text.codes.reserve_exact(more),
                }
            }
        }
        self
    }

    fn bytes(&self) -> u64 {
        limit::table_bytes(self.n_rows, self.columns.len())
    }

    fn add(&mut self, table: Table) -> Result<()> {
        let start = self.n_rows;
        let part = FilePart::of(&table.source, start);
        self.check_names(&table)?;
        self.merge_facts(&table, start)?;
        for (j, column) in self.columns.iter_mut().enumerate() {
            let Some(more) = table.column(&column.name) else { continue };
            append(column, more, &mut self.interners, j).map_err(|kinds| {
                let message = format!(
                    "holds {}, but {} in {}; fix the file, or name the column with --categorical or --numeric",
                    kinds.0,
                    kinds.1,
                    self.parts.first().map_or_else(String::new, |first| first.path.display().to_string())
                );
                file_error(&part.path, Some(&column.name), None, message)
            })?;
        }
        self.n_rows += table.n_rows();
        self.parts.push(part);
        Ok(())
    }

    /// The names must be those of the first file, in any order.
    fn check_names(&self, table: &Table) -> Result<()> {
        let first = self.parts.first().map_or_else(String::new, |part| part.path.display().to_string());
        let refuse = |name: &str, message: String| Err(table.error(Some(name), None, message));
        if let Some(missing) = self.columns.iter().find(|column| table.column(&column.name).is_none()) {
            let message = match table.unread.get(&missing.name) {
                Some(reason) => reason.clone(),
                None => format!("is in {first}, but not in this file; give all files the same columns"),
            };
            return refuse(&missing.name, message);
        }
        let known: std::collections::HashSet<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        if let Some(extra) = table.columns().iter().find(|column| !known.contains(column.name.as_str())) {
            let message = format!("is in this file, but not in {first}; give all files the same columns");
            return refuse(&extra.name, message);
        }
        Ok(())
    }

    /// What was found about the columns of a further file: one notation for all files, doubts and notes of each.
    fn merge_facts(&mut self, table: &Table, start: usize) -> Result<()> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
        for name in names {
            let (before, now) = (self.first.reading.notations.get(&name), table.reading.notations.get(&name));
            if before != now {
                let first = self.parts.first().map_or_else(String::new, |part| part.path.display().to_string());
                let message = format!(
                    "its cells are written otherwise than in {first}; say how with --decimal, --thousands or \
                     --date-order, or write all files alike"
                );
                return Err(table.error(Some(&name), None, message));
            }
        }
        for (name, Doubt { row, message }) in &table.doubts {
            let doubt = Doubt { row: row.map(|row| row + start), message: message.clone() };
            self.first.doubts.entry(name.clone()).or_insert(doubt);
        }
        for note in &table.notes {
            if !self.first.notes.contains(note) {
                self.first.notes.push(note.clone());
            }
        }
        for name in &table.repeated {
            if !self.first.repeated.contains(name) {
                self.first.repeated.push(name.clone());
            }
        }
        Ok(())
    }

    fn finish(self, files: &DataFiles) -> Result<Table> {
        let Self { mut columns, mut interners, first, parts, .. } = self;
        for (j, interner) in interners.drain() {
            if let ColumnData::Text(text) = &mut columns[j].data {
                text.levels = interner.into_levels();
            }
        }
        let mut table = Table::new(columns)?;
        let n_files = parts.len();
        table.source = Source { path: Some(files.path.clone()), parts, ..Source::default() };
        table.notes = first.notes;
        let files_read = if n_files == 1 { "1 file".to_owned() } else { format!("{n_files} files") };
        table.notes.insert(0, format!("{files_read} of {} were read as one table", files.path.display()));
        table.unread = first.unread;
        table.repeated = first.repeated;
        table.reading = first.reading;
        table.doubts = first.doubts;
        table.id = first.id;
        Ok(table)
    }
}

/// Puts cells below those of a column; the kinds in words where they differ, those of the new cells first.
fn append(
    column: &mut TableColumn,
    more: &TableColumn,
    interners: &mut HashMap<usize, Interner>,
    j: usize,
) -> Result<(), (&'static str, &'static str)> {
    let converted = if column.kind() == more.kind() {
        None
    } else if let Some(more) = as_kind_of(more, column) {
        Some(more)
    } else if let Some(before) = as_kind_of(column, more) {
        *column = before;
        None
    } else {
        return Err((in_words(more.kind()), in_words(column.kind())));
    };
    let more = converted.as_ref().unwrap_or(more);
    match (&mut column.data, &more.data) {
        (ColumnData::Number(values), ColumnData::Number(new)) => values.to_mut().extend(new),
        (ColumnData::Text(text), ColumnData::Text(new)) => {
            let interner = interners.entry(j).or_insert_with(|| {
                let mut interner = Interner::default();
                text.levels.iter().for_each(|level| {
                    interner.code(level);
                });
                interner
            });
            let code_of: Vec<u32> = new.levels.iter().map(|level| interner.code(level)).collect();
            text.codes.extend(new.codes.iter().map(|&c| code_of.get(c as usize).copied().unwrap_or(Text::MISSING)));
        }
        _ => return Err((in_words(more.kind()), in_words(column.kind()))),
    }
    Ok(())
}

fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "numbers",
        Kind::Date => "dates",
        Kind::Text => "text",
    }
}
