//! `paretau describe`: one estimator or one term of the glossary, or with `--all` every estimator.

use anyhow::Result;
use paretau::Description;
use paretau::registry::ESTIMATORS;

use crate::args::{Common, DescribeArgs};
use crate::glossary::{self, Entry};
use crate::output;

pub(crate) fn run(args: &DescribeArgs, common: &Common) -> Result<()> {
    let descriptions: Vec<Description> = match &args.name {
        Some(name) => match (paretau::find(name), glossary::find(name)) {
            (Err(_), Some(entry)) => return term(&entry, common),
            (found, _) => vec![paretau::describe(found?)],
        },
        None => ESTIMATORS.iter().map(|entry| paretau::describe(*entry)).collect(),
    };
    match (common.json, descriptions.as_slice()) {
        (true, [one]) if !args.all => output::json(&serde_json::to_value(one)?),
        (true, all) => output::json(&serde_json::to_value(all)?),
        (false, all) => output::text(&all.iter().map(readable).collect::<Vec<_>>().join("\n\n\n")),
    }
}

/// A term of the glossary.
fn term(entry: &Entry, common: &Common) -> Result<()> {
    let (name, others) = entry.terms.split_first().map_or(("", &[][..]), |(name, others)| (name, others));
    if common.json {
        return output::json(&serde_json::json!({ "term": name, "also": others, "meaning": entry.meaning }));
    }
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    output::text(&format!("{name}{others}: {}", entry.meaning))
}

fn readable(description: &Description) -> String {
    let info = &description.info;
    let mut out = format!("{}: {}\n", info.name, info.summary);
    if !info.aliases.is_empty() {
        out += &format!("also called {}\n", info.aliases.join(", "));
    }
    out += &format!("family {}, Python class {}\n{}\n", info.family.label(), info.class, info.reference);
    if description.params.is_empty() {
        return out + "\nno parameters";
    }
    let row = |param: &paretau::ParamDescription| {
        vec![param.name.to_owned(), param.default_text.clone(), param.accepts.clone(), param.help.to_owned()]
    };
    let rows: Vec<Vec<String>> = description.params.iter().map(row).collect();
    out + "\n" + &output::table(&["parameter", "default", "accepts", "meaning"], &rows)
}
