"""What every class does, alone and inside scikit-learn's tools."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import paretau
import pytest
import sklearn
from conftest import small
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def routing():
    """Metadata routing switched on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def a_grid(estimator):
    """Two values of the class's first parameter that has two."""
    for param in paretau.describe(next(iter(estimator._presets)))["params"]:
        if param["type"] == "float" and param["default"] not in (None, 0):
            return {param["name"]: [param["default"], param["default"] * 0.9]}
        if param["type"] == "float" and param["optional"]:
            return {param["name"]: [None, 0.5]}
        if param["type"] == "bool":
            return {param["name"]: [False, True]}
    return {"random_state": [0, 1]}


def test_several_arms_against_one_control():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 4))
    arm = rng.integers(0, 3, size=900)
    y = X[:, 1] + np.array([0.0, 1.0, -2.0])[arm] + 0.5 * rng.normal(size=900)
    est = paretau.CausalForest(n_estimators=200, random_state=0).fit(X, y, treatment=arm)
    assert est.arms_ == ["0", "1", "2"]
    by_arm = est.effect_by_arm(X)
    assert list(by_arm) == ["1", "2"]
    assert abs(by_arm["1"].point_estimate.mean() - 1.0) < 0.2
    assert abs(by_arm["2"].point_estimate.mean() + 2.0) < 0.2
    assert (by_arm["2"].stderr > 0).all()
    np.testing.assert_array_equal(by_arm["1"].point_estimate, est.effect(X))

    frame = pd.DataFrame(X, columns=list("abcd")).assign(arm=np.array(["none", "low", "high"])[arm], y=y)
    named = paretau.fit("causal-forest", frame, treatment="arm", outcome="y", n_estimators=200, random_state=0)
    assert named.arms_ == ["none", "high", "low"]
    assert abs(named.effect_by_arm(frame)["low"].point_estimate.mean() - 1.0) < 0.2

    lines = paretau.LinearEffect().fit(X, y, treatment=arm)
    assert abs(lines.ate(arm=2) + 2.0) < 0.2 and lines.effect(X, T1=2).shape == (900,)
    with pytest.raises(paretau.DataError, match="900 values"):
        paretau.LinearEffect().fit(X, y, treatment=np.arange(900))
    line = paretau.LinearEffect().fit(X[arm < 2], y[arm < 2], treatment=arm[arm < 2])
    with pytest.raises(Exception, match="gives no intervals"):
        line.effect_by_arm(X)


def test_the_whole_surface(estimator, data):
    est = estimator.fit(data.X, data.y, treatment=data.treatment)
    assert est is estimator
    n = len(data.y)
    effect = est.effect(data.X)
    assert effect.shape == (n,)
    assert effect.dtype == np.float64
    assert np.isfinite(effect).all()
    np.testing.assert_array_equal(effect, est.predict(data.X))
    assert est.predict_outcomes(data.X).shape == (n, 2)
    propensity = est.predict_propensity(data.X)
    assert ((propensity > 0) & (propensity < 1)).all()
    assert est.weights_.shape == est.raw_weights_.shape == (n,)
    assert (est.raw_weights_ >= 1).all()
    assert est.n_features_in_ == 5
    assert not hasattr(est, "feature_names_in_")
    lower, upper = est.ate_interval(alpha=0.1)
    wider = est.ate_interval(alpha=0.01)
    assert wider[0] < lower < est.ate() < upper < wider[1]
    assert est.att_interval()[0] < est.att() < est.att_interval()[1]
    assert est.ate(data.X[:10]) == pytest.approx(effect[:10].mean())
    assert isinstance(est.history_, list)
    assert isinstance(est.feature_roles_, list)
    assert isinstance(est.diagnostics_, dict)
    report = est.overlap_report()
    assert report["treated"]["n"] == data.treatment.sum()
    assert "propensities from" in str(report)
    assert "average effect" in est.summary()
    raw, smooth = est.predict_weights(data.X, treatment=data.treatment)
    np.testing.assert_array_equal(smooth, est.weights_)
    np.testing.assert_array_equal(raw, est.raw_weights_)


def test_the_effect_is_found(fitted, data):
    assert np.corrcoef(fitted.effect(data.X), data.effect)[0, 1] > 0.9
    lower, upper = fitted.ate_interval(alpha=0.001)
    assert lower < data.effect.mean() < upper


def test_same_state_same_bits_whatever_the_threads(estimator, data):
    one = clone(estimator).set_params(n_jobs=1).fit(data.X, data.y, treatment=data.treatment)
    two = clone(estimator).set_params(n_jobs=2).fit(data.X, data.y, treatment=data.treatment)
    np.testing.assert_array_equal(one.effect(data.X), two.effect(data.X))


