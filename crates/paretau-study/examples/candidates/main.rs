//! What `auto` chooses from, on simulated data: every candidate's held-out predictions and its effects of fresh rows.
//!
//! `cargo run -p paretau-study --example candidates -- PROCESS ROWS SEED FILE [key=value...]` draws ROWS rows to learn from and as many
//! fresh ones, and writes one JSON document: rows, truth, cross-fitted nuisances, and for each candidate the held-out predictions of
//! five folds and the effects of the fresh rows by a fit to all rows. Ways of weighing candidates are compared on such files by
//! `experiments/auto/weighing.py`, without fitting anything again. `only=label,label` fits
//! some candidates alone; what is in the file already stays.
#![allow(clippy::print_stdout)] // an example talks to people

use std::time::Instant;

use paretau::auto::{Candidate, Effort, Shape, candidates};
use paretau::nuisance::{Weights, design_folds};
use paretau::{FitContext, Params, Seed, TOOLBOX, Want, data};
use serde_json::{Map, Value, json};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const FOLDS: usize = 5;

/// Candidates that `auto` does not have at normal effort, to see what they would add.
fn further() -> Vec<Candidate> {
    let over = |name, base, label| Candidate { label, name, params: Params::none().with("base", base) };
    vec![
        over("x-learner", "boosting", "x-learner over boosting"),
        over("dr-learner", "boosting", "dr-learner over boosting"),
        over("s-learner", "boosting", "s-learner over boosting"),
        Candidate { label: "dpsw-norm", name: "dpsw-norm", params: Params::none() },
    ]
}

/// Six digits are enough to compare by.
fn short(values: &[f64]) -> Value {
    json!(values.iter().map(|v| format!("{v:.6e}").parse::<f64>().unwrap_or(f64::NAN)).collect::<Vec<_>>())
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [process, n, seed, file, settings @ ..] = &arguments[..] else {
        return Err("PROCESS ROWS SEED FILE are required".into());
    };
    let (n, seed): (usize, u64) = (n.parse()?, seed.parse()?);
    let mut params = Params::none().with("n", 2 * n);
    let mut only: Option<Vec<String>> = None;
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or("settings are key=value")?;
        if key == "only" {
            only = Some(value.split(',').map(str::to_owned).collect());
        } else {
            params = params.with(key, serde_json::from_str(value).unwrap_or_else(|_| json!(value)));
        }
    }
    let drawn = (data::simulate::simulator(process)?.run)(&params, Seed(seed))?;
    let (own, fresh): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (n..2 * n).collect());
    let whole = drawn.design()?;
    let design = whole.select(&own)?.with_outcome(whole.outcome())?;
    let new_rows = whole.x().select(&fresh);
    let ctx = FitContext::silent(Seed(0));
    let folds = design_folds(&design, FOLDS, Seed(0).named("auto"))?;
    let mut document: Map<String, Value> = match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Map::new(),
    };
    if !document.contains_key("nuisance") {
        document.insert("name".into(), json!(arguments.join(" ")));
        let t: Vec<f64> = drawn.t.iter().map(|&t| f64::from(t)).collect();
        for (name, values) in [("t", &t), ("y", &drawn.y), ("mu0", &drawn.mu0), ("mu1", &drawn.mu1), ("e", &drawn.e)] {
            document.insert(name.into(), short(values));
        }
        let ignore = vec!["mu0".into(), "mu1".into(), "e".into()];
        let roles = data::RoleSpec { ignore, ..data::RoleSpec::new("t", "y") };
        let table = drawn.table()?;
        for (name, rows) in [("nuisance", &own), ("fresh_nuisance", &fresh)] {
            let yard = paretau::yardstick(&data::assign(table.select(rows), &roles)?, &ctx)?;
            let of = &yard.nuisance;
            let inverse = Weights::smoothed_inverse(&of.e, yard.design.t())?.smooth;
            let parts = [
                ("inverse", &inverse),
                ("mu0", &of.mu0),
                ("mu1", &of.mu1),
                ("e", &of.e),
                ("m", &of.m),
                ("scores", &yard.scores),
            ];
            document.insert(name.into(), parts.iter().map(|(k, v)| ((*k).to_owned(), short(v))).collect());
        }
        document.insert("folds".into(), json!(folds.iter().map(|fold| &fold.held_out).collect::<Vec<_>>()));
    }
    let mut found = match document.remove("candidates") {
        Some(Value::Object(found)) => found,
        _ => Map::new(),
    };
    let all = candidates(&Shape::of(&design), Effort::Normal).into_iter().chain(further());
    for candidate in all.filter(|c| only.as_ref().is_none_or(|only| only.iter().any(|name| name == c.label))) {
        let estimator = paretau::find(candidate.name)?.build(&candidate.params, &TOOLBOX)?;
        let start = Instant::now();
        let mut held_out = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for (k, fold) in folds.iter().enumerate() {
            let own = ctx.with_seed(ctx.seed.named(candidate.label).indexed(k as u64));
            let model = estimator.fit(&design.select(&fold.train)?, &own)?;
            let mut arms = model.predict(&design.x().select(&fold.held_out), Want::Outcomes)?;
            let effects = arms.swap_remove(0);
            for (j, &i) in fold.held_out.iter().enumerate() {
                for (into, from) in held_out.iter_mut().zip([&effects.mu0, &effects.mu1, &effects.tau]) {
                    into[i] = from[j];
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let model = estimator.fit(&design, &ctx.with_seed(ctx.seed.named(candidate.label).named("all rows")))?;
        let effects = model.predict(&new_rows, Want::Effect)?.swap_remove(0);
        let [mu0, mu1, tau] = held_out.map(|values| short(&values));
        let one = json!({"mu0": mu0, "mu1": mu1, "tau": tau, "fresh": short(&effects.tau), "seconds": seconds});
        found.insert(candidate.label.to_owned(), one);
    }
    document.insert("candidates".into(), Value::Object(found));
    std::fs::write(file, serde_json::to_string(&document)?)?;
    println!("{file}");
    Ok(())
}
