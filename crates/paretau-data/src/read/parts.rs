//! Data that lie in several files: a folder of them, a glob such as `part-*.parquet`, and folders named `column=value`,
//! whose names are cells of a column. One list of files, sorted by their paths, so that the rows have one order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use paretau_core::{Error, Result};

use super::ReadOptions;
use super::builder::{Builder, Finished};
use super::source::Format;
use crate::table::{Kind, Table, TableColumn, Text, file_error};

/// What writers of partitioned data put where a cell is missing.
const HIVE_MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// Folders within each other that are searched; more are a loop of links.
const MOST_LEVELS: usize = 32;

/// One of several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// Its path within the folder that was named, or that the glob starts in.
    pub relative: PathBuf,
    /// Cells that the names of its folders hold, in the order of [`DataFiles::columns`]; `None` where missing.
    pub(crate) cells: Vec<Option<String>>,
}

/// The files that a path names when it is no file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFiles {
    /// The path as it was given.
    pub path: PathBuf,
    /// The files, sorted by path.
    pub parts: Vec<Part>,
    /// Names of the columns whose cells are in the folders' names.
    pub(crate) columns: Vec<String>,
}

impl DataFiles {
    /// The files of a folder or a glob; `None` when the path is that of a file, of standard input, or of nothing.
    pub fn find(path: &Path) -> Result<Option<Self>> {
        if path.as_os_str() == "-" || path.is_file() {
            return Ok(None);
        }
        let text = path.to_string_lossy();
        let (root, mut found) = if path.is_dir() {
            let mut found = vec![];
            walk(path, Path::new(""), 0, &mut found)?;
            (path.to_owned(), found)
        } else if text.contains(['*', '?', '[']) {
            glob(path)?
        } else {
            return Ok(None);
        };
        found.sort();
        if found.is_empty() {
            let what = if path.is_dir() {
                "is a folder without data files; name a file, or a folder that holds .parquet, .csv or .arrow files"
            } else {
                "matches no data file; check the folder and the pattern"
            };
            return Err(file_error(path, None, None, what));
        }
        same_format(&root, &found)?;
        let mut files = Self { path: path.to_owned(), parts: vec![], columns: vec![] };
        for relative in found {
            files.add(&root, relative)?;
        }
        Ok(Some(files))
    }

    /// Whether a file would be among those of this folder or glob if it were there, so that it would be read as data the next
    /// time. Both are compared with the links in their folders resolved.
    pub fn would_hold(path: &Path, file: &Path) -> bool {
        let Some(relative) = within(path, file) else { return false };
        let names: Vec<String> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        let Some((name, folders)) = names.split_last() else { return false };
        if path.is_dir() {
            return is_data(name) && !folders.iter().any(|folder| is_hidden(folder));
        }
        let patterns = components(path);
        leads_to(&patterns[first_pattern(&patterns)..], &names)
    }

    /// A single file, under its own name.
    pub fn one(path: &Path) -> Self {
        let relative = path.file_name().map(PathBuf::from).unwrap_or_default();
        let part = Part { path: path.to_owned(), relative, cells: vec![] };
        Self { path: path.to_owned(), parts: vec![part], columns: vec![] }
    }

    /// One of the files alone, with the cells that its folders name.
    #[must_use]
    pub fn only(&self, part: &Part) -> Self {
        Self { path: part.path.clone(), parts: vec![part.clone()], columns: self.columns.clone() }
    }

    fn add(&mut self, root: &Path, relative: PathBuf) -> Result<()> {
        let path = root.join(&relative);
        let mut named: Vec<(String, Option<String>)> = vec![];
        for component in relative.parent().into_iter().flat_map(Path::components) {
            if let Component::Normal(name) = component
                && let Some((column, cell)) = name.to_string_lossy().split_once('=')
                && !column.is_empty()
            {
                let cell = decoded(cell);
                named.push((decoded(column), (cell != HIVE_MISSING && !cell.is_empty()).then_some(cell)));
            }
        }
        let columns: Vec<String> = named.iter().map(|(column, _)| column.clone()).collect();
        if columns.iter().collect::<BTreeSet<_>>().len() < columns.len() {
            let message = "two of its folders name the same column; rename one of them";
            return Err(file_error(&path, None, None, message));
        }
        match self.parts.first() {
            None => self.columns = columns,
            Some(first) if columns != self.columns => {
                let words = |columns: &[String]| match columns {
                    [] => "no column".to_owned(),
                    some => some.join(", "),
                };
                let message = format!(
                    "its folders name {}, those of {} name {}; lay all files out alike",
                    words(&columns),
                    first.path.display(),
                    words(&self.columns)
                );
                return Err(file_error(&path, None, None, message));
            }
            Some(_) => {}
        }
        self.parts.push(Part { path, relative, cells: named.into_iter().map(|(_, cell)| cell).collect() });
        Ok(())
    }

