//! Propensities: the best of several learners, held out, and calibrated where that is wanted.

use paretau_core::{Design, Error, FitContext, Fold, Regressor, Result, Target};

pub use crate::calibrate::Calibrator;
use crate::crossfit::{CrossFit, CrossTask, HeldOut, cross_fit};
use crate::rows::stage;

/// The best of several cross-fitted propensity models.
#[derive(Debug)]
pub struct PropensityChoice {
    /// The model and its held-out propensities.
    pub fit: CrossFit,
    /// Which learner it is.
    pub index: usize,
    /// Its held-out log-loss, before calibration.
    pub log_loss: f64,
    /// The map that calibrates it, once asked for; held-out propensities are calibrated already.
    pub calibration: Option<Calibrator>,
}

impl PropensityChoice {
    /// Cross-fits each learner and keeps the one with the least held-out log-loss.
    pub fn fit(
        design: &Design,
        learners: &[&dyn Regressor],
        parts: &[Fold],
        held_out: HeldOut,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let ctx = stage(ctx, "propensity")?;
        let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
        let task = CrossTask::of(design, &t, Target::Probability);
        let mut best: Option<Self> = None;
        for (index, learner) in learners.iter().enumerate() {
            let seed = ctx.seed.indexed(index as u64);
            let fit = cross_fit(&task, *learner, parts, held_out, &ctx.with_seed(seed))?;
            let log_loss = log_loss(design, &fit.held_out);
            if best.as_ref().is_none_or(|b| log_loss < b.log_loss) {
                best = Some(Self { fit, index, log_loss, calibration: None });
            }
        }
        best.ok_or_else(|| Error::Numeric { what: "fitting the propensity", message: "no learner was named".into() })
    }

    /// Calibrates by isotonic regression of the treatment on the held-out propensities.
    pub fn calibrate(&mut self, design: &Design) -> Result<()> {
        let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
        let map = Calibrator::fit(&self.fit.held_out, &t, design.weight())?;
        self.fit.held_out.iter_mut().for_each(|p| *p = map.apply(*p));
        self.calibration = Some(map);
        Ok(())
    }
}

/// Weighted mean log-loss of propensities strictly between 0 and 1.
fn log_loss(design: &Design, e: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, e) in e.iter().enumerate() {
        let w = design.weight().map_or(1.0, |w| w[i]);
        sum -= w * if design.t()[i] == 1 { e.ln() } else { (-e).ln_1p() };
        total += w;
    }
    sum / total
}
