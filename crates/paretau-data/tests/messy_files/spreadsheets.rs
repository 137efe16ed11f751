//! Whole files as spreadsheets write them.

use super::{Case, Expect, case, stop};

/// Whole files as spreadsheets write them.
pub(super) fn spreadsheets() -> Vec<Case> {
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