    /// The options for the files themselves: what concerns the columns of the folders' names is left out.
    pub(crate) fn options_of_a_file(&self, options: &ReadOptions) -> ReadOptions {
        let mut own = options.clone();
        let elsewhere = |name: &String| self.columns.contains(name);
        own.fields.retain(|field| !elsewhere(&field.name));
        own.optional.retain(|field| !elsewhere(&field.name));
        own.numeric.retain(|name| !elsewhere(name));
        own.categorical.retain(|name| !elsewhere(name));
        own
    }

    /// Kinds of the columns of the folders' names: as declared, else by the cells of all files. `None` for columns that
    /// are not read.
    pub(crate) fn kinds(&self, options: &ReadOptions) -> Result<Vec<Option<Kind>>> {
        let declared = options.declared();
        let kind = |(k, name): (usize, &String)| match declared.get(name.as_str()) {
            Some(&kind) => Ok(Some(kind)),
            None if options.only_fields => Ok(None),
            None => {
                let cells: Vec<Option<&str>> = self.parts.iter().map(|part| part.cells[k].as_deref()).collect();
                Ok(Some(if options.numeric.contains(name) { Kind::Number } else { kind_of(&cells) }))
            }
        };
        self.columns.iter().enumerate().map(kind).collect()
    }

    /// Adds the columns of a part's folders to rows of that part.
    pub(crate) fn with_columns(&self, part: &Part, kinds: &[Option<Kind>], mut table: Table) -> Result<Table> {
        for ((name, kind), cell) in self.columns.iter().zip(kinds).zip(&part.cells) {
            let Some(kind) = *kind else { continue };
            if table.column(name).is_some() || table.sparse_place(name).is_some() {
                let message = "is in the file and in the names of its folders; leave it out of one of them";
                return Err(file_error(&part.path, Some(name), None, message));
            }
            let mut builder = Builder::new(Some(kind));
            let bytes = cell.as_deref().unwrap_or_default().as_bytes();
            builder.push(bytes, 0).map_err(|bad| {
                file_error(&part.path, Some(name), None, format!("its folder {}", bad.message(bytes)))
            })?;
            let Finished::Column(one) = builder.finish(name) else {
                return Err(Error::internal("a column of folders", "it has no kind"));
            };
            let column = one.select(&vec![0; table.n_rows()]);
            table = table.with_column(column)?;
        }
        Ok(table)
    }
}

/// The kind of cells: numbers or dates if all are, else text.
fn kind_of(cells: &[Option<&str>]) -> Kind {
    let mut builder = Builder::new(None);
    for cell in cells {
        if builder.push(cell.unwrap_or_default().as_bytes(), 0).is_err() {
            return Kind::Text;
        }
    }
    // A leading zero is lost in a number: 007 stays text.
    let padded = |cell: &&str| cell.len() > 1 && cell.starts_with('0') && !cell.starts_with("0.");
    match builder.finish("") {
        Finished::Column(column) if !cells.iter().flatten().any(padded) => column.kind(),
        _ => Kind::Text,
    }
}

/// Files of one format only, or an error that names two.
fn same_format(root: &Path, found: &[PathBuf]) -> Result<()> {
    let format = |path: &PathBuf| Format::from_path(path).ok();
    let Some((first, of)) = found.iter().find_map(|path| Some((format(path)?, path))) else { return Ok(()) };
    match found.iter().find(|path| format(path) != Some(first)) {
        None => Ok(()),
        Some(other) => {
            let message = format!(
                "is of another format than {}; name files of one format, e.g. '{}'",
                of.display(),
                root.join(format!("*.{}", commonest_ending(found))).display()
            );
            Err(file_error(&root.join(other), None, None, message))
        }
    }
}

