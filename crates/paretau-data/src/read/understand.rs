//! Columns of text that hold numbers or dates become such, by what the whole file shows; what stays in doubt is kept for
//! whoever uses the column.

use std::collections::{BTreeMap, BTreeSet};

use paretau_core::{Error, Result, nearest};
use rayon::prelude::*;

use super::ReadOptions;
use super::meaning::{Levels, Meaning, Shows, meaning, value};
use super::notation::{Notation, Parts, is_known_unit, is_mark, is_missing_among_numbers};
use crate::table::{ColumnData, Doubt, Kind, Table, TableColumn, Text, format_number};

/// Strays and rows that a message names.
const NAMED: usize = 5;
const ROWS_NAMED: usize = 3;

/// What was found about a file's columns.
#[derive(Debug, Default)]
pub(super) struct Understood {
    pub(super) notes: Vec<String>,
    pub(super) notations: BTreeMap<String, Notation>,
    pub(super) doubts: BTreeMap<String, Doubt>,
}

/// What the points of a column of numbers may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    /// There are none.
    None,
    /// Decimal marks.
    Decimal,
    /// Either: three digits stand behind each.
    Either,
}

fn points(column: &TableColumn) -> Points {
    let ColumnData::Number(values) = &column.data else { return Points::None };
    let mut found = Points::None;
    for &value in values.iter().filter(|v| !v.is_nan() && v.fract() != 0.0) {
        let thousand = value.abs() * 1000.0;
        if !(1.0..1000.0).contains(&value.abs()) || (thousand - thousand.round()).abs() > 1e-6 {
            return Points::Decimal;
        }
        found = Points::Either;
    }
    found
}

/// Which columns of numbers must be read as text, because a point in them may separate thousands: where commas show that they
/// are decimal marks, or where columns are separated by semicolons, as people with decimal commas do, and no column says more.
pub(super) fn points_in_doubt(columns: &[TableColumn], delimiter: u8, options: &ReadOptions) -> Vec<bool> {
    let comma_given = options.decimal == Some(',') || options.thousands == Some('.');
    let comma_text = |column: &TableColumn| match &column.data {
        ColumnData::Text(text) => {
            let shows_comma = |level: &String| level.contains(',') && Parts::of(level).is_some_and(|p| p.has(','));
            options.decimal != Some('.') && text.levels.iter().take(1000).any(shows_comma)
        }
        ColumnData::Number(_) => false,
    };
    let any_comma = comma_given || columns.iter().any(comma_text);
    let kinds = options.declared();
    let silent = delimiter == b';' && !any_comma && options.decimal.is_none() && options.thousands.is_none();
    let of_columns: Vec<Points> = if silent { columns.par_iter().map(points).collect() } else { vec![] };
    let unclear =
        |place: usize| !of_columns.contains(&Points::Decimal) && of_columns.get(place) == Some(&Points::Either);
    columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let known = options.notations.contains_key(&column.name);
            let known_comma = options.notations.get(&column.name).is_some_and(|n| n.decimal == ',');
            let is_number = column.kind() == Kind::Number;
            let doubtful = any_comma || known_comma || (!known && unclear(place));
            is_number && !kinds.contains_key(column.name.as_str()) && doubtful
        })
        .collect()
}

/// The columns that `--numeric` and `--categorical` name must be there.
pub(super) fn check_named(path: &std::path::Path, names: &[String], options: &ReadOptions) -> Result<()> {
    for (flag, wanted) in [("--numeric", &options.numeric), ("--categorical", &options.categorical)] {
        if let Some(name) = wanted.iter().find(|name| !names.contains(name)) {
            let hint = nearest(name, names.iter().map(String::as_str));
            let hint = hint.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("{flag} names it, but the file has no such column{hint}");
            return Err(crate::table::file_error(path, Some(name), None, message));
        }
    }
    Ok(())
}

