"""paretau inside DoWhy: estimation, intervals and refuters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import paretau
import pytest

dowhy = pytest.importorskip("dowhy", reason="DoWhy is not installed; `cargo xtask peers` installs it")
pytestmark = pytest.mark.filterwarnings("ignore")

METHOD = "backdoor.paretau.compat.dowhy.Paretau"


@pytest.fixture(scope="module")
def question():
    """A confounded treatment whose effect is 2, and DoWhy's model of it."""
    rng = np.random.default_rng(1)
    n = 800
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["w1", "w2", "m"])
    frame["t"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-frame["w1"]))).astype(int)
    frame["y"] = 2 * frame["t"] + frame["t"] * frame["m"] + frame["w1"] - frame["w2"] + 0.5 * rng.normal(size=n)
    model = dowhy.CausalModel(frame, treatment="t", outcome="y", common_causes=["w1", "w2"], effect_modifiers=["m"])
    return frame, model, model.identify_effect(proceed_when_unidentifiable=True)


def estimate(question, **options):
    _, model, estimand = question
    return model.estimate_effect(
        estimand, method_name=METHOD, method_params={"init_params": {"estimator": "lr-2"}}, **options
    )


def test_the_average_is_paretau_s_own(question):
    frame, _, _ = question
    found = estimate(question)
    own = paretau.LinearEffect().fit(frame[["w1", "w2", "m"]], frame["y"], treatment=frame["t"])
    assert found.value == own.ate()
    assert abs(found.value - 2) < 0.2
    low, high = found.get_confidence_intervals()[0]
    assert (low, high) == own.ate_interval() and low < 2 < high
    assert found.get_standard_error() == own._average("ate", None)[1]


def test_other_populations(question):
    frame, _, _ = question
    own = paretau.LinearEffect().fit(frame[["w1", "w2", "m"]], frame["y"], treatment=frame["t"])
    assert estimate(question, target_units="att").value == own.att()
    high = estimate(question, target_units=lambda rows: rows["m"] > 1)
    assert high.value == pytest.approx(own.effect(frame.loc[frame["m"] > 1, ["w1", "w2", "m"]]).mean())
    back = estimate(question, treatment_value=0, control_value=1)
    assert back.value == pytest.approx(-own.effect(frame[["w1", "w2", "m"]]).mean())


@pytest.mark.parametrize("refuter", ["placebo_treatment_refuter", "random_common_cause", "data_subset_refuter"])
def test_refuters(question, refuter):
    _, model, estimand = question
    options = {"placebo_type": "permute"} if refuter == "placebo_treatment_refuter" else {}
    refuted = model.refute_estimate(estimand, estimate(question), method_name=refuter, num_simulations=3, **options)
    expected = 0 if refuter == "placebo_treatment_refuter" else 2
    assert abs(refuted.new_effect - expected) < 0.3


def test_an_estimator_may_be_given_itself(question):
    _, model, estimand = question
    params = {"init_params": {"estimator": paretau.CausalForest(n_estimators=100)}}
    found = model.estimate_effect(estimand, method_name=METHOD, method_params=params)
    assert abs(found.value - 2) < 0.3
