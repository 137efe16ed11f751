//! How well three encoders found the features meant for them, on processes like the paper's synthetic one: the first third
//! of the features are instruments, the second confounders, the last adjusters.

use paretau_core::{Diagnostics, FeatureRole, Role};

/// What a net's encoders read of each feature. A single encoder counts as all three, as in the paper;
/// nothing when the fit has no encoder.
pub fn encoders_of(diagnostics: &Diagnostics) -> Vec<FeatureRole> {
    if !diagnostics.roles.is_empty() {
        return diagnostics.roles.clone();
    }
    let one = diagnostics.reading.iter().map(|column| FeatureRole {
        name: column.name.clone(),
        role: Role::None,
        score: 0.0,
        instrument: column.share,
        confounder: column.share,
        adjuster: column.share,
    });
    one.collect()
}

/// An encoder, by the features that are meant for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Third {
    /// The first third.
    Instrument,
    /// The second third.
    Confounder,
    /// The last third.
    Adjuster,
}

/// The mean strength with which the encoder reads its own third, relative to how it reads the others:
/// `(own - others) / others`, as in the paper. Nothing when the method has no encoders.
pub fn encoder_difference(roles: &[FeatureRole], third: Third) -> Option<f64> {
    let size = roles.len() / 3;
    if size == 0 {
        return None;
    }
    let (k, read): (usize, fn(&FeatureRole) -> f64) = match third {
        Third::Instrument => (0, |r| r.instrument),
        Third::Confounder => (1, |r| r.confounder),
        Third::Adjuster => (2, |r| r.adjuster),
    };
    let own_rows = k * size..(k + 1) * size;
    let (mut own, mut others) = (0.0, 0.0);
    for (j, role) in roles.iter().enumerate() {
        let part = if own_rows.contains(&j) { &mut own } else { &mut others };
        *part += read(role);
    }
    let (own, others) = (own / size as f64, others / (roles.len() - size) as f64);
    Some((own - others) / others).filter(|difference| difference.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Importance;

    #[test]
    fn an_encoder_that_reads_its_own_third_twice_as_much_scores_one() {
        let roles: Vec<FeatureRole> = (0..6)
            .map(|j| FeatureRole {
                name: format!("x{j}"),
                role: Role::None,
                score: 1.0,
                instrument: if j < 2 { 2.0 } else { 1.0 },
                confounder: 1.0,
                adjuster: if j >= 4 { 0.5 } else { 1.0 },
            })
            .collect();
        let thirds = [Third::Instrument, Third::Confounder, Third::Adjuster];
        assert_eq!(thirds.map(|third| encoder_difference(&roles, third)), [Some(1.0), Some(0.0), Some(-0.5)]);
        assert_eq!(thirds.map(|third| encoder_difference(&[], third)), [None; 3]);
    }

    #[test]
    fn one_encoder_counts_as_all_three() {
        let reading = [1.0, 1.0, 4.0].map(|share| Importance { name: "x".into(), share: share / 6.0 }).to_vec();
        let roles = encoders_of(&Diagnostics { reading, ..Diagnostics::default() });
        let scores =
            [Third::Instrument, Third::Confounder, Third::Adjuster].map(|third| encoder_difference(&roles, third));
        let expected = [-0.6, -0.6, 3.0];
        assert!(
            scores.iter().zip(expected).all(|(score, is)| score.is_some_and(|s| (s - is).abs() < 1e-12)),
            "{scores:?}"
        );
        assert!(encoders_of(&Diagnostics::default()).is_empty());
    }
}
