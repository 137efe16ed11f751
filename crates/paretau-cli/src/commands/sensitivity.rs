//! `paretau sensitivity`: how strong a hidden cause would have to be.

use anyhow::Result;
use paretau::{Seed, SensitivityRequest};

use crate::args::{Common, SensitivityArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

pub(crate) fn run(args: &SensitivityArgs, common: &Common) -> Result<()> {
    for (flag, share) in [("cf-y", args.cf_y), ("cf-d", args.cf_d)] {
        if !(0.0..1.0).contains(&share) {
            return Err(data::bad_argument(flag, &share.to_string(), "a share from 0 to below 1").into());
        }
    }
    let (model, path) = data::model_and_data(&args.data.data, args.second.as_deref())?;
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, model.as_ref().map(|model| &model.about().roles))?;
    let table = data::table_at(path, &args.data, model.as_ref(), &progress)?;
    let request = SensitivityRequest {
        cf_y: args.cf_y,
        cf_d: args.cf_d,
        benchmarks: args.benchmark.clone(),
        n_benchmarks: args.benchmarks,
    };
    let found = paretau::sensitivity(table, &roles, &request, Seed(common.seed), &progress)?;
    drop(progress);
    if common.json {
        return output::json(&serde_json::to_value(&found)?);
    }
    let number = output::number;
    let pair = |(lo, hi): (f64, f64)| paretau::alike([lo, hi]).join(" to ");
    let times = |k: Option<f64>| k.map_or("> 1000".to_owned(), |k| format!("{k:.2}"));
    let benchmarks: Vec<Vec<String>> = (found.benchmarks.iter())
        .map(|b| {
            let strengths = [b.strength.cf_y, b.strength.cf_d].map(|v| format!("{v:.4}"));
            let rest = vec![number(b.strength.shift), times(b.times_for_estimate), times(b.times_for_interval)];
            [vec![b.name.clone()], strengths.to_vec(), rest].concat()
        })
        .collect();
    let marginal: Vec<Vec<String>> =
        (found.marginal.iter()).map(|m| vec![m.lambda.to_string(), pair((m.low, m.high)), pair(m.interval)]).collect();
    let shown = if benchmarks.is_empty() {
        String::new()
    } else {
        let header = ["feature", "cf_y", "cf_d", "shift", "times to erase", "times to reach the interval"];
        format!("\n\nobserved features, each left out in turn\n{}", output::table(&header, &benchmarks))
    };
    let average = found.interval.map_or_else(
        || number(found.ate.value),
        |(lo, hi)| {
            let [value, lo, hi] = paretau::alike([found.ate.value, lo, hi]);
            format!("{value} ({lo} to {hi})")
        },
    );
    output::text(&format!(
        "{} rows, average effect {}\n{}\n\nwith a hidden cause of cf_y {}, cf_d {}: {} (95 % bounds {}){shown}\n\n\
         odds of treatment changed by up to a factor\n{}",
        found.n_rows,
        average,
        found.words.join("\n"),
        found.strength.0,
        found.strength.1,
        pair((found.bounds.theta[0].value, found.bounds.theta[1].value)),
        pair(found.bounds.interval),
        output::table(&["factor", "average effect", "95 % interval"], &marginal)
    ))
}