/// Makes numbers and dates of the text columns that hold such. `delimiter` is that of delimited text; columns of typed
/// files are changed only where the options name them.
pub(super) fn understand(columns: &mut [TableColumn], delimiter: Option<u8>, options: &ReadOptions) -> Understood {
    let mut found = Understood::default();
    let kinds = options.declared();
    let open = |column: &TableColumn| {
        let named = options.numeric.contains(&column.name) || options.notations.contains_key(&column.name);
        !kinds.contains_key(column.name.as_str()) && (delimiter.is_some() || named)
    };
    let meanings: Vec<Option<Meaning>> = columns
        .par_iter()
        .map(|column| match &column.data {
            ColumnData::Text(text) if open(column) => Some(match options.notations.get(&column.name) {
                Some(notation) => Meaning::Values {
                    notation: notation.clone(),
                    strays: Levels::of(text).strays(notation),
                    shows: None,
                },
                None => meaning(text, options),
            }),
            _ => None,
        })
        .collect();
    let shows: Vec<Shows> = meanings
        .iter()
        .filter_map(|meaning| match meaning {
            Some(Meaning::Values { shows, .. }) => *shows,
            _ => None,
        })
        .collect();
    let mut odd = vec![];
    for (place, (column, meaning)) in columns.iter_mut().zip(meanings).enumerate() {
        if let Some(meaning) = meaning
            && let Some((strays, notation)) = settle(column, meaning, &shows, delimiter, options, &mut found)
        {
            odd.push((place, strays, notation));
        }
    }
    // After the loop, because the rows' identifiers are in another column.
    let id = options.id.as_deref().and_then(|name| columns.iter().find(|column| column.name == name));
    for (place, strays, notation) in odd {
        let column = &columns[place];
        if let ColumnData::Text(text) = &column.data {
            found.doubts.insert(column.name.clone(), stray_cells(column, text, &strays, &notation, columns, id));
        }
    }
    found.notes = notes(columns, &mut found);
    for column in columns.iter_mut() {
        blank_marks(column, &options.na);
    }
    found
}

/// Turns one column into what it means, or notes what is in doubt; gives the texts that do not fit the rest of the column.
fn settle(
    column: &mut TableColumn,
    meaning: Meaning,
    shows: &[Shows],
    delimiter: Option<u8>,
    options: &ReadOptions,
    found: &mut Understood,
) -> Option<(Vec<usize>, Notation)> {
    let ColumnData::Text(text) = &column.data else { return None };
    let name = column.name.clone();
    let lenient = options.numeric.contains(&name) || options.notations.get(&name).is_some_and(|n| n.lenient);
    let (mut notation, strays) = match meaning {
        Meaning::Values { notation, strays, .. } => (notation, strays),
        Meaning::Unclear(pair) => match choose(&pair, shows, delimiter) {
            Some(notation) => {
                let strays = Levels::of(text).strays(&notation);
                (notation, strays)
            }
            None => {
                found.doubts.insert(name, unclear(text, &pair));
                return None;
            }
        },
        Meaning::Categories { numbers } if lenient && numbers > 0 => {
            (Notation::default(), Levels::of(text).strays(&Notation::default()))
        }
        Meaning::Categories { numbers } => {
            let cells = text.codes.iter().filter(|&&code| code != Text::MISSING).count();
            if lenient {
                let message = "--numeric names it, but none of its cells is a number; look at the column".to_owned();
                found.doubts.insert(name, Doubt { row: None, message });
            } else if let Some(doubt) = compound(&name, text).or_else(|| total_below(&name, text)) {
                found.doubts.insert(name, doubt);
            } else if numbers * 2 >= cells && cells > 0 {
                found.notes.push(format!(
                    "`{name}`: {numbers} of {cells} cells are numbers, the others are not; used as categories (with \
                     --numeric {name} the others count as missing)"
                ));
            }
            return None;
        }
    };
    if !strays.is_empty() && !lenient {
        return Some((strays, notation));
    }
    if !strays.is_empty() {
        let shown: Vec<String> = strays.iter().take(NAMED).map(|&k| format!("`{}`", text.levels[k])).collect();
        let cells: usize =
            Levels::of(text).counts.iter().enumerate().filter(|(k, _)| strays.contains(k)).map(|(_, c)| c).sum();
        found
            .notes
            .push(format!("`{name}`: {cells} cells are not numbers and count as missing ({})", shown.join(", ")));
    }
    for (place, is_marked) in [
        ("in brackets", (|cell| cell.starts_with('(')) as fn(&str) -> bool),
        ("with a minus behind them", |cell| cell.ends_with(['-', '−'])),
    ] {
        if notation.dates.is_none()
            && let Some(cell) = text.levels.iter().find(|level| is_marked(level.trim()))
            && let Some(value) = notation.value(cell)
        {
            let shown = format_number(value);
            found.notes.push(format!("`{name}`: numbers {place} are negative (`{cell}` is {shown})"));
        }
    }
    notation.lenient = lenient;
    let is_date = notation.dates.is_some();
    let iso = |level: &String| crate::calendar::parse_iso(level.as_bytes()).is_some();
    if is_date && text.levels.iter().all(|level| iso(level) || notation.value(level).is_none()) {
        // Nothing but ISO dates, which every reader knows.
        notation.dates = None;
    }
    let usual = Notation { lenient, ..Notation::default() };
    // Brackets, apostrophes and other signs are read by a notation even where its marks are the usual ones.
    let odd = |level: &String| notation.value(level).is_some() && level.trim().parse::<f64>().is_err();
    if notation != usual || lenient || (!is_date && text.levels.iter().any(odd)) {
        found.notations.insert(name, notation.clone());
    }
    let reading = if is_date && notation.dates.is_none() {
        Notation { dates: Some(crate::calendar::DateOrder::Ymd), ..notation }
    } else {
        notation
    };
    let unlike: BTreeSet<usize> = strays.into_iter().collect();
    let of_level: Vec<f64> = (text.levels.iter().enumerate())
        .map(|(k, level)| if unlike.contains(&k) { f64::NAN } else { value(&reading, level).unwrap_or(f64::NAN) })
        .collect();
    let values = text.codes.iter().map(|&code| of_level.get(code as usize).copied().unwrap_or(f64::NAN)).collect();
    found.notes.extend(example(
        &column.name,
        text,
        &reading,
        is_date && found.notations.get(&column.name).is_none_or(|n| n.dates.is_none()),
    ));
    column.data = ColumnData::Number(values);
    column.is_date = is_date;
    None
}

