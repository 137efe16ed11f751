//! A table: named columns of numbers or text, perhaps a sparse block of features, and where it came from.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use paretau_core::{Csr, Dense, Error, Features, Result};
use serde::{Deserialize, Serialize};

use crate::interner::Interner;
use crate::numbers::Numbers;
use crate::read::Notation;

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numbers; yes/no columns are 0 and 1.
    Number,
    /// Dates, kept as days since 1970.
    Date,
    /// Text, that is, categories.
    Text,
}

/// Name and kind of a column, without its cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Column name.
    pub name: String,
    /// Kind of its cells.
    pub kind: Kind,
}

impl Field {
    /// A field.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Text cells as codes of a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// Distinct texts.
    pub levels: Vec<String>,
    /// Code of each cell; [`Text::MISSING`] where there is none.
    pub codes: Vec<u32>,
}

impl Text {
    /// The code of a missing cell.
    pub const MISSING: u32 = u32::MAX;

    /// A column from its cells.
    pub fn from_cells<'a>(cells: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut interner = Interner::default();
        let codes = cells.into_iter().map(|cell| cell.map_or(Self::MISSING, |text| interner.code(text))).collect();
        Self { levels: interner.into_levels(), codes }
    }

    /// The text of row `i`, `None` where missing.
    pub fn get(&self, i: usize) -> Option<&str> {
        self.levels.get(self.codes[i] as usize).map(String::as_str)
    }
}

/// Cells of each level of a column of texts.
pub(crate) fn counts(text: &Text) -> Vec<usize> {
    let mut counts = vec![0; text.levels.len()];
    text.codes.iter().filter(|&&code| code != Text::MISSING).for_each(|&code| counts[code as usize] += 1);
    counts
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnData {
    /// Numbers; NaN where missing.
    Number(Numbers),
    /// Texts.
    Text(Text),
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Its name, unique in the table.
    pub name: String,
    /// Its cells.
    pub data: ColumnData,
    /// Whether the numbers are dates (days since 1970).
    pub is_date: bool,
}

impl TableColumn {
    /// A column of numbers.
    pub fn number(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::of_numbers(name, values.into())
    }

    /// A column of numbers that may lie in a matrix.
    pub fn of_numbers(name: impl Into<String>, values: Numbers) -> Self {
        Self { name: name.into(), data: ColumnData::Number(values), is_date: false }
    }

    /// A column of dates (days since 1970).
    pub fn date(name: impl Into<String>, days: Vec<f64>) -> Self {
        Self { name: name.into(), data: ColumnData::Number(days.into()), is_date: true }
    }

    /// A column of text.
    pub fn text(name: impl Into<String>, text: Text) -> Self {
        Self { name: name.into(), data: ColumnData::Text(text), is_date: false }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match &self.data {
            ColumnData::Number(values) => values.len(),
            ColumnData::Text(text) => text.codes.len(),
        }
    }

    /// Whether it has no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kind of its cells.
    pub fn kind(&self) -> Kind {
        match &self.data {
            ColumnData::Number(_) if self.is_date => Kind::Date,
            ColumnData::Number(_) => Kind::Number,
            ColumnData::Text(_) => Kind::Text,
        }
    }

    /// Whether the cell of row `i` is missing.
    pub fn is_missing(&self, i: usize) -> bool {
        match &self.data {
            ColumnData::Number(values) => values[i].is_nan(),
            ColumnData::Text(text) => text.codes[i] == Text::MISSING,
        }
    }

    /// The cell of row `i` as it would be written, `None` where missing.
    pub fn cell(&self, i: usize) -> Option<String> {
        match &self.data {
            ColumnData::Number(values) if values[i].is_nan() => None,
            ColumnData::Number(values) if self.is_date => Some(crate::calendar::format_iso(values[i])),
            ColumnData::Number(values) => Some(format_number(values[i])),
            ColumnData::Text(text) => text.get(i).map(str::to_owned),
        }
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let data = match &self.data {
            ColumnData::Number(values) => ColumnData::Number(rows.iter().map(|&i| values[i]).collect()),
            ColumnData::Text(text) => ColumnData::Text(Text {
                levels: text.levels.clone(),
                codes: rows.iter().map(|&i| text.codes[i]).collect(),
            }),
        };
        Self { name: self.name.clone(), data, is_date: self.is_date }
    }
}

/// The given rows of columns, in the given order. Of a matrix that is all here the rows are taken once, and shared again.
pub(crate) fn select_columns(columns: &[TableColumn], rows: &[usize]) -> Vec<TableColumn> {
    let matrix_of = |column: &'_ TableColumn| match &column.data {
        ColumnData::Number(values) => values.matrix().map(|(matrix, place)| (matrix.clone(), place)),
        ColumnData::Text(_) => None,
    };
    let mut taken: Vec<(Dense, Option<Dense>)> = vec![];
    let mut selected = |matrix: &Dense| -> Option<Dense> {
        if let Some((_, found)) = taken.iter().find(|(known, _)| known.is_shared_with(matrix)) {
            return found.clone();
        }
        let own =
            columns.iter().filter(|c| matrix_of(c).is_some_and(|(other, _)| other.is_shared_with(matrix))).count();
        let found = (own >= matrix.n_cols()).then(|| matrix.select(rows));
        taken.push((matrix.clone(), found.clone()));
        found
    };
    let one = |column: &TableColumn| match matrix_of(column) {
        None => column.select(rows),
        Some((matrix, place)) => match selected(&matrix) {
            None => column.select(rows),
            Some(part) => TableColumn {
                name: column.name.clone(),
                data: ColumnData::Number(Numbers::of_matrix(part, place)),
                is_date: column.is_date,
            },
        },
    };
    columns.iter().map(one).collect()
}

