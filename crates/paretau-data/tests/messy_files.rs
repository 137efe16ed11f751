//! Files as people write them: locales, separators, spreadsheets' habits, strays, sentinels, dates, identifiers. Each is read
//! to the exact numbers, or stopped (or warned of) with column, row and flag.
#![allow(clippy::unwrap_used)]

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

/// Numbers in the notations of many countries, with each delimiter that they can stand beside.
fn locales() -> Vec<Case> {
    let values = vec![1234.5, -2.25, 0.125, 1_000_000.75, 12.0, 999.0];
    let styles: [(&str, [&str; 6]); 12] = [
        ("plain", ["1234.5", "-2.25", "0.125", "1000000.75", "12", "999"]),
        ("english", ["1,234.5", "-2.25", "0.125", "1,000,000.75", "12", "999"]),
        ("german", ["1.234,5", "-2,25", "0,125", "1.000.000,75", "12", "999"]),
        ("comma", ["1234,5", "-2,25", "0,125", "1000000,75", "12", "999"]),
        ("french", ["1 234,5", "-2,25", "0,125", "1 000 000,75", "12", "999"]),
        ("french narrow", ["1\u{202f}234,5", "-2,25", "0,125", "1\u{202f}000\u{202f}000,75", "12", "999"]),
        ("no-break", ["1\u{a0}234,5", "-2,25", "0,125", "1\u{a0}000\u{a0}000,75", "12", "999"]),
        ("swiss", ["1'234.5", "-2.25", "0.125", "1'000'000.75", "12", "999"]),
        ("swiss curly", ["1’234.5", "-2.25", "0.125", "1’000’000.75", "12", "999"]),
        ("accounts", ["1,234.5", "(2.25)", "0.125", "1,000,000.75", "12", "999"]),
        ("minus sign", ["1234,5", "−2,25", "0,125", "1000000,75", "12", "999"]),
        ("blanks", [" 1234.5", "-2.25 ", "\u{a0}0.125", "1000000.75", "12", " 999 "]),
    ];
    let mut cases = vec![];
    for (style, cells) in &styles {
        for delimiter in [',', ';', '\t', '|'] {
            let expect = Expect::Numbers(values.clone());
            cases.push(case(format!("{style} with {delimiter:?}"), file(delimiter, cells), "", expect));
        }
    }
    cases
}

/// Units before and behind numbers.
fn units() -> Vec<Case> {
    let mut cases = vec![];
    for (unit, cells) in [
        ("$", ["$1,234.50", "$7", "-$2.25"]),
        ("$ behind sign", ["$1,234.50", "$7", "$-2.25"]),
        ("€", ["1.234,50 €", "7 €", "-2,25 €"]),
        ("%", ["1234.5%", "7%", "-2.25 %"]),
        ("kg", ["1234.5 kg", "7kg", "-2.25 KG"]),
        ("USD", ["USD 1,234.50", "USD 7", "USD -2.25"]),
        ("mmHg", ["1234.5 mmHg", "7 mmHg", "-2.25 mmHg"]),
        ("CHF", ["CHF 1'234.50", "CHF 7", "CHF -2.25"]),
        ("an unknown one", ["1234.5 foos", "7 foos", "-2.25 foos"]),
        ("°C", ["1234.5°C", "7 °C", "-2.25 °C"]),
    ] {
        cases.push(case(format!("unit {unit}"), file(';', &cells), "", Expect::Numbers(vec![1234.5, 7.0, -2.25])));
    }
    cases.push(case("unit is noted", file(',', &["$5", "$7", "$9"]), "", Expect::Note(vec!["`x`", "`$`", "left off"])));
    let mixed = ["5 kg", "7 kg", "11 lb", "9 kg", "8 kg"];
    cases.push(case("mixed units", file(',', &mixed), "", stop(&["`x`", "row 3", "`11 lb`", "in `kg`"])));
    let partly = ["5%", "7%", "0.11", "9%", "8%"];
    cases.push(case("percent and share", file(',', &partly), "", stop(&["`x`", "row 3", "`0.11`", "`%`"])));
    // As many cells with the unit as without: amounts all the same, never categories.
    let half: Vec<String> = (0..40).map(|i| if i % 2 == 0 { format!("{i}.5 kg") } else { format!("{i}.5") }).collect();
    let half: Vec<&str> = half.iter().map(String::as_str).collect();
    let words = ["`x`", "row 2", "20 of 40", "in `kg`", "`1.5` in row 2", "one unit", "--numeric x", "--categorical x"];
    cases.push(case("half with a unit", file(',', &half), "", stop(&words)));
    let shares: Vec<String> = (0..40).map(|i| if i % 2 == 0 { format!("{i}.5%") } else { format!("0.{i}") }).collect();
    let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
    cases.push(case(
        "half percent, half shares",
        file(',', &shares),
        "",
        stop(&["`x`", "row 2", "in `%`", "one unit"]),
    ));
    let times = ["5 days", "3 weeks", "2 months", "4 days", "6 weeks", "9 days"];
    cases.push(case("three units", file(',', &times), "", stop(&["`x`", "row 2", "`3 weeks`", "in `days`"])));
    // What a laboratory could not measure, oftener than a stray would be.
    let bounds: Vec<String> = (0..60).map(|i| if i % 3 == 0 { format!("<0.{i}") } else { format!("{i}.5") }).collect();
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    let words = ["`x`", "row 1", "40 of 60", "`<0.0` in row 1", "15 other texts; add --numeric x", "--categorical x"];
    cases.push(case("limits of detection", file(',', &bounds), "", stop(&words)));
    let doses = ["5 mg", "10 mg", "5 mg", "20 mg"];
    cases.push(case("doses", file(',', &doses), "", Expect::Numbers(vec![5.0, 10.0, 5.0, 20.0])));
    let house = ["12a", "12b", "14c", "12a", "12b", "14c"];
    cases.push(case("house numbers", file(',', &house), "", Expect::Columns(vec!["x=12a", "x=12b", "x=14c"])));
    cases
}

