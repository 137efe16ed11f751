"""The methods of every estimator class; the classes themselves, one per family, are generated in `_estimators.py`."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from . import _bases, _checks, _frames, _tables
from ._arguments import plain, seed_from, threads
from ._compat import BaseEstimator, _same
from ._errors import DataWarning, NotFittedError, SchemaError, UsageError
from ._exports import Exports
from ._inference import EffectInference, check_alpha
from ._lines import Lines
from ._output import Output
from ._paretau import DEFAULT_VALID_SHARE, Model, Table, evaluate, fit, fit_in_blocks
from ._progress import listener
from ._questions import Questions
from ._report import OverlapReport

#: Constructor arguments that are not parameters of the estimator itself.
COMMON = ("random_state", "n_jobs", "verbose", "validation_fraction")


class Estimator(Questions, Lines, Exports, Output, BaseEstimator):
    """Base of all estimators: `fit`, then effects, averages, outcomes, propensities and weights.

    A scikit-learn estimator in all but its target: `clone`, `Pipeline`, `GridSearchCV` and `cross_val_score` work.
    """

    random_state: Any
    n_jobs: int | None
    verbose: bool

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
        control: Any = None,
        intervals: int | None = None,
        executor: Any = None,
    ) -> Estimator:
        """Learns the effect of `treatment` on `y` given `X`.

        Parameters
        ----------
        X : array, data frame (pandas, polars, pyarrow, any Arrow stream) or scipy sparse matrix
            Features, one row per unit. Text columns of frames are categories; NaN and None are missing values.
        y : array of n numbers
            Outcome.
        treatment : array of n, or the name of a column of `X`
            0 control, 1 treated; further arms are 2 and so on, or words. Keyword only: a swapped
            outcome and treatment would go unnoticed.
        sample_weight : array of n, optional
            Row weights.
        propensity : array of n or a number, optional
            Probabilities of treatment known from the study's design.
        groups : array of n, optional
            Rows of one group are never split between folds, and standard errors are clustered by them.
        control : number or text, optional
            The arm that the others are compared with, where `treatment` holds other values than 0 and 1 or words that say so
            ("control", "no", …).
        intervals : int, optional
            Refits on half-samples (40, say) from which `effect_interval` makes intervals; the fit takes about half as many
            times as long. Also keeps what intervals of individual effects need.
        executor : str or object, optional
            Where the refits for intervals are done, as in `paretau.run`: "processes", "joblib", "ray", "dask" or an object of
            `paretau.executors`. The result is the same wherever they are done.
        """
        column = treatment if isinstance(treatment, str) else None
        if column is not None:
            X, treatment = _take_column(X, column)
        else:
            _checks.refuse_search_without_treatment()
        x = _tables.read(X)
        outcome = _checks.numbers("y", y, x.n_rows)
        names = x.names if x.names is not None else _numbered(x.n_cols)
        arms, control = _checks.arms_column(treatment, x.n_rows, outcome, several=True, control=control)
        extras = {
            "treatment": arms,
            "outcome": outcome,
            "weight": _checks.weights("sample_weight", sample_weight, x.n_rows),
            "propensity": _checks.weights("propensity", propensity, x.n_rows),
            "group": _checks.group_column(groups, x.n_rows),
        }
        # Everything in X is a feature, whatever its name; naming them also stores their number in the model file.
        roles: dict[str, Any] = {} if x.sparse else {"features": names}
        if control is not None:
            roles["control_value"] = control
        table = Table()
        x.add_to(table, names)
        for role, values in extras.items():
            if values is not None:
                roles[role] = _free_name(role, names)
                _tables.add_column(table, roles[role], values if isinstance(values, tuple) else ("numbers", values))
        self._fit_table(table, roles, None if intervals is None else int(intervals), executor)
        self._control = control
        self._names = names
        self._may_have_names = False
        self._treatment_column = column
        self.n_features_in_ = x.n_cols
        if x.names is not None:
            self.feature_names_in_ = np.array(x.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._weigh_training_rows(x, arms, roles["treatment"])
        return self

    def effect(self, X: Any, *, T0: Any = None, T1: Any = None) -> Any:
        """Effect of treatment on each row, shape (n,): of arm `T1` against arm `T0`.

        Without them of the first arm against the control, which are the only two unless the fit had several.
        """
        first, second = self._pair(T0, T1)
        if (first, second) == (0, 1):
            return self._shown(self._effect(X)["tau"], X, ["effect"])
        arms = [np.zeros(1), *(arm["tau"] for arm in self._arm_effects(X))]
        return self._shown(np.broadcast_to(arms[second] - arms[first], arms[-1].shape).copy(), X, ["effect"])

    def const_marginal_effect(self, X: Any) -> Any:
        """Effect of every arm against the control, shape (n, arms - 1)."""
        effects = np.column_stack([arm["tau"] for arm in self._arm_effects(X)])
        return self._shown(effects, X, self.arms_[1:])

    def predict(self, X: Any) -> Any:
        """The same as `effect`."""
        return self.effect(X)

    def effect_interval(
        self, X: Any, alpha: float = 0.05, kind: str = "conditional", *, T0: Any = None, T1: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of intervals of each row's effect at level `1 - alpha`.

        `kind="conditional"`: approximate pointwise confidence intervals of the mean effect of people with these features,
        widened by the bias that held-out scores show. Causal forests have them; `lr-2`, `t-learner` and
        `x-learner` after `fit(..., intervals=40)`; others do not, because how often theirs cover has not been measured.
        In simulations 95 % intervals held 92 % of all rows or more, but of the tenth with the most extreme effects as few
        as 60 %: do not rely on single rows at the top or bottom of a ranking.

        `kind="individual"`: conformal intervals of one person's own effect, whatever the estimator, after
        `fit(..., intervals=40)`.

        `T1` is the arm whose effect is meant, against the control `T0`; two arms other than the control have no intervals.
        """
        check_alpha(alpha)
        predictions = self._effect(X, level=1.0 - alpha, kind=kind, arm=self._pair_with_control(T0, T1))
        return predictions["lo"], predictions["hi"]

    def effect_by_arm(self, X: Any) -> dict[str, EffectInference]:
        """Effect of each arm against the control, by the arm's name, with standard errors and intervals.

        One arm, unless the fit had several.
        """
        arms = self._arm_effects(X)
        if not all("se" in arm for arm in arms):
            self.effect_inference(X)  # refuses an estimator without standard errors in its own words
        return {
            name: EffectInference(arm["tau"], arm["se"]) for name, arm in zip(self.arms_[1:], arms, strict=True)
        }

    def effect_inference(self, X: Any, *, T0: Any = None, T1: Any = None) -> EffectInference:
        """Effects with standard errors, intervals, z statistics and p-values, of arm `T1` against the control `T0`."""
        predictions = self._effect(X, level=0.95, arm=self._pair_with_control(T0, T1))
        return EffectInference(predictions["tau"], predictions["se"])

    def predict_outcomes(self, X: Any) -> Any:
        """Expected outcomes of each arm, the control first, shape (n, arms): without and with treatment where there are two.

        Probabilities of a yes/no outcome lie between 0 and 1, also where the estimator's line does not; their difference then
        is not quite `effect(X)`.
        """
        if len(getattr(self, "arms_", ())) > 2:
            predictions = self._predict(X, propensity=True)
            outcomes = np.column_stack([predictions["mu0"], *(arm["mu"] for arm in predictions["arms"].values())])
        else:
            predictions = self._predict(X)
            outcomes = np.column_stack([predictions["mu0"], predictions["mu1"]])
        return self._shown(outcomes, X, self.arms_)

    def predict_propensity(self, X: Any, *, arm: Any = None) -> Any:
        """Probability of treatment of each row, shape (n,).

        After a fit with several arms that of `arm`, or the first without a name, among its rows and the control's.
        """
        own = self._of_arm(self._predict(X, propensity=True), self._arm_place(arm))
        return self._shown(own["e"], X, ["propensity"])

    def predict_weights(self, X: Any, *, treatment: Any, arm: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Inverse weights of rows of known treatment: raw, and with the tail that training fitted smoothed.

        After a fit with several arms those of the rows of `arm`, or the first without a name, against the control; rows of
        other arms have none, which is not a number.
        """
        self._check_fitted()
        if isinstance(treatment, str):
            X, treatment = _take_column(X, treatment)
        x = _tables.read(X)
        arms: _frames.Column
        if self._control is None:
            cells = _checks.numbers("treatment", treatment, x.n_rows)
            if not np.isin(cells, (0.0, 1.0)).all():
                raise UsageError("treatment must be 0 (control) or 1 (treated) in every row")
            arms = ("numbers", cells)
        else:
            arms, _ = _checks.arms_column(treatment, x.n_rows, several=True, control=self._control)
            if not set(_checks.arm_names(arms)) <= set(self.arms_):
                raise UsageError(f"treatment must be {' or '.join(map(repr, self.arms_))} in every row")
        own = self._of_arm(self._predict(x, propensity=True, arms=arms), self._arm_place(arm))
        return own["w_raw"], own["w"]

    def _of_arm(self, predictions: dict[str, Any], place: int) -> dict[str, Any]:
        """What predictions say about the arm that is so many behind the control."""
        return predictions["arms"][self.arms_[place]]

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
        arm: Any = None,
    ) -> dict[str, float]:
        """All metrics that need no truth, by name, each with its standard error under `name_se`.

        `heterogeneity_p` is the p-value of "the predictions do not tell whose effect is larger". Scores of exactly the
        rows of the fit are those of out-of-bag predictions where the estimator has them. Other rows that were fitted on
        are left out; `DataError` is raised when too few are left. `in_sample=True` scores them nevertheless, and the
        result says so under `in_sample`. A `DataWarning` says what was done about such rows.
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
            warnings.warn(note, DataWarning, stacklevel=3)
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
            X, treatment = _take_column(X, treatment)
        x = self._named(_tables.read(X))
        outcome = _checks.numbers("y", y, x.n_rows)
        several = len(self.arms_) > 2
        arms, control = _checks.arms_column(treatment, x.n_rows, outcome, several=several, control=self._control)
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
                roles[role] = _free_name(role, names)
                _tables.add_column(table, roles[role], values if isinstance(values, tuple) else ("numbers", values))
        return table, roles, x.n_rows

    @property
    def weights_(self) -> np.ndarray:
        """Inverse weights of the training rows with smoothed tails.

        After a fit with several arms they have a column per treated arm, and rows of other arms are not a number in it.
        """
        return self._training_weights()[1]

    @property
    def raw_weights_(self) -> np.ndarray:
        """The same before smoothing."""
        return self._training_weights()[0]

    def _training_weights(self) -> tuple[np.ndarray, np.ndarray]:
        if "_weights" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no weights_: it is not fitted, or it was loaded from a file, which keeps no "
                "training rows; predict_weights(X, treatment=t) gives the weights of rows"
            )
        return self._weights

    def overlap_report(self, *, arm: Any = None) -> OverlapReport:
        """How well the arms overlapped in training: k-hat and effective sample sizes per arm, rows at risk, warnings.

        After a fit with several arms it is about `arm`, or the first without a name, and the control.
        """
        place = self._arm_place(arm)
        about = json.loads(self.model_.about())
        return OverlapReport(about["arms"][place]["overlap"], self.model_.overlap_lines(arm=place))

    def summary(self) -> str:
        """The fit in a dozen lines of text."""
        self._check_fitted()
        changed = self._changed()
        notes = [f"parameters that differ from those of {changed[0]}: {changed[1]}"] if changed[1] else []
        return "\n".join([self.model_.summary(), *(f"note: {note}" for note in [*notes, *self.notes_])])

    def _changed(self) -> tuple[str, str]:
        """The registry entry that names the model, and the parameters in which it differs, in words."""
        name = json.loads(self.model_.about())["estimator"]
        signature = inspect.signature(type(self).__init__).parameters
        usual = {key: parameter.default for key, parameter in signature.items()} | self._presets.get(name, {})
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in COMMON}
        return name, ", ".join(f"{k}={v!r}" for k, v in params.items() if not _same(plain(v), plain(usual.get(k))))

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
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        # It predicts a number per row, which is what `partial_dependence` and its kin ask for; of the outcome it is a poor guess.
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        own: Any = super().__getstate__()
        state: dict[str, Any] = dict(own)
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes(pickled=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "model_" in state:
            state["model_"] = Model.from_bytes(state["model_"], pickled=True)
        super().__setstate__(state)

    def _far_refits(self, executor: Any, table: Table) -> Any:
        """The executor of the refits for intervals."""
        from . import executors

        found = executors.find(executor, threads(self.n_jobs))
        if found is not None and any(hasattr(value, "fit") for value in self.get_params(deep=False).values()):
            raise UsageError("base learners of Python's stay in this process: leave out executor, or name one of the registry")
        return executors.over(found, table)

    def _fit_table(
        self, table: Table, roles: dict[str, Any], intervals: int | None = None, executor: Any = None
    ) -> None:
        def fitted(known: dict[str, Any]) -> Model:
            far = self._far_refits(executor, table) if intervals is not None else None
            return fit(table, **self._wishes(roles, known), intervals=intervals, executor=far)

        self._adopt(fitted)

    def _fit_blocks(
        self, path: str, roles: dict[str, Any], reading: dict[str, Any], block_rows: int, scratch: str
    ) -> None:
        def fitted(known: dict[str, Any]) -> Model:
            wishes = self._wishes(roles, known)
            return fit_in_blocks(path, **wishes, reading=json.dumps(reading), block_rows=block_rows, scratch=scratch)

        self._adopt(fitted)

    def _wishes(self, roles: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
        """What every fit is asked for; `known` are the parameters as the library knows them."""
        try:
            text = json.dumps(known, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(
                "parameters must be finite numbers, text, lists of numbers, base learners (a name, a dict, or a regressor "
                f"of scikit-learn's kind) or None: {error}"
            ) from error
        params = {k: plain(v) for k, v in self.get_params(deep=False).items() if k not in COMMON}
        return {
            "roles": json.dumps(roles),
            "estimator": self._entry(params),
            "params": text,
            "seed": seed_from(self.random_state),
            "valid_share": float(getattr(self, "validation_fraction", DEFAULT_VALID_SHARE)),
            "n_jobs": threads(self.n_jobs),
            "listener": listener(self.verbose),
        }

    def _adopt(self, fitted: Callable[[dict[str, Any]], Model]) -> None:
        """Fits and takes over what came out."""
        params = {k: plain(v) for k, v in self.get_params(deep=False).items() if k not in COMMON}
        with _bases.lent(params) as known:
            self.model_ = fitted(known)
        self._adopt_facts()
        for warning in self.warnings_:
            warnings.warn(warning, DataWarning, stacklevel=4)
        if len(self.arms_) > 2:
            first, control = self.arms_[1], self.arms_[0]
            warnings.warn(
                f"the fit has {len(self.arms_)} arms: where no other is named (arm=, T1=), answers are about arm {first!r} "
                f"against {control!r}",
                DataWarning,
                stacklevel=4,
            )

    def _adopt_facts(self) -> None:
        about = json.loads(self.model_.about())
        self.diagnostics_ = about["diagnostics"]
        self.history_ = about["diagnostics"]["history"]
        self.feature_roles_ = about["diagnostics"]["roles"]
        self.notes_ = about["notes"]
        self.arms_ = [arm["name"] for arm in about["arms"]]
        self.warnings_ = [w["message"] for w in about["warnings"]]
        self._control = about["roles"].get("control_value")

    def _weigh_training_rows(self, x: _tables.Input, arms: _frames.Column, column: str) -> None:
        self._keep_weights(self._predict(x, propensity=True, arms=arms, column=column))

    def _keep_weights(self, predictions: dict[str, Any]) -> None:
        by_arm = [predictions["arms"][name] for name in self.arms_[1:]]
        raw, smooth = ([own[key] for own in by_arm] for key in ("w_raw", "w"))
        # Weights make two arms comparable; with several there is one set per treated arm.
        self._weights = (raw[0], smooth[0]) if len(by_arm) == 1 else (np.column_stack(raw), np.column_stack(smooth))

    def _pair(self, T0: Any, T1: Any) -> tuple[int, int]:
        """Places of two arms among all; the control and the first behind it without names."""
        self._check_fitted()
        first = 0 if T0 is None else self._find_arm(T0)
        return first, 1 if T1 is None else self._find_arm(T1)

    def _pair_with_control(self, T0: Any, T1: Any) -> int:
        first, second = self._pair(T0, T1)
        if first != 0 or second == 0:
            raise UsageError(
                f"uncertainty is known of arms against the control {self.arms_[0]!r}: leave T0 out, and T1 another arm"
            )
        return second

    def _effect(self, X: Any, *, level: float | None = None, kind: str = "conditional", arm: int = 1) -> dict[str, Any]:
        """Effects of rows, with intervals if a level is given. Expected outcomes cost time, so they are left out."""
        n_jobs = threads(self.n_jobs)
        return _joined([self.model_.effect(t, level=level, kind=kind, arm=arm, n_jobs=n_jobs) for t in self._row_tables(X)])

    def _arm_effects(self, X: Any) -> list[dict[str, Any]]:
        """Effects of rows for every arm."""
        n_jobs = threads(self.n_jobs)
        return _joined([self.model_.contrasts(t, n_jobs=n_jobs) for t in self._row_tables(X)])

    def _predict(
        self, X: Any, *, propensity: bool = False, arms: _frames.Column | None = None, column: str | None = None
    ) -> dict[str, Any]:
        """The predictions for rows. Propensities cost time, and most callers have no use for them."""
        if arms is not None and column is None:
            column = json.loads(self.model_.about())["roles"]["treatment"]
        tables = self._row_tables(X, None if arms is None or column is None else (column, arms))
        return _joined([self.model_.predict(t, propensity=propensity, n_jobs=threads(self.n_jobs)) for t in tables])

    def _row_tables(self, X: Any, beside: tuple[str, _frames.Column] | None = None) -> Iterator[Table]:
        """Rows as the model reads them, block by block, with a further column beside them if there is one."""
        self._check_fitted()
        x = self._named(_tables.read(X, self._wanted(X)))
        names = x.names if x.names is not None else self._names
        start = 0
        for part in x.blocks():
            table = Table()
            part.add_to(table, names)
            if beside is not None:
                name, column = beside
                _tables.add_column(table, name, _tables.column_part(column, start, start + part.n_rows))
            start += part.n_rows
            yield table

    def _wanted(self, X: Any) -> set[str] | None:
        """The columns of a frame to read: those of the fit. None when frame and fit do not both have names."""
        return set(self._names) if hasattr(self, "feature_names_in_") and _frames.is_frame(X) else None

    def _goes_by_name(self, names: Any) -> bool:
        """Whether columns of these names are found by name: after a fit with names, and for a loaded model, which may have had
        names and does not know, if they share any with its own."""
        if hasattr(self, "feature_names_in_"):
            return True
        return getattr(self, "_may_have_names", False) and not set(self._names).isdisjoint(names)

    def _named(self, x: _tables.Input) -> _tables.Input:
        """`X` with the columns of the fit: by name where both have names, else by place."""
        fitted_with_names = hasattr(self, "feature_names_in_")
        name = type(self).__name__
        if x.names is not None and self._goes_by_name(x.names):
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


def _joined(parts: list[Any]) -> Any:
    """Answers about blocks of rows as one: arrays end to end, inside whatever they come in."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, dict):
        return {key: _joined([part[key] for part in parts]) for key in first if all(key in part for part in parts)}
    if all(isinstance(item, str) for item in first):  # notes, the same of several blocks once
        return list(dict.fromkeys(note for part in parts for note in part))
    return [_joined(list(items)) for items in zip(*parts, strict=True)]


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
