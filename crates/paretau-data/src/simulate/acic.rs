//! Data like those of the ACIC challenges: many mixed covariates, of which few matter, other ones for the treatment
//! than for the outcome.
//!
//! Covariates follow a Gaussian copula with eight common factors; by thirds they are yes/no (prevalence 5 to 95 %),
//! counts (rounded-down skewed amounts) and continuous (every fourth skewed). Of `relevant` features for each part,
//! instruments drive the treatment, adjusters the outcome, and confounders both, through linear terms, squares, steps
//! and products of standardised features. The effect has its own few features, or is constant.

use paretau_core::{ParamKind, ParamSpec, Result, Rng, Seed};
use paretau_kernels::numeric::mean_sd;
use serde::{Deserialize, Serialize};

use super::outcome::{Rows, Simulated};
use super::{Simulator, bad, configure, defaults, sigmoid};

/// Parameters of the ACIC-like process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcicConfig {
    /// Rows.
    pub n: usize,
    /// Covariates.
    pub d: usize,
    /// Standard deviation of the outcome's noise.
    pub noise: f64,
    /// Number of instruments, of confounders and of adjusters.
    pub relevant: usize,
    /// Standard deviation of the effect; 0 for a constant effect.
    pub heterogeneity: f64,
    /// Standard deviation of the treatment's log odds.
    pub confounding: f64,
    /// Seed of the process; derived from the main seed when not given.
    pub coefficient_seed: Option<u64>,
}

impl Default for AcicConfig {
    fn default() -> Self {
        Self { n: 5_000, d: 177, noise: 1.0, relevant: 6, heterogeneity: 1.0, confounding: 1.5, coefficient_seed: None }
    }
}

const PARAMS: &[ParamSpec] = &[
    super::N,
    super::D,
    super::NOISE,
    ParamSpec::new(
        "relevant",
        ParamKind::Int { min: 1, max: 10_000 },
        "Number of instruments, of confounders and of adjusters; d must be at least three times as large.",
    ),
    ParamSpec::new(
        "heterogeneity",
        ParamKind::Float { min: 0.0, max: 1e6 },
        "Standard deviation of the effect, about; 0 makes it constant.",
    ),
    ParamSpec::new(
        "confounding",
        ParamKind::Float { min: 0.0, max: 20.0 },
        "Standard deviation of the treatment's log odds, about; 0 is a trial.",
    ),
    super::COEFFICIENT_SEED,
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "acic",
    summary: "177 yes/no, count and continuous covariates, few of which matter, as in the ACIC challenges",
    reference: "in the manner of Dorie et al. 2019 and Shimoni et al. 2018",
    params: PARAMS,
    defaults: defaults::<AcicConfig>,
    feature_thirds: false,
    run: |params, seed| acic(&configure("acic", PARAMS, params)?, seed),
};

const FACTORS: usize = 8;

/// How a covariate is made from its standard normal score.
enum Shape {
    /// 1 above the threshold.
    YesNo { threshold: f64 },
    /// `floor(scale · exp(z/2))`.
    Count { scale: f64 },
    /// The score itself.
    Plain,
    /// `exp(z/2)`.
    Skewed,
}

impl Shape {
    fn value(&self, z: f64) -> f64 {
        match self {
            Self::YesNo { threshold } => f64::from(u8::from(z > *threshold)),
            Self::Count { scale } => (scale * (z / 2.0).exp()).floor(),
            Self::Plain => z,
            Self::Skewed => (z / 2.0).exp(),
        }
    }
}

struct Covariate {
    loadings: [f64; FACTORS],
    own: f64,
    shape: Shape,
    mean: f64,
    sd: f64,
}

impl Covariate {
    fn draw(j: usize, rng: &mut Rng) -> Self {
        let mut loadings = [0.0; FACTORS];
        // Each covariate listens to two factors.
        for _ in 0..2 {
            loadings[rng.below(FACTORS)] += 0.5 * rng.normal();
        }
        let size: f64 = loadings.iter().map(|l| l * l).sum::<f64>().sqrt();
        let shrink = if size > 0.8 { 0.8 / size } else { 1.0 };
        loadings.iter_mut().for_each(|l| *l *= shrink);
        let common: f64 = loadings.iter().map(|l| l * l).sum();
        let shape = match j % 3 {
            0 => Shape::YesNo { threshold: 3.29 * (rng.uniform() - 0.5) },
            1 => Shape::Count { scale: 1.0 + 6.0 * rng.uniform() },
            _ if j % 4 == 3 => Shape::Skewed,
            _ => Shape::Plain,
        };
        // Moments over a grid instead of the sample, so that the truth of a row does not depend on the other rows.
        let values: Vec<f64> = normal_grid().map(|z| shape.value(z)).collect();
        let (mean, sd) = mean_sd(&values);
        Self { loadings, own: (1.0 - common).sqrt(), shape, mean, sd: sd.max(1e-6) }
    }

