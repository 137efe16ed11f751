//! NumPy archives: `x` (rows by features) and one array a row for `t`, `y` and whatever else is there.
//!
//! A sparse `x` is stored as scipy's `save_npz` does: `data`, `indices`, `indptr` and `shape`.

use std::collections::BTreeMap;
use std::path::Path;

use paretau_core::{Csr, Dense, Error, Features, Result};

use super::npy::{self, Array, Data};
use super::parquet::shielded;
use super::source::check_magic;
use super::zip;
use crate::table::{Source, SparseBlock, Table, TableColumn, Text, file_error};

/// Reads a whole archive.
pub(super) fn read(path: &Path) -> Result<Table> {
    check_magic(path, b"PK", "a NumPy archive (.npz)")?;
    let mut arrays = shielded(path, || load(path))?;
    let features = take_sparse(path, &mut arrays)?;
    let x = match features {
        Some(csr) => Features::Sparse(csr),
        None => take_dense(path, &mut arrays)?,
    };
    let n = x.n_rows();
    if let Some((row, col, value)) = x.first_infinite() {
        let message = format!("holds {value}, which is not finite; replace it, or use NaN if it is missing");
        return Err(file_error(path, Some(&format!("x{}", col + 1)), Some(row as u64 + 1), message));
    }
    let mut columns = vec![];
    for (name, array) in arrays {
        let one_a_row = array.shape.iter().product::<usize>() == n && array.shape.first() == Some(&n);
        if !one_a_row {
            let message = format!("has shape {:?}, but x has {n} rows; give one value a row", array.shape);
            return Err(file_error(path, Some(&name), None, message));
        }
        columns.push(match array.data {
            Data::Number(values) => {
                if let Some(i) = values.iter().position(|v| v.is_infinite()) {
                    let message = format!("holds {}, which is not finite; replace it", values[i]);
                    return Err(file_error(path, Some(&name), Some(i as u64 + 1), message));
                }
                TableColumn::number(name, values)
            }
            Data::Text(cells) => {
                let cells = cells.iter().map(|c| Some(c.as_str()).filter(|c| !c.is_empty()));
                TableColumn::text(name, Text::from_cells(cells))
            }
        });
    }
    let mut table = match x {
        Features::Dense(_) => {
            columns.extend(Table::from_features(x)?.into_parts().0);
            Table::new(columns)?
        }
        Features::Sparse(values) => Table::new(columns)?.with_sparse(SparseBlock::numbered(values))?,
    };
    table.source = Source { path: Some(path.to_owned()), ..Source::default() };
    Ok(table)
}

fn load(path: &Path) -> Result<BTreeMap<String, Array>> {
    let mut arrays = BTreeMap::new();
    for member in zip::members(path)? {
        let name = member.name.strip_suffix(".npy").unwrap_or(&member.name).to_owned();
        // scipy names the layout beside the arrays; it is checked by the arrays themselves.
        if name == "format" {
            continue;
        }
        let source = zip::open_member(path, &member)?;
        let array = npy::read(source, member.size).map_err(|why| bad_array(path, &name, &why))?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

fn bad_array(path: &Path, name: &str, why: &str) -> Error {
    file_error(path, Some(name), None, format!("{why}; write the archive again with numpy.savez"))
}

fn take_dense(path: &Path, arrays: &mut BTreeMap<String, Array>) -> Result<Features> {
    let Some((name, array)) = ["x", "X"].into_iter().find_map(|name| arrays.remove(name).map(|a| (name, a))) else {
        let known: Vec<&str> = arrays.keys().map(String::as_str).collect();
        let message = format!("has no array `x` of features; its arrays are {}", known.join(", "));
        return Err(file_error(path, None, None, message));
    };
    let (n, d) = match array.shape[..] {
        [n] => (n, 1),
        [n, d] => (n, d),
        _ => {
            let why = format!("has {} dimensions, but features are rows by columns", array.shape.len());
            return Err(bad_array(path, name, &why));
        }
    };
    if n == 0 || d == 0 {
        return Err(file_error(path, Some(name), None, "has no rows or no columns"));
    }
    match array.data {
        Data::Number(values) => Ok(Features::Dense(Dense::new(n, d, values)?)),
        Data::Text(_) => Err(bad_array(path, name, "holds text, but features here must be numbers")),
    }
}

fn take_sparse(path: &Path, arrays: &mut BTreeMap<String, Array>) -> Result<Option<Csr>> {
    const PARTS: [&str; 4] = ["data", "indices", "indptr", "shape"];
    if arrays.contains_key("x") || !PARTS.iter().all(|part| arrays.contains_key(*part)) {
        return Ok(None);
    }
    let mut part = |name: &str| -> Result<Vec<f64>> {
        match arrays.remove(name).map(|a| a.data) {
            Some(Data::Number(values)) => Ok(values),
            _ => Err(bad_array(path, name, "is not an array of numbers")),
        }
    };
    let (values, indices, indptr, shape) = (part("data")?, part("indices")?, part("indptr")?, part("shape")?);
    let [n, d] = shape[..] else { return Err(bad_array(path, "shape", "is not two numbers")) };
    if !(n < 1e10 && d < 1e7) {
        return Err(bad_array(path, "shape", &format!("says {n} by {d}, which is too large")));
    }
    let indptr: Vec<usize> = indptr.into_iter().map(|v| v as usize).collect();
    let indices: Vec<u32> = indices.into_iter().map(|v| v as u32).collect();
    // scipy does not promise that columns ascend within a row.
    let mut rows: Vec<(u32, f64)> = indices.into_iter().zip(values).collect();
    for ends in indptr.windows(2) {
        if let Some(row) = rows.get_mut(ends[0]..ends[1].max(ends[0])) {
            row.sort_unstable_by_key(|cell| cell.0);
        }
    }
    let (indices, values) = rows.into_iter().unzip();
    let csr = Csr::new(n as usize, d as usize, indptr, indices, values);
    csr.map(Some).map_err(|e| bad_array(path, "indptr", &format!("{e} (only the CSR layout is read)")))
}
