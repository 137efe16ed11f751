//! Prints the time of soft rank, and of soft Pareto smoothing, each with its derivative, for growing n, to check scaling:
//! the time per row should hardly grow.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use paretau_kernels::KernelError;
use paretau_kernels::soft_pareto::SoftPareto;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::soft_rank::SoftRank;
use rand::{RngExt, SeedableRng};

fn main() -> Result<(), KernelError> {
    println!("{:>10} {:>8} {:>12} {:>12} {:>10} {:>10}", "n", "eps", "forward ms", "vjp ms", "ns/row", "blocks");
    for n in [5_000, 100_000, 1_000_000, 10_000_000] {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        // Sums of uniforms: close to normal, without a dependency.
        let logits: Vec<f64> =
            (0..n).map(|_| 2.0 * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0)).collect();
        let w: Vec<f64> = logits.iter().map(|l| 1.0 + (-l).exp()).collect();
        let (mut r, mut d) = (vec![0.0; n], vec![0.0; n]);
        for eps in [1.0 / n as f64, 0.1] {
            let mut tape = SoftRank::default();
            let (mut forward, mut backward) = (f64::INFINITY, f64::INFINITY);
            // The best of several: other programs share the machine.
            for _ in 0..(20_000_000 / n).clamp(3, 200) {
                let start = Instant::now();
                tape.forward(&w, eps, &mut r)?;
                forward = forward.min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                tape.vjp(&logits, &mut d)?;
                backward = backward.min(start.elapsed().as_secs_f64());
            }
            println!(
                "{n:>10} {eps:>8.1e} {:>12.3} {:>12.3} {:>10.1} {:>10}",
                forward * 1e3,
                backward * 1e3,
                (forward + backward) * 1e9 / n as f64,
                tape.n_blocks()
            );
        }
        let mut smoother = SoftPareto::new(SoftParetoOptions::default())?;
        let mut best = f64::INFINITY;
        for _ in 0..(20_000_000 / n).clamp(3, 200) {
            let start = Instant::now();
            smoother.forward(&w, &mut r)?;
            smoother.vjp(&logits, &mut d)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{n:>10} soft Pareto smoothing and derivative: {:.3} ms", best * 1e3);
    }
    Ok(())
}
