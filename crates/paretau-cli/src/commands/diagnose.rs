//! `paretau diagnose`: overlap of data before a fit, or what a model found at its fit.

use anyhow::Result;
use paretau::{Diagnosis, Model, Seed};
use serde_json::json;

use crate::args::{Common, DiagnoseArgs};
use crate::progress::Progress;
use crate::{commands::data, output};

/// The ending that distinguishes a model file from data.
const MODEL: &str = "paretau";

pub(crate) fn run(args: &DiagnoseArgs, common: &Common) -> Result<()> {
    if args.data.data.extension().is_some_and(|e| e == MODEL) {
        return diagnose_model(&Model::load(&args.data.data)?, common);
    }
    let progress = Progress::new(common.quiet);
    let roles = data::roles(&args.data.roles, None)?;
    let diagnosis = paretau::diagnose(data::table(&args.data, None, &progress)?, &roles, Seed(common.seed), &progress)?;
    drop(progress);
    if common.json {
        let mut document = serde_json::to_value(&diagnosis)?;
        output::rows_from_one(&mut document);
        return output::json(&document);
    }
    let several = !diagnosis.further_arms.is_empty();
    let mut text: String = diagnosis.notes.iter().map(|note| format!("{note}\n")).collect();
    text += &of_pair(&diagnosis, several);
    for arm in &diagnosis.further_arms {
        text += &format!("\n\n{}", of_pair(arm, true));
    }
    output::text(&text)
}

/// Overlap and balance of an arm and the control.
fn of_pair(own: &Diagnosis, several: bool) -> String {
    let [control, treated] = &own.arms;
    let which = if several { format!("arm `{treated}` against `{control}`: ") } else { String::new() };
    let features = if own.n_features == 1 { "feature" } else { "features" };
    let mut lines = vec![format!("{which}{} rows, {} {features} after encoding", own.n_rows, own.n_features)];
    lines.extend(own.overlap.in_words());
    lines.extend(own.warnings.iter().map(|w| format!("warning: {}", w.message)));
    if own.warnings.is_empty() {
        lines.push("no warnings from these checks".to_owned());
    }
    let rows = own.overlap.rows_at_risk.iter().map(|row| (row + 1).to_string());
    let extreme: Vec<String> = match &own.ids_at_risk {
        Some(ids) => rows.zip(ids).take(10).map(|(row, id)| format!("{row} ({id})")).collect(),
        None => rows.take(10).collect(),
    };
    if !extreme.is_empty() {
        lines.push(format!("rows most at risk: {}", extreme.join(", ")));
    }
    let features: Vec<Differences<'_>> = own.balance.iter().map(|b| (b.name.as_str(), b.before, b.after)).collect();
    format!("{}{}", lines.join("\n"), balance(&features, features.len()))
}

/// A feature with the arms' distance before and after weighting.
type Differences<'a> = (&'a str, Option<f64>, Option<f64>);

/// The features that differ most before weighting, with a line above them; nothing when there are none.
fn balance(features: &[Differences<'_>], n_features: usize) -> String {
    if features.is_empty() {
        return String::new();
    }
    let off = |pick: fn(&Differences<'_>) -> Option<f64>| {
        features.iter().filter(|f| pick(f).is_none_or(|d| d.abs() > paretau::nuisance::IMBALANCE)).count()
    };
    let cell = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |v| format!("{v:.3}"));
    let rows: Vec<Vec<String>> = features
        .iter()
        .take(20)
        .map(|(name, before, after)| vec![(*name).to_owned(), cell(*before), cell(*after)])
        .collect();
    let shown = if n_features > rows.len() { format!("; the {} that differ most", rows.len()) } else { String::new() };
    format!(
        "\n\nbalance, treated minus control in standard deviations: {} of {n_features} features beyond {} before \
         weighting, {} after{shown}\n{}",
        off(|f| f.1),
        paretau::nuisance::IMBALANCE,
        off(|f| f.2),
        output::table(&["feature", "before", "after"], &rows)
    )
}

fn diagnose_model(model: &Model, common: &Common) -> Result<()> {
    let about = model.about();
    let of_arm = |k: usize| model.findings().and_then(|found| found.arms.get(k - 1));
    if common.json {
        let mut document = json!({
            "estimator": about.estimator, "overlap": about.overlap_of(1), "diagnostics": about.diagnostics, "notes": about.notes,
            "warnings": about.warnings,
            "balance": of_arm(1).map(|own| &own.balance),
        });
        if !about.further_arms().is_empty() {
            let further = about.treated_arms().skip(1).map(|k| {
                json!({
                    "arms": [about.arms[0].name, about.arms[k].name], "n_rows": about.arms[0].n_rows + about.arms[k].n_rows,
                    "overlap": about.overlap_of(k), "balance": of_arm(k).map(|own| &own.balance),
                })
            });
            document["further_arms"] = further.collect();
        }
        output::rows_from_one(&mut document);
        return output::json(&document);
    }
    let mut lines = about.notes.clone();
    let several = !about.further_arms().is_empty();
    for k in about.treated_arms() {
        lines.extend(several.then(|| format!("{}:", about.comparison(k))));
        lines.extend(about.overlap_of(k).iter().flat_map(|overlap| overlap.in_words()));
    }
    lines.extend(about.warnings.iter().map(|w| format!("warning: {}", w.message)));
    let numbers = about.diagnostics.numbers.iter().map(|(name, value)| format!("  {name}: {}", output::number(*value)));
    if !about.diagnostics.numbers.is_empty() {
        lines.push(format!(
            "numbers of `{}` itself, from the estimator's own fit (averages and propensities above are those of the data's \
             nuisances):",
            about.estimator
        ));
    }
    lines.extend(numbers);
    let mut text = lines.join("\n");
    for (k, own) in about.treated_arms().filter_map(|k| Some((k, of_arm(k)?))) {
        let features: Vec<Differences<'_>> = own.balance.iter().map(|b| (b.name.as_str(), b.before, b.after)).collect();
        if several && !features.is_empty() {
            text += &format!("\n\n{}:", about.comparison(k));
        }
        text += &balance(&features, own.n_balanced);
    }
    if !about.diagnostics.roles.is_empty() {
        let rows: Vec<Vec<String>> = about
            .diagnostics
            .roles
            .iter()
            .map(|r| {
                let role =
                    serde_json::to_value(r.role).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
                let strengths = [r.instrument, r.confounder, r.adjuster, r.score].map(|v| format!("{v:.3}"));
                [vec![r.name.clone(), role], strengths.to_vec()].concat()
            })
            .collect();
        text += "\n\n";
        text += &output::table(&["feature", "role", "instrument", "confounder", "adjuster", "score"], &rows);
    }
    let (importance, reading) = (&about.diagnostics.importance, &about.diagnostics.reading);
    for (what, shares) in [("importance", importance), ("read", reading)].iter().filter(|(_, s)| !s.is_empty()) {
        let mut shares = (*shares).clone();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        let rows: Vec<Vec<String>> =
            shares.iter().take(20).map(|i| vec![i.name.clone(), format!("{:.3}", i.share)]).collect();
        text += "\n\n";
        text += &output::table(&["feature", what], &rows);
    }
    output::text(&text)
}
