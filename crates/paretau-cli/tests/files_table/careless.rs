//! Files made in a hurry: exported by a spreadsheet, edited by hand, renamed, half-finished, or the wrong one.

use std::fmt::Write as _;

use super::{Case, Fixtures, fit, with};

/// Forty people with two features; `change` edits one row's cells before it is written.
fn people(header: &str, change: impl Fn(usize, &mut Vec<String>)) -> String {
    let mut text = format!("{header}\n");
    for i in 0..40 {
        let mut cells = vec![
            (i / 2 % 2).to_string(),
            format!("{}.5", i * 7 % 11),
            (i * 5 % 13).to_string(),
            (i * 3 % 7).to_string(),
        ];
        change(i, &mut cells);
        let _ = writeln!(text, "{}", cells.join(","));
    }
    text
}

fn plain() -> String {
    people("t,y,x,z", |_, _| {})
}

/// The people with one cell of one row replaced.
fn cell(row: usize, column: usize, value: &'static str) -> String {
    people("t,y,x,z", |i, cells| {
        if i == row {
            value.clone_into(&mut cells[column]);
        }
    })
}

/// The people with a column replaced.
fn column(at: usize, value: impl Fn(usize) -> String) -> String {
    people("t,y,x,z", |i, cells| cells[at] = value(i))
}

/// The people with one more column.
fn more(name: &str, value: impl Fn(usize) -> String) -> String {
    people(&format!("t,y,x,z,{name}"), |i, cells| cells.push(value(i)))
}

const FIT: &str = "fit FILE --treatment t --outcome y -e lr-1 --out new.paretau";

pub(crate) fn cases(_: &Fixtures) -> Vec<Case> {
    [notations(), treatments(), outcomes(), features(), roles(), layouts(), arguments(), predictions()]
        .into_iter()
        .flatten()
        .collect()
}

fn notations() -> Vec<Case> {
    let semicolons = plain().replace(',', ";").replace(".5", ",5");
    vec![
        fit("as it should be", "f.csv", plain(), 0, &["40 rows"]),
        fit("a byte-order mark", "f.csv", format!("\u{feff}{}", plain()), 0, &["40 rows"]),
        fit("line ends of Windows", "f.csv", plain().replace('\n', "\r\n"), 0, &["40 rows"]),
        fit("line ends of old Macs", "f.csv", plain().replace('\n', "\r"), 0, &["40 rows"]),
        fit("no newline at the end", "f.csv", plain().trim_end(), 0, &["40 rows"]),
        fit("blank lines at the end", "f.csv", plain() + "\n\n\n", 0, &["40 rows"]),
        fit("semicolons and decimal commas", "f.csv", semicolons, 0, &["40 rows"]),
        fit("tabs under the name .csv", "f.csv", plain().replace(',', "\t"), 0, &["40 rows"]),
        fit("commas under the name .tsv", "f.tsv", plain(), 0, &["40 rows"]),
        fit("bars", "f.csv", plain().replace(',', "|"), 0, &["40 rows"]),
        fit("blanks around cells", "f.csv", plain().replace(',', " , "), 0, &["40 rows"]),
        fit(
            "every cell in quotes",
            "f.csv",
            plain().lines().map(|l| format!("\"{}\"\n", l.replace(',', "\",\""))).collect::<String>(),
            0,
            &["40 rows"],
        ),
        fit("a thousands mark", "f.csv", column(2, |i| format!("\"{},{:03}\"", i + 1, i * 7)), 0, &["40 rows"]),
        fit("percent signs", "f.csv", column(2, |i| format!("{i}%")), 0, &["40 rows"]),
        fit("a currency", "f.csv", column(2, |i| format!("€{i}.50")), 0, &["40 rows"]),
        fit("plus signs", "f.csv", column(2, |i| format!("+{i}")), 0, &["40 rows"]),
        fit("exponents", "f.csv", column(2, |i| format!("{i}.5E+02")), 0, &["40 rows"]),
        fit("capital letters in the ending", "f.CSV", plain(), 0, &["40 rows"]),
        fit("an infinite cell", "f.csv", cell(5, 2, "Inf"), 3, &["column `x`", "row 6"]),
        fit("a formula's error", "f.csv", cell(5, 2, "#DIV/0!"), 3, &["column `x`", "row 6", "--na"]),
    ]
}