/// A number as short text that parses back to the same bits; exponents only where plain digits get long.
pub(crate) fn format_number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e17).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

/// A sparse block of feature columns beside the named ones.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseBlock {
    /// Names of its columns.
    pub names: Vec<String>,
    /// Its values, one row a table row.
    pub values: Csr,
}

impl SparseBlock {
    /// A block with columns `x1, x2, …`.
    pub fn numbered(values: Csr) -> Self {
        Self { names: (1..=values.n_cols()).map(|j| format!("x{j}")).collect(), values }
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { names: self.names.clone(), values: self.values.select(rows) }
    }

    /// The columns at the given ascending places.
    pub fn columns(&self, places: &[usize]) -> Result<Self> {
        let mut new_place = vec![u32::MAX; self.names.len()];
        places.iter().enumerate().for_each(|(new, &old)| new_place[old] = new as u32);
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for i in 0..self.values.n_rows() {
            let (cols, row) = self.values.row(i);
            for (&j, &v) in cols.iter().zip(row) {
                if new_place[j as usize] != u32::MAX {
                    indices.push(new_place[j as usize]);
                    values.push(v);
                }
            }
            indptr.push(indices.len());
        }
        Ok(Self {
            names: places.iter().map(|&j| self.names[j].clone()).collect(),
            values: Csr::new(self.values.n_rows(), places.len(), indptr, indices, values)?,
        })
    }
}

/// Where a table came from, so that an error can name file, row and line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// The file; `None` for data made in memory.
    pub path: Option<PathBuf>,
    /// Data rows of the file before this table's first (batches after the first have some).
    pub rows_before: usize,
    /// Line of the file's first data row, when every row is one line of text.
    pub first_line: Option<u64>,
    /// For a selection of rows, the 0-based row of the whole table that each was.
    pub picked: Option<Vec<usize>>,
    /// The files of a table that was read from several, in their order.
    pub parts: Vec<FilePart>,
}

/// One of the files that a table was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The file.
    pub path: PathBuf,
    /// Row of the whole table that is its first, 0-based.
    pub first_row: usize,
    /// Line of the file's first data row, when every row is one line of text.
    pub first_line: Option<u64>,
}

impl FilePart {
    /// The file of a table whose first row is row `first_row` of a larger one.
    pub(crate) fn of(source: &Source, first_row: usize) -> Self {
        Self { path: source.path.clone().unwrap_or_default(), first_row, first_line: source.first_line }
    }
}

impl Source {
    /// The source of the given rows of the table: errors name rows of the file, whatever was left out before.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let picked = match &self.picked {
            Some(before) => rows.iter().map(|&i| before[i]).collect(),
            None => rows.to_vec(),
        };
        Self { picked: Some(picked), ..self.clone() }
    }

    /// 0-based row, in all files together, of row `i` of the table.
    pub fn row(&self, i: usize) -> usize {
        self.rows_before + self.picked.as_ref().map_or(i, |rows| rows[i])
    }

    /// 1-based data row in the file of row `i` of the table.
    pub(crate) fn row_number(&self, i: usize) -> u64 {
        (self.row(i) + 1) as u64
    }

    /// The file of a data row counted over all files, the row's number in it, and the line of its first row.
    pub(crate) fn place(&self, number: Option<u64>) -> (Option<&Path>, Option<u64>, Option<u64>) {
        let within = number.and_then(|number| {
            let part = self.parts.iter().rev().find(|part| (part.first_row as u64) < number)?;
            Some((Some(part.path.as_path()), Some(number - part.first_row as u64), part.first_line))
        });
        within.unwrap_or((self.path.as_deref(), number, self.first_line))
    }
}