/// A point or comma that may mean two things is settled by the rest of the file or not at all.
fn unclear() -> Vec<Case> {
    let with_z = |delimiter: char, x: &[&str], z: &[&str]| {
        let mut text = format!("t{delimiter}y{delimiter}x{delimiter}z\n");
        for (i, (x, z)) in x.iter().zip(z).enumerate() {
            text += &format!("{}{delimiter}{}{delimiter}\"{x}\"{delimiter}\"{z}\"\n", i % 2, 10 + i);
        }
        text.into_bytes()
    };
    let thousands = Expect::Numbers(vec![1234.0, 5678.0, 12.0, 7.0]);
    let decimals = Expect::Numbers(vec![1.234, 5.678, 12.0, 7.0]);
    let comma = ["1,234", "5,678", "12", "7"];
    let point = ["1.234", "5.678", "12", "7"];
    let (half_point, half_comma) = (["0.5", "1.5", "2.5", "3"], ["0,5", "1,5", "2,5", "3"]);
    vec![
        case("comma, nothing else", file(',', &comma), "", stop(&["`x`", "row 1", "1.234 or 1234", "--decimal"])),
        case("comma in a tab file", file('\t', &comma), "", stop(&["`1,234`", "--decimal ,"])),
        case("comma among semicolons", file(';', &comma), "", decimals.clone()),
        case("comma beside points", with_z(',', &comma, &half_point), "", thousands.clone()),
        case("comma beside commas", with_z(',', &comma, &half_comma), "", decimals.clone()),
        case("comma beside points among semicolons", with_z(';', &comma, &half_point), "", thousands.clone()),
        case("point beside commas", with_z(';', &point, &half_comma), "", thousands.clone()),
        case("point beside points", with_z(';', &point, &half_point), "", decimals.clone()),
        case("point alone", file(';', &point), "", stop(&["`x`", "row 1", "`1.234`", "1.234 or 1234", "--decimal ,"])),
        case("point alone and gaps", file(';', &["1.234", "", "5.678"]), "", stop(&["`x`", "1.234 or 1234"])),
        case("point alone, given", file(';', &point), "decimal=.", decimals.clone()),
        case("point alone, given comma", file(';', &point), "decimal=,", thousands.clone()),
        case("point in a comma file", file(',', &point), "", decimals.clone()),
        case(
            "two digits behind a point",
            file(';', &["1.234", "5.67", "12"]),
            "",
            Expect::Numbers(vec![1.234, 5.67, 12.0]),
        ),
        case("a small number", file(';', &["1.234", "0.678", "12"]), "", Expect::Numbers(vec![1.234, 0.678, 12.0])),
        case("a large number", file(';', &["1.234", "1200.678"]), "", Expect::Numbers(vec![1.234, 1200.678])),
        case("both marks", with_z(',', &comma, &point), "", stop(&["`x`", "--decimal"])),
        case("given decimal comma", file(',', &comma), "decimal=,", decimals.clone()),
        case("given decimal point", file(',', &comma), "decimal=.", thousands.clone()),
        case("given thousands", file(',', &comma), "thousands=,", thousands.clone()),
        case("given comma, points given", file(';', &point), "decimal=,", thousands),
        case(
            "given comma, point misfit",
            file(';', &["1,5", "2,5", "3.5", "4,5"]),
            "decimal=,",
            stop(&["row 3", "`3.5`"]),
        ),
        case(
            "one point among commas",
            file(';', &["1,5", "2,5", "3.55", "4,5"]),
            "",
            stop(&["row 3", "`3.55`", "comma"]),
        ),
        case("one comma among points", file(',', &["1.5", "2.5", "3,55", "4.5"]), "", stop(&["row 3", "`3,55`"])),
        case("zero is no thousand", file(',', &["0,123", "1,234", "2"]), "", Expect::Numbers(vec![0.123, 1.234, 2.0])),
        case("lakhs", file(',', &["12,34,567.5", "1,234.5", "2"]), "", Expect::Numbers(vec![1_234_567.5, 1234.5, 2.0])),
        case(
            "the mark is noted",
            file(';', &["1,5", "2,5", "7"]),
            "",
            Expect::Note(vec!["`x`", "comma", "`1,5` is 1.5"]),
        ),
    ]
}

