//! What the fuzz targets do with bytes: an error in words or a result, never a panic and never an endless loop.

use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use paretau::data::{BatchReader, Field, Kind, ReadOptions, RoleSpec, Table, read as read_table, simulator};
use paretau::registry::ESTIMATORS;
use paretau::{ErrorKind, FitOptions, Model, Params, Seed, State, Tensor, model_file as file, parameter_of};
use paretau_study::experiment::{Cell, Plan, Record};
use serde_json::Value;

/// Makes the calling thread the only one that works: handing each of the small pieces to others would take longer than they do, and
/// a fuzzer is to see all that an input reaches. Results do not depend on it.
fn alone() {
    static ALONE: Once = Once::new();
    ALONE.call_once(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
        // Whoever has started a pool already, as the harness without a fuzzer has, goes on with that.
        drop(pool);
    });
}

/// The folder that a target's files lie in, one per process and in memory where the system has such a folder: readers take
/// paths, and a disk would be what is tested otherwise.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let folder = place.join(format!("paretau-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the files");
        folder
    })
}

/// Reads the bytes as a file of that name, whole and in batches, with kinds found out and with kinds told. What came of it is
/// the result, in words: damage that comes to something new is worth more damage.
pub fn read(name: &str, bytes: &[u8]) -> String {
    read_files(&[(name, bytes)])
}

/// Reads the bytes as a News pair: what comes before the first NUL is its `.x`, the rest its `.y`.
pub fn read_pair(bytes: &[u8]) -> String {
    let at = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (words, outcomes) = bytes.split_at(at);
    read_files(&[("f.csv.x", words), ("f.csv.y", outcomes.get(1..).unwrap_or_default())])
}

/// Reads the first of the files, which lie side by side.
fn read_files(files: &[(&str, &[u8])]) -> String {
    alone();
    let mut outcome = String::new();
    // Decoders of others may panic on damage, which the readers catch: only a panic that nobody catches is a finding, and
    // on that one the harness ends by itself. Its own hook would end at the caught ones, too.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    for (name, bytes) in files {
        std::fs::write(folder().join(name), bytes).expect("room for the file");
    }
    let path = folder().join(files[0].0);
    let fields = vec![Field::new("x1", Kind::Number), Field::new("town", Kind::Text), Field::new("day", Kind::Date)];
    let told = ReadOptions { fields, optional: vec![Field::new("t", Kind::Text)], ..ReadOptions::default() };
    for options in [ReadOptions::default(), told.clone(), ReadOptions { only_fields: true, ..told }] {
        let whole = read_table(&path, &options);
        let batches = BatchReader::open(&path, &options, 3).and_then(Iterator::collect::<Result<Vec<Table>, _>>);
        if let (Ok(table), Ok(batches)) = (&whole, &batches) {
            let kinds = table.columns().iter().map(|column| format!("{:?}", column.kind())).collect::<String>();
            outcome += &format!("{} rows {kinds} {}; ", table.n_rows().min(9), table.notes.len());
            assert_eq!(table.n_rows(), batches.iter().map(Table::n_rows).sum::<usize>(), "rows are lost in batches");
        }
        for error in [whole.err(), batches.err()].into_iter().flatten() {
            assert_eq!(error.kind(), ErrorKind::Data, "{error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            outcome += &format!("{error}; ");
        }
    }
    outcome
}

/// Budgets of the models: whoever has one of these parameters is small.
const SMALL: &[(&str, &str)] = &[
    ("members", "1"),
    ("max_steps", "20"),
    ("min_steps", "1"),
    ("dropout", "0"),
    ("l2", "0.001"),
    ("n_estimators", "8"),
    ("n_nuisance", "8"),
    ("base", "ridge"),
    ("effort", "quick"),
];

/// The rows that the models were fitted to.
fn rows() -> &'static Table {
    static ROWS: OnceLock<Table> = OnceLock::new();
    ROWS.get_or_init(|| {
        let params = Params::none().with("n", 80).with("d", 3);
        let simulate = simulator("synthetic").expect("a simulator").run;
        simulate(&params, Seed(1)).and_then(|made| made.table()).expect("rows")
    })
}

/// The state of a small model of an estimator of the registry, each fitted when it is first asked for.
fn state(which: usize) -> State {
    static STATES: [OnceLock<State>; ESTIMATORS.len()] = [const { OnceLock::new() }; ESTIMATORS.len()];
    let which = which % ESTIMATORS.len();
    let made = STATES[which].get_or_init(|| {
        let entry = ESTIMATORS[which];
        let params = SMALL
            .iter()
            .filter(|(name, _)| entry.params().iter().any(|spec| spec.name == parameter_of(name)))
            .fold(Params::none(), |all, (name, value)| all.with(*name, *value));
        let options = FitOptions { params, ..FitOptions::new(entry.info().name) };
        let model = paretau::fit(rows().clone(), &RoleSpec::new("t", "y"), &options).expect("a fit");
        model.state().expect("its state")
    });
    made.clone()
}

/// The file of a small model of an estimator of the registry.
pub fn model_bytes(which: usize) -> Vec<u8> {
    file::to_bytes(&state(which)).expect("a model file")
}

