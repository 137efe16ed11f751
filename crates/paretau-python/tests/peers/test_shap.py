"""Values that the trees are walked for are those that the shap package finds by asking the model."""

from __future__ import annotations

import numpy as np
import paretau
import pytest

shap = pytest.importorskip("shap", reason="shap is not installed; `cargo xtask peers` installs it")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("base", ["boosting", {"name": "forest", "params": {"n_estimators": 30}}, "ridge"], ids=str)
def test_exact_values_of_nine_columns(base):
    data = paretau.make_synthetic(n=400, d=9, random_state=0)
    est = paretau.TLearner(base=base).fit(data.X, data.y, treatment=data.treatment)
    x, background = data.X[:5], data.X[100:120]
    found = est.shap_values(x, background=background)
    assert (found.standard_errors == 0).all()
    theirs = shap.explainers.Exact(est.effect, shap.maskers.Independent(background, max_samples=20))(x)
    np.testing.assert_allclose(found.values, theirs.values, atol=1e-6)
    np.testing.assert_allclose(found.base_values, theirs.base_values, atol=1e-6)
    assert found.to_shap().values.shape == (5, 9)


def test_a_causal_forest_by_all_subsets():
    data = paretau.make_synthetic(n=400, d=6, random_state=0)
    est = paretau.CausalForest(n_estimators=40).fit(data.X, data.y, treatment=data.treatment)
    found = est.shap_values(data.X[:4], background=data.X[100:110])
    theirs = shap.explainers.Exact(est.effect, shap.maskers.Independent(data.X[100:110], max_samples=10))(data.X[:4])
    np.testing.assert_allclose(found.values, theirs.values, atol=1e-9)
