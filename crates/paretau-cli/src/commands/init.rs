//! `paretau init`: a commented configuration for `fit --config`, from what a data file holds.

use std::fmt::Write as _;

use anyhow::Result;
use paretau::data::{ColumnProfile, profile, write_atomically};
use paretau::{DEFAULT_ESTIMATOR, param_text, printable};
use serde_json::json;

use crate::args::{Common, InitArgs};
use crate::out_path::{self, Kind};
use crate::progress::Progress;
use crate::{commands::data, output};

/// How every configuration begins.
pub(crate) const HEAD: &str = "# Configuration for `paretau fit";

pub(crate) fn run(args: &InitArgs, common: &Common) -> Result<()> {
    out_path::check("out", &args.out, Kind::Config, &[&args.data.data], args.force.into())?;
    let entry = paretau::find(args.estimator.as_deref().unwrap_or(DEFAULT_ESTIMATOR))?;
    let progress = Progress::new(common.quiet);
    let table = data::table(&args.data, None, &progress)?;
    let columns = profile(&table, &data::named_roles(&args.data.roles))?;
    drop(progress);
    let text = configuration(args, entry, &columns, table.n_rows());
    if args.out.as_os_str() == "-" && !common.json {
        return output::text(&text);
    }
    if args.out.as_os_str() != "-" {
        write_atomically(&args.out, text.as_bytes())?;
    }
    if common.json {
        return output::json(&json!({ "out": output::path(&args.out), "configuration": text, "columns": columns }));
    }
    let how = format!("paretau fit {} --config {}", args.data.data.display(), args.out.display());
    output::text(&format!("configuration in {}; look it through, then: {how} --out model.paretau", args.out.display()))
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

fn configuration(
    args: &InitArgs,
    entry: &dyn paretau::EstimatorEntry,
    columns: &[ColumnProfile],
    n_rows: usize,
) -> String {
    let roles = &args.data.roles;
    let with_role = |role: &str| columns.iter().find(|c| c.role == role || c.role == format!("{role}?"));
    let mut out = format!(
        "{HEAD} {} --config FILE --out model.paretau`.\n# Flags on the command line win over this file. Lines that begin \
         with # are comments: remove the # to use them.\n# {n_rows} rows, {} columns:\n",
        printable(&args.data.data.display().to_string()),
        columns.len()
    );
    let width = columns.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    for column in columns {
        let gap = " ".repeat(width - column.name.chars().count());
        let missing = if column.missing > 0 { format!(", {} missing", column.missing) } else { String::new() };
        let range = if column.range.is_empty() { String::new() } else { format!(" {}", column.range) };
        let line = format!("#   {}{gap}  {}{range}{missing}", column.name, column.kind);
        let _ = writeln!(out, "{}", printable(&line));
        for oddity in &column.oddities {
            let _ = writeln!(out, "#   {}    look: {}", " ".repeat(width), printable(oddity));
        }
    }
    out += "\n[columns]\n";
    // Two values suggest a treatment; anything with more could be an outcome.
    let two: Vec<&str> = columns.iter().filter(|c| c.distinct == 2).map(|c| c.name.as_str()).collect();
    let choice = |out: &mut String, role: &str, meaning: &str, candidates: &[&str]| {
        let _ = writeln!(out, "# {meaning}");
        match with_role(role) {
            Some(column) => {
                let _ = writeln!(out, "{role} = {}", quoted(&column.name));
            }
            None => {
                let some: Vec<String> = candidates.iter().take(6).map(|name| quoted(name)).collect();
                let some = if some.is_empty() { String::new() } else { format!("  # perhaps {}", some.join(", ")) };
                let _ = writeln!(out, "# {role} = \"?\"{some}");
            }
        }
    };
    choice(&mut out, "treatment", "Who was treated: the column, required.", &two);
    let numbers: Vec<&str> =
        columns.iter().filter(|c| c.kind.contains("number")).rev().map(|c| c.name.as_str()).collect();
    choice(&mut out, "outcome", "What the treatment may change: the column, required.", &numbers);
    let set = |out: &mut String, key: &str, value: Option<String>, example: &str, meaning: &str| {
        let line = value.map_or_else(|| format!("# {key} = {example}"), |value| format!("{key} = {value}"));
        let _ = writeln!(out, "# {meaning}\n{line}");
    };
    let treated = roles.treated_value.as_deref().map(quoted);
    set(&mut out, "treated_value", treated, "\"1\"", "Its value that means treated, when it is not 0/1.");
    let control = roles.control_value.as_deref().map(quoted);
    set(&mut out, "control_value", control, "\"0\"", "Its value that means control.");
    let features = (!roles.features.is_empty()).then(|| list(&roles.features));
    set(
        &mut out,
        "features",
        features,
        "[\"age\", \"x_*\"]",
        "Columns to adjust for, known before the treatment; all others if not given.",
    );
    let ignore: Vec<String> = if roles.ignore.is_empty() {
        columns.iter().filter(|c| c.role == "truth?").map(|c| c.name.clone()).collect()
    } else {
        roles.ignore.clone()
    };
    let ignore = (!ignore.is_empty()).then(|| list(&ignore));
    set(
        &mut out,
        "ignore",
        ignore,
        "[]",
        "Columns to leave out: identifiers, and whatever was measured after the treatment.",
    );
    let id = with_role("id").map(|c| quoted(&c.name));
    set(&mut out, "id", id, "\"id\"", "The column that names the rows.");
    for (role, meaning) in [
        ("weight", "Row weights."),
        ("group", "Clusters whose rows stay together."),
        ("propensity", "Propensities known from the study's design."),
    ] {
        let value = with_role(role).filter(|c| c.role == role).map(|c| quoted(&c.name));
        set(&mut out, role, value, &format!("\"{role}\""), meaning);
    }
    out += &reading(args);
    let _ = writeln!(
        out,
        "\n[fit]\n# See `paretau list estimators`.\nestimator = {}\n# Columns whose groups get an average effect each.\n# by = \
         [\"sex\"]\n# Columns on which the effect is projected.\n# projection = [\"age\"]\n# Whose average is the headline: ate, att, atc or ato.\n# estimand = \"ate\"",
        quoted(entry.info().name)
    );
    let _ = writeln!(out, "\n[parameters]\n# Of {}; the values are the defaults.", entry.info().name);
    let defaults = entry.defaults();
    for spec in entry.params() {
        let value = &defaults[spec.name];
        // Only what TOML writes in one line can be shown as it would be typed.
        let text = match toml::Value::try_from(value) {
            Ok(toml::Value::Table(_)) | Err(_) => quoted(&param_text(value)),
            Ok(value) => value.to_string(),
        };
        let _ = writeln!(out, "# {}\n# {} = {text}", spec.help, spec.name);
    }
    out
}

fn reading(args: &InitArgs) -> String {
    let read = &args.data.read;
    let mut out = String::from("\n[reading]\n# How cells are written; what is not given is found from the cells.\n");
    let mut line = |key: &str, value: Option<String>, example: &str| {
        let _ = match value {
            Some(value) => writeln!(out, "{key} = {value}"),
            None => writeln!(out, "# {key} = {example}"),
        };
    };
    let several = |names: &[String]| (!names.is_empty()).then(|| list(names));
    line("decimal", read.decimal.map(|c| quoted(&c.to_string())), "\",\"");
    line("thousands", read.thousands.map(|c| quoted(&c.to_string())), "\".\"");
    line("na", several(&read.na), "[\"-\", \"unknown\", \"-999\"]");
    line("numeric", several(&read.numeric), "[\"dose\"]");
    line("categorical", several(&read.categorical), "[\"site\"]");
    line("date_order", read.date_order.as_deref().map(quoted), "\"dmy\"");
    line("sheet", read.sheet.as_deref().map(quoted), "\"Sheet1\"");
    line("no_header", read.no_header.then(|| "true".to_owned()), "true");
    out
}