/// The ending that most of the files have, the first by its letters of several.
fn commonest_ending(found: &[PathBuf]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for ending in found.iter().filter_map(|path| path.extension()) {
        *counts.entry(ending.to_string_lossy().to_lowercase()).or_insert(0) += 1;
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or_else(|| "csv".to_owned(), |(ending, _)| ending)
}

/// Whether a file may hold data by its name. Names that begin with a dot or an underscore are notes of whoever wrote the
/// folder, such as `_SUCCESS`.
fn is_data(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let spelled = ["json", "ndjson", "jsonl", "xlsx", "xlsm", "xlsb", "xls", "ods"].contains(&ending.as_str());
    !is_hidden(name) && (spelled || Format::from_path(Path::new(name)).is_ok())
}

/// Notes and locks of programs: `.DS_Store`, `_SUCCESS`, and `~$book.xlsx` beside a workbook that is open.
fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_']) || name.starts_with("~$")
}

/// A name in a folder.
struct Entry {
    name: String,
    is_dir: bool,
    /// Whether the name is text; what stands for it here has marks in place of the other bytes.
    is_text: bool,
}

impl Entry {
    /// A file that is left out in silence would make a wrong number.
    fn check_name(&self, folder: &Path) -> Result<()> {
        if self.is_text {
            return Ok(());
        }
        let message = "its name has bytes that are no text (UTF-8); rename it, so that it can be read with the others";
        Err(file_error(&folder.join(&self.name), None, None, message))
    }
}

/// Names in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    let mut names = vec![];
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let (name, is_text) = (name.to_string_lossy().into_owned(), name.to_str().is_some());
        // Links count as what they point to.
        let is_dir = std::fs::metadata(entry.path()).is_ok_and(|m| m.is_dir());
        names.push(Entry { name, is_dir, is_text });
    }
    names.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// The data files below a folder, as paths within `root`.
fn walk(root: &Path, within: &Path, level: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(within);
    if level > MOST_LEVELS {
        return Err(file_error(&folder, None, None, "lies too deep; does a link lead back to a folder above?"));
    }
    for entry in entries(&folder)? {
        let relative = within.join(&entry.name);
        if entry.is_dir && !is_hidden(&entry.name) {
            entry.check_name(&folder)?;
            walk(root, &relative, level + 1, found)?;
        } else if !entry.is_dir && is_data(&entry.name) {
            entry.check_name(&folder)?;
            found.push(relative);
        }
    }
    Ok(())
}

/// The components of a path as text.
fn components(path: &Path) -> Vec<String> {
    path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect()
}

/// The place of the first component that is a pattern.
fn first_pattern(parts: &[String]) -> usize {
    parts.iter().position(|part| part.contains(['*', '?', '['])).unwrap_or(parts.len())
}

/// The path of a file within a folder, or within the folder that a glob starts in.
fn within(path: &Path, file: &Path) -> Option<PathBuf> {
    let root: PathBuf = if path.is_dir() {
        path.to_owned()
    } else {
        let parts = components(path);
        let first = first_pattern(&parts);
        if first == parts.len() || path.is_file() {
            return None;
        }
        parts[..first].iter().collect()
    };
    let (root, folder) = (resolved(&root)?, resolved(file.parent()?)?);
    Some(folder.strip_prefix(root).ok()?.join(file.file_name()?))
}

/// A folder with its links resolved as far as it is there.
fn resolved(folder: &Path) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(folder).ok().or_else(|| Some(resolved(folder.parent()?)?.join(folder.file_name()?)))
}

/// Whether these names, folder by folder, match the patterns.
fn leads_to(patterns: &[String], names: &[String]) -> bool {
    let Some((pattern, rest)) = patterns.split_first() else { return false };
    let Some((name, deeper)) = names.split_first() else { return false };
    if pattern == "**" {
        return leads_to(rest, names) || (!deeper.is_empty() && !is_hidden(name) && leads_to(patterns, deeper));
    }
    if !matches(pattern, name) || (is_hidden(name) && !is_hidden(pattern)) {
        return false;
    }
    match (rest, deeper) {
        ([], []) => true,
        // A folder that matches is read with all that is in it.
        ([], [folders @ .., file]) => is_data(file) && !folders.iter().any(|folder| is_hidden(folder)),
        _ => leads_to(rest, deeper),
    }
}

/// The folder that a glob starts in, and the files within it that match.
fn glob(pattern: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    let parts = components(pattern);
    let first = first_pattern(&parts);
    let root: PathBuf = parts[..first].iter().collect();
    let mut found = vec![];
    let folder = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.clone() };
    if folder.is_dir() {
        matching(&folder, Path::new(""), &parts[first..], 0, &mut found)?;
    }
    Ok((root, found))
}

