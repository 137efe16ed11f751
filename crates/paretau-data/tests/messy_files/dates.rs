//! Dates in many spellings.

use super::{Case, Expect, GAP, case, file, stop};

pub(super) fn dates() -> Vec<Case> {
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
