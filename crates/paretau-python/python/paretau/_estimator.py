"""The methods of every estimator class; the classes themselves, one per family, are generated in `_estimators.py`."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from . import _bases, _checks, _frames, _tables
from ._arguments import plain, seed_from, threads
from ._callbacks import CallbackSupportMixin, Tasks, with_callbacks
from ._compat import BaseEstimator, _same
from ._errors import NotFittedError, SchemaError, UsageError
from ._exports import Exports
from ._lines import Lines
from ._names import free_name, numbered
from ._output import Output
from ._paretau import DEFAULT_VALID_SHARE, Model, Table, fit, fit_in_blocks
from ._predictions import Predictions
from ._progress import listener
from ._questions import Questions
from ._report import OverlapReport, Report
from ._scoring import Scoring
from ._warnings import warn

#: Constructor arguments that are not parameters of the estimator itself.
COMMON = ("random_state", "n_jobs", "verbose", "validation_fraction")


class Estimator(Predictions, Questions, Scoring, Lines, Exports, Output, CallbackSupportMixin, BaseEstimator):
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

    @with_callbacks
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
            Keep what intervals of individual effects need; and, for lines and S-, T- and X-learner, refit so many times (40,
            say) on half-samples, from which `effect_interval` makes intervals: the fit takes about half as many times as long.
        executor : str or object, optional
            Where the refits for intervals are done, as in `paretau.run`: "processes", "joblib", "ray", "dask" or an object of
            `paretau.executors`. The result is the same wherever they are done.

        Returns
        -------
        self

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.arms_, est.n_features_in_
        (['0', '1'], 10)
        """
        metadata = {"treatment": treatment, "sample_weight": sample_weight, "propensity": propensity}
        tasks = Tasks.begun(self, X, y, metadata)
        column = treatment if isinstance(treatment, str) else None
        if column is not None:
            X, treatment = _frames.take_column(X, column)
        else:
            _checks.refuse_search_without_treatment()
        x = _tables.read(X)
        outcome = _checks.numbers("y", y, x.n_rows)
        names = x.names if x.names is not None else numbered(x.n_cols)
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
                roles[role] = free_name(role, names)
                _tables.add_column(table, roles[role], values if isinstance(values, tuple) else ("numbers", values))
        self._fit_table(table, roles, None if intervals is None else int(intervals), executor, tasks)
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
        if tasks is not None:
            tasks.end()
        return self

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

        Parameters
        ----------
        arm : number or text, optional
            After a fit with several arms the report is about `arm`, or the first without a name, and the control.

        Returns
        -------
        OverlapReport
            A dictionary that prints as sentences.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.overlap_report()
        >>> found["treated"]["n"] + found["control"]["n"]
        300
        """
        place = self._arm_place(arm)
        about = json.loads(self.model_.about())
        return OverlapReport(about["arms"][place]["overlap"], self.model_.overlap_lines(arm=place))

    def summary(self) -> str:
        """The fit in a dozen lines of text.

        Returns
        -------
        str

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> "average effect" in est.summary()
        True
        """
        self._check_fitted()
        name, changed = self._changed()
        text = self.model_.summary()
        if changed:
            # The registry's name stands for its parameters; with others it would name what was not fitted.
            text = text.replace(f"{name}:", f"{name} with {changed}:", 1)
        return "\n".join([text, *(f"note: {note}" for note in self.notes_)])

    def _changed(self) -> tuple[str, str]:
        """The registry entry that names the model, and the parameters in which it differs, in words."""
        name = json.loads(self.model_.about())["estimator"]
        signature = inspect.signature(type(self).__init__).parameters
        usual = {key: parameter.default for key, parameter in signature.items()} | self._presets.get(name, {})
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in COMMON}
        return name, ", ".join(f"{k}={v!r}" for k, v in params.items() if not _same(plain(v), plain(usual.get(k))))

    def report(self, path: str | os.PathLike[str] | None = None) -> Report:
        """One self-contained HTML page about the fit.

        Parameters
        ----------
        path : path, optional
            Where to write the page.

        Returns
        -------
        Report
            The page: text that a notebook shows as such.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.report()[:15]
        '<!doctype html>'
        """
        self._check_fitted()
        page = Report(self.model_.report())
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one model file, whole or not at all; `paretau.load` and the command line read it.

        Parameters
        ----------
        path : path
            The file. It holds no training rows and no code.

        Examples
        --------
        >>> import os, tempfile
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> path = os.path.join(tempfile.mkdtemp(), "model.paretau")
        >>> est.save(path)
        >>> bool((paretau.load(path).effect(data.X) == est.effect(data.X)).all())
        True
        """
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
        self,
        table: Table,
        roles: dict[str, Any],
        intervals: int | None = None,
        executor: Any = None,
        tasks: Tasks | None = None,
    ) -> None:
        def fitted(known: dict[str, Any]) -> Model:
            far = self._far_refits(executor, table) if intervals is not None else None
            return fit(table, **self._wishes(roles, known, tasks), intervals=intervals, executor=far)

        self._adopt(fitted)

    def _fit_blocks(
        self, path: str, roles: dict[str, Any], reading: dict[str, Any], block_rows: int, scratch: str
    ) -> None:
        def fitted(known: dict[str, Any]) -> Model:
            wishes = self._wishes(roles, known)
            return fit_in_blocks(path, **wishes, reading=json.dumps(reading), block_rows=block_rows, scratch=scratch)

        self._adopt(fitted)

    def _wishes(self, roles: dict[str, Any], known: dict[str, Any], tasks: Tasks | None = None) -> dict[str, Any]:
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
            "listener": listener(self.verbose, tasks),
        }

    def _adopt(self, fitted: Callable[[dict[str, Any]], Model]) -> None:
        """Fits and takes over what came out."""
        params = {k: plain(v) for k, v in self.get_params(deep=False).items() if k not in COMMON}
        with _bases.lent(params) as known:
            self.model_ = fitted(known)
        self._adopt_facts()
        for warning in self.warnings_:
            warn(warning)
        if len(self.arms_) > 2:
            first, control = self.arms_[1], self.arms_[0]
            warn(
                f"the fit has {len(self.arms_)} arms: where no other is named (arm=, T1=), answers are about arm {first!r} "
                f"against {control!r}",
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
            warn(f"X has feature names, but {name} was fitted without feature names", UserWarning)
            return x.renamed(self._names)
        if fitted_with_names:
            warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                UserWarning,
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
