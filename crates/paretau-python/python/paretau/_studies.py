"""Studies: running plans, comparing their methods, searching parameters."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from . import _paretau, executors
from ._arguments import plain, seed_from, threads
from ._errors import DataError, UsageError
from ._estimator import Estimator
from ._functions import is_path, make_estimator, named_roles, named_table, reading_options
from ._progress import Progress


def run(
    plan: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    resume: bool = False,
    shard: str | None = None,
    quick: bool = False,
    params: dict[str, Any] | None = None,
    realisations: int | None = None,
    tune: int | None = None,
    data: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    verbose: bool = False,
) -> dict[str, Any]:
    """Runs an experiment plan, built in or a .toml file, into the folder `out`; `resume` does nothing twice.

    Returns the numbers of cells, done now, kept from before and failed. The folder then holds the records, tables
    (`table.md`, `table.csv`), paired comparisons (`comparison.md`), the figure (`figure.svg`, `figure.png`) and a page with
    all of it (`report.html`). `quick` runs the plan's small form, `params` are set for every method that
    has them (`{"members": 2}`), and `realisations` is how many of each data set to take at most. `tune` is how many
    trials of a search for parameters each method gets before it is fitted, on training rows only (`tuning.md` lists what
    was found). `data` is where the plan's files are (default: the environment's PARETAU_DATA, else the current folder).

    `executor` is where cells are done: threads of this process, "processes", "joblib", "ray", "dask", or an object of
    `paretau.executors`; `n_jobs` is then the number of threads (and CPUs) of one cell, 1 by default. Records are the same
    wherever they are made.
    """
    for name, value in {"realisations": realisations, "tune": tune}.items():
        if value is not None and value < 1:
            raise UsageError(f"{name} must be 1 or more, not {value}")
    if quick and tune is not None:
        raise UsageError("quick runs do not search for parameters; leave out quick or tune")
    report = _paretau.run(
        os.fspath(plan),
        os.fspath(out),
        resume=resume,
        shard=shard,
        quick=quick,
        params=json.dumps({name: plain(value) for name, value in (params or {}).items()}),
        realisations=realisations,
        tune=tune,
        data_folder=os.fspath(data) if data is not None else os.environ.get("PARETAU_DATA", "."),
        n_jobs=threads(n_jobs),
        listener=Progress() if verbose else None,
        executor=executors.over(executors.find(executor, threads(n_jobs))),
    )
    return json.loads(report)


def compare(
    data: Any,
    *,
    treatment: str | None = None,
    outcome: str | None = None,
    estimators: list[str] | str | None = None,
    folds: int = _paretau.DEFAULT_COMPARE_FOLDS,
    random_state: Any = 0,
    records: str | os.PathLike[str] | None = None,
    resume: bool = False,
    n_jobs: int | None = None,
    executor: Any = None,
    verbose: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    na: list[str] | str | None = None,
    numeric: list[str] | str | None = None,
    categorical: list[str] | str | None = None,
    date_order: str | None = None,
    sheet: str | None = None,
    **roles: Any,
) -> Any:
    """Estimators side by side: on a data frame, or from the records of a run.

    With a data frame, `treatment` and `outcome`: each of the `estimators` (registry names, "all", or a handful that suit the
    data's shape) is fitted to the training rows of every fold and predicts the rows held out; all are measured by losses that
    need no truth. The answer is a `Comparison`, best first. Other keywords name further columns, as for `fit`. The data may
    also be the path of a file, read by `decimal` and the other keywords of `fit`; without such keywords the workers of an
    `executor` (as in `run`) read it themselves. `records` is a file that
    keeps what every fit gave, so that `resume` can go on.

    With the folder of a run: the `metric` that its methods are compared by, the mean `ranks` (best first) over the `n`
    realisations that all finished, and `pairs`: the method that the study is about (`hero`) against every other, as the ratio
    of errors within realisations with its 95 % bootstrap interval. An interval that holds 1 settles nothing.
    """
    if isinstance(data, (str, os.PathLike)) and (os.path.isdir(data) or (treatment is None and outcome is None)):
        if treatment is not None or outcome is not None or estimators is not None or roles:
            raise UsageError("a run's folder has its comparison in its records: treatment, outcome and the like belong to a data frame")
        comparison = json.loads(_paretau.compare(os.fspath(data)))
        if comparison is None:
            raise DataError(f"{os.fspath(data)}: no score to compare by; the data have no truth, or all cells failed")
        return comparison
    if treatment is None or outcome is None:
        raise UsageError("to compare estimators on data, name the columns: treatment=… and outcome=…")
    reading = reading_options(
        decimal=decimal, thousands=thousands, na=na, numeric=numeric, categorical=categorical, date_order=date_order, sheet=sheet
    )
    table, path = _rows(data, reading, roles.get("id"))
    wanted = [estimators] if isinstance(estimators, str) else list(estimators or [])
    answer = _paretau.compare_estimators(
        table,
        roles=json.dumps(named_roles(treatment=treatment, outcome=outcome, **roles)),
        estimators=wanted,
        folds=int(folds),
        seed=seed_from(random_state),
        records=os.fspath(records) if records is not None else None,
        resume=resume,
        n_jobs=threads(n_jobs),
        listener=Progress() if verbose else None,
        executor=executors.over(executors.find(executor, threads(n_jobs)), table, path),
    )
    found = json.loads(answer)
    return Comparison(found["comparison"]["rows"], found["verdict"], found["comparison"]["folds"])


@dataclass(frozen=True)
class Comparison:
    """Estimators side by side, best first: `print` shows the table."""

    #: One dictionary per estimator: losses with standard errors, the gap to the best, time, or why it failed.
    rows: list[dict[str, Any]] = field(repr=False)
    #: Which estimators cannot be distinguished, in a sentence.
    verdict: str
    #: Folds used.
    folds: int

    @property
    def best(self) -> str:
        """Registry name of the estimator with the lowest loss."""
        found = next((row["estimator"] for row in self.rows if row["dr_loss"] is not None), None)
        if found is None:
            raise DataError("no estimator could be fitted")
        return found

    def frame(self) -> Any:
        """One row per estimator, as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.rows).set_index("estimator")

    def __str__(self) -> str:
        def number(value: float | None) -> str:
            return "" if value is None else f"{value:.4g}"

        width = max(len(row["estimator"]) for row in self.rows)
        head = f"{'':{width}}  {'dr_loss':>9}  {'above best':>10}  {'error':>9}  {'r_loss':>9}  {'seconds':>8}"
        keys = (("dr_loss", 9), ("gap", 10), ("gap_se", 9), ("r_loss", 9), ("seconds", 8))
        lines = [
            f"{row['estimator']:{width}}  " + "  ".join(f"{number(row[key]):>{w}}" for key, w in keys) for row in self.rows
        ]
        failed = [f"{row['estimator']} failed: {row['error']}" for row in self.rows if row.get("error")]
        return "\n".join([head, *lines, self.verdict, *failed])


