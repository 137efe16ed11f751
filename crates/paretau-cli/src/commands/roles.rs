//! `paretau roles`: which columns steer the treatment, the outcome, or both, by test.

use anyhow::Result;
use paretau::{RolesOptions, Seed};

use super::data;
use crate::args::{Common, RolesArgs};
use crate::output;
use crate::progress::Progress;

pub(crate) fn run(args: &RolesArgs, common: &Common) -> Result<()> {
    if !(args.fdr > 0.0 && args.fdr < 1.0) {
        return Err(data::bad_argument("fdr", &args.fdr.to_string(), "a share above 0 and below 1").into());
    }
    let roles = data::roles(&args.data.roles, None)?;
    let progress = Progress::new(common.quiet);
    let table = data::table(&args.data, None, &progress)?;
    let options = RolesOptions { fdr: args.fdr, seed: Seed(common.seed), observer: &progress };
    let tested = paretau::test_roles(table, &roles, &options)?;
    drop(progress);
    if common.json {
        return output::json(&serde_json::to_value(&tested)?);
    }
    let rows: Vec<Vec<String>> = tested
        .roles
        .iter()
        .map(|r| {
            let q = |value: f64| if value < 1e-4 { "0.0000".to_owned() } else { format!("{value:.4}") };
            vec![
                r.name.clone(),
                r.role_word().to_owned(),
                q(r.q_treatment),
                q(r.q_outcome),
                format!("{:.4}", r.strength_treatment),
                format!("{:.4}", r.strength_outcome),
                r.tested_with.join(", "),
            ]
        })
        .collect();
    let header = [
        "column",
        "role",
        "q treatment",
        "q outcome",
        "strength treatment",
        "strength outcome",
        "tested together with",
    ];
    let mut lines = tested.notes.clone();
    lines.push(output::table(&header, &rows));
    lines.push(format!("\n{}", tested.in_words()));
    output::text(&lines.join("\n"))
}
