//! The News format: word counts in `….csv.x[.gz]`, treatments and outcomes in `….csv.y`.
//!
//! First line of the `.x`: `documents,words,0`; then `document,word,count`, counted from 1. Lines of the `.y`,
//! without a header: `t, y, y counterfactual, mu0, mu1`. Either path names the pair. Several `.y` may share one
//! `.x` of the same folder, since only the simulated outcomes differ.

use std::path::{Path, PathBuf};

use paretau_core::{Csr, Result};

use super::limit::Budget;
use super::lines::Lines;
use super::source::Format;
use crate::table::{Source, SparseBlock, Table, TableColumn, file_error};

const Y_COLUMNS: [&str; 5] = ["t", "y", "ycf", "mu0", "mu1"];

/// Reads the pair that a path names.
pub(super) fn read(path: &Path, max_memory: u64) -> Result<Table> {
    let pair = Pair::of(path)?;
    let mut notes = pair.notes;
    let block = SparseBlock::numbered(read_words(&pair.x, max_memory)?);
    if pair.y.is_none() {
        notes.push("there is no matching .y file, so that only the features were read".into());
    }
    let columns = pair.y.as_deref().map(|y| read_outcomes(y, max_memory)).transpose()?.unwrap_or_default();
    if let (Some(y), Some(first)) = (&pair.y, columns.first())
        && first.len() != block.values.n_rows()
    {
        return Err(file_error(
            y,
            None,
            None,
            format!("has {} rows, but {} has {} documents", first.len(), pair.x.display(), block.values.n_rows()),
        ));
    }
    let first_line = pair.y.is_some().then_some(1);
    let mut table = Table::new(columns)?.with_sparse(block)?;
    table.source = Source { path: Some(pair.y.unwrap_or(pair.x)), first_line, ..Source::default() };
    table.notes = notes;
    Ok(table)
}

/// The files of the pair that a path names; none where it names no such pair.
pub fn news_files(path: &Path) -> Vec<PathBuf> {
    let is_news = Format::from_path(path).is_ok_and(|format| format == Format::News) && path.is_file();
    let pair = if is_news { Pair::of(path).ok() } else { None };
    pair.map_or_else(Vec::new, |pair| pair.y.into_iter().chain([pair.x]).collect())
}

/// The two files.
struct Pair {
    x: PathBuf,
    y: Option<PathBuf>,
    notes: Vec<String>,
}

impl Pair {
    fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        // Endings are compared as they are written, since the sibling must be found under the same spelling.
        let (is_x, stem) = match (plain.strip_suffix(".x"), plain.strip_suffix(".y")) {
            (Some(stem), _) => (true, stem),
            (None, Some(stem)) => (false, stem),
            (None, None) => (false, plain),
        };
        let sibling = |letter: &str| {
            [format!("{stem}.{letter}"), format!("{stem}.{letter}.gz")]
                .into_iter()
                .map(|file| path.with_file_name(file))
                .find(|file| file.exists())
        };
        if is_x {
            return Ok(Self { x: path.to_owned(), y: sibling("y"), notes: vec![] });
        }
        if let Some(x) = sibling("x") {
            return Ok(Self { x, y: Some(path.to_owned()), notes: vec![] });
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut shared: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| p.to_string_lossy().ends_with(".csv.x") || p.to_string_lossy().ends_with(".csv.x.gz"))
            .collect();
        match shared.pop() {
            Some(x) if shared.is_empty() => {
                let notes = vec![format!("features are those of {}, the only .x of the folder", x.display())];
                Ok(Self { x, y: Some(path.to_owned()), notes })
            }
            Some(_) => Err(file_error(
                path,
                None,
                None,
                format!("there are {} .x files in the folder and none is named {stem}.x", shared.len() + 1),
            )),
            None => Err(file_error(path, None, None, format!("the features are missing: put {stem}.x beside it"))),
        }
    }
}

