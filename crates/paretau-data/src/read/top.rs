//! What stands at the top of delimited text: titles above the names of the columns, columns that blanks separate, codes that
//! begin with zeros.

use super::cell::{Cell, classify, trim};
use super::records::{self, First};

/// Lines above the names of the columns that are left out at most, those without a cell aside.
const MOST_LINES: usize = 10;
/// Records below the names that must have as many cells as these.
const RECORDS: usize = 3;
/// Bytes in which codes are looked for, and the fewest cells that show what a column is.
const LOOKED_AT: usize = 1 << 15;
const FEWEST: usize = 5;

/// Lines above the names of the columns, such as a report's title, which hold one cell each or none.
pub(super) struct Title {
    /// Bytes and lines up to the names.
    pub(super) length: usize,
    pub(super) lines: u64,
    /// The first cell.
    words: String,
}

impl Title {
    /// The lines above the names; `delimiter` says what separates the cells of a text. Nothing if the text begins with the
    /// names, or if no line of names with rows below it follows.
    pub(super) fn above(head: &[u8], delimiter: impl Fn(&[u8]) -> u8) -> Option<Self> {
        let (mut at, mut lines, mut left_out) = (0, 0, 0);
        let mut words: Option<String> = None;
        loop {
            let blank = head[at..].iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
            lines += records::blank_lines(&head[at..at + blank]);
            at += blank;
            let rest = &head[at..];
            let separator = delimiter(rest);
            let First { cells, length, lines: more, unclosed } = records::first(rest, separator)?;
            let filled: Vec<&[u8]> = cells.iter().map(|cell| trim(cell)).filter(|cell| !cell.is_empty()).collect();
            if filled.len() > 1 && has_rows(&rest[length..], separator, cells.len()) {
                let words = words?;
                let names = filled.iter().all(|cell| is_name(cell));
                return (names && filled.len() * 2 >= cells.len()).then_some(Self { length: at, lines, words });
            }
            if left_out == MOST_LINES || unclosed {
                return None;
            }
            left_out += usize::from(!filled.is_empty());
            if words.is_none() {
                words = filled.first().map(|cell| super::builder::show(cell));
            }
            at += length;
            lines += more;
        }
    }

    pub(super) fn in_words(&self) -> String {
        match self.lines {
            1 => format!("the line above the column names is left out: `{}`", self.words),
            n => format!("{n} lines above the column names are left out, the first of them: `{}`", self.words),
        }
    }
}

/// Whether a cell may be a column's name: a text with letters, and not several cells that another delimiter separates.
fn is_name(cell: &[u8]) -> bool {
    let letters = String::from_utf8_lossy(cell).chars().any(char::is_alphabetic);
    classify(cell) == Cell::Text && letters && !cell.iter().any(|b| matches!(b, b';' | b'\t' | b'|'))
}

/// Whether rows with as many cells follow.
fn has_rows(mut text: &[u8], delimiter: u8, n_cells: usize) -> bool {
    for found in 0..RECORDS {
        match records::first(text, delimiter) {
            // The head of a file may end within a record.
            Some(First { length, .. }) if length == text.len() && found > 0 => return true,
            Some(First { cells, length, .. }) if cells.len() == n_cells => text = &text[length..],
            Some(_) => return false,
            None => return found > 0,
        }
    }
    true
}

/// Whether the only column's name and the first line below are as many words, some of them numbers.
pub(super) fn is_separated_by_blanks(name: &str, text: &[u8]) -> bool {
    let line = text.split(|&b| b == b'\n' || b == b'\r').find(|line| !trim(line).is_empty()).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&[u8]| matches!(classify(word), Cell::Number(_));
    words.len() > 2 && words.len() == name.split_whitespace().count() && words.iter().any(is_number)
}

/// Columns whose first cells are digits of one length, some with a zero in front, with such a cell: `01067`.
pub(super) fn codes(text: &[u8], delimiter: u8, n_cells: usize) -> Vec<(usize, String)> {
    let mut text = &text[..text.len().min(LOOKED_AT)];
    let mut lengths: Vec<Option<usize>> = vec![None; n_cells];
    let mut cells_of = vec![0_usize; n_cells];
    let mut shown: Vec<Option<String>> = vec![None; n_cells];
    while let Some(First { cells, length, .. }) = records::first(text, delimiter) {
        // What ends without the end of a line may be cut off.
        let is_whole = text[..length].last().is_some_and(|b| matches!(b, b'\n' | b'\r'));
        if !is_whole && cells_of.iter().any(|&n| n >= FEWEST) {
            break;
        }
        for (j, cell) in cells.iter().take(n_cells).enumerate().filter(|(_, cell)| !trim(cell).is_empty()) {
            let cell = trim(cell);
            let plain = cell.len() > 1 && cell.iter().all(u8::is_ascii_digit);
            // A column that is no code keeps a length that no cell has.
            let fits = plain && lengths[j].is_none_or(|length| length == cell.len());
            lengths[j] = Some(if fits { cell.len() } else { 0 });
            cells_of[j] += 1;
            if cell[0] == b'0' && shown[j].is_none() {
                shown[j] = Some(String::from_utf8_lossy(cell).into_owned());
            }
        }
        text = &text[length..];
    }
    (0..n_cells)
        .filter(|&j| lengths[j].is_some_and(|length| length > 0) && cells_of[j] >= FEWEST)
        .filter_map(|j| Some((j, shown[j].take()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(text: &str) -> Option<(usize, u64)> {
        let comma = |head: &[u8]| if head.contains(&b';') { b';' } else { b',' };
        Title::above(text.as_bytes(), comma).map(|title| (title.length, title.lines))
    }

    #[test]
    fn titles_stand_above_names() {
        assert_eq!(above("Report\nt,y\n0,1\n1,2\n"), Some((7, 1)));
        assert_eq!(above("Report, all\n\nt;y\n0;1\n"), Some((13, 2)));
        assert_eq!(above("Report, of, all\nt,y\n0,1\n"), Some((16, 1)));
        assert_eq!(above("a,b,c\n1,2\n1,2,3\n1,2,3\n"), None, "a row too short");
        assert_eq!(above("Report,,\n,,\nt,y,x\n0,1,2\n"), Some((12, 2)));
        assert_eq!(above("# a\n# b\n\nt,y\n0,1\n"), Some((9, 3)));
        assert_eq!(above("t,y\n0,1\n"), None);
        assert_eq!(above("t\n0\n1\n"), None);
        assert_eq!(above("t\n0,1\n1,2\n"), None, "numbers are no names");
        assert_eq!(above("text\nhello\nyes, please\nno\n"), None, "rows of other lengths");
        assert_eq!(above("Report\nt,y\n"), None, "no rows");
    }

    #[test]
    fn codes_have_one_length_and_zeros_in_front() {
        let rows = |cells: &[&str]| cells.iter().map(|cell| format!("{cell},1\n")).collect::<String>();
        let found = |cells: &[&str]| codes(rows(cells).as_bytes(), b',', 2);
        assert_eq!(found(&["01067", "80331", "10115", "20095", "50667", "1"]), []);
        assert_eq!(found(&["80331", "01067", "10115", "20095", "50667", "04109"]), [(0, "01067".to_owned())]);
        assert_eq!(found(&["0", "1", "0", "1", "1", "0"]), []);
        assert_eq!(found(&["0.5", "1.5", "2.5", "3.5", "4.5", "5.5"]), []);
        assert!(is_separated_by_blanks("t y x", b"0 1.5 3\n1 2 4\n"));
        assert!(!is_separated_by_blanks("a full name", b"one two three\n"));
    }
}
