"""paretau as an outcome model of causallib: `fit(X, a, y)`, `estimate_individual_outcome`, and causallib's evaluation.

>>> from causallib.evaluation import evaluate                                      # doctest: +SKIP
>>> model = Paretau(paretau.CausalForest()).fit(X, a, y)                           # doctest: +SKIP
>>> evaluate(model, X, a, y)                                                       # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from causallib.estimation.base_estimator import IndividualOutcomeEstimator

__all__ = ["Paretau"]


class Paretau(IndividualOutcomeEstimator):
    """An estimator of paretau's behind causallib's interface; `learner` is the estimator."""

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)

    def fit(self, X: pd.DataFrame, a: pd.Series, y: pd.Series) -> Paretau:
        """Learns the outcomes of the arms `a` given `X`."""
        names = [str(name) for name in X.columns]
        self.learner.fit(X.set_axis(names, axis=1), y.to_numpy(), treatment=a.to_numpy())
        self._values = _in_order(a, self.learner)
        return self

    def estimate_individual_outcome(
        self, X: pd.DataFrame, a: pd.Series, treatment_values: Any = None, predict_proba: Any = None
    ) -> pd.DataFrame:
        """Expected outcome of each row under each treatment."""
        names = [str(name) for name in X.columns]
        outcomes = pd.DataFrame(
            self.learner.predict_outcomes(X.set_axis(names, axis=1)), index=X.index, columns=self._values
        )
        if treatment_values is None:
            return outcomes
        wanted = [treatment_values] if pd.api.types.is_scalar(treatment_values) else list(treatment_values)
        return outcomes.reindex(columns=wanted)


def _in_order(a: pd.Series, learner: Any) -> list[Any]:
    """The treatment's values in the order of the learner's arms, the control first."""
    return sorted(a.unique(), key=learner._find_arm)
