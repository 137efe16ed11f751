"""What can be asked of a fit beyond effects and averages: calibration, rankings, importances, explanations, decisions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _checks, _shap, _shap_trees, _tables
from ._arguments import seed_from, threads
from ._averages import Averages
from ._errors import DataError, UsageError
from ._inference import Coefficients, Ranking
from ._model_state import State
from ._paretau import DEFAULT_BENCHMARKS, DEFAULT_DEPTH, DEFAULT_REPLICATES, DEFAULT_STRENGTH, ScoredRows, Table

if TYPE_CHECKING:
    from ._decisions import Policy


class Questions(Averages):
    """Questions to a fitted estimator. `arm` is the name of an arm other than the control; the first is meant without it."""

    model_: Any
    arms_: list[str]
    n_jobs: int | None
    diagnostics_: dict[str, Any]
    _names: list[str]

    if TYPE_CHECKING:  # what the estimator, whose part this is, brings

        def _check_fitted(self) -> None: ...
        def _effect(self, X: Any) -> dict[str, Any]: ...
        def _arm_effects(self, X: Any) -> list[dict[str, Any]]: ...
        def _wanted(self, X: Any) -> set[str] | None: ...
        def _named(self, x: _tables.Input) -> _tables.Input: ...
        def _row_tables(self, X: Any) -> Iterator[Table]: ...
        _rows_table: Any

    # Calibration and rankings.

    def test_calibration(
        self, X: Any = None, y: Any = None, *, treatment: Any = None, arm: Any = None, **rows: Any
    ) -> Coefficients:
        """Are the predicted effects right on average, and do they tell whose effect is larger?

        Parameters
        ----------
        X, y, treatment : rows that were kept aside, optional
            Without them the training rows are asked, by predictions that were made without them; estimators that have no such
            predictions need rows.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.
        **rows
            `sample_weight` and `propensity` of rows that were kept aside.

        Returns
        -------
        Coefficients
            Two of them with one-sided p-values, both 1 for perfect predictions: `mean` of the mean prediction, and `differential` of the
            deviations from it, where a p-value below 0.05 is evidence that effects differ as predicted.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> est.test_calibration().names
        ['mean', 'differential']
        """
        found = json.loads(self._scored(X, y, treatment, arm, rows).calibration())
        named = [("mean", found["mean"]), ("differential", found["heterogeneity"])]
        named = [(name, score) for name, score in named if score is not None]
        if not named:
            raise DataError("the predicted effect is 0 for every row, so there is nothing to calibrate")
        estimates, errors = ([s["value"] for _, s in named], [s["se"] for _, s in named])
        return Coefficients([n for n, _ in named], np.array(estimates), np.array(errors), one_sided=True)

    def calibration_groups(
        self, k: int = 5, X: Any = None, y: Any = None, *, treatment: Any = None, arm: Any = None, **rows: Any
    ) -> list[dict[str, Any]]:
        """Predicted and observed effects of rows of similar prediction, lowest first.

        Parameters
        ----------
        k : int, default 5
            How many groups.
        X, y, treatment : rows that were kept aside, optional
            Without them the training rows are asked, by predictions that were made without them; estimators that have no such
            predictions need rows.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.
        **rows
            `sample_weight` and `propensity` of rows that were kept aside.

        Returns
        -------
        list of dict
            Per group `n`, `predicted`, `seen` (the doubly robust average) and `se`.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> [group["n"] for group in est.calibration_groups(3)]
        [100, 100, 100]
        """
        found = json.loads(self._scored(X, y, treatment, arm, rows).calibration_groups(int(k)))
        return [
            {"n": g["n"], "predicted": g["predicted"], "seen": g["seen"]["value"], "se": g["seen"]["se"]} for g in found
        ]

    def rank_average_treatment_effect(
        self,
        priorities: Any = None,
        *,
        target: str = "AUTOC",
        X: Any = None,
        y: Any = None,
        treatment: Any = None,
        arm: Any = None,
        points: int = 20,
        **rows: Any,
    ) -> Ranking:
        """Does treating those of the highest priority first pay? The rank-weighted average effect.

        Parameters
        ----------
        priorities : array of n numbers, optional
            The larger, the sooner treated; made without looking at the rows' outcomes. Without it the ranking is by the predicted effect.
        target : {"AUTOC", "QINI"}, default "AUTOC"
            "AUTOC" for gains that are concentrated in few, "QINI" for gains that are spread over many.
        X, y, treatment : rows that were kept aside, optional
            Without them the training rows are asked, by predictions that were made without them; estimators that have no such
            predictions need rows.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.
        points : int, default 20
            Points of the targeting curve.
        **rows
            `sample_weight` and `propensity` of rows that were kept aside.

        Returns
        -------
        Ranking
            `estimate`, `stderr`, `conf_int()`, `pvalue()` and the targeting curve `q`, `toc`, `toc_stderr`. Of the training rows it has a
            lower limit and no interval of two sides, because a row's outcome is missing from its own prediction.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.rank_average_treatment_effect(data.X[:, 0])
        >>> found.target, found.q.shape
        ('AUTOC', (20,))
        """
        if target.upper() not in ("AUTOC", "QINI"):
            raise UsageError(f"target must be 'AUTOC' or 'QINI', not {target!r}")
        scored = self._scored(X, y, treatment, arm, rows)
        given = None if priorities is None else _checks.numbers("priorities", priorities)
        found = json.loads(scored.rank(given, int(points)))
        chosen = found[target.lower()]
        curve = found["toc"]
        return Ranking(
            target.upper(),
            chosen["value"],
            chosen["se"],
            np.array([point["q"] for point in curve]),
            np.array([point["value"] for point in curve]),
            np.array([np.inf if point["se"] is None else point["se"] for point in curve]),
            found["one_sided"],
        )

    def _scored(self, X: Any, y: Any, treatment: Any, arm: Any, rows: dict[str, Any]) -> ScoredRows:
        self._check_fitted()
        if X is None:
            if y is not None or treatment is not None or rows:
                raise UsageError("y, treatment and the like belong to rows that were kept aside: pass X as well")
            return ScoredRows.of_training(self.model_, self._arm_place(arm))
        table, roles, _ = self._rows_table(X, y, treatment=treatment, arm=arm, **rows)
        return ScoredRows.of_new_rows(
            self.model_, table, roles=json.dumps(roles), seed=0, n_jobs=threads(self.n_jobs)
        )

    @property
    def held_out_effect_(self) -> np.ndarray:
        """Effects of the training rows by parts of the model that did not see them (out of bag, or cross-fitted).

        Shape (n,), or (n, arms - 1) after a fit with several arms. Estimators that have none, and models that were loaded, raise
        `AttributeError`.
        """
        found = self.model_.held_out_effects() if hasattr(self, "model_") else None
        if found is None:
            raise AttributeError(
                f"{type(self).__name__} has no held_out_effect_: the estimator does not predict its training rows by parts "
                "that did not see them, it is not fitted, or it was loaded from a file, which keeps no training rows"
            )
        return found[0] if len(found) == 1 else np.column_stack(found)

    # What the effect depends on.

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column of `X` in telling effects apart, as the estimator itself tells it; sums to 1.

        Forests, lines and nets have it; of others `variable_importance(X)` asks by shuffling columns.
        """
        found = self._own_importance() if hasattr(self, "model_") else None
        if found is None:
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_ of its own; variable_importance(X) measures them"
            )
        return found

    def variable_importance(self, X: Any = None, *, random_state: Any = 0) -> dict[str, float]:
        """Share of each column in telling effects apart.

        Parameters
        ----------
        X : array or data frame, optional
            Without it importances are those that the estimator itself has (`feature_importances_`). With it, for any estimator: by how
            much the predicted effects of the rows change (mean square) when a column is shuffled.
        random_state : int, default 0
            Source of the shuffling.

        Returns
        -------
        dict of float
            Shares by the column's name, largest first; they sum to 1.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> shares = est.variable_importance(data.X)
        >>> round(sum(shares.values()), 6)
        1.0
        """
        self._check_fitted()
        if X is None:
            shares = self._own_importance()
            if shares is None:
                raise UsageError(f"{type(self).__name__} does not tell importances itself: pass X to measure them")
        else:
            shares = self._shuffled_importance(X, np.random.default_rng(seed_from(random_state)))
        order = np.argsort(-shares, kind="stable")
        return {self._names[j]: float(shares[j]) for j in order}

    def _own_importance(self) -> np.ndarray | None:
        found = self.diagnostics_["importance"] or self.diagnostics_["reading"]
        if not found:
            return None
        places = {name: j for j, name in enumerate(self._names)}
        shares = np.zeros(len(self._names))
        owner = self.model_.encoded_owners()
        for part in found:
            name = owner.get(part["name"], part["name"])
            if name in places:
                shares[places[name]] += part["share"]
        total = shares.sum()
        return shares / total if total > 0 else None

    def _shuffled_importance(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        x = _tables.read(X, self._wanted(X))
        if x.sparse:
            raise UsageError("columns of a sparse matrix are not shuffled one by one: pass a dense part of the rows")
        base = self._effect(x)["tau"]
        change = np.zeros(len(self._names))
        for j, name in enumerate(self._names):
            other = self._effect(x.shuffled(name if x.names is not None else j, rng.permutation(x.n_rows)))["tau"]
            change[j] = np.mean((other - base) ** 2)
        total = change.sum()
        if not total > 0:
            raise DataError("the predicted effect is the same whatever the features, so no column is important")
        return change / total

    def shap_values(
        self, X: Any, *, background: Any = None, permutations: int | str | None = None, arm: Any = None, random_state: Any = 0
    ) -> _shap.Explanation:
        """Shapley values: what each column adds to each row's predicted effect.

        They add up exactly: `values.sum(axis=1) + base_values` is the effect.

        Parameters
        ----------
        X : array or data frame
            Rows to explain.
        background : array or data frame, optional
            Rows that columns are compared with; by default 50 rows of `X`, drawn at random.
        permutations : int or "exact", optional
            Orders of the columns per background row, each used with its reverse. By default exact where the trees and lines of the model
            can be walked (boosted trees, regression forests and lines in `LinearEffect` and the S-, T-, R- and DR-learner, of outcomes
            that are not yes/no) and else up to 6 columns, by all their subsets; 2 orders otherwise. A causal forest's effect is a ratio
            of sums over its trees, which no walk divides: "exact" takes all subsets of up to 16 columns.
        arm : number or text, optional
            The arm whose effect is explained; the first without it.
        random_state : int, default 0
            Source of the rows and orders that are drawn.

        Returns
        -------
        Explanation
            `values`, `base_values`, `data`, `feature_names`, and `standard_errors`, which say how exact the values are; `to_shap()` makes
            the shap package's object of it.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.shap_values(data.X[:5], background=data.X[:100])
        >>> bool(abs(found.values.sum(axis=1) + found.base_values - est.effect(data.X[:5])).max() < 1e-9)
        True
        """
        self._check_fitted()
        rng = np.random.default_rng(seed_from(random_state))
        rows = self._named(_tables.read(X, self._wanted(X)))
        if rows.sparse:
            raise UsageError("columns of a sparse matrix are not explained one by one: pass a dense part of the rows")
        if background is None:
            drawn = rng.permutation(rows.n_rows)[: _shap.BACKGROUND]
            against = rows.taken(np.sort(drawn))
        else:
            against = self._named(_tables.read(background, self._wanted(background)))
            if against.sparse or (against.names is None) != (rows.names is None) or against.n_cols != rows.n_cols:
                raise UsageError("the background must be rows of the same kind and with the same columns as X")
        place = self._arm_place(arm)

        def effect(some: _tables.Input) -> np.ndarray:
            with warnings.catch_warnings():
                # That names are missing was said above, once.
                warnings.simplefilter("ignore", UserWarning)
                return self._arm_effects(some)[place - 1]["tau"]

        walked = self._walked(rows, against, place, effect) if permutations in (None, "exact") else None
        values, base, errors = walked or _shap.explain(effect, rows, against, permutations, rng)
        names = list(rows.names) if rows.names is not None else list(self._names)
        return _shap.Explanation(values, np.full(rows.n_rows, base), X, names, errors)

    def _walked(
        self, rows: _tables.Input, against: _tables.Input, place: int, effect: Callable[[_tables.Input], np.ndarray]
    ) -> tuple[np.ndarray, float, np.ndarray] | None:
        """Exact Shapley values by the model's own trees and lines; nothing where its effect is no sum of them."""
        state = State.of(self.model_).part("fitted")
        found = _shap_trees.parts(state, len(self.arms_) - 1, place)
        if found is None:
            return None
        names = list(rows.names) if rows.names is not None else list(self._names)
        owner = self.model_.encoded_owners()
        owners = np.array([names.index(owner[column]) for column in self.model_.encoded_names()], dtype=np.int64)
        x, background = (_shap_trees.encoded(self.model_, self._row_tables(part)) for part in (rows, against))
        values = _shap_trees.values(found, x, background, owners, rows.n_cols)
        expected, base = effect(rows), float(effect(against).mean())
        missed = np.abs(values.sum(axis=1) + base - expected).max(initial=0.0)
        # Sums that do not meet the effect would mean that the model was read wrongly: then nothing is claimed of it.
        if not missed <= 1e-6 * max(1.0, float(np.abs(expected).max(initial=0.0))):
            return None
        return values, base, np.zeros_like(values)

    @property
    def roles_(self) -> dict[str, str]:
        """Causal role of each column for nets that tell roles apart: instrument, confounder, adjuster or none.

        For other estimators, and by a test with error rates, see `paretau.roles`.
        """
        found = getattr(self, "feature_roles_", None)
        if not found:
            raise AttributeError(
                f"{type(self).__name__} tells no roles of features; paretau.roles(...) tests them on the data"
            )
        return {role["name"]: role["role"] for role in found}

    # Decisions.

    def policy_tree(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any = None,
        cost: float | None = None,
        budget: float | None = None,
        depth: int = DEFAULT_DEPTH,
        lower_is_better: bool = False,
        random_state: Any = 0,
        **rows: Any,
    ) -> Policy:
        """Whom to treat: the shallow tree that gains most on the rows, and its worth on rows that did not choose it.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, and array of n numbers
            Rows and their outcomes.
        treatment : array of n, or the name of a column of `X`
            The arm of each row; may be left out when `fit` was given the name of a column.
        cost : float, optional
            Cost of treating one row, in units of the outcome.
        budget : float, optional
            Largest share of the rows to treat.
        depth : int, default 2
            Depth of the tree, at most 3.
        lower_is_better : bool, default False
            Whether a smaller outcome is a gain.
        random_state : int, default 0
            Source of all randomness.
        **rows
            `sample_weight`, `propensity` and `groups` of the rows.

        Returns
        -------
        Policy
            `arms` recommended for each row, `share_treated`, `policies` with their gains; `print` shows the tree.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.policy_tree(data.X, data.y, treatment=data.treatment, depth=1, cost=0.1)
        >>> found.arms.shape, 0 <= found.share_treated <= 1
        ((300,), True)
        """
        from ._decisions import find_policy

        self._check_fitted()
        table, roles, n = self._rows_table(X, y, treatment=treatment, arm=None, **rows)
        options: dict[str, Any] = {"cost": cost, "budget": budget, "depth": depth, "lower_is_better": lower_is_better}
        return find_policy(self, table, n, roles, random_state=random_state, n_jobs=self.n_jobs, **options)

    def sensitivity_analysis(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any = None,
        cf_y: float = DEFAULT_STRENGTH,
        cf_d: float = DEFAULT_STRENGTH,
        benchmarks: int | list[str] = DEFAULT_BENCHMARKS,
        arm: Any = None,
        random_state: Any = 0,
        **rows: Any,
    ) -> dict[str, Any]:
        """How strong a hidden cause would have to be to overturn the average effect of the rows.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, and array of n numbers
            Rows and their outcomes.
        treatment : array of n, or the name of a column of `X`
            The arm of each row; may be left out when `fit` was given the name of a column.
        cf_y, cf_d : float
            Strength of the hidden cause that is asked about: the share of the outcome's residual variance, and of the treatment's
            variation, that it explains.
        benchmarks : int or list of str
            Features to compare it with, or how many of the strongest.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.
        random_state : int, default 0
            Source of all randomness.
        **rows
            `sample_weight`, `propensity` and `groups` of the rows.

        Returns
        -------
        dict
            Bounds and robustness values, as `paretau sensitivity --json` prints them; `words` are sentences.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.sensitivity_analysis(data.X, data.y, treatment=data.treatment, benchmarks=1)
        >>> 0 <= found["robustness_value"] <= 1
        True
        """
        from ._decisions import find_sensitivity

        self._check_fitted()
        table, roles, _ = self._rows_table(X, y, treatment=treatment, arm=arm, **rows)
        options: dict[str, Any] = {"cf_y": cf_y, "cf_d": cf_d, "benchmarks": benchmarks}
        return find_sensitivity(table, roles, random_state=random_state, n_jobs=self.n_jobs, **options)

    def refute(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any = None,
        checks: list[str] | None = None,
        replicates: int = DEFAULT_REPLICATES,
        arm: Any = None,
        random_state: Any = 0,
        **rows: Any,
    ) -> dict[str, Any]:
        """Estimates the average effect of the rows again where the answer is known.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, and array of n numbers
            Rows and their outcomes.
        treatment : array of n, or the name of a column of `X`
            The arm of each row; may be left out when `fit` was given the name of a column.
        checks : list of str, optional
            Names of the checks; all of them by default.
        replicates : int
            How often each check is repeated.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.
        random_state : int, default 0
            Source of all randomness.
        **rows
            `sample_weight`, `propensity` and `groups` of the rows.

        Returns
        -------
        dict
            As `paretau refute --json` prints it.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.refute(data.X, data.y, treatment=data.treatment, checks=["placebo-treatment"], replicates=3)
        >>> [check["name"] for check in found["checks"]]
        ['placebo-treatment']
        """
        from ._decisions import find_refutation

        self._check_fitted()
        table, roles, _ = self._rows_table(X, y, treatment=treatment, arm=arm, **rows)
        return find_refutation(
            table, roles, checks=checks, replicates=replicates, random_state=random_state, n_jobs=self.n_jobs
        )
