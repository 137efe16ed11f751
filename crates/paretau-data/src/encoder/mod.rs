//! From feature columns to the matrix a learner can take, learnt on training rows and stored with the model.
//!
//! | column | learner takes missing / categories | becomes |
//! |---|---|---|
//! | number | missing: yes | itself, NaN where missing |
//! | number | missing: no | itself with the training median where missing, and `name__missing` if training had gaps |
//! | text | categories: no | indicators `name=level`, rare levels pooled in `name=other`, `name__missing` |
//! | text | categories: yes | one categorical column of codes |
//! | text with many levels | either | `name__frequency`, the level's share of the training rows |
//!
//! Constant columns and exact copies of earlier ones are dropped, with a note.

mod counts;
mod encoding;
mod fit;
mod policy;
mod report;

use std::collections::HashSet;

use paretau_core::{Column, Csr, Dense, Error, Features, Result, nearest};
use serde::{Deserialize, Serialize};

pub use policy::EncoderPolicy;
pub use report::TransformReport;

use crate::table::{ColumnData, Field, Kind, Table, TableColumn, Text, format_number};
use encoding::{Encoding, Fate};

/// Most cells of a dense matrix, 32 GiB of them: a sparse file of modest size could ask for more than any memory.
const MAX_CELLS: usize = 1 << 32;

/// A fitted transform from tables to feature matrices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    inputs: Vec<Input>,
    sparse: Option<SparseInput>,
    columns: Vec<Column>,
    notes: Vec<String>,
}

/// A column that the model reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Input {
    name: String,
    kind: Kind,
    encoding: Encoding,
    /// Where each output of the encoding goes; `None` for outputs that were dropped.
    places: Vec<Option<usize>>,
}

/// The sparse block that the model reads; its columns come after all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SparseInput {
    names: Vec<String>,
    keep_sparse: bool,
}

impl Encoder {
    /// Learns how to encode all columns of `table` from the given training rows.
    pub fn fit(table: &Table, policy: &EncoderPolicy, rows: &[usize]) -> Result<Self> {
        fit::fit(table, policy, rows)
    }

    /// Whether its parts agree with each other, as those of a fitted one do; one read from a file may be forged.
    pub fn check(&self) -> Result<()> {
        let forged = |what: &str| Err(Error::bad_model(format!("the encoder is not sound: {what}")));
        let n_block = self.sparse.as_ref().map_or(0, |sparse| sparse.names.len());
        let Some(n_named) = self.columns.len().checked_sub(n_block) else {
            return forged("it has fewer columns than its sparse block");
        };
        for input in &self.inputs {
            if input.places.len() != input.encoding.columns(&input.name).len() {
                return forged(&format!("column `{}` has another number of outputs than places", input.name));
            }
            if input.places.iter().flatten().any(|&place| place >= n_named) {
                return forged(&format!("column `{}` has a place outside the matrix", input.name));
            }
        }
        Ok(())
    }

    /// Names and kinds of the matrix's columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What was dropped or pooled, in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names and kinds of the input columns, for reading prediction data as the training data were read.
    pub fn fields(&self) -> Vec<Field> {
        self.inputs.iter().map(|input| Field::new(input.name.clone(), input.kind)).collect()
    }

    /// The matrix's columns, each with the input column that it comes from.
    pub fn owners(&self) -> Vec<(&str, &str)> {
        let of_input = |input: &'_ Input| -> Vec<usize> { input.places.iter().flatten().copied().collect() };
        let named =
            self.inputs.iter().flat_map(|input| of_input(input).into_iter().map(move |k| (k, input.name.as_str())));
        let mut owners: Vec<(usize, &str)> = named.collect();
        let n_block = self.sparse.as_ref().map_or(0, |sparse| sparse.names.len());
        let first = self.columns.len() - n_block;
        owners
            .extend(self.sparse.iter().flat_map(|s| s.names.iter().enumerate()).map(|(k, n)| (first + k, n.as_str())));
        owners.sort_unstable();
        owners.into_iter().map(|(place, owner)| (self.columns[place].name.as_str(), owner)).collect()
    }

