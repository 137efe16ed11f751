"""Arrow streams read through their C interface (the PyCapsule protocol), without pyarrow: DuckDB, arro3 and their kin.

A column becomes what `_frames` describes. What is read is copied, so that nothing of the stream is kept.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

import numpy as np

from ._errors import DataError, InputTypeError

_DAY_PARTS = {"s": 86_400, "m": 86_400_000, "u": 86_400_000_000, "n": 86_400_000_000_000}
_NUMBERS = {
    "c": np.int8,
    "C": np.uint8,
    "s": np.int16,
    "S": np.uint16,
    "i": np.int32,
    "I": np.uint32,
    "l": np.int64,
    "L": np.uint64,
    "e": np.float16,
    "f": np.float32,
    "g": np.float64,
}


class _Schema(c.Structure):
    pass


class _Array(c.Structure):
    pass


class _Stream(c.Structure):
    pass


_Schema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_void_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(_Schema))),
    ("dictionary", c.POINTER(_Schema)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Schema))),
    ("private_data", c.c_void_p),
]
_Array._fields_ = [
    ("length", c.c_int64),
    ("null_count", c.c_int64),
    ("offset", c.c_int64),
    ("n_buffers", c.c_int64),
    ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)),
    ("children", c.POINTER(c.POINTER(_Array))),
    ("dictionary", c.POINTER(_Array)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Array))),
    ("private_data", c.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Schema))),
    ("get_next", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Array))),
    ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.POINTER(_Stream))),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Stream))),
    ("private_data", c.c_void_p),
]


def columns(x: Any, wanted: set[str] | None = None) -> list[tuple[str, tuple[str, Any]]]:
    """Names and columns of a stream; those not wanted are not read."""
    capsule = x.__arrow_c_stream__()
    pointer = c.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    stream = c.cast(pointer(capsule, b"arrow_array_stream"), c.POINTER(_Stream))
    schema = _Schema()
    _check(stream, stream.contents.get_schema(stream, c.byref(schema)))
    try:
        if schema.format != b"+s":
            raise InputTypeError(f"X is an Arrow stream of one column ({type(x).__name__}), not a table")
        fields = [schema.children[k].contents for k in range(schema.n_children)]
        names = [(field.name or b"").decode() for field in fields]
        read: list[list[Any]] = [[] for _ in fields]
        while True:
            batch = _Array()
            _check(stream, stream.contents.get_next(stream, c.byref(batch)))
            if not batch.release:
                break
            try:
                if batch.null_count > 0:
                    raise DataError("X is an Arrow stream with rows that are missing as a whole")
                for k, field in enumerate(fields):
                    if wanted is None or names[k] in wanted:
                        own = batch.children[k].contents
                        read[k].append(_cells(names[k], field, own, own.offset + batch.offset, batch.length))
            finally:
                batch.release(c.byref(batch))
        taken = [k for k in range(len(fields)) if wanted is None or names[k] in wanted]
        return [(names[k], _joined(read[k], fields[k])) for k in taken]
    finally:
        schema.release(c.byref(schema))


def names(x: Any) -> list[str]:
    """Names of a stream's columns."""
    if hasattr(x, "__arrow_c_schema__"):
        pointer = c.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
        capsule = x.__arrow_c_schema__()
        schema = c.cast(pointer(capsule, b"arrow_schema"), c.POINTER(_Schema)).contents
        return [(schema.children[k].contents.name or b"").decode() for k in range(schema.n_children)]
    return [name for name, _ in columns(x)]


def _check(stream: Any, code: int) -> None:
    if code != 0:
        message = stream.contents.get_last_error(stream)
        raise DataError(f"X is an Arrow stream that failed: {(message or b'no reason given').decode(errors='replace')}")


def _view(address: int | None, dtype: Any, count: int) -> np.ndarray:
    if not count or not address:
        return np.zeros(count, dtype)
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer(memoryview((c.c_char * size).from_address(address)), dtype=dtype, count=count)


