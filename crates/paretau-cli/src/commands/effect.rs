//! `paretau effect`: each row's effect, streamed in record batches so that memory does not grow with the file.

use anyhow::Result;
use paretau::data::{BatchReader, Table, TableColumn, TableWriter, TransformReport};
use paretau::{Model, Predictions};
use serde_json::json;

use crate::args::{Common, EffectArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &EffectArgs, common: &Common) -> Result<()> {
    let level = args.interval;
    if level.is_some_and(|level| !(level > 0.0 && level < 1.0)) {
        return Err(
            data::wrong("interval", &level.unwrap_or_default().to_string(), "a probability between 0 and 1").into()
        );
    }
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let id = args.id.clone().or_else(|| model.about().roles.id.clone());
    let mut options = data::read_options(args.no_header, id.as_deref());
    for field in model.encoder().fields() {
        options = options.with_field(field);
    }
    let mut writer = None;
    let mut report = None;
    let (mut n_rows, mut total) = (0, 0.0);
    for batch in BatchReader::open(&args.data, &options, BatchReader::BATCH_ROWS)? {
        let batch = batch?;
        let predictions = model.predict(&batch)?;
        n_rows += batch.n_rows();
        total += predictions.effects.tau.iter().sum::<f64>();
        let rows = rows(&model, &batch, &predictions, id.as_deref(), level)?;
        let out = match &mut writer {
            Some(writer) => writer,
            None => writer.insert(TableWriter::create(&args.out, &rows.fields())?),
        };
        out.write_batch(&rows)?;
        match &mut report {
            None => report = Some(predictions.report),
            Some(report) => report.add(&predictions.report),
        }
    }
    if let Some(writer) = writer {
        writer.finish()?;
    }
    for note in report.iter().flat_map(TransformReport::notes) {
        progress.say(&note);
    }
    drop(progress);
    let mean = total / n_rows as f64;
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    if common.json {
        return output::json(&json!({ "rows": n_rows, "mean_effect": mean, "out": args.out }));
    }
    output::text(&format!("{n_rows} rows, mean effect {}, in {}", output::number(mean), args.out.display()))
}

/// The output's columns for one batch: id, `mu0, mu1, tau[, lo, hi], e[, w_raw, w]`.
fn rows(model: &Model, batch: &Table, p: &Predictions, id: Option<&str>, level: Option<f64>) -> Result<Table> {
    let mut columns = vec![];
    if let Some(id) = id {
        columns.push(batch.require(id)?.clone());
    }
    let effects = &p.effects;
    columns.push(TableColumn::number("mu0", effects.mu0.clone()));
    columns.push(TableColumn::number("mu1", effects.mu1.clone()));
    columns.push(TableColumn::number("tau", effects.tau.clone()));
    if let Some(level) = level {
        let (lo, hi) = model.interval(effects, level)?;
        columns.push(TableColumn::number("lo", lo));
        columns.push(TableColumn::number("hi", hi));
    }
    columns.push(TableColumn::number("e", p.e.clone()));
    if let (Some(t), Some(weights)) = (&p.t, &p.weights) {
        // A row whose arm is not known has no weight: an empty cell.
        let known =
            |values: &[f64]| values.iter().zip(t).map(|(&w, t)| if t.is_some() { w } else { f64::NAN }).collect();
        columns.push(TableColumn::number("w_raw", known(&weights.raw)));
        columns.push(TableColumn::number("w", known(&weights.smooth)));
    }
    Ok(Table::new(columns)?)
}
