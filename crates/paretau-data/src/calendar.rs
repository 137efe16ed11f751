//! Dates as numbers: days since 1 January 1970, with the time of day as a fraction.

use serde::{Deserialize, Serialize};

/// Days since 1970 of a date of the proleptic Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March here, so that the leap day comes last.
    let y = year - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let year_of_era = y - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z - era * 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Parses `YYYY-MM-DD`, optionally followed by a space or `T` and `HH:MM[:SS[.fff]]` and `Z`, `UTC` or an offset such as `+02:00`.
pub(crate) fn parse_iso(cell: &[u8]) -> Option<f64> {
    if cell.len() < 10 || cell[4] != b'-' || cell[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(&cell[..4])?, digits(&cell[5..7])?, digits(&cell[8..10])?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_from_civil(year, month, day) as f64;
    let rest = &cell[10..];
    if rest.is_empty() {
        return Some(days);
    }
    if !matches!(rest[0], b' ' | b'T') {
        return None;
    }
    let (time, offset) = without_zone(&rest[1..])?;
    if time.len() < 5 || time[2] != b':' {
        return None;
    }
    let (hour, minute) = (digits(&time[..2])?, digits(&time[3..5])?);
    let second: f64 = match time.get(5) {
        None => 0.0,
        Some(b':') if time.len() >= 8 && time[6..].iter().all(|b| b.is_ascii_digit() || *b == b'.') => {
            std::str::from_utf8(&time[6..]).ok()?.parse().ok()?
        }
        Some(_) => return None,
    };
    if hour > 23 || minute > 59 || second >= 61.0 {
        return None;
    }
    Some(days + (hour as f64 * 3600.0 + minute as f64 * 60.0 + second - offset) / 86_400.0)
}

/// A time without its zone, and the seconds that the zone is ahead of UTC.
fn without_zone(time: &[u8]) -> Option<(&[u8], f64)> {
    for utc in [&b" UTC"[..], b"UTC", b" GMT", b"Z"] {
        if let Some(time) = time.strip_suffix(utc) {
            return Some((time, 0.0));
        }
    }
    let Some(at) = time.iter().position(|b| matches!(b, b'+' | b'-')) else { return Some((time, 0.0)) };
    let zone: Vec<u8> = time[at + 1..].iter().copied().filter(|b| *b != b':').collect();
    let (hours, minutes) = match zone.len() {
        2 => (digits(&zone)?, 0),
        4 => (digits(&zone[..2])?, digits(&zone[2..])?),
        _ => return None,
    };
    let ahead = (hours * 3600 + minutes * 60) as f64;
    (hours <= 14 && minutes < 60)
        .then_some((time[..at].trim_ascii_end(), if time[at] == b'+' { ahead } else { -ahead }))
}

/// The order in which a date names day, month and year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// Day, month, year: 31/05/2024.
    Dmy,
    /// Month, day, year: 05/31/2024.
    Mdy,
    /// Year, month, day: 2024/05/31.
    Ymd,
}

impl DateOrder {
    /// The order in words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Dmy => "day, month, year",
            Self::Mdy => "month, day, year",
            Self::Ymd => "year, month, day",
        }
    }
}

impl std::str::FromStr for DateOrder {
    type Err = paretau_core::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "dmy" => Ok(Self::Dmy),
            "mdy" => Ok(Self::Mdy),
            "ymd" => Ok(Self::Ymd),
            _ => Err(paretau_core::Error::unknown_name("date order", text, ["dmy", "mdy", "ymd"])),
        }
    }
}

