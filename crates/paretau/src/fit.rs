//! From a table and the columns' roles to a fitted model.

use paretau_core::{CheckpointStore, Event, FitContext, Observer, Params, Result, Seed, Silent};
use paretau_data::{Encoder, EncoderPolicy, RoleSpec, Table, assign};
use paretau_eval::{OverlapOptions, overlap_report};

use crate::about::{About, Averages};
use crate::model::Model;
use crate::overlap::Overlap;
use crate::{findings, registry};

/// Rows at risk that a model file names, the most extreme ones.
const MOST_ROWS_AT_RISK: usize = 100;

/// What to fit and how.
#[derive(Clone)]
pub struct FitOptions<'a> {
    /// Registry name or alias.
    pub estimator: &'a str,
    /// Parameters that differ from the defaults.
    pub params: Params,
    /// Source of all randomness.
    pub seed: Seed,
    /// Share of rows that estimators with early stopping hold out.
    pub valid_share: f64,
    /// Hears of progress.
    pub observer: &'a dyn Observer,
    /// Where a long fit leaves its state.
    pub checkpoint: Option<&'a dyn CheckpointStore>,
}

impl<'a> FitOptions<'a> {
    /// The estimator of that name with its defaults.
    pub fn new(estimator: &'a str) -> Self {
        Self { estimator, params: Params::none(), seed: Seed(0), valid_share: 0.2, observer: &Silent, checkpoint: None }
    }
}

/// Fits an estimator to a table.
pub fn fit(table: Table, roles: &RoleSpec, options: &FitOptions<'_>) -> Result<Model> {
    let entry = registry::find(options.estimator)?;
    // Parameters are checked before the data are touched: a typing error should not cost a minute.
    let params = entry.resolved(&options.params)?;
    let estimator = entry.build(&options.params, &registry::TOOLBOX)?;
    let ctx = FitContext {
        seed: options.seed,
        observer: options.observer,
        valid_share: options.valid_share,
        checkpoint: options.checkpoint,
    };
    let source = table.source.path.as_deref().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    let assigned = assign(table, roles)?;
    let rows: Vec<usize> = (0..assigned.t.len()).collect();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::from(entry.info().handles), &rows)?;
    let (x, _) = encoder.transform(&assigned.features)?;
    let design = assigned.design(x, encoder.columns().to_vec())?;
    let mut notes = assigned.notes.clone();
    notes.extend_from_slice(encoder.notes());
    for note in &notes {
        ctx.event(&Event::Note { message: note.clone() });
    }
    ctx.event(&Event::Stage { name: format!("fitting {}", entry.info().name), total: None });
    let fitted = estimator.fit(&design, &ctx)?;
    ctx.check_interrupt()?;
    let effects = match fitted.held_out_effects() {
        Some(held_out) => held_out.clone(),
        None => fitted.effects(design.x())?,
    };
    let (overlap, e) = Overlap::fit(&design, effects.e.as_deref(), &ctx)?;
    let averages = Averages::estimate(&design, &effects, &e)?;
    let mut diagnostics = fitted.diagnostics().clone();
    let (mut overlap_report, weights) = overlap_report(&e, design.t(), &OverlapOptions::default())?;
    let held_out = fitted.held_out_effects().is_some();
    let findings = findings::find(&assigned, &design, &effects, held_out, &e, &weights)?;
    let named = assigned.features.columns().iter().map(|column| column.name.as_str());
    // It explains most of what else may look odd, so that it comes first.
    if let Some(warning) = findings::determined(&design, named, options.seed) {
        diagnostics.warnings.insert(0, warning);
    }
    diagnostics.warnings.extend(findings::cross_check(findings.effects.mean, &averages.ate));
    // The model file names the rows most at risk, not a million of them.
    overlap_report.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
    let about = About {
        estimator: entry.info().name.to_owned(),
        params,
        roles: roles.clone(),
        arms: assigned.arms.clone(),
        outcome: design.outcome(),
        n_rows: design.n_rows(),
        n_treated: design.rows_of_arm(1).len(),
        n_features: design.x().n_cols(),
        averages,
        diagnostics,
        overlap: overlap_report,
        notes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        valid_share: options.valid_share,
        source,
    };
    Ok(Model::new(entry, about, encoder, fitted, overlap, findings))
}
