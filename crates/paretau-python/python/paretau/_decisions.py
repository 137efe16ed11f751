"""Whom to treat, and what could overturn the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _paretau
from ._arguments import seed_from, threads
from ._errors import UsageError
from ._estimator import Estimator
from ._functions import named_roles, named_rows


@dataclass(frozen=True)
class Policy:
    """Whom to treat: `print` shows the tree."""

    #: Recommended arm of each row of the data, 0 the control; -1 for rows that were left out.
    arms: np.ndarray = field(repr=False)
    #: Names of the arms, the control first.
    arm_names: list[str]
    #: Share of the rows that the tree treats.
    share_treated: float
    #: What `tree`, `model` and `everyone` gain, by name, on rows that did not choose the tree.
    policies: dict[str, dict[str, Any]]
    #: Everything, as `paretau policy --json` prints it.
    details: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(self.details["words"])


def _table(data: Any) -> tuple[_paretau.Table, int]:
    rows = named_rows(data)
    table = _paretau.Table()
    rows.add_to(table, rows.names or [])
    return table, rows.n_rows


def policy_tree(
    model: Estimator,
    data: Any,
    *,
    treatment: str,
    outcome: str,
    cost: float | str | None = None,
    budget: float | None = None,
    depth: int = _paretau.DEFAULT_DEPTH,
    lower_is_better: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    **roles: Any,
) -> Policy:
    """Finds the shallow tree that gains most on a data frame, and what it is worth on rows that did not choose it.

    `cost` is a number or the name of a column, in units of the outcome; `budget` the largest share to treat. `roles` are
    further columns as for `fit` (`features`, `ignore`, `weight`, `group`, `control_value`, …).
    """
    model._check_fitted()
    table, n = _table(data)
    named = named_roles(treatment=treatment, outcome=outcome, **roles)
    options: dict[str, Any] = {"cost": cost, "budget": budget, "depth": depth, "lower_is_better": lower_is_better}
    return find_policy(model, table, n, named, random_state=random_state, n_jobs=n_jobs, **options)


def find_policy(
    model: Any,
    table: _paretau.Table,
    n: int,
    roles: dict[str, Any],
    *,
    cost: float | str | None,
    budget: float | None,
    depth: int,
    lower_is_better: bool,
    random_state: Any,
    n_jobs: int | None,
) -> Policy:
    """The policy for the rows of a table."""
    if budget is not None and not 0 <= budget <= 1:
        raise UsageError(f"budget must be a share from 0 to 1, not {budget}")
    if depth not in (0, 1, 2, 3):
        raise UsageError(f"depth must be 0, 1, 2 or 3, not {depth}")
    found = json.loads(
        _paretau.policy(
            model.model_,
            table,
            roles=json.dumps(roles),
            cost=None if cost is None or isinstance(cost, str) else float(cost),
            cost_column=cost if isinstance(cost, str) else None,
            budget=budget,
            depth=int(depth),
            lower_is_better=lower_is_better,
            seed=seed_from(random_state),
            n_jobs=threads(n_jobs),
        )
    )
    arms = np.full(n, -1)
    arms[found["rows"]] = found["recommended"]
    details = found["policy"]
    policies = {policy["name"]: policy for policy in details["policies"]}
    return Policy(arms, details["arms"], details["share_treated"], policies, details)


def sensitivity_analysis(
    data: Any,
    *,
    treatment: str,
    outcome: str,
    cf_y: float = _paretau.DEFAULT_STRENGTH,
    cf_d: float = _paretau.DEFAULT_STRENGTH,
    benchmarks: int | list[str] = _paretau.DEFAULT_BENCHMARKS,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    **roles: Any,
) -> dict[str, Any]:
    """How strong a hidden cause would have to be to overturn the average effect, as `paretau sensitivity --json` says it.

    `benchmarks` are features to compare it with, or how many of the strongest. `words` in the answer are sentences.
    """
    named = named_roles(treatment=treatment, outcome=outcome, **roles)
    options: dict[str, Any] = {"cf_y": cf_y, "cf_d": cf_d, "benchmarks": benchmarks}
    return find_sensitivity(_table(data)[0], named, random_state=random_state, n_jobs=n_jobs, **options)


def find_sensitivity(
    table: _paretau.Table,
    roles: dict[str, Any],
    *,
    cf_y: float,
    cf_d: float,
    benchmarks: int | list[str],
    random_state: Any,
    n_jobs: int | None,
) -> dict[str, Any]:
    """What could overturn the average effect of the rows of a table."""
    found = _paretau.sensitivity(
        table,
        roles=json.dumps(roles),
        cf_y=float(cf_y),
        cf_d=float(cf_d),
        benchmarks=[] if isinstance(benchmarks, int) else list(benchmarks),
        n_benchmarks=benchmarks if isinstance(benchmarks, int) else 0,
        seed=seed_from(random_state),
        n_jobs=threads(n_jobs),
    )
    return json.loads(found)


def refute(
    data: Any,
    *,
    treatment: str,
    outcome: str,
    checks: list[str] | None = None,
    replicates: int = _paretau.DEFAULT_REPLICATES,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    **roles: Any,
) -> dict[str, Any]:
    """Estimates the average effect again where the answer is known, as `paretau refute --json` says it."""
    named = named_roles(treatment=treatment, outcome=outcome, **roles)
    options: dict[str, Any] = {"checks": checks, "replicates": replicates}
    return find_refutation(_table(data)[0], named, random_state=random_state, n_jobs=n_jobs, **options)


def find_refutation(
    table: _paretau.Table,
    roles: dict[str, Any],
    *,
    checks: list[str] | None,
    replicates: int,
    random_state: Any,
    n_jobs: int | None,
) -> dict[str, Any]:
    """The average effect of the rows of a table, estimated again."""
    found = _paretau.refute(
        table,
        roles=json.dumps(roles),
        checks=list(checks or []),
        replicates=int(replicates),
        seed=seed_from(random_state),
        n_jobs=threads(n_jobs),
    )
    return json.loads(found)


@dataclass(frozen=True)
class Roles:
    """Roles of columns by test: `print` shows the table."""

    #: Role of each column: instrument, confounder, adjuster or none.
    roles: dict[str, str]
    #: One dictionary per column with its tests, as `paretau roles --json` prints it.
    columns: list[dict[str, Any]] = field(repr=False)
    #: How many of each, in a sentence.
    words: str = field(repr=False)

    def frame(self) -> Any:
        """One row per column, as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns).set_index("name")

    def __str__(self) -> str:
        width = max((len(name) for name in self.roles), default=0)
        head = f"{'column':{width}}  {'role':10}  q treatment  q outcome"
        rows = [f"{c['name']:{width}}  {c['role']:10}  {c['q_treatment']:11.4f}  {c['q_outcome']:9.4f}" for c in self.columns]
        return "\n".join([head, *rows, "", self.words])


def roles(
    data: Any,
    *,
    treatment: str,
    outcome: str,
    fdr: float = _paretau.DEFAULT_FDR,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    **roles: Any,
) -> Roles:
    """Which columns of a data frame help to predict the treatment, the outcome, or both, by test.

    At most the share `fdr` of the findings of each test is expected to be false. Other keywords name further columns, as for
    `fit` (`features`, `ignore`, `weight`, `group`, …).
    """
    if not 0 < fdr < 1:
        raise UsageError(f"fdr must be a share above 0 and below 1, not {fdr}")
    named = named_roles(treatment=treatment, outcome=outcome, **roles)
    answer = _paretau.test_roles(
        _table(data)[0], roles=json.dumps(named), fdr=float(fdr), seed=seed_from(random_state), n_jobs=threads(n_jobs)
    )
    found = json.loads(answer)
    columns = found["tested"]["roles"]
    return Roles({c["name"]: c["role"] for c in columns}, columns, found["words"])
