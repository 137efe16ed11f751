"""paretau as an estimator of DoWhy, where refuters and interval methods find it as they find DoWhy's own.

>>> model.estimate_effect(                                                         # doctest: +SKIP
...     estimand,
...     method_name="backdoor.paretau.compat.dowhy.Paretau",
...     method_params={"init_params": {"estimator": "causal-forest", "n_estimators": 500}},
... )

`estimator` is a registry name or an estimator of paretau's; other parameters are the estimator's. The adjustment set and the
effect modifiers are its features. `estimate.value` is doubly robust over the rows of the fit, or the mean predicted effect where
`target_units` are other rows; `estimate.get_confidence_intervals()` gives the interval that belongs to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dowhy.causal_estimator import CausalEstimate, CausalEstimator

from .._errors import UsageError
from .._estimator import Estimator
from .._functions import make_estimator

__all__ = ["Paretau"]


class Paretau(CausalEstimator):
    """An estimator of paretau's behind DoWhy's interface."""

    def __init__(self, identified_estimand: Any, *, init_params: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(identified_estimand, init_params=init_params, **options)
        params = dict(init_params or {})
        chosen = params.pop("estimator", "auto")
        if isinstance(chosen, Estimator):
            if params:
                raise UsageError("init_params: parameters belong to a registry name, not to an estimator that has its own")
            self._make = lambda: type(chosen)(**chosen.get_params(deep=False))
        else:
            self._make = lambda: make_estimator(chosen, **params)
        self.estimator: Any = None

    def fit(self, data: pd.DataFrame, effect_modifier_names: list[str] | None = None, **fit_params: Any) -> Paretau:
        """Learns the effect of the treatment on the outcome given adjustment set and effect modifiers."""
        self._set_effect_modifiers(data, effect_modifier_names)
        treatments, outcomes = self._target_estimand.treatment_variable, self._target_estimand.outcome_variable
        if len(treatments) != 1 or len(outcomes) != 1:
            raise UsageError("paretau estimates the effect of one treatment on one outcome")
        modifiers = [name for name in self._effect_modifier_names or [] if name not in treatments]
        self._features = list(dict.fromkeys([*self._target_estimand.get_adjustment_set(), *modifiers]))
        if not self._features:
            raise UsageError("there is nothing to adjust for: the estimand has no adjustment set and no effect modifiers")
        self._treatment, self._fitted_on = treatments[0], data
        self.symbolic_estimator = self.construct_symbolic_estimator(self._target_estimand)
        values = data[self._treatment]
        fit_params.setdefault("control", None)
        arms = values.astype(int) if values.dtype == bool else values
        self.estimator = self._make().fit(data[self._features], data[outcomes[0]], treatment=arms.to_numpy(), **fit_params)
        return self

    def estimate_effect(
        self, data: pd.DataFrame, treatment_value: Any = 1, control_value: Any = 0, target_units: Any = None, **_: Any
    ) -> CausalEstimate:
        """The average effect over `target_units`: "ate", "att", "atc", "ato", a data frame, or a condition on rows."""
        self._target_units, self._treatment_value, self._control_value = target_units, treatment_value, control_value
        name, arm = "ate" if target_units is None else target_units, _arm(treatment_value)
        rows = data
        if callable(name):
            rows = data[np.asarray(name(data), dtype=bool)]
        elif isinstance(name, pd.DataFrame):
            rows = name
        elif name not in ("ate", "att", "atc", "ato"):
            raise UsageError(f"target_units must be 'ate', 'att', 'atc', 'ato', rows or a condition, not {name!r}")
        if isinstance(name, str) and name != "ate" and not self._control_is(control_value):
            raise UsageError(f"{name} is known against the control {self.estimator.arms_[0]!r}")
        effects = None
        self._population: tuple[str, Any] | None = None
        if isinstance(name, str) and (name != "ate" or data is self._fitted_on) and self._control_is(control_value):
            self._population = (name, arm)
            value = getattr(self.estimator, name)(arm=arm)
        else:
            effects = self.estimator.effect(rows[self._features], T0=_arm(control_value), T1=arm)
            value = float(np.mean(effects))
        estimate = CausalEstimate(
            data=data,
            treatment_name=self._target_estimand.treatment_variable,
            outcome_name=self._target_estimand.outcome_variable,
            estimate=value,
            control_value=control_value,
            treatment_value=treatment_value,
            conditional_estimates=None,
            target_estimand=self._target_estimand,
            realized_estimand_expr=self.symbolic_estimator,
            cate_estimates=effects,
            _estimator_object=self.estimator,
        )
        estimate.add_estimator(self)
        return estimate

    def _control_is(self, value: Any) -> bool:
        return str(self.estimator._find_arm(_arm(value))) == "0"

    def construct_symbolic_estimator(self, estimand: Any) -> str:
        """What is estimated, as a formula."""
        outcome, treatment = estimand.outcome_variable[0], estimand.treatment_variable[0]
        return f"paretau: {outcome} ~ {treatment} | {', '.join(self._features)}"

    def _estimate_effect_fn(self, data_df: pd.DataFrame) -> float:
        return float(np.mean(self.estimator.effect(data_df[self._features])))

    def _estimate_confidence_intervals(
        self, confidence_level: float | None = None, method: Any = None, **_: Any
    ) -> np.ndarray:
        if self._population is None:
            raise NotImplementedError("the mean effect of other rows has no interval; ask for one of the rows of the fit")
        name, arm = self._population
        level = self.confidence_level if confidence_level is None else confidence_level
        return np.array([getattr(self.estimator, f"{name}_interval")(1.0 - level, arm=arm)])

    def _estimate_std_error(self, method: Any = None, **_: Any) -> float:
        if self._population is None:
            raise NotImplementedError("the mean effect of other rows has no standard error")
        name, arm = self._population
        return float(self.estimator._average(name, arm)[1])


def _arm(value: Any) -> Any:
    """An arm as DoWhy names it; truth values are 0 and 1."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value
