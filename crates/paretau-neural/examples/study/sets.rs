//! Data sets with known effects: files below `PARETAU_DATA`, and the paper's synthetic data.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use paretau_core::{Csr, Dense, Design, Features, Seed};

/// A design with its true effects.
pub(crate) struct Set {
    pub(crate) design: Design,
    pub(crate) tau: Vec<f64>,
}

/// `ihdp:1-10,acic:1` as single names.
pub(crate) fn expand(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for item in list.split(',') {
        match item.split_once(':') {
            Some((kind, range)) if range.contains('-') && range.starts_with(|c: char| c.is_ascii_digit()) => {
                let (from, to) = range.split_once('-').unwrap();
                match (from.parse::<u32>(), to.parse::<u32>()) {
                    (Ok(from), Ok(to)) => names.extend((from..=to).map(|i| format!("{kind}:{i}"))),
                    _ => names.push(item.to_owned()),
                }
            }
            _ => names.push(item.to_owned()),
        }
    }
    names
}

pub(crate) fn read(name: &str) -> Set {
    let (kind, which) = name.split_once(':').unwrap_or((name, "1"));
    match kind {
        "ihdp" => ihdp(which),
        "acic" => acic(which),
        "news" => news(which),
        "lbidd" => lbidd(which),
        "trial" => trial(which),
        _ if kind.starts_with("overlap") => overlap(kind, which),
        _ => synthetic(name),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var("PARETAU_DATA").expect("PARETAU_DATA names the folder of the data sets"))
}

fn rows(path: &Path, header: bool) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().skip(usize::from(header));
    lines.map(|l| l.split(',').map(|v| v.trim_matches('"').parse().unwrap_or(f64::NAN)).collect()).collect()
}

fn dense(n: usize, values: Vec<f64>) -> Features {
    let d = values.len() / n;
    Features::Dense(Dense::new(n, d, values).unwrap())
}

fn make(x: Features, t: Vec<u8>, y: Vec<f64>, tau: Vec<f64>) -> Set {
    Set { design: Design::new(x, t, y).unwrap(), tau }
}

fn ihdp(which: &str) -> Set {
    let rows = rows(&folder().join(format!("ihdp/ihdp_npci_{which}.csv")), false);
    let t = rows.iter().map(|r| r[0] as u8).collect();
    let y = rows.iter().map(|r| r[1]).collect();
    let tau = rows.iter().map(|r| r[4] - r[3]).collect();
    let x = rows.iter().flat_map(|r| r[5..].to_vec()).collect();
    make(dense(rows.len(), x), t, y, tau)
}

fn acic(which: &str) -> Set {
    let text = fs::read_to_string(folder().join("acic2016/x.csv")).unwrap();
    let cells: Vec<Vec<String>> =
        text.lines().skip(1).map(|l| l.split(',').map(|v| v.trim_matches('"').to_owned()).collect()).collect();
    let n = cells.len();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..cells[0].len() {
        let numbers: Option<Vec<f64>> = cells.iter().map(|r| r[j].parse().ok()).collect();
        if let Some(column) = numbers {
            columns.push(column);
        } else {
            let mut levels: Vec<&str> = cells.iter().map(|r| r[j].as_str()).collect();
            levels.sort_unstable();
            levels.dedup();
            for level in levels {
                columns.push(cells.iter().map(|r| f64::from(u8::from(r[j] == level))).collect());
            }
        }
    }
    let x = (0..n).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
    let truth = rows(&folder().join(format!("acic2016/zymu_{which}.csv")), true);
    let t: Vec<u8> = truth.iter().map(|r| r[0] as u8).collect();
    let y = truth.iter().map(|r| if r[0] == 1.0 { r[2] } else { r[1] }).collect();
    let tau = truth.iter().map(|r| r[4] - r[3]).collect();
    make(dense(n, x), t, y, tau)
}

fn lbidd(which: &str) -> Set {
    let base = folder().join("lbidd/heterogeneous");
    let file = fs::read_dir(&base)
        .unwrap()
        .filter_map(|f| f.ok()?.file_name().into_string().ok())
        .find(|f| f.starts_with(which) && f.ends_with("_cf.csv"))
        .expect("a set of that name");
    let stem = file.trim_end_matches("_cf.csv");
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    let key = |l: &str| l.split(',').next().unwrap_or("").trim_matches('"').to_owned();
    // Some of the files have a column of row numbers first.
    let after = |l: &str, skip: usize| l.splitn(skip + 1, ',').last().unwrap_or("").to_owned();
    let numbers = |l: &str| -> Vec<f64> { l.split(',').skip(1).map(|v| v.parse().unwrap_or(f64::NAN)).collect() };
    let facts = text(base.join(format!("{stem}.csv")));
    let truth = text(base.join(&file));
    let skip = usize::from(truth.starts_with(','));
    let truth: HashMap<String, Vec<f64>> =
        truth.lines().skip(1).map(|l| after(l, skip)).map(|l| (key(&l), numbers(&l))).collect();
    let facts: Vec<(String, Vec<f64>)> = facts.lines().skip(1).map(|l| (key(l), numbers(l))).collect();
    let wanted: HashSet<&str> = facts.iter().map(|(k, _)| k.as_str()).collect();
    let covariates = text(folder().join("lbidd/covariates.csv"));
    let covariates: HashMap<String, Vec<f64>> = covariates
        .lines()
        .skip(1)
        .map(|l| (key(l), l))
        .filter(|(k, _)| wanted.contains(k.as_str()))
        .map(|(k, l)| (k, numbers(l)))
        .collect();
    let (mut x, mut t, mut y, mut tau) = (vec![], vec![], vec![], vec![]);
    for (k, fact) in &facts {
        x.extend_from_slice(&covariates[k]);
        t.push(fact[0] as u8);
        y.push(fact[1]);
        tau.push(truth[k][1] - truth[k][0]);
    }
    make(dense(t.len(), x), t, y, tau)
}

