"""In what predictions come, in what blocks they are made, and where progress is shown."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import paretau
import polars as pl
import pytest
import scipy.sparse as sp
from paretau import _tables
from sklearn.base import clone


@pytest.fixture(scope="module")
def frame(data):
    """The small study as a frame with text and an index of its own."""
    rows = pd.DataFrame(data.X, columns=list("abcde"), index=np.arange(len(data.y)) + 100)
    return rows.assign(side=np.where(rows["a"] > 0, "left", "right"))


def test_blocks_do_not_show(data, frame, monkeypatch):
    whole, parts = {}, {}
    sparse = sp.csr_array(np.where(np.abs(data.X) > 0.5, data.X, 0.0))
    forest = paretau.CausalForest(n_estimators=40)
    fits = {
        name: clone(forest if name != "sparse" else paretau.LinearEffect()).fit(x, data.y, treatment=data.treatment)
        for name, x in {"array": data.X, "frame": frame, "sparse": sparse}.items()
    }
    rows = {"array": data.X, "frame": frame, "sparse": sparse}

    def asked(name):
        est, x = fits[name], rows[name]
        weights = est.predict_weights(x, treatment=data.treatment)
        return [est.effect(x), est.const_marginal_effect(x), est.predict_outcomes(x), est.predict_propensity(x), *weights]

    whole = {name: asked(name) for name in fits}
    monkeypatch.setattr(_tables, "_MOST_BLOCK", 64)
    monkeypatch.setattr(_tables, "_LEAST_BLOCK", 64)
    parts = {name: asked(name) for name in fits}
    for name in fits:
        assert len(list(_tables.read(rows[name]).blocks())) == 4
        for one, other in zip(whole[name], parts[name], strict=True):
            np.testing.assert_array_equal(one, other)


def test_predictions_come_as_frames_where_that_is_asked(data, frame):
    est = paretau.LinearEffect().fit(frame, data.y, treatment=data.treatment)
    expected = est.effect(frame)
    assert isinstance(expected, np.ndarray)
    assert est.set_output(transform="pandas") is est
    found = est.effect(frame)
    assert isinstance(found, pd.Series) and found.index.equals(frame.index)
    np.testing.assert_array_equal(found, expected)
    outcomes = est.predict_outcomes(frame)
    assert list(outcomes.columns) == ["0", "1"] and outcomes.index.equals(frame.index)
    est.set_output(transform="input")
    assert isinstance(est.effect(pl.from_pandas(frame)), pl.Series)
    assert isinstance(est.predict_outcomes(pl.from_pandas(frame)), pl.DataFrame)
    assert isinstance(est.effect(frame), pd.Series)
    again = clone(est).fit(frame, data.y, treatment=data.treatment)
    assert isinstance(again.predict_propensity(frame), pd.Series)
    assert isinstance(est.set_output(transform="default").set_output().effect(frame), np.ndarray)
    with pytest.raises(paretau.UsageError, match="pandas"):
        est.set_output(transform="arrow")


def test_progress_is_in_the_log_of_whoever_keeps_one(data, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="paretau"):
        paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    assert "fitting lr-2" in caplog.messages
    assert capsys.readouterr().err == ""