/// Columns with fewer different texts than this are categories, whatever these look like.
const MANY_TEXTS: usize = 10;

/// What is wrong with a column whose texts are two numbers each (`120/80`, `5'11"`, `5.1 ± 0.3`, `34+5`), months, places, times of
/// day (`12:34`) or numbers as only some programs write them: as categories nearly every one would be rare, and what the column says
/// would be lost.
fn compound(name: &str, text: &Text) -> Option<Doubt> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_pair = |level: &str| {
        let inches = level.trim_end_matches(['"', '″', '”', '\'']).trim_end_matches(" in");
        let pair = level.split_once("+/-").or_else(|| level.split_once(['/', '±', '+']));
        pair.or_else(|| inches.split_once(['\'', '′', '’']))
            .is_some_and(|(a, b)| is_digits(a.trim()) && is_digits(b.trim()))
    };
    // `48.85, -2.35` and `48°51'N`.
    let is_place = |level: &str| {
        let is_angle = |part: &str| is_digits(part.trim().trim_start_matches('-'));
        let pair = level.trim_matches(['(', ')']).split_once([',', ' ']);
        let degrees = level.split_once('°').is_some_and(|(a, b)| is_angle(a) && b.ends_with(['N', 'S', 'E', 'W', 'O']));
        degrees || pair.is_some_and(|(a, b)| a.contains('.') && b.contains('.') && is_angle(a) && is_angle(b))
    };
    let is_time = |level: &str| {
        let parts: Vec<&str> = level.split(':').collect();
        let two = |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        (2..=3).contains(&parts.len()) && parts.iter().all(two)
    };
    // `$1.5k`, `[1.5]`, `1h 20m`, `1_000`, `0x1f` and `1.5D+03`.
    let is_odd_number = |level: &str| {
        let amount = level.trim_start_matches(['$', '€', '£', '¥', '-', '+', ' ']);
        let plain = amount.trim_end_matches(char::is_alphabetic);
        let is_scaled = amount.len() < level.len() && plain.len() < amount.len() && is_digits(plain.trim_end());
        let is_listed = level.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).is_some_and(is_digits);
        let is_measured = |part: &str| {
            ["h", "m", "min", "s", "d", "w"].iter().any(|unit| part.strip_suffix(unit).is_some_and(is_digits))
        };
        let is_duration = level.contains(' ') && level.split_whitespace().all(is_measured);
        let is_grouped = level.contains('_') && level.split('_').all(is_digits);
        let is_hexadecimal = level.strip_prefix("0x").is_some_and(|inner| inner.bytes().all(|b| b.is_ascii_hexdigit()));
        let exponent = level.split_once("D+").or_else(|| level.split_once("D-"));
        let is_fortran = exponent.is_some_and(|(a, b)| is_digits(a.trim_start_matches('-')) && is_digits(b));
        is_scaled || is_listed || is_duration || is_grouped || is_hexadecimal || is_fortran
    };
    let is_other_script = |level: &str| {
        let other = |c: char| (c.is_numeric() && !c.is_ascii()) || matches!(c, '٫' | '٬');
        level.chars().any(other) && level.chars().all(|c| c.is_numeric() || ".,٫٬-−+ ".contains(c))
    };
    let levels = Levels::of(text);
    let used: Vec<usize> = (0..text.levels.len()).filter(|&k| levels.counts[k] > 0).collect();
    if used.len() < MANY_TEXTS {
        return None;
    }
    let all = |test: &dyn Fn(&str) -> bool| {
        used.iter()
            .map(|&k| text.levels[k].trim())
            .all(|level| test(level) || is_missing_among_numbers(level.as_bytes()))
    };
    let (first, column) = (used[0], quoted(name));
    let cell = &text.levels[first];
    let rest = format!("leave it out with --ignore {column}, or add --categorical {column} if each text is a category");
    let message = if all(&crate::calendar::is_month) {
        format!("holds `{cell}`, a month or quarter without a day; write its first day as a date (2015-01-01), {rest}")
    } else if all(&is_place) {
        format!("holds `{cell}`, a place; write its two coordinates in degrees in two columns, {rest}")
    } else if all(&is_pair) {
        format!("holds `{cell}`, two numbers in one cell; write them in two columns, {rest}")
    } else if all(&is_odd_number) {
        format!("holds `{cell}`, a number in a form that is not read; write it as a plain number, {rest}")
    } else if all(&is_other_script) {
        format!("holds `{cell}`, digits of another script; write them as 0 to 9, {rest}")
    } else if all(&is_time) {
        format!("holds `{cell}`, a time of day, which is not read as a number; write it as hours, {rest}")
    } else {
        return None;
    };
    Some(Doubt { row: text.codes.iter().position(|&code| code as usize == first), message })
}

