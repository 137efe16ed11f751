"""Shapley values of effects."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import paretau
import pytest


@pytest.fixture(scope="module")
def data():
    return paretau.make_synthetic(n=400, d=6, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def forest(data):
    return paretau.CausalForest(n_estimators=40, random_state=0).fit(data.X, data.y, treatment=data.treatment)


def test_of_a_line_each_column_adds_its_coefficient_times_its_distance(data):
    line = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    found = line.shap_values(data.X[:20], background=data.X[100:130])
    wanted = line.coef_ * (data.X[:20] - data.X[100:130].mean(axis=0))
    np.testing.assert_allclose(found.values, wanted, atol=1e-9)
    np.testing.assert_allclose(found.base_values, line.effect(data.X[100:130]).mean(), atol=1e-12)
    assert found.feature_names == list(line.coef_names_)


def test_exact_values_are_means_over_all_orders(data):
    few = paretau.CausalForest(n_estimators=20, random_state=0).fit(data.X[:, :3], data.y, treatment=data.treatment)
    x, background = data.X[:4, :3], data.X[50:57, :3]
    by_hand = np.zeros((4, 3))
    for i in range(4):
        for b in background:
            for order in permutations(range(3)):
                row = b.copy()
                for j in order:
                    before = few.effect(row[None])[0]
                    row[j] = x[i, j]
                    by_hand[i, j] += (few.effect(row[None])[0] - before) / factorial(3) / len(background)
    found = few.shap_values(x, background=background, permutations="exact")
    np.testing.assert_allclose(found.values, by_hand, atol=1e-9)


def test_values_add_up_and_orders_approach_the_exact_ones(data, forest):
    x, background = data.X[:8], data.X[100:140]
    exact = forest.shap_values(x, background=background, permutations="exact")
    drawn = forest.shap_values(x, background=background, permutations=3)
    for found in (exact, drawn):
        np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, forest.effect(x), atol=1e-9)
    assert (exact.standard_errors == 0).all() and (drawn.standard_errors > 0).any()
    z = (drawn.values - exact.values)[drawn.standard_errors > 0] / drawn.standard_errors[drawn.standard_errors > 0]
    assert abs(z).max() < 5
    again = forest.shap_values(x, background=background, permutations=3)
    np.testing.assert_array_equal(drawn.values, again.values)


def test_frames_with_text_and_several_arms():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({"age": rng.normal(50, 10, n), "town": rng.choice(["Oslo", "Lima", None], n), "noise": rng.normal(size=n)})
    arm = rng.choice(["none", "a", "b"], n)
    y = np.where(arm == "a", 2.0 * (frame["town"] == "Oslo"), 0.0) + np.where(arm == "b", 0.1 * frame["age"], 0.0) + rng.normal(size=n)
    est = paretau.LinearEffect().fit(frame, y, treatment=arm, control="none")
    # The levels of the background stand in another order, and one of them is missing.
    background = frame.iloc[::-1].iloc[:80]
    for name, column in [("a", 1), ("b", 0)]:
        found = est.shap_values(frame.iloc[:30], background=background, arm=name)
        wanted = est.effect(frame.iloc[:30], T0="none", T1=name)
        np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, wanted, atol=1e-9)
        assert np.abs(found.values).mean(axis=0).argmax() == column
        assert found.feature_names == ["age", "town", "noise"]


def test_what_cannot_be_explained_is_refused(data, forest):
    with pytest.raises(paretau.ParetauError, match="permutations"):
        forest.shap_values(data.X[:3], permutations=0)
    with pytest.raises(ValueError, match="features"):
        forest.shap_values(data.X[:3], background=data.X[:5, :2])
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(ValueError, match="background"):
        forest.shap_values(data.X[:3], background=data.frame()[[f"x{j}" for j in range(1, 7)]])
    wide = paretau.make_synthetic(n=200, d=18, random_state=0)
    many = paretau.LinearEffect().fit(wide.X, wide.y, treatment=wide.treatment)
    with pytest.raises(paretau.ParetauError, match="subsets"):
        many.shap_values(wide.X[:3], permutations="exact")
