//! Diagnostics of a fit.

use paretau_core::{Design, Diagnostics, Result, Want};
use paretau_kernels::ess::ess;

use crate::estimator::Ensemble;
use crate::member::Member;
use crate::nets::NetKind;
use crate::settings::Choice;
use crate::splits::TrainValid;
use crate::weigh::{finite_logit, khat, log_weight};

/// Rows that the diagnostics of the weights look at.
const MANY: usize = 20_000;

/// Warnings, numbers, history and roles of a fit.
pub(crate) fn report(
    kind: &dyn NetKind,
    design: &Design,
    ensembles: &[Ensemble],
    parts: &[TrainValid],
    notes: &[(String, f64)],
) -> Result<Diagnostics> {
    let mut out = Diagnostics::default();
    // Choices of several ensembles are reported as their mean, by what each counts for.
    let mean = |f: &dyn Fn(&Choice) -> f64| ensembles.iter().map(|e| e.share * f(&e.choice)).sum::<f64>();
    out.note("members", parts.len() as f64);
    out.note("bins", mean(&|c| c.bins as f64));
    out.note("dropout", mean(&|c| c.dropout));
    out.note("l2", mean(&|c| c.l2));
    out.note("gamma", mean(&|c| c.gamma));
    notes.iter().for_each(|(name, value)| out.note(name, *value));
    let members: Vec<&Member> = ensembles.iter().flat_map(|e| &e.members).collect();
    training(&mut out, &members);
    // The unweighted nets come last: their propensity is not pulled by the weights.
    let last = ensembles.last().map_or(members[0], |e| &e.members[0]);
    weights(&mut out, design, last, &parts[0])?;
    data(&mut out, kind, design, (last, parts));
    Ok(out)
}

fn training(out: &mut Diagnostics, members: &[&Member]) {
    let count = members.len() as f64;
    let total = |name: &str| members.iter().filter_map(|m| m.trained.totals.get(name)).sum::<f64>();
    let mean = |f: &dyn Fn(&Member) -> f64| members.iter().map(|m| f(m)).sum::<f64>() / count;
    out.note("steps", mean(&|m| m.trained.steps as f64));
    out.note("valid_objective", mean(&|m| m.trained.score));
    for name in ["valid_factual", "valid_cross_entropy"] {
        let values: Vec<f64> = members.iter().filter_map(|m| m.trained.values.get(name).copied()).collect();
        if values.len() == members.len() {
            out.note(name, values.iter().sum::<f64>() / count);
        }
    }
    for member in members {
        out.history.extend(member.trained.history.iter().cloned());
    }
    let (halvings, skipped) = (mean(&|m| f64::from(m.trained.halvings)), mean(&|m| m.trained.skipped as f64));
    out.note("divergences", halvings * count);
    out.note("steps_skipped", skipped * count);
    if halvings > 0.0 {
        out.warn(
            "training-diverged",
            format!(
                "training diverged {:.0} times; it stepped back and halved the learning rate. A normalised weighting or a lower \
                 rate is calmer.",
                halvings * count
            ),
        );
    }
    let (fits, left) = (total("tail_fits"), total("tail_fits_left"));
    if fits > 0.0 {
        out.note("tail_fits_left_share", left / fits);
        out.note("tail_fits_equal_share", total("tail_fits_equal") / fits);
        if left > 0.05 * fits {
            out.warn(
                "tail-fit-fell-back",
                format!(
                    "Pareto smoothing was left out in {:.0} % of the mini-batches because their tails could not be fitted; those \
                     batches used the weights as they were. A larger batch or the scale-free units help.",
                    100.0 * left / fits
                ),
            );
        }
    }
    let largest = members.iter().filter_map(|m| m.trained.totals.get("weight_max")).fold(0.0, |a: f64, b| a.max(*b));
    if largest > 0.0 {
        out.note("weight_max", largest);
    }
}

/// Tail and effective size of the balancing weights over all rows, arm by arm.
fn weights(out: &mut Diagnostics, design: &Design, member: &Member, parts: &TrainValid) -> Result<()> {
    let n = design.n_rows();
    let step = n.div_ceil(MANY).max(1);
    let rows: Vec<usize> = (0..n).step_by(step).collect();
    let e: Vec<f64> = if let Some(known) = design.propensity() {
        rows.iter().map(|&i| known[i]).collect()
    } else {
        let first = &member.predictor;
        if !first.info.gives_propensity && first.info.first_step.is_none() {
            return Ok(());
        }
        let mut work = first.work(512, Want::Everything);
        let mut e = Vec::with_capacity(rows.len());
        for part in rows.chunks(512) {
            e.extend(first.answer(design.x(), part, &mut work)?.e);
        }
        e
    };
    if e.len() != rows.len() {
        return Ok(());
    }
    let treated = parts.train.iter().filter(|&&i| design.t()[i] == 1).count() as f64;
    let odds = treated / (parts.train.len() as f64 - treated);
    let mut extreme = 0;
    for arm in 0..2_u8 {
        let picked: Vec<usize> = (0..rows.len()).filter(|&k| design.t()[rows[k]] == arm).collect();
        let logs: Vec<f64> = picked.iter().map(|&k| log_weight(finite_logit(e[k]), arm, odds)).collect();
        let w: Vec<f64> = logs.iter().map(|l| l.exp()).collect();
        extreme += picked.iter().filter(|&&k| !(0.01..=0.99).contains(&e[k])).count();
        if let Ok(size) = ess(&w) {
            out.note(&format!("ess_share_{arm}"), size / w.len() as f64);
        }
        if let Some(khat) = khat(&logs) {
            out.note(&format!("khat_{arm}"), khat);
        }
    }
    let share = extreme as f64 / rows.len() as f64;
    out.note("extreme_propensity_share", share);
    Ok(())
}

fn data(out: &mut Diagnostics, kind: &dyn NetKind, design: &Design, (member, parts): (&Member, &[TrainValid])) {
    let constant = member.predictor.scaler.n_constant();
    if constant > 0 {
        out.note("constant_columns", constant as f64);
        out.warn(
            "constant-columns",
            format!("{constant} feature columns do not vary in the training rows and are not used"),
        );
    }
    for arm in 0..2_u8 {
        let count = design.rows_of_arm(arm).len();
        if count < 30 {
            out.warn(
                "few-rows-in-arm",
                format!("arm {arm} has only {count} rows: effects are little more than guesses"),
            );
        }
    }
    if parts.iter().any(|p| p.valid.is_empty()) {
        out.warn(
            "no-validation-rows",
            "no rows were held out for validation: training stopped by the training rows, which invites overfitting",
        );
    }
    if !kind.training().activation.is_smooth() && kind.has_propensity() {
        out.warn(
            "kinked-activation",
            "a leaky ReLU in the propensity net makes the weights' distribution jump, which Pareto smoothing assumes it does not",
        );
    }
}
