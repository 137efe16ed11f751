//! `paretau report`: one self-contained page about a fitted model or a run, from what their files hold.

use anyhow::Result;
use paretau::Model;
use paretau::data::write_atomically;
use serde_json::{Value, json};

use crate::args::{Common, ReportArgs};
use crate::{out_path, output};

pub(crate) fn run(args: &ReportArgs, common: &Common) -> Result<()> {
    // Of a run's folder, what cannot be made again is never replaced.
    let (records, plan) = (args.from.join("records.jsonl"), args.from.join("plan.toml"));
    out_path::check("out", &args.out, out_path::Kind::Page, &[&args.from, &records, &plan], args.force)?;
    let (page, records): (String, Value) = if args.from.is_dir() {
        (paretau_study::report_run(&args.from)?, serde_json::to_value(paretau_study::run_records(&args.from)?)?)
    } else {
        let model = Model::load(&args.from)?;
        (paretau::report(&model)?, serde_json::to_value(paretau::records(&model))?)
    };
    write_atomically(&args.out, page.as_bytes())?;
    if common.json {
        return output::json(&json!({ "out": args.out, "bytes": page.len(), "records": records }));
    }
    output::text(&format!("report in {}; open it in a browser", args.out.display()))
}
