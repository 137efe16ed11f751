//! Do a few features determine the outcome outright? Then they were measured after the treatment, or the outcome was
//! computed from them, and a model that holds them fixed finds no effect.
//!
//! A straight line through a few columns is looked for on some rows and tried on others. What only a crooked function of
//! the features determines is not found: that is what noise-free simulations look like, and they deserve no warning.

use paretau_core::{Design, Seed, Warning};

/// A stable key for programs.
const DETERMINED: &str = "outcome-determined";
/// Share of the outcome's variance, on rows that were not used for the search, from which on it counts as determined.
const ALMOST_ALL: f64 = 0.999;
/// Columns that may be needed together.
const MOST_COLUMNS: usize = 12;
/// Rows that are looked at, their least number, and the most cells of them: wide tables are looked at in fewer rows.
const MOST_ROWS: usize = 2000;
const LEAST_ROWS: usize = 100;
const MOST_CELLS: usize = 4_000_000;
/// What is left of a column's variance by those chosen before it, below which it has nothing of its own to say.
const OWN: f64 = 1e-10;

/// A warning when a few features almost determine the outcome, with the names of the `table`'s columns to blame.
pub(crate) fn determined<'a>(design: &Design, table: impl Iterator<Item = &'a str>, seed: Seed) -> Option<Warning> {
    let (columns, explained) = match Sample::draw(design, seed) {
        Some(sample) => {
            let (columns, explained) = sample.search()?;
            // Rounded down: it is almost all, not all.
            let percent = ((explained * 1e4).floor() / 1e2).min(99.99);
            (columns, format!("at least {percent:.2} % of its variance, on rows that were not used to find this"))
        }
        None => (vec![copy_of_outcome(design)?], "they are equal in every row".to_owned()),
    };
    let table: Vec<&str> = table.collect();
    let mut names: Vec<&str> = vec![];
    for name in columns.iter().map(|&j| source(&design.columns()[j].name, &table)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(Warning { code: DETERMINED.to_owned(), message: message(&names, &explained) })
}

/// What is suspected of the columns, and what to do. Of several, some may have been measured before the treatment: these may
/// be confounders, and must stay.
fn message(names: &[&str], explained: &str) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let them = match list.as_slice() {
        [one] => {
            return format!(
                "column {one} almost determines the outcome ({explained}): was it measured after the treatment, or is the \
                 outcome computed from it? Then the effect hides in it; leave it out with --ignore {}",
                names.join(",")
            );
        }
        [one, two] => format!("columns {one} and {two}"),
        many => format!("columns {} together", many.join(", ")),
    };
    let flags: Vec<String> = names.iter().map(|name| format!("--ignore {name}")).collect();
    format!(
        "{them} almost determine the outcome ({explained}): is the outcome computed from them? Then the effect hides in those \
         that were measured after the treatment. Leave these out ({}), and keep those measured before it, since they may \
         confound",
        flags.join(", ")
    )
}

