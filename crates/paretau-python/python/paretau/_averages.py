"""What the training rows say as a whole: averages over populations and groups, and projections of the effect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _checks, _frames, _tables
from ._errors import UsageError
from ._inference import Coefficients, check_alpha
from ._paretau import ScoredRows, Table
from ._warnings import warn


class Averages:
    """Averages of a fitted estimator. `arm` is the name of an arm other than the control; the first is meant without it."""

    model_: Any
    arms_: list[str]

    if TYPE_CHECKING:  # what the estimator, whose part this is, brings

        def _check_fitted(self) -> None: ...
        def _arm_effects(self, X: Any) -> list[dict[str, Any]]: ...

    # Averages over the training rows, doubly robust.

    def ate(self, X: Any = None, *, arm: Any = None) -> float:
        """Average effect.

        Parameters
        ----------
        X : array, data frame or sparse matrix, optional
            With rows, their mean predicted effect. Without, the doubly robust average over the training rows, whose nuisances belong
            to the data and not to the estimator, with Pareto-smoothed weights; it is the one that has an interval.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        float

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> lower, upper = est.ate_interval()
        >>> bool(lower < est.ate() < upper)
        True
        >>> bool(est.ate(data.X) == est.effect(data.X).mean())
        True
        """
        if X is not None:
            return float(np.mean(self._arm_effects(X)[self._arm_place(arm) - 1]["tau"]))
        return self._average("ate", arm)[0]

    def ate_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the training rows.

        Parameters
        ----------
        alpha : float, default 0.05
            The interval holds the average at level `1 - alpha`.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        lower, upper : floats

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        See Also
        --------
        ate : the average itself, with an example.
        """
        return self._average("ate", arm, alpha)[2:]

    def att(self, *, arm: Any = None) -> float:
        """Average effect over the treated training rows, doubly robust.

        Parameters
        ----------
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        float

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> lower, upper = est.att_interval()
        >>> bool(lower < est.att() < upper)
        True
        """
        return self._average("att", arm)[0]

    def att_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the treated training rows.

        Parameters
        ----------
        alpha : float, default 0.05
            The interval holds the average at level `1 - alpha`.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        lower, upper : floats

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        See Also
        --------
        att : the average itself, with an example.
        """
        return self._average("att", arm, alpha)[2:]

    def atc(self, *, arm: Any = None) -> float:
        """Average effect over the training rows without treatment, doubly robust.

        Parameters
        ----------
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        float

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> lower, upper = est.atc_interval()
        >>> bool(lower < est.atc() < upper)
        True
        """
        return self._average("atc", arm)[0]

    def atc_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over the training rows without treatment.

        Parameters
        ----------
        alpha : float, default 0.05
            The interval holds the average at level `1 - alpha`.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        lower, upper : floats

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        See Also
        --------
        atc : the average itself, with an example.
        """
        return self._average("atc", arm, alpha)[2:]

    def ato(self, *, arm: Any = None) -> float:
        """Average effect over those who could well have been in either arm (weights e (1 - e)), doubly robust.

        Parameters
        ----------
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        float

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> lower, upper = est.ato_interval()
        >>> bool(lower < est.ato() < upper)
        True
        """
        return self._average("ato", arm)[0]

    def ato_interval(self, alpha: float = 0.05, *, arm: Any = None) -> tuple[float, float]:
        """Interval of the average effect over those who could well have been in either arm.

        Parameters
        ----------
        alpha : float, default 0.05
            The interval holds the average at level `1 - alpha`.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        lower, upper : floats

        Raises
        ------
        DataError
            Where too few rows carry the average, with the reason.

        See Also
        --------
        ato : the average itself, with an example.
        """
        return self._average("ato", arm, alpha)[2:]

    def _average(self, name: str, arm: Any, alpha: float = 0.05) -> tuple[float, float, float, float]:
        """Value, standard error and ends of the interval; `DataError` where too few rows carry the average."""
        self._check_fitted()
        check_alpha(alpha)
        place = self._arm_place(arm)
        reason = self.model_.extrapolates(name, arm=place)
        if reason is not None:
            warn(
                f"the {name.upper()} rests on extrapolation, so that its interval may be far too narrow: {reason}; "
                "`ato()` asks only about those who could have been in either arm",
            )
        return self.model_.average(name, arm=place, level=1.0 - alpha)

    # Groups, projections and rankings of the training rows.

    def group_effects(self, by: Any, *, arm: Any = None) -> list[dict[str, Any]]:
        """Average effects of groups of the training rows, doubly robust.

        Parameters
        ----------
        by : data frame, series or array
            One row per row that was fitted, in the same order: text, numbers or dates. Numbers with many values are put into quantile
            bins; rows without a value are a group of their own.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        list of dict
            Per group `column`, `level`, `n` and `effective` (rows and effective rows without and with treatment), `effect` (`value`,
            `se`, and the ends `lo` and `hi` of its 95 % interval), `band` (ends of the 95 % band that holds all groups at once), and a
            `reason` where too few rows carry an effect.

        Notes
        -----
        A model that was loaded or unpickled knows no rows: ask before saving.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> [group["level"] for group in est.group_effects(data.X[:, 0] > 0)]
        ['0', '1']
        """
        self._check_fitted()
        return json.loads(self.model_.group_effects(_columns(by, "by"), arm=self._arm_place(arm)))["groups"]

    def best_linear_projection(self, A: Any = None, *, arm: Any = None) -> Coefficients:
        """On what does the effect depend? The projection of the effect on a constant and columns.

        Parameters
        ----------
        A : data frame, series or array, optional
            One row per row that was fitted, in the same order; text becomes indicators against its commonest level. Without it the
            only coefficient is the average effect.
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        Coefficients
            Least squares of the training rows' doubly robust scores, with HC3 errors, or clustered ones when the fit had groups;
            `print` shows the table.

        Notes
        -----
        A model that was loaded or unpickled knows no rows: ask before saving.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.best_linear_projection(data.X[:, :2])
        >>> found.names
        ['intercept', 'A1', 'A2']
        >>> found.conf_int()[0].shape
        (3,)
        """
        self._check_fitted()
        rows = ScoredRows.of_training(self.model_, self._arm_place(arm))
        found = json.loads(rows.best_linear_projection(None if A is None else _columns(A, "A")))
        return Coefficients(
            [c["name"] for c in found], np.array([c["value"] for c in found]), np.array([c["se"] for c in found])
        )

    def doubly_robust_scores(self, *, arm: Any = None) -> np.ndarray:
        """The doubly robust score of each training row: their mean is the average effect.

        Parameters
        ----------
        arm : number or text, optional
            The arm that is compared with the control; the first without it.

        Returns
        -------
        array of shape (n,)
            With several arms these are the scores of the rows of the control and of the arm, in their order.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.doubly_robust_scores().shape
        (300,)
        """
        self._check_fitted()
        return ScoredRows.of_training(self.model_, self._arm_place(arm)).scores()["scores"]

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
        if text in ("0", "1") and text not in self.arms_ and _checks.is_pair(self.arms_):
            return int(text)
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
