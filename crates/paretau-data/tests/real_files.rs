//! Real files of the development data folder, given by `PARETAU_DATA` or found beside the workspace.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use paretau_core::{Features, Handles};
use paretau_data::{Assigned, Encoder, EncoderPolicy, ReadOptions, RoleSpec, assign, read};

/// The file of the data folder, or a plain word that the test was skipped.
fn data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PARETAU_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {name} is not in the data folder");
    None
}

fn load(path: &Path, spec: &RoleSpec) -> Assigned {
    assign(read(path, &ReadOptions::default()).unwrap(), spec).unwrap()
}

fn encode(assigned: &Assigned, handles: Handles) -> (Encoder, Features) {
    let rows: Vec<usize> = (0..assigned.rows.len()).collect();
    let encoder = Encoder::fit(&assigned.features, &EncoderPolicy::from(handles), &rows).unwrap();
    let (x, _) = encoder.transform(&assigned.features).unwrap();
    (encoder, x)
}

#[test]
fn nhefs_has_missing_outcomes_and_features() {
    let Some(path) = data("real/nhefs.csv") else { return };
    let spec = RoleSpec { ignore: vec!["seqn".into(), "*82*".into()], ..RoleSpec::new("qsmk", "wt82_71") };
    let assigned = load(&path, &spec);
    assert_eq!((assigned.rows.len(), assigned.rows_left_out), (1566, 63));
    assert!(assigned.notes.iter().any(|n| n.contains("63 of 1629 rows have no outcome")), "{:?}", assigned.notes);
    let (encoder, x) = encode(&assigned, Handles::default());
    assert!(!x.has_missing());
    assert!(encoder.columns().iter().any(|c| c.name == "income__missing"));
    let (_, raw) = encode(&assigned, Handles { missing: true, ..Handles::default() });
    assert!(raw.has_missing() && raw.n_cols() < x.n_cols());
    let design = assigned.design(x, encoder.columns().to_vec()).unwrap();
    assert_eq!(design.n_rows(), 1566);
}

#[test]
fn hillstrom_has_three_arms_and_text() {
    let Some(path) = data("real/hillstrom.csv") else { return };
    let table = read(&path, &ReadOptions::default()).unwrap();
    let spec = RoleSpec { ignore: vec!["visit".into(), "conversion".into()], ..RoleSpec::new("treatment", "spend") };
    let message = assign(table.clone(), &spec).unwrap_err().to_string();
    assert!(message.contains("`No E-Mail` (21306 rows)") && message.contains("--treated-value"), "{message}");
    let spec =
        RoleSpec { treated_value: Some("Womens E-Mail".into()), control_value: Some("No E-Mail".into()), ..spec };
    let assigned = assign(table, &spec).unwrap();
    assert_eq!((assigned.rows.len(), assigned.rows_left_out), (42_693, 21_307));
    let (encoder, _) = encode(&assigned, Handles::default());
    let names: Vec<&str> = encoder.columns().iter().map(|c| c.name.as_str()).collect();
    assert!(names.contains(&"channel=Web") && names.contains(&"history_segment=2) $100 - $200"), "{names:?}");
}

#[test]
fn jobs_is_plain() {
    let Some(path) = data("real/jobs_lalonde.csv") else { return };
    let assigned = load(&path, &RoleSpec::new("Treatment", "RE78"));
    assert_eq!((assigned.t.len(), assigned.feature_names().len()), (3212, 7));
}

#[test]
fn twins_repeats_names_and_carries_an_index() {
    let Some(path) = data("real/twins.csv") else { return };
    let spec = RoleSpec { truth: Some(("y0".into(), "y1".into())), ..RoleSpec::new("T", "yf") };
    let assigned = load(&path, &spec);
    let features = assigned.feature_names();
    assert!(!features.iter().any(|f| ["y_cf", "Propensity", "column1", "y0"].contains(&f.as_str())));
    assert!(features.contains(&"gestatcat1.2".to_owned()));
    assert!(assigned.oracle.is_some());
}