/// Marks for missing cells, and cells that are no numbers.
fn strays() -> Vec<Case> {
    let mut cases = vec![];
    for mark in [
        "", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "#N/A", ".", "None", "none", "<NA>", "(null)", "\\N",
        "n.a.", "#NA", "nil",
    ] {
        let (_, values) = numbers_with(&[(7, mark)]);
        cases.push(case(format!("missing as {mark:?}"), file_with(&[(7, mark)]), "", Expect::Numbers(values)));
    }
    for mark in [
        "unknown", "-", "?", "--", "#VALUE!", "#DIV/0!", "#REF!", "missing", "<5", ">100", "12abc", "1O", "x", "*",
        "n.b.",
    ] {
        let (_, values) = numbers_with(&[(7, mark), (12, mark)]);
        let text = file_with(&[(7, mark), (12, mark)]);
        let words = [
            "`x`",
            "row 7",
            "line 8",
            &format!("`{mark}` in rows 7, 12"),
            "18 of 20",
            "--na",
            "--numeric x",
            "--categorical x",
        ];
        cases.push(case(format!("stray {mark}"), text.clone(), "", stop(&words)));
        cases.push(case(
            format!("stray {mark} named missing"),
            text.clone(),
            &format!("na={mark}"),
            Expect::Numbers(values.clone()),
        ));
        cases.push(case(format!("stray {mark} in a numeric column"), text, "numeric=x", Expect::Numbers(values)));
    }
    let two = file_with(&[(3, "unknown"), (9, "?")]);
    let (_, values) = numbers_with(&[(3, ""), (9, "")]);
    cases.push(case(
        "two strays",
        two.clone(),
        "",
        stop(&["row 3", "`unknown` in row 3, `?` in row 9", "--na 'unknown,?'"]),
    ));
    cases.push(case("two strays named", two.clone(), "na=UNKNOWN|?", Expect::Numbers(values)));
    cases.push(case("numeric is noted", two, "numeric=x", Expect::Note(vec!["`x`: 2 cells", "`unknown`"])));
    let codes = ["1", "2", "3", "4+", "1", "2", "3", "4+"];
    cases.push(case("codes with a plus", file(',', &codes), "", stop(&["`x`", "row 4", "--categorical x"])));
    let names = Expect::Columns(vec!["x=1", "x=2", "x=3", "x=4+"]);
    cases.push(case("codes are categories", file(',', &codes), "categorical=x", names));
    let bands = ["18-25", "26-40", "65+", "18-25", "26-40", "65+"];
    cases.push(case("age bands", file(',', &bands), "", Expect::Columns(vec!["x=18-25", "x=26-40", "x=65+"])));
    let bracketed = Expect::Note(vec!["`x`", "brackets are negative", "`(2.5)` is -2.5"]);
    cases.push(case("brackets are noted", file(',', &["1.5", "(2.5)", "3.5"]), "", bracketed));
    let texts = ["'1.5", "'2.5", "3.5", "'-4.5"];
    cases.push(case("apostrophes", file(',', &texts), "", Expect::Numbers(vec![1.5, 2.5, 3.5, -4.5])));
    let behind = ["1.50-", "2.50-", "3.25", "12-"];
    let minus = vec![-1.5, -2.5, 3.25, -12.0];
    cases.push(case("minus behind", file(',', &behind), "", Expect::Numbers(minus.clone())));
    let comma = ["1.000,50-", "2,50-", "3,25", "12-"];
    let with_comma = Expect::Numbers(vec![-1000.5, -2.5, 3.25, -12.0]);
    cases.push(case("minus behind, decimal comma", file(';', &comma), "", with_comma));
    let noted = Expect::Note(vec!["`x`", "minus behind them are negative", "`1.50-` is -1.5"]);
    cases.push(case("minus behind is noted", file(',', &behind), "", noted));
    let quoted = ["'1.5'", "'-2.5'", "'3.25'", "'12'"];
    cases.push(case("quoted by apostrophes", file(',', &quoted), "", Expect::Numbers(vec![1.5, -2.5, 3.25, 12.0])));
    let kept = b"t,y,x\n0,1,=\"1.5\"\n1,2,=\"2.5\"\n0,3,\"=\"\"3.25\"\"\"\n1,4,=\"\"\n".to_vec();
    cases.push(case("texts kept by a spreadsheet", kept, "", Expect::Numbers(vec![1.5, 2.5, 3.25, GAP])));
    let towns = b"t,y,x\n0,1,=\"A\"\n1,2,=\"B\"\n0,3,A\n1,4,=\"B\"\n".to_vec();
    cases.push(case("kept texts are categories", towns, "", Expect::Columns(vec!["x=B"])));
    let blanks = ["\u{200b}1.5", "2.5\u{200b}", "\u{2009}3.25", "\u{feff}12\u{202f}", "\u{3000}7\u{2060}"];
    cases.push(case("blanks of no width", file(',', &blanks), "", Expect::Numbers(vec![1.5, 2.5, 3.25, 12.0, 7.0])));
    let arabic: Vec<String> = (0..20).map(|i| format!("{i}٫5")).collect();
    let arabic: Vec<&str> = arabic.iter().map(String::as_str).collect();
    cases.push(case(
        "a decimal mark of another script",
        file(',', &arabic),
        "",
        stop(&["`x`", "row 1", "another script"]),
    ));
    let pressure: Vec<String> = (0..20).map(|i| format!("{}/{}", 110 + i, 70 + i)).collect();
    let pressure: Vec<&str> = pressure.iter().map(String::as_str).collect();
    let words = ["`x`", "row 1", "`110/70`", "two numbers", "two columns", "--ignore x", "--categorical x"];
    cases.push(case("blood pressure", file(',', &pressure), "", stop(&words)));
    let clock: Vec<String> = (0..20).map(|i| format!("{:02}:{:02}", i, i * 2)).collect();
    let clock: Vec<&str> = clock.iter().map(String::as_str).collect();
    let words = ["`x`", "row 1", "`00:00`", "time of day", "hours", "--ignore x"];
    cases.push(case("times of day", file(',', &clock), "", stop(&words)));
    let digits: Vec<String> =
        (0..20).map(|i| format!("{}٫٥", ["٠", "١", "٢", "٣", "٤"][i % 5].repeat(1 + i / 5))).collect();
    let digits: Vec<&str> = digits.iter().map(String::as_str).collect();
    cases.push(case(
        "digits of another script",
        file(',', &digits),
        "",
        stop(&["`x`", "row 1", "another script", "0 to 9"]),
    ));
    let shifts = Expect::Columns(vec!["x=06:00", "x=14:00", "x=22:00"]);
    cases.push(case("three shifts", file(',', &["06:00", "14:00", "22:00", "06:00", "14:00", "22:00"]), "", shifts));
    let zip = ["01067", "80331", "10115", "01067", "80331", "10115"];
    cases.push(case(
        "zeros in front",
        file(',', &zip),
        "",
        Expect::Note(vec!["`x`", "`01067`", "codes", "--categorical x"]),
    ));
    let kept = Expect::Columns(vec!["x=01067", "x=10115", "x=80331"]);
    cases.push(case("zeros in front are kept", file(',', &zip), "categorical=x", kept));
    let yes = "t,y,x\n0,Yes,1\n1,no,2\n0,NO,3\n1,yes,4\n".as_bytes().to_vec();
    cases.push(case("an outcome of yes and no", yes, "", Expect::Note(vec!["`y`", "`yes` counts as 1", "`no` as 0"])));
    for (no, yes) in [("nein", "Ja"), ("NON", "oui"), ("no", "sí"), ("falsch", "wahr"), ("não", "sim"), ("N", "Y")] {
        let of = |word: &str, y: u8, x: u8| format!("{word},{y},{x}\n");
        let text = format!("t,y,x\n{}{}{}{}", of(yes, 1, 1), of(no, 2, 2), of(yes, 3, 3), of(no, 5, 4));
        cases.push(case(format!("arms {no} and {yes}"), text.clone().into_bytes(), "", Expect::Arms(vec![1, 0, 1, 0])));
        let outcome: String =
            text.lines().map(|line| line.split(',').collect::<Vec<_>>()).fold(String::new(), |all, cells| {
                all + &match cells[..] {
                    ["t", ..] => "t,y,x\n".to_owned(),
                    [word, _, x] => format!("{},{word},{x}\n", u8::from(x > "2")),
                    _ => String::new(),
                }
            });
        let said = Expect::Note(vec!["`y`", "counts as 1"]);
        cases.push(case(format!("outcome {no} and {yes}"), outcome.into_bytes(), "", said));
    }
    for (control, treated) in [("Placebo", "drug"), ("usual care", "App"), ("control", "A"), ("untreated", "treated")] {
        let text = format!("t,y,x\n{treated},1,1\n{control},2,2\n{control},3,3\n{treated},5,4\n");
        cases.push(case(
            format!("arms {control} and {treated}"),
            text.into_bytes(),
            "",
            Expect::Arms(vec![1, 0, 0, 1]),
        ));
    }
    for (code, options) in [("9", ""), ("-1", ""), ("99", ""), ("0.5", ""), ("20", "")] {
        let rows = |last: &str| {
            let body: String = (0..20).map(|i| format!("{},{},{}\n", i % 2, i * 7 % 5, i % 3)).collect();
            format!("t,y,x\n{body}{last},3,1\n").into_bytes()
        };
        let words = ["`t`", &format!("`{code}` (1 row)"), &format!("--na {code}"), "totals", "--control-value 0"];
        cases.push(case(format!("0, 1 and {code} as arms"), rows(code), options, stop(&words)));
        let arms = (0..20).map(|i| i % 2).collect();
        cases.push(case(format!("0, 1 and {code}, a code"), rows(code), &format!("na={code}"), Expect::Arms(arms)));
    }
    let better = "t,y,x\n0,better,1\n1,worse,2\n0,worse,3\n1,better,4\n".as_bytes().to_vec();
    cases.push(case("an outcome of two words", better, "", stop(&["`y`", "row 1", "`better` or `worse`", "0 and 1"])));
    let arms = "t,y,x\nnew,1,1\nold,2,2\nnew,3,3\nold,4,4\n".as_bytes().to_vec();
    cases.push(case("arms of two words", arms, "", stop(&["`t`", "--treated-value old --control-value new"])));
    let truths = ["TRUE", "false", "1", "0", "True"];
    cases.push(case("truths and digits", file(',', &truths), "", Expect::Numbers(vec![1.0, 0.0, 1.0, 0.0, 1.0])));
    let truths = ["TRUE", "FALSE", "?", "TRUE", "FALSE"];
    cases.push(case("a stray among truths", file(',', &truths), "", stop(&["`x`", "row 3", "`?`"])));
    cases.push(case("no such numeric column", file_with(&[]), "numeric=X", stop(&["`X`", "--numeric", "`x`"])));
    cases.push(case("no number at all", file(',', &["a", "b", "a"]), "numeric=x", stop(&["`x`", "none of its cells"])));
    let outcome = b"t,y,x\n0,1.5,1\n1,2.5,2\n0,oops,3\n1,3.5,4\n".to_vec();
    cases.push(case("a stray outcome", outcome, "", stop(&["`y`", "row 3", "`oops`", "--na oops"])));
    let arms = b"t,y,x\n0,1,1\n1,2,2\n0,3,5\n1,4,4\n?,5,7\n".to_vec();
    cases.push(case("a stray treatment", arms, "", stop(&["`t`", "row 5", "`?`", "--na '?'"])));
    cases
}

