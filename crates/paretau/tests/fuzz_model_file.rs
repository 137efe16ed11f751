//! Damaged and forged model files: an error or a model, never a panic, never an endless loop.
//!
//! Random damage is caught by the digest. A forger can make the digest fit, so that damage is done to the state, too,
//! before it is written: what then loads must still predict or refuse in words.
#![allow(clippy::unwrap_used)]

use std::sync::OnceLock;

use paretau::data::{RoleSpec, Table, simulator};
use paretau::{FitOptions, Model, Params, Seed, State, Tensor, model_file};
use proptest::prelude::*;
use serde_json::Value;

/// Small models of each way to store one: linear, trees, networks, and a recipe over trees.
const MODELS: [(&str, &[(&str, &str)]); 4] = [
    ("lr-2", &[]),
    ("causal-forest", &[("n_estimators", "8")]),
    ("tarnet", &[("members", "1"), ("max_steps", "3"), ("min_steps", "1")]),
    ("dr-learner", &[("base", "ridge")]),
];

/// The models' states and the table they were fitted on.
fn fitted() -> &'static (Vec<State>, Table) {
    static FITTED: OnceLock<(Vec<State>, Table)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let params = Params::none().with("n", 120).with("d", 3);
        let table = (simulator("synthetic").unwrap().run)(&params, Seed(1)).unwrap().table().unwrap();
        let state = |(name, set): &(&str, &[(&str, &str)])| {
            let params = set.iter().fold(Params::none(), |params, (key, value)| params.with(*key, *value));
            let options = FitOptions { params, ..FitOptions::new(name) };
            paretau::fit(table.clone(), &RoleSpec::new("t", "y"), &options).unwrap().state().unwrap()
        };
        (MODELS.iter().map(state).collect(), table)
    })
}

/// Loads a file's bytes and predicts; only panics fail.
fn feed(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        let _ = model.predict(&fitted().1);
        let _ = model.to_bytes();
    }
}

/// Every place of a JSON document, as the number of leaves before it.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(entries) if !entries.is_empty() => entries.iter_mut().flat_map(leaves).collect(),
        Value::Object(fields) if !fields.is_empty() => fields.values_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

/// What a forger may write at one place.
fn forged() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-5..5_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
        Just(Value::from(Vec::<u8>::new())),
        Just(serde_json::json!({})),
    ]
}

/// One tensor with an entry changed, cut short or of another shape.
fn damage(tensor: &mut Tensor, at: prop::sample::Index, how: u8, bits: u64) {
    fn set<T>(values: &mut [T], at: prop::sample::Index, value: T) {
        if !values.is_empty() {
            let at = at.index(values.len());
            values[at] = value;
        }
    }
    match (how % 4, tensor) {
        (0, Tensor::F64(_, values)) => set(values, at, f64::from_bits(bits)),
        (0, Tensor::F32(_, values)) => set(values, at, f32::from_bits(bits as u32)),
        (0, Tensor::U32(_, values)) => set(values, at, bits as u32),
        (0, Tensor::U16(_, values)) => set(values, at, bits as u16),
        (0, Tensor::U8(_, values)) => set(values, at, bits as u8),
        (1, tensor) => *tensor = Tensor::F64(vec![0], vec![]),
        (2, tensor) => *tensor = Tensor::U32(vec![3], vec![0, bits as u32, 7]),
        (_, Tensor::F64(shape, values)) => {
            values.truncate(at.index(values.len() + 1));
            *shape = vec![values.len()];
        }
        (_, tensor) => *tensor = Tensor::F64(vec![2], vec![f64::NAN, f64::from_bits(bits)]),
    }
}

#[test]
fn the_models_themselves_load() {
    let (states, table) = fitted();
    for state in states {
        let model = Model::from_bytes(&model_file::to_bytes(state).unwrap()).unwrap();
        assert_eq!(model.predict(table).unwrap().effects.tau.len(), 120);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Model::from_bytes(&bytes).is_err());
    }

    #[test]
    fn damaged_bytes_are_refused(
        which in 0..MODELS.len(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = model_file::to_bytes(&fitted().0[which]).unwrap();
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        feed(&bytes);
    }

    #[test]
    fn forged_descriptions_never_panic(
        which in 0..MODELS.len(),
        places in prop::collection::vec((any::<prop::sample::Index>(), forged()), 1..3),
    ) {
        let mut state = fitted().0[which].clone();
        for (at, value) in places {
            let mut leaves = leaves(&mut state.json);
            let at = at.index(leaves.len());
            *leaves[at] = value;
        }
        feed(&model_file::to_bytes(&state).unwrap());
    }

    #[test]
    fn forged_tensors_never_panic(
        which in 0..MODELS.len(),
        hits in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), any::<u64>()), 1..4),
    ) {
        let mut state = fitted().0[which].clone();
        for (tensor, at, how, bits) in hits {
            let place = tensor.index(state.tensors.len());
            if let Some(tensor) = state.tensors.values_mut().nth(place) {
                damage(tensor, at, how, bits);
            }
        }
        if let Ok(bytes) = model_file::to_bytes(&state) {
            feed(&bytes);
        }
    }
}