fn news(which: &str) -> Set {
    let base = folder().join("newslike");
    let text = fs::read_to_string(base.join("topic_doc_mean_n5000_k3477_seed_1.csv.x")).unwrap();
    let mut lines = text.lines().map(|l| l.split(',').map(|v| v.parse::<f64>().unwrap()).collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let (n, d) = (head[0] as usize, head[1] as usize);
    let mut cells: Vec<Vec<(u32, f64)>> = vec![vec![]; n];
    lines.for_each(|l| cells[l[0] as usize - 1].push((l[1] as u32 - 1, l[2])));
    let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in &mut cells {
        row.sort_by_key(|c| c.0);
        indices.extend(row.iter().map(|c| c.0));
        values.extend(row.iter().map(|c| c.1));
        indptr.push(indices.len());
    }
    let x = Features::Sparse(Csr::new(n, d, indptr, indices, values).unwrap());
    let truth = rows(&base.join(format!("topic_doc_mean_n5000_k3477_seed_{which}.csv.y")), false);
    let t = truth.iter().map(|r| r[0] as u8).collect();
    let y = truth.iter().map(|r| r[1]).collect();
    let tau = truth.iter().map(|r| r[4] - r[3]).collect();
    make(x, t, y, tau)
}

/// `synthetic-D[-NOISE]`: the paper's synthetic data with n = 20 000.
fn synthetic(name: &str) -> Set {
    let name = name.split(':').next().unwrap_or(name);
    let seed = Seed(1).named(name);
    let parts: Vec<&str> = name.split('-').collect();
    let d: usize = parts[1].parse().unwrap();
    let noise: f64 = parts.get(2).map_or(0.1, |v| v.parse().unwrap());
    let n: usize = parts.get(3).map_or(20_000, |v| v.parse().unwrap());
    let mut rng = seed.rng();
    let third = d / 3;
    let mut draw = |k: usize| -> Vec<f64> { (0..k).map(|_| rng.normal()).collect() };
    let (ca, c0, c1) = (draw(2 * third), draw(2 * third), draw(2 * third));
    let x = draw(n * d);
    let (mut t, mut y, mut tau) = (vec![], vec![], vec![]);
    for row in x.chunks(d) {
        let score: f64 = ca.iter().zip(&row[..2 * third]).map(|(c, v)| c * (v + 1.0)).sum();
        let treated = rng.bernoulli(1.0 / (1.0 + (-score).exp()));
        let scale = 1.5 / d as f64;
        let mu0: f64 = scale * c0.iter().zip(&row[third..]).map(|(c, v)| c * v).sum::<f64>();
        let mu1: f64 = scale * c1.iter().zip(&row[third..]).map(|(c, v)| c * v * v).sum::<f64>();
        t.push(u8::from(treated));
        y.push(if treated { mu1 } else { mu0 } + noise * rng.normal());
        tau.push(mu1 - mu0);
    }
    make(dense(n, x), t, y, tau)
}

/// `overlap-STRENGTH-D-NOISE:SEED`: the simulator `overlap` with n = 3000; strength 1 is good overlap, 3 poor, 6 nearly none.
fn overlap(kind: &str, which: &str) -> Set {
    let parts: Vec<&str> = kind.split('-').collect();
    let strength: f64 = parts[1].parse().unwrap();
    let d: usize = parts[2].parse().unwrap();
    let noise: f64 = parts[3].parse().unwrap();
    let (n, k) = (3000, 10.min(d));
    let mut rng = Seed(which.parse().unwrap()).named(kind).rng();
    let (mut x, mut t, mut y, mut tau) = (vec![], vec![], vec![], vec![]);
    for _ in 0..n {
        let row: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
        let z = row[..k].iter().sum::<f64>() / (k as f64).sqrt();
        let effect = 1.0 + z.tanh() + row[d - 1] / 2.0;
        let treated = rng.bernoulli(1.0 / (1.0 + (-strength * z).exp()));
        let mu0 = z + (row[0] * row[0] - 1.0) / 2.0;
        t.push(u8::from(treated));
        y.push(mu0 + if treated { effect } else { 0.0 } + noise * rng.normal());
        tau.push(effect);
        x.extend(row);
    }
    make(dense(n, x), t, y, tau)
}

/// `trial:SEED`: 800 rows drawn into arms by a coin; the effect is 2 + 1.5 x1, or 2 for seeds from 100.
fn trial(which: &str) -> Set {
    let (n, d, seed) = (800, 5, which.parse::<u64>().unwrap());
    let mut rng = Seed(seed).named("trial").rng();
    let (mut x, mut t, mut y, mut tau) = (vec![], vec![], vec![], vec![]);
    for _ in 0..n {
        let row: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
        let treated = rng.bernoulli(0.5);
        let effect = 2.0 + if seed < 100 { 1.5 * row[0] } else { 0.0 };
        t.push(u8::from(treated));
        y.push(1.0 + row[0] + 0.5 * row[1] + if treated { effect } else { 0.0 } + 0.5 * rng.normal());
        tau.push(effect);
        x.extend(row);
    }
    make(dense(n, x), t, y, tau)
}
