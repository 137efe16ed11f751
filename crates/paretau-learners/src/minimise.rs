//! Limited-memory BFGS with backtracking, for smooth convex functions of many variables.

use std::collections::VecDeque;

use paretau_core::Result;
use paretau_kernels::numeric::dot;

use crate::logistic::Watch;

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;

/// A function with its gradient.
pub(crate) trait Smooth {
    /// The value at `theta`; the gradient goes into `gradient`.
    fn value(&self, theta: &[f64], gradient: &mut [f64]) -> f64;
}

/// Moves `theta` to a minimum: the largest entry of the gradient below `tolerance`, no more progress in floating
/// point, or `max_steps` steps.
pub(crate) fn lbfgs(
    f: &impl Smooth,
    theta: &mut Vec<f64>,
    tolerance: f64,
    max_steps: usize,
    watch: Watch<'_>,
) -> Result<()> {
    let n = theta.len();
    let mut gradient = vec![0.0; n];
    let mut value = f.value(theta, &mut gradient);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::with_capacity(MEMORY);
    for _ in 0..max_steps {
        watch()?;
        if gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs())) <= tolerance {
            return Ok(());
        }
        let mut direction = two_loops(&gradient, &memory);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding spoiled the curvature pairs: start over from steepest descent.
            memory.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut step = if memory.is_empty() { 1.0 / (-slope).sqrt().max(1.0) } else { 1.0 };
        let mut next_gradient = vec![0.0; n];
        let moved = loop {
            let next: Vec<f64> = theta.iter().zip(&direction).map(|(t, d)| t + step * d).collect();
            let next_value = f.value(&next, &mut next_gradient);
            if next_value <= value + 1e-4 * step * slope {
                break Some((next, next_value));
            }
            step *= 0.5;
            if step < 1e-12 {
                break None;
            }
        };
        let Some((next, next_value)) = moved else { return Ok(()) };
        let s: Vec<f64> = next.iter().zip(theta.iter()).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > 1e-14 * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back((s, y, sy));
        }
        *theta = next;
        gradient = next_gradient;
        value = next_value;
    }
    Ok(())
}

/// Minus the inverse Hessian (as the memory knows it) times the gradient.
fn two_loops(gradient: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut alphas = Vec::with_capacity(memory.len());
    for (s, y, sy) in memory.iter().rev() {
        let alpha = dot(s, &q) / sy;
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * y);
        alphas.push(alpha);
    }
    if let Some((_, y, sy)) = memory.back() {
        let scale = sy / dot(y, y);
        q.iter_mut().for_each(|v| *v *= scale);
    }
    for ((s, y, sy), alpha) in memory.iter().zip(alphas.iter().rev()) {
        let beta = dot(y, &q) / sy;
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (alpha - beta) * s);
    }
    q
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Valley;

    impl Smooth for Valley {
        fn value(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
            let mut sum = 0.0;
            for (k, (t, g)) in theta.iter().zip(gradient).enumerate() {
                let c = 10_f64.powi(k as i32);
                sum += 0.5 * c * (t - 1.0).powi(2);
                *g = c * (t - 1.0);
            }
            sum
        }
    }

    #[test]
    fn finds_the_bottom_of_a_stretched_bowl() {
        let mut theta = vec![0.0, 5.0, -3.0, 2.0];
        lbfgs(&Valley, &mut theta, 1e-9, 200, &|| Ok(())).unwrap();
        assert!(theta.iter().all(|t| (t - 1.0).abs() < 1e-8), "{theta:?}");
    }
}
