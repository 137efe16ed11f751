//! Tables between processes: an Arrow IPC stream from which the same table comes back, bit by bit. Workers of a study get
//! their rows this way.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field as ArrowField, Schema};
use paretau_core::{Csr, Error, Result};

use crate::table::{ColumnData, Kind, SparseBlock, Table, TableColumn, Text};
use crate::write::arrow::{record_batch, schema};

/// The mark of what a column is that Arrow's types do not tell.
const ROLE: &str = "paretau";
const DATE: &str = "days since 1970";
const INDICES: &str = "columns of the sparse block";
const VALUES: &str = "values of the sparse block";
/// The names of a sparse block's columns, in the schema's metadata.
const SPARSE_NAMES: &str = "paretau.sparse";

fn failed(error: impl std::fmt::Display) -> Error {
    Error::unfit(format!("the rows cannot be sent to a worker, or came damaged ({error})"))
}

fn marked(name: &str, array: &ArrayRef, role: &str) -> ArrowField {
    let field = ArrowField::new(name, array.data_type().clone(), true);
    if role.is_empty() { field } else { field.with_metadata(HashMap::from([(ROLE.to_owned(), role.to_owned())])) }
}

/// A table as an Arrow IPC stream: numbers with their bits, dates as days, text as dictionaries, a sparse block as lists.
pub fn to_ipc(table: &Table) -> Result<Vec<u8>> {
    let (mut fields, mut arrays, mut metadata) = (vec![], vec![], HashMap::new());
    let mut push = |name: &str, array: ArrayRef, role: &str| {
        fields.push(marked(name, &array, role));
        arrays.push(array);
    };
    for column in table.columns() {
        let role = if column.kind() == Kind::Date { DATE } else { "" };
        push(&column.name, array(column)?, role);
    }
    if let Some(SparseBlock { names, values }) = table.sparse() {
        let mut indices = ListBuilder::new(UInt32Builder::new());
        let mut cells = ListBuilder::new(Float64Builder::new());
        for i in 0..values.n_rows() {
            let (places, row) = values.row(i);
            indices.values().append_slice(places);
            cells.values().append_slice(row);
            indices.append(true);
            cells.append(true);
        }
        push("sparse indices", Arc::new(indices.finish()), INDICES);
        push("sparse values", Arc::new(cells.finish()), VALUES);
        metadata.insert(SPARSE_NAMES.to_owned(), serde_json::to_string(names).map_err(failed)?);
    }
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let options = RecordBatchOptions::new().with_row_count(Some(table.n_rows()));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(failed)?;
    stream(&[batch]).map_err(failed)
}

fn array(column: &TableColumn) -> Result<ArrayRef> {
    Ok(match &column.data {
        // Missing numbers stay what they are, so that every bit comes back.
        ColumnData::Number(values) => Arc::new(Float64Array::from(values.contiguous().into_owned())),
        ColumnData::Text(text) => {
            let keys = text.codes.iter().map(|&code| (code != Text::MISSING).then_some(code));
            let levels = StringArray::from_iter_values(&text.levels);
            let keys: UInt32Array = keys.collect();
            Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(levels)).map_err(failed)?)
        }
    })
}

fn stream(batches: &[RecordBatch]) -> Result<Vec<u8>, ArrowError> {
    let mut out = vec![];
    if let Some(first) = batches.first() {
        let mut writer = StreamWriter::try_new(&mut out, &first.schema())?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
    }
    Ok(out)
}

