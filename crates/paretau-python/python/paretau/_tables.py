"""`X` in whatever form it comes, as a table of the compiled module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _frames
from ._errors import DataError, InputTypeError, SchemaError
from ._paretau import Table


#: Rows are predicted in blocks of so many: memory does not grow with the rows, and Ctrl-C is heard in between.
_MOST_BLOCK, _LEAST_BLOCK, _BLOCK_CELLS = 16_384, 512, 1 << 22


@dataclass(frozen=True)
class Input:
    """`X` once looked at: how many rows and columns, its names if it has them, and how to add it to a table."""

    n_rows: int
    n_cols: int
    names: list[str] | None
    sparse: bool
    _body: Any

    def add_to(self, table: Table, names: list[str]) -> None:
        """Adds the columns under the given names."""
        if self.sparse:
            table.csr(names, self.n_rows, *self._body)
        elif self.names is None:
            add = table.matrix_f32 if self._body.dtype == np.float32 else table.matrix
            add(names, self._body)
        else:
            for name, (_, column) in zip(names, self._body, strict=True):
                add_column(table, name, column)

    def shuffled(self, column: str | int, order: np.ndarray) -> Input:
        """The same rows with one column, by name or place, in another order."""
        if self.names is None:
            body = np.array(self._body)
            place = int(column)
            body[:, place] = body[order, place]
            return replace(self, _body=body)

        return replace(self, _body=[(n, _column_at(c, order) if n == column else c) for n, c in self._body])

    def taken(self, order: np.ndarray) -> Input:
        """Some rows, as often as they are named."""
        if self.sparse:
            raise InputTypeError("rows of a sparse matrix are not taken one by one: pass a dense part of the rows")
        if isinstance(self._body, np.ndarray):
            return replace(self, n_rows=len(order), _body=self._body[order])
        return replace(self, n_rows=len(order), _body=[(name, _column_at(column, order)) for name, column in self._body])

    def mixed(self, other: Input, own: np.ndarray, others: np.ndarray, is_own: np.ndarray) -> Input:
        """Rows that have a column of the row `own[i]` here where `is_own[i]` says so, and else of the row `others[i]` of another
        input with the same columns."""
        if isinstance(self._body, np.ndarray):
            body = np.where(is_own, self._body[own], other._body[others])
            return replace(self, n_rows=len(own), _body=body)
        theirs = dict(other._body)
        body = []
        for j, (name, column) in enumerate(self._body):
            at = np.where(is_own[:, j], own, self.n_rows + others)
            body.append((name, _column_at(_columns_below(name, column, theirs[name]), at)))
        return replace(self, n_rows=len(own), _body=body)

    def blocks(self) -> Iterator[Input]:
        """The same rows in blocks of bounded size, in their order; one block where there are few."""
        most = max(_LEAST_BLOCK, min(_MOST_BLOCK, _BLOCK_CELLS // max(1, self.n_cols)))
        if self.n_rows <= most:
            yield self
            return
        for start in range(0, self.n_rows, most):
            yield self._part(start, min(start + most, self.n_rows))

    def _part(self, start: int, stop: int) -> Input:
        """Rows from `start` up to `stop`, as views."""
        if self.sparse:
            indptr, indices, values = self._body
            first, last = indptr[start], indptr[stop]
            body: Any = (indptr[start : stop + 1] - first, indices[first:last], values[first:last])
        elif self.names is None or isinstance(self._body, np.ndarray):
            body = self._body[start:stop]
        else:
            body = [(name, column_part(column, start, stop)) for name, column in self._body]
        return replace(self, n_rows=stop - start, _body=body)

    def renamed(self, names: list[str]) -> Input:
        """The same columns under other names."""
        return replace(self, names=names)


def column_part(column: _frames.Column, start: int, stop: int) -> _frames.Column:
    """Rows of one column."""
    kind, values = column
    return (kind, (values[0], values[1][start:stop])) if kind == "text" else (kind, values[start:stop])


def _column_at(column: _frames.Column, order: np.ndarray) -> _frames.Column:
    kind, values = column
    return (kind, (values[0], values[1][order])) if kind == "text" else (kind, values[order])


def _columns_below(name: str, first: _frames.Column, second: _frames.Column) -> _frames.Column:
    """Two columns of one kind below each other."""
    if first[0] != second[0]:
        raise SchemaError(f"column `{name}` holds {first[0]} in the rows and {second[0]} in the background")
    if first[0] != "text":
        return first[0], np.concatenate([first[1], second[1]])
    (levels, codes), (more, their_codes) = first[1], second[1]
    joined = list(levels)
    places = {level: k for k, level in enumerate(joined)}
    for level in more:
        if level not in places:
            places[level] = len(joined)
            joined.append(level)
    # A missing cell is below 0 and stays so.
    moved = np.array([places[level] for level in more] + [-1], dtype=np.int64)[np.asarray(their_codes, dtype=np.int64)]
    return "text", (joined, np.concatenate([np.asarray(codes, dtype=np.int64), moved]))


def add_column(table: Table, name: str, column: _frames.Column) -> None:
    """Adds one column as `_frames` describes it."""
    kind, values = column
    if kind == "text":
        levels, codes = values
        table.text(name, levels, np.ascontiguousarray(codes, dtype=np.int64))
    else:
        table.numbers(name, np.ascontiguousarray(values, dtype=np.float64), dates=kind == "dates")


def read(x: Any, wanted: set[str] | None = None) -> Input:
    """Looks at `X`; nothing is copied that can be borrowed. Of a frame only the wanted columns are read."""
    if isinstance(x, Input):
        return x
    if _is_sparse(x):
        return _read_sparse(x)
    if _frames.is_frame(x):
        body = _frames.columns(x, wanted)
        if not body:
            if wanted is not None:
                raise SchemaError("The feature names should match those that were passed during fit: X has none of them")
            raise DataError("0 feature(s) (X has no columns) while a minimum of 1 is required.")
        names = [name for name, _ in body]
        n_rows = _length(body[0][1])
        if n_rows == 0:
            raise _no_rows((0, len(body)))
        raw = _frames.column_names(x) if wanted is None else names
        # Columns without names of their own (0, 1, 2, …) are a matrix by another name.
        if not all(isinstance(name, str) for name in raw):
            if any(isinstance(name, str) for name in raw):
                raise InputTypeError(
                    "Feature names are only supported if all input features have string names, "
                    f"but your input has {sorted({type(n).__name__ for n in raw})} as feature name / column name types."
                )
            if all(kind == "numbers" for _, (kind, _) in body):
                return Input(n_rows, len(body), None, False, np.column_stack([v for _, (_, v) in body]))
        return Input(n_rows, len(body), names, False, body)
    matrix = to_matrix(x)
    return Input(matrix.shape[0], matrix.shape[1], None, False, matrix)


def to_matrix(x: Any) -> np.ndarray:
    """An array-like as a matrix of floats."""
    array = _frames.as_array(x)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers")
    if array.ndim != 2:
        shape = f"a {array.ndim}-dimensional array" if array.ndim else "a scalar"
        raise DataError(
            f"Expected 2D array, got {shape} instead. Reshape your data: "
            "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."
        )
    if array.dtype.kind in "OUSV":
        array = _as_numbers(array)
    if array.dtype not in (np.float32, np.float64) or not array.flags.aligned:
        array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    if array.shape[0] == 0:
        raise _no_rows(array.shape)
    if array.shape[1] == 0:
        raise DataError(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array


def _as_numbers(array: np.ndarray) -> np.ndarray:
    try:
        return np.where(array == None, np.nan, array).astype(np.float64)  # noqa: E711 (elementwise)
    except TypeError as error:
        raise InputTypeError(f"X: {error}; an argument must be a string or a number in every cell") from error
    except ValueError as error:
        raise DataError(f"X: {error}; for text columns pass a data frame, where they become categories") from error


def _is_sparse(x: Any) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def _read_sparse(x: Any) -> Input:
    csr = x.tocsr()
    if csr.ndim != 2:
        raise DataError("Expected 2D array, got a sparse array of another dimension. Reshape your data.")
    if csr.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers")
    if csr.shape[0] == 0:
        raise _no_rows(csr.shape)
    if csr.shape[1] == 0:
        raise DataError(f"0 feature(s) (shape={csr.shape}) while a minimum of 1 is required.")
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is x else csr
        csr.sum_duplicates()
    body = (
        np.ascontiguousarray(csr.indptr, dtype=np.int64),
        np.ascontiguousarray(csr.indices, dtype=np.int64),
        np.ascontiguousarray(csr.data, dtype=np.float64),
    )
    return Input(csr.shape[0], csr.shape[1], None, True, body)


def _length(column: _frames.Column) -> int:
    kind, values = column
    return len(values[1]) if kind == "text" else len(values)


def _no_rows(shape: tuple[int, ...]) -> DataError:
    return DataError(f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
