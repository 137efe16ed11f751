"""Columns of data frames as plain arrays, one function per library. None of the libraries is imported unless used.

A column becomes `("numbers", float64)`, `("dates", float64 days since 1970)` or `("text", (levels, codes))` with
negative codes where the cell is missing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _arrow
from ._errors import InputTypeError, UsageError

Column = tuple[str, Any]
_DAY = np.timedelta64(1, "D")


def as_array(x: Any) -> np.ndarray:
    """An array-like as a numpy array: by its buffer, its `__array__`, or DLPack; lists cell by cell. Masked cells are missing."""
    if isinstance(x, np.ma.MaskedArray):
        # Without its mask it would show what lies beneath.
        return np.ma.filled(x.astype(np.float64), np.nan) if np.ma.is_masked(x) else np.asarray(x.data)
    if not hasattr(x, "__dlpack__") or hasattr(x, "__array__"):
        return np.asarray(x)
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise InputTypeError(f"a {type(x).__name__} cannot be read where it lies: {error}; copy it to the processor's memory") from error


def is_frame(x: Any) -> bool:
    """Whether `x` is a data frame of a library that we know, or offers itself as an Arrow stream."""
    return _is(x, "pandas", "DataFrame") or _is(x, "polars", "DataFrame", "LazyFrame") or _is_arrow(x)


def columns(x: Any, wanted: set[str] | None = None) -> list[tuple[str, Column]]:
    """Names and columns of a data frame; those not wanted are not even looked at."""

    def take(name: Any) -> bool:
        return wanted is None or name in wanted

    if _is(x, "pandas", "DataFrame"):
        return [(_name(name), pandas_column(name, x.iloc[:, j])) for j, name in enumerate(x.columns) if take(name)]
    if _is(x, "polars", "LazyFrame"):
        x = x.collect()
    if _is(x, "polars", "DataFrame"):
        return [(name, polars_column(name, x[name])) for name in x.columns if take(name)]
    table = arrow_table(x)
    if table is None:
        return _arrow.columns(x, wanted)
    return [(name, arrow_column(name, table.column(j))) for j, name in enumerate(table.column_names) if take(name)]


def split(x: Any, name: str) -> tuple[Any, Any]:
    """A frame without the named column, and that column."""
    if name not in column_names(x):
        raise UsageError(f"X has no column {name!r}")
    if _is(x, "pandas", "DataFrame"):
        return x.drop(columns=name), x[name]
    if _is(x, "polars", "LazyFrame"):
        x = x.collect()
    if _is(x, "polars", "DataFrame"):
        return x.drop(name), x[name]
    table = arrow_table(x)
    if table is None:
        raise UsageError(f"to take column {name!r} out of a {type(x).__name__}, install pyarrow, or pass the treatment by itself")
    return table.drop_columns([name]), table.column(name)


def take_column(x: Any, name: str) -> tuple[Any, Any]:
    """As `split`, for a treatment that was given by name."""
    if not is_frame(x):
        raise UsageError(f"treatment={name!r} names a column, so X must be a data frame, not {type(x).__name__}")
    return split(x, name)


def column_names(x: Any) -> list[Any]:
    """Names of a frame's columns, as the frame has them."""
    if _is(x, "polars", "LazyFrame"):
        return list(x.collect_schema().names())
    if _is(x, "pandas", "DataFrame") or _is(x, "polars", "DataFrame"):
        return list(x.columns)
    if hasattr(x, "column_names"):
        return list(x.column_names)
    table = arrow_table(x)
    return _arrow.names(x) if table is None else list(table.column_names)


def series(x: Any) -> Column | None:
    """A column from a pandas or polars series or an Arrow array; `None` for anything else."""
    if _is(x, "pandas", "Series") or _is(x, "pandas", "Index", "Categorical"):
        import pandas as pd

        return pandas_column(getattr(x, "name", None), pd.Series(x))
    if _is(x, "polars", "Series"):
        return polars_column(x.name, x)
    if _is(x, "pyarrow", "Array", "ChunkedArray"):
        import pyarrow as pa

        return arrow_column(None, x if isinstance(x, pa.ChunkedArray) else pa.chunked_array([x]))
    return None


def pandas_column(name: Any, column: Any) -> Column:
    """A pandas series."""
    import pandas as pd

    kind = column.dtype
    if hasattr(kind, "pyarrow_dtype"):
        import pyarrow as pa

        cells = pa.array(column)
        return arrow_column(name, cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells]))
    if isinstance(kind, pd.CategoricalDtype):
        codes = np.asarray(column.cat.codes, dtype=np.int64)
        return "text", ([_level(v) for v in column.cat.categories], codes)
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind):
        if pd.api.types.is_complex_dtype(kind):
            raise InputTypeError(f"column {name!r} holds complex numbers, which have no order to learn from")
        return "numbers", column.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(kind):
        moment = column.dt.tz_localize(None) if column.dt.tz is not None else column
        return "dates", _days(moment.to_numpy(dtype="datetime64[ns]"))
    is_object = pd.api.types.is_object_dtype(kind)
    if (isinstance(kind, pd.StringDtype) and not is_object) or pd.api.types.infer_dtype(column) == "string":
        codes, levels = pd.factorize(column, sort=True)
        return "text", ([str(v) for v in levels], np.asarray(codes, dtype=np.int64))
    if is_object:
        return object_column(name, column.to_numpy(dtype=object))
    raise _unreadable(name, kind)


