//! `paretau demo`: the whole job once, on data whose truth is known, so that every number can be checked.

use anyhow::{Context as _, Result};
use paretau::data::{RoleSpec, Table, simulator, write_atomically, write_table};
use paretau::eval::truth;
use paretau::registry::ESTIMATORS;
use paretau::{Error, FitOptions, Model, Params, Seed, Split};
use serde_json::{Value, json};

use crate::args::{Common, DemoArgs};
use crate::out_path::{self, Kind};
use crate::output;
use crate::progress::Progress;

/// Estimators of the table, those that are registered; the first is the one whose model is kept.
const SHOWN: &[&str] = &["dpsw-norm", "causal-forest", "x-learner", "tarnet", "lr-2", "lr-1"];
/// Rows of the demonstration; a quarter is kept for scoring.
const ROWS: usize = 2_000;

struct Fitted {
    model: Model,
    pehe_rel: f64,
    ate_error: f64,
    seconds: f64,
}

pub(crate) fn run(args: &DemoArgs, common: &Common) -> Result<()> {
    let progress = Progress::new(common.quiet);
    std::fs::create_dir_all(&args.out).map_err(|source| Error::Io { path: args.out.clone(), source })?;
    // The files of an earlier demonstration are replaced; a stranger's are not.
    for (name, kind) in [
        ("data.csv", Kind::Table),
        ("model.paretau", Kind::Model),
        ("effects.csv", Kind::Table),
        ("report.html", Kind::Page),
    ] {
        out_path::check("out", &args.out.join(name), kind, &[], out_path::Force::None)?;
    }
    progress.print_line(&format!(
        "making {ROWS} people whose true effects are known, and fitting estimators that do not know them"
    ));
    let params = Params::none().with("n", ROWS).with("d", 15).with("noise", 0.3);
    let made = (simulator("synthetic")?.run)(&params, Seed(common.seed))?;
    let table = made.table()?;
    write_table(&args.out.join("data.csv"), &table)?;
    let split = Split::random(&made.t, 0.0, 0.25, Seed(common.seed))?;
    let (train, test) = (table.select(&split.train), table.select(&split.test));
    let oracle = made.oracle()?.select(&split.test);
    let roles = RoleSpec {
        truth: Some(("mu0".into(), "mu1".into())),
        // The true propensity; estimators make their own.
        ignore: vec!["e".into()],
        ..RoleSpec::new("t", "y")
    };
    let names = SHOWN.iter().filter(|name| ESTIMATORS.iter().any(|entry| entry.info().name == **name));
    let mut fits = vec![];
    for name in names {
        let start = std::time::Instant::now();
        let options = FitOptions { seed: Seed(common.seed), observer: &progress, ..FitOptions::new(name) };
        let model = paretau::fit(train.clone(), &roles, &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let tau = model.predict(&test)?.arms.swap_remove(0).tau;
        let pehe_rel = truth::pehe_rel(&tau, &oracle)?.context("the simulated effect does not vary")?.value;
        let ate_error = truth::ate_error(&tau, &oracle)?.value;
        fits.push(Fitted { model, pehe_rel, ate_error, seconds });
    }
    let kept = &fits.first().context("no estimator is registered")?.model;
    kept.save(&args.out.join("model.paretau"))?;
    write_effects(kept, &test, args)?;
    write_atomically(&args.out.join("report.html"), paretau::report(kept)?.as_bytes())?;
    drop(progress);
    if common.json { output::json(&document(&fits, args)) } else { output::text(&readable(&fits, args)) }
}

fn write_effects(model: &Model, test: &Table, args: &DemoArgs) -> Result<()> {
    let predictions = model.predict(test)?;
    Ok(write_table(&args.out.join("effects.csv"), &paretau::effect_rows(model, test, &predictions, None, None)?)?)
}

fn document(fits: &[Fitted], args: &DemoArgs) -> Value {
    let rows: Vec<Value> = fits
        .iter()
        .map(|fit| {
            json!({
                "estimator": fit.model.about().estimator, "pehe_rel": fit.pehe_rel, "ate_error": fit.ate_error,
                "seconds": fit.seconds,
            })
        })
        .collect();
    json!({ "estimators": rows, "out": output::path(&args.out) })
}

fn readable(fits: &[Fitted], args: &DemoArgs) -> String {
    let rows: Vec<Vec<String>> = fits
        .iter()
        .map(|fit| {
            let name = fit.model.about().estimator.clone();
            let seconds = format!("{:.1}", fit.seconds);
            vec![name, output::number(fit.pehe_rel), output::number(fit.ate_error), seconds]
        })
        .collect();
    let table = output::table(&["estimator", "pehe_rel", "ate_error", "seconds"], &rows);
    let first = fits.first().map_or(String::new(), |fit| fit.model.summary());
    let out = args.out.display();
    format!(
        "{ROWS} people with 15 features: five steer only who is treated, five only the outcome, five both (confounders).\n\
         The table shows errors on a quarter of the people, whom no estimator saw; pehe_rel is the error of a person's\n\
         effect, where 1 is as good as giving everyone the mean effect, and ate_error the error of the mean effect.\n\n\
         {table}\n\n{first}\n\n\
         In {out}: report.html to look at, data.csv, model.paretau, effects.csv. Next:\n  \
         paretau describe {}\n  paretau effect {out}/model.paretau {out}/data.csv --out -",
        fits.first().map_or("", |fit| fit.model.about().estimator.as_str())
    )
}