fn treatments() -> Vec<Case> {
    vec![
        fit("words for arms", "f.csv", column(0, |i| ["no", "yes"][i / 2 % 2].into()), 0, &["40 rows"]),
        fit("true and false", "f.csv", column(0, |i| ["FALSE", "TRUE"][i / 2 % 2].into()), 0, &["40 rows"]),
        fit("one and two", "f.csv", column(0, |i| (i / 2 % 2 + 1).to_string()), 3, &["column `t`", "--treated-value"]),
        fit(
            "arms with blanks and capitals",
            "f.csv",
            column(0, |i| ["no", "Yes ", "NO", " yes"][i % 4].into()),
            0,
            &["40 rows"],
        ),
        fit("everybody treated", "f.csv", column(0, |_| "1".into()), 3, &["column `t`", "both arms"]),
        fit("nobody's treatment known", "f.csv", column(0, |_| String::new()), 3, &["column `t`"]),
        fit("some treatments missing", "f.csv", cell(3, 0, ""), 0, &["39 rows"]),
        fit("a dose instead of arms", "f.csv", column(0, |i| format!("{}.5", i % 9)), 3, &["column `t`"]),
        fit("three arms", "f.csv", column(0, |i| ["a", "b", "c"][i % 3].into()), 3, &["--treated-value"]),
        fit(
            "a typing error in one arm",
            "f.csv",
            column(0, |i| if i == 7 { "yess".into() } else { ["no", "yes"][i / 2 % 2].into() }),
            3,
            &["yess"],
        ),
        fit("one treated person", "f.csv", column(0, |i| u8::from(i == 3).to_string()), 0, &["no average effect"]),
        with(
            "a treated value that is not there",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome y --treated-value yes --out new.paretau",
            3,
            &["`yes`"],
        ),
        with(
            "a treatment column misspelled",
            "f.csv",
            plain(),
            "fit FILE --treatment T1 --outcome y --out new.paretau",
            3,
            &["no such column"],
        ),
        with("no treatment named", "f.csv", plain(), "fit FILE --outcome y --out new.paretau", 2, &["--treatment"]),
    ]
}

fn outcomes() -> Vec<Case> {
    vec![
        fit(
            "a yes/no outcome in words",
            "f.csv",
            column(1, |i| ["no", "Yes"][i * 3 / 2 % 2].into()),
            0,
            &["40 rows", "`yes` counts as 1 and `no` as 0"],
        ),
        fit(
            "an outcome of other words",
            "f.csv",
            column(1, |i| ["worse", "better"][i * 3 / 2 % 2].into()),
            3,
            &["column `y`", "0 and 1"],
        ),
        fit("a yes/no outcome in numbers", "f.csv", column(1, |i| (i * 3 / 2 % 2).to_string()), 0, &["40 rows"]),
        fit("one word among outcomes", "f.csv", cell(9, 1, "ten"), 3, &["column `y`", "row 10", "`ten`"]),
        fit("some outcomes missing", "f.csv", cell(9, 1, ""), 0, &["39 rows"]),
        fit("some outcomes NA", "f.csv", cell(9, 1, "NA"), 0, &["39 rows"]),
        fit("all outcomes missing", "f.csv", column(1, |_| String::new()), 3, &["no row"]),
        fit("the same outcome everywhere", "f.csv", column(1, |_| "5".into()), 3, &["column `y`", "5 in every row"]),
        fit("days as outcome", "f.csv", column(1, |i| format!("2024-01-{:02}", i % 28 + 1)), 0, &["40 rows"]),
        with(
            "an outcome column misspelled",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome Y_ --out new.paretau",
            3,
            &["did you mean `y`"],
        ),
        with(
            "treatment and outcome swapped",
            "f.csv",
            plain(),
            "fit FILE --treatment y --outcome t --out new.paretau",
            3,
            &["column `y`"],
        ),
        with(
            "one column for both",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome t --out new.paretau",
            3,
            &["`t`"],
        ),
        fit("a code for missing among outcomes", "f.csv", cell(4, 1, "-999"), 0, &["-999"]),
    ]
}

