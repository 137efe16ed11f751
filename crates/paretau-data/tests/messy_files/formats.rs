//! Files that are no delimited text.

use std::path::Path;

use super::{Case, Expect, GAP, case, stop};

/// Files that are no delimited text.
pub(super) fn other_formats() -> Vec<Case> {
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
pub(super) fn stata() -> Vec<Case> {
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
