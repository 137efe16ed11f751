//! Files made to do harm: damaged where only a checksum shows it, or with lengths that would take the machine's
//! memory. Each is refused with an error that says what is wrong, without the memory being taken.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, NullArray, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use paretau_data::{BatchReader, ReadOptions, read};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use zip::write::SimpleFileOptions;

/// Reads the bytes under a name, whole and in batches; both must be refused with the words.
fn refused(name: &str, bytes: &[u8], words: &[&str]) {
    refused_within(name, bytes, &ReadOptions::default(), words);
}

fn refused_within(name: &str, bytes: &[u8], options: &ReadOptions, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let whole = read(&path, options).map(|t| t.n_rows());
    let batches = BatchReader::open(&path, options, 8)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map(|batches| batches.iter().map(paretau_data::Table::n_rows).sum());
    for got in [whole, batches] {
        let text = got.unwrap_err().to_string();
        assert_eq!(text.lines().count(), 1, "{name}: {text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{name}: {text:?} lacks {word:?}"));
    }
}

fn accepted(name: &str, bytes: &[u8], rows: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().n_rows(), rows, "{name}");
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values);
    bytes
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn integers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn archive(members: &[(&str, Vec<u8>)], packed: bool) -> Vec<u8> {
    let method = if packed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let mut writer = zip::ZipWriter::new(Cursor::new(vec![]));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A sparse archive of 2 rows with the given column indices and width.
fn sparse(indices: &[i64], shape: &[i64], indptr: &[i64]) -> Vec<u8> {
    let values = vec![1.0; indices.len()];
    let array = |v: &[i64]| npy("<i8", &format!("({},)", v.len()), &integers(v));
    let members = [
        ("data.npy", npy("<f8", &format!("({},)", values.len()), &floats(&values))),
        ("indices.npy", array(indices)),
        ("indptr.npy", array(indptr)),
        ("shape.npy", array(shape)),
    ];
    archive(&members, true)
}

fn find(bytes: &[u8], pattern: &[u8]) -> usize {
    bytes.windows(pattern.len()).position(|w| w == pattern).unwrap()
}

#[test]
fn a_zip_checksum_is_verified() {
    let members = [("x.npy", npy("<f8", "(3,)", &floats(&[1.0, 2.0, 3.0])))];
    let sound = archive(&members, false);
    accepted("f.npz", &sound, 3);
    let mut damaged = sound;
    let at = find(&damaged, &2.0_f64.to_le_bytes());
    damaged[at + 6] ^= 0x10;
    refused("f.npz", &damaged, &["checksum", "`x`", "again"]);
}

#[test]
fn overlapping_zip_members_are_refused() {
    let members =
        [("x.npy", npy("<f8", "(2,)", &floats(&[1.0, 2.0]))), ("y.npy", npy("<f8", "(2,)", &floats(&[1.0, 2.0])))];
    let mut bytes = archive(&members, false);
    // The second entry of the directory points at the first member.
    let entries: Vec<usize> = (0..bytes.len() - 4).filter(|&k| bytes[k..].starts_with(b"PK\x01\x02")).collect();
    bytes[entries[1] + 42..entries[1] + 46].fill(0);
    refused("f.npz", &bytes, &["damaged"]);
}

#[test]
fn an_archive_that_unpacks_beyond_the_limit_is_refused() {
    let bomb = archive(&[("x.npy", npy("<f8", "(1000000,)", &vec![0; 8_000_000]))], true);
    assert!(bomb.len() < 20_000);
    let options = ReadOptions { max_memory: 1 << 20, ..ReadOptions::default() };
    refused_within("f.npz", &bomb, &options, &["array `x`", "15.3 MiB", "limit of 1.0 MiB", "--max-memory"]);
}

#[test]
fn a_shape_that_contradicts_the_data_is_refused() {
    let short = archive(&[("x.npy", npy("<f8", "(2,)", &floats(&[1.0, 2.0, 3.0])))], true);
    refused("f.npz", &short, &["`x`", "16 bytes", "24"]);
    let huge = archive(&[("x.npy", npy("<f8", "(600000000,)", &floats(&[1.0])))], true);
    refused("f.npz", &huge, &["`x`", "4800000000 bytes"]);
}

#[test]
fn sparse_archives_are_checked() {
    accepted("f.npz", &sparse(&[0, 2, 1], &[2, 3], &[0, 2, 3]), 2);
    refused("f.npz", &sparse(&[0, 2, -1], &[2, 3], &[0, 2, 3]), &["indices", "row 2", "-1"]);
    refused("f.npz", &sparse(&[0, 3, 1], &[2, 3], &[0, 2, 3]), &["indices", "row 1", "3"]);
    refused("f.npz", &sparse(&[0, 2, 1], &[9, 3], &[0, 2, 3]), &["indptr", "9 rows"]);
    refused("f.npz", &sparse(&[0, 2, 1], &[2, -3], &[0, 2, 3]), &["shape"]);
    refused("f.npz", &sparse(&[0, 2, 1], &[2, 3], &[0, -2, 3]), &["indptr"]);
    refused("f.npz", &sparse(&[0, 2, 1], &[2, 9_999_999], &[0, 2, 3]), &["9999999 columns", "3 values"]);
}

#[test]
fn a_huge_index_does_not_make_a_huge_table() {
    refused("f.svm", b"1 0 1:1\n2 1 10000000:1\n", &["row 2", "10000000 columns", "2 values", "without large gaps"]);
    refused("f.svm", b"1 0 1:1\n2 1 4294967295:1\n", &["row 2", "4294967295"]);
    refused("f.svm", b"1 0 1:1\n2 1 -3:1\n", &["row 2", "-3:1"]);
    refused("f.csv.x", b"2,9999999,0\n1,1,4\n2,3,1\n", &["9999999 columns"]);
    refused("f.csv.x", b"4000000000,3,0\n4000000000,1,4\n", &["4000000000 rows"]);
    let mut wide = String::new();
    (0..2000).for_each(|i| writeln!(wide, "{i} {} {}:1", i % 2, 100 * i + 1).unwrap());
    accepted("f.svm", wide.as_bytes(), 2000);
}

#[test]
fn text_beyond_the_limit_is_refused() {
    let text = format!("a,b\n{}", "1,2\n".repeat(500_000));
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { max_memory: 1 << 20, ..ReadOptions::default() };
    for (name, bytes) in [("f.csv.gz", gzip.finish().unwrap()), ("f.csv", text.into_bytes())] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = read(&path, &options).map(|t| t.n_rows()).unwrap_err().to_string();
        assert!(error.contains("--max-memory") && !error.contains("damaged"), "{error}");
        // Batches take the same memory whatever the length of the file.
        let rows: usize = BatchReader::open(&path, &options, 1000).unwrap().map(|t| t.unwrap().n_rows()).sum();
        assert_eq!(rows, 500_000);
    }
}

