//! `paretau run`: an experiment plan, resumable at any moment.

use anyhow::Result;
use paretau::Params;
use paretau::data::data_folder;
use paretau_study::experiment::{Plan, RunOptions, Shard, run as run_plan};
use serde_json::json;

use crate::args::{Common, RunArgs};
use crate::commands::data::pairs;
use crate::exit::PartlyFailed;
use crate::live_table::LiveTable;
use crate::output;

pub(crate) fn run(args: &RunArgs, common: &Common) -> Result<()> {
    let shard = args.shard.as_deref().map_or(Ok(Shard::WHOLE), str::parse)?;
    let data_folder = data_folder();
    let params = pairs(&args.set)?.into_iter().fold(Params::none(), |all, (key, value)| all.with(key, value));
    let plan = Plan::open(&args.plan)?.resolved(&data_folder, args.quick)?.with_params(&params)?;
    let plan = plan.with_realisations(args.realisations.map_or(usize::MAX, |n| n as usize));
    let plan = match args.tune {
        Some(trials) => plan.with_trials(trials as usize)?,
        None => plan,
    };
    crate::interrupt::writes_in(&args.out);
    let live_table = LiveTable::new(&plan, common.quiet);
    let report = run_plan(
        &plan,
        &RunOptions {
            folder: &args.out,
            resume: args.resume,
            shard,
            data_folder: &data_folder,
            observer: &live_table,
            on_cell_done: Some(&|progress| live_table.record(progress)),
        },
    )?;
    drop(live_table);
    if common.json {
        output::json(&json!({
            "plan": plan.name, "cells": report.cells, "done": report.done, "kept": report.kept,
            "failed": report.failed, "out": output::path(&args.out),
        }))?;
        return some_failed(report.failed, report.cells);
    }
    let table = args.out.join("table.md");
    let text = std::fs::read_to_string(&table)?;
    output::text(&format!(
        "{text}\n{} cells, {} done now, {} from before, {} failed; tables, figure, page and records in {}",
        report.cells,
        report.done,
        report.kept,
        report.failed,
        args.out.display()
    ))?;
    some_failed(report.failed, report.cells)
}

/// The exit code of a run whose results are printed, though not all cells have one.
fn some_failed(failed: usize, cells: usize) -> Result<()> {
    if failed == 0 {
        return Ok(());
    }
    Err(PartlyFailed(format!(
        "{failed} of {cells} cells failed; their records and the page say why; --resume tries them again"
    ))
    .into())
}
