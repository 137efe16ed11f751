"""paretau inside causallib's evaluation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import paretau
import pytest

pytest.importorskip("causallib", reason="causallib is not installed; `cargo xtask peers` installs it")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_outcomes_and_evaluation():
    from causallib.evaluation import evaluate
    from paretau.compat.causallib import Paretau

    rng = np.random.default_rng(2)
    n = 500
    X = pd.DataFrame(rng.normal(size=(n, 3)))
    a = pd.Series(rng.integers(0, 2, n))
    y = pd.Series(X[0] + a * (1 + X[1]) + 0.3 * rng.normal(size=n))
    model = Paretau(paretau.LinearEffect()).fit(X, a, y)
    outcomes = model.estimate_individual_outcome(X, a)
    assert list(outcomes.columns) == [0, 1] and outcomes.index.equals(X.index)
    population = model.estimate_population_outcome(X, a)
    assert abs(model.estimate_effect(population[1], population[0])["diff"] - 1) < 0.15
    scores = evaluate(model, X, a, y).evaluated_metrics
    assert scores["r2"].min() > 0.8
    crossed = evaluate(model, X, a, y, cv="auto").evaluated_metrics
    assert crossed["r2"].min() > 0.6


def test_outcomes_stand_under_the_words_of_their_arms():
    from paretau.compat.causallib import Paretau

    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(300, 3)))
    drug = rng.integers(0, 2, 300)
    y = pd.Series(X[0] + 2.0 * drug + 0.3 * rng.normal(size=300))
    for control, treated in (("placebo", "drug"), ("no", "Yes")):
        a = pd.Series(np.array([control, treated])[drug])
        outcomes = Paretau(paretau.LinearEffect()).fit(X, a, y).estimate_individual_outcome(X, a)
        assert abs((outcomes[treated] - outcomes[control]).mean() - 2.0) < 0.2
