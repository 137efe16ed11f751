//! Smoothing within each arm instead of pooled over both.

use crate::error::{KernelError, check_arms, check_len};
use crate::fallback::{TailFit, Tally};
use crate::pareto::{HardPareto, TailMap};
use crate::soft_pareto::SoftPareto;

/// A smoother of a batch of weights, with its tape.
pub trait Smoother {
    /// Writes the smoothed `w` to `out`, or a copy where the batch is left as it is.
    ///
    /// # Errors
    /// Weights that are empty, non-finite or not positive, lengths that differ.
    fn forward(&mut self, w: &[f64], out: &mut [f64]) -> Result<TailFit, KernelError>;

    /// Writes the product of `g` with the Jacobian of the last forward pass to `out`.
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow.
    fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError>;

    /// The map for new weights that the last forward pass implies.
    fn tail_map(&self) -> TailMap;

    /// Batches seen and left as they are.
    fn tally(&self) -> Tally;
}

impl Smoother for HardPareto {
    fn forward(&mut self, w: &[f64], out: &mut [f64]) -> Result<TailFit, KernelError> {
        Self::forward(self, w, out)
    }

    fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        Self::vjp(self, g, out)
    }

    fn tail_map(&self) -> TailMap {
        Self::tail_map(self)
    }

    fn tally(&self) -> Tally {
        *Self::tally(self)
    }
}

impl Smoother for SoftPareto {
    fn forward(&mut self, w: &[f64], out: &mut [f64]) -> Result<TailFit, KernelError> {
        Self::forward(self, w, out)
    }

    fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        Self::vjp(self, g, out)
    }

    fn tail_map(&self) -> TailMap {
        Self::tail_map(self)
    }

    fn tally(&self) -> Tally {
        *Self::tally(self)
    }
}

/// One smoother per arm. Buffers are kept between calls.
#[derive(Debug, Clone)]
pub struct PerArm<S> {
    arms: [S; 2],
    rows: [Vec<u32>; 2],
    input: Vec<f64>,
    output: Vec<f64>,
}

impl<S: Smoother> PerArm<S> {
    /// Pairs a smoother for arm 0 with one for arm 1.
    pub fn new(arms: [S; 2]) -> Self {
        Self { arms, rows: [Vec::new(), Vec::new()], input: Vec::new(), output: Vec::new() }
    }

    /// Writes to `out` the weights smoothed within their arm, and returns what became of arm 0 and of arm 1.
    ///
    /// # Shapes
    /// `w`, `t`, `out`: n; `t` holds 0 and 1.
    ///
    /// # Errors
    /// As [`Smoother::forward`]; also arms other than 0 and 1, an arm without rows.
    pub fn forward(&mut self, w: &[f64], t: &[u8], out: &mut [f64]) -> Result<[TailFit; 2], KernelError> {
        for rows in &mut self.rows {
            rows.clear();
        }
        crate::error::check_weights("w", w)?;
        check_len("t", w.len(), t.len())?;
        check_len("out", w.len(), out.len())?;
        check_arms(t)?;
        for (i, &a) in t.iter().enumerate() {
            self.rows[usize::from(a)].push(i as u32);
        }
        let first = self.through(0, w, out, S::forward)?;
        let second = self.through(1, w, out, S::forward)?;
        Ok([first, second])
    }

    /// Writes the product of `g` with the Jacobian of the last forward pass to `out`.
    ///
    /// # Errors
    /// As [`Smoother::vjp`].
    pub fn vjp(&mut self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        let n = self.rows[0].len() + self.rows[1].len();
        if n == 0 {
            return Err(KernelError::NoForward { what: "smoothing per arm" });
        }
        check_len("g", n, g.len())?;
        check_len("out", n, out.len())?;
        crate::error::check_finite("g", g)?;
        self.through(0, g, out, S::vjp)?;
        self.through(1, g, out, S::vjp)
    }

    /// Gathers an arm's rows, applies `pass`, scatters the result.
    fn through<R>(
        &mut self,
        arm: usize,
        from: &[f64],
        to: &mut [f64],
        pass: impl Fn(&mut S, &[f64], &mut [f64]) -> Result<R, KernelError>,
    ) -> Result<R, KernelError> {
        let rows = &self.rows[arm];
        self.input.clear();
        self.input.extend(rows.iter().map(|&i| from[i as usize]));
        self.output.clear();
        self.output.resize(rows.len(), 0.0);
        let result = pass(&mut self.arms[arm], &self.input, &mut self.output)?;
        for (&i, &v) in rows.iter().zip(&self.output) {
            to[i as usize] = v;
        }
        Ok(result)
    }

    /// The smoothers of arm 0 and of arm 1.
    pub fn arms(&self) -> &[S; 2] {
        &self.arms
    }
}