fn dates() -> Vec<Case> {
    // 31 May, 1 February and 3 April 2024 as days since 1970.
    let days = vec![19_874.0, 19_754.0, 19_816.0];
    let mut cases = vec![];
    for (style, cells) in [
        ("iso", ["2024-05-31", "2024-02-01", "2024-04-03"]),
        ("dmy slashes", ["31/05/2024", "01/02/2024", "03/04/2024"]),
        ("mdy slashes", ["05/31/2024", "02/01/2024", "04/03/2024"]),
        ("dmy points", ["31.05.2024", "01.02.2024", "03.04.2024"]),
        ("dmy dashes", ["31-05-2024", "01-02-2024", "03-04-2024"]),
        ("ymd slashes", ["2024/05/31", "2024/02/01", "2024/04/03"]),
        ("short", ["31/5/24", "1/2/24", "3/4/24"]),
        ("named", ["31-May-2024", "1-Feb-2024", "3-Apr-2024"]),
        ("German", ["31. Mai 2024", "1. Februar 2024", "3. Apr 2024"]),
        ("French", ["31 mai 2024", "1 février 2024", "3 avril 2024"]),
        ("Spanish", ["31 de mayo de 2024", "1 de febrero de 2024", "3 de abril de 2024"]),
        ("american", ["May 31, 2024", "February 1, 2024", "Apr 3, 2024"]),
        ("midnight", ["31/05/2024 00:00", "01/02/2024 0:00:00", "03/04/2024 12:00 AM"]),
        ("with offsets", ["2024-05-31T02:00:00+02:00", "2024-01-31 19:00:00-05:00", "2024-04-03T00:00:00Z"]),
        ("with weekdays", ["Fri, 31 May 2024", "Thursday, 1 February 2024", "Wed 3 Apr 2024"]),
        ("iso and dmy", ["2024-05-31", "01/02/2024", "2024-04-03"]),
    ] {
        let options = if style == "iso and dmy" { "order=dmy" } else { "" };
        cases.push(case(format!("date {style}"), file(';', &cells), options, Expect::Numbers(days.clone())));
    }
    let both = ["01/02/2024", "03/04/2024", "05/06/2024"];
    cases.push(case(
        "date of either order",
        file(',', &both),
        "",
        stop(&["`x`", "row 1", "2024-02-01 or 2024-01-02", "--date-order dmy"]),
    ));
    let dmy = vec![19_754.0, 19_816.0, 19_879.0];
    cases.push(case("date given dmy", file(',', &both), "order=dmy", Expect::Numbers(dmy)));
    let mdy = vec![19_724.0, 19_786.0, 19_849.0];
    cases.push(case("date given mdy", file(',', &both), "order=mdy", Expect::Numbers(mdy)));
    let wrong = ["31/05/2024", "31/02/2024", "03/04/2024", "04/04/2024"];
    cases.push(case("no such day", file(',', &wrong), "", stop(&["`x`", "row 2", "`31/02/2024`", "dates"])));
    let stray = ["2024-05-31", "soon", "2024-04-03", "2024-04-04"];
    cases.push(case(
        "stray among dates",
        file(',', &stray),
        "",
        stop(&["`x`", "row 2", "`soon`", "dates", "--na soon"]),
    ));
    for code in ["1900-01-01", "9999-12-31"] {
        let cells: Vec<String> =
            (0..20).map(|i| if i % 10 == 7 { code.to_owned() } else { format!("2024-05-{:02}", i + 1) }).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let note = Expect::Note(vec!["`x` holds", code, "(2 cells)", "far outside", "--na"]);
        cases.push(case(format!("no day as {code}"), file(',', &cells), "", note));
        let values = (0..20).map(|i| if i % 10 == 7 { GAP } else { 19_844.0 + f64::from(i) }).collect();
        cases.push(case(
            format!("no day as {code}, named"),
            file(',', &cells),
            &format!("na={code}"),
            Expect::Numbers(values),
        ));
    }
    let plain: Vec<String> = (1..20).map(|i| format!("202405{i:02}")).collect();
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    cases.push(case("days without marks", file(',', &plain), "", Expect::Note(vec!["`x`", "20240501", "2024-05-01"])));
    let none = ["2024-05-31", "None", "2024-02-01"];
    cases.push(case("missing date", file(',', &none), "", Expect::Numbers(vec![19_874.0, GAP, 19_754.0])));
    cases
}

