//! Columns that a careful analyst would ask about before any fit: those that nearly determine the treatment or the outcome,
//! those that look measured after the treatment, those that look like identifiers, and near-copies of each other.
//!
//! What a column determines is measured on rows other than those that it was learned on: values are put into bins (missing
//! cells are a bin of their own), each bin says one arm or one mean outcome, and that is tried on the other rows.

use paretau_core::{Seed, Warning};
use paretau_data::{Assigned, ColumnData, RoleSpec, TableColumn, Text};

/// Rows that are looked at, and their least number.
const MOST_ROWS: usize = 4000;
const LEAST_ROWS: usize = 100;
/// Columns that are compared with each other, at most.
const MOST_COMPARED: usize = 300;
/// Bins of a column of numbers.
const BINS: usize = 40;
/// Levels of a text column that are bins of their own, the commonest.
const LEVELS: usize = 200;
/// Mean share of each arm's rows (or of each answer's) that a column gets right, from which on it nearly determines them.
const RIGHT: f64 = 0.97;
/// Share of the outcome's variance within the arms.
const EXPLAINED: f64 = 0.97;
/// Correlation from which on two columns are near-copies.
const COPY: f64 = 0.9995;
/// Names in one message.
const NAMED: usize = 8;

/// Words in a name that say "later".
const LATER: &[&str] = &[
    "post",
    "after",
    "followup",
    "fup",
    "fu",
    "final",
    "endpoint",
    "outcome",
    "outcomes",
    "response",
    "result",
    "results",
    "discharge",
    "discharged",
    "later",
    "subsequent",
    "posttest",
    "endline",
    "exit",
    "readmission",
    "death",
    "died",
    "deceased",
    "mortality",
];
/// Words in the name of the date when the treatment began.
const BEGAN: [&str; 13] = [
    "treat",
    "treated",
    "treatment",
    "start",
    "started",
    "index",
    "enrol",
    "enrolled",
    "enrolment",
    "enrollment",
    "baseline",
    "randomised",
    "randomized",
];

/// All suspicions, most important first.
pub(crate) fn suspects(assigned: &Assigned, roles: &RoleSpec, seed: Seed) -> Vec<Warning> {
    let n = assigned.t.len();
    let columns = assigned.features.columns();
    let mut out = vec![];
    if n >= LEAST_ROWS {
        let rows = seed.named("suspects").rng().sample(n, n.min(MOST_ROWS));
        let sample = Sample::new(assigned, rows);
        let cases: Vec<(&TableColumn, Vec<usize>)> = columns.iter().map(|c| (c, sample.bins(c))).collect();
        out.extend(determines_treatment(&sample, &cases));
        out.extend(determines_outcome(&sample, &cases));
        out.extend(copies(&sample, &columns[..columns.len().min(MOST_COMPARED)]));
    }
    out.extend(measured_later(columns, roles));
    out.extend(identifiers(columns));
    out
}

/// Rows in two halves: bins learn on the first and are tried on the second.
struct Sample {
    rows: Vec<usize>,
    half: usize,
    t: Vec<usize>,
    y: Vec<f64>,
    n_arms: usize,
}

impl Sample {
    fn new(assigned: &Assigned, rows: Vec<usize>) -> Self {
        let t = rows.iter().map(|&i| usize::from(assigned.t[i])).collect();
        let y = rows.iter().map(|&i| assigned.y[i]).collect();
        Self { half: rows.len() / 2, rows, t, y, n_arms: assigned.arms.len() }
    }

    /// The bin of each row.
    fn bins(&self, column: &TableColumn) -> Vec<usize> {
        match &column.data {
            ColumnData::Text(text) => self.levels(text),
            ColumnData::Number(values) => {
                let own: Vec<f64> = self.rows.iter().map(|&i| values[i]).collect();
                let mut learned: Vec<f64> = own[..self.half].iter().copied().filter(|v| !v.is_nan()).collect();
                learned.sort_unstable_by(f64::total_cmp);
                let mut cuts: Vec<f64> =
                    (1..BINS).filter_map(|k| learned.get(k * learned.len() / BINS).copied()).collect();
                cuts.dedup();
                // The bin in front is for missing cells. A value is above the cuts that it reaches.
                own.iter().map(|v| if v.is_nan() { 0 } else { 1 + cuts.partition_point(|c| c <= v) }).collect()
            }
        }
    }

