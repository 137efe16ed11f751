//! How a page speaks: its title, date, labels of columns, the outcome's unit and which direction is better.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::html::{code, escape};
use crate::records::{EffectNode, ModelRecords};

/// What the reader's words are. Without any, a page uses the names in the data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageOptions {
    /// Title in place of the question.
    pub title: Option<String>,
    /// Date below the title, as it is to be read.
    pub date: Option<String>,
    /// Words for columns (`qsmk`) and for their values (`qsmk:1`).
    pub labels: BTreeMap<String, String>,
    /// Unit of the outcome, e.g. `kg`.
    pub unit: Option<String>,
    /// Whether smaller outcomes are better; unknown when absent.
    pub lower_is_better: Option<bool>,
}

impl PageOptions {
    /// A name as markup: the reader's words as they are, names in the data as code.
    pub(crate) fn term(&self, name: &str) -> String {
        if self.labels.values().any(|label| label == name) { escape(name) } else { code(name) }
    }

    fn column(&self, name: &str) -> String {
        self.labels.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn value(&self, column: &str, value: &str) -> String {
        self.labels.get(&format!("{column}:{value}")).cloned().unwrap_or_else(|| value.to_owned())
    }

    /// An encoded feature, such as `sex=1` or `age__missing`, or a condition such as `age at most 45`.
    fn feature(&self, text: &str) -> String {
        if let Some(label) = self.labels.get(text) {
            return label.clone();
        }
        // The longest column that the text begins with.
        let columns: BTreeSet<&str> = self.labels.keys().map(|key| key.split(':').next().unwrap_or(key)).collect();
        let own = columns.into_iter().filter_map(|column| Some((column, text.strip_prefix(column)?)));
        let ends = |rest: &str| rest.starts_with(['=', ' ']) || rest.starts_with("__");
        let Some((column, rest)) = own.filter(|(_, rest)| ends(rest)).max_by_key(|(column, _)| column.len()) else {
            return text.to_owned();
        };
        let label = self.column(column);
        for sign in ["=", " is not ", " is ", " = "] {
            if let Some(value) = rest.strip_prefix(sign) {
                let shown = if sign == "=" { ": " } else { sign };
                return format!("{label}{shown}{}", self.value(column, value));
            }
        }
        match rest.strip_prefix("__") {
            Some(what) => format!("{label}: {what}"),
            None => format!("{label}{rest}"),
        }
    }
}

/// The records with every name in the reader's words. What was done, warnings and the command keep the names in the data.
pub(crate) fn labelled(records: &ModelRecords) -> ModelRecords {
    let mut out = records.clone();
    let options = &records.options;
    if options.labels.is_empty() {
        return out;
    }
    let treatment = records.question.treatment.as_str();
    out.question.arms = records.question.arms.each_ref().map(|arm| options.value(treatment, arm));
    out.further_arms.iter_mut().for_each(|arm| arm.name = options.value(treatment, &arm.name));
    out.overlap.iter_mut().for_each(|own| own.arm = options.value(treatment, &own.arm));
    out.question.treatment = options.column(treatment);
    out.question.outcome = options.column(&records.question.outcome);
    for group in &mut out.groups {
        group.level = options.value(&group.column, &group.level);
        group.column = options.column(&group.column);
    }
    for shares in [&mut out.importance, &mut out.reading] {
        shares.iter_mut().for_each(|own| own.name = options.feature(&own.name));
    }
    out.roles.iter_mut().for_each(|role| role.name = options.feature(&role.name));
    if let Some(findings) = &mut out.findings {
        for group in &mut findings.subgroups {
            group.level = options.value(&group.feature, &group.level);
            group.feature = options.column(&group.feature);
        }
        findings.curves.iter_mut().for_each(|curve| curve.feature = options.column(&curve.feature));
        let balances = findings.arms.iter_mut().flat_map(|arm| &mut arm.balance);
        balances.for_each(|own| own.name = options.feature(&own.name));
        if let Some(tree) = &mut findings.tree {
            relabel(&mut tree.root, options);
        }
    }
    out
}

fn relabel(node: &mut EffectNode, options: &PageOptions) {
    if let Some(split) = &mut node.split {
        split.yes = options.feature(&split.yes);
        split.no = options.feature(&split.no);
        relabel(&mut split.left, options);
        relabel(&mut split.right, options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_values_get_their_words() {
        let pairs = [("sex", "Sex"), ("sex:1", "women"), ("age", "Age at baseline")];
        let labels = pairs.map(|(key, words)| (key.to_owned(), words.to_owned())).into();
        let options = PageOptions { labels, ..PageOptions::default() };
        assert_eq!(options.feature("sex=1"), "Sex: women");
        assert_eq!(options.feature("sex is 1"), "Sex is women");
        assert_eq!(options.feature("age at most 45"), "Age at baseline at most 45");
        assert_eq!(options.feature("age__missing"), "Age at baseline: missing");
        assert_eq!(options.feature("agent"), "agent", "another column");
        assert_eq!(options.term("women"), "women");
        assert_eq!(options.term("race"), "<code>race</code>");
    }
}
