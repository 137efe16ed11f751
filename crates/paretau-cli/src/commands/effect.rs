//! `paretau effect`: each row's effect, streamed in record batches so that memory does not grow with the file.

use std::path::Path;

use anyhow::Result;
use paretau::data::{BatchReader, DataFiles, Field, ReadOptions, Table, TableWriter, TransformReport};
use paretau::{FeatureMatches, IntervalKind, Model, Predictions};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::args::{Common, EffectArgs};
use crate::progress::Progress;
use crate::{
    commands::{data, effect_folder},
    out_path,
    output::{self, JsonRows},
};

/// Cells of the feature matrix that a batch may have: wide tables are read in shorter batches, so that memory stays
/// within bounds and Ctrl-C takes effect soon.
const BATCH_CELLS: usize = 1 << 21;
/// Columns named in the note on what the model does not use.
const NAMED: usize = 10;

pub(crate) fn run(args: &EffectArgs, common: &Common) -> Result<()> {
    let level = args.interval;
    IntervalKind::find(&args.kind)?;
    if level.is_some_and(|level| !(level > 0.0 && level < 1.0)) {
        return Err(data::bad_argument(
            "interval",
            &level.unwrap_or_default().to_string(),
            "a probability between 0 and 1",
        )
        .into());
    }
    if effect_folder::is_folder(&args.out) {
        return effect_folder::run(args, common);
    }
    if args.resume {
        let expected = "a folder, as in --out effects/, whose files can be skipped";
        return Err(data::bad_argument("resume", &args.out.display().to_string(), expected).into());
    }
    let files = DataFiles::find(&args.data)?;
    out_path::check("out", &args.out, out_path::Kind::Table, &[&args.data, &args.model], args.force.into())?;
    let model = Model::load(&args.model)?;
    let progress = Progress::new(common.quiet);
    let scoring = Scoring::new(&model, args, common, &progress);
    let scored = match files {
        Some(files) => scoring.files(files, &args.out)?,
        None => scoring.file(&args.data, &args.out)?,
    };
    let facts = scored.facts(&model);
    scored.finish(&facts)?.notes(&scoring);
    drop(progress);
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    if common.json {
        let mut document: Map<String, Value> = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        document.insert("out".to_owned(), output::path(&args.out));
        return output::json(&Value::Object(document));
    }
    let mean = facts[1].1.as_f64().unwrap_or_default();
    output::text(&format!("{} rows, mean effect {}, in {}", facts[0].1, output::number(mean), args.out.display()))
}

/// What is the same for all rows and files.
pub(super) struct Scoring<'a> {
    pub(super) model: &'a Model,
    pub(super) args: &'a EffectArgs,
    pub(super) progress: &'a Progress,
    common: &'a Common,
    /// The column that names the rows.
    pub(super) id: Option<String>,
    batch_rows: usize,
}

impl<'a> Scoring<'a> {
    pub(super) fn new(model: &'a Model, args: &'a EffectArgs, common: &'a Common, progress: &'a Progress) -> Self {
        let id = args.id.clone().or_else(|| model.about().roles.id.clone());
        let batch_rows = (BATCH_CELLS / model.encoder().columns().len().max(1)).clamp(256, BatchReader::BATCH_ROWS);
        Self { model, args, progress, common, id, batch_rows }
    }

    /// How the data are read, and which of their columns.
    fn options(&self) -> Result<ReadOptions> {
        let read = data::read_options(&self.args.read, None)?;
        Ok(paretau::effect_fields(self.model, self.id.as_deref(), read))
    }

    fn file(&self, data: &Path, out: &Path) -> Result<EffectOutput> {
        let options = self.options()?;
        self.batches(BatchReader::open(data, &options, self.batch_rows)?, out)
    }

    /// The effects of the rows of several files as one table.
    pub(super) fn files(&self, files: DataFiles, out: &Path) -> Result<EffectOutput> {
        let options = self.options()?;
        self.batches(BatchReader::open_files(files, &options, self.batch_rows)?, out)
    }

