//! `paretau compare`: estimators side by side on rows that their fits did not see.

use anyhow::Result;
use paretau::{CompareOptions, ComparedRow, Comparison, Seed};
use serde_json::json;

use super::data;
use crate::args::{Common, CompareArgs};
use crate::output;
use crate::progress::Progress;

pub(crate) fn run(args: &CompareArgs, common: &Common) -> Result<()> {
    if args.folds < 2 {
        return Err(data::bad_argument("folds", &args.folds.to_string(), "a whole number of at least 2").into());
    }
    for name in args.estimators.iter().filter(|name| name.as_str() != CompareOptions::ALL) {
        // A wrong name should not have to wait for the data to be read.
        paretau::find(name)?;
    }
    let roles = data::roles(&args.data.roles, None)?;
    let progress = Progress::new(common.quiet);
    let table = data::table(&args.data, None, &progress)?;
    let options = CompareOptions {
        estimators: args.estimators.clone(),
        folds: args.folds,
        seed: Seed(common.seed),
        observer: &progress,
        ..CompareOptions::default()
    };
    let comparison = paretau::compare(table, &roles, &options)?;
    drop(progress);
    if common.json {
        let mut document = serde_json::to_value(&comparison)?;
        document["verdict"] = json!(comparison.verdict());
        return output::json(&document);
    }
    output::text(&readable(&comparison))
}

fn readable(comparison: &Comparison) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, output::number);
    let truth = comparison.rows.iter().any(|row| row.pehe.is_some());
    let mut header = vec!["estimator", "dr_loss", "above best", "error", "r_loss", "plugin_loss", "seconds"];
    if truth {
        header.extend(["pehe", "pehe_rel"]);
    }
    let cells = |row: &ComparedRow| {
        let mut cells = vec![
            row.estimator.clone(),
            number(row.dr_loss),
            number(row.gap),
            number(row.gap_se),
            number(row.r_loss),
            number(row.plugin_loss),
            row.seconds.map_or_else(String::new, |s| format!("{s:.2}")),
        ];
        if truth {
            cells.extend([number(row.pehe), number(row.pehe_rel)]);
        }
        cells
    };
    let rows: Vec<Vec<String>> = comparison.rows.iter().map(cells).collect();
    let mut lines = comparison.notes.clone();
    lines.push(output::table(&header, &rows));
    lines.push(format!(
        "\n{} rows, {} folds; losses of held-out rows, lower is better; `error` is the standard error of `above best`",
        comparison.n_rows, comparison.folds
    ));
    lines.push(comparison.verdict());
    lines.extend(comparison.rows.iter().filter_map(|r| Some(format!("{} failed: {}", r.estimator, r.error.as_ref()?))));
    lines.join("\n")
}
