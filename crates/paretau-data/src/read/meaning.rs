//! What the distinct texts of one column are: numbers in some notation, dates, or categories.

use crate::calendar::{DateOrder, parse_date, parse_iso};
use crate::read::ReadOptions;
use crate::read::notation::{Notation, Parts, is_known_unit, is_missing_among_numbers, same_unit};
use crate::table::Text;

/// Decimal marks and thousands separators that are tried, the simplest first.
const MARKS: [(char, Option<char>); 8] = [
    ('.', None),
    (',', None),
    ('.', Some(',')),
    (',', Some('.')),
    ('.', Some(' ')),
    (',', Some(' ')),
    ('.', Some('\'')),
    (',', Some('\'')),
];
/// A column whose first this many texts hold no number and no date is one of categories.
const LOOKED_AT: usize = 1000;
/// At most this many different texts among numbers are strays, however often they stand there.
const FEW_TEXTS: usize = 10;
/// Texts in at most one cell of this many are strays, however many there are.
const FEW_CELLS: usize = 4;

/// What a column of texts is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    /// Categories; the count is that of cells that would be numbers.
    Categories { numbers: usize },
    /// Numbers or dates, up to the texts in `strays`. `shows` is the decimal mark that the cells give away.
    Values { notation: Notation, strays: Vec<usize>, shows: Option<Shows> },
    /// Two notations fit equally well, but give different values.
    Unclear([Notation; 2]),
}

/// What a column gives away about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    Decimal(char),
    Order(DateOrder),
}

/// The distinct texts of a column with the number of cells of each.
pub(super) struct Levels<'a> {
    pub(super) text: &'a Text,
    pub(super) counts: Vec<usize>,
}

impl<'a> Levels<'a> {
    pub(super) fn of(text: &'a Text) -> Self {
        Self { text, counts: crate::table::counts(text) }
    }

    /// Whether any of the first texts might be a number or a date, which those of most columns are not.
    fn may_hold_values(text: &Text) -> bool {
        text.levels.iter().take(LOOKED_AT).any(|level| {
            Parts::of(level).is_some()
                || truth(level).is_some()
                || parse_date(level, DateOrder::Dmy).is_some()
                || parse_date(level, DateOrder::Mdy).is_some()
        })
    }

    fn cells(&self, which: &[usize]) -> usize {
        which.iter().map(|&k| self.counts[k]).sum()
    }

    /// The texts that a notation does not read, words for missing cells aside.
    pub(super) fn strays(&self, notation: &Notation) -> Vec<usize> {
        (0..self.text.levels.len())
            .filter(|&k| {
                let level = &self.text.levels[k];
                self.counts[k] > 0 && value(notation, level).is_none() && !is_missing_among_numbers(level.as_bytes())
            })
            .collect()
    }
}

/// The value of a cell under a notation; yes and no are 1 and 0.
pub(super) fn value(notation: &Notation, cell: &str) -> Option<f64> {
    notation.value(cell).or_else(|| truth(cell).filter(|_| notation.dates.is_none()))
}

fn truth(cell: &str) -> Option<f64> {
    let is = |word: &str| cell.trim().eq_ignore_ascii_case(word);
    if is("true") { Some(1.0) } else { is("false").then_some(0.0) }
}

/// Finds out what a column of texts is.
pub(super) fn meaning(text: &Text, options: &ReadOptions) -> Meaning {
    if !Levels::may_hold_values(text) {
        return Meaning::Categories { numbers: 0 };
    }
    let levels = Levels::of(text);
    let (numbers, dates) = (numbers(&levels, options), dates(&levels, options));
    let best = if dates.0 > numbers.0 { dates } else { numbers };
    match best {
        (_, Some(meaning)) => meaning,
        (cells, None) => Meaning::Categories { numbers: cells },
    }
}

/// Whether so many cells are values that the others are strays among them.
fn are_strays(levels: &Levels<'_>, strays: &[usize], values: usize) -> bool {
    let n_texts = levels.counts.iter().filter(|&&count| count > 0).count();
    let (texts, cells) = (strays.len(), levels.cells(strays));
    (values > cells || n_texts - texts >= FEW_TEXTS) && (texts <= FEW_TEXTS || cells * FEW_CELLS <= cells + values)
}

/// Whether a cell has two values. Where each notation reads cells that the other one does not, the column mixes them.
fn conflict(values: &[Option<f64>], others: &[Option<f64>]) -> bool {
    values.iter().zip(others).any(|(value, other)| value.is_some() && other.is_some() && value != other)
        && values.iter().zip(others).all(|(value, other)| value.is_some() == other.is_some())
}

