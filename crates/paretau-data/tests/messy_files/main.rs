//! Files as people write them: locales, separators, spreadsheets' habits, strays, sentinels, dates, identifiers. Each is read
//! to the exact numbers, or stopped (or warned of) with column, row and flag.
#![allow(clippy::unwrap_used)]

mod dates;
mod formats;
mod habits;
mod numbers;
mod oddities;
mod spreadsheets;
mod strays;
mod workbooks;

use std::path::Path;

use paretau_data::{
    Assigned, BatchReader, ColumnData, DateOrder, Encoder, EncoderPolicy, Field, Kind, ReadOptions, RoleSpec, assign,
    read,
};

const GAP: f64 = f64::NAN;

/// What a file must come to.
#[derive(Clone)]
enum Expect {
    /// The numbers of column `x`.
    Numbers(Vec<f64>),
    /// The texts of column `x` after encoding, that is, the encoded columns' names.
    Columns(Vec<&'static str>),
    /// The arms of the rows, 1 for treated.
    Arms(Vec<u8>),
    /// An error that has these words.
    Stop(Vec<String>),
    /// A note or a warning that has these words.
    Note(Vec<&'static str>),
}

struct Case {
    name: String,
    /// Ending of the file.
    ending: &'static str,
    text: Vec<u8>,
    /// Options as `key=value` words.
    options: String,
    expect: Expect,
}

fn options(words: &str) -> ReadOptions {
    let mut options = ReadOptions::default();
    let list = |value: &str| value.split('|').map(str::to_owned).collect::<Vec<_>>();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "decimal" => options.decimal = value.chars().next(),
            "thousands" => options.thousands = value.chars().next(),
            "order" => options.date_order = Some(value.parse::<DateOrder>().unwrap()),
            "na" => options.na = list(value),
            "numeric" => options.numeric = list(value),
            "categorical" => options.categorical = list(value),
            other => panic!("no option `{other}`"),
        }
    }
    options
}

/// A file of a treatment, an outcome and the given cells of `x`.
fn file(delimiter: char, cells: &[&str]) -> Vec<u8> {
    let mut text = format!("t{delimiter}y{delimiter}x\n");
    for (i, cell) in cells.iter().enumerate() {
        let quoted = if cell.contains([delimiter, '"']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            (*cell).to_owned()
        };
        text += &format!("{}{delimiter}{}{delimiter}{quoted}\n", i % 2, 10 + i);
    }
    text.into_bytes()
}

fn case(name: impl Into<String>, text: Vec<u8>, options: &str, expect: Expect) -> Case {
    Case { name: name.into(), ending: "csv", text, options: options.to_owned(), expect }
}

fn stop(words: &[&str]) -> Expect {
    Expect::Stop(words.iter().map(|word| (*word).to_owned()).collect())
}

/// Twenty plain numbers with some cells replaced (1-based rows).
fn numbers_with(replaced: &[(usize, &str)]) -> (Vec<String>, Vec<f64>) {
    let mut cells: Vec<String> = (0..20).map(|i| format!("{}.5", i * 3 % 17)).collect();
    let mut values: Vec<f64> = (0..20).map(|i| f64::from(i * 3 % 17) + 0.5).collect();
    for (row, cell) in replaced {
        (*cell).clone_into(&mut cells[row - 1]);
        values[row - 1] = GAP;
    }
    (cells, values)
}

fn file_with(replaced: &[(usize, &str)]) -> Vec<u8> {
    let (cells, _) = numbers_with(replaced);
    file(',', &cells.iter().map(String::as_str).collect::<Vec<_>>())
}

fn corpus() -> Vec<Case> {
    let lists = [
        numbers::locales(),
        numbers::units(),
        numbers::unclear(),
        strays::strays(),
        dates::dates(),
        oddities::oddities(),
        spreadsheets::spreadsheets(),
        workbooks::workbooks(),
        formats::other_formats(),
        formats::stata(),
        habits::amounts(),
        habits::more_dates(),
        habits::rows_and_codes(),
        habits::files(),
    ];
    lists.into_iter().flatten().collect()
}

