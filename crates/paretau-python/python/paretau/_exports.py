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
        """The model as ONNX, for onnxruntime and whatever else reads it.

        Parameters
        ----------
        path : path, optional
            Where to write it.
        outcomes : bool, default False
            Whether there is an output `outcomes` with a column per arm, beside `effect` with one per arm against the control.
        inputs : {"double", "float"}, default "double"
            Precision of the inputs.

        Returns
        -------
        bytes

        Notes
        -----
        After a fit on an array the input is the matrix `X`; after a fit on a data frame there is an input of shape (rows, 1) per column,
        under the column's name: numbers, dates as days since 1970, or text (empty where it is missing). Computation is in double
        precision: the effect is that of `effect` to about 1e-9, of networks, which compute in single precision here, to about 1e-6.
        Needs no other package; running it needs an onnxruntime of version 1.20 or later. Base learners of scikit-learn's kind are refused.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> len(est.to_onnx()) > 100
        True
        """
        from . import _onnx

        self._check_fitted()
        model = _onnx.export(self, outcomes=outcomes, inputs=inputs)
        if path is not None:
            Path(path).write_bytes(model)
        return model
