"""Models survive files and pickles bit by bit; what is no model is refused."""

from __future__ import annotations

import copy
import html
import pickle
import re

import numpy as np
import pandas as pd
import paretau
import pytest
from sklearn.base import clone


def same(a, b, x):
    """All predictions agree to the bit."""
    np.testing.assert_array_equal(a.effect(x), b.effect(x))
    np.testing.assert_array_equal(a.predict_outcomes(x), b.predict_outcomes(x))
    np.testing.assert_array_equal(a.predict_propensity(x), b.predict_propensity(x))
    assert a.ate() == b.ate()
    assert a.summary() == b.summary()
    assert a.report() == b.report()


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "file"])
@pytest.mark.parametrize("named", [False, True])
def test_round_trips(estimator, data, tmp_path, way, named):
    x = pd.DataFrame(data.X, columns=list("abcde")) if named else data.X
    est = estimator.set_params(random_state=3).fit(x, data.y, treatment=data.treatment)
    if way == "pickle":
        back = pickle.loads(pickle.dumps(est))
    elif way == "deepcopy":
        back = copy.deepcopy(est)
    else:
        est.save(tmp_path / "a.paretau")
        back = paretau.load(tmp_path / "a.paretau")
    same(est, back, x)
    assert type(back) is type(est)
    assert back.get_params() == est.get_params()
    assert hasattr(back, "feature_names_in_") == named
    assert back.n_features_in_ == 5
    assert clone(back).get_params() == est.get_params()


@pytest.mark.filterwarnings("error")
def test_columns_that_are_called_like_a_matrix_are_read_by_name(data, tmp_path):
    names = [f"x{j}" for j in range(1, 6)]
    frame = pd.DataFrame(data.X, columns=names).assign(more="text")
    est = paretau.LinearEffect().fit(frame[names], data.y, treatment=data.treatment)
    est.save(tmp_path / "a.paretau")
    back = paretau.load(tmp_path / "a.paretau")
    expected = est.effect(frame[names])
    # Further columns, another order, and rows without names.
    for rows in (frame, frame[["more", *reversed(names)]], data.X):
        np.testing.assert_array_equal(back.effect(rows), expected)
    with pytest.raises(ValueError, match="no column 'x3'"):
        back.effect(frame.drop(columns="x3"))
    score = {"y": data.y, "treatment": data.treatment}
    assert back.evaluate(frame, in_sample=True, **score) == est.evaluate(frame[names], in_sample=True, **score)


def test_constant_columns_are_counted_after_loading(data, tmp_path):
    x = np.column_stack([np.ones(len(data.y)), data.X])
    est = paretau.LinearEffect().fit(x, data.y, treatment=data.treatment)
    est.save(tmp_path / "a.paretau")
    back = paretau.load(str(tmp_path / "a.paretau"))
    assert back.n_features_in_ == 6
    same(est, back, x)


def test_sparse_models_come_back(data, tmp_path):
    import scipy.sparse as sp

    x = sp.csr_matrix(np.where(np.abs(data.X) < 0.8, 0.0, data.X))
    est = paretau.LinearEffect().fit(x, data.y, treatment=data.treatment)
    est.save(tmp_path / "a.paretau")
    same(est, paretau.load(tmp_path / "a.paretau"), x)


def test_an_unfitted_estimator_can_be_pickled(estimator):
    back = pickle.loads(pickle.dumps(estimator))
    assert back.get_params() == estimator.get_params()
    with pytest.raises(paretau.NotFittedError):
        back.save("nowhere")


def test_files_that_are_no_models(fitted, tmp_path):
    path = tmp_path / "a.paretau"
    fitted.save(path)
    whole = path.read_bytes()
    for broken in (b"", b"hello", whole[:-7], whole[:200], whole[:-1] + bytes([whole[-1] ^ 1]), b"PK" + whole):
        path.write_bytes(broken)
        with pytest.raises(paretau.ModelFileError):
            paretau.load(path)
    with pytest.raises(FileNotFoundError) as caught:
        paretau.load(tmp_path / "none.paretau")
    assert isinstance(caught.value, paretau.ParetauError)
    with pytest.raises(OSError, match="no-such-folder"):
        fitted.save(tmp_path / "no-such-folder" / "a.paretau")


def test_the_report_is_one_page_with_the_answer(estimator, data, tmp_path):
    est = estimator.fit(data.X, data.y, treatment=data.treatment)
    page = est.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!doctype html>") and "On average" in page and "NaN" not in page


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(fitted):
    page = fitted.report()
    shown = page._repr_html_()
    assert shown.startswith("<iframe ") and shown.endswith("</iframe>") and "<html" not in shown
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown).group(1)) == page == fitted.model_.report()
    written = []
    page._repr_pretty_(type("Printer", (), {"text": staticmethod(written.append)}), False)
    assert len(written[0]) < 100, "a terminal is not flooded"
