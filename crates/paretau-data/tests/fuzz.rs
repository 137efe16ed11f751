//! Random and randomly damaged bytes through every reader: an error or a table, never a panic.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use paretau_core::{ErrorKind, Seed};
use paretau_data::simulate::{TrialConfig, trial};
use paretau_data::{BatchReader, Field, Kind, ReadOptions, TableColumn, Text, read, write_table};
use proptest::prelude::*;

const NAMES: [&str; 8] = ["f.csv", "f.csv.gz", "f.tsv", "f.parquet", "f.arrow", "f.npz", "f.svm", "f.csv.x"];

/// Reads the bytes under a name, whole and in batches; only panics fail.
fn feed(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let whole = read(&path, &ReadOptions::default());
    let batches = BatchReader::open(&path, &ReadOptions::default(), 3).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    if let (Ok(table), Ok(batches)) = (&whole, batches) {
        assert_eq!(table.n_rows(), batches.iter().map(paretau_data::Table::n_rows).sum::<usize>(), "{name}");
    }
    // Columns of a given kind take another way through the readers, as prediction does.
    let fields = vec![Field::new("x1", Kind::Number), Field::new("town", Kind::Text), Field::new("day", Kind::Date)];
    let given = ReadOptions { fields, optional: vec![Field::new("t", Kind::Text)], ..ReadOptions::default() };
    for options in [given.clone(), ReadOptions { only_fields: true, ..given }] {
        let batches = BatchReader::open(&path, &options, 3).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        for error in [batches.err(), read(&path, &options).err()].into_iter().flatten() {
            assert_eq!(error.kind(), ErrorKind::Data, "{name}: {error}");
        }
    }
    if let Err(error) = whole {
        assert_eq!(error.kind(), ErrorKind::Data, "{name}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{name}: {error}");
    }
}

/// A small valid file of each written format.
fn valid(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(format!("valid.{name}"));
    if name == "f.npz" {
        return npz();
    }
    if name == "f.svm" {
        return b"1.5 0 1:2 3:4\n2.5 1 2:1\n".to_vec();
    }
    if name == "f.csv.x" {
        return b"2,3,0\n1,1,4\n2,3,1\n".to_vec();
    }
    let s = trial(&TrialConfig { n: 40, d: 3, ..TrialConfig::default() }, Seed(0)).unwrap();
    let towns = Text::from_cells((0..40).map(|i| [Some("Ulm"), Some("Köln"), None][i % 3]));
    let days = (0..40).map(|i| if i % 9 == 0 { f64::NAN } else { 19_000.0 + f64::from(i) }).collect();
    let more = [TableColumn::text("town", towns), TableColumn::date("day", days)];
    let table = s.table().unwrap().beside(paretau_data::Table::new(more.to_vec()).unwrap()).unwrap();
    write_table(&path, &table).unwrap();
    std::fs::read(path).unwrap()
}

/// A stored zip of one 2 by 2 array `x`.
fn npz() -> Vec<u8> {
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    [1.0_f64, 2.0, 3.0, 4.0].iter().for_each(|v| npy.extend(v.to_le_bytes()));
    let size = (npy.len() as u32).to_le_bytes();
    let mut crc = flate2::Crc::new();
    crc.update(&npy);
    let crc = crc.sum().to_le_bytes();
    let common = |out: &mut Vec<u8>| {
        out.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend(crc);
        out.extend(size);
        out.extend(size);
        out.extend([5, 0, 0, 0]);
    };
    let mut file = b"PK\x03\x04".to_vec();
    common(&mut file);
    file.extend(b"x.npy");
    file.extend(&npy);
    let start = file.len() as u32;
    file.extend(b"PK\x01\x02\x14\x00");
    common(&mut file);
    file.extend([0; 10]);
    file.extend(0_u32.to_le_bytes());
    file.extend(b"x.npy");
    let length = file.len() as u32 - start;
    file.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

#[test]
fn the_valid_files_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = folder.path().join(name);
        std::fs::write(&path, valid(folder.path(), name)).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        assert!(table.n_rows() >= 2, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0..8_usize) {
        let folder = tempfile::tempdir().unwrap();
        feed(folder.path(), NAMES[which], &bytes);
    }

    #[test]
    fn random_text_never_panics(text in "[0-9a-z,;:\"\n\r\t .#-]{0,200}", which in 0..8_usize) {
        let folder = tempfile::tempdir().unwrap();
        feed(folder.path(), NAMES[which], text.as_bytes());
    }

    #[test]
    fn damaged_files_never_panic(
        which in 0..8_usize,
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = valid(folder.path(), NAMES[which]);
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        feed(folder.path(), NAMES[which], &bytes);
    }

    #[test]
    fn damaged_text_in_sound_gzip_never_panics(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = valid(folder.path(), "f.csv");
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut zip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        std::io::Write::write_all(&mut zip, &bytes).unwrap();
        feed(folder.path(), "f.csv.gz", &zip.finish().unwrap());
    }

    #[test]
    fn damaged_news_pairs_never_panic(
        which in any::<bool>(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), "[0-9,.x\n-]"), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut pair = [b"2,3,0\n1,1,4\n2,3,1\n".to_vec(), b"1,2.5,1,2,3\n0,1.5,1,2,3\n".to_vec()];
        let damaged = &mut pair[usize::from(which)];
        for (at, text) in hits {
            let at = at.index(damaged.len());
            damaged[at] = text.as_bytes()[0];
        }
        std::fs::write(folder.path().join("f.csv.x"), &pair[0]).unwrap();
        feed(folder.path(), "f.csv.y", &pair[1]);
    }
}
