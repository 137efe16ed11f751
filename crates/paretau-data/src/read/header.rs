//! Column names: cleaned, made unique, and held against the columns that were asked for.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use paretau_core::{Result, nearest};

use super::ReadOptions;
use super::cell::trim;
use crate::table::{Field, file_error};

/// Unique column names, and what was done to make them so.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) names: Vec<String>,
    /// Names that stood more than once.
    pub(crate) repeated: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Header {
    /// Names from the cells of a header line.
    pub(crate) fn from_cells<'a>(path: &Path, cells: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        let names = cells
            .map(|cell| {
                if cell.contains(&0) {
                    let message =
                        "the header holds NUL bytes, as UTF-16 text without a mark does; save the file again as UTF-8";
                    return Err(file_error(path, None, None, message));
                }
                std::str::from_utf8(trim(cell)).map(str::to_owned).map_err(|_| {
                    file_error(path, None, None, "the header is not UTF-8 text; save the file again as UTF-8")
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self::from_names(names))
    }

    /// Names made unique: nameless columns are numbered, later copies of a name get `.2`, `.3` and so on.
    pub(crate) fn from_names(mut names: Vec<String>) -> Self {
        let mut notes = vec![];
        for (j, name) in names.iter_mut().enumerate() {
            if name.is_empty() {
                *name = format!("column{}", j + 1);
                notes.push(format!("column {} has no name and is called `{name}`", j + 1));
            }
        }
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        for name in &names {
            *seen.entry(name.clone()).or_insert(0) += 1;
        }
        let taken = seen.clone();
        seen.clear();
        for name in &mut names {
            let copies = seen.entry(name.clone()).or_insert(0);
            *copies += 1;
            if *copies > 1 {
                repeated.insert(name.clone(), *copies);
                while taken.contains_key(&format!("{name}.{copies}")) {
                    *copies += 1;
                }
                *name = format!("{name}.{copies}");
            }
        }
        if let Some((name, copies)) = repeated.first_key_value() {
            let more =
                if repeated.len() > 1 { format!(" (and {} other names)", repeated.len() - 1) } else { String::new() };
            notes
                .push(format!("`{name}` names {copies} columns{more}; the later ones are called `{name}.2` and so on"));
        }
        Self { names, repeated: repeated.into_keys().collect(), notes }
    }

    /// `column1, column2, …` for a file without a header.
    pub(crate) fn numbered(n: usize) -> Self {
        Self { names: (1..=n).map(|j| format!("column{j}")).collect(), ..Self::default() }
    }
}

/// Every column asked for with `only_fields` must be among the file's columns `all`.
pub(crate) fn check_fields(
    path: &Path,
    options: &ReadOptions,
    all: &[String],
    unread: &BTreeMap<String, String>,
) -> Result<()> {
    if !options.only_fields {
        return Ok(());
    }
    let known: HashSet<&String> = all.iter().collect();
    for Field { name, .. } in &options.fields {
        if let Some(reason) = unread.get(name) {
            return Err(file_error(path, Some(name), None, reason.clone()));
        }
        if !known.contains(name) {
            // A column that is needed under its own name was not renamed.
            let free = all.iter().filter(|other| !options.fields.iter().any(|f| f.name == **other));
            let near = nearest(name, free.map(String::as_str));
            let hint = near.map_or_else(
                || "add it".to_owned(),
                |near| format!("the nearest name is `{near}`, rename it if that is meant"),
            );
            return Err(file_error(path, Some(name), None, format!("is needed, but is not in the file; {hint}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_unique() {
        let names = ["a", "", "b", "a", "a", "a.2"].map(String::from).to_vec();
        let header = Header::from_names(names);
        assert_eq!(header.names, ["a", "column2", "b", "a.3", "a.4", "a.2"]);
        assert_eq!(header.repeated, ["a"]);
        assert_eq!(header.notes.len(), 2);
    }
}
