//! Roles of columns by test: does a column help to predict the treatment given the other columns, and the outcome given
//! the treatment and the other columns?
//!
//! The test is a generalised covariance measure (Shah and Peters 2020): what the others leave of a column (and of its
//! square, so that effects without a direction are seen) is multiplied with what they leave of the target; products of
//! unrelated columns are 0 on average. Residuals come from ridge regressions that did not see the row. One inverse of the
//! Gram matrix holds the regressions of every column on all others, so that thousands of columns take minutes. Levels of one
//! category and near-copies are tested together: each alone would be explained away by the rest.

use std::collections::BTreeMap;

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::{DenseSolveCore as _, Solve as _};
use faer::{Accum, Mat, Par, Side};
use paretau_core::{Design, Error, Event, FitContext, Fold, Observer, Result, Role, Seed, Silent};
use paretau_data::{RoleSpec, Table, assign};
use paretau_kernels::distributions::chi_square_tail;
use paretau_kernels::numeric::{dot_in_order, mean_sd};
use paretau_nuisance::{design_folds, two_arms};
use serde::Serialize;

use crate::nuisances::HANDLES;
use crate::prepared::Prepared;

/// Columns that agree more than this (absolute correlation) are tested together.
const NEAR_COPY: f64 = 0.99;
/// Standard deviations at which values are cut off, so that no single cell decides a test.
const CUT: f64 = 5.0;
/// Columns up to which squares take part.
const MOST_WITH_SQUARES: usize = 500;
/// Ridge penalties that are tried where there are few rows per column; the first is used where there are many.
const PENALTIES: [f64; 4] = [1e-4, 1e-2, 1e-1, 1.0];
/// Rows per column above which no penalty is needed.
const MANY_ROWS: usize = 10;

/// How roles are tested.
pub struct RolesOptions<'a> {
    /// Share of false discoveries that is accepted.
    pub fdr: f64,
    /// Source of all randomness.
    pub seed: Seed,
    /// Hears of progress.
    pub observer: &'a dyn Observer,
}

impl RolesOptions<'_> {
    /// Accepted share of false discoveries when nothing else is asked for.
    pub const FDR: f64 = 0.05;
}

impl Default for RolesOptions<'_> {
    fn default() -> Self {
        Self { fdr: Self::FDR, seed: Seed(0), observer: &Silent }
    }
}

/// A column with what was found about it.
#[derive(Debug, Clone, Serialize)]
pub struct TestedRole {
    /// Column of the table.
    pub name: String,
    /// The role that follows from both tests.
    pub role: Role,
    /// False discovery rate at which it helps to predict the treatment.
    pub q_treatment: f64,
    /// The same for the outcome.
    pub q_outcome: f64,
    /// p-value of the test for the treatment.
    pub p_treatment: f64,
    /// The same for the outcome.
    pub p_outcome: f64,
    /// About which share of what the others leave of the treatment it explains.
    pub strength_treatment: f64,
    /// The same for the outcome.
    pub strength_outcome: f64,
    /// Near-copies that were tested together with it, and have its numbers.
    pub tested_with: Vec<String>,
}

impl TestedRole {
    /// The role as a word.
    pub fn role_word(&self) -> &'static str {
        match self.role {
            Role::Instrument => "instrument",
            Role::Confounder => "confounder",
            Role::Adjuster => "adjuster",
            Role::None => "none",
        }
    }
}

/// Roles of all columns.
#[derive(Debug, Clone, Serialize)]
pub struct TestedRoles {
    /// One per feature column of the table, in its order.
    pub roles: Vec<TestedRole>,
    /// Accepted share of false discoveries.
    pub fdr: f64,
    /// Rows.
    pub n_rows: usize,
    /// What was done to the data.
    pub notes: Vec<String>,
}