/// The roles given to a file, with what the encoder has to say.
fn understood(path: &Path, options: &ReadOptions) -> paretau_core::Result<(Assigned, Encoder, paretau_data::Reading)> {
    let table = read(path, options)?;
    let reading = table.reading.clone();
    let assigned = assign(table, &RoleSpec::new("t", "y"))?;
    let rows: Vec<usize> = (0..assigned.t.len()).collect();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::default(), &rows)?;
    Ok((assigned, encoder, reading))
}

fn same(found: &[f64], want: &[f64]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9;
    found.len() == want.len() && found.iter().zip(want).all(near)
}

/// What is wrong with a case, if anything is.
fn fault(case: &Case, path: &Path) -> Option<String> {
    std::fs::write(path, &case.text).unwrap();
    let options = options(&case.options);
    let found = understood(path, &options);
    match (&case.expect, found) {
        (Expect::Stop(words), Err(error)) => {
            let text = error.to_string();
            let missing: Vec<&String> = words.iter().filter(|word| !text.contains(word.as_str())).collect();
            (!missing.is_empty()).then(|| format!("the error lacks {missing:?}: {text}"))
        }
        (Expect::Stop(_), Ok(_)) => Some("is read without an error".to_owned()),
        (_, Err(error)) => Some(format!("stops: {error}")),
        (Expect::Note(words), Ok((assigned, encoder, _))) => {
            let warnings = assigned.warnings.iter().map(|w| &w.message);
            let noted: Vec<&String> = assigned.notes.iter().chain(encoder.notes()).chain(warnings).collect();
            let one = noted.iter().any(|note| words.iter().all(|word| note.contains(word)));
            (!one).then(|| format!("no note has {words:?}: {noted:?}"))
        }
        (Expect::Arms(want), Ok((assigned, ..))) => (assigned.t != *want)
            .then(|| format!("arms are {:?}, `{}` being the control", assigned.t, assigned.arms[0])),
        (Expect::Columns(names), Ok((_, encoder, _))) => {
            let found: Vec<&str> = encoder.columns().iter().map(|c| c.name.as_str()).collect();
            (found != *names).then(|| format!("columns are {found:?}"))
        }
        (Expect::Numbers(want), Ok((assigned, encoder, reading))) => {
            let ColumnData::Number(values) = &assigned.features.column("x")?.data else {
                return Some("`x` is text".to_owned());
            };
            if !same(&values.contiguous(), want) {
                return Some(format!("`x` is {values:?}"));
            }
            // The same file in batches, as a model reads it.
            let kind = assigned.features.column("x")?.kind();
            assert!(encoder.fields().iter().all(|f| f.name != "x" || f.kind == kind));
            let declared =
                ReadOptions { fields: vec![Field::new("x", kind)], only_fields: true, ..ReadOptions::default() };
            let batches =
                BatchReader::open(path, &declared.like(&reading), 2).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            match batches {
                Err(error) => Some(format!("stops in batches: {error}")),
                Ok(batches) => {
                    let mut all = vec![];
                    for batch in &batches {
                        match &batch.column("x")?.data {
                            ColumnData::Number(values) => all.extend(values),
                            ColumnData::Text(_) => return Some("`x` is text in batches".to_owned()),
                        }
                    }
                    // Rows without a treatment are no training rows.
                    (!same(&all[..want.len().min(all.len())], want)).then(|| format!("`x` is {all:?} in batches"))
                }
            }
        }
    }
}

#[test]
fn messy_files_are_read_right_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus();
    assert!(corpus.len() >= 120, "{} files", corpus.len());
    let faults: Vec<String> = (corpus.iter().enumerate())
        .filter_map(|(k, case)| {
            let path = folder.path().join(format!("file{k}.{}", case.ending));
            fault(case, &path).map(|fault| format!("{} ({}): {fault}", case.name, case.options))
        })
        .collect();
    assert!(faults.is_empty(), "{} of {} files:\n{}", faults.len(), corpus.len(), faults.join("\n"));
}

