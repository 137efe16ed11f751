//! `paretau fit`: one estimator, one model file.

use std::path::Path;

use anyhow::Result;
use paretau::{CheckpointStore, FitOptions, Model, Population, Seed};
use serde_json::{Value, json};

use crate::args::{Common, FitArgs};
use crate::checkpoint::FileCheckpoint;
use crate::out_path::{self, Kind};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &FitArgs, common: &Common) -> Result<()> {
    let valid = args.estimator.valid;
    if !(valid > 0.0 && valid < 0.9) {
        return Err(data::bad_argument("valid", &valid.to_string(), "a share above 0 and below 0.9").into());
    }
    let mut read: Vec<&Path> = vec![&args.data.data];
    read.extend(args.estimator.config.as_deref());
    out_path::check("out", &args.out, Kind::Model, &read, args.force)?;
    if let Some(checkpoint) = &args.checkpoint {
        read.push(&args.out);
        out_path::check("checkpoint", checkpoint, Kind::Model, &read, false)?;
    }
    let progress = Progress::new(common.quiet);
    let checkpoint = match &args.checkpoint {
        Some(path) => Some(FileCheckpoint::new(path, args.resume)?),
        None => None,
    };
    let options = FitOptions {
        params: data::params(&args.estimator)?,
        seed: Seed(common.seed),
        valid_share: valid,
        intervals: args.intervals,
        observer: &progress,
        checkpoint: checkpoint.as_ref().map(|c| c as &dyn CheckpointStore),
        by: args.by.clone(),
        estimand: args.estimand.as_deref().map(Population::find).transpose()?,
        ..FitOptions::new(&args.estimator.estimator)
    };
    // A wrong name should not have to wait for the data to be read.
    let entry = paretau::find(options.estimator)?;
    paretau::registry::check(entry, &options.params)?;
    if checkpoint.is_some() && !entry.info().abilities.checkpoints {
        progress
            .print_line("only networks keep checkpoints: this fit starts from the beginning when it is interrupted");
    }
    let roles = data::roles(&args.data.roles, None)?;
    let model = paretau::fit(data::table(&args.data, None, &progress)?, &roles, &options)?;
    model.save(&args.out)?;
    checkpoint.iter().for_each(FileCheckpoint::done);
    drop(progress);
    if common.json {
        let mut document = summary(&model);
        document["out"] = json!(args.out);
        return output::json(&document);
    }
    output::text(&format!("{}\nmodel in {}", model.summary(), args.out.display()))
}

/// The facts of a fit as JSON.
pub(crate) fn summary(model: &Model) -> Value {
    serde_json::to_value(model.about()).unwrap_or(Value::Null)
}