/// Levels that differ in case, codes for missing, identifiers.
fn oddities() -> Vec<Case> {
    let mut cases = vec![];
    let towns = ["North", "NORTH", "north ", "South", "south", "North"];
    cases.push(case("towns", file(',', &towns), "", Expect::Columns(vec!["x=South"])));
    cases.push(case("towns are noted", file(',', &towns), "", Expect::Note(vec!["`x`", "one level", "as `North`"])));
    let arms = "t,y,x\nYes,1,3\nNO,2,5\nyes ,3,4\nno,4,8\nYES,5,9\nNo,6,1\n".as_bytes().to_vec();
    cases.push(case("arms", arms.clone(), "", Expect::Numbers(vec![3.0, 5.0, 4.0, 8.0, 9.0, 1.0])));
    cases.push(case("arms are noted", arms, "", Expect::Note(vec!["`t`", "case or blanks"])));
    for code in ["-999", "-99", "999", "9999", "-9999", "99999", "888", "-9"] {
        let cells: Vec<String> =
            (0..30).map(|i| if i % 10 == 7 { code.to_owned() } else { (i % 7 + 1).to_string() }).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let note = Expect::Note(vec!["`x` holds", "(3 cells)", "far outside", "--na"]);
        cases.push(case(format!("sentinel {code}"), file(',', &cells), "", note));
        let values = (0..30).map(|i| if i % 10 == 7 { GAP } else { f64::from(i % 7 + 1) }).collect();
        cases.push(case(
            format!("sentinel {code} named"),
            file(',', &cells),
            &format!("na={code}"),
            Expect::Numbers(values),
        ));
    }
    // Codes of one digit on short scales, in two of twenty cells.
    for (scale, code) in [(2, "9"), (5, "9"), (5, "-1"), (2, "8"), (40, "-1")] {
        let code_at = |i: usize| if scale == 2 && code == "8" && i == 17 { "9" } else { code };
        let cells: Vec<String> = (0..40)
            .map(|i| if i % 10 == 7 { code_at(i).to_owned() } else { (i * 3 % scale + 1).to_string() })
            .collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let note = Expect::Note(vec!["`x` holds", code, "apart from the rest", "--na"]);
        cases.push(case(format!("code {code} beside 1 to {scale}"), file(',', &cells), "", note));
    }
    let half: Vec<String> = (0..40).map(|i| if i % 2 == 0 { "-999".to_owned() } else { (i % 7).to_string() }).collect();
    let half: Vec<&str> = half.iter().map(String::as_str).collect();
    cases.push(case(
        "a code in half of the cells",
        file(',', &half),
        "",
        Expect::Note(vec!["-999 (20 cells)", "--na"]),
    ));
    for (name, from) in [("id", 1), ("patient_id", 1000), ("Unnamed: 0", 0), ("userId", 17)] {
        let mut text = format!("{name},t,y,x\n");
        (0..40).for_each(|i| text += &format!("{},{},{},{}\n", from + i, i % 2, i * i % 23, i * 7 % 11));
        let note = Expect::Note(vec!["number or name the rows", name]);
        cases.push(case(format!("identifier {name}"), text.into_bytes(), "", note));
    }
    let mut text = "card,t,y,x\n".to_owned();
    (0..40_u64)
        .for_each(|i| text += &format!("4929{:016},{},{},{}\n", i * 7_919_977_777, i % 2, i * i % 23, i * 7 % 11));
    cases.push(case("twenty digits", text.into_bytes(), "", Expect::Note(vec!["name the rows", "card"])));
    // A counter with a long prefix: rounded to sixteen digits, many are one number.
    let mut text = "uid,t,y,x\n".to_owned();
    (0..40_u64).for_each(|i| text += &format!("9{:019},{},{},{}\n", i * 7919, i % 2, i * i % 23, i * 7 % 11));
    cases.push(case("a counter of twenty digits", text.into_bytes(), "", Expect::Note(vec!["name the rows", "uid"])));
    let mut text = "key,t,y,x\n".to_owned();
    (0..60).for_each(|i| text += &format!("K-{:x},{},{},{}\n", i * 7919, i % 2, i * i % 23, i * 7 % 11));
    cases.push(case("text keys", text.into_bytes(), "", Expect::Note(vec!["`key`", "unique", "decimal mark"])));
    cases
}

