//! Kernels on 1-D arrays: soft ranks, Pareto smoothing, tail fits, effective sample size.

use paretau::kernels::gpd_fit::{ZhangStephens, fit_pwm};
use paretau::kernels::pareto::HardPareto;
use paretau::kernels::psis::{Psis, TailRule};
use paretau::kernels::soft_pareto::SoftPareto;
use paretau::kernels::soft_pareto_options::SoftParetoOptions;
use paretau::kernels::soft_rank::SoftRank;
use pyo3::prelude::*;

use crate::arrays::{In, Out, slice, to_array};
use crate::detach::detach;
use crate::error::{data, of_kernel, usage};

/// Ascending soft ranks of `w`.
#[pyfunction]
pub(crate) fn soft_rank<'py>(py: Python<'py>, w: In<'py>, eps: f64) -> PyResult<Out<'py>> {
    let w = slice(&w)?;
    let out = detach(py, of_kernel, || {
        let mut out = vec![0.0; w.len()];
        SoftRank::default().forward(w, eps, &mut out).map(|()| out)
    })?;
    Ok(to_array(py, out))
}

/// Soft ranks and, for the cotangent `g`, their vector-Jacobian product, in one pass.
#[pyfunction]
pub(crate) fn soft_rank_vjp<'py>(py: Python<'py>, w: In<'py>, eps: f64, g: In<'py>) -> PyResult<(Out<'py>, Out<'py>)> {
    let (w, g) = (slice(&w)?, slice(&g)?);
    let (ranks, back) = detach(py, of_kernel, || {
        let (mut ranks, mut back) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        let mut kernel = SoftRank::default();
        kernel.forward(w, eps, &mut ranks)?;
        kernel.vjp(g, &mut back).map(|()| (ranks, back))
    })?;
    Ok((to_array(py, ranks), to_array(py, back)))
}

/// Weights with their tail replaced by quantiles of a generalised Pareto distribution.
#[pyfunction]
pub(crate) fn pareto_smooth<'py>(py: Python<'py>, w: In<'py>) -> PyResult<Out<'py>> {
    let w = slice(&w)?;
    let out = detach(py, of_kernel, || {
        let mut out = vec![0.0; w.len()];
        HardPareto::default().forward(w, &mut out).map(|_| out)
    })?;
    Ok(to_array(py, out))
}

/// Smoothed weights and the vector-Jacobian product of hard smoothing.
#[pyfunction]
pub(crate) fn pareto_smooth_vjp<'py>(py: Python<'py>, w: In<'py>, g: In<'py>) -> PyResult<(Out<'py>, Out<'py>)> {
    let (w, g) = (slice(&w)?, slice(&g)?);
    let (out, back) = detach(py, of_kernel, || {
        let (mut out, mut back) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        let mut kernel = HardPareto::default();
        kernel.forward(w, &mut out)?;
        kernel.vjp(g, &mut back).map(|()| (out, back))
    })?;
    Ok((to_array(py, out), to_array(py, back)))
}

/// Differentiable Pareto smoothing. `paper` takes `eps` and `kappa` in the paper's units.
#[pyfunction]
pub(crate) fn soft_pareto<'py>(py: Python<'py>, w: In<'py>, eps: f64, kappa: f64, paper: bool) -> PyResult<Out<'py>> {
    let w = slice(&w)?;
    let out = detach(py, of_kernel, || {
        let mut out = vec![0.0; w.len()];
        SoftPareto::new(options(eps, kappa, paper))?.forward(w, &mut out).map(|_| out)
    })?;
    Ok(to_array(py, out))
}

/// Softly smoothed weights and their vector-Jacobian product.
#[pyfunction]
pub(crate) fn soft_pareto_vjp<'py>(
    py: Python<'py>,
    w: In<'py>,
    eps: f64,
    kappa: f64,
    g: In<'py>,
    paper: bool,
) -> PyResult<(Out<'py>, Out<'py>)> {
    let (w, g) = (slice(&w)?, slice(&g)?);
    let (out, back) = detach(py, of_kernel, || {
        let (mut out, mut back) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        let mut kernel = SoftPareto::new(options(eps, kappa, paper))?;
        kernel.forward(w, &mut out)?;
        kernel.vjp(g, &mut back).map(|()| (out, back))
    })?;
    Ok((to_array(py, out), to_array(py, back)))
}

fn options(eps: f64, kappa: f64, paper: bool) -> SoftParetoOptions {
    if paper { SoftParetoOptions::paper(eps, kappa) } else { SoftParetoOptions { eps, kappa, ..Default::default() } }
}

/// Smoothed log-weights and k-hat.
#[pyfunction]
pub(crate) fn psis<'py>(
    py: Python<'py>,
    log_weights: In<'py>,
    r_eff: f64,
    normalize: bool,
) -> PyResult<(Out<'py>, f64)> {
    let log_w = slice(&log_weights)?;
    let (out, k) = detach(py, of_kernel, || {
        let mut out = vec![0.0; log_w.len()];
        let mut kernel = Psis::default();
        let k = if normalize {
            kernel.smooth(log_w, r_eff, TailRule::Loo, &mut out)?
        } else {
            kernel.smooth_unnormalised(log_w, r_eff, TailRule::Loo, &mut out)?
        };
        Ok((out, k))
    })?;
    Ok((to_array(py, out), k))
}

/// The k-hat above which an average over `n` weights is unreliable.
#[pyfunction]
pub(crate) fn khat_threshold(n: usize) -> f64 {
    paretau::kernels::psis::khat_threshold(n)
}

/// Scale and shape of the generalised Pareto distribution fitted to excesses `x`, sorted ascending.
#[pyfunction]
pub(crate) fn gpd_fit(py: Python<'_>, x: In<'_>, method: &str) -> PyResult<(f64, f64)> {
    let x = slice(&x)?;
    let fit = match method {
        "pwm" => detach(py, of_kernel, || fit_pwm(x))?
            .map_err(|reason| data(format!("the generalised Pareto distribution cannot be fitted: {reason}")))?,
        "zhang-stephens" => detach(py, of_kernel, || ZhangStephens::default().fit(x))?,
        other => return Err(usage(format!("unknown method `{other}`; known: pwm, zhang-stephens"))),
    };
    Ok((fit.sigma, fit.xi))
}

/// Effective sample size `(sum w)^2 / sum w^2`.
#[pyfunction]
pub(crate) fn ess(py: Python<'_>, w: In<'_>) -> PyResult<f64> {
    let w = slice(&w)?;
    detach(py, of_kernel, || paretau::kernels::ess::ess(w))
}
