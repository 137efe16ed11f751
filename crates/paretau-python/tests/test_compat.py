"""The facades have the signatures of the packages they stand for, and give paretau's numbers."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pandas as pd
import paretau
import pytest
from paretau.compat import causalml, econml
from sklearn.linear_model import LogisticRegression, Ridge

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")

#: Calls of EconML 0.15 to 0.17 that a notebook makes, and of CausalML 0.15.
ECONML = {
    "fit": "Y, T, X, W, sample_weight, groups, cache_values, inference",
    "effect": "X, T0, T1",
    "effect_interval": "X, T0, T1, alpha",
    "effect_inference": "X, T0, T1",
    "const_marginal_effect": "X",
    "ate": "X, T0, T1",
    "ate_interval": "X, T0, T1, alpha",
    "ate_inference": "X, T0, T1",
    "score": "Y, T, X, W, sample_weight",
}
CAUSALML = {
    "fit": "X, treatment, y, p",
    "predict": "X, treatment, y, p, return_components",
    "fit_predict": "X, treatment, y, p",
    "estimate_ate": "X, treatment, y, p, pretrain",
}


def taken(function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "args", "kwargs")]


@pytest.mark.parametrize(("module", "calls"), [(econml, ECONML), (causalml, CAUSALML)], ids=["econml", "causalml"])
def test_every_class_takes_the_calls(module, calls):
    for name in module.__all__:
        cls = getattr(module, name)
        for method, arguments in calls.items():
            own = taken(getattr(cls, method))
            assert [a for a in own if a in arguments.split(", ")] == arguments.split(", "), (name, method)


@pytest.mark.parametrize(
    ("package", "path", "name", "module", "calls"),
    [
        ("econml", "econml.dml", "CausalForestDML", econml, ECONML),
        ("econml", "econml.dml", "LinearDML", econml, ECONML),
        ("causalml", "causalml.inference.meta", "BaseXRegressor", causalml, CAUSALML),
    ],
)
def test_the_real_packages_take_the_same(package, path, name, module, calls):
    pytest.importorskip(package)
    real = getattr(importlib.import_module(path), name)
    for method, arguments in calls.items():
        theirs = taken(getattr(real, method))
        assert set(arguments.split(", ")) <= set(theirs) | {"sample_weight", "p"}, method


def test_econml_calls_give_the_numbers_of_the_estimator(data):
    moved = econml.CausalForestDML(n_estimators=40, random_state=0, discrete_treatment=True)
    moved.fit(data.y, data.treatment, X=data.X)
    own = paretau.CausalForestDML(n_estimators=40, random_state=0).fit(data.X, data.y, treatment=data.treatment)
    np.testing.assert_array_equal(moved.effect(data.X), own.effect(data.X))
    np.testing.assert_array_equal(moved.effect(data.X, T0=1, T1=0), -own.effect(data.X))
    np.testing.assert_array_equal(moved.const_marginal_effect(data.X)[:, 0], own.effect(data.X))
    np.testing.assert_array_equal(moved.effect_interval(data.X, alpha=0.1)[1], own.effect_interval(data.X, alpha=0.1)[1])
    np.testing.assert_array_equal(moved.effect_inference(data.X).pvalue(), own.effect_inference(data.X).pvalue())
    assert moved.ate(data.X) == pytest.approx(own.ate(data.X)) and moved.ate() == own.ate()
    assert moved.ate_interval() == own.ate_interval() and len(moved.ate_inference().summary_frame()) == 1
    assert moved.summary() == own.summary() and moved.feature_importances_.shape == (5,)
    with pytest.raises(paretau.UsageError, match="leave X out"):
        moved.ate_interval(data.X)


def test_econml_controls_learners_and_refusals(data):
    features, controls = data.X[:, :1], data.X[:, 1:]
    moved = econml.DRLearner(model_regression=Ridge(), model_propensity=LogisticRegression(), model_final="ridge")
    moved.fit(data.y, data.treatment, X=features, W=controls)
    assert np.corrcoef(moved.effect(features, W=controls), data.effect)[0, 1] > 0.9
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    named = econml.LinearDML(model_y="ridge", discrete_treatment=True).fit(data.y, data.treatment, X=frame[["a"]], W=frame[["b"]])
    assert named.estimator_.feature_names_in_.tolist() == ["a", "b"]
    learner = econml.TLearner(models=[Ridge(), Ridge()]).fit(data.y, data.treatment, X=data.X)
    assert isinstance(learner.estimator_.base, Ridge)
    with pytest.raises(paretau.UsageError, match="learners of the arms differ"):
        econml.TLearner(models=[Ridge(), Ridge(alpha=2.0)])
    with pytest.raises(paretau.UsageError, match="discrete_treatment=False"):
        econml.LinearDML(discrete_treatment=False)
    with pytest.raises(paretau.UsageError, match="featurizer"):
        econml.LinearDML(featurizer=object())
    with pytest.raises(paretau.UsageError, match="both None"):
        learner.effect()


def test_causalml_calls_give_the_numbers_of_the_estimator(data):
    learner = causalml.BaseXRegressor(learner=Ridge(), control_name="control")
    words = np.where(data.treatment == 1, "treatment_A", "control")
    own = paretau.XLearner(base=Ridge()).fit(data.X, data.y, treatment=data.treatment)
    ate, low, high = learner.estimate_ate(data.X, words, data.y)
    assert (ate[0], low[0], high[0]) == (own.ate(), *own.ate_interval())
    effects, mu0, mu1 = learner.predict(data.X, return_components=True)
    np.testing.assert_array_equal(effects[:, 0], own.effect(data.X))
    np.testing.assert_array_equal(mu1["treatment_A"], own.predict_outcomes(data.X)[:, 1])
    assert learner.estimate_ate(pretrain=True)[0] == ate and list(learner.t_groups) == ["treatment_A"]
    wide = causalml.BaseXRegressor(learner="ridge", ate_alpha=0.5, control_name="control").estimate_ate(data.X, words, data.y)
    assert wide[1][0] > low[0]


def test_causalml_with_several_arms_propensities_and_refusals(data):
    arms = np.array(["control", "a", "b"])[np.arange(240) % 3]
    learner = causalml.BaseTRegressor(learner="ridge", control_name="control")
    effects = learner.fit_predict(pd.DataFrame(data.X, columns=list("vwxyz")), arms, data.y)
    assert effects.shape == (240, 2) and list(learner.models_) == ["a", "b"]
    known = learner.fit(data.X, arms, data.y, p={"a": np.full(240, 0.5), "b": np.full(240, 0.5)})
    assert "known from the study" in known.models_["a"].summary()
    with pytest.raises(paretau.UsageError, match="control_name='none'"):
        causalml.BaseTRegressor(learner="ridge", control_name="none").fit(data.X, arms, data.y)
    with pytest.raises(paretau.UsageError, match="no counterpart"):
        causalml.BaseTRegressor(effect_learner="ridge")
    with pytest.raises(paretau.UsageError, match="different learners"):
        causalml.BaseXRegressor(control_outcome_learner="ridge", treatment_outcome_learner="forest")
    with pytest.raises(paretau.NotFittedError):
        learner.__class__().predict(data.X)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_econml_s_control_is_the_first_category(data):
    words = np.array(["b", "a"])[data.treatment]
    first = econml.TLearner(models="ridge").fit(data.y, words, X=data.X)
    assert first.estimator_.arms_ == ["a", "b"]
    named = econml.TLearner(models="ridge", categories=["b", "a"]).fit(data.y, words, X=data.X)
    assert named.estimator_.arms_ == ["b", "a"]
    np.testing.assert_allclose(named.effect(data.X, T0="b", T1="a"), -first.effect(data.X, T0="a", T1="b"), atol=1e-9)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_econml_lines_have_coefficients_with_intervals(data):
    for kind in (econml.LinearDML, econml.SparseLinearDML, econml.LinearDRLearner):
        est = kind(random_state=0).fit(data.y, data.treatment, X=data.X[:, :2], W=data.X[:, 2:])
        want = est.estimator_.best_linear_projection(data.X[:, :2])
        assert est.coef_.tolist() == want.point_estimate[1:].tolist() and est.intercept_ == want.point_estimate[0]
        low, high = est.coef__interval(alpha=0.01)
        assert low[0] < 1.0 < high[0] and low[1] < 0.0 < high[1], "the effect is 1 + x0"
        low, high = est.intercept__interval(alpha=0.01)
        assert low < 1.0 < high
        assert est.coef__inference().names == ["A1", "A2"] and "std. error" in est.summary()
    shown = est.shap_values(data.X[:3, :2], W=data.X[:3, 2:])["Y0"]["T0_1"]
    np.testing.assert_allclose(shown.values.sum(axis=1) + shown.base_values, est.effect(data.X[:3, :2], W=data.X[:3, 2:]))
    forest = econml.CausalForestDML(n_estimators=48).fit(data.y, data.treatment, X=data.X)
    low, high = forest.const_marginal_effect_interval(data.X, alpha=0.1)
    assert low.shape == (240, 1) and (low < high).all()
    with pytest.raises(paretau.NotFittedError):
        econml.LinearDML().coef_  # noqa: B018
    gaps = np.where(np.arange(240)[:, None] % 9 == 0, np.nan, data.X[:, :2])
    est = econml.LinearDML().fit(data.y, data.treatment, X=gaps)
    assert np.isfinite(est.effect(gaps)).all()
    with pytest.raises(paretau.DataError, match="has no value in row 1"):
        est.coef_  # noqa: B018
    assert "no coefficients: " in est.summary()