#[test]
fn a_long_gzip_that_is_cut_short_is_refused_and_not_shortened() {
    // Long enough that whole pieces of the text come before the cut.
    let mut text = "a,b\n".to_owned();
    (0..400_000_u32).for_each(|i| writeln!(text, "{},{}", i.wrapping_mul(2_654_435_761), i % 7).unwrap());
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    for cut in [bytes.len() / 2, bytes.len() - 100] {
        refused("f.csv.gz", &bytes[..cut], &["cut short or damaged"]);
    }
}

fn batch(n: usize) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Float64, true)]));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.25; n]));
    RecordBatch::try_new(schema, vec![values]).unwrap()
}

/// An Arrow file or stream of one compressed batch.
fn arrow(stream: bool) -> Vec<u8> {
    let batch = batch(1000);
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let mut out = vec![];
    if stream {
        let mut writer = StreamWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    out
}

#[test]
fn eight_bytes_of_a_compressed_arrow_file_take_no_memory() {
    for stream in [false, true] {
        let sound = arrow(stream);
        accepted("f.arrow", &sound, 1000);
        // The unpacked size in front of the LZ4 frame.
        let at = find(&sound, &8000_i64.to_le_bytes());
        for claim in [1_i64 << 62, 1 << 40, 1 << 33, 8_000_000, i64::MIN] {
            let mut forged = sound.clone();
            forged[at..at + 8].copy_from_slice(&claim.to_le_bytes());
            refused("f.arrow", &forged, &["claim to unpack to", &claim.to_string()]);
        }
        for cut in (0..sound.len()).step_by(7) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("f.arrow");
            std::fs::write(&path, &sound[..cut]).unwrap();
            // A stream may end anywhere between its messages, but never with rows that were not there.
            assert!(read(&path, &ReadOptions::default()).is_err() || (stream && cut > sound.len() - 16), "{cut}");
        }
    }
}

#[test]
fn rows_that_an_arrow_batch_cannot_hold_are_refused() {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Null, true)]));
    let rows = 77_777;
    let nulls: ArrayRef = Arc::new(NullArray::new(rows));
    let batch = RecordBatch::try_new(schema, vec![nulls]).unwrap();
    let mut out = vec![];
    let mut writer = FileWriter::try_new(&mut out, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    accepted("f.arrow", &out, rows);
    let (old, new) = ((rows as i64).to_le_bytes(), (1_i64 << 33).to_le_bytes());
    for at in 0..out.len() - 8 {
        if out[at..].starts_with(&old) {
            out[at..at + 8].copy_from_slice(&new);
        }
    }
    refused("f.arrow", &out, &["8589934592 rows"]);
}

fn parquet_bytes(n: usize, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let batch = batch(n);
    let mut out = vec![];
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    out
}

fn zigzag(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut out = vec![];
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

fn read_varint(bytes: &[u8], at: &mut usize) -> i64 {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
        }
    }
}

