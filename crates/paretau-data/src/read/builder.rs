//! Growing one column cell by cell, finding out its kind on the way.

use std::sync::Arc;

use crate::interner::Interner;
use crate::read::cell::{Cell, MAX_CELL, classify, is_missing, trim};
use crate::read::notation::{is_mark, is_missing_among_numbers};
use crate::table::{Kind, TableColumn, Text};

/// Why a cell cannot stand in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCell {
    NotNumber,
    NotDate,
    Infinite,
    NotUtf8,
    TooLong,
}

impl BadCell {
    /// The sentence for people.
    pub(crate) fn message(self, cell: &[u8]) -> String {
        let shown = show(cell);
        match self {
            Self::NotNumber => format!(
                "holds `{shown}`, but this column must be numbers; fix the cell, or leave it empty if it is missing"
            ),
            Self::NotDate => format!("holds `{shown}`, but this column must be dates like 2024-05-31; fix the cell"),
            Self::Infinite => format!(
                "holds `{shown}`, which is not a finite number; replace it or leave the cell empty if it is missing"
            ),
            Self::NotUtf8 => "holds bytes that are not UTF-8 text; save the file again as UTF-8".to_owned(),
            Self::TooLong => format!(
                "a cell is longer than {} KiB; is a quotation mark never closed, or is this not a table?",
                MAX_CELL >> 10
            ),
        }
    }
}

/// A cell for an error message, shortened.
pub(crate) fn show(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell);
    if text.chars().count() <= 40 { text.into_owned() } else { text.chars().take(37).chain("...".chars()).collect() }
}

#[derive(Debug)]
enum State {
    /// Only missing cells so far.
    Empty(usize),
    Numbers {
        kind: Guess,
        values: Vec<f64>,
    },
    Text {
        interner: Interner,
        codes: Vec<u32>,
    },
    /// Numbers first and text later: read once more as text, since `007` must not come back as `7`.
    Conflict(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Number,
    Bool,
    Date,
}

/// A column that grows.
#[derive(Debug)]
pub(crate) struct Builder {
    declared: Option<Kind>,
    state: State,
    /// First infinite cell of an inferred column (row, line, cell): an error only if the column stays numeric.
    infinite: Option<(usize, u64, String)>,
    /// Marks that mean a missing cell, besides the usual ones.
    na: Arc<[String]>,
}

impl Builder {
    /// An empty column, of a declared kind or to be inferred.
    pub(crate) fn new(declared: Option<Kind>) -> Self {
        Self::with_marks(declared, [].into())
    }

    /// The same with further marks for missing cells.
    pub(crate) fn with_marks(declared: Option<Kind>, na: Arc<[String]>) -> Self {
        Self { declared, state: State::Empty(0), infinite: None, na }
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        match &self.state {
            State::Empty(n) | State::Conflict(n) => *n,
            State::Numbers { values, .. } => values.len(),
            State::Text { codes, .. } => codes.len(),
        }
    }

    /// Adds a cell that stands on `line`.
    pub(crate) fn push(&mut self, cell: &[u8], line: u64) -> Result<(), BadCell> {
        if cell.len() > MAX_CELL {
            return Err(BadCell::TooLong);
        }
        let cell = trim(cell);
        if self.declared == Some(Kind::Text) || matches!(self.state, State::Text { .. }) {
            return self.push_text(cell);
        }
        match (classify(cell), self.declared) {
            (Cell::Missing, _) => self.push_missing(),
            (Cell::Number(value), None | Some(Kind::Number)) => self.push_number(value, Guess::Number),
            (Cell::Bool(value), None) => self.push_number(f64::from(u8::from(value)), Guess::Bool),
            (Cell::Bool(value), Some(Kind::Number)) => self.push_number(f64::from(u8::from(value)), Guess::Number),
            (Cell::Date(days), None | Some(Kind::Date)) => self.push_number(days, Guess::Date),
            (Cell::Infinite, None) => {
                let row = self.len();
                self.infinite.get_or_insert_with(|| (row, line, show(cell)));
                self.push_number(f64::INFINITY, Guess::Number);
            }
            (Cell::Text, _) if is_mark(&self.na, cell) => self.push_missing(),
            (Cell::Text, Some(_)) if is_missing_among_numbers(cell) => self.push_missing(),
            (Cell::Text, None) => return self.push_text(cell),
            (Cell::Infinite, Some(Kind::Number)) => return Err(BadCell::Infinite),
            (_, Some(Kind::Number)) => return Err(BadCell::NotNumber),
            (_, Some(_)) => return Err(BadCell::NotDate),
        }
        Ok(())
    }

    /// Whether a cell that is a number is one here, so that nothing else need be known of it.
    #[inline]
    pub(crate) fn takes_numbers(&self) -> bool {
        match self.declared {
            None => !matches!(self.state, State::Text { .. }),
            Some(kind) => kind == Kind::Number,
        }
    }

    /// Adds a cell that is a finite number to a column that takes numbers.
    #[inline]
    pub(crate) fn push_found(&mut self, value: f64) {
        self.push_number(value, Guess::Number);
    }

    /// Whether the cells are texts, numbers among them included.
    pub(crate) fn is_text(&self) -> bool {
        self.declared == Some(Kind::Text) || matches!(self.state, State::Text { .. })
    }

    /// Whether numbers or dates were found: texts that follow must not be mixed with them.
    pub(crate) fn has_numbers(&self) -> bool {
        matches!(self.state, State::Numbers { .. } | State::Conflict(_))
    }

