//! `paretau report`: one self-contained page about a fitted model, from what the model file holds.

use anyhow::Result;
use paretau::Model;
use paretau::data::write_atomically;
use serde_json::json;

use crate::args::{Common, ReportArgs};
use crate::output;

pub(crate) fn run(args: &ReportArgs, common: &Common) -> Result<()> {
    let model = Model::load(&args.model)?;
    let records = paretau::records(&model);
    let page = paretau::report(&model)?;
    write_atomically(&args.out, page.as_bytes())?;
    if common.json {
        return output::json(&json!({ "out": args.out, "bytes": page.len(), "records": records }));
    }
    output::text(&format!("report in {}; open it in a browser", args.out.display()))
}
