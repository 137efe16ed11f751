//! Options of soft Pareto smoothing, and what their units mean.

use crate::error::{KernelError, check_parameter};

/// Scale-free `kappa = 1` lets the step rise over about `M/10` ranks to either side of its centre: `s` goes from 0.27 to 0.73
/// over a fifth of the tail, on hard ranks `M~` differs from `M` by less than 1e-4 of it, and gradients still reach the tail's edge.
pub const STEPS_PER_TAIL: f64 = 10.0;

/// The units of `eps` and `kappa`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    /// Ranks of the weights themselves with `eps` as it is, step with `kappa` as it is, positions `(n-r)/(M~-1)` unclamped:
    /// the paper's form, whose meaning drifts with the scale of the weights and with n.
    Raw,
    /// Ranks of the standardised log-weights `z = (log w - mean)/sd` with strength `eps/n`, step with `10 kappa/M`
    /// ([`STEPS_PER_TAIL`]), positions clamped to `[0, 1]`.
    ///
    /// A pooled block's rank grows by `n/eps` per unit of `z`; hard ranks grow by `n f(z)`, `f` the density of `z` (at most
    /// 0.4 for a normal one). So `eps` compares with `1/f`, a pure number, whatever n and the scale of the weights: `eps = 1`
    /// pools neighbours that happen to lie close, `eps` above 2.5 would melt the middle of a normal batch to one line, and
    /// the strength per row gap is the same at every n.
    #[default]
    ScaleFree,
}

/// Where the step is centred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Center {
    /// `n - M + 1/2`, between the tail and the rest: converges to hard smoothing.
    #[default]
    Half,
    /// `n - M + 1`, as in the paper: the smallest tail weight keeps step 1/2 however large `kappa` is.
    Paper,
}

/// What to do about a fitted scale below 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NegativeScale {
    /// Leave the weights as they are, and count it.
    #[default]
    FallBack,
    /// Use its absolute value, as the paper's code does.
    Abs,
}

/// Options of soft Pareto smoothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftParetoOptions {
    /// Strength of rank pooling, `[1e-200, 1e200]`; default 1.
    pub eps: f64,
    /// Steepness of the step, `[1e-200, 1e200]`; default 1.
    pub kappa: f64,
    /// Units of `eps` and `kappa`.
    pub units: Units,
    /// Centre of the step.
    pub center: Center,
    /// What to do about a negative scale.
    pub negative_scale: NegativeScale,
}

impl Default for SoftParetoOptions {
    fn default() -> Self {
        Self {
            eps: 1.0,
            kappa: 1.0,
            units: Units::ScaleFree,
            center: Center::Half,
            negative_scale: NegativeScale::FallBack,
        }
    }
}

impl SoftParetoOptions {
    /// The paper's form: raw units, centre `n - M + 1`, absolute value of a negative scale.
    pub fn paper(eps: f64, kappa: f64) -> Self {
        Self { eps, kappa, units: Units::Raw, center: Center::Paper, negative_scale: NegativeScale::Abs }
    }

    /// Refuses `eps` and `kappa` outside their range.
    ///
    /// # Errors
    /// The parameter and its value.
    pub fn check(&self) -> Result<(), KernelError> {
        let range = |v| (1e-200..=1e200).contains(&v);
        check_parameter("eps", self.eps, "a number in [1e-200, 1e200]", range)?;
        check_parameter("kappa", self.kappa, "a number in [1e-200, 1e200]", range)
    }
}

impl SoftParetoOptions {
    /// `(n - r)/(M~ - 1)` and whether its derivative flows.
    #[inline]
    pub(crate) fn position(&self, r: f64, n: f64, soft_m: f64) -> (f64, bool) {
        let position = (n - r) / (soft_m - 1.0);
        match self.units {
            Units::ScaleFree if position > 1.0 => (1.0, false),
            _ => (position, true),
        }
    }
}
