//! From the files of each data set to one table with roles.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

use crate::read::{ReadOptions, read};
use crate::roles::RoleSpec;
use crate::table::{ColumnData, Table, TableColumn};

type Loaded = Result<(Table, RoleSpec)>;

/// Treatment `t`, outcome `y`, truth `mu0, mu1`: the names that all sets with a known truth get.
fn usual_roles() -> RoleSpec {
    RoleSpec { truth: Some(("mu0".into(), "mu1".into())), ..RoleSpec::new("t", "y") }
}

/// Numbers `i` for which the folder has a file `{before}{i}{after}`.
fn numbered(folder: &Path, before: &str, after: &str) -> Vec<u64> {
    let mut found: Vec<u64> =
        names(folder).iter().filter_map(|name| name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// Names of a folder's files, sorted; none when there is no such folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// One realisation when the file is there, none otherwise.
fn single(path: &Path) -> Vec<u64> {
    if path.is_file() { vec![1] } else { vec![] }
}

const NEWS: &str = "topic_doc_mean_n5000_k3477_seed_";

pub(super) fn news_numbers(folder: &Path) -> Vec<u64> {
    numbered(&folder.join("news"), NEWS, ".csv.y")
}

pub(super) fn news(folder: &Path, i: u64) -> Loaded {
    news_pair(&folder.join("news"), i)
}

pub(super) fn newslike_numbers(folder: &Path) -> Vec<u64> {
    numbered(&folder.join("newslike"), NEWS, ".csv.y")
}

pub(super) fn newslike(folder: &Path, i: u64) -> Loaded {
    news_pair(&folder.join("newslike"), i)
}

fn news_pair(folder: &Path, i: u64) -> Loaded {
    Ok((read(&folder.join(format!("{NEWS}{i}.csv.y")), &ReadOptions::default())?, usual_roles()))
}

pub(super) fn ihdp_numbers(folder: &Path) -> Vec<u64> {
    numbered(&folder.join("ihdp"), "ihdp_npci_", ".csv")
}

pub(super) fn ihdp(folder: &Path, i: u64) -> Loaded {
    let path = folder.join(format!("ihdp/ihdp_npci_{i}.csv"));
    let table = read(&path, &ReadOptions { header: false, ..ReadOptions::default() })?;
    if table.columns().len() != 30 {
        let message =
            format!("has {} columns, but should have 30: t, y, ycf, mu0, mu1, x1..x25", table.columns().len());
        return Err(table.error(None, None, message));
    }
    let source = table.source.clone();
    let mut columns = table.into_parts().0;
    let first = ["t", "y", "ycf", "mu0", "mu1"];
    for (j, column) in columns.iter_mut().enumerate() {
        column.name = first.get(j).map_or_else(|| format!("x{}", j - first.len() + 1), |name| (*name).to_owned());
    }
    let mut table = Table::new(columns)?;
    table.source = source;
    Ok((table, usual_roles()))
}

pub(super) fn acic2016_numbers(folder: &Path) -> Vec<u64> {
    let folder = folder.join("acic2016");
    if folder.join("x.csv").is_file() { numbered(&folder, "zymu_", ".csv") } else { vec![] }
}

pub(super) fn acic2016(folder: &Path, i: u64) -> Loaded {
    let folder = folder.join("acic2016");
    let x = read(&folder.join("x.csv"), &ReadOptions::default())?;
    let simulated = read(&folder.join(format!("zymu_{i}.csv")), &ReadOptions::default())?;
    let t = numbers(&simulated, "z")?;
    let y = factual(&t, &numbers(&simulated, "y0")?, &numbers(&simulated, "y1")?);
    let mut columns = vec![TableColumn::number("t", t.into_owned()), TableColumn::number("y", y)];
    for name in ["mu0", "mu1"] {
        columns.push(simulated.require(name)?.clone());
    }
    let mut table = Table::new(columns)?;
    table.source = simulated.source.clone();
    Ok((table.beside(x)?, usual_roles()))
}

/// The outcome of the arm that each row was in.
fn factual(t: &[f64], y0: &[f64], y1: &[f64]) -> Vec<f64> {
    t.iter().zip(y0.iter().zip(y1)).map(|(&t, (&y0, &y1))| if t == 0.0 { y0 } else { y1 }).collect()
}

fn numbers<'a>(table: &'a Table, name: &str) -> Result<Cow<'a, [f64]>> {
    match &table.require(name)?.data {
        ColumnData::Number(values) => Ok(values.contiguous()),
        ColumnData::Text(_) => Err(table.error(Some(name), None, "holds text where numbers are expected")),
    }
}

/// Pairs `<ufid>.csv` and `<ufid>_cf.csv` of the given folders below `lbidd`, in the order of folder and ufid.
fn lbidd_sets(folder: &Path, below: &[&str]) -> Vec<PathBuf> {
    let root = folder.join("lbidd");
    if covariates(&root).is_none() {
        return vec![];
    }
    let mut sets = vec![];
    for part in below {
        let here = root.join(part);
        let files = names(&here);
        let paired = files.iter().filter_map(|name| name.strip_suffix("_cf.csv"));
        sets.extend(paired.map(|ufid| here.join(format!("{ufid}.csv"))).filter(|path| path.is_file()));
    }
    sets
}

