"""The numerical kernels under paretau, on numpy arrays of doubles: soft ranks, Pareto smoothing, tail fits, distances.

Every `*_vjp(…, g)` returns the gradient of `sum(g * f(w))` with respect to `w`, exactly (no autodiff, no graph).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _paretau
from ._errors import DataError

__all__ = [
    "ess",
    "gpd_fit",
    "khat_threshold",
    "pareto_smooth",
    "pareto_smooth_vjp",
    "psis",
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


def _vector(what: str, values: Any) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"{what} must have one dimension, not {array.ndim}")
    return array


def _is_paper(units: str) -> bool:
    if units not in ("scale-free", "paper"):
        from ._errors import UsageError

        raise UsageError(f"units must be 'scale-free' or 'paper', not {units!r}")
    return units == "paper"
