//! `paretau policy`: whom to treat, as a readable tree with its value.

use anyhow::Result;
use paretau::data::Table;
use paretau::data::{TableColumn, TableWriter, Text};
use paretau::{Cost, Model, PolicyRequest, Seed};

use crate::args::{Common, PolicyArgs};
use crate::progress::Progress;
use crate::{commands::data, out_path, output};

pub(crate) fn run(args: &PolicyArgs, common: &Common) -> Result<()> {
    if let Some(budget) = args.budget.filter(|b| !(0.0..=1.0).contains(b)) {
        return Err(data::bad_argument("budget", &budget.to_string(), "a share from 0 to 1").into());
    }
    if args.depth > paretau::eval::MOST_DEPTH {
        return Err(data::bad_argument("depth", &args.depth.to_string(), "a depth from 0 to 3").into());
    }
    let cost = match args.cost.as_deref() {
        None => Cost::None,
        Some(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Cost::Number(number),
            Ok(_) => return Err(data::bad_argument("cost", text, "a finite number or a column").into()),
            Err(_) => Cost::Column(text.to_owned()),
        },
    };
    if let Some(out) = &args.out {
        out_path::check("out", out, out_path::Kind::Table, &[&args.data.data, &args.model], args.force.into())?;
    }
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, Some(&model.about().roles))?;
    let table = data::table(&args.data, Some(&model), &progress)?;
    let n_table = table.n_rows();
    let request = PolicyRequest { cost, budget: args.budget, depth: args.depth, lower_is_better: args.lower_is_better };
    let policy = paretau::policy(&model, table, &roles, &request, Seed(common.seed), &progress)?;
    drop(progress);
    if let Some(out) = &args.out {
        // Rows that were left out have no recommendation: an empty cell.
        let mut cells: Vec<Option<&str>> = vec![None; n_table];
        for (&row, &arm) in policy.rows.iter().zip(&policy.recommended) {
            cells[row] = policy.arms.get(arm).map(String::as_str);
        }
        let table = Table::new(vec![TableColumn::text("arm", Text::from_cells(cells))])?;
        let mut writer = TableWriter::create(out, &table.fields())?;
        writer.write_batches(&[table])?;
        writer.finish()?;
    }
    if common.json {
        return output::json(&serde_json::to_value(&policy)?);
    }
    let estimate = |score: &paretau::nuisance::Score| match score.interval(0.95) {
        Some((lo, hi)) => {
            let [value, lo, hi] = paretau::alike([score.value, lo, hi]);
            format!("{value} ({lo} to {hi})")
        }
        None => output::number(score.value),
    };
    let rows: Vec<Vec<String>> = (policy.policies.iter())
        .map(|p| {
            let share = format!("{:.1} %", 100.0 * p.value.share_treated);
            let cells = [&p.value.over_none, &p.value.over_best_constant, &p.value.over_all].map(&estimate);
            [vec![p.name.to_owned(), share], cells.to_vec()].concat()
        })
        .collect();
    let curve: Vec<Vec<String>> = (policy.targeting.iter())
        .map(|point| vec![format!("{:.0} %", 100.0 * point.q), estimate(&point.toc)])
        .collect();
    let header = ["policy", "treated", "gain over none", "over the best single decision", "over everyone"];
    output::text(&format!(
        "{}\nthe tree, chosen on all {} rows, treats {:.1} %:\n  {}\n\ngain per row, with 95 % intervals\n{}\n\n{}{}",
        policy.notes.join("\n"),
        policy.n_rows,
        100.0 * policy.share_treated,
        policy.words.join("\n  "),
        output::table(&header, &rows),
        policy.in_words(),
        if curve.is_empty() {
            String::new()
        } else {
            format!(
                "\n\ntargeting curve: gain of the first treated by the model's ranking over the mean gain\n{}",
                output::table(&["treated", "gain over the mean"], &curve)
            )
        }
    ))
}
