//! A table made ready for a fit: columns in their roles, features encoded, rows as a design. Fits, scores and diagnoses all
//! begin here.

use std::borrow::Cow;

use paretau_core::{Design, Effects, Features, Handles, OutcomeKind, Result};
use paretau_data::{Assigned, Encoder, EncoderPolicy, RoleSpec, Table, assign, assign_all_arms};

/// Which rows of a table with several values of the treatment take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmsWanted {
    /// Those of the control and of one treated value.
    Pair,
    /// Those of every value.
    All,
}

/// Rows in their roles with encoded features.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Columns in their roles.
    pub assigned: Assigned,
    /// How the features were encoded, fitted on these rows.
    pub encoder: Encoder,
    /// What estimators learn from.
    pub design: Design,
    /// The encoder for the nuisances' learners, where it was not learned from these rows.
    pub(crate) for_nuisances: Option<Encoder>,
}

impl Prepared {
    /// Gives roles and encodes for whoever takes what `handles` says.
    pub fn new(table: Table, roles: &RoleSpec, arms: ArmsWanted, handles: Handles) -> Result<Self> {
        let assigned = match arms {
            ArmsWanted::Pair => assign(table, roles)?,
            ArmsWanted::All => assign_all_arms(table, roles)?,
        };
        Self::encode(assigned, handles)
    }

    /// Encodes rows that have their roles.
    pub fn encode(assigned: Assigned, handles: Handles) -> Result<Self> {
        crate::treatment_copy::check(&assigned)?;
        let rows: Vec<usize> = (0..assigned.t.len()).collect();
        let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::from(handles), &rows)?;
        let (x, _) = encoder.transform(&assigned.features)?;
        let design = assigned.design(x, encoder.columns().to_vec())?;
        Ok(Self { assigned, encoder, design, for_nuisances: None })
    }

    /// The same with encoders, for the estimator and for the nuisances' learners, and a kind of outcome that belong to more
    /// rows than these.
    pub(crate) fn encoded_by(
        assigned: Assigned,
        (encoder, for_nuisances): (Encoder, Encoder),
        outcome: OutcomeKind,
    ) -> Result<Self> {
        crate::treatment_copy::check(&assigned)?;
        let (x, _) = encoder.transform(&assigned.features)?;
        let design = assigned.design(x, encoder.columns().to_vec())?.with_outcome(outcome)?;
        Ok(Self { assigned, encoder, design, for_nuisances: Some(for_nuisances) })
    }

    /// The same rows encoded for someone else; `None` when that is the encoding they have.
    pub(crate) fn encoded_for(&self, handles: Handles) -> Result<Option<EncodedFor>> {
        let encoder = match &self.for_nuisances {
            Some(encoder) => encoder.clone(),
            None => {
                let rows: Vec<usize> = (0..self.assigned.t.len()).collect();
                Encoder::fit(&self.assigned.features, &EncoderPolicy::from(handles), &rows)?
            }
        };
        if encoder == self.encoder {
            return Ok(None);
        }
        // Two encodings of the same columns differ in what they make of gaps; of numbers without any they make the same.
        let is_sparse = matches!(self.design.x(), Features::Sparse(_));
        let reads_sparse = self.encoder.reads_sparse() || encoder.reads_sparse();
        if encoder.columns() == self.encoder.columns() && !self.design.x().has_missing() && !is_sparse && !reads_sparse
        {
            return Ok(Some(EncodedFor { encoder, rows: None }));
        }
        let (x, _) = encoder.transform(&self.assigned.features)?;
        let design = self.assigned.design(x, encoder.columns().to_vec())?;
        let design = design.with_outcome(self.design.outcome())?;
        let assigned = without_features(&self.assigned);
        Ok(Some(EncodedFor {
            encoder: encoder.clone(),
            rows: Some(Self { assigned, encoder, design, for_nuisances: None }),
        }))
    }

    /// What was done to the data.
    pub fn notes(&self) -> Vec<String> {
        self.assigned.notes.iter().chain(self.encoder.notes()).cloned().collect()
    }

    /// The rows of the control and of the `k`-th arm, with the predictions of that arm's effects.
    pub(crate) fn pair<'a>(&'a self, k: usize, effects: &'a Effects) -> Result<Pair<'a>> {
        if self.assigned.arms.len() == 2 {
            return Ok(Pair {
                assigned: Cow::Borrowed(&self.assigned),
                design: Cow::Borrowed(&self.design),
                effects: Cow::Borrowed(effects),
            });
        }
        let Self { assigned, design, .. } = self.of_pair(k)?;
        let rows = self.assigned.rows_of_pair(u8::try_from(k).unwrap_or(u8::MAX));
        Ok(Pair {
            assigned: Cow::Owned(assigned),
            design: Cow::Owned(design),
            effects: Cow::Owned(effects.select(&rows)),
        })
    }

    /// The rows of the control and of the `k`-th arm alone, with the features as they were encoded for all rows.
    pub(crate) fn of_pair(&self, k: usize) -> Result<Self> {
        let arm = u8::try_from(k).unwrap_or(u8::MAX);
        let (rows, assigned) = (self.assigned.rows_of_pair(arm), self.assigned.pair(arm));
        let design = assigned.design(self.design.x().select(&rows), self.design.columns().to_vec())?;
        let design = design.with_outcome(self.design.outcome())?;
        Ok(Self { assigned, encoder: self.encoder.clone(), design, for_nuisances: self.for_nuisances.clone() })
    }
}

/// The rows in their roles without the columns of the table, which are as large as all else together.
fn without_features(assigned: &Assigned) -> Assigned {
    Assigned {
        features: Table::default(),
        rows: assigned.rows.clone(),
        t: assigned.t.clone(),
        y: assigned.y.clone(),
        weight: assigned.weight.clone(),
        propensity: assigned.propensity.clone(),
        groups: assigned.groups.clone(),
        id: None,
        oracle: None,
        arms: assigned.arms.clone(),
        notes: vec![],
        warnings: vec![],
        rows_left_out: assigned.rows_left_out,
        left_out: assigned.left_out,
    }
}

/// How rows are read by others than the estimator.
pub(crate) struct EncodedFor {
    /// Their encoder.
    pub(crate) encoder: Encoder,
    /// The rows as it encodes them, without the columns of the table; `None` where that is the matrix that the estimator has.
    pub(crate) rows: Option<Prepared>,
}

/// The rows of the control and of one other arm, which is then the treated one; borrowed where these are all rows.
pub(crate) struct Pair<'a> {
    pub(crate) assigned: Cow<'a, Assigned>,
    pub(crate) design: Cow<'a, Design>,
    /// Predictions for these rows.
    pub(crate) effects: Cow<'a, Effects>,
}
