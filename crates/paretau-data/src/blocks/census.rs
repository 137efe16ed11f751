//! The first pass over a table larger than memory: what must be known about all rows before any of them is used.
//!
//! Exact over all rows: their number, the kinds of the columns, the texts of each column with their counts, missing cells, the
//! arms, constant columns and copies. From a sample of [`SAMPLED_ROWS`](super::SAMPLED_ROWS) rows (fewer where columns are
//! very many): medians of numbers, which fill gaps, and codes for missing values among amounts.

use std::path::{Path, PathBuf};

use paretau_core::{Error, OutcomeKind, Result, Warning};

use super::counted::{Cells, Counted};
use super::recoded::Recoded;
use super::sample::Sample;
use crate::encoder::{Encoder, EncoderPolicy};
use crate::interner::Interner;
use crate::read::{BatchReader, ReadOptions, Watch, by_first_rows};
use crate::roles::{RoleSpec, assign, assign_all_arms, counts_rows};
use crate::table::{ColumnData, FilePart, Table, Text, format_number};

/// Different texts of a column that are counted. Groups may have any number.
const MOST_LEVELS: usize = 1 << 20;

/// What is known about all rows of a table that was read once.
#[derive(Debug)]
pub struct Census {
    pub(super) path: PathBuf,
    /// How the file is read again.
    pub(super) options: ReadOptions,
    /// No rows, but what was found about the file.
    pub(super) facts: Table,
    pub(super) n_rows: usize,
    pub(super) counted: Vec<Counted>,
    pub(super) parts: Vec<FilePart>,
    /// Sampled rows with all columns.
    sample: Table,
    /// The columns in their roles.
    roles: RoleSpec,
    /// Names of the arms, the control first.
    arms: Vec<String>,
    features: Vec<String>,
    notes: Vec<String>,
    warnings: Vec<Warning>,
}

impl Census {
    /// Reads a file, a folder or a glob once. With `several`, every value of the treatment is an arm.
    pub fn take(
        path: &Path,
        options: &ReadOptions,
        roles: &RoleSpec,
        several: bool,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let (mut options, facts) = by_first_rows(path, options)?;
        // Truth scores and never fits, and names of rows may be as many as rows: neither is read.
        let mut unread: Vec<&String> = roles.id.iter().filter(|id| roles.group.as_ref() != Some(*id)).collect();
        unread.extend(roles.truth.iter().flat_map(|(a, b)| [a, b]));
        for name in &unread {
            facts.require(name)?;
        }
        options.fields.retain(|field| !unread.contains(&&field.name));
        (options.only_fields, options.id) = (true, None);
        let mut counted: Vec<Counted> =
            options.fields.iter().map(|field| Counted::new(&field.name, field.kind)).collect();
        let mut sample = Sample::new(counted.len());
        let mut witnesses = Witnesses::default();
        let mut reader = BatchReader::open(path, &options, super::batch_rows(counted.len()))?;
        let (mut n_rows, mut parts) = (0_usize, Vec::<FilePart>::new());
        while let Some(batches) = reader.next_batches() {
            for batch in batches? {
                note_part(&mut parts, &batch, n_rows);
                let mut cells = Vec::with_capacity(counted.len());
                for own in &mut counted {
                    let column = batch.require(&own.name)?;
                    let mut none = Interner::default();
                    let recoded = Recoded::of(column, own.dictionary().unwrap_or(&mut none));
                    own.add(&recoded, n_rows as u64);
                    if roles.group.as_ref() != Some(&own.name) && own.n_levels() > MOST_LEVELS {
                        let message = format!(
                            "has more than {MOST_LEVELS} different texts, which is too many to count; leave it out with \
                             --ignore {0}, or name it with --id or --group if that is what it is",
                            own.name
                        );
                        return Err(batch.error(Some(&own.name), None, message));
                    }
                    cells.push(recoded);
                }
                let pinned = witnesses.find(&batch, roles);
                sample.add(&cells, n_rows as u64, batch.n_rows(), &pinned);
                n_rows += batch.n_rows();
            }
            watch(reader.position())?;
        }
        let columns = options.fields.iter().zip(&counted).map(|(field, own)| {
            let levels = match &own.cells {
                Cells::Text { dictionary, .. } => Some(dictionary.levels().to_vec()),
                Cells::Number { .. } => None,
            };
            (field.name.clone(), field.kind == crate::table::Kind::Date, levels)
        });
        let (mut sample, sampled) = sample.finish(columns.collect())?;
        join_spellings(&mut sample, &counted);
        sample.source = facts.source.clone();
        sample.source.parts.clone_from(&parts);
        sample.source.picked = Some(sampled.iter().map(|&row| row as usize).collect());
        sample.unread.clone_from(&facts.unread);
        sample.repeated.clone_from(&facts.repeated);
        sample.doubts.clone_from(&facts.doubts);
        let census = Self {
            path: path.to_owned(),
            options,
            facts,
            n_rows,
            counted,
            parts,
            sample,
            roles: roles.clone(),
            arms: vec![],
            features: vec![],
            notes: vec![],
            warnings: vec![],
        };
        census.with_roles(several)
    }