    /// The columns of the sparse block that it reads. A file of plain columns must have them as numbers.
    pub fn sparse_fields(&self) -> Vec<Field> {
        let names = self.sparse.iter().flat_map(|sparse| &sparse.names);
        names.map(|name| Field::new(name.clone(), Kind::Number)).collect()
    }

    /// Whether it reads a sparse block.
    pub fn reads_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Encodes a table. Columns may stand in any order and extra ones are ignored; a missing column or one that
    /// changed its type is an error.
    pub fn transform(&self, table: &Table) -> Result<(Features, TransformReport)> {
        let n = table.n_rows();
        let mut report = TransformReport { n_rows: n, ..TransformReport::default() };
        let read: HashSet<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        let extra = table.columns().iter().map(|c| &c.name).filter(|name| !read.contains(name.as_str()));
        report.extra = extra.cloned().collect();
        let n_block = self.sparse.as_ref().map_or(0, |s| s.names.len());
        let keep_sparse = self.sparse.as_ref().is_some_and(|s| s.keep_sparse);
        let n_named = self.columns.len() - n_block;
        let width = if keep_sparse { n_named } else { self.columns.len() };
        if n.saturating_mul(width) > MAX_CELLS {
            return Err(Error::unfit(format!(
                "{n} rows of {width} features would fill {} GiB; use an estimator that takes sparse features, name fewer \
                 with --features, or give the rows in batches",
                n.saturating_mul(width) >> 27
            )));
        }
        if let Some(matrix) = self.same_matrix(table) {
            return Ok((Features::Dense(matrix), report));
        }
        let mut values = vec![0.0; n * width];
        for input in &self.inputs {
            let column = self.find(table, &input.name)?;
            input.write(table, &column, &mut values, width, &mut report)?;
        }
        let Some(sparse) = &self.sparse else {
            return Ok((Features::Dense(Dense::new(n, width, values)?), report));
        };
        let block = sparse.align(table, &mut report)?;
        if sparse.keep_sparse {
            let csr = join(n, n_named, &values, &block)?;
            return Ok((Features::Sparse(csr), report));
        }
        for i in 0..n {
            let (indices, row) = block.row(i);
            let out = &mut values[i * width + n_named..(i + 1) * width];
            indices.iter().zip(row).for_each(|(&j, &v)| out[j as usize] = v);
        }
        Ok((Features::Dense(Dense::new(n, width, values)?), report))
    }

    /// The matrix whose columns the table's are, where the encoding would only copy it.
    fn same_matrix(&self, table: &Table) -> Option<Dense> {
        if self.sparse.is_some() {
            return None;
        }
        let mut found: Option<&Dense> = None;
        for input in &self.inputs {
            let column = table.column(&input.name)?;
            let ColumnData::Number(values) = &column.data else { return None };
            let (matrix, place) = values.matrix()?;
            let is_same = found.is_none_or(|found| found.is_shared_with(matrix));
            let stays = matrix.n_cols() == self.columns.len() && input.places == [Some(place)];
            let is_plain = column.kind() == input.kind && input.encoding.keeps(values);
            if !(is_same && stays && is_plain) {
                return None;
            }
            found = Some(matrix);
        }
        found.cloned()
    }

    fn reads(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }

