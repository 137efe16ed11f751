"""paretau's estimators with EconML's signatures: `fit(Y, T, X=, W=)`, `effect(X, T0=, T1=)`, `ate_inference` and so on.

>>> import paretau
>>> from paretau.compat.econml import CausalForestDML
>>> data = paretau.make_synthetic(n=400, d=6, random_state=0)
>>> est = CausalForestDML(n_estimators=48, random_state=0).fit(data.y, data.treatment, X=data.X)
>>> est.const_marginal_effect(data.X).shape
(400, 1)

Constructors take paretau's parameters; of EconML's, `model_y`, `model_t`, `model_regression`, `model_propensity`, `models`,
`propensity_model`, `model_final` and `overall_model` are taken where the estimator has a base learner for that stage. What has
no counterpart is refused by name. Controls `W` are adjusted for like features: effects may depend on them, and prediction needs
them, so pass `W` to the effect methods, too. The control is the first of the `categories`, by default of the treatment's values in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _estimators
from .._errors import UsageError
from .._inference import EffectInference

__all__ = ["CausalForestDML", "DRLearner", "LinearDML", "NonParamDML", "SLearner", "TLearner", "XLearner"]

#: EconML's constructor arguments that paretau has under other names.
_RENAMED = {
    "models": "base",
    "overall_model": "base",
    "model_y": "base",
    "model_regression": "base",
    "model_t": "propensity_base",
    "model_propensity": "propensity_base",
    "propensity_model": "propensity_base",
    "model_final": "effect_base",
    "cate_models": "effect_base",
}
#: Those that are taken where they say what holds here anyway.
_GRANTED: dict[str, tuple[Any, ...]] = {
    "discrete_treatment": (True,),
    "discrete_outcome": (True, False),
    "featurizer": (None,),
    "treatment_featurizer": (None,),
    "fit_cate_intercept": (True,),
    "allow_missing": (True, False),
    "mc_iters": (None,),
    "mc_agg": ("mean",),
}


class _Facade:
    """EconML's calls in front of an estimator of paretau's, which is `estimator_`."""

    _class: Any = None

    def __init__(self, *, categories: Any = "auto", **params: Any) -> None:
        self._categories = categories
        known = self._class._get_param_names()
        own: dict[str, Any] = {}
        for name, value in params.items():
            target = name if name in known else _RENAMED.get(name, "")
            if target in known:
                if value is not None and not (isinstance(value, str) and value == "auto"):
                    own[target] = _one(name, value) if name in _RENAMED else value
            elif not any(value is granted or (isinstance(value, str) and value == granted) for granted in _GRANTED.get(name, ())):
                raise UsageError(
                    f"{type(self).__name__}: {name}={value!r} has no counterpart in paretau's {self._class.__name__}, which "
                    f"takes {', '.join(known)}"
                )
        self.estimator_ = self._class(**own)

    def fit(
        self,
        Y: Any,
        T: Any,
        *,
        X: Any = None,
        W: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        cache_values: bool = False,
        inference: Any = None,
    ) -> Any:
        """Learns the effect of `T` on `Y` given `X`, adjusting for `W`. `inference="bootstrap"` refits for intervals."""
        bootstrap = inference is not None and inference != "auto"
        own = self.estimator_
        rows = self._joined(X, W)
        ready = {"sample_weight": sample_weight, "groups": groups, "intervals": 40 if bootstrap else None}
        arms = np.asarray(T).ravel()
        own.fit(rows, np.asarray(Y).ravel(), treatment=arms, control=self._control_of(arms), **ready)
        return self

    def _control_of(self, arms: np.ndarray) -> Any:
        """EconML's control: the first of the categories, or of the treatment's values in their order."""
        if not isinstance(self._categories, str):
            return list(self._categories)[0]
        return None if arms.dtype.kind in "biuf" and (arms == 0).any() else np.unique(arms)[0]

    def effect(self, X: Any = None, *, T0: Any = 0, T1: Any = 1, W: Any = None) -> np.ndarray:
        """Effect of going from arm `T0` to arm `T1`, shape (n,)."""
        return self.estimator_.effect(self._joined(X, W), T0=T0, T1=T1)

    def const_marginal_effect(self, X: Any = None, *, W: Any = None) -> np.ndarray:
        """Effect of every arm against the control, shape (n, arms - 1)."""
        return self.estimator_.const_marginal_effect(self._joined(X, W))

    def effect_interval(
        self, X: Any = None, *, T0: Any = 0, T1: Any = 1, alpha: float = 0.05, W: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals of each row's effect."""
        return self.estimator_.effect_interval(self._joined(X, W), alpha, T0=T0, T1=T1)

    def effect_inference(self, X: Any = None, *, T0: Any = 0, T1: Any = 1, W: Any = None) -> EffectInference:
        """Effects with standard errors, p-values and `summary_frame()`."""
        return self.estimator_.effect_inference(self._joined(X, W), T0=T0, T1=T1)

    def ate(self, X: Any = None, *, T0: Any = 0, T1: Any = 1, W: Any = None) -> float:
        """Mean effect of the rows of `X`; without `X` the doubly robust average over the training rows."""
        if X is None:
            self.estimator_._pair_with_control(T0, T1)
            return self.estimator_.ate(arm=T1)
        return float(np.mean(self.effect(X, T0=T0, T1=T1, W=W)))

    def ate_interval(self, X: Any = None, *, T0: Any = 0, T1: Any = 1, alpha: float = 0.05) -> tuple[float, float]:
        """Interval of the doubly robust average over the training rows, the rows for which one is known."""
        self._refuse_rows(X, "ate_interval")
        self.estimator_._pair_with_control(T0, T1)
        return self.estimator_.ate_interval(alpha, arm=T1)

    def ate_inference(self, X: Any = None, *, T0: Any = 0, T1: Any = 1) -> EffectInference:
        """The doubly robust average over the training rows with its standard error."""
        self._refuse_rows(X, "ate_inference")
        self.estimator_._pair_with_control(T0, T1)
        value, error, _, _ = self.estimator_._average("ate", T1)
        return EffectInference(np.array([value]), np.array([error]))

    def score(self, Y: Any, T: Any, X: Any = None, W: Any = None, sample_weight: Any = None) -> float:
        """The R-loss on rows that were kept aside; lower is better, as EconML's residual loss."""
        rows = self._joined(X, W)
        own = self.estimator_
        return -own.score(rows, np.asarray(Y).ravel(), treatment=np.asarray(T).ravel(), sample_weight=sample_weight)

    def summary(self) -> str:
        """The fit in a dozen lines."""
        return self.estimator_.summary()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in telling effects apart."""
        return self.estimator_.feature_importances_

    def _refuse_rows(self, X: Any, name: str) -> None:
        if X is not None:
            raise UsageError(f"{name}: the uncertainty is known of the average over the training rows; leave X out")

    @staticmethod
    def _joined(X: Any, W: Any) -> Any:
        if X is None and W is None:
            raise UsageError("X and W are both None: pass the features that the effect may depend on as X")
        if X is None or W is None:
            return X if W is None else W
        if hasattr(X, "columns") and hasattr(W, "columns") and hasattr(X, "join"):
            return X.join(W)
        return np.column_stack([np.asarray(X), np.asarray(W)])


def _one(name: str, value: Any) -> Any:
    """The learner of a stage; EconML takes one for each arm, here both arms have the same."""
    if not isinstance(value, (list, tuple)):
        return value
    if len({repr(learner) for learner in value}) != 1:
        raise UsageError(f"{name}: the learners of the arms differ; here one learner is copied for both")
    return value[0]


class CausalForestDML(_Facade):
    """`econml.dml.CausalForestDML`, by paretau's of that name."""

    _class = _estimators.CausalForestDML


class NonParamDML(_Facade):
    """`econml.dml.NonParamDML`, by the R-learner."""

    _class = _estimators.RLearner


class LinearDML(_Facade):
    """`econml.dml.LinearDML`, by the R-learner with a line for the effect."""

    _class = _estimators.RLearner

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"effect_base": "ridge", **params})


class DRLearner(_Facade):
    """`econml.dr.DRLearner`, by paretau's DR-learner."""

    _class = _estimators.DRLearner


class SLearner(_Facade):
    """`econml.metalearners.SLearner`, by paretau's."""

    _class = _estimators.SLearner


class TLearner(_Facade):
    """`econml.metalearners.TLearner`, by paretau's."""

    _class = _estimators.TLearner


class XLearner(_Facade):
    """`econml.metalearners.XLearner`, by paretau's."""

    _class = _estimators.XLearner