    /// Gives the columns their roles by the sampled rows, among which is one of every arm.
    fn with_roles(mut self, several: bool) -> Result<Self> {
        let counters: Vec<String> = (self.counted.iter())
            .filter(|own| match own.cells {
                Cells::Number { counts_from: Some(from), .. } => counts_rows(&own.name, from, self.n_rows),
                _ => false,
            })
            .map(|own| own.name.clone())
            .collect();
        let named = |name: &String| self.roles.features.iter().flatten().any(|given| given == name);
        let taken = |name: &String| self.roles.named().iter().any(|(_, other)| other == name);
        let counters: Vec<String> = counters.into_iter().filter(|name| !named(name) && !taken(name)).collect();
        let mut spec = self.roles.clone();
        spec.ignore.extend(counters.iter().cloned());
        (spec.truth, spec.id) = (None, None);
        let sample = self.sample.clone();
        let assigned = if several { assign_all_arms(sample, &spec)? } else { assign(sample, &spec)? };
        self.features = assigned.features.columns().iter().map(|column| column.name.clone()).collect();
        let left_out = assigned.left_out.in_words();
        self.notes.clone_from(&self.facts.notes);
        let treatment = self.counted.iter().find(|own| own.name == self.roles.treatment);
        self.notes.extend(treatment.and_then(|own| Some(format!("`{}`: {}", own.name, own.spellings()?))));
        self.notes.extend(assigned.notes.into_iter().filter(|note| !left_out.contains(note)));
        if !counters.is_empty() {
            self.notes.push(format!(
                "not used as features because they only number or name the rows: {}; name them in --features to use them",
                counters.join(", ")
            ));
        }
        let of_sample = |warning: Warning| {
            if self.sample.n_rows() == self.n_rows {
                return warning;
            }
            let message = format!("{} (counted in a sample of {} rows)", warning.message, self.sample.n_rows());
            Warning { message, ..warning }
        };
        self.warnings = assigned.warnings.into_iter().map(of_sample).collect();
        self.arms = assigned.arms;
        Ok(self)
    }

    /// Rows of the table, those included that have no treatment or outcome.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Rows that were sampled.
    pub fn sampled_rows(&self) -> usize {
        self.sample.n_rows()
    }

    /// Values of the treatment column that are arms, the control first.
    pub fn arms(&self) -> &[String] {
        &self.arms
    }

    /// Rows with the value of each arm in the treatment column, those without an outcome included.
    pub fn arm_rows(&self) -> Vec<usize> {
        let own = self.counted.iter().find(|own| own.name == self.roles.treatment);
        self.arms.iter().map(|arm| own.map_or(0, |own| own.rows_with(arm))).collect()
    }

    /// Whether a feature of numbers has missing cells.
    pub fn has_gaps_in_numbers(&self) -> bool {
        let gaps = |own: &Counted| own.missing > 0 && matches!(own.cells, Cells::Number { .. });
        self.counted.iter().any(|own| gaps(own) && self.features.contains(&own.name))
    }

    /// What was done to the data as a whole.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What looks wrong in the columns that are used.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// How the file was read.
    pub fn reading(&self) -> &crate::table::Reading {
        &self.facts.reading
    }