/// The table's column that a feature was made of: `town=Ulm` of `town`, `age__missing` of `age`.
fn source<'a>(feature: &'a str, table: &[&'a str]) -> &'a str {
    let made_of = |name: &&&str| {
        feature
            .strip_prefix(**name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || rest.starts_with("__"))
    };
    table.iter().filter(made_of).max_by_key(|name| name.len()).copied().unwrap_or(feature)
}

/// A feature that is the outcome itself in every row: of few rows, that is all that chance cannot explain.
fn copy_of_outcome(design: &Design) -> Option<usize> {
    const LEAST_ROWS_OF_COPY: usize = 8;
    let (n, d) = (design.n_rows(), design.x().n_cols());
    let mut equal = vec![n >= LEAST_ROWS_OF_COPY; d];
    let mut row = vec![0.0; d];
    for (i, y) in design.y().iter().enumerate().take_while(|_| n >= LEAST_ROWS_OF_COPY) {
        design.x().copy_row(i, &mut row);
        equal.iter_mut().zip(&row).for_each(|(equal, x)| *equal &= x == y);
    }
    equal.iter().position(|equal| *equal)
}

/// Some rows by column: those in front are searched, the others are kept for the proof.
struct Sample {
    searched: usize,
    y: Vec<f64>,
    /// What is held fixed beforehand: nothing but the arm.
    arm: Vec<f64>,
    x: Vec<Vec<f64>>,
}

impl Sample {
    fn draw(design: &Design, seed: Seed) -> Option<Self> {
        let d = design.x().n_cols();
        let n = MOST_ROWS.min(MOST_CELLS / d.max(1)).min(design.n_rows());
        if n < LEAST_ROWS || d == 0 {
            return None;
        }
        let rows = seed.named("outcome-determined").rng().sample(design.n_rows(), n);
        let mut x = vec![Vec::with_capacity(n); d];
        let mut row = vec![0.0; d];
        for &i in &rows {
            design.x().copy_row(i, &mut row);
            x.iter_mut().zip(&row).for_each(|(column, &value)| column.push(value));
        }
        let searched = n / 2;
        for column in &mut x {
            // The mean of what is there says the least about what is not.
            let there = column[..searched].iter().filter(|v| !v.is_nan());
            let (sum, count) = there.fold((0.0, 0_usize), |(sum, count), v| (sum + v, count + 1));
            let mean = if count > 0 { sum / count as f64 } else { 0.0 };
            column.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = mean);
        }
        let pick = |i: &usize| f64::from(design.t()[*i]);
        Some(Self {
            searched,
            y: rows.iter().map(|&i| design.y()[i]).collect(),
            arm: rows.iter().map(pick).collect(),
            x,
        })
    }

    /// The columns that determine the outcome, and the share of it that they explain on the rows kept for the proof.
    fn search(&self) -> Option<(Vec<usize>, f64)> {
        let n = self.y.len();
        let (mut y, mut x) = (self.y.clone(), self.x.clone());
        let ones = vec![1.0; n];
        let mut arm = self.arm.clone();
        self.take_out(&ones, &mut arm);
        // What the mean or the arm alone explains is not the features' doing.
        for base in [ones, arm] {
            self.take_out(&base, &mut y);
            x.iter_mut().for_each(|column| self.take_out(&base, column));
        }
        let total = self.size(&y);
        let own: Vec<f64> = x.iter().map(|column| self.size(column)).collect();
        if total <= 0.0 || !total.is_finite() {
            return None;
        }
        let mut chosen = vec![];
        while chosen.len() < MOST_COLUMNS {
            // The column that explains most of what is left, counting only what the chosen ones do not say already.
            let gain = |j: usize| {
                let size = self.size(&x[j]);
                if size <= OWN * own[j] || size == 0.0 { 0.0 } else { self.product(&x[j], &y).powi(2) / size }
            };
            let gains = (0..x.len()).filter(|j| !chosen.contains(j)).map(|j| (j, gain(j)));
            let (best, most) = gains.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
            if !(most > 0.0 && most.is_finite()) {
                return None;
            }
            chosen.push(best);
            let direction = x[best].clone();
            self.take_out(&direction, &mut y);
            x.iter_mut().for_each(|column| self.take_out(&direction, column));
            if self.size(&y) <= (1.0 - ALMOST_ALL) * total && self.explained(&chosen) >= ALMOST_ALL {
                return Some(self.prune(chosen));
            }
        }
        None
    }

    /// The chosen columns without those that are not needed.
    fn prune(&self, mut chosen: Vec<usize>) -> (Vec<usize>, f64) {
        let mut k = 0;
        while k < chosen.len() && chosen.len() > 1 {
            let fewer: Vec<usize> = chosen.iter().copied().filter(|j| *j != chosen[k]).collect();
            if self.explained(&fewer) >= ALMOST_ALL {
                chosen = fewer;
            } else {
                k += 1;
            }
        }
        let explained = self.explained(&chosen);
        (chosen, explained)
    }

    /// Share of the outcome's variance within the arms that some columns explain on the rows kept for the proof.
    fn explained(&self, columns: &[usize]) -> f64 {
        let n = self.y.len();
        let mut directions: Vec<Vec<f64>> = vec![];
        let mut y = self.y.clone();
        let mut within = 0.0;
        let bases = [vec![1.0; n], self.arm.clone()].into_iter();
        for (k, mut column) in bases.chain(columns.iter().map(|&j| self.x[j].clone())).enumerate() {
            directions.iter().for_each(|direction| self.take_out(direction, &mut column));
            self.take_out(&column, &mut y);
            directions.push(column);
            if k == 1 {
                within = self.left(&y);
            }
        }
        1.0 - self.left(&y) / within
    }

    /// Takes out of a column what a direction explains of it on the searched rows, on all rows.
    fn take_out(&self, direction: &[f64], column: &mut [f64]) {
        let size = self.size(direction);
        if size > 0.0 {
            let slope = self.product(direction, column) / size;
            column.iter_mut().zip(direction).for_each(|(v, d)| *v -= slope * d);
        }
    }

    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        a[..self.searched].iter().zip(&b[..self.searched]).map(|(a, b)| a * b).sum()
    }

    fn size(&self, a: &[f64]) -> f64 {
        self.product(a, a)
    }

    /// Sum of squares on the rows kept for the proof.
    fn left(&self, y: &[f64]) -> f64 {
        y[self.searched..].iter().map(|v| v * v).sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Column, ColumnKind, Dense, Features};

    use super::*;

    /// Rows of two weights that hardly change, three other columns, and an outcome made of them.
    fn design(n: usize, outcome: impl Fn(&[f64], f64, f64) -> f64) -> Design {
        let mut rng = Seed(4).rng();
        let (mut x, mut t, mut y) = (vec![], vec![], vec![]);
        for _ in 0..n {
            let arm = u8::from(rng.bernoulli(0.5));
            let before = 70.0 + 15.0 * rng.normal();
            let after = before + 0.5 * f64::from(arm) + 2.0 * rng.normal();
            let row = [before, rng.normal(), after, rng.normal(), rng.uniform()];
            y.push(outcome(&row, f64::from(arm), rng.normal()));
            t.push(arm);
            x.extend(row);
        }
        let names = ["before", "age", "after__kg", "town=Ulm", "u"];
        let columns = names.map(|name| Column { name: name.into(), kind: ColumnKind::Numeric }).to_vec();
        Design::new(Features::Dense(Dense::new(n, 5, x).unwrap()), t, y).unwrap().named(columns).unwrap()
    }

    fn warned(design: &Design) -> Option<String> {
        let table = ["before", "age", "after", "town", "u"];
        determined(design, table.into_iter(), Seed(1)).map(|warning| {
            assert_eq!(warning.code, DETERMINED);
            warning.message
        })
    }

    #[test]
    fn parts_of_the_outcome_are_named() {
        let message = warned(&design(1500, |x, _, _| x[2] - x[0])).unwrap();
        assert!(message.contains("--ignore after") && message.contains("keep those measured before it"), "{message}");
        assert!(message.contains("`after`") && message.contains("`before`"), "{message}");
        // Rounding leaves it determined; columns that have nothing to do with it are not blamed.
        let message = warned(&design(5000, |x, _, _| ((x[2] - x[0]) * 20.0).round() / 20.0)).unwrap();
        assert!(message.contains("--ignore after") && !message.contains("town"), "{message}");
        let message = warned(&design(300, |x, _, _| 2.0 * x[3] + 1.0)).unwrap();
        assert!(message.ends_with("--ignore town") && message.contains("column `town` almost determines"), "{message}");
    }

    #[test]
    fn a_copy_of_the_outcome_is_told_of_few_rows_too() {
        let message = warned(&design(50, |x, _, _| x[0])).unwrap();
        assert!(message.contains("equal in every row") && message.ends_with("--ignore before"), "{message}");
    }

    #[test]
    fn ordinary_outcomes_are_not_suspected() {
        assert_eq!(warned(&design(1500, |x, t, noise| x[0] + x[2] + t + noise)), None, "strong features, some noise");
        assert_eq!(warned(&design(1500, |x, t, _| x[1].sin() + x[3] * x[4] + t)), None, "no noise, but crooked");
        assert_eq!(warned(&design(1500, |_, t, _| 3.0 * t)), None, "the arm alone");
        assert_eq!(warned(&design(1500, |_, _, noise| noise)), None);
        assert_eq!(warned(&design(1500, |_, _, _| 3.0)), None, "a constant");
        assert_eq!(warned(&design(50, |x, _, _| x[0] + x[2])), None, "too few rows to prove anything");
        assert_eq!(warned(&design(6, |x, _, _| x[0])), None, "too few even for a copy");
    }
}
