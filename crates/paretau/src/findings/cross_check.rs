//! Two averages of the same effects, one of them corrected by what the rows show, should agree.

use paretau_core::Warning;

use crate::about::Estimate;
use crate::summary::four_digits;

/// A stable key for programs.
pub(crate) const CODE: &str = "average-disagrees";

/// A warning when the mean predicted effect lies outside the doubly robust average's 95 % interval: then the model leaves
/// something systematic in the outcomes unexplained, and predictions for single rows may be off as their mean is.
pub(crate) fn cross_check(predicted: f64, seen: &Estimate) -> Option<Warning> {
    if (seen.lo..=seen.hi).contains(&predicted) {
        return None;
    }
    Some(Warning {
        code: CODE.to_owned(),
        message: format!(
            "the mean of the predicted effects, {}, lies outside the interval of the doubly robust average, {} ({} to {}): trust \
             the latter, and single predictions less",
            four_digits(predicted),
            four_digits(seen.value),
            four_digits(seen.lo),
            four_digits(seen.hi)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disagreement_gives_a_warning() {
        let seen = Estimate { value: 1.0, se: 0.1, lo: 0.8, hi: 1.2 };
        assert_eq!(cross_check(0.81, &seen), None);
        let (code, message) = cross_check(1.5, &seen).map(|w| (w.code, w.message)).unwrap_or_default();
        assert!(code == CODE && message.contains("1.500,") && message.contains("0.8000 to 1.200)"), "{message}");
    }
}
