//! Conformal intervals of the individual effect: what one person's outcome with treatment would differ from the one without.
//!
//! Each arm's outcome is predicted by the stack that belongs to the data; how far held-out outcomes lie from it, weighted by
//! the Pareto-smoothed inverse weights so that the arm speaks for everyone, gives an interval of either potential outcome.
//! The effect lies within the differences of the two at half of the error probability each, whatever ties the two outcomes
//! together (union bound), so it covers more than it promises where they are unrelated.

use paretau_core::{Design, Error, Features, Result, State};
use paretau_nuisance::{ArmStack, Nuisance, OutcomeStack};
use serde::{Deserialize, Serialize};

use crate::registry::TOOLBOX;

/// Steps of the stored distribution of residuals.
const STEPS: usize = 2000;

/// Outcome models and how far outcomes lie from them.
#[derive(Debug)]
pub(crate) struct Individual {
    stack: OutcomeStack,
    /// Absolute held-out residuals per arm at the levels `1/STEPS, …, 1`, never too small.
    residuals: [Vec<f64>; 2],
    /// Effective rows per arm.
    effective: [f64; 2],
}

#[derive(Serialize, Deserialize)]
struct Saved {
    probability: bool,
    arms: Vec<SavedArm>,
}

#[derive(Serialize, Deserialize)]
struct SavedArm {
    members: Vec<(String, f64)>,
    mean: (f64, f64),
    other: (f64, f64),
    effective: f64,
}

impl Individual {
    /// From held-out predictions of the training rows and their inverse weights.
    pub(crate) fn new(stack: OutcomeStack, design: &Design, nuisance: &Nuisance, inverse: &[f64]) -> Self {
        let arm = |arm: u8| -> (Vec<f64>, f64) {
            let mu = if arm == 0 { &nuisance.mu0 } else { &nuisance.mu1 };
            let weight = |i: usize| inverse[i] * design.weight().map_or(1.0, |w| w[i]);
            let mut rows: Vec<(f64, f64)> =
                design.rows_of_arm(arm).into_iter().map(|i| ((design.y()[i] - mu[i]).abs(), weight(i))).collect();
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (sum, squares) = rows.iter().fold((0.0, 0.0), |(s, q), (_, w)| (s + w, q + w * w));
            let (mut at, mut below) = (0, rows[0].1);
            let levels = (1..=STEPS).map(|step| {
                let wanted = sum * step as f64 / STEPS as f64;
                while below < wanted * (1.0 - 1e-12) && at + 1 < rows.len() {
                    at += 1;
                    below += rows[at].1;
                }
                rows[at].0
            });
            (levels.collect(), if squares > 0.0 { sum * sum / squares } else { 0.0 })
        };
        let ((control, n0), (treated, n1)) = (arm(0), arm(1));
        Self { stack, residuals: [control, treated], effective: [n0, n1] }
    }

    /// Ends of the intervals of the individual effects of rows.
    pub(crate) fn interval(&self, x: &Features, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let wanted = f64::midpoint(1.0, level);
        let reach = |arm: usize| -> Result<f64> {
            // One more row, the new one, that may lie anywhere.
            let step = (wanted * (1.0 + 1.0 / self.effective[arm].max(1.0)) * STEPS as f64).ceil();
            if step > STEPS as f64 {
                let name = if arm == 0 { "control" } else { "treated" };
                return Err(Error::unfit(format!(
                    "the {name} arm has {:.0} effective rows, too few for intervals of the individual effect at level {level}; \
                     ask for a lower level",
                    self.effective[arm]
                )));
            }
            Ok(self.residuals[arm][(step as usize).max(1) - 1])
        };
        let (q0, q1) = (reach(0)?, reach(1)?);
        let [mu0, mu1] = self.stack.predict(x)?;
        let ends = |mu: f64, q: f64| -> (f64, f64) {
            if !self.stack.probability {
                return (mu - q, mu + q);
            }
            // The outcomes 0 and 1 that are near enough; the nearer one if neither is.
            let (no, yes) = (mu <= q, 1.0 - mu <= q);
            let nearest = f64::from(u8::from(mu > 0.5));
            match (no, yes) {
                (true, true) => (0.0, 1.0),
                (true, false) => (0.0, 0.0),
                (false, true) => (1.0, 1.0),
                (false, false) => (nearest, nearest),
            }
        };
        let both = mu0.iter().zip(&mu1).map(|(&mu0, &mu1)| {
            let ((l0, u0), (l1, u1)) = (ends(mu0, q0), ends(mu1, q1));
            (l1 - u0, u1 - l0)
        });
        Ok(both.unzip())
    }