    fn levels(&self, text: &Text) -> Vec<usize> {
        let mut counts = vec![0_usize; text.levels.len()];
        let codes: Vec<Option<usize>> =
            self.rows.iter().map(|&i| Some(text.codes[i] as usize).filter(|&c| c < counts.len())).collect();
        codes.iter().flatten().for_each(|&c| counts[c] += 1);
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(a.cmp(&b)));
        let mut bin = vec![LEVELS + 1; counts.len()];
        order.iter().take(LEVELS).enumerate().for_each(|(k, &level)| bin[level] = k + 1);
        codes.iter().map(|code| code.map_or(0, |c| bin[c])).collect()
    }

    /// Mean share of the rows of each class that the bins get right on the second half; `None` where a class is rare there.
    fn right(&self, bins: &[usize], class: &[usize], n_classes: usize) -> Option<f64> {
        let n_bins = bins.iter().max()? + 1;
        let totals = |rows: std::ops::Range<usize>| {
            let mut totals = vec![0.0_f64; n_classes];
            rows.for_each(|i| totals[class[i]] += 1.0);
            totals
        };
        let (learned, tried) = (totals(0..self.half), totals(self.half..class.len()));
        if learned.iter().chain(&tried).any(|n| *n < 5.0) {
            return None;
        }
        let mut counts = vec![vec![0.0; n_classes]; n_bins];
        (0..self.half).for_each(|i| counts[bins[i]][class[i]] += 1.0);
        // Classes count alike, however rare they are; an empty bin has nothing to say.
        let says = |bin: usize| -> Option<usize> {
            let share = |k: &usize| counts[bin][*k] / learned[*k];
            (0..n_classes).filter(|k| counts[bin][*k] > 0.0).max_by(|a, b| share(a).total_cmp(&share(b)).then(b.cmp(a)))
        };
        let answers: Vec<Option<usize>> = (0..n_bins).map(says).collect();
        let mut right = vec![0.0_f64; n_classes];
        (self.half..class.len()).filter(|&i| answers[bins[i]] == Some(class[i])).for_each(|i| right[class[i]] += 1.0);
        Some(right.iter().zip(&tried).map(|(r, n)| r / n).sum::<f64>() / n_classes as f64)
    }

    /// Share of the outcome's variance within the arms that the bins explain on the second half.
    fn explained(&self, bins: &[usize]) -> Option<f64> {
        let n_bins = bins.iter().max()? + 1;
        let mean = |cell: &dyn Fn(usize) -> usize, n_cells: usize| -> Vec<Option<f64>> {
            let mut sums = vec![(0.0, 0.0); n_cells];
            (0..self.half).for_each(|i| sums[cell(i)] = (sums[cell(i)].0 + 1.0, sums[cell(i)].1 + self.y[i]));
            sums.iter().map(|(n, sum)| (*n > 0.0).then(|| sum / n)).collect()
        };
        let arms = mean(&|i| self.t[i], self.n_arms);
        let cell = |i: usize| bins[i] * self.n_arms + self.t[i];
        let cells = mean(&cell, n_bins * self.n_arms);
        let (mut left, mut total) = (0.0, 0.0);
        for i in self.half..self.y.len() {
            let arm = arms[self.t[i]]?;
            total += (self.y[i] - arm).powi(2);
            left += (self.y[i] - cells[cell(i)].unwrap_or(arm)).powi(2);
        }
        (total > 0.0).then(|| 1.0 - left / total)
    }
}

