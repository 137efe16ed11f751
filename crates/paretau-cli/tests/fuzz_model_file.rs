//! Damaged and forged model files: an error or a model, never a panic, never an endless loop.
//!
//! Random damage is caught by the digest. A forger can make the digest fit, so that damage is done to the state, too,
//! before it is written: what then loads must still predict or refuse in words. Draws come from seeds, so that a
//! failure names the case that brings it back.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use paretau::data::{RoleSpec, Table, simulator};
use paretau::{FitOptions, Model, Params, Rng, Seed, State, Tensor, model_file};
use serde_json::{Value, json};

/// Small models of each way to store one: linear, trees, networks, and a recipe over base learners.
const MODELS: [(&str, &[(&str, &str)]); 4] = [
    ("lr-2", &[]),
    ("causal-forest", &[("n_estimators", "8")]),
    ("tarnet", &[("members", "1"), ("max_steps", "3"), ("min_steps", "1")]),
    ("dr-learner", &[("base", "forest"), ("base.n_estimators", "4")]),
];
/// Cases of each kind and model.
const CASES: u64 = 150;

/// The models' states and the table they were fitted on.
fn fitted() -> &'static (Vec<State>, Table) {
    static FITTED: OnceLock<(Vec<State>, Table)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let params = Params::none().with("n", 120).with("d", 3);
        let table = (simulator("synthetic").unwrap().run)(&params, Seed(1)).unwrap().table().unwrap();
        let state = |(name, set): &(&str, &[(&str, &str)])| {
            let params = set.iter().fold(Params::none(), |params, (key, value)| params.with(key, *value));
            let options = FitOptions { params, ..FitOptions::new(name) };
            paretau::fit(table.clone(), &RoleSpec::new("t", "y"), &options).unwrap().state().unwrap()
        };
        (MODELS.iter().map(state).collect(), table)
    })
}

/// Loads a file's bytes and predicts.
fn feed(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        let _ = model.predict(&fitted().1);
        let _ = model.to_bytes();
    }
}

/// Runs a kind of damage many times on each model; panics and long runs are faults.
fn many(what: &str, damage: impl Fn(&mut State, &mut Rng) -> Option<Vec<u8>>) {
    let mut faults = vec![];
    for (which, (name, _)) in MODELS.iter().enumerate() {
        for case in 0..CASES {
            let mut rng = Seed(case).named(what).indexed(which as u64).rng();
            let mut state = fitted().0[which].clone();
            let Some(bytes) = damage(&mut state, &mut rng) else { continue };
            let start = Instant::now();
            if catch_unwind(AssertUnwindSafe(|| feed(&bytes))).is_err() {
                faults.push(format!("{name}, case {case}: panicked"));
            }
            if start.elapsed() > Duration::from_secs(20) {
                faults.push(format!("{name}, case {case}: took {:?}", start.elapsed()));
            }
        }
    }
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
}

#[test]
fn the_models_themselves_load() {
    let (states, table) = fitted();
    for state in states {
        let model = Model::from_bytes(&model_file::to_bytes(state).unwrap()).unwrap();
        assert_eq!(model.predict(table).unwrap().arms[0].tau.len(), 120);
    }
}

#[test]
fn random_bytes_are_refused() {
    for case in 0..500 {
        let mut rng = Seed(case).named("bytes").rng();
        let bytes: Vec<u8> = (0..rng.below(300)).map(|_| rng.bits() as u8).collect();
        assert!(Model::from_bytes(&bytes).is_err(), "case {case}");
    }
}

#[test]
fn damaged_bytes_never_panic() {
    many("damage", |state, rng| {
        let mut bytes = model_file::to_bytes(state).unwrap();
        for _ in 0..=rng.below(5) {
            let at = rng.below(bytes.len());
            bytes[at] = rng.bits() as u8;
        }
        if rng.bernoulli(0.3) {
            bytes.truncate(rng.below(bytes.len()));
        }
        Some(bytes)
    });
}

/// Every leaf of a JSON document.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    let is_leaf = match value {
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    match value {
        leaf if is_leaf => vec![leaf],
        Value::Array(entries) => entries.iter_mut().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values_mut().flat_map(leaves).collect(),
        _ => vec![],
    }
}

#[test]
fn forged_descriptions_never_panic() {
    many("description", |state, rng| {
        for _ in 0..=rng.below(2) {
            let value = match rng.below(9) {
                0 => Value::Null,
                1 => json!(rng.bernoulli(0.5)),
                2 => json!(rng.bits()),
                3 => json!(rng.below(10) as i64 - 5),
                4 => json!(rng.normal() * 1e3),
                5 => json!(1e308),
                6 => json!("other"),
                7 => json!([]),
                _ => json!({}),
            };
            let mut leaves = leaves(&mut state.json);
            let at = rng.below(leaves.len());
            *leaves[at] = value;
        }
        Some(model_file::to_bytes(state).unwrap())
    });
}

/// One tensor with an entry changed, of another kind, or cut short.
fn damage(tensor: &mut Tensor, rng: &mut Rng) {
    fn set<T>(values: &mut [T], rng: &mut Rng, value: T) {
        if !values.is_empty() {
            let at = rng.below(values.len());
            values[at] = value;
        }
    }
    let odd = [f64::NAN, f64::INFINITY, -1e300, 0.0, 3.5][rng.below(5)];
    let bits = if rng.bernoulli(0.5) { rng.bits() } else { rng.below(300) as u64 };
    match (rng.below(4), tensor) {
        (0 | 1, Tensor::F64(_, values)) => set(values, rng, odd),
        (0 | 1, Tensor::F32(_, values)) => set(values, rng, odd as f32),
        (0 | 1, Tensor::U32(_, values)) => set(values, rng, bits as u32),
        (0 | 1, Tensor::U16(_, values)) => set(values, rng, bits as u16),
        (0 | 1, Tensor::U8(_, values)) => set(values, rng, bits as u8),
        (2, tensor) => *tensor = Tensor::U32(vec![3], vec![0, bits as u32, 7]),
        (_, Tensor::F64(shape, values)) => {
            values.truncate(rng.below(values.len() + 1));
            *shape = vec![values.len()];
        }
        (_, Tensor::U32(shape, values)) => {
            values.truncate(rng.below(values.len() + 1));
            *shape = vec![values.len()];
        }
        (_, tensor) => *tensor = Tensor::F64(vec![0], vec![]),
    }
}

#[test]
fn forged_tensors_never_panic() {
    many("tensors", |state, rng| {
        for _ in 0..=rng.below(3) {
            let place = rng.below(state.tensors.len().max(1));
            if let Some(tensor) = state.tensors.values_mut().nth(place) {
                damage(tensor, rng);
            }
        }
        if rng.bernoulli(0.1) {
            let name = state.tensors.keys().next().cloned()?;
            state.tensors.remove(&name);
        }
        model_file::to_bytes(state).ok()
    });
}