fn features() -> Vec<Case> {
    vec![
        fit(
            "a copy of the treatment",
            "f.csv",
            more("group", |i| (i / 2 % 2).to_string()),
            3,
            &["column `group`", "the treatment under another name", "--ignore group"],
        ),
        fit(
            "the treatment the other way round",
            "f.csv",
            more("rest", |i| (1 - i / 2 % 2).to_string()),
            3,
            &["--ignore rest"],
        ),
        fit(
            "numbers that differ behind the 17th digit",
            "f.csv",
            column(2, |i| ((1_u64 << 63) + i as u64).to_string()),
            0,
            &["same in every training row"],
        ),
        fit(
            "names that differ in a blank of no width",
            "f.csv",
            plain().replacen(",z", ",x\u{200b}", 1),
            0,
            &["`x` names 2 columns"],
        ),
        fit("a name without letters", "f.csv", plain().replacen(",x,", ",,", 1), 0, &["column 3 has no name"]),
        fit(
            "the treatment in words beside it",
            "f.csv",
            more("arm", |i| ["control", "treated"][i / 2 % 2].into()),
            3,
            &["column `arm`", "--ignore arm"],
        ),
        fit(
            "a copy of the outcome",
            "f.csv",
            more("result", |i| format!("{}.5", i * 7 % 11)),
            0,
            &["`result` almost determines the outcome"],
        ),
        fit("an identifier", "f.csv", more("patient_id", |i| (1000 + i * 7 % 997).to_string()), 0, &["patient_id"]),
        fit("row numbers", "f.csv", more("row", |i| i.to_string()), 0, &["row"]),
        fit("names of people", "f.csv", more("name", |i| format!("person {i}")), 0, &["`name`", "unique"]),
        fit("a constant column", "f.csv", more("site", |_| "Ulm".into()), 0, &["same in every training row"]),
        fit("an empty column", "f.csv", more("notes", |_| String::new()), 0, &["notes"]),
        fit("a column twice", "f.csv", more("x", |i| (i * 5 % 13).to_string()), 0, &["x"]),
        fit(
            "a copy under another name",
            "f.csv",
            more("x2", |i| (i * 5 % 13).to_string()),
            0,
            &["copy of an earlier column"],
        ),
        fit("only constants", "f.csv", "t,y,x\n0,1,4\n1,2,4\n0,3,4\n1,5,4\n", 3, &["no feature"]),
        fit("no features", "f.csv", "t,y\n0,1\n1,2\n0,3\n1,5\n", 3, &["no feature"]),
        fit(
            "more features than rows",
            "f.csv",
            "t,y,a,b,c,d,e1,f\n0,1,1,2,3,4,5,6\n1,2,2,3,1,5,6,7\n0,3,5,1,4,2,3,1\n1,5,1,4,2,6,1,3\n",
            0,
            &["4 rows"],
        ),
        fit("codes for missing", "f.csv", cell(4, 2, "-999"), 0, &["-999"]),
        fit("one word among numbers", "f.csv", cell(4, 2, "tall"), 3, &["column `x`", "row 5", "--numeric x"]),
        fit(
            "dates of both orders",
            "f.csv",
            more("day", |i| format!("{:02}/{:02}/2024", i % 12 + 1, i % 9 + 1)),
            3,
            &["column `day`", "--date-order"],
        ),
        fit("unnamed columns", "f.csv", people("t,y,,", |_, _| {}), 0, &["40 rows"]),
        fit("a footer with totals", "f.csv", plain() + "Total,199,220,117\n", 3, &["Total"]),
        fit("a footer that is a remark", "f.csv", plain() + "exported on Monday\n", 3, &["row 41"]),
    ]
}

