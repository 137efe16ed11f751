//! The second pass over a table larger than memory: rows are dealt to blocks by a seeded hash, so that a block is a random part
//! of all rows, however the file is sorted. Rows of one group go to one block.

use std::ops::Range;
use std::path::Path;

use paretau_core::{Error, Result, Seed};

use super::census::Census;
use super::counted::bits_of;
use super::recoded::Recoded;
use super::store::ScratchFile;
use super::{mix, row_hash};
use crate::interner::Interner;
use crate::read::{BatchReader, ReadOptions, Watch};
use crate::table::{ColumnData, Kind, Table, TableColumn, Text};

/// Memory that rows may take before they are written, all blocks together.
const BUFFERS: usize = 64 << 20;
/// Rows of a chunk, at most and at least.
const MOST_ROWS: usize = 8192;
const FEWEST_ROWS: usize = 16;

/// A table's rows on the disk, dealt to blocks.
#[derive(Debug)]
pub struct RowBlocks {
    store: ScratchFile,
    columns: Vec<Column>,
    rows: Vec<usize>,
    /// Without rows: where the table came from.
    facts: Table,
}

/// A column that is kept.
#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
    levels: Vec<String>,
}

/// Rows of one block that wait to be written.
#[derive(Debug, Clone)]
struct Waiting {
    rows: Vec<u64>,
    cells: Vec<ColumnData>,
}

impl RowBlocks {
    /// Reads the table of a census again and deals the columns that its roles name to `n_blocks` blocks. They are kept in a
    /// file without a name in `folder`.
    pub fn deal(census: &Census, n_blocks: usize, seed: Seed, folder: &Path, watch: &mut Watch<'_>) -> Result<Self> {
        let roles = census.roles();
        let wanted = |name: &String| {
            roles.features.iter().flatten().any(|f| f == name) || roles.named().iter().any(|(_, n)| n == name)
        };
        let kept: Vec<usize> = (0..census.counted.len()).filter(|&j| wanted(&census.counted[j].name)).collect();
        let mut fields = census.options.fields.clone();
        fields.retain(|field| wanted(&field.name));
        let options = ReadOptions { fields, only_fields: true, ..census.options.clone() };
        let columns: Vec<Column> = kept
            .iter()
            .map(|&j| &census.counted[j])
            .map(|own| Column { name: own.name.clone(), kind: own.kind, levels: own.levels().to_vec() })
            .collect();
        let stands: Vec<Option<Vec<u32>>> = kept.iter().map(|&j| census.counted[j].stands()).collect();
        let mut dictionaries: Vec<Interner> = columns.iter().map(|_| Interner::default()).collect();
        let per_row = 8 * (columns.len() + 1);
        let chunk = (BUFFERS / (n_blocks.max(1) * per_row)).clamp(FEWEST_ROWS, MOST_ROWS);
        let mut waiting = vec![Waiting::new(&columns); n_blocks];
        let mut blocks = Self {
            store: ScratchFile::new(folder, n_blocks)?,
            columns,
            rows: vec![0; n_blocks],
            facts: census.facts.clone(),
        };
        blocks.facts.source.parts.clone_from(&census.parts);
        let mut row = 0_u64;
        let mut reader = BatchReader::open(&census.path, &options, super::batch_rows(kept.len()))?;
        while let Some(batches) = reader.next_batches() {
            for batch in batches? {
                let units = match &roles.group {
                    Some(group) => Some(group_hashes(batch.require(group)?)),
                    None => None,
                };
                let mut cells = Vec::with_capacity(blocks.columns.len());
                for (column, dictionary) in blocks.columns.iter().zip(&mut dictionaries) {
                    cells.push(Recoded::of(batch.require(&column.name)?, dictionary));
                }
                for ((cells, stands), column) in cells.iter_mut().zip(&stands).zip(&blocks.columns) {
                    if let (Recoded::Text(codes), Some(stands)) = (cells, stands) {
                        for code in codes.iter_mut().filter(|code| **code != Text::MISSING) {
                            *code = *stands.get(*code as usize).ok_or_else(|| census.changed(Some(&column.name)))?;
                        }
                    }
                }
                for i in 0..batch.n_rows() {
                    let unit = units.as_ref().map_or_else(|| row_hash(row), |units| units[i]);
                    let spread = mix(unit ^ seed.0);
                    let block = ((u128::from(spread) * n_blocks as u128) >> 64) as usize;
                    let own = &mut waiting[block];
                    own.rows.push(row);
                    own.cells.iter_mut().zip(&cells).for_each(|(column, cells)| cells.push_to(i, column));
                    if own.rows.len() >= chunk {
                        blocks.write(block, own)?;
                    }
                    row += 1;
                }
            }
            watch(reader.position())?;
        }
        if row != census.n_rows as u64 {
            return Err(census.changed(None));
        }
        for (block, own) in waiting.iter_mut().enumerate() {
            blocks.write(block, own)?;
        }
        Ok(blocks)
    }

    fn write(&mut self, block: usize, waiting: &mut Waiting) -> Result<()> {
        if waiting.rows.is_empty() {
            return Ok(());
        }
        self.rows[block] += waiting.rows.len();
        self.store.add(block, &waiting.to_bytes())?;
        waiting.rows.clear();
        waiting.cells.iter_mut().for_each(|cells| match cells {
            ColumnData::Number(values) => values.to_mut().clear(),
            ColumnData::Text(text) => text.codes.clear(),
        });
        Ok(())
    }

