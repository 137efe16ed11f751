"""Metrics of predicted effects, on arrays. One function for each metric of the library, made from its own list.

What a function takes follows from what its metric needs:

- the truth of a simulation: `pehe(true_effect, effect)`
- nothing but the effects: `ate(effect)`
- observed rows: `auuc(effect, y, treatment=t)`
- nuisance predictions, made by models that did not see the rows: `qini(effect, y, treatment=t, mu0=…, mu1=…,
  propensity=…)`, where `m=…` (the expected outcome, treatment not looked at) may stand for `mu0` and `mu1` in
  `r_score` and the calibrations
- encoders: `encoder_instrument(estimator.feature_roles_)`, for data whose first third of the features are instruments,
  the second confounders, the last adjusters

All return a float; with `with_error=True` a pair of the value and its standard error (None where there is none).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _checks, _paretau
from ._arguments import seed_from
from ._errors import DataError, UsageError

#: Metrics that read the nuisance `m` but neither `mu0` nor `mu1`.
_READS_M_ONLY = ("r_score", "calibration", "calibration_mean")


def _finish(name: str, with_error: bool, effect: Any, **evidence: Any) -> Any:
    found = _paretau.metric(name, _checks.numbers("effect", effect), **evidence)
    if found is None:
        raise DataError(f"{name} is not defined here: the effect (predicted or true) does not vary")
    return found if with_error else found[0]


def _of_truth(name: str) -> Callable[..., Any]:
    def metric(true_effect: Any, effect: Any, *, with_error: bool = False) -> Any:
        return _finish(name, with_error, effect, truth=_checks.numbers("true_effect", true_effect))

    return metric


def _of_effects(name: str) -> Callable[..., Any]:
    def metric(effect: Any, *, with_error: bool = False) -> Any:
        return _finish(name, with_error, effect)

    return metric


def _rows(y: Any, treatment: Any, n: int, sample_weight: Any, random_state: Any) -> dict[str, Any]:
    outcome = _checks.numbers("y", y, n)
    arms = _checks.treatment_column(treatment, n, outcome).astype(np.uint8)
    return {
        "rows": (arms, outcome),
        "weight": _checks.weights("sample_weight", sample_weight, n),
        "seed": seed_from(random_state),
    }


def _of_rows(name: str) -> Callable[..., Any]:
    def metric(
        effect: Any, y: Any, *, treatment: Any, sample_weight: Any = None, random_state: Any = 0, with_error: bool = False
    ) -> Any:
        return _finish(name, with_error, effect, **_rows(y, treatment, len(effect), sample_weight, random_state))

    return metric


def _of_nuisance(name: str) -> Callable[..., Any]:
    def metric(
        effect: Any,
        y: Any,
        *,
        treatment: Any,
        propensity: Any,
        mu0: Any = None,
        mu1: Any = None,
        m: Any = None,
        sample_weight: Any = None,
        random_state: Any = 0,
        with_error: bool = False,
    ) -> Any:
        n = len(effect)
        e = _checks.weights("propensity", propensity, n)
        if e is None:
            raise UsageError(f"{name} needs propensity=…")
        if mu0 is not None and mu1 is not None:
            arms = _checks.numbers("mu0", mu0, n), _checks.numbers("mu1", mu1, n)
            mean = _checks.numbers("m", m, n) if m is not None else arms[0] + e * (arms[1] - arms[0])
        elif m is not None and name in _READS_M_ONLY:
            mean = _checks.numbers("m", m, n)
            arms = mean, mean
        else:
            instead = " (or m=…)" if name in _READS_M_ONLY else ""
            raise UsageError(f"{name} needs expected outcomes of both arms: mu0=…, mu1=…{instead}")
        nuisance = [mean, *arms, e]
        rows = _rows(y, treatment, n, sample_weight, random_state)
        return _finish(name, with_error, effect, nuisance=nuisance, **rows)

    return metric


def _of_encoders(name: str) -> Callable[..., Any]:
    def metric(feature_roles: list[dict[str, Any]], *, with_error: bool = False) -> Any:
        found = _paretau.metric(name, np.zeros(1), encoders=json.dumps(feature_roles))
        if found is None:
            raise DataError(f"{name} needs the encoders of an estimator that has them, and at least three features")
        return found if with_error else found[0]

    return metric


_MAKERS = {
    "truth": _of_truth,
    "effects": _of_effects,
    "rows": _of_rows,
    "nuisance": _of_nuisance,
    "encoders": _of_encoders,
}
_BETTER = {
    "lower": "Lower is better.",
    "higher": "Higher is better.",
    "near_one": "1 is best.",
    "neither": "It describes, it does not rank.",
}

#: Facts about each metric: name, summary, which way is better, what it needs.
METRICS: list[dict[str, str]] = json.loads(_paretau.list_metrics())

__all__ = ["METRICS"]
for _fact in METRICS:
    _function = _MAKERS[_fact["needs"]](_fact["name"])
    _function.__name__ = _function.__qualname__ = _fact["name"]
    _function.__doc__ = f"{_fact['summary'][0].upper()}{_fact['summary'][1:]}. {_BETTER[_fact['better']]}"
    globals()[_fact["name"]] = _function
    __all__.append(_fact["name"])
