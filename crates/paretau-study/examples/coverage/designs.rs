//! Processes whose true effects are known, from a trial to what no method can answer.

use paretau::Rng;
use paretau_kernels::numeric::sigmoid;

/// What outcomes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Normal with variance 1.
    Normal,
    /// Student's with 2.5 degrees of freedom: the variance is finite, the fourth moment is not.
    Heavy,
    /// 0 or 1 with the expected outcome as its probability.
    YesNo,
}

/// One row's expectations.
pub(crate) struct Row {
    pub(crate) x: Vec<f64>,
    pub(crate) e: f64,
    pub(crate) mu0: f64,
    pub(crate) tau: f64,
}

/// A process.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub(crate) name: &'static str,
    /// What is hard about it.
    pub(crate) about: &'static str,
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) noise: Noise,
    pub(crate) draw: fn(&mut Rng, usize) -> Row,
}

fn normals(rng: &mut Rng, d: usize) -> Vec<f64> {
    (0..d).map(|_| rng.normal()).collect()
}

fn uniforms(rng: &mut Rng, d: usize) -> Vec<f64> {
    (0..d).map(|_| rng.uniform()).collect()
}

fn trial(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: 0.5, mu0: x[0] + x[1].max(0.0), tau: 1.0 + x[0], x }
}

fn moderate(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(0.7 * x[0] - 0.5 * x[1]), mu0: 2.0 * x[0] + x[2] * x[2], tau: 1.0 + x[1].max(0.0), x }
}

fn poor(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(1.8 * x[0] + x[1]), mu0: 2.0 * x[0] + x[2], tau: 1.0 + 0.5 * x[1], x }
}

fn hopeless(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(6.0 * x[0] + 3.0 * x[1]), mu0: 2.0 * x[0] * x[0] + x[1], tau: 1.0 + x[0], x }
}

/// Nie and Wager, setup A: hard outcomes, an easy effect.
fn nie_wager_a(rng: &mut Rng, d: usize) -> Row {
    let x = uniforms(rng, d);
    let wave = (std::f64::consts::PI * x[0] * x[1]).sin();
    let mean = wave + 2.0 * (x[2] - 0.5).powi(2) + x[3] + 0.5 * x[4];
    let (e, tau) = (wave.clamp(0.1, 0.9), f64::midpoint(x[0], x[1]));
    Row { e, mu0: mean - e * tau, tau, x }
}

/// Setup B: a trial.
fn nie_wager_b(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    let mean = (x[0] + x[1]).max(x[2]).max(0.0) + (x[3] + x[4]).max(0.0);
    let tau = x[0] + x[1].exp().ln_1p();
    Row { e: 0.5, mu0: mean - 0.5 * tau, tau, x }
}

/// Setup C: an easy propensity, a constant effect.
fn nie_wager_c(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    let mean = 2.0 * (x[0] + x[1] + x[2]).exp().ln_1p();
    let e = sigmoid(-(x[1] + x[2]));
    Row { e, mu0: mean - e, tau: 1.0, x }
}

/// Setup D: the arms have nothing in common.
fn nie_wager_d(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    let (up, down) = ((x[0] + x[1] + x[2]).max(0.0), (x[3] + x[4]).max(0.0));
    let e = sigmoid(x[0] + x[1]);
    let tau = up - down;
    Row { e, mu0: f64::midpoint(up, down) - e * tau, tau, x }
}

fn yes_no(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    let mu0 = sigmoid(-0.5 + x[0]);
    Row { e: sigmoid(0.8 * x[0] - 0.4 * x[1]), mu0, tau: sigmoid(-0.5 + x[0] + 0.6 + 0.5 * x[1]) - mu0, x }
}

fn null(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(0.6 * x[0]), mu0: x[0] + x[1] * x[1], tau: 0.0, x }
}

fn wide(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    let index: f64 = x[..5].iter().sum();
    Row { e: sigmoid(0.4 * index), mu0: index, tau: 1.0 + x[5], x }
}

fn short(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(0.5 * x[0] + 0.5 * x[1]), mu0: x[0] + x[1], tau: 1.0, x }
}

fn rare(rng: &mut Rng, d: usize) -> Row {
    let x = normals(rng, d);
    Row { e: sigmoid(-4.1 + 0.5 * x[0]), mu0: x[0] + x[1], tau: 1.0 + 0.5 * x[1], x }
}

/// All of them.
pub(crate) const PROCESSES: &[Process] = &[
    Process { name: "trial", about: "a randomised trial", n: 1000, d: 6, noise: Noise::Normal, draw: trial },
    Process {
        name: "moderate",
        about: "confounded, fair overlap",
        n: 1000,
        d: 6,
        noise: Noise::Normal,
        draw: moderate,
    },
    Process { name: "poor", about: "confounded, poor overlap", n: 1000, d: 6, noise: Noise::Normal, draw: poor },
    Process {
        name: "hopeless",
        about: "arms that hardly overlap",
        n: 1000,
        d: 6,
        noise: Noise::Normal,
        draw: hopeless,
    },
    Process { name: "nie-wager-1", about: "hard outcomes", n: 1000, d: 6, noise: Noise::Normal, draw: nie_wager_a },
    Process { name: "nie-wager-2", about: "a trial, kinks", n: 1000, d: 6, noise: Noise::Normal, draw: nie_wager_b },
    Process { name: "nie-wager-3", about: "constant effect", n: 1000, d: 6, noise: Noise::Normal, draw: nie_wager_c },
    Process { name: "nie-wager-4", about: "unrelated arms", n: 1000, d: 6, noise: Noise::Normal, draw: nie_wager_d },
    Process {
        name: "heavy-tails",
        about: "outcomes without fourth moment",
        n: 1000,
        d: 6,
        noise: Noise::Heavy,
        draw: moderate,
    },
    Process { name: "yes-no", about: "a yes/no outcome", n: 1000, d: 6, noise: Noise::YesNo, draw: yes_no },
    Process { name: "null", about: "no effect at all", n: 1000, d: 6, noise: Noise::Normal, draw: null },
    Process { name: "wide", about: "200 features", n: 1000, d: 200, noise: Noise::Normal, draw: wide },
    Process { name: "short", about: "200 rows, 60 features", n: 200, d: 60, noise: Noise::Normal, draw: short },
    Process { name: "rare", about: "2 % treated", n: 1500, d: 6, noise: Noise::Normal, draw: rare },
];

/// A draw of the noise.
pub(crate) fn outcome(rng: &mut Rng, noise: Noise, mean: f64) -> f64 {
    match noise {
        Noise::Normal => mean + rng.normal(),
        Noise::Heavy => {
            // Student's t as a normal over the root of a chi-square per degree: 2.5 degrees are a gamma of shape 1.25, drawn as
            // an exponential plus a gamma of shape 1/4 by Johnk's rule.
            let exponential = -rng.uniform().max(1e-300).ln();
            let (a, b) = loop {
                let (u, v) = (rng.uniform().max(1e-300).powf(4.0), rng.uniform().max(1e-300).powf(4.0 / 3.0));
                if u + v <= 1.0 && u + v > 0.0 {
                    break (u, v);
                }
            };
            let quarter = -rng.uniform().max(1e-300).ln() * a / (a + b);
            mean + rng.normal() / ((exponential + quarter) / 1.25).sqrt()
        }
        Noise::YesNo => f64::from(u8::from(rng.bernoulli(mean))),
    }
}
