"""Predictions as the caller wants them: arrays, or frames with the rows' labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import UsageError

KINDS = ("default", "pandas", "polars", "input")


class Output:
    """`set_output`, as scikit-learn's transformers have it, for predictions."""

    def set_output(self, *, transform: str | None = None) -> Any:
        """In what predictions come.

        Parameters
        ----------
        transform : {"default", "pandas", "polars", "input"}, optional
            "default" is numpy, and "input" whichever of the others `X` was. One number per row becomes a series, several a data frame;
            pandas' keep the index of `X`. None changes nothing.

        Returns
        -------
        self

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.set_output(transform="pandas").effect(data.X[:4]).name
        'effect'
        """
        if transform is None:
            return self
        if transform not in KINDS:
            raise UsageError(f"transform must be one of {', '.join(map(repr, KINDS))}, not {transform!r}")
        self._sklearn_output_config = {"transform": transform}  # the name by which `clone` takes it along
        return self

    def _shown(self, values: np.ndarray, X: Any, names: list[str]) -> Any:
        """Predictions in what was asked for; `names` are those of the columns."""
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if wanted == "input":
            module = type(X).__module__.split(".")[0]
            wanted = module if module in ("pandas", "polars") else "default"
        if wanted == "default":
            return values
        if wanted == "pandas":
            import pandas as pd

            index = X.index if isinstance(X, (pd.DataFrame, pd.Series)) else None
            if values.ndim == 1:
                return pd.Series(values, index=index, name=names[0])
            return pd.DataFrame(values, index=index, columns=names)
        import polars as pl

        if values.ndim == 1:
            return pl.Series(names[0], values)
        return pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})
