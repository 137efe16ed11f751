"""Simulated data sets."""

from __future__ import annotations

import numpy as np
import paretau
import pytest

PLAN = """
name = "small"
summary = "two baselines on little data"
metrics = ["pehe"]

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 200, d = 6 }
realisations = [1, 2]

[[methods]]
estimator = "lr-1"

[[methods]]
estimator = "lr-2"
"""


def test_synthetic_data_have_their_truth():
    data = paretau.make_synthetic(n=300, d=6, noise=0.0, random_state=1)
    assert data.X.shape == (300, 6)
    np.testing.assert_allclose(data.y, np.where(data.treatment == 1, data.mu1, data.mu0))
    np.testing.assert_array_equal(data.effect, data.mu1 - data.mu0)
    assert ((data.propensity > 0) & (data.propensity < 1)).all()
    again = paretau.make_synthetic(n=300, d=6, noise=0.0, random_state=1)
    np.testing.assert_array_equal(again.X, data.X)
    assert not np.array_equal(paretau.make_synthetic(n=300, d=6, random_state=2).X, data.X)
    frame = data.frame()
    assert list(frame.columns[:6]) == ["t", "y", "mu0", "mu1", "e", "x1"]


def test_bad_parameters_are_refused():
    with pytest.raises(paretau.UsageError, match="multiple of 3"):
        paretau.make_synthetic(d=7)
    with pytest.raises(paretau.UsageError, match="did you mean `synthetic`"):
        paretau.simulate("syntetic")


def test_plans_run_and_resume(tmp_path):
    plan = tmp_path / "small.toml"
    plan.write_text(PLAN)
    out = tmp_path / "out"
    done = paretau.run(plan, out)
    assert done["failed"] == 0
    assert done["done"] == done["cells"] > 0
    again = paretau.run(plan, out, resume=True)
    assert (again["done"], again["kept"]) == (0, done["cells"])
    assert (out / "table.md").exists()
    cut = paretau.run(plan, tmp_path / "cut", realisations=1, params={"penalty": 0.5})
    assert 0 < cut["cells"] < done["cells"]
    assert '"penalty":0.5' in (tmp_path / "cut" / "records.jsonl").read_text()
    with pytest.raises(paretau.UsageError, match="did you mean `penalty`"):
        paretau.run(plan, tmp_path / "wrong", params={"penalti": 0.5})
    with pytest.raises(paretau.ParetauError):
        paretau.run("no-such-plan", out)
