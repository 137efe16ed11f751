//! What `auto` tells after a fit: who takes part with which share, and how each candidate fared on rows it did not see.

use paretau_core::Diagnostics;
use paretau_report::{Mixture, MixtureCandidate};

use crate::summary::four_digits;

const SHARE: &str = "share_";
const DR_LOSS: &str = "dr_loss";
const R_LOSS: &str = "r_loss";
const ABOVE: &str = "above_best";
const ABOVE_SE: &str = "above_best_se";

/// The mixture behind a model of `auto`, from the numbers that its fit left; nothing for other estimators.
pub(crate) fn mixture(diagnostics: &Diagnostics) -> Option<Mixture> {
    let numbers = &diagnostics.numbers;
    let of = |kind: &str, name: &str| numbers.get(&format!("{kind}_{name}")).copied();
    let labels = numbers.keys().filter_map(|key| key.strip_prefix(DR_LOSS)?.strip_prefix('_'));
    let mut candidates: Vec<MixtureCandidate> = labels
        .filter(|label| ![ABOVE, ABOVE_SE].contains(label))
        .filter_map(|label| {
            Some(MixtureCandidate {
                label: label.to_owned(),
                share: numbers.get(&format!("{SHARE}{label}")).copied().unwrap_or(0.0),
                dr_loss: of(DR_LOSS, label)?,
                r_loss: of(R_LOSS, label)?,
            })
        })
        .collect();
    if candidates.iter().all(|c| c.share <= 0.0) {
        return None;
    }
    candidates.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.dr_loss.total_cmp(&b.dr_loss)));
    let (dr_loss, r_loss) = (*numbers.get(DR_LOSS)?, *numbers.get(R_LOSS)?);
    let gap = of(DR_LOSS, ABOVE)?;
    let words = in_words(&candidates, dr_loss, (gap, of(DR_LOSS, ABOVE_SE)?))?;
    Some(Mixture { candidates, dr_loss, r_loss, words })
}

/// Whether a number of a fit is shown as part of the mixture.
pub(crate) fn belongs(name: &str) -> bool {
    [SHARE, DR_LOSS, R_LOSS].iter().any(|prefix| name.starts_with(prefix))
}

fn in_words(candidates: &[MixtureCandidate], dr_loss: f64, (gap, se): (f64, f64)) -> Option<String> {
    let best = candidates.iter().min_by(|a, b| a.dr_loss.total_cmp(&b.dr_loss))?;
    let members: Vec<String> = candidates
        .iter()
        .filter(|c| c.share > 0.0)
        .map(|c| format!("{} {:.0} %", called(&c.label), 100.0 * c.share))
        .collect();
    let direction = if gap > 0.0 { "higher" } else { "lower" };
    Some(format!(
        "chosen on rows that the fits did not see, out of {} candidates: {}; doubly robust loss {} there, {direction} by {} (standard \
         error {}) than that of the best single candidate, {}",
        candidates.len(),
        members.join(", "),
        four_digits(dr_loss),
        four_digits(gap.abs()),
        four_digits(se),
        called(&best.label)
    ))
}

/// A candidate as a reader knows it.
fn called(label: &str) -> &str {
    if label == super::CONSTANT { "one effect for everyone" } else { label }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_losses_and_the_gap_are_told() {
        let mut diagnostics = Diagnostics::default();
        assert!(mixture(&diagnostics).is_none());
        let numbers = [
            ("dr_loss", 5.61),
            ("r_loss", 1.02),
            ("dr_loss_above_best", 0.03),
            ("dr_loss_above_best_se", 0.04),
            ("dr_loss_lr-2", 5.58),
            ("r_loss_lr-2", 1.01),
            ("dr_loss_constant", 5.7),
            ("r_loss_constant", 1.04),
            ("dr_loss_tarnet", 5.9),
            ("r_loss_tarnet", 1.1),
            ("share_lr-2", 0.75),
            ("share_constant", 0.25),
        ];
        numbers.iter().for_each(|(name, value)| diagnostics.note(name, *value));
        let found = mixture(&diagnostics).unwrap_or_else(|| unreachable!("all numbers are there"));
        let labels: Vec<&str> = found.candidates.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["lr-2", "constant", "tarnet"]);
        assert_eq!(
            found.words,
            "chosen on rows that the fits did not see, out of 3 candidates: lr-2 75 %, one effect for everyone 25 %; doubly robust \
             loss 5.610 there, higher by 0.03000 (standard error 0.04000) than that of the best single candidate, lr-2"
        );
        assert!(numbers.iter().all(|(name, _)| belongs(name)) && !belongs("oob_error"));
    }
}
