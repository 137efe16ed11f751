//! What a run leaves beside its records: the plan, tables, a comparison, the figure as SVG and PNG, and one page with all of it.

use std::path::Path;

use paretau_core::{Error, Result};
use paretau_data::write_atomically;

use super::plan::Plan;
use super::records::Record;
use super::{csv, figure, illustration, markdown};

/// The plan's file in a run's folder.
pub(crate) const PLAN: &str = "plan.toml";

/// Writes the plan as it was run: on these data, in this size.
pub(super) fn write_plan(plan: &Plan, folder: &Path) -> Result<()> {
    let text = toml::to_string(plan)
        .map_err(|e| Error::unfit(format!("the plan `{}` cannot be written down: {e}", plan.name)))?;
    write_atomically(&folder.join(PLAN), text.as_bytes())
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
