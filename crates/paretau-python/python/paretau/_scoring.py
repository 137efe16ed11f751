"""How good a fitted estimator is on rows with outcomes: losses and metrics that need no truth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _checks, _frames, _tables
from ._arguments import threads
from ._errors import UsageError
from ._names import free_name
from ._paretau import Table, evaluate
from ._warnings import warn


class Scoring:
    """Scores of rows whose arm and outcome are known."""

    model_: Any
    arms_: list[str]
    n_jobs: int | None
    _names: list[str]
    _control: Any
    _treatment_column: str | None

    if TYPE_CHECKING:  # what the estimator, whose part this is, brings

        def _check_fitted(self) -> None: ...
        def _arm_place(self, arm: Any) -> int: ...
        def _named(self, x: _tables.Input) -> _tables.Input: ...

    def score(
        self, X: Any, y: Any, *, treatment: Any = None, sample_weight: Any = None, propensity: Any = None
    ) -> float:
        """Negative R-loss on rows that were not fitted on; higher is better, and it is no R².

        The loss of the effect alone, the mean of `((y - m(x)) - (t - e(x)) effect(x))²`: mean outcome `m` and propensity `e` are
        cross-fitted on these very rows, so that all candidates of a search are compared by one measure. Its unit is that of `y`
        squared; only differences between candidates on the same rows mean something.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, and array of n numbers
            Rows and their outcomes.
        treatment : array of n, or the name of a column of `X`
            The arm of each row; may be left out when `fit` was given the name of a column.
        sample_weight : array of n, optional
            Row weights.
        propensity : array of n or a number, optional
            Probabilities of treatment known from the study's design.

        Returns
        -------
        float

        Notes
        -----
        Rows that were fitted on are scored by out-of-bag predictions where the estimator has them; otherwise a `DataWarning` says that
        the score flatters (`evaluate` refuses).

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=600, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X[:300], data.y[:300], treatment=data.treatment[:300])
        >>> isinstance(est.score(data.X[300:], data.y[300:], treatment=data.treatment[300:]), float)
        True
        """
        scores = self._scores(
            X, y, treatment=treatment, sample_weight=sample_weight, propensity=propensity, in_sample="if-needed"
        )
        return -scores["r_score"]

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any = None,
        sample_weight: Any = None,
        propensity: Any = None,
        in_sample: bool = False,
        arm: Any = None,
    ) -> dict[str, float]:
        """All metrics that need no truth, by name, each with its standard error under `name_se`.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, and array of n numbers
            Rows and their outcomes.
        treatment : array of n, or the name of a column of `X`
            The arm of each row; may be left out when `fit` was given the name of a column.
        sample_weight : array of n, optional
            Row weights.
        propensity : array of n or a number, optional
            Probabilities of treatment known from the study's design.
        in_sample : bool, default False
            Whether to score rows that were fitted on like any others; the result then says so under `in_sample`.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        dict of float
            `heterogeneity_p` is the p-value of "the predictions do not tell whose effect is larger".

        Notes
        -----
        Scores of exactly the rows of the fit are those of out-of-bag predictions where the estimator has them. Other rows that were
        fitted on are left out, and `DataError` is raised when too few are left. A `DataWarning` says what was done about such rows.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=600, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X[:300], data.y[:300], treatment=data.treatment[:300])
        >>> found = est.evaluate(data.X[300:], data.y[300:], treatment=data.treatment[300:])
        >>> "autoc" in found, "autoc_se" in found
        (True, True)
        """
        mode = "always" if in_sample else "never"
        return self._scores(
            X, y, treatment=treatment, sample_weight=sample_weight, propensity=propensity, in_sample=mode, arm=arm
        )

    def _scores(
        self, X: Any, y: Any, *, treatment: Any, sample_weight: Any, propensity: Any, in_sample: str, arm: Any = None
    ) -> dict[str, float]:
        table, roles, _ = self._rows_table(
            X, y, treatment=treatment, sample_weight=sample_weight, propensity=propensity, arm=arm
        )
        found = json.loads(
            evaluate(
                self.model_,
                table,
                roles=json.dumps(roles),
                seed=0,
                n_jobs=threads(self.n_jobs),
                in_sample=in_sample,
            )
        )
        for note in [] if in_sample == "always" else found["notes"]:
            warn(note)
        return found["scores"]

    def _rows_table(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any,
        sample_weight: Any = None,
        propensity: Any = None,
        groups: Any = None,
        arm: Any = None,
    ) -> tuple[Table, dict[str, Any], int]:
        """Rows with outcome and treatment as a table, the roles of its columns, and how many rows there are."""
        self._check_fitted()
        treatment = self._treatment_column if treatment is None else treatment
        if treatment is None:
            raise UsageError(
                "scoring needs the treatment of the rows: with sklearn.set_config(enable_metadata_routing=True) "
                "searches hand it on by themselves; otherwise fit with treatment='name of a column of X'"
            )
        if isinstance(treatment, str):
            X, treatment = _frames.take_column(X, treatment)
        x = self._named(_tables.read(X))
        outcome = _checks.numbers("y", y, x.n_rows)
        several = len(self.arms_) > 2
        arms, control = _checks.arms_column(treatment, x.n_rows, outcome, several=several, control=self._control, arms=self.arms_)
        extras = {
            "treatment": arms,
            "outcome": outcome,
            "weight": _checks.weights("sample_weight", sample_weight, x.n_rows),
            "propensity": _checks.weights("propensity", propensity, x.n_rows),
            "group": _checks.group_column(groups, x.n_rows),
        }
        names = x.names if x.names is not None else self._names
        roles: dict[str, Any] = {} if x.sparse else {"features": [n for n in names if n in set(self._names)]}
        if several or control is not None or arm is not None:
            roles |= {"control_value": self.arms_[0], "treated_value": self.arms_[self._arm_place(arm)]}
        table = Table()
        x.add_to(table, names)
        for role, values in extras.items():
            if values is not None:
                roles[role] = free_name(role, names)
                _tables.add_column(table, roles[role], values if isinstance(values, tuple) else ("numbers", values))
        return table, roles, x.n_rows
