//! Bad inputs, each with the error that an analyst should get: what, where, and what to do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use paretau_core::{Error, ErrorKind};
use paretau_data::{BatchReader, Encoder, EncoderPolicy, Field, Kind, ReadOptions, RoleSpec, Table, assign, read};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// File name, bytes, and the error's column, row and words.
type FileCase<'a> = (&'a str, &'a [u8], Option<&'a str>, Option<u64>, &'a [&'a str]);

/// Case, text of the file, roles, and the error's column, row and words.
type RoleCase<'a> = (&'a str, String, RoleSpec, Option<&'a str>, Option<u64>, Vec<&'a str>);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap()
}

fn load(path: &Path) -> Result<Table, Error> {
    read(path, &ReadOptions::default())
}

/// The error's place and whether its message holds all the words.
fn check(case: &str, error: &Error, column: Option<&str>, row: Option<u64>, words: &[&str]) {
    let text = error.to_string();
    if let Error::File { column: found, row: at, .. } = error {
        assert_eq!((found.as_deref(), *at), (column, row), "{case}: {text}");
    } else {
        assert!(column.is_none() || text.contains(column.unwrap_or_default()), "{case}: {text}");
        assert!(row.is_none() || text.contains(&format!("row {}", row.unwrap_or_default())), "{case}: {text}");
    }
    for word in words {
        assert!(text.contains(word), "{case}: {text:?} lacks {word:?}");
    }
    assert_ne!(error.kind(), ErrorKind::Failed, "{case}: {text}");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let long = format!("a,b\n1,\"{}\"\n", "x".repeat(1_100_000));
    let cut_zip = &gzip("a,b\n1,2\n".repeat(20_000).as_bytes())[..200];
    let utf16: Vec<u8> = [0xff_u8, 0xfe].into_iter().chain("a,b\n".bytes().flat_map(|b| [b, 0])).collect();
    let cases: &[FileCase<'_>] = &[
        ("empty.csv", b"", None, None, &["is empty"]),
        ("bom_only.csv", b"\xef\xbb\xbf", None, None, &["is empty"]),
        ("blank_lines.csv", b"\n\n\n", None, None, &["is empty"]),
        ("header_only.csv", b"a,b\n", None, None, &["header but no rows"]),
        ("ragged_short.csv", b"a,b\n1,2\n3\n", None, Some(2), &["line 3", "1 cell,", "has 2"]),
        ("ragged_long.csv", b"a,b\n1,2,3\n", None, Some(1), &["line 2", "3 cells"]),
        ("infinite.csv", b"a,b\n1,2\n3,inf\n", Some("b"), Some(2), &["line 3", "`inf`", "empty"]),
        ("overflow.csv", b"a,b\n1e999,2\n", Some("a"), Some(1), &["line 2", "`1e999`"]),
        ("latin1.csv", b"a,b\n1,x\n2,caf\xe9\n", Some("b"), Some(2), &["line 3", "UTF-8"]),
        ("latin1_head.csv", b"caf\xe9,b\n1,2\n", None, None, &["header", "UTF-8"]),
        ("utf16.csv", &utf16, None, None, &["UTF-16", "UTF-8"]),
        ("unclosed.csv", b"a,b\n1,\"x\n2,3\n4,5\n", None, Some(1), &["line 2", "never closed"]),
        ("long_cell.csv", long.as_bytes(), Some("b"), Some(1), &["KiB", "quotation"]),
        ("numbers.csv", b"1,2,3\n4,5,6\n", None, None, &["--no-header"]),
        ("cut.csv.gz", cut_zip, None, None, &["cut short", "again"]),
        ("not_zip.parquet", b"hello, world", None, None, &["Parquet", "ending"]),
        ("cut.parquet", b"PAR1....", None, None, &["cut short"]),
        ("empty.parquet", b"", None, None, &["is empty"]),
        ("renamed.csv", b"PAR1aaaaaaaaaaa", None, None, &["Parquet file", ".parquet"]),
        ("sheet.csv", b"PK\x03\x04aaaaaaa", None, None, &["spreadsheet", "CSV"]),
        ("packed.csv", b"\x28\xb5\x2f\xfdaaaa", None, None, &["zstd"]),
        ("not.arrow", b"hello, world", None, None, &["Arrow"]),
        ("cut.arrow", b"ARROW1\x00\x00aaaaaaaa", None, None, &["cut short"]),
        ("not.npz", b"hello", None, None, &["NumPy archive"]),
        ("cut.npz", b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None, None, &["directory"]),
        ("no_treatment.svm", b"1.0 1:2\n", None, Some(1), &["line 1", "treatment"]),
        ("bad_outcome.svm", b"1 0 1:2\nx 0 1:2\n", None, Some(2), &["line 2", "`x`"]),
        ("bad_pair.svm", b"1 0 a:2\n", None, Some(1), &["`a:2`"]),
        ("twice.svm", b"1 0 2:2 2:3\n", None, Some(1), &["index 2", "twice"]),
        ("huge_index.svm", b"1 0 4000000000:2\n", None, Some(1), &["4000000000 columns"]),
        ("no_features.svm", b"1 0\n2 1\n", None, None, &["no feature"]),
        ("empty.svm", b"\n", None, None, &["is empty"]),
        ("what.xlsx", b"PK", None, None, &["cut short or damaged", "again"]),
    ];
    for (name, bytes, column, row, words) in cases {
        let error = load(&folder.file(name, bytes)).expect_err(name);
        check(name, &error, *column, *row, words);
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let missing = load(Path::new("/no/such/file.csv")).unwrap_err();
    assert!(missing.to_string().contains("/no/such/file.csv"));
    let folder_itself = folder.0.path().join("sub.csv");
    std::fs::create_dir(&folder_itself).unwrap();
    assert!(load(&folder_itself).unwrap_err().to_string().contains("folder"));
}

#[test]
fn news_pairs_that_do_not_fit() {
    for (case, x, y, words) in [
        ("header", "5,x,0\n", Some("1,1,1,1,1\n"), "documents,words,0"),
        ("outside", "1,2,0\n1,3,1\n", Some("1,1,1,1,1\n"), "outside"),
        ("zero", "1,2,0\n0,1,1\n", Some("1,1,1,1,1\n"), "outside"),
        ("twice", "1,2,0\n1,1,1\n1,1,2\n", Some("1,1,1,1,1\n"), "given twice"),
        ("line", "1,2,0\n1,1\n", Some("1,1,1,1,1\n"), "document,word,count"),
        ("short y", "1,2,0\n1,1,1\n", Some("1,1,1,1\n"), "has 4 numbers"),
        ("bad y", "1,2,0\n1,1,1\n", Some("1,1,x,1,1\n"), "`x`"),
        ("length", "2,2,0\n1,1,1\n2,1,1\n", Some("1,1,1,1,1\n"), "2 documents"),
        ("promise", "4000000000,2,0\n1,1,1\n", None, "promises"),
        ("empty x", "", Some("1,1,1,1,1\n"), "is empty"),
    ] {
        let folder = Folder::new();
        let path = folder.file("n_seed_1.csv.x", x);
        if let Some(y) = y {
            folder.file("n_seed_1.csv.y", y);
        }
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains(words), "{case}: {message}");
    }
    let folder = Folder::new();
    let lonely = folder.file("n_seed_3.csv.y", "1,1,1,1,1\n");
    assert!(load(&lonely).unwrap_err().to_string().contains("n_seed_3.csv.x"));
    folder.file("n_seed_1.csv.x.gz", gzip(b"1,2,0\n1,1,1\n"));
    let table = load(&lonely).unwrap();
    assert!(table.notes[0].contains("only .x"), "{:?}", table.notes);
    assert_eq!((table.n_rows(), table.columns().len(), table.sparse().unwrap().names.len()), (1, 5, 2));
    folder.file("n_seed_2.csv.x", "1,2,0\n1,1,1\n");
    assert!(load(&lonely).unwrap_err().to_string().contains("2 .x files"));
}

