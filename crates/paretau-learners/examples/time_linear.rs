//! Times of ridge and logistic regression on shapes of the benchmark sets: `cargo run --release --example time_linear`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use paretau_core::{Csr, Dense, Features, Seed};
use paretau_learners::{Logistic, LogisticOptions, LogisticTask, Ridge, RidgeOptions, RidgeTask};

fn main() {
    let mut rng = Seed(1).rng();
    for (name, n, d, share) in
        [("dense", 2000, 2, 1.0), ("dense", 3000, 177, 1.0), ("sparse", 3000, 3477, 0.03), ("sparse", 8000, 1500, 0.03)]
    {
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for _ in 0..n {
            for j in 0..d {
                if share >= 1.0 || rng.bernoulli(share) {
                    indices.push(j as u32);
                    values.push(rng.normal() + if share < 1.0 { 2.0 } else { 0.0 });
                }
            }
            indptr.push(indices.len());
        }
        let x = if share < 1.0 {
            Features::Sparse(Csr::new(n, d, indptr, indices, values).unwrap())
        } else {
            Features::Dense(Dense::new(n, d, values).unwrap())
        };
        let mut row = vec![0.0; d];
        let mut signal = Vec::with_capacity(n);
        for i in 0..n {
            x.copy_row(i, &mut row);
            signal.push(row[0] - row[1] + row[d / 2]);
        }
        let y: Vec<f64> = signal.iter().map(|s| s + rng.normal()).collect();
        let t: Vec<f64> = signal.iter().map(|s| f64::from(u8::from(s + rng.normal() > 0.0))).collect();
        let start = Instant::now();
        let task = RidgeTask { x: &x, y: &y, free: Some(&t), weight: None, groups: None };
        let ridge = Ridge::fit(&task, &RidgeOptions::default(), Seed(0)).unwrap();
        println!("{name} {n} x {d}: ridge {:.3} s, r2 {:.3}", start.elapsed().as_secs_f64(), ridge.r2.unwrap());
        let start = Instant::now();
        let task = LogisticTask { x: &x, y: &t, weight: None, groups: None };
        let logistic = Logistic::fit(&task, &LogisticOptions::default(), Seed(0)).unwrap();
        println!(
            "{name} {n} x {d}: logistic {:.3} s, penalty {:.4}, log-loss {:.3}",
            start.elapsed().as_secs_f64(),
            logistic.penalty,
            logistic.log_loss.unwrap()
        );
    }
}