    /// The named column of the table; one of a sparse block will do as well.
    fn find<'a>(&self, table: &'a Table, name: &str) -> Result<std::borrow::Cow<'a, TableColumn>> {
        use std::borrow::Cow;
        if let Some(column) = table.column(name) {
            return Ok(Cow::Borrowed(column));
        }
        if let Some(block) = table.sparse()
            && let Some(j) = table.sparse_place(name)
        {
            let value = |i: usize| {
                let (indices, values) = block.values.row(i);
                indices.binary_search(&(j as u32)).map_or(0.0, |k| values[k])
            };
            return Ok(Cow::Owned(TableColumn::number(name, (0..table.n_rows()).map(value).collect())));
        }
        if let Some(reason) = table.unread.get(name) {
            return Err(table.error(Some(name), None, reason.clone()));
        }
        let free = table.columns().iter().map(|c| c.name.as_str()).filter(|n| !self.reads(n));
        let hint = nearest(name, free).map_or_else(String::new, |near| format!("; is it `{near}` here?"));
        Err(Error::SchemaMismatch {
            message: format!("the model needs column `{name}`, which the data do not have{hint}"),
        })
    }
}

impl Input {
    /// Writes this input's outputs for all rows into a row-major matrix of the given width.
    fn write(
        &self,
        table: &Table,
        column: &TableColumn,
        values: &mut [f64],
        width: usize,
        report: &mut TransformReport,
    ) -> Result<()> {
        let mut out = vec![0.0; self.places.len()];
        let (mut imputed, mut unseen) = (0, 0);
        let mut count = |fate: Fate, times: usize| match fate {
            Fate::Plain => {}
            Fate::Imputed => imputed += times,
            Fate::Unseen => unseen += times,
        };
        let mut put = |i: usize, out: &[f64]| {
            for (place, &value) in self.places.iter().zip(out) {
                if let Some(place) = place {
                    values[i * width + place] = value;
                }
            }
        };
        if self.encoding.is_text() {
            let spelled;
            let text = match &column.data {
                ColumnData::Text(text) => text,
                ColumnData::Number(numbers) => {
                    let cells: Vec<Option<String>> =
                        numbers.iter().map(|&v| (!v.is_nan()).then(|| format_number(v))).collect();
                    spelled = Text::from_cells(cells.iter().map(Option::as_deref));
                    &spelled
                }
            };
            // Each level is looked up once, not once per row.
            let k = self.places.len();
            let mut table_of = vec![0.0; (text.levels.len() + 1) * k];
            let mut fates = Vec::with_capacity(text.levels.len() + 1);
            let lookup = self.encoding.lookup();
            for (at, level) in text.levels.iter().map(|l| Some(lookup.of(l))).chain([None]).enumerate() {
                fates.push(self.encoding.text(level, &mut table_of[at * k..(at + 1) * k]));
            }
            for (i, &code) in text.codes.iter().enumerate() {
                let at = (code as usize).min(text.levels.len());
                count(fates[at], 1);
                put(i, &table_of[at * k..(at + 1) * k]);
            }
        } else {
            for (i, &value) in self.as_numbers(table, column)?.iter().enumerate() {
                count(self.encoding.number(value, &mut out), 1);
                put(i, &out);
            }
        }
        report.count(&self.name, imputed, unseen);
        Ok(())
    }

    /// The column as numbers of the kind that training saw, or an error at the first cell that is none.
    fn as_numbers<'a>(&self, table: &Table, column: &'a TableColumn) -> Result<std::borrow::Cow<'a, [f64]>> {
        let was = if self.kind == Kind::Date { "dates" } else { "numbers" };
        match &column.data {
            ColumnData::Number(values) => {
                if column.is_date != (self.kind == Kind::Date) && values.iter().any(|v| !v.is_nan()) {
                    let is = if column.is_date { "dates" } else { "numbers" };
                    let row = values.iter().position(|v| !v.is_nan());
                    return Err(table.error(
                        Some(&self.name),
                        row,
                        format!("the column holds {is}, but held {was} when the model was fitted"),
                    ));
                }
                Ok(values.contiguous())
            }
            ColumnData::Text(text) => {
                let parsed: Vec<Option<f64>> = (text.levels.iter())
                    .map(|level| match self.kind {
                        Kind::Date => crate::calendar::parse_iso(level.as_bytes()),
                        _ => level.parse().ok().filter(|v: &f64| v.is_finite()),
                    })
                    .collect();
                let bad = text.codes.iter().position(|&c| c != Text::MISSING && parsed[c as usize].is_none());
                if let Some(row) = bad {
                    let cell = text.get(row).unwrap_or_default();
                    return Err(table.error(
                        Some(&self.name),
                        Some(row),
                        format!("holds `{cell}`, but the column held {was} when the model was fitted; fix the cell"),
                    ));
                }
                let value = |&c: &u32| parsed.get(c as usize).copied().flatten().unwrap_or(f64::NAN);
                Ok(text.codes.iter().map(value).collect::<Vec<_>>().into())
            }
        }
    }
}

