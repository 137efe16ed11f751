//! The catalog on the real files, as far as they are there, and on none.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use paretau_data::{DATASETS, Dataset, assign};

/// The data folder, or `None` with a plain word.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("PARETAU_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: there is no data folder; set PARETAU_DATA to have one");
        return None;
    }
    Some(folder)
}

#[test]
fn names_differ_and_an_absent_set_says_where_to_get_it() {
    let names: BTreeSet<&str> = DATASETS.iter().map(|set| set.name).collect();
    assert_eq!(names.len(), DATASETS.len());
    assert!(Dataset::named("idhp").unwrap_err().to_string().contains("did you mean `ihdp`"));
    let empty = tempfile::tempdir().unwrap();
    for set in DATASETS {
        assert!(set.realisations(empty.path()).is_empty(), "{}", set.name);
        let message = set.load(empty.path(), 1).unwrap_err().to_string();
        assert!(message.contains(set.address) && message.contains("PARETAU_DATA"), "{message}");
    }
}

#[test]
fn every_present_realisation_becomes_two_arms_with_features_and_no_truth_among_them() {
    let Some(folder) = folder() else { return };
    for set in DATASETS {
        let numbers = set.realisations(&folder);
        let Some(&first) = numbers.first() else {
            eprintln!("{}: skipped, not in the data folder", set.name);
            continue;
        };
        let (table, roles) = set.load(&folder, first).unwrap();
        let rows = assign(table, &roles).unwrap();
        assert!(rows.t.contains(&0) && rows.t.contains(&1), "{}", set.name);
        assert_eq!(rows.oracle.is_some(), set.has_truth, "{}", set.name);
        let truth = ["mu0", "mu1", "y0", "y1", "ycf", "y_cf", "Propensity", "wt82"];
        assert!(rows.feature_names().iter().all(|name| !truth.contains(&name.as_str())), "{}", set.name);
        let last = numbers[numbers.len() - 1];
        assert!(set.load(&folder, last + 1).unwrap_err().to_string().contains("has no realisation"), "{}", set.name);
    }
}

/// Sizes as the data sets' descriptions give them.
#[test]
fn sizes_are_those_of_the_descriptions() {
    let Some(folder) = folder() else { return };
    for (name, n_rows, n_features) in
        [("ihdp", 747, 25), ("acic2016", 4802, 58), ("newslike", 5000, 3477), ("lbidd-constant", 10_000, 177)]
    {
        let set = Dataset::named(name).unwrap();
        let Some(&first) = set.realisations(&folder).first() else { continue };
        let (table, roles) = set.load(&folder, first).unwrap();
        // Some LBIDD sets hide outcomes; those rows are in the file and left out later.
        assert_eq!(table.n_rows(), n_rows, "{name}");
        assert_eq!(assign(table, &roles).unwrap().feature_names().len(), n_features, "{name}");
    }
}

/// The factual outcome of a simulated set without noise in its potential outcomes is one of the two.
#[test]
fn acic_outcomes_are_those_of_the_arm() {
    let Some(folder) = folder() else { return };
    let set = Dataset::named("lbidd-heterogeneous").unwrap();
    for i in set.realisations(&folder) {
        let (table, roles) = set.load(&folder, i).unwrap();
        let rows = assign(table, &roles).unwrap();
        let truth = rows.oracle.unwrap();
        for (k, (&t, &y)) in rows.t.iter().zip(&rows.y).enumerate() {
            let expected = if t == 1 { truth.mu1()[k] } else { truth.mu0()[k] };
            assert!((y - expected).abs() <= 1e-9 * y.abs().max(1.0), "set {i}, row {k}: {y} is not {expected}");
        }
    }
}
