//! Further habits of people and of the programs that write their files: amounts of accountants, units by several names, dates
//! of two orders, rows of totals, codes, encodings, and files that are no tables.

use super::{Case, Expect, GAP, case, file, stop};

/// Amounts and units as accountants, laboratories and other programs write them.
pub(super) fn amounts() -> Vec<Case> {
    let of = |name: &str, delimiter: char, cells: &[&str], values: &[f64]| {
        case(name, file(delimiter, cells), "", Expect::Numbers(values.to_vec()))
    };
    let stops = |name: &str, delimiter: char, cells: &[&str], words: &[&str]| {
        case(name, file(delimiter, cells), "", stop(words))
    };
    let many = |spelled: &dyn Fn(usize) -> String| (0..20).map(spelled).collect::<Vec<_>>();
    let heights = many(&|i| format!("{}'{}\"", 5 + i / 12, i % 12));
    let months = many(&|i| format!("{}-{:02}", 2015 + i / 12, i % 12 + 1));
    let named = many(&|i| format!("{}-{}", ["Jan", "Feb", "Mar", "Apr", "Jun"][i % 5], 11 + i / 5));
    let quarters = many(&|i| format!("{}Q{}", 2010 + i / 4, i % 4 + 1));
    let weeks = many(&|i| format!("{}+{}", 30 + i / 7, i % 7));
    let places = many(&|i| format!("{}.85, -{}.35", 40 + i, i));
    let degrees = many(&|i| format!("{}°51'N", 30 + i));
    let errors = many(&|i| format!("{i}.1 ± 0.{}", i % 7 + 1));
    let texts = |cells: &[String]| file(',', &cells.iter().map(String::as_str).collect::<Vec<_>>());
    vec![
        of(
            "currency before brackets",
            ',',
            &["$(3.50)", "$7.00", "($1,234.50)", "-$2.25"],
            &[-3.5, 7.0, -1234.5, -2.25],
        ),
        of("currency behind brackets", ';', &["(3,50) €", "7,00 €", "(1.234,50 €)"], &[-3.5, 7.0, -1234.5]),
        of(
            "a minus before the currency",
            ';',
            &["1.234,50- €", "7,00 €", "2,25-€", "3,50 €-"],
            &[-1234.5, 7.0, -2.25, -3.5],
        ),
        of("currency on either side", ';', &["-€3,50", "7,00 €", "€ 0,00"], &[-3.5, 7.0, 0.0]),
        of("a currency by two names", ',', &["$5", "USD 6", "7 USD", "US$8"], &[5.0, 6.0, 7.0, 8.0]),
        of("percent in brackets", ',', &["(1.5%)", "2.5%", "3.0%", "-4%"], &[-1.5, 2.5, 3.0, -4.0]),
        of("percent by two names", ',', &["5 %", "6%", "7 percent", "8 pct"], &[5.0, 6.0, 7.0, 8.0]),
        of("pounds by two names", ',', &["150 lbs", "160lb", "155 LBS", "1 lb"], &[150.0, 160.0, 155.0, 1.0]),
        of("one day and two days", ',', &["1 day", "2 days", "14 Days", "1 day"], &[1.0, 2.0, 14.0, 1.0]),
        of("years by three names", ',', &["1 year", "2 years", "3 yrs", "4 yr"], &[1.0, 2.0, 3.0, 4.0]),
        of("typographic quotes", ',', &["“1.5”", "“2.5”", "3.5"], &[1.5, 2.5, 3.5]),
        of("German quotes", ';', &["„1,5“", "„2,5“", "3,5"], &[1.5, 2.5, 3.5]),
        of("pluses and bare points", ',', &["+1.5", "+.5", ".25", "-.75", "5."], &[1.5, 0.5, 0.25, -0.75, 5.0]),
        of("exponents with a decimal comma", ';', &["1,5E+03", "2,5E-01", "3E2", "7"], &[1500.0, 0.25, 300.0, 7.0]),
        of(
            "quoted millions",
            ',',
            &["1,234,567", "12,345", "999", "2,000,001"],
            &[1_234_567.0, 12_345.0, 999.0, 2_000_001.0],
        ),
        of("millions with points", ';', &["1.234.567", "12.345", "999"], &[1_234_567.0, 12_345.0, 999.0]),
        of(
            "no number, by C and by Windows",
            ',',
            &["1.5", "1.#QNAN", "-1.#IND", "-nan", "3.5"],
            &[1.5, GAP, GAP, GAP, 3.5],
        ),
        stops("an infinite number", ',', &["1.5", "inf", "2.5"], &["`x`", "row 2", "`inf`", "finite"]),
        stops("a number beyond all", ',', &["1.5", "1e400", "2.5"], &["`x`", "row 2", "`1e400`", "finite"]),
        stops(
            "three separators",
            ';',
            &["1 234,5", "1.234,5", "12,5", "1'234,5"],
            &["`x`", "`1 234,5` in row 1", "`1'234,5` in row 4", "--numeric x"],
        ),
        stops(
            "several currencies",
            ',',
            &["$5", "€6", "$7", "£8", "$9"],
            &["`x`", "row 2", "`€6`", "in `$`", "one unit"],
        ),
        stops(
            "centimetres and metres",
            ',',
            &["172 cm", "1.80 m", "165 cm"],
            &["`x`", "row 2", "`1.80 m`", "one unit"],
        ),
        stops("thousands and millions", ',', &["1.2k", "3.4k", "2M", "5.6k"], &["`x`", "row 3", "`2M`", "`k`"]),
        stops("thousands here and there", ',', &["1.2k", "340", "2.5k"], &["`x`", "row 2", "`340`", "one unit"]),
        stops(
            "stars of significance",
            ',',
            &["5.1*", "4.2", "6.0**", "3.3", "5.2"],
            &["`x`", "row 1", "`5.1*`", "`6.0**` in row 3"],
        ),
        stops(
            "about so much",
            ',',
            &["~5.1", "4.2", "ca. 5.2", "3.3", "6.1"],
            &["`x`", "row 1", "`~5.1`", "`ca. 5.2` in row 3"],
        ),
        stops(
            "ends of a scale in words",
            ',',
            &["1 (never)", "2", "3", "4", "5 (always)"],
            &["`x`", "row 1", "`1 (never)`", "--categorical x"],
        ),
        case(
            "thousands of dollars",
            texts(&many(&|i| format!("${i}.5k"))),
            "",
            stop(&["`x`", "row 1", "`$0.5k`", "plain number"]),
        ),
        case(
            "numbers in brackets of lists",
            texts(&many(&|i| format!("[{i}.5]"))),
            "",
            stop(&["`x`", "`[0.5]`", "plain number"]),
        ),
        case(
            "hours and minutes",
            texts(&many(&|i| format!("{}h {i}m", i % 3))),
            "",
            stop(&["`x`", "`0h 0m`", "plain number"]),
        ),
        case(
            "thousands with an underscore",
            texts(&many(&|i| format!("{}_{:03}", i + 1, i * 7))),
            "",
            stop(&["`1_000`", "plain number"]),
        ),
        case(
            "numbers to the base of 16",
            texts(&many(&|i| format!("0x{:x}", i * 77 + 1))),
            "",
            stop(&["`0x1`", "plain number"]),
        ),
        case(
            "exponents of Fortran",
            texts(&many(&|i| format!("1.{i}D+0{}", i % 3))),
            "",
            stop(&["`1.0D+00`", "plain number"]),
        ),
        case(
            "a new text for every ninth cell",
            texts(
                &(0..300)
                    .map(|i| if i % 9 == 0 { format!("err{i}") } else { format!("{}.5", i * 3 % 17) })
                    .collect::<Vec<_>>(),
            ),
            "",
            stop(&["`x`", "row 1", "266 of 300 cells are numbers", "29 other texts", "--numeric x"]),
        ),
        case("months", texts(&months), "", stop(&["`x`", "row 1", "`2015-01`", "a month", "--categorical x"])),
        case("months by name", texts(&named), "", stop(&["`x`", "row 1", "`Jan-11`", "a month"])),
        case("quarters", texts(&quarters), "", stop(&["`x`", "row 1", "`2010Q1`", "quarter"])),
        case("weeks and days", texts(&weeks), "", stop(&["`x`", "row 1", "`30+0`", "two numbers"])),
        case(
            "coordinates",
            file(';', &places.iter().map(String::as_str).collect::<Vec<_>>()),
            "",
            stop(&["`x`", "row 1", "a place"]),
        ),
        case("degrees", texts(&degrees), "", stop(&["`x`", "row 1", "`30°51'N`", "a place"])),
        case("feet and inches", texts(&heights), "", stop(&["`x`", "row 1", "`5'0\"`", "two numbers", "--ignore x"])),
        case("amounts with errors", texts(&errors), "", stop(&["`x`", "row 1", "`0.1 ± 0.1`", "two numbers"])),
    ]
}