    /// Rows of each block.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Bytes on the disk.
    pub fn written(&self) -> u64 {
        self.store.written()
    }

    /// The rows of a block as a table, in the order of the files.
    pub fn read(&mut self, block: usize) -> Result<Table> {
        self.read_several(block..block + 1)
    }

    /// The rows of neighbouring blocks as a table, one block after the other.
    pub fn read_several(&mut self, blocks: Range<usize>) -> Result<Table> {
        let n = blocks.clone().map(|block| self.rows.get(block).copied().unwrap_or(0)).sum();
        let mut rows: Vec<usize> = Vec::with_capacity(n);
        let mut cells: Vec<ColumnData> = Waiting::new(&self.columns).cells;
        cells.iter_mut().for_each(|column| match column {
            ColumnData::Number(values) => values.to_mut().reserve_exact(n),
            ColumnData::Text(text) => text.codes.reserve_exact(n),
        });
        for block in blocks {
            self.store.read(block, |bytes| from_bytes(bytes, &mut rows, &mut cells))?;
        }
        let columns = self.columns.iter().zip(cells).map(|(column, data)| match data {
            ColumnData::Number(values) => TableColumn {
                name: column.name.clone(),
                data: ColumnData::Number(values),
                is_date: column.kind == Kind::Date,
            },
            ColumnData::Text(text) => {
                TableColumn::text(&column.name, Text { levels: column.levels.clone(), codes: text.codes })
            }
        });
        let mut table = Table::new(columns.collect())?;
        table.source = self.facts.source.clone();
        table.source.picked = Some(rows);
        table.reading = self.facts.reading.clone();
        Ok(table)
    }
}

impl Census {
    fn changed(&self, column: Option<&str>) -> Error {
        self.error(column, "changed while it was read; read it again")
    }
}

impl Waiting {
    fn new(columns: &[Column]) -> Self {
        let cells = columns.iter().map(|column| match column.kind {
            Kind::Text => ColumnData::Text(Text::default()),
            Kind::Number | Kind::Date => ColumnData::Number(vec![].into()),
        });
        Self { rows: vec![], cells: cells.collect() }
    }

    /// The number of rows, the rows, then column by column how wide a cell is and the cells.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 * (self.rows.len() + 1) * (self.cells.len() + 1));
        out.extend((self.rows.len() as u64).to_le_bytes());
        self.rows.iter().for_each(|row| out.extend(row.to_le_bytes()));
        for cells in &self.cells {
            match cells {
                ColumnData::Text(text) => text.codes.iter().for_each(|code| out.extend(code.to_le_bytes())),
                ColumnData::Number(values) => {
                    let values = values.contiguous();
                    let width = width(&values);
                    out.push(width);
                    match width {
                        BYTE => values.iter().for_each(|&v| out.push(v as u8)),
                        SINGLE => values.iter().for_each(|&v| out.extend((v as f32).to_le_bytes())),
                        _ => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
                    }
                }
            }
        }
        out
    }
}

/// Widths of numbers on the disk: the narrowest that keeps every bit.
const BYTE: u8 = 1;
const SINGLE: u8 = 4;
const DOUBLE: u8 = 8;

fn width(values: &[f64]) -> u8 {
    if values.iter().all(|&v| f64::from(v as u8).to_bits() == v.to_bits()) {
        BYTE
    } else if values.iter().all(|&v| f64::from(v as f32).to_bits() == v.to_bits()) {
        SINGLE
    } else {
        DOUBLE
    }
}

fn from_bytes(bytes: &[u8], rows: &mut Vec<usize>, cells: &mut [ColumnData]) -> Result<()> {
    let mut at = 0;
    let mut next = |n: usize| -> Result<&[u8]> {
        let part = bytes.get(at..at + n).ok_or_else(|| Error::internal("a block of rows", "its file is cut short"))?;
        at += n;
        Ok(part)
    };
    let number = |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect::<Vec<_>>();
    let n = number(next(8)?).first().map_or(0, |&n| n as usize);
    rows.extend(number(next(8 * n)?).into_iter().map(|row| row as usize));
    for column in cells {
        match column {
            ColumnData::Text(text) => {
                let codes = next(4 * n)?.as_chunks::<4>().0;
                text.codes.extend(codes.iter().map(|b| u32::from_le_bytes(*b)));
            }
            ColumnData::Number(values) => match next(1)?.first().copied() {
                Some(BYTE) => values.to_mut().extend(next(n)?.iter().map(|&b| f64::from(b))),
                Some(SINGLE) => {
                    values
                        .to_mut()
                        .extend(next(4 * n)?.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))));
                }
                _ => values.to_mut().extend(next(8 * n)?.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b))),
            },
        }
    }
    Ok(())
}

/// A hash of each row's group, by what the cell says.
fn group_hashes(column: &TableColumn) -> Vec<u64> {
    match &column.data {
        ColumnData::Number(values) => values.iter().map(|&v| mix(bits_of(v))).collect(),
        ColumnData::Text(text) => {
            let of_level: Vec<u64> =
                text.levels.iter().map(|l| l.bytes().fold(0x67, |hash, byte| mix(hash ^ u64::from(byte)))).collect();
            text.codes.iter().map(|&code| of_level.get(code as usize).copied().unwrap_or(0)).collect()
        }
    }
}
