//! The fuzz targets without a fuzzer: `cargo run -p paretau-study --example damage -- [EXECUTIONS] [TARGET…]`.
//!
//! Starts from `fuzz/seeds` and a model of every estimator, damages them at random and keeps whatever comes to something new (an
//! error in other words, other kinds of columns) for more damage. It knows nothing of coverage, as cargo-fuzz does, but needs
//! neither its compiler nor its hours of building, and takes the same targets. Prints a table; a panic is a finding, and its
//! bytes are kept in `target/damage`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

#[allow(unreachable_pub, clippy::all, clippy::pedantic)]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use paretau::Seed;
use paretau_core::Rng;

/// Executions of a target unless another number is given.
const EXECUTIONS: usize = 2_000;
/// Inputs longer than this are cut.
const LONGEST: usize = 1 << 16;
/// Inputs that are kept for more damage.
const POOL: usize = 2_000;
/// Numbers at which lengths and offsets go wrong.
const EDGES: &[i64] = &[
    0,
    1,
    -1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    0x7fff_ffff,
    -0x8000_0000,
    0xffff_ffff,
    i64::MAX,
    i64::MIN,
];
/// Pieces of text at which readers of text go wrong.
const PIECES: &[&str] = &[
    "\"",
    ",",
    "\n",
    "\r\n",
    "\0",
    ":",
    "{",
    "[",
    "}",
    "]",
    "nan",
    "inf",
    "-1",
    "1e308",
    "1e999",
    "4294967296",
    "-9223372036854775808",
    "\u{feff}",
    "\u{202e}",
    "\\u0000",
    "null",
    "true",
    "''",
    "= ",
    "[[",
    "#",
];

type Target = (&'static str, fn(&[u8]) -> String);

const TARGETS: &[Target] = &[
    ("read_csv", |bytes| targets::read("f.csv", bytes)),
    ("read_csv_gz", |bytes| targets::read("f.csv.gz", bytes)),
    ("read_tsv", |bytes| targets::read("f.tsv", bytes)),
    ("read_json", |bytes| targets::read("f.json", bytes)),
    ("read_xlsx", |bytes| targets::read("f.xlsx", bytes)),
    ("read_parquet", |bytes| targets::read("f.parquet", bytes)),
    ("read_arrow", |bytes| targets::read("f.arrow", bytes)),
    ("read_npz", |bytes| targets::read("f.npz", bytes)),
    ("read_svm", |bytes| targets::read("f.svm", bytes)),
    ("read_news", targets::read_pair),
    ("plan", targets::plan),
    ("page", targets::page),
    ("model_file", targets::model_file),
    ("model_state", targets::model_state),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let executions = words.first().map_or(EXECUTIONS, |n| n.parse().expect("a number of executions"));
    let wanted = words.get(1..).unwrap_or_default();
    // Only what a target lets through is a finding; the readers catch the panics of decoders themselves.
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "| target | executions | outcomes that differ | findings | slowest, ms | seconds |\n|---|---|---|---|---|---|"
    );
    let mut findings = 0;
    for (name, target) in TARGETS {
        if wanted.is_empty() || wanted.iter().any(|other| other == name) {
            findings += campaign(name, *target, executions);
        }
    }
    assert_eq!(findings, 0, "there are findings in target/damage");
}

/// Damages one target's inputs so many times; the number of findings.
fn campaign(name: &str, target: fn(&[u8]) -> String, executions: usize) -> usize {
    let mut rng = Seed(executions as u64).named(name).rng();
    let mut pool = seeds(name);
    let (mut known, mut messages) = (HashSet::new(), HashSet::new());
    let (mut slowest, begin) = (Duration::ZERO, Instant::now());
    for k in 0..executions {
        let input = if k < pool.len() { pool[k].clone() } else { damaged(&pool, &mut rng) };
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
        slowest = slowest.max(start.elapsed());
        match outcome {
            Ok(words) => {
                // Numbers and names of columns differ from damage to damage; the words around them do not.
                let bare: String = words.chars().filter(|c| !c.is_ascii_digit()).take(400).collect();
                if known.insert(bare) && pool.len() < POOL {
                    pool.push(input);
                }
            }
            Err(panic) => {
                let message = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("a panic without words")
                    .to_owned();
                let bare: String = message.chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
                if messages.insert(bare) {
                    let place = keep(name, messages.len(), &input);
                    eprintln!("{name}: {message} ({})", place.display());
                }
            }
        }
    }
    println!(
        "| {name} | {executions} | {} | {} | {} | {:.0} |",
        known.len(),
        messages.len(),
        slowest.as_millis(),
        begin.elapsed().as_secs_f64()
    );
    messages.len()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn keep(name: &str, number: usize, input: &[u8]) -> PathBuf {
    let folder = root().join("target/damage");
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let place = folder.join(format!("{name}-{number}"));
    std::fs::write(&place, input).expect("room for a finding");
    place
}

/// The seeds of a target, in the order of their names, and for model files a model of every estimator.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/seeds").join(name);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("seeds").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect();
    let n_estimators = paretau::registry::ESTIMATORS.len();
    match name {
        "model_file" => seeds.extend((0..n_estimators).map(targets::model_bytes)),
        // Each estimator's number before what is forged.
        "model_state" => {
            let forged = seeds.clone();
            for k in 0..n_estimators {
                seeds.extend(forged.iter().map(|seed| [&[k as u8], &seed[1..]].concat()));
            }
        }
        _ => {}
    }
    seeds
}

/// One of the inputs with one to eight pieces of damage.
fn damaged(pool: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = pool[rng.below(pool.len())].clone();
    for _ in 0..=rng.below(8) {
        let n = bytes.len().max(1);
        let at = rng.below(n).min(bytes.len());
        match rng.below(9) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
            2 if !bytes.is_empty() => bytes[at] = rng.below(256) as u8,
            3 => {
                let edge = EDGES[rng.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][rng.below(4)];
                bytes.iter_mut().skip(at).zip(&edge[..width]).for_each(|(byte, new)| *byte = *new);
            }
            4 => {
                let piece = PIECES[rng.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            5 => {
                let to = (at + 1 + rng.below(16)).min(bytes.len());
                bytes.drain(at..to);
            }
            6 => {
                let to = (at + 1 + rng.below(64)).min(bytes.len());
                let copy = bytes[at..to].to_vec();
                let place = rng.below(n).min(bytes.len());
                bytes.splice(place..place, copy);
            }
            7 => {
                let other = &pool[rng.below(pool.len())];
                let from = rng.below(other.len().max(1)).min(other.len());
                let to = (from + 1 + rng.below(128)).min(other.len());
                let end = (at + to - from).min(bytes.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ if rng.below(8) == 0 => bytes.truncate(at),
            _ => {}
        }
        bytes.truncate(LONGEST);
    }
    bytes
}