    pub(crate) fn state(&self) -> Result<State> {
        let arm = |(arm, effective): (&ArmStack, &f64)| SavedArm {
            members: arm.members.iter().map(|(name, share, _)| ((*name).to_owned(), *share)).collect(),
            mean: arm.mean,
            other: arm.other,
            effective: *effective,
        };
        let arms = self.stack.arms.iter().zip(&self.effective).map(arm).collect();
        let mut state = State::new(&Saved { probability: self.stack.probability, arms })?;
        for (a, arm) in self.stack.arms.iter().enumerate() {
            state.put_f64(&format!("residuals{a}"), &[STEPS], self.residuals[a].clone());
            for (k, (_, _, model)) in arm.members.iter().enumerate() {
                state.nest(&format!("arm{a}member{k}"), model.state()?);
            }
        }
        Ok(state)
    }

    pub(crate) fn load(state: &State) -> Result<Self> {
        let Saved { probability, arms } = state.parse()?;
        if arms.len() != 2 {
            return Err(Error::bad_model("its outcome models are not of two arms"));
        }
        let load = |a: usize| -> Result<(ArmStack, Vec<f64>, f64)> {
            let saved = &arms[a];
            let member = |(k, (name, share)): (usize, &(String, f64))| -> Result<_> {
                let base = TOOLBOX.base(name).map_err(|e| Error::bad_model(e.to_string()))?;
                Ok((base.name(), *share, base.load(&state.nested(&format!("arm{a}member{k}"))?)?))
            };
            let members = saved.members.iter().enumerate().map(member).collect::<Result<Vec<_>>>()?;
            let residuals = state.f64(&format!("residuals{a}"), &[STEPS])?.to_vec();
            let numbers = [saved.mean.0, saved.mean.1, saved.other.0, saved.other.1, saved.effective];
            let shares = members.iter().map(|(_, share, _)| *share);
            let sound = numbers.into_iter().chain(shares).chain(residuals.iter().copied()).all(f64::is_finite);
            if !sound || residuals.windows(2).any(|pair| pair[0] > pair[1]) || residuals[0] < 0.0 {
                return Err(Error::bad_model("the residuals of its outcome models are damaged"));
            }
            Ok((ArmStack { members, mean: saved.mean, other: saved.other }, residuals, saved.effective))
        };
        let ((a0, r0, n0), (a1, r1, n1)) = (load(0)?, load(1)?);
        Ok(Self { stack: OutcomeStack { arms: [a0, a1], probability }, residuals: [r0, r1], effective: [n0, n1] })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::Dense;

    fn individual(probability: bool, means: [f64; 2]) -> Individual {
        let arm = |mean: f64| ArmStack { members: vec![], mean: (mean, 1.0), other: (0.0, 0.0) };
        let residuals: Vec<f64> = (1..=STEPS).map(|k| k as f64 / STEPS as f64).collect();
        let stack = OutcomeStack { arms: [arm(means[0]), arm(means[1])], probability };
        Individual { stack, residuals: [residuals.clone(), residuals], effective: [1e9, 1e9] }
    }

    #[test]
    fn ends_by_hand_survive_the_model_file() {
        let x = Features::Dense(Dense::new(1, 1, vec![0.0]).unwrap());
        let plain = individual(false, [1.0, 3.0]);
        let (lo, hi) = plain.interval(&x, 0.9).unwrap();
        // Each arm at 0.95: one step above, because the new row counts too.
        assert!((lo[0] - (2.0 - 2.0 * 0.9505)).abs() < 1e-9 && (hi[0] - (2.0 + 2.0 * 0.9505)).abs() < 1e-9);
        let again = Individual::load(&plain.state().unwrap()).unwrap();
        assert_eq!(again.interval(&x, 0.9).unwrap(), (lo, hi));
        // Probabilities of 0.01 and 0.99 with reach 0.9505: only one outcome of either arm is near enough.
        assert_eq!(individual(true, [0.01, 0.99]).interval(&x, 0.9).unwrap(), (vec![1.0], vec![1.0]));
        assert_eq!(individual(true, [0.5, 0.99]).interval(&x, 0.9).unwrap(), (vec![0.0], vec![1.0]));
    }

    #[test]
    fn too_few_rows_are_refused() {
        let mut few = individual(false, [0.0, 1.0]);
        few.effective = [1e9, 12.0];
        let x = Features::Dense(Dense::new(1, 1, vec![0.0]).unwrap());
        assert!(few.interval(&x, 0.95).unwrap_err().to_string().contains("treated arm has 12"));
        assert!(few.interval(&x, 0.5).is_ok());
    }
}