def polars_column(name: Any, column: Any) -> Column:
    """A polars series."""
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return "numbers", column.cast(pl.Float64).to_numpy().astype(np.float64, copy=False)
    if kind in (pl.Date, pl.Datetime):
        return "dates", _days(column.cast(pl.Datetime("us")).to_numpy())
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String)
        # Dense ranks of text are codes in the order of the sorted levels; missing cells have none.
        codes = text.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        return "text", (text.drop_nulls().unique().sort().to_list(), codes.astype(np.int64))
    if kind == pl.Null:
        return "numbers", np.full(len(column), np.nan)
    raise _unreadable(name, kind)


def arrow_table(x: Any) -> Any:
    """Anything that speaks the Arrow stream interface, as a pyarrow table; None where pyarrow is not installed."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    return x if isinstance(x, pa.Table) else pa.table(x)


def arrow_column(name: Any, column: Any) -> Column:
    """A pyarrow chunked array."""
    import pyarrow as pa

    kind = column.type
    types = pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        if types.is_boolean(kind):
            column = column.cast(pa.int8())
        return "numbers", _filled(column.cast(pa.float64()))
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates", _days(column.cast(pa.timestamp("us")).to_numpy())
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        return arrow_column(name, column) if not _is_text(column.type) else _arrow_text(column)
    if _is_text(kind):
        return _arrow_text(column)
    if types.is_null(kind):
        return "numbers", np.full(len(column), np.nan)
    raise _unreadable(name, kind)


def object_column(name: Any, cells: np.ndarray) -> Column:
    """An array of Python objects: numbers, or text; a mixture is refused."""
    missing = np.fromiter((_is_missing(v) for v in cells), dtype=bool, count=len(cells))
    present = cells[~missing]
    if all(isinstance(v, (bool, int, float, np.bool_, np.integer, np.floating)) for v in present):
        numbers = np.full(len(cells), np.nan)
        numbers[~missing] = present.astype(np.float64)
        return "numbers", numbers
    strange = next((v for v in present if not isinstance(v, str)), None)
    if strange is not None:
        raise InputTypeError(
            f"column {name!r} mixes text and other things ({strange!r} is a {type(strange).__name__}); "
            "make it all numbers or all text"
        )
    levels, inverse = np.unique(present.astype(str), return_inverse=True)
    codes = np.full(len(cells), -1, dtype=np.int64)
    codes[~missing] = inverse
    return "text", ([str(v) for v in levels], codes)


def _arrow_text(column: Any) -> Column:
    import pyarrow as pa

    encoded = column.cast(pa.string()).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # no chunks at all
        encoded = pa.array([], pa.string()).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return "text", (encoded.dictionary.to_pylist(), codes.astype(np.int64))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    view = getattr(pa.types, "is_string_view", lambda _: False)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind)


def _filled(column: Any) -> np.ndarray:
    return np.asarray(column.fill_null(float("nan")).to_numpy(), dtype=np.float64)


def _days(moments: np.ndarray) -> np.ndarray:
    days = (moments - np.datetime64(0, "D")) / _DAY
    return np.asarray(days, dtype=np.float64)  # NaT becomes NaN


def _is_missing(value: Any) -> bool:
    # pandas' NA refuses to be compared, so it is known by its type before anything else is asked of it.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _level(value: Any) -> str:
    # A category of whole numbers stored as floats should read as it would in a file: 1, not 1.0.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _name(name: Any) -> str:
    return name if isinstance(name, str) else str(name)


def _unreadable(name: Any, kind: Any) -> InputTypeError:
    return InputTypeError(
        f"column {name!r} has type {kind}, which cannot be a feature; make it numbers, text, dates or leave it out"
    )


def _is(x: Any, module: str, *names: str) -> bool:
    """Whether `x` is an instance of a class of a module that the caller has already imported."""
    loaded = sys.modules.get(module)
    return loaded is not None and any(isinstance(x, c) for n in names if (c := getattr(loaded, n, None)) is not None)


def _is_arrow(x: Any) -> bool:
    # Series offer themselves as streams, too, but of one column without a name.
    if _is(x, "pandas", "Series") or _is(x, "polars", "Series") or _is(x, "pyarrow", "Array", "ChunkedArray"):
        return False
    return _is(x, "pyarrow", "Table", "RecordBatch") or hasattr(x, "__arrow_c_stream__")
