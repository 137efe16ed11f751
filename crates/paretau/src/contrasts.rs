//! Several arms with an estimator of two: one model per treated arm, fitted to the rows of that arm and of the control.

use paretau_core::{Design, Diagnostics, Effects, Error, Estimator, EstimatorEntry, Event, Features, FitContext};
use paretau_core::{FittedModel, Result, State, Toolbox, Want};
use serde::{Deserialize, Serialize};

/// Fits an estimator of two arms to designs with any number of arms.
#[derive(Debug)]
pub struct Contrasts(Box<dyn Estimator>);

impl Contrasts {
    /// Around an estimator of two arms.
    pub fn of(estimator: Box<dyn Estimator>) -> Self {
        Self(estimator)
    }

    /// Reads the model of a design with several arms, fitted by this entry.
    pub fn load(entry: &dyn EstimatorEntry, state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
        let Saved { n_arms } = state.parse()?;
        let load = |k: usize| entry.load(&state.nested(&part(k))?, tools);
        let models = (0..n_arms).map(load).collect::<Result<Vec<_>>>()?;
        let n_features = models.first().map(|m| m.n_features());
        if n_arms > usize::from(u8::MAX)
            || models.iter().any(|m| m.n_treated_arms() != 1 || Some(m.n_features()) != n_features)
        {
            return Err(Error::bad_model("its models of several arms do not belong together"));
        }
        Ok(Box::new(ContrastModels::new(models, None)?))
    }
}

impl Estimator for Contrasts {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        if design.n_arms() == 2 {
            return self.0.fit(design, ctx);
        }
        if ctx.checkpoint.is_some() {
            return Err(Error::unfit(
                "a checkpoint keeps one training, and several arms need one each; name the treated value of one arm",
            ));
        }
        let n = design.n_rows();
        let (mut models, mut held_out) = (vec![], Some(vec![]));
        for arm in 1..design.n_arms() {
            ctx.check_interrupt()?;
            let name = format!("fitting arm {arm} of {} against the control", design.n_arms() - 1);
            ctx.event(&Event::Stage { name, total: None });
            let arm =
                u8::try_from(arm).map_err(|_| Error::internal("several arms", "more arms than can be counted"))?;
            let rows: Vec<usize> = (0..n).filter(|&i| design.t()[i] == 0 || design.t()[i] == arm).collect();
            let seed = ctx.seed.named("contrasts").indexed(u64::from(arm));
            let model = self.0.fit(&design.pair(arm)?, &ctx.with_seed(seed))?;
            held_out = match (held_out, model.held_out()) {
                (Some(mut all), Some([own])) => {
                    // Rows of other arms were not seen by this model at all.
                    let others: Vec<usize> = (0..n).filter(|&i| design.t()[i] != 0 && design.t()[i] != arm).collect();
                    let mut predicted = model.predict(&design.x().select(&others), Want::Everything)?;
                    if predicted.is_empty() {
                        return Err(Error::internal("several arms", "a model predicts no arm"));
                    }
                    all.push(put_together(n, &[(&rows, own), (&others, &predicted.swap_remove(0))]));
                    Some(all)
                }
                _ => None,
            };
            models.push(model);
        }
        Ok(Box::new(ContrastModels::new(models, held_out)?))
    }
}

/// Predictions of some rows and of the rest, in the order of the rows; what one part lacks, the whole lacks.
fn put_together(n: usize, parts: &[(&[usize], &Effects)]) -> Effects {
    let all = |of: &dyn Fn(&Effects) -> Option<&[f64]>| -> Option<Vec<f64>> {
        let mut out = vec![0.0; n];
        for (rows, effects) in parts {
            let values = of(effects).filter(|values| values.len() == rows.len())?;
            rows.iter().zip(values).for_each(|(&i, v)| out[i] = *v);
        }
        Some(out)
    };
    Effects {
        mu0: all(&|e| Some(&e.mu0)).unwrap_or_default(),
        mu1: all(&|e| Some(&e.mu1)).unwrap_or_default(),
        tau: all(&|e| Some(&e.tau)).unwrap_or_default(),
        e: all(&|e| e.e.as_deref()),
        se: all(&|e| e.se.as_deref()),
    }
}

/// One model per treated arm.
#[derive(Debug)]
struct ContrastModels {
    models: Vec<Box<dyn FittedModel>>,
    n_features: usize,
    diagnostics: Diagnostics,
    held_out: Option<Vec<Effects>>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    /// Treated arms.
    n_arms: usize,
}

fn part(k: usize) -> String {
    format!("contrast{k}")
}

impl ContrastModels {
    fn new(models: Vec<Box<dyn FittedModel>>, held_out: Option<Vec<Effects>>) -> Result<Self> {
        let Some(first) = models.first() else { return Err(Error::bad_model("it has no arms")) };
        // The first arm speaks for the fit; warnings of the others are those that it does not have.
        let mut diagnostics = first.diagnostics().clone();
        for model in &models[1..] {
            for warning in &model.diagnostics().warnings {
                if !diagnostics.warnings.contains(warning) {
                    diagnostics.warnings.push(warning.clone());
                }
            }
        }
        Ok(Self { n_features: first.n_features(), diagnostics, held_out, models })
    }
}

impl FittedModel for ContrastModels {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn predict(&self, x: &Features, want: Want) -> Result<Vec<Effects>> {
        let first = |mut arms: Vec<Effects>| -> Result<Effects> {
            if arms.is_empty() { Err(Error::bad_model("it has no arms")) } else { Ok(arms.swap_remove(0)) }
        };
        self.models.iter().map(|model| first(model.predict(x, want)?)).collect()
    }

    fn n_treated_arms(&self) -> usize {
        self.models.len()
    }

    fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved { n_arms: self.models.len() })?;
        for (k, model) in self.models.iter().enumerate() {
            state.nest(&part(k), model.state()?);
        }
        Ok(state)
    }

    fn held_out(&self) -> Option<&[Effects]> {
        self.held_out.as_deref()
    }
}
