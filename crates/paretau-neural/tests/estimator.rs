//! Fits as users see them: same bits, checkpoints, saved models, bad data.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use paretau_core::{
    CheckpointStore, Dense, Design, ErrorKind, EstimatorEntry, Event, Features, FitContext, FittedModel, Observer,
    Params, Result, Seed, Silent, State, Toolbox,
};
use paretau_neural::ENTRIES;

const TOOLS: Toolbox = Toolbox { bases: &[&paretau_neural::MlpBase] };

fn entry(name: &str) -> &'static dyn EstimatorEntry {
    *ENTRIES.iter().find(|e| e.info().name == name).unwrap()
}

/// Short training, so that tests of plumbing are quick.
fn short() -> Params {
    Params::none()
        .with("members", 2)
        .with("max_steps", 40)
        .with("min_steps", 20)
        .with("patience", 20)
        .with("encoder", vec![8, 8])
        .with("representation", 4)
        .with("heads", vec![8])
        .with("propensity", vec![8])
}

/// Those of the parameters that an estimator has.
fn own(entry: &dyn EstimatorEntry, params: &Params) -> Params {
    let known = |name: &str| entry.params().iter().any(|spec| spec.name == name);
    Params(params.0.iter().filter(|(name, _)| known(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn fit(name: &str, params: &Params, design: &Design, seed: u64) -> Result<Box<dyn FittedModel>> {
    let entry = entry(name);
    entry.build(&own(entry, params), &TOOLS).unwrap().fit(design, &FitContext::silent(Seed(seed)))
}

fn in_pool<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn every_preset_fits_saves_and_loads() {
    for binary in [false, true] {
        let design = common::design(160, 4, binary);
        for entry in ENTRIES {
            let name = entry.info().name;
            let model = fit(name, &short(), &design, 1).unwrap();
            let effects = model.effects(design.x()).unwrap();
            assert!(effects.is_finite(), "{name}");
            if binary {
                assert!(effects.mu0.iter().chain(&effects.mu1).all(|m| (0.0..=1.0).contains(m)), "{name}");
            }
            let again = entry.load(&model.state().unwrap(), &TOOLS).unwrap();
            assert_eq!(effects, again.effects(design.x()).unwrap(), "{name}");
            assert_eq!(model.diagnostics(), again.diagnostics(), "{name}");
            // Three encoders show roles, one shows what it reads.
            let diagnostics = model.diagnostics();
            if matches!(entry.info().class, "TARNet" | "CFR" | "DragonNet") {
                let total: f64 = diagnostics.reading.iter().map(|column| column.share).sum();
                assert!(
                    diagnostics.reading.len() == 4 && (total - 1.0).abs() < 1e-9,
                    "{name}: {:?}",
                    diagnostics.reading
                );
            } else {
                assert!(diagnostics.reading.is_empty(), "{name}");
            }
        }
    }
}

#[test]
fn same_bits_with_one_and_two_threads() {
    let design = common::design(700, 4, false);
    for name in ["dpsw-norm", "cfr-wass", "ganite", "psw"] {
        for members in [1, 3] {
            let params = short().with("members", members).with("batch", 600);
            let one = in_pool(1, || fit(name, &params, &design, 3).unwrap().effects(design.x()).unwrap());
            let two = in_pool(2, || fit(name, &params, &design, 3).unwrap().effects(design.x()).unwrap());
            assert_eq!(one, two, "{name} with {members} members");
        }
    }
}

#[derive(Default)]
struct Memory(Mutex<Option<State>>);

impl CheckpointStore for Memory {
    fn load(&self) -> Result<Option<State>> {
        Ok(self.0.lock().unwrap().clone())
    }
    fn save(&self, state: &State) -> Result<()> {
        *self.0.lock().unwrap() = Some(state.clone());
        Ok(())
    }
}

/// Asks to stop after some epochs.
struct Impatient {
    left: AtomicU64,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Epoch { .. }) {
            let left = self.left.load(Ordering::Relaxed);
            self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        }
    }
    fn interrupted(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_resumed_fit_ends_in_the_same_bits() {
    for name in ["dpsw-norm", "ganite", "psw"] {
        resumes(name, &short());
    }
}

/// A fit that is interrupted again and again ends where one that is left alone does.
fn resumes(name: &str, params: &Params) {
    let design = common::design(200, 4, false);
    let estimator = entry(name).build(&own(entry(name), params), &TOOLS).unwrap();
    let whole = estimator.fit(&design, &FitContext::silent(Seed(9))).unwrap().effects(design.x()).unwrap();
    let store = Memory::default();
    let mut stops = 0;
    let resumed = loop {
        let observer = Impatient { left: AtomicU64::new(2) };
        let ctx = FitContext { observer: &observer, checkpoint: Some(&store), ..FitContext::silent(Seed(9)) };
        match estimator.fit(&design, &ctx) {
            Ok(model) => break model,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
                stops += 1;
                assert!(stops < 200, "{name} does not get on");
            }
        }
    };
    assert!(stops > 1, "{name} was never interrupted");
    assert_eq!(whole, resumed.effects(design.x()).unwrap(), "{name}");
    let other = FitContext { observer: &Silent, checkpoint: Some(&store), ..FitContext::silent(Seed(10)) };
    assert!(estimator.fit(&design, &other).unwrap_err().to_string().contains("checkpoint"));
}

#[test]
fn five_members_hold_out_every_row_and_report_their_spread() {
    let design = common::design(300, 4, false);
    let model = fit("dpsw-norm", &short().with("members", 5), &design, 1).unwrap();
    let held_out = &model.held_out().unwrap()[0];
    assert!(held_out.is_finite() && held_out.len() == 300 && held_out.e.is_some());
    let effects = model.effects(design.x()).unwrap();
    assert!(effects.se.unwrap().iter().all(|s| *s > 0.0));
    assert!(effects.e.unwrap().iter().all(|e| *e > 0.0 && *e < 1.0));
}

/// Features, arm and outcome of a row.
type Row = (Vec<f64>, u8, f64);

/// Rows whose treatment, features or sizes defeat careless code.
fn extremes() -> Vec<(&'static str, Design)> {
    let make = |n: usize, f: &dyn Fn(usize, &mut paretau_core::Rng) -> Row| {
        let mut rng = Seed(21).rng();
        let (mut x, mut t, mut y) = (vec![], vec![], vec![]);
        for i in 0..n {
            let (row, a, b) = f(i, &mut rng);
            x.extend(row);
            t.push(a);
            y.push(b);
        }
        let d = x.len() / n;
        Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap()
    };
    vec![
        (
            "perfect separation",
            make(200, &|_, rng| {
                let z = rng.normal();
                (vec![z, rng.normal()], u8::from(z > 0.0), z)
            }),
        ),
        (
            "an arm of three rows",
            make(200, &|i, rng| (vec![rng.normal(), rng.normal()], u8::from(i < 3), rng.normal())),
        ),
        (
            "constant, duplicated and huge columns",
            make(200, &|i, rng| {
                let z = rng.normal();
                (vec![5.0, z, z, 1e12 * rng.normal(), 1e12 + rng.normal(), 0.0], u8::from(i % 2 == 0), z)
            }),
        ),
        ("a constant outcome", make(100, &|i, rng| (vec![rng.normal()], u8::from(i % 2 == 0), 3.0))),
        ("huge outcomes", make(100, &|i, rng| (vec![rng.normal()], u8::from(i % 3 == 0), 1e150 * rng.normal()))),
        ("ten rows", make(10, &|i, rng| (vec![rng.normal()], u8::from(i % 2 == 0), rng.normal()))),
        ("two rows", make(2, &|i, rng| (vec![rng.normal()], u8::from(i % 2 == 0), rng.normal()))),
        (
            "propensities of a millionth",
            make(400, &|i, rng| {
                let z = rng.normal();
                (vec![z], u8::from(i % 100 == 0), z)
            })
            .with_propensity((0..400).map(|i| if i % 2 == 0 { 1e-6 } else { 1.0 - 1e-6 }).collect())
            .unwrap(),
        ),
    ]
}

#[test]
fn extreme_data_give_finite_effects_or_a_typed_error() {
    for (what, design) in extremes() {
        let plain = ["dpsw-norm", "drcfr", "dpsw", "psw", "dragonnet", "cfr-wass", "ganite"].map(|name| (name, false));
        for (name, batch_norm) in plain.into_iter().chain(NETWORKS.map(|name| (name, true))) {
            match fit(name, &short().with("batch_norm", batch_norm), &design, 2) {
                Ok(model) => {
                    assert!(model.effects(design.x()).unwrap().is_finite(), "{name} on {what}");
                    let warnings = &model.diagnostics().warnings;
                    let warned = |code: &str| warnings.iter().any(|w| w.code == code);
                    if what.contains("three rows") {
                        assert!(warned("few-rows-in-arm"), "{name}: {warnings:?}");
                    }
                    if what.contains("constant,") {
                        assert!(warned("constant-columns"), "{name}: {warnings:?}");
                    }
                    if what.contains("millionth") {
                        let share = model.diagnostics().numbers.get("extreme_propensity_share");
                        assert!(share.is_some_and(|share| *share > 0.05), "{name}: {share:?}");
                    }
                }
                Err(error) => assert!(!error.to_string().is_empty(), "{name} on {what}"),
            }
        }
    }
}

/// Keeps every epoch's numbers.
#[derive(Default)]
struct Recorder(Mutex<Vec<std::collections::BTreeMap<String, f64>>>);

impl Observer for Recorder {
    fn event(&self, event: &Event) {
        if let Event::Epoch { values, .. } = event {
            self.0.lock().unwrap().push(values.clone());
        }
    }
    fn interrupted(&self) -> bool {
        false
    }
}

#[test]
fn every_look_reports_losses_weights_and_tails() {
    let design = common::design(400, 4, false);
    let recorder = Recorder::default();
    let params = short().with("gamma", 1.0).with("dropout", 0.0).with("members", 1);
    let ctx = FitContext { observer: &recorder, ..FitContext::silent(Seed(3)) };
    let model = entry("dpsw-norm").build(&params, &TOOLS).unwrap().fit(&design, &ctx).unwrap();
    let looks = recorder.0.lock().unwrap();
    assert!(!looks.is_empty());
    for name in [
        "train_0",
        "train_1",
        "valid_factual",
        "valid_cross_entropy",
        "weight_max",
        "ess_share",
        "khat",
        "tail_fits",
        "tail_fits_left",
    ] {
        assert!(looks.iter().all(|look| look.contains_key(name)), "{name} is missing: {:?}", looks[0]);
    }
    assert!(model.diagnostics().numbers.contains_key("tail_fits_left_share"));
}

#[test]
fn nets_with_and_without_weights_are_mixed_unless_gamma_is_set() {
    let design = common::design(400, 4, false);
    let auto = fit("dpsw-norm", &short().with("dropout", 0.0), &design, 3).unwrap();
    let share = auto.diagnostics().numbers["weighted_share"];
    assert!((0.0..=1.0).contains(&share), "{share}");
    for gamma in [0.0, 1.0] {
        let params = short().with("dropout", 0.0).with("gamma", gamma);
        let one = fit("dpsw-norm", &params, &design, 3).unwrap();
        assert!(!one.diagnostics().numbers.contains_key("weighted_share"));
        assert_ne!(one.effects(design.x()).unwrap().tau, auto.effects(design.x()).unwrap().tau);
    }
    // The paper's settings keep its exact weights.
    let paper = short().with("settings", "paper-acic").with("members", 1);
    assert_eq!(fit("dpsw-norm", &paper, &design, 3).unwrap().diagnostics().numbers["gamma"], 1.0);
}

#[test]
fn the_reported_propensity_knows_instruments_that_outcomes_ignore() {
    let n = 1500;
    let mut rng = Seed(8).rng();
    let (mut x, mut t, mut y) = (vec![], vec![], vec![]);
    for _ in 0..n {
        let row = [rng.normal(), rng.normal()];
        // The first column drives the treatment alone, the second the outcome alone.
        t.push(u8::from(rng.bernoulli(1.0 / (1.0 + (-1.5 * row[0]).exp()))));
        y.push(row[1] + 0.3 * rng.normal());
        x.extend(row);
    }
    let design = Design::new(Features::Dense(Dense::new(n, 2, x.clone()).unwrap()), t, y).unwrap();
    let params = short().with("members", 5).with("max_steps", 300).with("min_steps", 300);
    let e = fit("dpsw-norm", &params, &design, 1).unwrap().effects(design.x()).unwrap().e.unwrap();
    let truth: Vec<f64> = x.chunks(2).map(|row| 1.0 / (1.0 + (-1.5 * row[0]).exp())).collect();
    let gap = e.iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum::<f64>() / n as f64;
    assert!(gap < 0.06, "{gap}");
}

#[test]
fn weights_groups_and_known_propensities_are_taken() {
    let design = common::design(200, 4, false);
    let plain = fit("dpsw-norm", &short(), &design, 4).unwrap().effects(design.x()).unwrap();
    let weighted = design.clone().weighted((0..200).map(|i| f64::from(1 + i % 3)).collect()).unwrap();
    let known = design.clone().with_propensity(vec![0.4; 200]).unwrap();
    let grouped = design.clone().grouped((0..200).map(|i| i / 4).collect()).unwrap();
    for other in [weighted, known, grouped] {
        let effects = fit("dpsw-norm", &short(), &other, 4).unwrap().effects(design.x()).unwrap();
        assert!(effects.is_finite());
        assert_ne!(effects.tau, plain.tau);
    }
}

#[test]
fn missing_values_and_a_third_arm_are_refused() {
    let mut values = vec![0.5; 40];
    values[7] = f64::NAN;
    let x = Features::Dense(Dense::new(20, 2, values).unwrap());
    let t: Vec<u8> = (0..20).map(|i| i % 2).collect();
    let design = Design::new(x.clone(), t, (0..20).map(f64::from).collect()).unwrap();
    assert!(fit("tarnet", &short(), &design, 1).unwrap_err().to_string().contains("missing"));
    let design = Design::with_arms(
        Features::Dense(Dense::new(21, 1, vec![0.5; 21]).unwrap()),
        (0..21).map(|i| i % 3).collect(),
        (0..21).map(f64::from).collect(),
        3,
    )
    .unwrap();
    for entry in ENTRIES {
        let name = entry.info().name;
        let error = fit(name, &short(), &design, 1).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{name}` takes two arms")), "{error}");
    }
}

#[test]
fn layer_normalisation_is_kept_in_the_model() {
    let design = common::design(160, 4, false);
    let params = short().with("layer_norm", true);
    for name in ["tarnet", "ganite"] {
        let model = fit(name, &params, &design, 1).unwrap();
        let effects = model.effects(design.x()).unwrap();
        assert_ne!(effects, fit(name, &short(), &design, 1).unwrap().effects(design.x()).unwrap(), "{name}");
        let again = entry(name).load(&model.state().unwrap(), &TOOLS).unwrap();
        assert_eq!(effects, again.effects(design.x()).unwrap(), "{name}");
    }
}

/// One preset of each network.
const NETWORKS: [&str; 5] = ["tarnet", "dragonnet", "dpsw-norm", "psw", "ganite"];

#[test]
fn batch_normalisation_is_kept_in_the_model_and_rows_do_not_depend_on_their_company() {
    let design = common::design(160, 4, false);
    for name in NETWORKS {
        let model = fit(name, &short().with("batch_norm", true), &design, 1).unwrap();
        let effects = model.effects(design.x()).unwrap();
        for other in [short(), short().with("layer_norm", true)] {
            assert_ne!(effects, fit(name, &other, &design, 1).unwrap().effects(design.x()).unwrap(), "{name}");
        }
        let again = entry(name).load(&model.state().unwrap(), &TOOLS).unwrap();
        assert_eq!(effects, again.effects(design.x()).unwrap(), "{name}");
        let Features::Dense(x) = design.x() else { panic!("dense rows were made") };
        for row in [0, 7, 159] {
            let alone = Features::Dense(Dense::new(1, 4, x.row(row).to_vec()).unwrap());
            let alone = again.effects(&alone).unwrap();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            assert!(close(alone.mu0[0], effects.mu0[row]) && close(alone.mu1[0], effects.mu1[row]), "{name} {row}");
        }
    }
}

#[test]
fn batch_normalisation_resumes_and_threads_in_the_same_bits() {
    let design = common::design(700, 4, false);
    for name in NETWORKS {
        let params = short().with("batch_norm", true).with("batch", 600).with("members", 1);
        let one = in_pool(1, || fit(name, &params, &design, 3).unwrap().effects(design.x()).unwrap());
        let two = in_pool(2, || fit(name, &params, &design, 3).unwrap().effects(design.x()).unwrap());
        assert_eq!(one, two, "{name}");
        resumes(name, &short().with("batch_norm", true));
    }
}

#[test]
fn batch_normalisation_learns_the_effect() {
    let design = common::design(1500, 4, false);
    let Features::Dense(x) = design.x() else { panic!("dense rows were made") };
    let truth: Vec<f64> = (0..1500).map(|i| 1.0 + x.row(i)[3]).collect();
    let mean = truth.iter().sum::<f64>() / 1500.0;
    let error = |tau: &[f64]| (tau.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 1500.0).sqrt();
    let flat = error(&[mean; 1500]);
    for name in NETWORKS {
        let params = short().with("batch_norm", true).with("max_steps", 600).with("min_steps", 300);
        let tau = fit(name, &params, &design, 1).unwrap().effects(design.x()).unwrap().tau;
        let found = error(&tau);
        println!("{name}: root mean squared error {found:.3}, of the mean effect {flat:.3}");
        assert!(found < 0.5 * flat, "{name}: {found}, the mean effect has {flat}");
    }
}

#[test]
fn two_normalisations_at_once_are_refused() {
    let both = short().with("batch_norm", true).with("layer_norm", true);
    let error = entry("tarnet").build(&own(entry("tarnet"), &both), &TOOLS).err().unwrap().to_string();
    assert!(error.contains("batch_norm") && error.contains("layer_norm"), "{error}");
}

#[test]
fn the_paper_settings_run_in_blocks() {
    let design = common::design(120, 4, false);
    for settings in ["paper-news", "paper-acic", "paper-synthetic"] {
        let params =
            Params::none().with("settings", settings).with("members", 1).with("block", 3).with("max_steps", 12);
        for params in [params.clone().with("batch_norm", true), params] {
            let model = fit("dpsw-norm", &params, &design, 1).unwrap();
            assert!(model.effects(design.x()).unwrap().is_finite());
        }
    }
}

#[test]
fn sparse_and_dense_features_lead_to_nearly_the_same_effects() {
    let (n, d) = (150, 12);
    let mut rng = Seed(8).rng();
    let values: Vec<f64> =
        (0..n * d).map(|_| if rng.bernoulli(0.15) { (1 + rng.below(3)) as f64 } else { 0.0 }).collect();
    let (mut indptr, mut indices, mut kept) = (vec![0], vec![], vec![]);
    for row in values.chunks(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            kept.push(*v);
        }
        indptr.push(indices.len());
    }
    let t: Vec<u8> = (0..n).map(|i| u8::from(i % 2 == 0)).collect();
    let y: Vec<f64> = values.chunks(d).map(|r| r[0] + r[1] + 0.1 * rng.normal()).collect();
    let dense = Features::Dense(Dense::new(n, d, values).unwrap());
    let sparse = Features::Sparse(paretau_core::Csr::new(n, d, indptr, indices, kept).unwrap());
    // Sparse columns have no pieces.
    let params = short().with("max_steps", 10).with("embedding", "plain");
    for name in ["dpsw-norm", "ganite", "psw"] {
        let a = fit(name, &params, &Design::new(dense.clone(), t.clone(), y.clone()).unwrap(), 1).unwrap();
        let b = fit(name, &params, &Design::new(sparse.clone(), t.clone(), y.clone()).unwrap(), 1).unwrap();
        let (a, b) = (a.effects(&dense).unwrap(), b.effects(&sparse).unwrap());
        for (p, q) in a.tau.iter().zip(&b.tau) {
            assert!((p - q).abs() < 1e-3, "{name}: {p} {q}");
        }
    }
}

/// What a search tries: every entry's own learning rates, sizes and strengths, and nothing that it does not use.
#[test]
fn searches_try_what_an_estimator_uses() {
    let everywhere = ["batch", "dropout", "encoder", "heads", "l2", "rate", "representation"];
    for entry in ENTRIES {
        let more: &[&str] = match entry.info().class {
            "CFR" | "PSW" => &["balance_weight"],
            "DRCFR" => &["balance_weight", "propensity_rate", "schedule"],
            "DPSW" => &["balance_weight", "eps", "kappa", "propensity_rate", "schedule"],
            _ => &[],
        };
        let mut expected: Vec<&str> = everywhere.iter().chain(more).copied().collect();
        expected.sort_unstable();
        let mut searched: Vec<&str> =
            entry.params().iter().filter(|spec| spec.search.is_some()).map(|spec| spec.name).collect();
        searched.sort_unstable();
        assert_eq!(searched, expected, "{}", entry.info().name);
    }
}

#[test]
fn every_estimator_takes_its_own_parameters_and_no_others() {
    for (name, foreign) in [
        ("tarnet", "alpha"),
        ("tarnet", "weighting"),
        ("cfr-mmd", "settings"),
        ("dragonnet", "balance"),
        ("ganite", "loss"),
        ("drcfr", "eps"),
        ("psw", "per_arm"),
        ("dpsw", "network"),
    ] {
        let error = entry(name).build(&Params::none().with(foreign, 1), &TOOLS).unwrap_err().to_string();
        assert!(error.starts_with(&format!("unknown parameter `{foreign}`")), "{name}: {error}");
    }
    // The methods of the paper have the settings of its scripts.
    for name in ["tarnet", "ganite", "psw", "drcfr", "drcfr-norm", "drcfr-trunc", "drcfr-ignore", "dpsw", "dpsw-norm"] {
        let paper = Params::none().with("settings", "paper-news");
        assert!(entry(name).build(&paper, &TOOLS).is_ok(), "{name}");
    }
}
