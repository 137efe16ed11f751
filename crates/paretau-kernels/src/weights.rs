//! The weighting schemes as one choice: values and derivatives from propensity logits.
//!
//! A batch runs through up to four stages: balancing weight from the logit, Pareto smoothing, tempering `w^gamma`, division by
//! the arm's mean. The backward pass runs them in reverse.

use crate::arm_mean::ArmMean;
use crate::error::{KernelError, check_arms, check_finite, check_len, check_parameter, check_result};
use crate::ess::{ess, ess_by_arm};
use crate::fallback::{TailFit, Tally};
use crate::numeric::{logit as log_odds_of, sigmoid};
use crate::pareto::{HardPareto, TailMap};
use crate::per_arm::{PerArm, Smoother};
use crate::psis::{Psis, TailRule};
use crate::soft_pareto::SoftPareto;
use crate::soft_pareto_options::SoftParetoOptions;

/// Exponents of balancing weights stop here: `exp(300) = 2e130`, whose square and whose sums over any batch are finite. Capped
/// rows have derivative 0 and are counted in [`WeightReport::capped`].
pub const MAX_EXPONENT: f64 = 300.0;

/// How rows are weighted. The balancing weight is `w = 1 + P(t)/P(1-t) exp(-(2t-1) logit)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weighting {
    /// 1 for every row (`tarnet`, `cfr`).
    Uniform,
    /// `1/(2 P(t))` (`cfr`).
    InverseShare,
    /// The balancing weight (`drcfr`).
    Raw,
    /// Divided by the arm's mean (`drcfr-norm`).
    Norm,
    /// With the propensity clamped to `[lo, hi]` first (`drcfr-trunc`; Crump et al. use 0.1 and 0.9).
    Truncated {
        /// Lowest propensity.
        lo: f64,
        /// Highest propensity.
        hi: f64,
    },
    /// 0 where the propensity of the received arm lies outside `[lo, hi]` (`drcfr-ignore`).
    Ignored {
        /// Lowest propensity.
        lo: f64,
        /// Highest propensity.
        hi: f64,
    },
    /// Hard Pareto smoothing by probability weighted moments.
    HardPareto,
    /// Pareto smoothing as `loo` and ArviZ do it (`psw`), pooled over arms. Meant for weights that are fixed before training:
    /// it offers no derivative.
    Psis,
    /// Soft Pareto smoothing (`dpsw`).
    SoftPareto(SoftParetoOptions),
    /// Soft Pareto smoothing, then divided by the arm's mean (`dpsw-norm`).
    SoftParetoNorm(SoftParetoOptions),
}

/// Over which rows a tail is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// All rows of the batch, as in the paper.
    #[default]
    Pooled,
    /// Each arm on its own.
    PerArm,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightReport {
    /// Largest weight.
    pub max: f64,
    /// Effective sample size.
    pub ess: f64,
    /// Effective sample size of arm 0 and of arm 1.
    pub ess_by_arm: [f64; 2],
    /// Outcome of smoothing: first of the batch or of arm 0, second of arm 1 when arms are smoothed apart.
    pub fits: [Option<TailFit>; 2],
    /// k-hat, where [`Weighting::Psis`] computed it.
    pub khat: Option<f64>,
    /// Rows whose exponent was capped at [`MAX_EXPONENT`].
    pub capped: usize,
    /// Rows that [`Weighting::Ignored`] gave weight 0.
    pub ignored: usize,
}

#[derive(Debug, Clone)]
enum Stage {
    None,
    Hard(Box<HardPareto>),
    HardPerArm(Box<PerArm<HardPareto>>),
    Soft(Box<SoftPareto>),
    SoftPerArm(Box<PerArm<SoftPareto>>),
    Psis(Box<Psis>),
}

/// A weighting scheme with its tape. Buffers are kept between calls.
#[derive(Debug, Clone)]
pub struct Weigher {
    weighting: Weighting,
    gamma: f64,
    stage: Stage,
    norm: Option<ArmMean>,
    tally: Tally,
    forwarded: bool,
    /// Balancing weights and their derivatives with respect to the logits.
    raw: Vec<f64>,
    slope: Vec<f64>,
    /// Smoothed weights (before tempering), and a buffer.
    smooth: Vec<f64>,
    work: Vec<f64>,
}

