//! From a table and the columns' roles to a fitted model.

use paretau_core::{
    CheckpointStore, DEFAULT_VALID_SHARE, Effects, Error, Estimator, EstimatorEntry, Event, FitContext, FittedModel,
    Observer, Params, Result, Seed, Silent, Toolbox, Want, Warning,
};
use paretau_data::{RoleSpec, Table};
use serde_json::{Value, json};

use crate::about::{About, Arm, Population};
use crate::assessment::{Assessment, AssessmentRequest};
use crate::contrasts::Contrasts;
use crate::fingerprint::Fingerprint;
use crate::identity::{self, IdentifiedStore};
use crate::intervals::{
    FarHalves, HalvesTask, Replicates, companion, companion_is_measured, refits_are_measured, replicate, with_intervals,
};
use crate::model::{Model, TrainingRows};
use crate::prepared::{ArmsWanted, Prepared};
use crate::task::Executor;
use crate::{groups, registry, scale};

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
    /// Refits on half-samples from which intervals of single rows are made; also keeps what intervals of individual effects
    /// need. `None` makes only those that cost nothing.
    pub intervals: Option<usize>,
    /// Hears of progress.
    pub observer: &'a dyn Observer,
    /// Where a long fit leaves its state.
    pub checkpoint: Option<&'a dyn CheckpointStore>,
    /// Columns whose groups get an average effect each.
    pub by: Vec<String>,
    /// Columns on which the effect is projected: least squares of doubly robust scores.
    pub projection: Vec<String>,
    /// Whose average is the headline; without a wish it is the one that the data can speak about best.
    pub estimand: Option<Population>,
    /// Base learners that parameters may name.
    pub tools: &'a Toolbox,
}

impl<'a> FitOptions<'a> {
    /// The estimator of that name with its defaults.
    pub fn new(estimator: &'a str) -> Self {
        Self {
            estimator,
            params: Params::none(),
            seed: Seed(0),
            valid_share: DEFAULT_VALID_SHARE,
            intervals: None,
            observer: &Silent,
            checkpoint: None,
            by: vec![],
            projection: vec![],
            estimand: None,
            tools: &registry::TOOLBOX,
        }
    }
}

/// Fits an estimator to a table: prepares the rows, fits, assesses what came out, and puts it all into a model.
pub fn fit(table: Table, roles: &RoleSpec, options: &FitOptions<'_>) -> Result<Model> {
    fit_on(table, roles, options, None)
}

/// An entry's estimator for any number of arms, and the rows as it reads them.
pub(crate) fn estimator_and_rows(
    entry: &dyn EstimatorEntry,
    params: &Params,
    tools: &Toolbox,
    table: Table,
    roles: &RoleSpec,
) -> Result<(Box<dyn Estimator>, Prepared)> {
    let estimator = entry.build(params, tools)?;
    // Who names the treated value wants it compared with the control, and with nothing else.
    let arms = if roles.treated_value.is_none() { ArmsWanted::All } else { ArmsWanted::Pair };
    let estimator: Box<dyn Estimator> =
        if entry.info().handles.many_arms { estimator } else { Box::new(Contrasts::of(estimator)) };
    Ok((estimator, Prepared::new(table, roles, arms, entry.info().handles)?))
}

/// The same with refits for intervals done by an executor whose workers have the table. Base learners beyond the registry's
/// own are not known to workers.
pub fn fit_on(
    table: Table,
    roles: &RoleSpec,
    options: &FitOptions<'_>,
    executor: Option<&dyn Executor>,
) -> Result<Model> {
    let entry = registry::find(options.estimator)?;
    // Parameters are checked before the data are touched: a typing error should not cost a minute.
    let params = entry.resolved(&options.params)?;
    entry.build(&options.params, options.tools)?;
    let ctx = FitContext {
        seed: options.seed,
        observer: options.observer,
        valid_share: options.valid_share,
        checkpoint: options.checkpoint,
    };
    let source = table.source.path.as_deref().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    let reading = table.reading.clone();
    let (by, n_rows) = (groups::columns(&table, roles, &options.by)?, table.n_rows());
    let projected = groups::columns(&table, roles, &options.projection)?;
    let (estimator, prepared) = estimator_and_rows(entry, &options.params, options.tools, table, roles)?;
    let mut notes = prepared.notes();
    for note in &notes {
        ctx.event(&Event::Note { message: note.clone() });
    }
    // What a checkpoint must have been made from to be gone on with.
    let store = options.checkpoint.map(|store| IdentifiedStore {
        store,
        identity: json!({
            "estimator": entry.info().name, "version": env!("CARGO_PKG_VERSION"), "rows": identity::rows_digest(&prepared.assigned),
            "roles": roles, "params": params, "seed": options.seed, "valid_share": options.valid_share,
        }),
    });
    let ctx = FitContext { checkpoint: store.as_ref().map(|store| store as &dyn CheckpointStore), ..ctx };
    let fitted = Fitted::new(estimator.as_ref(), prepared, (entry.info().name, &roles.outcome), &ctx)?;
    let uncertainty = match options.intervals {
        None => Uncertainty {
            own: entry.info().abilities.intervals,
            companion: companion_is_measured(entry, &params)
                && fitted.prepared.design.n_rows() <= companion::MOST_ROWS_UNASKED,
            replicates: None,
            individual: false,
        },
        Some(n_fits) => {
            let far = executor.map(|executor| FarHalves {
                executor,
                first: HalvesTask {
                    estimator: entry.info().name.to_owned(),
                    params: options.params.clone(),
                    roles: roles.clone(),
                    rows: identity::rows_digest(&fitted.prepared.assigned),
                    seed: options.seed,
                    valid_share: options.valid_share,
                    split: 0,
                },
            });
            uncertainty((entry, &params), (estimator.as_ref(), far.as_ref()), &fitted.prepared, n_fits, &ctx)?
        }
    };
    let request = AssessmentRequest { by: &by, n_rows, estimand: options.estimand, uncertainty };
    let Assessment { arms, groups, findings, warnings, propensity_weights, held_out_scores, intervals, evidence } =
        Assessment::of(&fitted, &request, &ctx)?;
    let averages = arms.get(1).and_then(|arm| Some(&arm.against_control.as_ref()?.averages));
    let projection = match (evidence.first(), averages.and_then(|found| found.extrapolates(Population::Ate))) {
        (Some(_), Some(reason)) if !projected.is_empty() => {
            // It stands on everyone's scores, like the average that has lost its interval.
            let message = format!("no projection of the effect, which is about everyone: {reason}");
            ctx.event(&Event::Note { message: message.clone() });
            notes.push(message);
            None
        }
        (Some(first), _) if !projected.is_empty() => {
            Some(first.scored_rows().best_linear_projection(Some(&Table::new(projected)?))?)
        }
        _ => None,
    };
    let Fitted { prepared, model, predictions, held_out, .. } = fitted;
    let fingerprint = Fingerprint::of(&prepared.assigned, prepared.design.x());
    let about = About {
        estimator: entry.info().name.to_owned(),
        params,
        roles: if arms.len() == 2 { roles.clone() } else { between(roles, &arms) },
        outcome: prepared.design.outcome(),
        n_rows: prepared.design.n_rows(),
        n_features: prepared.design.x().n_cols(),
        arms,
        groups,
        projection,
        diagnostics: model.diagnostics().clone(),
        warnings,
        notes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        valid_share: options.valid_share,
        source,
        reading,
        blocks: None,
    };
    let held_out = held_out.then(|| predictions.into_iter().map(|effects| effects.tau).collect());
    let training = TrainingRows { fingerprint, held_out_scores, intervals, evidence, held_out };
    Ok(Model::new(entry, about, prepared.encoder, model, propensity_weights, Some(findings), training))
}