fn matching(root: &Path, within: &Path, patterns: &[String], level: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let Some((pattern, rest)) = patterns.split_first() else { return Ok(()) };
    let folder = root.join(within);
    if level > MOST_LEVELS {
        return Err(file_error(&folder, None, None, "lies too deep; does a link lead back to a folder above?"));
    }
    if pattern == "**" {
        matching(root, within, rest, level, found)?;
    }
    for entry in entries(&folder)? {
        let Entry { name, is_dir, .. } = &entry;
        let (relative, is_dir) = (within.join(name), *is_dir);
        if pattern == "**" {
            if is_dir && !is_hidden(name) {
                matching(root, &relative, patterns, level + 1, found)?;
            }
        } else if matches(pattern, name) && (!is_hidden(name) || is_hidden(pattern)) {
            entry.check_name(&folder)?;
            match rest {
                [] if is_dir => walk(root, &relative, level + 1, found)?,
                [] => found.push(relative),
                _ if is_dir => matching(root, &relative, rest, level + 1, found)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether a name matches a pattern with `*` (any letters), `?` (one letter) and `[abc]`, `[a-z]`, `[!abc]`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where to go on when a later star has to take one letter more.
    let (mut p, mut n, mut retry) = (0, 0, None);
    while n < name.len() {
        match step(&pattern, p, name[n]) {
            Step::Star => {
                retry = Some((p, n));
                p += 1;
            }
            Step::Takes(next) => {
                p = next;
                n += 1;
            }
            Step::Refuses => match retry {
                Some((star, at)) => {
                    retry = Some((star, at + 1));
                    p = star + 1;
                    n = at + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

enum Step {
    Star,
    /// The letter fits; the pattern goes on there.
    Takes(usize),
    Refuses,
}

fn step(pattern: &[char], p: usize, letter: char) -> Step {
    match pattern.get(p) {
        Some('*') => Step::Star,
        Some('?') => Step::Takes(p + 1),
        Some('[') => match pattern[p + 1..].iter().skip(1).position(|&c| c == ']').map(|k| p + 2 + k) {
            // A bracket that is never closed stands for itself.
            None if letter == '[' => Step::Takes(p + 1),
            None => Step::Refuses,
            Some(end) => {
                let negated = pattern[p + 1] == '!';
                let set = &pattern[p + 1 + usize::from(negated)..end];
                let ranged = set.windows(3).any(|w| w[1] == '-' && (w[0]..=w[2]).contains(&letter));
                if (set.contains(&letter) || ranged) == negated { Step::Refuses } else { Step::Takes(end + 1) }
            }
        },
        Some(&c) if c == letter => Step::Takes(p + 1),
        _ => Step::Refuses,
    }
}

/// A folder's name with `%20` and the like spelled out.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// A column that is missing in every row takes the kind that another file's has.
pub(crate) fn as_kind_of(column: &TableColumn, other: &TableColumn) -> Option<TableColumn> {
    let empty = (0..column.len()).all(|i| column.is_missing(i));
    match other.kind() {
        _ if !empty => None,
        Kind::Text => {
            Some(TableColumn::text(&column.name, Text { levels: vec![], codes: vec![Text::MISSING; column.len()] }))
        }
        Kind::Number => Some(TableColumn::number(&column.name, vec![f64::NAN; column.len()])),
        Kind::Date => Some(TableColumn::date(&column.name, vec![f64::NAN; column.len()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name) in [
            ("part-*.parquet", "part-0.parquet"),
            ("*", "a"),
            ("a?c", "abc"),
            ("*.csv*", "x.csv.gz"),
            ("p[0-9]*", "p7x"),
            ("p[!0-9]", "pa"),
            ("a*b*c", "a1b2b3c"),
            ("[x", "[x"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("part-*.parquet", "part-0.csv"), ("a?c", "ac"), ("p[!0-9]", "p1"), ("a*b", "abc")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn names_of_folders_are_decoded_and_get_a_kind() {
        assert_eq!(decoded("New%20York"), "New York");
        assert_eq!(decoded("50%"), "50%");
        assert_eq!(kind_of(&[Some("1"), Some("2.5"), None]), Kind::Number);
        assert_eq!(kind_of(&[Some("2024-01-31"), Some("2024-02-01")]), Kind::Date);
        assert_eq!(kind_of(&[Some("007"), Some("1")]), Kind::Text);
        assert_eq!(kind_of(&[Some("1"), Some("north")]), Kind::Text);
    }
}
