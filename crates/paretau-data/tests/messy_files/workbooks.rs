//! Workbooks, made here cell by cell.

use paretau_data::{ReadOptions, read};

use super::{Case, Expect, GAP, case, stop};

/// A workbook of one or two sheets whose cells are given as XML, in an archive without compression.
fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    workbook_with(sheets, "", "")
}

/// The same with XML about the workbook, and an attribute of its first sheet.
fn workbook_with(sheets: &[(&str, &str)], about: &str, first: &str) -> Vec<u8> {
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let (mut list, mut links) = (String::new(), String::new());
    for (k, (name, _)) in sheets.iter().enumerate() {
        let attribute = if k == 0 { first } else { "" };
        list += &format!("<sheet name=\"{name}\" sheetId=\"{0}\" {attribute} r:id=\"rId{0}\"/>", k + 1);
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
            format!("{HEAD}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\">{about}<sheets>{list}</sheets></workbook>"),
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

/// A sheet of LibreOffice: rows of cells that are numbers, shares shown in percent (`45%`), dates or texts; those behind `^` go over
/// two rows.
fn ods(rows: &[[&str; 3]]) -> Vec<u8> {
    const OASIS: &str = "urn:oasis:names:tc:opendocument:xmlns";
    let cell = |text: &str| {
        let (text, span) = text.strip_prefix('^').map_or((text, ""), |text| (text, "table:number-rows-spanned=\"2\""));
        let (kind, value) = match text.strip_suffix('%').and_then(|share| share.parse::<f64>().ok()) {
            Some(share) => ("percentage", format!("office:value=\"{}\"", share / 100.0)),
            None if text.parse::<f64>().is_ok() => ("float", format!("office:value=\"{text}\"")),
            None if text.matches('-').count() == 2 => ("date", format!("office:date-value=\"{text}\"")),
            None => ("string", String::new()),
        };
        let empty = "<table:table-cell/>".to_owned();
        let full = format!(
            "<table:table-cell office:value-type=\"{kind}\" {value} {span}><text:p>{text}</text:p></table:table-cell>"
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

pub(super) fn workbooks() -> Vec<Case> {
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
    let hidden = workbook_with(&[("Menus", &texts), ("Data", &numbers)], "", "state=\"hidden\"");
    let unreckoned = numbers.replacen("<v>2.5</v>", "<f>1+1</f>", 1).replace("<c><f>", "<c r=\"C3\"><f>");
    let truths = sheet(&[head, ["0", "1", "1"], ["1", "2", "0"], ["0", "3", "1"]]);
    let truths = truths
        .replace("<c><v>1</v></c></row>", "<c t=\"b\"><v>1</v></c></row>")
        .replace("<c><v>0</v></c></row>", "<c t=\"b\"><v>0</v></c></row>");
    let times = sheet(&[head, ["0", "1", "=0.25"], ["1", "2", "=0.75"], ["0", "3", "=0.25"], ["1", "4", "=0.75"]]);
    // 1462 days lie between the two counts.
    let old = sheet(&[head, ["0", "1", "=43981"], ["1", "2", "=43861"], ["0", "3", "=43923"]]);
    let from_1904 = workbook_with(&[("Data", &old)], "<workbookPr date1904=\"1\"/>", "");
    let serial = sheet(&[head, ["0", "1", "=45443"], ["1", "2", "45323"], ["0", "3", "=45385"], ["1", "4", "=45386"]]);
    let total = numbers.clone() + &sheet(&[["Total", "10", "10.734"]]);
    let source = numbers.clone() + &sheet(&[["Source: survey", "", ""]]);
    let below = format!("<row r=\"4\">{}", numbers.trim_start_matches("<row>"));
    let two_lines = sheet(&[["Study", "", "Laboratory"]]) + &numbers + "|A1:B1";
    let merged_ods = ods(&[head, ["0", "1", "^5"], ["1", "2", ""], ["0", "3", "7"]]);
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
        of("a hidden sheet first", hidden, values()),
        of(
            "a formula without a value",
            workbook(&[("Data", &unreckoned)]),
            stop(&["`Data`", "cell C3", "formula", "save it again"]),
        ),
        of("truths", workbook(&[("Data", &truths)]), Expect::Numbers(vec![1.0, 0.0, 1.0])),
        of("times of day", workbook(&[("Data", &times)]), Expect::Columns(vec!["x=18:00:00"])),
        of("days counted from 1904", from_1904, days()),
        of("a day that is shown as a number", workbook(&[("Data", &serial)]), stop(&["`x`", "row 2", "`45323`"])),
        of("a total in a workbook", workbook(&[("Data", &total)]), stop(&["`t`", "row 5", "`Total`", "row of totals"])),
        of("a source below", workbook(&[("Data", &source)]), stop(&["`t`", "row 5", "`Source: survey`"])),
        of("empty rows above", workbook(&[("Data", &below)]), values()),
        of(
            "a merged line above the names",
            workbook(&[("Data", &two_lines)]),
            stop(&["`t`", "first row below the column names", "delete"]),
        ),
        Case {
            ending: "ods",
            ..case("merged rows in LibreOffice", merged_ods, "", stop(&["merged over several rows", "unmerge"]))
        },
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