/// How a file was read, beyond what its format says. Stored with a model, so that new files are read alike.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Marks that mean a missing cell, besides the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub na: Vec<String>,
    /// How the cells of a column are written, for those that are not plain numbers or ISO dates.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub notations: BTreeMap<String, Notation>,
}

impl Reading {
    /// Whether there is nothing to say.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a column cannot be used as it is: an error for whoever uses it, and for nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// 0-based row of a cell that shows it.
    pub row: Option<usize>,
    /// What is wrong, and the remedy.
    pub message: String,
}

/// Places of columns by name, made when the first name is looked up: a search from the front for each of many names
/// takes the square of their number.
#[derive(Debug, Clone, Default)]
struct Places(OnceLock<HashMap<String, usize>>);

impl Places {
    fn get<'a>(&self, name: &str, names: impl Iterator<Item = &'a str>) -> Option<usize> {
        // Of two columns with one name, the first is meant.
        let make = || {
            names.enumerate().fold(HashMap::new(), |mut all, (j, name)| {
                all.entry(name.to_owned()).or_insert(j);
                all
            })
        };
        self.0.get_or_init(make).get(name).copied()
    }
}

/// They follow from the columns, which are compared.
impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Named columns of one length, with an optional sparse block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    n_rows: usize,
    columns: Vec<TableColumn>,
    sparse: Option<SparseBlock>,
    column_places: Places,
    sparse_places: Places,
    /// Where it came from.
    pub source: Source,
    /// What a reader did that the analyst should know of.
    pub notes: Vec<String>,
    /// Columns of the file that were not read, with the reason.
    pub unread: BTreeMap<String, String>,
    /// Names that stood more than once in the header; naming one in a role is an error.
    pub repeated: Vec<String>,
    /// How the cells were read.
    pub reading: Reading,
    /// Columns that are numbers but for a few cells, or that can be read in two ways.
    pub doubts: BTreeMap<String, Doubt>,
    /// Column that identifies rows: errors at a row name its cell, too.
    pub id: Option<String>,
}