    /// Adds the cells of a column that was grown from the rows that follow. The result is what one column grown from all
    /// rows would be, except that numbers after text make a conflict, which reading them again as text resolves.
    /// `lines` is the number of lines before the other column's first.
    pub(crate) fn append(&mut self, other: Self, lines: u64) {
        let (before, after) = (self.len(), other.len());
        if let Some((row, line, cell)) = other.infinite {
            self.infinite.get_or_insert((before + row, line + lines, cell));
        }
        self.state = match (std::mem::replace(&mut self.state, State::Empty(0)), other.state) {
            (State::Empty(n), State::Empty(m)) => State::Empty(n + m),
            (State::Empty(0), later) => later,
            (State::Empty(n), State::Numbers { kind, values }) => {
                let mut all = vec![f64::NAN; n];
                all.extend(values);
                State::Numbers { kind, values: all }
            }
            (State::Empty(n), State::Text { interner, codes }) => {
                let mut all = vec![Text::MISSING; n];
                all.extend(codes);
                State::Text { interner, codes: all }
            }
            (State::Numbers { kind, mut values }, State::Empty(m)) => {
                values.resize(before + m, f64::NAN);
                State::Numbers { kind, values }
            }
            (State::Numbers { kind, mut values }, State::Numbers { kind: same, values: more }) if kind == same => {
                values.extend_from_slice(&more);
                State::Numbers { kind, values }
            }
            (State::Text { interner, mut codes }, State::Empty(m)) => {
                codes.resize(before + m, Text::MISSING);
                State::Text { interner, codes }
            }
            (State::Text { mut interner, mut codes }, State::Text { interner: other, codes: more }) => {
                // Levels are numbered by first appearance, in the part as in the whole.
                let new: Vec<u32> = other.into_levels().iter().map(|level| interner.code(level)).collect();
                let renamed = more.iter().map(|&code| new.get(code as usize).copied().unwrap_or(Text::MISSING));
                codes.extend(renamed);
                State::Text { interner, codes }
            }
            _ => State::Conflict(before + after),
        };
    }

    /// Adds a number that is not text, NaN for a missing one, to a column declared as numbers or dates.
    pub(crate) fn push_value(&mut self, value: f64) {
        if value.is_nan() {
            self.push_missing();
        } else {
            self.push_number(value, if self.declared == Some(Kind::Date) { Guess::Date } else { Guess::Number });
        }
    }

    /// The column, or what hinders it. Resets the builder for the next batch.
    pub(crate) fn finish(&mut self, name: &str) -> Finished {
        let state = std::mem::replace(&mut self.state, State::Empty(0));
        let infinite = self.infinite.take();
        match state {
            State::Conflict(_) => Finished::ReadAgain,
            State::Text { interner, codes } => {
                Finished::Column(TableColumn::text(name, Text { levels: interner.into_levels(), codes }))
            }
            State::Empty(n) => Finished::Column(match self.declared {
                Some(Kind::Text) => TableColumn::text(name, Text { levels: vec![], codes: vec![Text::MISSING; n] }),
                other => column_of_numbers(name, vec![f64::NAN; n], other == Some(Kind::Date)),
            }),
            State::Numbers { kind, values } => match infinite {
                Some((row, line, cell)) => Finished::Infinite { row, line, cell },
                None => Finished::Column(column_of_numbers(name, values, kind == Guess::Date)),
            },
        }
    }

    fn push_missing(&mut self) {
        match &mut self.state {
            State::Empty(n) | State::Conflict(n) => *n += 1,
            State::Numbers { values, .. } => values.push(f64::NAN),
            State::Text { codes, .. } => codes.push(Text::MISSING),
        }
    }

    #[inline]
    fn push_number(&mut self, value: f64, guess: Guess) {
        match &mut self.state {
            State::Numbers { kind, values } if *kind == guess => values.push(value),
            State::Empty(n) => {
                let mut values = vec![f64::NAN; *n];
                values.push(value);
                self.state = State::Numbers { kind: guess, values };
            }
            State::Conflict(n) => *n += 1,
            State::Numbers { .. } | State::Text { .. } => self.state = State::Conflict(self.len() + 1),
        }
    }

    fn push_text(&mut self, cell: &[u8]) -> Result<(), BadCell> {
        if is_missing(cell) || is_mark(&self.na, cell) {
            self.push_missing();
            return Ok(());
        }
        let text = std::str::from_utf8(cell).map_err(|_| BadCell::NotUtf8)?;
        match &mut self.state {
            State::Text { interner, codes } => codes.push(interner.code(text)),
            State::Empty(n) => {
                let mut interner = Interner::default();
                let mut codes = vec![Text::MISSING; *n];
                codes.push(interner.code(text));
                self.state = State::Text { interner, codes };
            }
            State::Conflict(n) => *n += 1,
            State::Numbers { .. } => self.state = State::Conflict(self.len() + 1),
        }
        Ok(())
    }
}

/// How a column came out.
#[derive(Debug)]
pub(crate) enum Finished {
    Column(TableColumn),
    /// It must be read again as declared text.
    ReadAgain,
    /// A numeric column holds an infinite cell at a 0-based row of the batch.
    Infinite {
        row: usize,
        line: u64,
        cell: String,
    },
}

fn column_of_numbers(name: &str, values: Vec<f64>, is_date: bool) -> TableColumn {
    if is_date { TableColumn::date(name, values) } else { TableColumn::number(name, values) }
}