impl Weigher {
    /// Checks the scheme. `gamma` in `[0, 2]` tempers the (smoothed) weights before they are normalised: 1 leaves them, 0
    /// makes every row count alike.
    ///
    /// # Errors
    /// Bounds outside `0 < lo < hi < 1`, `gamma` outside its range, options that [`SoftParetoOptions::check`] refuses.
    pub fn new(weighting: Weighting, pooling: Pooling, gamma: f64) -> Result<Self, KernelError> {
        check_parameter("gamma", gamma, "a number in [0, 2]", |g| (0.0..=2.0).contains(&g))?;
        let stage = match weighting {
            Weighting::Truncated { lo, hi } | Weighting::Ignored { lo, hi } => {
                check_parameter("lo", lo, "a number in (0, hi)", |v| v > 0.0 && v < hi)?;
                check_parameter("hi", hi, "a number in (lo, 1)", |v| v < 1.0)?;
                Stage::None
            }
            Weighting::HardPareto => match pooling {
                Pooling::Pooled => Stage::Hard(Box::default()),
                Pooling::PerArm => {
                    Stage::HardPerArm(Box::new(PerArm::new([HardPareto::default(), HardPareto::default()])))
                }
            },
            Weighting::SoftPareto(options) | Weighting::SoftParetoNorm(options) => {
                let smoother = SoftPareto::new(options)?;
                match pooling {
                    Pooling::Pooled => Stage::Soft(Box::new(smoother)),
                    Pooling::PerArm => Stage::SoftPerArm(Box::new(PerArm::new([smoother.clone(), smoother]))),
                }
            }
            Weighting::Psis => Stage::Psis(Box::default()),
            Weighting::Uniform | Weighting::InverseShare | Weighting::Raw | Weighting::Norm => Stage::None,
        };
        let norm = matches!(weighting, Weighting::Norm | Weighting::SoftParetoNorm(_)).then(ArmMean::default);
        Ok(Self {
            weighting,
            gamma,
            stage,
            norm,
            tally: Tally::default(),
            forwarded: false,
            raw: Vec::new(),
            slope: Vec::new(),
            smooth: Vec::new(),
            work: Vec::new(),
        })
    }

    /// Writes the weights of a batch to `out`. `share` is P(t=1) among the training rows.
    ///
    /// # Shapes
    /// `logits`, `t`, `out`: n; `t` holds 0 and 1.
    ///
    /// # Cost
    /// O(n), with smoothing as [`SoftPareto::forward`].
    ///
    /// # Errors
    /// Empty or non-finite logits, lengths that differ, arms other than 0 and 1, an arm without rows, `share` outside (0, 1).
    pub fn forward(
        &mut self,
        logits: &[f64],
        t: &[u8],
        share: f64,
        out: &mut [f64],
    ) -> Result<WeightReport, KernelError> {
        let n = logits.len();
        self.forwarded = false;
        if n == 0 {
            return Err(KernelError::Empty { what: "logits" });
        }
        check_len("t", n, t.len())?;
        check_len("out", n, out.len())?;
        check_finite("logits", logits)?;
        check_arms(t)?;
        check_parameter("share", share, "a number in (0, 1)", |p| p > 0.0 && p < 1.0)?;
        let (capped, ignored) = self.balance(logits, t, share);

        self.smooth.clear();
        self.smooth.resize(n, 0.0);
        let mut fits = [None, None];
        let mut khat = None;
        match &mut self.stage {
            Stage::None => self.smooth.copy_from_slice(&self.raw),
            Stage::Hard(s) => fits[0] = Some(s.forward(&self.raw, &mut self.smooth)?),
            Stage::Soft(s) => fits[0] = Some(s.forward(&self.raw, &mut self.smooth)?),
            Stage::HardPerArm(s) => fits = s.forward(&self.raw, t, &mut self.smooth)?.map(Some),
            Stage::SoftPerArm(s) => fits = s.forward(&self.raw, t, &mut self.smooth)?.map(Some),
            Stage::Psis(s) => {
                self.work.clear();
                self.work.extend(self.raw.iter().map(|v| v.ln()));
                khat = Some(s.smooth_unnormalised(&self.work, 1.0, TailRule::Loo, &mut self.smooth)?);
                for v in &mut self.smooth {
                    *v = v.exp();
                }
            }
        }
        for fit in fits.iter().flatten() {
            self.tally.record(fit);
        }

        for (o, &v) in out.iter_mut().zip(&self.smooth) {
            // Ignored rows stay at 0 even where 0^0 would be 1.
            *o = if self.gamma == 1.0 || v == 0.0 { v } else { v.powf(self.gamma) };
        }
        if let Some(norm) = &mut self.norm {
            self.work.clear();
            self.work.extend_from_slice(out);
            norm.forward(&self.work, t, out)?;
        }
        check_result("weights", out)?;
        self.forwarded = true;
        Ok(WeightReport {
            max: out.iter().copied().fold(0.0, f64::max),
            ess: ess(out)?,
            ess_by_arm: ess_by_arm(out, t)?,
            fits,
            khat,
            capped,
            ignored,
        })
    }