    /// The kind of outcome that all rows show.
    pub fn outcome(&self) -> OutcomeKind {
        let own = self.counted.iter().find(|own| own.name == self.roles.outcome);
        match own.map(|own| &own.cells) {
            Some(Cells::Number { binary: true, .. }) => OutcomeKind::Binary,
            _ => OutcomeKind::Continuous,
        }
    }

    /// The roles with everything named that was found about all rows, for any part of them.
    pub fn roles(&self) -> RoleSpec {
        let arm = |k: usize| self.arms.get(k).cloned();
        RoleSpec {
            features: Some(self.features.clone()),
            ignore: vec![],
            id: None,
            truth: None,
            control_value: arm(0),
            treated_value: arm(1),
            ..self.roles.clone()
        }
    }

    /// An encoder of the features that belongs to all rows.
    pub fn encoder(&self, policy: &EncoderPolicy) -> Result<Encoder> {
        let counted: Vec<&Counted> =
            self.features.iter().filter_map(|name| self.counted.iter().find(|own| own.name == *name)).collect();
        Encoder::of_counts(&counted, &self.sample, self.n_rows, policy)
    }

    /// An error about the file.
    pub fn error(&self, column: Option<&str>, message: impl Into<String>) -> Error {
        self.facts.error(column, None, message)
    }
}

/// Texts that differ only in case and blanks become one, as all rows have them.
fn join_spellings(sample: &mut Table, counted: &[Counted]) {
    for (column, own) in sample.columns_mut().iter_mut().zip(counted) {
        if let (ColumnData::Text(text), Some(stands)) = (&mut column.data, own.stands()) {
            text.codes.iter_mut().for_each(|code| *code = stands.get(*code as usize).copied().unwrap_or(Text::MISSING));
        }
    }
}

/// Notes where the rows of a file begin.
fn note_part(parts: &mut Vec<FilePart>, batch: &Table, first_row: usize) {
    let path = batch.source.path.clone().unwrap_or_default();
    if parts.last().is_none_or(|last| last.path != path) {
        parts.push(FilePart { path, first_row, first_line: batch.source.first_line });
    }
}

/// Rows that must be in the sample: the first of every arm with an outcome, the first with another outcome.
#[derive(Debug, Default)]
struct Witnesses {
    arms: std::collections::BTreeSet<String>,
    outcomes: Vec<f64>,
}

impl Witnesses {
    /// More values of the treatment are none of arms, which the roles say.
    const MOST: usize = 64;

    fn find(&mut self, batch: &Table, roles: &RoleSpec) -> Vec<usize> {
        let (Some(t), Some(y)) = (batch.column(&roles.treatment), batch.column(&roles.outcome)) else { return vec![] };
        if self.arms.len() >= Self::MOST {
            return vec![];
        }
        let outcome = |i: usize| match &y.data {
            ColumnData::Number(values) => values[i],
            ColumnData::Text(_) => f64::NAN,
        };
        // The value of the last row, so that most rows need no look at the set.
        let mut last: Option<u64> = None;
        let key = |i: usize| match &t.data {
            ColumnData::Number(values) if values[i].is_nan() => None,
            ColumnData::Number(values) => Some(super::counted::bits_of(values[i])),
            ColumnData::Text(text) if text.codes[i] == Text::MISSING => None,
            ColumnData::Text(text) => Some(u64::from(text.codes[i])),
        };
        let mut known = std::collections::BTreeSet::new();
        let mut rows = vec![];
        for i in 0..batch.n_rows() {
            let (Some(key), value) = (key(i), outcome(i)) else { continue };
            if value.is_nan() {
                continue;
            }
            let mut wanted = false;
            if last != Some(key) && known.insert(key) {
                let name = match &t.data {
                    ColumnData::Number(values) => format_number(values[i] + 0.0),
                    ColumnData::Text(text) => text.get(i).unwrap_or_default().to_owned(),
                };
                wanted |= self.arms.insert(name);
            }
            last = Some(key);
            if self.outcomes.len() < 2 && !self.outcomes.contains(&value) {
                self.outcomes.push(value);
                wanted = true;
            }
            if wanted {
                rows.push(i);
            }
        }
        rows
    }
}