def test_intervals_or_a_clear_refusal(estimator, data):
    est = estimator.fit(data.X, data.y, treatment=data.treatment)
    try:
        lower, upper = est.effect_interval(data.X, alpha=0.05)
    except paretau.UsageError as error:
        assert "interval" in str(error) or "standard error" in str(error)
        with pytest.raises(paretau.UsageError):
            est.effect_inference(data.X)
        return
    inference = est.effect_inference(data.X)
    np.testing.assert_allclose(inference.conf_int(0.05), (lower, upper), rtol=1e-6)
    assert (lower < inference.point_estimate).all()
    assert (inference.point_estimate < upper).all()
    frame = inference.summary_frame()
    assert list(frame.columns) == ["point_estimate", "stderr", "zstat", "pvalue", "ci_lower", "ci_upper"]
    assert frame["pvalue"].between(0, 1).all()
    np.testing.assert_allclose(inference.zstat(1.0), (inference.point_estimate - 1.0) / inference.stderr)
    for alpha in (0.0, 1.0, -1.0):
        with pytest.raises(paretau.UsageError, match="alpha"):
            est.effect_interval(data.X, alpha=alpha)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
@pytest.mark.parametrize("name", ["auto", "dr-learner", "r-learner"])
def test_intervals_of_the_conditional_effect_without_refits(name, data, tmp_path):
    cls = getattr(paretau, paretau.describe(name)["class"])
    est = small(cls, **({} if name == "auto" else {"base": "forest"})).fit(data.X, data.y, treatment=data.treatment)
    lower, upper = est.effect_interval(data.X, alpha=0.1)
    inference = est.effect_inference(data.X)
    np.testing.assert_allclose(inference.conf_int(0.1), (lower, upper), rtol=1e-6)
    np.testing.assert_array_equal(inference.point_estimate, est.effect(data.X))
    np.testing.assert_array_equal(est.effect_by_arm(data.X)["1"].stderr, inference.stderr)
    assert np.mean((lower <= data.effect) & (data.effect <= upper)) > 0.8
    est.save(tmp_path / "m.paretau")
    np.testing.assert_array_equal(paretau.load(tmp_path / "m.paretau").effect_interval(data.X, alpha=0.1), (lower, upper))


def test_clone_and_parameters(estimator):
    copy = clone(estimator.set_params(random_state=7))
    assert copy.get_params() == estimator.get_params()
    assert type(estimator).__name__ in repr(copy)
    with pytest.raises(ValueError, match="no_such"):
        copy.set_params(no_such=1)


@pytest.mark.usefixtures("routing")
def test_search_and_cross_validation_with_metadata_routing(estimator, data):
    grid = a_grid(estimator)
    search = GridSearchCV(estimator, grid, cv=2).fit(data.X, data.y, treatment=data.treatment)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(data.X).shape == data.y.shape
    scores = cross_val_score(estimator, data.X, data.y, cv=2, params={"treatment": data.treatment})
    assert np.isfinite(scores).all()


@pytest.mark.usefixtures("routing")
def test_pipelines_route_the_treatment(estimator, data):
    pipe = make_pipeline(StandardScaler(), estimator)
    pipe.fit(data.X, data.y, treatment=data.treatment)
    assert pipe.predict(data.X).shape == data.y.shape
    assert np.isfinite(pipe.score(data.X, data.y, treatment=data.treatment))
    scores = cross_val_score(pipe, data.X, data.y, cv=KFold(2), params={"treatment": data.treatment})
    assert np.isfinite(scores).all()


def test_search_without_routing_by_the_name_of_a_column(estimator, data):
    frame = pd.DataFrame(data.X, columns=list("abcde")).assign(t=data.treatment)
    search = GridSearchCV(estimator, a_grid(estimator), cv=2, error_score="raise")
    search.fit(frame, data.y, treatment="t")
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert list(search.best_estimator_.feature_names_in_) == list("abcde")
    scores = cross_val_score(estimator, frame, data.y, cv=2, params={"treatment": "t"}, error_score="raise")
    assert np.isfinite(scores).all()
    # The column may stay in X or be left out when effects are predicted.
    with_t, without = search.best_estimator_.effect(frame), search.best_estimator_.effect(frame[list("abcde")])
    np.testing.assert_array_equal(with_t, without)


def test_scores_prefer_the_better_model(data):
    half = len(data.y) // 2
    own, later = slice(0, half), slice(half, None)
    good = paretau.LinearEffect().fit(data.X[own], data.y[own], treatment=data.treatment[own])
    noise = np.random.default_rng(0).normal(size=data.X.shape)
    poor = paretau.LinearEffect().fit(noise[own], data.y[own], treatment=data.treatment[own])
    rows = {"X": data.X[later], "y": data.y[later], "treatment": data.treatment[later]}
    assert good.score(**rows) > poor.score(**rows)
    scores = good.evaluate(**rows)
    assert scores["r_score"] == -good.score(**rows)
    assert {"dr_score", "autoc", "qini", "calibration", "autoc_se", "heterogeneity_p"} <= set(scores)
    assert scores["in_sample"] is False