/// Whole files as spreadsheets write them.
fn spreadsheets() -> Vec<Case> {
    let of = Expect::Numbers;
    let plain = || of(vec![1.5, 2.5, 3.5, 4.5]);
    let rows = "t;y;x\n0;1;1,5\n1;2;2,5\n0;3;3,5\n1;4;4,5\n";
    let bytes = |text: &str| text.as_bytes().to_vec();
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(rows.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    vec![
        case("sep line", bytes(&format!("sep=;\n{rows}")), "", plain()),
        case("sep line with returns", bytes(&format!("sep=;\r\n{}", rows.replace('\n', "\r\n"))), "", plain()),
        case("byte-order mark", bytes(&format!("\u{feff}{rows}")), "", plain()),
        case("returns", bytes(&rows.replace('\n', "\r\n")), "", plain()),
        case("old returns", bytes(&rows.replace('\n', "\r")), "", plain()),
        case(
            "quoted",
            bytes("\"t\";\"y\";\"x\"\n\"0\";\"1\";\"1,5\"\n\"1\";\"2\";\"2,5\"\n0;3;3,5\n1;4;4,5\n"),
            "",
            plain(),
        ),
        case("no last line end", bytes(rows.trim_end()), "", plain()),
        case("a row of nothing", bytes(&format!("{rows};;\n")), "", plain()),
        case("blank lines", bytes(&rows.replace("1;2;", "\n1;2;")), "", plain()),
        case(
            "comma in a comma file",
            bytes("t,y,x\n0,1,1,5\n1,2,2,5\n"),
            "",
            stop(&["row 1", "line 2", "4 cells", "comma"]),
        ),
        case("a title above", bytes(&format!("Report 2024\n{rows}")), "", plain()),
        case("a title and blank lines", bytes(&format!("Report; 2024\n\n{rows}")), "", plain()),
        case("a title with delimiters", bytes(&format!("Report 2024;;\n;;\n{rows}")), "", plain()),
        case("comments above", bytes(&format!("# by a program\n# version 2\n{rows}")), "", plain()),
        case("sep line and title", bytes(&format!("sep=;\nReport\n{rows}")), "", plain()),
        case(
            "a title is noted",
            bytes(&format!("Report 2024\n{rows}")),
            "",
            Expect::Note(vec!["line above the column names", "`Report 2024`"]),
        ),
        case(
            "a stray below a title has its line",
            bytes(&format!("Report\n\n{rows}0;5;oops\n")),
            "",
            stop(&["`x`", "row 5", "line 8", "`oops`"]),
        ),
        case(
            "a second header",
            bytes(&format!("{rows}t;y;x\n")),
            "",
            stop(&["`t`", "row 5", "line 6", "the column's own name", "delete the row"]),
        ),
        case(
            "a total below",
            bytes(&format!("{rows}Total;10;12\n")),
            "",
            stop(&["`t`", "row 5", "`Total`", "--na Total"]),
        ),
        case("a total named", bytes(&format!("{rows}Total;10;12\n")), "na=Total", plain()),
        case("a footnote", bytes(&format!("{rows}* by a program\n")), "", stop(&["row 5", "line 6", "1 cell,"])),
        case(
            "units below the names",
            bytes(&rows.replace("x\n", "x\n;kg;cm\n")),
            "",
            stop(&["row 1", "`kg`", "--na kg"]),
        ),
        case("a delimiter too many", bytes(&rows.replace("5\n", "5;\n")), "", stop(&["row 1", "line 2", "4 cells"])),
        case(
            "names in two lines",
            bytes("group,,2023\nt,y,x\n0,1,1.5\n1,2,2.5\n0,3,3.5\n"),
            "",
            stop(&["`t`", "first row below the column names", "delete"]),
        ),
        case(
            "separated by carets",
            bytes(&rows.replace(';', "^").replace(',', ".")),
            "",
            stop(&["`t`", "separated by a mark"]),
        ),
        case("blanks between", bytes(&rows.replace(';', " ")), "", stop(&["separated by blanks", "commas or tabs"])),
        case("no header", bytes("0,1,1.5\n1,2,2.5\n0,3,3.5\n"), "", stop(&["--no-header"])),
        case("no header, with a text", bytes("0,1,1.5,a\n1,2,2.5,b\n0,3,3.5,a\n"), "", stop(&["`t`", "--no-header"])),
        case("UTF-16 without a mark", utf16[2..].to_vec(), "", stop(&["UTF-16", "UTF-8"])),
        case("UTF-16", utf16.clone(), "", stop(&["UTF-16", "UTF-8"])),
        case("Latin-1", b"t;y;x\n0;1;caf\xe9\n1;2;th\xe9\n".to_vec(), "", stop(&["row 1", "UTF-8"])),
    ]
}

/// A workbook of one or two sheets whose cells are given as XML, in an archive without compression.
fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let (mut list, mut links) = (String::new(), String::new());
    for (k, (name, _)) in sheets.iter().enumerate() {
        list += &format!("<sheet name=\"{name}\" sheetId=\"{0}\" r:id=\"rId{0}\"/>", k + 1);
        let place = format!("Target=\"worksheets/sheet{}.xml\"", k + 1);
        links += &format!("<Relationship Id=\"rId{}\" Type=\"{OFFICE}/worksheet\" {place}/>", k + 1);
    }
    links += &format!("<Relationship Id=\"rId9\" Type=\"{OFFICE}/styles\" Target=\"styles.xml\"/>");
    // Style 1 shows days as dates.
    let styles = "<cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\" applyNumberFormat=\"1\"/></cellXfs>";
    let mut files = vec![
        ("[Content_Types].xml".to_owned(), format!("{HEAD}<Types xmlns=\"{PACKAGE}/content-types\"/>")),
        (
            "_rels/.rels".to_owned(),
            format!(
                "{HEAD}<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"rId1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml".to_owned(),
            format!("{HEAD}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets>{list}</sheets></workbook>"),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            format!("{HEAD}<Relationships xmlns=\"{PACKAGE}/relationships\">{links}</Relationships>"),
        ),
        ("xl/styles.xml".to_owned(), format!("{HEAD}<styleSheet xmlns=\"{MAIN}\">{styles}</styleSheet>")),
    ];
    for (k, (_, rows)) in sheets.iter().enumerate() {
        // Behind a `|`, the ranges of merged cells.
        let (rows, merged) = rows.split_once('|').unwrap_or((rows, ""));
        let merged: String = merged.split_whitespace().map(|of| format!("<mergeCell ref=\"{of}\"/>")).collect();
        let merged = if merged.is_empty() { merged } else { format!("<mergeCells>{merged}</mergeCells>") };
        let data = format!("{HEAD}<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData>{merged}</worksheet>");
        files.push((format!("xl/worksheets/sheet{}.xml", k + 1), data));
    }
    archive(&files)
}

/// Files in an archive without compression.
fn archive(files: &[(String, String)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (vec![], vec![]);
    for (name, text) in files {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let size = (text.len() as u32).to_le_bytes();
        let mut entry = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        entry.extend(crc.sum().to_le_bytes());
        entry.extend(size.iter().chain(&size));
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0, 0]);
        directory.extend([b'P', b'K', 1, 2, 20, 0]);
        directory.extend(&entry);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([b'P', b'K', 3, 4]);
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(text.as_bytes());
    }
    let (at, n) = ((bytes.len() as u32).to_le_bytes(), (files.len() as u16).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend([b'P', b'K', 5, 6, 0, 0, 0, 0]);
    bytes.extend(n.iter().chain(&n).chain(&size).chain(&at));
    bytes.extend([0, 0]);
    bytes
}

/// A sheet of LibreOffice: rows of cells that are numbers, shares shown in percent (`45%`), dates or texts.
fn ods(rows: &[[&str; 3]]) -> Vec<u8> {
    const OASIS: &str = "urn:oasis:names:tc:opendocument:xmlns";
    let cell = |text: &str| {
        let (kind, value) = match text.strip_suffix('%').and_then(|share| share.parse::<f64>().ok()) {
            Some(share) => ("percentage", format!("office:value=\"{}\"", share / 100.0)),
            None if text.parse::<f64>().is_ok() => ("float", format!("office:value=\"{text}\"")),
            None if text.matches('-').count() == 2 => ("date", format!("office:date-value=\"{text}\"")),
            None => ("string", String::new()),
        };
        let empty = "<table:table-cell/>".to_owned();
        let full = format!(
            "<table:table-cell office:value-type=\"{kind}\" {value}><text:p>{text}</text:p></table:table-cell>"
        );
        if text.is_empty() { empty } else { full }
    };
    let row = |cells: &[&str; 3]| format!("<table:table-row>{}</table:table-row>", cells.map(cell).concat());
    let rows: String = rows.iter().map(row).collect();
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><office:document-content xmlns:office=\"{OASIS}:office:1.0\" \
         xmlns:table=\"{OASIS}:table:1.0\" xmlns:text=\"{OASIS}:text:1.0\"><office:body><office:spreadsheet><table:table \
         table:name=\"Data\">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    );
    let manifest = format!("<manifest:manifest xmlns:manifest=\"{OASIS}:manifest:1.0\"/>");
    let files = [
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet".to_owned()),
        ("META-INF/manifest.xml", manifest),
        ("content.xml", content),
    ];
    archive(&files.map(|(name, text)| (name.to_owned(), text)))
}

/// Rows of a sheet: numbers as such, `=` before a date's serial number, `!` before an error, else text.
fn sheet(rows: &[[&str; 3]]) -> String {
    let cell = |text: &str| {
        if let Some(serial) = text.strip_prefix('=') {
            format!("<c s=\"1\"><v>{serial}</v></c>")
        } else if let Some(error) = text.strip_prefix('!') {
            format!("<c t=\"e\"><v>{error}</v></c>")
        } else if text.is_empty() || text.parse::<f64>().is_ok() {
            format!("<c><v>{text}</v></c>").replace("<v></v>", "")
        } else {
            format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")
        }
    };
    let row = |cells: &[&str; 3]| format!("<row>{}</row>", cells.map(cell).concat());
    rows.iter().map(row).collect()
}

fn workbooks() -> Vec<Case> {
    let of = |name: &str, text: Vec<u8>, expect: Expect| Case { ending: "xlsx", ..case(name, text, "", expect) };
    let head = ["t", "y", "x"];
    let numbers = sheet(&[head, ["0", "1", "1.234"], ["1", "2", "2.5"], ["0", "3", ""], ["1", "4", "7"]]);
    let values = || Expect::Numbers(vec![1.234, 2.5, GAP, 7.0]);
    let dates = sheet(&[head, ["0", "1", "=45443"], ["1", "2", "=45323"], ["0", "3", "=45385"]]);
    let broken = sheet(&[head, ["0", "1", "4.5"], ["1", "2", "!#DIV/0!"], ["0", "3", "6"], ["1", "4", "7"]]);
    let texts = sheet(&[head, ["0", "1", "1,5"], ["1", "2", "2,5"], ["0", "3", "3,25"]]);
    let days = || Expect::Numbers(vec![19_874.0, 19_754.0, 19_816.0]);
    let at = |place: &str, value: &str| format!("<c r=\"{place}\"><v>{value}</v></c>");
    let mut merged = sheet(&[head]).replace("<row>", "<row r=\"1\">");
    for (k, x) in ["5", "", "7", ""].iter().enumerate() {
        let third = if x.is_empty() { String::new() } else { at(&format!("C{}", k + 2), x) };
        let (t, y) = (at(&format!("A{}", k + 2), &(k % 2).to_string()), at(&format!("B{}", k + 2), &k.to_string()));
        merged += &format!("<row r=\"{}\">{t}{y}{third}</row>", k + 2);
    }
    merged += "|C2:C3 C4:C5";
    let open =
        |name: &str, rows: &[[&str; 3]], expect: Expect| Case { ending: "ods", ..case(name, ods(rows), "", expect) };
    let shares = Expect::Numbers(vec![0.45, 0.07, 1.2]);
    let stray = stop(&["`x`", "row 2", "`?`", "--na"]);
    vec![
        of("workbook of numbers", workbook(&[("Data", &numbers)]), values()),
        of("workbook of dates", workbook(&[("Data", &dates)]), days()),
        of("workbook of texts", workbook(&[("Data", &texts)]), Expect::Numbers(vec![1.5, 2.5, 3.25])),
        of("workbook with an error", workbook(&[("Data", &broken)]), stop(&["`x`", "row 2", "`#DIV/0!`", "--na"])),
        of("two sheets", workbook(&[("Data", &numbers), ("Notes", &texts)]), values()),
        of(
            "two sheets are noted",
            workbook(&[("Data", &numbers), ("Notes", &texts)]),
            Expect::Note(vec!["`Data`", "--sheet"]),
        ),
        of("merged cells", workbook(&[("Data", &merged)]), Expect::Numbers(vec![5.0, 5.0, 7.0, 7.0])),
        of(
            "merged cells are noted",
            workbook(&[("Data", &merged)]),
            Expect::Note(vec!["2 merged cells", "each of which"]),
        ),
        open(
            "sheet of LibreOffice",
            &[head, ["0", "1", "1.234"], ["1", "2", "2.5"], ["0", "3", ""], ["1", "4", "7"]],
            values(),
        ),
        open(
            "dates in LibreOffice",
            &[head, ["0", "1", "2024-05-31"], ["1", "2", "2024-02-01"], ["0", "3", "2024-04-03"]],
            days(),
        ),
        open("shares in LibreOffice", &[head, ["0", "1", "45%"], ["1", "2", "7%"], ["0", "3", "120%"]], shares),
        open(
            "a stray in LibreOffice",
            &[head, ["0", "1", "4"], ["1", "2", "?"], ["0", "3", "6"], ["1", "4", "7"]],
            stray,
        ),
        of("title row", workbook(&[("Data", &format!("{}{numbers}", sheet(&[["Report 2024", "", ""]])))]), values()),
        of("a web page", b"<html><table><tr><td>t</td></tr></table></html>".to_vec(), stop(&["web page", ".xlsx"])),
        of("empty sheet", workbook(&[("Data", "")]), stop(&["`Data`", "empty"])),
        of("no workbook", b"t,y,x\n1,2,3\n".to_vec(), stop(&["workbook", "CSV"])),
    ]
}

#[test]
fn a_sheet_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let sheets = [sheet(&[["a", "b", "c"], ["1", "2", "3"]]), sheet(&[["d", "e", "f"], ["4", "5", "6"]])];
    std::fs::write(&path, workbook(&[("One", &sheets[0]), ("Two", &sheets[1])])).unwrap();
    let named = |name: &str| read(&path, &ReadOptions { sheet: Some(name.to_owned()), ..ReadOptions::default() });
    assert_eq!(named("two").unwrap().columns()[0].name, "d");
    let stopped = named("Three").unwrap_err().to_string();
    assert!(stopped.contains("`Three`") && stopped.contains("One, Two"), "{stopped}");
}

