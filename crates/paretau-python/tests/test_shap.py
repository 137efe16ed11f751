"""Shapley values of effects."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import paretau
import pytest
from paretau import _shap, _shap_trees, _tables
from paretau._model_state import State


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


def by_subsets(est, x, background):
    """Exact values by all subsets of the columns, whatever the estimator."""
    rows, against = _tables.read(x), _tables.read(background)
    return _shap.explain(lambda some: est.effect(some), rows, against, "exact", np.random.default_rng(0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: paretau.TLearner(base="boosting"),
        lambda: paretau.TLearner(base={"name": "forest", "params": {"n_estimators": 20}}),
        lambda: paretau.SLearner(base="boosting"),
        lambda: paretau.DRLearner(base={"name": "forest", "params": {"n_estimators": 20}}),
        lambda: paretau.RLearner(base="stack"),
        lambda: paretau.LinearEffect(),
    ],
    ids=["T boosting", "T forest", "S boosting", "DR forest", "R stack", "line"],
)
def test_trees_that_are_walked_give_what_all_subsets_give(make, data):
    gaps = data.X.copy()
    gaps[::7, 1] = np.nan
    est = make().fit(gaps, data.y, treatment=data.treatment)
    x, background = gaps[:6], gaps[100:130]
    found = est.shap_values(x, background=background, permutations="exact")
    assert _shap_trees.parts(State.of(est.model_).part("fitted"), 1, 1) is not None
    values, base, _ = by_subsets(est, x, background)
    np.testing.assert_allclose(found.values, values, atol=1e-6)
    np.testing.assert_allclose(found.base_values, base, atol=1e-9)


def test_many_columns_of_trees_are_exact_and_those_of_a_causal_forest_have_errors():
    wide = paretau.make_synthetic(n=300, d=21, random_state=0)
    boosted = paretau.TLearner(base="boosting").fit(wide.X, wide.y, treatment=wide.treatment)
    found = boosted.shap_values(wide.X[:5], background=wide.X[50:80])
    assert found.values.shape == (5, 21) and (found.standard_errors == 0).all()
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, boosted.effect(wide.X[:5]), atol=1e-6)
    drawn = boosted.shap_values(wide.X[:5], background=wide.X[50:80], permutations=2)
    off = drawn.standard_errors > 0
    assert np.abs((drawn.values - found.values)[off] / drawn.standard_errors[off]).max() < 6
    forest = paretau.CausalForest(n_estimators=20).fit(wide.X, wide.y, treatment=wide.treatment)
    assert (forest.shap_values(wide.X[:2], background=wide.X[50:55]).standard_errors > 0).any()


def test_levels_of_text_belong_to_their_column_when_trees_are_walked():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({"age": rng.normal(50, 10, n), "town": rng.choice(["Oslo", "Lima", "Bern", None], n)})
    t = rng.integers(0, 2, n)
    y = t * np.where(frame["town"] == "Oslo", 2.0, 0.1 * frame["age"]) + rng.normal(size=n)
    est = paretau.TLearner(base="boosting").fit(frame, y, treatment=t)
    found = est.shap_values(frame.iloc[:8], background=frame.iloc[100:120])
    values, _, _ = by_subsets(est, frame.iloc[:8], frame.iloc[100:120])
    np.testing.assert_allclose(found.values, values, atol=1e-6)
    assert found.feature_names == ["age", "town"]


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
    many = paretau.XLearner(base="ridge").fit(wide.X, wide.y, treatment=wide.treatment)
    with pytest.raises(paretau.ParetauError, match="subsets"):
        many.shap_values(wide.X[:3], permutations="exact")