/// Parses a date with `/`, `-`, `.` or blanks between its parts, months as numbers or names, perhaps with a time
/// of day. A year of four digits that comes first and a month's name settle the order whatever `order` is. Years of two
/// digits lie between 1930 and 2029, as in spreadsheets.
pub(crate) fn parse_date(cell: &str, order: DateOrder) -> Option<f64> {
    let cell = cell.trim();
    if let Some(days) = parse_iso(cell.as_bytes()) {
        return Some(days);
    }
    // `Friday, 31 May 2024` and `Fri 31 May 2024`.
    let weekday = cell.split_once([',', ' ']).filter(|(word, rest)| is_weekday(word) && !rest.is_empty());
    let cell = weekday.map_or(cell, |(_, rest)| rest.trim_start());
    let mut rest = cell;
    let (mut parts, mut marks) = ([""; 3], ['\0'; 2]);
    for k in 0..3 {
        let is_name = rest.starts_with(char::is_alphabetic);
        let end = rest.find(|c: char| !(if is_name { c.is_alphabetic() } else { c.is_ascii_digit() }));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        parts[k] = part;
        rest = behind;
        if k < 2 {
            marks[k] = rest.chars().next().filter(|c| matches!(c, '/' | '-' | '.' | ',' | ' '))?;
            rest = rest[1..].trim_start();
            // `31. Mai. 2024`, `31 de mayo de 2024`.
            rest = rest.strip_prefix("de ").unwrap_or(rest).trim_start();
        }
    }
    let months: Vec<Option<i64>> = parts.iter().map(|part| month_named(part)).collect();
    let (year, month, day, named) = match (order, &months[..]) {
        (_, [Some(month), None, None]) => (parts[2], *month, parts[1], true),
        (_, [None, Some(month), None]) if parts[0].len() == 4 => (parts[0], *month, parts[2], true),
        (_, [None, Some(month), None]) => (parts[2], *month, parts[0], true),
        _ if parts[0].len() == 4 => (parts[0], digits(parts[1].as_bytes())?, parts[2], false),
        (DateOrder::Dmy, _) => (parts[2], digits(parts[1].as_bytes())?, parts[0], false),
        (DateOrder::Mdy, _) => (parts[2], digits(parts[0].as_bytes())?, parts[1], false),
        (DateOrder::Ymd, _) => (parts[0], digits(parts[1].as_bytes())?, parts[2], false),
    };
    if !named && (marks[0] != marks[1] || matches!(marks[0], ',' | ' ')) {
        return None;
    }
    // 1.2.34 is a version rather than a date.
    let padded = marks[0] == '/' || named || parts.iter().all(|part| part.len() == 2);
    let year = match (year.len(), digits(year.as_bytes())?) {
        (4, year) => year,
        (2, year) if padded => year + if year < 30 { 2000 } else { 1900 },
        _ => return None,
    };
    let in_range =
        (1..=2).contains(&day.len()) && (named || parts.iter().all(|part| !part.is_empty() && part.len() != 3));
    let day = digits(day.as_bytes()).filter(|_| in_range)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_from_civil(year, month, day) as f64;
    let time = rest.trim_start_matches([',', 'T']).trim();
    if time.is_empty() { rest.is_empty().then_some(days) } else { time_of_day(time).map(|share| days + share) }
}

/// Whether a word is an English name of a weekday, in full or by its first three letters.
fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let lower = word.trim_end_matches('.').to_ascii_lowercase();
    lower.len() >= 3 && DAYS.iter().any(|day| *day == lower || day[..3] == lower)
}

