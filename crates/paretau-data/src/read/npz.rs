//! NumPy archives: `x` (rows by features) and one number per row for `t`, `y` and whatever else is there.
//!
//! A sparse `x` is stored as scipy's `save_npz` does: `data`, `indices`, `indptr` and `shape`.

use std::collections::BTreeMap;
use std::path::Path;

use paretau_core::{Csr, Dense, Error, Features, Result};

use super::limit::Budget;
use super::npy::{self, Array, Data};
use super::parquet::shielded;
use super::source::check_magic;
use super::zip::Archive;
use crate::table::{Source, SparseBlock, Table, TableColumn, Text, file_error};

/// Reads a whole archive.
pub(super) fn read(path: &Path, max_memory: u64) -> Result<Table> {
    check_magic(path, b"PK", "a NumPy archive (.npz)")?;
    let mut arrays = shielded(path, || load(path, max_memory))?;
    let features = take_sparse(path, &mut arrays, max_memory)?;
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
            let message = format!("has shape {:?}, but x has {n} rows; give one value per row", array.shape);
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

fn load(path: &Path, max_memory: u64) -> Result<BTreeMap<String, Array>> {
    let mut arrays = BTreeMap::new();
    let mut budget = Budget::new(path, max_memory);
    let mut archive = Archive::open(path)?;
    for index in 0..archive.len() {
        let member = archive.member(index, |file, size, source| {
            let name = file.strip_suffix(".npy").unwrap_or(file).to_owned();
            // scipy names the layout beside the arrays; it is checked by the arrays themselves.
            if name == "format" {
                return Ok(None);
            }
            let mut source = npy::Start::read(source, size).map_err(|why| bad_array(path, &name, &why))?;
            budget.take(&format!("the array `{name}`"), source.memory())?;
            let array = source.finish().map_err(|why| bad_array(path, &name, &why))?;
            Ok(Some((name, array)))
        })?;
        if let Some((name, array)) = member
            && arrays.insert(name.clone(), array).is_some()
        {
            return Err(bad_array(path, &name, "is in the archive twice"));
        }
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

fn take_sparse(path: &Path, arrays: &mut BTreeMap<String, Array>, max_memory: u64) -> Result<Option<Csr>> {
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
    let (Some(n), Some(d)) = (whole(n), whole(d)) else {
        return Err(bad_array(path, "shape", &format!("says {n} by {d}, which are no counts")));
    };
    if n.checked_add(1) != Some(indptr.len()) {
        let why = format!("has {} entries, but a matrix of {n} rows has one more than rows", indptr.len());
        return Err(bad_array(path, "indptr", &why));
    }
    Budget::new(path, max_memory).check_sparse(n as u64, d as u64, values.len() as u64, None)?;
    let ends: Option<Vec<usize>> = indptr.iter().map(|&v| whole(v)).collect();
    let indptr = ends.ok_or_else(|| bad_array(path, "indptr", "holds a number that is no place in the data"))?;
    if let Some(k) = indices.iter().position(|&j| whole(j).is_none_or(|j| j >= d)) {
        let row = indptr.iter().skip(1).position(|&end| k < end).map(|i| i as u64 + 1);
        let message = format!("holds {}, which is no column of the {d}; write the archive again", indices[k]);
        return Err(file_error(path, Some("indices"), row, message));
    }
    let indices: Vec<u32> = indices.into_iter().map(|v| v as u32).collect();
    // scipy does not promise that columns ascend within a row.
    let mut rows: Vec<(u32, f64)> = indices.into_iter().zip(values).collect();
    for ends in indptr.windows(2) {
        if let Some(row) = rows.get_mut(ends[0]..ends[1].max(ends[0])) {
            row.sort_unstable_by_key(|cell| cell.0);
        }
    }
    let (indices, values) = rows.into_iter().unzip();
    let csr = Csr::new(n, d, indptr, indices, values);
    csr.map(Some).map_err(|e| bad_array(path, "indptr", &format!("{e} (only the CSR layout is read)")))
}

/// A count or a place in an array; `None` for what is negative, broken or beyond 32 bits.
fn whole(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value < f64::from(u32::MAX)).then_some(value as usize)
}