fn read_words(path: &Path, max_memory: u64) -> Result<Csr> {
    let mut lines = Lines::open(path, max_memory)?;
    if !lines.advance()? {
        return Err(file_error(path, None, None, "is empty; name the file that holds the data"));
    }
    let Some((n, d, _)) = triple(lines.text()?) else {
        return Err(lines.error(None, "should be `documents,words,0`"));
    };
    let (n, d) = (n as usize, d as usize);
    if n == 0 || d == 0 {
        return Err(lines.error(None, "says that there are no documents or no words"));
    }
    let mut cells: Vec<(u32, u32, f64)> = vec![];
    while lines.advance()? {
        let Some((doc, word, count)) = triple(lines.text()?) else {
            return Err(lines.error(None, "should be `document,word,count`"));
        };
        if doc == 0 || word == 0 || doc as usize > n || word as usize > d {
            return Err(lines.error(
                None,
                &format!("document {doc}, word {word} is outside of the {n} documents and {d} words of line 1"),
            ));
        }
        cells.push((doc - 1, word - 1, count));
    }
    // A header that promises far more than the file holds must not reserve memory for it.
    let last = cells.iter().map(|cell| cell.0 as usize + 1).max().unwrap_or(0);
    if n > 10 * last + 1000 {
        return Err(file_error(path, None, None, format!("line 1 promises {n} documents, but the last one is {last}")));
    }
    Budget::new(path, max_memory).check_sparse(n as u64, d as u64, cells.len() as u64, None)?;
    cells.sort_unstable_by_key(|cell| (cell.0, cell.1));
    if let Some([(doc, word, _), _]) = cells.array_windows().find(|[a, b]| (a.0, a.1) == (b.0, b.1)) {
        let message = format!("document {}, word {} is given twice", doc + 1, word + 1);
        return Err(file_error(path, None, None, message));
    }
    let mut indptr = vec![0; n + 1];
    cells.iter().for_each(|cell| indptr[cell.0 as usize + 1] += 1);
    (0..n).for_each(|i| indptr[i + 1] += indptr[i]);
    let (indices, values) = cells.into_iter().map(|(_, word, count)| (word, count)).unzip();
    Csr::new(n, d, indptr, indices, values)
}

fn triple(text: &str) -> Option<(u32, u32, f64)> {
    let mut parts = text.split(',').map(str::trim);
    let whole = |part: &str| -> Option<u32> {
        // Some writers print whole numbers as 1.0 or 1.000000e+00.
        part.parse().ok().or_else(|| {
            let v: f64 = part.parse().ok()?;
            (v.fract() == 0.0 && (0.0..4e9).contains(&v)).then_some(v as u32)
        })
    };
    let (a, b) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let value: f64 = parts.next()?.parse().ok()?;
    (value.is_finite() && parts.next().is_none()).then_some((a, b, value))
}

fn read_outcomes(path: &Path, max_memory: u64) -> Result<Vec<TableColumn>> {
    let mut lines = Lines::open(path, max_memory)?;
    let mut columns: [Vec<f64>; 5] = Default::default();
    while lines.advance()? {
        let text = lines.text()?;
        let row = Some(columns[0].len() as u64 + 1);
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if cells.len() != Y_COLUMNS.len() {
            let message = format!("has {} numbers, but should have 5: t, y, y counterfactual, mu0, mu1", cells.len());
            return Err(lines.error(row, &message));
        }
        for ((cell, name), column) in cells.iter().zip(Y_COLUMNS).zip(&mut columns) {
            match cell.parse::<f64>() {
                Ok(value) if value.is_finite() => column.push(value),
                _ => {
                    let message = format!("(line {}) holds `{cell}`, which is not a finite number", lines.number);
                    return Err(file_error(path, Some(name), row, message));
                }
            }
        }
    }
    if columns[0].is_empty() {
        return Err(file_error(path, None, None, "is empty; name the file that holds the data"));
    }
    Ok(Y_COLUMNS.into_iter().zip(columns).map(|(name, values)| TableColumn::number(name, values)).collect())
}
