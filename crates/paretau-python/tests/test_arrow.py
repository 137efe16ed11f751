"""Arrow streams are read without pyarrow, and as pyarrow would have them read."""

from __future__ import annotations

import datetime
import subprocess
import sys

import numpy as np
import pandas as pd
import paretau
import polars as pl
import pyarrow as pa
import pytest
from paretau import _arrow, _frames


class Stream:
    """Only the interface, nothing of the library behind it."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def tables():
    day = datetime.date(2024, 2, 29)
    plain = pa.table(
        {
            "int": pa.array([1, None, 3], pa.int16()),
            "real": pa.array([1.5, float("nan"), None], pa.float32()),
            "yes": pa.array([True, None, False]),
            "word": ["a", None, "a longer text than twelve bytes"],
            "large": pa.array(["x", "", "ü"], pa.large_string()),
            "view": pa.array(["short", None, "another longer text than twelve"], pa.string_view()),
            "day": pa.array([day, None, day], pa.date32()),
            "moment": pa.array([datetime.datetime(2024, 1, 1, 12), None, None], pa.timestamp("us")),
            "level": pa.array(["p", None, "q"]).dictionary_encode(),
            "nothing": pa.nulls(3),
        }
    )
    return {
        "plain": plain,
        "slice": pa.concat_tables([plain, plain, plain]).combine_chunks().slice(2, 5),
        "chunks": pa.concat_tables([plain, plain.slice(1, 1)]),
        "empty chunk": pa.concat_tables([plain.slice(0, 0), plain]),
    }


@pytest.mark.parametrize("name", tables())
def test_columns_are_those_that_pyarrow_reads(name):
    table = tables()[name]
    found = dict(_arrow.columns(Stream(table)))
    assert list(found) == table.column_names == _arrow.names(Stream(table)) == _arrow.names(table)
    for column in table.column_names:
        kind, values = _frames.arrow_column(column, table.column(column))
        own_kind, own = found[column]
        assert own_kind == kind, column
        if kind == "text":
            words = [[levels[k] if k >= 0 else None for k in codes] for levels, codes in (values, own)]
            assert words[0] == words[1], column
        else:
            np.testing.assert_array_equal(own, values, err_msg=column)


def test_a_part_of_the_columns_and_what_cannot_be_read():
    table = tables()["plain"]
    assert [name for name, _ in _arrow.columns(Stream(table), {"word", "day"})] == ["word", "day"]
    with pytest.raises(paretau.InputTypeError, match="'lists'"):
        _arrow.columns(Stream(pa.table({"lists": [[1], [2]]})))
    with pytest.raises(paretau.InputTypeError, match="one column"):
        _arrow.columns(Stream(pa.chunked_array([[1, 2]])))


def test_polars_and_pandas_offer_the_same_stream():
    frame = pd.DataFrame({"x": [1.0, 2.5], "word": ["a", "b"]})
    for source in (Stream(pl.from_pandas(frame)), Stream(pa.Table.from_pandas(frame))):
        (_, (kind, x)), (_, (word_kind, (levels, codes))) = _arrow.columns(source)
        assert kind == "numbers" and x.tolist() == [1.0, 2.5] and word_kind == "text"
        assert [levels[k] for k in codes] == ["a", "b"]


def test_a_fit_where_pyarrow_cannot_be_imported():
    code = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, polars as pl, paretau, warnings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, t = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
y = X[:, 0] * t + rng.normal(size=200)
frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        return frame.__arrow_c_stream__(requested_schema)
est = paretau.LinearEffect().fit(Stream(), y, treatment=t)
assert (est.effect(Stream()) == paretau.LinearEffect().fit(frame, y, treatment=t).effect(frame)).all()
print("read")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "read", done.stderr
