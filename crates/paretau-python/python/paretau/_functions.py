"""Functions of the package: fitting by registry name, loading, lists, simulated data."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _estimators, _frames, _paretau, _tables
from ._arguments import seed_from, threads
from ._errors import InputTypeError, UsageError
from ._estimator import Estimator


def list_estimators(family: str | None = None) -> list[str]:
    """Registry names of all estimators, or of those of one family."""
    return [d["name"] for d in json.loads(_paretau.describe_all()) if family in (None, d["family"])]


def describe(name: str) -> dict[str, Any]:
    """An estimator's name, class, summary, reference and parameters with defaults and ranges."""
    return json.loads(_paretau.describe(name))


def make_estimator(name: str, **params: Any) -> Estimator:
    """An unfitted estimator by registry name or alias, e.g. `"dpsw-norm"`, with that entry's defaults."""
    facts = describe(name)
    cls = getattr(_estimators, facts["class"], None)
    if cls is None:
        raise UsageError(f"`{name}` has no Python class {facts['class']}: the generated classes are out of date")
    return cls(**{**cls._presets[facts["name"]], **params})


def fit(
    estimator: str,
    data: Any,
    *,
    treatment: str,
    outcome: str,
    features: list[str] | None = None,
    ignore: list[str] | None = None,
    weight: str | None = None,
    propensity: str | None = None,
    group: str | None = None,
    id: str | None = None,
    treated_value: Any = None,
    control_value: Any = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: list[str] | str | None = None,
    numeric: list[str] | str | None = None,
    categorical: list[str] | str | None = None,
    date_order: str | None = None,
    sheet: str | None = None,
    block_rows: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
    **params: Any,
) -> Estimator:
    """Fits an estimator, by registry name, to a data frame whose columns are named, or to a file.

    Columns that look like the truth of a simulation (`mu0`, `tau`, …) are no features unless listed in `features`,
    which also takes patterns such as `"x_*"`. Estimators that take several arms take every value of the treatment for
    one when `treated_value` is not given, and `control_value` is the one that the others are compared with. Rows
    without treatment or outcome are left out and counted in `notes_`.

    A path is read as the command line reads it: `decimal` and `thousands` are the marks in its numbers, `na` further marks
    of missing cells, `numeric` columns of numbers whose other cells count as missing, `categorical` columns of categories,
    `date_order` is "dmy", "mdy" or "ymd", and `sheet` that of a workbook. What is not given is found from the cells.

    With `block_rows`, a Parquet, Arrow or delimited file, a folder or a glob of any size is fitted in blocks of about so many rows,
    which are kept in the folder `scratch` (the system's temporary one unless another is named) while they are fitted.

    Other keywords are parameters of the estimator, and `random_state`, `n_jobs`, `verbose`.
    """
    if block_rows is None and scratch is not None:
        raise UsageError("scratch is where blocks of rows are kept: give block_rows as well")
    if block_rows is not None and not is_path(data):
        raise UsageError("block_rows is for the path of a file, a folder or a glob; data that are in memory need no blocks")
    roles = named_roles(
        treatment=treatment,
        outcome=outcome,
        features=features,
        ignore=ignore,
        weight=weight,
        propensity=propensity,
        group=group,
        id=id,
        treated_value=treated_value,
        control_value=control_value,
    )
    reading = reading_options(
        decimal=decimal, thousands=thousands, na=na, numeric=numeric, categorical=categorical, date_order=date_order, sheet=sheet
    )
    model = make_estimator(estimator, **params)
    if block_rows is not None:
        folder = tempfile.gettempdir() if scratch is None else os.fspath(scratch)
        model._fit_blocks(os.fspath(data), roles, reading | ({} if id is None else {"id": id}), int(block_rows), folder)
        _adopt_names(model, model.model_.input_names())
        model._treatment_column = treatment
        model._weights = (None, None)
        return model
    model._fit_table(named_table(data, reading, id), roles)
    _adopt_names(model, model.model_.input_names())
    model._treatment_column = treatment
    if treated_value is None:
        again = named_table(data, reading, id, set(model._names) | {treatment})
        model._keep_weights(model.model_.predict(again, propensity=True, n_jobs=threads(model.n_jobs)))
    return model


def named_roles(
    *,
    treatment: str,
    outcome: str,
    features: list[str] | None = None,
    ignore: list[str] | None = None,
    treated_value: Any = None,
    control_value: Any = None,
    **named: str | None,
) -> dict[str, Any]:
    """Which columns of a data frame play which role, as the library reads it."""
    roles: dict[str, Any] = {"treatment": treatment, "outcome": outcome, "features": features, "ignore": ignore or []}
    text = {"treated_value": treated_value, "control_value": control_value}
    roles |= {key: value for key, value in named.items() if value is not None}
    return roles | {key: _cell(value) for key, value in text.items() if value is not None}


