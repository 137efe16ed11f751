//! Refits of the whole estimator on halves of the rows: how far its predictions would move with other rows.
//!
//! Rows are split in two at random, arms in proportion and groups whole; each half is fitted and predicts the rows of the
//! other. A row's predictions over many splits vary as much as those of a fit on all rows would over fresh data: a half drawn
//! without replacement has twice the variance of the whole, and half of that is shared by all halves.

use paretau_core::{Design, Effects, Error, Estimator, Event, FitContext, Fold, Observer, Result, Want, folds};
use rayon::prelude::*;

/// Fewest refits that say anything about a variance.
pub(crate) const FEWEST: usize = 10;
/// Splits that are fitted at a time, so that memory stays within bounds.
const AT_A_TIME: usize = 4;

/// Held-out predictions over half-samples, for one treated arm.
#[derive(Debug, Clone)]
pub(crate) struct Replicates {
    /// Mean prediction of each row by fits that did not see it.
    pub(crate) tau: Vec<f64>,
    /// Variance of these predictions.
    pub(crate) variance: Vec<f64>,
}

impl Replicates {
    /// Those of some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self { tau: pick(&self.tau), variance: pick(&self.variance) }
    }
}

/// Rows that a fit did not see, with what it predicts for them per treated arm.
type Held = (Vec<usize>, Vec<Effects>);

/// Hears nothing of the refits' own progress, but of interruptions.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn event(&self, _: &Event) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// Refits on half-samples, `n_fits` of them rounded up to an even number; one result per treated arm.
pub(crate) fn replicate(
    estimator: &dyn Estimator,
    design: &Design,
    n_fits: usize,
    ctx: &FitContext<'_>,
) -> Result<Vec<Replicates>> {
    if n_fits < FEWEST {
        return Err(Error::BadParameter {
            owner: "fit".to_owned(),
            name: "intervals".to_owned(),
            value: n_fits.to_string(),
            expected: format!("a number of refits of at least {FEWEST}, e.g. 40"),
        });
    }
    let (n, n_splits) = (design.n_rows(), n_fits.div_ceil(2));
    let (seeds, quiet) = (ctx.seed.named("half-samples"), Quiet(ctx.observer));
    ctx.event(&Event::Stage { name: "refitting on half-samples".to_owned(), total: Some(n_splits as u64) });
    let mut moments: Vec<Moments> = (1..design.n_arms()).map(|_| Moments::new(n)).collect();
    let all: Vec<u64> = (0..n_splits as u64).collect();
    for (round, splits) in all.chunks(AT_A_TIME).enumerate() {
        ctx.check_interrupt()?;
        let fitted: Vec<Result<Vec<Held>>> = splits
            .par_iter()
            .map(|&k| {
                let seed = seeds.indexed(k);
                let halves = folds(design.t(), design.groups(), 2, seed)?;
                let half = |(h, Fold { train, held_out }): (usize, Fold)| -> Result<_> {
                    let inner = FitContext {
                        seed: seed.named("fit").indexed(h as u64),
                        observer: &quiet,
                        valid_share: ctx.valid_share,
                        checkpoint: None,
                    };
                    let model = estimator.fit(&design.select(&train)?, &inner)?;
                    let effects = model.predict(&design.x().select(&held_out), Want::Effect)?;
                    Ok((held_out, effects))
                };
                halves.into_iter().enumerate().map(half).collect()
            })
            .collect();
        for split in fitted {
            for (rows, effects) in split? {
                for (moments, effects) in moments.iter_mut().zip(&effects) {
                    moments.add(&rows, &effects.tau)?;
                }
            }
        }
        ctx.event(&Event::Progress { done: (round * AT_A_TIME + splits.len()) as u64 });
    }
    Ok(moments.into_iter().map(Moments::finish).collect())
}

/// Running means and sums of squared deviations.
struct Moments {
    count: Vec<f64>,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn new(n: usize) -> Self {
        Self { count: vec![0.0; n], mean: vec![0.0; n], squares: vec![0.0; n] }
    }

    fn add(&mut self, rows: &[usize], tau: &[f64]) -> Result<()> {
        for (&i, &tau) in rows.iter().zip(tau) {
            if !tau.is_finite() {
                return Err(Error::Numeric {
                    what: "an interval",
                    message: "a fit on half of the rows gives an effect that is not finite; fit without `--intervals`"
                        .into(),
                });
            }
            self.count[i] += 1.0;
            let step = tau - self.mean[i];
            self.mean[i] += step / self.count[i];
            self.squares[i] += step * (tau - self.mean[i]);
        }
        Ok(())
    }

    fn finish(self) -> Replicates {
        let variance = self.squares.iter().zip(&self.count).map(|(s, c)| s / (c - 1.0).max(1.0)).collect();
        Replicates { tau: self.mean, variance }
    }
}
