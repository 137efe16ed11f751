"""Each picture shows the numbers it is about."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import paretau
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from paretau import plot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(1)
    n = 600
    X = pd.DataFrame({"age": rng.normal(50, 12, n).round(), "town": rng.choice(["Kyoto", "Oslo"], n)})
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-(X["age"] - 50) / 12))).astype(int)
    y = 0.05 * X["age"] + t * (0.5 + (X["town"] == "Oslo")) + rng.normal(size=n)
    return X, y, t, paretau.CausalForest(n_estimators=100, random_state=0).fit(X, y, treatment=t)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_overlap_has_every_row(study):
    ax = plot.overlap(study[3])
    heights = [bar.get_height() for bar in ax.patches]
    assert sum(h for h in heights if h > 0) == study[2].sum() and -sum(h for h in heights if h < 0) == (1 - study[2]).sum()


def test_weights_and_balance(study):
    model = study[3]
    raw, smooth = plot.weights(model).lines
    np.testing.assert_array_equal(raw.get_ydata(), np.sort(model.raw_weights_)[::-1])
    assert sorted(smooth.get_ydata()) == sorted(model.weights_)
    ax = plot.love(model)
    assert {label.get_text() for label in ax.get_yticklabels()} >= {"age"}
    before, after = ax.lines[0].get_xdata(), ax.lines[1].get_xdata()
    assert before.max() == before[0] and after.max() < before.max()


def test_effects_and_features(study):
    X, _, _, model = study
    ax = plot.effects(model, X)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.sort(model.effect(X)))
    assert ax.lines[1].get_ydata()[0] == model.ate() and len(ax.collections) == 1
    line = paretau.LinearEffect().fit(X, study[1], treatment=study[2])
    assert not plot.effects(line, X).collections, "no band without intervals"
    ax = plot.effect_by_feature(model, X, "town")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Kyoto", "Oslo"]
    means = [model.effect(X)[X["town"] == town].mean() for town in ("Kyoto", "Oslo")]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), means)
    assert plot.effect_by_feature(model, X, "age").get_xlabel() == "age"
    with pytest.raises(paretau.UsageError, match="no column"):
        plot.effect_by_feature(model, X, "height")


def test_groups_calibration_and_targeting(study):
    X, _, _, model = study
    ax = plot.groups(model, X["town"])
    values = [g["effect"]["value"] for g in model.group_effects(X["town"])]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), values)
    ax = plot.calibration(model, k=4)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [g["seen"] for g in model.calibration_groups(4)])
    ranking = model.rank_average_treatment_effect()
    np.testing.assert_array_equal(plot.toc(ranking).lines[0].get_ydata(), ranking.toc)
    qini = plot.toc(dataclasses.replace(ranking, target="QINI"))
    np.testing.assert_array_equal(qini.lines[0].get_ydata(), ranking.q * ranking.toc)
    assert "Qini curve" in qini.get_title() and "as many at random" in qini.get_ylabel()


def test_decisions_and_roles(study):
    X, y, t, model = study
    tree = model.policy_tree(X, y, treatment=t)
    texts = [text.get_text() for text in plot.policy_tree(tree).texts]
    leaves = [text for text in texts if "rows" in text]
    assert leaves and sum(int(text.split("\n")[1].split()[0]) for text in leaves) == len(y)
    found = model.sensitivity_analysis(X, y, treatment=t)
    ax = plot.sensitivity(found)
    assert [text.get_text().removesuffix(" (beyond)") for text in ax.texts][-len(found["benchmarks"]) :] == [
        b["name"] for b in found["benchmarks"]
    ]
    # On the thick line nothing is left of the effect: it passes through the robustness value.
    value = found["robustness_value"]
    zero = next(c for c in ax.collections if len(c.get_paths()) == 1 and c.get_linewidth()[0] == 2)
    points = np.concatenate([path.vertices for path in zero.get_paths()])
    assert np.min(np.hypot(points[:, 0] - value, points[:, 1] - value)) < 0.02
    roles = paretau.roles(X.assign(t=t, y=y), treatment="t", outcome="y")
    ax = plot.roles(roles)
    assert {text.get_text() for text in ax.texts} == {name for name, role in roles.roles.items() if role != "none"}


def test_training_and_axes_that_are_given(study):
    X, y, t, model = study
    net = paretau.TARNet(members=1, max_steps=60).fit(X, y, treatment=t)
    ax = plt.figure().add_subplot()
    assert plot.training(net, ax) is ax and ax.lines
    with pytest.raises(paretau.UsageError, match="no training history"):
        plot.training(model)
