"""Coefficients of estimators whose effect is a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._model_state import State


class Lines:
    """`coef_` and `intercept_`, where the effect is linear in the features."""

    model_: Any
    arms_: list[str]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the effect, one per column of `coef_names_`; of several arms one row each.

        They are shrunken, as the fit is. Coefficients that are not, with standard errors, are those of
        `best_linear_projection(X)`.
        """
        return self._line("coef_")[1]

    @property
    def intercept_(self) -> Any:
        """The effect where every feature is 0; of several arms one number each."""
        found = self._line("intercept_")[0]
        return float(found) if found.ndim == 0 else found

    @property
    def coef_names_(self) -> list[str]:
        """Names of the encoded columns that the coefficients belong to."""
        self._line("coef_names_")
        return self.model_.encoded_names()

    def _line(self, wanted: str) -> tuple[np.ndarray, np.ndarray]:
        if not hasattr(self, "model_") or "lr-2" not in getattr(type(self), "_presets", {}):
            raise AttributeError(f"{type(self).__name__} has no {wanted}: its effect is no line, or it is not fitted")
        state = State.of(self.model_).part("fitted")
        if len(self.arms_) == 2:
            return _effect_line(state)
        lines = [_effect_line(state.part(f"contrast{k}")) for k in range(state.facts["n_arms"])]
        return np.array([line[0] for line in lines]), np.array([line[1] for line in lines])


def _effect_line(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Intercept and coefficients of one arm's effect."""
    if state.facts["arms"] == "shared":
        return state["0/head"][1], np.zeros_like(state["0/coef"])
    return state["1/head"][0] - state["0/head"][0], state["1/coef"] - state["0/coef"]
