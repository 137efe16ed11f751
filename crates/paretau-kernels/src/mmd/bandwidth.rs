//! The median heuristic for the width of a kernel.

use crate::arms::Arms;
use crate::real::Real;
use crate::simd::{Vectorised, dispatch};

/// At most this many rows enter [`median_distance`].
pub const MEDIAN_ROWS: usize = 256;

/// The median Euclidean distance between different rows of the two arms taken together.
///
/// Above [`MEDIAN_ROWS`] rows, that many rows at even steps stand for all, so the answer is a function of the data alone.
/// Where half of the distances are zero it is the mean of the positive ones, and one if all rows coincide: the
/// answer is always positive. `scratch` keeps memory between calls. Cost: `MEDIAN_ROWS² k / 2`.
pub fn median_distance<T: Real>(arms: &Arms<'_, T>, scratch: &mut Vec<f64>) -> f64 {
    let n = arms.n0() + arms.n1();
    let m = n.min(MEDIAN_ROWS);
    scratch.clear();
    dispatch(Distances { arms, m, out: scratch });
    if scratch.is_empty() {
        return 1.0;
    }
    let middle = scratch.len() / 2;
    // Numbers that are not negative are in the order of their bits.
    let (_, &mut median, _) = scratch.select_nth_unstable_by_key(middle, |d| d.to_bits());
    if median > 0.0 {
        return median.sqrt();
    }
    let positive = scratch.iter().filter(|&&d| d > 0.0);
    let (count, sum) = positive.fold((0.0, 0.0), |(n, s), d| (n + 1.0, s + d.sqrt()));
    let mean: f64 = sum / count;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Squared distances of all pairs of `m` rows at even steps.
struct Distances<'a, 'b, T> {
    arms: &'a Arms<'b, T>,
    m: usize,
    out: &'a mut Vec<f64>,
}

impl<T: Real> Vectorised for Distances<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let Self { arms, m, out } = self;
        let n = arms.n0() + arms.n1();
        for i in 0..m {
            let x = arms.row(i * n / m);
            out.extend((0..i).map(|j| squared_distance(x, arms.row(j * n / m))));
        }
    }
}

#[inline(always)]
fn squared_distance<T: Real>(x: &[T], y: &[T]) -> f64 {
    let mut lanes = [0.0; 4];
    let (x4, x_rest) = x.as_chunks::<4>();
    let (y4, y_rest) = y.as_chunks::<4>();
    for (x, y) in x4.iter().zip(y4) {
        for l in 0..4 {
            let d = x[l].to_f64() - y[l].to_f64();
            lanes[l] += d * d;
        }
    }
    for (l, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        let d = x.to_f64() - y.to_f64();
        lanes[l] += d * d;
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}