def reading_options(**given: Any) -> dict[str, Any]:
    """The options of reading a file that were given, lists as such."""
    given = {name: value for name, value in given.items() if value is not None}
    for name in {"na", "numeric", "categorical"} & given.keys():
        given[name] = [given[name]] if isinstance(given[name], str) else list(given[name])
    for name in {"decimal", "thousands"} & given.keys():
        if len(given[name]) != 1:
            raise UsageError(f"{name} must be one character, not {given[name]!r}")
    return given


def is_path(data: Any) -> bool:
    """Whether the data are a file's path."""
    return isinstance(data, (str, os.PathLike))


def named_table(data: Any, reading: dict[str, Any], id: str | None = None, wanted: set[str] | None = None) -> _paretau.Table:
    """A frame, or those of its columns that are `wanted`, or a file, as a table."""
    if is_path(data):
        return _paretau.Table.read(os.fspath(data), json.dumps(reading | ({} if id is None else {"id": id})))
    if reading:
        raise UsageError(f"{', '.join(sorted(reading))}: how to read a file; the data are a {type(data).__name__}, which has been read")
    rows = named_rows(data) if wanted is None else _tables.read(data, wanted)
    table = _paretau.Table()
    rows.add_to(table, rows.names or [])
    return table


def named_rows(data: Any) -> _tables.Input:
    """The columns of a data frame, which must have names."""
    if not _frames.is_frame(data):
        raise InputTypeError(f"data must be a data frame (pandas, polars, pyarrow or an Arrow stream) or the path of a file, not {type(data).__name__}")
    rows = _tables.read(data)
    if rows.names is None:
        raise UsageError("the columns of data have no names")
    return rows


def load(path: str | os.PathLike[str]) -> Estimator:
    """A fitted estimator from its model file, whether Python or the command line wrote it. Runs no code of the file."""
    model = _paretau.Model.load(os.fspath(path))
    about = json.loads(model.about())
    estimator = make_estimator(about["estimator"])
    known = estimator.get_params(deep=False)
    own = {k: tuple(v) if isinstance(v, list) else v for k, v in about["params"].items() if k in known}
    if "validation_fraction" in known:
        own["validation_fraction"] = about["valid_share"]
    estimator.set_params(random_state=about["seed"], **own)
    estimator.model_ = model
    estimator._adopt_facts()
    names = model.encoded_names() if model.reads_sparse() else about["roles"]["features"] or model.input_names()
    if any("*" in name or "?" in name for name in names):
        names = model.input_names()
    # A matrix had no names at fit; the ones that it was given are x1, x2, … in order. Columns of a frame or file may be called so,
    # too, and the model does not tell: a frame with such names is then read by name, anything else by place.
    if names == [f"x{j}" for j in range(1, len(names) + 1)]:
        estimator._names = list(names)
        estimator.n_features_in_ = len(names)
        estimator._may_have_names = True
    else:
        _adopt_names(estimator, names)
    estimator._treatment_column = None
    return estimator


@dataclass(frozen=True)
class Simulated:
    """A simulated data set with its truth."""

    X: Any
    treatment: np.ndarray
    y: np.ndarray
    mu0: np.ndarray
    mu1: np.ndarray
    propensity: np.ndarray
    feature_names: list[str]

    @property
    def effect(self) -> np.ndarray:
        """The true effect of each row."""
        return self.mu1 - self.mu0

    def frame(self) -> Any:
        """Columns `t, y, mu0, mu1, e` and the features as a pandas data frame."""
        import pandas as pd

        x = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        truth = {"t": self.treatment, "y": self.y, "mu0": self.mu0, "mu1": self.mu1, "e": self.propensity}
        return pd.DataFrame({**truth, **{name: x[:, j] for j, name in enumerate(self.feature_names)}})


def make_synthetic(n: int = 1000, d: int = 15, noise: float = 1.0, random_state: Any = 0, **params: Any) -> Simulated:
    """The paper's study: instruments, confounders and adjustment variables in equal thirds of `d` features."""
    return simulate("synthetic", n=n, d=d, noise=noise, random_state=random_state, **params)


def simulate(process: str, *, random_state: Any = 0, **params: Any) -> Simulated:
    """Draws a data set from a process with a known truth (`paretau list simulators` names them)."""
    made = _paretau.simulate(process, json.dumps(params), seed_from(random_state))
    shape = (len(made["y"]), len(made["names"]))
    if "x" in made:
        x: Any = made["x"].reshape(shape)
    else:
        from scipy.sparse import csr_matrix

        x = csr_matrix((made["x_values"], made["x_indices"], made["x_indptr"]), shape=shape)
    return Simulated(x, made["t"], made["y"], made["mu0"], made["mu1"], made["e"], made["names"])


def _adopt_names(estimator: Estimator, names: list[str]) -> None:
    estimator._names = list(names)
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)


def _cell(value: Any) -> str:
    """A treatment value as the table spells it: yes/no columns are 0 and 1."""
    return str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value)


