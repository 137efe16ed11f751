//! What the fuzz targets do with bytes: an error in words or a result, never a panic and never an endless loop.

use std::path::Path;
use std::sync::{Once, OnceLock};

use paretau::data::{BatchReader, Field, Kind, ReadOptions, RoleSpec, Table, read as read_table, simulator};
use paretau_study::experiment::Plan;
use paretau::{ErrorKind, FitOptions, Model, Params, Seed, State, model_file as file};
use serde_json::Value;

/// Reads the bytes as a file of that name, whole and in batches, with kinds found out and with kinds told.
pub fn read(name: &str, bytes: &[u8]) {
    // Decoders of others may panic on damage, which the readers catch: only a panic that nobody catches is a finding, and
    // on that one the harness ends by itself. Its own hook would end at the caught ones, too.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("room for the file");
    let fields = vec![Field::new("x1", Kind::Number), Field::new("town", Kind::Text), Field::new("day", Kind::Date)];
    let told = ReadOptions { fields, optional: vec![Field::new("t", Kind::Text)], ..ReadOptions::default() };
    for options in [ReadOptions::default(), told.clone(), ReadOptions { only_fields: true, ..told }] {
        let whole = read_table(&path, &options);
        let batches = BatchReader::open(&path, &options, 3).and_then(Iterator::collect::<Result<Vec<Table>, _>>);
        if let (Ok(table), Ok(batches)) = (&whole, &batches) {
            assert_eq!(table.n_rows(), batches.iter().map(Table::n_rows).sum::<usize>(), "rows are lost in batches");
        }
        for error in [whole.err(), batches.err()].into_iter().flatten() {
            assert_eq!(error.kind(), ErrorKind::Data, "{error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
}

/// A small model's state and the rows it was fitted to.
fn fitted() -> &'static (State, Table) {
    static FITTED: OnceLock<(State, Table)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let params = Params::none().with("n", 80).with("d", 3);
        let simulate = simulator("synthetic").expect("a simulator").run;
        let table = simulate(&params, Seed(1)).and_then(|made| made.table()).expect("rows");
        let model = paretau::fit(table.clone(), &RoleSpec::new("t", "y"), &FitOptions::new("lr-2")).expect("a fit");
        (model.state().expect("its state"), table)
    })
}

/// Loads the bytes; what loads must predict or refuse.
pub fn model_file(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        let _ = model.predict(&fitted().1);
    }
}

/// Puts the JSON at the end of the bytes somewhere into a model's document and seals it with a right digest: the first
/// byte says how deep, the next ones which way.
pub fn model_state(bytes: &[u8]) {
    let Some((&depth, rest)) = bytes.split_first() else { return };
    let depth = usize::from(depth % 8).min(rest.len());
    let (way, json) = rest.split_at(depth);
    let Ok(value) = serde_json::from_slice::<Value>(json) else { return };
    let mut state = fitted().0.clone();
    put(&mut state.json, way, value);
    if let Ok(sealed) = file::to_bytes(&state) {
        model_file(&sealed);
    }
}

/// Puts a value where the way leads, or at the leaf where it ends.
fn put(place: &mut Value, way: &[u8], value: Value) {
    let inside = way.split_first().and_then(|(&turn, rest)| {
        let turn = usize::from(turn);
        let deeper = match place {
            Value::Object(fields) => {
                let n = fields.len().max(1);
                fields.values_mut().nth(turn % n)
            }
            Value::Array(items) => {
                let n = items.len().max(1);
                items.get_mut(turn % n)
            }
            _ => None,
        };
        deeper.map(|deeper| (deeper, rest))
    });
    match inside {
        Some((deeper, rest)) => put(deeper, rest, value),
        None => *place = value,
    }
}

/// Reads the bytes as a plan.
pub fn plan(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(error) = Plan::parse(text, Path::new("plan.toml"))
    {
        assert!(error.to_string().contains("plan.toml"), "{error}");
    }
}
