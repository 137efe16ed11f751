"""The numerical kernels under paretau, on numpy arrays of doubles: soft ranks, Pareto smoothing, tail fits, distances.

Every `*_vjp(…, g)` returns the gradient of `sum(g * f(w))` with respect to `w`, exactly (no autodiff, no graph).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _paretau
from ._errors import DataError, UsageError

__all__ = [
    "ess",
    "gpd_fit",
    "khat_threshold",
    "mmd_rbf",
    "mmd_rbf_grad",
    "pareto_smooth",
    "pareto_smooth_vjp",
    "psis",
    "sinkhorn",
    "sinkhorn_grad",
    "soft_pareto",
    "soft_pareto_vjp",
    "soft_rank",
    "soft_rank_and_vjp",
    "soft_rank_vjp",
]


def soft_rank(w: Any, eps: float = 1.0) -> np.ndarray:
    """Ascending soft ranks: the projection of `w / eps` onto the permutahedron of (1, …, n).

    `eps` towards 0 gives hard ranks (ties share their mean rank), large `eps` gives (n+1)/2 everywhere.
    """
    return _paretau.soft_rank(_vector("w", w), eps)


def soft_rank_vjp(w: Any, eps: float, g: Any) -> np.ndarray:
    """Gradient of `sum(g * soft_rank(w, eps))`."""
    return soft_rank_and_vjp(w, eps, g)[1]


def soft_rank_and_vjp(w: Any, eps: float, g: Any) -> tuple[np.ndarray, np.ndarray]:
    """Soft ranks and their vector-Jacobian product for one sort."""
    return _paretau.soft_rank_vjp(_vector("w", w), eps, _vector("g", g))


def pareto_smooth(w: Any) -> np.ndarray:
    """Positive weights with the largest `M = ceil(min(n/5, 3 sqrt(n)))` replaced by quantiles of the generalised
    Pareto distribution fitted to them. Tails too short or too even to fit are left as they are."""
    return _paretau.pareto_smooth(_vector("w", w))


def pareto_smooth_vjp(w: Any, g: Any) -> np.ndarray:
    """Gradient of `sum(g * pareto_smooth(w))`, ranks held fixed."""
    return _paretau.pareto_smooth_vjp(_vector("w", w), _vector("g", g))[1]


def soft_pareto(w: Any, eps: float = 1.0, kappa: float = 1.0, *, units: str = "scale-free") -> np.ndarray:
    """Pareto smoothing that is differentiable in every weight: soft ranks (strength `eps`) and a soft step into the
    tail (steepness `kappa`). With `units="scale-free"` both are pure numbers, whatever the size of the batch and of
    the weights; `units="paper"` takes them as the paper's formulas do."""
    return _paretau.soft_pareto(_vector("w", w), eps, kappa, _is_paper(units))


def soft_pareto_vjp(w: Any, eps: float, kappa: float, g: Any, *, units: str = "scale-free") -> np.ndarray:
    """Gradient of `sum(g * soft_pareto(w, eps, kappa))`."""
    return _paretau.soft_pareto_vjp(_vector("w", w), eps, kappa, _vector("g", g), _is_paper(units))[1]


def psis(log_weights: Any, *, r_eff: float = 1.0, normalize: bool = True) -> tuple[np.ndarray, float]:
    """Pareto-smoothed importance sampling: smoothed log-weights (which sum to 1 as weights if `normalize`) and k-hat.

    Takes log-ratios as they are (ArviZ takes them negated). Above `khat_threshold(n)` averages are unreliable.
    """
    return _paretau.psis(_vector("log_weights", log_weights), r_eff, normalize)


def khat_threshold(n: int) -> float:
    """`min(1 - 1/log10(n), 0.7)`."""
    return _paretau.khat_threshold(n)


def gpd_fit(x: Any, method: str = "pwm") -> tuple[float, float]:
    """Scale and shape `(sigma, xi)` of a generalised Pareto distribution with location 0, fitted to excesses `x`.

    `"pwm"` are probability-weighted moments, `"zhang-stephens"` the empirical Bayes fit of k-hat, with its prior.
    """
    return _paretau.gpd_fit(np.sort(_vector("x", x)), method)


def ess(w: Any) -> float:
    """Effective sample size `(sum w)^2 / sum w^2`."""
    return _paretau.ess(_vector("w", w))


def mmd_rbf(a: Any, b: Any, bandwidth: float | None = None, *, unbiased: bool = False) -> float:
    """Squared maximum mean discrepancy between the rows of `a` and `b` with the kernel `exp(-d^2 / (2 bandwidth^2))`.

    No bandwidth means the median distance between rows. Never holds a matrix of all pairs.
    """
    return _mmd(a, b, bandwidth, unbiased, False)[0]


def mmd_rbf_grad(
    a: Any, b: Any, bandwidth: float | None = None, *, unbiased: bool = False
) -> tuple[float, np.ndarray, np.ndarray]:
    """`mmd_rbf` and its gradients with respect to `a` and `b`, the bandwidth held fixed.

    Two arrays of single precision are computed in it, and their gradients are given in it.
    """
    return _mmd(a, b, bandwidth, unbiased, True)


def sinkhorn(
    a: Any, b: Any, eps: float = 0.1, *, squared: bool = False, tolerance: float = 1e-3, max_iterations: int = 100
) -> float:
    """Entropic optimal transport cost between the rows of `a` and `b`, near the 1-Wasserstein distance.

    `eps` is the strength of the entropic term as a share of the mean cost: smaller is nearer to Wasserstein and needs
    more iterations. `squared` takes squared distances as costs.
    """
    return _sinkhorn(a, b, eps, squared, tolerance, max_iterations, False)[0]


def sinkhorn_grad(
    a: Any, b: Any, eps: float = 0.1, *, squared: bool = False, tolerance: float = 1e-3, max_iterations: int = 100
) -> tuple[float, np.ndarray, np.ndarray]:
    """`sinkhorn` and its gradients with respect to `a` and `b`, `eps` times the mean cost held fixed."""
    return _sinkhorn(a, b, eps, squared, tolerance, max_iterations, True)


def _mmd(a: Any, b: Any, bandwidth: float | None, unbiased: bool, with_grad: bool) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    single = a.dtype == b.dtype == np.float32
    function = _paretau.mmd_rbf_f32 if single else _paretau.mmd_rbf
    kind = np.float32 if single else np.float64
    return function(_points("a", a, kind), _points("b", b, kind), bandwidth, unbiased, with_grad)


def _sinkhorn(a: Any, b: Any, eps: float, squared: bool, tolerance: float, turns: int, with_grad: bool) -> Any:
    return _paretau.sinkhorn(
        _points("a", a, np.float64),
        _points("b", b, np.float64),
        eps=eps,
        squared=squared,
        tolerance=tolerance,
        max_iterations=turns,
        with_grad=with_grad,
    )


def _points(what: str, values: Any, kind: Any) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype=kind)
    if array.ndim != 2:
        raise DataError(f"{what} must have two dimensions (points, coordinates), not {array.ndim}")
    return array


def _vector(what: str, values: Any) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"{what} must have one dimension, not {array.ndim}")
    return array


def _is_paper(units: str) -> bool:
    if units not in ("scale-free", "paper"):
        raise UsageError(f"units must be 'scale-free' or 'paper', not {units!r}")
    return units == "paper"