impl Sample {
    /// The same share by a line within each arm, which says more than bins where rows are few; nothing for a column of texts.
    fn explained_by_line(&self, column: &TableColumn) -> Option<f64> {
        let ColumnData::Number(values) = &column.data else { return None };
        let x: Vec<f64> = self.rows.iter().map(|&i| values[i]).collect();
        let mut sums = vec![[0.0_f64; 5]; self.n_arms];
        // Scaled, so that squares stay in range.
        let scale = x.iter().filter(|v| !v.is_nan()).fold(0.0_f64, |most, v| most.max(v.abs())).max(f64::MIN_POSITIVE);
        for i in (0..self.half).filter(|&i| !x[i].is_nan()) {
            let (x, y) = (x[i] / scale, self.y[i]);
            let own = &mut sums[self.t[i]];
            own.iter_mut().zip([1.0, x, y, x * x, x * y]).for_each(|(sum, term)| *sum += term);
        }
        let lines: Vec<(f64, f64, f64)> = sums
            .iter()
            .map(|&[n, x, y, xx, xy]| {
                let (mean_x, mean_y) = (x / n, y / n);
                let slope = (xy - n * mean_x * mean_y) / (xx - n * mean_x * mean_x);
                (mean_x, mean_y, slope)
            })
            .collect();
        let (mut left, mut total) = (0.0, 0.0);
        for i in self.half..self.y.len() {
            let (mean_x, mean_y, slope) = lines[self.t[i]];
            let line = if x[i].is_nan() { mean_y } else { mean_y + slope * (x[i] / scale - mean_x) };
            total += (self.y[i] - mean_y).powi(2);
            left += (self.y[i] - line).powi(2);
        }
        // An arm without rows, or a column that is one number, gives no finite share.
        (total > 0.0).then(|| 1.0 - left / total).filter(|share| share.is_finite())
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// "column `a`" with the verb's ending, or "columns `a`, `b`".
fn subject(names: &[&str], one: &str, many: &str) -> String {
    if names.len() == 1 {
        format!("column {} {one}", listed(names))
    } else {
        format!("columns {} {many}", listed(names))
    }
}

fn determines_treatment(sample: &Sample, cases: &[(&TableColumn, Vec<usize>)]) -> Option<Warning> {
    let right = |bins: &[usize]| sample.right(bins, &sample.t, sample.n_arms);
    let found: Vec<&str> = cases
        .iter()
        .filter(|(_, bins)| right(bins).is_some_and(|right| right >= RIGHT))
        .map(|(column, _)| column.name.as_str())
        .collect();
    (!found.is_empty()).then(|| {
        let it = if found.len() == 1 { "it" } else { "they" };
        Warning::new(
            "treatment-determined",
            format!(
                "{} the treatment almost entirely (97 % of each arm or more): {it} may record the treatment itself or what \
                 followed it, and nobody with the same value is in the other arm; if so, add --ignore {}",
                subject(&found, "determines", "each determine"),
                found.join(",")
            ),
        )
    })
}

fn determines_outcome(sample: &Sample, cases: &[(&TableColumn, Vec<usize>)]) -> Option<Warning> {
    let mut values = sample.y.clone();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let class: Option<Vec<usize>> =
        (values.len() == 2).then(|| sample.y.iter().map(|y| usize::from(*y == values[1])).collect());
    let determines = |column: &TableColumn, bins: &[usize]| match &class {
        Some(class) => sample.right(bins, class, 2).is_some_and(|right| right >= RIGHT),
        None => {
            [sample.explained(bins), sample.explained_by_line(column)].iter().flatten().any(|share| *share >= EXPLAINED)
        }
    };
    let found: Vec<&str> = cases
        .iter()
        .filter(|(column, bins)| determines(column, bins))
        .map(|(column, _)| column.name.as_str())
        .collect();
    (!found.is_empty()).then(|| {
        let (was, it) = if found.len() == 1 { ("was it", "it") } else { ("were they", "them") };
        Warning::new(
            "outcome-nearly-determined",
            format!(
                "{} the outcome almost entirely: {was} measured after the treatment, or is the outcome computed from {it}? Then \
                 the effect hides in {it}; add --ignore {}",
                subject(&found, "determines", "each determine"),
                found.join(",")
            ),
        )
    })
}

/// A name in its words, in lower case: `DateOfDischarge`, `date_of_discharge` and `date.of.discharge` are alike.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A word and the number behind it: `wt82` is (`wt`, 82), `2019` is (``, 2019).
fn dated(word: &str) -> Option<(&str, u32)> {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, word[stem.len()..].parse().ok()?))
}

/// Whether a number in a name is likely a year, of two digits or four.
fn is_year(number: u32) -> bool {
    (60..=99).contains(&number) || (1900..=2100).contains(&number)
}

