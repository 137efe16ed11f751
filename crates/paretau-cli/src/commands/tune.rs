//! `paretau tune`: a search for parameters on rows that the fits do not see.

use std::path::Path;

use anyhow::Result;
use paretau::{Params, Seed, set_pairs};
use paretau_study::tune::{TuneOptions, TuneReport, TuneSpec, tune};
use serde_json::json;

use super::{config, data};
use crate::args::{Common, TuneArgs};
use crate::progress::Progress;
use crate::{out_path, output};

/// Trials shown to people, best first.
const SHOWN: usize = 10;

pub(crate) fn run(args: &TuneArgs, common: &Common) -> Result<()> {
    let (data_args, estimator, _) = config::apply(&args.data, &args.estimator)?;
    let roles = data::roles(&data_args.roles, None)?;
    let spec = TuneSpec {
        trials: args.trials,
        search: args.search.parse()?,
        objective: args.objective.parse()?,
        folds: args.folds,
        fixed: data::params(&estimator)?,
        ..TuneSpec::default()
    };
    if let Some(records) = &args.records {
        let mut read: Vec<&Path> = vec![&args.data.data];
        read.extend(args.estimator.config.as_deref());
        out_path::check("records", records, out_path::Kind::Trials, &read, out_path::Force::None)?;
    }
    let progress = Progress::new(common.quiet);
    let table = data::table(&data_args, None, &progress)?;
    let options = TuneOptions {
        estimator: estimator.name(),
        spec: &spec,
        seed: Seed(common.seed),
        valid_share: args.estimator.valid,
        records: args.records.as_deref(),
        resume: args.resume,
        observer: &progress,
    };
    let report = tune(&table, &roles, &options)?;
    drop(progress);
    if common.json {
        return output::json(&json!({
            "estimator": estimator.name(), "set": set_arguments(&report.best), "report": report,
        }));
    }
    output::text(&readable((estimator.name(), &args.objective), &report))
}

/// The parameters as arguments of `fit`.
fn set_arguments(params: &Params) -> String {
    let pairs = params.0.iter().flat_map(|(name, value)| set_pairs(name, value));
    pairs.map(|(name, value)| format!("--set {name}={value}")).collect::<Vec<_>>().join(" ")
}

fn readable((estimator, objective): (&str, &str), report: &TuneReport) -> String {
    let mut done: Vec<_> = report.trials.iter().filter_map(|trial| Some((trial.value?, trial))).collect();
    done.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows: Vec<Vec<String>> = done
        .iter()
        .take(SHOWN)
        .map(|(value, trial)| {
            let what = if trial.index == 0 { "(defaults)".to_owned() } else { set_arguments(&trial.params) };
            vec![trial.index.to_string(), output::number(*value), what]
        })
        .collect();
    let given_up = report.trials.iter().filter(|trial| trial.given_up).count();
    let failed = report.trials.iter().filter(|trial| trial.error.is_some()).count();
    let table = output::table(&["trial", objective, "parameters"], &rows);
    let verdict = if report.best.0.is_empty() {
        "the defaults are best by this objective; nothing to set".to_owned()
    } else {
        format!("best: --estimator {} {}", estimator, set_arguments(&report.best))
    };
    format!("{table}\n\n{} trials, {given_up} given up early, {failed} failed\n{verdict}", report.trials.len())
}
