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
from .._errors import DataError, UsageError
from .._inference import Coefficients, EffectInference
from .._shap import Explanation

__all__ = [
    "CausalForestDML",
    "DRLearner",
    "ForestDRLearner",
    "LinearDML",
    "LinearDRLearner",
    "NonParamDML",
    "SLearner",
    "SparseLinearDML",
    "TLearner",
    "XLearner",
]

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
        self._learned(X)
        return self

    def _learned(self, X: Any) -> None:
        """What a class keeps of the features of its training rows."""

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

    def const_marginal_effect_interval(
        self, X: Any = None, *, alpha: float = 0.05, W: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals of every arm's effect, each of shape (n, arms - 1)."""
        rows, own = self._joined(X, W), self.estimator_
        found = [own.effect_interval(rows, alpha, T1=arm) for arm in own.arms_[1:]]
        return np.column_stack([low for low, _ in found]), np.column_stack([high for _, high in found])

    def shap_values(
        self, X: Any = None, *, background_samples: int = 100, W: Any = None
    ) -> dict[str, dict[str, Explanation]]:
        """Shapley values of the effect of each arm, as EconML nests them: `shap_values(X)["Y0"]["T0_1"]`; `to_shap()` of one of
        them makes the shap package's object."""
        rows, own = self._joined(X, W), self.estimator_
        part = rows.iloc[:background_samples] if hasattr(rows, "iloc") else np.asarray(rows)[:background_samples]
        return {"Y0": {f"T0_{arm}": own.shap_values(rows, background=part, arm=arm) for arm in own.arms_[1:]}}

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


class _Line(_Facade):
    """An effect that is a line in `X`, with coefficients that are not shrunken.

    They are the projection of the effect on a constant and the columns of `X`: least squares of the training rows' doubly robust
    scores, with HC3 errors. Predictions are those of the estimator, whose line is shrunken.
    """

    _lines: dict[str, Coefficients] | DataError

    def _learned(self, X: Any) -> None:
        own = self.estimator_
        try:
            self._lines = {arm: own.best_linear_projection(X, arm=arm) for arm in own.arms_[1:]}
        except DataError as error:  # the effect is there nevertheless; whoever asks for coefficients hears why there are none
            self._lines = error

    def coef__inference(self, *, T: Any = None) -> Coefficients:
        """Coefficients of the columns of `X` with standard errors, intervals and p-values, of arm `T` or the first."""
        line = self._line(T)
        return Coefficients(line.names[1:], line.point_estimate[1:], line.stderr[1:])

    def intercept__inference(self, *, T: Any = None) -> Coefficients:
        """The constant with its standard error, interval and p-value, of arm `T` or the first."""
        line = self._line(T)
        return Coefficients(line.names[:1], line.point_estimate[:1], line.stderr[:1])

    def coef__interval(self, *, alpha: float = 0.05, T: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the coefficients' intervals."""
        return self.coef__inference(T=T).conf_int(alpha)

    def intercept__interval(self, *, alpha: float = 0.05, T: Any = None) -> tuple[float, float]:
        """Ends of the constant's interval."""
        low, high = self.intercept__inference(T=T).conf_int(alpha)
        return float(low[0]), float(high[0])

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the columns of `X`; of several arms one row each."""
        return self._of_arms(lambda line: line.point_estimate[1:])

    @property
    def intercept_(self) -> Any:
        """The constant; of several arms one each."""
        found = self._of_arms(lambda line: line.point_estimate[0])
        return float(found) if found.ndim == 0 else found

    def summary(self) -> str:
        """The fit in a dozen lines, and the coefficients."""
        own = self.estimator_
        if isinstance(getattr(self, "_lines", None), DataError):
            return f"{own.summary()}\n\nno coefficients: {self._lines}"
        tables = [f"effect of {arm!r} against {own.arms_[0]!r}:\n{line}" for arm, line in self._fitted_lines().items()]
        return "\n\n".join([own.summary(), *tables])

    def _of_arms(self, number: Any) -> np.ndarray:
        found = [number(line) for line in self._fitted_lines().values()]
        return np.asarray(found[0] if len(found) == 1 else found)

    def _line(self, arm: Any) -> Coefficients:
        place = self.estimator_._arm_place(arm)
        return self._fitted_lines()[self.estimator_.arms_[place]]

    def _fitted_lines(self) -> dict[str, Coefficients]:
        self.estimator_._check_fitted()
        if isinstance(self._lines, DataError):
            raise self._lines
        return self._lines


class LinearDML(_Line):
    """`econml.dml.LinearDML`, by the R-learner with a line for the effect."""

    _class = _estimators.RLearner

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"effect_base": "ridge", **params})


class SparseLinearDML(_Line):
    """`econml.dml.SparseLinearDML`, by the R-learner with a sparse line for the effect."""

    _class = _estimators.RLearner

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"effect_base": "lasso", **params})


class LinearDRLearner(_Line):
    """`econml.dr.LinearDRLearner`, by the DR-learner with a line for the effect."""

    _class = _estimators.DRLearner

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"effect_base": "ridge", **params})


class ForestDRLearner(_Facade):
    """`econml.dr.ForestDRLearner`, by the DR-learner with a forest for the effect."""

    _class = _estimators.DRLearner

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"effect_base": "forest", **params})


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