#[test]
fn a_stata_file_is_read_column_by_column() {
    let table = read(Path::new("../../testdata/stata/v118.dta"), &ReadOptions::default()).unwrap();
    let cells =
        |name: &str| (0..4).map(|i| table.column(name).unwrap().cell(i).unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(cells("t"), ["0", "1", "0", "1"], "two labelled values stay numbers");
    assert_eq!(cells("race"), ["black", "other", "white", "black"]);
    assert_eq!(cells("town"), ["Zürich", "", "Köln", "Łódź"]);
    assert_eq!(cells("day"), ["2024-05-31", "", "1999-12-31", "1970-01-01"]);
    assert_eq!(cells("remark"), ["short", "", "a long one, which Stata keeps apart", "x"]);
    assert_eq!(table.column("day").unwrap().kind(), Kind::Date);
}

/// A length in a file is a claim; none may be believed before it is held against the file.
#[test]
fn damaged_stata_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.dta");
    let whole = std::fs::read("../../testdata/stata/v118.dta").unwrap();
    for k in (0..whole.len()).step_by(7) {
        for value in [0_u8, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[k] = value;
            std::fs::write(&path, &bytes).unwrap();
            // Many single bytes may change without harm; what counts is that the program goes on.
            let _ = read(&path, &ReadOptions::default());
        }
    }
    for tag in ["<strls>GSO", "<value_labels><lbl>"] {
        let at = whole.windows(tag.len()).position(|window| window == tag.as_bytes()).unwrap() + tag.len();
        let mut bytes = whole.clone();
        let at = if tag.ends_with("GSO") { at + 13 } else { at };
        bytes[at..at + 4].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
        std::fs::write(&path, &bytes).unwrap();
        let stopped = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(stopped.contains("cut short or damaged"), "{tag}: {stopped}");
    }
}

#[test]
fn a_column_that_is_left_alone_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.csv");
    std::fs::write(&path, "t,y,x,z\n0,1,1,5\n1,2,2,?\n0,3,4,7\n1,4,9,8\n").unwrap();
    let stopped = understood(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(stopped.contains("column `z`, row 2") && stopped.contains(path.to_str().unwrap()), "{stopped}");
    let spec = RoleSpec { ignore: vec!["z".into()], ..RoleSpec::new("t", "y") };
    let assigned = assign(read(&path, &ReadOptions::default()).unwrap(), &spec).unwrap();
    assert_eq!(assigned.feature_names(), ["x"]);
    let spec = RoleSpec { id: Some("z".into()), ..RoleSpec::new("t", "y") };
    assert!(assign(read(&path, &ReadOptions::default()).unwrap(), &spec).is_ok());
}

#[test]
fn new_files_are_read_as_the_training_file_was() {
    let folder = tempfile::tempdir().unwrap();
    let (train, new) = (folder.path().join("train.csv"), folder.path().join("new.csv"));
    std::fs::write(&train, "t;y;x;d\n0;1;1.234,5;31/05/2024\n1;2;7,25;01/02/2024\n0;3;8,5;03/04/2024\n").unwrap();
    let (_, encoder, reading) = understood(&train, &ReadOptions::default()).unwrap();
    let json = serde_json::to_string(&reading).unwrap();
    let reading: paretau_data::Reading = serde_json::from_str(&json).unwrap();
    let options = ReadOptions { fields: encoder.fields(), only_fields: true, ..ReadOptions::default() }.like(&reading);
    // By itself this file would be read otherwise: 1.234 as a little more than one, 02/03 as either.
    std::fs::write(&new, "x;d\n1.234;02/03/2024\n2.345;04/05/2024\n").unwrap();
    let batch = BatchReader::open(&new, &options, 10).unwrap().next().unwrap().unwrap();
    let cells = |name: &str| (0..2).map(|i| batch.column(name).unwrap().cell(i).unwrap()).collect::<Vec<_>>();
    assert_eq!(cells("x"), ["1234", "2345"]);
    assert_eq!(cells("d"), ["2024-03-02", "2024-05-04"]);
    assert_eq!(batch.column("d").unwrap().kind(), Kind::Date);
    std::fs::write(&new, "x;d\n1,5;02/03/2024\nmany;04/05/2024\n").unwrap();
    let stopped = BatchReader::open(&new, &options, 10).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(
        ["column `x`, row 2", "`many`", "comma", "--na many"].iter().all(|word| stopped.contains(word)),
        "{stopped}"
    );
    std::fs::write(&new, "x;d\n1,5;02/03/2024\n2,5;13/13/2024\n").unwrap();
    let stopped = BatchReader::open(&new, &options, 10).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(["column `d`, row 2", "`13/13/2024`", "day, month"].iter().all(|word| stopped.contains(word)), "{stopped}");
}
