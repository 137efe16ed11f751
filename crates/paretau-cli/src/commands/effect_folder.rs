//! `paretau effect` into a folder: one output per input file under the same name, each written whole or not at all, and a
//! list of what was made from what, so that a run that was stopped goes on where it ended.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use paretau::data::{DataFiles, Format};
use paretau::identity::{difference, file_digest};
use paretau::{Error, Model};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{Common, EffectArgs};
use crate::commands::data::bad_argument;
use crate::commands::effect::{EffectOutput, Scoring};
use crate::out_path::{self, InUse};
use crate::output;
use crate::progress::Progress;

/// The list in the output folder; readers of folders leave out names that begin with an underscore.
const LIST: &str = "_effects.jsonl";

/// How every line of the list begins.
const FIRST: &str = "{\"file\":";

/// A line of the list: an output that is complete, and what it was made from.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// The output's path within the folder.
    file: PathBuf,
    identity: Value,
    /// Digest of the output.
    output: String,
    rows: usize,
    /// Sum of the effects.
    total: f64,
}

/// Whether an output is a folder: one that is there, or a name that ends like one.
pub(super) fn is_folder(out: &Path) -> bool {
    out.is_dir() || out.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}

pub(super) fn run(args: &EffectArgs, common: &Common) -> Result<()> {
    let files = match DataFiles::find(&args.data)? {
        Some(files) => files,
        None if args.data.as_os_str() == "-" => {
            return Err(bad_argument("out", &args.out.display().to_string(), "a file when rows come on stdin").into());
        }
        None => DataFiles::one(&args.data),
    };
    let model = Model::load(&args.model)?;
    let in_use = InUse::of(&[&args.data, &args.model]);
    in_use.check("out", &args.out.join(LIST))?;
    for part in &files.parts {
        check_output(args, &part.path, &args.out.join(&part.relative), &in_use)?;
    }
    make_folder(&args.out)?;
    let list = List::open(&args.out)?;
    let made = list.read()?;
    let progress = Progress::new(common.quiet);
    let scoring = Scoring::new(&model, args, common, &progress);
    let of_all = json!({
        "model": file_digest(&args.model)?, "version": env!("CARGO_PKG_VERSION"), "interval": args.interval, "kind": args.kind,
        "id": scoring.id, "reading": reading(args),
    });
    let mut kept = vec![];
    if args.resume {
        kept = still_good(&files, made, &of_all, args, &progress)?;
    }
    list.start(&kept)?;
    let (mut all, mut n_skipped) = (EffectOutput::default(), 0);
    let (mut n_rows, mut total) = (0, 0.0);
    for part in &files.parts {
        let out = args.out.join(&part.relative);
        if let Some(made) = kept.iter().find(|made| made.file == part.relative) {
            n_skipped += 1;
            n_rows += made.rows;
            total += made.total;
            continue;
        }
        if let Some(folder) = out.parent() {
            make_folder(folder)?;
        }
        out_path::check_beside("out", &out, out_path::Kind::Table, &in_use, args.force.into())?;
        // The digest before the rows: a file that changes while it is read is not taken for the one that was read.
        let identity = with_data(&of_all, &part.path)?;
        let scored = scoring.files(files.only(part), &out)?.finish(&[])?;
        n_rows += scored.n_rows;
        total += scored.total;
        list.add(&Made {
            file: part.relative.clone(),
            identity,
            output: file_digest(&out)?,
            rows: scored.n_rows,
            total: scored.total,
        })?;
        all.join(scored);
    }
    all.notes(&scoring);
    drop(progress);
    let (n_files, mean) = (files.parts.len(), total / n_rows.max(1) as f64);
    if common.json {
        return output::json(&json!({
            "rows": n_rows, "mean_effect": mean, "files": n_files, "skipped": n_skipped, "out": output::path(&args.out),
        }));
    }
    let skipped = if n_skipped > 0 { format!(" ({n_skipped} were complete and were skipped)") } else { String::new() };
    let files = if n_files == 1 { "1 file".to_owned() } else { format!("{n_files} files") };
    output::text(&format!(
        "{n_rows} rows of {files}{skipped}, mean effect {}, in {}",
        output::number(mean),
        args.out.display()
    ))
}