/// Loads the bytes; what loads must predict finite numbers or refuse, and have a page or refuse one.
pub fn model_file(bytes: &[u8]) -> String {
    alone();
    let model = match Model::from_bytes(bytes) {
        Ok(model) => model,
        Err(error) => return error.to_string(),
    };
    let mut outcome = model.about().estimator.clone();
    match model.predict(rows()) {
        Ok(predicted) => {
            assert!(
                predicted.arms.iter().all(|arm| arm.tau.iter().all(|tau| tau.is_finite())),
                "an effect is not finite"
            );
        }
        Err(error) => outcome += &error.to_string(),
    }
    match paretau::report(&model) {
        Ok(page) => check_page(&page),
        Err(error) => outcome += &error.to_string(),
    }
    outcome
}

fn check_page(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "a control character is in the page");
}

/// A forged model with a right digest: the first byte says which estimator, the second what is forged. An odd one puts the
/// JSON at the end somewhere into the document, as deep as the byte says and where the next ones lead; an even one changes
/// numbers of tensors.
pub fn model_state(bytes: &[u8]) -> String {
    let Some((&[which, how], rest)) = bytes.split_first_chunk::<2>() else { return String::new() };
    let mut state = state(usize::from(which));
    if how % 2 == 1 {
        let (way, json) = rest.split_at(usize::from(how / 2 % 8).min(rest.len()));
        let Ok(value) = serde_json::from_slice::<Value>(json) else { return String::new() };
        put(&mut state.json, way, value);
    } else {
        rest.chunks_exact(11).for_each(|change| forge(&mut state, change));
    }
    match file::to_bytes(&state) {
        Ok(sealed) => format!("{which} {}", model_file(&sealed)),
        Err(error) => error.to_string(),
    }
}

/// Changes one number of one tensor: a byte for the tensor, two for the place, eight for the number.
fn forge(state: &mut State, change: &[u8]) {
    let n = state.tensors.len().max(1);
    let Some(tensor) = state.tensors.values_mut().nth(usize::from(change[0]) % n) else { return };
    let place = usize::from(u16::from_le_bytes([change[1], change[2]]));
    let bits = u64::from_le_bytes(change[3..11].try_into().expect("eight bytes"));
    fn set<T>(values: &mut [T], place: usize, value: T) {
        let n = values.len().max(1);
        if let Some(old) = values.get_mut(place % n) {
            *old = value;
        }
    }
    match tensor {
        Tensor::F64(_, values) => set(values, place, f64::from_bits(bits)),
        Tensor::F32(_, values) => set(values, place, f32::from_bits(bits as u32)),
        Tensor::U32(_, values) => set(values, place, bits as u32),
        Tensor::U16(_, values) => set(values, place, bits as u16),
        Tensor::U8(_, values) => set(values, place, bits as u8),
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

/// Reads the bytes as a plan; one that is a plan has cells, each with its key and its search.
pub fn plan(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return String::new() };
    match Plan::parse(text, Path::new("plan.toml")) {
        Ok(plan) => {
            Cell::all(&plan).iter().take(100).for_each(|cell| assert!(!cell.key().is_empty()));
            plan.with_trials(3).map_or_else(|error| error.to_string(), |_| "a plan".to_owned())
        }
        Err(error) => {
            assert!(error.to_string().contains("plan.toml"), "{error}");
            error.to_string()
        }
    }
}

/// The page of a run whose records are the bytes: a page or an error, in bounded time, without infinities. Bytes that are not
/// text become the scores of records that are whole, so that any number reaches the axes.
pub fn page(bytes: &[u8]) -> String {
    alone();
    const PLAN: &str = "name = \"p\"\nsummary = \"s\"\n[[data]]\nname = \"d\"\nsimulator = \"synthetic\"\n\
                        realisations = [1, 2, 3]\n[[methods]]\nestimator = \"lr-1\"\n[[methods]]\nestimator = \"lr-2\"\n";
    let mut lines = bytes.to_vec();
    if std::str::from_utf8(bytes).is_err() {
        lines.clear();
        let plan = Plan::parse(PLAN, Path::new("plan.toml")).expect("a plan");
        let numbers: Vec<f64> =
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
        for (cell, numbers) in Cell::all(&plan).into_iter().zip(numbers.chunks(3)) {
            let scores = ["pehe", "ate_error", "tau_risk"].into_iter().map(str::to_owned).zip(numbers.iter().copied());
            let seconds = numbers[0].abs();
            let record = Record {
                key: cell.key(),
                cell,
                rows: None,
                tuned: None,
                scores: scores.filter(|(_, score)| score.is_finite()).collect(),
                error: None,
                seconds: if seconds.is_finite() { seconds } else { 0.0 },
            };
            serde_json::to_writer(&mut lines, &record).expect("a record");
            lines.push(b'\n');
        }
    }
    std::fs::write(folder().join("plan.toml"), PLAN).expect("room for the plan");
    std::fs::write(folder().join("records.jsonl"), lines).expect("room for the records");
    match paretau_study::report_run(folder()) {
        Ok(page) => {
            check_page(&page);
            format!("a page of {} kB", page.len() / 1024)
        }
        Err(error) => error.to_string(),
    }
}
