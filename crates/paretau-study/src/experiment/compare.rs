//! Methods against each other on the same data: differences within realisations, with their uncertainty, so that
//! "A beats B" is claimed only as far as the records support it.

use std::collections::BTreeMap;

use paretau_core::Seed;
use paretau_kernels::numeric::mean;

use super::plan::{Method, Plan};
use super::records::Record;
use super::tables::table_cell;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 2_000;

/// Two methods on the realisations that both finished.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Data set, or `all` for every realisation of the plan.
    pub data: String,
    /// The first method.
    pub a: String,
    /// The second method.
    pub b: String,
    /// Realisations compared.
    pub n: usize,
    /// Realisations in which the first is better.
    pub wins: usize,
    /// Mean of the logarithm of the scores' ratio, first over second, as a ratio.
    pub ratio: f64,
    /// Bounds of its 95 % bootstrap interval over realisations.
    pub interval: (f64, f64),
}

/// A value for each data set and realisation.
type ByUnit<T> = BTreeMap<(String, u64), T>;

/// Scores by method; seeds are averaged.
type Scores = BTreeMap<String, ByUnit<f64>>;

fn scores(records: &[&Record], metric: &str) -> Scores {
    let mut sums: BTreeMap<String, ByUnit<(f64, usize)>> = BTreeMap::new();
    for record in records {
        if let Some(&score) = record.scores.get(metric) {
            let unit = (record.cell.data.name.clone(), record.cell.realisation);
            let sum = sums.entry(record.cell.method.label().to_owned()).or_default().entry(unit).or_default();
            *sum = (sum.0 + score, sum.1 + 1);
        }
    }
    let mean = |(sum, n): (f64, usize)| sum / n as f64;
    sums.into_iter()
        .map(|(method, units)| (method, units.into_iter().map(|(unit, sum)| (unit, mean(sum))).collect()))
        .collect()
}

/// Method `a` against every other, by the given metric (a positive one of which less is better).
pub fn pairs(plan: &Plan, records: &[&Record], metric: &str, a: &str) -> Vec<Pair> {
    let scores = scores(records, metric);
    let Some(ours) = scores.get(a) else { return vec![] };
    let mut out = vec![];
    let mut names: Vec<Option<&str>> = plan.data.iter().map(|data| Some(data.name.as_str())).collect();
    if names.len() > 1 {
        names.push(None);
    }
    for name in names {
        for method in plan.methods.iter().map(Method::label).filter(|m| *m != a) {
            let Some(theirs) = scores.get(method) else { continue };
            let logs: Vec<f64> = ours
                .iter()
                .filter(|((data, _), _)| name.is_none_or(|name| name == data))
                .filter_map(|(unit, &score)| Some((score, *theirs.get(unit)?)))
                .filter(|(x, y)| *x > 0.0 && *y > 0.0)
                .map(|(x, y)| (x / y).ln())
                .collect();
            if logs.is_empty() {
                continue;
            }
            let (low, high) = bootstrap(&logs);
            out.push(Pair {
                data: name.unwrap_or("all").to_owned(),
                a: a.to_owned(),
                b: method.to_owned(),
                n: logs.len(),
                wins: logs.iter().filter(|log| **log < 0.0).count(),
                ratio: mean(&logs).exp(),
                interval: (low.exp(), high.exp()),
            });
        }
    }
    out
}

/// Mean rank of every method over the realisations that all of them finished, best first; and their number.
pub fn ranks(plan: &Plan, records: &[&Record], metric: &str, data: Option<&str>) -> (Vec<(String, f64)>, usize) {
    let scores = scores(records, metric);
    let methods: Vec<&str> = plan.methods.iter().map(Method::label).filter(|m| scores.contains_key(*m)).collect();
    let Some(first) = methods.first() else { return (vec![], 0) };
    let mut sums = vec![0.0; methods.len()];
    let mut n = 0;
    for unit in scores[*first].keys().filter(|(name, _)| data.is_none_or(|data| data == name)) {
        let Some(row) = methods.iter().map(|m| scores[*m].get(unit).copied()).collect::<Option<Vec<f64>>>() else {
            continue;
        };
        n += 1;
        for (sum, score) in sums.iter_mut().zip(&row) {
            // Equal scores share the ranks they stand for.
            let below = row.iter().filter(|other| *other < score).count();
            let equal = row.iter().filter(|other| *other == score).count();
            *sum += below as f64 + f64::midpoint(equal as f64, 1.0);
        }
    }
    let mut out: Vec<(String, f64)> =
        methods.iter().zip(&sums).map(|(m, sum)| ((*m).to_owned(), sum / n.max(1) as f64)).collect();
    out.sort_by(|x, y| x.1.total_cmp(&y.1));
    (out, n)
}

/// Methods against each other by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The metric, a positive one of which less is better.
    pub metric: String,
    /// Realisations that all methods finished.
    pub n: usize,
    /// Mean ranks over them, best first.
    pub ranks: Vec<(String, f64)>,
    /// The method that the study is about, else the one that ranks best.
    pub hero: String,
    /// It against every other.
    pub pairs: Vec<Pair>,
}

/// The comparison of a plan's records, by the first of its metrics that ranks by being low.
pub fn compare(plan: &Plan, records: &[&Record]) -> Option<Comparison> {
    let metric = plan.first_metric(records)?;
    let (ranks, n) = ranks(plan, records, &metric, None);
    let hero = plan.hero.clone().or_else(|| ranks.first().map(|(best, _)| best.clone()))?;
    let pairs = pairs(plan, records, &metric, &hero);
    Some(Comparison { metric, n, ranks, hero, pairs })
}

/// The comparison as a page: mean ranks, then one method against every other.
pub fn comparison(plan: &Plan, records: &[&Record]) -> String {
    let mut out = format!("# {}: methods against each other\n\n", table_cell(&plan.name));
    let Some(Comparison { metric, n, ranks, hero, pairs }) = compare(plan, records) else {
        out += "No score to compare by: the data have no truth.\n";
        return out;
    };
    out += &format!(
        "By `{metric}` on the test rows; seeds are averaged within a realisation. A ratio below 1 means that the \
         first method's error is smaller; its 95 % interval is a bootstrap over realisations, and an interval that \
         holds 1 settles nothing.\n"
    );
    out += &format!("\n## Mean rank over {n} realisations\n\n| method | mean rank |\n|---|---|\n");
    for (method, rank) in &ranks {
        out += &format!("| {} | {rank:.2} |\n", table_cell(method));
    }
    out += &format!("\n## {} against each other method\n\n", table_cell(&hero));
    out += "| data | against | ratio of errors | 95 % interval | wins |\n|---|---|---|---|---|\n";
    for pair in pairs {
        let (low, high) = pair.interval;
        out += &format!(
            "| {} | {} | {:.3} | {low:.3} to {high:.3} | {} of {} |\n",
            table_cell(&pair.data),
            table_cell(&pair.b),
            pair.ratio,
            pair.wins,
            pair.n
        );
    }
    out
}

/// Scores by realisation, in its order, seeds averaged.
pub(super) fn by_realisation(records: &[&Record], metric: &str) -> Vec<f64> {
    scores(records, metric).into_values().flat_map(BTreeMap::into_values).collect()
}

/// Percentiles 2.5 and 97.5 of the mean under resampling; always the same draws for the same data.
pub(super) fn bootstrap(values: &[f64]) -> (f64, f64) {
    let mut rng = Seed(0).named("paired bootstrap").rng();
    let n = values.len();
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| values[rng.below(n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((RESAMPLES as f64 * share) as usize).min(RESAMPLES - 1)];
    (at(0.025), at(0.975))
}
