//! `paretau describe`: one estimator, or with `--all` everything there is.

use anyhow::Result;
use paretau::Description;
use paretau::registry::ESTIMATORS;

use crate::args::{Common, DescribeArgs};
use crate::output;

pub(crate) fn run(args: &DescribeArgs, common: &Common) -> Result<()> {
    let descriptions: Vec<Description> = match &args.name {
        Some(name) => vec![paretau::describe(paretau::find(name)?)],
        None => ESTIMATORS.iter().map(|entry| paretau::describe(*entry)).collect(),
    };
    match (common.json, descriptions.as_slice()) {
        (true, [one]) if !args.all => output::json(&serde_json::to_value(one)?),
        (true, all) => output::json(&serde_json::to_value(all)?),
        (false, all) => output::text(&all.iter().map(readable).collect::<Vec<_>>().join("\n\n\n")),
    }
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