impl TestedRoles {
    /// How many of each, in a sentence.
    pub fn in_words(&self) -> String {
        let count = |role: Role| self.roles.iter().filter(|r| r.role == role).count();
        let counted = |role: Role, word: &str| match count(role) {
            1 => format!("1 {word}"),
            many => format!("{many} {word}s"),
        };
        format!(
            "{} rows: {} (help to predict treatment and outcome), {} (treatment only), {} (outcome only), {} neither; at most \
             {:.0} % of the findings of each test are expected to be false",
            self.n_rows,
            counted(Role::Confounder, "confounder"),
            counted(Role::Instrument, "instrument"),
            counted(Role::Adjuster, "adjuster"),
            count(Role::None),
            100.0 * self.fdr
        )
    }
}

/// Tests the roles of a table's feature columns.
pub fn test_roles(table: Table, roles: &RoleSpec, options: &RolesOptions<'_>) -> Result<TestedRoles> {
    if !(options.fdr > 0.0 && options.fdr < 1.0) {
        return Err(Error::BadParameter {
            owner: "roles".into(),
            name: "fdr".into(),
            value: options.fdr.to_string(),
            expected: "a share above 0 and below 1".into(),
        });
    }
    let ctx = FitContext::new(options.seed, options.observer);
    let prepared = Prepared::encode(assign(table, roles)?, HANDLES)?;
    let design = &prepared.design;
    two_arms(design, "roles")?;
    let names = prepared.assigned.feature_names();
    let basis = Basis::new(design, &names)?;
    let n_tests = basis.groups.len();
    let n_folds = if basis.columns.len() <= 300 { 5 } else { 2 };
    let folds = design_folds(design, n_folds, options.seed.named("roles"))?;
    ctx.event(&Event::Stage { name: "testing roles of columns".to_owned(), total: Some(3 * folds.len() as u64) });
    let mut done = 0;
    let mut tested = |target: &[f64], arm: Option<u8>| -> Result<Vec<Statistic>> {
        let taken = |i: &usize| arm.is_none_or(|arm| design.t()[*i] == arm);
        let part = |rows: &[usize]| rows.iter().copied().filter(taken).collect::<Vec<usize>>();
        let parts: Vec<Fold> =
            folds.iter().map(|f| Fold { train: part(&f.train), held_out: part(&f.held_out) }).collect();
        statistics(&basis, design, (target, &parts), &mut || {
            done += 1;
            ctx.event(&Event::Progress { done });
            ctx.check_interrupt()
        })
    };
    let t: Vec<f64> = design.t().iter().map(|&t| f64::from(t)).collect();
    let treatment = tested(&t, None)?;
    let (control, treated) = (tested(design.y(), Some(0))?, tested(design.y(), Some(1))?);
    let outcome: Vec<Statistic> = control.into_iter().zip(treated).map(|(a, b)| a.plus(b)).collect();
    let p = |all: &[Statistic]| all.iter().map(Statistic::p).collect::<Vec<f64>>();
    let (p_treatment, p_outcome) = (p(&treatment), p(&outcome));
    let (q_treatment, q_outcome) = (q_values(&p_treatment), q_values(&p_outcome));
    let n = design.n_rows() as f64;
    let rows = names.iter().enumerate().map(|(j, name)| {
        let group = |j: usize| (0..n_tests).find(|&g| basis.groups[g].sources.contains(&j));
        // The encoder drops exact copies: they have the numbers of the column that stayed.
        let data = |name: &str| prepared.assigned.features.column(name).map(|column| &column.data);
        let copy = || (0..names.len()).filter(|&k| data(&names[k]) == data(name)).find_map(group);
        let Some(g) = group(j).or_else(|| data(name).and_then(|_| copy())) else {
            // A column that is constant, and so tells nothing.
            return TestedRole {
                name: name.clone(),
                role: Role::None,
                q_treatment: 1.0,
                q_outcome: 1.0,
                p_treatment: 1.0,
                p_outcome: 1.0,
                strength_treatment: 0.0,
                strength_outcome: 0.0,
                tested_with: vec![],
            };
        };
        let role = match (q_treatment[g] <= options.fdr, q_outcome[g] <= options.fdr) {
            (true, true) => Role::Confounder,
            (true, false) => Role::Instrument,
            (false, true) => Role::Adjuster,
            (false, false) => Role::None,
        };
        let others = basis.groups[g].sources.iter().filter(|&&s| s != j);
        TestedRole {
            name: name.clone(),
            role,
            q_treatment: q_treatment[g],
            q_outcome: q_outcome[g],
            p_treatment: p_treatment[g],
            p_outcome: p_outcome[g],
            strength_treatment: treatment[g].strength(n),
            strength_outcome: outcome[g].strength(n),
            tested_with: others.map(|&s| names[s].clone()).collect(),
        }
    });
    Ok(TestedRoles { roles: rows.collect(), fdr: options.fdr, n_rows: design.n_rows(), notes: prepared.notes() })
}

