//! What the columns of a file are, by its first rows: for readers that cannot hold the file and so cannot look at all cells.

use std::path::Path;

use paretau_core::Result;

use super::csv::{self, delimiter};
use super::parts::DataFiles;
use super::pieces::Cutter;
use super::source::{Format, Input};
use super::top::Title;
use super::{BatchReader, ReadOptions, spelled, understand};
use crate::table::{Field, Table, file_error};

/// Bytes of delimited text that are looked at.
const HEAD: usize = 8 << 20;
/// Rows of a typed file that are looked at.
const ROWS: usize = 1 << 12;

/// Endings of files that are read as a whole before they are text.
const SPELLED: [&str; 9] = ["json", "ndjson", "jsonl", "xlsx", "xlsm", "xlsb", "xls", "ods", "dta"];

/// Options that read the file batch by batch with the kinds and the notations that its first rows show, and a table without
/// rows that has what was found about them. A later cell that does not fit is then an error, never read in another way.
///
/// Of delimited text, the first 8 MB are looked at; Parquet and Arrow files name their columns' types.
pub(crate) fn by_first_rows(path: &Path, options: &ReadOptions) -> Result<(ReadOptions, Table)> {
    let files = DataFiles::find(path)?;
    let first = match &files {
        Some(files) => match files.parts.first() {
            Some(part) => part.path.as_path(),
            None => return Err(file_error(path, None, None, "names no files")),
        },
        None => path,
    };
    let own = files.as_ref().map_or_else(|| options.clone(), |files| files.options_of_a_file(options));
    let head = of_file(first, &own)?;
    let mut fields = head.fields();
    if let Some(files) = &files {
        let kinds = files.kinds(options)?;
        let named = files.columns.iter().zip(kinds);
        fields.extend(named.filter_map(|(name, kind)| Some(Field::new(name.clone(), kind?))));
    }
    let read = ReadOptions { fields, optional: vec![], ..options.clone() }.like(&head.reading);
    let mut facts = head.select(&[]);
    facts.source = crate::table::Source { path: Some(path.to_owned()), ..crate::table::Source::default() };
    if let Some(files) = &files {
        let n = files.parts.len();
        let words = if n == 1 { "1 file".to_owned() } else { format!("{n} files") };
        facts.notes.insert(0, format!("{words} of {} were read as one table", files.path.display()));
    }
    Ok((read, facts))
}

fn of_file(path: &Path, options: &ReadOptions) -> Result<Table> {
    let streamed = "only Parquet, Arrow and delimited text are read in blocks of rows; write the data as one of these \
                    (every data frame can), or fit without --block-rows";
    if path.as_os_str() == "-" {
        let message = "is read twice when it is read in blocks of rows, which standard input cannot be; name a file";
        return Err(file_error(path, None, None, message));
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if options.format.is_none() {
        if SPELLED.contains(&ending.as_str()) {
            return Err(file_error(path, None, None, streamed));
        }
        // It has the words for files of other programs.
        spelled::spelled(path, options)?;
    }
    let format = options.format.map_or_else(|| Format::from_path(path), Ok)?;
    match format {
        Format::Csv | Format::Tsv => csv::read(&first_piece(path, format, options)?, format, options, &mut |_| Ok(())),
        Format::Parquet | Format::Arrow => {
            let Some(table) = BatchReader::open(path, options, ROWS)?.next() else {
                return Err(file_error(path, None, None, "has no rows of data"));
            };
            let mut table = table?;
            let names: Vec<String> = table.columns().iter().map(|c| c.name.clone()).collect();
            understand::check_named(path, &names, options)?;
            let found = understand::understand(table.columns_mut(), None, options);
            super::describe(&mut table, found, options);
            Ok(table)
        }
        Format::Npz | Format::Svm | Format::News => Err(file_error(path, None, None, streamed)),
    }
}

/// The first records of a text, decompressed, as a text of its own.
fn first_piece(path: &Path, format: Format, options: &ReadOptions) -> Result<Input> {
    let input = Input::stream(path);
    let mut start = vec![0_u8; 1 << 16];
    let filled = std::io::Read::read(&mut input.open_text()?.text, &mut start).unwrap_or(0);
    start.truncate(filled);
    let above = Title::above(&start, |head| delimiter(head, format, options).0).map_or(0, |title| title.length);
    let (delimiter, _) = delimiter(&start[above..], format, options);
    let mut cutter = Cutter::new(input.open_text()?.text, delimiter, HEAD);
    match cutter.next_piece() {
        Ok(piece) => Ok(Input::Memory(path.to_owned(), piece.unwrap_or_default().into())),
        // The reader of the whole text has the words for what is wrong with it.
        Err(_) => Input::whole(path, options.max_memory),
    }
}