/// The cells that are numbers in the best notation, and what follows if they are many enough.
fn numbers(levels: &Levels<'_>, options: &ReadOptions) -> (usize, Option<Meaning>) {
    let parts: Vec<Option<Parts<'_>>> = levels.text.levels.iter().map(|level| Parts::of(level)).collect();
    let truths: Vec<usize> = (0..parts.len()).filter(|&k| truth(&levels.text.levels[k]).is_some()).collect();
    let Some(unit) = main_unit(levels, &parts) else {
        // No numbers, but perhaps yes and no with a stray cell.
        let cells = levels.cells(&truths);
        let strays = levels.strays(&Notation::default());
        let found = cells > 0 && are_strays(levels, &strays, cells);
        return (cells, found.then(|| Meaning::Values { notation: Notation::default(), strays, shows: None }));
    };
    let of_unit: Vec<usize> = (0..parts.len())
        .filter(|&k| parts[k].is_some_and(|p| same_unit(p.unit, unit)) && levels.counts[k] > 0)
        .collect();
    let wanted = |&(decimal, thousands): &(char, Option<char>)| {
        let thousands_fit = options.thousands.is_none_or(|mark| thousands == Some(mark));
        options.decimal.is_none_or(|mark| decimal == mark) && thousands_fit
    };
    let read = |marks: (char, Option<char>)| -> Vec<Option<f64>> {
        of_unit.iter().map(|&k| parts[k].and_then(|p| p.number(marks.0, marks.1))).collect()
    };
    let cells_of = |values: &[Option<f64>]| {
        of_unit.iter().zip(values).filter(|(_, value)| value.is_some()).map(|(&k, _)| levels.counts[k]).sum::<usize>()
    };
    let tried: Vec<_> = MARKS.iter().filter(|marks| wanted(marks)).map(|&marks| (marks, read(marks))).collect();
    let Some(most) = tried.iter().map(|(_, values)| cells_of(values)).max().filter(|&most| most > 0) else {
        return (0, None);
    };
    let best: Vec<_> = tried.iter().filter(|(_, values)| cells_of(values) == most).collect();
    let unit = (!unit.is_empty()).then(|| unit.to_owned());
    let notation = |marks: (char, Option<char>)| Notation {
        decimal: marks.0,
        thousands: marks.1,
        unit: unit.clone(),
        ..Notation::default()
    };
    let Some(&(first, values)) = best.first() else { return (0, None) };
    let other = best.iter().find(|(_, other)| conflict(values, other)).map(|(marks, _)| *marks);
    let first = notation(*first);
    let strays = strays_of(levels, &parts, &first);
    // Yes and no stand among zeros and ones, not among other numbers.
    let zero_one = values.iter().flatten().all(|&v| v == 0.0 || v == 1.0);
    let strays: Vec<usize> = if zero_one { strays } else { strays.into_iter().chain(truths.iter().copied()).collect() };
    let values = most + if zero_one { levels.cells(&truths) } else { 0 };
    // Amounts in several units, or with a unit here and none there, are amounts all the same: never categories.
    let is_amount = |k: &usize| {
        let known = |p: &Parts<'_>| p.unit.is_empty() || is_known_unit(p.unit);
        parts[*k].is_some_and(|p| known(&p) && MARKS.iter().any(|m| p.number(m.0, m.1).is_some()))
    };
    // `<0.5`, as laboratories write what they could not measure.
    let is_bound = |k: &usize| {
        let bound = levels.text.levels[*k].trim().trim_start_matches(['<', '>', '≤', '≥', '=', '~', '≈']);
        bound.len() < levels.text.levels[*k].trim().len() && Parts::of(bound).is_some()
    };
    let are_measured = values > levels.cells(&strays) && strays.iter().all(is_bound);
    if !are_strays(levels, &strays, values) && !strays.iter().all(is_amount) && !are_measured {
        return (values, None);
    }
    let meaning = match other {
        Some(other) => Meaning::Unclear([first, notation(other)]),
        None => {
            let marked = of_unit.iter().any(|&k| parts[k].is_some_and(|p| p.has('.') || p.has(',')));
            let agree = best.iter().all(|(marks, _)| marks.0 == first.decimal);
            let shows = (marked && agree).then_some(Shows::Decimal(first.decimal));
            Meaning::Values { notation: first, strays, shows }
        }
    };
    (values, Some(meaning))
}

/// Strays among numbers: those that are no numbers, and those without the others' unit, which may be in another one.
fn strays_of(levels: &Levels<'_>, parts: &[Option<Parts<'_>>], notation: &Notation) -> Vec<usize> {
    let mut strays = levels.strays(notation);
    if notation.unit.is_some() {
        strays
            .extend((0..parts.len()).filter(|&k| parts[k].is_some_and(|p| p.unit.is_empty()) && levels.counts[k] > 0));
        strays.sort_unstable();
        strays.dedup();
    }
    strays
}