/// Dates of two orders, of two digits, and no dates.
pub(super) fn more_dates() -> Vec<Case> {
    let both = ["31/12/2020", "12/31/2020", "01/15/2021", "15/01/2021", "20/03/2021"];
    let births = ["31/12/49", "01/02/68", "15/06/71", "30/11/05"];
    let days = vec![-7306.0, -700.0, 530.0, 13_117.0];
    vec![
        case(
            "dates of two orders",
            file(',', &both),
            "",
            stop(&["`x`", "dates", "`12/31/2020` in row 2", "`01/15/2021` in row 3"]),
        ),
        case("dates of two orders, one given", file(',', &both), "order=mdy", stop(&["`x`", "`31/12/2020` in row 1"])),
        // As a spreadsheet reads them: up to 29 is this century.
        case("years of two digits", file(',', &births), "", Expect::Numbers(days)),
        case(
            "years of two digits are noted",
            file(',', &births),
            "",
            Expect::Note(vec!["`x`", "day, month, year", "`31/12/49` is 1949-12-31"]),
        ),
        case(
            "dates and days since 1900",
            file(',', &["2024-05-31", "45323", "2024-04-03", "45385", "2024-01-01"]),
            "",
            stop(&["`x`", "row 2", "`45323` in row 2, `45385` in row 4"]),
        ),
        case(
            "no date of a database",
            file(',', &["2024-05-31", "0000-00-00", "2024-02-01"]),
            "",
            stop(&["row 2", "`0000-00-00`", "--na 0000-00-00"]),
        ),
        case(
            "no date of a database, named",
            file(',', &["2024-05-31", "0000-00-00", "2024-02-01"]),
            "na=0000-00-00",
            Expect::Numbers(vec![19_874.0, GAP, 19_754.0]),
        ),
        case(
            "afternoons",
            file(',', &["5/31/2024 6:00 PM", "2/1/2024 12:00 AM", "4/3/2024 12:00 PM"]),
            "",
            Expect::Numbers(vec![19_874.75, 19_754.0, 19_816.5]),
        ),
    ]
}