fn spec() -> RoleSpec {
    RoleSpec::new("t", "y")
}

#[test]
fn roles_that_do_not_fit() {
    let folder = Folder::new();
    let good = "t,y,x,g\n0,1,3,a\n1,2,4,a\n0,3,5,b\n1,4,7,b\n";
    let few = |values: [&str; 3]| format!("t,y,x\n{},1,1\n{},2,2\n{},3,5\n", values[0], values[1], values[2]);
    let cases: Vec<RoleCase<'_>> = vec![
        ("unknown treatment", good.into(), RoleSpec::new("treat", "y"), Some("treat"), None, vec!["columns are t, y"]),
        (
            "near name",
            good.replace("t,y", "treated,y"),
            RoleSpec::new("traeted", "y"),
            Some("traeted"),
            None,
            vec!["did you mean `treated`"],
        ),
        ("no treatment", good.into(), RoleSpec::new("", "y"), None, None, vec!["--treatment"]),
        ("same column", good.into(), RoleSpec::new("t", "t"), None, None, vec!["`t`", "outcome"]),
        (
            "unknown feature",
            good.into(),
            RoleSpec { features: Some(vec!["xx".into()]), ..spec() },
            Some("xx"),
            None,
            vec!["did you mean `x`"],
        ),
        (
            "unmatched pattern",
            good.into(),
            RoleSpec { features: Some(vec!["z_*".into()]), ..spec() },
            Some("z_*"),
            None,
            vec!["`z_*`"],
        ),
        (
            "feature with a role",
            good.into(),
            RoleSpec { features: Some(vec!["t".into()]), ..spec() },
            None,
            None,
            vec!["another role"],
        ),
        (
            "no features",
            good.into(),
            RoleSpec { ignore: vec!["x".into(), "g".into()], ..spec() },
            None,
            None,
            vec!["--features"],
        ),
        (
            "unknown ignored",
            good.into(),
            RoleSpec { ignore: vec!["nix".into()], ..spec() },
            Some("nix"),
            None,
            vec!["`nix`"],
        ),
        ("one arm", few(["1", "1", "1"]), spec(), Some("t"), None, vec!["`1` in every row", "both arms"]),
        ("three arms", few(["a", "b", "c"]), spec(), Some("t"), None, vec!["`a` (1 row)", "--treated-value"]),
        ("codes 1 and 2", few(["1", "2", "1"]), spec(), Some("t"), None, vec!["`1` (2 rows)", "--treated-value"]),
        (
            "absent value",
            few(["a", "b", "c"]),
            RoleSpec { treated_value: Some("z".into()), ..spec() },
            Some("t"),
            None,
            vec!["`z`", "`a`"],
        ),
        (
            "no control value",
            few(["a", "b", "c"]),
            RoleSpec { treated_value: Some("a".into()), ..spec() },
            Some("t"),
            None,
            vec!["--control-value"],
        ),
        (
            "equal values",
            few(["a", "b", "c"]),
            RoleSpec { treated_value: Some("a".into()), control_value: Some("a".into()), ..spec() },
            Some("t"),
            None,
            vec!["both"],
        ),
        (
            "control alone",
            few(["a", "b", "c"]),
            RoleSpec { control_value: Some("a".into()), ..spec() },
            Some("t"),
            None,
            vec!["--treated-value"],
        ),
        ("empty treatment", "t,y,x\n,1,1\n,2,2\n".into(), spec(), Some("t"), None, vec!["is empty"]),
        ("text outcome", "t,y,x\n0,1,1\n1,many,2\n".into(), spec(), Some("y"), Some(2), vec!["line 3", "`many`"]),
        (
            "decimal comma",
            "t,y,x\n0,\"1,500\",1\n1,\"2,500\",2\n".into(),
            spec(),
            Some("y"),
            Some(1),
            vec!["--decimal"],
        ),
        (
            "outcome in words",
            "t,y,x\n0,bad,1\n1,good,2\n".into(),
            spec(),
            Some("y"),
            Some(1),
            vec!["0 and 1", "`good`"],
        ),
        ("constant outcome", "t,y,x\n0,5,1\n1,5,2\n".into(), spec(), Some("y"), None, vec!["5 in every row"]),
        ("no outcome", "t,y,x\n0,,1\n1,,2\n".into(), spec(), None, None, vec!["no row"]),
        ("arm lost", "t,y,x\n0,,1\n1,1,2\n1,3,2\n".into(), spec(), Some("t"), None, vec!["`0`", "both arms"]),
        (
            "text weight",
            good.into(),
            RoleSpec { weight: Some("g".into()), ..spec() },
            Some("g"),
            Some(1),
            vec!["`a`", "weight"],
        ),
        (
            "missing weight",
            "t,y,x,w\n0,1,1,1\n1,2,3,\n".into(),
            RoleSpec { weight: Some("w".into()), ..spec() },
            Some("w"),
            Some(2),
            vec!["weight is missing"],
        ),
        (
            "missing truth",
            "t,y,x,a,b\n0,1,1,1,1\n1,2,3,,1\n".into(),
            RoleSpec { truth: Some(("a".into(), "b".into())), ..spec() },
            Some("a"),
            Some(2),
            vec!["truth"],
        ),
        (
            "missing group",
            "t,y,x,a\n0,1,1,1\n1,2,3,\n".into(),
            RoleSpec { group: Some("a".into()), ..spec() },
            Some("a"),
            Some(2),
            vec!["group"],
        ),
        (
            "repeated name",
            "t,t,y,x\n0,1,1,1\n1,0,2,2\n".into(),
            spec(),
            Some("t"),
            None,
            vec!["more than once", "rename"],
        ),
    ];
    for (k, (case, text, spec, column, row, words)) in cases.into_iter().enumerate() {
        let path = folder.file(&format!("{k}.csv"), text);
        let error = load(&path).and_then(|table| assign(table, &spec)).expect_err(case);
        check(case, &error, column, row, &words);
    }
}

