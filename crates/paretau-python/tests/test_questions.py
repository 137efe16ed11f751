"""Questions beyond each row's effect: averages, projections, calibration, rankings, importances, arms, decisions."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import paretau
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


@pytest.fixture(scope="module")
def study():
    """A confounded study whose effect is `1 + 2 x0`."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 4))
    t = (rng.uniform(size=1200) < 1 / (1 + np.exp(-0.5 * X[:, 2]))).astype(int)
    effect = 1.0 + 2.0 * X[:, 0]
    y = X[:, 2] + t * effect + 0.5 * rng.normal(size=1200)
    return X, y, t, effect


@pytest.fixture(scope="module")
def forest(study):
    X, y, t, _ = study
    return paretau.CausalForest(n_estimators=200, random_state=0).fit(X, y, treatment=t)


@pytest.fixture(scope="module")
def armed():
    """Three arms in words: low adds 1, high takes 2 away."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(900, 3))
    arm = rng.integers(0, 3, 900)
    y = X[:, 1] + np.array([0.0, 1.0, -2.0])[arm] + 0.5 * rng.normal(size=900)
    words = np.array(["none", "low", "high"])[arm]
    est = paretau.CausalForest(n_estimators=100, random_state=0).fit(X, y, treatment=words, control="none")
    return X, y, words, est


def test_averages_over_every_population(forest, study):
    effect, t = study[3], study[2]
    truth = {"ate": effect.mean(), "att": effect[t == 1].mean(), "atc": effect[t == 0].mean()}
    for name, value in truth.items():
        low, high = getattr(forest, f"{name}_interval")(alpha=0.001)
        assert low < value < high and low < getattr(forest, name)() < high
    low, high = forest.ato_interval()
    assert low < forest.ato() < high
    narrow = forest.ato_interval(alpha=0.5)
    assert low < narrow[0] < narrow[1] < high
    with pytest.raises(paretau.UsageError, match="alpha"):
        forest.ate_interval(alpha=0)


def test_intervals_at_95_percent_are_those_of_the_command_line(forest):
    import json

    averages = json.loads(forest.model_.about())["averages"]
    for name in ("ate", "att", "atc", "ato"):
        low, high = getattr(forest, f"{name}_interval")()
        assert low == pytest.approx(averages[name]["lo"], rel=1e-7) and high == pytest.approx(averages[name]["hi"], rel=1e-7)


def test_projection_finds_what_the_effect_depends_on(forest, study):
    X = study[0]
    found = forest.best_linear_projection(pd.DataFrame(X, columns=list("abcd")))
    assert found.names == ["intercept", "a", "b", "c", "d"]
    assert abs(found["a"] - 2.0) < 0.2 and found.pvalue()[1] < 1e-6 and abs(found["intercept"] - 1.0) < 0.2
    assert (np.abs(found.point_estimate[2:]) < 4 * found.stderr[2:]).all()
    assert "intercept" in str(found) and list(found.summary_frame().index) == found.names
    # Against least squares of the scores with HC3 errors, written out.
    scores, A = forest.doubly_robust_scores(), np.column_stack([np.ones(len(X)), X])
    bread = np.linalg.inv(A.T @ A)
    beta = bread @ A.T @ scores
    leverage = np.einsum("ij,jk,ik->i", A, bread, A)
    meat = A * ((scores - A @ beta) / (1 - leverage))[:, None]
    np.testing.assert_allclose(found.point_estimate, beta, rtol=1e-8)
    np.testing.assert_allclose(found.stderr, np.sqrt(np.diag(bread @ meat.T @ meat @ bread)), rtol=1e-8)
    # On nothing it is the mean of the scores; on words, differences from the commonest.
    assert forest.best_linear_projection()["intercept"] == pytest.approx(scores.mean())
    words = np.where(X[:, 0] > 0.5, "high", "low")
    by_word = forest.best_linear_projection(words)
    assert by_word.names == ["intercept", "A=high"]
    assert by_word["A=high"] == pytest.approx(scores[words == "high"].mean() - scores[words == "low"].mean())
    with pytest.raises(paretau.DataError, match="determine each other"):
        forest.best_linear_projection(np.column_stack([X[:, 0], X[:, 0]]))
    with pytest.raises(paretau.DataError, match="row 1"):
        forest.best_linear_projection(np.where(np.arange(len(X)) == 0, np.nan, X[:, 0]))
    with pytest.raises(paretau.DataError, match="1200"):
        forest.best_linear_projection(X[:10])


def test_calibration_and_ranking_of_training_rows_and_of_others(forest, study):
    X, y, t, _ = study
    own = forest.test_calibration()
    assert own.names == ["mean", "differential"] and own.one_sided
    assert abs(own["differential"] - 1.0) < 0.3 and own.pvalue()[1] < 1e-6
    groups = forest.calibration_groups(4)
    assert len(groups) == 4 and groups[0]["seen"] < groups[-1]["seen"] and sum(g["n"] for g in groups) == len(y)
    ranking = forest.rank_average_treatment_effect(target="QINI")
    assert ranking.estimate > 4 * ranking.stderr and ranking.pvalue() < 1e-4 and ranking.q[-1] == 1.0 and ranking.toc[-1] == 0.0
    # Of the training rows it may be shown to pay, never to do harm.
    assert ranking.one_sided and ranking.conf_int()[1] == np.inf and "at least" in str(ranking)
    assert ranking.conf_int()[0] == pytest.approx(ranking.estimate - 1.6449 * ranking.stderr, abs=1e-3 * ranking.stderr)
    random = forest.rank_average_treatment_effect(np.random.default_rng(0).normal(size=len(y)))
    assert abs(random.estimate) < 4 * random.stderr
    with pytest.raises(paretau.UsageError, match="AUTOC"):
        forest.rank_average_treatment_effect(target="auc")

    line = paretau.LinearEffect(random_state=0).fit(X[:800], y[:800], treatment=t[:800])
    with pytest.raises(paretau.DataError, match="kept aside"):
        line.test_calibration()
    with pytest.raises(paretau.DataError, match="learned from"):
        line.test_calibration(X, y, treatment=t)
    aside = line.test_calibration(X[800:], y[800:], treatment=t[800:])
    assert abs(aside["differential"] - 1.0) < 0.2
    scores = line.evaluate(X[800:], y[800:], treatment=t[800:])
    assert aside["differential"] == pytest.approx(scores["calibration"])
    gain = line.rank_average_treatment_effect(X=X[800:], y=y[800:], treatment=t[800:])
    assert gain.estimate == pytest.approx(scores["autoc"])
    assert not gain.one_sided and np.isfinite(gain.conf_int()[1])
    out_of_bag = forest.evaluate(X, y, treatment=t)
    assert out_of_bag["autoc_lower"] < out_of_bag["autoc"] and "autoc_se" not in out_of_bag and "autoc_se" in scores


def test_held_out_effects_are_there_until_the_model_is_read_again(forest, study, tmp_path):
    held = forest.held_out_effect_
    assert held.shape == (1200,) and np.corrcoef(held, study[3])[0, 1] > 0.9 and (held != forest.effect(study[0])).any()
    line = paretau.LinearEffect().fit(study[0], study[1], treatment=study[2])
    assert not hasattr(line, "held_out_effect_")
    forest.save(tmp_path / "m.paretau")
    for again in (paretau.load(tmp_path / "m.paretau"), pickle.loads(pickle.dumps(forest))):
        assert not hasattr(again, "held_out_effect_")
        assert again.ato_interval() == forest.ato_interval()
        with pytest.raises(paretau.DataError, match="keeps no training rows"):
            again.best_linear_projection()
    with pytest.raises(AttributeError, match="predict_weights"):
        paretau.load(tmp_path / "m.paretau").weights_


def test_importances_point_at_the_column_that_matters(forest, study):
    X = study[0]
    assert forest.feature_importances_.shape == (4,) and forest.feature_importances_.argmax() == 0
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    assert next(iter(forest.variable_importance())) == next(iter(forest.variable_importance(X))) == "x1"
    frame = pd.DataFrame({"word": np.where(X[:, 0] > 0, "high", "low"), "noise": X[:, 3]})
    learner = paretau.TLearner(base="ridge").fit(frame, study[1], treatment=study[2])
    assert not hasattr(learner, "feature_importances_")
    with pytest.raises(paretau.UsageError, match="pass X"):
        learner.variable_importance()
    shares = learner.variable_importance(frame)
    assert list(shares) == ["word", "noise"] and sum(shares.values()) == pytest.approx(1.0)


def test_arms_in_words_everywhere(armed, tmp_path):
    X, y, words, est = armed
    assert est.arms_ == ["none", "high", "low"]
    assert abs(est.ate(arm="low") - 1.0) < 0.2 and abs(est.ate(arm="high") + 2.0) < 0.2 and est.ate() == est.ate(arm="high")
    for name in ("att", "atc", "ato"):
        low, high = getattr(est, f"{name}_interval")(alpha=0.001, arm="low")
        assert low < 1.0 < high and low < getattr(est, name)(arm="low") < high
    both = est.const_marginal_effect(X)
    assert both.shape == (900, 2) and est.held_out_effect_.shape == (900, 2) and est.predict_outcomes(X).shape == (900, 3)
    np.testing.assert_array_equal(est.effect(X, T1="low"), both[:, 1])
    np.testing.assert_allclose(est.effect(X, T0="high", T1="low"), both[:, 1] - both[:, 0])
    np.testing.assert_allclose(est.effect(X, T0="low", T1="none"), -both[:, 1])
    low, high = est.effect_interval(X, T1="low")
    assert ((low < both[:, 1]) & (both[:, 1] < high)).all()
    np.testing.assert_array_equal(est.effect_inference(X, T1="low").stderr, est.effect_by_arm(X)["low"].stderr)
    with pytest.raises(paretau.UsageError, match="control 'none'"):
        est.effect_interval(X, T0="high", T1="low")
    with pytest.raises(paretau.UsageError, match="'none', 'high', 'low'"):
        est.effect(X, T1="middle")
    with pytest.raises(paretau.UsageError, match="is the control"):
        est.ate(arm="none")
    groups = est.group_effects(np.where(X[:, 0] > 0, "a", "b"), arm="low")
    assert all(abs(g["effect"]["value"] - 1.0) < 0.3 for g in groups)
    assert abs(est.best_linear_projection(arm="low")["intercept"] - 1.0) < 0.2
    # Every arm has its propensities, weights and overlap; rows have weights against the arms that they are compared with.
    for k, name in enumerate(est.arms_[1:]):
        raw, smooth = est.predict_weights(X, treatment=words, arm=name)
        e = est.predict_propensity(X, arm=name)
        control, own = words == "none", words == name
        np.testing.assert_allclose(raw[own], 1 / e[own])
        np.testing.assert_allclose(raw[control], 1 / (1 - e[control]))
        assert np.isnan(raw[~control & ~own]).all() and np.isnan(smooth[~control & ~own]).all()
        np.testing.assert_array_equal(est.raw_weights_[:, k], raw)
        np.testing.assert_array_equal(est.weights_[:, k], smooth)
        report = est.overlap_report(arm=name)
        assert (report["control"]["n"], report["treated"]["n"]) == (control.sum(), own.sum())
    assert est.overlap_report() == est.overlap_report(arm="high")
    est.save(tmp_path / "arms.paretau")
    again = paretau.load(tmp_path / "arms.paretau")
    assert again.atc(arm="low") == est.atc(arm="low") and again.arms_ == est.arms_
    np.testing.assert_array_equal(again.predict_weights(X, treatment=words, arm="low")[1], est.weights_[:, 1])
    assert again.overlap_report(arm="low") == est.overlap_report(arm="low")
    with pytest.warns(paretau.DataWarning, match="3 arms"):
        paretau.CausalForest(n_estimators=20).fit(X, y, treatment=words, control="none")


def test_two_arms_in_other_words_or_numbers_need_the_control(data):
    words = np.where(data.treatment == 1, "drug", "placebo")
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    for values, control in ((words, "placebo"), (words, None), (data.treatment * 3 + 2, 2)):
        est = paretau.LinearEffect().fit(data.X, data.y, treatment=values, control=control)
        np.testing.assert_array_equal(est.effect(data.X), plain.effect(data.X))
        np.testing.assert_array_equal(est.weights_, plain.weights_)
        assert est.evaluate(data.X, data.y, treatment=values, in_sample=True) == plain.evaluate(
            data.X, data.y, treatment=data.treatment, in_sample=True
        )
        raw, smooth = est.predict_weights(data.X, treatment=values)
        np.testing.assert_array_equal(smooth, plain.weights_)
    with pytest.raises(paretau.UsageError, match="'drug', 'placebo'"):
        paretau.LinearEffect().fit(data.X, data.y, treatment=words, control="none")
    with pytest.raises(paretau.DataError, match="control="):
        paretau.LinearEffect().fit(data.X, data.y, treatment=np.where(data.treatment == 1, "a", "b"))


def test_decisions_by_arrays_are_those_by_frames(forest, study):
    X, y, t, _ = study
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"]).assign(t=t, y=y)
    tree = forest.policy_tree(X, y, treatment=t, depth=1)
    assert str(tree) == str(paretau.policy_tree(forest, frame, treatment="t", outcome="y", depth=1))
    assert set(np.unique(tree.arms)) <= {0, 1} and "x1" in str(tree)
    found = forest.sensitivity_analysis(X, y, treatment=t, benchmarks=["x3"])
    assert found == paretau.sensitivity_analysis(frame, treatment="t", outcome="y", benchmarks=["x3"])
    assert found["benchmarks"][0]["name"] == "x3" and 0 < found["robustness_value"] < 1
    checks = forest.refute(X, y, treatment=t, replicates=3)
    assert checks == paretau.refute(frame, treatment="t", outcome="y", replicates=3)


def test_roles_and_comparison_of_a_frame():
    data = paretau.make_synthetic(n=1500, d=6, random_state=0)
    frame = data.frame().drop(columns=["mu0", "mu1", "e"])
    found = paretau.roles(frame, treatment="t", outcome="y")
    assert set(found.roles) == {f"x{j}" for j in range(1, 7)} and "column" in str(found) and len(found.frame()) == 6
    assert found.roles["x3"] == "confounder"
    with pytest.raises(paretau.UsageError, match="fdr"):
        paretau.roles(frame, treatment="t", outcome="y", fdr=2)
    table = paretau.compare(frame, treatment="t", outcome="y", estimators=["lr-1", "lr-2"], folds=2)
    assert {row["estimator"] for row in table.rows} == {"lr-1", "lr-2"} and table.best in str(table) and table.folds == 2
    assert list(table.frame().index)[0] == table.best
    with pytest.raises(paretau.UsageError, match="treatment="):
        paretau.compare(frame)


def test_a_search_that_cannot_score_says_so(data):
    from sklearn.model_selection import GridSearchCV, cross_val_score

    with pytest.raises(ValueError, match="enable_metadata_routing"):
        GridSearchCV(paretau.LinearEffect(), {"penalty": [0.1, 1.0]}, cv=2).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        cross_val_score(paretau.LinearEffect(), data.X, data.y, params={"treatment": data.treatment}, cv=2)
    # A scorer of one's own that needs no treatment is nobody's business.
    search = GridSearchCV(paretau.LinearEffect(), {"penalty": [0.1, 1.0]}, cv=2, scoring=lambda est, X, y: est.effect(X).mean())
    assert np.isfinite(search.fit(data.X, data.y, treatment=data.treatment).best_score_)


def test_expected_outcomes_of_a_yes_no_outcome_are_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * 3
    t = rng.integers(0, 2, 400)
    y = (X[:, 0] + t + rng.normal(size=400) > 0).astype(float)
    est = paretau.LinearEffect().fit(X, y, treatment=t)
    mu = est.predict_outcomes(X * 3)
    assert mu.min() >= 0.0 and mu.max() <= 1.0 and (mu == 0.0).any() and (mu == 1.0).any()


def test_messages_name_arguments_and_not_options(data):
    X = pd.DataFrame(data.X, columns=list("abcde")).assign(after=data.y * 2.0)
    with pytest.warns(paretau.DataWarning, match="drop from X: after") as caught:
        est = paretau.LinearEffect().fit(X, data.y, treatment=data.treatment)
    text = " ".join([*(str(w.message) for w in caught), est.summary(), *est.warnings_, *est.notes_])
    assert "--" not in text


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_coefficients_are_those_of_the_effect(data):
    for arms in ("separate", "shared"):
        line = paretau.LinearEffect(arms=arms).fit(data.X, data.y, treatment=data.treatment)
        np.testing.assert_allclose(line.intercept_ + data.X @ line.coef_, line.effect(data.X), rtol=0, atol=1e-12)
    assert line.coef_names_ == ["x1", "x2", "x3", "x4", "x5"]
    several = paretau.LinearEffect().fit(data.X, data.y, treatment=np.arange(len(data.y)) % 3)
    found = several.intercept_ + data.X @ several.coef_.T
    np.testing.assert_allclose(found, several.const_marginal_effect(data.X), rtol=0, atol=1e-12)
    assert not hasattr(paretau.LinearEffect(), "coef_") and not hasattr(small_forest(data), "coef_")


def small_forest(data):
    return paretau.CausalForest(n_estimators=24).fit(data.X, data.y, treatment=data.treatment)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
@pytest.mark.parametrize("words", [("no", "yes"), ("Control", "Treated"), ("False", "True")])
def test_two_arms_in_words_that_speak_for_themselves_keep_their_names(words, data):
    treatment = np.array(words)[data.treatment]
    est = paretau.LinearEffect().fit(data.X, data.y, treatment=treatment)
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    assert est.arms_ == list(words) and plain.arms_ == ["0", "1"]
    assert (est.effect(data.X) == plain.effect(data.X)).all() and est.ate_interval() == plain.ate_interval()
    for first, second in (words, (0, 1), (False, True)):
        assert (est.effect(data.X, T0=first, T1=second) == plain.effect(data.X)).all()
    assert est.ate(arm=words[1]) == est.ate(arm=1) == plain.ate()
    aside = np.random.default_rng(8).normal(size=data.X.shape)
    by_words, by_numbers = (est.evaluate(aside, data.y, treatment=t) for t in (treatment, data.treatment))
    assert by_words == by_numbers == plain.evaluate(aside, data.y, treatment=data.treatment)
    for t in (treatment, data.treatment):
        assert all((a == b).all() for a, b in zip(est.predict_weights(data.X, treatment=t), plain._weights, strict=True))