/// Columns that are tested together.
struct Group {
    /// Places among the table's feature columns.
    sources: Vec<usize>,
    /// Places among the basis.
    columns: Vec<usize>,
}

/// Standardised columns and squares, and which belong together.
struct Basis {
    columns: Vec<Vec<f64>>,
    groups: Vec<Group>,
}

impl Basis {
    fn new(design: &Design, names: &[String]) -> Result<Self> {
        let (n, d) = (design.n_rows(), design.x().n_cols());
        let mut raw = vec![vec![0.0; n]; d];
        let mut row = vec![0.0; d];
        for i in 0..n {
            design.x().copy_row(i, &mut row);
            row.iter().enumerate().for_each(|(j, v)| raw[j][i] = *v);
        }
        let mut columns: Vec<Vec<f64>> = vec![];
        let mut groups: Vec<Group> = vec![];
        let mut group_of: Vec<Option<usize>> = vec![None; names.len()];
        for (values, column) in raw.into_iter().zip(design.columns()) {
            let Some(source) = source_of(&column.name, names) else {
                let message = format!("column `{}` of the features has no source", column.name);
                return Err(Error::internal("testing roles", message));
            };
            let Some(z) = standardised(values.into_iter()) else { continue };
            let mut own = vec![];
            // A square of two values is the same two values.
            let first = z.first().copied().unwrap_or(0.0);
            let other = z.iter().copied().find(|v| (v - first).abs() > 1e-12).unwrap_or(first);
            let several = z.iter().any(|v| (v - first).abs() > 1e-12 && (v - other).abs() > 1e-12);
            let square = if several && d <= MOST_WITH_SQUARES { standardised(z.iter().map(|v| v * v)) } else { None };
            // A near-copy of a column that is there already joins its group and adds nothing to the basis.
            let copy = groups
                .iter()
                .position(|g| g.columns.iter().any(|&c| (dot_in_order(&columns[c], &z) / n as f64).abs() > NEAR_COPY));
            let g = match (group_of[source], copy) {
                (Some(own), _) => own,
                (None, Some(copy)) => {
                    groups[copy].sources.push(source);
                    copy
                }
                (None, None) => {
                    groups.push(Group { sources: vec![source], columns: vec![] });
                    groups.len() - 1
                }
            };
            group_of[source] = Some(g);
            if copy.is_none() {
                own.push(z);
                own.extend(square);
            }
            for column in own {
                groups[g].columns.push(columns.len());
                columns.push(column);
            }
        }
        if columns.is_empty() {
            return Err(Error::unfit("every feature column is constant: there is nothing to test"));
        }
        Ok(Self { columns, groups })
    }
}

/// Mean 0 and standard deviation 1, far values cut off; `None` for a constant.
fn standardised(values: impl Iterator<Item = f64>) -> Option<Vec<f64>> {
    let once = |values: Vec<f64>| -> Option<Vec<f64>> {
        let (mean, sd) = mean_sd(&values);
        let scale = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        (sd > 1e-12 * scale && sd.is_finite()).then(|| values.iter().map(|v| (v - mean) / sd).collect())
    };
    once(once(values.collect())?.into_iter().map(|v| v.clamp(-CUT, CUT)).collect())
}