/// A last row of totals, by the word that stands in it and nowhere else in the column.
fn total_below(name: &str, text: &Text) -> Option<Doubt> {
    let last = text.codes.len().checked_sub(1)?;
    let cell = text.get(last).filter(|cell| is_total(cell))?;
    let alone = text.codes.iter().filter(|&&code| code == text.codes[last]).count() == 1;
    let message = format!(
        "holds `{cell}` in the last row, which looks like a row of totals; delete the row, or add --categorical {} if it is \
         a category like the others",
        quoted(name)
    );
    (alone && last > 0).then_some(Doubt { row: Some(last), message })
}

/// Whether a cell is a word for a sum.
fn is_total(cell: &str) -> bool {
    const WORDS: [&str; 12] = [
        "total",
        "totals",
        "grand total",
        "sum",
        "overall",
        "gesamt",
        "summe",
        "insgesamt",
        "gesamtsumme",
        "totale",
        "ensemble",
        "totaal",
    ];
    let word = cell.trim().trim_end_matches(':').to_lowercase();
    WORDS.contains(&word.as_str())
}

/// The notation that the rest of the file speaks for.
fn choose(pair: &[Notation; 2], shows: &[Shows], delimiter: Option<u8>) -> Option<Notation> {
    let of = |notation: &Notation| match notation.dates {
        Some(order) => Shows::Order(order),
        None => Shows::Decimal(notation.decimal),
    };
    let seen: Vec<&Notation> = pair.iter().filter(|notation| shows.contains(&of(notation))).collect();
    match seen[..] {
        [only] => Some(only.clone()),
        // Who writes decimal commas cannot separate columns by commas, which is what semicolons are for. Points, though, are
        // decimal marks for programs that separate by semicolons, too.
        [] if delimiter == Some(b';') => {
            pair.iter().find(|n| n.dates.is_none() && n.decimal == ',' && n.thousands.is_none()).cloned()
        }
        _ => None,
    }
}

