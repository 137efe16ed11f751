//! A small tree over the predicted effects: a few questions that account for most of their differences.

use paretau_report::{EffectNode, EffectSplit, EffectTree};

use super::ScoredRows;
use super::grouped::{GroupKind, Grouped};

/// Questions from the root to a leaf.
const DEPTH: usize = 3;
/// A question must account for this share of all differences.
const WORTH: f64 = 0.01;
/// Fewest rows of a leaf.
const FEWEST: usize = 25;

/// The best question of a node: the feature, and which of its groups answer yes.
struct Question<'a> {
    grouped: &'a Grouped,
    yes: Vec<u8>,
    words: [String; 2],
    gain: f64,
}

pub(super) fn tree(evidence: &ScoredRows<'_>, grouped: &[Grouped]) -> EffectTree {
    let all: Vec<usize> = (0..evidence.effects.tau.len()).collect();
    let total = squares(evidence, &all);
    let mut left = 0.0;
    let root = node(evidence, grouped, &all, DEPTH, total, &mut left);
    let explained = if total > 0.0 { (1.0 - left / total).clamp(0.0, 1.0) } else { 0.0 };
    EffectTree { explained, root }
}

/// Sum of squares about the mean.
fn squares(evidence: &ScoredRows<'_>, rows: &[usize]) -> f64 {
    let tau = &evidence.effects.tau;
    let mean = rows.iter().map(|&i| tau[i]).sum::<f64>() / rows.len().max(1) as f64;
    rows.iter().map(|&i| (tau[i] - mean).powi(2)).sum()
}

/// The node of these rows; what its leaves leave unexplained is added to `left`.
fn node(
    evidence: &ScoredRows<'_>,
    grouped: &[Grouped],
    rows: &[usize],
    depth: usize,
    total: f64,
    left: &mut f64,
) -> EffectNode {
    let fewest = FEWEST.max(evidence.effects.tau.len() / 20);
    let best = if depth == 0 { None } else { question(evidence, grouped, rows, fewest) };
    let split = match best.filter(|q| q.gain > WORTH * total) {
        None => {
            *left += squares(evidence, rows);
            None
        }
        Some(question) => {
            let (yes, no): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|&&i| question.yes.contains(&question.grouped.codes[i]));
            let [yes_words, no_words] = question.words;
            Some(Box::new(EffectSplit {
                yes: yes_words,
                no: no_words,
                left: node(evidence, grouped, &yes, depth - 1, total, left),
                right: node(evidence, grouped, &no, depth - 1, total, left),
            }))
        }
    };
    EffectNode { n: rows.len(), predicted: evidence.predicted(rows), seen: evidence.seen(rows), split }
}

