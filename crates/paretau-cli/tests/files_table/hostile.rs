//! Files made to do harm: lengths that lie, bombs, forged checksums, names that steer terminals.

use std::fmt::Write as _;

use super::common::{archive, floats, gzip, npy, npz};
use super::{Case, Fixtures, fit, with};

const GOOD: &str = "t,y,x\n0,1,3\n1,2,4\n0,3,5\n1,4,7\n0,2,1\n1,5,2\n";

/// The bytes with one replaced.
fn hit(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out[at] ^= 0x55;
    out
}

/// A safetensors file with this header.
fn tensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn integers(values: &[i64]) -> Vec<u8> {
    npy("<i8", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// A sparse NumPy archive of ones.
fn sparse(indices: &[i64], indptr: &[i64], shape: &[i64]) -> Vec<u8> {
    let ones = npy("<f8", &format!("({},)", indices.len()), &floats(&vec![1.0; indices.len()]));
    npz(&[("data", ones), ("indices", integers(indices)), ("indptr", integers(indptr)), ("shape", integers(shape))])
}

/// A workbook of one sheet.
fn workbook(sheet: &str, shared: &str) -> Vec<u8> {
    let types = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"#;
    let book = r#"<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
    let relations = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
    archive(&[
        ("[Content_Types].xml", types.into()),
        ("xl/workbook.xml", book.into()),
        ("xl/_rels/workbook.xml.rels", relations.into()),
        ("xl/sharedStrings.xml", shared.into()),
        ("xl/worksheets/sheet1.xml", sheet.into()),
    ])
}

/// A sheet with these cells, rows of `(reference, value)`.
fn sheet(cells: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>"#
    )
}

pub(crate) fn cases(fixtures: &Fixtures) -> Vec<Case> {
    [
        text(),
        compressed(),
        archives(),
        sparse_text(),
        columnar(fixtures),
        spelled(),
        models(fixtures),
        studies(),
        odd_numbers(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn text() -> Vec<Case> {
    let utf16 = |big: bool| -> Vec<u8> {
        let unit = |c: u16| if big { c.to_be_bytes() } else { c.to_le_bytes() };
        std::iter::once(0xfeff).chain(GOOD.encode_utf16()).flat_map(unit).collect()
    };
    let random: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        fit("nothing but NUL", "f.csv", vec![0; 4096], 3, &["f.csv"]),
        fit("random bytes", "f.csv", random.clone(), 3, &["f.csv", "UTF-8"]),
        fit("random bytes as tabs", "f.tsv", random, 3, &["f.tsv", "UTF-8"]),
        fit("UTF-16, little end first", "f.csv", utf16(false), 3, &["UTF-16", "UTF-8"]),
        fit("UTF-16, big end first", "f.csv", utf16(true), 3, &["UTF-16", "UTF-8"]),
        fit("a line of two megabytes", "f.csv", "x".repeat(2 << 20), 3, &["header but no rows"]),
        fit(
            "a cell of two megabytes",
            "f.csv",
            format!("t,y,x\n0,1,{}\n", "9".repeat(2 << 20)),
            3,
            &["longer than 1024 KiB"],
        ),
        fit("a quote that never closes", "f.csv", format!("t,y,x\n0,1,\"{}", "a\n".repeat(9000)), 3, &["never closed"]),
        fit("a header of quotes", "f.csv", "\"".repeat(9001), 3, &["f.csv"]),
        fit("a header of commas", "f.csv", ",".repeat(30_000), 3, &["f.csv"]),
        fit(
            "a row of commas",
            "f.csv",
            format!("t,y,x\n0,1,2\n{}\n", ",".repeat(30_000)),
            3,
            &["row 2", "30001 cells"],
        ),
        fit("overlong UTF-8", "f.csv", b"t,y,x\n0,1,\xc0\xaf\n1,2,b\n", 3, &["UTF-8", "row 1"]),
        fit("a lone surrogate", "f.csv", b"t,y,x\n0,1,\xed\xa0\x80\n1,2,b\n", 3, &["UTF-8", "row 1"]),
        fit("NUL in a name", "f.csv", b"t,y,x\0y\n0,1,1\n1,2,2\n0,1,4\n1,3,1\n", 3, &["NUL", "UTF-8"]),
        with(
            "a name that steers the terminal",
            "f.csv",
            GOOD.replace('x', "\u{1b}]0;owned\u{7}"),
            "check FILE --treatment t --outcome y",
            0,
            &["\\u{1b}]0;owned\\u{7}"],
        ),
        with(
            "a name that reads backwards",
            "f.csv",
            GOOD.replace('x', "a\u{202e}b"),
            "check FILE --treatment t --outcome y",
            0,
            &["a\\u{202e}b"],
        ),
        with(
            "a wrong name among names that steer",
            "f.csv",
            GOOD.replace('x', "\u{1b}[2J\u{202e}"),
            "fit FILE --treatment t --outcome zz --out new.paretau",
            3,
            &["\\u{1b}[2J\\u{202e}"],
        ),
        fit(
            "a cell that steers the terminal",
            "f.csv",
            GOOD.replace("1,2,4", "1,\u{1b}[2J,4"),
            3,
            &["\\u{1b}[2J", "row 2"],
        ),
        fit(
            "a treatment that steers the terminal",
            "f.csv",
            GOOD.replace("\n1,", "\n\u{9b}1;1H,").replacen("\n0", "\nc", 1).replace("\n0", "\nd"),
            3,
            &["\\u{9b}1;1H"],
        ),
        with(
            "names of marks that hide or turn the text",
            "f.csv",
            GOOD.replace('x', "a\u{2066}\u{200e}\u{61c}\u{2028}b"),
            "roles FILE --treatment t --outcome y",
            0,
            &["a\\u{2066}\\u{200e}\\u{61c}\\u{2028}b"],
        ),
        with(
            "a name of two lines",
            "f.csv",
            GOOD.replace('x', "\"a\nb\""),
            "diagnose FILE --treatment t --outcome y",
            0,
            &["a\\nb"],
        ),
        with(
            "a name of a megabyte",
            "f.csv",
            GOOD.replace('x', &"x".repeat(1 << 20)),
            "check FILE --treatment t --outcome y",
            0,
            &["xxx…"],
        ),
        with(
            "names that mean something to scripts",
            "f.csv",
            GOOD.replace("x\n", "__proto__\n"),
            "check FILE --treatment t --outcome y --json",
            0,
            &["\"__proto__\""],
        ),
        with("a file name that steers the terminal", "\u{1b}[2J.csv", "t,y\n", "check FILE", 3, &["\\u{1b}[2J.csv"]),
        with("a file name of 255 bytes", &format!("{}.csv", "n".repeat(251)), GOOD, "check FILE", 0, &["number"]),
        with("a path of 5000 bytes", "", "", &format!("check {}.csv", "n".repeat(5000)), 3, &["File name too long"]),
        with("a file without an end", "->z.csv", "", "check z.csv", 3, &["longer than 1024 KiB"]),
        with("svm without an end", "->z.svm", "", "check z.svm", 3, &["longer than 64 MiB"]),
        with("JSON without an end", "->z.json", "", "check z.json --max-memory 100M", 3, &["--max-memory"]),
        with(
            "a model without an end",
            "->z.paretau",
            "",
            "effect z.paretau people.csv --out new.csv",
            3,
            &["not a paretau model file"],
        ),
        with("a folder of several formats", "", "", "check .", 3, &["is of another format than"]),
    ]
}

fn compressed() -> Vec<Case> {
    let zip = gzip(GOOD.as_bytes());
    let rows = gzip(format!("t,y,x\n{}", "0,1,2\n".repeat(400_000)).as_bytes());
    let two = [&zip[..], &hit(&gzip(b"1,4,7\n0,2,1\n"), 15)].concat();
    vec![
        fit("a bomb of zeros", "f.csv.gz", gzip(&vec![0; 60 << 20]), 3, &["f.csv.gz"]),
        fit("a bomb of one line", "f.csv.gz", gzip(&vec![b'7'; 60 << 20]), 3, &["header but no rows"]),
        with(
            "a bomb of rows under a limit",
            "f.csv.gz",
            &rows,
            "fit FILE --treatment t --outcome y --max-memory 1M --out new.paretau",
            3,
            &["limit of 1.0 MiB", "--max-memory"],
        ),
        fit("cut in half", "f.csv.gz", &zip[..zip.len() / 2], 3, &["cut short or damaged"]),
        fit("cut by a byte", "f.csv.gz", &zip[..zip.len() - 1], 3, &["cut short or damaged"]),
        fit("a wrong checksum", "f.csv.gz", hit(&zip, zip.len() - 6), 3, &["cut short or damaged"]),
        fit("a wrong length", "f.csv.gz", hit(&zip, zip.len() - 2), 3, &["cut short or damaged"]),
        fit("a hit byte", "f.csv.gz", hit(&zip, 14), 3, &["f.csv.gz"]),
        fit("a second part that is damaged", "f.csv.gz", two, 3, &["f.csv.gz"]),
        fit("rubbish behind the end", "f.csv.gz", [&zip[..], b"rubbish"].concat(), 3, &["f.csv.gz"]),
        fit("gzip in gzip", "f.csv.gz", gzip(&zip), 3, &["f.csv.gz"]),
        fit("gzip of nothing", "f.csv.gz", gzip(b""), 3, &["is empty"]),
        fit("only the magic", "f.csv.gz", [0x1f, 0x8b], 3, &["f.csv.gz"]),
    ]
}

fn archives() -> Vec<Case> {
    let x = npy("<f8", "(2, 2)", &floats(&[1.0, 2.0, 3.0, 5.0]));
    let two = npy("<f8", "(2,)", &floats(&[0.0, 1.0]));
    let sound = npz(&[("x", x.clone()), ("t", two.clone()), ("y", two)]);
    let wrong = |descr: &str, shape: &str| npz(&[("x", npy(descr, shape, &floats(&[1.0, 2.0])))]);
    // Both entries of the directory are one member.
    let mut overlapping = npz(&[("x", x.clone()), ("y", x.clone())]);
    let entries: Vec<usize> =
        (0..overlapping.len() - 4).filter(|&k| overlapping[k..].starts_with(b"PK\x01\x02")).collect();
    overlapping[entries[1] + 42..entries[1] + 46].fill(0);
    let at = sound.windows(8).position(|w| w == 3.0_f64.to_le_bytes()).unwrap();
    let mut long_header = x.clone();
    long_header[8..10].copy_from_slice(&u16::MAX.to_le_bytes());
    vec![
        fit("a checksum ignored elsewhere", "f.npz", hit(&sound, at + 6), 3, &["checksum", "`x`"]),
        fit("members that overlap", "f.npz", overlapping, 3, &["damaged"]),
        fit("a shape of 2^62", "f.npz", wrong("<f8", "(4611686018427387904,)"), 3, &["`x`"]),
        fit("a shape whose product overflows", "f.npz", wrong("<f8", "(4294967296, 4294967296)"), 3, &["`x`"]),
        fit("a shape of 600 million", "f.npz", wrong("<f8", "(600000000,)"), 3, &["`x`", "4800000000 bytes"]),
        fit("a negative shape", "f.npz", wrong("<f8", "(-2,)"), 3, &["`x`"]),
        fit("no shape", "f.npz", wrong("<f8", "()"), 3, &["`x`"]),
        fit("objects, which would be code", "f.npz", wrong("|O", "(2,)"), 3, &["`x`", "|O"]),
        fit("a type that is none", "f.npz", wrong("<f99", "(2,)"), 3, &["`x`", "<f99"]),
        fit("a header with code", "f.npz", wrong("__import__('os').system('true')", "(2,)"), 3, &["`x`"]),
        fit("a header longer than the member", "f.npz", npz(&[("x", long_header)]), 3, &["`x`"]),
        fit("an empty member", "f.npz", npz(&[("x", vec![])]), 3, &["`x`"]),
        fit("an empty archive", "f.npz", npz(&[]), 3, &["f.npz"]),
        fit("without its directory", "f.npz", &sound[..sound.len() / 2], 3, &["f.npz", "directory"]),
        fit(
            "a directory that lies far away",
            "f.npz",
            {
                let mut b = sound.clone();
                let n = b.len();
                b[n - 6..n - 2].copy_from_slice(&u32::MAX.to_le_bytes());
                b
            },
            3,
            &["f.npz"],
        ),
        fit("sparse, a negative index", "f.npz", sparse(&[0, -1], &[0, 1, 2], &[2, 3]), 3, &["indices", "-1"]),
        fit("sparse, an index beyond the columns", "f.npz", sparse(&[0, 7], &[0, 1, 2], &[2, 3]), 3, &["indices", "7"]),
        fit("sparse, rows that go back", "f.npz", sparse(&[0, 1], &[0, 2, 1], &[2, 3]), 3, &["indptr"]),
        fit(
            "sparse, more rows than there are",
            "f.npz",
            sparse(&[0, 1], &[0, 1, 2], &[2_000_000_000, 3]),
            3,
            &["indptr"],
        ),
        fit(
            "sparse, a billion columns",
            "f.npz",
            sparse(&[0, 1], &[0, 1, 2], &[2, 1_000_000_000]),
            3,
            &["1000000000 columns"],
        ),
    ]
}

fn sparse_text() -> Vec<Case> {
    vec![
        fit("svm, 920 bytes for 4.7 GB", "f.svm", "1 0 1:1\n2 1 9000000:1\n".repeat(20), 3, &["9000000"]),
        fit("svm, an index of 2^32", "f.svm", "1 0 1:1\n2 1 4294967296:1\n", 3, &["row 2"]),
        fit("svm, an index of 10^18", "f.svm", "1 0 1000000000000000000:1\n", 3, &["row 1"]),
        fit("svm, counted from 0", "f.svm", "1 0 0:1\n2 1 1:1\n", 0, &["2 features"]),
        fit("svm, a negative index", "f.svm", "1 0 -1:1\n", 3, &["row 1", "-1:1"]),
        fit("svm, infinite", "f.svm", "1 0 1:inf\n2 1 1:2\n", 3, &["row 1"]),
        fit("svm, no value", "f.svm", "1 0 1:\n", 3, &["row 1"]),
        fit("svm, random bytes", "f.svm", [0xff, 0xfe, 0, 1, 2], 3, &["f.svm"]),
        fit("News, four billion rows", "f.csv.x", "4000000000,3,0\n1,1,4\n", 3, &["4000000000 documents"]),
        fit("News, ten million columns", "f.csv.x", "2,9999999,0\n1,1,4\n", 3, &["9999999 columns"]),
        fit("News, a word outside", "f.csv.x", "2,2,0\n1,3,1\n", 3, &["word 3"]),
        fit("News, a negative document", "f.csv.x", "2,2,0\n-1,1,1\n", 3, &["line 2"]),
    ]
}

fn columnar(fixtures: &Fixtures) -> Vec<Case> {
    let (parquet, arrow) = (fixtures.bytes("people.parquet"), fixtures.bytes("people.arrow"));
    let mut out = vec![
        fit("Parquet, only the magic", "f.parquet", "PAR1PAR1", 3, &["f.parquet"]),
        fit(
            "Parquet, a footer of 4 GB",
            "f.parquet",
            [&parquet[..parquet.len() - 8], &u32::MAX.to_le_bytes(), b"PAR1"].concat(),
            3,
            &["f.parquet"],
        ),
        fit(
            "Parquet, a footer of nothing",
            "f.parquet",
            [&parquet[..parquet.len() - 8], &[0; 4], b"PAR1"].concat(),
            3,
            &["f.parquet"],
        ),
        fit("Arrow, only the magic", "f.arrow", "ARROW1\0\0", 3, &["f.arrow"]),
        fit(
            "Arrow, a footer of 2 GB",
            "f.arrow",
            [&arrow[..arrow.len() - 10], &i32::MAX.to_le_bytes(), b"ARROW1"].concat(),
            3,
            &["f.arrow"],
        ),
        fit(
            "Arrow, a footer of less than nothing",
            "f.arrow",
            [&arrow[..arrow.len() - 10], &i32::MIN.to_le_bytes(), b"ARROW1"].concat(),
            3,
            &["f.arrow"],
        ),
        fit(
            "Arrow stream, a message of 2 GB",
            "f.arrow",
            [&[0xff; 4][..], &i32::MAX.to_le_bytes(), &[0; 40]].concat(),
            3,
            &["f.arrow"],
        ),
    ];
    for part in [1, 4, 7] {
        let cut = |bytes: &[u8]| bytes[..bytes.len() * part / 8].to_vec();
        out.push(fit(&format!("Parquet, cut at {part} of 8"), "f.parquet", cut(&parquet), 3, &["f.parquet"]));
        out.push(fit(&format!("Arrow, cut at {part} of 8"), "f.arrow", cut(&arrow), 3, &["f.arrow"]));
    }
    out
}

fn spelled() -> Vec<Case> {
    let bomb = {
        let mut text = "<?xml version=\"1.0\"?><!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\">".to_owned();
        for (k, name) in ('b'..='j').enumerate() {
            let inner = char::from(b'a' + k as u8);
            let _ = write!(text, "<!ENTITY {name} \"{}\">", format!("&{inner};").repeat(10));
        }
        text + "]><sst><si><t>&j;</t></si></sst>"
    };
    let far = sheet(r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>"#);
    vec![
        fit("a workbook that is a zip of nothing", "f.xlsx", archive(&[]), 3, &["f.xlsx"]),
        fit("a workbook without a sheet", "f.xlsx", archive(&[("a.txt", b"a".to_vec())]), 3, &["f.xlsx"]),
        fit(
            "a workbook with a member outside",
            "f.xlsx",
            archive(&[("../../../etc/passwd", b"a".to_vec())]),
            3,
            &["f.xlsx"],
        ),
        fit("a workbook that expands a billion times", "f.xlsx", workbook(&sheet(""), &bomb), 3, &["f.xlsx"]),
        fit("a workbook with a cell in the last corner", "f.xlsx", workbook(&far, "<sst/>"), 3, &["f.xlsx"]),
        fit("a workbook of rubbish", "f.ods", [7; 300], 3, &["f.ods"]),
        fit("JSON, 100 000 brackets", "f.json", "[".repeat(100_000), 3, &["f.json"]),
        fit(
            "JSON, 100 000 objects in each other",
            "f.json",
            "[{\"a\":".to_owned() + &"{\"a\":".repeat(100_000),
            3,
            &["f.json"],
        ),
        fit("JSON, cut short", "f.json", "[{\"t\":0,\"y\":1},{\"t\":1,", 3, &["f.json"]),
        fit(
            "JSON, a number without end",
            "f.json",
            format!("[{{\"t\":0,\"y\":1{}}}]", "0".repeat(5000)),
            3,
            &["f.json"],
        ),
        fit("JSON, not UTF-8", "f.json", b"[{\"t\":0,\"y\":\"\xff\"}]", 3, &["f.json"]),
        fit(
            "JSON lines, one of them broken",
            "f.ndjson",
            "{\"t\":0,\"y\":1,\"x\":1}\n{\"t\":1,\"y\":2\n",
            3,
            &["f.ndjson", "2"],
        ),
    ]
}

fn models(fixtures: &Fixtures) -> Vec<Case> {
    let model = fixtures.bytes("model.paretau");
    let effect = "effect FILE people.csv --out new.csv";
    let empty = r#"{"__metadata__":{"paretau":"{\"format\":5,\"digest\":\"\",\"model\":{}}"}}"#;
    let huge = r#"{"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,8]}}"#;
    let mut out = vec![
        with(
            "a header of 2^64",
            "m.paretau",
            [&u64::MAX.to_le_bytes()[..], b"{}"].concat(),
            effect,
            3,
            &["not a paretau model file"],
        ),
        with(
            "a header of 200 MB in a small file",
            "m.paretau",
            [&(200_u64 << 20).to_le_bytes()[..], b"{"].concat(),
            effect,
            3,
            &["cut short"],
        ),
        with(
            "a header of brackets",
            "m.paretau",
            tensors(&"{\"a\":".repeat(50_000), &[]),
            effect,
            3,
            &["damaged or not a model"],
        ),
        with("a forged description without a digest", "m.paretau", tensors(empty, &[]), effect, 3, &["digest"]),
        with("a tensor of 2^62 numbers", "m.paretau", tensors(huge, &[0; 8]), effect, 3, &["m.paretau"]),
        with(
            "tensors, but no model",
            "m.paretau",
            tensors(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#, &[0; 4]),
            effect,
            3,
            &["no paretau model"],
        ),
        with("one byte changed", "m.paretau", hit(&model, model.len() - 9), effect, 3, &["digest"]),
        with("one byte missing", "m.paretau", &model[..model.len() - 1], effect, 3, &["damaged"]),
        with("one byte more", "m.paretau", [&model[..], b"x"].concat(), effect, 3, &["damaged"]),
        with(
            "a page instead of a model",
            "m.paretau",
            "<html>",
            "report FILE --out new.html",
            3,
            &["not a paretau model file"],
        ),
        with(
            "a checkpoint that is a model",
            "m.checkpoint",
            &model,
            "fit people.csv --treatment t --outcome y -e tarnet --checkpoint FILE --resume --out new.paretau",
            3,
            &["not a checkpoint"],
        ),
        with(
            "a checkpoint of rubbish",
            "m.checkpoint",
            [9; 200],
            "fit people.csv --treatment t --outcome y -e tarnet --checkpoint FILE --resume --out new.paretau",
            3,
            &["m.checkpoint"],
        ),
    ];
    for part in [1, 3] {
        out.push(with(
            &format!("cut at {part} of 4"),
            "m.paretau",
            &model[..model.len() * part / 4],
            effect,
            3,
            &["m.paretau"],
        ));
    }
    out
}

fn studies() -> Vec<Case> {
    let run = "run FILE --out new.csv";
    let plan = |n: &str, estimator: &str| {
        format!(
            "name = \"a\"\nsummary = \"b\"\n[[data]]\nname = \"c\"\nsimulator = \"synthetic\"\nparams = {{ n = {n} }}\n\
             realisations = [1]\n[[methods]]\nestimator = \"{estimator}\"\n"
        )
    };
    vec![
        with("a plan of brackets", "p.toml", format!("a = {}", "[".repeat(50_000)), run, 3, &["p.toml"]),
        with("a plan for 10^18 rows", "p.toml", plan("1000000000000000000", "lr-1"), run, 3, &["p.toml", "`n`"]),
        with("a plan with an estimator that is a path", "p.toml", plan("50", "../../etc/passwd"), run, 3, &["p.toml"]),
        with("a plan that is not text", "p.toml", [0xff, 0xfe, 0x00], run, 3, &["p.toml"]),
        with(
            "trials that are somebody's notes",
            "notes.json",
            "{\"precious\": 1}",
            "tune people.csv --treatment t --outcome y -e lr-1 --trials 1 --records FILE",
            3,
            &["stays as it is"],
        ),
        with(
            "trials that are somebody's notes, resumed",
            "notes.json",
            "not even a line",
            "tune people.csv --treatment t --outcome y -e lr-1 --trials 1 --resume --records FILE",
            3,
            &["stays as it is"],
        ),
    ]
}

fn odd_numbers() -> Vec<Case> {
    let rows = |y: &str, x: &str| {
        let mut text = "t,y,x,z\n".to_owned();
        for i in 0..40 {
            let _ = writeln!(text, "{},{}{y},{}{x},{}", i / 2 % 2, i * 7 % 11, i * 5 % 13, i * 3 % 7);
        }
        text
    };
    vec![
        fit("outcomes of 1e39", "f.csv", rows("e39", ""), 3, &["column `y`", "divide"]),
        fit("outcomes of 1e307", "f.csv", rows("e307", ""), 3, &["column `y`"]),
        fit("outcomes beyond all numbers", "f.csv", rows("e400", ""), 3, &["column `y`", "row 2"]),
        fit("a feature of 1e300", "f.csv", rows("", "e300"), 0, &["`x`", "squares overflow"]),
        fit("a feature of 1e307", "f.csv", rows("", "e307"), 3, &["column `x`", "row 2", "divide"]),
        fit("a feature beyond all numbers", "f.csv", rows("", "e400"), 3, &["column `x`"]),
        fit("a feature of 1e-320", "f.csv", rows("", "e-320"), 3, &["column `x`", "multiply"]),
        with(
            "weights of 1e300 and next to nothing",
            "f.csv",
            rows("", "")
                .lines()
                .enumerate()
                .map(|(i, l)| format!("{l},{}\n", ["w", "1e300", "1e-300"][i.min(2)]))
                .collect::<String>(),
            "fit FILE --treatment t --outcome y --weight w -e lr-2 --out new.paretau",
            0,
            &["worth only 1 "],
        ),
        with(
            "weights whose sum is infinite",
            "f.csv",
            rows("", "")
                .lines()
                .enumerate()
                .map(|(i, l)| format!("{l},{}\n", ["w", "1e308"][i.min(1)]))
                .collect::<String>(),
            "fit FILE --treatment t --outcome y --weight w -e lr-2 --out new.paretau",
            3,
            &["weight"],
        ),
        fit("outcomes of 1e-320", "f.csv", rows("e-320", ""), 3, &["column `y`", "multiply"]),
    ]
}
