"""Scoring of record batches gives the columns and the bits that the model gives row by row, however the stream is cut."""

from __future__ import annotations

import numpy as np
import paretau
import pytest

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 300
    frame = {"age": rng.normal(50, 9, n), "town": rng.choice(["Kyoto", "Oslo"], n), "t": rng.integers(0, 2, n)}
    frame["y"] = (frame["town"] == "Oslo") * frame["t"] + rng.normal(size=n)
    frame["age"][::17] = np.nan
    frame["who"] = [f"p{k}" for k in range(n)]
    table = pa.table(frame)
    model = paretau.fit("causal-forest", table, treatment="t", outcome="y", ignore=["who"], n_estimators=40)
    return model, table


def test_batches_give_the_bits_of_the_whole(fitted, tmp_path):
    model, table = fitted
    whole = pa.Table.from_batches(paretau.score_batches(model, table, interval=0.9, id="who"))
    assert whole.column_names == ["who", "mu0", "mu1", "tau", "lo", "hi", "e", "w_raw", "w"]
    assert (whole["tau"].to_numpy() == model.effect(table)).all()
    low, high = model.effect_interval(table, alpha=0.1)
    assert (whole["lo"].to_numpy() == low).all() and (whole["hi"].to_numpy() == high).all()
    assert whole["who"].to_pylist() == table["who"].to_pylist()
    cut = pa.Table.from_batches(paretau.score_batches(model, table.to_batches(max_chunksize=37), interval=0.9, id="who"))
    assert cut.equals(whole)
    model.save(tmp_path / "m.paretau")
    for source in (tmp_path / "m.paretau", (tmp_path / "m.paretau").read_bytes()):
        scored = paretau.score_batches(source, pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
        assert pa.Table.from_batches(scored)["tau"].equals(whole["tau"])


def test_refusals(fitted, tmp_path):
    model, table = fitted
    with pytest.raises(paretau.ParetauError, match="age"):
        list(paretau.score_batches(model, table.drop_columns(["age"])))
    with pytest.raises(paretau.UsageError, match="interval"):
        list(paretau.score_batches(model, table, interval=1.5))
    with pytest.raises(paretau.InputTypeError, match="record batches"):
        list(paretau.score_batches(model, [1]))
    with pytest.raises(paretau.MissingFileError):
        list(paretau.score_batches(tmp_path / "gone.paretau", table))
    with pytest.raises(paretau.ModelFileError):
        list(paretau.score_batches(b"not a model", table))
    with pytest.raises(paretau.UsageError, match="not level"):
        paretau.cluster.ray_scorer(model, level=0.9)
