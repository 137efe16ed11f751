//! Which columns are features: those named, else all that have no role and do not look like the truth.

use std::collections::{BTreeSet, HashSet};

use paretau_core::{Error, Result};

use super::RoleSpec;
use super::oddities::names_rows;
use crate::table::{Table, TableColumn};

/// Names that simulations and benchmarks give to potential outcomes, effects and propensities.
/// Compared in lower case and without underscores.
const TRUTH: [&str; 12] =
    ["mu0", "mu1", "y0", "y1", "ycf", "ycfactual", "ycounterfactual", "tau", "ite", "cate", "e", "propensity"];

/// The columns chosen as features.
pub(super) struct Chosen {
    /// Names among the table's columns.
    pub(super) columns: BTreeSet<String>,
    /// Places of columns of the sparse block, ascending.
    pub(super) sparse: Vec<usize>,
}

/// Splits `'a, b, x_*'` into its parts.
pub fn parse_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

pub(super) fn choose(table: &Table, spec: &RoleSpec, notes: &mut Vec<String>) -> Result<Chosen> {
    let taken: BTreeSet<&str> = spec.named().into_iter().map(|(_, name)| name).collect();
    let sparse_names: &[String] = table.sparse().map_or(&[], |block| &block.names);
    let all: Vec<&str> =
        table.columns().iter().map(|c| c.name.as_str()).chain(sparse_names.iter().map(String::as_str)).collect();
    let known: HashSet<&str> = all.iter().copied().collect();
    let expand = |patterns: &[String]| -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for pattern in patterns {
            let is_pattern = pattern.contains(['*', '?']);
            if !is_pattern && known.contains(pattern.as_str()) {
                found.insert(pattern.clone());
                continue;
            }
            let matches: Vec<&&str> =
                all.iter().filter(|n| **n == pattern || (is_pattern && matches_glob(pattern, n))).collect();
            if matches.is_empty() {
                if let Some(reason) = table.unread.get(pattern) {
                    return Err(table.error(Some(pattern), None, reason.clone()));
                }
                return Err(table.no_column(pattern, all.iter().copied()));
            }
            found.extend(matches.into_iter().map(|n| (*n).to_owned()));
        }
        Ok(found)
    };
    let ignored = expand(&spec.ignore)?;
    let wanted = spec.features.as_deref().map(expand).transpose()?;
    // A pattern that happens to match the truth does not name it.
    let named: HashSet<&str> = spec.features.iter().flatten().map(String::as_str).collect();
    let explicit = |name: &str| named.contains(name);
    for name in &taken {
        if explicit(name) {
            return Err(Error::unfit(format!("column `{name}` is named as a feature, but has another role already")));
        }
    }
    let mut truth_like = vec![];
    let mut counters = vec![];
    let mut keep = |name: &str, column: Option<&TableColumn>| {
        if taken.contains(name) || ignored.contains(name) || wanted.as_ref().is_some_and(|w| !w.contains(name)) {
            return false;
        }
        if explicit(name) {
            return true;
        }
        if looks_like_truth(name) {
            truth_like.push(name.to_owned());
            return false;
        }
        if column.is_some_and(names_rows) {
            counters.push(name.to_owned());
            return false;
        }
        true
    };
    let columns: BTreeSet<String> =
        table.columns().iter().filter(|c| keep(&c.name, Some(c))).map(|c| c.name.clone()).collect();
    let sparse: Vec<usize> = (0..sparse_names.len()).filter(|&j| keep(&sparse_names[j], None)).collect();
    if !truth_like.is_empty() {
        notes.push(format!(
            "not used as features because their names look like the truth: {}; name them in --features to use them",
            truth_like.join(", ")
        ));
    }
    if !counters.is_empty() {
        notes.push(format!(
            "not used as features because they only number or name the rows: {}; name them in --features to use them",
            counters.join(", ")
        ));
    }
    columns.iter().try_for_each(|name| table.check_doubt(name))?;
    if columns.is_empty() && sparse.is_empty() {
        return Err(table.error(None, None, "no feature column is left; name some with --features"));
    }
    Ok(Chosen { columns, sparse })
}

/// Whether a name is one that benchmarks give to the truth.
pub(crate) fn looks_like_truth(name: &str) -> bool {
    let plain: String = name.to_lowercase().chars().filter(|c| *c != '_').collect();
    TRUTH.contains(&plain.as_str())
}

/// Whether `name` fits a pattern in which `*` stands for anything and `?` for one character.
pub(crate) fn matches_glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && (pattern[p] == '?' || (pattern[p] == name[n] && pattern[p] != '*')) {
            p += 1;
            n += 1;
        } else if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            n = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, name, want) in [
            ("x_*", "x_1", true),
            ("x_*", "x", false),
            ("*_71", "wt_71", true),
            ("*a*b", "xxaybzb", true),
            ("x?", "x1", true),
            ("x?", "x12", false),
            ("*", "", true),
            ("a*", "b", false),
        ] {
            assert_eq!(matches_glob(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn truth_has_many_spellings() {
        for name in ["mu0", "Mu1", "Y_0", "y_cf", "E", "Propensity", "TAU", "ycf"] {
            assert!(looks_like_truth(name), "{name}");
        }
        for name in ["x0", "age", "e1", "tau_scale", "wt82"] {
            assert!(!looks_like_truth(name), "{name}");
        }
        assert_eq!(parse_list("a, b ,,x_*"), ["a", "b", "x_*"]);
    }
}
