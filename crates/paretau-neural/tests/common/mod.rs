//! A small sample, net and objective that several tests share.
#![allow(dead_code)]

use paretau_core::{Dense, Design, Features, Seed};
use paretau_kernels::real::Real;
use paretau_kernels::weights::{Pooling, Weighting};
use paretau_neural::data::{Batch, Sample};
use paretau_neural::engine::{Activation, Norm};
use paretau_neural::loss::{Balance, OutcomeLoss, Penalty};
use paretau_neural::model::{Model, Objective, RepNet, RepSpec};

/// Confounded rows: treatment depends on the first columns, the outcome on later ones.
pub(crate) fn design(n: usize, d: usize, binary: bool) -> Design {
    let mut rng = Seed(11).rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let (mut t, mut y) = (vec![], vec![]);
    for row in x.chunks(d) {
        let e = 1.0 / (1.0 + (-1.5 * row[0] - row[1]).exp());
        let treated = rng.bernoulli(e);
        let mu = row[1] + row[d - 1] + f64::from(u8::from(treated)) * (1.0 + row[d - 1]);
        t.push(u8::from(treated));
        y.push(if binary { f64::from(u8::from(mu + rng.normal() > 0.5)) } else { mu + 0.3 * rng.normal() });
    }
    Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap()
}

pub(crate) fn sample<T: Real>(n: usize, d: usize, binary: bool) -> Sample<T> {
    let rows: Vec<usize> = (0..n).collect();
    Sample::new(&design(n, d, binary), &rows).unwrap().0
}

/// All rows as one batch.
pub(crate) fn batch<T>(sample: &Sample<T>) -> Batch {
    let n = sample.t.len();
    let mut rows: Vec<usize> = (0..n).collect();
    rows.sort_by_key(|&i| sample.t[i]);
    let n0 = rows.iter().filter(|&&i| sample.t[i] == 0).count();
    Batch { rows, n0, share: [1.0, 1.0], key: 77 }
}

/// Three encoders (Γ, Δ, Υ) or one.
pub(crate) fn spec(groups: usize) -> RepSpec {
    RepSpec {
        d: 4,
        groups,
        encoder: vec![5, 4],
        representation: 3,
        representation_activation: Activation::Linear,
        propensity: (groups == 3).then(|| (vec![4, 3], 0..2)),
        heads: vec![5, 4],
        head_reads: if groups == 3 { 1..3 } else { 0..1 },
        balanced: groups - 1,
        activation: Activation::Elu,
        dropout: 0.0,
        norm: Norm::None,
    }
}

pub(crate) fn objective(weighting: Weighting) -> Objective {
    Objective {
        loss: OutcomeLoss::Squared,
        weighting,
        pooling: Pooling::Pooled,
        gamma: 1.0,
        penalty: penalty(Balance::Rbf),
        joint: 0.0,
        targeted: 0.0,
        independence: 0.0,
        instruments: 0.0,
        separation: 0.0,
    }
}

/// Initial parameters moved a little, so that no bias is zero and the propensity is not flat.
pub(crate) fn params<T: Real>(model: &RepNet<T>) -> Vec<T> {
    let mut params: Vec<T> = model.layout().initial(Seed(5));
    let mut rng = Seed(6).rng();
    params.iter_mut().for_each(|p| *p = *p * T::from_f64(1.3) + T::from_f64(0.1 * rng.normal()));
    params
}

/// A balance penalty whose width does not move with the points, as finite differences need.
pub(crate) fn penalty(balance: Balance) -> Penalty {
    Penalty { balance, strength: 0.5, width: Some(1.5) }
}