/// Files that are no delimited text.
fn other_formats() -> Vec<Case> {
    let of = |ending: &'static str, text: &str, expect: Expect| Case {
        ending,
        ..case(format!("{ending} {text:.20}"), text.as_bytes().to_vec(), "", expect)
    };
    let rows =
        [r#"{"t":0,"y":1,"x":1.234}"#, r#"{"t":1,"y":2,"x":5}"#, r#"{"t":0,"y":3}"#, r#"{"t":1,"y":4,"x":null}"#];
    let numbers = || Expect::Numbers(vec![1.234, 5.0, GAP, GAP]);
    let beside_commas = r#"[{"t":0,"y":1,"x":1.234,"z":"0,5"},{"t":1,"y":2,"x":2.345,"z":"1,5"}]"#;
    vec![
        of("json", &format!("[{}]", rows.join(",\n")), numbers()),
        of("ndjson", &rows.join("\n"), numbers()),
        of("jsonl", &rows.join("\n"), numbers()),
        of("json", beside_commas, Expect::Numbers(vec![1.234, 2.345])),
        of("json", r#"[{"t":0,"y":1,"x":[1,2]}]"#, stop(&["`x`", "row 1", "list"])),
        of("ndjson", "{\"t\":0,\"y\":1,\"x\":3}\noops\n", stop(&["row 2", "line 2", "JSON"])),
        of("json", "[]", stop(&["no objects"])),
        of("json", &format!("{{\"rows\":[{}],\"n\":4}}", rows.join(",")), numbers()),
        of("json", r#"{"t":[0,1,0,1],"y":[1,2,3,4],"x":[1.234,5,null,null]}"#, numbers()),
        of(
            "json",
            r#"{"t":{"0":0,"1":1,"2":0,"10":1},"y":{"0":1,"1":2,"2":3,"10":4},"x":{"0":1.234,"1":5,"2":null,"10":null}}"#,
            numbers(),
        ),
        of(
            "json",
            r#"{"2":{"t":0,"y":3},"10":{"t":1,"y":4},"0":{"t":0,"y":1,"x":1.234},"1":{"t":1,"y":2,"x":5}}"#,
            numbers(),
        ),
        of(
            "json",
            r#"{"columns":["t","y","x"],"index":[0,1,2,3],"data":[[0,1,1.234],[1,2,5],[0,3,null],[1,4,null]]}"#,
            numbers(),
        ),
        of("json", r#"{"t":[0,1],"y":[1,2,3],"x":[1,2]}"#, stop(&["`t` has 2", "`y` has 3"])),
        of("json", r#"[["t","y","x"],[0,1,2]]"#, stop(&["line 1", "array of objects", "orient=\"records\""])),
        of("json", r#"[{"t":0,"y":1,"a":{"b":1}},{"t":1,"y":2,"a":{"b":2}}]"#, Expect::Columns(vec!["a.b"])),
        of("json", r#"{"a":{"t":0,"y":1},"b":{"t":1,"y":2}}"#, stop(&["objects in an object", "records"])),
        of("dta", "x", stop(&["Stata 12", "save", "version=118"])),
        of("sav", "x", stop(&["SPSS", "CSV"])),
        of("sas7bdat", "x", stop(&["SAS", "CSV"])),
        of("rds", "x", stop(&["R file", "write.csv"])),
        of("sqlite", "x", stop(&["database", "export"])),
    ]
}

/// Files of Stata that another program wrote (`testdata/stata/make.py`).
fn stata() -> Vec<Case> {
    let file = |name: &str| std::fs::read(Path::new("../../testdata/stata").join(name)).unwrap();
    let of = |name: &str, expect: Expect| Case { ending: "dta", ..case(name, file(name), "", expect) };
    let numbers = || Expect::Numbers(vec![1.5, GAP, -2.25, 1e6]);
    let cut = |name: &str, n: usize| {
        let mut bytes = file(name);
        bytes.truncate(n);
        bytes
    };
    vec![
        of("v117.dta", numbers()),
        of("v118.dta", numbers()),
        of("v119.dta", numbers()),
        of("v118.dta", Expect::Note(vec!["`race`", "labels are read", "categories"])),
        of("v114.dta", stop(&["Stata 12 or older", "save", "version=118"])),
        Case { ending: "dta", ..case("cut short", cut("v118.dta", 700), "", stop(&["cut short or damaged"])) },
    ]
}

fn corpus() -> Vec<Case> {
    let lists =
        [locales(), units(), unclear(), strays(), dates(), oddities(), spreadsheets(), workbooks(), other_formats()];
    (lists.into_iter().chain([stata()])).flatten().collect()
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
            if !same(values, want) {
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
