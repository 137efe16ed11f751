//! `paretau fit`: one estimator, one model file.

use std::path::Path;

use anyhow::Result;
use paretau::{BlockOptions, CheckpointStore, FitOptions, Model, Population, Seed};
use serde_json::Value;

use crate::args::{Common, FitArgs};
use crate::checkpoint::FileCheckpoint;
use crate::commands::{config, data};
use crate::out_path::{self, Kind};
use crate::output;
use crate::progress::Progress;

pub(crate) fn run(args: &FitArgs, common: &Common) -> Result<()> {
    let (data_args, estimator, config) = config::apply(&args.data, &args.estimator)?;
    let valid = estimator.valid;
    if !(valid > 0.0 && valid < 0.9) {
        return Err(data::bad_argument("valid", &valid.to_string(), "a share above 0 and below 0.9").into());
    }
    let mut read: Vec<&Path> = vec![&args.data.data];
    read.extend(args.estimator.config.as_deref());
    out_path::check("out", &args.out, Kind::Model, &read, args.force.into())?;
    if let Some(checkpoint) = &args.checkpoint {
        read.push(&args.out);
        out_path::check("checkpoint", checkpoint, Kind::Model, &read, out_path::Force::None)?;
    }
    let progress = Progress::new(common.quiet);
    let checkpoint = match &args.checkpoint {
        Some(path) => Some(FileCheckpoint::new(path, args.resume)?),
        None => None,
    };
    let options = FitOptions {
        params: data::params(&estimator)?,
        seed: Seed(common.seed),
        valid_share: valid,
        intervals: args.intervals.or(config.intervals),
        observer: &progress,
        checkpoint: checkpoint.as_ref().map(|c| c as &dyn CheckpointStore),
        by: if args.by.is_empty() { config.by } else { args.by.clone() },
        projection: if args.projection.is_empty() { config.projection } else { args.projection.clone() },
        estimand: args.estimand.as_deref().or(config.estimand.as_deref()).map(Population::find).transpose()?,
        ..FitOptions::new(estimator.name())
    };
    // A wrong name should not have to wait for the data to be read.
    let entry = paretau::find(options.estimator)?;
    paretau::registry::check(entry, &options.params)?;
    if checkpoint.is_some() && !entry.info().abilities.checkpoints {
        progress
            .print_line("only networks keep checkpoints: this fit starts from the beginning when it is interrupted");
    }
    let roles = data::roles(&data_args.roles, None)?;
    let model = match args.block_rows {
        None => paretau::fit(data::table(&data_args, None, &progress)?, &roles, &options)?,
        Some(rows) => {
            let beside = args.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let scratch = args.scratch.as_deref().unwrap_or(beside);
            if !scratch.is_dir() {
                return Err(
                    data::bad_argument("scratch", &scratch.display().to_string(), "a folder that exists").into()
                );
            }
            let blocks = BlockOptions { rows, scratch: scratch.to_owned() };
            let read = data::read_options(&data_args.read, data_args.roles.id.as_deref())?;
            paretau::fit_in_blocks(&data_args.data, &read, &roles, &options, &blocks, &mut |position| {
                progress.reading("reading", position);
                progress.check_interrupt()
            })?
        }
    };
    model.save(&args.out)?;
    checkpoint.iter().for_each(FileCheckpoint::done);
    drop(progress);
    if common.json {
        let mut document = summary(&model)?;
        document["out"] = output::path(&args.out);
        return output::json(&document);
    }
    output::text(&format!("{}\nmodel in {}", model.summary(), args.out.display()))
}

/// The facts of a fit as JSON.
pub(crate) fn summary(model: &Model) -> Result<Value> {
    let mut document = model.about().document()?;
    output::rows_from_one(&mut document);
    Ok(document)
}
