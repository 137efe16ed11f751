//! Metrics that need the truth of a simulation.

use paretau_core::{Oracle, Result};
use paretau_kernels::numeric::{mean_and_squares, mean_sd};
use paretau_nuisance::{Score, same_length};

/// Root mean squared error of the predicted effects, the PEHE of Hill (2011); standard error by the delta method.
pub fn pehe(tau: &[f64], truth: &Oracle) -> Result<Score> {
    let errors = squared_errors(tau, truth)?;
    let n = errors.len() as f64;
    let (mean, squares) = mean_and_squares(&errors);
    let root = mean.sqrt();
    let var = squares / (n - 1.0).max(1.0);
    let se = if root > 0.0 { (var / n).sqrt() / (2.0 * root) } else { 0.0 };
    Ok(Score::new(root, Some(se)))
}

/// [`pehe`] over the standard deviation of the true effect: 1 is as good as knowing the average effect only. `None` when the true
/// effect is constant.
pub fn pehe_rel(tau: &[f64], truth: &Oracle) -> Result<Option<Score>> {
    let score = pehe(tau, truth)?;
    let (_, sd) = mean_sd(&truth.tau());
    // Rounding of mu1 - mu0 alone does not count as variation.
    let scale = truth.mu0().iter().chain(truth.mu1()).fold(0.0_f64, |m, v| m.max(v.abs()));
    Ok((sd > 1e-12 * scale).then(|| Score::new(score.value / sd, score.se.map(|s| s / sd))))
}

/// Absolute error of the mean predicted effect.
pub fn ate_error(tau: &[f64], truth: &Oracle) -> Result<Score> {
    squared_errors(tau, truth)?;
    let n = tau.len() as f64;
    let mean = tau.iter().zip(truth.tau()).map(|(a, b)| a - b).sum::<f64>() / n;
    Ok(Score::plain(mean.abs()))
}

fn squared_errors(tau: &[f64], truth: &Oracle) -> Result<Vec<f64>> {
    same_length("predicted effects", truth.mu0().len(), tau.len())?;
    if tau.is_empty() {
        return Err(paretau_core::Error::unfit("there are no rows to score on"));
    }
    Ok(tau.iter().zip(truth.tau()).map(|(a, b)| (a - b).powi(2)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let truth = Oracle::new(vec![0.0, 0.0, 1.0, 1.0], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
        // True effects 1, 3, 1, 3: mean 2, sd 1.
        let tau = [2.0, 3.0, 1.0, 6.0];
        let score = pehe(&tau, &truth).unwrap();
        assert!((score.value - (10.0_f64 / 4.0).sqrt()).abs() < 1e-12);
        assert!((pehe_rel(&tau, &truth).unwrap().unwrap().value - score.value).abs() < 1e-12);
        assert!((ate_error(&tau, &truth).unwrap().value - 1.0).abs() < 1e-12);
        let flat = Oracle::new(vec![0.1, 0.2], vec![0.3, 0.4]).unwrap();
        assert!(pehe_rel(&[0.0, 0.0], &flat).unwrap().is_none());
        assert!(pehe(&[1.0], &truth).is_err());
        assert_eq!(pehe(&truth.tau(), &truth).unwrap(), Score::new(0.0, Some(0.0)));
    }
}
