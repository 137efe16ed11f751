//! What is said about the whole fit from what is said about its blocks: numbers as means by rows, sentences with how many blocks
//! they are about.

use std::collections::BTreeMap;

use paretau_core::{Diagnostics, Importance, Warning};
use paretau_nuisance::{Share, StackReport};

use crate::nuisances::NuisanceReport;

/// The mean of the blocks' reports: losses and shares, each block with the share of its rows.
pub(super) fn nuisances(blocks: &[(f64, NuisanceReport)]) -> Option<NuisanceReport> {
    let (_, first) = blocks.first()?;
    let of = |pick: &dyn Fn(&NuisanceReport) -> &StackReport| {
        stack(&blocks.iter().map(|(share, report)| (*share, pick(report))).collect::<Vec<_>>())
    };
    Some(NuisanceReport {
        outcomes: [of(&|r| &r.outcomes[0]), of(&|r| &r.outcomes[1])],
        propensity: of(&|r| &r.propensity),
        propensity_known: first.propensity_known,
    })
}

fn stack(blocks: &[(f64, &StackReport)]) -> StackReport {
    let mean = |of: &dyn Fn(&StackReport) -> f64| blocks.iter().map(|(share, report)| share * of(report)).sum::<f64>();
    let mut names: Vec<&str> = vec![];
    for share in blocks.iter().flat_map(|(_, report)| &report.shares) {
        if !names.contains(&share.name.as_str()) {
            names.push(&share.name);
        }
    }
    let shares = names.into_iter().map(|name| {
        let own = |report: &StackReport| report.shares.iter().find(|share| share.name == name).cloned();
        // Where a learner took no part it carried nothing; its loss is that of the blocks where it did.
        let took_part: f64 = blocks.iter().filter(|(_, report)| own(report).is_some()).map(|(share, _)| share).sum();
        Share {
            name: name.to_owned(),
            share: mean(&|report| own(report).map_or(0.0, |found| found.share)),
            loss: mean(&|report| own(report).map_or(0.0, |found| found.loss)) / took_part,
        }
    });
    StackReport { shares: shares.collect(), loss: mean(&|r| r.loss), loss_of_mean: mean(&|r| r.loss_of_mean) }
}

/// Numbers that count rows.
const COUNTS: [&str; 5] = [
    "oob_ate_rows_clipped",
    "propensities_held",
    "rows_beyond_clip",
    "rows_trimmed",
    "second_stage_propensities_raised",
];

/// One number from those of the blocks with their shares of the rows: standard errors are those of a mean of independent
/// numbers, counts of rows are added up, and everything else that is not an extreme is a mean.
fn combined(name: &str, values: &[(f64, f64)]) -> f64 {
    if name.ends_with("_se") {
        values.iter().map(|(share, v)| (share * v).powi(2)).sum::<f64>().sqrt()
    } else if name.ends_with("_min") {
        values.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min)
    } else if name.ends_with("_max") {
        values.iter().map(|(_, v)| *v).fold(f64::NEG_INFINITY, f64::max)
    } else if COUNTS.contains(&name) {
        values.iter().map(|(_, v)| v).sum()
    } else {
        values.iter().map(|(share, v)| share * v).sum()
    }
}

/// Diagnostics of all blocks: numbers and importances that every block has. Training curves and roles are left out: they belong
/// to one fit.
pub(super) fn diagnostics(blocks: &[(f64, &Diagnostics)]) -> Diagnostics {
    let mut numbers: BTreeMap<String, f64> = BTreeMap::new();
    for name in blocks.first().into_iter().flat_map(|(_, first)| first.numbers.keys()) {
        let values: Option<Vec<(f64, f64)>> =
            blocks.iter().map(|(share, own)| own.numbers.get(name).map(|value| (*share, *value))).collect();
        numbers.extend(values.map(|values| (name.clone(), combined(name, &values))));
    }
    let lists = |pick: &dyn Fn(&Diagnostics) -> &[Importance]| -> Vec<Importance> {
        let all: Vec<(f64, &[Importance])> = blocks.iter().map(|(share, own)| (*share, pick(own))).collect();
        importance(&all)
    };
    Diagnostics {
        warnings: warnings(blocks.iter().map(|(_, own)| own.warnings.as_slice()), blocks.len()),
        numbers,
        importance: lists(&|own| &own.importance),
        reading: lists(&|own| &own.reading),
        ..Diagnostics::default()
    }
}

/// Means of features' shares, the most important first.
fn importance(blocks: &[(f64, &[Importance])]) -> Vec<Importance> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (share, own) in blocks {
        for feature in *own {
            *sums.entry(&feature.name).or_insert(0.0) += share * feature.share;
        }
    }
    let mut all: Vec<Importance> =
        sums.into_iter().map(|(name, share)| Importance { name: name.to_owned(), share }).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    all
}

/// Warnings of blocks, those of one kind as one: the first one's sentence, and in how many blocks there is one.
pub(super) fn warnings<'a>(blocks: impl Iterator<Item = &'a [Warning]>, n_blocks: usize) -> Vec<Warning> {
    let mut found: Vec<(&Warning, usize)> = vec![];
    for own in blocks {
        let mut counted: Vec<&str> = vec![];
        for warning in own {
            if counted.contains(&warning.code.as_str()) {
                continue;
            }
            counted.push(&warning.code);
            match found.iter_mut().find(|(first, _)| first.code == warning.code) {
                Some((_, n)) => *n += 1,
                None => found.push((warning, 1)),
            }
        }
    }
    let words = |(warning, n): (&Warning, usize)| Warning {
        code: warning.code.clone(),
        message: format!("in {n} of {n_blocks} blocks of rows: {}", warning.message),
    };
    found.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_combined_by_what_they_are() {
        let own = |ate: f64, se: f64, lowest: f64, clipped: f64| {
            let mut found = Diagnostics::default();
            for (name, value) in
                [("oob_ate", ate), ("oob_ate_se", se), ("e_min", lowest), ("oob_ate_rows_clipped", clipped)]
            {
                found.note(name, value);
            }
            found.warn("few-trees", format!("of {ate}"));
            found
        };
        let (mut a, b) = (own(1.0, 0.3, 0.1, 4.0), own(3.0, 0.4, 0.2, 5.0));
        a.note("only here", 7.0);
        let found = diagnostics(&[(0.5, &a), (0.5, &b)]);
        let expected = [("e_min", 0.1), ("oob_ate", 2.0), ("oob_ate_rows_clipped", 9.0), ("oob_ate_se", 0.25)];
        assert!(found.numbers.iter().map(|(name, value)| (name.as_str(), *value)).eq(expected), "{:?}", found.numbers);
        assert_eq!(found.warnings.len(), 1);
        assert_eq!(found.warnings[0].message, "in 2 of 2 blocks of rows: of 1");
    }
}
