//! `paretau list`: what there is, from the one list of each kind.

use anyhow::Result;
use paretau::registry::ESTIMATORS;
use serde_json::{Value, json};

use crate::args::{Common, ListArgs, ListKind};
use crate::output;

pub(crate) fn run(args: &ListArgs, common: &Common) -> Result<()> {
    let rows: Vec<Value> = match args.what {
        ListKind::Estimators => ESTIMATORS
            .iter()
            .map(|entry| {
                let info = entry.info();
                json!({ "name": info.name, "family": info.family, "class": info.class, "summary": info.summary })
            })
            .collect(),
        ListKind::Metrics => paretau::eval::METRICS
            .iter()
            .map(|m| json!({ "name": m.name, "better": m.better, "needs": m.needs, "summary": m.summary }))
            .collect(),
        ListKind::Simulators => paretau::data::simulate::SIMULATORS
            .iter()
            .map(|s| json!({ "name": s.name, "summary": s.summary }))
            .collect(),
        ListKind::Datasets => {
            let folder = paretau::data::data_folder();
            paretau::data::DATASETS
                .iter()
                .map(|set| {
                    let found = set.realisations(&folder).len();
                    json!({
                        "name": set.name, "present": paretau_study::datasets::state(set, &folder).to_string(),
                        "realisations": found, "address": set.address, "files": set.files, "licence": set.licence,
                        "truth": set.has_truth, "summary": set.summary,
                    })
                })
                .collect()
        }
        ListKind::Plans => paretau_study::experiment::PLANS
            .iter()
            .map(|built_in| Ok(json!({ "name": built_in.name, "summary": built_in.plan()?.summary })))
            .collect::<Result<_>>()?,
    };
    if common.json {
        return output::json(&Value::from(rows));
    }
    let Some(first) = rows.first().and_then(Value::as_object) else { return Ok(()) };
    // `name` first and `summary` last; what stands between differs from list to list. Long texts are for --json.
    let mut header: Vec<&str> = first
        .keys()
        .map(String::as_str)
        .filter(|key| !["files", "licence", "truth", "realisations"].contains(key))
        .collect();
    header.sort_by_key(|key| match *key {
        "name" => 0,
        "summary" => 2,
        _ => 1,
    });
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| header.iter().map(|key| row[*key].as_str().unwrap_or_default().to_owned()).collect())
        .collect();
    output::text(&output::table(&header, &cells))
}
