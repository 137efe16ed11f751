//! A small tree of effects: a few questions that tell people apart by what the treatment does to them.
//!
//! Questions are chosen by the doubly robust scores of one half of the rows, never by predictions, which have seen the
//! outcomes of both halves; and a question must stand out beyond chance, given how many were considered. Effects are then seen
//! in the other half, with a band over all nodes. So noise gives a tree of one leaf, and where it does not, its intervals
//! still hold.

use paretau_core::Result;
use paretau_data::Table;
use paretau_nuisance::inference::{clustered_mean, normal_quantile};
use paretau_nuisance::{LEAST_EFFECTIVE_ROWS, fold_count};
use paretau_report::{EffectNode, EffectSplit, EffectTree, Interval};

use super::grouped::{GroupKind, Grouped};
use super::{MOST_FEATURES, ScoredRows, banded};

/// Questions from the root to a leaf.
const DEPTH: usize = 3;
/// Chance that noise alone makes a node's best question stand out.
const CHANCE: f64 = 0.1;
/// Fewest choosing rows of a leaf.
const FEWEST: usize = 25;

/// The best question of a node: the feature, and which of its groups answer yes.
struct Question<'a> {
    grouped: &'a Grouped,
    yes: Vec<u8>,
    words: [String; 2],
    /// How much of the sum of squares it accounts for.
    gain: f64,
}

/// A node with its rows, before effects are seen in it.
struct Grown {
    choosing: Vec<usize>,
    seeing: Vec<usize>,
    split: Option<Box<([String; 2], Grown, Grown)>>,
}

/// The tree; nothing where an arm is too small to be halved.
pub(super) fn tree(scored: &ScoredRows<'_>, features: &Table) -> Result<Option<EffectTree>> {
    let (t, clusters) = (scored.design.t(), scored.design.groups());
    if fold_count(t, clusters, 2).is_none() {
        return Ok(None);
    }
    let halves = paretau_core::folds(t, clusters, 2, scored.seed.named("tree"))?;
    let (mut choosing, mut seeing) = (halves[0].train.clone(), halves[0].held_out.clone());
    choosing.sort_unstable();
    seeing.sort_unstable();
    // Which features are looked at is decided by the choosing rows, too: the others' scores are as good as unknown.
    let mean = choosing.iter().map(|&i| scored.scores[i]).sum::<f64>() / choosing.len().max(1) as f64;
    let mut known = vec![mean; scored.scores.len()];
    choosing.iter().for_each(|&i| known[i] = scored.scores[i]);
    let grouped = Grouped::of(features, &known, MOST_FEATURES);
    let rows = [choosing.len(), seeing.len()];
    let fewest = FEWEST.max(choosing.len() / 20);
    let grown = grow(scored, &grouped, (choosing, seeing), DEPTH, fewest);
    // Below the root, whose rows nobody chose, the band is over all nodes.
    let mut parts = vec![];
    grown.children().for_each(|child| child.collect(&mut parts));
    let seen = scored.seen(&parts, parts.len())?;
    let mut below: Vec<Option<Interval>> = seen.iter().map(banded).collect();
    below.reverse();
    let everybody: Vec<usize> = (0..t.len()).collect();
    let root = scored.seen(&[everybody], 1)?.first().and_then(banded);
    let total = squares(scored, &(0..t.len()).collect::<Vec<_>>());
    let mut left = 0.0;
    let root = grown.into_node(scored, root, &mut below, &mut left);
    let explained = if total > 0.0 { (1.0 - left / total).clamp(0.0, 1.0) } else { 0.0 };
    Ok(Some(EffectTree { explained, rows, root }))
}

impl Grown {
    fn children(&self) -> impl Iterator<Item = &Self> {
        self.split.iter().flat_map(|split| [&split.1, &split.2])
    }

    /// The seeing rows of this node and of all below it, in the order in which nodes are made.
    fn collect(&self, out: &mut Vec<Vec<usize>>) {
        out.push(self.seeing.clone());
        self.children().for_each(|child| child.collect(out));
    }

    /// The node with its effect. `below` holds the effects of the nodes to come, the next one last; what leaves leave
    /// unexplained of the predictions is added to `left`.
    fn into_node(
        self,
        scored: &ScoredRows<'_>,
        seen: Option<Interval>,
        below: &mut Vec<Option<Interval>>,
        left: &mut f64,
    ) -> EffectNode {
        let mut rows: Vec<usize> = self.choosing.iter().chain(&self.seeing).copied().collect();
        rows.sort_unstable();
        let (n, predicted) = (rows.len(), scored.predicted(&rows));
        let split = match self.split {
            None => {
                *left += squares(scored, &rows);
                None
            }
            Some(split) => {
                let ([yes, no], first, second) = *split;
                let mut child = |grown: Self| {
                    let seen = below.pop().flatten();
                    grown.into_node(scored, seen, below, left)
                };
                let (first, second) = (child(first), child(second));
                Some(Box::new(EffectSplit { yes, no, left: first, right: second }))
            }
        };
        EffectNode { n, predicted, seen, split }
    }
}

