"""Data and estimators that the tests share."""

from __future__ import annotations

import numpy as np
import paretau
import pytest
from paretau import _estimators

#: Budgets for tests: whoever has one of these parameters runs with less than its default.
SMALL = {
    "effort": "quick",
    "members": 1,
    "n_estimators": 40,
    "max_steps": 60,
    "encoder": (16,),
    "heads": (16,),
    "propensity": (16,),
}

CLASSES = [getattr(_estimators, name) for name in _estimators.__all__]


def small(cls, **params):
    """An estimator of a class with a budget that fits a test."""
    known = cls._get_param_names()
    return cls(**{**{k: v for k, v in SMALL.items() if k in known}, **params})


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def estimator(request):
    """Every class of the registry in turn."""
    return small(request.param)


class Data:
    """A small randomised study with a known effect `1 + x0`."""

    def __init__(self, n: int = 240, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 5))
        self.treatment = rng.integers(0, 2, n)
        self.effect = 1.0 + self.X[:, 0]
        self.y = self.X[:, 1] + self.treatment * self.effect + 0.3 * rng.normal(size=n)


@pytest.fixture(scope="session")
def data():
    """The small study."""
    return Data()


@pytest.fixture(scope="session")
def fitted(data):
    """A quick fitted estimator."""
    return paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
