//! `paretau fit`: one estimator, one model file.

use anyhow::Result;
use paretau::{CheckpointStore, Family, FitOptions, Model, Seed};
use serde_json::{Value, json};

use crate::args::{Common, FitArgs};
use crate::checkpoint::FileCheckpoint;
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &FitArgs, common: &Common) -> Result<()> {
    let valid = args.estimator.valid;
    if !(valid > 0.0 && valid < 0.9) {
        return Err(data::wrong("valid", &valid.to_string(), "a share above 0 and below 0.9").into());
    }
    data::check_out(&args.out, &[&args.data.data])?;
    let progress = Progress::new(common.quiet);
    let checkpoint = match &args.checkpoint {
        Some(path) => Some(FileCheckpoint::new(path, args.resume)?),
        None => None,
    };
    let options = FitOptions {
        params: data::params(&args.estimator)?,
        seed: Seed(common.seed),
        valid_share: valid,
        observer: &progress,
        checkpoint: checkpoint.as_ref().map(|c| c as &dyn CheckpointStore),
        ..FitOptions::new(&args.estimator.estimator)
    };
    // A wrong name should not have to wait for the data to be read.
    let entry = paretau::find(options.estimator)?;
    entry.resolved(&options.params)?;
    if checkpoint.is_some() && entry.info().family != Family::Neural {
        progress.say("only networks keep checkpoints: this fit starts from the beginning when it is interrupted");
    }
    let roles = data::roles(&args.data.roles, None)?;
    let model = paretau::fit(data::table(&args.data, None, &progress)?, &roles, &options)?;
    model.save(&args.out)?;
    checkpoint.iter().for_each(FileCheckpoint::done);
    drop(progress);
    if common.json {
        let mut document = summary(&model);
        document["out"] = json!(args.out);
        return output::json(&document);
    }
    output::text(&format!("{}\nmodel in {}", in_words(&model), args.out.display()))
}

/// The facts of a fit as JSON.
pub(crate) fn summary(model: &Model) -> Value {
    serde_json::to_value(model.about()).unwrap_or(Value::Null)
}

/// The facts of a fit in a few lines.
pub(crate) fn in_words(model: &Model) -> String {
    let about = model.about();
    let ate = &about.averages.ate;
    let mut lines = vec![
        format!(
            "{}: {} rows ({} treated), {} features after encoding",
            about.estimator, about.n_rows, about.n_treated, about.n_features
        ),
        format!(
            "average effect of `{}` on `{}`: {} (95 % interval {} to {})",
            about.roles.treatment,
            about.roles.outcome,
            output::number(ate.value),
            output::number(ate.lo),
            output::number(ate.hi)
        ),
    ];
    // Where the arms hardly overlap, the average over everyone rests on extrapolation, and these two say more.
    let [treated, either] = [&about.averages.att, &about.averages.ato].map(|average| {
        format!("{} ({} to {})", output::number(average.value), output::number(average.lo), output::number(average.hi))
    });
    lines.push(format!("among the treated {treated}; among those who could have gone either way {either}"));
    if !about.other_arms.is_empty() {
        let (others, arms) = (about.other_arms.iter().map(|arm| arm.n_rows), 2 + about.other_arms.len());
        let rows = about.n_rows + others.sum::<usize>();
        lines[0] =
            format!("{}: {rows} rows in {arms} arms, {} features after encoding", about.estimator, about.n_features);
        lines
            .insert(1, format!("arm `{}` against `{}` ({} rows of both):", about.arms[1], about.arms[0], about.n_rows));
    }
    lines.extend(about.overlap.in_words());
    lines.extend(about.other_arms.iter().map(|arm| {
        format!(
            "arm `{}` against `{}` ({} rows): average effect {} ({} to {})",
            arm.name,
            about.arms[0],
            arm.n_rows,
            output::number(arm.ate.value),
            output::number(arm.ate.lo),
            output::number(arm.ate.hi)
        )
    }));
    lines.extend(about.own_warnings().map(|warning| format!("warning: {}", warning.message)));
    lines.join("\n")
}