fn roles() -> Vec<Case> {
    let fit_with = |flags: &str| format!("{FIT} {flags}");
    vec![
        with(
            "a weight below zero",
            "f.csv",
            more("w", |i| (1 - 2 * i64::from(i == 4)).to_string()),
            &fit_with("--weight w"),
            3,
            &["column `w`", "row 5"],
        ),
        with("weights of zero", "f.csv", more("w", |_| "0".into()), &fit_with("--weight w"), 3, &["w"]),
        with(
            "a weight missing",
            "f.csv",
            more("w", |i| if i == 4 { String::new() } else { "1".into() }),
            &fit_with("--weight w"),
            3,
            &["column `w`", "row 5"],
        ),
        with(
            "a propensity of 1",
            "f.csv",
            more("p", |i| if i == 4 { "1".into() } else { "0.5".into() }),
            &fit_with("--propensity p"),
            3,
            &["p"],
        ),
        with("propensities in percent", "f.csv", more("p", |_| "50".into()), &fit_with("--propensity p"), 3, &["50"]),
        with(
            "a group missing",
            "f.csv",
            more("g", |i| if i == 4 { String::new() } else { (i % 5).to_string() }),
            &fit_with("--group g"),
            3,
            &["column `g`", "row 5"],
        ),
        with("one truth of two", "f.csv", plain(), &fit_with("--truth x"), 2, &["--truth"]),
        with("a feature that is not there", "f.csv", plain(), &fit_with("--features x,weight"), 3, &["`weight`"]),
        with(
            "a feature that is the outcome",
            "f.csv",
            plain(),
            &fit_with("--features x,y"),
            3,
            &["`y`", "another role"],
        ),
        with("everything ignored", "f.csv", plain(), &fit_with("--ignore x,z"), 3, &["no feature"]),
        with("groups that are not there", "f.csv", plain(), &fit_with("--by sex"), 3, &["`sex`"]),
    ]
}

fn layouts() -> Vec<Case> {
    vec![
        fit("empty", "f.csv", "", 3, &["is empty"]),
        fit("only a header", "f.csv", "t,y,x\n", 3, &["no rows"]),
        fit("no header", "f.csv", plain().split_once('\n').unwrap().1, 3, &["--no-header"]),
        fit(
            "a title above the header",
            "f.csv",
            format!("Study of 2024\n\n{}", plain()),
            0,
            &["40 rows", "`Study of 2024`"],
        ),
        fit("a remark above the header", "f.csv", format!("# exported\n{}", plain()), 0, &["40 rows", "`# exported`"]),
        fit("a row cut short", "f.csv", plain().replace("\n1,", "\n1\n0,"), 3, &["has 1 cell,", "has 4"]),
        fit("a comma too many in one row", "f.csv", plain().replacen("\n1,", "\n1,,", 1), 3, &["5 cells"]),
        fit("a comma at every end", "f.csv", plain().replace('\n', ",\n"), 0, &["40 rows"]),
        fit("one row", "f.csv", "t,y,x\n1,2,3\n", 3, &["both arms"]),
        fit("two rows", "f.csv", "t,y,x\n1,2,3\n0,1,5\n", 0, &["no average effect"]),
        fit(
            "a web page under the name .csv",
            "f.csv",
            "<!DOCTYPE html><html><body>Not found</body></html>\n",
            3,
            &["f.csv"],
        ),
        fit("JSON under the name .csv", "f.csv", "[{\"t\":0,\"y\":1},{\"t\":1,\"y\":2}]\n", 3, &["f.csv"]),
        fit(
            "a pointer of git instead of data",
            "f.csv",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
            3,
            &["f.csv"],
        ),
        fit("a CSV under the name .parquet", "f.parquet", plain(), 3, &["f.parquet", "Parquet"]),
        fit("a CSV under the name .xlsx", "f.xlsx", plain(), 3, &["f.xlsx"]),
        fit("an ending that nobody knows", "f.data", plain(), 3, &["f.data", "ending"]),
        fit("no ending", "people", plain(), 3, &["people", "ending"]),
    ]
}

