//! What the fuzz targets do with bytes: an error in words or a result, never a panic and never an endless loop.

use std::path::Path;
use std::sync::{Once, OnceLock};

use paretau::data::{BatchReader, Field, Kind, ReadOptions, RoleSpec, Table, read as read_table, simulator};
use paretau_study::experiment::Plan;
use paretau::{ErrorKind, FitOptions, Model, Params, Seed, State, model_file as file};
use serde_json::Value;

/// Reads the bytes as a file of that name, whole and in batches, with kinds found out and with kinds told.
pub fn read(name: &str, bytes: &[u8]) {
    read_files(&[(name, bytes)]);
}

/// Reads the bytes as a News pair: what comes before the first NUL is its `.x`, the rest its `.y`.
pub fn read_pair(bytes: &[u8]) {
    let at = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (words, outcomes) = bytes.split_at(at);
    read_files(&[("f.csv.x", words), ("f.csv.y", outcomes.get(1..).unwrap_or_default())]);
}

/// Reads the first of the files, which lie side by side.
fn read_files(files: &[(&str, &[u8])]) {
    // Decoders of others may panic on damage, which the readers catch: only a panic that nobody catches is a finding, and
    // on that one the harness ends by itself. Its own hook would end at the caught ones, too.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    let folder = tempfile::tempdir().expect("a folder for the file");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("room for the file");
    }
    let path = folder.path().join(files[0].0);
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

/// States of small models of every family, and the rows they were fitted to.
fn fitted() -> &'static (Vec<State>, Table) {
    static FITTED: OnceLock<(Vec<State>, Table)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let params = Params::none().with("n", 80).with("d", 3);
        let simulate = simulator("synthetic").expect("a simulator").run;
        let table = simulate(&params, Seed(1)).and_then(|made| made.table()).expect("rows");
        let small: [(&str, &[(&str, i64)]); 6] = [
            ("lr-1", &[]),
            ("lr-2", &[]),
            ("t-learner", &[]),
            ("dr-learner", &[]),
            ("causal-forest", &[("n_estimators", 12)]),
            ("tarnet", &[("members", 1), ("max_steps", 40), ("min_steps", 40)]),
        ];
        let states = small.into_iter().map(|(name, params)| {
            let params = params.iter().fold(Params::none(), |all, (key, value)| all.with(*key, *value));
            let options = FitOptions { params, ..FitOptions::new(name) };
            let model = paretau::fit(table.clone(), &RoleSpec::new("t", "y"), &options).expect("a fit");
            model.state().expect("its state")
        });
        (states.collect(), table)
    })
}

/// Loads the bytes; what loads must predict or refuse.
pub fn model_file(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        let _ = model.predict(&fitted().1);
    }
}

/// Puts the JSON at the end of the bytes somewhere into a model's document and seals it with a right digest: the first
/// byte says which model, the second how deep, the next ones which way.
pub fn model_state(bytes: &[u8]) {
    let Some((&[which, depth], rest)) = bytes.split_first_chunk::<2>() else { return };
    let depth = usize::from(depth % 8).min(rest.len());
    let (way, json) = rest.split_at(depth);
    let Ok(value) = serde_json::from_slice::<Value>(json) else { return };
    let states = &fitted().0;
    let mut state = states[usize::from(which) % states.len()].clone();
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

/// The page of a run whose records are the bytes: a page or an error, in bounded time, without infinities.
pub fn page(bytes: &[u8]) {
    const PLAN: &str = "name = \"p\"\nsummary = \"s\"\n[[data]]\nname = \"d\"\nsimulator = \"synthetic\"\n\
                        realisations = [1]\n[[methods]]\nestimator = \"lr-1\"\n";
    let folder = tempfile::tempdir().expect("a folder for the run");
    std::fs::write(folder.path().join("plan.toml"), PLAN).expect("room for the plan");
    std::fs::write(folder.path().join("records.jsonl"), bytes).expect("room for the records");
    if let Ok(page) = paretau_study::report_run(folder.path()) {
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(!page.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "a control character is in the page");
    }
}
