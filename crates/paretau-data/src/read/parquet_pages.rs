//! The sizes that the page headers of a Parquet file claim, checked before the decoder allocates by them: a page
//! header is a few bytes, and the decoder makes room for whatever unpacked size and dictionary length stand there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use paretau_core::Result;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::limit::Budget;
use super::parquet::damaged;
use super::source::open;

/// Bytes of a page header that are read at first, and at most (statistics of long texts stand there).
const WINDOW: u64 = 256;
const MAX_HEADER: u64 = 16 << 20;

/// Refuses a file whose pages claim to unpack to more than their bytes can, or whose largest pages together go beyond
/// the memory limit. `wanted` tells the places of the columns that will be read.
pub(super) fn check(
    path: &Path,
    metadata: &ParquetMetaData,
    wanted: impl Fn(usize) -> bool,
    max_memory: u64,
) -> Result<()> {
    let mut file = open(path)?;
    let size = file.metadata().map_or(0, |m| m.len());
    // One page and one dictionary of every column are in memory at a time.
    let mut largest: Vec<u64> = vec![];
    for group in metadata.row_groups() {
        largest.resize(group.columns().len().max(largest.len()), 0);
        for (leaf, chunk) in group.columns().iter().enumerate().filter(|(leaf, _)| wanted(*leaf)) {
            // A place and a length of a chunk; the crate's own accessor panics on negative ones.
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
                return Err(damaged(path, &"a column lies before its start"));
            };
            let Some(end) = start.checked_add(length).filter(|&end| end <= size) else {
                return Err(damaged(path, &"a column lies beyond its end"));
            };
            let mut place = start;
            while place < end {
                let (claims, header) = read_header(path, &mut file, place, end)?;
                let packed = u64::try_from(claims.packed).ok().filter(|n| place + header + n <= end);
                let unpacked = u64::try_from(claims.unpacked).ok();
                let (Some(packed), Some(unpacked)) = (packed, unpacked) else {
                    return Err(damaged(path, &"a page is longer than its column"));
                };
                if most(chunk.compression(), packed).is_some_and(|most| unpacked > most) {
                    return Err(damaged(path, &format!("a page of {packed} bytes claims to unpack to {unpacked}")));
                }
                // Every value of a dictionary takes at least one byte of its page.
                if u64::try_from(claims.dictionary).is_ok_and(|n| n > unpacked) || claims.dictionary < 0 {
                    let why = format!("a dictionary claims {} values in {unpacked} bytes", claims.dictionary);
                    return Err(damaged(path, &why));
                }
                largest[leaf] = largest[leaf].max(unpacked);
                place += header + packed;
            }
        }
    }
    let together = largest.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
    Budget::new(path, max_memory).check("one page of each of its columns", together)
}

/// The most bytes that `packed` bytes of a codec can unpack to, where there is a bound worth the name.
fn most(codec: Compression, packed: u64) -> Option<u64> {
    let ratio = match codec {
        Compression::UNCOMPRESSED => 1,
        // A copy of up to 64 bytes takes 3.
        Compression::SNAPPY => 22,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::GZIP(_) => 1033,
        _ => return None,
    };
    // The levels of a page may stand uncompressed before it, and a short stream has a header.
    Some(packed.saturating_mul(ratio).saturating_add(1024))
}

/// What a page header claims.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Claims {
    packed: i64,
    unpacked: i64,
    /// Values of a dictionary page, 0 for others.
    dictionary: i64,
}

/// The claims of the header at `place`, and its own length.
fn read_header(path: &Path, file: &mut File, place: u64, end: u64) -> Result<(Claims, u64)> {
    let mut window = WINDOW;
    loop {
        let length = window.min(end - place);
        let mut bytes = vec![];
        file.seek(SeekFrom::Start(place)).map_err(|e| damaged(path, &e))?;
        file.by_ref().take(length).read_to_end(&mut bytes).map_err(|e| damaged(path, &e))?;
        let mut thrift = Thrift { bytes: &bytes, at: 0 };
        if let Some(claims) = thrift.page_header() {
            return Ok((claims, thrift.at as u64));
        }
        if length < window || window >= MAX_HEADER {
            return Err(damaged(path, &"a page header does not parse"));
        }
        window *= 8;
    }
}

/// As much of Thrift's compact protocol as a page header takes.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Structs in structs; a page header has three.
const MAX_DEPTH: usize = 8;
const STOP: u8 = 0;
const I32: u8 = 5;
const STRUCT: u8 = 12;

impl Thrift<'_> {
    fn page_header(&mut self) -> Option<Claims> {
        let mut claims = Claims::default();
        let mut id = 0;
        loop {
            let kind = self.field(&mut id)?;
            match (id, kind) {
                (_, STOP) => return Some(claims),
                (2, I32) => claims.unpacked = self.integer()?,
                (3, I32) => claims.packed = self.integer()?,
                (7, STRUCT) => {
                    let mut id = 0;
                    loop {
                        let kind = self.field(&mut id)?;
                        match (id, kind) {
                            (_, STOP) => break,
                            (1, I32) => claims.dictionary = self.integer()?,
                            (_, kind) => self.skip(kind, 2)?,
                        }
                    }
                }
                (_, kind) => self.skip(kind, 1)?,
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let v = self.varint()?;
        Some((v >> 1).cast_signed() ^ -(v & 1).cast_signed())
    }

    /// The type of the next field, whose number goes to `id`; [`STOP`] at the end of the struct.
    fn field(&mut self, id: &mut i64) -> Option<u8> {
        let byte = self.byte()?;
        if byte == STOP {
            return Some(STOP);
        }
        *id = match byte >> 4 {
            0 => self.integer()?,
            delta => id.checked_add(i64::from(delta))?,
        };
        // A field that is numbered but has no type is no field.
        Some(byte & 0x0f).filter(|&kind| kind != STOP)
    }

    fn advance(&mut self, n: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(n).ok()?).filter(|&at| at <= self.bytes.len())?;
        Some(())
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let n = self.varint()?;
                self.advance(n)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let n = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                // Booleans in a list take a byte each, and nothing takes none: a long count runs out of bytes.
                (0..n).try_for_each(|_| match byte & 0x0f {
                    1 | 2 => self.advance(1),
                    kind => self.skip(kind, depth + 1),
                })
            }
            STRUCT => {
                let mut id = 0;
                loop {
                    match self.field(&mut id)? {
                        STOP => return Some(()),
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_taken_apart_and_a_broken_one_ends() {
        // type 2 (dictionary), unpacked 300, packed 20, crc -1, dictionary header { 70 values, encoding 0 }.
        let bytes = [0x15, 0x04, 0x15, 0xd8, 0x04, 0x15, 0x28, 0x15, 0x01, 0x3c, 0x15, 0x8c, 0x01, 0x15, 0x00, 0, 0, 9];
        let mut thrift = Thrift { bytes: &bytes, at: 0 };
        assert_eq!(thrift.page_header(), Some(Claims { packed: 20, unpacked: 300, dictionary: 70 }));
        assert_eq!(thrift.at, bytes.len() - 1);
        for cut in 0..bytes.len() - 1 {
            assert_eq!(Thrift { bytes: &bytes[..cut], at: 0 }.page_header(), None, "{cut}");
        }
        // A list of 2^60 structs that are not there.
        let list = [0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(Thrift { bytes: &list, at: 0 }.page_header(), None);
    }
}