/// The table of [`to_ipc`].
pub fn from_ipc(bytes: &[u8]) -> Result<Table> {
    let mut reader = StreamReader::try_new(bytes, None).map_err(failed)?;
    let batch = reader.next().ok_or_else(|| failed("no batch"))?.map_err(failed)?;
    let (mut columns, mut indices, mut values) = (vec![], None, None);
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let role = field.metadata().get(ROLE).map_or("", String::as_str);
        match role {
            INDICES => indices = array.as_list_opt::<i32>(),
            VALUES => values = array.as_list_opt::<i32>(),
            _ => columns.push(column(field.name(), array, role == DATE)?),
        }
        if let (Some(_), Some(_)) = (indices, values) {
            break;
        }
    }
    let table = Table::new(columns)?;
    let (Some(indices), Some(values)) = (indices, values) else { return Ok(table) };
    let names = batch.schema_ref().metadata().get(SPARSE_NAMES).ok_or_else(|| failed("a block without names"))?;
    let names: Vec<String> = serde_json::from_str(names).map_err(failed)?;
    let ends = indices.value_offsets().iter().map(|&end| end as usize).collect();
    let (Some(places), Some(cells)) =
        (indices.values().as_primitive_opt::<UInt32Type>(), values.values().as_primitive_opt::<Float64Type>())
    else {
        return Err(failed("a block of another type"));
    };
    let values = Csr::new(batch.num_rows(), names.len(), ends, places.values().to_vec(), cells.values().to_vec())?;
    table.with_sparse(SparseBlock { names, values })
}

fn column(name: &str, array: &ArrayRef, is_date: bool) -> Result<TableColumn> {
    if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        let values = values.values().to_vec();
        return Ok(if is_date { TableColumn::date(name, values) } else { TableColumn::number(name, values) });
    }
    let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(|| failed("a column of another type"))?;
    let levels = dictionary.values().as_string_opt::<i32>().ok_or_else(|| failed("levels of another type"))?;
    let codes = dictionary.keys().iter().map(|key| key.unwrap_or(Text::MISSING)).collect();
    let levels = levels.iter().map(|level| level.unwrap_or_default().to_owned()).collect();
    Ok(TableColumn::text(name, Text { levels, codes }))
}

/// Tables of one schema as an Arrow IPC stream for others to read: as a Parquet or Arrow file of them would be.
pub fn tables_to_ipc(tables: &[Table]) -> Result<Vec<u8>> {
    let Some(first) = tables.first() else { return Ok(vec![]) };
    let schema = schema(&first.fields());
    let batches = tables.iter().map(|table| record_batch(table, &schema)).collect::<std::result::Result<Vec<_>, _>>();
    stream(&batches.map_err(failed)?).map_err(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::numbers::Numbers;

    #[test]
    fn a_table_comes_back_bit_by_bit() {
        let odd = f64::from_bits(0x7ff8_0000_0000_0123);
        let columns = vec![
            TableColumn::number("a", vec![0.1, -0.0, odd]),
            TableColumn::date("day", vec![1.0 / 3.0, f64::NAN, 3.0]),
            TableColumn::text(
                "town",
                Text { levels: vec!["b".into(), "a".into(), "unused".into()], codes: vec![1, Text::MISSING, 0] },
            ),
        ];
        let plain = Table::new(columns).unwrap();
        let values = Csr::new(3, 4, vec![0, 1, 1, 3], vec![2, 0, 3], vec![1.5, -2.0, 1e-300]).unwrap();
        let names = ["p", "q", "r", "s"].map(str::to_owned).to_vec();
        let sparse = plain.clone().with_sparse(SparseBlock { names, values: values.clone() }).unwrap();
        let alone = Table::default().with_sparse(SparseBlock::numbered(values)).unwrap();
        for table in [plain, sparse, alone] {
            let back = from_ipc(&to_ipc(&table).unwrap()).unwrap();
            assert_eq!(back.n_rows(), table.n_rows());
            assert_eq!(back.fields(), table.fields());
            assert_eq!(back.sparse(), table.sparse());
            for (one, other) in back.columns().iter().zip(table.columns()) {
                match (&one.data, &other.data) {
                    (ColumnData::Number(a), ColumnData::Number(b)) => {
                        let bits = |values: &Numbers| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(a), bits(b));
                    }
                    (a, b) => assert_eq!(a, b),
                }
            }
        }
        assert!(from_ipc(b"nothing").is_err());
    }
}