/// Which column of the table an encoded column was made of: it has its name, or its name and what was added behind it.
fn source_of(encoded: &str, names: &[String]) -> Option<usize> {
    if let Some(j) = names.iter().position(|name| name == encoded) {
        return Some(j);
    }
    let longest = names.iter().enumerate().filter(|(_, name)| encoded.starts_with(name.as_str()));
    longest.max_by_key(|(_, name)| name.len()).map(|(j, _)| j)
}

/// A chi-square statistic.
#[derive(Debug, Clone, Copy)]
struct Statistic {
    value: f64,
    df: usize,
}

impl Statistic {
    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, df: self.df + other.df }
    }

    fn p(&self) -> f64 {
        if self.df == 0 { 1.0 } else { chi_square_tail(self.value, self.df as f64) }
    }

    /// About which share of the remaining variance is explained.
    fn strength(&self, n: f64) -> f64 {
        ((self.value - self.df as f64) / n).clamp(0.0, 1.0)
    }
}

/// The statistic of every group for one target.
fn statistics(
    basis: &Basis,
    design: &Design,
    (target, folds): (&[f64], &[Fold]),
    done: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<Statistic>> {
    let mut sums: Vec<Scores> = basis.groups.iter().map(|g| Scores::new(g.columns.len())).collect();
    let mut penalty = None;
    for fold in folds {
        done()?;
        if fold.train.len() < 10 || fold.held_out.is_empty() {
            continue;
        }
        let few = fold.train.len() < MANY_ROWS * basis.columns.len();
        let tried: &[f64] = if few { &PENALTIES } else { &PENALTIES[..1] };
        let ridge = Ridge::fit(basis, design, (target, fold), penalty.map_or(tried, |k: usize| &tried[k..=k]))?;
        penalty.get_or_insert(ridge.chosen);
        for (group, sums) in basis.groups.iter().zip(&mut sums) {
            ridge.add_scores(&group.columns, design, &fold.held_out, sums);
        }
    }
    Ok(sums.iter().map(Scores::statistic).collect())
}

/// A ridge regression on all columns, with every column's regression on all others.
struct Ridge {
    /// Inverse of the penalised Gram matrix.
    inverse: Mat<f64>,
    beta: Mat<f64>,
    /// Held-out rows times the inverse.
    rotated: Mat<f64>,
    /// Held-out residuals of the target.
    residual: Vec<f64>,
    /// Place of the penalty among those tried.
    chosen: usize,
}

impl Ridge {
    fn fit(basis: &Basis, design: &Design, (target, fold): (&[f64], &Fold), penalties: &[f64]) -> Result<Self> {
        let p = basis.columns.len();
        let w = |i: usize| design.weight().map_or(1.0, |w| w[i]);
        let total: f64 = fold.train.iter().map(|&i| w(i)).sum();
        let mean = |v: &[f64]| fold.train.iter().map(|&i| w(i) * v[i]).sum::<f64>() / total;
        let centre: Vec<f64> = basis.columns.iter().map(|c| mean(c)).collect();
        let level = mean(target);
        let train = Mat::from_fn(fold.train.len(), p, |i, j| {
            let row = fold.train[i];
            (w(row) / total).sqrt() * (basis.columns[j][row] - centre[j])
        });
        let y = Mat::from_fn(fold.train.len(), 1, |i, _| {
            let row = fold.train[i];
            (w(row) / total).sqrt() * (target[row] - level)
        });
        let held = Mat::from_fn(fold.held_out.len(), p, |i, j| basis.columns[j][fold.held_out[i]] - centre[j]);
        let (mut gram, mut cross) = (Mat::<f64>::zeros(p, p), Mat::<f64>::zeros(p, 1));
        matmul(&mut gram, Accum::Replace, train.transpose(), &train, 1.0, Par::Seq);
        matmul(&mut cross, Accum::Replace, train.transpose(), &y, 1.0, Par::Seq);
        let mut best: Option<(f64, usize, Mat<f64>, Vec<f64>)> = None;
        for (k, penalty) in penalties.iter().enumerate() {
            let factor = penalised(&gram, *penalty)?;
            let beta = factor.solve(&cross);
            let mut fitted = Mat::<f64>::zeros(held.nrows(), 1);
            matmul(&mut fitted, Accum::Replace, &held, &beta, 1.0, Par::Seq);
            let residual: Vec<f64> =
                fold.held_out.iter().enumerate().map(|(i, &row)| target[row] - level - fitted[(i, 0)]).collect();
            let loss: f64 = residual.iter().zip(&fold.held_out).map(|(r, &row)| w(row) * r * r).sum();
            if best.as_ref().is_none_or(|(lowest, ..)| loss < *lowest) {
                best = Some((loss, k, beta, residual));
            }
        }
        let Some((_, chosen, beta, residual)) = best else {
            return Err(Error::Numeric {
                what: "testing roles",
                message: "a ridge regression has no finite loss".into(),
            });
        };
        let inverse = penalised(&gram, penalties[chosen])?.inverse();
        let mut rotated = Mat::<f64>::zeros(held.nrows(), p);
        matmul(&mut rotated, Accum::Replace, &held, &inverse, 1.0, Par::Seq);
        Ok(Self { inverse, beta, rotated, residual, chosen })
    }

    /// Adds the products of residuals of some columns and of the target, both given all other columns.
    fn add_scores(&self, columns: &[usize], design: &Design, rows: &[usize], sums: &mut Scores) {
        let k = columns.len();
        if k == 0 {
            return;
        }
        // The residual of columns J on all others is X Θ_J (Θ_JJ)⁻¹, that of the target without J is e + R_J β_J.
        let block = Mat::from_fn(k, k, |a, b| self.inverse[(columns[a], columns[b])]);
        let inverse = block.partial_piv_lu().inverse();
        let mut scores = vec![0.0; k];
        for (i, &row) in rows.iter().enumerate() {
            let left: Vec<f64> =
                (0..k).map(|b| (0..k).map(|a| self.rotated[(i, columns[a])] * inverse[(a, b)]).sum::<f64>()).collect();
            let without = self.residual[i] + (0..k).map(|a| left[a] * self.beta[(columns[a], 0)]).sum::<f64>();
            let w = design.weight().map_or(1.0, |w| w[row]);
            scores.iter_mut().zip(&left).for_each(|(s, left)| *s = w * left * without);
            sums.add(&scores, design.groups().map(|g| g[row]));
        }
    }
}

fn penalised(gram: &Mat<f64>, penalty: f64) -> Result<faer::linalg::solvers::Llt<f64>> {
    let mut matrix = gram.clone();
    (0..matrix.nrows()).for_each(|j| matrix[(j, j)] += penalty);
    matrix.llt(Side::Lower).map_err(|_| Error::Numeric {
        what: "testing roles",
        message: "the columns' Gram matrix is singular; leave out columns that are sums of others".into(),
    })
}

/// Sums of products and of their squares, rows of one group together.
struct Scores {
    k: usize,
    sum: Vec<f64>,
    squares: Vec<f64>,
    clusters: BTreeMap<u32, Vec<f64>>,
}

impl Scores {
    fn new(k: usize) -> Self {
        Self { k, sum: vec![0.0; k], squares: vec![0.0; k * k], clusters: BTreeMap::new() }
    }

    fn add(&mut self, scores: &[f64], cluster: Option<u32>) {
        let k = self.k;
        self.sum.iter_mut().zip(scores).for_each(|(sum, s)| *sum += s);
        if let Some(cluster) = cluster {
            let own = self.clusters.entry(cluster).or_insert_with(|| vec![0.0; k]);
            own.iter_mut().zip(scores).for_each(|(sum, s)| *sum += s);
        } else {
            add_squares(&mut self.squares, scores);
        }
    }

    /// `S' C⁻¹ S`; directions without variation are left out.
    fn statistic(&self) -> Statistic {
        let k = self.k;
        let mut squares = self.squares.clone();
        self.clusters.values().for_each(|scores| add_squares(&mut squares, scores));
        let (mut rest, mut value, mut df) = (self.sum.clone(), 0.0, 0);
        let own: Vec<f64> = (0..k).map(|a| squares[a * k + a]).collect();
        for a in 0..k {
            let pivot = squares[a * k + a];
            if pivot <= 1e-9 * own[a] || own[a] <= 0.0 {
                continue;
            }
            value += rest[a] * rest[a] / pivot;
            df += 1;
            for b in a + 1..k {
                let factor = squares[b * k + a] / pivot;
                rest[b] -= factor * rest[a];
                for c in a..k {
                    squares[b * k + c] -= factor * squares[a * k + c];
                }
            }
        }
        Statistic { value, df }
    }
}

fn add_squares(into: &mut [f64], scores: &[f64]) {
    let k = scores.len();
    for a in 0..k {
        for b in 0..k {
            into[a * k + b] += scores[a] * scores[b];
        }
    }
}

/// Benjamini and Hochberg's q-values.
fn q_values(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]).then(a.cmp(&b)));
    let m = p.len() as f64;
    let (mut q, mut lowest) = (vec![1.0; p.len()], 1.0_f64);
    for (rank, &j) in order.iter().enumerate().rev() {
        lowest = lowest.min(p[j] * m / (rank + 1) as f64);
        q[j] = lowest;
    }
    q
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_data::simulate::{SyntheticConfig, synthetic};

    #[test]
    fn q_values_by_hand() {
        let q = q_values(&[0.01, 0.04, 0.03, 0.5]);
        let expected = [0.04, 0.16 / 3.0, 0.16 / 3.0, 0.5];
        assert!(q.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{q:?}");
    }

    #[test]
    fn encoded_columns_find_their_source() {
        let names = ["town".to_owned(), "town_size".to_owned()];
        assert_eq!(source_of("town=north", &names), Some(0));
        assert_eq!(source_of("town_size__missing", &names), Some(1));
        assert_eq!(source_of("other", &names), None);
    }

    #[test]
    fn roles_of_the_papers_process_are_found_and_copies_share_them() {
        // Coefficients are drawn as well; a column whose own is next to nothing has no role to find.
        let strong = |seed: &u64| {
            let mut rng = Seed(*seed).rng();
            let [treatment, control, treated] = [(); 3].map(|()| [(); 4].map(|()| rng.normal().abs()));
            treatment.iter().all(|c| *c > 0.4) && control.iter().zip(treated).all(|(a, b)| a.max(b) > 0.4)
        };
        let config =
            SyntheticConfig { n: 6000, d: 6, coefficient_seed: (0..1000).find(strong), ..SyntheticConfig::default() };
        let table = synthetic(&config, Seed(4)).unwrap().table().unwrap();
        let mut columns = table.columns().to_vec();
        columns.push(paretau_data::TableColumn { name: "again".into(), ..table.column("x1").unwrap().clone() });
        let table = Table::new(columns).unwrap();
        let roles = RoleSpec { ignore: ["mu0", "mu1", "e"].map(str::to_owned).to_vec(), ..RoleSpec::new("t", "y") };
        let found = test_roles(table, &roles, &RolesOptions::default()).unwrap();
        let of = |name: &str| found.roles.iter().find(|r| r.name == name).unwrap();
        for (name, role) in [("x1", Role::Instrument), ("x4", Role::Confounder), ("x6", Role::Adjuster)] {
            assert_eq!(of(name).role, role, "{name}: {:?}", of(name));
        }
        assert_eq!((of("again").role, of("again").q_treatment), (of("x1").role, of("x1").q_treatment));
    }
}