/// Rows that are no people, codes, identifiers, and arms.
pub(super) fn rows_and_codes() -> Vec<Case> {
    let text = |name: &str, text: &str, expect: Expect| case(name, text.as_bytes().to_vec(), "", expect);
    let countdown = (0..60)
        .fold("n,t,y,x\n".to_owned(), |text, i| format!("{text}{},{},{},{}\n", 60 - i, i % 2, i * i % 23, i * 7 % 11));
    let ages: Vec<String> =
        (0..60).map(|i| if i % 11 == 3 { "99".to_owned() } else { (20 + i * 7 % 50).to_string() }).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let oldest: Vec<String> =
        (0..60).map(|i| if i == 9 { "99".to_owned() } else { (20 + i * 7 % 75).to_string() }).collect();
    let oldest: Vec<&str> = oldest.iter().map(String::as_str).collect();
    let mut all = vec![];
    for word in ["Total", "Grand Total", "TOTAL:", "Summe"] {
        let body = format!("site,t,y,x\nA,0,1,5\nA,1,2,6\nB,0,3,7\nB,0,4,8\n{word},1,10,26\n");
        all.push(text(
            &format!("{word} in the last row"),
            &body,
            stop(&["`site`", "row 5", "line 6", word, "row of totals", "delete the row", "--categorical site"]),
        ));
    }
    all.extend([
        text(
            "a total below identifiers",
            "no,t,y,x\n1,0,1,5\n2,1,2,6\n3,0,3,7\n4,0,4,8\nTotal,1,10,26\n",
            stop(&["`no`", "row 5", "`Total`", "row of totals", "delete the row"]),
        ),
        text(
            "a total without an arm",
            "t,y,x\n0,1,5\n1,2,6\n0,3,7\n1,4,8\n,10,26\n",
            Expect::Note(vec!["1 of 5 rows have no treatment"]),
        ),
        text(
            "a cereal called Total",
            "x,t,y\nTotal,0,1\nBran,1,2\nTotal,0,3\nBran,1,4\n",
            Expect::Columns(vec!["x=Total"]),
        ),
        text(
            "names again on the next page",
            "t,y,x\n0,1,5\n1,2,6\n0,3,7\n1,4,9\nt,y,x\n0,5,8\n1,6,3\n",
            stop(&["row 5", "line 6", "the column's own name", "delete the row"]),
        ),
        case("ages of 99", file(',', &ages), "", Expect::Note(vec!["`x` holds 99", "--na 99"])),
        case(
            "one of 99 years",
            file(',', &oldest),
            "",
            Expect::Numbers(oldest.iter().map(|v| v.parse().unwrap()).collect()),
        ),
        text("the newest row first", &countdown, Expect::Note(vec!["number or name the rows", ": n;"])),
        text("true and false by letters", "t,y,x\nt,1,5\nf,2,6\nT,3,7\nF,4,9\n", Expect::Arms(vec![1, 0, 1, 0])),
        text(
            "an outcome of letters",
            "t,y,x\n0,t,5\n1,f,6\n0,f,7\n1,t,9\n",
            Expect::Note(vec!["`y`", "`t` counts as 1"]),
        ),
        text(
            "arms 1 and 2",
            "t,y,x\n1,1,5\n2,2,6\n1,3,7\n2,4,9\n",
            stop(&["`t`", "--treated-value 2 --control-value 1"]),
        ),
        text(
            "arms -1 and 1",
            "t,y,x\n-1,1,5\n1,2,6\n-1,3,7\n1,4,9\n",
            stop(&["`t`", "--treated-value 1 --control-value -1"]),
        ),
        text(
            "arms with an unknown one",
            "t,y,x\nyes,1,5\nno,2,6\nyes,3,7\nunknown,4,9\nno,5,4\n",
            stop(&["`t`", "3 values", "`unknown` (1 row)", "--control-value"]),
        ),
        text(
            "arms with blanks of no width",
            "t,y,x\n yes,1,5\nno ,2,6\nYES,3,7\n\u{a0}yes,4,9\nNo,5,4\n",
            Expect::Arms(vec![1, 0, 1, 1, 0]),
        ),
        text(
            "an outcome in words",
            "t,y,x\n0,died,5\n1,alive,6\n0,alive,7\n1,died,9\n",
            stop(&["`y`", "row 1", "`alive` or `died`", "0 and 1"]),
        ),
        text(
            "an outcome in amounts",
            "t,y,x\n0,\"$1,001.50\",5\n1,\"$2,002.50\",6\n0,$7.00,7\n",
            Expect::Numbers(vec![5.0, 6.0, 7.0]),
        ),
        text("an outcome of one value", "t,y,x\n0,5,5\n1,5,6\n0,5,7\n", stop(&["`y`", "5 in every row"])),
        text(
            "a treatment of amounts",
            &(0..40).fold("t,y,x\n".to_owned(), |text, i| format!("{text}{i}.5,{i},{}\n", i % 7)),
            stop(&["`t`", "40 values"]),
        ),
    ]);
    all
}

