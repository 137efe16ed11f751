"""paretau's estimators with CausalML's signatures: `fit(X, treatment, y)`, `predict(X)`, `estimate_ate(X, treatment, y)`.

>>> import paretau
>>> from paretau.compat.causalml import BaseXRegressor
>>> data = paretau.make_synthetic(n=400, d=6, random_state=0)
>>> learner = BaseXRegressor(learner="ridge", control_name=0)
>>> learner.fit(data.X, data.treatment, data.y).predict(data.X).shape
(400, 1)

Averages and their intervals are paretau's: doubly robust over the training rows, with Pareto-smoothed weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _checks, _estimators
from .._errors import NotFittedError, UsageError

__all__ = [
    "BaseDRRegressor",
    "BaseRClassifier",
    "BaseRRegressor",
    "BaseSClassifier",
    "BaseSRegressor",
    "BaseTClassifier",
    "BaseTRegressor",
    "BaseXClassifier",
    "BaseXRegressor",
]

#: CausalML's constructor arguments that paretau has under other names.
_RENAMED = {
    "learner": "base",
    "outcome_learner": "base",
    "control_outcome_learner": "base",
    "treatment_outcome_learner": "base",
    "effect_learner": "effect_base",
    "treatment_effect_learner": "effect_base",
    "control_effect_learner": "effect_base",
    "propensity_learner": "propensity_base",
}


class _Facade:
    """CausalML's calls in front of one estimator of paretau's for each arm, which are in `models_`."""

    _class: Any = None

    def __init__(
        self, learner: Any = None, *, ate_alpha: float = 0.05, control_name: Any = 0, random_state: Any = 0, **params: Any
    ) -> None:
        known = self._class._get_param_names()
        own: dict[str, Any] = {"random_state": random_state}
        for name, value in {"learner": learner, **params}.items():
            target = name if name in known else _RENAMED.get(name, "")
            if value is None:
                continue
            if target not in known:
                raise UsageError(f"{type(self).__name__}: {name}= has no counterpart in paretau's {self._class.__name__}, which takes {', '.join(known)}")
            if target in own and target != "random_state" and repr(own[target]) != repr(value):
                raise UsageError(f"{type(self).__name__}: {name}= and another argument name different learners for one stage of paretau's ({target})")
            own[target] = value
        self.ate_alpha, self.control_name = ate_alpha, control_name
        self._params = own

    def fit(self, X: Any, treatment: Any, y: Any, p: Any = None, sample_weight: Any = None) -> Any:
        """Learns the effect of each arm against the control. `p` are known propensities: an array for one arm, or a
        dictionary by arm."""
        arms = np.array([_checks.arm_text(t) for t in np.asarray(treatment).ravel()])
        control = _checks.arm_text(self.control_name)
        if control not in arms:
            raise UsageError(f"control_name={self.control_name!r}: no row has this treatment; it holds {', '.join(sorted(set(arms))[:8])}")
        self.t_groups = np.array(sorted(set(arms) - {control}))
        if not len(self.t_groups):
            raise UsageError("treatment is the control in every row: the effect needs rows of another arm")
        outcome = np.asarray(y, dtype=np.float64).ravel()
        self.models_ = {}
        for arm in self.t_groups:
            part = np.flatnonzero((arms == control) | (arms == arm))
            known = p.get(arm) if isinstance(p, dict) else p
            extra = {
                "propensity": None if known is None else np.asarray(known)[part],
                "sample_weight": None if sample_weight is None else np.asarray(sample_weight)[part],
            }
            model = self._class(**self._params)
            self.models_[str(arm)] = model.fit(_rows(X, part), outcome[part], treatment=(arms[part] == arm).astype(int), **extra)
        return self

    def predict(self, X: Any, treatment: Any = None, y: Any = None, p: Any = None, return_components: bool = False) -> Any:
        """Effects of each arm, shape (n, arms); with `return_components` also outcomes without and with each, by arm."""
        self._check_fitted()
        effects = np.column_stack([model.effect(X) for model in self.models_.values()])
        if not return_components:
            return effects
        outcomes = {arm: model.predict_outcomes(X) for arm, model in self.models_.items()}
        return effects, {arm: o[:, 0] for arm, o in outcomes.items()}, {arm: o[:, 1] for arm, o in outcomes.items()}

    def fit_predict(self, X: Any, treatment: Any, y: Any, p: Any = None) -> np.ndarray:
        """`fit`, then `predict`."""
        return self.fit(X, treatment, y, p).predict(X)

    def estimate_ate(
        self, X: Any = None, treatment: Any = None, y: Any = None, p: Any = None, pretrain: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Average effect of each arm with the ends of its interval. Fits first, unless `pretrain` says that it has been done."""
        if not pretrain:
            self.fit(X, treatment, y, p)
        self._check_fitted()
        found = [model._average("ate", None, self.ate_alpha) for model in self.models_.values()]
        value, _, low, high = (np.array(part) for part in zip(*found, strict=True))
        return value, low, high

    def _check_fitted(self) -> None:
        if not hasattr(self, "models_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit, or estimate_ate without pretrain")


def _rows(X: Any, part: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[part]
    return X[part] if hasattr(X, "shape") else np.asarray(X)[part]


class BaseSRegressor(_Facade):
    """`causalml.inference.meta.BaseSRegressor`, by paretau's S-learner."""

    _class = _estimators.SLearner


class BaseTRegressor(_Facade):
    """`causalml.inference.meta.BaseTRegressor`, by paretau's T-learner."""

    _class = _estimators.TLearner


class BaseXRegressor(_Facade):
    """`causalml.inference.meta.BaseXRegressor`, by paretau's X-learner."""

    _class = _estimators.XLearner


class BaseRRegressor(_Facade):
    """`causalml.inference.meta.BaseRRegressor`, by paretau's R-learner."""

    _class = _estimators.RLearner


class BaseDRRegressor(_Facade):
    """`causalml.inference.meta.BaseDRRegressor`, by paretau's DR-learner."""

    _class = _estimators.DRLearner


# A yes/no outcome is recognised by its values: the same classes learn probabilities.
BaseSClassifier, BaseTClassifier = BaseSRegressor, BaseTRegressor
BaseXClassifier, BaseRClassifier = BaseXRegressor, BaseRRegressor
