"""What can be asked of a fit beyond each row's effect: averages, groups, projections, calibration, rankings, decisions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _checks, _frames, _shap, _shap_trees, _tables
from ._arguments import seed_from, threads
from ._errors import DataError, DataWarning, UsageError
from ._inference import Coefficients, Ranking, check_alpha, normal_quantile
from ._model_state import State
from ._paretau import DEFAULT_BENCHMARKS, DEFAULT_DEPTH, DEFAULT_REPLICATES, DEFAULT_STRENGTH, ScoredRows, Table

if TYPE_CHECKING:
    from ._decisions import Policy


class Questions:
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

    # Averages over the training rows, doubly robust.

    def ate(self, X: Any = None, *, arm: Any = None) -> float:
        """Average effect: doubly robust over the training rows, or the mean effect of the rows of `X`."""
        if X is not None:
            return float(np.mean(self._arm_effects(X)[self._arm_place(arm) - 1]["tau"]))
        return self._average("ate", arm)[0]

    def ate_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the training rows."""
        return self._average("ate", arm, alpha)[2:]

    def att(self, *, arm: Any = None) -> float:
        """Average effect over the treated training rows, doubly robust."""
        return self._average("att", arm)[0]

    def att_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the treated training rows."""
        return self._average("att", arm, alpha)[2:]

    def atc(self, *, arm: Any = None) -> float:
        """Average effect over the training rows without treatment, doubly robust."""
        return self._average("atc", arm)[0]

    def atc_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the training rows without treatment."""
        return self._average("atc", arm, alpha)[2:]

    def ato(self, *, arm: Any = None) -> float:
        """Average effect over those who could well have been in either arm (weights e (1 - e)), doubly robust."""
        return self._average("ato", arm)[0]

    def ato_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over those who could well have been in either arm."""
        return self._average("ato", arm, alpha)[2:]

    def _average(self, name: str, arm: Any, alpha: float = 0.05) -> tuple[float, float, float, float]:
        """Value, standard error and ends of the interval; `DataError` where too few rows carry the average."""
        self._check_fitted()
        check_alpha(alpha)
        place = self._arm_place(arm)
        reason = self.model_.extrapolates(name, arm=place)
        if reason is not None:
            warnings.warn(
                f"the {name.upper()} rests on extrapolation, so that its interval may be far too narrow: {reason}; "
                "`ato()` asks only about those who could have been in either arm",
                DataWarning,
                stacklevel=3,
            )
        return self.model_.average(name, arm=place, level=1.0 - alpha)

    # Groups, projections and rankings of the training rows.

    def group_effects(self, by: Any, *, arm: Any = None) -> list[dict[str, Any]]:
        """Average effects of groups of the training rows, doubly robust, with 95 % intervals and a band over all groups.

        `by` has one row per row that was fitted, in the same order: a data frame or a series (text, numbers, dates), or an
        array. Numbers with many values are put into quantile bins; rows without a value are a group of their own. Each group
        has `column`, `level`, `n` and `effective` (rows and effective rows without and with treatment), `effect` (`value`,
        `se`, `lo`, `hi`), `band` (ends of the band that holds all groups at once), and a `reason` where too few rows carry
        an effect. A model that was loaded or unpickled knows no rows: ask before saving.
        """
        self._check_fitted()
        return json.loads(self.model_.group_effects(_columns(by, "by"), arm=self._arm_place(arm)))["groups"]

    def best_linear_projection(self, A: Any = None, *, arm: Any = None) -> Coefficients:
        """On what does the effect depend? The projection of the effect on a constant and the columns of `A`.

        Least squares of the training rows' doubly robust scores, with HC3 errors, or clustered ones when the fit had groups.
        `A` has one row per row that was fitted, in the same order; text becomes indicators against its commonest level.
        Without `A` the only coefficient is the average effect. A model that was loaded or unpickled knows no rows.
        """
        self._check_fitted()
        rows = ScoredRows.of_training(self.model_, self._arm_place(arm))
        found = json.loads(rows.best_linear_projection(None if A is None else _columns(A, "A")))
        return Coefficients(
            [c["name"] for c in found], np.array([c["value"] for c in found]), np.array([c["se"] for c in found])
        )

    def doubly_robust_scores(self, *, arm: Any = None) -> np.ndarray:
        """The doubly robust score of each training row: their mean is the average effect.

        With several arms these are the scores of the rows of the control and of the arm, in their order.
        """
        self._check_fitted()
        return ScoredRows.of_training(self.model_, self._arm_place(arm)).scores()["scores"]

    def test_calibration(
        self, X: Any = None, y: Any = None, *, treatment: Any = None, arm: Any = None, **rows: Any
    ) -> Coefficients:
        """Are the predicted effects right on average, and do they tell whose effect is larger?

        Two coefficients with one-sided p-values, both 1 for perfect predictions: `mean` of the mean prediction, and
        `differential` of the deviations from it, where a p-value below 0.05 is evidence that effects differ as predicted.
        Of the training rows, by predictions that were made without them; estimators without such predictions need rows `X`,
        `y` and `treatment` that were kept aside (further keywords as in `evaluate`).
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
        """Rows in `k` groups of similar predicted effect, lowest first: `n`, `predicted`, `seen` (doubly robust) and `se`.

        Of the training rows, or of rows that were kept aside, as in `test_calibration`.
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
        """Does treating those of the highest priority first pay? The rank-weighted average effect and the targeting curve.

        `priorities` has a number for each row, made without looking at the rows' outcomes; without it the ranking is by the
        predicted effect, of the training rows where the estimator has predictions made without them, else of rows `X`, `y`
        and `treatment` that were kept aside. Of the training rows it has a lower limit and no interval of two sides, because a
        row's outcome is missing from its own prediction. `target` is "AUTOC" (gains concentrated in few) or "QINI" (spread over many).
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

        Shape (n,), or (n, arms - 1) after a fit with several arms. Estimators that have none, and models that were loaded,
        raise `AttributeError`.
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
        """Share of each column in telling effects apart, largest first; shares sum to 1.

        Without `X` as the estimator itself tells it. With `X`, for any estimator: by how much the predicted effects of the
        rows change (mean square) when a column is shuffled.
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
        X : rows to explain.
        background : rows that columns are compared with; by default 50 rows of `X`, drawn at random.
        permutations : orders of the columns per background row, each used with its reverse, or `"exact"`. By default exact
            where the trees and lines of the model can be walked (boosted trees, regression forests and lines in `LinearEffect`
            and the S-, T-, R- and DR-learner, of outcomes that are not yes/no) and else up to 6 columns, by all their subsets;
            2 orders otherwise. A causal forest's effect is a ratio of sums over its trees, which no walk divides: `"exact"` takes
            all subsets of up to 16 columns. `standard_errors` says how exact the values are.
        arm : the arm whose effect is explained; the first without it.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.make_synthetic(n=300, d=3, random_state=0)
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

        As `paretau.policy_tree`, which takes a data frame.
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

        As `paretau.sensitivity_analysis`, which takes a data frame; `words` in the answer are sentences.
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
        """Estimates the average effect of the rows again where the answer is known. As `paretau.refute`."""
        from ._decisions import find_refutation

        self._check_fitted()
        table, roles, _ = self._rows_table(X, y, treatment=treatment, arm=arm, **rows)
        return find_refutation(
            table, roles, checks=checks, replicates=replicates, random_state=random_state, n_jobs=self.n_jobs
        )

    # Arms.

    def _arm_place(self, arm: Any) -> int:
        """Where an arm stands behind the control; 1, the first, when none is named."""
        self._check_fitted()
        if arm is None:
            return 1
        place = self._find_arm(arm)
        if place == 0:
            raise UsageError(f"arm {arm!r} is the control; name one of {_listed(self.arms_[1:])}")
        return place

    def _find_arm(self, arm: Any) -> int:
        text = _checks.arm_text(arm)
        if text not in self.arms_:
            raise UsageError(f"there is no arm {arm!r}; the arms are {_listed(self.arms_)}, the first is the control")
        return self.arms_.index(text)


def _listed(arms: list[str]) -> str:
    return ", ".join(repr(arm) for arm in arms)


def _columns(by: Any, name: str) -> Table:
    """Columns beside the training rows: a frame, a series, or an array of one or two dimensions."""
    column = _frames.series(by)
    if column is None and not _frames.is_frame(by) and np.ndim(by) == 1:
        array = np.asarray(by)
        column = ("numbers", array.astype(np.float64)) if array.dtype.kind in "biuf" else _frames.object_column(name, array.astype(object))
    table = Table()
    if column is not None:
        label = getattr(by, "name", None)
        _tables.add_column(table, label if isinstance(label, str) and label else name, column)
        return table
    x = _tables.read(by)
    x.add_to(table, x.names if x.names is not None else [f"{name}{k}" for k in range(1, x.n_cols + 1)])
    return table