/// Sum of squares of the predictions about their mean.
fn squares(scored: &ScoredRows<'_>, rows: &[usize]) -> f64 {
    let tau = &scored.effects.tau;
    let mean = rows.iter().map(|&i| tau[i]).sum::<f64>() / rows.len().max(1) as f64;
    rows.iter().map(|&i| (tau[i] - mean).powi(2)).sum()
}

/// Divides the rows by questions that the choosing ones suggest.
fn grow(
    scored: &ScoredRows<'_>,
    grouped: &[Grouped],
    (choosing, seeing): (Vec<usize>, Vec<usize>),
    depth: usize,
    fewest: usize,
) -> Grown {
    let best = if depth == 0 { None } else { question(scored, grouped, &choosing, fewest) };
    let split = best.map(|question| {
        let divide = |rows: &[usize]| -> (Vec<usize>, Vec<usize>) {
            rows.iter().partition(|&&i| question.yes.contains(&question.grouped.codes[i]))
        };
        let ((yes, no), (seeing_yes, seeing_no)) = (divide(&choosing), divide(&seeing));
        let first = grow(scored, grouped, (yes, seeing_yes), depth - 1, fewest);
        let second = grow(scored, grouped, (no, seeing_no), depth - 1, fewest);
        Box::new((question.words.clone(), first, second))
    });
    Grown { choosing, seeing, split }
}

