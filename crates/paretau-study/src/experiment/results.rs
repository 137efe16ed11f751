//! What a run leaves beside its records: the plan, tables, a comparison, the figure as SVG and PNG, and one page with all of it.

use std::path::Path;

use paretau_core::{Error, Result};
use paretau_data::write_atomically;

use super::plan::Plan;
use super::records::Record;
use super::{csv, figure, illustration, markdown};

/// The plan's file in a run's folder.
pub(crate) const PLAN: &str = "plan.toml";

/// How the plan's file begins in a run's folder.
const PLAN_HEAD: &str = "# The plan of this run, as it was run.\n";
/// Everything that a run may write beside its records.
const WRITTEN: &[&str] =
    &[PLAN, "table.md", "table.csv", "comparison.md", "tuning.md", "figure.svg", "figure.png", "report.html", "tuning"];

fn plan_text(plan: &Plan) -> Result<String> {
    let text = toml::to_string(plan)
        .map_err(|e| Error::unfit(format!("the plan `{}` cannot be written down: {e}", plan.name)))?;
    Ok(format!("{PLAN_HEAD}{text}"))
}

/// Refuses a folder in which a run would write over files that are not a run's.
pub(super) fn check_folder(plan: &Plan, folder: &Path) -> Result<()> {
    let refuse =
        |path: &Path, message: String| Err(Error::File { path: path.to_path_buf(), column: None, row: None, message });
    if std::fs::metadata(folder).is_ok_and(|m| !m.is_dir()) {
        return refuse(folder, "is not a folder; name another place for the run".to_owned());
    }
    // Looked for first: a process that starts at the same moment makes the records before anything else.
    let found = WRITTEN.iter().find(|name| folder.join(name).exists());
    let is_run = std::fs::metadata(folder.join(super::records::RECORDS)).is_ok_and(|m| m.is_file());
    if !is_run && let Some(name) = found {
        return refuse(folder, format!("holds a `{name}` that is not of a run; choose another folder"));
    }
    // Plans of earlier versions have no first line of ours, but they are among records.
    let own = std::fs::read(folder.join(PLAN)).unwrap_or_default();
    let known = own.is_empty() || own.starts_with(PLAN_HEAD.as_bytes()) || own == plan_text(plan)?.as_bytes();
    let empty = std::fs::metadata(folder.join(super::records::RECORDS)).is_ok_and(|m| m.len() == 0);
    if !known && empty {
        return refuse(folder, format!("holds a `{PLAN}` that is not of a run; choose another folder"));
    }
    Ok(())
}

/// Writes the plan as it was run: on these data, in this size.
pub(super) fn write_plan(plan: &Plan, folder: &Path) -> Result<()> {
    write_atomically(&folder.join(PLAN), plan_text(plan)?.as_bytes())
}

/// Writes everything that is made from records. The same records give the same files.
pub fn write(plan: &Plan, records: &[&Record], folder: &Path) -> Result<()> {
    let write = |name: &str, bytes: &[u8]| write_atomically(&folder.join(name), bytes);
    let (figure, tails) = if let Some(drawing) = &plan.illustration {
        let (figure, tails) = drawing.draw(&plan.summary)?;
        write("table.md", illustration::markdown(&plan.name, &figure, &tails).as_bytes())?;
        write("table.csv", illustration::csv(&figure).as_bytes())?;
        (figure, tails)
    } else {
        write("table.md", markdown(plan, records).as_bytes())?;
        write("table.csv", csv(plan, records).as_bytes())?;
        write("comparison.md", super::comparison(plan, records).as_bytes())?;
        if let Some(text) = super::tables::tuned_params(plan, records) {
            write("tuning.md", text.as_bytes())?;
        }
        (figure(plan, records), vec![])
    };
    if !figure.is_empty() {
        write("figure.svg", figure.svg()?.as_bytes())?;
        write("figure.png", &figure.png()?)?;
    }
    let page = paretau_report::render_run(&crate::run_report::study(plan, records, &figure, tails))?;
    write("report.html", page.as_bytes())
}
