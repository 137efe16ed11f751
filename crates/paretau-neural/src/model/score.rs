//! Scores of a representation net on held-out rows.

use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;

use super::Scores;
use super::nets::columns;
use super::repnet::RepNet;
use crate::data::Sample;
use crate::engine::{Input, Mode};
use crate::loss::outcome::logistic;

impl<T: Real> RepNet<T> {
    /// Factual loss of the heads and cross-entropy of the propensity net, without dropout.
    pub(super) fn score(
        &mut self,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<Scores, KernelError> {
        let (mut factual, mut mass) = (0.0, 0.0);
        let (mut entropy, mut propensity_rows) = (0.0, 0.0);
        let width = self.width();
        let capacity = self.capacity();
        // Rows of one arm at a time, in pieces that fit the buffers.
        for arm in 0..2_u8 {
            let mut pending = rows.iter().copied().filter(|&i| sample.t[i] == arm).peekable();
            while pending.peek().is_some() {
                self.picked.clear();
                self.picked.extend(pending.by_ref().take(capacity));
                let n = self.picked.len();
                sample.table.gather(&self.picked, &mut self.rows);
                let input = self.rows.input(&sample.table)?;
                self.nets.encoders.forward(params, input, (n, Mode::Evaluation), &mut self.encoded, parallelism)?;
                let z = self.encoded.output();
                let head = usize::from(arm);
                let input = Input::Dense(columns(z, width, 0..n, &self.spec.head_reads)?);
                self.nets.heads[head].forward(
                    params,
                    input,
                    (n, Mode::Evaluation),
                    &mut self.answered[head],
                    parallelism,
                )?;
                for (&i, &h) in self.picked.iter().zip(self.answered[head].output()) {
                    let s = sample.weight[i].to_f64() * sample.fixed.as_ref().map_or(1.0, |w| w[i].to_f64());
                    factual += s * self.objective.loss.at(h, sample.y[i]).0.to_f64();
                    mass += s;
                }
                if let (Some(net), Some(work), Some((_, reads))) =
                    (&self.nets.propensity, &mut self.propensity_work, &self.spec.propensity)
                {
                    let input = Input::Dense(columns(z, width, 0..n, reads)?);
                    net.forward(params, input, (n, Mode::Evaluation), work, parallelism)?;
                    let label = if arm == 1 { T::ONE } else { T::ZERO };
                    for (&i, &logit) in self.picked.iter().zip(work.output()) {
                        let s = sample.weight[i].to_f64();
                        entropy += s * logistic(logit, label).0.to_f64();
                        propensity_rows += s;
                    }
                }
            }
        }
        self.stale();
        let mut scores = Scores { objective: factual / f64::max(mass, 1e-300), ..Scores::default() };
        scores.values.insert("valid_factual".to_owned(), scores.objective);
        if propensity_rows > 0.0 {
            scores.values.insert("valid_cross_entropy".to_owned(), entropy / propensity_rows);
            if self.objective.joint > 0.0 {
                scores.objective += self.objective.joint * entropy / propensity_rows;
            }
        }
        Ok(scores)
    }
}
