//! `paretau refute`: the average effect estimated again where the answer is known.

use anyhow::Result;
use paretau::{RefuteRequest, Seed};

use crate::args::{Common, RefuteArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &RefuteArgs, common: &Common) -> Result<()> {
    if args.replicates < 3 {
        return Err(data::bad_argument("replicates", &args.replicates.to_string(), "at least 3").into());
    }
    if let Some(name) = args.checks.iter().find(|name| !paretau::CHECKS.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = paretau::CHECKS.iter().map(|(known, _)| *known).collect();
        return Err(data::bad_argument("checks", name, &format!("some of {}", known.join(", "))).into());
    }
    let (model, path) = data::model_and_data(&args.data.data, args.second.as_deref())?;
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, model.as_ref().map(|model| &model.about().roles))?;
    let table = data::table_at(path, &args.data, model.as_ref(), &progress)?;
    let request = RefuteRequest { checks: args.checks.clone(), replicates: args.replicates };
    let found = paretau::refute(table, &roles, &request, Seed(common.seed), &progress)?;
    drop(progress);
    if common.json {
        return output::json(&serde_json::to_value(&found)?);
    }
    let rows: Vec<Vec<String>> = (found.checks.iter())
        .map(|c| {
            let verdict = c.passed.map_or("note", |passed| if passed { "pass" } else { "FAIL" });
            vec![
                c.name.clone(),
                output::number(c.expected),
                output::number(c.found),
                c.spread.map_or(String::new(), output::number),
                c.p_value.map_or(String::new(), |p| format!("{p:.3}")),
                verdict.to_owned(),
                c.words.clone(),
            ]
        })
        .collect();
    let (lo, hi) = found.interval.unwrap_or((found.ate.value, found.ate.value));
    let [value, lo, hi] = paretau::alike([found.ate.value, lo, hi]);
    output::text(&format!(
        "{} rows, average effect {value} ({lo} to {hi}), {} replicates per check\n{}",
        found.n_rows,
        found.replicates,
        output::table(&["check", "expected", "found", "spread", "p", "verdict", "meaning"], &rows)
    ))
}
