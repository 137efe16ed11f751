//! A table of bad inputs as a user meets them: each gives its exit code and one clear message of one or two lines
//! with the place and the remedy, leaves nothing half-written and never panics. And a table of odd but good ones.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use common::{command, floats, gzip, npy, npz, ok, paretau};

/// Files that every case finds in its folder: name and bytes.
fn fixtures() -> &'static BTreeMap<String, Vec<u8>> {
    static FIXTURES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    FIXTURES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for name in ["people.csv", "people.parquet", "people.arrow", "people.csv.gz"] {
            ok(at, &["simulate", "synthetic", "--n", "300", "--d", "6", "--out", name]);
        }
        ok(at, &["fit", "people.csv", "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "model.paretau"]);
        let read =
            |entry: std::fs::DirEntry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        std::fs::read_dir(at).unwrap().map(|entry| read(entry.unwrap())).collect()
    })
}

/// Every file below a folder with its bytes, to see that nothing came, went or changed.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file() {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        } else {
            found.insert(name, vec![]);
        }
    }
    found
}

/// A folder with the fixtures and the case's own file. A name that ends in `/` is a folder; one with `->` a link.
fn folder_with(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (fixture, bytes) in fixtures() {
        std::fs::write(folder.path().join(fixture), bytes).unwrap();
    }
    match (name.split_once("->"), name.strip_suffix('/')) {
        (Some((link, target)), _) => {
            #[cfg(unix)]
            std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
            #[cfg(not(unix))]
            let _ = (link, target);
        }
        (_, Some(inner)) => std::fs::create_dir(folder.path().join(inner)).unwrap(),
        _ if name.is_empty() => {}
        _ => std::fs::write(folder.path().join(name), bytes).unwrap(),
    }
    folder
}

/// One row: the file it needs besides the fixtures, the arguments, the exit code, and words of the message.
struct Case {
    name: &'static str,
    file: (&'static str, Vec<u8>),
    args: String,
    code: i32,
    words: &'static [&'static str],
}

/// A case whose file is fitted with `--treatment t --outcome y`.
fn fitted(name: &'static str, file: &'static str, bytes: impl AsRef<[u8]>, words: &'static [&'static str]) -> Case {
    fit_with(name, file, bytes, "", 3, words)
}

/// The same with more arguments and another exit code.
fn fit_with(
    name: &'static str,
    file: &'static str,
    bytes: impl AsRef<[u8]>,
    more: &str,
    code: i32,
    words: &'static [&'static str],
) -> Case {
    let data = if file.is_empty() { "people.csv" } else { file.trim_end_matches('/') };
    let mut args = format!("fit {data} {more}");
    for (flag, value) in
        [("--treatment ", "t"), ("--outcome ", "y"), ("--estimator ", "lr-2"), ("--out ", "never.paretau")]
    {
        if !more.contains(flag) {
            args += &format!(" {flag}{value}");
        }
    }
    Case { name, file: (file, bytes.as_ref().to_vec()), args, code, words }
}

/// A case with any arguments.
fn run(
    name: &'static str,
    file: &'static str,
    bytes: impl AsRef<[u8]>,
    args: &str,
    code: i32,
    words: &'static [&'static str],
) -> Case {
    Case { name, file: (file, bytes.as_ref().to_vec()), args: args.to_owned(), code, words }
}

