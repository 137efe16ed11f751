"""Effects with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, inf, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ._errors import UsageError


def check_alpha(alpha: float) -> None:
    """Refuses an alpha that is not strictly between 0 and 1."""
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha must lie strictly between 0 and 1, not {alpha}")


def normal_quantile(alpha: float) -> float:
    """The `1 - alpha/2` quantile of the standard normal distribution."""
    check_alpha(alpha)
    return NormalDist().inv_cdf(1.0 - alpha / 2.0)


@dataclass(frozen=True)
class EffectInference:
    """Point estimates and standard errors of the effect, one entry per row; normal approximation throughout."""

    point_estimate: np.ndarray
    stderr: np.ndarray

    @property
    def var(self) -> np.ndarray:
        """Variance of each estimate."""
        return self.stderr**2

    def conf_int(self, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
        """Ends of approximate pointwise confidence intervals of the conditional effects at level `1 - alpha`."""
        half = normal_quantile(alpha) * self.stderr
        return self.point_estimate - half, self.point_estimate + half

    def zstat(self, value: float = 0.0) -> np.ndarray:
        """Distance from `value` in standard errors; 0 where estimate and value agree exactly."""
        difference = self.point_estimate - value
        with np.errstate(divide="ignore", invalid="ignore"):
            z = difference / self.stderr
        return np.where(difference == 0.0, 0.0, z)

    def pvalue(self, value: float = 0.0) -> np.ndarray:
        """Two-sided p-value of the effect being `value`."""
        return np.array([erfc(abs(z) / sqrt(2.0)) for z in self.zstat(value)])

    def summary_frame(self, alpha: float = 0.05, value: float = 0.0) -> Any:
        """One row per estimate: a pandas data frame, or a dictionary of arrays where pandas is not installed."""
        lower, upper = self.conf_int(alpha)
        table = {
            "point_estimate": self.point_estimate,
            "stderr": self.stderr,
            "zstat": self.zstat(value),
            "pvalue": self.pvalue(value),
            "ci_lower": lower,
            "ci_upper": upper,
        }
        try:
            import pandas as pd
        except ImportError:
            return table
        return pd.DataFrame(table)

    def __len__(self) -> int:
        return len(self.point_estimate)


@dataclass(frozen=True)
class Coefficients(EffectInference):
    """Named coefficients with standard errors; `print` shows the table."""

    names: list[str]
    one_sided: bool

    def __init__(self, names: list[str], estimates: np.ndarray, errors: np.ndarray, *, one_sided: bool = False) -> None:
        super().__init__(estimates, errors)
        object.__setattr__(self, "names", list(names))
        object.__setattr__(self, "one_sided", one_sided)

    def pvalue(self, value: float = 0.0) -> np.ndarray:
        """p-value of the coefficient being `value` (one-sided tests: of it not being above)."""
        if not self.one_sided:
            return super().pvalue(value)
        return np.array([0.5 * erfc(z / sqrt(2.0)) for z in self.zstat(value)])

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(f"{name!r}; the coefficients are {', '.join(self.names)}")
        return float(self.point_estimate[self.names.index(name)])

    def summary_frame(self, alpha: float = 0.05, value: float = 0.0) -> Any:
        """One row per coefficient, indexed by name."""
        found = super().summary_frame(alpha, value)
        if isinstance(found, dict):
            return {"name": list(self.names), **found}
        found.index = self.names
        return found

    def __str__(self) -> str:
        lower, upper = self.conf_int()
        width = max(len(name) for name in self.names)
        head = f"{'':{width}}  {'estimate':>10}  {'std. error':>10}  {'95 % interval':>23}  {'p':>8}"
        rows = zip(self.names, self.point_estimate, self.stderr, lower, upper, self.pvalue(), strict=True)
        lines = [f"{n:{width}}  {e:10.4g}  {s:10.4g}  {a:11.4g} {b:11.4g}  {p:8.3g}" for n, e, s, a, b, p in rows]
        return "\n".join([head, *lines])


@dataclass(frozen=True)
class Ranking:
    """A rank-weighted average effect, and the targeting curve that it is the area of."""

    #: `AUTOC` or `QINI`.
    target: str
    #: The area.
    estimate: float
    #: Its standard error.
    stderr: float
    #: Shares treated, by falling priority.
    q: np.ndarray
    #: Average effect of the first share minus that of all.
    toc: np.ndarray
    #: Standard errors of the curve.
    toc_stderr: np.ndarray
    #: Whether errors hold on one side only. A ranking of the training rows by their out-of-bag effects is drawn down, because a
    #: row's outcome is missing from its own effect: it may be shown to pay, but never to do harm.
    one_sided: bool = False

    def conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """Interval of the area: of two sides, or from a lower limit upwards where errors hold on one side only."""
        if self.one_sided:
            check_alpha(alpha)
            return self.estimate - NormalDist().inv_cdf(1.0 - alpha) * self.stderr, inf
        half = normal_quantile(alpha) * self.stderr
        return self.estimate - half, self.estimate + half

    def pvalue(self) -> float:
        """p-value of the ranking telling nothing: two-sided, or against "it pays" where errors hold on one side only."""
        if self.stderr <= 0:
            return 1.0
        z = self.estimate / self.stderr
        return 0.5 * erfc(z / sqrt(2.0)) if self.one_sided else erfc(abs(z) / sqrt(2.0))

    def __str__(self) -> str:
        low, high = self.conf_int()
        if self.one_sided:
            return f"{self.target} {self.estimate:.4g} (at least {low:.4g} at 95 %, one-sided p = {self.pvalue():.3g})"
        return f"{self.target} {self.estimate:.4g} (95 % interval {low:.4g} to {high:.4g}, p = {self.pvalue():.3g})"
