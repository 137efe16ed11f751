//! Levels that differ in case, codes for missing, identifiers.

use super::{Case, Expect, GAP, case, file};

/// Levels that differ in case, codes for missing, identifiers.
pub(super) fn oddities() -> Vec<Case> {
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