impl Table {
    /// A table from columns of one length and with different names.
    pub fn new(columns: Vec<TableColumn>) -> Result<Self> {
        let n_rows = columns.first().map_or(0, TableColumn::len);
        let mut names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[a, b]| a == b) {
            return Err(Error::unfit(format!("two columns are named `{name}`; give every column its own name")));
        }
        if let Some(odd) = columns.iter().find(|c| c.len() != n_rows) {
            return Err(Error::unfit(format!(
                "column `{}` has {} cells, but `{}` has {n_rows}",
                odd.name,
                odd.len(),
                columns[0].name
            )));
        }
        Ok(Self { n_rows, columns, ..Self::default() })
    }

    /// A table of a feature matrix with columns `x1, x2, …` (a sparse one stays sparse).
    pub fn from_features(x: Features) -> Result<Self> {
        match x {
            Features::Dense(x) => {
                let column =
                    |j: usize| TableColumn::of_numbers(format!("x{}", j + 1), Numbers::of_matrix(x.clone(), j));
                Self::new((0..x.n_cols()).map(column).collect())
            }
            Features::Sparse(values) => Self::default().with_sparse(SparseBlock::numbered(values)),
        }
    }

    /// The same table with one more column.
    pub(crate) fn with_column(mut self, column: TableColumn) -> Result<Self> {
        self.columns.push(column);
        let checked = Self::new(std::mem::take(&mut self.columns))?;
        Ok(Self { columns: checked.columns, column_places: Places::default(), ..self })
    }

    /// The same table with a sparse block of as many rows.
    pub fn with_sparse(mut self, block: SparseBlock) -> Result<Self> {
        if self.columns.is_empty() {
            self.n_rows = block.values.n_rows();
        }
        if block.values.n_rows() != self.n_rows {
            return Err(Error::LengthMismatch {
                what: "the sparse block",
                expected: self.n_rows,
                found: block.values.n_rows(),
            });
        }
        if block.names.len() != block.values.n_cols() {
            return Err(Error::LengthMismatch {
                what: "the names of the sparse block",
                expected: block.values.n_cols(),
                found: block.names.len(),
            });
        }
        self.sparse = Some(block);
        self.sparse_places = Places::default();
        Ok(self)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Columns, in file order.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Columns whose cells may be changed, but neither their names nor their number.
    pub(crate) fn columns_mut(&mut self) -> &mut [TableColumn] {
        &mut self.columns
    }

    /// An error if what the column holds is in doubt.
    pub(crate) fn check_doubt(&self, name: &str) -> Result<()> {
        match self.doubts.get(name) {
            Some(Doubt { row, message }) => Err(self.error(Some(name), *row, message.clone())),
            None => Ok(()),
        }
    }

    /// The sparse block, if there is one.
    pub fn sparse(&self) -> Option<&SparseBlock> {
        self.sparse.as_ref()
    }

    /// The columns and the sparse block, taken out.
    pub fn into_parts(self) -> (Vec<TableColumn>, Option<SparseBlock>) {
        (self.columns, self.sparse)
    }

    /// The column of that exact name.
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        let place = self.column_places.get(name, self.columns.iter().map(|c| c.name.as_str()))?;
        self.columns.get(place)
    }

    /// The place in the sparse block of its column of that exact name.
    pub(crate) fn sparse_place(&self, name: &str) -> Option<usize> {
        self.sparse_places.get(name, self.sparse.iter().flat_map(|block| &block.names).map(String::as_str))
    }

    /// The column of that name, or an error with the nearest name or the reason why it was not read.
    pub fn require(&self, name: &str) -> Result<&TableColumn> {
        if self.repeated.iter().any(|r| r == name) {
            let message = format!("the name stands more than once in the header; rename the column you mean ({name})");
            return Err(self.error(Some(name), None, message));
        }
        if let Some(reason) = self.unread.get(name) {
            return Err(self.error(Some(name), None, reason.clone()));
        }
        self.column(name).ok_or_else(|| self.no_column(name, self.columns.iter().map(|c| c.name.as_str())))
    }

    /// The error for a column that is not among the `known` ones, with the nearest of them.
    pub(crate) fn no_column<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
        let known: Vec<&str> = known.into_iter().collect();
        if self.source.path.is_none() {
            return Error::unknown_name("column", name, known);
        }
        // A first row of data in the header's place.
        let numbers = known.iter().filter(|name| name.parse::<f64>().is_ok()).count();
        let header = numbers * 2 >= known.len() && numbers > 0;
        let in_first_row =
            |column: &TableColumn| self.n_rows > 0 && column.cell(0).is_some_and(|cell| cell.trim() == name);
        let only = known.first().filter(|_| known.len() == 1);
        let parts: Vec<&str> = only.map_or(vec![], |names| names.split(['^', '~', '¦', ':', '\u{1}']).collect());
        let whole_line = only.is_some_and(|line| line.split([',', ';', '\t']).any(|part| part.trim() == name));
        // Names in the first column and one row for each: `t,0,1,0` above `y,2,3,5`.
        let first_column: Vec<String> = self.columns.first().map_or(vec![], |column| {
            let cells = (0..self.n_rows.min(64)).filter_map(|row| column.cell(row));
            std::iter::once(column.name.clone()).chain(cells).collect()
        });
        let is_transposed = header && first_column.len() > 1 && first_column.iter().any(|cell| cell.trim() == name);
        let hint = match paretau_core::nearest(name, known.iter().copied()) {
            _ if is_transposed => {
                "it stands in the first column, and the first row holds numbers; exchange rows and columns, so that each row is one \
                 person"
                    .to_owned()
            }
            _ if whole_line => {
                "each line of the file stands in quotation marks as a whole; remove them".to_owned()
            }
            _ if self.columns.iter().any(in_first_row) => {
                "it stands in the first row below the column names, as where names take two lines; delete the lines above it"
                    .to_owned()
            }
            _ if parts.len() > 2 && parts.contains(&name) => {
                "its columns are separated by a mark that is not read as such; save it with commas, semicolons or tabs \
                 between the columns"
                    .to_owned()
            }
            _ if header => {
                "the first line holds numbers where column names should stand: if the file has no header, add \
                            --no-header, and its columns are called column1, column2, …"
                    .to_owned()
            }
            Some(near) => format!("did you mean `{near}`?"),
            // A wide table has thousands of columns; the first few show the style of its names.
            None if known.len() > 20 => {
                format!("its columns are {} and {} more", known[..20].join(", "), known.len() - 20)
            }
            None => format!("its columns are {}", known.join(", ")),
        };
        self.error(Some(name), None, format!("there is no such column; {hint}"))
    }

    /// Names and kinds of the columns.
    pub fn fields(&self) -> Vec<Field> {
        self.columns.iter().map(|c| Field::new(c.name.clone(), c.kind())).collect()
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let sparse = self.sparse.as_ref().map(|block| block.select(rows));
        Self {
            n_rows: rows.len(),
            columns: select_columns(&self.columns, rows),
            sparse,
            column_places: self.column_places.clone(),
            sparse_places: self.sparse_places.clone(),
            source: self.source.select(rows),
            notes: self.notes.clone(),
            unread: self.unread.clone(),
            repeated: self.repeated.clone(),
            reading: self.reading.clone(),
            id: self.id.clone(),
            // Their rows are those of the whole table.
            doubts: self
                .doubts
                .iter()
                .map(|(name, doubt)| (name.clone(), Doubt { row: None, ..doubt.clone() }))
                .collect(),
        }
    }

    /// The same table with the sparse block spelled out as ordinary columns.
    pub fn densified(mut self) -> Result<Self> {
        let Some(block) = self.sparse.take() else { return Ok(self) };
        let mut dense = vec![vec![0.0; self.n_rows]; block.names.len()];
        for i in 0..self.n_rows {
            let (indices, values) = block.values.row(i);
            indices.iter().zip(values).for_each(|(&j, &v)| dense[j as usize][i] = v);
        }
        let columns = block.names.into_iter().zip(dense).map(|(name, values)| TableColumn::number(name, values));
        let n_rows = self.n_rows;
        self.columns.extend(columns);
        let checked = Self::new(std::mem::take(&mut self.columns))?;
        Ok(Self {
            columns: checked.columns,
            n_rows,
            column_places: Places::default(),
            sparse_places: Places::default(),
            ..self
        })
    }

    /// What identifies a row, as in "patient `P07`", where a column does.
    pub(crate) fn identifier(&self, row: usize) -> Option<String> {
        let name = self.id.as_deref()?;
        let cell = self.column(name).filter(|column| row < column.len())?.cell(row)?;
        Some(format!("{name} `{cell}`"))
    }

    /// An error at a place of this table: [`Error::File`] when it came from a file, else [`Error::UnfitData`].
    /// `row` is the 0-based row of this table.
    pub fn error(&self, column: Option<&str>, row: Option<usize>, message: impl Into<String>) -> Error {
        let message = message.into();
        let (path, number, first_line) = self.source.place(row.map(|i| self.source.row_number(i)));
        let id = row.and_then(|row| self.identifier(row));
        match path {
            Some(path) => {
                let line = match (number, first_line) {
                    (Some(number), Some(first)) => Some(format!("line {}", first + number - 1)),
                    _ => None,
                };
                let place: Vec<String> = line.into_iter().chain(id).collect();
                let place = if place.is_empty() { String::new() } else { format!("({}) ", place.join(", ")) };
                file_error(path, column, number, format!("{place}{message}"))
            }
            None => {
                Error::unfit(match (column, number.map(|r| id.map_or(r.to_string(), |id| format!("{r} ({id})")))) {
                    (Some(c), Some(r)) => format!("column `{c}`, row {r}: {message}"),
                    (Some(c), None) => format!("column `{c}`: {message}"),
                    (None, Some(r)) => format!("row {r}: {message}"),
                    (None, None) => message,
                })
            }
        }
    }
}

