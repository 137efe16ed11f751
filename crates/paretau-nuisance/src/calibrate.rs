//! Isotonic calibration of probabilities: a monotone map that makes predicted and observed rates agree.

use paretau_core::{Error, Result, State};
use paretau_kernels::isotonic::{Direction, Isotonic};

/// A non-decreasing map of probabilities, linear between its knots and constant beyond them, with values strictly
/// between 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrator {
    /// Raw probabilities, ascending.
    from: Vec<f64>,
    /// Calibrated probabilities, non-decreasing.
    to: Vec<f64>,
}

impl Calibrator {
    /// Fits the map from held-out probabilities `p` to 0/1 labels, weighted. Pooled rates of 0 and 1 are pulled half a
    /// row inside, since a propensity of exactly 0 or 1 is never learned from data.
    pub fn fit(p: &[f64], y: &[f64], weight: Option<&[f64]>) -> Result<Self> {
        let w = weight.map_or_else(|| vec![1.0; p.len()], <[f64]>::to_vec);
        let mut order: Vec<usize> = (0..p.len()).filter(|&i| w[i] > 0.0).collect();
        order.sort_by(|&a, &b| p[a].total_cmp(&p[b]).then(a.cmp(&b)));
        // Rows with equal probabilities are one point, or the map would not be a function.
        let (mut at, mut rate, mut mass) = (Vec::new(), Vec::<f64>::new(), Vec::<f64>::new());
        for &i in &order {
            match at.last() {
                Some(last) if *last == p[i] => {
                    let k = rate.len() - 1;
                    rate[k] += (y[i] - rate[k]) * w[i] / (mass[k] + w[i]);
                    mass[k] += w[i];
                }
                _ => {
                    at.push(p[i]);
                    rate.push(y[i]);
                    mass.push(w[i]);
                }
            }
        }
        if at.is_empty() {
            return Err(Error::unfit("calibration needs rows with positive weight"));
        }
        let mut isotonic = Isotonic::default();
        let mut level = vec![0.0; rate.len()];
        isotonic
            .fit(&rate, Some(&mass), Direction::NonDecreasing, &mut level)
            .map_err(|e| Error::Numeric { what: "isotonic calibration", message: e.to_string() })?;
        let mean_weight = mass.iter().sum::<f64>() / order.len() as f64;
        let mut starts: Vec<usize> = isotonic.block_starts().collect();
        starts.push(level.len());
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for block in starts.windows(2) {
            let (first, last) = (block[0], block[1] - 1);
            let rows = mass[first..=last].iter().sum::<f64>() / mean_weight;
            let inside = level[first].clamp(0.5 / (rows + 1.0), 1.0 - 0.5 / (rows + 1.0));
            from.push(at[first]);
            to.push(inside);
            if last > first {
                from.push(at[last]);
                to.push(inside);
            }
        }
        // Pulling small blocks inside can break the order that isotonic regression gave; restore it.
        for k in 1..to.len() {
            to[k] = to[k].max(to[k - 1]);
        }
        Ok(Self { from, to })
    }

    /// The calibrated probability.
    pub fn apply(&self, p: f64) -> f64 {
        let above = self.from.partition_point(|v| *v < p);
        if above == 0 {
            return self.to[0];
        }
        if above == self.from.len() {
            return self.to[above - 1];
        }
        let (a, b) = (self.from[above - 1], self.from[above]);
        let share = if b > a { (p - a) / (b - a) } else { 1.0 };
        self.to[above - 1] + share * (self.to[above] - self.to[above - 1])
    }

    /// Writes itself into a state.
    pub fn put(&self, state: &mut State, prefix: &str) {
        let n = self.from.len();
        state.put_f64(&format!("{prefix}/from"), &[n], self.from.clone());
        state.put_f64(&format!("{prefix}/to"), &[n], self.to.clone());
    }

    /// Reads itself back.
    pub fn get(state: &State, prefix: &str, n: usize) -> Result<Self> {
        let from = state.f64(&format!("{prefix}/from"), &[n])?.to_vec();
        let to = state.f64(&format!("{prefix}/to"), &[n])?.to_vec();
        let ascending = |v: &[f64]| v.windows(2).all(|p| p[0] <= p[1]);
        if n == 0 || !ascending(&from) || !ascending(&to) || to.iter().any(|v| !(*v > 0.0 && *v < 1.0)) {
            return Err(Error::bad_model("its calibration is not a monotone map into (0, 1)"));
        }
        Ok(Self { from, to })
    }

    /// Number of knots.
    pub fn n_knots(&self) -> usize {
        self.from.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    #[test]
    fn calibrates_overconfident_probabilities_and_stays_inside() {
        let mut rng = Seed(4).rng();
        let truth: Vec<f64> = (0..4000).map(|_| 0.2 + 0.6 * rng.uniform()).collect();
        let y: Vec<f64> = truth.iter().map(|p| f64::from(u8::from(rng.bernoulli(*p)))).collect();
        let odds = |p: f64| (p / (1.0 - p)).powi(3);
        let overconfident: Vec<f64> = truth.iter().map(|p| odds(*p) / (1.0 + odds(*p))).collect();
        let map = Calibrator::fit(&overconfident, &y, None).unwrap();
        let error: f64 = overconfident.iter().zip(&truth).map(|(p, q)| (map.apply(*p) - q).abs()).sum::<f64>() / 4000.0;
        assert!(error < 0.04, "{error}");
        let values: Vec<f64> = (0..=100).map(|k| map.apply(f64::from(k) / 100.0)).collect();
        assert!(values.windows(2).all(|v| v[0] <= v[1]) && values.iter().all(|v| *v > 0.0 && *v < 1.0));
    }

    #[test]
    fn ties_share_and_separation_stays_inside() {
        let map = Calibrator::fit(&[0.2, 0.2, 0.8, 0.8], &[0.0, 1.0, 1.0, 1.0], None).unwrap();
        assert!((map.apply(0.2) - 0.5).abs() < 1e-12);
        assert!(map.apply(0.9) < 1.0 && map.apply(0.9) > 0.8);
        let mut state = State::new(&0).unwrap();
        map.put(&mut state, "c");
        assert_eq!(Calibrator::get(&state, "c", map.n_knots()).unwrap(), map);
    }
}
