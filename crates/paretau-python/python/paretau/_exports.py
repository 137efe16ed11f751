"""Fitted models for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any


class Exports:
    """What leaves a fitted estimator for elsewhere."""

    model_: Any

    if TYPE_CHECKING:  # what the estimator, whose part this is, brings

        def _check_fitted(self) -> None: ...

    def to_onnx(
        self, path: str | os.PathLike[str] | None = None, *, outcomes: bool = False, inputs: str = "double"
    ) -> bytes:
        """The model as ONNX, for onnxruntime and whatever else reads it; written to `path` when one is given.

        Output `effect` has a column per arm against the control, and with `outcomes=True` output `outcomes` has a column per
        arm. After a fit on an array the input is the matrix `X`; after a fit on a data frame there is an input of shape
        (rows, 1) per column, under the column's name: numbers, dates as days since 1970, or text (empty where it is missing).
        `inputs` is "double" or "float". Computation is in double precision: the effect is that of `effect` to about 1e-9, of
        networks, which compute in single precision here, to about 1e-6. Needs no other package; running it needs an
        onnxruntime of version 1.20 or later. Base learners of scikit-learn's kind are refused.
        """
        from . import _onnx

        self._check_fitted()
        model = _onnx.export(self, outcomes=outcomes, inputs=inputs)
        if path is not None:
            Path(path).write_bytes(model)
        return model
