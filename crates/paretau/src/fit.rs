//! From a table and the columns' roles to a fitted model.

use paretau_core::{
    CheckpointStore, DEFAULT_VALID_SHARE, Design, Effects, Event, FitContext, Observer, Params, Result, Seed, Silent,
    Want,
};
use paretau_data::{Assigned, Encoder, EncoderPolicy, RoleSpec, Table, assign, assign_all_arms};
use paretau_nuisance::{OverlapOptions, overlap_report};

use crate::about::{About, Averages, OtherArm};
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
        Self {
            estimator,
            params: Params::none(),
            seed: Seed(0),
            valid_share: DEFAULT_VALID_SHARE,
            observer: &Silent,
            checkpoint: None,
        }
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
    let reading = table.reading.clone();
    // Who names the treated value wants it compared with the control, and with nothing else.
    let several = entry.info().handles.many_arms && roles.treated_value.is_none();
    let assigned = if several { assign_all_arms(table, roles)? } else { assign(table, roles)? };
    let rows: Vec<usize> = (0..assigned.t.len()).collect();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::from(entry.info().handles), &rows)?;
    let (x, _) = encoder.transform(&assigned.features)?;
    let design = assigned.design(x, encoder.columns().to_vec())?;
    let scale = crate::scale::check(&assigned, &design, &roles.outcome)?;
    let mut notes = assigned.notes.clone();
    notes.extend_from_slice(encoder.notes());
    for note in &notes {
        ctx.event(&Event::Note { message: note.clone() });
    }
    ctx.event(&Event::Stage { name: format!("fitting {}", entry.info().name), total: None });
    let fitted = estimator.fit(&design, &ctx)?;
    ctx.check_interrupt()?;
    let arms = match fitted.held_out() {
        Some(held_out) => held_out.to_vec(),
        None => fitted.predict(design.x(), Want::Everything)?,
    };
    let held_out = fitted.held_out().is_some();
    let all = Fitted { assigned, design, arms };
    let other_arms = all.other_arms()?;
    // What follows is about the treated and the control.
    let Fitted { assigned, design, arms } = all.pair()?;
    let effects = &arms[0];
    let (overlap, e) = Overlap::fit(&design, effects.e.as_deref(), &ctx)?;
    let averages = Averages::estimate(&design, effects, &e)?;
    let mut diagnostics = fitted.diagnostics().clone();
    diagnostics.warnings.extend(scale);
    let (mut overlap_report, weights) = overlap_report(&e, (design.t(), design.weight()), &OverlapOptions::default())?;
    let findings = findings::find(&assigned, &design, effects, held_out, &e, &weights)?;
    let named = assigned.features.columns().iter().map(|column| column.name.as_str());
    // It explains most of what else may look odd, so that it comes first.
    if let Some(warning) = findings::determined(&design, named, options.seed) {
        diagnostics.warnings.insert(0, warning);
    }
    diagnostics.warnings.extend(assigned.warnings.iter().cloned());
    diagnostics.warnings.extend(findings::cross_check(findings.effects.mean, &averages.ate));
    // The model file names the rows most at risk, not a million of them.
    overlap_report.rows_at_risk.truncate(MOST_ROWS_AT_RISK);
    let about = About {
        estimator: entry.info().name.to_owned(),
        params,
        roles: if other_arms.is_empty() { roles.clone() } else { between(roles, &assigned.arms) },
        arms: assigned.arms.clone(),
        other_arms,
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
        reading,
    };
    Ok(Model::new(entry, about, encoder, fitted, overlap, findings))
}

/// The training rows with each arm's effects.
struct Fitted {
    assigned: Assigned,
    design: Design,
    arms: Vec<Effects>,
}

impl Fitted {
    /// The rows of the control and the `k`-th arm, which is then the treated one.
    fn of_arm(&self, k: usize) -> Result<Self> {
        let arm = u8::try_from(k).unwrap_or(u8::MAX);
        let (rows, assigned) = (self.assigned.rows_of_pair(arm), self.assigned.pair(arm));
        let design = assigned.design(self.design.x().select(&rows), self.design.columns().to_vec())?;
        let design = design.with_outcome(self.design.outcome())?;
        Ok(Self { assigned, design, arms: vec![self.arms[k - 1].select(&rows)] })
    }

    /// The rows of control and treated: all of them, unless there are several arms.
    fn pair(self) -> Result<Self> {
        if self.arms.len() == 1 { Ok(self) } else { self.of_arm(1) }
    }

    /// What is told of the arms besides control and treated.
    fn other_arms(&self) -> Result<Vec<OtherArm>> {
        let told = |(k, name): (usize, &String)| {
            let Self { design, arms, .. } = self.of_arm(k)?;
            let share = design.rows_of_arm(1).len() as f64 / design.n_rows() as f64;
            let e = arms[0].e.clone().unwrap_or_else(|| vec![share; design.n_rows()]);
            let ate = Averages::estimate(&design, &arms[0], &e)?.ate;
            Ok(OtherArm { name: name.clone(), n_rows: design.rows_of_arm(1).len(), ate })
        };
        (2..).zip(&self.assigned.other_arms).map(told).collect()
    }
}

/// The roles with the compared arms named, so that whoever uses them again compares the same.
fn between(roles: &RoleSpec, [control, treated]: &[String; 2]) -> RoleSpec {
    RoleSpec { control_value: Some(control.clone()), treated_value: Some(treated.clone()), ..roles.clone() }
}
