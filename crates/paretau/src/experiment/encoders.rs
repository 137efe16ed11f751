//! How well three encoders found the features meant for them, on the paper's synthetic process: there the first third
//! of the features are instruments, the second confounders, the last adjusters.

use paretau_core::FeatureRole;

/// Names of the three differences among a record's scores.
pub(super) const ENCODER_DIFFERENCES: [&str; 3] = ["encoder_instrument", "encoder_confounder", "encoder_adjuster"];

/// For each encoder, the mean strength with which it reads its own third, relative to how it reads the others:
/// `(own - others) / others`, as in the paper. Nothing when the method has no encoders.
pub(super) fn encoder_differences(roles: &[FeatureRole]) -> Vec<(String, f64)> {
    let third = roles.len() / 3;
    if third == 0 {
        return vec![];
    }
    let strength: [fn(&FeatureRole) -> f64; 3] = [|r| r.instrument, |r| r.confounder, |r| r.adjuster];
    let mut out = vec![];
    for (k, (name, read)) in ENCODER_DIFFERENCES.iter().zip(strength).enumerate() {
        let own_rows = k * third..(k + 1) * third;
        let (mut own, mut others) = (0.0, 0.0);
        for (j, role) in roles.iter().enumerate() {
            let part = if own_rows.contains(&j) { &mut own } else { &mut others };
            *part += read(role);
        }
        let (own, others) = (own / third as f64, others / (roles.len() - third) as f64);
        let difference = (own - others) / others;
        if difference.is_finite() {
            out.push(((*name).to_owned(), difference));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Role;

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
        let found: Vec<f64> = encoder_differences(&roles).into_iter().map(|(_, value)| value).collect();
        assert_eq!(found, [1.0, 0.0, -0.5]);
        assert!(encoder_differences(&[]).is_empty());
    }
}
