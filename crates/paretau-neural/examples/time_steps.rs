//! The networks' side of `bench/bench_neural.py`: one measurement per call, its number on stdout (and for whole jobs,
//! the same in processor time).
//!
//! `cargo run --release --example time_steps -- WHAT …` with WHAT one of
//! `step SHAPE SECONDS` (median milliseconds per training step, both phases, and mean milliseconds of processor time), `step-batch-norm SHAPE SECONDS` (the same with batch
//! normalisation), `wide D SECONDS` (without it, with D dense columns),
//! `paper` (seconds of a whole `dpsw` fit with the paper's schedule on its synthetic data), `news` (peak megabytes of a process
//! that fits `dpsw-norm` to News-like data), `predict MEMBERS` (rows a second at 177 columns, outcomes and effects), `predict-all
//! MEMBERS` (propensities too), `tall N` (seconds of a pass over N rows, with everything that a fit does around it).
//! `RAYON_NUM_THREADS` sets the threads.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::time::Instant;

use paretau_core::{Csr, Dense, Design, Features, FitContext, FittedModel, Params, Seed, Toolbox, Want};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::{Pooling, Weighting};
use paretau_neural::ENTRIES;
use paretau_neural::data::{Batch, Batches, Sample};
use paretau_neural::engine::{Activation, Adam, AdamRates, Norm, adam};
use paretau_neural::loss::{Balance, OutcomeLoss, Penalty};
use paretau_neural::model::{Model, Objective, RepNet, RepSpec};

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

/// Milliseconds per step over some seconds: their median, and the mean in processor time.
fn step_time(shape: &Shape, seconds: f64, batch_norm: bool) -> Vec<f64> {
    let n = shape.batch;
    let design = design(n, shape.d, shape.filled);
    let rows: Vec<usize> = (0..n).collect();
    let (sample, _, _) = Sample::<f32>::new(&design, &rows).unwrap();
    // The nets and losses of `dpsw-norm`.
    let spec = RepSpec {
        d: shape.d,
        groups: 3,
        encoder: vec![shape.width; 2],
        representation: shape.width,
        representation_activation: Activation::Linear,
        propensity: Some((vec![shape.width; 2], 0..2)),
        heads: vec![shape.heads; 2],
        head_reads: 1..3,
        balanced: 2,
        activation: Activation::Elu,
        dropout: 0.145,
        norm: if batch_norm { Norm::Batch } else { Norm::None },
    };
    let objective = Objective {
        loss: OutcomeLoss::Squared,
        weighting: Weighting::SoftParetoNorm(SoftParetoOptions::default()),
        pooling: Pooling::Pooled,
        gamma: 1.0,
        penalty: Penalty { balance: Balance::Rbf, strength: 0.1, width: None },
        joint: 0.0,
        targeted: 0.0,
        independence: 0.0,
        instruments: 0.0,
        separation: 0.0,
    };
    let mut model = RepNet::new(spec, objective, &sample, n).unwrap();
    let mut params: Vec<f32> = model.layout().initial(Seed(3));
    let mut grads = vec![0.0; params.len()];
    let mut optimiser = Adam::new(params.len());
    let moves = [model.moves(0), model.moves(1)];
    let mut batches = Batches::new(&sample.t, &rows, n, Seed(1));
    batches.shuffle(0);
    let mut batch = Batch::default();
    let mut times = Vec::new();
    let (start, before) = (Instant::now(), processor());
    let mut step = 0;
    while step < 5 || start.elapsed().as_secs_f64() < seconds {
        let now = Instant::now();
        batches.take(0, step, &mut batch);
        model.begin(&sample, &batch).unwrap();
        for phase in 0..2 {
            model.loss(phase, &sample, (&params, &mut grads), Parallelism::Rayon).unwrap();
            let norm = adam::norm(&grads, &moves[phase], Parallelism::Rayon);
            let rates = AdamRates { rate: 1e-4, l2: 0.01, scale: (10.0 / norm).min(1.0), sgd: false };
            optimiser.step(&mut params, &grads, &moves[phase], (rates, step + 1), Parallelism::Rayon);
            model.absorb(phase, &mut params);
        }
        times.push(now.elapsed().as_secs_f64() * 1e3);
        step += 1;
    }
    let work = (processor() - before) * 1e3 / times.len() as f64;
    times.sort_by(f64::total_cmp);
    vec![times[times.len() / 2], work]
}

