//! Writes the page of records that `paretau report --json` printed: quick looks while working on the page.
//!
//! `cargo run -p paretau-report --example page -- records.json page.html`

use std::error::Error;

use paretau_report::{ModelRecords, render};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(from), Some(to)) = (args.next(), args.next()) else {
        return Err("records.json and page.html, please".into());
    };
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(from)?)?;
    let records: ModelRecords = serde_json::from_value(document.get("records").unwrap_or(&document).clone())?;
    std::fs::write(to, render(&records)?)?;
    Ok(())
}