/// The covariates of all sets, as the archive has them (`x.csv`) or as Parquet.
fn covariates(root: &Path) -> Option<PathBuf> {
    ["covariates.parquet", "x.csv"].iter().map(|name| root.join(name)).find(|path| path.is_file())
}

const CONSTANT: &[&str] = &["constant_10k"];
const HETEROGENEOUS: &[&str] = &["heterogeneous"];
const ALL: &[&str] = &["constant_10k", "heterogeneous", "."];

fn counted(sets: &[PathBuf]) -> Vec<u64> {
    (1..=sets.len() as u64).collect()
}

pub(super) fn lbidd_numbers(folder: &Path) -> Vec<u64> {
    counted(&lbidd_sets(folder, ALL))
}

pub(super) fn lbidd(folder: &Path, i: u64) -> Loaded {
    lbidd_set(folder, ALL, i)
}

pub(super) fn lbidd_constant_numbers(folder: &Path) -> Vec<u64> {
    counted(&lbidd_sets(folder, CONSTANT))
}

pub(super) fn lbidd_constant(folder: &Path, i: u64) -> Loaded {
    lbidd_set(folder, CONSTANT, i)
}

pub(super) fn lbidd_heterogeneous_numbers(folder: &Path) -> Vec<u64> {
    counted(&lbidd_sets(folder, HETEROGENEOUS))
}

pub(super) fn lbidd_heterogeneous(folder: &Path, i: u64) -> Loaded {
    lbidd_set(folder, HETEROGENEOUS, i)
}

fn lbidd_set(folder: &Path, below: &[&str], i: u64) -> Loaded {
    let gone = || Error::unfit(format!("LBIDD has no set {i} any more; its files were there a moment ago"));
    let sets = lbidd_sets(folder, below);
    let path = (i as usize).checked_sub(1).and_then(|at| sets.get(at)).ok_or_else(gone)?;
    let ufid = path.file_stem().and_then(|stem| stem.to_str()).ok_or_else(gone)?;
    let factual = read(path, &ReadOptions::default())?;
    let counter = read(&path.with_file_name(format!("{ufid}_cf.csv")), &ReadOptions::default())?;
    let counter = Table::new(
        ["sample_id", "y0", "y1"].iter().map(|name| Ok(counter.require(name)?.clone())).collect::<Result<_>>()?,
    )?;
    let x = read(&covariates(&folder.join("lbidd")).ok_or_else(gone)?, &ReadOptions::default())?;
    let table = factual.join(&counter, "sample_id")?.join(&x, "sample_id")?;
    let roles =
        RoleSpec { truth: Some(("y0".into(), "y1".into())), id: Some("sample_id".into()), ..RoleSpec::new("z", "y") };
    Ok((table, roles))
}

pub(super) fn twins_numbers(folder: &Path) -> Vec<u64> {
    single(&folder.join("real/twins.csv"))
}

/// Both twins' fates are known: the lighter (0) and the heavier (1) stand for the two arms.
pub(super) fn twins(folder: &Path, _: u64) -> Loaded {
    let table = read(&folder.join("real/twins.csv"), &ReadOptions::default())?;
    // The file's first column numbers the rows and has no name.
    let ignore = ["y_cf", "Propensity", "column1"].map(str::to_owned);
    let ignore = ignore.into_iter().filter(|name| table.column(name).is_some()).collect();
    let roles = RoleSpec { truth: Some(("y0".into(), "y1".into())), ignore, ..RoleSpec::new("T", "yf") };
    Ok((table, roles))
}

pub(super) fn jobs_numbers(folder: &Path) -> Vec<u64> {
    single(&folder.join("real/jobs_lalonde.csv"))
}

pub(super) fn jobs(folder: &Path, _: u64) -> Loaded {
    let table = read(&folder.join("real/jobs_lalonde.csv"), &ReadOptions::default())?;
    Ok((table, RoleSpec::new("Treatment", "RE78")))
}

pub(super) fn hillstrom_numbers(folder: &Path) -> Vec<u64> {
    single(&folder.join("real/hillstrom.csv"))
}

/// The women's e-mail against no e-mail, and whether the shop was visited.
pub(super) fn hillstrom(folder: &Path, _: u64) -> Loaded {
    let table = read(&folder.join("real/hillstrom.csv"), &ReadOptions::default())?;
    let roles = RoleSpec {
        treated_value: Some("Womens E-Mail".into()),
        control_value: Some("No E-Mail".into()),
        ignore: vec!["conversion".into(), "spend".into()],
        ..RoleSpec::new("treatment", "visit")
    };
    Ok((table, roles))
}

pub(super) fn nhefs_numbers(folder: &Path) -> Vec<u64> {
    single(&folder.join("real/nhefs.csv"))
}

/// Giving up smoking and the weight gained, with what was known in 1971: the nine confounders of the textbook.
pub(super) fn nhefs(folder: &Path, _: u64) -> Loaded {
    let table = read(&folder.join("real/nhefs.csv"), &ReadOptions::default())?;
    let features = ["sex", "age", "race", "education", "smokeintensity", "smokeyrs", "active", "exercise", "wt71"]
        .map(str::to_owned);
    let roles = RoleSpec { features: Some(features.to_vec()), ..RoleSpec::new("qsmk", "wt82_71") };
    Ok((table, roles))
}
