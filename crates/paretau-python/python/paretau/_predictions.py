"""What a fitted estimator says about each row: effects, their uncertainty, outcomes, propensities, weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _checks, _frames, _tables
from ._errors import UsageError
from ._inference import EffectInference, check_alpha

if TYPE_CHECKING:
    from ._paretau import Table


class Predictions:
    """Predictions of rows. `T0` and `T1` are names of arms, `arm` that of an arm other than the control."""

    arms_: list[str]
    _control: Any

    if TYPE_CHECKING:  # what the estimator, whose part this is, brings

        def _check_fitted(self) -> None: ...
        def _find_arm(self, arm: Any) -> int: ...
        def _arm_place(self, arm: Any) -> int: ...
        def _shown(self, values: np.ndarray, X: Any, names: list[str]) -> Any: ...
        def _row_tables(self, X: Any) -> Iterator[Table]: ...
        def _effect(self, X: Any, *, level: float | None = None, kind: str = "conditional", arm: int = 1) -> dict[str, Any]: ...
        def _arm_effects(self, X: Any) -> list[dict[str, Any]]: ...
        def _predict(
            self, X: Any, *, propensity: bool = False, arms: _frames.Column | None = None, column: str | None = None
        ) -> dict[str, Any]: ...

    def effect(self, X: Any, *, T0: Any = None, T1: Any = None) -> Any:
        """Effect of treatment on each row: of arm `T1` against arm `T0`.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit. A frame's are found by name, in any order; others are ignored.
        T0, T1 : number or text, optional
            Names of two arms. Without them the first arm against the control, which are the only two unless the fit had
            several.

        Returns
        -------
        array of shape (n,), or what `set_output` asks for

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.effect(data.X[:4]).shape
        (4,)
        >>> bool((est.effect(data.X, T0=1, T1=0) == -est.effect(data.X)).all())
        True
        """
        first, second = self._pair(T0, T1)
        if (first, second) == (0, 1):
            return self._shown(self._effect(X)["tau"], X, ["effect"])
        arms = [np.zeros(1), *(arm["tau"] for arm in self._arm_effects(X))]
        return self._shown(np.broadcast_to(arms[second] - arms[first], arms[-1].shape).copy(), X, ["effect"])

    def predict(self, X: Any) -> Any:
        """The same as `effect`, under the name that scikit-learn's tools call.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.

        Returns
        -------
        array of shape (n,), or what `set_output` asks for
        """
        return self.effect(X)

    def const_marginal_effect(self, X: Any) -> Any:
        """Effect of every arm against the control.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.

        Returns
        -------
        array of shape (n, arms - 1), or what `set_output` asks for
            A column per arm of `arms_` behind the control.

        Examples
        --------
        >>> import numpy as np, paretau
        >>> rng = np.random.default_rng(0)
        >>> X, dose = rng.normal(size=(300, 2)), np.array(["none", "half", "full"])[rng.integers(0, 3, 300)]
        >>> y = X[:, 0] + np.where(dose == "full", 2.0, 0.0) + rng.normal(size=300)
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", paretau.DataWarning)
        ...     est = paretau.LinearEffect().fit(X, y, treatment=dose, control="none")
        >>> est.arms_, est.const_marginal_effect(X).shape
        (['none', 'full', 'half'], (300, 2))
        """
        effects = np.column_stack([arm["tau"] for arm in self._arm_effects(X)])
        return self._shown(effects, X, self.arms_[1:])

    def effect_interval(
        self, X: Any, alpha: float = 0.05, kind: str = "conditional", *, T0: Any = None, T1: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of intervals of each row's effect at level `1 - alpha`.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.
        alpha : float, default 0.05
            Share of rows whose effect may lie outside.
        kind : {"conditional", "individual"}, default "conditional"
            "conditional": approximate pointwise confidence intervals of the mean effect of people with these features,
            widened by the bias that held-out scores show. `auto`, causal forests, DR- and R-learner over forests, `tarnet` and
            `dpsw-norm` have them; `lr-1`, `lr-2`, S-, T- and X-learner after `fit(..., intervals=40)`; others do not,
            because how often theirs cover has not been measured.
            "individual": conformal intervals of one person's own effect, whatever the estimator, after
            `fit(..., intervals=40)`.
        T0, T1 : number or text, optional
            `T1` is the arm whose effect is meant, against the control `T0`; two arms other than the control have no
            intervals.

        Returns
        -------
        lower, upper : arrays of shape (n,)

        Notes
        -----
        In simulations 95 % intervals held 90 % of all rows or more, but of the tenth with the most extreme effects as few as
        half: do not rely on single rows at the top or bottom of a ranking.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> lower, upper = est.effect_interval(data.X[:4], alpha=0.1)
        >>> bool((lower < upper).all())
        True
        """
        check_alpha(alpha)
        predictions = self._effect(X, level=1.0 - alpha, kind=kind, arm=self._pair_with_control(T0, T1))
        return predictions["lo"], predictions["hi"]

    def effect_inference(self, X: Any, *, T0: Any = None, T1: Any = None) -> EffectInference:
        """Effects with standard errors, intervals, z statistics and p-values.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.
        T0, T1 : number or text, optional
            The arm whose effect is meant, `T1`, against the control, `T0`.

        Returns
        -------
        EffectInference
            With `point_estimate`, `stderr`, `conf_int()`, `zstat()`, `pvalue()` and `summary_frame()`.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> found = est.effect_inference(data.X[:4])
        >>> found.stderr.shape, found.pvalue().shape
        ((4,), (4,))
        """
        predictions = self._effect(X, level=0.95, arm=self._pair_with_control(T0, T1))
        return EffectInference(predictions["tau"], predictions["se"])

    def effect_by_arm(self, X: Any) -> dict[str, EffectInference]:
        """Effect of each arm against the control, with standard errors and intervals.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.

        Returns
        -------
        dict of EffectInference
            By the arm's name; one, unless the fit had several arms.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
        >>> list(est.effect_by_arm(data.X))
        ['1']
        """
        arms = self._arm_effects(X)
        if not all("se" in arm for arm in arms):
            self.effect_inference(X)  # refuses an estimator without standard errors in its own words
        return {
            name: EffectInference(arm["tau"], arm["se"]) for name, arm in zip(self.arms_[1:], arms, strict=True)
        }

    def predict_outcomes(self, X: Any) -> Any:
        """Expected outcomes of each arm, the control first.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.

        Returns
        -------
        array of shape (n, arms), or what `set_output` asks for
            Without and with treatment where there are two arms. Probabilities of a yes/no outcome lie between 0 and 1, also
            where the estimator's line does not; their difference then is not quite `effect(X)`.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> est.predict_outcomes(data.X[:4]).shape
        (4, 2)
        """
        if len(getattr(self, "arms_", ())) > 2:
            predictions = self._predict(X, propensity=True)
            outcomes = np.column_stack([predictions["mu0"], *(arm["mu"] for arm in predictions["arms"].values())])
        else:
            predictions = self._predict(X)
            outcomes = np.column_stack([predictions["mu0"], predictions["mu1"]])
        return self._shown(outcomes, X, self.arms_)

    def predict_propensity(self, X: Any, *, arm: Any = None) -> Any:
        """Probability of treatment of each row, strictly between 0 and 1.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.
        arm : number or text, optional
            After a fit with several arms the probability is that of `arm`, or of the first without a name, among its rows
            and the control's.

        Returns
        -------
        array of shape (n,), or what `set_output` asks for

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> e = est.predict_propensity(data.X)
        >>> bool(((e > 0) & (e < 1)).all())
        True
        """
        own = self._of_arm(self._predict(X, propensity=True), self._arm_place(arm))
        return self._shown(own["e"], X, ["propensity"])

    def predict_weights(self, X: Any, *, treatment: Any, arm: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Inverse weights of rows of known treatment.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows, with the columns of the fit.
        treatment : array of n, or the name of a column of `X`
            The arm of each row.
        arm : number or text, optional
            After a fit with several arms the weights are those of the rows of `arm`, or of the first without a name, against
            the control; rows of other arms have none, which is not a number.

        Returns
        -------
        raw, smoothed : arrays of shape (n,)
            `1 / P(t | x)`, and the same with the tail that training fitted smoothed.

        Examples
        --------
        >>> import paretau
        >>> data = paretau.simulate("trial", n=300, random_state=0)
        >>> est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
        >>> raw, smoothed = est.predict_weights(data.X, treatment=data.treatment)
        >>> bool((raw >= 1).all()), raw.shape == smoothed.shape
        (True, True)
        """
        self._check_fitted()
        if isinstance(treatment, str):
            X, treatment = _frames.take_column(X, treatment)
        x = _tables.read(X)
        arms: _frames.Column
        if self._control is None:
            cells = _checks.numbers("treatment", treatment, x.n_rows)
            if not np.isin(cells, (0.0, 1.0)).all():
                raise UsageError("treatment must be 0 (control) or 1 (treated) in every row")
            arms = ("numbers", cells)
        else:
            arms, _ = _checks.arms_column(treatment, x.n_rows, several=True, control=self._control, arms=self.arms_)
            if not set(_checks.arm_names(arms)) <= set(self.arms_):
                raise UsageError(f"treatment must be {' or '.join(map(repr, self.arms_))} in every row")
        own = self._of_arm(self._predict(x, propensity=True, arms=arms), self._arm_place(arm))
        return own["w_raw"], own["w"]

    def _of_arm(self, predictions: dict[str, Any], place: int) -> dict[str, Any]:
        """What predictions say about the arm that is so many behind the control."""
        return predictions["arms"][self.arms_[place]]

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