    fn batches(&self, mut reader: BatchReader, out: &Path) -> Result<EffectOutput> {
        let (model, args, progress, id) = (self.model, self.args, self.progress, self.id.as_deref());
        let interval = match args.interval {
            Some(level) => Some((level, IntervalKind::find(&args.kind)?)),
            None => None,
        };
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
                            let rows = paretau::effect_rows(model, batch, &predictions, id, interval)?;
                            Ok((rows, predictions))
                        })
                        .collect();
                    current.iter().flat_map(|batch| &batch.notes).for_each(|note| progress.print_line(note));
                    output_rows.add(rows, |fields| Out::create(out, self.common, fields))
                },
            );
            written?;
            batches = next?;
            progress.reading("effects", reader.position());
        }
        progress.check_interrupt()?;
        output_rows.left_out = reader.left_out();
        Ok(output_rows)
    }
}

/// The output of the batches so far.
#[derive(Default)]
pub(super) struct EffectOutput {
    writer: Option<Out>,
    report: Option<TransformReport>,
    pub(super) n_rows: usize,
    /// Sum of the effects.
    pub(super) total: f64,
    /// Rows with the features of training rows.
    feature_matches: FeatureMatches,
    /// Columns that were not read.
    left_out: Vec<String>,
}

impl EffectOutput {
    /// Facts about the rows besides their effects.
    fn facts(&self, model: &Model) -> [(&'static str, Value); 4] {
        let learned_from = model.learned_from(self.feature_matches);
        [
            ("rows", json!(self.n_rows)),
            ("mean_effect", json!(self.total / self.n_rows as f64)),
            ("learned_from", json!(learned_from)),
            ("in_sample", json!(learned_from > 0)),
        ]
    }

    /// Completes the output.
    pub(super) fn finish(mut self, facts: &[(&str, Value)]) -> Result<Self> {
        if let Some(writer) = self.writer.take() {
            writer.finish(facts)?;
        }
        Ok(self)
    }

    /// Adds what another file's rows gave.
    pub(super) fn join(&mut self, other: Self) {
        self.n_rows += other.n_rows;
        self.total += other.total;
        self.feature_matches.add(other.feature_matches);
        match (&mut self.report, other.report) {
            (Some(report), Some(more)) => report.add(&more),
            (report, more) => *report = report.take().or(more),
        }
        for name in other.left_out {
            if !self.left_out.contains(&name) {
                self.left_out.push(name);
            }
        }
    }

    /// Tells what the analyst should know of the rows.
    pub(super) fn notes(mut self, scoring: &Scoring<'_>) {
        let Scoring { model, args, progress, id, .. } = scoring;
        let (learned_from, n_rows) = (model.learned_from(self.feature_matches), self.n_rows);
        if learned_from > 0 && !args.in_sample {
            progress.print_line(&format!(
                "{learned_from} of {n_rows} rows were learned from (their features are those of training rows): their effects \
                 are in-sample and look surer than those of new people (--in-sample silences this)"
            ));
        }
        // The treatment and the identifiers were read on purpose; what was not read is listed below.
        if let Some(report) = &mut self.report {
            let roles = &model.about().roles;
            report.extra.retain(|name| *name != roles.treatment && *name != roles.outcome && id.as_ref() != Some(name));
        }
        for note in self.report.iter().flat_map(TransformReport::notes) {
            progress.print_line(&note);
        }
        note_unused_columns(&self.left_out, model, progress);
        if let (Some(_), Ok(kind)) = (args.interval, IntervalKind::find(&args.kind)) {
            progress.print_line(kind.words());
        }
    }

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
    fn create(out: &Path, common: &Common, fields: &[Field]) -> Result<Self> {
        if common.json && out.as_os_str() == "-" {
            return Ok(Self::Json(JsonRows::start("effects")?));
        }
        Ok(Self::Table(TableWriter::create(out, fields)?))
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
