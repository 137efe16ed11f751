//! `paretau evaluate`: scores of a fitted model on rows it has not seen.

use anyhow::Result;
use paretau::{Basis, EvaluateOptions, Evaluation, InSample, Model, Seed};
use serde_json::{Map, Value, json};

use crate::args::{Common, EvaluateArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &EvaluateArgs, common: &Common) -> Result<()> {
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, Some(&model.about().roles))?;
    let table = data::table(&args.data, Some(&model), &progress)?;
    let in_sample = if args.in_sample { InSample::Always } else { InSample::Never };
    let options = EvaluateOptions { seed: Seed(common.seed), in_sample, observer: &progress };
    let found = paretau::evaluate(&model, table, &roles, &options)?;
    drop(progress);
    if common.json { output::json(&document(&found)) } else { output::text(&readable(&found)) }
}

/// Each metric under its name, its error under `NAME_se` or its lower limit under `NAME_lower`, then what was scored.
fn document(found: &Evaluation) -> Value {
    let scores = found.scores.iter().flat_map(|s| {
        let error = s.score.se.map(|se| (format!("{}_se", s.name), json!(se)));
        let limit = found.at_least.get(s.name).map(|limit| (format!("{}_lower", s.name), json!(limit)));
        [Some((s.name.to_owned(), json!(s.score.value))), error, limit]
    });
    let mut document: Map<String, Value> = scores.flatten().collect();
    let heterogeneity = json!({
        "p": found.heterogeneity.p, "differ": found.heterogeneity.differ, "message": found.heterogeneity.in_words(),
    });
    for (key, value) in [
        ("heterogeneity", heterogeneity),
        ("in_sample", json!(found.basis == Basis::InSample)),
        ("basis", json!(found.basis)),
        ("rows", json!(found.n_rows)),
        ("learned_from", json!(found.learned_from)),
        ("notes", json!(found.notes)),
    ] {
        document.insert(key.to_owned(), value);
    }
    Value::Object(document)
}

fn readable(found: &Evaluation) -> String {
    let rows: Vec<Vec<String>> = found
        .scores
        .iter()
        .map(|s| {
            let summary = paretau::eval::METRICS.iter().find(|m| m.name == s.name).map_or("", |m| m.summary);
            vec![
                s.name.to_owned(),
                output::number(s.score.value),
                match (s.score.se, found.at_least.get(s.name)) {
                    (Some(se), _) => output::number(se),
                    (None, Some(limit)) => format!("at least {}", output::number(*limit)),
                    (None, None) => String::new(),
                },
                summary.to_owned(),
            ]
        })
        .collect();
    let label = if found.basis == Basis::InSample { "IN-SAMPLE: " } else { "" };
    let mut lines: Vec<String> = found.notes.iter().map(|note| format!("{label}{note}")).collect();
    lines.push(output::table(&["metric", "value", "error", "meaning"], &rows));
    lines.push(format!("{label}{}", found.heterogeneity.in_words()));
    lines.join("\n")
}