#[test]
fn acic2016_has_text_columns() {
    let Some(path) = data("acic2016/x.csv") else { return };
    let table = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((table.n_rows(), table.columns().len()), (4802, 58));
    let rows: Vec<usize> = (0..4802).collect();
    let (x, _) = Encoder::fit(&table, &EncoderPolicy::default(), &rows).unwrap().transform(&table).unwrap();
    assert!(x.n_cols() > 58 && !x.has_missing());
}

#[test]
fn ihdp_has_no_header() {
    let Some(path) = data("ihdp/ihdp_npci_1.csv") else { return };
    assert!(read(&path, &ReadOptions::default()).unwrap_err().to_string().contains("--no-header"));
    let table = read(&path, &ReadOptions { header: false, ..ReadOptions::default() }).unwrap();
    assert_eq!((table.n_rows(), table.columns().len()), (747, 30));
    let spec = RoleSpec {
        truth: Some(("column4".into(), "column5".into())),
        ignore: vec!["column3".into()],
        ..RoleSpec::new("column1", "column2")
    };
    assert_eq!(assign(table, &spec).unwrap().feature_names().len(), 25);
}

#[test]
fn lbidd_covariates_are_parquet() {
    let Some(path) = data("lbidd/covariates.parquet") else { return };
    let table = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((table.n_rows(), table.columns().len()), (100_000, 178));
    let Some(folder) = data("lbidd/heterogeneous") else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| !p.to_string_lossy().ends_with("_cf.csv"));
    files.sort();
    let Some(factual) = files.first() else { return };
    let counterfactual = PathBuf::from(factual.to_string_lossy().replace(".csv", "_cf.csv"));
    let joined = read(factual, &ReadOptions::default())
        .unwrap()
        .join(&read(&counterfactual, &ReadOptions::default()).unwrap(), "sample_id")
        .unwrap()
        .join(&table, "sample_id")
        .unwrap();
    let spec =
        RoleSpec { id: Some("sample_id".into()), truth: Some(("y0".into(), "y1".into())), ..RoleSpec::new("z", "y") };
    let assigned = assign(joined, &spec).unwrap();
    assert_eq!(assigned.feature_names().len(), 177);
    // Factual outcomes are the potential outcome of the arm, so that the rows were matched rightly.
    let oracle = assigned.oracle.as_ref().unwrap();
    let near = (0..assigned.t.len()).filter(|&i| {
        let mu = if assigned.t[i] == 1 { oracle.mu1()[i] } else { oracle.mu0()[i] };
        (assigned.y[i] - mu).abs() < 1e-6 * (1.0 + mu.abs())
    });
    assert_eq!(near.count(), assigned.t.len());
}

#[test]
fn acic2016_joins_by_row() {
    let (Some(x), Some(truth)) = (data("acic2016/x.csv"), data("acic2016/zymu_1.csv")) else { return };
    let table = read(&truth, &ReadOptions::default()).unwrap().beside(read(&x, &ReadOptions::default()).unwrap());
    assert_eq!(table.unwrap().columns().len(), 63);
}

#[test]
fn newslike_shares_its_words() {
    let Some(y) = data("newslike/topic_doc_mean_n5000_k3477_seed_3.csv.y") else { return };
    let table = read(&y, &ReadOptions::default()).unwrap();
    assert!(table.notes[0].contains("seed_1.csv.x.gz"), "{:?}", table.notes);
    let spec = RoleSpec { truth: Some(("mu0".into(), "mu1".into())), ..RoleSpec::new("t", "y") };
    let assigned = assign(table, &spec).unwrap();
    assert_eq!((assigned.t.len(), assigned.feature_names().len()), (5000, 3477));
    let (_, x) = encode(&assigned, Handles { sparse: true, ..Handles::default() });
    let Features::Sparse(x) = x else { unreachable!("stays sparse") };
    let filled = x.values().len() as f64 / (5000.0 * 3477.0);
    assert!((0.02..0.04).contains(&filled), "{filled}");
}
