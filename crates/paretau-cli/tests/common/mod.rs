//! What the tests of the command line share: running the built binary, and making odd files.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

mod schema;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The command, to be run in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paretau"));
    command.current_dir(folder).env("NO_COLOR", "1").env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the command with nothing on its standard input.
pub(crate) fn paretau(folder: &Path, args: &[&str]) -> Output {
    command(folder).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Stdout of a run that must succeed.
pub(crate) fn ok(folder: &Path, args: &[&str]) -> String {
    let out = paretau(folder, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The JSON document of a run that must succeed, which must be one that `paretau schema` describes.
pub(crate) fn json(folder: &Path, args: &[&str]) -> Value {
    let document = serde_json::from_str(&ok(folder, &[args, &["--json", "--quiet"]].concat())).unwrap();
    described(args[0], &document);
    document
}

/// Fails when a command's document is not as `paretau schema` describes it; `error` is the document of any command that fails.
pub(crate) fn described(command: &str, document: &Value) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| serde_json::from_str(&ok(Path::new("."), &["schema"])).unwrap());
    let problems = schema::problems(schema, command, document);
    assert!(problems.is_empty(), "`paretau schema {command}` does not fit: {}", problems.join("\n"));
}

/// Peak memory of a run, in KiB, as the system counts it.
#[cfg(target_os = "linux")]
pub(crate) fn peak(at: &Path, args: &[&str]) -> u64 {
    let mut child = command(at).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut highest = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let now = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        highest = highest.max(now);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success(), "{args:?}");
    highest
}

/// The file of the data folder, or a plain word that the test was skipped.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PARETAU_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    eprintln!("skipped: {name} is not in the data folder");
    None
}

/// The bytes, compressed.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap()
}

/// A NumPy array of a type such as `<f8` and a shape such as `(2, 3)`.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

/// The bytes of numbers.
pub(crate) fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The checksum of zip archives.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// A NumPy archive of the arrays, stored without compression.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let names: Vec<String> = arrays.iter().map(|(name, _)| format!("{name}.npy")).collect();
    let members = names.iter().zip(arrays).map(|(name, (_, bytes))| (name.as_str(), bytes.clone()));
    archive(&members.collect::<Vec<_>>())
}

/// A zip archive of the members, stored without compression.
pub(crate) fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (vec![], vec![]);
    for (name, npy) in members {
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc32(npy).to_le_bytes());
        common.extend((npy.len() as u32).to_le_bytes());
        common.extend((npy.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(b"PK\x03\x04");
        file.extend(common);
        file.extend(name.as_bytes());
        file.extend(npy);
    }
    let (start, length, count) = (file.len() as u32, directory.len() as u32, members.len() as u16);
    file.extend(directory);
    file.extend(b"PK\x05\x06\x00\x00\x00\x00");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}