/// The unit of most cells, empty for plain numbers. A unit that is not known by name must stand in every cell.
fn main_unit<'a>(levels: &Levels<'_>, parts: &[Option<Parts<'a>>]) -> Option<&'a str> {
    let mut units: Vec<(&str, usize)> = vec![];
    let mut without = 0;
    for ((part, &count), level) in parts.iter().zip(&levels.counts).zip(&levels.text.levels) {
        let Some(part) = part.filter(|p| MARKS.iter().any(|m| p.number(m.0, m.1).is_some())) else {
            without += usize::from(count > 0 && !is_missing_among_numbers(level.as_bytes()));
            continue;
        };
        match units.iter_mut().find(|(unit, _)| same_unit(unit, part.unit)) {
            Some((_, cells)) => *cells += count,
            None => units.push((part.unit, count)),
        }
        // Texts such as street numbers, each with a word of its own behind it, are no amounts.
        if units.len() > 2 * FEW_TEXTS {
            break;
        }
    }
    let alone = units.len() == 1 && without == 0;
    let fits = |unit: &str| unit.is_empty() || is_known_unit(unit) || alone;
    units.into_iter().filter(|(unit, _)| fits(unit)).rev().max_by_key(|(_, cells)| *cells).map(|(unit, _)| unit)
}

/// The cells that are dates in the best order, and what follows if they are many enough.
fn dates(levels: &Levels<'_>, options: &ReadOptions) -> (usize, Option<Meaning>) {
    const ORDERS: [DateOrder; 3] = [DateOrder::Dmy, DateOrder::Mdy, DateOrder::Ymd];
    let used: Vec<usize> = (0..levels.counts.len()).filter(|&k| levels.counts[k] > 0).collect();
    let tried: Vec<(DateOrder, Vec<Option<f64>>)> = (ORDERS.into_iter())
        .filter(|&order| options.date_order.is_none_or(|given| given == order))
        .map(|order| (order, used.iter().map(|&k| parse_date(&levels.text.levels[k], order)).collect()))
        .collect();
    let cells_of = |values: &[Option<f64>]| {
        used.iter().zip(values).filter(|(_, value)| value.is_some()).map(|(&k, _)| levels.counts[k]).sum::<usize>()
    };
    let Some(most) = tried.iter().map(|(_, values)| cells_of(values)).max().filter(|&most| most > 0) else {
        return (0, None);
    };
    let best: Vec<_> = tried.iter().filter(|(_, values)| cells_of(values) == most).collect();
    let Some((order, values)) = best.first() else { return (0, None) };
    let notation = |order: DateOrder| Notation { dates: Some(order), ..Notation::default() };
    let strays = levels.strays(&notation(*order));
    // Dates of two orders are dates all the same, never categories.
    let is_date = |k: &usize| ORDERS.iter().any(|&order| parse_date(&levels.text.levels[*k], order).is_some());
    if !are_strays(levels, &strays, most) && !strays.iter().all(is_date) {
        return (most, None);
    }
    // Germans write 1.2.2024 and never mean January.
    let dotted = used.iter().zip(values).any(|(&k, v)| v.is_some() && levels.text.levels[k].matches('.').count() == 2);
    let other = best.iter().find(|(_, other)| conflict(values, other)).filter(|_| !dotted);
    let meaning = match other {
        Some((other, _)) => Meaning::Unclear([notation(*order), notation(*other)]),
        None => {
            let settled = used.iter().any(|&k| parse_iso(levels.text.levels[k].as_bytes()).is_none());
            let shows = (settled && best.len() < tried.len()).then_some(Shows::Order(*order));
            Meaning::Values { notation: notation(*order), strays, shows }
        }
    };
    (most, Some(meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Meaning {
        meaning(&Text::from_cells(cells.iter().map(|cell| Some(*cell))), &ReadOptions::default())
    }

    #[test]
    fn columns_mean_what_all_their_cells_say() {
        let values = |decimal, thousands, strays: &[usize]| Meaning::Values {
            notation: Notation { decimal, thousands, ..Notation::default() },
            strays: strays.to_vec(),
            shows: Some(Shows::Decimal(decimal)),
        };
        assert_eq!(of(&["1,5", "2", "1,25"]), values(',', None, &[]));
        assert_eq!(of(&["1.234,5", "2", "1,25"]), values(',', Some('.'), &[]));
        assert_eq!(of(&["1,234.5", "2"]), values('.', Some(','), &[]));
        assert_eq!(of(&["1.5", "2.5", "unknown", "7"]), values('.', None, &[2]));
        assert!(matches!(of(&["1,234", "2"]), Meaning::Unclear(_)));
        assert!(matches!(of(&["a", "b", "7"]), Meaning::Categories { .. }));
        assert!(matches!(of(&["12a", "12b", "14c"]), Meaning::Categories { .. }));
        assert!(matches!(of(&["18-25", "26-40", "65+"]), Meaning::Categories { .. }));
        assert!(matches!(of(&["1/2/2024", "3/4/2024"]), Meaning::Unclear(_)));
        assert!(matches!(of(&["31/2/2024", "13/4/2024", "1/2/2024"]), Meaning::Values { strays, .. } if strays == [0]));
    }
}
