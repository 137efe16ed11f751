//! svmlight text with two numbers in front: `outcome treatment index:value index:value … # comment`.
//!
//! Indices count from 1, as svmlight's do; if index 0 occurs, they are taken to count from 0, with a note.
//! Absent entries are 0. The outcome or the treatment may be `?` where unknown. A header does not exist, so the
//! columns are called `y`, `t` and `x1, x2, …`.

use std::path::Path;

use paretau_core::{Csr, Result};

use super::limit::Budget;
use super::lines::Lines;
use crate::table::{Source, SparseBlock, Table, TableColumn, file_error};

/// Reads a whole file.
pub(super) fn read(path: &Path, max_memory: u64) -> Result<Table> {
    let mut lines = Lines::open(path, max_memory)?;
    let (mut y, mut t) = (vec![], vec![]);
    let (mut indptr, mut cells) = (vec![0_usize], Vec::<(u32, f64)>::new());
    while lines.advance()? {
        let text = lines.text()?;
        let text = text.split('#').next().unwrap_or_default();
        let mut tokens = text.split_ascii_whitespace();
        let Some(outcome) = tokens.next() else { continue };
        let row = Some(y.len() as u64 + 1);
        let fail = |message: &str| Err(lines.error(row, message));
        let Some(treatment) = tokens.next().filter(|token| !token.contains(':')) else {
            return fail("has no treatment; a line is `outcome treatment index:value …`, so write it as second number");
        };
        for (token, what, out) in [(outcome, "outcome", &mut y), (treatment, "treatment", &mut t)] {
            match token.parse::<f64>() {
                Ok(value) if value.is_finite() => out.push(value),
                _ if token == "?" => out.push(f64::NAN),
                _ => return fail(&format!("the {what} `{token}` is not a finite number; use ? where it is unknown")),
            }
        }
        let start = cells.len();
        for token in tokens.filter(|token| !token.starts_with("qid:")) {
            let Some((index, value)) = token.split_once(':') else {
                return fail(&format!("`{token}` is not `index:value`"));
            };
            match (index.parse::<u32>(), value.parse::<f64>()) {
                (Ok(u32::MAX), _) => return fail(&format!("index {index} is beyond 4294967294")),
                (Ok(index), Ok(value)) if value.is_finite() => cells.push((index, value)),
                _ => return fail(&format!("`{token}` is not a whole index and a finite number")),
            }
        }
        cells[start..].sort_unstable_by_key(|cell| cell.0);
        if let Some([(index, _), _]) = cells[start..].array_windows().find(|[a, b]| a.0 == b.0) {
            return fail(&format!("index {index} occurs twice"));
        }
        indptr.push(cells.len());
    }
    if y.is_empty() {
        return Err(file_error(path, None, None, "is empty; name the file that holds the data"));
    }
    let base = u32::from(cells.iter().all(|cell| cell.0 > 0));
    let last = cells.iter().enumerate().max_by_key(|(_, cell)| cell.0);
    let n_cols = last.map_or(0, |(_, cell)| cell.0 + 1 - base) as usize;
    let widest = last.map(|(k, _)| indptr.partition_point(|&start| start <= k) as u64);
    if n_cols == 0 {
        return Err(file_error(path, None, None, "has no feature in any line"));
    }
    Budget::new(path, max_memory).check_sparse(y.len() as u64, n_cols as u64, cells.len() as u64, widest)?;
    let (indices, values) = cells.into_iter().map(|(index, value)| (index - base, value)).unzip();
    let block = SparseBlock::numbered(Csr::new(y.len(), n_cols, indptr, indices, values)?);
    let mut table = Table::new(vec![TableColumn::number("y", y), TableColumn::number("t", t)])?.with_sparse(block)?;
    table.source = Source { path: Some(path.to_owned()), ..Source::default() };
    if base == 0 {
        table.notes.push("index 0 occurs, so indices count from 0: index 0 is column `x1`".into());
    }
    Ok(table)
}