fn measured_later(columns: &[TableColumn], roles: &RoleSpec) -> Option<Warning> {
    let outcome = words(&roles.outcome);
    // Columns by what they have in common, in the order of the table.
    let mut reasons: Vec<(String, Vec<&str>)> = vec![];
    let mut found = vec![];
    let began = columns.iter().find(|c| c.is_date && words(&c.name).iter().any(|word| BEGAN.contains(&word.as_str())));
    for column in columns {
        let own = words(&column.name);
        let says = own.iter().find(|word| LATER.contains(&word.as_str())).cloned();
        let pair = own.windows(2).find(|pair| pair[0] == "follow" && pair[1] == "up").map(|_| "follow-up".to_owned());
        // `wt82` and `smoking82` beside the outcome `wt82_71`, `score12` beside `score6`.
        let as_late = own.iter().filter_map(|word| dated(word)).any(|(stem, number)| {
            let late = |(other, at): (&str, u32)| number >= at && (other == stem || (is_year(number) && is_year(at)));
            let latest = outcome.iter().filter_map(|word| dated(word)).max_by_key(|(_, at)| *at);
            (!stem.is_empty() || is_year(number)) && latest.is_some_and(late)
        });
        let later = began.filter(|began| began.name != column.name && column.is_date).and_then(|began| {
            let (ColumnData::Number(own), ColumnData::Number(start)) = (&column.data, &began.data) else { return None };
            let known = own.iter().zip(start).filter(|(a, b)| !a.is_nan() && !b.is_nan());
            let (n, after) = known.fold((0_usize, 0_usize), |(n, k), (a, b)| (n + 1, k + usize::from(a > b)));
            (n > 0 && 2 * after > n).then(|| format!("later than `{}` in {after} of {n} rows", began.name))
        });
        let reason = if let Some(word) = says.or(pair) {
            format!("“{word}” in the name")
        } else if as_late {
            format!("numbered like the outcome `{}` or later", roles.outcome)
        } else if let Some(later) = later {
            later
        } else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&column.name),
            None => reasons.push((reason, vec![&column.name])),
        }
        found.push(column.name.as_str());
    }
    (!found.is_empty()).then(|| {
        let listed: Vec<String> = (reasons.iter())
            .map(|(reason, names)| {
                let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
                let more = names.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}{more} ({reason})", shown.join(", "))
            })
            .collect();
        Warning::new(
            "post-treatment-suspect",
            format!(
                "possibly measured after the treatment: {}. What the treatment itself changes must not be held fixed; if \
                 that is so, add --ignore {}",
                listed.join("; "),
                found.join(",")
            ),
        )
    })
}

/// Whole numbers of one length, five digits or more, almost all different.
fn identifiers(columns: &[TableColumn]) -> Option<Warning> {
    let looks = |column: &&TableColumn| {
        let ColumnData::Number(values) = &column.data else { return false };
        let mut known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
        let n = known.len();
        if column.is_date || n < 50 || known.iter().any(|v| v.fract() != 0.0 || *v < 10_000.0) {
            return false;
        }
        let length = |v: f64| v.log10().floor();
        let one_length = known.iter().all(|v| length(*v) == length(known[0]));
        known.sort_unstable_by(f64::total_cmp);
        known.dedup();
        one_length && known.len() * 100 >= n * 99
    };
    let found: Vec<&str> = columns.iter().filter(looks).map(|c| c.name.as_str()).collect();
    (!found.is_empty()).then(|| {
        Warning::new(
            "identifier-suspect",
            format!(
                "{} an identifier (whole numbers of one length, almost all different); if so, add --ignore {}",
                subject(&found, "looks like", "each look like"),
                found.join(",")
            ),
        )
    })
}

