"""Files that are fitted in blocks of rows: the command line's numbers, and clear refusals."""

from __future__ import annotations

import numpy as np
import paretau
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder of two files with 2600 rows, and the rows."""
    frame = paretau.simulate("grf", n=2600, d=4, design="aw2", random_state=4).frame()
    folder = tmp_path_factory.mktemp("people")
    frame.iloc[:900].to_parquet(folder / "a.parquet")
    frame.iloc[900:].to_parquet(folder / "b.parquet")
    return folder, frame


def fitted(data, **more):
    return paretau.fit("causal-forest", data, treatment="t", outcome="y", n_estimators=40, random_state=1, n_jobs=1, **more)


def test_a_folder_is_fitted_in_blocks(people, tmp_path):
    folder, frame = people
    model = fitted(folder, block_rows=1300, scratch=tmp_path)
    assert not list(tmp_path.iterdir())
    effect, truth = model.effect(frame), frame["mu1"] - frame["mu0"]
    assert np.corrcoef(effect, truth)[0, 1] > 0.8
    lo, hi = model.effect_interval(frame)
    assert np.all(lo < effect) and np.all(effect < hi)
    assert "2 blocks" in model.summary() or any("2 blocks" in note for note in model.notes_)
    again = fitted(str(folder / "*.parquet"), block_rows=1300)
    np.testing.assert_array_equal(again.effect(frame), effect)
    path = tmp_path / "model.paretau"
    model.save(path)
    # Names such as x1, x2, … are those of an array's columns, which are taken by place.
    rows = frame[list(model.feature_names_in_)].to_numpy()
    np.testing.assert_array_equal(paretau.load(path).effect(rows), effect)


def test_one_block_is_an_ordinary_fit(people):
    folder, frame = people
    np.testing.assert_array_equal(fitted(folder, block_rows=2600).effect(frame), fitted(folder).effect(frame))


def test_blocks_as_onnx(people):
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    folder, frame = people
    model = fitted(folder, block_rows=1300)
    names = list(model.feature_names_in_)
    inputs = {name: frame[[name]].to_numpy() for name in names}
    found = ort.InferenceSession(model.to_onnx()).run(None, inputs)[0]
    np.testing.assert_allclose(found.ravel(), model.effect(frame), atol=1e-4)


def test_refusals(people):
    folder, frame = people
    with pytest.raises(paretau.UsageError, match="need no blocks"):
        fitted(frame, block_rows=1000)
    with pytest.raises(paretau.UsageError, match="block_rows as well"):
        fitted(folder, scratch=".")
    with pytest.raises(ValueError, match="use block_rows="):
        fitted(folder, block_rows=100)