/// `HH:MM[:SS]`, perhaps with AM or PM, as a share of the day.
fn time_of_day(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let half = if lower.ends_with("pm") { Some(12) } else { lower.ends_with("am").then_some(0) };
    let plain = lower.trim_end_matches(['a', 'p', 'm', 'z']).trim_end();
    let mut parts = plain.split(':');
    let number = |part: Option<&str>| part.filter(|p| (1..=2).contains(&p.len())).and_then(|p| digits(p.as_bytes()));
    let (hour, minute) = (number(parts.next())?, number(parts.next())?);
    let second = match parts.next() {
        Some(part) => part.parse::<f64>().ok().filter(|s| (0.0..61.0).contains(s))?,
        None => 0.0,
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    let fits = parts.next().is_none() && hour < 24 && minute < 60;
    fits.then_some((hour as f64 * 3600.0 + minute as f64 * 60.0 + second) / 86_400.0)
}

/// The month of a name: English, German, French, Spanish, Italian, Portuguese or Dutch, in full or shortened to three letters or more.
fn month_named(text: &str) -> Option<i64> {
    const MONTHS: [&[&str]; 12] = [
        &["january", "januar", "jänner", "janvier", "enero", "gennaio", "janeiro", "januari"],
        &["february", "februar", "février", "fevrier", "febrero", "febbraio", "fevereiro", "februari"],
        &["march", "märz", "maerz", "mars", "marzo", "março", "maart", "mrz"],
        &["april", "avril", "abril", "aprile"],
        &["may", "mai", "mayo", "maggio", "maio", "mei"],
        &["june", "juni", "juin", "junio", "giugno", "junho"],
        &["july", "juli", "juillet", "julio", "luglio", "julho"],
        &["august", "août", "aout", "agosto", "augustus"],
        &["september", "septembre", "septiembre", "settembre", "setembro"],
        &["october", "oktober", "octobre", "octubre", "ottobre", "outubro"],
        &["november", "novembre", "noviembre", "novembro"],
        &["december", "dezember", "décembre", "decembre", "diciembre", "dicembre", "dezembro"],
    ];
    let lower = text.to_lowercase();
    if lower.chars().count() < 3 {
        return None;
    }
    // `jui` begins two months of one language.
    let mut fitting = (1..).zip(MONTHS).filter(|(_, names)| names.iter().any(|name| name.starts_with(&lower)));
    let month = fitting.next().filter(|_| fitting.next().is_none())?.0;
    Some(month)
}

/// Whether a cell is a month or quarter of a year, without a day: `2015-01`, `01/2015`, `Jan-15`, `March 2015`, `2015Q1`, `Q1 2015`.
pub(crate) fn is_month(cell: &str) -> bool {
    let is_year = |part: &str| {
        part.len() == 4 && part.parse().is_ok_and(|year: u32| (1800..2200).contains(&year) && !part.starts_with('+'))
    };
    let is_number = |part: &str| part.len() <= 2 && part.parse().is_ok_and(|month: u8| (1..=12).contains(&month));
    let is_quarter = |part: &str| matches!(part, "Q1" | "Q2" | "Q3" | "Q4" | "q1" | "q2" | "q3" | "q4");
    let is_short_year = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    let is_name = |part: &str| month_named(part.trim_end_matches('.')).is_some();
    let (a, b) = match cell.split_once(['-', '/', '.', ' ']) {
        Some((a, b)) => (a.trim(), b.trim()),
        None => match cell.split_at_checked(4) {
            Some((year, quarter)) if is_year(year) => (year, quarter),
            _ => return false,
        },
    };
    let of_year = |part: &str| is_number(part) || is_quarter(part) || is_name(part);
    (is_year(a) && of_year(b)) || (of_year(a) && is_year(b)) || (is_name(a) && is_short_year(b))
}

/// The date, with the time of day (to the second) when there is one, as ISO text.
pub fn format_iso(value: f64) -> String {
    // Rounding first lets 23:59:59.9999999, a float's idea of midnight, come out as the next day.
    let seconds = (value * 86_400.0).round();
    let days = (seconds / 86_400.0).floor();
    let (year, month, day) = civil_from_days(days as i64);
    let of_day = (seconds - days * 86_400.0) as i64;
    if of_day == 0 {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}")
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        for days in (-800_000..800_000).step_by(37) {
            let (y, m, d) = civil_from_days(days);
            assert_eq!(days_from_civil(y, m, d), days);
        }
    }

    #[test]
    fn only_real_dates_parse() {
        assert_eq!(parse_iso(b"1970-01-02"), Some(1.0));
        assert_eq!(parse_iso(b"1970-01-02 12:00"), Some(1.5));
        assert_eq!(parse_iso(b"1970-01-02T06:00:00Z"), Some(1.25));
        assert_eq!(parse_iso(b"1970-01-02T00:00:00.5"), Some(1.0 + 0.5 / 86_400.0));
        for text in [
            "1970-01-02T06:00:00+00:00",
            "1970-01-02 06:00 UTC",
            "1970-01-02T08:00:00.000+02:00",
            "1970-01-02 01:00:00-0500",
        ] {
            assert_eq!(parse_iso(text.as_bytes()), Some(1.25), "{text}");
        }
        for bad in ["1970-01-02T06:00:00+2", "1970-01-02T06:00+25:00", "1970-01-02T06:00+aa:00", "1970-01-02T+02:00"] {
            assert_eq!(parse_iso(bad.as_bytes()), None, "{bad}");
        }
        for bad in
            ["2023-02-29", "2023-13-01", "2023-1-01", "20230101", "2023-01-01x", "2023-01-01 25:00", "2023-01-01 1"]
        {
            assert_eq!(parse_iso(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn dates_in_other_orders() {
        let day = |y, m, d| Some(days_from_civil(y, m, d) as f64);
        for (text, order, want) in [
            ("31/05/2024", DateOrder::Dmy, day(2024, 5, 31)),
            ("31/05/2024", DateOrder::Mdy, None),
            ("05/31/2024", DateOrder::Mdy, day(2024, 5, 31)),
            ("1.2.2024", DateOrder::Dmy, day(2024, 2, 1)),
            ("1.2.34", DateOrder::Dmy, None),
            ("1/2/34", DateOrder::Dmy, day(1934, 2, 1)),
            ("1/2/29", DateOrder::Dmy, day(2029, 2, 1)),
            ("1/2/30", DateOrder::Dmy, day(1930, 2, 1)),
            ("01.02.99", DateOrder::Dmy, day(1999, 2, 1)),
            ("2024/05/31", DateOrder::Dmy, day(2024, 5, 31)),
            ("2024-05-31", DateOrder::Mdy, day(2024, 5, 31)),
            ("31-May-2024", DateOrder::Mdy, day(2024, 5, 31)),
            ("May 31, 2024", DateOrder::Dmy, day(2024, 5, 31)),
            ("31 may 2024 6:00 PM", DateOrder::Dmy, day(2024, 5, 31).map(|d| d + 0.75)),
            ("31/05/2024 12:00", DateOrder::Dmy, day(2024, 5, 31).map(|d| d + 0.5)),
            ("Friday, 31 May 2024", DateOrder::Dmy, day(2024, 5, 31)),
            ("Fri May 31, 2024", DateOrder::Dmy, day(2024, 5, 31)),
            ("Fry 31 May 2024", DateOrder::Dmy, None),
            ("Fri", DateOrder::Dmy, None),
            ("31/02/2024", DateOrder::Dmy, None),
            ("31. Mai 2024", DateOrder::Mdy, day(2024, 5, 31)),
            ("1. März 2024", DateOrder::Dmy, day(2024, 3, 1)),
            ("31-dic-2024", DateOrder::Dmy, day(2024, 12, 31)),
            ("1 févr. 2024", DateOrder::Dmy, day(2024, 2, 1)),
            ("1 févr 2024", DateOrder::Dmy, day(2024, 2, 1)),
            ("31 de mayo de 2024", DateOrder::Dmy, day(2024, 5, 31)),
            ("15 août 2024", DateOrder::Dmy, day(2024, 8, 15)),
            ("1 jui 2024", DateOrder::Dmy, None),
            ("1 Marc 2024", DateOrder::Dmy, day(2024, 3, 1)),
            ("1 Marx 2024", DateOrder::Dmy, None),
            ("1.2.3", DateOrder::Dmy, None),
            ("12/05", DateOrder::Dmy, None),
            ("123-45-6789", DateOrder::Dmy, None),
            ("10.0.0.1", DateOrder::Dmy, None),
            ("", DateOrder::Dmy, None),
        ] {
            assert_eq!(parse_date(text, order), want, "{text}");
        }
    }

    #[test]
    fn iso_text_comes_back() {
        for text in ["2024-02-29", "1969-12-31", "2024-02-29T23:59:59", "1960-05-05T00:00:01"] {
            assert_eq!(format_iso(parse_iso(text.as_bytes()).unwrap()), text);
        }
    }
}
