//! `paretau effect`: each row's effect, streamed in record batches so that memory does not grow with the file.

use anyhow::Result;
use paretau::data::{BatchReader, Field, Kind, ReadOptions, Table, TableColumn, TableWriter, TransformReport};
use paretau::{FeatureMatches, IntervalKind, Model, Predictions};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::args::{Common, EffectArgs};
use crate::progress::Progress;
use crate::{
    commands::data,
    out_path,
    output::{self, JsonRows},
};

/// Cells of the feature matrix that a batch may have: wide tables are read in shorter batches, so that memory stays
/// within bounds and Ctrl-C takes effect soon.
const BATCH_CELLS: usize = 1 << 21;
/// Columns named in the note on what the model does not use.
const NAMED: usize = 10;

pub(crate) fn run(args: &EffectArgs, common: &Common) -> Result<()> {
    let (level, kind) = (args.interval, IntervalKind::find(&args.kind)?);
    if level.is_some_and(|level| !(level > 0.0 && level < 1.0)) {
        return Err(data::bad_argument(
            "interval",
            &level.unwrap_or_default().to_string(),
            "a probability between 0 and 1",
        )
        .into());
    }
    out_path::check("out", &args.out, out_path::Kind::Table, &[&args.data, &args.model], args.force)?;
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let id = args.id.clone().or_else(|| model.about().roles.id.clone());
    let batch_rows = (BATCH_CELLS / model.encoder().columns().len().max(1)).clamp(256, BatchReader::BATCH_ROWS);
    let mut reader = BatchReader::open(&args.data, &read_options_for(&model, args, id.as_deref())?, batch_rows)?;
    let mut output_rows = EffectOutput::default();
    let mut batches = reader.next_batches().transpose()?;
    while let Some(current) = batches {
        progress.check_interrupt()?;
        // The next batches are read while these are predicted and written.
        let (next, written) = rayon::join(
            || reader.next_batches().transpose(),
            || -> Result<()> {
                let rows: Vec<Result<(Table, Predictions)>> = current
                    .par_iter()
                    .map(|batch| {
                        let predictions = model.predict(batch)?;
                        Ok((
                            rows(&model, batch, &predictions, id.as_deref(), level.map(|level| (level, kind)))?,
                            predictions,
                        ))
                    })
                    .collect();
                current.iter().flat_map(|batch| &batch.notes).for_each(|note| progress.print_line(note));
                output_rows.add(rows, |fields| Out::create(args, common, fields))
            },
        );
        written?;
        batches = next?;
        progress.reading("effects", reader.position());
    }
    let EffectOutput { writer, mut report, n_rows, total, feature_matches } = output_rows;
    progress.check_interrupt()?;
    let learned_from = model.learned_from(feature_matches);
    let facts = [
        ("rows", json!(n_rows)),
        ("mean_effect", json!(total / n_rows as f64)),
        ("learned_from", json!(learned_from)),
        ("in_sample", json!(learned_from > 0)),
    ];
    if let Some(writer) = writer {
        writer.finish(&facts)?;
    }
    if learned_from > 0 && !args.in_sample {
        progress.print_line(&format!(
            "{learned_from} of {n_rows} rows were learned from (their features are those of training rows): their effects are \
             in-sample and look surer than those of new people (--in-sample silences this)"
        ));
    }
    // The treatment and the identifiers were read on purpose; what was not read is listed below.
    if let Some(report) = &mut report {
        let roles = &model.about().roles;
        report.extra.retain(|name| *name != roles.treatment && *name != roles.outcome && id.as_ref() != Some(name));
    }
    for note in report.iter().flat_map(TransformReport::notes) {
        progress.print_line(&note);
    }
    note_unused_columns(&reader.left_out(), &model, &progress);
    if level.is_some() {
        progress.print_line(kind.words());
    }
    drop(progress);
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    if common.json {
        let mut document: Map<String, Value> = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        document.insert("out".to_owned(), json!(args.out));
        return output::json(&Value::Object(document));
    }
    let mean = total / n_rows as f64;
    output::text(&format!("{n_rows} rows, mean effect {}, in {}", output::number(mean), args.out.display()))
}

/// The output of the batches so far.
#[derive(Default)]
struct EffectOutput {
    writer: Option<Out>,
    report: Option<TransformReport>,
    n_rows: usize,
    /// Sum of the effects.
    total: f64,
    /// Rows with the features of training rows.
    feature_matches: FeatureMatches,
}