def _bits(address: int | None, offset: int, count: int) -> np.ndarray:
    whole = _view(address, np.uint8, (offset + count + 7) // 8)
    return np.unpackbits(whole, bitorder="little")[offset : offset + count].astype(bool)


def _missing(own: Any, offset: int, count: int) -> np.ndarray:
    address = own.buffers[0] if own.n_buffers else None
    return np.zeros(count, bool) if not address or own.null_count == 0 else ~_bits(address, offset, count)


def _cells(name: str, field: Any, own: Any, offset: int, count: int) -> Any:
    """Numbers with NaN where missing, or a list of text with None."""
    kind = field.format.decode()
    gone = _missing(own, offset, count)
    if field.dictionary:
        codes = _numbers(own, _NUMBERS[kind], offset, count).astype(np.int64)
        within = own.dictionary.contents
        levels = _cells(name, field.dictionary.contents, within, within.offset, within.length)
        if isinstance(levels, np.ndarray):
            out = np.full(count, np.nan)
            out[~gone] = levels[codes[~gone]]
            return out
        return [None if lost else levels[code] for code, lost in zip(codes, gone, strict=True)]
    if kind in _NUMBERS:
        values = _numbers(own, _NUMBERS[kind], offset, count).astype(np.float64)
    elif kind == "b":
        values = _bits(own.buffers[1], offset, count).astype(np.float64)
    elif kind == "n":
        return np.full(count, np.nan)
    elif kind == "tdD":
        values = _numbers(own, np.int32, offset, count).astype(np.float64)
    elif kind == "tdm":
        values = _numbers(own, np.int64, offset, count) / _DAY_PARTS["m"]
    elif kind.startswith("ts") and kind[2:3] in _DAY_PARTS:
        values = _numbers(own, np.int64, offset, count) / _DAY_PARTS[kind[2]]
    elif kind in ("u", "U"):
        return _text(own, np.int32 if kind == "u" else np.int64, offset, count, gone)
    elif kind == "vu":
        return _text_views(own, offset, count, gone)
    else:
        raise InputTypeError(
            f"column {name!r} has the Arrow type {kind!r}, which cannot be a feature; make it numbers, text, dates or leave it out"
        )
    values[gone] = np.nan
    return values


def _numbers(own: Any, dtype: Any, offset: int, count: int) -> np.ndarray:
    return _view(own.buffers[1], dtype, offset + count)[offset:].copy()


def _text(own: Any, dtype: Any, offset: int, count: int, gone: np.ndarray) -> list[str | None]:
    ends = _view(own.buffers[1], dtype, offset + count + 1)[offset:]
    body = _view(own.buffers[2], np.uint8, int(ends[-1]) if len(ends) else 0).tobytes()
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), gone.tolist(), strict=True)
    return [None if lost else body[a:b].decode() for a, b, lost in pairs]


def _text_views(own: Any, offset: int, count: int, gone: np.ndarray) -> list[str | None]:
    # A view is 16 bytes: the length, then the text itself (up to 12 bytes), or four of it, a buffer's number and a place.
    views = _view(own.buffers[1], np.uint8, 16 * (offset + count))[16 * offset :].tobytes()
    out: list[str | None] = []
    for k in range(count):
        if gone[k]:
            out.append(None)
            continue
        head = views[16 * k : 16 * k + 16]
        length = int.from_bytes(head[:4], "little")
        if length <= 12:
            out.append(head[4 : 4 + length].decode())
        else:
            buffer, start = int.from_bytes(head[8:12], "little"), int.from_bytes(head[12:16], "little")
            out.append(c.string_at(own.buffers[2 + buffer] + start, length).decode())
    return out


def _joined(parts: list[Any], field: Any) -> tuple[str, Any]:
    kind = field.format.decode()
    if parts and isinstance(parts[0], list):
        cells = [cell for part in parts for cell in part]
        levels = sorted({cell for cell in cells if cell is not None})
        places = {level: k for k, level in enumerate(levels)}
        return "text", (levels, np.array([-1 if cell is None else places[cell] for cell in cells], dtype=np.int64))
    values = np.concatenate(parts) if parts else np.zeros(0)
    return ("dates" if kind.startswith(("td", "ts")) else "numbers"), values
