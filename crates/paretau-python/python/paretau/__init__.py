"""paretau: who does a treatment work for, by how much, and how far can the answer be trusted?

>>> import paretau
>>> data = paretau.make_synthetic(n=500, d=6, random_state=0)
>>> model = paretau.LinearEffect(random_state=0).fit(data.X, data.y, treatment=data.treatment)
>>> model.effect(data.X).shape
(500,)
"""

from __future__ import annotations

from . import _estimators, cluster, executors, kernels, metrics
from ._decisions import Policy, Roles, policy_tree, refute, roles, sensitivity_analysis
from ._errors import (
    DataError,
    DataWarning,
    FileError,
    InputTypeError,
    InternalError,
    MissingFileError,
    ModelFileError,
    NotFittedError,
    NumericError,
    ParetauError,
    SchemaError,
    UsageError,
)
from ._estimator import Estimator
from ._estimators import *  # noqa: F403 (one class per family; the list is generated)
from ._functions import Simulated, describe, fit, list_estimators, load, make_estimator, make_synthetic, simulate
from ._inference import Coefficients, EffectInference, Ranking
from ._paretau import __version__
from ._studies import Comparison, Tuned, compare, run, tune
from .cluster import score_batches
from .executors import ClusterError

__all__ = [
    "ClusterError",
    "Coefficients",
    "Comparison",
    "DataError",
    "DataWarning",
    "EffectInference",
    "Estimator",
    "FileError",
    "InputTypeError",
    "InternalError",
    "MissingFileError",
    "ModelFileError",
    "NotFittedError",
    "NumericError",
    "ParetauError",
    "Policy",
    "Ranking",
    "Roles",
    "SchemaError",
    "Simulated",
    "Tuned",
    "UsageError",
    "__version__",
    "cluster",
    "compare",
    "describe",
    "executors",
    "fit",
    "kernels",
    "list_estimators",
    "load",
    "make_estimator",
    "make_synthetic",
    "metrics",
    "policy_tree",
    "refute",
    "roles",
    "run",
    "score_batches",
    "sensitivity_analysis",
    "simulate",
    "tune",
    *_estimators.__all__,
]
