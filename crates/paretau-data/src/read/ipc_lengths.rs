//! The lengths that an Arrow file claims, checked before the decoder allocates by them. The decoder takes the
//! unpacked size of a compressed buffer from eight bytes of the file, and a wrong one would abort the process.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use arrow_ipc::{Message, RecordBatch, root_as_footer, root_as_message};
use paretau_core::{Error, Result};

use super::limit::Budget;
use super::parquet::damaged;
use super::source::open;

/// LZ4 writes at most this many bytes for each byte that it reads.
const LZ4_RATIO: u64 = 255;
/// Rows that a batch may have although it has no buffers at all (columns of nulls).
const FREE_ROWS: u64 = 100_000;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Refuses a file in which a length goes beyond the file, beyond what its bytes can unpack to, or beyond the memory
/// limit for one batch.
pub(super) fn check(path: &Path, is_stream: bool, max_memory: u64) -> Result<()> {
    let file = open(path)?;
    let Some(size) = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len()) else { return Ok(()) };
    let mut scan =
        Scan { path, file: BufReader::with_capacity(1 << 12, file), size, budget: Budget::new(path, max_memory) };
    if is_stream { scan.stream() } else { scan.blocks() }
}

struct Scan<'a> {
    path: &'a Path,
    file: BufReader<File>,
    size: u64,
    budget: Budget<'a>,
}

impl Scan<'_> {
    fn damaged(&self, why: &dyn std::fmt::Display) -> Error {
        damaged(self.path, why)
    }

    fn at(&mut self, place: u64, out: &mut [u8]) -> Result<()> {
        let here = self.file.stream_position().map_err(|e| self.damaged(&e))?;
        // A relative move keeps what has been read ahead.
        let moved = self.file.seek_relative(place.wrapping_sub(here).cast_signed());
        moved.and_then(|()| self.file.read_exact(out)).map_err(|e| self.damaged(&e))
    }

    /// `n` bytes of the file, which must have them.
    fn bytes(&mut self, place: u64, n: u64) -> Result<Vec<u8>> {
        if place.checked_add(n).is_none_or(|end| end > self.size) {
            return Err(self.damaged(&format!("a length of {n} bytes goes beyond its end")));
        }
        let mut out = vec![0; usize::try_from(n).map_err(|e| self.damaged(&e))?];
        self.at(place, &mut out)?;
        Ok(out)
    }

    /// All messages that the footer of a file lists.
    fn blocks(&mut self) -> Result<()> {
        let tail = self.bytes(self.size.saturating_sub(10), 10.min(self.size))?;
        let Some((length, _)) = tail.split_first_chunk::<4>() else {
            return Err(self.damaged(&"its footer is missing"));
        };
        let length = u64::try_from(i32::from_le_bytes(*length)).map_err(|e| self.damaged(&e))?;
        let Some(start) = self.size.checked_sub(10 + length) else {
            return Err(self.damaged(&"its footer is longer than the file"));
        };
        let footer = self.bytes(start, length)?;
        let footer = root_as_footer(&footer).map_err(|e| self.damaged(&format!("its footer: {e:?}")))?;
        let mut total = 0_u64;
        for block in footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten()) {
            let claims = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()].map(u64::try_from);
            let [Ok(offset), Ok(metadata), Ok(body)] = claims else {
                return Err(self.damaged(&"its footer holds a negative length"));
            };
            // A block that is listed again and again would be decoded again and again.
            total = total.saturating_add(metadata).saturating_add(body);
            let end = offset.checked_add(metadata).and_then(|end| end.checked_add(body));
            if end.is_none_or(|end| end > self.size) || total > self.size {
                return Err(self.damaged(&"its footer lists blocks beyond the file"));
            }
            let header = self.bytes(offset, metadata)?;
            let prefix = if header.starts_with(&CONTINUATION) { 8 } else { 4 };
            let message = root_as_message(header.get(prefix..).unwrap_or_default());
            let message = message.map_err(|e| self.damaged(&format!("a message: {e:?}")))?;
            self.message(message, offset + metadata, body)?;
        }
        Ok(())
    }

    /// All messages of a stream, one behind the other.
    fn stream(&mut self) -> Result<()> {
        let mut place = 0_u64;
        // A stream may end without its end mark.
        while self.size.saturating_sub(place) >= 8 {
            let head = self.bytes(place, 8)?;
            let (marked, length) = match head.split_first_chunk::<4>() {
                Some((mark, rest)) if *mark == CONTINUATION => (8, rest),
                _ => (4, &head[..4]),
            };
            let length = i32::from_le_bytes(length.try_into().unwrap_or_default());
            let length = u64::try_from(length).map_err(|e| self.damaged(&e))?;
            if length == 0 {
                return Ok(());
            }
            let header = self.bytes(place + marked, length)?;
            let message = root_as_message(&header).map_err(|e| self.damaged(&format!("a message: {e:?}")))?;
            let body = u64::try_from(message.bodyLength()).map_err(|e| self.damaged(&e))?;
            let start = place + marked + length;
            if start.checked_add(body).is_none_or(|end| end > self.size) {
                return Err(self.damaged(&format!("a body of {body} bytes goes beyond its end")));
            }
            self.message(message, start, body)?;
            place = start + body;
        }
        Ok(())
    }

    fn message(&mut self, message: Message<'_>, start: u64, body: u64) -> Result<()> {
        let dictionary = message.header_as_dictionary_batch();
        match message.header_as_record_batch().or_else(|| dictionary.and_then(|d| d.data())) {
            Some(batch) => self.batch(&batch, start, body),
            None => Ok(()),
        }
    }

    fn batch(&mut self, batch: &RecordBatch<'_>, start: u64, body: u64) -> Result<()> {
        let compressed = batch.compression().is_some();
        let mut unpacked = 0_u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let (Ok(offset), Ok(length)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length())) else {
                return Err(self.damaged(&"a buffer has a negative length"));
            };
            if offset.checked_add(length).is_none_or(|end| end > body) {
                return Err(self.damaged(&"a buffer goes beyond its batch"));
            }
            let claimed = if compressed && length >= 8 { self.claim(start + offset, length - 8)? } else { length };
            unpacked = unpacked.saturating_add(claimed);
        }
        let Ok(rows) = u64::try_from(batch.length()) else {
            return Err(self.damaged(&"a batch has a negative number of rows"));
        };
        // Every row takes at least one bit of some buffer, unless all columns are of type null.
        if rows > unpacked.saturating_mul(8).saturating_add(FREE_ROWS) {
            return Err(self.damaged(&format!("a batch claims {rows} rows, but holds {unpacked} bytes")));
        }
        let columns = batch.nodes().map_or(0, |nodes| nodes.len() as u64);
        let table = rows.saturating_mul(columns).saturating_mul(8);
        self.budget.check("a batch of its rows", unpacked.saturating_add(table))
    }

    /// The unpacked size that a compressed buffer claims in front of its `packed` bytes.
    fn claim(&mut self, place: u64, packed: u64) -> Result<u64> {
        let mut prefix = [0; 8];
        self.at(place, &mut prefix)?;
        match i64::from_le_bytes(prefix) {
            // Not compressed after all.
            -1 => Ok(packed),
            claimed => match u64::try_from(claimed) {
                Ok(claimed) if claimed <= packed.saturating_mul(LZ4_RATIO) => Ok(claimed),
                _ => Err(self.damaged(&format!("{packed} bytes claim to unpack to {claimed}"))),
            },
        }
    }
}
