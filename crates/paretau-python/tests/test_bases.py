"""Regressors and classifiers of scikit-learn's kind as base learners."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import paretau
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


@pytest.mark.parametrize("cls", [paretau.SLearner, paretau.TLearner, paretau.XLearner, paretau.RLearner, paretau.DRLearner])
def test_every_meta_learner_stands_on_a_regressor(cls, data):
    base = GradientBoostingRegressor(n_estimators=30, max_depth=2)
    est = cls(base=base).fit(data.X, data.y, treatment=data.treatment)
    assert np.corrcoef(est.effect(data.X), data.effect)[0, 1] > 0.6
    assert not hasattr(base, "estimators_"), "the learner that was passed is never fitted itself"
    again = cls(base=base, n_jobs=1).fit(data.X, data.y, treatment=data.treatment)
    np.testing.assert_array_equal(est.effect(data.X), again.effect(data.X))
    assert est.ate() == paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment).ate()


def test_a_line_of_scikit_learn_gives_the_difference_of_two_lines(data):
    est = paretau.TLearner(base=LinearRegression()).fit(data.X, data.y, treatment=data.treatment)
    arms = [LinearRegression().fit(data.X[data.treatment == k], data.y[data.treatment == k]) for k in (0, 1)]
    np.testing.assert_allclose(est.effect(data.X), arms[1].predict(data.X) - arms[0].predict(data.X), rtol=1e-9, atol=1e-9)


def test_pipelines_classifiers_and_learners_for_single_stages(data):
    est = paretau.XLearner(
        base=make_pipeline(StandardScaler(), Ridge()), effect_base="ridge", propensity_base=LogisticRegression()
    ).fit(data.X, data.y, treatment=data.treatment)
    assert np.corrcoef(est.effect(data.X), data.effect)[0, 1] > 0.9
    yes = (data.y > 0).astype(float)
    est = paretau.TLearner(base=LogisticRegression()).fit(data.X, yes, treatment=data.treatment)
    assert (np.abs(est.effect(data.X)) < 1).all() and est.predict_outcomes(data.X).min() > 0
    with pytest.raises(paretau.DataError, match="is a classifier"):
        paretau.TLearner(base=LogisticRegression()).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.DataError, match="takes no sample_weight"):
        paretau.RLearner(base="ridge", effect_base=KNeighborsRegressor()).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.UsageError, match="pass an instance"):
        paretau.TLearner(base=Ridge).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.UsageError, match="pass the regressor itself"):
        paretau.TLearner(base="python").fit(data.X, data.y, treatment=data.treatment)


@pytest.mark.parametrize("base", [HistGradientBoostingRegressor(max_iter=20), LinearRegression()], ids=["boosting", "line"])
def test_missing_values_are_filled_in_before_a_learner_sees_them(base, data):
    X = data.X.copy()
    X[::7, 3] = np.nan
    est = paretau.TLearner(base=base).fit(X, data.y, treatment=data.treatment)
    assert np.isfinite(est.effect(X)).all()


def test_saving_is_refused_and_pickling_works(data, tmp_path):
    est = paretau.TLearner(base=RandomForestRegressor(n_estimators=5)).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.UsageError, match="pickle the estimator"):
        est.save(tmp_path / "m.paretau")
    assert not (tmp_path / "m.paretau").exists()
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.effect(data.X), est.effect(data.X))
    # Bytes of a pickle are not read as a model file: that would run code.
    (tmp_path / "forged.paretau").write_bytes(est.model_.to_bytes(pickled=True))
    with pytest.raises(paretau.ParetauError, match="python"):
        paretau.load(tmp_path / "forged.paretau")


class Broken(RegressorMixin, BaseEstimator):
    """Fails in a way of its own."""

    def __init__(self, how="raise"):
        self.how = how

    def fit(self, X, y, sample_weight=None):
        if self.how == "raise":
            raise RuntimeError("out of luck")
        return self

    def predict(self, X):
        return np.full(len(X), np.nan) if self.how == "nan" else np.zeros(len(X) + 1)


def test_failures_of_a_learner_are_told(data):
    for how, words in (("raise", "out of luck"), ("nan", "not finite"), ("length", "numbers for")):
        with pytest.raises(paretau.DataError, match=words):
            paretau.TLearner(base=Broken(how)).fit(data.X, data.y, treatment=data.treatment)


def test_clones_searches_and_threads(data):
    import sklearn

    est = paretau.TLearner(base=Ridge(alpha=2.0))
    assert clone(est).base is not est.base and clone(est).base.alpha == 2.0 and "base__alpha" in est.get_params()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(est, {"base__alpha": [0.1, 1e4]}, cv=2).fit(data.X, data.y, treatment=data.treatment)
    assert search.best_params_ == {"base__alpha": 0.1}
    found = {}

    def work(k):
        own = paretau.TLearner(base=Ridge(alpha=1.0)).fit(data.X, data.y, treatment=data.treatment)
        found[k] = own.effect(data.X)

    several = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [t.start() for t in several]
    [t.join() for t in several]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_second_stage_is_a_base_learner_like_any_other(data):
    def effects(second_stage):
        net = paretau.DPSW(members=2, max_steps=30, second_stage=second_stage, random_state=0)
        return net.fit(data.X, data.y, treatment=data.treatment).effect(data.X)

    few = effects({"name": "forest", "params": {"n_estimators": 20}})
    np.testing.assert_array_equal(few, effects({"name": "forest", "n_estimators": 20}))
    assert (few != effects("none")).any() and np.isfinite(effects(Ridge())).all()
    with pytest.raises(paretau.DataError, match="second_stage.leaves"):
        effects({"name": "forest", "leaves": 2})
    with pytest.raises(paretau.UsageError, match="second_stage=NAME"):
        effects({"n_estimators": 3})
