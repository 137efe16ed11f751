//! Tables and errors do not depend on where the text is cut, and cells are those of another parser.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::table::Field;

fn input(text: &[u8]) -> Input {
    Input::Memory("f.csv".into(), Arc::from(text))
}

/// The whole table or the error, read in pieces of that many bytes.
fn whole(text: &[u8], options: &ReadOptions, piece: usize) -> Result<Table, String> {
    read_in_pieces(&input(text), Format::Csv, options, piece, &mut |_| Ok(())).map_err(|e| e.to_string())
}

/// The rows that come in batches of up to `rows` rows, and the error after them if there is one.
fn batches(text: &[u8], options: &ReadOptions, piece: usize, rows: usize) -> (Vec<Vec<Option<String>>>, String) {
    let mut cells = vec![];
    let mut stream = match CsvStream::open(&input(text), Format::Csv, options, piece) {
        Ok(stream) => stream,
        Err(error) => return (cells, error.to_string()),
    };
    loop {
        match stream.tables(rows) {
            Ok(Some(tables)) => {
                for table in tables {
                    assert!(table.n_rows() <= rows && table.source.rows_before == cells.len());
                    let row = |i: usize| table.columns().iter().map(|c| c.cell(i)).collect::<Vec<_>>();
                    cells.extend((0..table.n_rows()).map(row));
                }
            }
            Ok(None) => return (cells, String::new()),
            Err(error) => return (cells, error.to_string()),
        }
    }
}

/// A table or its error as text; a missing number, which is not equal to itself, included.
fn as_shown(table: &Result<Table, String>) -> String {
    match table {
        Ok(table) => format!("{table:?}"),
        Err(error) => error.clone(),
    }
}

fn is_the_same_in_any_pieces(text: &[u8], options: &ReadOptions) -> String {
    let want = as_shown(&whole(text, options, PIECE));
    let rows = batches(text, options, PIECE, 3);
    for piece in [1, 2, 3, 5, 7, 11, 16, 64] {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(as_shown(&whole(text, options, piece)), want, "pieces of {piece} bytes of {shown:?}");
        let pieces = batches(text, options, piece, 3);
        assert_eq!(pieces.1, rows.1, "batches from pieces of {piece} bytes of {shown:?}");
        if rows.1.is_empty() {
            assert_eq!(pieces.0, rows.0, "batches from pieces of {piece} bytes of {shown:?}");
        }
    }
    want
}

#[test]
fn pieces_do_not_change_tables_or_errors() {
    let number = ReadOptions::default().with_field(Field::new("b", Kind::Number));
    let headless = ReadOptions { header: false, ..ReadOptions::default() };
    let plain = ReadOptions::default();
    for (text, options, word) in [
        ("a,b\n1,\"x\ny\"\n2,\"\"\"\n\"\"\"\n3,\"\r\n\"\n", &plain, "\"\\\"\\n\\\"\""),
        ("a,b\r\n1,2\r\n3,4\r\n5,6\r\n", &plain, "[1.0, 3.0, 5.0]"),
        ("a,b\r1,2\r3,4\r5,6", &plain, "[2.0, 4.0, 6.0]"),
        ("a,b\n1,2\n3,4", &plain, "[2.0, 4.0]"),
        ("a,b\n1,2\n3,", &plain, "[2.0, NaN]"),
        ("a,b\n1,2\n3,4\n5,6\n7\n8,9\n", &plain, "row 4 (line 5): has 1 cell, but the first line has 2"),
        ("a,b\r\n1,2\r\n3,4\r\n5,6\r\n7,8,9\r\n", &plain, "row 4 (line 5): has 3 cells"),
        ("a,b\n1,2\n\n\n3,4\n5,x\n", &number, "column `b`, row 3 (line 6): holds `x`"),
        ("a,b\n1,2\n\n\n3,4\n5\n", &number, "row 3 (line 6): has 1 cell"),
        ("a,b\n1,2\n3,x,4\n", &number, "row 2 (line 3): has 3 cells"),
        ("a,b\n1,2\n3,inf\n5,6\n", &number, "column `b`, row 2 (line 3): holds `inf`"),
        ("a,b\n1,2\n3,inf\n-inf,6\n", &plain, "column `a`, row 3 (line 4): holds `-inf`"),
        ("a,b\n1,2\n3,inf\n5,x\n", &plain, "\"inf\""),
        ("a,b\n1,007\n3,4\n5,6\n7,x\n9,8\n", &plain, "\"007\""),
        ("a,b\nx,1\ny,2\n7,3\n8,4\nz,5\n", &plain, "\"7\""),
        ("a,b\n,1\n-nan,2\nx,3\n+NaN,4\n7,5\n", &plain, "[4294967295, 4294967295, 0, 4294967295, 1]"),
        ("a,b\ntrue,1\nFALSE,2\n1,3\n", &plain, "[1.0, 0.0, 1.0]"),
        ("a,b\n2024-05-31,1\n,2\n2024-06-01,3\n", &plain, "is_date: true"),
        ("\u{feff}a,b\n1,2\n3,4\n", &plain, "name: \"a\""),
        ("1,2\n3,4\n5,6\n", &headless, "[1.0, 3.0, 5.0]"),
        ("a,b\n1,2\n3,\"4\n5,6\n", &plain, "row 2 (line 3): a quotation mark is never closed"),
        ("a,b\n1,5\" pipe\n3,\"4\"\" \nx\"y\n", &plain, "5\\\" pipe"),
        ("\n\n\r\n\n\n\na,b\n\n1,2\n", &plain, "first_line: Some(9)"),
        ("a,b\n1,2\n\n3,4\n", &plain, "first_line: None"),
        ("a,b\n\n\n\n\n\n\n\n\n", &plain, "has a header but no rows of data"),
        ("\n\n\n\n\n\n\n\n\n\n\n", &plain, "is empty"),
        ("a;b\n1;2\n3;4\n", &plain, "separated by `;`"),
        ("a,b\n1,\"x\r\ny\"\n", &number, "column `b`, row 1 (line 2): holds `x\\r\\ny`"),
        ("a,\"b\nc\"\n1,-inf\n", &plain, "column `b\\nc`, row 1 (line 3): holds `-inf`"),
    ] {
        let found = is_the_same_in_any_pieces(text.as_bytes(), options);
        assert!(found.contains(word), "{text:?} gives {found}, not {word}");
    }
    let latin: &[u8] = b"a,b\n1,x\n2,y\n3,caf\xe9\n4,z\n";
    assert!(is_the_same_in_any_pieces(latin, &plain).contains("row 3 (line 4): holds bytes that are not UTF-8"));
}

