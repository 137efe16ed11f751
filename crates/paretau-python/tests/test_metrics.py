"""Metrics on arrays against their formulas."""

from __future__ import annotations

import numpy as np
import paretau
import pytest
from paretau import metrics


@pytest.fixture(scope="module")
def rows():
    """A trial with its truth and perfect nuisances."""
    rng = np.random.default_rng(4)
    n = 2000
    x = rng.normal(size=n)
    t = rng.integers(0, 2, n)
    mu0, tau = x, 1.0 + 0.5 * x
    y = mu0 + t * tau + 0.5 * rng.normal(size=n)
    return {"x": x, "t": t, "mu0": mu0, "mu1": mu0 + tau, "tau": tau, "y": y, "e": np.full(n, 0.5)}


def nuisance(rows):
    return {"treatment": rows["t"], "mu0": rows["mu0"], "mu1": rows["mu1"], "propensity": rows["e"]}


def test_metrics_with_the_truth(rows):
    wrong = rows["tau"] + 0.3
    assert metrics.pehe(rows["tau"], wrong) == pytest.approx(0.3)
    assert metrics.pehe_rel(rows["tau"], wrong) == pytest.approx(0.3 / rows["tau"].std(), rel=1e-3)
    assert metrics.ate_error(rows["tau"], wrong) == pytest.approx(0.3)
    assert metrics.ate(wrong) == pytest.approx(wrong.mean())
    value, error = metrics.pehe(rows["tau"], wrong, with_error=True)
    assert value == pytest.approx(0.3)
    assert error is None or error >= 0


def test_losses_are_their_formulas(rows):
    tau, t, y, e = rows["tau"] + 0.1, rows["t"], rows["y"], 0.5
    m = rows["mu0"] + e * rows["tau"]
    r_loss = np.mean((y - m - (t - e) * tau) ** 2)
    assert metrics.r_score(tau, y, **nuisance(rows)) == pytest.approx(r_loss)
    assert metrics.r_score(tau, y, treatment=t, propensity=0.5, m=m) == pytest.approx(r_loss)
    # Weights of a trial are all 2, so there is no tail to smooth.
    scores = rows["tau"] + np.where(t == 1, 2 * (y - rows["mu1"]), -2 * (y - rows["mu0"]))
    assert metrics.dr_score(tau, y, **nuisance(rows)) == pytest.approx(np.mean((tau - scores) ** 2))


def encoders(own):
    """Three features, each read by its own encoder `own` times as strongly as by the others."""
    names = ["instrument", "confounder", "adjuster"]
    return [
        {"name": f"x{j}", "role": "none", "score": 1.0} | {name: own if j == k else 1.0 for k, name in enumerate(names)}
        for j in range(3)
    ]


def test_every_ranking_metric_prefers_the_truth(rows):
    good, bad = rows["tau"], -rows["tau"]
    for fact in metrics.METRICS:
        function = getattr(metrics, fact["name"])
        assert fact["name"] in metrics.__all__
        assert function.__doc__.startswith(fact["summary"][0].upper())
        if fact["needs"] == "nuisance":
            a, b = function(good, rows["y"], **nuisance(rows)), function(bad, rows["y"], **nuisance(rows))
        elif fact["needs"] == "rows":
            a, b = function(good, rows["y"], treatment=rows["t"]), function(bad, rows["y"], treatment=rows["t"])
        elif fact["needs"] == "truth":
            a, b = function(good, good), function(good, bad)
        elif fact["needs"] == "encoders":
            a, b = function(encoders(own=3.0)), function(encoders(own=0.5))
            assert a == pytest.approx(2.0)
        else:
            continue
        if fact["better"] == "lower":
            assert a < b, fact["name"]
        elif fact["better"] == "higher":
            assert a > b, fact["name"]
    value, error = metrics.autoc(good, rows["y"], with_error=True, **nuisance(rows))
    assert value > 3 * error > 0


def test_refusals(rows):
    with pytest.raises(paretau.UsageError, match="mu0=…, mu1=…"):
        metrics.qini(rows["tau"], rows["y"], treatment=rows["t"], propensity=0.5)
    with pytest.raises(paretau.DataError, match="does not vary"):
        metrics.pehe_rel(np.ones(5), np.arange(5.0))
    with pytest.raises(paretau.DataError, match="5"):
        metrics.pehe(np.ones(5), np.ones(6))
    with pytest.raises(paretau.DataError, match="strictly between 0 and 1"):
        metrics.qini(rows["tau"], rows["y"], **{**nuisance(rows), "propensity": 1.0})
    with pytest.raises(paretau.DataError, match="NaN"):
        metrics.ate([1.0, np.nan])
