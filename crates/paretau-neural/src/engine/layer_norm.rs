//! Layer normalisation: each row's sums of one net brought to mean zero and variance one before bias and activation. It has no
//! gain of its own: the bias follows it, and the next layer's weights scale.

use paretau_kernels::real::Real;

use super::norm::EPS;

/// What the backward sweep needs of the forward one.
#[derive(Debug, Clone, Default)]
pub(super) struct LayerNormed<T> {
    /// Normalised sums.
    z: Vec<T>,
    /// One over the standard deviation, one per row and net.
    scale: Vec<T>,
}

impl<T: Real> LayerNormed<T> {
    /// Room for `rows` rows of `groups` nets of `units` units.
    pub(super) fn new(rows: usize, groups: usize, units: usize) -> Self {
        Self { z: vec![T::ZERO; rows * groups * units], scale: vec![T::ZERO; rows * groups] }
    }

    /// Normalises every stretch of `units` values in place.
    pub(super) fn forward(&mut self, z: &mut [T], units: usize) {
        let n = T::from_f64(units as f64);
        for (k, part) in z.chunks_exact_mut(units).enumerate() {
            let mean = sum(part.iter().copied()) / n;
            let variance = sum(part.iter().map(|v| (*v - mean) * (*v - mean))) / n;
            let scale = T::ONE / (variance + T::from_f64(EPS)).sqrt();
            part.iter_mut().for_each(|v| *v = (*v - mean) * scale);
            if let Some(place) = self.scale.get_mut(k) {
                *place = scale;
            }
        }
        // Without room (prediction only) nothing is kept.
        if let Some(kept) = self.z.get_mut(..z.len()) {
            kept.copy_from_slice(z);
        }
    }

    /// From the gradient of the normalised sums to that of the sums, in place.
    pub(super) fn backward(&self, d: &mut [T], units: usize) {
        let n = T::from_f64(units as f64);
        let parts = d.chunks_exact_mut(units).zip(self.z.chunks_exact(units)).zip(&self.scale);
        for ((d, z), scale) in parts {
            let mean = sum(d.iter().copied()) / n;
            let along = sum(d.iter().zip(z).map(|(d, z)| *d * *z)) / n;
            d.iter_mut().zip(z).for_each(|(d, z)| *d = (*d - mean - *z * along) * *scale);
        }
    }
}

fn sum<T: Real>(values: impl Iterator<Item = T>) -> T {
    values.fold(T::ZERO, |a, b| a + b)
}