#[test]
fn a_failing_input_delivers_what_came_before() {
    struct Failing(&'static [u8]);
    impl Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::other("the disk is gone"));
            }
            let n = out.len().min(self.0.len()).min(3);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    for piece in [1, 4, 9, 100] {
        let mut cutter = Cutter::new(Box::new(Failing(b"1,2\n3,\"4\n\"\n5,6\n7")), b',', piece);
        let mut text = vec![];
        let error = loop {
            match cutter.next_piece() {
                Ok(Some(piece)) => text.extend(piece),
                Ok(None) => panic!("the error is lost"),
                Err(error) => break error,
            }
        };
        assert_eq!(text, b"1,2\n3,\"4\n\"\n5,6\n", "{piece}");
        assert!(matches!(error, CutError::Io(_)));
        assert!(matches!(cutter.next_piece(), Ok(None)));
    }
}

/// Texts of the characters that matter, so that quotation marks, line ends and pieces meet in all ways.
fn nasty() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(&b","[..]),
        2 => Just(&b"\n"[..]),
        2 => Just(&b"\r\n"[..]),
        1 => Just(&b"\r"[..]),
        3 => Just(&b"\""[..]),
        1 => Just(&b"\"\""[..]),
        3 => Just(&b"12.5"[..]),
        1 => Just(&b"-7e3"[..]),
        1 => Just(&b"nan"[..]),
        2 => Just(&b"x"[..]),
        1 => Just(&b" "[..]),
        1 => Just(&b"\xff"[..]),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// Rows of two cells, most of them sound.
fn table_like() -> impl Strategy<Value = Vec<u8>> {
    let cell = prop_oneof![
        6 => Just("1.5"),
        2 => Just("007"),
        2 => Just(""),
        1 => Just("-nan"),
        1 => Just("inf"),
        1 => Just("true"),
        1 => Just("2024-05-31"),
        2 => Just("town"),
        2 => Just("\"a\r\n\"\"b\""),
        1 => Just("5\""),
    ];
    let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just(",9\n")];
    let row = (cell.clone(), cell, end).prop_map(|(a, b, end)| format!("{a},{b}{end}"));
    prop::collection::vec(row, 0..25).prop_map(|rows| format!("a,b\n{}", rows.concat()).into_bytes())
}

proptest! {
    #[test]
    fn cells_are_those_of_the_csv_crate(text in nasty(), piece in 1_usize..12) {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        let want: Vec<Vec<Vec<u8>>> = reader
            .byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
            .collect();
        let mut cutter = Cutter::new(Box::new(io::Cursor::new(text.clone())), b',', piece);
        let mut found = vec![];
        let mut all = vec![];
        while let Some(piece) = cutter.next_piece().unwrap() {
            let mut rest = &piece[..];
            while let Some(first) = records::first(rest, b',') {
                found.push(first.cells);
                rest = &rest[first.length..];
            }
            all.extend(piece);
        }
        prop_assert_eq!(all, text);
        prop_assert_eq!(found, want);
    }

    #[test]
    fn any_text_is_the_same_in_any_pieces(text in nasty()) {
        is_the_same_in_any_pieces(&text, &ReadOptions { header: false, ..ReadOptions::default() });
    }

    #[test]
    fn any_table_is_the_same_in_any_pieces(text in table_like(), declared in 0..3) {
        let mut options = ReadOptions::default();
        match declared {
            0 => options.fields.push(Field::new("b", Kind::Number)),
            1 => options.fields.push(Field::new("a", Kind::Text)),
            _ => {}
        }
        is_the_same_in_any_pieces(&text, &options);
    }
}
