//! Just enough of the zip format for NumPy archives: stored and deflated members, with 64-bit sizes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::Path;

use flate2::read::DeflateDecoder;
use paretau_core::Result;

use super::parquet::damaged;
use super::source::open;
use crate::table::file_error;

/// A member of an archive.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    method: u16,
    packed: u64,
    /// Size once unpacked, as the archive claims.
    pub(super) size: u64,
    offset: u64,
}

const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// The members that the archive's directory lists.
pub(super) fn members(path: &Path) -> Result<Vec<Member>> {
    let cut = || damaged(path, &"its directory is missing");
    let mut file = open(path)?;
    let io = |e: std::io::Error| damaged(path, &e);
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    // The end record stands within the last 64 KiB, a comment of any length after it.
    let tail_start = length.saturating_sub(66_000);
    let mut tail = vec![];
    file.seek(SeekFrom::Start(tail_start)).map_err(io)?;
    file.read_to_end(&mut tail).map_err(io)?;
    let end = (0..tail.len().saturating_sub(21)).rev().find(|&k| tail[k..].starts_with(END)).ok_or_else(cut)?;
    let mut count = u64::from(u16_at(&tail, end + 10).ok_or_else(cut)?);
    let mut start = u64::from(u32_at(&tail, end + 16).ok_or_else(cut)?);
    if start == u64::from(u32::MAX) || count == u64::from(u16::MAX) {
        let end64 = (0..end).rev().find(|&k| tail[k..].starts_with(END64)).ok_or_else(cut)?;
        count = u64_at(&tail, end64 + 32).ok_or_else(cut)?;
        start = u64_at(&tail, end64 + 48).ok_or_else(cut)?;
    }
    let mut directory = vec![];
    file.seek(SeekFrom::Start(start.min(length))).map_err(io)?;
    file.take(64 << 20).read_to_end(&mut directory).map_err(io)?;
    let mut found = vec![];
    let mut at = 0;
    for _ in 0..count.min(100_000) {
        let (member, next) = entry(&directory, at).ok_or_else(cut)?;
        found.push(member);
        at = next;
    }
    Ok(found)
}

fn entry(directory: &[u8], at: usize) -> Option<(Member, usize)> {
    if !directory.get(at..)?.starts_with(ENTRY) {
        return None;
    }
    let method = u16_at(directory, at + 10)?;
    let mut packed = u64::from(u32_at(directory, at + 20)?);
    let mut size = u64::from(u32_at(directory, at + 24)?);
    let lengths = [28, 30, 32].map(|k| u16_at(directory, at + k).map(usize::from));
    let [name_len, extra_len, comment_len] = [lengths[0]?, lengths[1]?, lengths[2]?];
    let mut offset = u64::from(u32_at(directory, at + 42)?);
    let name = String::from_utf8_lossy(directory.get(at + 46..at + 46 + name_len)?).into_owned();
    let extra = directory.get(at + 46 + name_len..at + 46 + name_len + extra_len)?;
    let mut k = 0;
    while let (Some(tag), Some(len)) = (u16_at(extra, k), u16_at(extra, k + 2)) {
        if tag == 1 {
            // Only the fields that do not fit their 32 bits stand here, in this order.
            let mut from = k + 4;
            for field in [&mut size, &mut packed, &mut offset] {
                if *field == u64::from(u32::MAX) {
                    *field = u64_at(extra, from)?;
                    from += 8;
                }
            }
        }
        k += 4 + usize::from(len);
    }
    Some((Member { name, method, packed, size, offset }, at + 46 + name_len + extra_len + comment_len))
}

/// A member's bytes, unpacked as they are read.
pub(super) fn open_member(path: &Path, member: &Member) -> Result<Box<dyn Read>> {
    let mut file = open(path)?;
    let mut header = [0; 30];
    let read = file.seek(SeekFrom::Start(member.offset)).and_then(|_| file.read_exact(&mut header));
    read.map_err(|e| damaged(path, &e))?;
    let skip = match (u16_at(&header, 26), u16_at(&header, 28)) {
        (Some(name), Some(extra)) if header.starts_with(LOCAL) => i64::from(name) + i64::from(extra),
        _ => return Err(damaged(path, &format!("`{}` is not where the directory says", member.name))),
    };
    file.seek(SeekFrom::Current(skip)).map_err(|e| damaged(path, &e))?;
    let packed: Take<File> = file.take(member.packed);
    match member.method {
        0 => Ok(Box::new(packed)),
        8 => Ok(Box::new(DeflateDecoder::new(packed))),
        other => Err(file_error(
            path,
            None,
            None,
            format!("`{}` is compressed by method {other}; save it with numpy.savez", member.name),
        )),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
