"""Scoring on the engine that a company has: one function from record batches to record batches, and what hangs it into
Ray Data, Spark and Dask. The columns, and their bits, are those of `paretau effect`; pyarrow does the carrying."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _paretau
from ._errors import InputTypeError, UsageError
from ._estimator import Estimator

__all__ = ["dask_scorer", "ray_scorer", "score_batches", "spark_scorer"]

#: The models that this process has read, by path or digest: a worker reads each once.
_models: dict[Any, Any] = {}


def score_batches(
    model: Any,
    batches: Any,
    *,
    interval: float | None = None,
    kind: str = "conditional",
    id: str | None = None,
    n_jobs: int | None = None,
) -> Iterator[Any]:
    """Effects of a stream of Arrow record batches, as a stream of record batches, one for each that has rows.

    `model` is a fitted estimator, the path of a model file, or its bytes. `batches` is an iterable of `pyarrow.RecordBatch`, or
    anything with an Arrow stream (`__arrow_c_stream__`: polars, DuckDB, pyarrow tables and readers). Columns are those of
    `paretau effect`: `id` if named, `mu0, mu1, tau`, `lo, hi` with an `interval`, `e`, `w_raw, w` where the treatment is
    there, and `mu_ARM, tau_ARM` (with `lo_ARM, hi_ARM`), `e_ARM` (and `w_raw_ARM, w_ARM`) of further arms. A batch depends on its own rows alone.
    """
    pa = _pyarrow()
    held = _model(model)
    if hasattr(batches, "__arrow_c_stream__"):
        batches = pa.RecordBatchReader.from_stream(batches)
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise InputTypeError(f"batches must be Arrow record batches, not {type(batch).__name__}")
        if batch.num_rows == 0:
            continue
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        scored = held.score_stream(bytes(sink.getvalue()), id=id, level=interval, kind=kind, n_jobs=n_jobs)
        yield from pa.ipc.open_stream(pa.py_buffer(scored))


def _model(model: Any) -> Any:
    """The compiled model: a worker keeps what it has read."""
    if isinstance(model, Estimator):
        model._check_fitted()
        return model.model_
    if isinstance(model, _paretau.Model):
        return model
    key: Any
    if isinstance(model, (bytes, bytearray, memoryview)):
        key, read = hash(bytes(model)), lambda: _paretau.Model.from_bytes(bytes(model))
    elif isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        facts = os.stat(path) if os.path.exists(path) else None
        key, read = (path, facts and (facts.st_mtime_ns, facts.st_size)), lambda: _paretau.Model.load(path)
    else:
        raise InputTypeError(f"model must be a fitted estimator, a model file or its bytes, not {type(model).__name__}")
    if key not in _models:
        _models.clear()
        _models[key] = read()
    return _models[key]


def _bytes(model: Any) -> bytes:
    """The bytes of a model's file, checked: they travel to every worker once."""
    if isinstance(model, (str, os.PathLike)):
        _model(model)
        with open(model, "rb") as file:
            return file.read()
    return bytes(_model(model).to_bytes())


def ray_scorer(model: Any, **options: Any) -> type:
    """A class for `ray.data.Dataset.map_batches(..., batch_format="pyarrow")`: its actors read the model once.

    `dataset.map_batches(ray_scorer("model.paretau"), batch_format="pyarrow", concurrency=8, num_cpus=1)`.
    """
    body, settings = _bytes(model), _settings(options)

    class Scorer:
        def __call__(self, table: Any) -> Any:
            pa = _pyarrow()
            scored = list(score_batches(body, table.combine_chunks().to_batches(), **settings))
            return pa.Table.from_batches(scored) if scored else pa.table({})

    return Scorer


def spark_scorer(model: Any, spark: Any, **options: Any) -> tuple[Callable[[Iterator[Any]], Iterator[Any]], Any]:
    """A function for `DataFrame.mapInArrow` and the schema of what it gives; the model file is broadcast.

    `score, schema = spark_scorer("model.paretau", spark)`, then `frame.mapInArrow(score, schema)`.
    """
    body, settings = _bytes(model), _settings(options)
    sent = spark.sparkContext.broadcast(body)

    def score(batches: Iterator[Any]) -> Iterator[Any]:
        from paretau.cluster import score_batches

        for batch in score_batches(sent.value, batches, **settings):
            yield batch.select(names)

    fields = _fields(_model(body), settings)
    names = [name for name, _ in fields]
    return score, ", ".join(f"`{name}` {kind}" for name, kind in fields)


def dask_scorer(model: Any, frame: Any, **options: Any) -> Any:
    """The scores of a Dask data frame, lazily, partition by partition: `dask_scorer("model.paretau", frame).to_parquet(…)`."""
    import pandas as pd

    body, settings = _bytes(model), _settings(options)
    kinds = {"double": "float64", "string": "object"}
    fields = {name: pd.Series([], dtype=kinds[kind]) for name, kind in _fields(_model(body), settings)}
    return frame.map_partitions(_score_frame, body, settings, list(fields), meta=pd.DataFrame(fields))


def _score_frame(part: Any, body: bytes, settings: dict[str, Any], names: list[str]) -> Any:
    pa = _pyarrow()
    table = pa.Table.from_pandas(part, preserve_index=False)
    scored = list(score_batches(body, table.combine_chunks().to_batches(), **settings))
    if not scored:
        return part.iloc[:0].reindex(columns=names).astype("float64")
    return pa.Table.from_batches(scored).select(names).to_pandas().set_index(part.index)


def _fields(model: Any, settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and types of the columns that workers give; weights, which need the treatment, are left out."""
    import json

    arms = [arm["name"] for arm in json.loads(model.about())["arms"][2:]]
    ends = ["lo", "hi"] if settings.get("interval") is not None else []
    numbers = ["mu0", "mu1", "tau", *ends, "e"]
    for arm in arms:
        numbers += [f"{what}_{arm}" for what in ("mu", "tau", *ends, "e")]
    own = [(settings["id"], "string")] if settings.get("id") else []
    return own + [(name, "double") for name in numbers]


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    known = {"interval", "kind", "id", "n_jobs"}
    if odd := set(options) - known:
        raise UsageError(f"a scorer takes {', '.join(sorted(known))}, not {', '.join(sorted(odd))}")
    # The engine shares out the CPUs; a task has one unless set otherwise.
    return {"n_jobs": 1, **options}


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc  # noqa: F401 (a module of its own)
    except ImportError as error:
        raise UsageError("scoring of record batches needs pyarrow: pip install pyarrow") from error
    return pyarrow
