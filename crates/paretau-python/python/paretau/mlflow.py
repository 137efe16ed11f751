"""paretau's models in MLflow: `log_model` and `save_model`, read back by `mlflow.pyfunc.load_model` or `load_model`.

The pyfunc predicts the effect of each row; `params={"what": "outcomes"}` asks for expected outcomes, "propensity" for the
probability of treatment, and "interval" for the ends of intervals (with "alpha").
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import UsageError
from ._estimator import Estimator
from ._functions import load
from ._paretau import __version__

__all__ = ["load_model", "log_model", "save_model"]

_FILE = "model.paretau"


def save_model(model: Estimator, path: str | os.PathLike[str], **options: Any) -> None:
    """Writes a fitted estimator as an MLflow model; `options` go to `mlflow.pyfunc.save_model`."""
    with tempfile.TemporaryDirectory() as folder:
        _mlflow().save_model(path=os.fspath(path), **_written(model, folder), **options)


def log_model(model: Estimator, name: str = "model", **options: Any) -> Any:
    """Logs a fitted estimator to the active run; `options` go to `mlflow.pyfunc.log_model`."""
    with tempfile.TemporaryDirectory() as folder:
        return _mlflow().log_model(name=name, **_written(model, folder), **options)


def load_model(uri: str) -> Estimator:
    """The estimator itself, from wherever MLflow keeps it."""
    loaded = _mlflow().load_model(uri)
    return loaded._model_impl.unwrap()


def _written(model: Estimator, folder: str) -> dict[str, Any]:
    file = Path(folder) / _FILE
    model.save(file)
    requirements = [f"paretau=={__version__}"]
    return {"loader_module": "paretau.mlflow", "data_path": os.fspath(file), "pip_requirements": requirements}


def _mlflow() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise UsageError("paretau.mlflow needs MLflow: pip install mlflow") from error
    return mlflow.pyfunc


class _Effects:
    """What MLflow calls."""

    def __init__(self, model: Estimator) -> None:
        self._model = model

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        """Effects of rows, or what `params` ask for."""
        asked = dict(params or {})
        what = asked.pop("what", "effect")
        if what == "effect":
            effects = self._model.const_marginal_effect(rows)
            return effects[:, 0] if effects.shape[1] == 1 else effects
        if what == "outcomes":
            return self._model.predict_outcomes(rows)
        if what == "propensity":
            return self._model.predict_propensity(rows)
        if what == "interval":
            return np.column_stack(self._model.effect_interval(rows, **asked))
        raise UsageError(f"what must be 'effect', 'outcomes', 'propensity' or 'interval', not {what!r}")

    def unwrap(self) -> Estimator:
        """The estimator itself."""
        return self._model


def _load_pyfunc(path: str) -> _Effects:
    """MLflow's way to read the model: a file, or the folder that holds it."""
    place = Path(path)
    return _Effects(load(place / _FILE if place.is_dir() else place))
