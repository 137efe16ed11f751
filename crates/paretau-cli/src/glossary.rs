//! The terms of `docs/glossary.md`: what `paretau describe TERM` prints, and which of them warnings use.

const TEXT: &str = include_str!("../../../docs/glossary.md");

/// Names too common to be looked up from every message that has them.
const COMMON: [&str; 12] = [
    "arm",
    "effect",
    "feature",
    "outcome",
    "headline",
    "interval",
    "weights",
    "band",
    "cate",
    "policy",
    "instrument",
    "confounder",
];

/// One entry of the glossary.
pub(crate) struct Entry {
    /// The terms that it explains, the first being its name.
    pub(crate) terms: Vec<String>,
    /// The explanation, in one line.
    pub(crate) meaning: String,
}

/// All entries in their order.
pub(crate) fn entries() -> Vec<Entry> {
    TEXT.split("\n\n")
        .filter_map(|part| part.strip_prefix("**")?.split_once(".**"))
        .map(|(names, meaning)| Entry {
            terms: names
                .split([',', '(', ')'])
                .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
                .collect(),
            meaning: meaning.replace('*', "").split_whitespace().collect::<Vec<_>>().join(" "),
        })
        .collect()
}

/// The entry that explains a term.
pub(crate) fn find(term: &str) -> Option<Entry> {
    let wanted = term.trim().to_lowercase();
    entries().into_iter().find(|entry| entry.terms.iter().any(|known| known.to_lowercase() == wanted))
}

/// The first names of the entries that the warnings of a text use, in the order of the glossary.
pub(crate) fn used_in_warnings(text: &str) -> Vec<String> {
    let warnings: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_lowercase).collect();
    let uses = |entry: &Entry| {
        let terms = entry.terms.iter().map(|term| term.to_lowercase());
        terms.filter(|term| !COMMON.contains(&term.as_str())).any(|term| warnings.iter().any(|w| has_word(w, &term)))
    };
    let found = if warnings.is_empty() { vec![] } else { entries() };
    found.into_iter().filter(uses).map(|mut entry| entry.terms.swap_remove(0).to_lowercase()).collect()
}

/// Whether a text has a term as a word of its own, perhaps in the plural.
fn has_word(text: &str, term: &str) -> bool {
    let stem = term.strip_suffix('y').unwrap_or(term);
    let is_end = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    text.match_indices(stem).any(|(at, _)| {
        let rest = &text[at + stem.len()..];
        let endings: &[&str] = if stem == term { &["s", ""] } else { &["y", "ies"] };
        is_end(text[..at].chars().next_back())
            && endings.iter().any(|ending| rest.strip_prefix(ending).is_some_and(|rest| is_end(rest.chars().next())))
    })
}

/// The line below warnings that says where their terms are explained; nothing if they have none.
pub(crate) fn hint(text: &str) -> Option<String> {
    let terms = used_in_warnings(text);
    let (first, others) = terms.split_first()?;
    let quoted = if first.contains(' ') { format!("\"{first}\"") } else { first.clone() };
    let more = if others.is_empty() { String::new() } else { format!("; likewise {}", others.join(", ")) };
    Some(format!("glossary: `paretau describe {quoted}`{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_is_found_under_each_of_its_names() {
        assert!(entries().len() > 20);
        for entry in entries() {
            assert!(entry.meaning.len() > 20, "{:?}", entry.terms);
            for term in &entry.terms {
                assert!(find(&term.to_uppercase()).is_some_and(|found| found.meaning == entry.meaning), "{term}");
            }
        }
        assert!(find("AIPW").is_some_and(|entry| entry.terms[0] == "Doubly robust"));
        assert!(find("no such term").is_none());
    }

    #[test]
    fn warnings_name_their_terms() {
        let text =
            "average: 3\nwarning: Effects rest on extrapolation: 100 % of the propensities are extreme.\nk-hat 0.3";
        assert_eq!(used_in_warnings(text), ["extrapolation", "propensity"]);
        assert_eq!(hint(text).as_deref(), Some("glossary: `paretau describe extrapolation`; likewise propensity"));
        assert_eq!(hint("warning: the tail weighs (k-hat 0.9)").as_deref(), Some("glossary: `paretau describe k-hat`"));
        assert_eq!(hint("warning: overlapping arms bleak"), None);
        assert_eq!(hint("the propensity"), None);
    }
}