impl EffectOutput {
    /// Adds batches in their order, those before an error included.
    fn add(
        &mut self,
        batches: Vec<Result<(Table, Predictions)>>,
        create: impl FnOnce(&[Field]) -> Result<Out>,
    ) -> Result<()> {
        let (mut tables, mut failed) = (Vec::with_capacity(batches.len()), None);
        for batch in batches {
            match batch {
                Ok((rows, predictions)) => {
                    self.n_rows += rows.n_rows();
                    self.total += predictions.arms[0].tau.iter().sum::<f64>();
                    self.feature_matches.add(predictions.feature_matches);
                    match &mut self.report {
                        None => self.report = Some(predictions.report),
                        Some(report) => report.add(&predictions.report),
                    }
                    tables.push(rows);
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if let Some(first) = tables.first() {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => self.writer.insert(create(&first.fields())?),
            };
            writer.write(&tables)?;
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Where the effects go: a file, CSV on stdout, or with `--json` a JSON document on stdout.
enum Out {
    Table(TableWriter),
    Json(JsonRows),
}

impl Out {
    fn create(args: &EffectArgs, common: &Common, fields: &[Field]) -> Result<Self> {
        if common.json && args.out.as_os_str() == "-" {
            return Ok(Self::Json(JsonRows::start("effects")?));
        }
        Ok(Self::Table(TableWriter::create(&args.out, fields)?))
    }

    fn write(&mut self, batches: &[Table]) -> Result<()> {
        match self {
            Self::Table(writer) => Ok(writer.write_batches(batches)?),
            Self::Json(out) => batches.iter().try_for_each(|rows| out.batch(rows)),
        }
    }

    fn finish(self, facts: &[(&str, Value)]) -> Result<()> {
        match self {
            Self::Table(writer) => Ok(writer.finish()?),
            Self::Json(out) => out.finish(facts),
        }
    }
}

/// The columns that the model reads, the one that names the rows and, if it is there, the treatment; no others.
fn read_options_for(model: &Model, args: &EffectArgs, id: Option<&str>) -> Result<ReadOptions> {
    let encoder = model.encoder();
    let mut fields = encoder.fields();
    fields.extend(encoder.sparse_fields());
    // The first kind given wins: a feature that also names the rows is read as the model needs it.
    if let Some(id) = id.filter(|id| !fields.iter().any(|field| field.name == *id)) {
        fields.push(Field::new(id, Kind::Text));
    }
    let treatment = Field::new(model.about().roles.treatment.clone(), Kind::Text);
    let read = data::read_options(&args.read, None)?.like(&model.about().reading);
    Ok(ReadOptions { fields, optional: vec![treatment], only_fields: true, ..read })
}

/// Columns that had no role at the fit and are not read now: perhaps a feature was renamed or forgotten.
fn note_unused_columns(left_out: &[String], model: &Model, progress: &Progress) {
    let roles = &model.about().roles;
    let (mu0, mu1) = roles.truth.as_ref().map_or(("", ""), |(mu0, mu1)| (mu0, mu1));
    let known = [roles.outcome.as_str(), mu0, mu1];
    let names: Vec<&str> = left_out.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
    if names.is_empty() {
        return;
    }
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    progress
        .print_line(&format!("columns not used by the model: {}{more}", names[..names.len().min(NAMED)].join(", ")));
}

/// The output's columns for one batch: id, `mu0, mu1, tau[, lo, hi], e[, w_raw, w]`, and for each further arm of a fit
/// with several `mu_ARM, tau_ARM[, lo_ARM, hi_ARM]`.
pub(super) fn rows(
    model: &Model,
    batch: &Table,
    p: &Predictions,
    id: Option<&str>,
    interval: Option<(f64, IntervalKind)>,
) -> Result<Table> {
    let mut columns = vec![];
    if let Some(id) = id {
        columns.push(batch.require(id)?.clone());
    }
    let effects = &p.arms[0];
    columns.push(TableColumn::number("mu0", effects.mu0.clone()));
    columns.push(TableColumn::number("mu1", effects.mu1.clone()));
    columns.push(TableColumn::number("tau", effects.tau.clone()));
    if let Some((level, kind)) = interval {
        let (lo, hi) = match kind {
            IntervalKind::Conditional => model.interval(&effects.tau, effects.se.as_deref(), level)?,
            IntervalKind::Individual => model.individual_interval(batch, level)?,
        };
        columns.push(TableColumn::number("lo", lo));
        columns.push(TableColumn::number("hi", hi));
    }
    columns.push(TableColumn::number("e", p.e.clone()));
    if let Some(weights) = &p.weights {
        // A row whose arm is not known has no weight: an empty cell.
        columns.push(TableColumn::number("w_raw", weights.raw.clone()));
        columns.push(TableColumn::number("w", weights.smooth.clone()));
    }
    for (arm, effects) in model.about().further_arms().iter().zip(&p.arms[1..]) {
        let named = |what: &str, values| TableColumn::number(format!("{what}_{}", arm.name), values);
        columns.push(named("mu", effects.mu1.clone()));
        columns.push(named("tau", effects.tau.clone()));
        // Intervals of individual effects are refused above where there are further arms.
        if let Some((level, _)) = interval {
            let (lo, hi) = model.interval(&effects.tau, effects.se.as_deref(), level)?;
            columns.push(named("lo", lo));
            columns.push(named("hi", hi));
        }
    }
    Ok(Table::new(columns)?)
}