fn fit(name: &str, params: &Params, design: &Design, valid_share: f64) -> Box<dyn FittedModel> {
    let entry = ENTRIES.iter().find(|e| e.info().name == name).unwrap();
    let ctx = FitContext { valid_share, ..FitContext::silent(Seed(1)) };
    entry.build(params, &Toolbox { bases: &[&paretau_neural::MlpBase] }).unwrap().fit(design, &ctx).unwrap()
}

/// The paper's synthetic process, d = 15, noise 0.1: training and validation rows of 20 000 (half and a quarter).
fn paper_rows() -> Design {
    let (n, d) = (15_000, 15);
    let mut rng = Seed(7).rng();
    let mut draw = |k: usize| -> Vec<f64> { (0..k).map(|_| rng.normal()).collect() };
    let (ca, c0, c1, x) = (draw(10), draw(10), draw(10), draw(n * d));
    let (mut t, mut y) = (vec![], vec![]);
    for row in x.chunks(d) {
        let score: f64 = ca.iter().zip(&row[..10]).map(|(c, v)| c * (v + 1.0)).sum();
        let treated = rng.bernoulli(1.0 / (1.0 + (-score).exp()));
        let power = |v: f64| if treated { v * v } else { v };
        let c = if treated { &c1 } else { &c0 };
        let mu: f64 = 0.1 * c.iter().zip(&row[5..]).map(|(c, v)| c * power(*v)).sum::<f64>();
        t.push(u8::from(treated));
        y.push(mu + 0.1 * rng.normal());
    }
    Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap()
}

/// Seconds on the clock, and of processor time: on a busy machine only the second says what the work costs.
fn seconds(work: impl FnOnce()) -> [f64; 2] {
    let (start, before) = (Instant::now(), processor());
    work();
    [start.elapsed().as_secs_f64(), processor() - before]
}

/// Processor seconds of the process so far, as Linux counts them in hundredths.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// The process's peak in megabytes, as Linux counts it.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// One net, nothing to choose.
fn one() -> Params {
    Params::none().with("members", 1).with("dropout", 0.0).with("l2", 0.001).with("gamma", 1.0)
}

fn main() {
    // Inside the pool, as everything that the command line and Python do: from outside every product would wait for a thread to
    // wake.
    rayon::scope(|_| measure());
}

fn measure() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| args[k].parse::<f64>().unwrap();
    let answer = match args[0].as_str() {
        what @ ("step" | "step-batch-norm") => {
            step_time(SHAPES.iter().find(|s| s.name == args[1]).unwrap(), number(2), what != "step")
        }
        "wide" => step_time(&shape("wide", (number(1) as usize, 1000), (100, 100), 1.0), number(2), false),
        "paper" => {
            let design = paper_rows();
            let params = Params::none().with("settings", "paper-synthetic").with("members", 1);
            seconds(|| drop(fit("dpsw", &params, &design, 1.0 / 3.0))).to_vec()
        }
        "news" => {
            let design = design(5000, 3477, 0.03);
            drop(fit("dpsw-norm", &Params::none().with("max_steps", 80).with("min_steps", 80), &design, 0.2));
            vec![peak()]
        }
        what @ ("predict" | "predict-all") => {
            let params = one().with("members", number(1)).with("max_steps", 20);
            let model = fit("dpsw-norm", &params, &design(1000, 177, 1.0), 0.2);
            let x = features(100_000, 177, 1.0);
            let ask = || model.predict(&x, if what == "predict" { Want::Outcomes } else { Want::Everything });
            let all = seconds(|| (0..10).for_each(|_| drop(ask().unwrap())));
            all.map(|s| 1e6 / s).to_vec()
        }
        "tall" => {
            let n = number(1) as usize;
            let design = design(n, 15, 1.0);
            let params = one().with("batch", 1000).with("max_steps", n / 1000).with("min_steps", n / 1000);
            seconds(|| drop(fit("dpsw-norm", &params, &design, 0.2))).to_vec()
        }
        other => panic!("no measurement `{other}`"),
    };
    println!("{}", answer.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
}
