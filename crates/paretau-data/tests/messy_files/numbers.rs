//! Numbers in the notations of many countries, with units, and where a mark may mean two things.

use super::{Case, Expect, case, file, stop};

/// Numbers in the notations of many countries, with each delimiter that they can stand beside.
pub(super) fn locales() -> Vec<Case> {
    let values = vec![1234.5, -2.25, 0.125, 1_000_000.75, 12.0, 999.0];
    let styles: [(&str, [&str; 6]); 12] = [
        ("plain", ["1234.5", "-2.25", "0.125", "1000000.75", "12", "999"]),
        ("english", ["1,234.5", "-2.25", "0.125", "1,000,000.75", "12", "999"]),
        ("german", ["1.234,5", "-2,25", "0,125", "1.000.000,75", "12", "999"]),
        ("comma", ["1234,5", "-2,25", "0,125", "1000000,75", "12", "999"]),
        ("french", ["1 234,5", "-2,25", "0,125", "1 000 000,75", "12", "999"]),
        ("french narrow", ["1\u{202f}234,5", "-2,25", "0,125", "1\u{202f}000\u{202f}000,75", "12", "999"]),
        ("no-break", ["1\u{a0}234,5", "-2,25", "0,125", "1\u{a0}000\u{a0}000,75", "12", "999"]),
        ("swiss", ["1'234.5", "-2.25", "0.125", "1'000'000.75", "12", "999"]),
        ("swiss curly", ["1’234.5", "-2.25", "0.125", "1’000’000.75", "12", "999"]),
        ("accounts", ["1,234.5", "(2.25)", "0.125", "1,000,000.75", "12", "999"]),
        ("minus sign", ["1234,5", "−2,25", "0,125", "1000000,75", "12", "999"]),
        ("blanks", [" 1234.5", "-2.25 ", "\u{a0}0.125", "1000000.75", "12", " 999 "]),
    ];
    let mut cases = vec![];
    for (style, cells) in &styles {
        for delimiter in [',', ';', '\t', '|'] {
            let expect = Expect::Numbers(values.clone());
            cases.push(case(format!("{style} with {delimiter:?}"), file(delimiter, cells), "", expect));
        }
    }
    cases
}

/// Units before and behind numbers.
pub(super) fn units() -> Vec<Case> {
    let mut cases = vec![];
    for (unit, cells) in [
        ("$", ["$1,234.50", "$7", "-$2.25"]),
        ("$ behind sign", ["$1,234.50", "$7", "$-2.25"]),
        ("€", ["1.234,50 €", "7 €", "-2,25 €"]),
        ("%", ["1234.5%", "7%", "-2.25 %"]),
        ("kg", ["1234.5 kg", "7kg", "-2.25 KG"]),
        ("USD", ["USD 1,234.50", "USD 7", "USD -2.25"]),
        ("mmHg", ["1234.5 mmHg", "7 mmHg", "-2.25 mmHg"]),
        ("CHF", ["CHF 1'234.50", "CHF 7", "CHF -2.25"]),
        ("an unknown one", ["1234.5 foos", "7 foos", "-2.25 foos"]),
        ("°C", ["1234.5°C", "7 °C", "-2.25 °C"]),
    ] {
        cases.push(case(format!("unit {unit}"), file(';', &cells), "", Expect::Numbers(vec![1234.5, 7.0, -2.25])));
    }
    cases.push(case("unit is noted", file(',', &["$5", "$7", "$9"]), "", Expect::Note(vec!["`x`", "`$`", "left off"])));
    let mixed = ["5 kg", "7 kg", "11 lb", "9 kg", "8 kg"];
    cases.push(case("mixed units", file(',', &mixed), "", stop(&["`x`", "row 3", "`11 lb`", "in `kg`"])));
    let partly = ["5%", "7%", "0.11", "9%", "8%"];
    cases.push(case("percent and share", file(',', &partly), "", stop(&["`x`", "row 3", "`0.11`", "`%`"])));
    // As many cells with the unit as without: amounts all the same, never categories.
    let half: Vec<String> = (0..40).map(|i| if i % 2 == 0 { format!("{i}.5 kg") } else { format!("{i}.5") }).collect();
    let half: Vec<&str> = half.iter().map(String::as_str).collect();
    let words = ["`x`", "row 2", "20 of 40", "in `kg`", "`1.5` in row 2", "one unit", "--numeric x", "--categorical x"];
    cases.push(case("half with a unit", file(',', &half), "", stop(&words)));
    let shares: Vec<String> = (0..40).map(|i| if i % 2 == 0 { format!("{i}.5%") } else { format!("0.{i}") }).collect();
    let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
    cases.push(case(
        "half percent, half shares",
        file(',', &shares),
        "",
        stop(&["`x`", "row 2", "in `%`", "one unit"]),
    ));
    let times = ["5 days", "3 weeks", "2 months", "4 days", "6 weeks", "9 days"];
    cases.push(case("three units", file(',', &times), "", stop(&["`x`", "row 2", "`3 weeks`", "in `days`"])));
    // What a laboratory could not measure, oftener than a stray would be.
    let bounds: Vec<String> = (0..60).map(|i| if i % 3 == 0 { format!("<0.{i}") } else { format!("{i}.5") }).collect();
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    let words = ["`x`", "row 1", "40 of 60", "`<0.0` in row 1", "15 other texts; add --numeric x", "--categorical x"];
    cases.push(case("limits of detection", file(',', &bounds), "", stop(&words)));
    let doses = ["5 mg", "10 mg", "5 mg", "20 mg"];
    cases.push(case("doses", file(',', &doses), "", Expect::Numbers(vec![5.0, 10.0, 5.0, 20.0])));
    let house = ["12a", "12b", "14c", "12a", "12b", "14c"];
    cases.push(case("house numbers", file(',', &house), "", Expect::Columns(vec!["x=12a", "x=12b", "x=14c"])));
    cases
}