@dataclass(frozen=True)
class Tuned:
    """The result of a search."""

    #: Registry name of the estimator.
    name: str
    #: Parameters of the best trial, those that differ from the defaults.
    best_params: dict[str, Any]
    #: Its objective on held-out rows.
    value: float
    #: The objective of the defaults.
    default_value: float | None
    #: All trials in their order, the defaults first.
    trials: list[dict[str, Any]] = field(repr=False)

    def estimator(self, **params: Any) -> Estimator:
        """An unfitted estimator with the best parameters."""
        best = {key: tuple(value) if isinstance(value, list) else value for key, value in self.best_params.items()}
        return make_estimator(self.name, **{**best, **params})


def tune(
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
    trials: int = _paretau.DEFAULT_TRIALS,
    search: str = _paretau.DEFAULT_SEARCH,
    objective: str = _paretau.DEFAULT_OBJECTIVE,
    folds: int = _paretau.DEFAULT_TUNE_FOLDS,
    space: dict[str, Any] | None = None,
    validation_fraction: float = _paretau.DEFAULT_VALID_SHARE,
    records: str | os.PathLike[str] | None = None,
    resume: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    verbose: bool = False,
    **params: Any,
) -> Tuned:
    """Searches parameters of an estimator, by registry name, on rows that its fits do not see. The truth has no part in it.

    Columns are named as in `fit`. `search` is "tpe", "random" or "grid"; a trial is scored by the error of the outcome in
    the arm that each row was in (`objective="factual"`) or by losses of the effect ("dr", "r"). `folds` cross-validates.
    `space` maps a parameter to a list of values or to `{"low": …, "high": …, "log": …, "whole": …}`; by default it is the
    estimator's documented space. `records` is a file that keeps the trials, so that `resume` can go on. Other keywords are
    parameters that every trial has.

    `executor` is where the fits are done, as in `run`. Trials of "random" and "grid" are then all done at once, those of "tpe",
    which depend on each other, one after the other with their folds at once. The data may also be the path of a file, read by
    the keywords of `fit`.
    """
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
    table, path = _rows(data, reading, id)
    spec = {"trials": trials, "search": search, "objective": objective, "folds": folds, "fixed": {k: plain(v) for k, v in params.items()}}
    if space:
        spec["space"] = {k: plain(v) for k, v in space.items()}
    report = json.loads(
        _paretau.tune(
            table,
            roles=json.dumps(roles),
            estimator=estimator,
            spec=json.dumps(spec),
            seed=seed_from(random_state),
            valid_share=validation_fraction,
            records=os.fspath(records) if records is not None else None,
            resume=resume,
            n_jobs=threads(n_jobs),
            listener=Progress() if verbose else None,
            executor=executors.over(executors.find(executor, threads(n_jobs)), table, path),
        )
    )
    return Tuned(estimator, report["best"], report["value"], report["default_value"], report["trials"])


def _rows(data: Any, reading: dict[str, Any], id: str | None) -> tuple[Any, str | None]:
    """A frame, or a file, as a table, and the path of a file that workers can read themselves."""
    table = named_table(data, reading, id)
    # Workers know nothing of the options; rows that were read by them are sent.
    plain = is_path(data) and not reading and id is None
    return table, os.fspath(data) if plain else None