/// What is wrong with the way in which a case fails.
fn faults(case: &Case) -> Vec<String> {
    let folder = folder_with(case.file.0, &case.file.1);
    let before = contents(folder.path());
    let args: Vec<&str> = case.args.split_whitespace().chain(["--json", "--quiet"]).collect();
    let out = paretau(folder.path(), &args);
    let text = String::from_utf8_lossy(&out.stderr);
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let as_json = format!("paretau: {}\n", document["error"].as_str().unwrap_or_default());
    let lacking: Vec<&str> = case.words.iter().filter(|word| !text.contains(**word)).copied().collect();
    let rules = [
        (!text.contains("panicked"), "it panicked".to_owned()),
        (out.status.code() == Some(case.code), format!("exit code {:?}, not {}", out.status.code(), case.code)),
        (text.starts_with("paretau: ") && text.ends_with('\n'), "does not start with `paretau: `".to_owned()),
        ((1..=2).contains(&text.lines().count()), "is not one or two lines".to_owned()),
        (text.len() < 700, "is more than a tired analyst reads".to_owned()),
        (lacking.is_empty(), format!("lacks {lacking:?}")),
        (document["exit_code"] == case.code && as_json == text, format!("the JSON says {document}")),
        (contents(folder.path()) == before, "something was left behind or changed".to_owned()),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    broken.map(|(_, fault)| format!("{} (paretau {}): {fault}\n    {text}", case.name, case.args)).collect()
}

fn check_all(cases: &[Case]) {
    let faults: Vec<String> = cases.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const GOOD: &str = "t,y,x,w,g,p\n0,1,3,1,a,0.5\n1,2,4,2,a,0.5\n0,3,5,1,b,0.5\n1,4,7,1,b,0.5\n";

#[test]
fn text_files_that_cannot_be_read() {
    let utf16: Vec<u8> = [0xff_u8, 0xfe].into_iter().chain("t,y,x\n".bytes().flat_map(|b| [b, 0])).collect();
    let huge = format!("t,y,x\n0,1,\"{}\"\n1,2,b\n", "x".repeat(1_100_000));
    let zip = gzip("t,y,x\n0,1,2\n1,2,3\n".repeat(9000).as_bytes());
    check_all(&[
        fitted("empty file", "bad.csv", "", &["bad.csv", "is empty"]),
        fitted("byte-order mark only", "bad.csv", "\u{feff}", &["bad.csv", "is empty"]),
        fitted("blank lines only", "bad.csv", "\n\n\n", &["is empty"]),
        fitted("header only", "bad.csv", "t,y,x\n", &["bad.csv", "header but no rows"]),
        fitted("short row", "bad.csv", "t,y,x\n0,1,2\n1,2\n", &["bad.csv", "row 2", "line 3", "2 cells", "has 3"]),
        fitted("long row", "bad.csv", "t,y,x\n0,1,2,3\n1,2,4\n", &["row 1", "line 2", "4 cells"]),
        fitted("not UTF-8", "bad.csv", b"t,y,x\n0,1,a\n1,2,caf\xe9\n", &["column `x`", "row 2", "save", "UTF-8"]),
        fitted("header not UTF-8", "bad.csv", b"t,y,caf\xe9\n0,1,a\n", &["header", "UTF-8"]),
        fitted("UTF-16", "bad.csv", utf16, &["UTF-16", "save it again as UTF-8"]),
        fitted("unclosed quote", "bad.csv", "t,y,x\n0,1,\"a\n1,2,b\n0,2,c\n", &["line 2", "never closed"]),
        fitted("huge cell", "bad.csv", huge, &["column `x`", "row 1", "longer than 1024 KiB"]),
        fitted("infinite cell", "bad.csv", "t,y,x\n0,1,2\n1,2,inf\n", &["column `x`", "row 2", "`inf`", "empty"]),
        fitted("number too large", "bad.csv", "t,y,x\n0,1e999,2\n1,2,3\n", &["column `y`", "row 1", "`1e999`"]),
        fitted("no header", "bad.csv", "0,1,2\n1,2,3\n", &["numbers", "--no-header"]),
        fitted("binary rubbish", "bad.csv", [0_u8, 1, 2, 0xc3, 0x28, 9, 10, 255, 254], &["bad.csv", "UTF-8"]),
        fitted("gzip cut short", "bad.csv.gz", &zip[..zip.len() / 2], &["bad.csv.gz", "cut short", "again"]),
        fitted("gzip altered", "bad.csv.gz", altered(&zip, 100), &["bad.csv.gz"]),
        fitted("gzip of nothing", "bad.csv.gz", gzip(b""), &["is empty"]),
        fitted("not gzip", "bad.csv.gz", [0x1f_u8, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &["damaged", "again"]),
        fitted("zstd", "bad.csv", b"\x28\xb5\x2f\xfdaaaa", &["zstd", "gzip"]),
        fitted("spreadsheet", "bad.csv", b"PK\x03\x04aaaaaaa", &["spreadsheet", "CSV"]),
        fitted("Parquet named CSV", "bad.csv", &fixtures()["people.parquet"], &["Parquet file", "name it .parquet"]),
        fitted("unknown ending", "bad.xyz", GOOD, &["bad.xyz", "ending", ".csv"]),
        run(
            "empty standard input",
            "",
            "",
            "fit - --treatment t --outcome y --out m.paretau",
            3,
            &["<stdin>", "empty"],
        ),
    ]);
}

/// The bytes with one of them changed.
fn altered(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out[at] ^= 0x55;
    out
}

#[test]
fn other_files_that_cannot_be_read() {
    let (parquet, arrow) = (&fixtures()["people.parquet"], &fixtures()["people.arrow"]);
    let x = npy("<f8", "(2, 2)", &floats(&[1.0, 2.0, 3.0, 5.0]));
    let two = npy("<f8", "(2,)", &floats(&[0.0, 1.0]));
    let archive = npz(&[("x", x.clone()), ("t", two.clone()), ("y", two.clone())]);
    let three = npy("<f8", "(3,)", &floats(&[0.0, 1.0, 1.0]));
    let infinite = npy("<f8", "(2, 2)", &floats(&[1.0, 2.0, f64::INFINITY, 5.0]));
    let objects = npy("|O", "(2,)", &[1, 2]);
    let cube = npy("<f8", "(1, 2, 2)", &floats(&[1.0, 2.0, 3.0, 5.0]));
    let lying = npy("<f8", "(99999999, 2)", &floats(&[1.0, 2.0]));
    check_all(&[
        fitted("Parquet cut short", "bad.parquet", &parquet[..parquet.len() / 2], &["bad.parquet", "cut short"]),
        fitted("Parquet altered", "bad.parquet", altered(parquet, parquet.len() - 7), &["bad.parquet", "damaged"]),
        fitted("wrong magic", "bad.parquet", "hello, world", &["bad.parquet", "Parquet", "ending"]),
        fitted("empty Parquet", "bad.parquet", "", &["bad.parquet", "is empty"]),
        fitted("Arrow cut short", "bad.arrow", &arrow[..arrow.len() / 2], &["bad.arrow", "cut short"]),
        fitted("not Arrow", "bad.feather", "hello, world", &["bad.feather", "Arrow"]),
        fitted("not NumPy", "bad.npz", "hello", &["bad.npz", "NumPy archive"]),
        fitted("NumPy cut short", "bad.npz", &archive[..archive.len() / 2], &["bad.npz", "directory"]),
        fitted("NumPy without x", "bad.npz", npz(&[("t", two.clone())]), &["no array `x`", "arrays are t"]),
        fitted(
            "NumPy lengths",
            "bad.npz",
            npz(&[("x", x.clone()), ("t", three), ("y", two.clone())]),
            &["column `t`", "shape [3]", "x has 2 rows"],
        ),
        fitted("NumPy objects", "bad.npz", npz(&[("x", x), ("t", objects), ("y", two.clone())]), &["column `t`", "|O"]),
        fitted("NumPy dimensions", "bad.npz", npz(&[("x", cube)]), &["column `x`", "3 dimensions"]),
        fitted("NumPy infinite", "bad.npz", npz(&[("x", infinite)]), &["column `x1`", "row 2", "inf"]),
        fitted("NumPy that promises too much", "bad.npz", npz(&[("x", lying)]), &["column `x`"]),
        fitted("svm index", "bad.svm", "1 0 1:2\n2 1 a:2\n", &["bad.svm", "row 2", "line 2", "`a:2`"]),
        fitted("svm without treatment", "bad.svm", "1.0 1:2\n", &["line 1", "treatment"]),
        fitted("svm index twice", "bad.svm", "1 0 2:2 2:3\n", &["index 2", "twice"]),
        fitted("svm index too large", "bad.svm", "1 0 4000000000:2\n", &["row 1", "4000000000", "without large gaps"]),
        fitted("News without words", "bad.csv.y", "1,1,1,1,1\n", &["bad.csv.y", "put bad.csv.x beside it"]),
        fitted("News without outcomes", "bad.csv.x", "2,2,0\n1,1,1\n2,2,1\n", &["column", "`t`"]),
        fitted("News header", "bad.csv.x", "two,2,0\n1,1,1\n", &["line 1", "documents,words,0"]),
        fitted("News word outside", "bad.csv.x", "2,2,0\n1,1,1\n2,3,1\n", &["line 3", "word 3", "outside"]),
        fitted("folder as data", "folder.csv/", "", &["folder.csv", "is a folder"]),
        fit_with("no such file", "", "", "--treatment t", 3, &[]).with_args(
            "fit nowhere.csv --treatment t --outcome y --out never.paretau",
            &["nowhere.csv", "No such file", "check the path"],
        ),
        run(
            "path through a file",
            "",
            "",
            "fit people.csv/inner.csv --treatment t --outcome y --out never.paretau",
            3,
            &["people.csv/inner.csv", "Not a directory"],
        ),
    ]);
}

impl Case {
    fn with_args(mut self, args: &str, words: &'static [&'static str]) -> Self {
        args.clone_into(&mut self.args);
        self.words = words;
        self
    }
}

#[test]
fn columns_that_do_not_fit_their_roles() {
    let near = "treated,y,x\n0,1,1\n1,2,2\n0,3,5\n";
    let three = "t,y,x\na,1,1\nb,2,2\nc,3,5\na,4,4\n";
    check_all(&[
        fitted("twice the treatment", "bad.csv", "t,t,y,x\n0,1,1,1\n1,0,2,2\n", &["column `t`", "more than once"]),
        fit_with("near column", "bad.csv", near, "--treatment traeted", 3, &["`traeted`", "did you mean `treated`"]),
        fit_with("far column", "bad.csv", near, "--treatment zebra", 3, &["`zebra`", "its columns are treated, y, x"]),
        fit_with("near outcome", "", "", "--outcome yy", 3, &["column `yy`", "did you mean `y`"]),
        fit_with("no treatment", "", "", "", 2, &[])
            .with_args("fit people.csv --outcome y --out never.paretau", &["--treatment", "column"]),
        fit_with("one column twice", "", "", "--outcome t", 3, &["`t`", "treatment", "outcome"]),
        fitted("one arm", "bad.csv", "t,y,x\n1,1,1\n1,2,2\n", &["column `t`", "`1` in every row", "both arms"]),
        fitted("three arms", "bad.csv", three, &["column `t`", "`a` (2 rows)", "--treated-value"]),
        fitted("continuous treatment", "bad.csv", "t,y,x\n.1,1,1\n.2,2,2\n.3,2,3\n", &["3 values", "--treated-value"]),
        fit_with("absent arm", "bad.csv", three, "--treated-value z --control-value a", 3, &["`z`", "`b` (1 row)"]),
        fit_with("control not given", "bad.csv", three, "--treated-value a", 3, &["--control-value"]),
        fit_with("equal arms", "bad.csv", three, "--treated-value a --control-value a", 3, &["both `a`"]),
        fitted("no treatment at all", "bad.csv", "t,y,x\n,1,1\n,2,2\n", &["column `t`", "no row has a treatment"]),
        fitted("text outcome", "bad.csv", "t,y,x\n0,1,1\n1,many,2\n", &["column `y`", "row 2", "line 3", "`many`"]),
        fitted("outcome in words", "bad.csv", "t,y,x\n0,bad,1\n1,good,2\n", &["column `y`", "0 and 1"]),
        fitted("constant outcome", "bad.csv", "t,y,x\n0,5,1\n1,5,2\n", &["column `y`", "5 in every row"]),
        fitted("no outcome at all", "bad.csv", "t,y,x\n0,,1\n1,,2\n", &["bad.csv", "no row"]),
        fitted("arm without outcomes", "bad.csv", "t,y,x\n0,,1\n1,1,2\n1,3,2\n", &["column `t`", "`0`", "both arms"]),
        fitted("no features", "bad.csv", "t,y\n0,1\n1,2\n", &["bad.csv", "no feature", "--features"]),
        fitted("constant features", "bad.csv", "t,y,x\n0,1,4\n1,2,4\n", &["no feature", "same in every", "--features"]),
        fit_with("unknown feature", "", "", "--features x1,xx1", 3, &["`xx1`", "did you mean `x1`"]),
        fit_with("unmatched pattern", "", "", "--features z_*", 3, &["`z_*`"]),
        fit_with("feature with a role", "", "", "--features x1,t", 3, &["`t`", "another role"]),
        fit_with("unknown ignored", "", "", "--ignore nix", 3, &["`nix`"]),
        fit_with("unknown id", "bad.csv", GOOD, "--id who", 3, &["`who`"]),
        fit_with("text weight", "bad.csv", GOOD, "--weight g", 3, &["column `g`", "row 1", "`a`", "weight"]),
        fit_with(
            "negative weight",
            "bad.csv",
            GOOD.replace("3,1,a", "3,-1,a"),
            "--weight w",
            3,
            &["column `w`", "row 1", "weight is -1"],
        ),
        fit_with("missing weight", "bad.csv", GOOD.replace("3,1,a", "3,,a"), "--weight w", 3, &["column `w`", "row 1"]),
        fit_with("propensity of 7", "bad.csv", GOOD.replace("a,0.5", "a,7"), "--propensity p", 3, &["propensit", "7"]),
        fit_with("missing group", "bad.csv", GOOD.replace("1,b", "1,"), "--group g", 3, &["column `g`", "row 3"]),
        fit_with("one truth", "", "", "--truth mu0", 2, &["--truth", "MU0,MU1"]),
        fit_with("unknown truth", "", "", "--truth mu0,mu2", 3, &["`mu2`", "did you mean"]),
        run(
            "evaluation without the outcome",
            "bad.csv",
            "t,x1,x2,x3,x4,x5,x6\n0,1,1,1,1,1,1\n",
            "evaluate model.paretau bad.csv",
            3,
            &["column `y`"],
        ),
        run(
            "diagnosis of one arm",
            "bad.csv",
            "t,y,x\n1,1,1\n1,2,2\n",
            "diagnose bad.csv --treatment t --outcome y",
            3,
            &["`1` in every row"],
        ),
    ]);
}

#[test]
fn outputs_that_cannot_be_written() {
    check_all(&[
        fit_with(
            "into a missing folder",
            "",
            "",
            "--out no/such/m.paretau",
            3,
            &["no/such/m.paretau", "make the folder"],
        ),
        fit_with("onto a folder", "sub/", "", "", 3, &[])
            .with_args("fit people.csv --treatment t --outcome y --out sub", &["sub", "is a folder"]),
        fit_with("over the data", "", "", "--out people.csv", 2, &["--out", "people.csv", "a file other than"]),
        run(
            "over the data",
            "",
            "",
            "effect model.paretau people.csv --out people.csv",
            2,
            &["--out", "a file other than"],
        ),
        run(
            "over the data by another path",
            "",
            "",
            "effect model.paretau people.csv --out ./people.csv",
            2,
            &["--out"],
        ),
        run("over the model", "", "", "effect model.paretau people.csv --out model.paretau", 2, &["--out"]),
        run(
            "effects into a missing folder",
            "",
            "",
            "effect model.paretau people.csv --out no/e.csv",
            3,
            &["no/e.csv"],
        ),
        run(
            "effects of unknown ending",
            "",
            "",
            "effect model.paretau people.csv --out e.xlsx",
            3,
            &["e.xlsx", ".csv"],
        ),
        run("effects of unwritable kind", "", "", "effect model.paretau people.csv --out e.npz", 3, &["e.npz", ".csv"]),
        run("simulated into a missing folder", "", "", "simulate synthetic --out no/d.csv", 3, &["no/d.csv", "folder"]),
        run("demo onto a file", "", "", "demo --out people.csv", 3, &["people.csv"]),
    ]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let room = &["No space left", "make room"];
    check_all(&[
        fit_with("model", "full.paretau->/dev/full", "", "", 3, &[]).with_args(
            "fit people.csv --treatment t --outcome y -e lr-2 --out full.paretau",
            &["full.paretau", "No space left", "make room"],
        ),
        run("effects", "full.csv->/dev/full", "", "effect model.paretau people.csv --out full.csv", 3, room),
        run("effects zipped", "f.csv.gz->/dev/full", "", "effect model.paretau people.csv --out f.csv.gz", 3, room),
        run(
            "Parquet",
            "full.parquet->/dev/full",
            "",
            "effect model.paretau people.csv --out full.parquet",
            3,
            &["space"],
        ),
        run("Arrow", "full.arrow->/dev/full", "", "simulate synthetic --out full.arrow", 3, &["space"]),
    ]);
    // Standard output itself is full.
    let folder = folder_with("", b"");
    for args in
        ["list estimators", "describe lr-2 --json", "effect model.paretau people.csv", "man", "completions bash"]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = command(folder.path()).args(args.split(' ')).stdout(full).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(3), "{args}: {text}");
        assert!(text.contains("No space left") && !text.contains("panicked"), "{args}: {text}");
    }
}

/// A safetensors file without tensors whose metadata is the given text.
fn foreign(metadata: &str) -> Vec<u8> {
    let header = serde_json::json!({ "__metadata__": { "paretau": metadata } }).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
}

#[test]
fn models_that_cannot_be_used() {
    let model = &fixtures()["model.paretau"];
    let with = "effect bad.paretau people.csv";
    let future = foreign(r#"{"format":99,"digest":"","model":{}}"#);
    let text = String::from_utf8_lossy(&fixtures()["people.csv"]).into_owned();
    let renamed = text.replacen("x3", "x_3", 1);
    let dropped: String = text.lines().map(|l| l.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    let worded = text.replace("x6\n", "x6,\n");
    assert_ne!(worded, text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[3] = lines[3].rsplit_once(',').unwrap().0.to_owned() + ",tall";
    let tall = lines.join("\n");
    lines[3] = lines[3].replace("tall", "2020-01-31");
    let dated = lines.join("\n");
    lines[3] = lines[3].replace("2020-01-31", "-inf");
    let infinite = lines.join("\n");
    check_all(&[
        run("another version", "bad.paretau", future, with, 3, &["bad.paretau", "format 99", "update paretau"]),
        run("cut short", "bad.paretau", &model[..model.len() / 2], with, 3, &["bad.paretau", "cut short"]),
        run("altered", "bad.paretau", altered(model, model.len() - 9), with, 3, &["bad.paretau", "altered"]),
        run("empty", "bad.paretau", "", with, 3, &["bad.paretau", "not a paretau model"]),
        run("foreign", "bad.paretau", GOOD, with, 3, &["bad.paretau", "not a"]),
        run("other tensors", "bad.paretau", foreign("[]"), with, 3, &["bad.paretau"]),
        run("data as model", "", "", "effect people.csv people.csv", 3, &["people.csv", "model"]),
        run("folder as model", "bad.paretau/", "", with, 3, &["bad.paretau", "folder"]),
        run("no such model", "", "", "effect nowhere.paretau people.csv", 3, &["nowhere.paretau", "check the path"]),
        run("diagnosis", "bad.paretau", &model[..99], "diagnose bad.paretau", 3, &["bad.paretau"]),
        run("evaluation", "bad.paretau", &model[..99], "evaluate bad.paretau people.csv", 3, &["bad.paretau"]),
        run("renamed column", "new.csv", renamed, "effect model.paretau new.csv", 3, &["`x3`", "nearest", "`x_3`"]),
        run("dropped column", "new.csv", dropped, "effect model.paretau new.csv", 3, &["new.csv", "`x6`"]),
        run("stray delimiter", "new.csv", worded, "effect model.paretau new.csv", 3, &["new.csv", "cells"]),
        run(
            "number became text",
            "new.csv",
            tall,
            "effect model.paretau new.csv",
            3,
            &["column `x6`", "row 3", "line 4", "`tall`"],
        ),
        run(
            "number became date",
            "new.csv",
            dated,
            "effect model.paretau new.csv",
            3,
            &["column `x6`", "row 3", "2020-01-31"],
        ),
        run("infinite", "new.csv", infinite, "effect model.paretau new.csv", 3, &["column `x6`", "row 3", "`-inf`"]),
        run("no rows", "new.csv", text.lines().next().unwrap(), "effect model.paretau new.csv", 3, &["no rows"]),
        run("no id", "", "", "effect model.paretau people.csv --id who", 3, &["`who`"]),
        run(
            "no intervals",
            "",
            "",
            "effect model.paretau people.csv --interval 0.9",
            2,
            &["intervals", "causal-forest"],
        ),
        run(
            "interval of 95",
            "",
            "",
            "effect model.paretau people.csv --interval 95",
            2,
            &["--interval", "between 0 and 1"],
        ),
    ]);
}

#[test]
fn wrong_usage() {
    check_all(&[
        fit_with("near estimator", "", "", "--estimator lr-22", 2, &["`lr-22`", "did you mean `lr-2`?"]),
        fit_with("far estimator", "", "", "--estimator zebra", 2, &["`zebra`", "known: "]),
        fit_with("near parameter", "", "", "--set penaltyy=1", 2, &["`penaltyy`", "did you mean `penalty`?"]),
        fit_with("parameter out of range", "", "", "--set penalty=-1", 2, &["`penalty`", "at least 0", "`-1`"]),
        fit_with("parameter of the wrong kind", "", "", "--set penalty=high", 2, &["`penalty`", "`high`"]),
        fit_with("pair without =", "", "", "--set penalty", 2, &["--set", "KEY=VALUE"]),
        fit_with("share of 2", "", "", "--valid 2", 2, &["--valid", "below 0.9"]),
        fit_with("share in words", "", "", "--valid half", 2, &["'half'", "--valid"]),
        fit_with("no such configuration", "", "", "--config nowhere.toml", 3, &["nowhere.toml", "check the path"]),
        fit_with("bad configuration", "", "", "", 3, &[]).with_config(
            "penalty = = 1\n",
            3,
            &["c.toml", "line 1", "TOML"],
        ),
        fit_with("unknown key", "", "", "", 2, &[]).with_config("penaltyy = 1\n", 2, &["did you mean `penalty`?"]),
        fit_with("value out of range", "", "", "", 2, &[]).with_config("penalty = -1\n", 2, &["at least 0"]),
        run("no arguments", "", "", "fit", 2, &["required", "<DATA>", "Usage", "--help"]),
        run("near flag", "", "", "fit people.csv --treatmnt t --out m.paretau", 2, &["'--treatmnt'", "'--treatment'"]),
        run("near command", "", "", "fitt people.csv", 2, &["'fitt'", "'fit'"]),
        run("no threads", "", "", "list estimators --threads 0", 2, &["--threads", "1"]),
        run("seed in words", "", "", "list estimators --seed two", 2, &["--seed", "'two'"]),
        run("near list", "", "", "list estimatrs", 2, &["'estimatrs'", "'estimators'"]),
        run("near description", "", "", "describe caussal-forest", 2, &["did you mean `causal-forest`?"]),
        run("near process", "", "", "simulate sinthetic --out d.csv", 2, &["did you mean `synthetic`?"]),
        run("no rows to make", "", "", "simulate synthetic --n 0 --out d.csv", 2, &["`n`", "`0`"]),
        run(
            "near parameter of a process",
            "",
            "",
            "simulate synthetic --set nn=5 --out d.csv",
            2,
            &["`nn`", "did you mean"],
        ),
        run("unknown shell", "", "", "completions tcsh", 2, &["'tcsh'", "bash"]),
        run("near plan", "", "", "run frist-look --out r", 2, &["did you mean `first-look`?"]),
        run("no such plan", "", "", "run nowhere.toml --out r", 3, &["nowhere.toml", "check the path"]),
        run("bad plan", "p.toml", "name = = 1", "run p.toml --out r", 3, &["p.toml"]),
        run("bad part", "", "", "run first-look --out r --shard 3/2", 2, &["3/2"]),
    ]);
}

impl Case {
    /// The same with a configuration file `c.toml`.
    fn with_config(mut self, text: &str, code: i32, words: &'static [&'static str]) -> Self {
        self.file = ("c.toml", text.as_bytes().to_vec());
        self.args += " --config c.toml";
        self.code = code;
        self.words = words;
        self
    }
}

/// Odd inputs that analysts have and that must simply work: name, file, bytes, words of stderr.
#[test]
fn odd_but_good_inputs_work() {
    let text = String::from_utf8_lossy(&fixtures()["people.csv"]).into_owned();
    let zip = gzip(text.as_bytes());
    let body = |edit: &dyn Fn(&str) -> String| -> Vec<u8> { edit(&text).into_bytes() };
    let with_column = |name: &str, cells: &dyn Fn(usize) -> String| -> Vec<u8> {
        let lines = text.lines().enumerate();
        let cell = |i: usize| if i == 0 { name.to_owned() } else { cells(i) };
        lines.map(|(i, line)| format!("{line},{}\n", cell(i))).collect::<String>().into_bytes()
    };
    let cases: Vec<(&str, &str, Vec<u8>, &[&str])> = vec![
        ("byte-order mark", "d.csv", body(&|t| format!("\u{feff}{t}")), &[]),
        ("Windows line ends", "d.csv", body(&|t| t.replace('\n', "\r\n")), &[]),
        ("semicolons", "d.csv", body(&|t| t.replace(',', ";")), &["separated by `;`"]),
        ("tabs", "d.tsv", body(&|t| t.replace(',', "\t")), &[]),
        ("no final line end", "d.csv", body(&|t| t.trim_end().to_owned()), &[]),
        ("text named .gz", "d.csv.gz", text.clone().into_bytes(), &[]),
        ("gzip without .gz", "d.csv", zip.clone(), &[]),
        ("two gzip members", "d.csv.gz", [zip, gzip(b"")].concat(), &[]),
        ("a name twice", "d.csv", with_column("x1", &|i| (i % 7).to_string()), &["`x1` names 2 columns", "x1.2"]),
        ("a nameless column", "d.csv", with_column("", &|i| (i * 13 % 11).to_string()), &["has no name"]),
        ("a constant column", "d.csv", with_column("k", &|_| "5".into()), &["the same in every", "k"]),
        ("an empty column", "d.csv", with_column("k", &|_| String::new()), &["the same in every", "k"]),
        (
            "a copy",
            "d.csv",
            with_column("k", &|i| text.lines().nth(i).unwrap().rsplit(',').next().unwrap().into()),
            &["a copy of an earlier column: k"],
        ),
        ("gaps", "d.csv", with_column("k", &|i| ["", "NA", "nan", "1", "2"][i % 5].into()), &[]),
        ("free text", "d.csv", with_column("k", &|i| format!("remark {i}")), &["`k`", "almost every value is unique"]),
        (
            "rare levels",
            "d.csv",
            with_column("k", &|i| if i < 4 { format!("r{i}") } else { ["a", "b"][i % 2].into() }),
            &["`k`", "3 rare levels are pooled"],
        ),
        ("dates", "d.csv", with_column("k", &|i| format!("2024-{:02}-{:02}", i % 12 + 1, i % 28 + 1)), &[]),
        ("missing outcomes", "d.csv", body(&|t| drop_cell(t, 1)), &["1 of 300 rows have no outcome"]),
        ("missing treatments", "d.csv", body(&|t| drop_cell(t, 0)), &["1 of 300 rows have no treatment"]),
    ];
    for (name, file, bytes, words) in cases {
        let folder = folder_with(file, &bytes);
        let at = folder.path();
        let out = paretau(at, &["fit", file, "--treatment", "t", "--outcome", "y", "-e", "lr-2", "--out", "m.paretau"]);
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success(), "{name}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{name}: {stderr:?} lacks {word:?}");
        }
        let effects = ok(at, &["effect", "m.paretau", file]);
        assert_eq!(effects.lines().count(), 301, "{name}: one row per input row, also where the outcome is missing");
        let empty = effects.lines().filter(|line| line.contains(",,") || line.ends_with(',')).count();
        assert_eq!(empty, usize::from(name == "missing treatments"), "{name}: weights where the arm is known");
    }
}

/// The text with cell `j` of the second data row emptied.
fn drop_cell(text: &str, j: usize) -> String {
    let edit = |(i, line): (usize, &str)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if i == 2 {
            cells[j] = "";
        }
        cells.join(",") + "\n"
    };
    text.lines().enumerate().map(edit).collect()
}
