//! `paretau report`: one self-contained page about a fitted model or a run, from what their files hold.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use paretau::data::write_atomically;
use paretau::{Error, Model, PageOptions};
use serde_json::{Value, json};

use crate::args::{Common, ReportArgs};
use crate::commands::data::bad_argument;
use crate::{out_path, output, print};

pub(crate) fn run(args: &ReportArgs, common: &Common) -> Result<()> {
    // Of a run's folder, what cannot be made again is never replaced.
    let (records, plan) = (args.from.join("records.jsonl"), args.from.join("plan.toml"));
    out_path::check("out", &args.out, out_path::Kind::Page, &[&args.from, &records, &plan], args.force.into())?;
    let printed = is_printed(&args.out)?;
    let options = options(args)?;
    let (page, records): (String, Value) = if args.from.is_dir() {
        if options != PageOptions::default() {
            let message = "is the folder of a run, whose page takes no words of yours; leave out --title, --date, --label, \
                           --unit and the direction";
            return Err(refused(&args.from, message).into());
        }
        (paretau_study::report_run(&args.from)?, serde_json::to_value(paretau_study::run_records(&args.from)?)?)
    } else {
        let model = Model::load(&args.from)?;
        let page = paretau::report_with(&model, options.clone())?;
        (page, serde_json::to_value(paretau::ModelRecords { options, ..paretau::records(&model) })?)
    };
    let bytes = if printed { print::to_pdf(&page, &args.out)? } else { page.into_bytes() };
    write_atomically(&args.out, &bytes)?;
    if common.json {
        return output::json(&json!({ "out": output::path(&args.out), "bytes": bytes.len(), "records": records }));
    }
    let how = if printed { "" } else { "; open it in a browser" };
    output::text(&format!("report in {}{how}", args.out.display()))
}

/// Whether the output's ending asks for paper; an error for endings that are neither a page nor paper.
fn is_printed(out: &Path) -> Result<bool> {
    let ending = out.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "html" | "htm" => Ok(false),
        "pdf" => Ok(true),
        "png" | "svg" | "jpg" | "jpeg" => Err(refused(
            out,
            "a report is a page, not a picture: write .html or .pdf; each chart of the .html page has a button that saves it \
             as .svg",
        )
        .into()),
        _ => Err(refused(out, "a report ends in .html or .pdf; choose one of these endings").into()),
    }
}

fn refused(path: &Path, message: &str) -> Error {
    Error::File { path: path.to_path_buf(), column: None, row: None, message: message.to_owned() }
}

fn options(args: &ReportArgs) -> Result<PageOptions> {
    let mut labels = BTreeMap::new();
    for pair in &args.labels {
        match pair.split_once('=') {
            Some((key, words)) if !key.trim().is_empty() && !words.trim().is_empty() => {
                labels.insert(key.trim().to_owned(), words.trim().to_owned());
            }
            _ => return Err(bad_argument("label", pair, "a column and its words, as in qsmk=\"Quit smoking\"").into()),
        }
    }
    let date = args.date.as_deref().map(|date| if date == "today" { today() } else { date.to_owned() });
    let direction = match (args.lower_is_better, args.higher_is_better) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    Ok(PageOptions { title: args.title.clone(), date, labels, unit: args.unit.clone(), lower_is_better: direction })
}

/// Today's date, as in 2026-05-31, by universal time.
fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    paretau::data::iso_date((seconds / 86_400) as f64)
}