#[test]
fn prediction_data_that_do_not_fit_the_model() {
    let folder = Folder::new();
    let table =
        load(&folder.file("train.csv", "age,sex,when\n30,f,2020-01-01\n40,m,2021-01-01\n50,f,2022-02-03\n")).unwrap();
    let encoder = Encoder::fit(&table, &EncoderPolicy::default(), &[0, 1, 2]).unwrap();
    for (case, text, column, row, words) in [
        ("lacks a column", "Age,sex,when\n30,f,2020-01-01\n", None, None, "is it `Age` here"),
        ("number became text", "age,sex,when\n30,f,2020-01-01\nold,f,2020-01-01\n", Some("age"), Some(2), "`old`"),
        ("date became number", "age,sex,when\n30,f,5\n", Some("when"), Some(1), "held dates"),
        ("number became date", "age,sex,when\n2020-01-01,f,2020-01-01\n", Some("age"), Some(1), "held numbers"),
    ] {
        let other = load(&folder.file("other.csv", text)).unwrap();
        let error = encoder.transform(&other).expect_err(case);
        check(case, &error, column, row, &[words]);
    }
    let options = ReadOptions { fields: encoder.fields(), only_fields: true, ..ReadOptions::default() };
    for (case, text, column, row, words) in [
        ("lacks a column", "ages,sex,when\n30,f,2020-01-01\n", Some("age"), None, "`ages`"),
        ("text", "age,sex,when\n30,f,2020-01-01\nold,f,2020-01-01\n", Some("age"), Some(2), "`old`"),
        ("infinite", "age,sex,when\n-inf,f,2020-01-01\n", Some("age"), Some(1), "`-inf`"),
        ("no date", "age,sex,when\n30,f,soon\n", Some("when"), Some(1), "`soon`"),
        ("header only", "age,sex,when\n", None, None, "no rows"),
        ("ragged", "age,sex,when\n1,f,2020-01-01\n1\n", None, Some(2), "1 cell,"),
    ] {
        let path = folder.file("other.csv", text);
        let error =
            BatchReader::open(&path, &options, 1).and_then(Iterator::collect::<Result<Vec<_>, _>>).expect_err(case);
        check(case, &error, column, row, &[words]);
    }
    let constant = load(&folder.file("constant.csv", "a,b\n1,x\n1,x\n")).unwrap();
    assert!(
        Encoder::fit(&constant, &EncoderPolicy::default(), &[0, 1]).unwrap_err().to_string().contains("--features")
    );
    let declared = ReadOptions::default().with_field(Field::new("a", Kind::Number));
    let error = read(&folder.file("declared.csv", "a\n1\nx\n"), &declared).unwrap_err();
    check("declared", &error, Some("a"), Some(2), &["`x`"]);
}