/// Columns that say the same: numbers that correlate almost perfectly, levels that go one with one.
fn copies(sample: &Sample, columns: &[TableColumn]) -> Option<Warning> {
    enum Shape {
        Numbers(Vec<f64>),
        Levels(Vec<u32>),
        Nothing,
    }
    let shapes: Vec<Shape> = columns
        .iter()
        .map(|column| match &column.data {
            ColumnData::Text(text) => {
                let codes: Vec<u32> = sample.rows.iter().map(|&i| text.codes[i]).collect();
                let several = codes.iter().any(|c| *c != codes[0]);
                if several { Shape::Levels(codes) } else { Shape::Nothing }
            }
            ColumnData::Number(values) => {
                let own: Vec<f64> = sample.rows.iter().map(|&i| values[i]).collect();
                let known: Vec<f64> = own.iter().copied().filter(|v| !v.is_nan()).collect();
                let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
                let size = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>().sqrt();
                if size > 0.0 && size.is_finite() && known.len() * 2 > own.len() {
                    Shape::Numbers(own.iter().map(|v| if v.is_nan() { 0.0 } else { (v - mean) / size }).collect())
                } else {
                    Shape::Nothing
                }
            }
        })
        .collect();
    let same = |a: &Shape, b: &Shape| match (a, b) {
        (Shape::Numbers(a), Shape::Numbers(b)) => a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>().abs() >= COPY,
        (Shape::Levels(a), Shape::Levels(b)) => one_to_one(a, b),
        _ => false,
    };
    let mut pairs = vec![];
    for (j, own) in shapes.iter().enumerate() {
        if let Some(k) = (0..j).find(|&k| same(&shapes[k], own)) {
            pairs.push(format!("`{}` and `{}`", columns[k].name, columns[j].name));
        }
    }
    (!pairs.is_empty()).then(|| {
        let more = pairs.len().saturating_sub(NAMED);
        pairs.truncate(NAMED);
        let more = if more > 0 { format!(", and {more} more pairs") } else { String::new() };
        Warning::new(
            "near-copies",
            format!(
                "these columns say almost the same: {}{more}; keep one of each, so that importance and roles are not divided \
                 between them",
                pairs.join(", ")
            ),
        )
    })
}

