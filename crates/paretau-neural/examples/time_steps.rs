//! Milliseconds a training step (propensity phase and outcome phase) for the shapes of the benchmark, and prediction speed.
//!
//! `cargo run --release --example time_steps [SHAPE …]`; `RAYON_NUM_THREADS` sets the threads.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::time::Instant;

use paretau_core::{Csr, Dense, Design, Features, FitContext, Params, Seed, Toolbox};
use paretau_kernels::parallel::Parallelism;
use paretau_neural::config::NetConfig;
use paretau_neural::data::{Batch, Batches, Sample};
use paretau_neural::engine::{Adam, AdamRates, adam};
use paretau_neural::model::{Model, RepNet};
use paretau_neural::{Choice, ENTRIES, Size};

struct Shape {
    name: &'static str,
    d: usize,
    batch: usize,
    width: usize,
    heads: usize,
    filled: f64,
}

const fn shape(name: &'static str, (d, batch): (usize, usize), (width, heads): (usize, usize), filled: f64) -> Shape {
    Shape { name, d, batch, width, heads, filled }
}

const SHAPES: &[Shape] = &[
    shape("news", (3477, 1000), (100, 100), 0.03),
    shape("acic-1000", (177, 1000), (100, 100), 1.0),
    shape("acic-5000", (177, 5000), (100, 100), 1.0),
    shape("synthetic", (15, 5000), (3, 100), 1.0),
    shape("default-128", (25, 128), (64, 64), 1.0),
];

fn features(n: usize, d: usize, filled: f64) -> Features {
    let mut rng = Seed(1).rng();
    if filled >= 1.0 {
        return Features::Dense(Dense::new(n, d, (0..n * d).map(|_| rng.normal()).collect()).unwrap());
    }
    let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for _ in 0..n {
        for j in 0..d {
            if rng.bernoulli(filled) {
                indices.push(j as u32);
                values.push((1 + rng.below(4)) as f64);
            }
        }
        indptr.push(indices.len());
    }
    Features::Sparse(Csr::new(n, d, indptr, indices, values).unwrap())
}

fn design(n: usize, d: usize, filled: f64) -> Design {
    let x = features(n, d, filled);
    let mut rng = Seed(2).rng();
    let mut row = vec![0.0; d];
    let (mut t, mut y) = (vec![], vec![]);
    for i in 0..n {
        x.copy_row(i, &mut row);
        t.push(u8::from(rng.bernoulli(1.0 / (1.0 + (-row[0]).exp()))));
        y.push(row[1] + f64::from(t[i]) * row[2] + rng.normal());
    }
    Design::new(x, t, y).unwrap()
}

fn time(shape: &Shape) -> (f64, f64) {
    let n = shape.batch;
    let design = design(n, shape.d, shape.filled);
    let rows: Vec<usize> = (0..n).collect();
    let (sample, _, _) = Sample::<f32>::new(&design, &rows).unwrap();
    let config = NetConfig {
        encoder: Some(vec![shape.width; 2]),
        representation: Some(shape.width),
        propensity: Some(vec![shape.width; 2]),
        heads: Some(vec![shape.heads; 2]),
        ..NetConfig::default()
    };
    let size = Size { n, d: shape.d, outcome: design.outcome() };
    let choice = Choice { dropout: 0.145, l2: 0.01, gamma: 1.0 };
    let mut model = RepNet::new(config.spec(size, choice), config.objective(size, choice), &sample, n).unwrap();
    let mut params: Vec<f32> = model.layout().initial(Seed(3));
    let mut grads = vec![0.0; params.len()];
    let mut optimiser = Adam::new(params.len());
    let moves = [model.moves(0), model.moves(1)];
    let mut batches = Batches::new(&sample.t, &rows, n, Seed(1));
    batches.shuffle(0);
    let mut batch = Batch::default();
    let mut times = Vec::new();
    let start = Instant::now();
    let mut step = 0;
    while step < 5 || start.elapsed().as_secs_f64() < 3.0 {
        let now = Instant::now();
        batches.take(0, step, &mut batch);
        model.begin(&sample, &batch).unwrap();
        for phase in 0..2 {
            model.loss(phase, &sample, (&params, &mut grads), Parallelism::Rayon).unwrap();
            let norm = adam::norm(&grads, &moves[phase]);
            let rates = AdamRates { rate: 1e-4, l2: 0.01, scale: (10.0 / norm).min(1.0), sgd: false };
            optimiser.step(&mut params, &grads, &moves[phase], (rates, step + 1), Parallelism::Rayon);
        }
        times.push(now.elapsed().as_secs_f64() * 1e3);
        step += 1;
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("threads: {}\n| shape | ms a step (median) | fastest |\n|---|---|---|", rayon::current_num_threads());
    for shape in SHAPES.iter().filter(|s| wanted.is_empty() || wanted.iter().any(|w| s.name.starts_with(w.as_str()))) {
        let (median, fastest) = time(shape);
        println!(
            "| {} (d={}, B={}, width {}) | {median:.2} | {fastest:.2} |",
            shape.name, shape.d, shape.batch, shape.width
        );
    }
    if wanted.is_empty() || wanted.iter().any(|w| w == "predict") {
        let entry = ENTRIES.iter().find(|e| e.info().name == "dpsw-norm").unwrap();
        let params = Params::none().with("members", 1).with("max_steps", 20).with("dropout", 0.0).with("gamma", 1.0);
        let model = entry
            .build(&params, &Toolbox { bases: &[&paretau_neural::MlpBase] })
            .unwrap()
            .fit(&design(1000, 177, 1.0), &FitContext::silent(Seed(1)))
            .unwrap();
        let x = features(50_000, 177, 1.0);
        let start = Instant::now();
        let effects = model.effects(&x).unwrap();
        println!("prediction: {:.0} rows/s", effects.len() as f64 / start.elapsed().as_secs_f64());
    }
}