/// The same file with the checksum of its one page in the page's header, as other writers put it there.
fn with_page_checksum(plain: &[u8]) -> Vec<u8> {
    // Type, unpacked and packed size are the first three fields; the next one is the data page's header (5).
    let mut at = 4;
    let mut sizes = vec![];
    for _ in 0..3 {
        assert_eq!(plain[at], 0x15);
        at += 1;
        sizes.push(read_varint(plain, &mut at));
    }
    assert_eq!(plain[at], 0x2c);
    let footer = u32::from_le_bytes(plain[plain.len() - 8..plain.len() - 4].try_into().unwrap()) as usize;
    let pages_end = plain.len() - 8 - footer;
    let page = &plain[pages_end - usize::try_from(sizes[2]).unwrap()..pages_end];
    let mut crc = flate2::Crc::new();
    crc.update(page);
    let mut out = plain[..at].to_vec();
    out.push(0x15);
    out.extend(zigzag(i64::from(crc.sum().cast_signed())));
    out.push(0x1c);
    out.extend(&plain[at + 1..pages_end]);
    // The column's size in the footer grows by as much, in as many digits.
    let grown = (out.len() - pages_end) as i64;
    let size = pages_end as i64 - 4;
    let (old, new) = (zigzag(size), zigzag(size + grown));
    assert_eq!(old.len(), new.len());
    let mut tail = plain[pages_end..].to_vec();
    for k in 0..tail.len() - old.len() {
        if tail[k..].starts_with(&old) {
            tail[k..k + new.len()].copy_from_slice(&new);
        }
    }
    out.extend(tail);
    out
}

#[test]
fn parquet_page_checksums_are_verified() {
    let sound = with_page_checksum(&parquet_bytes(300, Compression::UNCOMPRESSED));
    accepted("f.parquet", &sound, 300);
    let mut damaged = sound;
    let at = find(&damaged, &0.25_f64.to_le_bytes());
    damaged[at + 6] ^= 0x10;
    refused("f.parquet", &damaged, &["CRC checksum mismatch", "again"]);
}

#[test]
fn a_parquet_page_takes_no_more_memory_than_it_can_fill() {
    let sound = parquet_bytes(300, Compression::SNAPPY);
    accepted("f.parquet", &sound, 300);
    // A page header with the largest unpacked size, in as many bytes as the old header had.
    let mut at = 5;
    read_varint(&sound, &mut at);
    let start = at + 1;
    assert_eq!(sound[at], 0x15);
    at = start;
    let old = read_varint(&sound, &mut at);
    assert!(old > 2000);
    let most = (1_i64 << (7 * (at - start) - 2)) + 12_345;
    let mut forged = sound.clone();
    forged[start..at].copy_from_slice(&zigzag(most)[..at - start]);
    if zigzag(most).len() == at - start {
        let options = ReadOptions { max_memory: 4096, ..ReadOptions::default() };
        refused_within("f.parquet", &forged, &options, &["claims to unpack to"]);
    }
    let options = ReadOptions { max_memory: 1000, ..ReadOptions::default() };
    refused_within("f.parquet", &sound, &options, &["one page of each of its columns", "--max-memory"]);
}

#[test]
fn a_parquet_row_count_that_contradicts_the_data_is_refused() {
    let sound = parquet_bytes(300, Compression::UNCOMPRESSED);
    let footer = u32::from_le_bytes(sound[sound.len() - 8..sound.len() - 4].try_into().unwrap()) as usize;
    let (old, new) = (zigzag(300), zigzag(299));
    let start = sound.len() - 8 - footer;
    let places: Vec<usize> = (start..sound.len() - 8).filter(|&k| sound[k..].starts_with(&old)).collect();
    // The count stands with the file, with the row group and with the column; any one of them alone contradicts.
    assert!(places.len() >= 3, "{places:?}");
    for &at in &places {
        let mut forged = sound.clone();
        forged[at..at + new.len()].copy_from_slice(&new);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.parquet");
        std::fs::write(&path, &forged).unwrap();
        match read(&path, &ReadOptions::default()) {
            Ok(table) => assert_eq!(table.n_rows(), 300),
            Err(error) => assert!(error.to_string().contains("damaged"), "{error}"),
        }
    }
}

#[test]
fn a_hit_byte_anywhere_ends_in_a_table_or_an_error() {
    let files: HashMap<&str, Vec<u8>> = HashMap::from([
        ("f.arrow", arrow(false)),
        ("f.parquet", parquet_bytes(50, Compression::SNAPPY)),
        ("f.npz", sparse(&[0, 2, 1], &[2, 3], &[0, 2, 3])),
    ]);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        for at in (0..bytes.len()).step_by(5) {
            let mut hit = bytes.clone();
            hit[at] = hit[at].wrapping_add(0x7f);
            std::fs::write(&path, &hit).unwrap();
            let _ = read(Path::new(&path), &ReadOptions::default());
        }
    }
}