fn one_to_one(a: &[u32], b: &[u32]) -> bool {
    use std::collections::HashMap;
    let (mut forward, mut back) = (HashMap::new(), HashMap::new());
    a.iter().zip(b).all(|(x, y)| forward.entry(*x).or_insert(*y) == y && back.entry(*y).or_insert(*x) == x)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Rng;
    use paretau_data::{Table, assign, assign_all_arms};

    use super::*;

    /// Codes of the warnings about a table with `t`, `y`, an honest `x` and further columns.
    fn found(
        n: usize,
        arms: u64,
        outcome: impl Fn(f64, &mut Rng) -> f64,
        more: impl Fn(&[f64], &[f64], &mut Rng) -> Vec<TableColumn>,
    ) -> Vec<(String, String)> {
        let mut rng = Seed(3).rng();
        let t: Vec<f64> = (0..n).map(|_| (rng.uniform() * arms as f64).floor()).collect();
        let y: Vec<f64> = t.iter().map(|t| outcome(*t, &mut rng)).collect();
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mut columns =
            vec![TableColumn::number("t", t.clone()), TableColumn::number("y", y.clone()), TableColumn::number("x", x)];
        columns.extend(more(&t, &y, &mut rng));
        let roles = RoleSpec::new("t", "y");
        let table = Table::new(columns).unwrap();
        let assigned = if arms > 2 { assign_all_arms(table, &roles).unwrap() } else { assign(table, &roles).unwrap() };
        suspects(&assigned, &roles, Seed(1)).into_iter().map(|w| (w.code, w.message)).collect()
    }

    fn codes(found: &[(String, String)]) -> Vec<&str> {
        found.iter().map(|(code, _)| code.as_str()).collect()
    }

    #[test]
    fn honest_columns_raise_no_suspicion() {
        let none = found(
            2000,
            2,
            |t, rng| t + rng.normal(),
            |t, y, rng| {
                // A strong confounder and a strong prognosis are no leaks.
                let steer = t.iter().map(|t| 2.0 * t + rng.normal()).collect();
                let forecast = y.iter().map(|y| y + 0.3 * rng.normal()).collect();
                vec![TableColumn::number("steer", steer), TableColumn::number("forecast", forecast)]
            },
        );
        assert_eq!(codes(&none), Vec::<&str>::new());
    }

    #[test]
    fn what_records_the_treatment_is_named() {
        let all = found(
            1000,
            2,
            |t, rng| t + rng.normal(),
            |t, _, rng| {
                // A dose that only the treated have, missing for the others.
                let dose = t.iter().map(|t| if *t > 0.0 { 5.0 + rng.uniform() } else { f64::NAN }).collect();
                vec![TableColumn::number("dose", dose)]
            },
        );
        assert_eq!(codes(&all), ["treatment-determined"]);
        assert!(all[0].1.contains("column `dose` determines") && all[0].1.ends_with("--ignore dose"), "{}", all[0].1);
        let several = found(
            1500,
            3,
            |t, rng| t + rng.normal(),
            |t, _, rng| {
                let site = t.iter().map(|t| 10.0 * t + rng.uniform()).collect();
                let half = t.iter().map(|t| f64::from(u8::from(*t > 0.0)) + 0.01 * rng.uniform()).collect();
                vec![TableColumn::number("site", site), TableColumn::number("half", half)]
            },
        );
        assert_eq!(codes(&several), ["treatment-determined"]);
        assert!(several[0].1.contains("`site`") && !several[0].1.contains("`half`"), "{}", several[0].1);
    }

    #[test]
    fn near_copies_of_the_outcome_are_found_among_few_rows_and_several_arms() {
        for (n, noise, want) in [(300, 0.05, vec!["outcome-nearly-determined"]), (300, 0.3, vec![])] {
            let all = found(
                n,
                3,
                |t, rng| t + rng.normal(),
                |_, y, rng| {
                    let copy = |y: &f64| y + noise * rng.normal();
                    vec![TableColumn::number("wobble", y.iter().map(copy).collect())]
                },
            );
            assert_eq!(codes(&all), want, "{n} rows, noise {noise}");
        }
    }

    #[test]
    fn crooked_functions_of_the_outcome_are_found() {
        let all = found(
            3000,
            2,
            |t, rng| t + rng.normal(),
            |_, y, _| vec![TableColumn::number("bent", y.iter().map(|y| (y / 2.0).tanh()).collect())],
        );
        assert_eq!(codes(&all), ["outcome-nearly-determined"]);
        let yes_no = found(
            1000,
            2,
            |t, rng| f64::from(u8::from(rng.uniform() < 0.3 + 0.2 * t)),
            |_, y, rng| {
                let days = y.iter().map(|y| if *y > 0.0 { 1.0 + 9.0 * rng.uniform() } else { 90.0 }).collect();
                vec![TableColumn::number("days_alive", days)]
            },
        );
        assert_eq!(codes(&yes_no), ["outcome-nearly-determined"]);
    }

    #[test]
    fn copies_and_identifiers_are_named() {
        let all = found(
            600,
            2,
            |t, rng| t + rng.normal(),
            |_, _, rng| {
                let kg: Vec<f64> = (0..600).map(|_| 70.0 + 9.0 * rng.normal()).collect();
                let pounds = kg.iter().map(|kg| (kg * 2.2046).round()).collect();
                let phone = (0..600).map(|i| 5_550_000.0 + f64::from(i * 7919 % 600)).collect();
                vec![
                    TableColumn::number("kg", kg),
                    TableColumn::number("pounds", pounds),
                    TableColumn::number("phone", phone),
                ]
            },
        );
        assert_eq!(codes(&all), ["near-copies", "identifier-suspect"]);
        assert!(all[0].1.contains("`kg` and `pounds`") && all[1].1.contains("`phone`"), "{all:?}");
    }

    #[test]
    fn names_and_dates_that_come_later_are_named() {
        let column = |name: &str| TableColumn::number(name, vec![1.0, 2.0]);
        let date = |name: &str, values: Vec<f64>| TableColumn { is_date: true, ..TableColumn::number(name, values) };
        let columns = [
            column("wt71"),
            column("wt82"),
            column("postcode"),
            column("smoking82_71"),
            column("x99y"),
            column("tax71"),
            column("score_followUp"),
            column("PostScore"),
            column("age"),
            date("start_date", vec![10.0, 10.0]),
            date("birth", vec![1.0, 2.0]),
            date("last_seen", vec![50.0, 60.0]),
        ];
        let roles = RoleSpec::new("qsmk", "wt82_71");
        let message = measured_later(&columns, &roles).unwrap().message;
        for name in [
            "`wt82`",
            "`smoking82_71`",
            "`score_followUp`",
            "`PostScore`",
            "`wt82`, `smoking82_71` (numbered like the outcome `wt82_71` or later)",
            "`last_seen` (later than `start_date` in 2 of 2",
        ] {
            assert!(message.contains(name), "{name}: {message}");
        }
        assert!(message.ends_with("--ignore wt82,smoking82_71,score_followUp,PostScore,last_seen"), "{message}");
    }
}