    fn value(&self, factors: &[f64; FACTORS], rng: &mut Rng) -> f64 {
        let common: f64 = self.loadings.iter().zip(factors).map(|(l, f)| l * f).sum();
        self.shape.value(common + self.own * rng.normal())
    }

    fn standardised(&self, value: f64) -> f64 {
        (value - self.mean) / self.sd
    }
}

/// Points with a standard normal's moments: Box and Muller on a regular grid of radii and angles.
fn normal_grid() -> impl Iterator<Item = f64> {
    (0..50).flat_map(|r| {
        let radius = (-2.0 * ((f64::from(r) + 0.5) / 50.0).ln()).sqrt();
        (0..40).map(move |a| radius * (std::f64::consts::TAU * (f64::from(a) + 0.5) / 40.0).cos())
    })
}

/// A sum of simple terms of standardised features.
struct Surface {
    terms: Vec<(f64, Term)>,
}

enum Term {
    Linear(usize),
    Square(usize),
    Step(usize, f64),
    Product(usize, usize),
}

impl Surface {
    /// Terms of the given features: each is linear, and half of them appear once more in another guise.
    fn draw(features: &[usize], size: f64, rng: &mut Rng) -> Self {
        let mut terms = vec![];
        for (k, &j) in features.iter().enumerate() {
            terms.push((rng.normal(), Term::Linear(j)));
            if k % 2 == 0 {
                let other = features[rng.below(features.len())];
                let extra = match rng.below(3) {
                    0 => Term::Square(j),
                    1 => Term::Step(j, 0.5 * rng.normal()),
                    _ => Term::Product(j, other),
                };
                terms.push((0.7 * rng.normal(), extra));
            }
        }
        let norm: f64 = terms.iter().map(|(c, _)| c * c).sum::<f64>().sqrt().max(1e-9);
        terms.iter_mut().for_each(|(c, _)| *c *= size / norm);
        Self { terms }
    }

    fn at(&self, z: &[f64]) -> f64 {
        self.terms
            .iter()
            .map(|(c, term)| {
                c * match *term {
                    Term::Linear(j) => z[j],
                    // Clipped, so that no single row dwarfs all others.
                    Term::Square(j) => (z[j].clamp(-2.5, 2.5).powi(2) - 1.0) / 1.4,
                    Term::Step(j, bound) => 2.0 * f64::from(u8::from(z[j] > bound)) - 1.0,
                    Term::Product(j, k) => z[j].clamp(-2.5, 2.5) * z[k].clamp(-2.5, 2.5),
                }
            })
            .sum()
    }
}

/// Draws the ACIC-like process.
pub fn acic(config: &AcicConfig, seed: Seed) -> Result<Simulated> {
    let AcicConfig { n, d, noise, relevant, heterogeneity, confounding, coefficient_seed } = *config;
    if relevant == 0 || 3 * relevant > d {
        return Err(bad("acic", "relevant", relevant, &format!("from 1 to a third of the {d} covariates")));
    }
    let mut rng = coefficient_seed.map_or_else(|| seed.named("coefficients"), Seed).rng();
    let covariates: Vec<Covariate> = (0..d).map(|j| Covariate::draw(j, &mut rng)).collect();
    let chosen = rng.sample(d, 3 * relevant);
    let (instruments_and_confounders, confounders_and_adjusters) = (&chosen[..2 * relevant], &chosen[relevant..]);
    let treatment = Surface::draw(instruments_and_confounders, confounding, &mut rng);
    let baseline = Surface::draw(confounders_and_adjusters, 2.0, &mut rng);
    let modifiers = &confounders_and_adjusters[..confounders_and_adjusters.len().min(4)];
    let effect = Surface::draw(modifiers, heterogeneity, &mut rng);
    let mut rng = seed.named("rows").rng();
    let mut rows = Rows::with_capacity(n, d);
    let (mut x, mut z) = (vec![0.0; d], vec![0.0; d]);
    for _ in 0..n {
        let mut factors = [0.0; FACTORS];
        factors.iter_mut().for_each(|f| *f = rng.normal());
        for (j, covariate) in covariates.iter().enumerate() {
            x[j] = covariate.value(&factors, &mut rng);
            z[j] = covariate.standardised(x[j]);
        }
        let mu0 = baseline.at(&z);
        let tau = 1.0 + effect.at(&z);
        rows.push(&x, (mu0, mu0 + tau, sigmoid(treatment.at(&z))), noise, &mut rng);
    }
    rows.finish(d)
}
