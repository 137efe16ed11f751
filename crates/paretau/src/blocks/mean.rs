//! A model that was fitted block by block: the mean of the blocks' models, each with the share of its rows.
//!
//! Blocks have no row (and no group of rows) in common, so their models are independent: the variance of the mean is the sum of
//! the variances times the squared shares. For forests that is where intervals come from: little bags tell each block's variance,
//! as they do in an ordinary fit. The spread between blocks would tell it with as many degrees of freedom as there are blocks,
//! which is few.

use paretau_core::{Diagnostics, Effects, Error, EstimatorEntry, Features, FittedModel, Result, State, Toolbox, Want};
use serde::{Deserialize, Serialize};

/// The mean of the blocks' models.
#[derive(Debug)]
pub(crate) struct BlockMean {
    /// Share of the rows, and the model of each block.
    models: Vec<(f64, Box<dyn FittedModel>)>,
    diagnostics: Diagnostics,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    shares: Vec<f64>,
    diagnostics: Diagnostics,
}

fn part(k: usize) -> String {
    format!("block{k}")
}

impl BlockMean {
    /// Models with their numbers of rows, and what all of them together have to say.
    pub(crate) fn new(models: Vec<(usize, Box<dyn FittedModel>)>, diagnostics: Diagnostics) -> Result<Self> {
        let total: usize = models.iter().map(|(n, _)| n).sum();
        let models = models.into_iter().map(|(n, model)| (n as f64 / total as f64, model)).collect();
        Self { models, diagnostics }.checked()
    }

    fn checked(self) -> Result<Self> {
        let bad = |what: &str| Err(Error::bad_model(format!("the models of its blocks {what}")));
        let Some((_, first)) = self.models.first() else { return bad("are missing") };
        let alike = |model: &dyn FittedModel| {
            (model.n_features(), model.n_treated_arms()) == (first.n_features(), first.n_treated_arms())
        };
        if !self.models.iter().all(|(_, model)| alike(model.as_ref())) {
            return bad("do not belong together");
        }
        let sum: f64 = self.models.iter().map(|(share, _)| share).sum();
        if self.models.iter().any(|(share, _)| !(0.0..=1.0).contains(share)) || (sum - 1.0).abs() > 1e-6 {
            return bad("have shares that do not sum to 1");
        }
        Ok(self)
    }

    /// Reads the model back; every block's is one of `entry`.
    pub(crate) fn load(
        entry: &dyn EstimatorEntry,
        n_blocks: usize,
        state: &State,
        tools: &Toolbox,
    ) -> Result<Box<dyn FittedModel>> {
        let Saved { shares, diagnostics } = state.parse()?;
        if shares.len() != n_blocks {
            return Err(Error::bad_model("its description and its models disagree about the number of blocks"));
        }
        let load = |(k, share)| Ok((share, entry.load(&state.nested(&part(k))?, tools)?));
        let models = shares.into_iter().enumerate().map(load).collect::<Result<_>>()?;
        Ok(Box::new(Self { models, diagnostics }.checked()?))
    }
}

impl FittedModel for BlockMean {
    fn n_features(&self) -> usize {
        self.models.first().map_or(0, |(_, model)| model.n_features())
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        let mut sums: Vec<Effects> = vec![];
        for (k, (share, model)) in self.models.iter().enumerate() {
            let arms = model.predict(x, want)?;
            if k == 0 {
                sums = arms.into_iter().map(|arm| scaled(arm, *share)).collect();
                continue;
            }
            if arms.len() != sums.len() {
                return Err(Error::bad_model("the models of its blocks do not belong together"));
            }
            sums.iter_mut().zip(arms).for_each(|(sum, arm)| add(sum, scaled(arm, *share)));
        }
        // Variances were added up.
        sums.iter_mut().flat_map(|arm| &mut arm.se).flatten().for_each(|v| *v = v.sqrt());
        Ok(sums)
    }

    fn n_treated_arms(&self) -> usize {
        self.models.first().map_or(0, |(_, model)| model.n_treated_arms())
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let shares = self.models.iter().map(|(share, _)| *share).collect();
        let mut state = State::new(&Saved { shares, diagnostics: self.diagnostics.clone() })?;
        for (k, (_, model)) in self.models.iter().enumerate() {
            state.nest(&part(k), model.state()?);
        }
        Ok(state)
    }
}

/// Effects times a share; instead of standard errors, variances times its square.
fn scaled(mut effects: Effects, share: f64) -> Effects {
    let Effects { mu0, mu1, tau, e, se } = &mut effects;
    let values = [mu0, mu1, tau].into_iter().flatten().chain(e.iter_mut().flatten());
    values.for_each(|v| *v *= share);
    se.iter_mut().flatten().for_each(|v| *v = (*v * share).powi(2));
    effects
}

/// Adds what both have.
fn add(sum: &mut Effects, more: Effects) {
    let lists = [(&mut sum.mu0, more.mu0), (&mut sum.mu1, more.mu1), (&mut sum.tau, more.tau)];
    for (sum, more) in lists {
        sum.truncate(more.len());
        sum.iter_mut().zip(more).for_each(|(a, b)| *a += b);
    }
    for (sum, more) in [(&mut sum.e, more.e), (&mut sum.se, more.se)] {
        match (sum.as_mut(), more) {
            (Some(sum), Some(more)) => sum.iter_mut().zip(more).for_each(|(a, b)| *a += b),
            _ => *sum = None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Dense;

    use super::*;

    /// Gives every row the same effect.
    #[derive(Debug)]
    struct Constant(f64, Diagnostics);

    impl FittedModel for Constant {
        fn n_features(&self) -> usize {
            1
        }

        fn predict(&self, x: &Features, _: Want) -> Result<Vec<Effects>> {
            let all = |v: f64| vec![v; x.n_rows()];
            Ok(vec![Effects { mu0: all(0.0), mu1: all(self.0), tau: all(self.0), e: None, se: Some(all(2.0)) }])
        }

        fn diagnostics(&self) -> &Diagnostics {
            &self.1
        }

        fn state(&self) -> Result<State> {
            Ok(State::default())
        }
    }

    #[test]
    fn effects_are_means_by_rows_and_variances_those_of_independent_models() {
        let model = |tau: f64| -> Box<dyn FittedModel> { Box::new(Constant(tau, Diagnostics::default())) };
        let mean = BlockMean::new(vec![(300, model(1.0)), (100, model(5.0))], Diagnostics::default()).unwrap();
        let x = Features::Dense(Dense::new(2, 1, vec![0.0, 1.0]).unwrap());
        let found = &mean.predict(&x, Want::Everything).unwrap()[0];
        assert_eq!(found.tau, [2.0, 2.0]);
        assert_eq!(found.mu1, [2.0, 2.0]);
        let se = (0.75_f64.powi(2) * 4.0 + 0.25_f64.powi(2) * 4.0).sqrt();
        assert!(found.se.as_ref().unwrap().iter().all(|v| (v - se).abs() < 1e-12));
        assert!(found.e.is_none());
        assert!(BlockMean::new(vec![], Diagnostics::default()).is_err());
    }
}