fn unclear(text: &Text, pair: &[Notation; 2]) -> Doubt {
    let differs = |level: &String| pair[0].value(level) != pair[1].value(level);
    let level = text.levels.iter().position(differs).unwrap_or_default();
    let row = text.codes.iter().position(|&code| code as usize == level);
    let cell = text.levels.get(level).map_or("", String::as_str);
    let is_date = pair[0].dates.is_some();
    let shown = |notation: &Notation| match notation.value(cell) {
        Some(days) if is_date => crate::calendar::format_iso(days),
        Some(number) => format_number(number),
        None => "no number".to_owned(),
    };
    let (a, b) = (shown(&pair[0]), shown(&pair[1]));
    let flags = if is_date { "--date-order dmy or --date-order mdy" } else { "--decimal . or --decimal ," };
    Doubt {
        row,
        message: format!("holds `{cell}`, which may be {a} or {b}, and nothing in the file tells which; add {flags}"),
    }
}

/// The message on cells that do not fit the rest of a column; rows are named by their number and, where there is one, their
/// identifier.
fn stray_cells(
    column: &TableColumn,
    text: &Text,
    strays: &[usize],
    notation: &Notation,
    columns: &[TableColumn],
    id: Option<&TableColumn>,
) -> Doubt {
    let what = if notation.dates.is_some() { "dates" } else { "numbers" };
    let levels = Levels::of(text);
    let mut rows: BTreeMap<usize, Vec<usize>> = strays.iter().take(NAMED).map(|&k| (k, vec![])).collect();
    for (row, &code) in text.codes.iter().enumerate() {
        if let Some(rows) = rows.get_mut(&(code as usize))
            && rows.len() < ROWS_NAMED
        {
            rows.push(row);
        }
    }
    let mut listed: Vec<(&usize, &Vec<usize>)> = rows.iter().collect();
    listed.sort_by_key(|(_, rows)| rows.first().copied());
    let row = listed.first().and_then(|(_, rows)| rows.first().copied());
    let is_name =
        |column: &&TableColumn| row.and_then(|row| column.cell(row)).is_some_and(|cell| cell.trim() == column.name);
    let repeats_names = strays.len() == 1 && is_name(&column) && columns.iter().filter(is_name).count() > 1;
    let words: Vec<String> = listed
        .iter()
        .map(|&(&k, rows)| {
            let number = |&row: &usize| match id.and_then(|id| id.cell(row)) {
                Some(id) => format!("{} ({})", row + 1, super::builder::show(id.as_bytes())),
                None => (row + 1).to_string(),
            };
            let numbers: Vec<String> = rows.iter().map(number).collect();
            let more = if levels.counts[k] > rows.len() { " and others" } else { "" };
            let s = if rows.len() > 1 { "s" } else { "" };
            format!("`{}` in row{s} {}{more}", super::builder::show(text.levels[k].as_bytes()), numbers.join(", "))
        })
        .collect();
    let more = if strays.len() > NAMED { format!(" and {} other texts", strays.len() - NAMED) } else { String::new() };
    let bad: usize = strays.iter().map(|&k| levels.counts[k]).sum();
    let all: usize = levels.counts.iter().sum();
    let marks: Vec<&str> = listed.iter().map(|(k, _)| text.levels[**k].as_str()).collect();
    let unit = match &notation.unit {
        Some(unit) => format!(" in `{unit}`"),
        None if notation.decimal == ',' => " with a decimal comma".to_owned(),
        None => String::new(),
    };
    let name = quoted(&column.name);
    if repeats_names {
        let (words, s) = (words.join(", "), if bad > 1 { "s" } else { "" });
        return Doubt {
            row,
            message: format!(
                "{} of {all} cells are {what}, but not {words}, the column's own name, as in a second line of column \
                 names; delete the row{s}",
                all - bad
            ),
        };
    }
    let is_amount = |k: &usize| Parts::of(&text.levels[*k]).is_some_and(|p| p.unit.is_empty() || is_known_unit(p.unit));
    let units = |k: &usize| Parts::of(&text.levels[*k]).is_some_and(|p| !p.unit.is_empty());
    if strays.iter().all(is_amount) && (notation.unit.is_some() || strays.iter().all(units)) {
        let unit = if unit.is_empty() { " without a unit".to_owned() } else { unit };
        return Doubt {
            row,
            message: format!(
                "{} of {all} cells are {what}{unit}, but not {}{more}; write all cells in one unit, or add --numeric \
                 {name} to count these as missing, --categorical {name} if the column holds categories",
                all - bad,
                words.join(", ")
            ),
        };
    }
    if let [only] = strays
        && levels.counts[*only] == 1
        && row == text.codes.len().checked_sub(1)
        && is_total(&text.levels[*only])
    {
        return Doubt {
            row,
            message: format!(
                "{} of {all} cells are {what}{unit}, but not {}, which looks like a row of totals; delete the row, or add --na {} \
                 if it means missing",
                all - bad,
                words.join(", "),
                quoted(&text.levels[*only])
            ),
        };
    }
    // Some of many marks would not be enough.
    let na = if strays.len() > NAMED || marks.iter().any(|mark| mark.contains(',')) {
        String::new()
    } else {
        format!("--na {} if they mean missing, ", quoted(&marks.join(",")))
    };
    Doubt {
        row,
        message: format!(
            "{} of {all} cells are {what}{unit}, but not {}{more}; add {na}--numeric {name} to count all such cells as \
             missing, --categorical {name} if the column holds categories, or fix the cells",
            all - bad,
            words.join(", ")
        ),
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.,/:+=%@".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// What was read how, with an example; nothing for plain numbers.
fn example(name: &str, text: &Text, notation: &Notation, iso: bool) -> Option<String> {
    if iso || *notation == (Notation { lenient: notation.lenient, ..Notation::default() }) {
        return None;
    }
    let marked = |level: &&String| {
        let shows = match notation.dates {
            Some(_) => crate::calendar::parse_iso(level.as_bytes()).is_none(),
            None => level.parse::<f64>().is_err() || level.contains('.'),
        };
        shows && notation.value(level).is_some()
    };
    let cell = text.levels.iter().find(marked)?;
    let value = notation.value(cell)?;
    let shown = if notation.dates.is_some() { crate::calendar::format_iso(value) } else { format_number(value) };
    Some(format!("`{name}`: {} (`{cell}` is {shown})", notation.in_words()))
}

/// The notes, those on many columns of one notation as one.
fn notes(columns: &[TableColumn], found: &mut Understood) -> Vec<String> {
    let mut by_notation: BTreeMap<String, (String, Vec<&str>)> = BTreeMap::new();
    let mut notes = vec![];
    for note in std::mem::take(&mut found.notes) {
        let name = columns.iter().find(|c| note.starts_with(&format!("`{}`: ", c.name)));
        match name.and_then(|column| Some((column, found.notations.get(&column.name)?))) {
            Some((column, notation)) if note.contains(&notation.in_words()) && !notation.in_words().is_empty() => {
                by_notation.entry(notation.in_words()).or_insert_with(|| (note, vec![])).1.push(&column.name);
            }
            _ => notes.push(note),
        }
    }
    notes.extend(by_notation.into_values().map(|(note, names)| match &names[..] {
        [] | [_] => note,
        [_, others @ ..] => {
            let shown = others[..others.len().min(NAMED)].join(", ");
            let more = if others.len() > NAMED { format!(" and {} more", others.len() - NAMED) } else { String::new() };
            format!("{note}; so in {shown}{more}")
        }
    }));
    notes
}

/// Empties the cells that hold one of the marks for missing cells.
pub(super) fn blank_marks(column: &mut TableColumn, marks: &[String]) {
    if marks.is_empty() {
        return;
    }
    match &mut column.data {
        ColumnData::Number(values) if column.is_date => {
            let days: Vec<f64> =
                marks.iter().filter_map(|mark| crate::calendar::parse_iso(mark.trim().as_bytes())).collect();
            // A day is all its hours.
            let gone = |value: f64| days.iter().any(|&day| value == day || value.floor() == day);
            values.to_mut().iter_mut().filter(|value| gone(**value)).for_each(|value| *value = f64::NAN);
        }
        ColumnData::Number(values) => {
            let numbers: Vec<f64> = marks.iter().filter_map(|mark| mark.trim().parse().ok()).collect();
            values.to_mut().iter_mut().filter(|value| numbers.contains(value)).for_each(|value| *value = f64::NAN);
        }
        ColumnData::Text(text) => {
            let gone: Vec<bool> = text.levels.iter().map(|level| is_mark(marks, level.as_bytes())).collect();
            if gone.contains(&true) {
                let cells: Vec<Option<&str>> = (text.codes.iter())
                    .map(|&code| text.levels.get(code as usize).filter(|_| !gone[code as usize]).map(String::as_str))
                    .collect();
                *text = Text::from_cells(cells);
            }
        }
    }
}

/// A column of a batch that is read as text and then by its notation.
#[derive(Debug, Clone)]
pub(super) struct Convert {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) notation: Notation,
}

/// Options under which columns with a notation of their own come as text, and what is to be done to them then.
pub(super) fn as_text(options: &ReadOptions) -> (ReadOptions, Vec<Convert>) {
    let mut options = options.clone();
    let mut converts = vec![];
    let given = (options.decimal, options.thousands, options.date_order);
    let ReadOptions { fields, optional, notations, numeric, .. } = &mut options;
    for field in fields.iter_mut().chain(optional) {
        let notation = match (field.kind, given) {
            (Kind::Text, _) => None,
            (Kind::Date, (_, _, Some(order))) => Some(Notation { dates: Some(order), ..Notation::default() }),
            (Kind::Number, (Some(decimal), thousands, _)) => {
                Some(Notation { decimal, thousands, ..Notation::default() })
            }
            (Kind::Number, (None, Some(mark), _)) => Some(Notation { thousands: Some(mark), ..Notation::default() }),
            _ => notations.get(&field.name).cloned(),
        };
        let lenient = field.kind == Kind::Number && numeric.contains(&field.name);
        let notation = notation.or_else(|| lenient.then(Notation::default));
        if let Some(mut notation) = notation {
            notation.lenient |= lenient;
            converts.push(Convert { name: field.name.clone(), kind: field.kind, notation });
            field.kind = Kind::Text;
        }
    }
    (options, converts)
}

/// Reads the text columns of a batch by their notations; a cell that does not fit is an error.
pub(super) fn convert(table: &mut Table, converts: &[Convert], marks: &[String]) -> Result<()> {
    for Convert { name, kind, notation } in converts {
        let Some(place) = table.columns().iter().position(|c| c.name == *name) else { continue };
        let ColumnData::Text(text) = &table.columns()[place].data else { continue };
        let strays: Vec<usize> = if notation.lenient { vec![] } else { Levels::of(text).strays(notation) };
        let strays: Vec<usize> = strays.into_iter().filter(|&k| !is_mark(marks, text.levels[k].as_bytes())).collect();
        if let Some(row) = text.codes.iter().position(|&code| strays.contains(&(code as usize))) {
            return Err(misfit(table, name, row, *kind, notation));
        }
        let of_level: Vec<f64> = (text.levels.iter())
            .map(|level| if is_mark(marks, level.as_bytes()) { None } else { value(notation, level) })
            .map(|value| value.unwrap_or(f64::NAN))
            .collect();
        let values = text.codes.iter().map(|&code| of_level.get(code as usize).copied().unwrap_or(f64::NAN)).collect();
        let column = &mut table.columns_mut()[place];
        column.data = ColumnData::Number(values);
        column.is_date = *kind == Kind::Date;
    }
    table.columns_mut().iter_mut().for_each(|column| blank_marks(column, marks));
    Ok(())
}

fn misfit(table: &Table, name: &str, row: usize, kind: Kind, notation: &Notation) -> Error {
    let cell = table.column(name).and_then(|column| column.cell(row)).unwrap_or_default();
    let what = if kind == Kind::Date { "dates" } else { "numbers" };
    let words = notation.in_words();
    let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
    let message = format!(
        "holds `{cell}`, but this column must be {what}{words}; fix the cell, or add --na {} if it means missing",
        quoted(&cell)
    );
    table.error(Some(name), Some(row), message)
}
