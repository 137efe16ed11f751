//! The mean loss of held-out rows, in pieces that fit a model's buffers.

use paretau_kernels::error::KernelError;
use paretau_kernels::real::Real;

use crate::data::{Rows, Sample};
use crate::engine::Input;
use crate::loss::OutcomeLoss;

/// Weighted mean loss over `rows`; `answer` runs the net on a piece and pushes its output for each row.
pub(super) fn mean_loss<T: Real>(
    sample: &Sample<T>,
    rows: &[usize],
    (loss, capacity, buffer): (OutcomeLoss, usize, &mut Rows<T>),
    mut answer: impl FnMut(Input<'_, T>, &[usize], &mut Vec<T>) -> Result<(), KernelError>,
) -> Result<f64, KernelError> {
    let (mut total, mut mass) = (0.0, 0.0);
    let mut outputs = Vec::with_capacity(capacity);
    for part in rows.chunks(capacity.max(1)) {
        sample.table.gather(part, buffer);
        outputs.clear();
        answer(buffer.input(&sample.table)?, part, &mut outputs)?;
        for (&i, &h) in part.iter().zip(&outputs) {
            let s = sample.weight[i].to_f64();
            total += s * loss.at(h, sample.y[i]).0.to_f64();
            mass += s;
        }
    }
    Ok(total / f64::max(mass, 1e-300))
}
