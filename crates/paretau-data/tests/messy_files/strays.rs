//! Marks for missing cells, and cells that are no numbers.

use super::{Case, Expect, GAP, case, file, file_with, numbers_with, stop};

/// Marks for missing cells, and cells that are no numbers.
pub(super) fn strays() -> Vec<Case> {
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