/// Outputs that are complete and were made by the same model from the same files; an error where one was made from
/// something else.
fn still_good(
    files: &DataFiles,
    made: Vec<Made>,
    of_all: &Value,
    args: &EffectArgs,
    progress: &Progress,
) -> Result<Vec<Made>> {
    let mut kept: Vec<Made> = vec![];
    // Of two lines about one output, the later counts.
    for made in made.into_iter().rev() {
        let Some(part) = files.parts.iter().find(|part| part.relative == made.file) else { continue };
        let out = args.out.join(&made.file);
        if kept.iter().any(|other| other.file == made.file) || !out.is_file() {
            continue;
        }
        progress.check_interrupt()?;
        if let Some(what) = difference(&made.identity, &with_data(of_all, &part.path)?) {
            let message = format!(
                "was made from something else: {what} differ; restore what it was, leave --resume out to write all files \
                 again, or choose another folder"
            );
            return Err(Error::File { path: out, column: None, row: None, message }.into());
        }
        if file_digest(&out)? == made.output {
            kept.push(made);
        }
    }
    kept.reverse();
    Ok(kept)
}

/// The identity with the digest of one file of rows.
fn with_data(of_all: &Value, data: &Path) -> Result<Value> {
    let mut identity = of_all.clone();
    identity["rows"] = json!(file_digest(data)?);
    Ok(identity)
}

/// How cells are read, as far as the arguments say.
fn reading(args: &EffectArgs) -> Value {
    let read = &args.read;
    json!([
        read.no_header,
        read.decimal,
        read.thousands,
        read.na,
        read.numeric,
        read.categorical,
        read.date_order,
        read.sheet
    ])
}

/// The same name must be one that a table can be written under, and must not be an input.
fn check_output(args: &EffectArgs, data: &Path, out: &Path, in_use: &InUse) -> Result<()> {
    let writable = [Format::Csv, Format::Tsv, Format::Parquet, Format::Arrow];
    if !Format::from_path(out).is_ok_and(|format| writable.contains(&format)) {
        let message =
            "effects cannot be written under its name in this format; name one output file, as in --out FILE.csv";
        return Err(Error::File { path: data.to_owned(), column: None, row: None, message: message.to_owned() }.into());
    }
    if out.parent().is_some_and(Path::is_dir) {
        return out_path::check_beside("out", out, out_path::Kind::Table, in_use, args.force.into());
    }
    in_use.check("out", out)
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_owned(), source }.into())
}

/// The list of outputs, held by one process at a time.
struct List {
    path: PathBuf,
    file: File,
}

impl List {
    fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(LIST);
        let io = |source| Error::Io { path: path.clone(), source };
        let file = OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(io)?;
        if file.try_lock().is_err() {
            let message = "another process writes effects into this folder; wait for it, or choose another folder";
            return Err(Error::File { path, column: None, row: None, message: message.to_owned() }.into());
        }
        Ok(Self { path, file })
    }

    /// The lines so far. The last may be cut where a process was killed; its output is made again.
    fn read(&self) -> Result<Vec<Made>> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let mut text = String::new();
        File::open(&self.path).and_then(|mut file| file.read_to_string(&mut text)).map_err(io)?;
        let made: Vec<Made> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        // A first line that was cut is still the beginning of one of ours.
        let is_cut = text.starts_with(FIRST) || FIRST.starts_with(&text);
        if made.is_empty() && !is_cut {
            let message = "is no list of effects, which would replace it; choose another folder";
            return Err(
                Error::File { path: self.path.clone(), column: None, row: None, message: message.to_owned() }.into()
            );
        }
        Ok(made)
    }

    /// Begins the list with the outputs that are kept.
    fn start(&self, kept: &[Made]) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        self.file.set_len(0).map_err(io)?;
        kept.iter().try_for_each(|made| self.add(made))
    }

    fn add(&self, made: &Made) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let line = serde_json::to_string(made)? + "\n";
        (&self.file).write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(io)?;
        Ok(())
    }
}
