//! What role each feature plays: how strongly the encoders read it, and whether treatment or outcome answer to it.
//!
//! Reading strengths are the paper's: the mean size of a column's first-layer weights, encoder by encoder, over the mean of
//! all. The label comes from input gradients, which see the whole net: how much the propensity's logit moves with the column
//! and how much the outcomes do, each over the most moving column. It is the label most members agree on.

use paretau_core::{Design, FeatureRole, Importance, Result, Role};
use rayon::prelude::*;

use crate::member::Member;
use crate::predictor::Predictor;

/// Rows the gradients are averaged over.
const ROWS: usize = 256;
/// A column below this share of the most moving one does not count as moving.
const SHARE: f64 = 0.2;

struct Reading {
    strength: [Vec<f64>; 3],
    treatment: Vec<f64>,
    outcome: Vec<f64>,
}

/// Roles of all feature columns.
pub(crate) fn roles(design: &Design, members: &[Member]) -> Result<Vec<FeatureRole>> {
    let step = design.n_rows().div_ceil(ROWS).max(1);
    let rows: Vec<usize> = (0..design.n_rows()).step_by(step).collect();
    let readings: Vec<Reading> =
        members.par_iter().map(|m| read(&m.predictor, design, &rows)).collect::<Result<Vec<_>>>()?;
    let count = readings.len() as f64;
    let columns = design.columns().iter().enumerate();
    Ok(columns
        .map(|(j, column)| {
            let mut votes = [0_u32; 4];
            for reading in &readings {
                votes[label(reading, j) as usize] += 1;
            }
            let winner = (0..4).max_by_key(|&r| (votes[r], std::cmp::Reverse(r))).unwrap_or(3);
            let mean = |g: usize| readings.iter().map(|r| r.strength[g][j]).sum::<f64>() / count;
            FeatureRole {
                name: column.name.clone(),
                role: [Role::Instrument, Role::Confounder, Role::Adjuster, Role::None][winner],
                score: f64::from(votes[winner]) / count,
                instrument: mean(0),
                confounder: mean(1),
                adjuster: mean(2),
            }
        })
        .collect())
}

/// How strongly the one encoder of a shared net reads each column, by the same first-layer weights: shares of all reading,
/// averaged over members.
pub(crate) fn reading(design: &Design, members: &[Member]) -> Vec<Importance> {
    let mut shares = vec![0.0; design.columns().len()];
    for member in members {
        let strength = first_layer(&member.predictor, (0, 1));
        let total: f64 = strength.iter().sum();
        for (share, own) in shares.iter_mut().zip(strength) {
            *share += if total > 0.0 { own / total / members.len() as f64 } else { 0.0 };
        }
    }
    let named = design.columns().iter().zip(shares);
    named.map(|(column, share)| Importance { name: column.name.clone(), share }).collect()
}

/// The mean size of each column's first-layer weights in one of several encoders side by side; 0 for columns that do not vary. A column
/// with piecewise-linear inputs is read as strongly as the mean of its inputs.
fn first_layer(member: &Predictor, (encoder, encoders): (usize, usize)) -> Vec<f64> {
    let first = member.nets.encoders.first_weights();
    let units = first.cols / encoders;
    let scaler = &member.scaler;
    let d = scaler.mean.len();
    let (mut sums, mut counts) = (vec![0.0; d], vec![0.0; d]);
    let owners = (0..d).chain(scaler.pieces.owners());
    for (j, row) in owners.zip(member.params[first.range()].chunks_exact(first.cols)) {
        let own = &row[encoder * units..(encoder + 1) * units];
        sums[j] += own.iter().map(|w| f64::from(w.abs())).sum::<f64>() / units as f64;
        counts[j] += 1.0;
    }
    (0..d).map(|j| if scaler.scale[j] == 0.0 { 0.0 } else { sums[j] / counts[j] }).collect()
}

fn label(reading: &Reading, j: usize) -> Role {
    let moves = |all: &[f64]| {
        let most = all.iter().copied().fold(0.0, f64::max);
        most > 0.0 && all[j] >= SHARE * most
    };
    match (moves(&reading.treatment), moves(&reading.outcome)) {
        (true, false) => Role::Instrument,
        (true, true) => Role::Confounder,
        (false, true) => Role::Adjuster,
        (false, false) => Role::None,
    }
}

fn read(member: &Predictor, design: &Design, rows: &[usize]) -> Result<Reading> {
    let d = member.n_features();
    let mut strength = [0, 1, 2].map(|encoder| first_layer(member, (encoder, 3)));
    let mean = strength.iter().flatten().sum::<f64>() / (3 * d) as f64;
    if mean > 0.0 {
        strength.iter_mut().flatten().for_each(|s| *s /= mean);
    }
    let (treatment, outcome) = member.input_gradients(design.x(), rows)?;
    Ok(Reading { strength, treatment, outcome })
}