/// What intervals of single rows can be made from.
pub(crate) struct Uncertainty {
    /// Whether the estimator's own standard errors may be used.
    pub(crate) own: bool,
    /// Whether a causal forest beside the estimator says how uncertain its effects are.
    pub(crate) companion: bool,
    /// Refits on half-samples, one per treated arm.
    pub(crate) replicates: Option<Vec<Replicates>>,
    /// Whether intervals of individual effects are wanted.
    pub(crate) individual: bool,
}

/// Refits where the estimator does not tell its own errors and refits have been measured, else a forest beside it.
fn uncertainty(
    (entry, params): (&dyn EstimatorEntry, &Value),
    (estimator, far): (&dyn Estimator, Option<&FarHalves<'_>>),
    prepared: &Prepared,
    n_fits: usize,
    ctx: &FitContext<'_>,
) -> Result<Uncertainty> {
    let own = entry.info().abilities.intervals;
    let is_refitted = !own && refits_are_measured(entry, params);
    let companion = !is_refitted && companion_is_measured(entry, params);
    let replicates = if is_refitted { Some(replicate(estimator, &prepared.design, n_fits, ctx, far)?) } else { None };
    if !(own || is_refitted || companion) {
        ctx.event(&Event::Note {
            message: format!(
                "`{}` with these parameters gets no intervals of the conditional effect: how often they hold the truth has been \
                 measured for {} only; intervals of the individual effect are kept",
                entry.info().name,
                with_intervals()
            ),
        });
    }
    Ok(Uncertainty { own, companion, replicates, individual: true })
}

/// A fitted estimator with the rows it was fitted on and its predictions for them.
pub(crate) struct Fitted {
    pub(crate) prepared: Prepared,
    pub(crate) model: Box<dyn FittedModel>,
    /// Predictions of the training rows, one per treated arm: held-out ones where the estimator has them.
    pub(crate) predictions: Vec<Effects>,
    /// Whether they are.
    pub(crate) held_out: bool,
    /// A warning of features whose numbers are too large to compute with.
    pub(crate) scale: Option<Warning>,
}

impl Fitted {
    pub(crate) fn new(
        estimator: &dyn Estimator,
        prepared: Prepared,
        (name, outcome): (&str, &str),
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let scale = scale::check(&prepared.assigned, &prepared.design, outcome)?;
        ctx.event(&Event::Stage { name: format!("fitting {name}"), total: None });
        let model = estimator.fit(&prepared.design, ctx)?;
        ctx.check_interrupt()?;
        let held_out = model.held_out().map(<[Effects]>::to_vec);
        let (predictions, held_out) = match held_out {
            Some(held_out) => (held_out, true),
            None => (model.predict(prepared.design.x(), Want::Everything)?, false),
        };
        if predictions.len() + 1 != prepared.assigned.arms.len() {
            return Err(Error::internal("a fit", "it predicts another number of arms than the data have"));
        }
        Ok(Self { prepared, model, predictions, held_out, scale })
    }
}

/// The roles with the compared arms named, so that whoever uses them again compares the same.
pub(crate) fn between(roles: &RoleSpec, arms: &[Arm]) -> RoleSpec {
    let name = |k: usize| arms.get(k).map(|arm: &Arm| arm.name.clone());
    RoleSpec { control_value: name(0), treated_value: name(1), ..roles.clone() }
}
