"""Files by their path, read as the command line reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import paretau

NAMES = {"treatment": "t", "outcome": "y"}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200).round(3)
    t = rng.integers(0, 2, size=200)
    return pd.DataFrame({"x": x, "t": t, "y": (x + 2 * t + rng.normal(scale=0.1, size=200)).round(4)})


def test_a_file_gives_what_its_frame_gives(frame, tmp_path):
    plain, comma = tmp_path / "plain.csv", tmp_path / "comma.csv"
    frame.to_csv(plain, index=False)
    frame.to_csv(comma, index=False, sep=";", decimal=",")
    want = paretau.fit("lr-2", frame, **NAMES)
    for model in (
        paretau.fit("lr-2", plain, **NAMES),
        paretau.fit("lr-2", str(comma), **NAMES),
        paretau.fit("lr-2", comma, decimal=",", **NAMES),
    ):
        np.testing.assert_allclose(model.effect(frame), want.effect(frame), atol=1e-9)
        np.testing.assert_allclose(model.weights_, want.weights_, atol=1e-9)


def test_stray_cells_are_named_with_their_row_and_can_be_missing(frame, tmp_path):
    path = tmp_path / "stray.csv"
    cells = frame.astype({"x": object})
    cells.insert(0, "patient", [f"P{i:03}" for i in range(200)])
    cells.loc[6, "x"] = "unknown"
    cells.to_csv(path, index=False)
    with pytest.raises(paretau.DataError, match=r"`unknown` in row 7 \(P006\)"):
        paretau.fit("lr-2", path, id="patient", **NAMES)
    by_mark = paretau.fit("lr-2", path, id="patient", na="unknown", **NAMES)
    by_column = paretau.fit("lr-2", path, id="patient", numeric=["x"], **NAMES)
    np.testing.assert_array_equal(by_mark.effect(frame), by_column.effect(frame))
    table = paretau.compare(path, estimators=["lr-1", "lr-2"], folds=2, na=["unknown"], id="patient", **NAMES)
    assert table.best in {"lr-1", "lr-2"}


def test_wrong_options_are_refused(frame, tmp_path):
    path = tmp_path / "plain.csv"
    frame.to_csv(path, index=False)
    for given, word in [({"decimal": "x"}, "one of"), ({"decimal": ",,"}, "one character"), ({"date_order": "d"}, "dmy")]:
        with pytest.raises(paretau.UsageError, match=word):
            paretau.fit("lr-2", path, **given, **NAMES)
    with pytest.raises(paretau.UsageError, match="has been read"):
        paretau.fit("lr-2", frame, decimal=",", **NAMES)