/// An [`Error::File`] at a place; `row` is the 1-based data row.
pub(crate) fn file_error(path: &Path, column: Option<&str>, row: Option<u64>, message: impl Into<String>) -> Error {
    Error::File { path: path.to_owned(), column: column.map(str::to_owned), row, message: message.into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_must_agree() {
        let a = TableColumn::number("a", vec![1.0, 2.0]);
        assert!(Table::new(vec![a.clone(), a.clone()]).unwrap_err().to_string().contains("`a`"));
        let short = TableColumn::number("b", vec![1.0]);
        assert!(Table::new(vec![a.clone(), short]).unwrap_err().to_string().contains("1 cells"));
        let table = Table::new(vec![a, TableColumn::text("b", Text::from_cells([Some("u"), None]))]).unwrap();
        assert_eq!(table.select(&[1, 0]).column("b").unwrap().cell(1), Some("u".into()));
        assert!(table.require("c").is_err());
    }

    #[test]
    fn numbers_print_shortly_and_come_back() {
        for value in [0.0, -0.5, 1.0, 123456789.0, 1e17, 1.5e-9, f64::MAX, f64::MIN_POSITIVE, 0.1 + 0.2] {
            let text = format_number(value);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
            assert!(text.len() <= 24, "{text}");
        }
    }
}
