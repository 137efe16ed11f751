//! Dates as numbers: days since 1 January 1970, with the time of day as a fraction.

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

/// Parses `YYYY-MM-DD`, optionally followed by a space or `T` and `HH:MM[:SS[.fff]][Z]`.
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
    let time = rest[1..].strip_suffix(b"Z").unwrap_or(&rest[1..]);
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
    Some(days + (hour as f64 * 3600.0 + minute as f64 * 60.0 + second) / 86_400.0)
}

/// The date, with the time of day (to the second) when there is one, as ISO text.
pub(crate) fn format_iso(value: f64) -> String {
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
        for bad in
            ["2023-02-29", "2023-13-01", "2023-1-01", "20230101", "2023-01-01x", "2023-01-01 25:00", "2023-01-01 1"]
        {
            assert_eq!(parse_iso(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn iso_text_comes_back() {
        for text in ["2024-02-29", "1969-12-31", "2024-02-29T23:59:59", "1960-05-05T00:00:01"] {
            assert_eq!(format_iso(parse_iso(text.as_bytes()).unwrap()), text);
        }
    }
}