fn arguments() -> Vec<Case> {
    vec![
        with(
            "an estimator misspelled",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome y -e causal-forrest --out new.paretau",
            2,
            &["did you mean `causal-forest`"],
        ),
        with(
            "a parameter misspelled",
            "f.csv",
            plain(),
            &format!("{FIT} --set penalti=1"),
            2,
            &["did you mean `penalty`"],
        ),
        with("a parameter of the wrong kind", "f.csv", plain(), &format!("{FIT} --set penalty=large"), 2, &["penalty"]),
        with("a parameter out of range", "f.csv", plain(), &format!("{FIT} --set penalty=-1"), 2, &["penalty"]),
        with("a validation share above 1", "f.csv", plain(), &format!("{FIT} --valid 20"), 2, &["--valid"]),
        with("5000 threads", "f.csv", plain(), &format!("{FIT} --threads 5000"), 2, &["5000", "1024"]),
        with("no threads", "f.csv", plain(), &format!("{FIT} --threads 0"), 2, &["--threads"]),
        with(
            "a file that is not there",
            "",
            "",
            "fit nowhere.csv --treatment t --outcome y --out new.paretau",
            3,
            &["nowhere.csv", "check the path"],
        ),
        with(
            "the data as output",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome y -e lr-1 --out FILE",
            2,
            &["a file other than"],
        ),
        with(
            "an output in a folder that is not there",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome y -e lr-1 --out no/m.paretau",
            3,
            &["make the folder"],
        ),
        with(
            "a model over somebody's notes",
            "f.csv",
            plain(),
            "fit people.csv --treatment t --outcome y -e lr-1 --out FILE",
            3,
            &["--force"],
        ),
        with(
            "an output whose name is too long, before an hour is spent on it",
            "f.csv",
            plain(),
            &format!("fit FILE --treatment t --outcome nothing --out {}", "n".repeat(256)),
            3,
            &["File name too long"],
        ),
        with("no output", "f.csv", plain(), "fit FILE --treatment t --outcome y --out=", 2, &["--out"]),
        with("no data", "", "", "fit --treatment t --outcome y --out new.paretau", 2, &["<DATA>"]),
        with("a negative number of threads", "f.csv", plain(), &format!("{FIT} --threads=-1"), 2, &["--threads"]),
        with("no memory", "f.csv", plain(), &format!("{FIT} --max-memory 0"), 2, &["`0` is no size"]),
        with("less than no memory", "f.csv", plain(), &format!("{FIT} --max-memory=-5G"), 2, &["`-5G` is no size"]),
        with("a seed of thirty digits", "f.csv", plain(), &format!("{FIT} --seed {}", "9".repeat(30)), 2, &["--seed"]),
        with("a penalty that is no number", "f.csv", plain(), &format!("{FIT} --set penalty=nan"), 2, &["not `nan`"]),
        with("a penalty without end", "f.csv", plain(), &format!("{FIT} --set penalty=inf"), 2, &["not `inf`"]),
        with(
            "more trees than there is memory for",
            "f.csv",
            plain(),
            "fit FILE --treatment t --outcome y -e causal-forest --set n_estimators=99999999999 --out new.paretau",
            2,
            &["n_estimators", "from 1 to"],
        ),
        with(
            "a page over somebody's notes",
            "f.html",
            "<p>mine</p>",
            "report model.paretau --out FILE",
            3,
            &["--force"],
        ),
    ]
}

fn predictions() -> Vec<Case> {
    let effect = "effect model.paretau FILE --out new.csv";
    vec![
        with("a feature missing", "f.csv", "x1,x2\n1,2\n", effect, 3, &["x3"]),
        with("a feature renamed", "f.csv", "x1,x2,X_3\n1,2,3\n", effect, 3, &["x3"]),
        with("columns in another order", "f.csv", "x3,x1,x2\n1,2,3\n", effect, 0, &["1 rows"]),
        with("a column more", "f.csv", "x1,x2,x3,height\n1,2,3,4\n", effect, 0, &["height"]),
        with("a cell missing", "f.csv", "x1,x2,x3\n1,,3\n", effect, 0, &["1 rows"]),
        with("a word in a feature", "f.csv", "x1,x2,x3\n1,tall,3\n", effect, 3, &["column `x2`", "row 1"]),
        with("no rows to predict", "f.csv", "x1,x2,x3\n", effect, 3, &["no rows"]),
        with(
            "model and data swapped",
            "f.csv",
            "x1,x2,x3\n1,2,3\n",
            "effect FILE model.paretau --out new.csv",
            3,
            &["f.csv", "not a paretau model file"],
        ),
        with("an interval of 95", "f.csv", "x1,x2,x3\n1,2,3\n", &format!("{effect} --interval 95"), 2, &["--interval"]),
        with("rows of another study scored", "f.csv", plain(), "evaluate model.paretau FILE", 3, &["x1"]),
    ]
}