def test_rows_of_the_fit_are_not_scored_in_silence(data):
    rows = {"X": data.X, "y": data.y, "treatment": data.treatment}
    line = paretau.LinearEffect().fit(**rows)
    with pytest.raises(paretau.DataError, match="were learned from.*in_sample="):
        line.evaluate(**rows)
    flattered = line.evaluate(**rows, in_sample=True)
    assert flattered["in_sample"] is True
    # scikit-learn's tools score the rows of a fit as a matter of course: a warning, no exception.
    with pytest.warns(paretau.DataWarning, match="in-sample"):
        assert line.score(**rows) == -flattered["r_score"]
    forest = paretau.CausalForest(n_estimators=50, random_state=0).fit(**rows)
    with pytest.warns(paretau.DataWarning, match="out-of-bag"):
        assert forest.evaluate(**rows)["in_sample"] is False
    # Columns in another order, by name, and single precision are the same rows.
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    named = paretau.LinearEffect().fit(frame, data.y, treatment=data.treatment)
    with pytest.raises(paretau.DataError, match="were learned from"):
        named.evaluate(frame[list("edcba")].astype(np.float32), data.y, treatment=data.treatment)


def test_scoring_needs_the_treatment(fitted, data):
    with pytest.raises(paretau.UsageError, match="enable_metadata_routing"):
        fitted.score(data.X, data.y)


def test_weights_propensities_and_groups_are_taken(estimator, data):
    n = len(data.y)
    estimator.fit(
        data.X,
        data.y,
        treatment=data.treatment,
        sample_weight=np.linspace(0.5, 1.5, n),
        propensity=0.5,
        groups=np.arange(n) // 4,
    )
    assert np.isfinite(estimator.effect(data.X)).all()


def test_known_propensities_move_the_average(data):
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    known = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment, propensity=0.5)
    assert plain.ate() != known.ate()
    assert plain.ate() == pytest.approx(known.ate(), abs=0.2)


def test_refitting_forgets_names(data):
    est = paretau.LinearEffect()
    est.fit(pd.DataFrame(data.X, columns=list("abcde")), data.y, treatment=data.treatment)
    assert list(est.feature_names_in_) == list("abcde")
    est.fit(data.X, data.y, treatment=data.treatment)
    assert not hasattr(est, "feature_names_in_")


def test_random_states_of_all_kinds(data):
    for state in (0, np.int64(5), None, np.random.RandomState(0), np.random.default_rng(0)):
        est = paretau.LinearEffect(random_state=state).fit(data.X, data.y, treatment=data.treatment)
        assert isinstance(json.loads(est.model_.about())["seed"], int)
    for state in (-1, "zero", 1.5):
        with pytest.raises(paretau.UsageError, match="random_state"):
            paretau.LinearEffect(random_state=state).fit(data.X, data.y, treatment=data.treatment)


def test_threads_may_be_counted_from_the_end(data):
    for n_jobs in (1, 2, -1, -2, None):
        paretau.LinearEffect(n_jobs=n_jobs).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.UsageError, match="n_jobs"):
        paretau.LinearEffect(n_jobs=0).fit(data.X, data.y, treatment=data.treatment)


def test_progress_goes_to_stderr_when_asked(data, capsys):
    paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    assert capsys.readouterr() == ("", "")
    paretau.LinearEffect(verbose=True).fit(data.X, data.y, treatment=data.treatment)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting lr" in err


def test_groups_by_series_arrays_and_frames_agree(data, fitted):
    words = np.where(data.X[:, 0] > 0, "high", "low")
    found = [
        fitted.group_effects(pd.Series(words, name="x")),
        fitted.group_effects(words),
        fitted.group_effects(pd.DataFrame({"x": words})),
    ]
    assert all([g["level"] for g in groups] == ["high", "low"] or [g["level"] for g in groups] == ["low", "high"] for groups in found)
    assert {g["column"] for g in found[0]} == {"x"} and {g["column"] for g in found[1]} == {"by"}
    assert [g["effect"] for g in found[0]] == [g["effect"] for g in found[1]] == [g["effect"] for g in found[2]]
    effect = {g["level"]: g["effect"]["value"] for g in found[0]}
    assert effect["high"] > effect["low"]


def test_an_average_that_too_few_rows_carry_is_refused_with_its_reason():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    t = np.zeros(60, dtype=int)
    t[:4] = 1
    est = paretau.LinearEffect().fit(X, X[:, 0] + t, treatment=t)
    with pytest.raises(paretau.DataError, match="no average effect"):
        est.ate()


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_a_model_says_in_what_it_differs_from_the_entry_that_names_it(data):
    est = small(paretau.DPSW, weighting="uniform").fit(data.X, data.y, treatment=data.treatment)
    head = est.summary().splitlines()[0]
    assert head.startswith("dpsw-norm with ") and "weighting='uniform'" in head and "240 rows" in head
    plain = paretau.LinearEffect(arms="shared", random_state=3).fit(data.X, data.y, treatment=data.treatment)
    assert plain.summary().startswith("lr-1: 240 rows")