    /// Balancing weights and slopes from logits; returns the rows capped and ignored.
    fn balance(&mut self, logits: &[f64], t: &[u8], share: f64) -> (usize, usize) {
        self.raw.clear();
        self.slope.clear();
        let (mut capped, mut ignored) = (0, 0);
        let log_odds = log_odds_of(share);
        for (&logit, &a) in logits.iter().zip(t) {
            let sign = if a == 1 { 1.0 } else { -1.0 };
            let mut logit = logit;
            let mut free = 1.0;
            match self.weighting {
                Weighting::Uniform => {
                    self.raw.push(1.0);
                    self.slope.push(0.0);
                    continue;
                }
                Weighting::InverseShare => {
                    self.raw.push(0.5 / if a == 1 { share } else { 1.0 - share });
                    self.slope.push(0.0);
                    continue;
                }
                Weighting::Truncated { lo, hi } => {
                    let clamped = logit.clamp(log_odds_of(lo), log_odds_of(hi));
                    free = if clamped == logit { 1.0 } else { 0.0 };
                    logit = clamped;
                }
                Weighting::Ignored { lo, hi } if !(lo..=hi).contains(&sigmoid(sign * logit)) => {
                    ignored += 1;
                    self.raw.push(0.0);
                    self.slope.push(0.0);
                    continue;
                }
                _ => {}
            }
            let mut exponent = sign * (log_odds - logit);
            if exponent > MAX_EXPONENT {
                exponent = MAX_EXPONENT;
                free = 0.0;
                capped += 1;
            }
            let odds = exponent.exp();
            self.raw.push(1.0 + odds);
            self.slope.push(-sign * odds * free);
        }
        (capped, ignored)
    }

    /// Writes the derivative of `Σ g_i w_i` with respect to the logits to `out`, through every stage of the last forward pass.
    ///
    /// # Shapes
    /// `g`, `out`: n of the last forward pass.
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow, [`Weighting::Psis`].
    pub fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        if !self.forwarded {
            return Err(KernelError::NoForward { what: "weights" });
        }
        let n = self.raw.len();
        check_len("g", n, g.len())?;
        check_len("out", n, out.len())?;
        check_finite("g", g)?;
        self.work.clear();
        self.work.resize(n, 0.0);
        match &self.norm {
            Some(norm) => norm.vjp(g, &mut self.work)?,
            None => self.work.copy_from_slice(g),
        }
        if self.gamma != 1.0 {
            for (d, &v) in self.work.iter_mut().zip(&self.smooth) {
                *d *= if v == 0.0 { 0.0 } else { self.gamma * v.powf(self.gamma - 1.0) };
            }
        }
        match &mut self.stage {
            Stage::None => out.copy_from_slice(&self.work),
            Stage::Hard(s) => s.vjp(&self.work, out)?,
            Stage::Soft(s) => s.vjp(&self.work, out)?,
            Stage::HardPerArm(s) => s.vjp(&self.work, out)?,
            Stage::SoftPerArm(s) => s.vjp(&self.work, out)?,
            Stage::Psis(_) => {
                return Err(KernelError::NotDifferentiable { what: "Psis weighting" });
            }
        }
        for (o, s) in out.iter_mut().zip(&self.slope) {
            *o *= s;
        }
        check_result("weight derivative", out)
    }

    /// The maps for new weights that the last forward pass implies, for arm 0 and arm 1; identities without smoothing (and
    /// for [`Weighting::Psis`], whose weights belong to training rows).
    pub fn tail_maps(&self) -> [TailMap; 2] {
        match &self.stage {
            Stage::None | Stage::Psis(_) => [TailMap::identity(), TailMap::identity()],
            Stage::Hard(s) => [s.tail_map(), s.tail_map()],
            Stage::Soft(s) => [s.tail_map(), s.tail_map()],
            Stage::HardPerArm(s) => [0, 1].map(|a| Smoother::tail_map(&s.arms()[a])),
            Stage::SoftPerArm(s) => [0, 1].map(|a| Smoother::tail_map(&s.arms()[a])),
        }
    }

    /// Batches (or arms of batches) smoothed and left as they are since this value was made. Warn above 5 %.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}
