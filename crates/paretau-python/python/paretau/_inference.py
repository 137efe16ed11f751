"""Effects with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ._errors import UsageError


def normal_quantile(alpha: float) -> float:
    """The `1 - alpha/2` quantile of the standard normal distribution."""
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha must lie strictly between 0 and 1, not {alpha}")
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
