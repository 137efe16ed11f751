"""Base learners from Python: any regressor or classifier of scikit-learn's kind as `base=`."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from ._errors import UsageError
from ._paretau import lend_base, return_base

#: Probabilities closer to 0 and 1 than this are cut off: regressors overshoot, and weights divide by them.
_EDGE = 1e-3


def is_learner(value: Any) -> bool:
    """Whether a parameter's value is an object that can learn."""
    return not isinstance(value, type) and callable(getattr(value, "fit", None)) and callable(getattr(value, "predict", None))


@contextmanager
def lent(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Parameters in which learners are replaced by what the library knows them by, for as long as a fit takes."""
    handles: list[int] = []
    out = dict(params)
    try:
        for name, value in params.items():
            if isinstance(value, type) and hasattr(value, "fit"):
                raise UsageError(f"{name} is the class {value.__name__}; pass an instance, such as {value.__name__}()")
            if is_learner(value):
                handles.append(lend_base(Learner(value)))
                out[name] = {"name": "python", "params": {"handle": handles[-1], "learner": _words(value)}}
        yield out
    finally:
        for handle in handles:
            return_base(handle)


def _words(learner: Any) -> str:
    text = " ".join(repr(learner).split())
    return text if len(text) <= 80 else type(learner).__name__


def _matrix(x: dict[str, Any]) -> Any:
    if "indptr" in x:
        from scipy.sparse import csr_matrix

        return csr_matrix((x["values"], x["indices"], x["indptr"].astype(np.int64)), shape=x["shape"])
    return x["values"].reshape(x["shape"])


class Learner:
    """A learner that has not learned: every fit is of a copy."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, x: dict[str, Any], y: np.ndarray, weight: np.ndarray | None, probability: bool, seed: int) -> Fitted:
        """Fits a copy. A classifier gives probabilities; a regressor means, or probabilities cut off at the edges."""
        own = _copy(self.learner)
        if getattr(own, "random_state", 0) is None:
            # The same seed gives the same bits, whatever the threads.
            own.set_params(random_state=seed)
        has_probabilities = hasattr(own, "predict_proba")
        if not probability and has_probabilities:
            raise UsageError(
                f"{type(own).__name__} is a classifier, but this stage learns a mean; pass a regressor here, and the "
                "classifier as propensity_base="
            )
        if probability and has_probabilities:
            if (y == y[0]).all():
                return Fitted(None, "constant", float(np.clip(y[0], _EDGE, 1.0 - _EDGE)))
            target = y.astype(np.int64)
        else:
            target = y
        extra = {} if weight is None else {"sample_weight": weight}
        if extra and "sample_weight" not in inspect.signature(own.fit).parameters:
            raise UsageError(f"{type(own).__name__} takes no sample_weight, which this stage needs; choose another learner")
        own.fit(_matrix(x), target, **extra)
        kind = ("classifier" if has_probabilities else "share") if probability else "mean"
        return Fitted(own, kind, 0.0)


class Fitted:
    """A learner that has learned."""

    def __init__(self, learner: Any, kind: str, constant: float) -> None:
        self.learner, self.kind, self.constant = learner, kind, constant

    def predict(self, x: dict[str, Any]) -> np.ndarray:
        """A finite number for each row."""
        if self.kind == "constant":
            return np.full(x["shape"][0], self.constant)
        rows = _matrix(x)
        if self.kind == "classifier":
            classes = list(self.learner.classes_)
            found = np.asarray(self.learner.predict_proba(rows))[:, classes.index(1)]
        else:
            found = np.asarray(self.learner.predict(rows))
        found = np.ascontiguousarray(found, dtype=np.float64).ravel()
        if found.shape != (x["shape"][0],):
            raise UsageError(f"{type(self.learner).__name__} predicted {found.size} numbers for {x['shape'][0]} rows")
        if not np.isfinite(found).all():
            raise UsageError(f"{type(self.learner).__name__} predicted a number that is not finite")
        return found if self.kind == "mean" else np.clip(found, _EDGE, 1.0 - _EDGE)

    def dumps(self) -> bytes:
        """Its pickle, which goes into the estimator's."""
        return pickle.dumps(self)


def loads(text: bytes) -> Fitted:
    """A learner from its pickle; only an estimator's own pickle leads here."""
    return pickle.loads(text)


def _copy(learner: Any) -> Any:
    try:
        from sklearn.base import clone
    except ImportError:
        return deepcopy(learner)
    try:
        return clone(learner)
    except TypeError:  # has fit and predict, but is no scikit-learn estimator
        return deepcopy(learner)