/// The question that divides the choosing rows' scores best, if it stands out beyond chance.
fn question<'a>(
    scored: &ScoredRows<'_>,
    grouped: &'a [Grouped],
    rows: &[usize],
    fewest: usize,
) -> Option<Question<'a>> {
    let (scores, t) = (&scored.scores, scored.design.t());
    let total: f64 = rows.iter().map(|&i| scores[i]).sum();
    let n_treated = rows.iter().filter(|&&i| t[i] == 1).count();
    let (mut best, mut considered): (Option<Question<'a>>, usize) = (None, 0);
    for feature in grouped {
        let mut sums = vec![(0_usize, 0.0, 0_usize); 256];
        for &i in rows {
            let own = &mut sums[usize::from(feature.codes[i])];
            own.0 += 1;
            own.1 += scores[i];
            own.2 += usize::from(t[i] == 1);
        }
        let mut consider = |yes: Vec<u8>, words: &dyn Fn() -> [String; 2]| {
            let (n, sum, treated) =
                yes.iter().map(|&c| sums[usize::from(c)]).fold((0, 0.0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
            let others = rows.len() - n;
            // Both arms must be there on both sides.
            let arms = [treated, n - treated, n_treated - treated, others - (n_treated - treated)];
            let rare = arms.iter().any(|count| (*count as f64) < LEAST_EFFECTIVE_ROWS);
            if n < fewest || others < fewest || rare {
                return;
            }
            considered += 1;
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
    best.filter(|question| stands_out(scored, rows, question, considered))
}

/// Whether the two sides' scores differ by more than the best of so many questions does by chance; rows of one cluster are
/// not independent.
fn stands_out(scored: &ScoredRows<'_>, rows: &[usize], question: &Question<'_>, considered: usize) -> bool {
    let (yes, no): (Vec<usize>, Vec<usize>) =
        rows.iter().partition(|&&i| question.yes.contains(&question.grouped.codes[i]));
    let mean = |rows: &[usize]| {
        let values: Vec<f64> = rows.iter().map(|&i| scored.scores[i]).collect();
        let clusters: Option<Vec<u32>> = scored.design.groups().map(|g| rows.iter().map(|&i| g[i]).collect());
        clustered_mean(&values, None, clusters.as_deref())
    };
    let (yes, no) = (mean(&yes), mean(&no));
    let error = yes.se.zip(no.se).map_or(f64::INFINITY, |(a, b)| a.hypot(b));
    let limit = normal_quantile(1.0 - CHANCE / (2.0 * considered.max(1) as f64));
    (yes.value - no.value).abs() > limit * error
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Dense, Design, Effects, Features, Seed};
    use paretau_data::{Table, TableColumn, Text};

    use paretau_nuisance::{Estimand, Nuisance, Observed, RowEvidence};

    use super::super::{ScoredRows, curves, subgroups};
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

    /// What a finding makes of a trial.
    fn with_evidence<R>(design: &Design, effects: &Effects, look: impl FnOnce(&ScoredRows<'_>) -> R) -> R {
        let n = design.n_rows();
        let rows = Observed::of(design).unwrap();
        let nuisance = Nuisance::from_arms(vec![0.0; n], effects.mu1.clone(), vec![0.5; n]);
        let inverse = vec![2.0; n];
        let evidence =
            RowEvidence { rows: &rows, nuisance: &nuisance, inverse_weights: &inverse, estimand: Estimand::All };
        look(&ScoredRows { design, effects, scores: nuisance.scores(&rows, &inverse), evidence, seed: Seed(5) })
    }

    #[test]
    fn the_tree_finds_the_steps_and_its_words_are_true() {
        let (table, design, effects) = people();
        let tree = with_evidence(&design, &effects, |scored| tree(scored, &table)).unwrap().unwrap();
        assert!(tree.explained > 0.9, "{}", tree.explained);
        let mut described = vec![];
        words(&tree.root, &mut described);
        assert!(described.iter().any(|(w, _)| w.starts_with("region is")), "{described:?}");
        assert!(described.iter().all(|(w, _)| !w.contains("noise")), "{described:?}");
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
        let found = with_evidence(&design, &effects, |scored| {
            subgroups::subgroups(scored, &table, &Grouped::of(&table, &effects.tau, MOST_FEATURES))
        })
        .unwrap();
        for feature in ["age", "region", "noise"] {
            let own: Vec<_> = found.iter().filter(|s| s.feature == feature).collect();
            assert_eq!(own.iter().map(|s| s.n).sum::<usize>(), 2000, "{feature}");
            assert!(own.len() >= 2 && own.iter().all(|s| s.seen.is_some_and(|e| e.lo <= e.value && e.value <= e.hi)));
        }
        let levels: Vec<&str> = found.iter().filter(|s| s.feature == "region").map(|s| s.level.as_str()).collect();
        assert_eq!(levels, ["south", "north"]);
        assert!(found.iter().any(|s| s.feature == "age" && s.level == "missing"));
    }

    fn any(node: &EffectNode, off: &dyn Fn(Option<Interval>) -> bool) -> bool {
        node.split
            .as_ref()
            .is_some_and(|s| [&s.left, &s.right].into_iter().any(|child| off(child.seen) || any(child, off)))
    }

    /// How often, over draws without any effect, an interval of the tree or of the subgroups leaves zero out, when the
    /// predictions are as overfitted as can be.
    #[test]
    fn noise_seldom_looks_like_a_subgroup() {
        let (draws, mut trees, mut tables, mut bands) = (200, 0, 0, 0);
        for draw in 0..draws {
            let mut rng = Seed(100 + draw).rng();
            let n = 600;
            let columns: Vec<Vec<f64>> = (0..5).map(|_| (0..n).map(|_| rng.normal()).collect()).collect();
            let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
            let y: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            // Predictions that have learnt the noise by heart.
            let tau: Vec<f64> = (0..n).map(|i| if t[i] == 1 { y[i] } else { -y[i] }).collect();
            let named = columns.into_iter().enumerate().map(|(j, v)| TableColumn::number(format!("x{j}"), v));
            let table = Table::new(named.collect()).unwrap();
            let design = Design::new(Features::Dense(Dense::new(n, 1, vec![0.0; n]).unwrap()), t, y).unwrap();
            let effects = Effects { mu0: vec![0.0; n], mu1: vec![0.0; n], tau, e: None, se: None };
            let grouped = Grouped::of(&table, &effects.tau, MOST_FEATURES);
            let (tree, parts, curves) = with_evidence(&design, &effects, |scored| {
                let parts = subgroups::subgroups(scored, &table, &grouped).unwrap();
                (tree(scored, &table).unwrap().unwrap(), parts, curves::curves(scored, &table, &grouped).unwrap())
            });
            let off = |seen: Option<Interval>| seen.is_some_and(|e| e.lo > 0.0 || e.hi < 0.0);
            trees += u32::from(any(&tree.root, &off));
            tables += u32::from(parts.iter().any(|part| off(part.seen)));
            assert!(curves.len() == 4 && curves.iter().all(|curve| curve.points.len() == 8));
            bands += u32::from(curves.iter().any(|curve| curve.points.iter().any(|point| off(point.seen))));
        }
        // 5 % of 200 are 10; four standard errors more are 22.
        assert!(trees <= 10 && tables <= 22 && bands <= 22, "{trees} {tables} {bands} of {draws}");
    }
}
