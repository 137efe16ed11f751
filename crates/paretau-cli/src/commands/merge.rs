//! `paretau merge`: the records of several folders become one run.

use anyhow::Result;
use paretau_study::experiment::merge;
use serde_json::json;

use crate::args::{Common, MergeArgs};
use crate::output;
use crate::progress::Progress;

pub(crate) fn run(args: &MergeArgs, common: &Common) -> Result<()> {
    let progress = Progress::new(common.quiet);
    let report = merge(&args.folders, &args.out, &progress)?;
    drop(progress);
    if common.json {
        return output::json(&json!({
            "folders": args.folders.len(), "cells": report.cells, "records": report.done, "failed": report.failed, "out": output::path(&args.out),
        }));
    }
    output::text(&format!(
        "{} records of {} cells, {} failed; tables, figure, page and records in {}",
        report.done,
        report.cells,
        report.failed,
        args.out.display()
    ))
}
