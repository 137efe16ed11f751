//! Distances between two samples of points, with gradients, in single and double precision.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use paretau::kernels::KernelError;
use paretau::kernels::arms::{Arms, ArmsGrad};
use paretau::kernels::mmd::{Bandwidth, Estimator, MmdWorkspace, ONE_SCALE, RbfMmd};
use paretau::kernels::parallel::Parallelism;
use paretau::kernels::real::Real;
use paretau::kernels::sinkhorn::{Cost, Sinkhorn, SinkhornWorkspace, Strength};
use pyo3::prelude::*;

use crate::detach::detach;
use crate::error::{data, of_kernel, usage};

type Points<'py, T> = PyReadonlyArray2<'py, T>;
type Gradient<'py, T> = Option<Bound<'py, PyArray2<T>>>;
type Distance<'py, T> = (f64, Gradient<'py, T>, Gradient<'py, T>);

/// RBF-MMD² between `a` and `b`, and its gradients if asked for. No bandwidth means the median distance.
#[pyfunction]
#[pyo3(signature = (a, b, bandwidth, unbiased, with_grad))]
pub(crate) fn mmd_rbf<'py>(
    py: Python<'py>,
    a: Points<'py, f64>,
    b: Points<'py, f64>,
    bandwidth: Option<f64>,
    unbiased: bool,
    with_grad: bool,
) -> PyResult<Distance<'py, f64>> {
    mmd(py, &a, &b, bandwidth, unbiased, with_grad)
}

/// The same in single precision.
#[pyfunction]
#[pyo3(signature = (a, b, bandwidth, unbiased, with_grad))]
pub(crate) fn mmd_rbf_f32<'py>(
    py: Python<'py>,
    a: Points<'py, f32>,
    b: Points<'py, f32>,
    bandwidth: Option<f64>,
    unbiased: bool,
    with_grad: bool,
) -> PyResult<Distance<'py, f32>> {
    mmd(py, &a, &b, bandwidth, unbiased, with_grad)
}

fn mmd<'py, T: Real + Element>(
    py: Python<'py>,
    a: &Points<'py, T>,
    b: &Points<'py, T>,
    bandwidth: Option<f64>,
    unbiased: bool,
    with_grad: bool,
) -> PyResult<Distance<'py, T>> {
    let statistic = RbfMmd {
        bandwidth: bandwidth.map_or(Bandwidth::Median, Bandwidth::Fixed),
        factors: ONE_SCALE,
        estimator: if unbiased { Estimator::Unbiased } else { Estimator::Biased },
    };
    distance(py, a, b, with_grad, |arms, grad| {
        statistic.eval(arms, grad, &mut MmdWorkspace::new(), Parallelism::Rayon).map(|result| result.value)
    })
}

/// Entropic transport cost between `a` and `b`, and its gradients if asked for.
#[pyfunction]
#[pyo3(signature = (a, b, *, eps, squared, tolerance, max_iterations, with_grad))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn sinkhorn<'py>(
    py: Python<'py>,
    a: Points<'py, f64>,
    b: Points<'py, f64>,
    eps: f64,
    squared: bool,
    tolerance: f64,
    max_iterations: usize,
    with_grad: bool,
) -> PyResult<Distance<'py, f64>> {
    let transport = Sinkhorn {
        cost: if squared { Cost::SquaredEuclidean } else { Cost::Euclidean },
        strength: Strength::OfMeanCost(eps),
        tolerance,
        max_iterations,
    };
    distance(py, &a, &b, with_grad, |arms, grad| {
        transport.eval(arms, grad, &mut SinkhornWorkspace::new(), Parallelism::Rayon).map(|result| result.value)
    })
}

/// What all distances have in common: shapes are checked, memory is borrowed, gradients are given away.
fn distance<'py, T: Real + Element>(
    py: Python<'py>,
    a: &Points<'py, T>,
    b: &Points<'py, T>,
    with_grad: bool,
    eval: impl FnOnce(&Arms<'_, T>, Option<ArmsGrad<'_, T>>) -> Result<f64, KernelError> + Send,
) -> PyResult<Distance<'py, T>> {
    let shapes = [a.as_array().dim(), b.as_array().dim()];
    let k = shapes[0].1;
    if k != shapes[1].1 {
        return Err(data(format!("a has {k} columns, b has {}", shapes[1].1)));
    }
    let rows = |points| usage_if_strided(points);
    let (a, b) = (rows(a)?, rows(b)?);
    let (value, grads) = detach(py, of_kernel, || {
        let arms = Arms::new(a, b, k)?;
        if !with_grad {
            return eval(&arms, None).map(|value| (value, None));
        }
        let mut grads = [vec![T::ZERO; a.len()], vec![T::ZERO; b.len()]];
        let [grad_a, grad_b] = &mut grads;
        let value = eval(&arms, Some(ArmsGrad { a: grad_a, b: grad_b }))?;
        Ok((value, Some(grads)))
    })?;
    let to_array = |values: Vec<T>, shape: (usize, usize)| PyArray1::from_vec(py, values).reshape(shape);
    match grads {
        Some([grad_a, grad_b]) => Ok((value, Some(to_array(grad_a, shapes[0])?), Some(to_array(grad_b, shapes[1])?))),
        None => Ok((value, None, None)),
    }
}

/// The points' memory, row after row; the Python layer makes arrays contiguous before they come here.
fn usage_if_strided<'a, T: Element>(points: &'a Points<'_, T>) -> PyResult<&'a [T]> {
    points.as_slice().map_err(|_| usage("the array must be contiguous"))
}
