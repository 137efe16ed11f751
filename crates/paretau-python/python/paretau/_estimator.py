"""The methods of every estimator class; the classes themselves, one per family, are generated in `_estimators.py`."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from . import _checks, _frames, _tables
from ._compat import BaseEstimator
from ._errors import DataError, DataWarning, NotFittedError, SchemaError, UsageError
from ._inference import EffectInference, normal_quantile
from ._paretau import DEFAULT_VALID_SHARE, Model, Table, describe, evaluate, fit
from ._progress import Progress
from ._report import OverlapReport

#: Constructor arguments that are not parameters of the estimator itself.
COMMON = ("random_state", "n_jobs", "verbose", "validation_fraction")


class Estimator(BaseEstimator):
    """Base of all estimators: `fit`, then effects, averages, outcomes, propensities and weights.

    A scikit-learn estimator in all but its target: `clone`, `Pipeline`, `GridSearchCV` and `cross_val_score` work.
    """

    #: Registry entries of this class, the default first, each with the parameters in which it differs from the first.
    _presets: ClassVar[dict[str, dict[str, Any]]] = {}

    # With metadata routing switched on, a treatment that is given is meant for us: nobody need ask for it.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"treatment": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"treatment": True}

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        treatment: Any,
        sample_weight: Any = None,
        propensity: Any = None,
        groups: Any = None,
        intervals: int | None = None,
    ) -> Estimator:
        """Learns the effect of `treatment` on `y` given `X`.

        Parameters
        ----------
        X : array, data frame (pandas, polars, pyarrow, any Arrow stream) or scipy sparse matrix
            Features, one row per unit. Text columns of frames are categories; NaN and None are missing values.
        y : array of n numbers
            Outcome.
        treatment : array of n, or the name of a column of `X`
            0 control, 1 treated; estimators that take several arms also 2 and so on, see `effect_by_arm`. Keyword only: a
            swapped outcome and treatment would go unnoticed.
        sample_weight : array of n, optional
            Row weights.
        propensity : array of n or a number, optional
            Probabilities of treatment known from the study's design.
        groups : array of n, optional
            Rows of one group are never split between folds, and standard errors are clustered by them.
        intervals : int, optional
            Refits on half-samples (40, say) from which `effect_interval` makes intervals; the fit takes about half as many
            times as long. Also keeps what intervals of individual effects need.
        """
        column = treatment if isinstance(treatment, str) else None
        if column is not None:
            X, treatment = _take_column(X, column)
        x = _tables.read(X)
        outcome = _checks.numbers("y", y, x.n_rows)
        names = x.names if x.names is not None else _numbered(x.n_cols)
        extras = {
            "treatment": _checks.treatment_column(treatment, x.n_rows, outcome, several=self._takes_several_arms()),
            "outcome": outcome,
            "weight": _checks.weights("sample_weight", sample_weight, x.n_rows),
            "propensity": _checks.weights("propensity", propensity, x.n_rows),
            "group": _checks.group_column(groups, x.n_rows),
        }
        # Everything in X is a feature, whatever its name; naming them also stores their number in the model file.
        roles: dict[str, Any] = {} if x.sparse else {"features": names}
        table = Table()
        x.add_to(table, names)
        for role, values in extras.items():
            if values is not None:
                roles[role] = _free_name(role, names)
                _tables.add_column(table, roles[role], values if isinstance(values, tuple) else ("numbers", values))
        self._fit_table(table, roles, None if intervals is None else int(intervals))
        self._names = names
        self._treatment_column = column
        self.n_features_in_ = x.n_cols
        if x.names is not None:
            self.feature_names_in_ = np.array(x.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._weigh_training_rows(x, extras["treatment"], roles["treatment"])
        return self

    def effect(self, X: Any) -> np.ndarray:
        """Effect of treatment on each row, shape (n,)."""
        return self._effect(X)["tau"]

    def predict(self, X: Any) -> np.ndarray:
        """The same as `effect`."""
        return self.effect(X)

    def effect_interval(
        self, X: Any, alpha: float = 0.05, kind: str = "conditional"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of intervals of each row's effect at level `1 - alpha`.

        `kind="conditional"`: approximate pointwise confidence intervals of the mean effect of people with these features,
        widened by the bias that held-out scores show. Causal forests have them; lines and meta-learners after
        `fit(..., intervals=40)`; networks do not, because how often theirs cover has not been measured.

        `kind="individual"`: conformal intervals of one person's own effect, whatever the estimator, after
        `fit(..., intervals=40)`.
        """
        normal_quantile(alpha)  # refuses a bad alpha in our own words
        predictions = self._effect(X, level=1.0 - alpha, kind=kind)
        return predictions["lo"], predictions["hi"]

    def effect_by_arm(self, X: Any) -> dict[str, EffectInference]:
        """Effect of each arm against the control, by the arm's name, with standard errors and intervals.

        One arm, unless the fit had several. `effect` and all that rests on it is about the first of them.
        """
        arms = self._predict(X, propensity=True)["arms"]
        if not all("se" in arm for arm in arms.values()):
            self.effect_inference(X)  # refuses an estimator without standard errors in its own words
        return {name: EffectInference(arm["tau"], arm["se"]) for name, arm in arms.items()}

    def effect_inference(self, X: Any) -> EffectInference:
        """Effects with standard errors, intervals, z statistics and p-values."""
        predictions = self._effect(X, level=0.95)
        return EffectInference(predictions["tau"], predictions["se"])

    def ate(self, X: Any = None) -> float:
        """Average effect: doubly robust over the training rows, or the mean effect of the rows of `X`."""
        return float(np.mean(self.effect(X))) if X is not None else self._average("ate")["value"]

    def ate_interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Interval of the average effect over the training rows."""
        return self._average_interval("ate", alpha)

    def att(self) -> float:
        """Average effect over the treated training rows, doubly robust."""
        return self._average("att")["value"]

    def att_interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Interval of the average effect over the treated training rows."""
        return self._average_interval("att", alpha)

    def predict_outcomes(self, X: Any) -> np.ndarray:
        """Expected outcomes without and with treatment, shape (n, 2)."""
        predictions = self._predict(X)
        return np.column_stack([predictions["mu0"], predictions["mu1"]])

    def predict_propensity(self, X: Any) -> np.ndarray:
        """Probability of treatment of each row, shape (n,)."""
        return self._predict(X, propensity=True)["e"]

    def predict_weights(self, X: Any, *, treatment: Any) -> tuple[np.ndarray, np.ndarray]:
        """Balancing weights of rows of known treatment: raw, and with the tail that training fitted smoothed."""
        self._check_fitted()
        if isinstance(treatment, str):
            X, treatment = _take_column(X, treatment)
        x = _tables.read(X)
        arms = _checks.numbers("treatment", treatment, x.n_rows)
        if not np.isin(arms, (0.0, 1.0)).all():
            raise UsageError("treatment must be 0 (control) or 1 (treated) in every row")
        predictions = self._predict(x, propensity=True, arms=arms)
        return predictions["w_raw"], predictions["w"]

    def score(
        self, X: Any, y: Any, *, treatment: Any = None, sample_weight: Any = None, propensity: Any = None
    ) -> float:
        """Negative R-loss on rows that were not fitted on; higher is better.

        The loss of the effect alone: outcome and propensity are cross-fitted on these very rows, so that all
        candidates of a search are compared by one measure. `treatment` may be left out when `fit` was given the name
        of a column of `X`. Rows that were fitted on are scored by out-of-bag predictions where the estimator has them;
        otherwise a `DataWarning` says that the score flatters (`evaluate` refuses).
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
    ) -> dict[str, float]:
        """All metrics that need no truth, by name, each with its standard error under `name_se`.

        `heterogeneity_p` is the p-value of "the predictions do not tell whose effect is larger". Scores of exactly the
        rows of the fit are those of out-of-bag predictions where the estimator has them. Other rows that were fitted on
        are left out; `DataError` is raised when too few are left. `in_sample=True` scores them nevertheless, and the
        result says so under `in_sample`. What was done about such rows is told in a `DataWarning`.
        """
        mode = "always" if in_sample else "never"
        return self._scores(
            X, y, treatment=treatment, sample_weight=sample_weight, propensity=propensity, in_sample=mode
        )

    def _scores(
        self, X: Any, y: Any, *, treatment: Any, sample_weight: Any, propensity: Any, in_sample: str
    ) -> dict[str, float]:
        self._check_fitted()
        treatment = self._treatment_column if treatment is None else treatment
        if treatment is None:
            raise UsageError(
                "scoring needs the treatment of the rows: with sklearn.set_config(enable_metadata_routing=True) "
                "searches hand it on by themselves; otherwise fit with treatment='name of a column of X'"
            )
        if isinstance(treatment, str):
            X, treatment = _take_column(X, treatment)
        x = self._named(_tables.read(X))
        outcome = _checks.numbers("y", y, x.n_rows)
        extras = {
            "treatment": _checks.treatment_column(treatment, x.n_rows, outcome),
            "outcome": outcome,
            "weight": _checks.weights("sample_weight", sample_weight, x.n_rows),
            "propensity": _checks.weights("propensity", propensity, x.n_rows),
        }
        names = x.names if x.names is not None else self._names
        roles: dict[str, Any] = {} if x.sparse else {"features": [n for n in names if n in set(self._names)]}
        table = Table()
        x.add_to(table, names)
        for role, values in extras.items():
            if values is not None:
                roles[role] = _free_name(role, names)
                table.numbers(roles[role], values)
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
            warnings.warn(note, DataWarning, stacklevel=3)
        return found["scores"]

    def overlap_report(self) -> OverlapReport:
        """How well the arms overlapped in training: k-hat and effective sample sizes per arm, rows at risk, warnings."""
        self._check_fitted()
        return OverlapReport(json.loads(self.model_.about())["overlap"], self.model_.overlap_lines())

    def group_effects(self, by: Any) -> list[dict[str, Any]]:
        """Average effects of groups of the training rows, doubly robust, with 95 % intervals and a band over all groups.

        `by` has one row per row that was fitted, in the same order: a data frame or a series (text, numbers, dates), or an
        array. Numbers with many values are put into quantile bins; rows without a value are a group of their own. Each group
        has `column`, `level`, `n` and `effective` (rows and effective rows without and with treatment), `effect` (`value`,
        `se`, `lo`, `hi`), `band` (ends of the band that holds all groups at once), and a `reason` where too few rows carry
        an effect. A model that was loaded or unpickled knows no rows: ask before saving.
        """
        self._check_fitted()
        column = _frames.series(by)
        if column is None and not _frames.is_frame(by) and np.ndim(by) == 1:
            column = _frames.object_column("by", np.asarray(by).astype(object))
        table = Table()
        if column is not None:
            name = getattr(by, "name", None)
            _tables.add_column(table, name if isinstance(name, str) and name else "by", column)
        else:
            x = _tables.read(by)
            x.add_to(table, x.names if x.names is not None else [f"by{k}" for k in range(1, x.n_cols + 1)])
        return json.loads(self.model_.group_effects(table))["groups"]

    def summary(self) -> str:
        """The fit in a dozen lines of text."""
        self._check_fitted()
        return "\n".join([self.model_.summary(), *(f"note: {note}" for note in self.notes_)])

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained HTML page about the fit, written to `path` when one is given; the page is returned."""
        self._check_fitted()
        page = self.model_.report()
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one model file, whole or not at all; `paretau.load` and the command line read it."""
        self._check_fitted()
        self.model_.save(os.fspath(path))

    # From here on: what scikit-learn asks of an estimator, and helpers.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "model_" in state:
            state["model_"] = Model.from_bytes(state["model_"])
        super().__setstate__(state)

    def _fit_table(self, table: Table, roles: dict[str, Any], intervals: int | None = None) -> None:
        params = {k: plain(v) for k, v in self.get_params(deep=False).items() if k not in COMMON}
        try:
            text = json.dumps(params, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"parameters must be finite numbers, text, lists of numbers, dicts (of base learners) or None: {error}") from error
        self.model_ = fit(
            table,
            roles=json.dumps(roles),
            estimator=self._entry(params),
            params=text,
            seed=seed_from(self.random_state),
            valid_share=float(getattr(self, "validation_fraction", DEFAULT_VALID_SHARE)),
            n_jobs=threads(self.n_jobs),
            listener=Progress() if self.verbose else None,
            intervals=intervals,
        )
        self._adopt_facts()
        for warning in self.warnings_:
            warnings.warn(warning, DataWarning, stacklevel=3)

    def _adopt_facts(self) -> None:
        about = json.loads(self.model_.about())
        self.diagnostics_ = about["diagnostics"]
        self.history_ = about["diagnostics"]["history"]
        self.feature_roles_ = about["diagnostics"]["roles"]
        self.notes_ = about["notes"]
        self.arms_ = [arm["name"] for arm in about["arms"]]
        self.warnings_ = [w["message"] for w in about["warnings"]]
        self._averages = about["averages"]

    def _takes_several_arms(self) -> bool:
        return bool(json.loads(describe(next(iter(self._presets))))["handles"]["many_arms"])

    def _weigh_training_rows(self, x: _tables.Input, arms: np.ndarray, column: str) -> None:
        if len(self.arms_) > 2:
            # Weights make two arms comparable; with several there is one set for each pair.
            self.raw_weights_ = self.weights_ = None
            return
        predictions = self._predict(x, propensity=True, arms=arms, column=column)
        self.raw_weights_, self.weights_ = predictions["w_raw"], predictions["w"]

    def _effect(self, X: Any, *, level: float | None = None, kind: str = "conditional") -> dict[str, Any]:
        """Effects of rows, with intervals if a level is given. Expected outcomes cost time, so they are left out."""
        table = self._table(X)
        return self.model_.effect(table, level=level, kind=kind, n_jobs=threads(self.n_jobs))

    def _predict(
        self, X: Any, *, propensity: bool = False, arms: np.ndarray | None = None, column: str | None = None
    ) -> dict[str, Any]:
        """The predictions for rows. Propensities cost time, and most callers have no use for them."""
        table = self._table(X)
        if arms is not None:
            table.numbers(column or json.loads(self.model_.about())["roles"]["treatment"], arms)
        return self.model_.predict(table, propensity=propensity, n_jobs=threads(self.n_jobs))

    def _table(self, X: Any) -> Table:
        """Rows as the model reads them."""
        self._check_fitted()
        x = self._named(_tables.read(X, self._wanted(X)))
        table = Table()
        x.add_to(table, x.names if x.names is not None else self._names)
        return table

    def _wanted(self, X: Any) -> set[str] | None:
        """The columns of a frame to read: those of the fit. None when frame and fit do not both have names."""
        return set(self._names) if hasattr(self, "feature_names_in_") and _frames.is_frame(X) else None

    def _named(self, x: _tables.Input) -> _tables.Input:
        """`X` with the columns of the fit: by name where both have names, else by place."""
        fitted_with_names = hasattr(self, "feature_names_in_")
        name = type(self).__name__
        if x.names is not None and fitted_with_names:
            absent = [n for n in self._names if n not in set(x.names)]
            if absent:
                raise SchemaError(
                    f"The feature names should match those that were passed during fit: X has no column "
                    f"{', '.join(repr(n) for n in absent[:5])}{' and more' if len(absent) > 5 else ''}"
                )
            return x
        if x.n_cols != self.n_features_in_:
            raise SchemaError(
                f"X has {x.n_cols} features, but {name} is expecting {self.n_features_in_} features as input"
            )
        if x.names is not None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=4)
            return x.renamed(self._names)
        if fitted_with_names:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                UserWarning,
                stacklevel=4,
            )
        return x

    def _average(self, name: str) -> dict[str, float]:
        self._check_fitted()
        if self._averages[name] is None:
            reason = self._averages["reason"] or "too few rows carry it"
            raise DataError(f"there is no average effect ({name}): {reason}")
        return self._averages[name]

    def _average_interval(self, name: str, alpha: float) -> tuple[float, float]:
        average = self._average(name)
        half = normal_quantile(alpha) * average["se"]
        return average["value"] - half, average["value"] + half

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    @classmethod
    def _entry(cls, params: dict[str, Any]) -> str:
        """The registry name closest to these parameters; it names the model, it does not change it."""
        fitting = [
            (len(changed), name)
            for name, changed in cls._presets.items()
            if all(params.get(k) == plain(v) for k, v in changed.items())
        ]
        return max(fitting, key=lambda pair: pair[0])[1]


def plain(value: Any) -> Any:
    """A parameter's value as JSON knows it: numpy scalars and tuples come out of searches."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def threads(n_jobs: int | None) -> int | None:
    """A number of threads, counted from the end when negative; None for all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs == 0:
        raise UsageError("n_jobs must be a number of threads, or None for all cores, not 0")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed_from(random_state: Any) -> int:
    """A seed: the number itself, or drawn from a generator; None draws from numpy's global one."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise UsageError(f"random_state must not be negative, not {random_state}")
        return int(random_state)
    if random_state is None:
        return int(np.random.randint(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    raise UsageError(f"random_state must be a whole number, a numpy generator or None, not {random_state!r}")


def _numbered(n: int) -> list[str]:
    return [f"x{j}" for j in range(1, n + 1)]


def _free_name(role: str, taken: list[str]) -> str:
    name = role
    while name in taken:
        name = f"_{name}"
    return name


def _take_column(X: Any, name: str) -> tuple[Any, Any]:
    """The frame without the named column, and that column."""
    if not _frames.is_frame(X):
        raise UsageError(f"treatment={name!r} names a column, so X must be a data frame, not {type(X).__name__}")
    return _frames.split(X, name)