impl SparseInput {
    /// The table's sparse block with the columns that training had, in their order.
    fn align(&self, table: &Table, report: &mut TransformReport) -> Result<Csr> {
        let Some(block) = table.sparse() else {
            return self.gather(table);
        };
        if block.names == self.names {
            return Ok(block.values.clone());
        }
        // Columns that never occur in a sparse file need not be there; those unknown to the model are ignored.
        let place: std::collections::HashMap<&str, u32> =
            self.names.iter().enumerate().map(|(j, name)| (name.as_str(), j as u32)).collect();
        let new_place: Vec<Option<u32>> = block.names.iter().map(|name| place.get(name.as_str()).copied()).collect();
        if new_place.iter().all(Option::is_none) {
            return Err(Error::SchemaMismatch {
                message: "none of the sparse columns is one that the model was fitted on".into(),
            });
        }
        report.extra.extend(block.names.iter().zip(&new_place).filter(|(_, p)| p.is_none()).map(|(n, _)| n.clone()));
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for i in 0..block.values.n_rows() {
            let (cols, row) = block.values.row(i);
            let mut cells: Vec<(u32, f64)> =
                cols.iter().zip(row).filter_map(|(&j, &v)| new_place[j as usize].map(|p| (p, v))).collect();
            cells.sort_unstable_by_key(|cell| cell.0);
            indices.extend(cells.iter().map(|cell| cell.0));
            values.extend(cells.iter().map(|cell| cell.1));
            indptr.push(indices.len());
        }
        Csr::new(block.values.n_rows(), self.names.len(), indptr, indices, values)
    }

    /// The block from ordinary columns of the same names.
    fn gather(&self, table: &Table) -> Result<Csr> {
        let mut columns = Vec::with_capacity(self.names.len());
        for name in &self.names {
            match table.column(name).map(|c| &c.data) {
                Some(ColumnData::Number(values)) => columns.push(values),
                _ => {
                    return Err(Error::SchemaMismatch {
                        message: format!("the model needs a column `{name}` of numbers, which the data do not have"),
                    });
                }
            }
        }
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for i in 0..table.n_rows() {
            for (j, column) in columns.iter().enumerate() {
                if column[i].is_nan() {
                    return Err(table.error(
                        Some(&self.names[j]),
                        Some(i),
                        "is missing; a sparse column must be filled",
                    ));
                }
                if column[i] != 0.0 {
                    indices.push(j as u32);
                    values.push(column[i]);
                }
            }
            indptr.push(indices.len());
        }
        Csr::new(table.n_rows(), self.names.len(), indptr, indices, values)
    }
}

/// Dense columns followed by a sparse block, as one sparse matrix.
fn join(n: usize, width: usize, dense: &[f64], block: &Csr) -> Result<Csr> {
    if width == 0 {
        return Ok(block.clone());
    }
    let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for i in 0..n {
        for (j, &v) in dense[i * width..(i + 1) * width].iter().enumerate() {
            if v != 0.0 {
                indices.push(j as u32);
                values.push(v);
            }
        }
        let (cols, row) = block.row(i);
        indices.extend(cols.iter().map(|j| j + width as u32));
        values.extend_from_slice(row);
        indptr.push(indices.len());
    }
    Csr::new(n, width + block.n_cols(), indptr, indices, values)
}