/// Encodings, delimiters and files that are no tables.
pub(super) fn files() -> Vec<Case> {
    let text = |name: &str, text: &str, expect: Expect| case(name, text.as_bytes().to_vec(), "", expect);
    let bytes = |name: &str, bytes: &[u8], words: &[&str]| case(name, bytes.to_vec(), "", stop(words));
    let json = |ending: &'static str, name: &str, text: &str, expect: Expect| Case {
        ending,
        ..case(name, text.as_bytes().to_vec(), "", expect)
    };
    let numbers = || Expect::Numbers(vec![1.5, 2.5, 3.5]);
    let rows = "t,y,x\n0,1,1.5\n1,2,2.5\n0,3,3.5\n";
    let wide = |order: fn(u32) -> [u8; 4]| {
        format!("\u{feff}{rows}").chars().flat_map(|c| order(c as u32)).collect::<Vec<u8>>()
    };
    let utf16: Vec<u8> = format!("\u{feff}{rows}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    vec![
        bytes("the euro of Windows", b"t;y;x\n0;1;\x80 5,50\n1;2;\x80 7,25\n", &["`x`", "row 1", "line 2", "UTF-8"]),
        bytes("two encodings", b"t,y,town\n0,1,Z\xc3\xbcrich\n1,2,K\xf6ln\n", &["`town`", "row 2", "line 3", "UTF-8"]),
        bytes("UTF-16, big end first", &utf16, &["UTF-16", "CSV UTF-8"]),
        bytes("UTF-32", &wide(u32::to_le_bytes), &["UTF-32", "UTF-8"]),
        bytes("UTF-32, big end first", &wide(u32::to_be_bytes), &["UTF-32", "UTF-8"]),
        text("two byte-order marks", &format!("\u{feff}\u{feff}{rows}"), numbers()),
        text(
            "a mark before quoted names",
            &format!("\u{feff}{}", rows.replace("t,y,x", "\"t\",\"y\",\"x\"")),
            numbers(),
        ),
        text("a mark before sep", &format!("\u{feff}sep=,\n{rows}"), numbers()),
        text("names with blanks", &rows.replace("t,y,x", " t , y ,x "), numbers()),
        text("decimal commas and tabs", "t\ty\tx\n0\t1\t1,5\n1\t2\t2,5\n0\t3\t3,5\n", numbers()),
        text(
            "a name twice",
            "t,y,x,x\n0,1,1.5,7\n1,2,2.5,8\n0,3,3.5,9\n",
            Expect::Note(vec!["`x` names 2 columns", "`x.2`"]),
        ),
        text("the treatment twice", "t,y,t\n0,1,1\n1,2,0\n", stop(&["`t`", "more than once", "rename"])),
        text(
            "nameless columns",
            "t,y,x,\n0,1,1.5,7\n1,2,2.5,8\n0,3,3.5,8\n",
            Expect::Note(vec!["column 4 has no name", "`column4`"]),
        ),
        text("a quotation mark left open", "t,y,x\n0,1,\"1.5\n1,2,2.5\n", stop(&["row 1", "line 2", "never closed"])),
        text("a line cut short", "t,y,x\n0,1,1.5\n1,2,2.5\n0,3", stop(&["row 3", "line 4", "2 cells"])),
        text(
            "quoted line breaks",
            "t,y,x,z\n0,1,1.5,\"a\nb\"\n1,oops,2.5,c\n0,3,3.5,c\n",
            stop(&["`y`", "row 2", "`oops`"]),
        ),
        text("a remark between", "t,y,x\n0,1,1.5\n# note\n1,2,2.5\n", stop(&["row 2", "line 3", "1 cell,"])),
        text("a byte of nothing", "t,y,x\n0,1,1.5\n1,2,2\0.5\n0,3,3.5\n", stop(&["`x`", "row 2"])),
        text(
            "rows and columns exchanged",
            "t,0,1,0,1\ny,1,2,3,4\nx,1.5,2.5,3.5,4.5\n",
            stop(&["`y`", "exchange rows and columns"]),
        ),
        text(
            "whole lines in quotes",
            "\"t,y,x\"\n\"0,1,1.5\"\n\"1,2,2.5\"\n",
            stop(&["`t`", "quotation marks as a whole"]),
        ),
        bytes("a PDF", b"%PDF-1.4\n1 0 obj\n", &["is a PDF", "CSV"]),
        bytes("formatted text", b"{\\rtf1\\ansi t,y,x}\n", &["RTF", "plain text"]),
        bytes("an older workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0\0\0\0\0\0\0", &["Excel", ".xls"]),
        text(
            "a web page under the name of a CSV",
            "<!DOCTYPE html><html><table><tr><td>t</td></tr></table></html>",
            stop(&["web page", "CSV"]),
        ),
        text("nothing", "", stop(&["empty"])),
        text("names alone", "t,y,x\n", stop(&["no rows"])),
        json(
            "json",
            "NaN of Python",
            r#"[{"t":0,"y":1,"x":NaN},{"t":1,"y":2,"x":3},{"t":0,"y":3,"x":4}]"#,
            Expect::Numbers(vec![GAP, 3.0, 4.0]),
        ),
        json(
            "ndjson",
            "NaN line by line",
            "{\"t\":0,\"y\":1,\"x\":NaN}\n{\"t\":1,\"y\":2,\"x\":3}\n{\"t\":0,\"y\":3,\"x\":5}\n",
            Expect::Numbers(vec![GAP, 3.0, 5.0]),
        ),
        json(
            "json",
            "the text NaN",
            r#"[{"t":0,"y":1,"x":"NaN"},{"t":1,"y":2,"x":"3"},{"t":0,"y":3,"x":"4"}]"#,
            Expect::Numbers(vec![GAP, 3.0, 4.0]),
        ),
        json(
            "json",
            "a name twice in an object",
            r#"[{"t":0,"y":1,"x":3,"x":4}]"#,
            stop(&["line 1", "`x` stands twice"]),
        ),
        json(
            "ndjson",
            "a name twice in a line",
            "{\"t\":0,\"y\":1,\"x\":3}\n{\"t\":1,\"y\":1,\"x\":3,\"x\":4}\n",
            stop(&["row 2", "line 2", "`x` stands twice"]),
        ),
        json(
            "json",
            "decimal commas in texts",
            r#"[{"t":0,"y":1,"x":"0,5"},{"t":1,"y":2,"x":"1,5"},{"t":0,"y":3,"x":"2,25"}]"#,
            Expect::Numbers(vec![0.5, 1.5, 2.25]),
        ),
        json(
            "json",
            "a stray among numbers",
            r#"[{"t":0,"y":1,"x":5},{"t":1,"y":2,"x":"n/k"},{"t":0,"y":3,"x":4},{"t":1,"y":4,"x":6}]"#,
            stop(&["`x`", "row 2", "`n/k`", "--na n/k"]),
        ),
        json(
            "json",
            "truths",
            r#"[{"t":true,"y":1,"x":5},{"t":false,"y":2,"x":6},{"t":true,"y":3,"x":7}]"#,
            Expect::Arms(vec![1, 0, 1]),
        ),
        Case { ending: "json", ..case("JSON in UTF-16", utf16.clone(), "", stop(&["UTF-16", "UTF-8"])) },
        Case {
            ending: "json",
            ..case("JSON in Latin-1", b"[{\"t\":0,\n\"y\":\"caf\xe9\"}]".to_vec(), "", stop(&["line 2", "UTF-8"]))
        },
    ]
}
