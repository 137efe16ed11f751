//! `paretau evaluate`: scores of a fitted model on rows it has not seen.

use anyhow::Result;
use paretau::{Model, Seed};
use serde_json::{Map, Value, json};

use crate::args::{Common, EvaluateArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &EvaluateArgs, common: &Common) -> Result<()> {
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, Some(&model.about().roles))?;
    let scores = paretau::evaluate(
        &model,
        data::table(&args.data, Some(&model), &progress)?,
        &roles,
        Seed(common.seed),
        &progress,
    )?;
    drop(progress);
    if common.json {
        let document: Map<String, Value> = scores
            .iter()
            .flat_map(|s| {
                let error = s.score.se.map(|se| (format!("{}_se", s.name), json!(se)));
                [Some((s.name.to_owned(), json!(s.score.value))), error]
            })
            .flatten()
            .collect();
        return output::json(&Value::Object(document));
    }
    let rows: Vec<Vec<String>> = scores
        .iter()
        .map(|s| {
            let summary = paretau::eval::METRICS.iter().find(|m| m.name == s.name).map_or("", |m| m.summary);
            vec![
                s.name.to_owned(),
                output::number(s.score.value),
                s.score.se.map_or(String::new(), output::number),
                summary.to_owned(),
            ]
        })
        .collect();
    output::text(&output::table(&["metric", "value", "error", "meaning"], &rows))
}