/// A point or comma that may mean two things is settled by the rest of the file or not at all.
pub(super) fn unclear() -> Vec<Case> {
    let with_z = |delimiter: char, x: &[&str], z: &[&str]| {
        let mut text = format!("t{delimiter}y{delimiter}x{delimiter}z\n");
        for (i, (x, z)) in x.iter().zip(z).enumerate() {
            text += &format!("{}{delimiter}{}{delimiter}\"{x}\"{delimiter}\"{z}\"\n", i % 2, 10 + i);
        }
        text.into_bytes()
    };
    let thousands = Expect::Numbers(vec![1234.0, 5678.0, 12.0, 7.0]);
    let decimals = Expect::Numbers(vec![1.234, 5.678, 12.0, 7.0]);
    let comma = ["1,234", "5,678", "12", "7"];
    let point = ["1.234", "5.678", "12", "7"];
    let (half_point, half_comma) = (["0.5", "1.5", "2.5", "3"], ["0,5", "1,5", "2,5", "3"]);
    vec![
        case("comma, nothing else", file(',', &comma), "", stop(&["`x`", "row 1", "1.234 or 1234", "--decimal"])),
        case("comma in a tab file", file('\t', &comma), "", stop(&["`1,234`", "--decimal ,"])),
        case("comma among semicolons", file(';', &comma), "", decimals.clone()),
        case("comma beside points", with_z(',', &comma, &half_point), "", thousands.clone()),
        case("comma beside commas", with_z(',', &comma, &half_comma), "", decimals.clone()),
        case("comma beside points among semicolons", with_z(';', &comma, &half_point), "", thousands.clone()),
        case("point beside commas", with_z(';', &point, &half_comma), "", thousands.clone()),
        case("point beside points", with_z(';', &point, &half_point), "", decimals.clone()),
        case("point alone", file(';', &point), "", stop(&["`x`", "row 1", "`1.234`", "1.234 or 1234", "--decimal ,"])),
        case("point alone and gaps", file(';', &["1.234", "", "5.678"]), "", stop(&["`x`", "1.234 or 1234"])),
        case("point alone, given", file(';', &point), "decimal=.", decimals.clone()),
        case("point alone, given comma", file(';', &point), "decimal=,", thousands.clone()),
        case("point in a comma file", file(',', &point), "", decimals.clone()),
        case(
            "two digits behind a point",
            file(';', &["1.234", "5.67", "12"]),
            "",
            Expect::Numbers(vec![1.234, 5.67, 12.0]),
        ),
        case("a small number", file(';', &["1.234", "0.678", "12"]), "", Expect::Numbers(vec![1.234, 0.678, 12.0])),
        case("a large number", file(';', &["1.234", "1200.678"]), "", Expect::Numbers(vec![1.234, 1200.678])),
        case("both marks", with_z(',', &comma, &point), "", stop(&["`x`", "--decimal"])),
        case("given decimal comma", file(',', &comma), "decimal=,", decimals.clone()),
        case("given decimal point", file(',', &comma), "decimal=.", thousands.clone()),
        case("given thousands", file(',', &comma), "thousands=,", thousands.clone()),
        case("given comma, points given", file(';', &point), "decimal=,", thousands),
        case(
            "given comma, point misfit",
            file(';', &["1,5", "2,5", "3.5", "4,5"]),
            "decimal=,",
            stop(&["row 3", "`3.5`"]),
        ),
        case(
            "one point among commas",
            file(';', &["1,5", "2,5", "3.55", "4,5"]),
            "",
            stop(&["row 3", "`3.55`", "comma"]),
        ),
        case("one comma among points", file(',', &["1.5", "2.5", "3,55", "4.5"]), "", stop(&["row 3", "`3,55`"])),
        case("zero is no thousand", file(',', &["0,123", "1,234", "2"]), "", Expect::Numbers(vec![0.123, 1.234, 2.0])),
        case("lakhs", file(',', &["12,34,567.5", "1,234.5", "2"]), "", Expect::Numbers(vec![1_234_567.5, 1234.5, 2.0])),
        case(
            "the mark is noted",
            file(';', &["1,5", "2,5", "7"]),
            "",
            Expect::Note(vec!["`x`", "comma", "`1,5` is 1.5"]),
        ),
    ]
}