fn question<'a>(
    evidence: &ScoredRows<'_>,
    grouped: &'a [Grouped],
    rows: &[usize],
    fewest: usize,
) -> Option<Question<'a>> {
    let tau = &evidence.effects.tau;
    let total: f64 = rows.iter().map(|&i| tau[i]).sum();
    let mut best: Option<Question<'a>> = None;
    for feature in grouped {
        let mut sums = vec![(0_usize, 0.0); 256];
        for &i in rows {
            let own = &mut sums[usize::from(feature.codes[i])];
            own.0 += 1;
            own.1 += tau[i];
        }
        let mut consider = |yes: Vec<u8>, words: &dyn Fn() -> [String; 2]| {
            let (n, sum) =
                yes.iter().fold((0, 0.0), |(n, s), &c| (n + sums[usize::from(c)].0, s + sums[usize::from(c)].1));
            let others = rows.len() - n;
            if n < fewest || others < fewest {
                return;
            }
            let gap = sum / n as f64 - (total - sum) / others as f64;
            let gain = n as f64 * others as f64 / rows.len() as f64 * gap * gap;
            if best.as_ref().is_none_or(|b| gain > b.gain) {
                best = Some(Question { grouped: feature, yes, words: words(), gain });
            }
        };
        let name = &feature.name;
        let gaps = sums[usize::from(Grouped::MISSING)].0 > 0;
        let or_missing = if gaps { ", or missing" } else { "" };
        match &feature.kind {
            GroupKind::Thresholds(thresholds) => {
                for k in 0..thresholds.len() {
                    let at = &thresholds[k].words;
                    consider((0..=k as u8).collect(), &|| {
                        [format!("{name} at most {at}"), format!("{name} above {at}{or_missing}")]
                    });
                }
            }
            GroupKind::Levels(levels) => {
                for (k, level) in levels.iter().enumerate() {
                    let other = if levels.len() == 2 && !gaps {
                        format!("{name} is {}", levels[1 - k])
                    } else {
                        format!("{name} is not {level}")
                    };
                    consider(vec![k as u8], &|| [format!("{name} is {level}"), other.clone()]);
                }
            }
        }
        if gaps {
            consider(vec![Grouped::MISSING], &|| [format!("{name} is missing"), format!("{name} is known")]);
        }
    }
    best
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Dense, Design, Effects, Features, Seed};
    use paretau_data::{Table, TableColumn, Text};

    use super::super::{ScoredRows, subgroups};
    use super::*;

    /// Rows whose effect is 2 for the old, 1 for the young in the north, 0 for the others; ages have gaps.
    fn people() -> (Table, Design, Effects) {
        let mut rng = Seed(3).rng();
        let n = 2000;
        let age: Vec<f64> =
            (0..n).map(|_| if rng.bernoulli(0.1) { f64::NAN } else { (20.0 + 60.0 * rng.uniform()).round() }).collect();
        let north: Vec<bool> = (0..n).map(|_| rng.bernoulli(0.4)).collect();
        let noise: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let tau: Vec<f64> = (0..n).map(|i| if age[i] > 50.0 { 2.0 } else { f64::from(u8::from(north[i])) }).collect();
        let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(t[i]) * tau[i] + 0.1 * rng.normal()).collect();
        let region = Text::from_cells(north.iter().map(|north| Some(if *north { "north" } else { "south" })));
        let table = Table::new(vec![
            TableColumn::number("noise", noise),
            TableColumn::number("age", age),
            TableColumn::text("region", region),
        ])
        .unwrap();
        let design = Design::new(Features::Dense(Dense::new(n, 1, vec![0.0; n]).unwrap()), t, y).unwrap();
        let effects = Effects { mu0: vec![0.0; n], mu1: tau.clone(), tau, e: None, se: None };
        (table, design, effects)
    }

    fn words(node: &EffectNode, out: &mut Vec<(String, f64)>) {
        if let Some(split) = &node.split {
            out.push((split.yes.clone(), split.left.predicted));
            out.push((split.no.clone(), split.right.predicted));
            words(&split.left, out);
            words(&split.right, out);
        }
    }

    #[test]
    fn the_tree_finds_the_steps_and_its_words_are_true() {
        let (table, design, effects) = people();
        let scores = effects.tau.clone();
        let evidence = ScoredRows { design: &design, effects: &effects, scores };
        let grouped = Grouped::of(&table, &effects.tau, 40);
        assert_eq!(grouped[0].name, "age");
        let tree = tree(&evidence, &grouped);
        assert!(tree.explained > 0.9, "{}", tree.explained);
        let mut told = vec![];
        words(&tree.root, &mut told);
        assert!(told.iter().any(|(w, _)| w.starts_with("region is")), "{told:?}");
        assert!(told.iter().all(|(w, _)| !w.contains("noise")), "{told:?}");
        // The condition of the first branch, applied to the table by hand, gives the numbers that the tree tells.
        let split = tree.root.split.as_ref().unwrap();
        let bound: f64 = split.yes.strip_prefix("age at most ").unwrap().parse().unwrap();
        assert_eq!(split.no, format!("age above {bound}, or missing"));
        let paretau_data::ColumnData::Number(age) = &table.column("age").unwrap().data else {
            panic!("age is a number")
        };
        let rows: Vec<usize> = (0..age.len()).filter(|&i| age[i] <= bound).collect();
        assert_eq!(split.left.n, rows.len());
        let mean = rows.iter().map(|&i| effects.tau[i]).sum::<f64>() / rows.len() as f64;
        assert!((split.left.predicted - mean).abs() < 1e-12);
        assert_eq!(split.left.n + split.right.n, age.len());
    }

    #[test]
    fn subgroups_cover_every_row_once() {
        let (table, design, effects) = people();
        let evidence = ScoredRows { design: &design, effects: &effects, scores: effects.tau.clone() };
        let grouped = Grouped::of(&table, &effects.tau, 40);
        let found = subgroups::subgroups(&evidence, &grouped);
        for feature in ["age", "region", "noise"] {
            let own: Vec<_> = found.iter().filter(|s| s.feature == feature).collect();
            assert_eq!(own.iter().map(|s| s.n).sum::<usize>(), 2000, "{feature}");
            assert!(own.len() >= 2 && own.iter().all(|s| s.seen.lo <= s.seen.value && s.seen.value <= s.seen.hi));
        }
        let levels: Vec<&str> = found.iter().filter(|s| s.feature == "region").map(|s| s.level.as_str()).collect();
        assert_eq!(levels, ["south", "north"]);
        assert!(found.iter().any(|s| s.feature == "age" && s.level == "missing"));
    }
}
