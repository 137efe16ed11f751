//! Texts that differ only in case and outer blanks are one: `Yes`, `YES ` and `yes`.

use std::collections::HashMap;

/// A text without what does not count when texts are compared.
pub(crate) fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}

/// For each text the place of the one that stands for it: the commonest of its spellings, the first in the alphabet among
/// equally common ones. Texts with a count of zero stand for themselves.
pub(crate) fn joined(levels: &[String], counts: &[usize]) -> Vec<usize> {
    let mut best: HashMap<String, usize> = HashMap::with_capacity(levels.len());
    let rank = |k: usize| (counts[k], std::cmp::Reverse(&levels[k]));
    for k in (0..levels.len()).filter(|&k| counts[k] > 0) {
        let stands = best.entry(fold(&levels[k])).or_insert(k);
        if rank(k) > rank(*stands) {
            *stands = k;
        }
    }
    (0..levels.len()).map(|k| if counts[k] > 0 { best[&fold(&levels[k])] } else { k }).collect()
}

/// The spellings that were joined, in words; nothing if none were.
pub(crate) fn joined_in_words(levels: &[String], stands: &[usize]) -> Option<String> {
    let mut groups: Vec<(usize, Vec<&str>)> = vec![];
    for (k, &stand) in stands.iter().enumerate().filter(|(k, stand)| k != *stand) {
        match groups.iter_mut().find(|(of, _)| *of == stand) {
            Some((_, others)) => others.push(&levels[k]),
            None => groups.push((stand, vec![&levels[k]])),
        }
    }
    if groups.is_empty() {
        return None;
    }
    let shown: Vec<String> = (groups.iter().take(3))
        .map(|(stand, others)| {
            let others: Vec<String> = others.iter().take(4).map(|other| format!("`{other}`")).collect();
            format!("{} as `{}`", others.join(" and "), levels[*stand])
        })
        .collect();
    let more = if groups.len() > 3 { format!(" and {} more", groups.len() - 3) } else { String::new() };
    Some(format!("spellings that differ in case or blanks are one level: {}{more}", shown.join(", ")))
}

/// Levels to look texts up in: as they are written, else without case and outer blanks.
pub(crate) struct Lookup<'a> {
    exact: HashMap<&'a str, &'a str>,
    folded: HashMap<String, &'a str>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(levels: impl Iterator<Item = &'a str>) -> Self {
        let exact: HashMap<&str, &str> = levels.map(|level| (level, level)).collect();
        let mut folded: HashMap<String, &str> = HashMap::with_capacity(exact.len());
        for &level in exact.values() {
            let known = folded.entry(fold(level)).or_insert(level);
            // Which of two spellings is found must not depend on the order of a hash map.
            *known = level.min(known);
        }
        Self { exact, folded }
    }

    /// The level that a text is, or the text itself.
    pub(crate) fn of<'b>(&'b self, text: &'b str) -> &'b str {
        let known = self.exact.get(text).or_else(|| self.folded.get(&fold(text)));
        known.copied().unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_join() {
        let levels = ["yes", "NO", "Yes", "no", "maybe"].map(String::from);
        let stands = joined(&levels, &[1, 2, 5, 2, 1]);
        assert_eq!(stands, [2, 1, 2, 1, 4]);
        let words = joined_in_words(&levels, &stands).unwrap_or_default();
        assert!(words.contains("`yes` as `Yes`") && words.contains("`no` as `NO`"), "{words}");
        let lookup = Lookup::new(["Yes", "NO"].into_iter());
        assert_eq!([" yes ", "No", "NO", "other"].map(|text| lookup.of(text).to_owned()), ["Yes", "NO", "NO", "other"]);
    }
}
